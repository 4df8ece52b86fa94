//! The collector: results go from the stream into the database, each once, and their agents are informed.

use std::collections::BTreeMap;

use crate::job::ResultKey;
use crate::message::Stored;
use crate::names::HostName;

/// A delivery of the stream; each message may be delivered again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery(pub u64);

/// What came of an insertion under a key that is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is in the database now.
    New,
    /// It was there before.
    Existed,
    /// The database is busy or full: the stream delivers it again.
    Failed,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum CollectorInput {
    /// The stream delivered a result.
    Delivered {
        /// For its acknowledgement.
        delivery: Delivery,
        /// Its key.
        key: ResultKey,
        /// The document.
        document: String,
    },
    /// The database has committed the insertion, or not.
    Inserted(Delivery, Inserted),
}

/// Something that is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum CollectorEffect {
    /// Insert the result, if its key is new; `Inserted` follows.
    Insert {
        /// For the outcome.
        delivery: Delivery,
        /// Its key.
        key: ResultKey,
        /// The document.
        document: String,
    },
    /// Publish that the host's result is in the database.
    Stored(HostName, Stored),
    /// Acknowledge the delivery.
    Acknowledge(Delivery),
}

/// Numbers of results since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// New ones.
    pub new: u64,
    /// Those that were there before.
    pub repeated: u64,
    /// Insertions that failed.
    pub failed: u64,
}

/// The collector of a site.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    inserting: BTreeMap<Delivery, ResultKey>,
    collected: Collected,
}

impl Collector {
    /// How much it has collected.
    #[must_use]
    pub fn collected(&self) -> Collected {
        self.collected
    }

    /// What is to be done about something that happened.
    pub fn handle(&mut self, input: CollectorInput) -> Vec<CollectorEffect> {
        match input {
            CollectorInput::Delivered {
                delivery,
                key,
                document,
            } => {
                self.inserting.insert(delivery, key.clone());
                vec![CollectorEffect::Insert {
                    delivery,
                    key,
                    document,
                }]
            }
            CollectorInput::Inserted(delivery, inserted) => {
                let Some(key) = self.inserting.remove(&delivery) else {
                    return Vec::new();
                };
                match inserted {
                    Inserted::New => self.collected.new += 1,
                    Inserted::Existed => self.collected.repeated += 1,
                    Inserted::Failed => {
                        self.collected.failed += 1;
                        return Vec::new();
                    }
                }
                // The agent first: without the acknowledgement all comes again.
                let host = key.host.clone();
                let stored = Stored { results: vec![key] };
                vec![
                    CollectorEffect::Stored(host, stored),
                    CollectorEffect::Acknowledge(delivery),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Attempt, AttemptKey};

    #[test]
    fn only_what_is_in_the_database_is_acknowledged() {
        let key = ResultKey {
            of: AttemptKey {
                job: "j7".parse().expect("a name"),
                attempt: Attempt(1),
            },
            host: "fra1".parse().expect("a name"),
        };
        let mut collector = Collector::default();
        for (number, inserted, acknowledged) in [
            (1, Inserted::Failed, false),
            (2, Inserted::New, true),
            (3, Inserted::Existed, true),
        ] {
            let delivery = Delivery(number);
            let effects = collector.handle(CollectorInput::Delivered {
                delivery,
                key: key.clone(),
                document: "{}".to_owned(),
            });
            assert!(matches!(
                effects.as_slice(),
                [CollectorEffect::Insert { .. }]
            ));
            let effects = collector.handle(CollectorInput::Inserted(delivery, inserted));
            let is_acknowledged = effects.contains(&CollectorEffect::Acknowledge(delivery));
            assert_eq!(
                (effects.len(), is_acknowledged),
                (2 * usize::from(acknowledged), acknowledged)
            );
        }
        let collected = collector.collected();
        assert_eq!(
            (collected.new, collected.repeated, collected.failed),
            (1, 1, 1)
        );
    }
}
