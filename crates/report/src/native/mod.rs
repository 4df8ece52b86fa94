//! What tapeline prints under its own name.

mod cells;
mod cost;
mod distribution;
mod finding;
mod other_end;
mod paint;
mod repetition;
mod setup;
mod summary;
mod table;
mod text;
mod timing;
mod trial;
mod unit;
mod verdict;
mod views;
mod warning;

pub use finding::{finding_words, limit_words};
pub(crate) use repetition::unreached;
pub(crate) use setup::{shown, shown_address};
pub use text::NativeText;
pub(crate) use text::clock_errors;
pub(crate) use timing::{clock_check, start_delay};
pub use trial::{TrialPart, TrialReport, TrialResult};
pub(crate) use warning::sentence;
