//! Delays, and how many there were of each, whatever the clocks say.

use super::histogram::rank;

/// Bits of a difference that select its sub-bucket: a bucket is narrower than 1/512 of what it holds.
const SUB_BUCKET_BITS: u32 = 10;
/// Sub-buckets of one octave.
const OCTAVE: u64 = 1 << (SUB_BUCKET_BITS - 1);
/// Largest difference that is distinguished: 2^36 ns, 68 s.
const LARGEST: u64 = (1 << 36) - 1;
/// Place of a difference of 0; as many places lie before it as behind.
const CENTRE: usize = bucket(LARGEST);

/// A bucket's number by the rule of methodology 7.3, for this many bits.
const fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(SUB_BUCKET_BITS);
    (shift as u64 * OCTAVE + (nanos >> shift)) as usize
}

/// Log-linear buckets for delays by two clocks that may differ by years: what is counted is the difference
/// from a delay of the same flow, and the buckets lie around that, finest where they are near.
#[derive(Clone, Copy, Debug)]
pub enum DifferenceBuckets {}

impl DifferenceBuckets {
    /// How many there are.
    pub const COUNT: usize = 2 * CENTRE + 1;

    /// The bucket of a difference in nanoseconds; beyond 68 s the outermost.
    #[inline]
    #[must_use]
    pub fn place(difference: i64) -> usize {
        let distance = bucket(difference.unsigned_abs().min(LARGEST));
        if difference < 0 {
            CENTRE - distance
        } else {
            CENTRE + distance
        }
    }

    /// The middle of a bucket, nanoseconds: at most a thousandth from each difference in it.
    #[must_use]
    pub fn middle(place: usize) -> i64 {
        let distance = place.abs_diff(CENTRE) as u64;
        let shift = (distance / OCTAVE).saturating_sub(1);
        let low = (distance - shift * OCTAVE) << shift;
        let middle = (low + ((1_u64 << shift) - 1) / 2) as i64;
        if place < CENTRE { -middle } else { middle }
    }
}

/// Delays in nanoseconds, negative ones too, and how many there were of each. Those of several flows can be
/// added, and all can be moved by a difference of clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayCounts {
    /// Ascending; no delay twice, no count 0.
    points: Vec<(i64, u64)>,
}

impl FromIterator<(i64, u64)> for DelayCounts {
    fn from_iter<T: IntoIterator<Item = (i64, u64)>>(points: T) -> Self {
        let mut points: Vec<(i64, u64)> =
            points.into_iter().filter(|(_, count)| *count > 0).collect();
        points.sort_unstable();
        points.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = earlier.1.saturating_add(later.1);
            }
            same
        });
        Self { points }
    }
}

impl FromIterator<i64> for DelayCounts {
    /// Of single delays, nanoseconds.
    fn from_iter<T: IntoIterator<Item = i64>>(delays: T) -> Self {
        delays.into_iter().map(|delay| (delay, 1)).collect()
    }
}

impl DelayCounts {
    /// Delays, ascending, each with its count.
    #[must_use]
    pub fn points(&self) -> &[(i64, u64)] {
        &self.points
    }

    /// How many delays there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        let counts = self.points.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// Adds the delays of another flow.
    pub fn merge(&mut self, other: &Self) {
        let both = self.points.iter().chain(&other.points);
        *self = both.copied().collect();
    }

    /// All delays longer by `nanos`.
    #[must_use]
    pub fn shifted(&self, nanos: i64) -> Self {
        let moved = |(delay, count): &(i64, u64)| (delay.saturating_add(nanos), *count);
        self.points.iter().map(moved).collect()
    }

    /// None below `low` or above `high`: the middle of a bucket can lie beyond what was measured.
    #[must_use]
    pub fn within(&self, low: i64, high: i64) -> Self {
        let (low, high) = (low.min(high), high);
        let kept = |(delay, count): &(i64, u64)| ((*delay).clamp(low, high), *count);
        self.points.iter().map(kept).collect()
    }

    /// The `percent` percentile, nanoseconds: the delay of rank max(1, ceil(percent/100 · N)). Nothing when
    /// too few delays lie above it, as for [`DelayHistogram::percentile`](crate::DelayHistogram::percentile).
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<i64> {
        let rank = rank(self.count(), percent)?;
        let mut passed = 0_u64;
        let (delay, _) = self.points.iter().find(|(_, count)| {
            passed = passed.saturating_add(*count);
            passed >= rank
        })?;
        Some(*delay)
    }

