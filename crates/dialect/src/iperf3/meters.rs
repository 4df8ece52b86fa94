//! How much the streams of a test have moved.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reads how many bytes the streams of a test have moved.
#[derive(Clone, Default)]
pub(super) struct Meters(Arc<Mutex<Vec<Meter>>>);

struct Meter {
    sends: bool,
    bytes: Box<dyn Fn() -> u64 + Send>,
}

impl Meters {
    pub(super) fn add(&self, sends: bool, bytes: impl Fn() -> u64 + Send + 'static) {
        let bytes = Box::new(bytes);
        self.lock().push(Meter { sends, bytes });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Meter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all streams, in both directions.
    pub(super) fn total(&self) -> u64 {
        self.lock().iter().map(|meter| (meter.bytes)()).sum()
    }

    /// Bytes that have been received, and datagrams' that were lost on the way.
    pub(super) fn received(&self) -> u64 {
        let meters = self.lock();
        let receivers = meters.iter().filter(|meter| !meter.sends);
        receivers.map(|meter| (meter.bytes)()).sum()
    }
}
