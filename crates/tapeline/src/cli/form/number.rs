//! Numbers that two programs read differently.

use tapeline_base::{Amount, NumberError};

/// How a program reads a number and its unit.
pub(crate) type Reader = fn(&str) -> Result<Amount, NumberError>;

/// The text that `to` reads as `from` reads this one; what `from` cannot read stays.
pub(crate) fn respelled(text: &str, from: Reader, to: Reader) -> String {
    let Ok(amount) = from(text) else {
        return text.to_owned();
    };
    let reads = |text: &str| to(text).is_ok_and(|other| other == amount);
    match spelled_as(text, &reads) {
        Some(text) => text,
        None => format!("{}{}", digits(amount.value), amount.rest),
    }
}

/// This number: as it stands if `reads` gives the same, else in digits.
pub(crate) fn spelled(text: &str, value: u64, reads: impl Fn(&str) -> Option<u64>) -> String {
    let reads = |text: &str| reads(text) == Some(value);
    spelled_as(text, &reads).unwrap_or_else(|| value.to_string())
}

fn spelled_as(text: &str, reads: &dyn Fn(&str) -> bool) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    [text, &lower]
        .into_iter()
        .find(|text| reads(text))
        .map(str::to_owned)
}

fn digits(value: f64) -> String {
    // A number without a fraction is written without one.
    format!("{value}")
}
