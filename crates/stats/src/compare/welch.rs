//! Welch's comparison of two means, for few runs.

use crate::distributions::{student_quantile, student_two_sided};
use crate::moments::Moments;

/// The difference of two means of independent runs, with unequal variances (Welch 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of B less that of A.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub degrees: f64,
}

impl Welch {
    /// Nothing below two runs a side, and nothing where neither side has any spread but both
    /// differ: such runs do not say how far the next one may be.
    #[must_use]
    pub fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        let moments = |values: &[f64]| values.iter().copied().collect::<Moments>();
        let (a, b) = (moments(a), moments(b));
        if a.count < 2 || b.count < 2 {
            return None;
        }
        let (error_a, error_b) = (a.variance() / a.count as f64, b.variance() / b.count as f64);
        let square = error_a + error_b;
        let difference = b.mean - a.mean;
        let degrees = if square > 0.0 {
            let of_a = error_a.powi(2) / (a.count - 1) as f64;
            let of_b = error_b.powi(2) / (b.count - 1) as f64;
            square.powi(2) / (of_a + of_b)
        } else if difference == 0.0 {
            (a.count + b.count - 2) as f64
        } else {
            return None;
        };
        Some(Self {
            difference,
            error: square.sqrt(),
            degrees,
        })
    }

    /// The two-sided p.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.difference == 0.0 {
            return 1.0;
        }
        student_two_sided(self.difference / self.error, self.degrees)
    }

    /// Half of the width of the interval at this level (0.05 for 95 %).
    #[must_use]
    pub fn half_width(&self, level: f64) -> f64 {
        if self.error == 0.0 {
            return 0.0;
        }
        student_quantile(level, self.degrees) * self.error
    }
}
