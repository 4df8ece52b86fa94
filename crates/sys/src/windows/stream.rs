//! Sending and receiving with Windows sockets.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;

use socket2::Socket;
use windows_sys::Win32::Networking::WinSock::{WSAETIMEDOUT, WSAEWOULDBLOCK};

use crate::poller::{Handle, Interest, Wait, wait_one};

/// There are no signals to suppress.
pub(crate) const SEND_FLAGS: i32 = 0;

pub(crate) fn connect_is_pending(error: &io::Error) -> bool {
    error.raw_os_error() == Some(WSAEWOULDBLOCK)
}

/// A passed socket timeout, which other systems report as "would block".
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    error.raw_os_error() == Some(WSAETIMEDOUT)
}

pub(crate) fn timed_out() -> io::Error {
    io::Error::from_raw_os_error(WSAETIMEDOUT)
}

/// There is no "this call only" flag, so readiness is asked for first.
pub(crate) fn would_wait(socket: &Socket, interest: Interest) -> io::Result<bool> {
    wait_one(Handle::of(socket), interest, Wait::Never).map(|ready| !ready)
}

pub(crate) fn send_nonblocking(socket: &Socket, data: &[u8]) -> io::Result<usize> {
    if would_wait(socket, Interest::WRITE)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    socket.send(data)
}

pub(crate) fn send_vectored_nonblocking(
    socket: &Socket,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    if would_wait(socket, Interest::WRITE)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    socket.send_vectored(slices)
}

pub(crate) fn recv_nonblocking(
    socket: &Socket,
    buffer: &mut [MaybeUninit<u8>],
) -> io::Result<usize> {
    if would_wait(socket, Interest::READ)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    socket.recv(buffer)
}
