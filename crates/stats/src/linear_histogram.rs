//! Histograms with bins of equal width, as iperf 2's `-PDF` lines show them.

use tapeline_base::WallTime;

/// Most bins that can be asked for; iperf 2's largest default is a million.
const MAX_BINS: u32 = 1 << 24;
/// Share of three standard deviations, always shown in addition to the chosen bounds.
const THREE_SIGMA: f64 = 99.7;

/// The layout of a linear histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistogramShape {
    /// Width of a bin, nanoseconds; at least 1.
    pub width_ns: u64,
    /// Number of bins, 1 to 2^24.
    pub bins: u32,
    /// Lower bound of the shown share, percent.
    pub lower_percent: f64,
    /// Upper bound of the shown share, percent.
    pub upper_percent: f64,
}

impl HistogramShape {
    /// iperf 2's default for delays: 100 000 bins of 100 µs, 5 and 95 %.
    pub const DELAY: Self = Self {
        width_ns: 100_000,
        bins: 100_000,
        lower_percent: 5.0,
        upper_percent: 95.0,
    };
    /// iperf 2's default for jitter: a million bins of 100 µs, 5 and 95 %.
    pub const JITTER: Self = Self {
        bins: 1_000_000,
        ..Self::DELAY
    };

    /// The nearest shape that is in range.
    #[must_use]
    pub fn in_range(self) -> Self {
        Self {
            width_ns: self.width_ns.max(1),
            bins: self.bins.clamp(1, MAX_BINS),
            ..self
        }
    }
}

/// Counts samples in bins: bin k, from 1, covers (k − 1)·width up to k·width.
///
/// Only the bins up to the highest one used are touched, so that a large shape costs
/// address space rather than memory, and copies are small.
#[derive(Debug)]
pub struct LinearHistogram {
    shape: HistogramShape,
    counts: Vec<u64>,
    below: u64,
    above: u64,
    total: u64,
    maximum: Option<(i64, WallTime)>,
}

/// Where a sample lies that belongs to no bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfBounds {
    /// Below 0.
    Below,
    /// Beyond the last bin.
    Above,
}

/// What a `-PDF` line says next to its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearSummary {
    /// Samples, those out of bounds included.
    pub total: u64,
    /// First bin at which more than the lower share has been passed. Out of reach it is
    /// the number of bins; in an empty histogram 0.
    pub lower_bin: u32,
    /// The same for the upper share.
    pub upper_bin: u32,
    /// The same for 99.7 %.
    pub three_sigma_bin: u32,
    /// Samples far above the rest.
    pub outliers: u64,
    /// Samples below 0.
    pub below: u64,
    /// Samples beyond the last bin.
    pub above: u64,
}

impl LinearHistogram {
    /// An empty histogram. A shape out of range is brought into it.
    #[must_use]
    pub fn new(shape: HistogramShape) -> Self {
        let shape = shape.in_range();
        Self {
            shape,
            counts: Vec::with_capacity(shape.bins as usize),
            below: 0,
            above: 0,
            total: 0,
            maximum: None,
        }
    }

    /// A histogram with these counts: of the bins in ascending order, then of samples below 0
    /// and beyond the last bin, and the largest sample if its time is known. Bins that the
    /// shape does not have are counted as beyond.
    #[must_use]
    pub fn from_counts(
        shape: HistogramShape,
        counts: impl IntoIterator<Item = u64>,
        below: u64,
        above: u64,
        maximum: Option<(i64, WallTime)>,
    ) -> Self {
        let shape = shape.in_range();
        let mut counts = counts.into_iter();
        let kept: Vec<u64> = counts.by_ref().take(shape.bins as usize).collect();
        let out_of_range = above + counts.sum::<u64>();
        Self {
            shape,
            total: below + out_of_range + kept.iter().sum::<u64>(),
            counts: kept,
            below,
            above: out_of_range,
            maximum,
        }
    }

    /// The bin (from 0) that a sample in nanoseconds belongs to.
    ///
    /// # Errors
    /// Where it lies when it belongs to none.
    #[inline]
    pub fn bin_of(shape: HistogramShape, sample_ns: i64) -> Result<usize, OutOfBounds> {
        let Ok(sample) = u64::try_from(sample_ns) else {
            return Err(OutOfBounds::Below);
        };
        let bin = sample / shape.width_ns.max(1);
        if bin < u64::from(shape.bins) {
            Ok(bin as usize)
        } else {
            Err(OutOfBounds::Above)
        }
    }

