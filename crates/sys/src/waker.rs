//! Ending another thread's wait.

use std::io;

use crate::platform::waker::SystemWaker;
use crate::poller::{self, Handle, Interest, Pollable, Wait};

/// A source that any thread can make ready. Register it for reading; after its event call
/// [`Waker::drain`]. Several wakes before a drain count as one.
///
/// Linux: an `eventfd`; other Unix: a socket pair; Windows: a loopback datagram socket.
#[derive(Debug)]
pub struct Waker {
    system: SystemWaker,
}

impl Waker {
    /// A waker that is not ready.
    ///
    /// # Errors
    /// Running out of descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            system: SystemWaker::new()?,
        })
    }

    /// Makes the waker ready; it stays so until it is drained.
    pub fn wake(&self) {
        self.system.wake();
    }

    /// Makes the waker not ready.
    pub fn drain(&self) {
        self.system.drain();
    }

    /// Waits until the waker is ready; `false` when the time passed. Does not drain.
    ///
    /// # Errors
    /// Those of `poll(2)`.
    pub fn wait(&self, wait: Wait) -> io::Result<bool> {
        poller::wait_one(self.handle(), Interest::READ, wait)
    }

    pub(crate) fn system(&self) -> &SystemWaker {
        &self.system
    }
}

impl Pollable for Waker {
    fn handle(&self) -> Handle<'_> {
        Handle::from_raw(self.system.raw_handle())
    }
}
