//! One test between two of many hosts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kept_report::KeptReport;
use crate::model::FlowDirection;
use crate::run_facts::RunFacts;

/// The test from one host to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// How often it was tried; 0 of a test that did not begin.
    pub attempts: u32,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Its report (`tapeline-report/1`), without its command, quantiles and what is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<KeptReport>,
}

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It has numbers.
    Measured(Measured),
    /// The server did not want it.
    Refused {
        /// Why: a sentence.
        text: String,
    },
    /// It broke.
    Failed {
        /// Why: a sentence.
        text: String,
    },
    /// A host did not reach the other, or was not reached from here.
    Unreachable {
        /// Why: a sentence.
        text: String,
    },
    /// It was interrupted, or took longer than it may.
    Stopped,
    /// It was not tried.
    Skipped {
        /// Why: a sentence.
        text: String,
    },
}

/// The numbers of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The rate that arrived, else the one that was sent; `null` of requests.
    #[serde(rename = "bits_per_second")]
    pub rate: Option<f64>,
    /// The median round trip of the idle path, or the mean of requests.
    #[serde(rename = "rtt_seconds")]
    pub rtt: Option<f64>,
    /// Retransmitted segments (TCP).
    pub retransmits: Option<u64>,
    /// Lost datagrams of those sent (UDP), 0 to 1.
    pub lost_ratio: Option<f64>,
    /// What limited it, as in `tapeline-report/1`.
    pub limited_by: Option<String>,
    /// How sure that is: `low`, `medium` or `high`.
    pub confidence: Option<String>,
}

/// Failures by which the server did not want the test.
const REFUSALS: [&str; 3] = ["client-refused", "permit-key-refused", "test-refused"];
/// Failures by which the server was not reached.
const UNREACHED: [&str; 4] = [
    "connect-failed",
    "connect-gave-up",
    "no-reply",
    "unknown-host",
];

impl Cell {
    /// Of the report of a test between two hosts: of the direction from the client to the server, else of
    /// the only one that it has.
    #[must_use]
    pub fn from_report(from: &str, to: &str, attempts: u32, document: Value) -> Self {
        let directions = [
            FlowDirection::Forward,
            FlowDirection::Reverse,
            FlowDirection::RoundTrip,
        ];
        let has = |direction: &FlowDirection| sum(&document, *direction).is_some();
        let direction = directions.into_iter().find(has);
        let direction = direction.unwrap_or(FlowDirection::Forward);
        Self::from_direction(from, to, attempts, document, direction)
    }

    /// Of one direction of a report; `from` sends in it.
    #[must_use]
    pub fn from_direction(
        from: &str,
        to: &str,
        attempts: u32,
        document: Value,
        direction: FlowDirection,
    ) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            attempts,
            outcome: outcome(&document, direction),
            report: Some(KeptReport::new(document)),
        }
    }

    /// Of a test that has no report.
    #[must_use]
    pub fn unmeasured(from: &str, to: &str, attempts: u32, outcome: Outcome) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            attempts,
            outcome,
            report: None,
        }
    }

    /// Its numbers, if it has any.
    #[must_use]
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }
}

impl Outcome {
    /// Its name: `measured`, `refused`, …
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Measured(_) => "measured",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Unreachable { .. } => "unreachable",
            Self::Stopped => "stopped",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Why it has no numbers, where that is known.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Refused { text }
            | Self::Failed { text }
            | Self::Unreachable { text }
            | Self::Skipped { text } => Some(text),
            Self::Measured(_) | Self::Stopped => None,
        }
    }
}

/// What a report says of all streams of a direction.
fn sum(document: &Value, direction: FlowDirection) -> Option<&Value> {
    let sums = document["sum"]["directions"].as_array()?;
    sums.iter().find(|sum| sum["direction"] == direction.id())
}

