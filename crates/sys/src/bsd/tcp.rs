//! What macOS and the BSDs do for TCP: as the plain twin, but most report what a send buffer holds.

#[path = "../fallback/tcp.rs"]
mod plain;

use socket2::Socket;

use super::stream;

pub(crate) use plain::{ACCEPTED_INHERITS_NONBLOCKING, recv_discard};

/// Bytes in the send buffer, unacknowledged ones included.
pub(crate) fn unacknowledged_bytes(socket: &Socket) -> Option<u64> {
    reported(socket).or_else(|| plain::unacknowledged_bytes(socket))
}

/// `SO_NWRITE` of Apple's `getsockopt(2)`.
#[cfg(target_vendor = "apple")]
fn reported(socket: &Socket) -> Option<u64> {
    /// `sys/socket.h`.
    const SO_NWRITE: libc::c_int = 0x1024;
    let value = super::sockopt::get::<libc::c_int>(socket, libc::SOL_SOCKET, SO_NWRITE);
    value.ok().and_then(|(bytes, _)| u64::try_from(bytes).ok())
}

/// `FIONWRITE` of `sys/filio.h`.
#[cfg(any(target_os = "freebsd", target_os = "netbsd"))]
fn reported(socket: &Socket) -> Option<u64> {
    use std::os::fd::AsRawFd;

    const NUMBER: libc::c_ulong = if cfg!(target_os = "freebsd") {
        119
    } else {
        121
    };
    /// `_IOR('f', NUMBER, int)`.
    const FIONWRITE: libc::c_ulong = 0x4004_6600 | NUMBER;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one C `int` to the address.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), FIONWRITE, &raw mut bytes) };
    (result == 0).then(|| u64::try_from(bytes).ok())?
}

/// Not reported.
#[cfg(not(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd")))]
fn reported(_socket: &Socket) -> Option<u64> {
    None
}
