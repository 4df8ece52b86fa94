//! What is kept of runs, for people and programs that read it later: from documents alone.
//!
//! ```text
//! RunFacts of many runs ─► list      a line for each run or series
//! document of one run   ─► show      the text of its test
//!                       ─► csv       a row for each number, or for each interval
//! ```

mod csv;
mod document;
mod list;
mod show;

pub use csv::{StoredCsv, StoredCsvRows};
pub use document::{HISTORY_SCHEMA, HistoryDocument, HistoryRun};
pub use list::{ListEntry, list};
pub use show::show;
