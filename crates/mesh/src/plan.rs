//! What is to be measured, in full: what a journal needs to go on.

use serde::{Deserialize, Serialize};
use tapeline_base::fnv1a;

use crate::host::{Host, HostId, Pair, SharedLink};
use crate::pattern::{Pattern, PatternError};

/// Which tests run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One test on a host, one direction after the other.
    InTurn,
    /// One test on a host, both directions in it.
    FullDuplex,
    /// All of them, at a common time.
    AllAtOnce,
}

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeshPlan {
    /// In the order of the table.
    pub hosts: Vec<Host>,
    /// Links between them.
    pub shared: Vec<SharedLink>,
    /// Who tests whom.
    pub pattern: Pattern,
    /// Decides a random pattern.
    pub seed: u64,
    /// The options of one test, as typed.
    pub test: Vec<String>,
    /// Which tests run at the same time.
    pub mode: Mode,
}

impl MeshPlan {
    /// The tests, those first that are to start first.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub fn tests(&self) -> Result<Vec<Pair>, PatternError> {
        let rounds = self.pattern.rounds(&self.hosts, self.seed)?;
        let both = self.pattern.is_both_ways() && self.mode != Mode::FullDuplex;
        let mut tests = Vec::new();
        for round in rounds {
            tests.extend_from_slice(&round);
            if both {
                let back = round.iter().map(|pair| Pair {
                    from: pair.to,
                    to: pair.from,
                });
                tests.extend(back);
            }
        }
        Ok(tests)
    }

    /// A host of the plan.
    ///
    /// # Panics
    /// If it is none of them.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.0]
    }

    /// What tells plans apart: 16 digits (FNV-1a, 64 bits, of the plan as JSON).
    #[must_use]
    pub fn hash(&self) -> String {
        // A plan has no map with keys that are no text.
        let text = serde_json::to_vec(self).unwrap_or_default();
        format!("{:016x}", fnv1a(&text))
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;
    use crate::host::Via;

    /// A plan for so many hosts, all with all.
    pub(crate) fn full(hosts: usize) -> MeshPlan {
        MeshPlan {
            hosts: (0..hosts).map(host).collect(),
            shared: Vec::new(),
            pattern: Pattern::Full,
            seed: 7,
            test: vec!["-t".to_owned(), "10".to_owned()],
            mode: Mode::InTurn,
        }
    }

    fn host(number: usize) -> Host {
        Host {
            name: format!("h{number}"),
            destination: format!("h{number}"),
            via: Via::Ssh,
            address: None,
            groups: vec![format!("g{}", number % 3)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_told_apart_and_survive_their_journal() {
        let plan = samples::full(4);
        let mut other = plan.clone();
        other.seed = 8;
        assert_ne!(plan.hash(), other.hash());
        let text = serde_json::to_string(&plan).expect("JSON");
        let again: MeshPlan = serde_json::from_str(&text).expect("a plan");
        assert_eq!((again.hash(), again), (plan.hash(), plan));
    }

    #[test]
    fn both_directions_follow_each_other_unless_they_are_one_test() {
        let mut plan = samples::full(4);
        assert_eq!(plan.tests().expect("tests").len(), 12);
        let first = plan.tests().expect("tests");
        assert_eq!((first[0].from, first[0].to), (first[2].to, first[2].from));
        plan.mode = Mode::FullDuplex;
        assert_eq!(plan.tests().expect("tests").len(), 6);
    }
}
