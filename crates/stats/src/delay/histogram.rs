//! Delays in log-linear buckets.

use hdrhistogram::Histogram;

/// Significant decimal digits: 2048 sub-buckets, a relative error below 0.1 %.
const DIGITS: u8 = 3;
/// Bits of a value that select its sub-bucket.
const SUB_BUCKET_BITS: u32 = 11;
/// Sub-buckets of one octave.
const OCTAVE: u64 = 1 << (SUB_BUCKET_BITS - 1);
/// Largest delay that is distinguished: 2^42 ns, 73 minutes.
const LARGEST: u64 = (1 << 42) - 1;

/// The percentiles that every report shows, in its order.
pub const PUBLISHED_PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// A histogram of delays in nanoseconds with three significant digits (methodology
/// 7.3). Grows with the largest delay seen, to about 270 KB at most.
#[derive(Clone, Debug)]
pub struct DelayHistogram {
    counts: Histogram<u64>,
    extremes: Option<(u64, u64)>,
    clamped: u64,
    negative: u64,
    most_negative: i64,
}

/// A bucket that holds samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Position, as [`bucket_index`] counts.
    pub index: u32,
    /// Smallest delay in it, nanoseconds.
    pub low: u64,
    /// Largest delay in it, nanoseconds.
    pub high: u64,
    /// Samples in it.
    pub count: u64,
}

/// The bucket of a delay: with b = max(0, bitlen − 11) and s = v >> b it is
/// (b + 1)·1024 + s − 1024.
#[must_use]
pub fn bucket_index(nanos: u64) -> u32 {
    let nanos = nanos.min(LARGEST);
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(SUB_BUCKET_BITS);
    (u64::from(shift) * OCTAVE + (nanos >> shift)) as u32
}

/// The delays that a bucket covers; nothing beyond the last bucket.
fn bucket_range(index: u32) -> Option<(u64, u64)> {
    if index > bucket_index(LARGEST) {
        return None;
    }
    let index = u64::from(index);
    let shift = (index / OCTAVE).saturating_sub(1);
    let sub_bucket = index - shift * OCTAVE;
    Some((sub_bucket << shift, ((sub_bucket + 1) << shift) - 1))
}

/// The rank of a percentile among `total` samples: max(1, ceil(percent/100 · N)). Nothing when too few lie
/// above it to distinguish it from the largest, that is when N·(1 − percent/100) < 1; of 100 % it is N.
pub(crate) fn rank(total: u64, percent: f64) -> Option<u64> {
    /// Decimal fractions are not exact: 99.9 % of 1000 must be 999.
    const ROUNDING: f64 = 1e-9;
    if percent >= 100.0 {
        return (total > 0).then_some(total);
    }
    let samples = total as f64;
    let below = samples * percent / 100.0;
    if samples - below < 1.0 - samples * ROUNDING {
        return None;
    }
    Some(((below * (1.0 - ROUNDING)).ceil() as u64).max(1))
}

