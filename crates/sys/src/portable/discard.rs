//! Dropping received bytes by copying them somewhere.

use std::cell::RefCell;
use std::io;

use socket2::Socket;

use super::recv_nonblocking;
use crate::tcp_conn::as_uninit;

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
