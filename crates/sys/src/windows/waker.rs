//! A waker on a datagram socket that is connected to itself: `WSAPoll` waits for sockets only.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::windows::io::AsRawSocket;

use super::readiness::RawHandle;

#[derive(Debug)]
pub(crate) struct SystemWaker {
    socket: UdpSocket,
}

impl SystemWaker {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// A full socket is ready already, so that a failure changes nothing.
    pub(crate) fn wake(&self) {
        let _ = self.socket.send(&[1]);
    }

    pub(crate) fn drain(&self) {
        while self.socket.recv(&mut [0; 8]).is_ok() {}
    }

    pub(crate) fn raw_handle(&self) -> RawHandle {
        self.socket.as_raw_socket() as RawHandle
    }
}