impl DelayHistogram {
    /// No delay yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            counts: Histogram::new(DIGITS).expect("three digits are in the library's range"),
            extremes: None,
            clamped: 0,
            negative: 0,
            most_negative: 0,
        }
    }

    /// No delay yet, with room for every one: recording never allocates.
    #[must_use]
    pub fn with_room() -> Self {
        let counts = Histogram::new_with_bounds(1, LARGEST, DIGITS);
        Self {
            counts: counts.expect("the bounds are in the library's range"),
            ..Self::new()
        }
    }

    /// Counts a delay in nanoseconds. A negative one (clock error) is counted apart
    /// and is in no percentile; one above 73 minutes counts as that and as clamped.
    #[inline]
    pub fn record(&mut self, nanos: i64) {
        match u64::try_from(nanos) {
            Ok(nanos) => self.record_many(nanos, 1),
            Err(_) => {
                self.negative += 1;
                self.most_negative = self.most_negative.min(nanos);
            }
        }
    }

    #[inline]
    fn record_many(&mut self, nanos: u64, count: u64) {
        if nanos > LARGEST {
            self.clamped += count;
        }
        let (min, max) = self.extremes.unwrap_or((nanos, nanos));
        self.extremes = Some((min.min(nanos), max.max(nanos)));
        // Grows as needed: no value up to LARGEST can be refused.
        let recorded = self.counts.record_n(nanos.min(LARGEST), count);
        debug_assert!(recorded.is_ok());
    }

    /// Adds `count` samples to a bucket, as when a peer sends its histogram. Its
    /// delays count as the bucket's largest.
    ///
    /// Returns whether the bucket exists.
    #[cfg(test)]
    pub(crate) fn add_bucket(&mut self, index: u32, count: u64) -> bool {
        let range = bucket_range(index);
        if let Some((_, high)) = range.filter(|_| count > 0) {
            self.record_many(high, count);
        }
        range.is_some()
    }

    /// Counts all delays of `other` too.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same digits and the sum of both ranges is in range.
        let added = self.counts.add(&other.counts);
        debug_assert!(added.is_ok());
        self.extremes = match (self.extremes, other.extremes) {
            (Some(own), Some(others)) => Some((own.0.min(others.0), own.1.max(others.1))),
            (own, others) => own.or(others),
        };
        self.clamped += other.clamped;
        self.negative += other.negative;
        self.most_negative = self.most_negative.min(other.most_negative);
    }

    /// The delays recorded after `earlier` was copied from this histogram. Minimum and
    /// maximum are then exact to the width of a bucket; the most negative delay stays
    /// the whole run's when a negative one was added.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut interval = self.clone();
        let subtracted = interval.counts.subtract(&earlier.counts);
        debug_assert!(subtracted.is_ok());
        interval.clamped = self.clamped.saturating_sub(earlier.clamped);
        interval.negative = self.negative.saturating_sub(earlier.negative);
        if interval.negative == 0 {
            interval.most_negative = 0;
        }
        let (low, high) = self.extremes.unwrap_or_default();
        let (first, last) = (interval.buckets().next(), interval.buckets().last());
        interval.extremes = first
            .zip(last)
            .map(|(first, last)| (first.low.max(low), last.high.min(high)));
        interval
    }

    /// The same samples, each longer by `nanos`. Negative ones stay apart.
    #[must_use]
    pub(crate) fn shifted(&self, nanos: u64) -> Self {
        let mut shifted = Self {
            clamped: self.clamped,
            negative: self.negative,
            most_negative: self.most_negative,
            ..Self::new()
        };
        for bucket in self.buckets() {
            let middle = bucket.low + (bucket.high - bucket.low) / 2;
            shifted.record_many(middle.saturating_add(nanos), bucket.count);
        }
        shifted.extremes = self
            .extremes
            .map(|(min, max)| (min.saturating_add(nanos), max.saturating_add(nanos)));
        shifted
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.counts.reset();
        self.extremes = None;
        self.clamped = 0;
        self.negative = 0;
        self.most_negative = 0;
    }

    /// Delays in the histogram, negative ones not included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Delays above 73 minutes.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Negative delays.
    #[must_use]
    pub fn negative(&self) -> u64 {
        self.negative
    }

    /// The most negative delay in nanoseconds, if there was a negative one.
    #[must_use]
    pub fn most_negative(&self) -> Option<i64> {
        (self.negative > 0).then_some(self.most_negative)
    }

    /// Smallest delay that is not negative, nanoseconds.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.extremes.map(|(min, _)| min)
    }

    /// Largest delay, nanoseconds, also when it is beyond the last bucket.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.extremes.map(|(_, max)| max)
    }

    /// The `percent` percentile in nanoseconds: the upper edge of the bucket of rank
    /// max(1, ceil(percent/100 · N)), at most the maximum.
    ///
    /// Nothing when too few samples lie above it to distinguish it from the maximum, that is
    /// when N·(1 − percent/100) < 1. The 100th percentile is the maximum.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let max = self.max()?;
        if percent >= 100.0 {
            return Some(max);
        }
        let rank = rank(self.count(), percent)?;
        let mut passed = 0;
        let bucket = self.buckets().find(|bucket| {
            passed += bucket.count;
            passed >= rank
        })?;
        Some(bucket.high.min(max))
    }

    /// The buckets that hold samples, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter_recorded().filter_map(|step| {
            let index = bucket_index(step.value_iterated_to());
            let (low, high) = bucket_range(index)?;
            Some(Bucket {
                index,
                low,
                high,
                count: step.count_at_value(),
            })
        })
    }
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(delays: impl IntoIterator<Item = i64>) -> DelayHistogram {
        let mut histogram = DelayHistogram::new();
        delays.into_iter().for_each(|delay| histogram.record(delay));
        histogram
    }

    fn contents(histogram: &DelayHistogram) -> Vec<Bucket> {
        histogram.buckets().collect()
    }

    #[test]
    fn index_vectors_of_the_methodology() {
        assert_eq!(bucket_index(2_047), 2_047);
        assert_eq!(bucket_index(2_048), 2_048);
        assert_eq!(bucket_index(4_096), 3_072);
        assert_eq!(bucket_index(1_000_000), 11_169);
        assert_eq!(bucket_range(11_169), Some((999_936, 1_000_447)));
        assert_eq!(bucket_index(123_456_789), 18_267);
        assert_eq!(bucket_range(18_267), Some((123_404_288, 123_469_823)));
    }

    #[test]
    fn percentiles_need_a_sample_above_them() {
        let histogram = of(1..=100);
        assert_eq!(histogram.percentile(50.0), Some(50));
        assert_eq!(histogram.percentile(99.0), Some(99));
        assert_eq!(histogram.percentile(99.9), None);
        assert_eq!(histogram.percentile(100.0), Some(100));
        assert_eq!(of(1..=1000).percentile(99.9), Some(999));
        assert_eq!(of([]).percentile(100.0), None);
    }

    #[test]
    fn a_percentile_is_a_bucket_edge_but_never_beyond_the_maximum() {
        let histogram = of([1_000_000, 1_000_001, 123_456_789]);
        assert_eq!(histogram.percentile(50.0), Some(1_000_447));
        let single = of([1_000_000, 1_000_001]);
        assert_eq!(single.percentile(50.0), Some(1_000_001));
    }

    #[test]
    fn clock_errors_and_absurd_delays_are_counted_apart() {
        let histogram = of([-5, -70, 10, i64::MAX]);
        assert_eq!(histogram.count(), 2);
        assert_eq!(histogram.negative(), 2);
        assert_eq!(histogram.most_negative(), Some(-70));
        assert_eq!(histogram.clamped(), 1);
        assert_eq!(histogram.min(), Some(10));
        assert_eq!(histogram.max(), Some(i64::MAX as u64));
        assert_eq!(contents(&histogram).last().unwrap().high, LARGEST);
    }

    #[test]
    fn a_peers_buckets_rebuild_its_histogram() {
        let theirs = of([3, 3, 5_000, 1_000_000, 99_000_000]);
        let mut ours = DelayHistogram::new();
        for bucket in theirs.buckets() {
            assert!(ours.add_bucket(bucket.index, bucket.count));
        }
        assert_eq!(contents(&ours), contents(&theirs));
        assert!(!ours.add_bucket(u32::MAX, 1));
        assert!(ours.add_bucket(0, 0));
        assert_eq!(ours.count(), theirs.count());
    }

    #[test]
    fn clearing_leaves_nothing() {
        let mut histogram = of([-1, 5, i64::MAX]);
        histogram.clear();
        assert_eq!(histogram.count(), 0);
        assert_eq!(histogram.max(), None);
        assert_eq!(histogram.most_negative(), None);
    }

    fn delays() -> impl Strategy<Value = Vec<i64>> {
        let delay = prop_oneof![-100_i64..3_000, 0_i64..1 << 43];
        prop::collection::vec(delay, 0..60)
    }

    proptest! {
        // Walking a histogram is slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_delay_is_in_its_bucket(nanos in 0_u64..=LARGEST) {
            let (low, high) = bucket_range(bucket_index(nanos)).unwrap();
            prop_assert!(low <= nanos && nanos <= high);
            prop_assert!(high - low <= nanos / 1_024);
            let library = of([nanos as i64]);
            prop_assert_eq!(library.counts.lowest_equivalent(nanos), low);
            prop_assert_eq!(library.counts.highest_equivalent(nanos), high);
        }

        #[test]
        fn merging_is_associative_and_since_undoes_it(a in delays(), b in delays(), c in delays()) {
            let mut left = of(a.clone());
            left.merge(&of(b.clone()));
            let earlier = left.clone();
            left.merge(&of(c.clone()));
            let mut right = of(b);
            right.merge(&of(c.clone()));
            let mut all = of(a);
            all.merge(&right);
            prop_assert_eq!(contents(&left), contents(&all));
            prop_assert_eq!(left.min(), all.min());
            prop_assert_eq!(left.max(), all.max());

            let interval = left.since(&earlier);
            let expected = of(c);
            prop_assert_eq!(contents(&interval), contents(&expected));
            prop_assert_eq!(interval.negative(), expected.negative());
            prop_assert_eq!(interval.clamped(), expected.clamped());
        }

        #[test]
        fn percentiles_are_within_a_thousandth(delays in prop::collection::vec(0_i64..1 << 40, 1..200), percent in 0.0..100.0) {
            let histogram = of(delays.clone());
            let mut sorted = delays;
            sorted.sort_unstable();
            if let Some(found) = histogram.percentile(percent) {
                let rank = ((percent / 100.0 * sorted.len() as f64).ceil() as usize).max(1);
                let exact = sorted[rank - 1] as u64;
                prop_assert!(found >= exact && found - exact <= exact / 1_024);
            }
        }
    }
}
