//! What Linux does for TCP alone.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::Socket;

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
