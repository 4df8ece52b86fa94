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
//!                       ├─ NativeText   tapeline's own; ServerText of its servers
//!                       ├─ flows        different flows in one test, in all of tapeline's own forms
//!                       ├─ document     tapeline's own as data: JSON, NDJSON, CSV
//!                       ├─ method       results of whole procedures: page, document, charts
//!                       └─ prometheus   counters and results as metrics (feature `prometheus`)
//! ```
//!
//! What is kept of many runs is read from their documents:
//!
//! ```text
//! document ─► RunFacts, Measurement ─► comparison ─► gate
//!                                   └► stored       lists, texts and tables of what is kept
//!                                   └► matrix       tests between many hosts, and what stands out
//! ```

mod calendar;
pub mod comparison;
pub mod document;
pub mod flows;
pub mod fuzz;
pub mod gate;
pub mod import;
pub mod iperf2;
mod iperf3;
pub mod matrix;
pub mod method;
mod model;
mod native;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod quantity;
mod render;
mod run_facts;
mod series;
pub mod stored;
mod style;
mod tracker;

pub use calendar::Calendar;
pub use iperf2::{Iperf2Csv, Iperf2Text};
pub use iperf3::{
    Iperf3Json, Iperf3Output, Iperf3Style, Iperf3Text, iperf3_document, iperf3_output,
};
pub use model::*;
pub use native::{
    ClientAnswer, Column, NativeText, RequestedTest, ServerText, Table, TrialPart, TrialReport,
    TrialResult, Unit, connection_hint, digits, finding_words, hanging, hint, in_unit, limit_words,
    millis, percent, rate_words, sentence_of,
};
pub use quantity::{Better, Dimension, Measurement, QUANTITIES, QuantityInfo, Scale, measurements};
pub use render::{Output, Renderer};
pub use run_facts::RunFacts;
pub use series::{KeptRun, Runs, StopRule, kept_series_page};
pub use style::{Amount, Build, Exclude, Style, Terminal};
