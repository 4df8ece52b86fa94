//! Leaving the terminal (`-D`).

use std::io;

use crate::platform::service as system;

/// A process that is about to serve in the background. The process that was started waits
/// until [`Daemon::ready`] is called and then ends with status 0; when the daemon ends
/// before, as a server that cannot listen does, it ends with status 1.
#[derive(Debug)]
#[must_use = "the started process waits until the daemon is ready"]
pub struct Daemon {
    ready: system::Ready,
}

impl Daemon {
    /// Goes on in a child process in a session of its own, with the same working directory.
    /// Standard input and output are the null device at once; standard error, for the
    /// reasons of a failed start, only when ready. Returns in the child only.
    ///
    /// Call it before any thread is started (the child has none of them), and before files
    /// are opened that shall be written by one process only.
    ///
    /// # Errors
    /// `Unsupported` where a process cannot be cloned (Windows), else those of `fork(2)`,
    /// `setsid(2)` and of opening the null device.
    pub fn start() -> io::Result<Self> {
        system::start().map(|ready| Self { ready })
    }

    /// Lets go of standard error and of the process that was started.
    ///
    /// # Errors
    /// Those of `dup2(2)`.
    pub fn ready(self) -> io::Result<()> {
        self.ready.notify()
    }
}

#[cfg(all(test, unix))]
mod tests;
