//! What tapeline prints under its own name.

mod cells;
mod distribution;
mod finding;
mod other_end;
mod paint;
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
pub use text::NativeText;
pub use trial::{TrialPart, TrialReport, TrialResult};
