//! How values are read and refused, for all options alike.

use std::time::Duration;

use tapeline_base::{parse_amount, parse_seconds};

use crate::raw::Given;
use crate::values::lenient_amount;

use super::log::{Log, Stop};
use super::settings::Settings;

/// A byte count as the name's habits read it: iperf ignores what follows the number.
pub(super) fn amount(settings: &Settings, given: &Given, log: &mut Log) -> Result<u64, Stop> {
    if !settings.iperf() {
        return strict_amount(given, log);
    }
    lenient_amount(&given.text())
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| unrecognized(given, log))
}

/// Bytes for a 32-bit socket option or message field.
pub(super) fn small_amount(settings: &Settings, given: &Given, log: &mut Log) -> Result<u32, Stop> {
    u32::try_from(amount(settings, given, log)?)
        .ok()
        .filter(|bytes| *bytes <= i32::MAX.unsigned_abs())
        .ok_or_else(|| refuse_value(given, "is too large", log))
}

/// Seconds, 0 or more; the whole text is a number.
pub(super) fn seconds(given: &Given, log: &mut Log) -> Result<Duration, Stop> {
    match parse_seconds(&given.text()) {
        Err(_) => Err(unrecognized_as(given, "is no number of seconds", log)),
        Ok(seconds) if seconds < 0.0 => Err(refuse_value(given, "is negative", log)),
        Ok(seconds) => duration(seconds).ok_or_else(|| refuse_value(given, "is too long", log)),
    }
}

/// A time of up to 300 years, to the nanosecond.
pub(super) fn duration(seconds: f64) -> Option<Duration> {
    (seconds < 1e10)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

/// A whole number, 0 or more.
pub(super) fn count(given: &Given, log: &mut Log) -> Result<u64, Stop> {
    given
        .text()
        .parse()
        .map_err(|_| refuse_value(given, "is no whole number", log))
}

pub(super) fn strict_amount(given: &Given, log: &mut Log) -> Result<u64, Stop> {
    let text = given.text();
    parse_amount(&text)
        .and_then(|amount| amount.strict(&text))
        .map_err(|error| refuse(given, &error.to_string(), log))
}

/// iperf's words for a text that it cannot read.
pub(super) fn unrecognized(given: &Given, log: &mut Log) -> Stop {
    unrecognized_as(given, "is not understood", log)
}

/// The same, with tapeline's reason.
pub(super) fn unrecognized_as(given: &Given, problem: &str, log: &mut Log) -> Stop {
    let text = given.text();
    log.fatal(
        format!(
            "ERROR: {} value of '{text}' not recognized",
            given.spec.shortest_name()
        ),
        bad_value(given, problem),
    )
}

/// The refusal of a value, for the same reason under both names.
pub(super) fn refuse_value(given: &Given, problem: &str, log: &mut Log) -> Stop {
    let sentence = bad_value(given, problem);
    log.fatal(format!("ERROR: {sentence}"), sentence)
}

/// The refusal of an option, for the same reason under both names.
pub(super) fn refuse(given: &Given, sentence: &str, log: &mut Log) -> Stop {
    let sentence = format!("{}: {sentence}", given.named());
    log.fatal(format!("ERROR: {sentence}"), sentence)
}

/// tapeline's sentence about a value.
pub(super) fn bad_value(given: &Given, problem: &str) -> String {
    format!("{}: '{}' {problem}", given.named(), given.text())
}
