//! Reading what programs print.

mod csv;
mod documents;
mod histogram;
mod transcript;

pub use csv::{CsvRow, parse_csv};
pub use documents::{CountedStream, counted_streams};
pub use histogram::{Histogram, parse_histograms};
pub use transcript::{DatagramCounts, Delays, Row, RowId, Transcript};
