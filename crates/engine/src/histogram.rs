//! Histograms that a worker fills and the sampler reads.
//!
//! Nothing is copied at an interval's end: there are two sets of counts, and intervals use
//! them in turn. While interval n + 1 fills one set, the other one stands still, and what it
//! gained since interval n − 2 is interval n. Both sets together are the whole test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tapeline_base::{MonoTime, WallTime};
use tapeline_stats::{HistogramShape, LinearHistogram, OutOfBounds};
use tapeline_sys::zeroed_counters;

use crate::counters::{Intervals, SnapshotCell, Watch};

/// Counts of a histogram, written by one worker and read by anybody.
#[derive(Debug)]
pub struct HistogramCell {
    shape: HistogramShape,
    intervals: Intervals,
    even: Set,
    /// Used with intervals only.
    odd: Set,
    /// Largest sample of all: 1 when there is one, the sample, its time.
    maximum: SnapshotCell<3>,
}

/// Counts of every second interval.
#[derive(Debug)]
struct Set {
    bins: Box<[AtomicU64]>,
    /// Bins up to the highest one used.
    used: AtomicUsize,
    below: AtomicU64,
    above: AtomicU64,
    /// Largest sample of an interval: one more than the interval's number, the sample, its
    /// time.
    maximum: SnapshotCell<3>,
}

impl Set {
    fn new(bins: usize) -> Self {
        Self {
            bins: zeroed_counters(bins),
            used: AtomicUsize::new(0),
            below: AtomicU64::new(0),
            above: AtomicU64::new(0),
            maximum: SnapshotCell::default(),
        }
    }

    fn read(&self, shape: HistogramShape) -> LinearHistogram {
        let used = self.used.load(Ordering::Acquire);
        LinearHistogram::from_counts(
            shape,
            self.bins[..used]
                .iter()
                .map(|bin| bin.load(Ordering::Relaxed)),
            self.below.load(Ordering::Relaxed),
            self.above.load(Ordering::Relaxed),
            None,
        )
    }
}

/// One more, by the only writer.
#[inline]
fn increment(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}

impl HistogramCell {
    /// A cell for a flow with these intervals. A shape out of range is brought into it.
    #[must_use]
    pub fn new(shape: HistogramShape, intervals: Intervals) -> Self {
        let shape = shape.in_range();
        let bins = shape.bins as usize;
        let has_intervals = intervals.end_of(0).is_some();
        Self {
            shape,
            intervals,
            even: Set::new(bins),
            odd: Set::new(if has_intervals { bins } else { 0 }),
            maximum: SnapshotCell::default(),
        }
    }

    fn set_of(&self, interval: u64) -> &Set {
        if interval.is_multiple_of(2) {
            &self.even
        } else {
            &self.odd
        }
    }
}

/// The one writer of a [`HistogramCell`].
#[derive(Debug)]
pub struct HistogramRecorder {
    cell: Arc<HistogramCell>,
    watch: Watch,
    interval: u64,
    /// Largest sample of the interval.
    largest: i64,
    /// Largest sample of all.
    largest_of_all: i64,
}

impl HistogramRecorder {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<HistogramCell>) -> Self {
        let watch = Watch::new(cell.intervals);
        Self {
            cell,
            watch,
            interval: 0,
            largest: i64::MIN,
            largest_of_all: i64::MIN,
        }
    }

    /// Counts a sample in nanoseconds. `now` decides to which interval it belongs; `wall` is
    /// the same time for people.
    #[inline]
    pub fn record(&mut self, sample_ns: i64, now: MonoTime, wall: WallTime) {
        self.record_untimed(sample_ns, now);
        if sample_ns > self.largest {
            self.largest = sample_ns;
            let words = [sample_ns as u64, wall.as_nanos() as u64];
            let set = self.cell.set_of(self.interval);
            set.maximum
                .publish(&[self.interval + 1, words[0], words[1]]);
            if sample_ns > self.largest_of_all {
                self.largest_of_all = sample_ns;
                self.cell.maximum.publish(&[1, words[0], words[1]]);
            }
        }
    }

    /// As [`record`](Self::record); the time of the largest sample is not reported.
    #[inline]
    pub fn record_untimed(&mut self, sample_ns: i64, now: MonoTime) {
        if let Some(interval) = self.watch.passed(now) {
            self.interval = interval;
            self.largest = i64::MIN;
        }
        let set = self.cell.set_of(self.interval);
        match LinearHistogram::bin_of(self.cell.shape, sample_ns) {
            Ok(bin) => {
                increment(&set.bins[bin]);
                if bin >= set.used.load(Ordering::Relaxed) {
                    set.used.store(bin + 1, Ordering::Release);
                }
            }
            Err(OutOfBounds::Below) => increment(&set.below),
            Err(OutOfBounds::Above) => increment(&set.above),
        }
    }
}

/// Reads a [`HistogramCell`] interval by interval.
#[derive(Debug)]
pub struct HistogramReader {
    cell: Arc<HistogramCell>,
    /// The sets as they were when they were last looked at.
    even: LinearHistogram,
    odd: LinearHistogram,
}

