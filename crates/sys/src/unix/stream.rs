//! Sending and receiving, as all supported Unix systems do it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;

use socket2::Socket;

pub(crate) use super::variant::SEND_FLAGS;

pub(crate) fn connect_is_pending(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// Unix reports a passed socket timeout as "would block" already.
pub(crate) fn is_timeout(_error: &io::Error) -> bool {
    false
}

pub(crate) fn timed_out() -> io::Error {
    io::Error::from_raw_os_error(libc::ETIMEDOUT)
}

#[inline]
pub(crate) fn send_nonblocking(socket: &Socket, data: &[u8]) -> io::Result<usize> {
    socket.send_with_flags(data, SEND_FLAGS | libc::MSG_DONTWAIT)
}

#[inline]
pub(crate) fn send_vectored_nonblocking(
    socket: &Socket,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    socket.send_vectored_with_flags(slices, SEND_FLAGS | libc::MSG_DONTWAIT)
}

#[inline]
pub(crate) fn recv_nonblocking(
    socket: &Socket,
    buffer: &mut [MaybeUninit<u8>],
) -> io::Result<usize> {
    socket.recv_with_flags(buffer, libc::MSG_DONTWAIT)
}
