//! Pass criteria: what a result must reach (`--pass`).

use serde::Serialize;

use super::phase::Direction;

/// Which side of a limit is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The value, or more.
    AtLeast,
    /// The value, or less.
    AtMost,
}

impl Bound {
    /// As pages write it.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }

    /// Whether a value is on the good side.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
        }
    }
}

/// A criterion that a method has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Its name behind `--pass`.
    pub name: &'static str,
    /// Unit of its value, as pages write it; empty of a ratio.
    pub unit: &'static str,
    /// Which side is good.
    pub bound: Bound,
    /// What `--pass default` takes; `None` where a default would be arbitrary.
    pub default: Option<f64>,
}

impl Criterion {
    /// The least rate of a direction, Mbit/s.
    pub(crate) const fn rate(direction: Direction) -> Self {
        Self {
            name: direction.word(),
            unit: "Mbit/s",
            bound: Bound::AtLeast,
            default: None,
        }
    }
}

/// A criterion with the limit that was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassLimit {
    /// The criterion.
    pub criterion: Criterion,
    /// The limit.
    pub limit: f64,
}

/// What a criterion came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassResult {
    /// Its name.
    pub name: &'static str,
    /// The limit.
    pub limit: f64,
    /// What was measured, in the worse direction; `null` when that is not known.
    pub value: Option<f64>,
    /// Unit of both; empty of a ratio.
    pub unit: &'static str,
    /// Whether the limit is kept. A value that is not known keeps none.
    pub passed: bool,
}

/// Compares what was measured for each criterion with its limit.
#[must_use]
pub fn judge(limits: &[PassLimit], measured: impl Fn(&str) -> Option<f64>) -> Vec<PassResult> {
    let judged = limits.iter().map(|PassLimit { criterion, limit }| {
        let value = measured(criterion.name);
        PassResult {
            name: criterion.name,
            limit: *limit,
            value,
            unit: criterion.unit,
            passed: value.is_some_and(|value| criterion.bound.holds(value, *limit)),
        }
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_known_passes_nothing() {
        let criterion = |name, bound| Criterion {
            name,
            unit: "",
            bound,
            default: None,
        };
        let limits = [
            ("ttr", Bound::AtMost),
            ("efficiency", Bound::AtLeast),
            ("other", Bound::AtMost),
        ]
        .map(|(name, bound)| PassLimit {
            criterion: criterion(name, bound),
            limit: 1.15,
        });
        let judged = judge(&limits, |name| match name {
            "ttr" => Some(1.15),
            "efficiency" => Some(1.1),
            _ => None,
        });
        let passed: Vec<bool> = judged.iter().map(|one| one.passed).collect();
        assert_eq!(passed, [true, false, false]);
        assert_eq!(judged[2].value, None);
    }
}
