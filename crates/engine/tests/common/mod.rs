//! Connections on loopback.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_sys::{SocketOptions, TcpConn, TcpListener};

/// Only a failing test waits so long.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Both ends of a connection.
pub(crate) fn connection() -> (TcpConn, TcpConn) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = SocketOptions::default();
    let listener = TcpListener::bind(any, &options, 8)
        .expect("listener")
        .socket;
    let to = listener.local_addr().expect("address");
    let client = TcpConn::connect(to, None, &options, Some(LIMIT)).expect("connection");
    loop {
        if let Some((server, _)) = listener.accept().expect("accept") {
            return (client.conn, server);
        }
        std::thread::yield_now();
    }
}
