//! The terminal, while a view has it; it is given back whatever ends the process.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, TryLockError};
use std::time::Duration;

use tapeline_base::MutexExt;
use tapeline_screen::{ENTER, LEAVE};
use tapeline_sys::QuietInput;

/// How the terminal was; `None` while nobody has it.
static LEASED: Mutex<Option<QuietInput>> = Mutex::new(None);

/// Tries to give it back while a frame is being written, each a millisecond apart: a terminal that
/// takes nothing must not keep the process.
const TRIES: u32 = 200;

/// The right to draw. Dropped, the terminal is as it was.
#[derive(Debug)]
pub(crate) struct TerminalLease(());

impl TerminalLease {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(crate) fn take() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            // What a panic has to say is to be read.
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                report(panic);
            }));
        });
        let quiet = QuietInput::start()?;
        *lock() = Some(quiet);
        let lease = Self(());
        lease.write(ENTER.as_bytes())?;
        Ok(lease)
    }

    /// Whether keys can be read from it.
    pub(crate) fn has_keys(&self) -> bool {
        lock().as_ref().is_some_and(QuietInput::has_keys)
    }

    /// The next key, if one was pressed.
    pub(crate) fn key(&self) -> Option<u8> {
        lock().as_ref().and_then(QuietInput::key)
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// The terminal has gone, or was given back.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
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
    LEASED.lock_unpoisoned()
}

/// Brings back the terminal as it was, if a view has it.
pub(crate) fn give_back() {
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
            // Nobody can be notified when it fails.
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
            drop(quiet);
        }
        return;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, tcgetattr};

    use super::*;

    /// Sends the process of the other test what to do.
    const PANICS: &str = "TAPELINE_TEST_PANICS";

    /// Panics while it has the terminal, in a process of its own.
    #[test]
    fn a_holder_that_panics() {
        if std::env::var_os(PANICS).is_some() {
            let _lease = TerminalLease::take().expect("the terminal");
            panic!("with the terminal in hand");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_read() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("permission");
        unlockpt(&master).expect("a terminal that can be opened");
        let name = ptsname(&master, Vec::new()).expect("its name");
        let name = name.into_string().expect("text");
        let terminal = File::options().read(true).write(true).open(&name);
        let terminal = terminal.expect("the terminal");
        let end = || {
            let file = terminal.try_clone().expect("a descriptor");
            Stdio::from(OwnedFd::from(file))
        };
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "run::terminal_lease::tests::a_holder_that_panics",
            ])
            .arg("--nocapture")
            .env(PANICS, "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("a process");
        assert!(!child.wait().expect("its end").success());
        let modes = tcgetattr(&terminal).expect("attributes").local_modes;
        assert!(modes.contains(LocalModes::ECHO), "no key is shown");
        // Few bytes were written; the terminal holds them until its last user has gone.
        drop(terminal);
        let mut seen = Vec::new();
        // Ends with an error when nobody has the pipe's second end.
        let _ = File::from(master).read_to_end(&mut seen);
        let seen = String::from_utf8_lossy(&seen);
        let (_, view) = seen.split_once(ENTER).expect("a view");
        let (_, after) = view.split_once(LEAVE).expect("its end");
        assert!(after.contains("with the terminal in hand"), "{seen:?}");
    }
}
