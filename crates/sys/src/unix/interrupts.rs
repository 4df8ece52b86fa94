//! Counting signals. The handler uses atomics and `write(2)` only.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use libc::c_int;

use super::variant::errno_location;
use super::waker::SystemWaker;
use crate::process::Signal;

static COUNT: AtomicU32 = AtomicU32::new(0);
static LATEST: AtomicI32 = AtomicI32::new(0);
/// `SIGHUP` is a wish rather than an interrupt.
static WISHES: AtomicBool = AtomicBool::new(false);
static WISHED: AtomicBool = AtomicBool::new(false);
static WAKER: AtomicI32 = AtomicI32::new(-1);

const SIGNALS: [(c_int, Signal); 4] = [
    (libc::SIGINT, Signal::Interrupt),
    (libc::SIGTERM, Signal::Terminate),
    (libc::SIGALRM, Signal::Alarm),
    (libc::SIGHUP, Signal::Hangup),
];

extern "C" fn on_signal(signal: c_int) {
    let errno = errno_location();
    // SAFETY: the location is this thread's `errno`; valid for the thread's life.
    let saved = unsafe { *errno };
    if signal == libc::SIGHUP && WISHES.load(Ordering::Relaxed) {
        WISHED.store(true, Ordering::Release);
    } else {
        LATEST.store(signal, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Release);
    }
    SystemWaker::wake_raw(WAKER.load(Ordering::Relaxed) as RawFd);
    // SAFETY: as above. The interrupted code may be about to read it.
    unsafe { *errno = saved };
}

/// Installs the handler; `waker` must live as long as the process.
pub(crate) fn install(waker: &'static SystemWaker) -> io::Result<()> {
    WAKER.store(waker.wake_handle(), Ordering::Relaxed);
    for (signal, name) in SIGNALS {
        if name != Signal::Hangup {
            set_action(signal, on_signal as *const () as libc::sighandler_t)?;
        }
    }
    Ok(())
}

/// Catches `SIGHUP` too; the others must be caught already.
pub(crate) fn include_hangup() -> io::Result<()> {
    set_action(libc::SIGHUP, on_signal as *const () as libc::sighandler_t)
}

/// Catches `SIGHUP` as a wish; the others must be caught already.
pub(crate) fn include_wishes() -> io::Result<()> {
    WISHES.store(true, Ordering::Relaxed);
    include_hangup()
}

pub(crate) fn has_wish() -> bool {
    WISHED.load(Ordering::Acquire)
}

pub(crate) fn take_wish() -> bool {
    WISHED.swap(false, Ordering::AcqRel)
}

fn set_action(signal: c_int, handler: libc::sighandler_t) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero is a valid `sigaction` (no flags, empty mask, default handler); its
    // address is valid during the calls; the handler is async-signal-safe.
    let result = unsafe {
        let action = action.assume_init_mut();
        libc::sigemptyset(&raw mut action.sa_mask);
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, action, std::ptr::null_mut())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Counts one as if the signal had come.
pub(crate) fn raise() {
    on_signal(libc::SIGINT);
}

pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Acquire)
}

pub(crate) fn latest() -> Option<Signal> {
    let number = LATEST.load(Ordering::Relaxed);
    SIGNALS
        .iter()
        .find(|(signal, _)| *signal == number)
        .map(|(_, name)| *name)
}

pub(crate) fn ignore_sigpipe() {
    // Fails only for an invalid signal number.
    let _ = set_action(libc::SIGPIPE, libc::SIG_IGN);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::poller::Wait;
    use crate::process::{Interrupts, Signal};

    // One test: signals and their counter belong to the whole process.
    #[test]
    fn signals_are_counted_and_end_a_wait() {
        let interrupts = Interrupts::install().unwrap();
        let seen = interrupts.count();
        let quiet = interrupts
            .wait(seen, Wait::AtMost(Duration::from_millis(5)))
            .unwrap();
        assert_eq!(quiet, seen);

        let waiting = std::thread::spawn(move || interrupts.wait(seen, Wait::Forever).unwrap());
        raise(libc::SIGINT);
        let after = waiting.join().unwrap();
        assert_eq!(after, seen + 1);
        assert_eq!(interrupts.latest(), Some(Signal::Interrupt));

        raise(libc::SIGTERM);
        raise(libc::SIGALRM);
        assert_eq!(interrupts.wait(after, Wait::Forever).unwrap(), seen + 3);
        assert_eq!(interrupts.latest(), Some(Signal::Alarm));

        // A stale readiness does not end a wait for the next interrupt.
        raise(libc::SIGINT);
        let now = interrupts.count();
        let span = Duration::from_millis(5);
        let started = std::time::Instant::now();
        assert_eq!(interrupts.wait(now, Wait::AtMost(span)).unwrap(), now);
        assert!(started.elapsed() >= span);
        let again = Interrupts::install().unwrap();
        assert_eq!(again.count(), seen + 4);

        // A key counts as much.
        let waiting = std::thread::spawn(move || interrupts.wait(now, Wait::Forever).unwrap());
        interrupts.raise();
        let now = waiting.join().unwrap();
        assert_eq!(now, seen + 5);
        assert_eq!(interrupts.latest(), Some(Signal::Interrupt));

        // A wish ends a wait without being counted.
        interrupts.include_wishes().unwrap();
        let waiting = std::thread::spawn(move || interrupts.wait(now, Wait::Forever).unwrap());
        raise(libc::SIGHUP);
        assert_eq!(waiting.join().unwrap(), now);
        assert!(interrupts.take_wish() && !interrupts.take_wish());
    }

    fn raise(signal: libc::c_int) {
        // SAFETY: raising a signal that has a handler; no memory is involved.
        assert_eq!(unsafe { libc::raise(signal) }, 0);
    }
}
