//! Different flows in one test (`--flow`): each is a test of its own, and all of them have one result.
//!
//! ```text
//! Event::OfFlow ─► FlowsTracker ─┬─► FlowsText       one table and one result
//!                  a ReportTracker ├─► FlowsDocument  `tapeline-flows/1`, as JSON or as a page
//!                  for each flow   └─► FlowsStream, FlowsCsv   lines as they happen
//! ```

mod document;
mod forms;
mod intervals;
mod text;
mod tracker;

pub use document::{FLOWS_SCHEMA, FlowReport, FlowsReport, WaySum};
pub use forms::{FlowsCsv, FlowsDocument, FlowsStream};
pub use text::FlowsText;
pub use tracker::{FlowInfo, FlowsInfo};
