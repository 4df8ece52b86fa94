//! One datagram, with its sender and whether it was cut.

use std::io;

use socket2::{MaybeUninitSlice, SockAddr, Socket};

use crate::socket_call::as_uninit;

pub(crate) struct One {
    pub(crate) length: usize,
    pub(crate) source: SockAddr,
    pub(crate) truncated: bool,
}

pub(crate) fn receive_one(socket: &Socket, buffer: &mut [u8], wait: bool) -> io::Result<One> {
    let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
    let mut buffers = [MaybeUninitSlice::new(as_uninit(buffer))];
    let (length, received, source) = socket.recv_from_vectored_with_flags(&mut buffers, flags)?;
    Ok(One {
        length,
        source,
        truncated: received.is_truncated(),
    })
}
