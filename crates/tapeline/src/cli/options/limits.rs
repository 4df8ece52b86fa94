//! `--limit NAME=VALUE`: the limits of foreign clients by their names.

use std::time::Duration;

use tapeline_base::{BitRate, Bytes, NumberError, parse_amount, parse_rate, parse_seconds};
use tapeline_dialect::{AllowedMethods, Limits};

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::Settings;
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::refuse;

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
    Methods(&'a mut AllowedMethods),
}

/// What stands for no limit.
const NONE: &str = "none";

/// One limit.
pub(crate) struct LimitSpec {
    pub(crate) name: &'static str,
    /// A name that it had once, which is still accepted and shown nowhere.
    former: Option<&'static str>,
    place: fn(&mut Limits) -> Place<'_>,
}

/// Every limit, in the order of `docs/server.md`.
#[rustfmt::skip]
pub(crate) static LIMITS: [LimitSpec; 18] = [
    LimitSpec::new("tests", |limits| Place::Count(&mut limits.tests)),
    LimitSpec::new("tests-per-source", |limits| Place::Count(&mut limits.tests_of_source)).formerly("tests-of-source"),
    LimitSpec::new("streams", |limits| Place::Count(&mut limits.streams)),
    LimitSpec::new("streams-per-test", |limits| Place::Count(&mut limits.streams_of_test)).formerly("streams-of-test"),
    LimitSpec::new("duration", |limits| Place::Seconds(&mut limits.longest)),
    LimitSpec::new("bytes", |limits| Place::AnyBytes(&mut limits.bytes)),
    LimitSpec::new("rate", |limits| Place::AnyRate(&mut limits.rate)),
    LimitSpec::new("block", |limits| Place::Block(&mut limits.block)),
    LimitSpec::new("lowest-port", |limits| Place::Port(&mut limits.lowest_port)),
    LimitSpec::new("pending", |limits| Place::Size(&mut limits.pending)),
    LimitSpec::new("pending-per-source", |limits| Place::Size(&mut limits.pending_of_source)).formerly("pending-of-source"),
    LimitSpec::new("udp-clients", |limits| Place::Size(&mut limits.max_unverified_flows)).formerly("newcomers"),
    LimitSpec::new("unverified-rate", |limits| Place::Rate(&mut limits.unverified_rate)),
    LimitSpec::new("methods", |limits| Place::Methods(&mut limits.methods)),
    LimitSpec::new("method-udp-rate", |limits| Place::Rate(&mut limits.method_udp_rate)),
    LimitSpec::new("wrong-keys", |limits| Place::Count(&mut limits.keys)),
    LimitSpec::new("wrong-keys-per-source", |limits| Place::Count(&mut limits.keys_of_source)).formerly("wrong-keys-of-source"),
    LimitSpec::new("refusals-logged", |limits| Place::PerSecond(&mut limits.refusals_logged)).formerly("refusals-told"),
];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Limit, None, "limit", Remote::Yes(ValueKind::Text))
        .value("NAME=VALUE")
        .apply(limit)
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "limit of clients that are not trusted; may be given often",
        )
        .details(
            "Names: tests, tests-per-source, streams, streams-per-test, duration (seconds), bytes and rate \
             (of a test, in each direction; none), block (bytes), lowest-port, pending, \
             pending-per-source, udp-clients, unverified-rate (bit/s), methods (all, none, or names with \
             commas between them), method-udp-rate (bit/s), wrong-keys, wrong-keys-per-source \
             (for all clients), refusals-logged. docs/server.md explains them; --print-config shows their values.",
        ),
];

impl LimitSpec {
    const fn new(name: &'static str, place: fn(&mut Limits) -> Place<'_>) -> Self {
        Self {
            name,
            former: None,
            place,
        }
    }

    /// Had this name once.
    const fn formerly(self, name: &'static str) -> Self {
        Self {
            former: Some(name),
            ..self
        }
    }

