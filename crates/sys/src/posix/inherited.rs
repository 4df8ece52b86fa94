//! `LISTEN_PID` and `LISTEN_FDS`.

use std::io;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::Socket;

/// The first descriptor that is handed over.
const FIRST: RawFd = 3;

/// Each descriptor has one owner.
static TAKEN: AtomicBool = AtomicBool::new(false);

pub(crate) fn take() -> io::Result<Vec<(RawFd, Socket)>> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(std::process::id()) || TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS").unwrap_or(0) as usize;
    let numbers = (FIRST..).take(count);
    numbers.map(|number| Ok((number, own(number)?))).collect()
}

/// Takes a descriptor over; processes that this one starts do not get it.
fn own(number: RawFd) -> io::Result<Socket> {
    // SAFETY: sets a flag of a descriptor, if there is one of this number.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(
            error.kind(),
            format!("descriptor {number} is not open"),
        ));
    }
    // SAFETY: the descriptor is open, as seen above; who started this process left it to the one
    // that calls this, and this happens once.
    Ok(unsafe { Socket::from_raw_fd(number) })
}
