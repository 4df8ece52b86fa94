//! The smallest and the largest sample of an interval.

/// No sample at all.
pub(super) const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Smallest and largest sample of the running interval. Extremes cannot be subtracted, so
/// the worker starts them anew behind each boundary.
#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    interval: u64,
    range: (f64, f64),
}

impl Default for Extremes {
    fn default() -> Self {
        Self::of(0)
    }
}

impl Extremes {
    /// Nothing yet in interval `interval`.
    pub(super) fn of(interval: u64) -> Self {
        Self {
            interval,
            range: NO_EXTREMES,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, sample: f64) {
        self.range.0 = self.range.0.min(sample);
        self.range.1 = self.range.1.max(sample);
    }

    pub(super) fn of_interval(&self, index: u64) -> (f64, f64) {
        if self.interval == index {
            self.range
        } else {
            NO_EXTREMES
        }
    }

    #[inline]
    pub(super) fn to_words(self) -> [u64; 3] {
        let (low, high) = self.range;
        [self.interval, low.to_bits(), high.to_bits()]
    }

    pub(super) fn from_words([interval, low, high]: [u64; 3]) -> Self {
        Self {
            interval,
            range: (f64::from_bits(low), f64::from_bits(high)),
        }
    }
}
