//! What is to be done: the command line, resolved and cross-checked.
//!
//! A plan is immutable and complete; everything below the binary reads plans, never
//! options.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Bytes, Family, Pace, Tos, Transport};

/// Which program's habits apply where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personality {
    /// tapeline's own.
    Native,
    /// iperf 2.2.1's.
    Iperf2,
}

/// How the two directions of a client's test are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Client sends.
    Forward,
    /// Server sends on the client's connection (`-R`).
    Reverse,
    /// Both send on one socket (`--full-duplex`).
    FullDuplex,
    /// The server connects back and sends at the same time (`-d`).
    Dual {
        /// Port that the client listens on.
        listen_port: u16,
    },
    /// The server connects back and sends afterwards (`-r`).
    Tradeoff {
        /// Port that the client listens on.
        listen_port: u16,
    },
}

/// When a sender stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this time.
    Time(Duration),
    /// After this many bytes per flow.
    Bytes(Bytes),
    /// When interrupted.
    Never,
}

/// Socket options asked for by the user; `None` leaves the system's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketPlan {
    /// `-w`, bytes: send buffer of a client, receive buffer of a server.
    pub window: Option<u64>,
    /// `-M`, bytes.
    pub segment_size: Option<u32>,
    /// `-m`: show the segment size.
    pub show_segment_size: bool,
    /// `-N`.
    pub nodelay: bool,
    /// `-S` or `--dscp`.
    pub tos: Option<Tos>,
    /// The TOS came from `-S` (the banner words differ).
    pub tos_by_user: bool,
    /// `-Z`.
    pub congestion: Option<String>,
    /// `-T`.
    pub ttl: Option<u8>,
}

/// Own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindPlan {
    /// Address or name.
    pub host: String,
    /// Source port of the first flow; later flows count up.
    pub port: Option<u16>,
    /// Device (`%dev`), servers only.
    pub device: Option<String>,
}

/// How refused connections are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Total time.
    pub total: Duration,
    /// Time between attempts, at least 10 ms.
    pub every: Duration,
}

/// What a client does with its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientWorkload {
    /// Bulk data in the arrangement given.
    Stream(Arrangement),
    /// Request and response over TCP, back to back.
    RequestResponse {
        /// Request and response size, bytes (68 to 1 MiB).
        size: u32,
    },
}

/// A client's test.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// Whose habits.
    pub personality: Personality,
    /// Server's name or address.
    pub host: String,
    /// Device to leave through (`-c host%dev`).
    pub device: Option<String>,
    /// Address family.
    pub family: Family,
    /// First and last server port; flow k goes to the k-th.
    pub ports: (u16, u16),
    /// Transport.
    pub transport: Transport,
    /// Own address.
    pub bind: Option<BindPlan>,
    /// What the flows do.
    pub workload: ClientWorkload,
    /// When the sender stops.
    pub limit: Limit,
    /// `-l`, bytes; `None` leaves the choice to the engine.
    pub length: Option<u32>,
    /// `-b` per flow; `None` is unlimited for TCP and 1 Mibit/s for UDP.
    pub pace: Option<Pace>,
    /// Parallel flows, at least 1.
    pub parallel: usize,
    /// `-i`.
    pub interval: Option<Duration>,
    /// Socket options.
    pub socket: SocketPlan,
    /// Wait for all connects before writing.
    pub connect_sync: bool,
    /// `--connect-retry-time/-timer`.
    pub retry: Option<RetryPlan>,
    /// `--ignore-shutdown`: do not wait for the server's close.
    pub ignore_shutdown: bool,
    /// Final datagram exchange (false with `--no-udp-fin`).
    pub udp_fin: bool,
    /// `-X`: ask for the server's version before traffic.
    pub peer_detect: bool,
    /// `-C`: send no test header.
    pub compatibility: bool,
    /// `-e`: values that only enhanced output shows are gathered.
    pub enhanced: bool,
}

/// Which transports a server serves on its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedTransports {
    /// TCP (`-s` under the name iperf).
    Tcp,
    /// UDP (`-s -u`).
    Udp,
    /// Both (`-s` under the name tapeline).
    Both,
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPlan {
    /// Whose habits.
    pub personality: Personality,
    /// Transports.
    pub transports: ServedTransports,
    /// First and last port; 0 lets the system choose one.
    pub ports: (u16, u16),
    /// Address family.
    pub family: Family,
    /// Own address; a multicast group is joined.
    pub bind: Option<BindPlan>,
    /// Serve only this host (iperf 1.7's `-s -c host`).
    pub only_from: Option<IpAddr>,
    /// `-l`, bytes: read length.
    pub length: Option<u32>,
    /// `-i`.
    pub interval: Option<Duration>,
    /// `-t`: listener and each test end after this time.
    pub time: Option<Duration>,
    /// `-P`: end after this many connections.
    pub connections: Option<usize>,
    /// `-1`: one test at a time.
    pub single_client: bool,
    /// `-U`.
    pub single_udp: bool,
    /// `-b`: limits reads of TCP tests.
    pub pace: Option<Pace>,
    /// Socket options.
    pub socket: SocketPlan,
    /// `--tos-override`: TOS of reverse and full-duplex traffic.
    pub reflected_tos: Option<Tos>,
    /// `-e`: UDP reports carry the latency extension.
    pub enhanced: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan for `-c 127.0.0.1`.
    pub(crate) fn client_plan() -> ClientPlan {
        ClientPlan {
            personality: Personality::Iperf2,
            host: "127.0.0.1".into(),
            device: None,
            family: Family::Any,
            ports: (5001, 5001),
            transport: Transport::Tcp,
            bind: None,
            workload: ClientWorkload::Stream(Arrangement::Forward),
            limit: Limit::Time(Duration::from_secs(10)),
            length: None,
            pace: None,
            parallel: 1,
            interval: None,
            socket: SocketPlan::default(),
            connect_sync: true,
            retry: None,
            ignore_shutdown: false,
            udp_fin: true,
            peer_detect: false,
            compatibility: false,
            enhanced: false,
        }
    }
}
