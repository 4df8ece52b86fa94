//! Finding the largest receive buffer by trying.

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
