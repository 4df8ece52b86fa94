//! The report model and its renderers.
//!
//! A test is told as a stream of immutable [`Event`]s, in the order in which they
//! happened. Everything that people or programs read is a pure function of that
//! stream: no renderer owns a socket, a thread or a clock, and no number exists
//! only in a text.
//!
//! ```text
//! sampler ─► Event ─► Renderer ─► Output { stdout, stderr } ─► the binary writes it
//!                       │
//!                       ├─ Iperf2Text   iperf 2.2.1's text, basic and enhanced
//!                       ├─ Iperf2Csv    iperf 2.2.1's -y C
//!                       ├─ Iperf3Json   iperf3 3.22's -J and --json-stream
//!                       ├─ Iperf3Text   iperf3 3.22's text
//!                       ├─ NativeText   tapeline's own
//!                       ├─ document     tapeline's own as data: JSON, NDJSON, CSV
//!                       └─ prometheus   counters and results as metrics (feature `prometheus`)
//! ```
//!
//! [`layout`] is the grammar of iperf 2.2.1's lines: it names the kind of a line and
//! finds its fields, so that output can be compared with recorded runs.

mod calendar;
pub mod document;
mod iperf2;
mod iperf3;
pub mod layout;
mod model;
mod native;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod render;
mod series;
mod style;

pub use calendar::Calendar;
pub use iperf2::{Iperf2Csv, Iperf2Text};
pub use iperf3::{Iperf3Json, Iperf3Output, Iperf3Style, Iperf3Text, iperf3_output};
pub use model::*;
pub use native::{NativeText, TrialPart, TrialReport, TrialResult, finding_words, limit_words};
pub use render::{Output, Renderer};
pub use series::{Runs, StopRule};
pub use style::{Exclude, Style, Terminal};
