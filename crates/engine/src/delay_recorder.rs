//! Delays of datagrams, counted in buckets that a worker fills and anybody reads.
//!
//! The clocks at both ends may drift apart while a flow runs, so the delays are kept in slices of time.
//! When there is no slice left, each two neighbours become one:
//!
//! ```text
//!   |0|1|2| ... |15|            slices of half a second, 8 s
//!   |   0   |   1   | ... |7|   the same as slices of a second, room for 8 s more
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use tapeline_base::WallTime;
use tapeline_stats::{DelayCounts, DelayCourse, DelaySlice, DifferenceBuckets};
use tapeline_sys::zeroed_counters;

/// Nothing was counted yet. No time and no delay is that: it is 292 years ago.
const NONE: i64 = i64::MIN;
/// Slices, an even number: as many as may be read in an instant.
const SLICES: usize = 16;
/// Length of the first ones, nanoseconds.
const SHORTEST: i64 = 500_000_000;

/// Delays by two clocks that may differ: the buckets lie around the first of them.
#[derive(Debug)]
pub struct RecordedDelays {
    first: AtomicI64,
    slices: [RecordedBounds; SLICES],
    /// Buckets of all slices, slice by slice.
    buckets: Box<[AtomicU64]>,
    /// Between these places lie all buckets that were used, of any slice.
    used: [AtomicUsize; 2],
}

/// First and last arrival, smallest and largest delay, nanoseconds.
type Bounds = [i64; 4];
const NO_BOUNDS: Bounds = [NONE; 4];

#[derive(Debug)]
struct RecordedBounds([AtomicI64; 4]);

impl RecordedBounds {
    fn get(&self) -> Option<Bounds> {
        let bounds = [0, 1, 2, 3].map(|place: usize| self.0[place].load(Ordering::Relaxed));
        (bounds != NO_BOUNDS).then_some(bounds)
    }

    fn set(&self, bounds: Bounds) {
        for (place, value) in self.0.iter().zip(bounds) {
            place.store(value, Ordering::Relaxed);
        }
    }
}

impl Default for RecordedDelays {
    fn default() -> Self {
        let bounds = || RecordedBounds(NO_BOUNDS.map(AtomicI64::new));
        Self {
            first: AtomicI64::new(NONE),
            slices: std::array::from_fn(|_| bounds()),
            buckets: zeroed_counters(SLICES * DifferenceBuckets::COUNT),
            used: [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)],
        }
    }
}

impl RecordedDelays {
    /// What was counted so far.
    #[must_use]
    pub fn read(&self) -> DelayCourse {
        let slices = self.slices.iter().enumerate();
        let slices = slices.filter_map(|(slice, bounds)| {
            let [first, last, least, largest] = bounds.get()?;
            Some(DelaySlice {
                first: WallTime::from_nanos(first),
                last: WallTime::from_nanos(last),
                least,
                largest,
                counts: self.counts(slice),
            })
        });
        slices.collect()
    }

    fn counts(&self, slice: usize) -> DelayCounts {
        let first = self.first.load(Ordering::Acquire);
        let [low, high] = self.used();
        let counts = (low..=high).map(|place| {
            let delay = first.saturating_add(DifferenceBuckets::middle(place));
            (delay, self.bucket(slice, place).load(Ordering::Relaxed))
        });
        counts.collect()
    }

    fn used(&self) -> [usize; 2] {
        [0, 1].map(|place: usize| self.used[place].load(Ordering::Relaxed))
    }

    #[inline]
    fn bucket(&self, slice: usize, place: usize) -> &AtomicU64 {
        &self.buckets[slice * DifferenceBuckets::COUNT + place]
    }
}

/// The one writer of [`RecordedDelays`].
#[derive(Debug)]
pub struct DelayRecorder {
    delays: Arc<RecordedDelays>,
    first: i64,
    /// The first arrival.
    begun: WallTime,
    /// Length of a slice, nanoseconds.
    length: i64,
    /// The running slice.
    slice: usize,
    /// When it ends, nanoseconds after the first arrival.
    end: i64,
    bounds: Bounds,
    used: [usize; 2],
}

impl DelayRecorder {
    /// The one writer of `delays`.
    #[must_use]
    pub fn new(delays: Arc<RecordedDelays>) -> Self {
        Self {
            delays,
            first: NONE,
            begun: WallTime::default(),
            length: SHORTEST,
            slice: 0,
            end: SHORTEST,
            bounds: NO_BOUNDS,
            used: [usize::MAX, 0],
        }
    }

