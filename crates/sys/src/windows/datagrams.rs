//! Datagrams without kernel help.

use std::io;
use std::mem::MaybeUninit;

use socket2::{SockAddr, Socket};
use windows_sys::Win32::Networking::WinSock::WSAEMSGSIZE;

pub(crate) use super::largest_buffer::{enlarge_send_buffer, maximise_receive_buffer};
use crate::udp::ReceiveFeatures;

/// Windows reports a datagram that was cut as an error; the bytes are there.
pub(crate) fn recv(socket: &Socket, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    match socket.recv_with_flags(buffer, 0) {
        Err(error) if is_truncation(&error) => Ok(buffer.len()),
        other => other,
    }
}

pub(crate) fn recv_from(
    socket: &Socket,
    buffer: &mut [MaybeUninit<u8>],
) -> io::Result<(usize, SockAddr)> {
    socket.recv_from_with_flags(buffer, 0)
}

pub(crate) fn is_truncation(error: &io::Error) -> bool {
    error.raw_os_error() == Some(WSAEMSGSIZE)
}

pub(crate) fn request(_socket: &Socket, _is_v6: bool, _wanted: ReceiveFeatures) -> ReceiveFeatures {
    ReceiveFeatures::default()
}

pub(crate) fn watch_tos(_socket: &Socket, _is_v6: bool) -> bool {
    false
}

pub(crate) fn dropped(_socket: &Socket) -> Option<u64> {
    None
}
