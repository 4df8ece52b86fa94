//! tapeline's own report of a test, as data.
//!
//! ```text
//! Event ─► ReportTracker ─► Step ─┬─ WholeDocument   a document or a page for each test (--json, --html)
//!                │                ├─ DocumentStream  a line for each event (--json-stream)
//!          DocumentRecord         ├─ DocumentCsv     a row for each stream and interval (--csv)
//!          one test so far        └─ SeriesReport    a document for several runs (--repeat)
//! ```
//!
//! The names of all members are published: they are part of [`SCHEMA`], whose number rises
//! when one of them goes or changes its meaning. What is not known is `null`.

mod csv;
mod delay;
pub(crate) mod figures;

mod imported;
mod interval;
mod json_stream;
mod page;
mod record;
mod report_builder;
mod run_info;
mod schema;
mod series;
mod stream;
mod tracker;
mod trust;
mod warning;
mod whole;

#[cfg(test)]
pub(crate) mod tests;

pub use csv::{DocumentCsv, SeriesCsv};
pub use delay::{DelayClock, DelaySummary, LatencyUnderLoad, OneWayDelay};
pub use imported::{Imported, Resolution};
pub use interval::{CountedBy, Interval, PeerInterval};
pub use json_stream::DocumentStream;
pub use json_stream::event_line;
pub use page::{CHARTS_CSS, CHARTS_JS, DOCUMENTS_JS};
pub(crate) use page::{PAGE_JS, page, page_of, template};
pub use report_builder::refused;
pub use run_info::{PlannedLimit, PlannedTest, RunInfo};
pub use schema::{
    DirectionSum, Failure, Peer, Protocol, Report, SCHEMA, Sum, Test, TestRole, TestShape,
    TestTrust, Verdict, Workload,
};
pub use series::{SERIES_SCHEMA, SeriesReport};
pub(crate) use stream::ProcessUse;
pub use stream::{
    ConnectTimes, End, Receiver, Requests, Sender, SenderDetails, Stream, UdpReceiver,
};
pub use tracker::{ReportTracker, Step};
pub use warning::Incident;
pub use whole::WholeDocument;

pub use crate::model::{FlowDirection, WARNING_IDS};