fn outcome(document: &Value, direction: FlowDirection) -> Outcome {
    let facts = RunFacts::from_document(document);
    if let Some(text) = facts.error {
        let id = document["error"]["id"].as_str().unwrap_or_default();
        return match id {
            id if REFUSALS.contains(&id) => Outcome::Refused { text },
            id if UNREACHED.contains(&id) => Outcome::Unreachable { text },
            _ => Outcome::Failed { text },
        };
    }
    if document["test"]["interrupted"] == true {
        return Outcome::Stopped;
    }
    let way = direction.id();
    let sum = sum(document, direction);
    let idle = document["latency_under_load"]["idle"]["p50_ms"].as_f64();
    let millis = facts.value("rtt", FlowDirection::RoundTrip.id()).or(idle);
    // Of two directions, each has its own verdict.
    let verdict = sum.map(|sum| &sum["verdict"]);
    let verdict = verdict.filter(|verdict| verdict.is_object());
    let verdict = verdict.unwrap_or(&document["verdict"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let measured = Measured {
        rate: facts.value("rate", way),
        rtt: millis.map(|millis| millis / 1e3),
        retransmits: sum.and_then(|sum| sum["sender"]["retransmits"].as_u64()),
        lost_ratio: facts
            .value("lost_percent", way)
            .map(|percent| percent / 100.0),
        limited_by: text(&verdict["limited_by"]),
        confidence: text(&verdict["confidence"]),
    };
    if measured.rate.is_none() && measured.rtt.is_none() {
        let text = "the report has neither a rate nor a round trip".to_owned();
        return Outcome::Failed { text };
    }
    Outcome::Measured(measured)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::tests::report_of_rate;

    fn report() -> Value {
        serde_json::to_value(report_of_rate(5e6)).expect("a document")
    }

    #[test]
    fn a_report_becomes_a_cell() {
        let mut document = report();
        document["latency_under_load"] =
            json!({"idle": {"p50_ms": 2.0, "quantiles_ms": [1.0, 2.0]}});
        document["command"] = "tapeline -c db1".into();
        let cell = Cell::from_report("a", "b", 2, document);
        let measured = cell.measured().expect("numbers");
        assert_eq!((measured.rate, measured.rtt), (Some(5e6), Some(0.002)));
        let report = cell.report.as_ref().expect("the report").document();
        assert_eq!(report["latency_under_load"]["idle"], json!({"p50_ms": 2.0}));
        assert!(report.get("command").is_none() && report.get("error").is_none());
        let line = serde_json::to_string(&cell).expect("a line");
        assert!(line.starts_with(r#"{"from":"a","to":"b","attempts":2,"outcome":"measured","bits_per_second":5000000.0,"#), "{line}");
        assert_eq!(serde_json::from_str::<Cell>(&line).expect("a cell"), cell);
    }

    #[test]
    fn failures_have_their_kind_and_reason() {
        let failed = |id: &str| {
            let mut document = report();
            document["error"] = json!({"id": id, "text": "why"});
            Cell::from_report("a", "b", 1, document).outcome
        };
        for (id, word) in [
            ("client-refused", "refused"),
            ("connect-gave-up", "unreachable"),
            ("peer-lost", "failed"),
        ] {
            let outcome = failed(id);
            assert_eq!((outcome.word(), outcome.reason()), (word, Some("why")));
        }
        let mut document = report();
        document["test"]["interrupted"] = true.into();
        let stopped = Cell::from_report("a", "b", 1, document);
        assert_eq!(stopped.outcome, Outcome::Stopped);
        let empty = Cell::from_report("a", "b", 1, json!({}));
        assert_eq!(empty.outcome.word(), "failed");
        for cell in [stopped, empty] {
            let line = serde_json::to_string(&cell).expect("a line");
            assert_eq!(serde_json::from_str::<Cell>(&line).expect("a cell"), cell);
        }
    }

    #[test]
    fn both_ways_at_once_are_two_cells() {
        let sum = |direction: &str, rate: f64, limit: &str| {
            json!({"direction": direction, "receiver": {"bits_per_second": rate},
                "verdict": {"limited_by": limit, "confidence": "low"}})
        };
        let document = json!({"test": {"complete": true}, "sum": {"directions":
            [sum("forward", 1e6, "network"), sum("reverse", 2e6, "sender_cpu")]}});
        let there = Cell::from_report("a", "b", 1, document.clone());
        let back = Cell::from_direction("b", "a", 1, document, FlowDirection::Reverse);
        let facts = |cell: &Cell| {
            let measured = cell.measured().expect("numbers");
            (measured.rate, measured.limited_by.clone())
        };
        assert_eq!(facts(&there), (Some(1e6), Some("network".to_owned())));
        assert_eq!(facts(&back), (Some(2e6), Some("sender_cpu".to_owned())));
    }
}
