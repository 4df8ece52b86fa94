//! The document of different flows in one test.

use serde::Serialize;

use crate::document::{LatencyUnderLoad, Report, Stream, figures};
use crate::model::FlowDirection;

/// Name and version of the form of a document of different flows.
pub const FLOWS_SCHEMA: &str = "tapeline-flows/1";

/// Different flows in one test (`--flow`, `--flows`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowsReport {
    /// Name and version of this form: `tapeline-flows/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = FLOWS_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// The server as it was typed.
    pub host: String,
    /// When the first flow began: RFC 3339, universal time.
    pub started: Option<String>,
    /// From the beginning of the test to the end of the last flow; `null` where none carried data.
    pub seconds: Option<f64>,
    /// Every flow ran to its end, and both ends were there.
    pub complete: bool,
    /// It was ended by an interrupt: the numbers cover a part.
    pub interrupted: bool,
    /// All flows of each direction.
    pub directions: Vec<WaySum>,
    /// Round trips of the probes of all flows, and on the quiet path behind the last one.
    pub latency_under_load: Option<LatencyUnderLoad>,
    /// The flows, in the order in which they were given.
    pub flows: Vec<FlowReport>,
}

/// All flows of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaySum {
    /// Which one.
    pub direction: FlowDirection,
    /// How many flows have it.
    pub flows: usize,
    /// Payload of all; of a flow whose receiver is unknown, what its sender counted. `null` where one flow
    /// is unknown.
    pub bytes: Option<u64>,
    /// `bytes` over the `seconds` of the whole test.
    pub bits_per_second: Option<f64>,
    /// Whether receivers counted all of it.
    pub received: bool,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowReport {
    /// Its number, from 1: `test` in lines of NDJSON and in rows of CSV.
    pub flow: u32,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its options, as they were given.
    pub options: String,
    /// When it was to begin, seconds after the test's beginning.
    pub start_seconds: f64,
    /// Differentiated services code point of what it sends.
    pub dscp: u8,
    /// What was measured of it. Where other flows ran on, its idle path is that of the whole test.
    pub report: Report,
}

impl FlowReport {
    /// Bytes of one direction, whether the receiver counted them, and when they ended, seconds after
    /// the test's beginning; nothing where it has no such direction.
    pub(crate) fn carried(&self, direction: FlowDirection) -> Option<Carried> {
        let sums = self.report.sum.directions.iter();
        let sum = sums.into_iter().find(|sum| sum.direction == direction)?;
        let (received, sent) = (&sum.receiver.end, &sum.sender.end);
        let counted = if received.bytes.is_some() {
            received
        } else {
            sent
        };
        let ends = [received.seconds, sent.seconds];
        let end = ends.into_iter().flatten().reduce(f64::max);
        Some(Carried {
            bytes: counted.bytes,
            received: received.bytes.is_some(),
            end: end.map(|end| end + self.start_seconds),
        })
    }

    /// `2 bulk`, or the number alone.
    pub(crate) fn title(&self) -> String {
        title(self.flow, self.name.as_deref())
    }

    /// The streams of one direction.
    pub(crate) fn streams(&self, direction: FlowDirection) -> impl Iterator<Item = &Stream> {
        let streams = self.report.streams.iter();
        streams.filter(move |stream| stream.direction == direction)
    }
}

/// The number of a flow with its name.
pub(crate) fn title(number: u32, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{number} {name}"),
        None => number.to_string(),
    }
}

/// What a flow carried one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) bytes: Option<u64>,
    pub(crate) received: bool,
    pub(crate) end: Option<f64>,
}

/// Directions of data, in their order.
pub(crate) const WAYS: [FlowDirection; 2] = [FlowDirection::Forward, FlowDirection::Reverse];

/// The end of the last flow, seconds after the beginning.
pub(crate) fn length(flows: &[FlowReport]) -> Option<f64> {
    let all = [
        FlowDirection::Forward,
        FlowDirection::Reverse,
        FlowDirection::RoundTrip,
    ];
    let ends = flows
        .iter()
        .flat_map(|flow| all.map(|way| flow.carried(way).and_then(|it| it.end)));
    ends.flatten().reduce(f64::max)
}

/// The sums of both directions, of those that there are.
pub(crate) fn ways(flows: &[FlowReport], seconds: Option<f64>) -> Vec<WaySum> {
    let sums = WAYS.map(|direction| {
        let its: Vec<Carried> = flows
            .iter()
            .filter_map(|flow| flow.carried(direction))
            .collect();
        let bytes = its.iter().map(|one| one.bytes).sum::<Option<u64>>();
        (!its.is_empty()).then(|| WaySum {
            direction,
            flows: its.len(),
            bytes,
            bits_per_second: bytes
                .zip(seconds)
                .and_then(|(bytes, seconds)| figures::rate(bytes, seconds)),
            received: its.iter().all(|one| one.received),
        })
    });
    sums.into_iter().flatten().collect()
}
