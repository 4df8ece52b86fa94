//! A waker on a socket pair.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use super::readiness::RawHandle;

#[derive(Debug)]
pub(crate) struct SystemWaker {
    sender: UnixStream,
    receiver: UnixStream,
}

impl SystemWaker {
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, receiver) = UnixStream::pair()?;
        sender.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        Ok(Self { sender, receiver })
    }

    pub(crate) fn wake(&self) {
        Self::wake_raw(self.wake_handle());
    }

    /// Wakes by number alone, for signal handlers.
    pub(crate) fn wake_raw(descriptor: RawFd) {
        // SAFETY: writes one readable byte. A failure means that the pair is full, so that the
        // waker is ready already, or a bad number, which is harmless.
        let _ = unsafe { libc::write(descriptor, [1_u8].as_ptr().cast(), 1) };
    }

    pub(crate) fn drain(&self) {
        let mut bytes = [0; 64];
        while (&self.receiver)
            .read(&mut bytes)
            .is_ok_and(|count| count == bytes.len())
        {}
    }

    pub(crate) fn wake_handle(&self) -> RawFd {
        self.sender.as_raw_fd()
    }

    pub(crate) fn raw_handle(&self) -> RawHandle {
        self.receiver.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poller::{Handle, Interest, Wait, wait_one};

    #[test]
    fn the_twin_is_ready_from_wake_to_drain() {
        let waker = SystemWaker::new().unwrap();
        let ready = || {
            let handle = Handle::from_raw(waker.raw_handle());
            wait_one(handle, Interest::READ, Wait::Never).unwrap()
        };
        assert!(!ready());
        // More wakes than the pair holds must not block.
        for _ in 0..100_000 {
            waker.wake();
        }
        assert!(ready());
        waker.drain();
        assert!(!ready());
    }
}
