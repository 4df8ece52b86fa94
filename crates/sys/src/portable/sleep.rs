//! Sleeping by relative steps.

use std::time::Duration;

use super::monotonic_nanos;

pub(crate) fn sleep_until(deadline: u64) {
    loop {
        match deadline.saturating_sub(monotonic_nanos()) {
            0 => return,
            left => std::thread::sleep(Duration::from_nanos(left)),
        }
    }
}

pub(crate) fn set_timer_slack_minimal() -> bool {
    false
}
