//! How the numbers of a quantity are shown.

use tapeline_base::FormatLetter;

use crate::native::{Unit, digits};
use crate::quantity::Dimension;

/// More runs than these are advice for nobody.
pub(crate) const MOST_RUNS: u64 = 200;

/// The unit in which a column of numbers is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Its name.
    pub(crate) label: &'static str,
    rate: Option<Unit>,
}

impl Shown {
    /// For numbers about as large as this one.
    pub(crate) fn new(dimension: Dimension, about: f64) -> Self {
        if dimension == Dimension::Rate {
            let unit = Unit::for_rate(about, FormatLetter::default());
            return Self {
                label: unit.label,
                rate: Some(unit),
            };
        }
        Self {
            label: dimension.unit(),
            rate: None,
        }
    }

    /// A number without its unit.
    pub(crate) fn number(&self, value: f64) -> String {
        let value = self.rate.map_or(value, |unit| unit.of(value));
        if self.rate.is_some() && (99.95..9999.5).contains(&value) {
            return format!("{value:.1}");
        }
        digits(value)
    }

    /// A change without its unit.
    pub(crate) fn change(&self, value: f64) -> String {
        signed(self.rate.map_or(value, |unit| unit.of(value)))
    }
}

/// A number with its sign.
pub(crate) fn signed(value: f64) -> String {
    let shown = digits(value.abs());
    match shown.as_str() {
        "0" => shown,
        _ if shown.starts_with('<') => "0".to_owned(),
        _ if value < 0.0 => format!("-{shown}"),
        _ => format!("+{shown}"),
    }
}

/// `1 run`, `8 runs`.
#[must_use]
pub fn runs_words(runs: usize) -> String {
    match runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    }
}

/// A number that somebody chose, without zeros behind it: `2`, `0.5`.
pub(crate) fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}
