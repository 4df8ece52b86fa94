//! Console control events; the system runs the handler on a thread of its own.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, SetConsoleCtrlHandler,
};

use super::waker::SystemWaker;
use crate::process::Signal;

static COUNT: AtomicU32 = AtomicU32::new(0);
static LATEST: AtomicU8 = AtomicU8::new(0);
static WAKER: OnceLock<&'static SystemWaker> = OnceLock::new();

unsafe extern "system" fn on_event(event: u32) -> windows_sys::core::BOOL {
    let latest = match event {
        CTRL_C_EVENT | CTRL_BREAK_EVENT => 1,
        CTRL_CLOSE_EVENT => 2,
        _ => return 0,
    };
    LATEST.store(latest, Ordering::Relaxed);
    COUNT.fetch_add(1, Ordering::Release);
    if let Some(waker) = WAKER.get() {
        waker.wake();
    }
    1
}

/// Counts one as if Ctrl-C had been pressed.
pub(crate) fn raise() {
    // SAFETY: called as the system calls it; it uses thread-safe state only.
    unsafe { on_event(CTRL_C_EVENT) };
}

/// There is no such signal.
pub(crate) fn include_hangup() -> io::Result<()> {
    Ok(())
}

/// Nor is there one for wishes.
pub(crate) fn include_wishes() -> io::Result<()> {
    Ok(())
}

pub(crate) fn has_wish() -> bool {
    false
}

pub(crate) fn take_wish() -> bool {
    false
}

/// Installs the handler once; `waker` lives as long as the process.
pub(crate) fn install(waker: &'static SystemWaker) -> io::Result<()> {
    if WAKER.set(waker).is_err() {
        return Ok(());
    }
    // SAFETY: the handler has the required signature and uses thread-safe state only.
    let done = unsafe { SetConsoleCtrlHandler(Some(on_event), 1) };
    if done != 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Acquire)
}

pub(crate) fn latest() -> Option<Signal> {
    match LATEST.load(Ordering::Relaxed) {
        1 => Some(Signal::Interrupt),
        2 => Some(Signal::Terminate),
        _ => None,
    }
}

/// There is no such signal.
pub(crate) fn ignore_sigpipe() {}
