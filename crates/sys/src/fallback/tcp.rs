//! TCP without the help of the kernel: received bytes are dropped by copying them somewhere.

use std::cell::RefCell;
use std::io;

use socket2::Socket;

use super::stream::recv_nonblocking;
use crate::socket_call::as_uninit;

/// Accepted sockets take the listener's mode here.
pub(crate) const ACCEPTED_INHERITS_NONBLOCKING: bool = true;

const SCRATCH: usize = 256 * 1024;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

pub(crate) fn recv_discard(socket: &Socket, max: usize, nonblocking: bool) -> io::Result<usize> {
    BUFFER.with_borrow_mut(|buffer| {
        let scratch = as_uninit(&mut buffer[..max.min(SCRATCH)]);
        if nonblocking {
            recv_nonblocking(socket, scratch)
        } else {
            socket.recv_with_flags(scratch, 0)
        }
    })
}

pub(crate) fn unacknowledged_bytes(_socket: &Socket) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopback::tcp_pair;

    #[test]
    fn the_twin_drops_what_the_kernel_would() {
        let (client, server) = tcp_pair();
        client.send_all(b"hello, world").unwrap();
        assert_eq!(recv_discard(server.inner(), 7, false).unwrap(), 7);
        let mut rest = [0; 5];
        server.recv_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"world");
        let nothing = recv_discard(server.inner(), usize::MAX, true).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        client.shutdown_write().unwrap();
        assert_eq!(recv_discard(server.inner(), 7, false).unwrap(), 0);
    }
}