    /// At most `max` delays: neighbours are put together at their mean until that is so.
    #[must_use]
    pub fn coarsened(&self, max: usize) -> Self {
        let mut points = self.points.clone();
        while points.len() > max.max(1) {
            points = points.chunks(2).map(together).collect();
        }
        Self { points }
    }
}

/// One delay for all of them.
fn together(points: &[(i64, u64)]) -> (i64, u64) {
    let first = points.first().map_or(0, |(delay, _)| *delay);
    let counts = points.iter().map(|(_, count)| u128::from(*count));
    let count = counts.sum::<u128>().max(1);
    let offsets = points.iter().map(|(delay, count)| {
        // Ascending, so no difference is negative.
        let distance = delay.abs_diff(first);
        u128::from(distance) * u128::from(*count)
    });
    let mean = offsets.fold(0, u128::saturating_add) / count;
    let mean = u64::try_from(mean).unwrap_or(u64::MAX);
    (
        first.saturating_add_unsigned(mean),
        u64::try_from(count).unwrap_or(u64::MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(delays: &[i64]) -> DelayCounts {
        delays.iter().copied().collect()
    }

    #[test]
    fn buckets_lie_around_a_difference_of_nothing() {
        let middle = CENTRE;
        assert_eq!(DifferenceBuckets::place(0), middle);
        assert_eq!(DifferenceBuckets::place(i64::MAX), 2 * middle);
        assert_eq!(DifferenceBuckets::place(i64::MIN), 0);
        for difference in [0, 1, -1, 1_023, -1_023] {
            let place = DifferenceBuckets::place(difference);
            assert_eq!(DifferenceBuckets::middle(place), difference);
        }
    }

    #[test]
    fn percentiles_are_delays_that_were_and_need_one_above_them() {
        let counts: DelayCounts = (1..=1000_i64).rev().collect();
        assert_eq!(counts.percentile(50.0), Some(500));
        assert_eq!(counts.percentile(99.9), Some(999));
        assert_eq!(counts.percentile(99.99), None);
        assert_eq!(counts.percentile(100.0), Some(1000));
        assert_eq!(of(&[]).percentile(50.0), None);
        // A clock that is ahead makes delays negative: they count like others.
        assert_eq!(of(&[-5, -3, 7]).percentile(50.0), Some(-3));
    }

    #[test]
    fn equal_delays_are_one_point() {
        let counts = of(&[7, -1, 7]);
        assert_eq!(counts.points(), [(-1, 1), (7, 2)]);
        assert_eq!(counts.shifted(1).points(), [(0, 1), (8, 2)]);
        assert_eq!(counts.within(0, 5).points(), [(0, 1), (5, 2)]);
        let none: DelayCounts = [(3, 0)].into_iter().collect();
        assert_eq!(none, DelayCounts::default());
    }

    #[test]
    fn what_is_put_together_lies_at_its_mean() {
        let counts: DelayCounts = [(0, 1), (10, 3), (100, 1)].into_iter().collect();
        assert_eq!(counts.coarsened(3), counts);
        assert_eq!(counts.coarsened(2).points(), [(7, 4), (100, 1)]);
        assert_eq!(counts.coarsened(0).count(), 5);
    }

    proptest! {
        #[test]
        fn a_difference_is_near_the_middle_of_its_bucket(difference in -(LARGEST as i64)..=LARGEST as i64) {
            let middle = DifferenceBuckets::middle(DifferenceBuckets::place(difference));
            prop_assert!(middle.abs_diff(difference) <= difference.unsigned_abs() / 1_000);
            prop_assert_eq!(middle.signum() * difference.signum() >= 0, true);
        }

        #[test]
        fn merging_in_any_order_is_the_same(
            a in prop::collection::vec(-50_i64..50, 0..40),
            b in prop::collection::vec(-50_i64..50, 0..40),
        ) {
            let (mut left, mut right) = (of(&a), of(&b));
            left.merge(&of(&b));
            right.merge(&of(&a));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left.count(), (a.len() + b.len()) as u64);
            let all: DelayCounts = a.into_iter().chain(b).collect();
            prop_assert_eq!(left, all);
        }
    }
}
