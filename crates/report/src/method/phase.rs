//! The parts of a method: what is planned, and what became of it.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use tapeline_base::FormatLetter;

use crate::native;

/// Which way the data of a phase goes, seen from this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Direction {
    /// Both, in the order of phases.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut both = Self::BOTH.into_iter();
        both.find(|direction| direction.word() == name)
    }

    /// As documents and pages name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The host that sends and the one that receives, as sentences name them.
    #[must_use]
    pub const fn hosts(self) -> (&'static str, &'static str) {
        match self {
            Self::Up => ("this computer", "the server"),
            Self::Down => ("the server", "this computer"),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A phase before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPhase {
    /// Its name.
    pub name: &'static str,
    /// Which way its data goes; `None` of both, or of none.
    pub direction: Option<Direction>,
    /// How long it takes.
    pub seconds: f64,
    /// Payload that it moves, both directions together; `None` where that depends on the path.
    pub bytes: Option<u64>,
}

impl PlannedPhase {
    /// A phase that lasts so long, and moves an unknown amount.
    #[must_use]
    pub const fn new(name: &'static str, direction: Option<Direction>, seconds: f64) -> Self {
        Self {
            name,
            direction,
            seconds,
            bytes: None,
        }
    }

    /// The same, which moves so much.
    #[must_use]
    pub const fn moving(self, bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            ..self
        }
    }
}

/// What became of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseState {
    /// It runs.
    Running,
    /// It ran to its end.
    Done,
    /// It was left out.
    Skipped,
    /// It gave nothing.
    Failed,
    /// A signal, or its time limit, ended it.
    Interrupted,
}

impl PhaseState {
    /// As documents and pages name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A phase as it ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseRecord {
    /// Its name.
    pub name: &'static str,
    /// Which way its data went; `null` of both, or of none.
    pub direction: Option<Direction>,
    /// How long it was to take.
    pub planned_seconds: f64,
    /// How long it took; `null` of a phase that did not run.
    pub seconds: Option<f64>,
    /// What became of it.
    pub state: PhaseState,
    /// Why it was left out, failed or was interrupted.
    pub reason: Option<String>,
}

impl PhaseRecord {
    /// Its name with its direction, as progress lines show it.
    #[must_use]
    pub fn title(&self) -> String {
        match self.direction {
            Some(direction) => format!("{} {direction}", self.name),
            None => self.name.to_owned(),
        }
    }
}

/// A trial: one measurement of a phase that makes several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRecord {
    /// The phase that it belongs to.
    pub phase: &'static str,
    /// Which way its data went.
    pub direction: Option<Direction>,
    /// Its number within the method, from 1.
    pub number: u32,
    /// What it measured: the members of the result's entry for it.
    pub data: serde_json::Value,
}

impl TrialRecord {
    /// Its number and its plain members in words, as a view shows them: `3  window 30.7 KiB  ttr 1.02`.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!("{:>3}", self.number);
        for (name, value) in self.data.as_object().into_iter().flatten() {
            if let Some(shown) = member(name, value) {
                line.push_str("  ");
                line.push_str(&shown);
            }
        }
        line
    }
}

/// A member of a trial in words; its unit is the end of its name. Nothing of what is not plain.
fn member(name: &str, value: &Value) -> Option<String> {
    let words = |name: &str| name.trim_end_matches('_').replace('_', " ");
    let named = |name: &str, shown: String| match words(name) {
        none if none.is_empty() => shown,
        name => format!("{name} {shown}"),
    };
    let number = match value {
        Value::Number(number) => number,
        Value::String(text) => return Some(named(name, words(text))),
        Value::Bool(truth) => return Some(named(name, truth.to_string())),
        _ => return None,
    };
    let float = number.as_f64()?;
    if let Some(of) = name.strip_suffix("bits_per_second") {
        return Some(named(of, native::rate_words(float, FormatLetter::BITS)));
    }
    if let Some(of) = name.strip_suffix("_bytes") {
        let bytes = number.as_u64()?;
        return Some(named(of, native::size(bytes, FormatLetter::BITS)));
    }
    let units = [("_ms", " ms"), ("seconds", " s"), ("_percent", " %")];
    let united = units.into_iter().find_map(|(end, unit)| {
        let of = name.strip_suffix(end)?;
        Some(named(of, format!("{}{unit}", native::digits(float))))
    });
    let plain = || match float.fract() {
        0.0 => named(name, number.to_string()),
        _ => named(name, native::digits(float)),
    };
    Some(united.unwrap_or_else(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_a_line_of_its_plain_members() {
        let trial = TrialRecord {
            phase: "search",
            direction: None,
            number: 3,
            data: serde_json::json!({
                "bits_per_second": 64e6, "loss": 21.93, "verdict": "too_much", "x": null, "sent": 5333,
                "seconds": 1, "rtt_ms": 2.5, "window_bytes": 31_400, "lost_percent": 0.5, "is_last": true,
            }),
        };
        assert_eq!(
            trial.line(),
            "  3  64.0 Mbit/s  is last true  loss 21.9  lost 0.500 %  rtt 2.50 ms  1.00 s  sent 5333  \
             verdict too much  window 30.7 KiB"
        );
    }

    #[test]
    fn words_are_those_of_documents() {
        for direction in Direction::BOTH {
            let json = serde_json::to_value(direction).expect("JSON");
            assert_eq!(json, direction.word());
        }
        for state in [
            PhaseState::Running,
            PhaseState::Done,
            PhaseState::Skipped,
            PhaseState::Failed,
            PhaseState::Interrupted,
        ] {
            assert_eq!(serde_json::to_value(state).expect("JSON"), state.word());
        }
    }
}