    /// Its value as it would be typed.
    pub(crate) fn shown(&self, limits: &Limits) -> String {
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
            Place::Methods(methods) => methods.to_string(),
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
        const RATE: &str = "bits per second, such as 100M";
        const RATE_OR_NONE: &str = "bits per second, such as 100M, or none";
        const METHODS: &str = "all, none, or names of capacity, mtu, samples, such as mtu,samples";
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
            Place::Rate(rate) => *rate = parse_rate(text).map_err(|_| RATE)?,
            Place::AnyBytes(bytes) => {
                *bytes = unless_none(text, amount).ok_or(BYTES)?.map(Bytes);
            }
            Place::AnyRate(rate) => {
                let bits = |text: &str| parse_rate(text).map(|rate| rate.0);
                *rate = unless_none(text, bits).ok_or(RATE_OR_NONE)?.map(BitRate);
            }
            Place::Methods(methods) => {
                *methods = AllowedMethods::parse(text).ok_or(METHODS)?;
            }
        }
        Ok(())
    }
}

/// A number that may have a unit.
fn amount(text: &str) -> Result<u64, NumberError> {
    parse_amount(text)?.strict(text)
}

/// A number from 1, or the word for no limit; `None` when it is neither.
fn unless_none(text: &str, read: fn(&str) -> Result<u64, NumberError>) -> Option<Option<u64>> {
    match text {
        NONE => Some(None),
        text => read(text).ok().filter(|number| *number > 0).map(Some),
    }
}

/// The limit that `--limit` names.
pub(crate) fn named(given: &Given) -> Option<&'static LimitSpec> {
    let text = given.text();
    let name = text.split('=').next().unwrap_or_default();
    LIMITS
        .iter()
        .find(|spec| spec.name == name || spec.former == Some(name))
}

/// Carries out `--limit`.
fn limit(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    let text = given.text();
    let Some((name, value)) = text.split_once('=') else {
        return Err(refuse(given, "NAME=VALUE, such as tests=16", log));
    };
    let Some(spec) = named(given) else {
        let names: Vec<&str> = LIMITS.iter().map(|spec| spec.name).collect();
        let names = names.join(", ");
        return Err(refuse(given, &format!("'{name}' is none of {names}"), log));
    };
    spec.set(&mut settings.access.limits, value)
        .map_err(|wanted| refuse(given, &format!("{name} is {wanted}, not '{value}'"), log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_set_and_shown() {
        for (index, spec) in LIMITS.iter().enumerate() {
            let mut limits = Limits::default();
            let value = match spec.name {
                "methods" => "mtu,samples".to_owned(),
                _ => (index + 7).to_string(),
            };
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
    fn former_names_mean_the_same_and_are_shown_nowhere() {
        use crate::cli::tests::{line, server};
        use tapeline_dialect::Personality::Native;
        let limits = |name: &str| {
            let (plan, _) = server(Native, &format!("-s --limit {name}=7"));
            plan.limits
        };
        let page = include_str!("../../../../../docs/server.md");
        let formers = LIMITS
            .iter()
            .filter_map(|spec| Some((spec.former?, spec.name)));
        let formers: Vec<_> = formers.collect();
        assert_eq!(formers.len(), 6);
        for (former, name) in formers {
            assert_eq!(limits(former), limits(name), "{former}");
            assert!(!page.contains(&format!("`{former}`")), "{former}");
        }
        let refused = line(Native, "-s --limit nonsense=7");
        for spec in &LIMITS {
            let shown = |text: &str| spec.former.is_some_and(|former| text.contains(former));
            assert!(!crate::cli::tests::said(&refused).into_iter().any(shown));
        }
    }

    #[test]
    fn every_limit_is_in_the_help_and_explained() {
        let option = crate::cli::options::table::all()
            .find(|spec| spec.id == crate::cli::spec::OptionId::Limit);
        let details = option.expect("there is one").details;
        let page = include_str!("../../../../../docs/server.md");
        for spec in &LIMITS {
            assert!(!spec.former.is_some_and(|former| details.contains(former)));
            assert!(details.contains(spec.name), "{}", spec.name);
            assert!(
                page.contains(&format!("| `{}` |", spec.name)),
                "{}",
                spec.name
            );
        }
    }
}
