//! No segmentation offload: datagrams go out one by one.

use std::io;

use socket2::Socket;

use crate::udp_socket::Addressee;

pub(crate) fn is_available(_socket: &Socket) -> bool {
    false
}

pub(crate) fn send(
    _socket: &Socket,
    _data: &[u8],
    _segment_size: usize,
    _to: Option<&Addressee>,
) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn send_marked(_socket: &Socket, _data: &[u8], _to: &Addressee) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}
