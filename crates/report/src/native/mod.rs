//! What tapeline prints under its own name.

mod cells;
mod paint;
mod setup;
mod summary;
mod table;
mod text;
mod unit;
mod views;
mod warning;

pub use text::NativeText;
