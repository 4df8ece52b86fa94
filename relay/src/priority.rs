//! Being on time on a busy machine: before other threads, on processors that do not fall asleep.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Priority among the real-time threads, 1 (least) to 99.
const PRIORITY: libc::c_int = 10;
/// Nanoseconds that a timer of the relay may be late for the sake of others.
const TIMER_SLACK: u64 = 1000;

/// Puts the calling thread before all ordinary ones. Where that is not permitted the relay is
/// later than it need be, which its record shows.
pub(crate) fn precede_ordinary_threads() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(TIMER_SLACK));
    schedule(libc::SCHED_FIFO, PRIORITY);
}

/// Puts the calling thread behind all others: it runs where a processor would idle. Returns
/// whether that was permitted.
fn follow_all_others() -> bool {
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

/// Keeps all processors from idling until it is dropped. A virtual processor that sleeps takes up to 100 us
/// to wake; that would stand between a sender's stamp and the record, and be neither's fault.
#[derive(Debug)]
pub(crate) struct Awake {
    enough: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Starts a thread for each processor that gives way to all others.
    pub(crate) fn start() -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().map_or(1, Into::into);
        let threads = (0..count).filter_map(|_| {
            let enough = Arc::clone(&enough);
            let turn = move || {
                if follow_all_others() {
                    while !enough.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            };
            let thread = std::thread::Builder::new().name("relay awake".to_owned());
            thread.spawn(turn).ok()
        });
        let threads = threads.collect();
        Self { enough, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
