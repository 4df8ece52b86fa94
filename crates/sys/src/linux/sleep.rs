//! Absolute sleeps.

use std::num::NonZeroU64;

use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

use super::clock::monotonic_nanos;

pub(crate) fn sleep_until(deadline: u64) {
    let request = Timespec {
        tv_sec: (deadline / 1_000_000_000) as _,
        tv_nsec: (deadline % 1_000_000_000) as _,
    };
    // Repeated after a signal; another error would be a deadline out of range.
    while monotonic_nanos() < deadline {
        match clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            Ok(()) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => std::thread::yield_now(),
        }
    }
}

pub(crate) fn set_timer_slack_minimal() -> bool {
    set_current_timer_slack(NonZeroU64::new(1)).is_ok()
}
