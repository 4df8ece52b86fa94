//! One-way transit times of packets.

use crate::moments::Moments;

/// Receive time minus send stamp of packets.
///
/// It is a one-way delay only when both stamps are on one time base; otherwise the
/// clock offset is in every sample and only differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transit {
    /// The transit times in seconds; negative ones are kept.
    pub moments: Moments,
}

impl Transit {
    /// No packet yet.
    pub const EMPTY: Self = Self {
        moments: Moments::EMPTY,
    };

    /// Counts one transit time in nanoseconds.
    #[inline]
    pub fn observe(&mut self, transit_ns: i64) {
        self.moments.add(transit_ns as f64 * 1e-9);
    }

    /// Counts one transit time, in nanoseconds, of `count` packets.
    #[inline]
    pub fn observe_many(&mut self, transit_ns: i64, count: u64) {
        self.moments.add_many(transit_ns as f64 * 1e-9, count);
    }

    /// Counts all packets of `other` too.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
    }

    /// The packets between two copies; extremes as in [`Moments::since`].
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            moments: self.moments.since(&earlier.moments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_seconds_and_intervals_subtract() {
        let mut transit = Transit::EMPTY;
        transit.observe(1_000_000);
        let earlier = transit;
        transit.observe(-3_000_000);
        transit.observe(-1_000_000);
        let interval = transit.since(&earlier);
        assert_eq!(interval.moments.count, 2);
        assert!((interval.moments.mean + 0.002).abs() < 1e-12);
        let mut merged = earlier;
        merged.merge(&interval);
        assert!((merged.moments.mean - transit.moments.mean).abs() < 1e-12);
    }
}
