//! What is said between agents, controllers and the collector.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tapeline_remote::{Class, GivenOption};

use crate::job::{AttemptKey, Epoch, ResultKey, ServerAt};
use crate::names::{HostName, Subject};

/// Longest order, bytes.
pub const LONGEST_ORDER: usize = 64 << 10;
/// How long an order waits for its answer, seconds.
pub const ANSWER_SECONDS: u64 = 2;

/// Which request an answer belongs to: a number of whoever carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId(pub u64);

/// An order to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentOrder {
    /// For which attempt.
    #[serde(flatten)]
    pub of: AttemptKey,
    /// Who orders.
    pub epoch: Epoch,
    /// What.
    #[serde(flatten)]
    pub action: Action,
}

impl AgentOrder {
    /// From bytes.
    ///
    /// # Errors
    /// They are none, in words.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LONGEST_ORDER {
            return Err(format!("an order of more than {LONGEST_ORDER} bytes"));
        }
        serde_json::from_slice(bytes).map_err(|error| format!("no order that is known: {error}"))
    }
}

/// What an agent is to do. Each may be repeated: the answer is the same, and nothing happens twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Action {
    /// Keep a slot free for the attempt.
    Reserve {
        /// The length of the test, seconds.
        seconds: u32,
        /// Beside which others.
        class: Class,
        /// The address of the host that it tests with.
        peer: String,
        /// Options of the test.
        options: Vec<GivenOption>,
    },
    /// Keep it so many seconds from now on at least (0: as long as before), and say how the attempt goes.
    Renew {
        /// From now on.
        seconds: u32,
    },
    /// Give the slot up; a test in it is stopped.
    Release,
    /// Serve the test.
    Serve {
        /// Options of the server.
        options: Vec<GivenOption>,
        /// The address of the client; no other one may use the server.
        allow: Vec<String>,
    },
    /// Run the test.
    Run {
        /// Options of the client; `client` among them.
        options: Vec<GivenOption>,
        /// Its events are published.
        live: bool,
    },
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Answer {
    /// The slot is kept.
    Granted {
        /// From now on, unless something ends first.
        seconds: u32,
    },
    /// No.
    Refused {
        /// Why, for programs.
        why: Refusal,
        /// Why, for people.
        text: String,
    },
    /// The server of the test listens.
    Listening(ServerAt),
    /// The client of the test runs, or has ended.
    Started,
    /// How the attempt goes.
    Status {
        /// How.
        status: Status,
    },
    /// The slot is given up, or was not the attempt's.
    Released,
}

/// Why an agent refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// Another test has the slot, or still runs.
    Busy,
    /// A later controller has ordered already.
    OldEpoch,
    /// The slot is not the attempt's.
    NotReserved,
    /// The host's owner does not allow it.
    Limits,
    /// The options are wrong.
    Usage,
    /// Results cannot be kept at the moment.
    Spool,
}

/// How an attempt goes at a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The slot is kept for it.
    Reserved,
    /// Its test runs.
    Running,
    /// Its test is over. A result that was measured is in the spool.
    Ended(How),
    /// Its result is in the database.
    Stored,
    /// Its result was given up: the spool was full.
    Gone,
    /// The host knows nothing of it.
    Unknown,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// With a result.
    Measured,
    /// Without; another attempt may have one.
    Failed(String),
    /// Without; other attempts would end the same way.
    Refused(String),
}

/// What an agent says of itself: on a beat, and when it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Who.
    pub host: HostName,
    /// What others test towards.
    pub address: Arc<str>,
    /// The newest epoch that it knows.
    pub epoch: Epoch,
    /// The attempt that has the exclusive slot.
    pub slot: Option<AttemptKey>,
    /// An exclusive test might be granted now.
    pub is_free: bool,
    /// The attempt that ended last, and how.
    pub ended: Option<(AttemptKey, How)>,
    /// What waits for the collector.
    pub spool: SpoolSize,
    /// Of the agent.
    pub version: Arc<str>,
}

impl Beat {
    /// From what came on a subject, which rights bind to a host; none if it is that of another one.
    #[must_use]
    pub fn of_subject(subject: &str, bytes: &[u8]) -> Option<Self> {
        let beat: Self = serde_json::from_slice(bytes).ok()?;
        match subject.parse() {
            Ok(Subject::Beat(_, host)) if host == beat.host => Some(beat),
            _ => None,
        }
    }
}

/// What a spool holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolSize {
    /// Results.
    pub results: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Results that were given up for lack of room, ever.
    pub given_up: u64,
}

/// Who is there, to all agents of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The epoch of the controller that asks: agents refuse smaller ones from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
}

/// These results are in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Which.
    pub results: Vec<ResultKey>,
}

/// A result on its way to the collector: a line with its key, then the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultMessage {
    /// Its key.
    pub key: ResultKey,
    /// What was measured, as JSON.
    pub document: String,
}

/// Bytes that are no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message that is no result")]
pub struct NoResult;

