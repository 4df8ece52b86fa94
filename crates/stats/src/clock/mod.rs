//! How the clocks of two hosts differ.

mod exchange;
mod line;

pub use exchange::ClockExchange;
pub use line::{ClockFit, ClockLine};
