//! Datagrams without kernel help.

use std::io;
use std::mem::MaybeUninit;

use socket2::{SockAddr, Socket};

use crate::udp_socket::ReceiveFeatures;

pub(crate) fn recv(socket: &Socket, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    socket.recv_with_flags(buffer, 0)
}

pub(crate) fn recv_from(
    socket: &Socket,
    buffer: &mut [MaybeUninit<u8>],
) -> io::Result<(usize, SockAddr)> {
    socket.recv_from_with_flags(buffer, 0)
}

pub(crate) fn request(_socket: &Socket, _is_v6: bool, _wanted: ReceiveFeatures) -> ReceiveFeatures {
    ReceiveFeatures::default()
}

#[path = "../portable/largest_buffer.rs"]
mod largest_buffer;
pub(crate) use largest_buffer::maximise_receive_buffer;

pub(crate) fn watch_tos(_socket: &Socket, _is_v6: bool) -> bool {
    false
}

pub(crate) fn dropped(_socket: &Socket) -> Option<u64> {
    None
}
