//! How well a paced sender keeps its gaps, by its own clock.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_stats::DelayHistogram;

/// A gap below this part of the ideal one counts as back to back.
const BACK_TO_BACK: u32 = 5;

/// The distances between the sends of a steady schedule. A cell of a histogram for each send; the
/// memory is taken at the start.
#[derive(Clone, Debug)]
pub struct PacketGaps {
    gap: Duration,
    last: Option<(MonoTime, u32)>,
    errors: DelayHistogram,
    back_to_back: u64,
}

impl PacketGaps {
    /// For datagrams that are to be `gap` apart.
    #[must_use]
    pub fn new(gap: Duration) -> Self {
        Self {
            gap,
            last: None,
            errors: DelayHistogram::with_room(),
            back_to_back: 0,
        }
    }

    /// `datagrams` leave together at `now`. After several the next gap is so many times as long.
    #[inline]
    pub(crate) fn sent(&mut self, datagrams: u32, now: MonoTime) {
        if let Some((last, together)) = self.last.replace((now, datagrams)) {
            let (ideal, gap) = (self.gap * together, now.since(last));
            let error = i64::try_from(ideal.abs_diff(gap).as_nanos()).unwrap_or(i64::MAX);
            self.errors.record(error);
            self.back_to_back += u64::from(gap < ideal / BACK_TO_BACK);
        }
    }

    /// The ideal gap.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.gap
    }

    /// Gaps that were seen.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.errors.count()
    }

    /// The distances of gaps from the ideal one, nanoseconds.
    #[must_use]
    pub fn errors(&self) -> &DelayHistogram {
        &self.errors
    }

    /// Gaps below a fifth of the ideal one.
    #[must_use]
    pub fn back_to_back(&self) -> u64 {
        self.back_to_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_distances_from_the_ideal_gap() {
        let mut packet_gaps = PacketGaps::new(Duration::from_micros(100));
        let mut sent = |micros: u64, datagrams| {
            packet_gaps.sent(datagrams, MonoTime::from_nanos(micros * 1000));
        };
        // On time, 20 late, thereby 20 too close, back to back, a pair, and what follows it.
        for (micros, datagrams) in [(0, 1), (100, 1), (220, 1), (300, 1), (319, 2), (519, 1)] {
            sent(micros, datagrams);
        }
        assert_eq!(packet_gaps.count(), 5);
        assert_eq!(packet_gaps.back_to_back(), 1);
        let errors = packet_gaps.errors();
        assert_eq!((errors.min(), errors.max()), (Some(0), Some(81_000)));
        assert!(
            errors
                .percentile(50.0)
                .is_some_and(|p50| p50.abs_diff(20_000) < 100)
        );
    }
}
