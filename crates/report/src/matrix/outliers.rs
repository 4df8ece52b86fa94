//! Which hosts and paths are slower than the others.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_stats::{Effects, MedianPolish, median};

use super::cell::Cell;
use super::finding::{Finding, MatrixQuantity, Subject};

/// A rate that is lower by less, or a round trip that is longer by less, is not reported.
const LEAST_CHANGE: f64 = 0.10;
/// A round trip that is longer by less, seconds, is not reported: hosts take as long to wake a process.
const LEAST_DELAY: f64 = 1e-3;
/// Hosts that it takes to say which of them is unlike the others.
const LEAST_HOSTS: usize = 4;
/// Deviations below this are rounding.
const NO_DEVIATION: f64 = 1e-9;

/// What stands out, or why that is not known.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outliers {
    pub(crate) findings: Vec<Finding>,
    pub(crate) unknown: Option<String>,
}

impl Outliers {
    /// Of one number of all tests: by a median polish of its logarithms, in which a row is a sender,
    /// a column a receiver, and a residual a path.
    pub(crate) fn new(hosts: Vec<&str>, tests: &[Cell], quantity: MatrixQuantity) -> Self {
        let index: BTreeMap<&str, usize> = hosts.iter().copied().zip(0..).collect();
        let mut cells = vec![None; hosts.len() * hosts.len()];
        let mut values = cells.clone();
        let mut measured = BTreeSet::new();
        for cell in tests {
            let ends = (index.get(cell.from.as_str()), index.get(cell.to.as_str()));
            let value = cell.measured().and_then(|measured| quantity.of(measured));
            if let ((Some(from), Some(to)), Some(speed)) =
                (ends, value.and_then(|v| speed(quantity, v)))
            {
                cells[from * hosts.len() + to] = Some(speed);
                values[from * hosts.len() + to] = value;
                measured.extend([*from, *to]);
            }
        }
        if measured.is_empty() {
            return Self::default();
        }
        let polish = MedianPolish::new(hosts.len(), &cells);
        let polish = polish.filter(|_| measured.len() >= LEAST_HOSTS);
        let deviation = polish.as_ref().and_then(MedianPolish::residual_deviation);
        let (Some(polish), Some(deviation)) = (polish, deviation) else {
            let unknown =
                "Slow hosts and paths: unknown, this takes tests between at least 4 hosts";
            return Self {
                findings: Vec::new(),
                unknown: Some(unknown.to_owned()),
            };
        };
        let judge = Judge {
            quantity,
            hosts,
            values,
            polish,
        };
        let mut findings = judge.hosts();
        findings.extend(judge.paths(deviation));
        Self {
            findings,
            unknown: None,
        }
    }
}

/// The logarithm of how fast something is; nothing of what is no number.
fn speed(quantity: MatrixQuantity, value: f64) -> Option<f64> {
    let value = value.is_finite().then_some(value)?;
    match quantity {
        // What carries nothing is slow, not unknown.
        MatrixQuantity::Rate => Some(value.max(1.0).ln()),
        MatrixQuantity::RoundTrip => (value > 0.0).then(|| -value.ln()),
    }
}

/// Something that is slower than the others.
#[derive(Clone, Copy, Debug)]
struct Slow {
    change_percent: f64,
    deviations: Option<f64>,
}

impl Slow {
    fn worse(self, other: Self) -> Self {
        if other.change_percent.abs() > self.change_percent.abs() {
            other
        } else {
            self
        }
    }
}

struct Judge<'a> {
    quantity: MatrixQuantity,
    hosts: Vec<&'a str>,
    /// As measured, row after row.
    values: Vec<Option<f64>>,
    polish: MedianPolish,
}

