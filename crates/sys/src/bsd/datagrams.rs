//! Datagrams without kernel help.

use std::io;
use std::mem::MaybeUninit;

use socket2::{SockAddr, Socket};

pub(crate) use super::largest_buffer::{enlarge_send_buffer, maximise_receive_buffer};
use crate::udp::ReceiveFeatures;

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

pub(crate) fn watch_tos(_socket: &Socket, _is_v6: bool) -> bool {
    false
}

pub(crate) fn dropped(_socket: &Socket) -> Option<u64> {
    None
}
