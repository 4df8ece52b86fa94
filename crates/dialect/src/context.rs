//! What all parts of a run share.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use tapeline_base::{Clock, FlowId, MonoTime, WallTime};
use tapeline_engine::{Pool, Stop};
use tapeline_report::{Event, Notice};
use tapeline_sys::{SystemClock, Waker};

use crate::reporter::ReporterHandle;

/// Ends a run from outside: raises the flag and wakes whoever waits in a socket call.
#[derive(Clone, Debug)]
pub struct Interruption {
    stop: Stop,
    waker: Arc<Waker>,
}

impl Interruption {
    /// A run that has not been interrupted.
    ///
    /// # Errors
    /// When the process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            stop: Stop::new(),
            waker: Arc::new(Waker::new()?),
        })
    }

    /// Ends traffic; totals follow.
    pub fn interrupt(&self) {
        self.stop.raise();
        self.waker.wake();
    }

    /// Whether [`interrupt`](Self::interrupt) was called.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.stop.is_raised()
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// Services of one run: clocks, flow numbers, workers, the reporter, the way to stop.
pub(crate) struct Context {
    pub(crate) clock: SystemClock,
    pub(crate) reporter: ReporterHandle,
    pub(crate) pool: Pool,
    pub(crate) interruption: Interruption,
    ids: AtomicU32,
}

impl Context {
    pub(crate) fn new(reporter: ReporterHandle, interruption: Interruption) -> Arc<Self> {
        Arc::new(Self {
            clock: SystemClock,
            reporter,
            pool: Pool::default(),
            interruption,
            ids: AtomicU32::new(0),
        })
    }

    pub(crate) fn next_id(&self) -> FlowId {
        FlowId(self.ids.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
    }

    pub(crate) fn now(&self) -> MonoTime {
        self.clock.now()
    }

    pub(crate) fn wall(&self) -> WallTime {
        self.clock.wall()
    }

    pub(crate) fn stop(&self) -> &Stop {
        self.interruption.stop()
    }

    pub(crate) fn notice(&self, notice: Notice) {
        self.reporter.event(Event::Notice(notice));
    }
}

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
}

impl Tally {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn begin(&self) {
        self.lock().pending += 1;
    }

    /// One part has ended.
    pub(crate) fn end(&self, failed: bool) {
        let mut state = self.lock();
        state.pending = state.pending.saturating_sub(1);
        state.failed |= failed;
        drop(state);
        self.changed.notify_all();
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

    fn lock(&self) -> std::sync::MutexGuard<'_, TallyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
