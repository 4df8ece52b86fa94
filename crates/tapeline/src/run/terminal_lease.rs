//! The terminal, while a view has it; it is given back whatever ends the process.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::time::Duration;

use tapeline_screen::{ENTER, LEAVE};
use tapeline_sys::QuietInput;

/// How the terminal was; `None` while nobody has it.
static LEASED: Mutex<Option<QuietInput>> = Mutex::new(None);

/// Tries to give it back while a frame is being written, each a millisecond apart: a terminal that
/// takes nothing must not keep the process.
const TRIES: u32 = 200;

/// The right to draw. Dropped, the terminal is as it was.
#[derive(Debug)]
pub(super) struct TerminalLease(());

impl TerminalLease {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(super) fn take() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let tell = std::panic::take_hook();
            // What a panic has to say is to be read.
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                tell(panic);
            }));
        });
        let quiet = QuietInput::start()?;
        *lock() = Some(quiet);
        let lease = Self(());
        lease.write(ENTER.as_bytes())?;
        Ok(lease)
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// The terminal has gone, or was given back.
    pub(super) fn write(&self, frame: &[u8]) -> io::Result<()> {
        let leased = lock();
        if leased.is_none() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut out = io::stdout().lock();
        out.write_all(frame)?;
        out.flush()
    }
}

impl Drop for TerminalLease {
    fn drop(&mut self) {
        give_back();
    }
}

fn lock() -> MutexGuard<'static, Option<QuietInput>> {
    LEASED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Brings back the terminal as it was, if a view has it.
pub(super) fn give_back() {
    for _ in 0..TRIES {
        let mut leased = match LEASED.try_lock() {
            Ok(leased) => leased,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        if let Some(quiet) = leased.take() {
            // Nobody can be told when it fails.
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
            drop(quiet);
        }
        return;
    }
}
