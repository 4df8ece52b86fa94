//! Being on time on a busy machine.

use std::num::NonZeroU64;

/// Priority among the real-time threads, 1 (least) to 99.
const PRIORITY: libc::c_int = 10;
/// Nanoseconds that a timer of the relay may be late for the sake of others.
const SLACK: u64 = 1000;

/// Puts the calling thread before all ordinary ones. Where that is not permitted the relay is
/// later than it need be, which its record shows.
pub(crate) fn precede_ordinary_threads() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(SLACK));
    schedule(libc::SCHED_FIFO, PRIORITY);
}

/// Puts the calling thread behind all others: it runs where a processor would idle. Returns
/// whether that was permitted.
pub(crate) fn follow_all_others() -> bool {
    schedule(libc::SCHED_IDLE, 0)
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the pointer is to a `sched_param` that lives through the call, and 0 names the
    // calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}
