//! Systems whose sockets take no pages.

use std::io;

use socket2::Socket;

/// Cannot be had.
#[derive(Debug)]
pub(crate) enum Payload {}

impl Payload {
    pub(crate) fn new(_chunk: &[u8], _length: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn send(&mut self, _socket: &Socket, _most: usize) -> io::Result<usize> {
        match *self {}
    }
}
