//! Newtypes for the units of the field.

use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// A count of payload bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// Bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

impl BitRate {
    /// The time that `bytes` take at this rate; `None` for rate 0 (unlimited).
    #[must_use]
    pub fn gap(self, bytes: u64) -> Option<Duration> {
        if self.0 == 0 {
            return None;
        }
        let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(self.0);
        Some(Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// The rate of `bytes` in `span`; 0 when the span is empty.
    #[must_use]
    pub fn over(bytes: u64, span: Duration) -> f64 {
        let seconds = span.as_secs_f64();
        if seconds > 0.0 {
            bytes as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }
}

/// Packets per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketRate(pub u64);

impl PacketRate {
    /// The bit rate of packets of `length` payload bytes at this packet rate.
    #[must_use]
    pub fn bits(self, length: u64) -> BitRate {
        BitRate(self.0.saturating_mul(length).saturating_mul(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_is_exact_to_the_nanosecond() {
        assert_eq!(
            BitRate(10_000_000).gap(1470),
            Some(Duration::from_nanos(1_176_000))
        );
        assert_eq!(BitRate(0).gap(1470), None);
        assert_eq!(PacketRate(20).bits(500), BitRate(80_000));
    }

    #[test]
    fn rate_of_an_empty_span_is_zero() {
        assert!(BitRate::over(1000, Duration::ZERO).abs() < f64::EPSILON);
        assert!((BitRate::over(1000, Duration::from_secs(1)) - 8000.0).abs() < 1e-9);
    }
}
