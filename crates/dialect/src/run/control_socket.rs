//! The two ends of a control connection's life that both roles have alike: keepalive and close.

use std::io;
use std::time::Duration;

use tapeline_engine::Stop;
use tapeline_sys::{Interest, TcpConn, Wait};

use super::context::Context;
use crate::plan::Keepalive;

/// Longest wait between two looks at the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Sets what `--cntl-ka` asks for.
///
/// # Errors
/// Those of `setsockopt(2)`.
pub(crate) fn keep_alive(conn: &TcpConn, keepalive: Option<Keepalive>) -> io::Result<()> {
    match keepalive {
        None => Ok(()),
        Some(Keepalive {
            idle,
            interval,
            count,
        }) => conn.set_keepalive_probes(idle, interval, count),
    }
}

/// Waits for the peer's close, at most so long or until `stop`: a connection with unread bytes
/// would be reset, and the peer's unread ones lost.
pub(crate) fn close_gracefully(conn: &TcpConn, context: &Context, limit: Duration, stop: &Stop) {
    let until = context.now() + limit;
    let mut buffer = [0; 4096];
    if conn.shutdown_write().is_err() {
        return;
    }
    while context.now() < until && !stop.is_raised() {
        match conn.wait_ready(Interest::READ, Wait::AtMost(POLL_INTERVAL)) {
            Ok(false) => {}
            Ok(true) => match conn.recv_nonblocking(&mut buffer) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
}
