//! Delays of datagrams, counted in buckets that a worker fills and anybody reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tapeline_stats::{DelayCounts, DifferenceBuckets};
use tapeline_sys::zeroed_counters;

/// No delay was counted yet. None is that negative: it is 292 years.
const NONE: i64 = i64::MIN;

/// Delays by two clocks that may differ: the buckets lie around the first of them.
#[derive(Debug)]
pub struct RecordedDelays {
    first: AtomicI64,
    buckets: Box<[AtomicU64]>,
}

impl Default for RecordedDelays {
    fn default() -> Self {
        Self {
            first: AtomicI64::new(NONE),
            buckets: zeroed_counters(DifferenceBuckets::COUNT),
        }
    }
}

impl RecordedDelays {
    /// What was counted so far, nanoseconds.
    #[must_use]
    pub fn read(&self) -> DelayCounts {
        let first = self.first.load(Ordering::Acquire);
        if first == NONE {
            return DelayCounts::default();
        }
        let counts = self.buckets.iter().enumerate().map(|(place, bucket)| {
            let delay = first.saturating_add(DifferenceBuckets::middle(place));
            (delay, bucket.load(Ordering::Relaxed))
        });
        counts.collect()
    }
}

/// The one writer of [`RecordedDelays`].
#[derive(Debug)]
pub struct DelayRecorder {
    delays: Arc<RecordedDelays>,
    first: i64,
}

impl DelayRecorder {
    /// The one writer of `delays`.
    #[must_use]
    pub fn new(delays: Arc<RecordedDelays>) -> Self {
        Self {
            delays,
            first: NONE,
        }
    }

    /// Counts a delay of `count` datagrams, nanoseconds.
    #[inline]
    pub fn record(&mut self, nanos: i64, count: u64) {
        if self.first == NONE {
            self.first = nanos;
            self.delays.first.store(nanos, Ordering::Release);
        }
        let place = DifferenceBuckets::place(nanos.saturating_sub(self.first));
        let bucket = &self.delays.buckets[place];
        // There is no other writer.
        bucket.store(bucket.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_near_the_first_one_whatever_the_clocks_say() {
        let delays = Arc::new(RecordedDelays::default());
        let mut recorder = DelayRecorder::new(Arc::clone(&delays));
        assert_eq!(delays.read(), DelayCounts::default());
        // A clock that is 40 years behind.
        let apart = -1_262_304_000_000_000_000;
        for (delay, count) in [(250_000, 1), (249_990, 2), (3_250_000, 3)] {
            recorder.record(apart + delay, count);
        }
        let read = delays.read();
        assert_eq!(read.count(), 6);
        let [least, first, largest] = read.points() else {
            panic!("{read:?}");
        };
        assert_eq!(
            (*least, *first),
            ((apart + 249_990, 2), (apart + 250_000, 1))
        );
        assert!(
            largest.0.abs_diff(apart + 3_250_000) <= 3_000,
            "{largest:?}"
        );
    }
}
