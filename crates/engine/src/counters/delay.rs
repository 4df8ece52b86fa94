//! Durations that a worker measures.

use tapeline_stats::Moments;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Counters, FlowCell, words};
use super::publisher::Publisher;

/// Delays of a flow, seconds, with the extremes of the running interval, which cannot be
/// subtracted as the rest can.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct DelaySeries {
    /// All delays of the flow.
    pub all: Moments,
    /// Smallest and largest of the running interval.
    interval: [f64; 2],
}

impl Default for DelaySeries {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl DelaySeries {
    /// No delay yet.
    pub const EMPTY: Self = Self {
        all: Moments::EMPTY,
        interval: [f64::INFINITY, f64::NEG_INFINITY],
    };

    /// Counts a delay, seconds.
    #[inline]
    pub fn add(&mut self, delay: f64) {
        self.all.add(delay);
        let [low, high] = self.interval;
        self.interval = [low.min(delay), high.max(delay)];
    }

    /// A new interval begins.
    #[inline]
    pub fn restart(&mut self) {
        self.interval = Self::EMPTY.interval;
    }

    /// The delays of the interval that began with `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Moments {
        let delays = self.all.since(&earlier.all);
        if delays.is_empty() {
            delays
        } else {
            let [low, high] = self.interval;
            delays.with_extremes(low, high)
        }
    }
}

/// A series of durations: of writes, of one-way delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct DelayCounters {
    /// The durations, seconds.
    pub delays: Moments,
}

/// Cell of a series of durations.
pub type DelayCell = FlowCell<DelayCounters, { words::<DelayCounters>() }>;
/// The one writer of a [`DelayCell`]; its extremes are the durations'.
pub type DelayPublisher = Publisher<DelayCounters, { words::<DelayCounters>() }>;

impl Counters for DelayCounters {
    fn unpublished() -> Self {
        Self::default()
    }
}
