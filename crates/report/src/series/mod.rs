//! Several runs of one test: their numbers, and when there are enough (methodology 15).
//!
//! ```text
//! Report of each run ─► Runs ─┬─ is_enough ─► another run?
//!                             └─ series ────► Series ─► Event::Repetition
//! ```
//!
//! The unit is a run: the intervals of one run depend on each other and say nothing of how sure
//! a mean is.

mod run_set;
mod runs;
mod stored;
mod values;

#[cfg(test)]
mod tests;

pub(crate) use run_set::RunSet;
pub use run_set::StopRule;
pub use runs::Runs;
pub use stored::{KeptRun, kept_series_page};