    /// Counts a sample in nanoseconds.
    #[inline]
    pub fn record(&mut self, sample_ns: i64) {
        self.total += 1;
        let bin = match Self::bin_of(self.shape, sample_ns) {
            Ok(bin) => bin,
            Err(OutOfBounds::Below) => {
                self.below += 1;
                return;
            }
            Err(OutOfBounds::Above) => {
                self.above += 1;
                return;
            }
        };
        if bin >= self.counts.len() {
            // Within the capacity: nothing is allocated.
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
    }

    /// Counts a sample that was taken at `at`; the time of the largest is kept.
    #[inline]
    pub fn record_at(&mut self, sample_ns: i64, at: WallTime) {
        self.record(sample_ns);
        if self.maximum.is_none_or(|(largest, _)| sample_ns > largest) {
            self.maximum = Some((sample_ns, at));
        }
    }

    /// The layout.
    #[must_use]
    pub fn shape(&self) -> HistogramShape {
        self.shape
    }

    /// Samples, those out of bounds included.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest sample in nanoseconds and when it was taken, if times were given.
    #[must_use]
    pub fn maximum(&self) -> Option<(i64, WallTime)> {
        self.maximum
    }

    /// The same counts with another maximum; for the result of [`since`](Self::since).
    #[must_use]
    pub fn with_maximum(mut self, sample_ns: i64, at: WallTime) -> Self {
        self.maximum = Some((sample_ns, at));
        self
    }

    /// Bin number (from 1) and count of the bins that hold samples, ascending.
    pub fn bins(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (1..)
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .map(|(bin, count)| (bin, *count))
    }

    /// Counts all samples of `other` too. Of another shape they are counted as beyond
    /// the last bin, because their bins mean something else.
    pub fn merge(&mut self, other: &Self) {
        self.total += other.total;
        self.below += other.below;
        self.above += other.above;
        if other.maximum.map(|(largest, _)| largest) > self.maximum.map(|(largest, _)| largest) {
            self.maximum = other.maximum;
        }
        if (self.shape.width_ns, self.shape.bins) != (other.shape.width_ns, other.shape.bins) {
            self.above += other.total - other.below - other.above;
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own += others;
        }
    }

    /// The samples counted after `earlier` was copied from this histogram. The maximum
    /// is known if it is new since then.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut interval = Self {
            counts: self.counts.clone(),
            ..*self
        };
        for (own, before) in interval.counts.iter_mut().zip(&earlier.counts) {
            *own = own.saturating_sub(*before);
        }
        interval.below = self.below.saturating_sub(earlier.below);
        interval.above = self.above.saturating_sub(earlier.above);
        interval.total = self.total.saturating_sub(earlier.total);
        interval.maximum = self.maximum.filter(|_| self.maximum != earlier.maximum);
        interval
    }

    /// The numbers next to the bins, by iperf 2.2.1's rules.
    #[must_use]
    pub fn summary(&self) -> LinearSummary {
        let mut lower = Crossing::new(self.shape.lower_percent);
        let mut upper = Crossing::new(self.shape.upper_percent);
        let mut three_sigma = Crossing::new(THREE_SIGMA);
        let mut passed = 0;
        for (bin, count) in self.bins() {
            passed += count;
            let share = share_of(passed, self.total);
            lower.pass(bin, share);
            upper.pass(bin, share);
            three_sigma.pass(bin, share);
        }
        LinearSummary {
            total: self.total,
            // As 2.2.1 prints it: an unreached lower bound is 0, the others the end.
            lower_bin: lower.bin.unwrap_or(0),
            upper_bin: upper.bin.unwrap_or(self.shape.bins),
            three_sigma_bin: three_sigma.bin.unwrap_or(self.shape.bins),
            outliers: self.outliers(),
            below: self.below,
            above: self.above,
        }
    }

    /// Samples beyond the fence U + 3·(U − L), where L and U are the last used bins at
    /// which less than 10 and 90 % have been passed. As seen in 2.2.1, the bin that
    /// passes 90 % is never outside, the fence is compared with the bin number from 0,
    /// and there is no fence when the first used bin passes 90 %.
    fn outliers(&self) -> u64 {
        let (mut low, mut high) = (0, 0);
        let mut crossed = false;
        let mut passed = 0;
        let mut outliers = 0;
        for (bin, count) in self.bins() {
            passed += count;
            let share = share_of(passed, self.total);
            if share < 0.1 {
                low = bin;
            }
            if share < 0.9 {
                high = bin;
            } else if !crossed {
                crossed = true;
            } else if high > 0 && u64::from(bin) - 1 > 4 * u64::from(high) - 3 * u64::from(low) {
                outliers += count;
            }
        }
        outliers
    }
}

