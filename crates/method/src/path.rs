//! What one TCP connection tells of a path, before anything is measured.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_sys::{SocketOptions, TcpConn};

use crate::common::Common;

/// Time for the connection.
const CONNECT: Duration = Duration::from_secs(3);
/// What is taken where the connection does not tell.
const USUAL_MTU: u32 = 1500;
const USUAL_ROUND_TRIP: Duration = Duration::from_millis(100);
/// No path of either family carries less, bytes.
const LEAST_MTU: u32 = 576;

/// What one TCP connection tells of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathFacts {
    /// The largest packet, as far as this host knows, bytes.
    pub(crate) mtu: u32,
    /// Data of a full segment, bytes; `None` where that is not known.
    pub(crate) segment: Option<u32>,
    /// Time of the handshake.
    pub(crate) round_trip: Duration,
    /// The server's address is one of IPv6.
    pub(crate) is_v6: bool,
}

impl PathFacts {
    /// Connects to the server, and closes at once. What cannot be told that way is as usual.
    #[must_use]
    pub(crate) fn measure(common: &Common, server: SocketAddr) -> Self {
        let options = SocketOptions {
            device: common.device.clone(),
            ..SocketOptions::default()
        };
        let local = common.local(server).ok().flatten();
        let connected = TcpConn::connect(server, local, &options, Some(CONNECT)).ok();
        let info = connected.as_ref().and_then(|made| made.conn.tcp_info());
        let mtu = info.as_ref().and_then(|info| info.pmtu);
        let segment = connected.as_ref().and_then(|made| made.conn.mss());
        Self {
            mtu: mtu.unwrap_or(USUAL_MTU).max(LEAST_MTU),
            segment,
            round_trip: connected.map_or(USUAL_ROUND_TRIP, |made| made.connect_time),
            is_v6: server.is_ipv6(),
        }
    }

    /// Bytes of IP and UDP headers of a datagram.
    #[must_use]
    pub(crate) fn headers(&self) -> u32 {
        if self.is_v6 { 48 } else { 28 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_answer_is_a_usual_one() {
        // Nobody listens on port 1.
        let path = PathFacts::measure(&Common::new("127.0.0.1", 1), ([127, 0, 0, 1], 1).into());
        assert_eq!((path.mtu, path.segment, path.headers()), (1500, None, 28));
    }

    #[test]
    fn a_connection_tells_of_its_path() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("an address");
        let path = PathFacts::measure(&Common::new("127.0.0.1", server.port()), server);
        assert!(path.mtu > 1500, "{path:?}");
        assert!(path.round_trip < Duration::from_secs(1));
    }
}
