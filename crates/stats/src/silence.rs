//! The longest time without a packet.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Finds the longest time between consecutive arrivals: for a flow at a constant rate
/// the length of an outage, the time to fail over (methodology 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct LongestSilence {
    previous: Option<MonoTime>,
    longest: Option<Silence>,
}

/// A time between two consecutive arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Arrival before it.
    pub start: MonoTime,
    /// Until the next arrival.
    pub length: Duration,
}

impl Silence {
    /// How much longer than the planned spacing of packets it was.
    #[must_use]
    pub fn beyond(&self, spacing: Duration) -> Duration {
        self.length.saturating_sub(spacing)
    }
}

impl LongestSilence {
    /// Counts an arrival.
    #[inline]
    pub fn observe(&mut self, at: MonoTime) {
        let Some(start) = self.previous.replace(at) else {
            return;
        };
        let length = at.since(start);
        if self.longest.is_none_or(|longest| length > longest.length) {
            self.longest = Some(Silence { start, length });
        }
    }

    /// The longest silence so far; nothing before the second arrival.
    #[must_use]
    pub fn longest(&self) -> Option<Silence> {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_found_with_its_start() {
        let mut silence = LongestSilence::default();
        silence.observe(MonoTime::from_nanos(10));
        assert_eq!(silence.longest(), None);
        for nanos in [20, 30, 130, 140, 240] {
            silence.observe(MonoTime::from_nanos(nanos));
        }
        let longest = silence.longest().unwrap();
        assert_eq!(longest.start, MonoTime::from_nanos(30));
        assert_eq!(longest.length, Duration::from_nanos(100));
        assert_eq!(longest.beyond(Duration::from_nanos(10)).as_nanos(), 90);
    }
}
