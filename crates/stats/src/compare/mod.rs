//! Whether two sets of runs differ, by how much, and how many more runs would show it.
//!
//! ```text
//!  runs of A, runs of B ─► Shift ─┬─ RankTest   exact rank sum, with its bounds (Hodges, Lehmann)
//!                                 └─ Welch      of few runs
//!  runs of one side ─────► MedianBounds         order statistics, which assume nothing
//! ```
//!
//! The unit is the run: what is measured inside one depends on itself.

mod effect;
mod median_bounds;
mod rank_test;
mod shift;
mod welch;

#[cfg(test)]
mod tests;

pub use effect::{Superiority, hedges_g, holm, runs_needed, runs_to_decide};
pub use median_bounds::{BoundsMethod, MedianBounds, median};
pub use rank_test::RankTest;
pub use shift::{Shift, ShiftMethod};
pub use welch::Welch;
