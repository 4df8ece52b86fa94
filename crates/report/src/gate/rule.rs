//! Rules as data, and the values that they are written with.

use std::collections::BTreeMap;

use super::document::Outcome;
use crate::comparison::Side;
use crate::quantity::{Dimension, QuantityInfo};
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

impl Rule {
    /// What `where` may name.
    pub const WHERE: [&str; 6] = [
        "to_host",
        "peer_address",
        "protocol",
        "transport",
        "direction",
        "workload",
    ];

    /// Whether the rule is about a run.
    #[must_use]
    pub fn is_about(&self, run: &RunFacts) -> bool {
        self.only.iter().all(|(member, wanted)| {
            let is = match member.as_str() {
                "to_host" => &run.host,
                "peer_address" => &run.address,
                "protocol" => &run.protocol,
                "transport" => &run.transport,
                "direction" => &run.direction,
                "workload" => &run.workload,
                _ => return false,
            };
            is.as_deref() == Some(wanted)
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
        let share = text
            .trim()
            .strip_suffix('%')
            .filter(|_| info.dimension != Dimension::Percent);
        if let Some(share) = share {
            let share = share.trim().parse::<f64>().ok();
            let share = share.filter(|share| (0.0..100.0).contains(share));
            let wanted = "percentage";
            return share
                .map(|share| Self::Share(share / 100.0))
                .ok_or(UnfitValue { wanted });
        }
        if info.scale == crate::quantity::Scale::Ratio {
            return Err(UnfitValue {
                wanted: "percentage",
            });
        }
        read_value(text, info.dimension).map(Self::Amount)
    }
}
