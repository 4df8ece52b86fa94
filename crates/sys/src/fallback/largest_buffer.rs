//! Finding the largest buffers by trying.

use std::io;

use socket2::Socket;

/// More than this would only hold stale datagrams.
const LARGEST: usize = 64 << 20;

/// These systems refuse a request above their limit, so it is halved until it is granted.
pub(crate) fn maximise_receive_buffer(socket: &Socket) -> io::Result<()> {
    let before = socket.recv_buffer_size()?;
    let mut size = LARGEST;
    while size > before && socket.set_recv_buffer_size(size).is_err() {
        size /= 2;
    }
    Ok(())
}

/// The same for what waits to be sent, of so many bytes.
pub(crate) fn enlarge_send_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    let before = socket.send_buffer_size()?;
    let mut size = bytes;
    while size > before && socket.set_send_buffer_size(size).is_err() {
        size /= 2;
    }
    Ok(())
}
