//! How large a difference is, several of them together, and how many runs show one.

use crate::moments::Moments;

/// Of how many pairs of a run of each side B has more (Vargha, Delaney 2000).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Superiority {
    /// Pairs in which B has more; a half for each with the same.
    pub pairs: f64,
    /// All pairs.
    pub of: u64,
}

impl Superiority {
    /// Counts all pairs.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64]) -> Self {
        let mut sorted = a.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let below = |value: &f64| {
            let less = sorted.partition_point(|other| other < value);
            let as_much = sorted.partition_point(|other| other <= value) - less;
            less as f64 + as_much as f64 / 2.0
        };
        Self {
            pairs: b.iter().map(below).sum(),
            of: (a.len() * b.len()) as u64,
        }
    }

    /// Vargha and Delaney's A: 0 to 1, a half where neither side has more.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| self.pairs / self.of as f64)
    }
}

/// Hedges' g: the difference of the means in pooled standard deviations, less its bias for small
/// numbers (Hedges 1981, by the usual 1 − 3/(4·df − 1)). Nothing below three runs in all or
/// without spread.
#[must_use]
pub fn hedges_g(a: &[f64], b: &[f64]) -> Option<f64> {
    let a: Moments = a.iter().copied().collect();
    let b: Moments = b.iter().copied().collect();
    if a.count == 0 || b.count == 0 || a.count + b.count < 3 {
        return None;
    }
    let degrees = (a.count + b.count - 2) as f64;
    let pooled = ((a.m2 + b.m2) / degrees).sqrt();
    (pooled > 0.0).then(|| (b.mean - a.mean) / pooled * (1.0 - 3.0 / (4.0 * degrees - 1.0)))
}

/// The p of several tests that are judged together, corrected by Holm's method (1979): each is
/// the level at which that test is rejected with all of them.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let mut corrected = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (before, index) in order.into_iter().enumerate() {
        least = least.max(p[index] * (p.len() - before) as f64).min(1.0);
        corrected[index] = least;
    }
    corrected
}

/// Normal quantiles: a two-sided test at 95 %, and a power of 80 %.
const SIGNIFICANCE_95: f64 = 1.959_963_984_540_054;
const POWER_80: f64 = 0.841_621_233_572_914_4;

/// How many runs each side needs to show a difference with 80 % power at 95 %, where `a` and `b`
/// runs have this standard error. At least four, below which rank sums show nothing.
#[must_use]
pub fn runs_needed(standard_error: f64, a: usize, b: usize, difference: f64) -> Option<u64> {
    if a == 0 || b == 0 || difference <= 0.0 || !standard_error.is_finite() {
        return None;
    }
    let spread = standard_error.powi(2) / (1.0 / a as f64 + 1.0 / b as f64);
    let runs = 2.0 * spread * ((SIGNIFICANCE_95 + POWER_80) / difference).powi(2);
    (runs < 1e9).then(|| (runs.ceil() as u64).max(4))
}

/// How many more runs bring a bound that is now `half_width` from an estimate to the near side of
/// something `distance` away, if the estimate stays: bounds narrow with the root of the runs.
#[must_use]
pub fn runs_to_decide(runs: usize, half_width: f64, distance: f64) -> Option<u64> {
    if distance <= 0.0 || !half_width.is_finite() {
        return None;
    }
    let wanted = runs as f64 * (half_width / distance).powi(2);
    (wanted < 1e9).then(|| (wanted.ceil() as u64).saturating_sub(runs as u64).max(1))
}
