//! The grammar of iperf 2.2.1's text, line by line.
//!
//! [`classify`] names the [`LineKind`] of a line, to the blank: a row with one column
//! shifted is no row. [`parse`] also yields the variable parts. With them a run of this
//! program can be compared with a recorded run of iperf 2.2.1: same kinds in the same
//! order, whatever the numbers.
//!
//! Covered is all that [`Iperf2Text`](tapeline_report::Iperf2Text) and
//! [`Iperf2Csv`](tapeline_report::Iperf2Csv) render.

mod complaint;
mod connection;
mod histogram;
mod kind;
mod line;
mod row;
mod setting;
mod template;

pub use kind::{Columns, Complaint, Distribution, LineKind, Remark, Setting, Who};
pub use line::{classify, parse};
