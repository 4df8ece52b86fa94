//! Nothing is handed over.

use std::io;

use socket2::Socket;

pub(crate) fn take() -> io::Result<Vec<(u32, Socket)>> {
    Ok(Vec::new())
}
