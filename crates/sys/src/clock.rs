//! The system's clocks, and sleeping by them.

#[cfg(debug_assertions)]
use std::sync::atomic::Ordering::Relaxed;

use tapeline_base::{Clock, MonoTime, WallTime};

use crate::platform::{clock, sleep};

/// The real clocks: `CLOCK_MONOTONIC` and `CLOCK_REALTIME` on Unix; on Windows the
/// performance counter since the first reading, and the system time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> MonoTime {
        MonoTime::from_nanos(clock::monotonic_nanos())
    }

    #[inline]
    fn wall(&self) -> WallTime {
        WallTime::from_nanos(displaced(clock::wall_nanos()))
    }
}

/// Makes [`SystemClock`]'s wall time differ from the system's from now on: by `offset` nanoseconds at
/// first, and by `drift` seconds more in each second. For tests of what is said of two clocks; builds
/// without debug assertions do not have it. The system's own stamps on what arrives stay as they are.
#[cfg(debug_assertions)]
pub fn displace_wall_clock(offset: i64, drift: f64) {
    use displacement::{DRIFT, OFFSET, SINCE};
    OFFSET.store(offset, Relaxed);
    DRIFT.store(drift.to_bits(), Relaxed);
    SINCE.store(clock::wall_nanos(), Relaxed);
}

#[cfg(debug_assertions)]
mod displacement {
    use std::sync::atomic::{AtomicI64, AtomicU64};

    pub(crate) static OFFSET: AtomicI64 = AtomicI64::new(0);
    /// Bits of a number.
    pub(crate) static DRIFT: AtomicU64 = AtomicU64::new(0);
    pub(crate) static SINCE: AtomicI64 = AtomicI64::new(0);
}

#[cfg(debug_assertions)]
fn displaced(nanos: i64) -> i64 {
    use displacement::{DRIFT, OFFSET, SINCE};
    let passed = nanos.saturating_sub(SINCE.load(Relaxed)) as f64;
    let drift = f64::from_bits(DRIFT.load(Relaxed)) * passed;
    nanos
        .saturating_add(OFFSET.load(Relaxed))
        .saturating_add(drift as i64)
}

#[cfg(not(debug_assertions))]
#[inline]
fn displaced(nanos: i64) -> i64 {
    nanos
}

/// Sleeps until [`SystemClock`]'s monotonic time reaches `deadline`; never wakes early.
/// Returns at once when the deadline has passed.
///
/// Linux: `clock_nanosleep(TIMER_ABSTIME)`; elsewhere repeated relative sleeps.
pub fn sleep_until(deadline: MonoTime) {
    sleep::sleep_until(deadline.as_nanos());
}

/// Asks the kernel to wake this thread as close to its deadlines as it can
/// (Linux: `PR_SET_TIMERSLACK` = 1 ns; the default is 50 000 ns).
/// Returns whether that was granted; `false` where the platform has no such setting.
pub fn set_timer_slack_minimal() -> bool {
    sleep::set_timer_slack_minimal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_sleep_never_ends_early() {
        let clock = SystemClock;
        for micros in [0, 1, 60, 500, 3_000] {
            let deadline = clock.now() + Duration::from_micros(micros);
            sleep_until(deadline);
            assert!(clock.now() >= deadline, "woke early from {micros} us");
        }
        sleep_until(MonoTime::ZERO);
    }

    #[test]
    fn both_clocks_advance_in_nanoseconds() {
        let clock = SystemClock;
        let (mono, wall) = (clock.now(), clock.wall());
        sleep_until(mono + Duration::from_millis(2));
        assert!(clock.now().since(mono) >= Duration::from_millis(2));
        // 2020-01-01, in nanoseconds: a unit mistake would be off by 1000.
        assert!(wall.as_nanos() > 1_577_836_800_000_000_000);
        let gap = clock.wall().nanos_since(wall);
        assert!(gap > 1_000_000, "{gap}");
    }
}
