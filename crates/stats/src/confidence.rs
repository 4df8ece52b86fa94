//! How sure a mean is (methodology 15).

use crate::distributions;
use crate::moments::Moments;

/// Level of a two-sided confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// 90 %: what two questions of 95 % each, one to either side, come to.
    P90,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
}

impl Confidence {
    /// The probability to be wrong: 0.05 for 95 %.
    #[must_use]
    pub const fn level(self) -> f64 {
        match self {
            Self::P90 => 0.1,
            Self::P95 => 0.05,
            Self::P99 => 0.01,
        }
    }

    /// The two-sided quantile of the normal distribution.
    #[must_use]
    pub fn normal_quantile(self) -> f64 {
        distributions::normal_quantile(self.level())
    }

    /// The two-sided quantile of Student's t for `degrees` of freedom (at least 1).
    #[must_use]
    pub fn student_t(self, degrees: f64) -> f64 {
        distributions::student_quantile(self.level(), degrees.max(1.0))
    }
}

/// A mean and how far the true one may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// Mean of the runs.
    pub mean: f64,
    /// Half of the interval's width.
    pub half_width: f64,
}

impl ConfidenceInterval {
    /// Of the mean of independent runs: x̄ ± t·s/√n. Nothing below two runs.
    ///
    /// The intervals of one run are not independent; do not feed them here.
    #[must_use]
    pub fn of_mean(runs: &Moments, confidence: Confidence) -> Option<Self> {
        if runs.count < 2 {
            return None;
        }
        let count = runs.count as f64;
        let t = confidence.student_t(count - 1.0);
        Some(Self {
            mean: runs.mean,
            half_width: t * runs.stdev() / count.sqrt(),
        })
    }

    /// Lower end.
    #[must_use]
    pub fn lower(&self) -> f64 {
        self.mean - self.half_width
    }

    /// Upper end.
    #[must_use]
    pub fn upper(&self) -> f64 {
        self.mean + self.half_width
    }

    /// netperf's stop rule (`-I level,width`): whether the whole interval is at most
    /// `width` (0.05 for 5 %) of the mean wide.
    #[must_use]
    pub fn is_narrower_than(&self, width: f64) -> bool {
        self.half_width <= width / 2.0 * self.mean.abs()
    }
}

/// Mean of the lowest `keep` share (0.95 for 95 %) of the samples, the single-sided
/// trimmed mean of the responsiveness draft. Nothing when no sample is left.
#[must_use]
pub fn trimmed_mean(samples: &[f64], keep: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = (sorted.len() as f64 * keep.clamp(0.0, 1.0)) as usize;
    let moments: Moments = sorted[..kept].iter().copied().collect();
    (!moments.is_empty()).then_some(moments.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[f64]) -> Moments {
        runs.iter().copied().collect()
    }

    #[test]
    fn t_table_of_the_methodology() {
        let sizes = [3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30];
        let t95 = [
            4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.145, 2.093, 2.045,
        ];
        let t99 = [
            9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 2.977, 2.861, 2.756,
        ];
        for ((runs, p95), p99) in sizes.into_iter().zip(t95).zip(t99) {
            let degrees = f64::from(runs - 1);
            let near = |found: f64, wanted: f64| (found - wanted).abs() < 6e-4;
            assert!(near(Confidence::P95.student_t(degrees), p95));
            assert!(near(Confidence::P99.student_t(degrees), p99));
        }
        assert!((Confidence::P90.normal_quantile() - 1.644_853_626_951_472).abs() < 1e-12);
    }

    #[test]
    fn an_interval_needs_two_runs() {
        assert_eq!(
            ConfidenceInterval::of_mean(&of(&[1.0]), Confidence::P95),
            None
        );
        let runs = of(&[9.0, 10.0, 11.0]);
        let interval = ConfidenceInterval::of_mean(&runs, Confidence::P95).unwrap();
        assert!((interval.half_width - 4.302_652_729_749_464 / 3.0_f64.sqrt()).abs() < 1e-12);
        assert!((interval.lower() + interval.upper() - 20.0).abs() < 1e-9);
        assert!(interval.is_narrower_than(0.5));
        assert!(!interval.is_narrower_than(0.49));
    }

    #[test]
    fn trimmed_mean_vector_of_the_methodology() {
        let mut samples: Vec<f64> = (1..100).map(f64::from).collect();
        samples.insert(40, 5_000.0);
        assert_eq!(trimmed_mean(&samples, 0.95), Some(48.0));
        assert_eq!(trimmed_mean(&[], 0.95), None);
    }
}
