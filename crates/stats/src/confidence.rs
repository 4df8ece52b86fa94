//! How sure a mean is, and whether two of them differ (methodology 15).

use crate::moments::Moments;

/// Level of a two-sided confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// 95 %.
    P95,
    /// 99 %.
    P99,
}

/// Quantiles of Student's t for 1 to 30 degrees of freedom, two-sided 95 %.
#[rustfmt::skip]
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The same, two-sided 99 %.
#[rustfmt::skip]
const T99: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
    2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
];
/// Beyond the table: the normal quantile, reached as 1/df goes to 0.
const NORMAL_95: f64 = 1.959_964;
const NORMAL_99: f64 = 2.575_829;

/// The two-sided quantile of Student's t for `degrees` of freedom (at least 1; whole
/// numbers to three decimals, between and above them interpolated in 1/degrees).
#[must_use]
pub fn student_t(degrees: f64, confidence: Confidence) -> f64 {
    let (table, normal) = match confidence {
        Confidence::P95 => (&T95, NORMAL_95),
        Confidence::P99 => (&T99, NORMAL_99),
    };
    let last = table.len() as f64;
    let degrees = degrees.max(1.0);
    if degrees >= last {
        return normal + (table[table.len() - 1] - normal) * last / degrees;
    }
    let below = degrees.floor();
    let (left, right) = (table[below as usize - 1], table[below as usize]);
    let share = (1.0 / below - 1.0 / degrees) / (1.0 / below - 1.0 / (below + 1.0));
    left + (right - left) * share
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
        let t = student_t(count - 1.0, confidence);
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

/// The change from runs of A to runs of B, relative to the mean of A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Relative difference (B − A)/A with its confidence interval.
    pub difference: ConfidenceInterval,
    /// Welch's t.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub degrees: f64,
}

/// What a comparison says about a quantity of which more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Surely worse by more than the threshold.
    Regression,
    /// Surely better by more than the threshold.
    Improvement,
    /// Surely within the threshold.
    NoChange,
    /// More runs are needed.
    Inconclusive,
}

/// Welch's comparison of the means of two sets of independent runs. Nothing below two
/// runs each or for a mean of zero in A.
#[must_use]
pub fn compare_means(a: &Moments, b: &Moments, confidence: Confidence) -> Option<Comparison> {
    if a.count < 2 || b.count < 2 || a.mean == 0.0 {
        return None;
    }
    let (error_a, error_b) = (a.variance() / a.count as f64, b.variance() / b.count as f64);
    let error = error_a + error_b;
    let difference = b.mean - a.mean;
    let degrees = if error == 0.0 {
        (a.count + b.count - 2) as f64
    } else {
        error.powi(2)
            / (error_a.powi(2) / (a.count - 1) as f64 + error_b.powi(2) / (b.count - 1) as f64)
    };
    Some(Comparison {
        difference: ConfidenceInterval {
            mean: difference / a.mean,
            half_width: student_t(degrees, confidence) * error.sqrt() / a.mean.abs(),
        },
        t: match (difference == 0.0, error == 0.0) {
            (true, _) => 0.0,
            (false, true) => f64::INFINITY.copysign(difference),
            (false, false) => difference / error.sqrt(),
        },
        degrees,
    })
}

impl Comparison {
    /// The verdict for a relative `threshold` (0.05 for 5 %) on a quantity of which
    /// more is better; swap the first two for one of which less is better.
    #[must_use]
    pub fn change(&self, threshold: f64) -> Change {
        let (lower, upper) = (self.difference.lower(), self.difference.upper());
        if upper < -threshold {
            Change::Regression
        } else if lower > threshold {
            Change::Improvement
        } else if lower >= -threshold && upper <= threshold {
            Change::NoChange
        } else {
            Change::Inconclusive
        }
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
            assert_eq!(student_t(degrees, Confidence::P95), p95);
            assert_eq!(student_t(degrees, Confidence::P99), p99);
        }
    }

    #[test]
    fn t_between_and_beyond_the_table() {
        // Tabulated elsewhere: 60 and 120 degrees.
        assert!((student_t(60.0, Confidence::P95) - 2.000).abs() < 2e-3);
        assert!((student_t(120.0, Confidence::P99) - 2.617).abs() < 3e-3);
        assert!((student_t(1e9, Confidence::P95) - 1.960).abs() < 1e-3);
        let between = student_t(4.5, Confidence::P95);
        assert!(between < 2.776 && between > 2.571);
        assert_eq!(student_t(0.0, Confidence::P95), 12.706);
    }

    #[test]
    fn an_interval_needs_two_runs() {
        assert_eq!(
            ConfidenceInterval::of_mean(&of(&[1.0]), Confidence::P95),
            None
        );
        let runs = of(&[9.0, 10.0, 11.0]);
        let interval = ConfidenceInterval::of_mean(&runs, Confidence::P95).unwrap();
        assert!((interval.half_width - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert!((interval.lower() + interval.upper() - 20.0).abs() < 1e-9);
        assert!(interval.is_narrower_than(0.5));
        assert!(!interval.is_narrower_than(0.49));
    }

    #[test]
    fn verdicts() {
        let base = of(&[100.0, 101.0, 99.0, 100.0]);
        let compare = |other: &[f64]| {
            compare_means(&base, &of(other), Confidence::P95)
                .unwrap()
                .change(0.05)
        };
        assert_eq!(compare(&[80.0, 81.0, 79.0, 80.0]), Change::Regression);
        assert_eq!(compare(&[120.0, 121.0, 119.0, 120.0]), Change::Improvement);
        assert_eq!(compare(&[100.5, 101.0, 100.0, 100.0]), Change::NoChange);
        assert_eq!(compare(&[60.0, 140.0, 90.0, 110.0]), Change::Inconclusive);
    }

    #[test]
    fn welch_by_hand() {
        // Variances 1 and 4, three runs each: error 5/3, degrees (5/3)² / ((1/9 + 16/9)/2).
        let comparison = compare_means(
            &of(&[9.0, 10.0, 11.0]),
            &of(&[10.0, 12.0, 14.0]),
            Confidence::P95,
        )
        .unwrap();
        assert!((comparison.t - 2.0 / (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((comparison.degrees - 50.0 / 17.0).abs() < 1e-12);
        assert!((comparison.difference.mean - 0.2).abs() < 1e-12);
    }

    #[test]
    fn runs_without_any_spread_compare() {
        let same = compare_means(&of(&[5.0, 5.0]), &of(&[5.0, 5.0]), Confidence::P99).unwrap();
        assert_eq!((same.t, same.change(0.05)), (0.0, Change::NoChange));
        assert_eq!(
            compare_means(&of(&[0.0, 0.0]), &of(&[5.0, 5.0]), Confidence::P99),
            None
        );
    }

    #[test]
    fn trimmed_mean_vector_of_the_methodology() {
        let mut samples: Vec<f64> = (1..100).map(f64::from).collect();
        samples.insert(40, 5_000.0);
        assert_eq!(trimmed_mean(&samples, 0.95), Some(48.0));
        assert_eq!(trimmed_mean(&[], 0.95), None);
    }
}
