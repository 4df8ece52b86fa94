//! Waiting for a message that is expected at once: look for it, let others run, look again.
//!
//! To wake a thread on an idle processor takes longer than a round trip on a local network, so
//! a thread that sleeps measures the scheduler. One that only looked would keep the processor
//! from a peer that needs it; yielding between two looks does not.

use std::io;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_sys::{SystemClock, TcpConn};

/// Median that is taken for granted before anything was observed.
const FIRST: Duration = Duration::from_micros(50);
/// Longest time that is spent looking; where messages take longer, sleeping costs little.
const MAX_SPIN: Duration = Duration::from_millis(1);

/// How long to look for a message before sleeping: twice the median of the times that messages
/// took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct YieldSpin {
    /// Estimate of the median, nanoseconds.
    median: u64,
}

impl YieldSpin {
    pub(crate) fn new() -> Self {
        Self {
            median: nanos(FIRST),
        }
    }

    /// A message took so long.
    #[inline]
    pub(crate) fn learn(&mut self, took: Duration) {
        // Halfway between too high and too low, steps up and down are equally frequent.
        let step = self.median / 32 + 1;
        self.median = if nanos(took) > self.median {
            self.median + step
        } else {
            self.median - step
        };
    }

    /// Time for looking; zero where messages take too long for that.
    #[inline]
    pub(crate) fn limit(&self) -> Duration {
        let median = Duration::from_nanos(self.median);
        if median > MAX_SPIN {
            Duration::ZERO
        } else {
            (2 * median).min(MAX_SPIN)
        }
    }

    /// Receives what comes within the limit, counted from `since`.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came; others as `TcpConn::recv_nonblocking`.
    #[inline]
    pub(crate) fn receive(
        &self,
        conn: &TcpConn,
        room: &mut [u8],
        since: MonoTime,
    ) -> io::Result<usize> {
        let until = since + self.limit();
        loop {
            match conn.recv_nonblocking(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if SystemClock.now() >= until {
                        return Err(error);
                    }
                    std::thread::yield_now();
                }
                done => return done,
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    // Far beyond any median that matters.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_twice_the_median() {
        let mut spin = YieldSpin::new();
        assert_eq!(spin.limit(), Duration::from_micros(100));
        for n in 0..20_000_u64 {
            // From 0 to 20 us, and a few that are far off.
            let took = if n % 50 == 0 {
                10_000
            } else {
                (n * 7919) % 20_000 / 1000
            };
            spin.learn(Duration::from_micros(took));
        }
        let limit = spin.limit().as_micros();
        assert!((17..=23).contains(&limit), "{limit}");
    }

    #[test]
    fn long_waits_are_slept_through_until_short_ones_come_again() {
        let mut spin = YieldSpin::new();
        for _ in 0..1000 {
            spin.learn(Duration::from_millis(5));
        }
        assert_eq!(spin.limit(), Duration::ZERO);
        for _ in 0..1000 {
            spin.learn(Duration::from_micros(700));
        }
        assert_eq!(spin.limit(), MAX_SPIN);
    }
}
