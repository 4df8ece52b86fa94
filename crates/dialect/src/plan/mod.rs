//! What is to be done: the command line, resolved and cross-checked.
//!
//! A plan is immutable and complete; everything below the binary reads plans, never
//! options.

mod latency;
mod limits;
mod shape;
mod socket;

pub use latency::{ExchangePlan, HistogramPlan, LatencyPlan, LoadDirection, WorkingLoad};
pub use limits::{Limits, Network, Networks};
pub use shape::{FrameMean, IsochronousPlan, MarkovChain, Payload, Shape, StartTime};
pub use socket::{AddressSteps, BindPlan, FairQueuePlan, SocketPlan};

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Bytes, Family, FlowTag, Pace, Tos, Transport};
use tapeline_engine::{Precision, Techniques};
use tapeline_wire::iperf2::PermitKey;

use crate::iperf3::Iperf3Server;

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

impl Arrangement {
    /// What a client's flow sends, and what it receives.
    pub(crate) fn tags(self, tag: FlowTag) -> (Option<FlowTag>, Option<FlowTag>) {
        let reversed = FlowTag {
            reversed: true,
            ..tag
        };
        match self {
            Self::Forward | Self::Dual { .. } | Self::Tradeoff { .. } => (Some(tag), None),
            Self::Reverse => (None, Some(reversed)),
            Self::FullDuplex => (Some(tag), Some(reversed)),
        }
    }
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
    /// Request and response over TCP.
    RequestResponse(ExchangePlan),
    /// `--connect-only`: connections without data.
    ConnectOnly {
        /// How many; `None` connects until the limit, or for ever.
        count: Option<u64>,
        /// Whether each connection is told, or only what all of them came to.
        told: bool,
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
    /// Sizes and times of sends.
    pub shape: Shape,
    /// `--set-rand-seed`: random sizes and rates repeat with it; `None` draws one.
    pub seed: Option<u64>,
    /// `--pacing`: how a UDP sender waits for the time of a datagram.
    pub precision: Precision,
    /// What is sent.
    pub payload: Payload,
    /// When sending begins.
    pub start: StartTime,
    /// What is measured beside the amount.
    pub latency: LatencyPlan,
    /// Addresses and ports that count up with the flows.
    pub steps: AddressSteps,
    /// TCP flows beside the test.
    pub working_load: Option<WorkingLoad>,
    /// `--permit-key`.
    pub permit_key: Option<PermitKey>,
    /// `--sync-transfer-id`: the server shows this client's flow numbers.
    pub sync_transfer_id: bool,
    /// `--l2checks`: ask the server for checks of the link layer.
    pub l2_checks: bool,
    /// `--udp-l4s`: congestion-controlled datagrams with ECT(1).
    pub l4s: bool,
    /// `-z`: traffic threads run before all others.
    pub realtime: bool,
    /// `-U`, which has a meaning at servers only: the banner under the name iperf says so.
    pub single_udp: bool,
    /// A server that is tapeline too is recognised, and asked what it saw (`docs/protocol.md`).
    pub control: bool,
    /// Round trips are measured beside the traffic, where the server is recognised.
    pub probe: bool,
    /// Optimisations that the run may use.
    pub techniques: Techniques,
}

impl ClientPlan {
    /// A plan for `-c host -p port`, everything else at its default: one flow forward for
    /// ten seconds.
    #[must_use]
    pub fn new(personality: Personality, host: &str, port: u16, transport: Transport) -> Self {
        Self {
            personality,
            host: host.into(),
            device: None,
            family: Family::Any,
            ports: (port, port),
            transport,
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
            shape: Shape::default(),
            seed: None,
            precision: Precision::Precise,
            payload: Payload::default(),
            start: StartTime::default(),
            latency: LatencyPlan::default(),
            steps: AddressSteps::default(),
            working_load: None,
            permit_key: None,
            sync_transfer_id: false,
            l2_checks: false,
            l4s: false,
            realtime: false,
            single_udp: false,
            control: false,
            probe: false,
            techniques: Techniques::default(),
        }
    }
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

/// Whose clients a server serves. The first bytes tell them apart.
#[derive(Clone, Debug, PartialEq)]
pub enum ServedProtocols {
    /// iperf 2's.
    Iperf2,
    /// iperf3's.
    Iperf3(Iperf3Server),
    /// Both.
    Both(Iperf3Server),
}

impl ServedProtocols {
    /// How iperf3 clients are served, if they are.
    #[must_use]
    pub fn iperf3(&self) -> Option<&Iperf3Server> {
        match self {
            Self::Iperf2 => None,
            Self::Iperf3(plan) | Self::Both(plan) => Some(plan),
        }
    }

