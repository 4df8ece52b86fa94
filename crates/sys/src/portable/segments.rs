//! No segmentation offload: datagrams go out one by one.

use std::io;

use socket2::{SockAddr, Socket};

use crate::udp_socket::Marks;

pub(crate) fn is_available(_socket: &Socket) -> bool {
    false
}

pub(crate) fn send(
    _socket: &Socket,
    _data: &[u8],
    _segment_size: usize,
    _peer: Option<&SockAddr>,
) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn send_marked(
    _socket: &Socket,
    _is_v6: bool,
    _data: &[u8],
    _peer: &SockAddr,
    _to_v4: bool,
    _marks: Marks,
) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}
