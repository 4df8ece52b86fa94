//! The history of results: one SQLite file that keeps what tests measured.
//!
//! ```text
//! Report ─► NewRun ─► save ─┬─► Archive (the file) ─► Query ─► StoredRun ─► comparison, gate
//!                           └─► pending/UUID.json, which the next writer takes in
//! ```
//!
//! A run is kept as its document, `tapeline-report/1`, with its numbers and what was asked for
//! beside it, so that runs are found without reading documents. A test never fails because
//! its result cannot be kept: [`save`] says what became of it, and nothing is lost to a busy file.

mod archive;
mod edit;
mod error;
mod format;
mod id;
mod location;
mod new_run;
mod pending;
mod query;
mod save;
mod selector;
mod stored_run;
mod upkeep;

pub use archive::Archive;
pub use edit::Edit;
pub use error::ArchiveError;
pub use format::FORMAT;
pub use id::{RunId, SeriesId, Uuid};
pub use location::{Environment, default_location};
pub use new_run::{NewRun, NewSeries, NotAReport, SeriesKind};
pub use query::{Baseline, Entry, Query};
pub use save::{Patience, Saved, Unsaved, save};
pub use selector::{Selection, Selector, SelectorError};
pub use stored_run::StoredRun;
pub use upkeep::{Bound, Findings, Keep, Room, Upkeep};
