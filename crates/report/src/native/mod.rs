//! What tapeline prints under its own name.

mod accounts;
mod cells;
mod client;
mod distribution;
mod messages;
mod number;
mod peer;
mod repetition;
mod requests;
mod result_line;
mod server;
mod setup;
mod summary;
mod table;
mod text;
mod text_parts;
mod timing;
mod trial;
mod verdict;
mod views;
mod warning;

pub use client::{ClientAnswer, RequestedTest};
pub use messages::hanging;
pub use number::{digits, in_unit, millis, percent, rate as rate_words};
pub(crate) use repetition::unreached;
pub use server::ServerText;
pub(crate) use setup::{shown, shown_address};
pub use table::{Column, Table};
pub use text::NativeText;
pub(crate) use text::clock_errors;
pub use text_parts::Unit;
pub(crate) use timing::{clock_check, start_delay};
pub use trial::{TrialPart, TrialReport, TrialResult, TrialTarget};
pub use verdict::{finding_words, limit_words};
pub(crate) use warning::sentence;