impl HistogramReader {
    /// Nothing read yet.
    #[must_use]
    pub fn new(cell: Arc<HistogramCell>) -> Self {
        // One bin holds an empty histogram as well as a million do.
        let empty = || LinearHistogram::from_counts(cell.shape, [], 0, 0, None);
        Self {
            even: empty(),
            odd: empty(),
            cell,
        }
    }

    /// What the intervals from `first` up to, but without, `next` counted. To be called once
    /// for each interval, not later than the end of the one that follows: a reader that is
    /// late may find samples of interval `next + 1` among them.
    #[must_use]
    pub fn close_intervals(&mut self, first: u64, next: u64) -> LinearHistogram {
        let mut interval = if next.saturating_sub(first) > 1 {
            let mut both = self.gained(0);
            both.merge(&self.gained(1));
            both
        } else {
            self.gained(first)
        };
        let covered = (first + 1)..(next + 1);
        let maxima = [&self.cell.even, &self.cell.odd].map(|set| set.maximum.read());
        if let Some((sample, at)) = maxima
            .iter()
            .filter(|words| covered.contains(&words[0]))
            .map(sample_and_time)
            .max()
        {
            interval = interval.with_maximum(sample, at);
        }
        interval
    }

    /// What the set of an interval gained since it was last looked at.
    fn gained(&mut self, interval: u64) -> LinearHistogram {
        let now = self.cell.set_of(interval).read(self.cell.shape);
        let before = if interval.is_multiple_of(2) {
            &mut self.even
        } else {
            &mut self.odd
        };
        let gained = now.since(before);
        *before = now;
        gained
    }

    /// What the whole test counted so far.
    #[must_use]
    pub fn total(&self) -> LinearHistogram {
        let mut total = self.cell.even.read(self.cell.shape);
        total.merge(&self.cell.odd.read(self.cell.shape));
        let words = self.cell.maximum.read();
        if words[0] > 0 {
            let (sample, at) = sample_and_time(&words);
            total = total.with_maximum(sample, at);
        }
        total
    }
}

fn sample_and_time(words: &[u64; 3]) -> (i64, WallTime) {
    (words[1] as i64, WallTime::from_nanos(words[2] as i64))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SHAPE: HistogramShape = HistogramShape {
        width_ns: 10,
        bins: 5,
        lower_percent: 5.0,
        upper_percent: 95.0,
    };

    fn seconds() -> Intervals {
        Intervals::new(MonoTime::ZERO, Some(Duration::from_secs(1)))
    }

    fn pair(intervals: Intervals) -> (HistogramRecorder, HistogramReader) {
        let cell = Arc::new(HistogramCell::new(SHAPE, intervals));
        (
            HistogramRecorder::new(Arc::clone(&cell)),
            HistogramReader::new(cell),
        )
    }

    fn record(recorder: &mut HistogramRecorder, millis: u64, sample: i64) {
        let nanos = millis * 1_000_000;
        recorder.record(
            sample,
            MonoTime::from_nanos(nanos),
            WallTime::from_nanos(nanos as i64),
        );
    }

    fn bins(histogram: &LinearHistogram) -> Vec<(u32, u64)> {
        histogram.bins().collect()
    }

    #[test]
    fn a_reader_that_comes_late_still_sees_the_interval_alone() {
        let (mut recorder, mut reader) = pair(seconds());
        record(&mut recorder, 100, 5);
        record(&mut recorder, 900, 42);
        record(&mut recorder, 1100, 15);
        let first = reader.close_intervals(0, 1);
        assert_eq!(bins(&first), [(1, 1), (5, 1)]);
        assert_eq!(
            first.maximum(),
            Some((42, WallTime::from_nanos(900_000_000)))
        );
        let second = reader.close_intervals(1, 2);
        assert_eq!(bins(&second), [(2, 1)]);
        assert_eq!(second.maximum().map(|(sample, _)| sample), Some(15));
        // An idle interval is empty, and the same set goes on in the next but one.
        assert_eq!(reader.close_intervals(2, 3).total(), 0);
        assert_eq!(reader.close_intervals(3, 4).maximum(), None);
        record(&mut recorder, 4500, 7);
        assert_eq!(bins(&reader.close_intervals(4, 5)), [(1, 1)]);
        let total = reader.total();
        assert_eq!(bins(&total), [(1, 2), (2, 1), (5, 1)]);
        assert_eq!(total.maximum().map(|(sample, _)| sample), Some(42));
    }

    #[test]
    fn several_intervals_at_once_are_added_up() {
        let (mut recorder, mut reader) = pair(seconds());
        record(&mut recorder, 100, 5);
        record(&mut recorder, 1100, 25);
        let both = reader.close_intervals(0, 2);
        assert_eq!(bins(&both), [(1, 1), (3, 1)]);
        assert_eq!(both.maximum().map(|(sample, _)| sample), Some(25));
    }

    #[test]
    fn samples_out_of_bounds_count() {
        let (mut recorder, reader) = pair(Intervals::new(MonoTime::ZERO, None));
        record(&mut recorder, 100, -1);
        record(&mut recorder, 5000, 50);
        let summary = reader.total().summary();
        assert_eq!((summary.total, summary.below, summary.above), (2, 1, 1));
    }
}
