//! Sleeping by relative steps.

use std::time::Duration;

use super::clock::monotonic_nanos;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twin_never_wakes_early_either() {
        for micros in [0, 80, 2_000] {
            let deadline = monotonic_nanos() + micros * 1_000;
            sleep_until(deadline);
            assert!(monotonic_nanos() >= deadline);
        }
        assert!(!set_timer_slack_minimal());
    }
}
