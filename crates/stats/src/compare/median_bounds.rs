//! The median of runs, and how far the true one may be.

use crate::confidence::{Confidence, ConfidenceInterval};

/// Where the bounds of a median come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundsMethod {
    /// Two of the runs, by the binomial distribution: nothing is assumed of the spread.
    OrderStatistics,
    /// Student's t around the mean, where there are too few runs for that.
    Student,
}

/// The median of runs with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianBounds {
    /// The median of the runs.
    pub median: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Whose bounds these are.
    pub method: BoundsMethod,
}

impl MedianBounds {
    /// Of finite values. Nothing below two runs, and nothing of two to four that are all equal:
    /// they do not say how far the next one may be.
    #[must_use]
    pub fn new(values: &[f64], confidence: Confidence) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        let outer = outer_runs(count, confidence.level() / 2.0);
        let (lower, upper, method) = if outer > 0 {
            let bounds = (sorted[outer - 1], sorted[count - outer]);
            (bounds.0, bounds.1, BoundsMethod::OrderStatistics)
        } else {
            let moments = sorted.iter().copied().collect();
            let interval = ConfidenceInterval::of_mean(&moments, confidence)?;
            if interval.half_width == 0.0 {
                return None;
            }
            (interval.lower(), interval.upper(), BoundsMethod::Student)
        };
        Some(Self {
            median: median_of_sorted(&sorted),
            lower,
            upper,
            method,
        })
    }
}

/// How many runs at each end lie outside, or on, the bounds: the most for which the probability
/// that fewer of `count` runs are below the median is at most `tail`.
fn outer_runs(count: usize, tail: f64) -> usize {
    // C(count, k) / 2^count, from k to k + 1. Beyond 1000 runs the first ones underflow to 0.
    let mut share = (-(count as f64)).exp2();
    let mut sum = 0.0;
    if share == 0.0 {
        let middle = count as f64 / 2.0;
        let away = crate::distributions::normal_quantile(2.0 * tail) * (count as f64).sqrt() / 2.0;
        return (middle - away) as usize;
    }
    for k in 0..count {
        sum += share;
        if sum > tail {
            return k;
        }
        share *= (count - k) as f64 / (k + 1) as f64;
    }
    0
}

/// The middle of some values, the mean of the two middle ones of an even number; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[length / 2],
        length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
    }
}
