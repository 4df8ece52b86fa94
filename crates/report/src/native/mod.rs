//! What tapeline prints under its own name.

mod cells;
mod distribution;
mod other_end;
mod paint;
mod setup;
mod summary;
mod table;
mod text;
mod timing;
mod trial;
mod unit;
mod views;
mod warning;

pub use text::NativeText;
pub use trial::{TrialPart, TrialReport, TrialResult};
