//! Two kinds of time, and the clock that reads them.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A reading of the monotonic clock in nanoseconds (`CLOCK_MONOTONIC` on Unix).
/// Only differences have a meaning.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub struct MonoTime(u64);

impl MonoTime {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);
    /// Later than every reading; "no deadline".
    pub const FAR: Self = Self(u64::MAX);

    /// From nanoseconds since the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Nanoseconds of a length of time; the largest number for what is longer than 584 years.
#[must_use]
pub fn whole_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for MonoTime {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        let nanos = whole_nanos(rhs);
        Self(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for MonoTime {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for MonoTime {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        let nanos = whole_nanos(rhs);
        Self(self.0.saturating_sub(nanos))
    }
}

/// A reading of the wall clock: nanoseconds since 1970-01-01 UTC, negative before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// From nanoseconds since the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From the seconds and microseconds that the iperf wire formats carry.
    #[must_use]
    pub const fn from_wire(seconds: u32, micros: u32) -> Self {
        Self(seconds as i64 * 1_000_000_000 + micros as i64 * 1_000)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds (modulo 2^32) and microseconds (0..1e6), truncated, for the wire.
    #[must_use]
    pub const fn to_wire(self) -> (u32, u32) {
        let seconds = self.0.div_euclid(1_000_000_000);
        let micros = self.0.rem_euclid(1_000_000_000) / 1_000;
        (seconds as u32, micros as u32)
    }

    /// Signed nanoseconds from `earlier` to `self`.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for WallTime {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        let nanos = i64::try_from(rhs.as_nanos()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

/// Reads both clocks.
pub trait Clock {
    /// The monotonic clock now.
    fn now(&self) -> MonoTime;
    /// The wall clock now.
    fn wall(&self) -> WallTime;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_stamps_round_trip_and_truncate() {
        let time = WallTime::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(time.to_wire(), (1_700_000_000, 123_456));
        assert_eq!(
            WallTime::from_wire(1_700_000_000, 123_456).as_nanos(),
            1_700_000_000_123_456_000
        );
    }

    #[test]
    fn monotonic_arithmetic_saturates() {
        assert_eq!(MonoTime::FAR + Duration::from_secs(1), MonoTime::FAR);
        assert_eq!(MonoTime::ZERO - Duration::from_secs(1), MonoTime::ZERO);
        assert_eq!(MonoTime::ZERO.since(MonoTime::FAR), Duration::ZERO);
    }
}
