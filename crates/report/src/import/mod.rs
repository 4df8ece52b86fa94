//! Results of other programs, and kept ones of tapeline, as runs: the bytes of a file in, documents out.
//!
//! ```text
//! bytes ─► read ─► Runs ─┬─ tapeline      reports and series, as they are; --json-stream
//!                        ├─ iperf3_json   documents and --json-stream
//!                        ├─ iperf2_csv    rows of -y C ─┬► Table
//!                        └─ text          of both iperfs ─┘
//!                    │
//!                    └─► ImportedRun { origin, document without intervals, intervals }
//! ```
//!
//! What a source does not tell is `null` in the document. Whatever the bytes are, nothing panics, and
//! memory stays below 256 MiB with the file itself.

mod csv_runs;
mod error;
mod intervals;
mod iperf2_csv;
mod iperf3_json;
mod json;
mod json_runs;
mod kind;
mod lines;
mod read;
mod report;
mod run;
mod table;
mod tapeline;
mod tapeline_stream;
mod text;
mod text_runs;

pub use error::ImportError;
pub use intervals::ImportedIntervals;
pub use kind::Kind;
pub use read::{MAX_BYTES, Runs, read};
pub use run::{ImportedRun, MAX_RUNS, Origin};
