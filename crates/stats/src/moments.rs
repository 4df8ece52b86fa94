//! Count, mean, variance and extremes of a series.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Running moments of a series of samples (Welford's recurrence, methodology 7.1).
///
/// The unit is the caller's. Samples that are not finite are ignored, so every
/// field stays free of NaN.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Moments {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean; 0 while there is no sample.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub m2: f64,
    /// Smallest sample; `+∞` while there is none.
    pub min: f64,
    /// Largest sample; `−∞` while there is none.
    pub max: f64,
}

impl Moments {
    /// No samples.
    pub const EMPTY: Self = Self {
        count: 0,
        mean: 0.0,
        m2: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
    };

    /// Counts one sample.
    #[inline]
    pub fn add(&mut self, sample: f64) {
        if !sample.is_finite() {
            return;
        }
        self.count += 1;
        let deviation = sample - self.mean;
        self.mean += deviation / self.count as f64;
        self.m2 += deviation * (sample - self.mean);
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Counts `count` samples that are all alike.
    #[inline]
    pub fn add_many(&mut self, sample: f64, count: u64) {
        match count {
            0 => {}
            1 => self.add(sample),
            _ if sample.is_finite() => self.merge(&Self {
                count,
                mean: sample,
                m2: 0.0,
                min: sample,
                max: sample,
            }),
            _ => {}
        }
    }

    /// Counts all samples of `other` too (Chan, Golub, LeVeque; methodology 7.2).
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (own, others) = (self.count as f64, other.count as f64);
        let total = own + others;
        let distance = other.mean - self.mean;
        self.count += other.count;
        self.mean += distance * others / total;
        self.m2 += other.m2 + distance * distance * own * others / total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The samples counted after `earlier` was copied from this series: the inverse
    /// of [`merge`](Self::merge) for count, mean and squared deviations.
    ///
    /// MinMax cannot be subtracted: `min` and `max` stay those of the whole series,
    /// which bound the interval's. A caller that keeps the interval's own extremes
    /// sets them with [`with_extremes`](Self::with_extremes). No new sample gives
    /// [`EMPTY`](Self::EMPTY).
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        if earlier.count == 0 {
            return *self;
        }
        let count = self.count.saturating_sub(earlier.count);
        if count == 0 {
            return Self::EMPTY;
        }
        let (total, before, after) = (self.count as f64, earlier.count as f64, count as f64);
        let mean = self.mean + (self.mean - earlier.mean) * before / after;
        let distance = mean - earlier.mean;
        let m2 = self.m2 - earlier.m2 - distance * distance * before * after / total;
        Self {
            count,
            mean,
            // A tiny negative rest is rounding; a single sample has no deviation.
            m2: if count < 2 { 0.0 } else { m2.max(0.0) },
            min: self.min,
            max: self.max,
        }
    }

    /// The same series with other extremes; for the result of [`since`](Self::since).
    #[must_use]
    pub fn with_extremes(self, min: f64, max: f64) -> Self {
        Self { min, max, ..self }
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sum of the samples.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Sample variance (divisor n − 1); 0 below two samples.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            0.0
        } else {
            self.m2 / (self.count - 1) as f64
        }
    }

    /// Sample standard deviation (divisor n − 1); 0 below two samples.
    #[must_use]
    pub fn stdev(&self) -> f64 {
        self.variance().sqrt()
    }

    /// All four statistics in another unit, e.g. `scaled(1e3)` from seconds to
    /// milliseconds. `factor` is positive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        if self.count == 0 {
            return Self::EMPTY;
        }
        Self {
            count: self.count,
            mean: self.mean * factor,
            m2: self.m2 * factor * factor,
            min: self.min * factor,
            max: self.max * factor,
        }
    }
}

impl Default for Moments {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(samples: I) -> Self {
        let mut moments = Self::EMPTY;
        samples.into_iter().for_each(|sample| moments.add(sample));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[f64]) -> Moments {
        samples.iter().copied().collect()
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-6 * (1.0 + left.abs().max(right.abs()))
    }

    fn alike(left: &Moments, right: &Moments) -> bool {
        left.count == right.count
            && close(left.mean, right.mean)
            && close(left.stdev(), right.stdev())
            && left.min == right.min
            && left.max == right.max
    }

    #[test]
    fn vector_of_the_methodology() {
        let all = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(all.mean, 5.0);
        assert!(close(all.m2, 32.0));
        assert!((all.stdev() - 2.138_090).abs() < 1e-6);
        assert!(close(all.sum(), 40.0));
        assert_eq!((all.min, all.max), (2.0, 9.0));

        let mut merged = of(&[2.0, 4.0, 4.0]);
        merged.merge(&of(&[4.0, 5.0, 5.0, 7.0, 9.0]));
        assert!(alike(&merged, &all));
    }

    #[test]
    fn few_samples_have_no_deviation() {
        assert_eq!(Moments::EMPTY.stdev(), 0.0);
        assert_eq!(of(&[3.0]).stdev(), 0.0);
        assert_eq!(Moments::EMPTY.sum(), 0.0);
    }

    #[test]
    fn negative_samples_are_kept() {
        let moments = of(&[-2.0, 1.0]);
        assert_eq!((moments.min, moments.max), (-2.0, 1.0));
        assert_eq!(moments.mean, -0.5);
    }

    #[test]
    fn samples_without_a_value_are_ignored() {
        let moments = of(&[1.0, f64::NAN, f64::INFINITY, 3.0]);
        assert_eq!(moments.count, 2);
        assert_eq!(moments.mean, 2.0);
    }

    #[test]
    fn nothing_new_since_a_copy_is_empty() {
        let moments = of(&[1.0, 2.0]);
        assert_eq!(moments.since(&moments), Moments::EMPTY);
        assert_eq!(moments.since(&Moments::EMPTY), moments);
    }

    #[test]
    fn scaling_changes_every_statistic() {
        let milliseconds = of(&[0.001, 0.003]).scaled(1e3);
        assert!(alike(&milliseconds, &of(&[1.0, 3.0])));
    }

    fn series() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-1e3..1e3, 0..40)
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_equals_one_series(a in series(), b in series(), c in series()) {
            let mut left = of(&a);
            left.merge(&of(&b));
            left.merge(&of(&c));
            let mut tail = of(&b);
            tail.merge(&of(&c));
            let mut right = of(&a);
            right.merge(&tail);
            prop_assert!(alike(&left, &right));
            prop_assert!(alike(&left, &of(&[a, b, c].concat())));
        }

        #[test]
        fn since_undoes_merge(a in series(), b in series()) {
            let earlier = of(&a);
            let interval = of(&b);
            let mut later = earlier;
            later.merge(&interval);
            let found = later.since(&earlier).with_extremes(interval.min, interval.max);
            // The subtraction loses digits of the deviation, never of the count.
            prop_assert_eq!(found.count, interval.count);
            prop_assert!((found.mean - interval.mean).abs() < 1e-6);
            prop_assert!((found.stdev() - interval.stdev()).abs() < 1e-3);
        }
    }
}
