//! What a server serves, and to whom.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Family, Pace, Tos};
use tapeline_engine::Techniques;
use tapeline_wire::iperf2::PermitKey;

use super::client::Personality;
use super::iperf3::Iperf3Server;
use super::latency::LatencyPlan;
use super::limits::Limits;
use super::socket::{BindPlan, SocketPlan};

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

/// Whose clients a server serves. The first bytes distinguish them.
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
    /// A port that is served in addition to them; the server goes on without when it cannot be had.
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
    /// What is measured in addition to the amount; `trip_times` is the client's word.
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
    /// Clients that are tapeline too are recognised, and sent what this end saw.
    pub control: bool,
    /// Optimisations that the run may use.
    pub techniques: Techniques,
    /// `--affinity`: the CPU that all threads of the server run on.
    pub affinity: Option<u32>,
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
    /// It was made up for this run, and its user must read it.
    pub generated: bool,
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
            affinity: None,
            limits: Limits::default(),
            account: None,
            protocols: ServedProtocols::Iperf2,
        }
    }
}
