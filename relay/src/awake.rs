//! Processors that do not fall asleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::priority;

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
                if priority::follow_all_others() {
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
