//! The streams of an SCTP test: they come to a listener of their own on the server's port.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::Clock;
use tapeline_sys::{
    Handle, Interest, Pollable, SocketOptions, StreamProtocol, SystemClock, TcpConn, TcpListener,
    Wait,
};
use tapeline_wire::iperf3::Cookie;

use super::registry::Registry;
use super::streams::Link;

/// Time for a stream's cookie, once it is connected.
const COOKIE_LIMIT: Duration = Duration::from_secs(10);
/// Streams that wait to be taken.
const BACKLOG: i32 = 256;

/// Takes streams while a test opens them.
#[derive(Debug)]
pub(super) struct SctpDoor {
    listener: TcpListener,
}

impl SctpDoor {
    /// Listens where the control connection arrived.
    ///
    /// # Errors
    /// The system's: it has no SCTP, or another test opens its streams.
    pub(super) fn open(local: SocketAddr) -> io::Result<Self> {
        let options = SocketOptions {
            protocol: StreamProtocol::Sctp,
            reuse_address: true,
            ..SocketOptions::default()
        };
        let opened = TcpListener::bind(local, &options, BACKLOG).map_err(|error| error.source)?;
        Ok(Self {
            listener: opened.socket,
        })
    }

    /// Hands the streams that are there to their test.
    pub(super) fn take_all(&self, registry: &Registry) {
        while let Ok(Some((conn, _))) = self.listener.accept() {
            if let Some(cookie) = cookie(&conn) {
                let accepted = SystemClock.now();
                let _ = registry.claim_tcp(&cookie, accepted, Link::Tcp(Arc::new(conn)));
            }
        }
    }
}

impl Pollable for SctpDoor {
    fn handle(&self) -> Handle<'_> {
        self.listener.handle()
    }
}

/// What a stream begins with; a whole one, since it was sent as one message.
fn cookie(conn: &TcpConn) -> Option<Cookie> {
    let mut bytes = [0; Cookie::LENGTH];
    let ready = conn.wait_ready(Interest::READ, Wait::AtMost(COOKIE_LIMIT));
    let count = ready
        .ok()
        .and_then(|_| conn.recv_nonblocking(&mut bytes).ok())?;
    (count == bytes.len()).then(|| Cookie::parse(&bytes).ok())?
}