impl Judge<'_> {
    /// Whether something that is so far from the others is slow; `values` were measured of it.
    fn slow(
        &self,
        away: f64,
        deviation: f64,
        unlike: f64,
        values: impl Iterator<Item = f64>,
    ) -> Option<Slow> {
        let change = match self.quantity {
            MatrixQuantity::Rate => away.exp() - 1.0,
            MatrixQuantity::RoundTrip => (-away).exp() - 1.0,
        };
        let is_slow = away < 0.0
            && change.abs() >= LEAST_CHANGE
            && -away > unlike * deviation
            && match self.quantity {
                MatrixQuantity::Rate => true,
                // What it takes less what the others let expect.
                MatrixQuantity::RoundTrip => {
                    median(&values.collect::<Vec<_>>()) * (1.0 - away.exp()) >= LEAST_DELAY
                }
            };
        is_slow.then(|| Slow {
            change_percent: 100.0 * change,
            deviations: (deviation > NO_DEVIATION).then(|| -away / deviation),
        })
    }

    fn effect(
        &self,
        effects: &Effects,
        host: usize,
        values: impl Iterator<Item = f64>,
    ) -> Option<Slow> {
        let (away, deviation) = (effects.get(host)?, effects.deviation()?);
        self.slow(away, deviation, effects.unlike(), values)
    }

    /// What a host measured as a sender.
    fn sent(&self, host: usize) -> impl Iterator<Item = f64> {
        let count = self.hosts.len();
        let row = &self.values[host * count..(host + 1) * count];
        row.iter().copied().flatten()
    }

    /// What others measured towards it.
    fn received(&self, host: usize) -> impl Iterator<Item = f64> {
        let column = self.values.iter().skip(host).step_by(self.hosts.len());
        column.copied().flatten()
    }

    /// The slow hosts, the slowest first.
    fn hosts(&self) -> Vec<Finding> {
        let (rows, columns) = (self.polish.row_effects(), self.polish.column_effects());
        let judged = |index: usize| {
            let host = || self.hosts[index].to_owned();
            let name = self.hosts[index];
            Some(
                match (
                    self.effect(rows, index, self.sent(index)),
                    self.effect(columns, index, self.received(index)),
                ) {
                    (Some(sends), Some(receives)) => {
                        let text = self.host_words(name, sends, receives);
                        self.finding(Subject::Host { host: host() }, sends.worse(receives), text)
                    }
                    (Some(sends), None) => {
                        let text = self.sender_words(name, sends, columns.get(index).is_some());
                        self.finding(Subject::Sender { host: host() }, sends, text)
                    }
                    (None, Some(receives)) => {
                        let text = self.receiver_words(name, receives, rows.get(index).is_some());
                        self.finding(Subject::Receiver { host: host() }, receives, text)
                    }
                    (None, None) => return None,
                },
            )
        };
        slowest_first((0..self.hosts.len()).filter_map(judged).collect())
    }

    /// The slow paths, the slowest first.
    fn paths(&self, deviation: f64) -> Vec<Finding> {
        let slow = |from: usize, to: usize| {
            let residual = self.polish.residual(from, to)?;
            let value = self.values[from * self.hosts.len() + to];
            self.slow(residual, deviation, self.polish.unlike(), value.into_iter())
        };
        let mut findings = Vec::new();
        for from in 0..self.hosts.len() {
            for to in 0..self.hosts.len() {
                let names = || (self.hosts[from].to_owned(), self.hosts[to].to_owned());
                match (slow(from, to), slow(to, from)) {
                    (Some(there), Some(back)) if from < to => {
                        let (worse, (from_name, to_name)) = (there.worse(back), names());
                        let text = self.path_words(from, to, "↔", worse);
                        let subject = Subject::BothWays {
                            from: from_name,
                            to: to_name,
                        };
                        findings.push(self.finding(subject, worse, text));
                    }
                    (Some(there), None) => {
                        let (from_name, to_name) = names();
                        let text = self.path_words(from, to, "→", there);
                        let subject = Subject::Path {
                            from: from_name,
                            to: to_name,
                        };
                        findings.push(self.finding(subject, there, text));
                    }
                    _ => {}
                }
            }
        }
        slowest_first(findings)
    }

    fn finding(&self, subject: Subject, slow: Slow, text: String) -> Finding {
        Finding {
            quantity: self.quantity,
            subject,
            change_percent: slow.change_percent,
            deviations: slow.deviations,
            text,
        }
    }

    fn receiver_words(&self, host: &str, slow: Slow, sends_well: bool) -> String {
        let change = change(slow);
        let look = format!("look at {host}, not at the paths");
        match self.quantity {
            MatrixQuantity::Rate => {
                let sends = if sends_well {
                    " (sends as others do)"
                } else {
                    ""
                };
                format!(
                    "{host} receives {change} less than the others from everybody: {look}{sends}"
                )
            }
            MatrixQuantity::RoundTrip => {
                format!("Round trips to {host} take {change} longer than to the others: {look}")
            }
        }
    }

    fn sender_words(&self, host: &str, slow: Slow, receives_well: bool) -> String {
        let change = change(slow);
        let look = format!("look at {host}, not at the paths");
        match self.quantity {
            MatrixQuantity::Rate => {
                let receives = if receives_well {
                    " (receives as others do)"
                } else {
                    ""
                };
                format!("{host} sends {change} less than the others to everybody: {look}{receives}")
            }
            MatrixQuantity::RoundTrip => {
                format!("Round trips from {host} take {change} longer than from the others: {look}")
            }
        }
    }

    fn host_words(&self, host: &str, sends: Slow, receives: Slow) -> String {
        let look = format!("look at {host}, not at the paths");
        match self.quantity {
            MatrixQuantity::Rate => format!(
                "{host} sends {} less and receives {} less than the others: {look}",
                change(sends),
                change(receives)
            ),
            MatrixQuantity::RoundTrip => {
                let change = change(sends.worse(receives));
                format!(
                    "Round trips of {host} with everybody take {change} longer than the others': {look}"
                )
            }
        }
    }

    /// A path is to blame where the other tests of both hosts say how fast those are.
    fn path_words(&self, from: usize, to: usize, arrow: &str, slow: Slow) -> String {
        let (sender, receiver) = (self.hosts[from], self.hosts[to]);
        let known = (
            self.polish.row_effects().is_known(from),
            self.polish.column_effects().is_known(to),
        );
        let (than, look) = match known {
            (true, true) => ("both hosts' other tests".to_owned(), "the path".to_owned()),
            (true, false) => (
                format!("{sender}'s other tests"),
                format!("the path and {receiver}"),
            ),
            (false, true) => (
                format!("the other tests to {receiver}"),
                format!("the path and {sender}"),
            ),
            (false, false) => (
                "the other tests".to_owned(),
                "the path and both hosts".to_owned(),
            ),
        };
        let change = change(slow);
        let differs = match self.quantity {
            MatrixQuantity::Rate => format!("{change} less than {than}"),
            MatrixQuantity::RoundTrip => format!("round trips {change} longer than {than}"),
        };
        format!("{sender} {arrow} {receiver}: {differs} suggest: look at {look}")
    }
}

/// `56 %`.
fn change(slow: Slow) -> String {
    let percent = slow.change_percent.abs();
    // 99.9 % less is not everything.
    let percent = if slow.change_percent < 0.0 {
        percent.min(99.0)
    } else {
        percent
    };
    format!("{percent:.0} %")
}

fn slowest_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|one, other| {
        other
            .change_percent
            .abs()
            .total_cmp(&one.change_percent.abs())
    });
    findings
}
