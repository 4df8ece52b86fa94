//! tapeline's own report of a test, as data.
//!
//! ```text
//! Event ─► Assembler ─► Step ─┬─ WholeDocument   a document or a page for each test (--json, --html)
//!              │              ├─ DocumentStream  a line for each event (--json-stream)
//!            Tale             ├─ DocumentCsv     a row for each flow and interval (--csv)
//!        one test so far      └─ SeriesReport    a document for several runs (--repeat)
//! ```
//!
//! The names of all members are published: they are part of [`SCHEMA`], whose number rises
//! when one of them goes or changes its meaning. What is not known is `null`.

mod account;
mod assembler;
mod csv;
mod delay;
mod flow;
mod html;
mod incident;
mod interval;
mod json;
mod progress;
mod report;
mod series;
mod stream;
mod sum;
mod tale;
mod warning;
mod whole;

pub use assembler::{Assembler, Occasion, Planned, PlannedLimit, Step};
pub use csv::DocumentCsv;
pub use delay::{DelayClock, DelaySummary, LatencyUnderLoad, OneWayDelay};
pub use flow::{Connects, End, Exchange, Flow, Receiver, Sender, SenderDetails, UdpReceiver};
pub use incident::Incident;
pub use interval::{CountedBy, Interval};
pub use progress::FarProgress;
pub use report::{
    Failure, FlowDirection, Peer, Protocol, Report, SCHEMA, Test, TestRole, TestShape, Verdict,
    Workload,
};
pub use series::{SERIES_SCHEMA, SeriesCsv, SeriesReport};
pub use stream::DocumentStream;
pub use sum::{DirectionSum, Sum};
pub use warning::WARNING_IDS;
pub use whole::WholeDocument;

/// A span in seconds, to the nanosecond.
pub(crate) fn seconds(span: std::time::Duration) -> f64 {
    (span.as_secs_f64() * 1e9).round() / 1e9
}

#[cfg(test)]
pub(crate) mod tests;

/// Seconds as milliseconds, to the nanosecond; `None` when they are no number.
pub(crate) fn millis(seconds: f64) -> Option<f64> {
    seconds.is_finite().then(|| (seconds * 1e9).round() / 1e6)
}