    /// The same, to be changed.
    pub fn iperf3_mut(&mut self) -> Option<&mut Iperf3Server> {
        match self {
            Self::Iperf2 => None,
            Self::Iperf3(plan) | Self::Both(plan) => Some(plan),
        }
    }

    /// Whether clients of iperf 2 are served.
    #[must_use]
    pub fn has_iperf2(&self) -> bool {
        !matches!(self, Self::Iperf3(_))
    }
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
    /// A port that is served beside them; the server goes on without when it cannot be had.
    pub extra_port: Option<u16>,
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
    /// What is measured beside the amount; `trip_times` is the client's word.
    pub latency: LatencyPlan,
    /// `--permit-key`: the key that clients must know, and until when it is good.
    pub permit_key: Option<ServerKey>,
    /// `--test-exchange-timeout`: time for a client's first message; `None` is the default,
    /// zero no limit.
    pub exchange_timeout: Option<Duration>,
    /// `--sum-dstip`: sums are over flows to one of our addresses.
    pub sum_by_destination: bool,
    /// `--working-load` on a UDP server: TCP is served on the same port too.
    pub working_load: bool,
    /// `--tap-dev`: datagrams are read from this device rather than from sockets.
    pub tap_device: Option<String>,
    /// `--l2checks`: clients that ask for checks of the link layer get them. A server has to
    /// say so, since it takes a packet socket.
    pub l2_checks: bool,
    /// `-z`: traffic threads run before all others.
    pub realtime: bool,
    /// Clients that are tapeline too are recognised, and told what this end saw.
    pub control: bool,
    /// Optimisations that the run may use.
    pub techniques: Techniques,
    /// What foreign clients are granted.
    pub limits: Limits,
    /// `--user`: whose the process is once its sockets are open; `None` leaves it as it is.
    pub account: Option<AccountName>,
    /// Whose clients are served, all on the same ports.
    pub protocols: ServedProtocols,
}

/// A server's permit key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerKey {
    /// The key.
    pub key: PermitKey,
    /// The listener ends after this time (`--permit-key-timeout`); `None` never.
    pub lifetime: Option<Duration>,
}

/// A user of this system, and a group, each by its name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountName {
    /// The user.
    pub user: String,
    /// The group; `None` is the user's own.
    pub group: Option<String>,
}

/// As it is typed.
impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{}:{group}", self.user),
            None => f.write_str(&self.user),
        }
    }
}

impl ServerPlan {
    /// A plan for `-s -p port`, everything else at its default.
    #[must_use]
    pub fn new(personality: Personality, port: u16, transports: ServedTransports) -> Self {
        Self {
            personality,
            transports,
            ports: (port, port),
            extra_port: None,
            family: Family::Any,
            bind: None,
            only_from: None,
            length: None,
            interval: None,
            time: None,
            connections: None,
            single_client: false,
            single_udp: false,
            pace: None,
            socket: SocketPlan::default(),
            reflected_tos: None,
            enhanced: false,
            latency: LatencyPlan::default(),
            permit_key: None,
            exchange_timeout: None,
            sum_by_destination: false,
            working_load: false,
            tap_device: None,
            l2_checks: false,
            realtime: false,
            control: false,
            techniques: Techniques::default(),
            limits: Limits::default(),
            account: None,
            protocols: ServedProtocols::Iperf2,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan for `-c 127.0.0.1`.
    pub(crate) fn client_plan() -> ClientPlan {
        ClientPlan::new(Personality::Iperf2, "127.0.0.1", 5001, Transport::Tcp)
    }
}
