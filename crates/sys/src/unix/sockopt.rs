//! `setsockopt` and `getsockopt` for plain-data values, and the options that all supported Unix systems
//! share.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::AsRawFd;

use libc::{c_int, socklen_t};
use socket2::Socket;

/// Plain old data: any bit pattern is a value.
///
/// # Safety
/// The implementor must be so.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers are plain data.
unsafe impl Plain for c_int {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: arrays of plain data are plain data.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Sets one option.
pub(crate) fn set<T: Plain>(
    socket: &Socket,
    level: c_int,
    name: c_int,
    value: T,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads one option and the number of bytes that the kernel filled in; the rest is zero.
pub(crate) fn get<T: Plain>(socket: &Socket, level: c_int, name: c_int) -> io::Result<(T, usize)> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the pointer and the length describe `value`; the kernel writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all bytes were zeroed before the call, and every bit pattern of `T` is a value.
    let value = unsafe { value.assume_init() };
    Ok((value, (length as usize).min(size_of::<T>())))
}

/// Lets others on the port of a bound socket, or does no more.
pub(crate) fn share_address(socket: &Socket, shared: bool) -> io::Result<()> {
    socket.set_reuse_address(shared)
}

pub(crate) fn set_reuse_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

pub(crate) fn set_dont_route(socket: &Socket) -> io::Result<()> {
    set::<c_int>(socket, libc::SOL_SOCKET, libc::SO_DONTROUTE, 1)
}

pub(crate) fn set_tclass_v6(socket: &Socket, class: u32) -> io::Result<()> {
    socket.set_tclass_v6(class)
}

pub(crate) fn tclass_v6(socket: &Socket) -> io::Result<u32> {
    socket.tclass_v6()
}

pub(crate) fn set_mss(socket: &Socket, mss: u32) -> io::Result<()> {
    socket.set_tcp_mss(mss)
}

pub(crate) fn mss(socket: &Socket) -> Option<u32> {
    socket.tcp_mss().ok()
}

pub(crate) fn set_receive_lowat(socket: &Socket, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}
