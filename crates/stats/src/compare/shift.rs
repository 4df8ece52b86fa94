//! By how much B lies above A, with the bounds that belong to its test.

use super::median_bounds::median_of_sorted;
use super::rank_test::{Cut, RankTest, Sides, rejected_pairs};
use super::welch::Welch;
use crate::confidence::Confidence;

/// Where the bounds of a shift come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShiftMethod {
    /// Rank sums, by their exact distribution.
    Exact,
    /// Rank sums, by the normal approximation.
    Normal,
    /// Welch's t, where rank sums of so few runs show nothing.
    Welch,
}

/// The shift from A to B: the median of all differences between a run of B and one of A
/// (Hodges, Lehmann 1963), or of few runs the difference of their means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The shift.
    pub estimate: f64,
    /// Lower bound: shifts below it are rejected by the test.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Two-sided p of no shift. It is at most the level exactly where the bounds leave out 0.
    pub p: f64,
    /// Whose bounds these are.
    pub method: ShiftMethod,
}

impl Shift {
    /// Of finite values. Nothing for one run on a side, or where few runs have no spread.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64], confidence: Confidence) -> Option<Self> {
        let level = confidence.level();
        if !RankTest::can_show(a.len(), b.len(), level) || a.len() < 2 || b.len() < 2 {
            let welch = Welch::new(a, b)?;
            let half = welch.half_width(level);
            return Some(Self {
                estimate: welch.difference,
                lower: welch.difference - half,
                upper: welch.difference + half,
                p: welch.p(),
                method: ShiftMethod::Welch,
            });
        }
        Some(Self::from_ranks(&Sides::new(a, b), level))
    }

    fn from_ranks(sides: &Sides, level: f64) -> Self {
        let mut differences: Vec<f64> = sides
            .a
            .iter()
            .flat_map(|a| sides.b.iter().map(move |b| b - a + 0.0))
            .collect();
        differences.sort_unstable_by(f64::total_cmp);
        let estimate = median_of_sorted(&differences);
        let p = sides.p(Cut::At(0.0));
        let (mut lower, mut upper) = if sides.are_distinct() && sides.is_exact() {
            // Cuts next to a difference all have the same distribution: the count decides.
            let outer = rejected_pairs(sides.a.len(), sides.b.len(), level).max(1);
            (
                differences[outer - 1],
                differences[differences.len() - outer],
            )
        } else {
            searched_bounds(sides, differences, estimate, level)
        };
        // The bounds close what may be open at 0; the p of no shift has the last word.
        if p > level {
            lower = lower.min(0.0);
            upper = upper.max(0.0);
        } else if lower <= 0.0 && upper >= 0.0 {
            if estimate > 0.0 {
                lower = f64::from_bits(1);
            } else {
                upper = -f64::from_bits(1);
            }
        }
        Self {
            estimate,
            lower,
            upper,
            p,
            method: if sides.is_exact() {
                ShiftMethod::Exact
            } else {
                ShiftMethod::Normal
            },
        }
    }

    /// Whether there is a shift, at the level of the bounds.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.lower > 0.0 || self.upper < 0.0
    }

    /// The standard error that a normal distribution with these bounds would have.
    #[must_use]
    pub fn standard_error(&self, confidence: Confidence) -> f64 {
        (self.upper - self.lower) / 2.0 / confidence.normal_quantile()
    }
}

/// A shift of B that may be asked about: a difference, or what lies between two of them.
fn cell(differences: &[f64], number: usize) -> Cut {
    match (number % 2, number / 2) {
        (1, index) => Cut::At(differences[index]),
        (_, 0) => Cut::Above(f64::NEG_INFINITY),
        (_, index) => Cut::Above(differences[index - 1]),
    }
}

/// Bounds by asking the test itself, outwards from the estimate.
fn searched_bounds(
    sides: &Sides,
    mut differences: Vec<f64>,
    estimate: f64,
    level: f64,
) -> (f64, f64) {
    differences.dedup();
    // Cells: what lies below the first difference, the first, what lies between, the second, …
    let last = 2 * differences.len();
    let below = differences.partition_point(|difference| *difference < estimate);
    let middle = if differences.get(below) == Some(&estimate) {
        2 * below + 1
    } else {
        2 * below
    };
    let held = |number: usize| sides.p(cell(&differences, number)) > level;
    let (mut outside, mut inside) = (0, middle);
    while outside + 1 < inside {
        let number = usize::midpoint(outside, inside);
        if held(number) {
            inside = number;
        } else {
            outside = number;
        }
    }
    let lower = differences[(inside.max(1) - 1) / 2];
    let (mut inside, mut outside) = (middle, last);
    while inside + 1 < outside {
        let number = usize::midpoint(inside, outside);
        if held(number) {
            inside = number;
        } else {
            outside = number;
        }
    }
    let upper = differences[(inside / 2).min(differences.len() - 1)];
    (lower, upper)
}
