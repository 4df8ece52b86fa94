//! What has to end before a run is over.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tapeline_base::MutexExt;
use tapeline_sys::Waker;

/// Counts what has to end before a run is over, and whether all of it went well.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    state: Mutex<TallyState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TallyState {
    pending: usize,
    failed: bool,
    watchers: Vec<Arc<Waker>>,
}

impl Tally {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Another part begins; it ends with the returned value.
    pub(crate) fn begin(self: &Arc<Self>) -> Part {
        self.lock().pending += 1;
        Part {
            tally: Arc::clone(self),
            failed: true,
        }
    }

    /// Wakes `waker` whenever a part has ended.
    pub(crate) fn watch(&self, waker: Arc<Waker>) {
        self.lock().watchers.push(waker);
    }

    pub(crate) fn fail(&self) {
        self.lock().failed = true;
    }

    pub(crate) fn pending(&self) -> usize {
        self.lock().pending
    }

    /// Waits until nothing is pending; returns whether anything failed.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.pending > 0 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.failed
    }

    fn end(&self, failed: bool) {
        let mut state = self.lock();
        state.pending = state.pending.saturating_sub(1);
        state.failed |= failed;
        for waker in &state.watchers {
            waker.wake();
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TallyState> {
        self.state.lock_unpoisoned()
    }
}

/// Something that a [`Tally`] counts. Dropped without an end, as by a panic or by a thread
/// that could not be had, it has failed.
#[derive(Debug)]
#[must_use]
pub(crate) struct Part {
    tally: Arc<Tally>,
    failed: bool,
}

impl Part {
    pub(crate) fn end(mut self, failed: bool) {
        self.failed = failed;
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.tally.end(self.failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_lost_has_ended_and_failed() {
        let tally = Tally::new();
        let waker = Arc::new(Waker::new().expect("waker"));
        tally.watch(Arc::clone(&waker));
        tally.begin().end(false);
        assert!(!tally.wait());
        assert!(waker.wait(tapeline_sys::Wait::Never).expect("poll"));
        let part = tally.begin();
        assert_eq!(tally.pending(), 1);
        let thread = std::thread::spawn(move || {
            let _part = part;
            panic!("a fault, as ordered by the test");
        });
        assert!(thread.join().is_err());
        assert_eq!(tally.pending(), 0);
        assert!(tally.wait());
    }
}
