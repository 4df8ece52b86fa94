//! Values: how they are read and refused, for all options alike.

use std::time::Duration;

use tapeline_base::{NumberError, parse_amount, parse_seconds};

use super::diagnostics::{Diagnostics, Exit};
use super::settings::Settings;
use super::spec::Given;

/// C's `atoi`: leading blanks, a sign, digits; everything else is ignored, no digits are 0.
/// Values beyond 32 bits stop at the limit.
pub(crate) fn atoi(text: &str) -> i32 {
    let text = text.trim_start();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0i64, |value, digit| {
            (value * 10 + i64::from(digit - b'0')).min(1 << 40)
        });
    let signed = if negative { -value } else { value };
    i32::try_from(signed).unwrap_or(if negative { i32::MIN } else { i32::MAX })
}

/// iperf 2's byte counts: number and suffix, truncated toward zero, the rest ignored.
/// `None` when the text does not start with a number.
pub(crate) fn lenient_amount(text: &str) -> Option<i64> {
    parse_amount(text).ok().map(|amount| amount.value as i64)
}

/// A byte count as the name's habits read it: iperf ignores what follows the number.
pub(crate) fn amount(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<u64, Exit> {
    if !settings.iperf() {
        return strict_amount(given, log);
    }
    lenient_amount(&given.text())
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| unrecognized(given, log))
}

/// Bytes for a 32-bit socket option or message field.
pub(crate) fn small_amount(
    settings: &Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<u32, Exit> {
    u32::try_from(amount(settings, given, log)?)
        .ok()
        .filter(|bytes| *bytes <= i32::MAX.unsigned_abs())
        .ok_or_else(|| refuse_value(given, "is too large", log))
}

/// Seconds, 0 or more; the whole text is a number.
pub(crate) fn seconds(given: &Given, log: &mut Diagnostics) -> Result<Duration, Exit> {
    match parse_seconds(&given.text()) {
        Err(_) => Err(unrecognized_as(given, "is no number of seconds", log)),
        Ok(seconds) if seconds < 0.0 => Err(refuse_value(given, "is negative", log)),
        Ok(seconds) => duration(seconds).ok_or_else(|| refuse_value(given, "is too long", log)),
    }
}

/// A time of up to 300 years, to the nanosecond.
pub(crate) fn duration(seconds: f64) -> Option<Duration> {
    (seconds < 1e10)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

/// A whole number, 0 or more.
pub(crate) fn count(given: &Given, log: &mut Diagnostics) -> Result<u64, Exit> {
    given
        .text()
        .parse()
        .map_err(|_| refuse_value(given, "is no whole number", log))
}

pub(crate) fn strict_amount(given: &Given, log: &mut Diagnostics) -> Result<u64, Exit> {
    let text = given.text();
    parse_amount(&text)
        .and_then(|amount| amount.strict(&text))
        .map_err(|error| refuse_number(given, &error, log))
}

/// iperf's words for a text that it cannot read.
pub(crate) fn unrecognized(given: &Given, log: &mut Diagnostics) -> Exit {
    unrecognized_as(given, "is not valid", log)
}

/// The same, with tapeline's reason.
pub(crate) fn unrecognized_as(given: &Given, problem: &str, log: &mut Diagnostics) -> Exit {
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
pub(crate) fn refuse_value(given: &Given, problem: &str, log: &mut Diagnostics) -> Exit {
    let iperf = format!("ERROR: {}: '{}' {problem}", given.named(), given.text());
    log.fatal(iperf, bad_value(given, problem))
}

/// The refusal of an option, for the same reason under both names.
pub(crate) fn refuse(given: &Given, sentence: &str, log: &mut Diagnostics) -> Exit {
    let sentence = format!("{}: {sentence}", given.named());
    log.fatal(format!("ERROR: {sentence}"), sentence)
}

/// The refusal of a text that is no number; iperf's name keeps the library's words.
pub(crate) fn refuse_number(given: &Given, error: &NumberError, log: &mut Diagnostics) -> Exit {
    let option = given.named();
    let sentence = match error {
        NumberError::NotANumber(text) => format!("{option} needs a number, not \"{text}\""),
        NumberError::UnknownUnit { text, rest } => format!(
            "{option}: unknown unit \"{rest}\" in \"{text}\" (use k, K, M, G: 128K is 128 KiB)"
        ),
        NumberError::OutOfRange(text) => format!("{option}: \"{text}\" is out of range"),
        NumberError::UnknownRateUnit { .. } => format!("{option}: {error}"),
    };
    log.fatal(format!("ERROR: {option}: {error}"), sentence)
}

/// tapeline's sentence about a value. What it `is no` is what the option needs.
pub(crate) fn bad_value(given: &Given, problem: &str) -> String {
    let (option, text) = (given.named(), given.text());
    match problem.strip_prefix("is no ") {
        Some(wanted) => format!("{option} needs a {wanted}, not \"{text}\""),
        None => format!("{option}: '{text}' {problem}"),
    }
}

/// The name nearest to a mistyped one: at most two insertions, deletions, replacements or swaps of
/// neighbours away, and fewer than the word has letters.
pub(crate) fn nearest_of(
    typed: &str,
    names: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    names
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len().min(typed.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// That a command is not in this build.
pub(crate) fn missing(command: &str) -> String {
    let (what, feature) = match command {
        "mesh" => ("mesh", "mesh"),
        "agent" | "fleet" => ("fleet", "fleet"),
        "web" => ("web GUI", "web"),
        _ => ("history", "history"),
    };
    format!("this build has no {what}; build it with --features {feature}, or take a package")
}

/// Restricted Damerau-Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_c_does() {
        for (text, value) in [
            ("5", 5),
            (" -7x", -7),
            ("abc", 0),
            ("", 0),
            ("+3", 3),
            ("99999999999", i32::MAX),
        ] {
            assert_eq!(atoi(text), value, "{text}");
        }
        assert_eq!(atoi("-99999999999999999999"), i32::MIN);
    }

    #[test]
    fn amounts_ignore_what_follows() {
        assert_eq!(lenient_amount("1MB"), Some(1 << 20));
        assert_eq!(lenient_amount("10x"), Some(10));
        assert_eq!(lenient_amount("-0.5k"), Some(-500));
        assert_eq!(lenient_amount("abc"), None);
    }
}
