//! When a flow's intervals end, and noticing it.

use std::time::Duration;

use tapeline_base::MonoTime;

/// When a flow's intervals end, as its worker watches it: the worker itself notes its
/// counters at the first event behind a boundary, so rows are exact even when the sampler
/// is late.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    start: MonoTime,
    length: Option<Duration>,
}

impl Intervals {
    /// Intervals of `length` from `start`; `None` has no boundaries.
    #[must_use]
    pub fn new(start: MonoTime, length: Option<Duration>) -> Self {
        Self {
            start,
            length: length.filter(|length| !length.is_zero()),
        }
    }

    /// When interval `index` (from 0) ends.
    #[must_use]
    pub fn end_of(&self, index: u64) -> Option<MonoTime> {
        let nanos = self
            .length?
            .as_nanos()
            .saturating_mul(u128::from(index) + 1);
        Some(self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// The interval that `now` lies in.
    fn index_at(&self, now: MonoTime) -> u64 {
        self.length.map_or(0, |length| {
            u64::try_from(now.since(self.start).as_nanos() / length.as_nanos()).unwrap_or(u64::MAX)
        })
    }
}

/// What a worker keeps to notice boundaries.
#[derive(Debug)]
pub(crate) struct Watch {
    intervals: Intervals,
    index: u64,
    next: MonoTime,
}

impl Watch {
    pub(crate) fn new(intervals: Intervals) -> Self {
        Self {
            intervals,
            index: 0,
            next: intervals.end_of(0).unwrap_or(MonoTime::FAR),
        }
    }

    /// Whether `now` lies behind a boundary that has not been noticed yet.
    #[inline]
    pub(crate) fn is_behind(&self, now: MonoTime) -> bool {
        now >= self.next
    }

    /// The number of boundaries passed, when `now` lies behind a new one.
    #[inline]
    pub(crate) fn passed(&mut self, now: MonoTime) -> Option<u64> {
        if !self.is_behind(now) {
            return None;
        }
        self.index = self.intervals.index_at(now);
        self.next = self.intervals.end_of(self.index).unwrap_or(MonoTime::FAR);
        Some(self.index)
    }
}
