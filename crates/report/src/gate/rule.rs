//! Rules as data, and the values that they are written with.

use std::collections::BTreeMap;

use super::document::Outcome;
use crate::comparison::Side;
use crate::quantity::{Dimension, QuantityInfo, Scale};
use crate::run_facts::RunFacts;

/// All rules, and when they are not to be judged.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Runs that a rule needs to be judged.
    pub at_least: usize,
    /// What a rule becomes if a host limited one of its runs; judged all the same without.
    pub host_limited: Option<Outcome>,
    /// At least one.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The number that it is about.
    pub quantity: &'static QuantityInfo,
    /// Its direction; any where the runs have one only.
    pub direction: Option<String>,
    /// Runs that it is about: members of [`Rule::WHERE`] and their values.
    pub only: BTreeMap<String, String>,
    /// What is to be so.
    pub condition: Condition,
}

/// What is to be so.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The median is at least this.
    AtLeast(f64),
    /// The median is at most this.
    AtMost(f64),
    /// The runs are no worse than others by more than a margin.
    NoWorseThan {
        /// The others, as they are named.
        baseline: String,
        /// Their runs.
        runs: Side,
        /// The margin.
        by: Margin,
        /// It as it was written.
        written: String,
    },
}

/// How much worse is still good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// A share of what was.
    Share(f64),
    /// So much, in the unit of the number.
    Amount(f64),
}

/// Reads a member of a run.
type RunMember = fn(&RunFacts) -> Option<&str>;

impl Rule {
    /// What `where` may name, and where a run has it.
    pub const WHERE: [(&str, RunMember); 6] = [
        ("to_host", |run| run.host.as_deref()),
        ("peer_address", |run| run.address.as_deref()),
        ("protocol", |run| run.protocol.as_deref()),
        ("transport", |run| run.transport.as_deref()),
        ("direction", |run| run.direction.as_deref()),
        ("workload", |run| run.workload.as_deref()),
    ];

    /// Whether the rule is about a run.
    #[must_use]
    pub fn is_about(&self, run: &RunFacts) -> bool {
        self.only.iter().all(|(member, wanted)| {
            let mut known = Self::WHERE.iter().filter(|(name, _)| name == member);
            known.any(|(_, read)| read(run) == Some(wanted))
        })
    }
}

/// A value that its number cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitValue {
    /// What it is to be: `rate`.
    pub wanted: &'static str,
}

/// Reads a value of a number: `900M` of a rate, `30ms` of a time, `0.1%`, or a number in the unit
/// of documents.
///
/// # Errors
/// It is none.
pub fn read_value(text: &str, dimension: Dimension) -> Result<f64, UnfitValue> {
    let text = text.trim();
    let (wanted, units): (&'static str, &[(&str, f64)]) = match dimension {
        Dimension::Rate => (
            "rate",
            &[
                ("kbit/s", 1e3),
                ("Mbit/s", 1e6),
                ("Gbit/s", 1e9),
                ("bit/s", 1.0),
                ("k", 1e3),
                ("K", 1e3),
                ("m", 1e6),
                ("M", 1e6),
                ("g", 1e9),
                ("G", 1e9),
                ("t", 1e12),
                ("T", 1e12),
            ],
        ),
        Dimension::Millis => (
            "time",
            &[("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("s", 1e3)],
        ),
        Dimension::Percent => ("percentage", &[("%", 1.0)]),
        Dimension::PerSecond => ("number for each second", &[("/s", 1.0)]),
        Dimension::SecondsPerGigabyte => ("time for each gigabyte", &[("s/GB", 1.0)]),
        Dimension::PerGigabyte => ("number for each gigabyte", &[("/GB", 1.0)]),
    };
    let unit = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let (number, scale) = unit.unwrap_or((text, 1.0));
    let value = number.trim().parse::<f64>().ok();
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    value
        .map(|value| value * scale)
        .ok_or(UnfitValue { wanted })
}

impl Margin {
    /// Reads a margin: `3%`, or an amount of a number that is compared by its difference.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str, info: &QuantityInfo) -> Result<Self, UnfitValue> {
        let is_share = text.trim().ends_with('%') && info.dimension != Dimension::Percent;
        if !is_share && info.scale != Scale::Ratio {
            return read_value(text, info.dimension).map(Self::Amount);
        }
        let share = read_value(text, Dimension::Percent)?;
        let wanted = "percentage";
        if is_share && share < 100.0 {
            Ok(Self::Share(share / 100.0))
        } else {
            Err(UnfitValue { wanted })
        }
    }
}
