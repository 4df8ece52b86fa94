//! The runs of one side of a comparison, or of a gate.

use crate::quantity::{QUANTITIES, QuantityInfo};
use crate::run_facts::RunFacts;

/// Some runs, and how they were named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// As the runs were named: `last:8`.
    pub name: String,
    /// All of them, in their order.
    pub runs: Vec<RunFacts>,
}

impl Side {
    /// The runs whose numbers count.
    pub fn counted(&self) -> impl Iterator<Item = &RunFacts> {
        self.runs.iter().filter(|run| run.counts())
    }

    /// What the runs that count have of a number; those that lack it are left out.
    #[must_use]
    pub fn values(&self, quantity: &str, direction: &str) -> Vec<f64> {
        let runs = self.counted();
        runs.filter_map(|run| run.value(quantity, direction))
            .collect()
    }

    /// How many of the runs that count were limited by a host, surely or likely.
    #[must_use]
    pub fn host_limited(&self) -> usize {
        self.counted().filter(|run| run.blames_a_host()).count()
    }

    /// First and last start.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let starts = || self.counted().filter_map(|run| run.started);
        starts().min().zip(starts().max())
    }

    /// The numbers that any run has, in the order of the table.
    pub(crate) fn quantities(&self) -> Vec<(&'static QuantityInfo, &'static str)> {
        let mut found = Vec::new();
        for info in QUANTITIES {
            for run in self.counted() {
                let its = run
                    .measurements
                    .iter()
                    .filter(|one| one.quantity == info.name);
                for one in its {
                    if !found
                        .iter()
                        .any(|(known, direction): &(&QuantityInfo, &str)| {
                            known.name == info.name && *direction == one.direction
                        })
                    {
                        found.push((info, one.direction));
                    }
                }
            }
        }
        found
    }

    /// What the runs that count say, each answer once, in the order of the runs.
    pub(crate) fn distinct(&self, read: impl Fn(&RunFacts) -> String) -> Vec<String> {
        let mut answers: Vec<String> = Vec::new();
        for answer in self.counted().map(read) {
            if !answers.contains(&answer) {
                answers.push(answer);
            }
        }
        answers
    }
}
