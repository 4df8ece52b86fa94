//! Waiting for a due time: sleep until shortly before it, then spin on the clock.
//!
//! The guard is measured, not constant: it follows the oversleep of this very machine,
//! between 5 and 100 microseconds.

use std::time::Duration;

use tapeline_base::{Clock, MonoTime, whole_nanos};
use tapeline_sys::{SystemClock, sleep_until};

use crate::stop::Stop;

/// Longest sleep between two looks at the stop flag.
const SLICE: Duration = Duration::from_millis(20);
const GUARD_START: u64 = 60_000;
const GUARD_MIN: u64 = 5_000;
const GUARD_MAX: u64 = 100_000;

/// How a sender spends the time before a send is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Spin the last microseconds: exact gaps, more processor time.
    #[default]
    Precise,
    /// Only sleep.
    Economical,
}

/// Waits for due times and learns how late sleeps return.
#[derive(Clone, Debug)]
pub struct Pacer {
    clock: SystemClock,
    precision: Precision,
    guard: u64,
}

impl Pacer {
    /// A pacer for the calling thread, whose timer slack should be minimal.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self {
            clock: SystemClock,
            precision,
            guard: GUARD_START,
        }
    }

    /// Waits until `due`; returns the time then, or `None` when `stop` was raised.
    pub fn wait(&mut self, due: MonoTime, stop: &Stop) -> Option<MonoTime> {
        let mut now = self.clock.now();
        while now < due {
            if stop.is_raised() {
                return None;
            }
            let guard = match self.precision {
                Precision::Precise => Duration::from_nanos(self.guard),
                Precision::Economical => Duration::ZERO,
            };
            let left = due.since(now);
            if left > guard {
                let wake = (due - guard).min(now + SLICE);
                sleep_until(wake);
                now = self.clock.now();
                self.learn(now.since(wake));
            } else {
                std::hint::spin_loop();
                now = self.clock.now();
            }
        }
        Some(now)
    }

    /// Moves the guard toward the 90th percentile of the oversleep: up by nine steps on
    /// a later return, down by one otherwise.
    fn learn(&mut self, oversleep: Duration) {
        let oversleep = whole_nanos(oversleep);
        let step = self.guard / 64 + 1;
        self.guard = if oversleep > self.guard {
            self.guard + 9 * step
        } else {
            self.guard - step
        }
        .clamp(GUARD_MIN, GUARD_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_returns_early_and_obeys_the_flag() {
        let stop = Stop::new();
        let mut pacer = Pacer::new(Precision::Precise);
        for _ in 0..20 {
            let due = SystemClock.now() + Duration::from_micros(300);
            let now = pacer.wait(due, &stop).expect("not stopped");
            assert!(now >= due);
        }
        stop.raise();
        let far = SystemClock.now() + Duration::from_secs(3600);
        assert!(pacer.wait(far, &stop).is_none());
    }

    #[test]
    fn the_guard_settles_at_the_ninetieth_percentile() {
        let mut pacer = Pacer::new(Precision::Precise);
        for i in 0..20_000_u64 {
            pacer.learn(Duration::from_nanos((i * 7919) % 40_000));
        }
        assert!((30_000..40_500).contains(&pacer.guard), "{}", pacer.guard);
    }
}
