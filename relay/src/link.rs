//! Links that are slower than what is sent: a queue in front of a rate, and a rate without a queue.

use std::time::Duration;

/// A link with a queue in front of it. What finds the queue full is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Rate of IP packets, bits per second.
    pub rate: u64,
    /// Bytes of IP packets that the queue holds, and at least one packet.
    pub queue: u64,
}

/// A policer: a bucket of tokens that fills at a rate. What finds too few in it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate of IP packets, bits per second.
    pub rate: u64,
    /// Bytes that the bucket holds.
    pub burst: u64,
}

/// A link at work.
#[derive(Debug)]
pub(crate) struct Queue {
    link: Link,
    /// When the last packet of the queue has left, nanoseconds.
    empty: u64,
}

impl Queue {
    pub(crate) const fn new(link: Link) -> Self {
        Self { link, empty: 0 }
    }

    /// Takes a packet of `length` bytes at `now`; returns how long it takes to leave, or nothing
    /// where it is dropped.
    pub(crate) fn enter(&mut self, length: usize, now: u64) -> Option<Duration> {
        let begin = self.empty.max(now);
        let waiting = begin - now;
        if waiting > 0 && waiting > time_of(self.link.queue, self.link.rate) {
            return None;
        }
        self.empty = begin + time_of(length as u64, self.link.rate);
        Some(Duration::from_nanos(self.empty - now))
    }
}

/// A policer at work.
#[derive(Debug)]
pub(crate) struct Bucket {
    policer: Policer,
    /// When the bucket was or will be full, nanoseconds.
    full: u64,
}

impl Bucket {
    pub(crate) const fn new(policer: Policer) -> Self {
        Self { policer, full: 0 }
    }

    /// Whether a packet of `length` bytes passes at `now`.
    pub(crate) fn passes(&mut self, length: usize, now: u64) -> bool {
        let full = self.full.max(now) + time_of(length as u64, self.policer.rate);
        let passes = full - now <= time_of(self.policer.burst, self.policer.rate);
        if passes {
            self.full = full;
        }
        passes
    }
}

/// Nanoseconds that `bytes` take.
fn time_of(bytes: u64, rate: u64) -> u64 {
    let nanoseconds = u128::from(bytes) * 8_000_000_000 / u128::from(rate.max(1));
    u64::try_from(nanoseconds).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn a_queue_takes_what_it_holds_and_empties_at_its_rate() {
        // One byte in a microsecond.
        let mut queue = Queue::new(Link {
            rate: 8_000_000,
            queue: 2500,
        });
        let times: Vec<_> = (0..5).map(|_| queue.enter(1000, 0)).collect();
        let after = |milliseconds| Some(Duration::from_millis(milliseconds));
        assert_eq!(times, [after(1), after(2), after(3), None, None]);
        assert_eq!(queue.enter(1000, MILLISECOND), after(3));
        assert_eq!(queue.enter(1000, 9 * MILLISECOND), after(1));
    }

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        let mut bucket = Bucket::new(Policer {
            rate: 8_000_000,
            burst: 3000,
        });
        let passed = (0..5).filter(|_| bucket.passes(1000, 0)).count();
        assert_eq!(passed, 3);
        let hits = (1..=100).filter(|at| bucket.passes(1000, at * MILLISECOND / 2));
        assert_eq!(hits.count(), 50);
    }
}
