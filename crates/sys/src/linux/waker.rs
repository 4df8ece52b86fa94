//! A waker on an `eventfd`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};

use super::readiness::RawHandle;

#[derive(Debug)]
pub(crate) struct SystemWaker {
    descriptor: OwnedFd,
}

impl SystemWaker {
    pub(crate) fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { descriptor })
    }

    pub(crate) fn wake(&self) {
        Self::wake_raw(self.wake_handle());
    }

    /// Wakes by number alone, for signal handlers.
    pub(crate) fn wake_raw(descriptor: RawFd) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: writes eight readable bytes. A failure means that the counter is full, so that
        // the waker is ready already, or a bad number, which is harmless.
        let _ = unsafe { libc::write(descriptor, one.as_ptr().cast(), one.len()) };
    }

    pub(crate) fn drain(&self) {
        let mut counter = [0; 8];
        let _ = rustix::io::read(&self.descriptor, &mut counter);
    }

    pub(crate) fn wake_handle(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    pub(crate) fn raw_handle(&self) -> RawHandle {
        self.descriptor.as_raw_fd()
    }
}
