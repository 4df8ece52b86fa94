//! Signals that ask the program to end.

use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use crate::platform::interrupts as system;
use crate::poller::{Handle, Pollable, Wait};
use crate::waker::Waker;

/// Why the program was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// `SIGINT`, Ctrl-C.
    Interrupt,
    /// `SIGTERM`, or the console being closed.
    Terminate,
    /// `SIGALRM`.
    Alarm,
    /// `SIGHUP`, where it is caught.
    Hangup,
}

/// Counts interrupts of the process and makes them waitable. What the first and what the
/// second one mean is the caller's business.
///
/// The signal handler only counts and makes a [`Waker`] ready; both are async-signal-safe.
/// System calls are restarted where the system can. One thread should wait at a time.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts {
    waker: &'static Waker,
}

static WAKER: OnceLock<Waker> = OnceLock::new();

impl Interrupts {
    /// Takes over `SIGINT`, `SIGTERM` and `SIGALRM` (Windows: console control events).
    /// Later calls return the same counter.
    ///
    /// # Errors
    /// Running out of descriptors.
    pub fn install() -> io::Result<Self> {
        let waker = match WAKER.get() {
            Some(waker) => waker,
            None => {
                let fresh = Waker::new()?;
                WAKER.get_or_init(|| fresh)
            }
        };
        system::install(waker.system())?;
        Ok(Self { waker })
    }

    /// Takes over `SIGHUP` too, which otherwise ends the process.
    ///
    /// # Errors
    /// Those of `sigaction(2)`.
    pub fn include_hangup(&self) -> io::Result<()> {
        system::include_hangup()
    }

    /// Takes over `SIGHUP` as a wish (to read a configuration anew), which is no interrupt: it ends
    /// [`Interrupts::wait`] once, and is returned by [`Interrupts::take_wish`].
    ///
    /// # Errors
    /// Those of `sigaction(2)`.
    pub fn include_wishes(&self) -> io::Result<()> {
        system::include_wishes()
    }

    /// Whether a wish came since this was asked last.
    #[must_use]
    pub fn take_wish(&self) -> bool {
        system::take_wish()
    }

    /// Counts an interrupt that came in another way than by a signal: by a key.
    pub fn raise(&self) {
        system::raise();
    }

    /// Interrupts so far.
    #[must_use]
    pub fn count(&self) -> u32 {
        system::count()
    }

    /// The latest interrupt.
    #[must_use]
    pub fn latest(&self) -> Option<Signal> {
        system::latest()
    }

    /// Waits until [`Interrupts::count`] differs from `seen` and returns it; returns the
    /// unchanged count when the time passed, or a wish came.
    ///
    /// # Errors
    /// Those of `poll(2)`.
    pub fn wait(&self, seen: u32, wait: Wait) -> io::Result<u32> {
        let started = Instant::now();
        while self.count() == seen && !system::has_wish() {
            // An interrupt that was counted before may have left the source ready.
            self.waker.drain();
            let left = match wait {
                Wait::AtMost(span) => Wait::AtMost(span.saturating_sub(started.elapsed())),
                other => other,
            };
            // One that came between the comparison and the drain is counted by now.
            if self.count() != seen || system::has_wish() || !self.waker.wait(left)? {
                break;
            }
        }
        Ok(self.acknowledge())
    }

    /// Makes the source not ready and returns the count; call it after its event.
    #[must_use]
    pub fn acknowledge(&self) -> u32 {
        // Drain first: a signal in between leaves the source ready, never lost.
        self.waker.drain();
        self.count()
    }
}

impl Pollable for Interrupts {
    fn handle(&self) -> Handle<'_> {
        self.waker.handle()
    }
}

/// Makes sending on a closed connection an error instead of a deadly signal. The standard
/// library does so for Rust programs; a library caller may not have that.
pub fn ignore_sigpipe() {
    system::ignore_sigpipe();
}