impl ResultMessage {
    /// As bytes.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(&self.key).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(self.document.as_bytes());
        bytes
    }

    /// From what came on a subject: rights bind that to a host, so its result is that of no other one.
    ///
    /// # Errors
    /// It is no result, or another host's or job's than the subject says.
    pub fn of_subject(subject: &str, bytes: &[u8]) -> Result<Self, NoResult> {
        let read = Self::read(bytes)?;
        match subject.parse() {
            Ok(Subject::Result(_, host, job))
                if host == read.key.host && job == read.key.of.job =>
            {
                Ok(read)
            }
            _ => Err(NoResult),
        }
    }

    /// From bytes.
    ///
    /// # Errors
    /// They are none.
    pub fn read(bytes: &[u8]) -> Result<Self, NoResult> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (key, document) = bytes.split_at(end.ok_or(NoResult)?);
        Ok(Self {
            key: serde_json::from_slice(key).map_err(|_| NoResult)?,
            document: String::from_utf8(document[1..].to_vec()).map_err(|_| NoResult)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn orders_are_those_of_the_executor_and_more() {
        let head = json!({"job": "j7", "attempt": 2, "epoch": 9});
        for (more, reads) in [
            (json!({"do": "renew", "seconds": 0}), true),
            (json!({"do": "release"}), true),
            (
                json!({"do": "run", "options": [["client", "h:5"], ["udp"]], "live": false}),
                true,
            ),
            (
                json!({"do": "serve", "options": [], "allow": ["192.0.2.9"]}),
                true,
            ),
            (
                json!({"do": "reserve", "seconds": 10, "class": "exclusive", "peer": "192.0.2.9",
                    "options": [["time", "10"]]}),
                true,
            ),
            (json!({"do": "shell", "command": "x"}), false),
            (
                json!({"do": "run", "options": [["a", "b", "c"]], "live": false}),
                false,
            ),
        ] {
            let mut order = head.clone();
            let object = order.as_object_mut().expect("an object");
            object.extend(more.as_object().expect("an object").clone());
            let read = serde_json::from_value::<AgentOrder>(order.clone());
            assert_eq!(read.is_ok(), reads, "{order}");
            if let Ok(read) = read {
                assert_eq!(serde_json::to_value(read).expect("JSON"), order);
            }
        }
    }

    #[test]
    fn results_are_read_as_they_are_written() {
        let result = ResultMessage {
            key: ResultKey {
                of: AttemptKey {
                    job: "run/7/fra1/osl1".parse().expect("a name"),
                    attempt: crate::job::Attempt(1),
                },
                host: "fra1".parse().expect("a name"),
            },
            document: "{\"a\":\n1}".to_owned(),
        };
        assert_eq!(ResultMessage::read(&result.write()), Ok(result));
        for bytes in [&b""[..], b"{}", b"{}\n{}", b"\n"] {
            assert_eq!(ResultMessage::read(bytes), Err(NoResult));
        }
    }

    #[test]
    fn a_host_speaks_for_itself_alone() {
        let result = ResultMessage {
            key: ResultKey {
                of: AttemptKey {
                    job: "run/7/fra1/osl1".parse().expect("a name"),
                    attempt: crate::job::Attempt(1),
                },
                host: "fra1".parse().expect("a name"),
            },
            document: "{}".to_owned(),
        };
        let beat = Beat {
            host: "fra1".parse().expect("a name"),
            address: "192.0.2.1".into(),
            epoch: Epoch(1),
            slot: None,
            is_free: true,
            ended: None,
            spool: SpoolSize::default(),
            version: "".into(),
        };
        let beat_bytes = serde_json::to_vec(&beat).expect("JSON");
        let own = "tl.v1.result.lab.fra1.run/7/fra1/osl1";
        assert_eq!(
            ResultMessage::of_subject(own, &result.write()),
            Ok(result.clone())
        );
        assert_eq!(
            Beat::of_subject("tl.v1.beat.lab.fra1", &beat_bytes),
            Some(beat)
        );
        for other in [
            "tl.v1.result.lab.osl1.run/7/fra1/osl1",
            "tl.v1.result.lab.fra1.run/8/fra1/osl1",
            "tl.v1.beat.lab.osl1",
            "x",
        ] {
            assert_eq!(
                ResultMessage::of_subject(other, &result.write()),
                Err(NoResult),
                "{other}"
            );
            assert_eq!(Beat::of_subject(other, &beat_bytes), None, "{other}");
        }
    }

    #[test]
    fn answers_are_read_as_they_are_written() {
        let refused = Answer::Refused {
            why: Refusal::OldEpoch,
            text: "why".to_owned(),
        };
        let ended = Answer::Status {
            status: Status::Ended(How::Failed("why".to_owned())),
        };
        let listening = Answer::Listening(ServerAt {
            address: "192.0.2.1".to_owned(),
            ports: tapeline_remote::Listening {
                tcp: Some(1),
                udp: None,
            },
        });
        for answer in [refused, ended, listening, Answer::Started, Answer::Released] {
            let text = serde_json::to_string(&answer).expect("JSON");
            assert_eq!(serde_json::from_str::<Answer>(&text).expect(&text), answer);
        }
    }
}