    /// Counts a delay of `count` datagrams that arrived at this time of the receiver's clock, nanoseconds.
    #[inline]
    pub fn record(&mut self, nanos: i64, count: u64, arrival: WallTime) {
        if self.first == NONE {
            (self.first, self.begun) = (nanos, arrival);
            self.delays.first.store(nanos, Ordering::Release);
        }
        let elapsed = arrival.nanos_since(self.begun);
        if elapsed >= self.end {
            self.turn(elapsed);
        }
        self.widen(nanos, arrival.as_nanos());
        let place = DifferenceBuckets::place(nanos.saturating_sub(self.first));
        if place < self.used[0] || place > self.used[1] {
            self.reach(place);
        }
        let bucket = self.delays.bucket(self.slice, place);
        // There is no other writer.
        bucket.store(bucket.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    #[inline]
    fn widen(&mut self, nanos: i64, arrival: i64) {
        let [first, last, least, largest] = self.bounds;
        let wider = match self.bounds {
            NO_BOUNDS => [arrival, arrival, nanos, nanos],
            _ => [
                first.min(arrival),
                last.max(arrival),
                least.min(nanos),
                largest.max(nanos),
            ],
        };
        self.bounds = wider;
        self.delays.slices[self.slice].set(wider);
    }

    #[cold]
    fn reach(&mut self, place: usize) {
        self.used = [self.used[0].min(place), self.used[1].max(place)];
        for (place, value) in self.delays.used.iter().zip(self.used) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Goes on to the slice of a time after the first arrival.
    #[cold]
    fn turn(&mut self, elapsed: i64) {
        while elapsed / self.length >= SLICES as i64 {
            self.join();
            self.length = self.length.saturating_mul(2);
        }
        let slice = elapsed / self.length;
        self.end = (slice + 1).saturating_mul(self.length);
        self.slice = usize::try_from(slice).unwrap_or(0);
        self.bounds = NO_BOUNDS;
    }

    /// Makes one of each two slices.
    fn join(&mut self) {
        let delays = &self.delays;
        for slice in 0..SLICES {
            let (left, right) = (2 * slice, 2 * slice + 1);
            let bounds = |slice: usize| delays.slices.get(slice).and_then(RecordedBounds::get);
            let joined = match (bounds(left), bounds(right)) {
                (Some(a), Some(b)) => [
                    a[0].min(b[0]),
                    a[1].max(b[1]),
                    a[2].min(b[2]),
                    a[3].max(b[3]),
                ],
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => NO_BOUNDS,
            };
            delays.slices[slice].set(joined);
        }
        let [low, high] = self.used;
        for place in low..=high {
            let counts: [u64; SLICES] =
                std::array::from_fn(|slice| delays.bucket(slice, place).load(Ordering::Relaxed));
            for slice in 0..SLICES {
                let of = |slice: usize| counts.get(slice).copied().unwrap_or(0);
                let joined = of(2 * slice) + of(2 * slice + 1);
                // Memory that nobody wrote is not there yet.
                if joined != counts[slice] {
                    delays.bucket(slice, place).store(joined, Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> WallTime {
        WallTime::from_nanos(1_800_000_000_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn delays_are_counted_near_the_first_one_whatever_the_clocks_say() {
        let delays = Arc::new(RecordedDelays::default());
        let mut recorder = DelayRecorder::new(Arc::clone(&delays));
        assert_eq!(delays.read(), DelayCourse::default());
        // A clock that is 40 years behind.
        let apart = -1_262_304_000_000_000_000;
        for (delay, count) in [(250_000, 1), (249_990, 2), (3_250_000, 3)] {
            recorder.record(apart + delay, count, at(0));
        }
        let read = delays.read().all();
        assert_eq!(read.count(), 6);
        let expected = [249_990, 250_000, 3_250_000].map(|delay| apart + delay);
        // None lies beyond the extremes.
        assert_eq!(
            read.points(),
            [(expected[0], 2), (expected[1], 1), (expected[2], 3)]
        );
    }

    /// Delays that grow by 1 µs each 100 ms, for so long.
    fn drifting(seconds: i64) -> DelayCourse {
        let delays = Arc::new(RecordedDelays::default());
        let mut recorder = DelayRecorder::new(Arc::clone(&delays));
        for index in 0..seconds * 10 {
            recorder.record(20_000_000 + index * 1_000, 1, at(index * 100));
        }
        delays.read()
    }

    #[test]
    fn slices_are_short_compared_with_the_flow_and_lose_nothing() {
        for (seconds, expected) in [(1, 2), (8, 16), (9, 9), (100, 13), (1_000, 16)] {
            let course = drifting(seconds);
            let slices = course.slices();
            assert_eq!(slices.len(), expected, "{seconds} s");
            assert_eq!(course.all().count(), seconds as u64 * 10);
            let mut arrivals = 0;
            for slice in slices {
                // An arrival each 100 ms, 1 µs longer than the one before.
                let lasted = slice.last.nanos_since(slice.first) / 100_000_000;
                assert_eq!(slice.counts.count(), lasted as u64 + 1);
                assert_eq!(slice.largest - slice.least, lasted * 1_000);
                assert_eq!(slice.least, 20_000_000 + arrivals * 1_000);
                arrivals += lasted + 1;
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_or_far_ahead_costs_no_delay() {
        let delays = Arc::new(RecordedDelays::default());
        let mut recorder = DelayRecorder::new(Arc::clone(&delays));
        for millis in [0, 700, -3_600_000, 800, 1_000_000_000_000, 5] {
            recorder.record(1_000, 1, at(millis));
        }
        let course = delays.read();
        assert_eq!(course.all().points(), [(1_000, 6)]);
        assert_eq!(course.slices().len(), 2);
    }
}
