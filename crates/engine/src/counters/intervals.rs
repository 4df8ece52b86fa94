//! When a flow's intervals end, and noticing it.

use std::time::Duration;

use tapeline_base::MonoTime;

/// When a flow's intervals end, as its worker watches it: the worker itself notes its
/// counters at the first event behind a boundary, so rows are exact even when the sampler
/// is late.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    start: MonoTime,
    /// Length of the first interval, where that differs.
    lead: Duration,
    length: Option<Duration>,
}

impl Intervals {
    /// Intervals of `length` from `start`; `None` has no boundaries.
    #[must_use]
    pub fn new(start: MonoTime, length: Option<Duration>) -> Self {
        Self {
            start,
            lead: Duration::ZERO,
            length: length.filter(|length| !length.is_zero()),
        }
    }

    /// The same, with a boundary `omit` behind the start: the first interval is the shorter
    /// one where `omit` is no multiple of `length`.
    #[must_use]
    pub fn with_omitted(start: MonoTime, length: Option<Duration>, omit: Duration) -> Self {
        let plain = Self::new(start, length);
        let lead = plain.length.map_or(omit, |length| {
            let rest = omit.as_nanos() % length.as_nanos();
            Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX))
        });
        Self { lead, ..plain }
    }

    /// When interval `index` (from 0) ends.
    #[must_use]
    pub fn end_of(&self, index: u64) -> Option<MonoTime> {
        let led = u64::from(!self.lead.is_zero());
        let whole = (index + 1).checked_sub(led)?;
        if whole == 0 {
            return Some(self.start + self.lead);
        }
        let nanos = self.length?.as_nanos().saturating_mul(u128::from(whole));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Some(self.start + self.lead + Duration::from_nanos(nanos))
    }

    /// The interval that `now` lies in.
    fn index_at(&self, now: MonoTime) -> u64 {
        let led = u64::from(!self.lead.is_zero());
        let Some(since) = now.since(self.start).checked_sub(self.lead) else {
            return 0;
        };
        let whole = self.length.map_or(0, |length| {
            u64::try_from(since.as_nanos() / length.as_nanos()).unwrap_or(u64::MAX - 1)
        });
        whole + led
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

    /// The boundary that is noticed next.
    #[inline]
    pub(crate) fn next(&self) -> MonoTime {
        self.next
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

#[cfg(test)]
mod tests {
    use super::*;

    const START: MonoTime = MonoTime::ZERO;

    fn ends(intervals: Intervals) -> Vec<u64> {
        let ends = (0..4).map_while(|index| intervals.end_of(index));
        ends.map(|end| end.since(START).as_millis() as u64)
            .collect()
    }

    #[test]
    fn the_omitted_time_ends_with_an_interval() {
        let second = Some(Duration::from_secs(1));
        let omit = Duration::from_millis;
        assert_eq!(
            ends(Intervals::new(START, second)),
            [1000, 2000, 3000, 4000]
        );
        let whole = Intervals::with_omitted(START, second, omit(2000));
        assert_eq!(ends(whole), [1000, 2000, 3000, 4000]);
        let uneven = Intervals::with_omitted(START, second, omit(1300));
        assert_eq!(ends(uneven), [300, 1300, 2300, 3300]);
        assert_eq!(ends(Intervals::with_omitted(START, None, omit(500))), [500]);
        assert_eq!(
            ends(Intervals::with_omitted(START, None, omit(0))),
            [0_u64; 0]
        );
    }

    #[test]
    fn every_time_lies_in_the_interval_that_ends_behind_it() {
        let second = Some(Duration::from_secs(1));
        for intervals in [
            Intervals::new(START, second),
            Intervals::with_omitted(START, second, Duration::from_millis(1300)),
            Intervals::with_omitted(START, None, Duration::from_millis(500)),
        ] {
            for now in (0..5000).step_by(50) {
                let now = START + Duration::from_millis(now);
                let index = intervals.index_at(now);
                assert!(
                    intervals.end_of(index).is_none_or(|end| now < end),
                    "{now:?}"
                );
                let before = index
                    .checked_sub(1)
                    .and_then(|index| intervals.end_of(index));
                assert!(before.is_none_or(|end| end <= now), "{now:?}");
            }
        }
    }
}