/// Cumulative share in single precision: 2.2.1 divides so, and at 3 of 60 samples the
/// rounding decides whether 5 % are exceeded.
fn share_of(passed: u64, total: u64) -> f64 {
    f64::from(passed as f32 / total as f32)
}

/// The first bin at which more than a share has been passed.
struct Crossing {
    share: f64,
    bin: Option<u32>,
}

impl Crossing {
    fn new(percent: f64) -> Self {
        Self {
            share: percent / 100.0,
            bin: None,
        }
    }

    fn pass(&mut self, bin: u32, share: f64) {
        if self.bin.is_none() && share > self.share {
            self.bin = Some(bin);
        }
    }
}

impl Clone for LinearHistogram {
    fn clone(&self) -> Self {
        let mut counts = Vec::with_capacity(self.shape.bins as usize);
        counts.extend_from_slice(&self.counts);
        Self { counts, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: HistogramShape = HistogramShape {
        width_ns: 100_000,
        bins: 2_000,
        lower_percent: 5.0,
        upper_percent: 95.0,
    };

    /// A histogram with these bins (number from 1, count) and samples below 0.
    fn with_bins(bins: &[(i64, u64)], below: u64) -> LinearHistogram {
        let mut histogram = LinearHistogram::new(SHAPE);
        for (bin, count) in bins {
            (0..*count).for_each(|_| histogram.record((bin - 1) * 100_000 + 50_000));
        }
        (0..below).for_each(|_| histogram.record(-1));
        histogram
    }

    /// Lines of iperf 2.2.1: bins, samples below 0, printed bounds and outliers.
    #[test]
    fn summaries_as_printed_by_iperf_2_2_1() {
        type Line = (&'static [(i64, u64)], u64, [u32; 3], u64);
        let lines: [Line; 15] = [
            (&[(1, 82), (2, 12), (3, 1), (11, 1)], 0, [1, 2, 11], 1),
            (&[(1, 160), (2, 29), (3, 2), (11, 1)], 0, [1, 2, 11], 1),
            (
                &[(1, 9), (2, 9), (520, 1), (521, 1), (1008, 1)],
                0,
                [1, 521, 1008],
                2,
            ),
            (
                &[(1, 2), (2, 6), (521, 1), (1008, 1)],
                0,
                [1, 1008, 1008],
                0,
            ),
            (&[(1, 6), (2, 3), (520, 1)], 0, [1, 520, 520], 0),
            (&[(1, 18), (2, 1), (79, 1)], 0, [1, 79, 79], 1),
            (&[(1, 18), (2, 1), (5, 1)], 0, [1, 5, 5], 0),
            (&[(1, 18), (5, 1), (9, 1)], 0, [1, 9, 9], 1),
            (&[(1, 19), (34, 1)], 0, [1, 34, 34], 0),
            (
                &[(1, 44), (2, 1), (3, 1), (6, 1), (44, 1)],
                0,
                [1, 3, 44],
                0,
            ),
            (&[(1, 81), (2, 15), (7, 1)], 0, [1, 2, 7], 1),
            (
                &[
                    (1, 7),
                    (2, 42),
                    (3, 6),
                    (4, 1),
                    (5, 1),
                    (17, 1),
                    (37, 1),
                    (87, 1),
                ],
                0,
                [1, 17, 87],
                3,
            ),
            (
                &[
                    (1, 11),
                    (2, 86),
                    (3, 17),
                    (4, 1),
                    (5, 1),
                    (17, 1),
                    (19, 1),
                    (37, 1),
                    (87, 1),
                ],
                0,
                [1, 4, 87],
                4,
            ),
            (
                &[
                    (1, 2),
                    (2, 1),
                    (5, 1),
                    (6, 1),
                    (7, 1),
                    (8, 1),
                    (9, 1),
                    (11, 2),
                    (13, 1),
                    (14, 1),
                ],
                48,
                [2, 2_000, 2_000],
                0,
            ),
            (&[], 0, [0, 2_000, 2_000], 0),
        ];
        for (bins, below, bounds, outliers) in lines {
            let summary = with_bins(bins, below).summary();
            let found = [
                summary.lower_bin,
                summary.upper_bin,
                summary.three_sigma_bin,
            ];
            assert_eq!((found, summary.outliers), (bounds, outliers), "{bins:?}");
            assert_eq!(summary.below, below);
        }
    }

    #[test]
    fn bins_begin_at_one_and_include_their_lower_edge() {
        let mut histogram = LinearHistogram::new(SHAPE);
        for sample in [
            0,
            99_999,
            100_000,
            199_999_999,
            200_000_000,
            -1,
            i64::MAX,
            i64::MIN,
        ] {
            histogram.record(sample);
        }
        let bins: Vec<_> = histogram.bins().collect();
        assert_eq!(bins, [(1, 2), (2, 1), (2_000, 1)]);
        let summary = histogram.summary();
        assert_eq!((summary.total, summary.below, summary.above), (8, 2, 2));
    }

    #[test]
    fn shapes_out_of_range_are_brought_into_it() {
        let mut histogram = LinearHistogram::new(HistogramShape {
            width_ns: 0,
            bins: 0,
            ..SHAPE
        });
        histogram.record(0);
        histogram.record(1);
        assert_eq!(histogram.bins().collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!(histogram.summary().above, 1);
    }

    #[test]
    fn the_time_of_the_largest_sample_is_kept() {
        let mut histogram = LinearHistogram::new(SHAPE);
        histogram.record_at(10, WallTime::from_nanos(1));
        histogram.record_at(90, WallTime::from_nanos(2));
        let earlier = histogram.clone();
        histogram.record_at(50, WallTime::from_nanos(3));
        assert_eq!(histogram.maximum(), Some((90, WallTime::from_nanos(2))));
        assert_eq!(histogram.since(&earlier).maximum(), None);
        histogram.record_at(91, WallTime::from_nanos(4));
        assert_eq!(
            histogram.since(&earlier).maximum(),
            Some((91, WallTime::from_nanos(4)))
        );
    }

    #[test]
    fn another_shape_cannot_be_merged_bin_by_bin() {
        let mut histogram = with_bins(&[(1, 2)], 0);
        let mut other = LinearHistogram::new(HistogramShape::DELAY);
        other.record(5);
        histogram.merge(&other);
        assert_eq!(histogram.total(), 3);
        assert_eq!(histogram.summary().above, 1);
    }

    #[test]
    fn recording_never_grows_the_memory() {
        let mut histogram = LinearHistogram::new(SHAPE);
        let capacity = histogram.counts.capacity();
        histogram.record(199_999_999);
        let mut copy = histogram.clone();
        copy.merge(&histogram);
        assert_eq!(histogram.counts.capacity(), capacity);
        assert_eq!(copy.counts.capacity(), capacity);
    }

    fn samples() -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(-200_000..300_000_000_i64, 0..50)
    }

    proptest! {
        #[test]
        fn since_undoes_merge(a in samples(), b in samples()) {
            let of = |samples: &[i64]| {
                let mut histogram = LinearHistogram::new(SHAPE);
                samples.iter().for_each(|sample| histogram.record(*sample));
                histogram
            };
            let (earlier, interval) = (of(&a), of(&b));
            let mut later = earlier.clone();
            later.merge(&interval);
            let found = later.since(&earlier);
            prop_assert_eq!(found.bins().collect::<Vec<_>>(), interval.bins().collect::<Vec<_>>());
            prop_assert_eq!(found.summary(), interval.summary());
            prop_assert_eq!(later.summary(), of(&[a, b].concat()).summary());
        }
    }

    #[test]
    fn counts_that_were_kept_elsewhere_make_the_same_histogram() {
        let recorded = with_bins(&[(1, 3), (4, 2)], 1);
        let made = LinearHistogram::from_counts(SHAPE, [3, 0, 0, 2], 1, 0, None);
        assert!(made.bins().eq(recorded.bins()));
        assert_eq!(made.summary(), recorded.summary());
        // Bins that the shape does not have.
        let narrow = HistogramShape { bins: 2, ..SHAPE };
        let made = LinearHistogram::from_counts(narrow, [3, 0, 0, 2], 0, 1, None);
        assert_eq!((made.total(), made.summary().above), (6, 3));
    }
}
