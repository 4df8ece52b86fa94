//! `--limit NAME=VALUE`: the limits of foreign clients by their names.

use std::time::Duration;

use tapeline_base::{BitRate, Bytes, NumberError, parse_amount, parse_seconds};
use tapeline_dialect::Limits;

use crate::raw::Given;

use super::log::{Log, Stop};
use super::reading::refuse;

/// A test of a foreign client has an end: 30 years.
const LONGEST_SECONDS: f64 = 1e9;

/// Where a limit is kept.
enum Place<'a> {
    /// Things that are kept; at least one.
    Size(&'a mut usize),
    Count(&'a mut u32),
    PerSecond(&'a mut u64),
    Seconds(&'a mut Duration),
    Port(&'a mut u16),
    /// Bytes of a block.
    Block(&'a mut u32),
    Rate(&'a mut BitRate),
    AnyBytes(&'a mut Option<Bytes>),
    AnyRate(&'a mut Option<BitRate>),
}

/// What stands for no limit.
const NONE: &str = "none";

/// One limit.
pub(crate) struct LimitSpec {
    pub(crate) name: &'static str,
    place: fn(&mut Limits) -> Place<'_>,
}

/// Every limit, in the order of `docs/operations.md`.
#[rustfmt::skip]
pub(crate) static LIMITS: [LimitSpec; 16] = [
    LimitSpec { name: "tests", place: |limits| Place::Count(&mut limits.tests) },
    LimitSpec { name: "tests-of-source", place: |limits| Place::Count(&mut limits.tests_of_source) },
    LimitSpec { name: "streams", place: |limits| Place::Count(&mut limits.streams) },
    LimitSpec { name: "streams-of-test", place: |limits| Place::Count(&mut limits.streams_of_test) },
    LimitSpec { name: "duration", place: |limits| Place::Seconds(&mut limits.longest) },
    LimitSpec { name: "bytes", place: |limits| Place::AnyBytes(&mut limits.bytes) },
    LimitSpec { name: "rate", place: |limits| Place::AnyRate(&mut limits.rate) },
    LimitSpec { name: "block", place: |limits| Place::Block(&mut limits.block) },
    LimitSpec { name: "lowest-port", place: |limits| Place::Port(&mut limits.lowest_port) },
    LimitSpec { name: "pending", place: |limits| Place::Size(&mut limits.pending) },
    LimitSpec { name: "pending-of-source", place: |limits| Place::Size(&mut limits.pending_of_source) },
    LimitSpec { name: "newcomers", place: |limits| Place::Size(&mut limits.newcomers) },
    LimitSpec { name: "unverified-rate", place: |limits| Place::Rate(&mut limits.unverified_rate) },
    LimitSpec { name: "wrong-keys", place: |limits| Place::Count(&mut limits.keys) },
    LimitSpec { name: "wrong-keys-of-source", place: |limits| Place::Count(&mut limits.keys_of_source) },
    LimitSpec { name: "refusals-told", place: |limits| Place::PerSecond(&mut limits.refusals_told) },
];

impl LimitSpec {
    /// Its value as it would be typed.
    pub(super) fn shown(&self, limits: &Limits) -> String {
        let optional = |number: Option<u64>| number.map_or(NONE.to_owned(), |it| it.to_string());
        match (self.place)(&mut limits.clone()) {
            Place::Size(size) => size.to_string(),
            Place::Count(count) => count.to_string(),
            Place::PerSecond(number) => number.to_string(),
            Place::Seconds(time) => time.as_secs_f64().to_string(),
            Place::Port(port) => port.to_string(),
            Place::Block(bytes) => bytes.to_string(),
            Place::Rate(rate) => rate.0.to_string(),
            Place::AnyBytes(bytes) => optional(bytes.map(|bytes| bytes.0)),
            Place::AnyRate(rate) => optional(rate.map(|rate| rate.0)),
        }
    }

    /// Sets it from a text.
    ///
    /// # Errors
    /// What the text should have been.
    fn set(&self, limits: &mut Limits, text: &str) -> Result<(), &'static str> {
        const NUMBER: &str = "a whole number";
        const BYTES: &str = "a number of bytes from 1, such as 64K or 10G, or none";
        const BLOCK: &str = "a number of bytes up to 2G";
        const RATE: &str = "bits per second, such as 100m";
        const RATE_OR_NONE: &str = "bits per second, such as 100m, or none";
        match (self.place)(limits) {
            Place::Size(size) => {
                *size = text
                    .parse()
                    .ok()
                    .filter(|size| *size > 0)
                    .ok_or("a number from 1")?;
            }
            Place::Count(count) => *count = text.parse().map_err(|_| NUMBER)?,
            Place::PerSecond(number) => *number = text.parse().map_err(|_| NUMBER)?,
            Place::Seconds(time) => {
                let seconds = parse_seconds(text).ok();
                let seconds = seconds.filter(|seconds| (0.0..=LONGEST_SECONDS).contains(seconds));
                *time = Duration::from_secs_f64(seconds.ok_or("seconds, at most 30 years")?);
            }
            Place::Port(port) => *port = text.parse().map_err(|_| "a port")?,
            Place::Block(bytes) => {
                let amount = amount(text)
                    .ok()
                    .and_then(|bytes| u32::try_from(bytes).ok());
                *bytes = amount.ok_or(BLOCK)?;
            }
            Place::Rate(rate) => *rate = BitRate(amount(text).map_err(|_| RATE)?),
            Place::AnyBytes(bytes) => *bytes = unless_none(text).ok_or(BYTES)?.map(Bytes),
            Place::AnyRate(rate) => *rate = unless_none(text).ok_or(RATE_OR_NONE)?.map(BitRate),
        }
        Ok(())
    }
}

/// A number that may have a unit.
fn amount(text: &str) -> Result<u64, NumberError> {
    parse_amount(text)?.strict(text)
}

/// A number from 1, or the word for no limit; `None` when it is neither.
fn unless_none(text: &str) -> Option<Option<u64>> {
    match text {
        NONE => Some(None),
        text => amount(text).ok().filter(|number| *number > 0).map(Some),
    }
}

/// The limit that `--limit` names.
pub(super) fn named(given: &Given) -> Option<&'static LimitSpec> {
    let text = given.text();
    let name = text.split('=').next().unwrap_or_default();
    LIMITS.iter().find(|spec| spec.name == name)
}

/// Carries out `--limit`.
pub(super) fn apply(limits: &mut Limits, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    let Some((name, value)) = text.split_once('=') else {
        return Err(refuse(given, "NAME=VALUE, such as tests=16", log));
    };
    let Some(spec) = named(given) else {
        let names: Vec<&str> = LIMITS.iter().map(|spec| spec.name).collect();
        let names = names.join(", ");
        return Err(refuse(given, &format!("'{name}' is none of {names}"), log));
    };
    spec.set(limits, value)
        .map_err(|wanted| refuse(given, &format!("{name} is {wanted}, not '{value}'"), log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_set_and_shown() {
        for (index, spec) in LIMITS.iter().enumerate() {
            let mut limits = Limits::default();
            let value = (index + 7).to_string();
            assert_eq!(spec.set(&mut limits, &value), Ok(()), "{}", spec.name);
            assert_eq!(spec.shown(&limits), value, "{}", spec.name);
            for other in LIMITS.iter().filter(|other| other.name != spec.name) {
                let default = other.shown(&Limits::default());
                assert_eq!(
                    other.shown(&limits),
                    default,
                    "{} {}",
                    spec.name,
                    other.name
                );
            }
            for nonsense in ["", "-1", "x", "nan", "1e30"] {
                assert!(spec.set(&mut limits, nonsense).is_err(), "{nonsense}");
            }
            assert_eq!(
                spec.shown(&limits),
                value,
                "a refused value changes nothing"
            );
        }
    }

    #[test]
    fn every_limit_is_in_the_help_and_explained() {
        let option = crate::options::all().find(|spec| spec.id == crate::options::OptionId::Limit);
        let details = option.expect("there is one").details;
        let page = include_str!("../../../../docs/operations.md");
        for spec in &LIMITS {
            assert!(details.contains(spec.name), "{}", spec.name);
            assert!(
                page.contains(&format!("| `{}` |", spec.name)),
                "{}",
                spec.name
            );
        }
    }
}
