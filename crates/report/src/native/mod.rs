//! What tapeline prints under its own name.

mod cells;
mod paint;
mod setup;
mod summary;
mod table;
mod text;
mod trial;
mod unit;
mod views;
mod warning;

pub use text::NativeText;
pub use trial::{TrialPart, TrialReport, TrialResult};
