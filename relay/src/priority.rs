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
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: the pointer is to a `sched_param` that lives through the call, and 0 names the
    // calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}
