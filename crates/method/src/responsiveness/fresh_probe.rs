//! Foreign probes: a new connection, and an answer on it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_base::Clock;
use tapeline_sys::{Interest, SocketOptions, SystemClock, TcpConn, Wait};
use tapeline_wire::iperf2::{Bounceback, Timestamp, fill_pattern, limits};
use tapeline_wire::native::Mark;

/// Bytes of a request and of its answer: the shortest of bounce-back, the header in them.
pub(crate) const LENGTH: u32 = limits::MIN_BOUNCEBACK;
/// Time for the connection, and for the answer: a repeated SYN leaves after one second and after three.
const LIMIT: Duration = Duration::from_secs(4);

/// Bytes of IP packets of a probe, both directions together: the handshake (172 over IPv4), request,
/// answer and their acknowledgements (344), the end (208), and one repeated acknowledgement.
const COST_V4: u64 = 780;
/// IPv6 headers are 20 bytes longer, in 13 packets.
const COST_V6: u64 = COST_V4 + 260;

/// A new connection that was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FreshProbe {
    /// `tcp_f`: connecting.
    pub(crate) connect: Duration,
    /// `http_f`: from the request to the whole answer.
    pub(crate) answer: Duration,
    /// The connection's own smoothed round trip then.
    pub(crate) smoothed: Option<Duration>,
}

/// Where probes go.
#[derive(Clone, Debug)]
pub(crate) struct ProbeTarget {
    pub(crate) server: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) options: SocketOptions,
    /// What tells a server that is tapeline which probes belong together.
    pub(crate) mark: Option<Mark>,
}

impl ProbeTarget {
    /// Bytes of a probe's packets.
    pub(crate) fn cost(&self) -> u64 {
        if self.server.is_ipv6() {
            COST_V6
        } else {
            COST_V4
        }
    }

    /// Connects, asks, and closes.
    ///
    /// # Errors
    /// The server does not take the connection, or does not answer in time.
    pub(crate) fn probe(&self) -> std::io::Result<FreshProbe> {
        let connected = TcpConn::connect(self.server, self.local, &self.options, Some(LIMIT))
            .map_err(|error| error.source)?;
        let conn = connected.conn;
        conn.set_nodelay(true)?;
        conn.set_send_timeout(Some(LIMIT))?;
        let mut request = [0; LENGTH as usize];
        fill_pattern(&mut request);
        Bounceback {
            request_size: LENGTH,
            id: 1,
            client_send: Timestamp::from(SystemClock.wall()),
            mark: self.mark,
            ..Bounceback::default()
        }
        .write(&mut request);
        let asked = Instant::now();
        conn.send_all(&request)?;
        let mut answer = [0; LENGTH as usize];
        let mut length = 0;
        while length < answer.len() {
            let left = LIMIT.saturating_sub(asked.elapsed());
            if left.is_zero() || !conn.wait_ready(Interest::READ, Wait::AtMost(left))? {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            match conn.recv_nonblocking(&mut answer[length..]) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => length += more,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        let answered = asked.elapsed();
        let smoothed = conn.tcp_info().and_then(|info| info.rtt_us);
        Ok(FreshProbe {
            connect: connected.connect_time,
            answer: answered,
            smoothed: smoothed.map(|micros| Duration::from_micros(micros.into())),
        })
    }
}
