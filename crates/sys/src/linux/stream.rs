//! Sending and receiving with Linux's flags.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::Socket;

pub(crate) use super::SEND_FLAGS;

#[path = "../posix/stream.rs"]
mod common;
#[cfg(test)]
#[path = "../portable/discard.rs"]
mod portable_discard;
pub(crate) use common::{
    connect_is_pending, is_timeout, recv_nonblocking, send_nonblocking, send_vectored_nonblocking,
    timed_out,
};

/// Accepted sockets are blocking whatever the listener is.
pub(crate) const ACCEPTED_INHERITS_NONBLOCKING: bool = false;

/// Drops received bytes inside the kernel (`tcp(7)`: `MSG_TRUNC`, since Linux 2.4.4).
#[inline]
pub(crate) fn recv_discard(socket: &Socket, max: usize, nonblocking: bool) -> io::Result<usize> {
    let wait = if nonblocking { libc::MSG_DONTWAIT } else { 0 };
    // SAFETY: on a stream socket `MSG_TRUNC` makes the kernel write nothing to the buffer.
    let count = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            ptr::null_mut(),
            max,
            libc::MSG_TRUNC | wait,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// `SIOCOUTQ` of `tcp(7)`.
pub(crate) fn unacknowledged_bytes(socket: &Socket) -> Option<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one C `int` to the address.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    (result == 0).then(|| u64::try_from(bytes).ok())?
}
