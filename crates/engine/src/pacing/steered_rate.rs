//! A schedule whose rate another thread sets while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tapeline_base::{BitRate, MonoTime};

/// Backlog that is made up for by smaller gaps; the rest is given up, or a sender that was held up
/// would exceed a rate that was lowered meanwhile.
const KEPT_BACKLOG: Duration = Duration::from_millis(10);
/// Backlog above which the gaps become an eighth instead of half.
const HURRIED_BACKLOG: Duration = Duration::from_millis(1);

/// The rate of a sender, as the thread that steers it sets it.
#[derive(Clone, Debug)]
pub struct RateOrder {
    rate: Arc<AtomicU64>,
}

impl RateOrder {
    /// At first this rate (at least 1 bit per second), of the bits that a schedule counts.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self {
            rate: Arc::new(AtomicU64::new(rate.0.max(1))),
        }
    }

    /// From the next datagram on this rate.
    pub fn set(&self, rate: BitRate) {
        self.rate.store(rate.0.max(1), Ordering::Relaxed);
    }

    /// The rate in force.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        BitRate(self.rate.load(Ordering::Relaxed))
    }
}

/// When datagrams of equal size are due at a rate that an order sets.
#[derive(Clone, Debug)]
pub struct SteeredRate {
    order: RateOrder,
    /// Bits of a datagram, with all headers that the rate counts.
    bits: f64,
    due: MonoTime,
    /// Nanoseconds, less than one, that the next due time has besides.
    fraction: f64,
    last: Option<MonoTime>,
    late: u64,
    given_up: u64,
}

impl SteeredRate {
    /// Datagrams of `bits` bits each, the first one at `start`.
    #[must_use]
    pub fn new(start: MonoTime, bits: u64, order: RateOrder) -> Self {
        Self {
            order,
            bits: bits.max(1) as f64,
            due: start,
            fraction: 0.0,
            last: None,
            late: 0,
            given_up: 0,
        }
    }

    fn gap_nanos(&self) -> f64 {
        self.bits * 1e9 / self.order.rate().0 as f64
    }

    /// The gap between two datagrams at the rate of the moment.
    #[must_use]
    pub fn gap(&self) -> Duration {
        Duration::from_nanos(self.gap_nanos() as u64)
    }

    /// When the next datagram may leave; never on the heels of a late one.
    #[must_use]
    pub fn due(&self) -> MonoTime {
        let Some(last) = self.last else {
            return self.due;
        };
        let hurried = last.since(self.due) > HURRIED_BACKLOG;
        let distance = self.gap() / if hurried { 8 } else { 2 };
        self.due.max(last + distance)
    }

    /// Records that `datagrams` left at `now`.
    pub fn sent(&mut self, datagrams: u64, now: MonoTime) {
        let gap = self.gap_nanos();
        let behind = now.since(self.due);
        if behind > self.gap().max(Duration::from_micros(50)) {
            self.late += datagrams;
        }
        self.last = Some(now);
        self.fraction += gap * datagrams as f64;
        self.due += Duration::from_nanos(self.fraction as u64);
        self.fraction = self.fraction.fract();
        let behind = now.since(self.due);
        if behind > KEPT_BACKLOG {
            let shift = behind - KEPT_BACKLOG;
            self.due += shift;
            self.given_up += (shift.as_nanos() as f64 / gap) as u64;
        }
    }

    /// Datagrams that left later than one gap (at least 50 us) after their time.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Datagrams that were never sent because the backlog was too large.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> MonoTime {
        MonoTime::from_nanos(nanos)
    }

    /// Datagrams that leave in time until `end`.
    fn sent_until(rate: &mut SteeredRate, end: u64) -> u64 {
        let mut count = 0;
        while rate.due() < at(end) {
            rate.sent(1, rate.due());
            count += 1;
        }
        count
    }

    #[test]
    fn a_new_rate_holds_from_the_next_datagram_on() {
        let order = RateOrder::new(BitRate(3_000_000));
        let mut rate = SteeredRate::new(at(0), 10_000, order.clone());
        assert_eq!(sent_until(&mut rate, 1_000_000_000), 300);
        order.set(BitRate(50_000_000));
        assert_eq!(order.rate(), BitRate(50_000_000));
        // The datagram that was due already, and 5000 a second behind it.
        let count = sent_until(&mut rate, 2_000_000_000);
        assert!((4999..=5001).contains(&count), "{count}");
        order.set(BitRate(0));
        assert_eq!(order.rate(), BitRate(1));
    }

    #[test]
    fn rounding_does_not_add_up() {
        let order = RateOrder::new(BitRate(7_000_000));
        let mut rate = SteeredRate::new(at(0), 10_000, order);
        assert_eq!(sent_until(&mut rate, 100_000_000_000), 70_000);
        assert_eq!((rate.late(), rate.given_up()), (0, 0));
    }

    #[test]
    fn a_short_backlog_is_made_up_for_and_a_long_one_is_not() {
        let order = RateOrder::new(BitRate(100_000_000));
        let mut rate = SteeredRate::new(at(0), 10_000, order);
        rate.sent(1, at(0));
        rate.sent(1, at(5_000_000));
        // Eighths of a gap, 12.5 us.
        assert_eq!(rate.due(), at(5_012_500));
        let count = sent_until(&mut rate, 100_000_000);
        assert_eq!(count, 998);
        rate.sent(1, at(1_000_000_000));
        assert!(
            (8_800..8_900).contains(&rate.given_up()),
            "{}",
            rate.given_up()
        );
        let count = sent_until(&mut rate, 1_100_000_000);
        assert!((1090..1110).contains(&count), "{count}");
    }
}
