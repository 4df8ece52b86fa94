//! No segmentation offload: datagrams go out one by one.

use std::io;

use socket2::{SockAddr, Socket};
use tapeline_base::Tos;

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
    _data: &[u8],
    _peer: &SockAddr,
    _ipv4: bool,
    _tos: Tos,
) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}
