//! The document as a whole.

use serde::Serialize;
use tapeline_stats::LimitedBy;

use super::delay::LatencyUnderLoad;
use super::flow::{Connects, Flow};
use super::interval::Interval;
use super::sum::Sum;
pub use crate::model::FlowDirection;
use crate::model::Warning;
use crate::native::finding_words;

/// Name and version of the document's form.
pub const SCHEMA: &str = "tapeline-report/1";

/// One test, as one end tells it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this form: `tapeline-report/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// The other end.
    pub peer: Peer,
    /// What was measured.
    pub test: Test,
    /// Each direction of each flow.
    pub flows: Vec<Flow>,
    /// Each interval of each flow, in the order of their ends.
    pub intervals: Vec<Interval>,
    /// All flows together.
    pub sum: Sum,
    /// Durations of connecting (`--connect-only`).
    pub connects: Option<Connects>,
    /// Round trips beside the traffic and on the quiet path (between two tapelines).
    pub latency_under_load: Option<LatencyUnderLoad>,
    /// What limited the test; `null` when that is not known.
    pub verdict: Option<Verdict>,
    /// What a reader of the numbers must know.
    pub warnings: Vec<Warning>,
    /// Why the test did not take place or ended before its time; `null` when it did not.
    pub error: Option<Failure>,
}

/// The other end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// `tapeline`, `iperf` (version 2) or `iperf3`; `null` when it did not say.
    pub program: Option<String>,
    /// Its version, as it names it.
    pub version: Option<String>,
    /// The host as it was typed (clients).
    pub host: Option<String>,
    /// Its address, without port.
    pub address: Option<String>,
}

/// Which end wrote the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestRole {
    /// The end that ordered the test.
    Client,
    /// The end that waited for orders.
    Server,
}

/// What both ends spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// That of iperf 2.
    Iperf2,
    /// That of iperf3.
    Iperf3,
}

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestShape {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
    /// Both, at the same time or one after the other.
    Bidirectional,
}

/// What the flows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// They carry data one way or both.
    Stream,
    /// They carry requests and responses (`--bounceback`).
    RequestResponse,
    /// They connect (`--connect-only`).
    ConnectOnly,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// Which end wrote this document.
    pub role: TestRole,
    /// What both ends spoke.
    pub protocol: Option<Protocol>,
    /// `tcp`, `udp` or `sctp`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["tcp", "udp", "sctp", null])))]
    pub transport: Option<&'static str>,
    /// Who sends.
    pub direction: Option<TestShape>,
    /// What the flows do.
    pub workload: Option<Workload>,
    /// When it began, by this end's clock: RFC 3339, universal time.
    pub started: Option<String>,
    /// How long it was to last; `null` without such a limit.
    pub seconds: Option<f64>,
    /// How much each flow was to send; `null` without such a limit.
    pub bytes: Option<u64>,
    /// What did not count at the start, seconds.
    pub omit_seconds: Option<f64>,
    /// Flows in each direction.
    pub streams: Option<u32>,
    /// Bytes of a write or a datagram.
    pub block_bytes: Option<u64>,
    /// Rate that each flow was to keep; `null` without limit.
    pub target_bits_per_second: Option<u64>,
    /// The interval of `intervals`.
    pub interval_seconds: Option<f64>,
    /// Congestion control of this end (TCP).
    pub congestion_control: Option<String>,
    /// Socket buffer in force at this end.
    pub buffer_bytes: Option<u64>,
    /// Type of service byte of sent data.
    pub tos: Option<u8>,
    /// It ran to its end, and both ends were there.
    pub complete: bool,
    /// It was ended by an interrupt: the numbers cover a part.
    pub interrupted: bool,
    /// Intervals that are not in this document because the output was too slow, or too many.
    pub intervals_missing: u64,
}

/// Why a test did not take place, or ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Its name, as that of a warning.
    pub id: String,
    /// A sentence.
    pub text: String,
}

/// What limited a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The limit: `network`, `sender_cpu`, `receiver_cpu`, `send_buffer`, `receive_window`,
    /// `receive_buffer`, `application`, `pacing` or `reporter`; `null` when the evidence does not
    /// tell.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = [
            "network", "sender_cpu", "receiver_cpu", "send_buffer", "receive_window",
            "receive_buffer", "application", "pacing", "reporter", null
        ]))
    )]
    pub limited_by: Option<&'static str>,
    /// How sure that is: `low`, `medium` or `high`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["low", "medium", "high"])))]
    pub confidence: &'static str,
    /// What it rests on, the weightiest first.
    pub evidence: Vec<String>,
}

impl Verdict {
    /// In words.
    pub(super) fn of(verdict: &tapeline_stats::Verdict) -> Self {
        Self {
            limited_by: verdict.limited_by.map(LimitedBy::id),
            confidence: verdict.certainty.id(),
            evidence: verdict.findings.iter().map(finding_words).collect(),
        }
    }
}
