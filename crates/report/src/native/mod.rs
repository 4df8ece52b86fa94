//! What tapeline prints under its own name.

mod brief;
mod burst_period;
mod cells;
mod client;
mod distribution;
mod latency;
mod messages;
mod number;
mod paint;
mod repetition;
mod requests;
mod result_line;
mod server;
mod setup;
mod table;
mod text;
mod timing;
mod trial;
mod unit;
mod verdict;
mod warning;

pub use client::{ClientAnswer, RequestedTest};
pub use messages::hanging;
pub use number::{digits, in_unit, millis, percent, rate as rate_words};
pub(crate) use repetition::unreached;
pub use server::ServerText;
pub(crate) use setup::{shown, shown_address};
pub use table::{Column, Table};
pub use text::NativeText;
pub(crate) use timing::{clock_check, clock_errors, start_delay};
pub use trial::{TrialPart, TrialReport, TrialResult};
pub use unit::Unit;
pub use verdict::{finding_words, limit_words};
pub(crate) use warning::sentence;
pub use warning::{connection_hint, hint};
