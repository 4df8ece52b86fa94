//! A flow that is connected.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, Tos, Transport, WallTime};

/// What kind of test the connection carries, as its line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionFlavour {
    /// Client to server.
    #[default]
    Plain,
    /// Server to client on the client's connection, or a connect-back.
    Reverse,
    /// Both at once on one socket.
    FullDuplex,
    /// No data follow (`--connect-only`): the line is shown in any case.
    ConnectOnly,
    /// Request and response; sizes in bytes, hold in microseconds.
    RequestResponse {
        /// Request size.
        request: u32,
        /// Response size.
        response: u32,
        /// Time the server holds a response back.
        hold_micros: u32,
        /// The ends acknowledge at once.
        quickack: bool,
    },
}

/// Type of service as the connection line shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TosNote {
    /// Sent data carries it.
    Transmit(Tos),
    /// Received data is expected to carry it.
    Receive(Tos),
    /// Both directions; received first.
    Both {
        /// On received data.
        receive: Tos,
        /// On sent data.
        transmit: Tos,
    },
}

/// TCP_INFO right after the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialTcp {
    /// Congestion window, KiB (cwnd * mss / 1024).
    pub cwnd_kib: u32,
    /// Maximum segment size, bytes.
    pub mss: u32,
    /// Round-trip time of the handshake, microseconds.
    pub rtt_micros: u32,
}

/// How a connection cuts its data into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentFormat {
    /// Most payload of a segment, bytes.
    pub payload: u32,
    /// Each has the time stamp option, 12 bytes.
    pub timestamps: bool,
}

/// The client's test that a server's flow is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTest {
    /// Number within this process, which the flows of a test share.
    pub number: u32,
    /// Directions of flows that it has in all, where the client says so.
    pub flows: Option<u32>,
}

/// The connection line.
#[derive(Clone, Debug, PartialEq)]
pub struct Connected {
    /// Flow and direction.
    pub tag: FlowTag,
    /// What carries it.
    pub transport: Transport,
    /// Own address.
    pub local: SocketAddr,
    /// Device that owns the own address.
    pub device: Option<String>,
    /// Peer's address.
    pub peer: SocketAddr,
    /// Kind of test.
    pub flavour: ConnectionFlavour,
    /// `--no-udp-fin` is in force.
    pub no_udp_fin: bool,
    /// Delays can be computed from the stamps (`--trip-times`).
    pub trip_times: bool,
    /// Congestion control in force (TCP), and whether `-Z` asked for it.
    pub congestion: Option<String>,
    /// `-Z` was given: enhanced output names it.
    pub congestion_by_user: bool,
    /// Type of service, when not zero.
    pub tos: Option<TosNote>,
    /// The peer has shown that it is tapeline; which version is reported by
    /// [`PeerResults`](super::PeerResults). Then the next is what its header says for iperf.
    pub peer_is_tapeline: bool,
    /// Peer's version as it is shown: `2.2.1-rc`.
    pub peer_version: Option<String>,
    /// The peer's version was asked for (`-X`): shown without `-e` too.
    pub peer_detected: bool,
    /// TCP state after the handshake.
    pub initial: Option<InitialTcp>,
    /// How long connect() took (TCP client).
    pub connect_time: Option<Duration>,
    /// `--tcp-rx-window-clamp` in force, bytes.
    pub window_clamp: Option<u32>,
    /// How data is cut into segments; `None` when the system does not say.
    pub segments: Option<SegmentFormat>,
    /// `--tcp-write-prefetch` in force, bytes.
    pub write_prefetch: Option<u32>,
    /// Both ends send, and the server connects back for its part (`-d`, `-r`; servers).
    pub connects_back: bool,
    /// Isochronous traffic.
    pub isochronous: bool,
    /// Time between bursts that the client announced (servers).
    pub burst_period: Option<Duration>,
    /// The sender is paced by the kernel (`--fq-rate`).
    pub fair_queue: bool,
    /// Traffic starts at a time of day.
    pub epoch_start: bool,
    /// The link layer is checked.
    pub link_checks: bool,
    /// L4S traffic.
    pub l4s: bool,
    /// Acknowledgements are sent at once.
    pub quickack: bool,
    /// `--permit-key`: all lines of the flow carry it.
    pub permit_key: Option<String>,
    /// The test that the flow is part of, on a server of iperf 2's protocol.
    pub test: Option<ClientTest>,
    /// When. `None` on reverse server flows, whose line has no date.
    pub at: Option<WallTime>,
}

impl Connected {
    /// A connection of which only the addresses are known.
    #[must_use]
    pub fn new(tag: FlowTag, transport: Transport, local: SocketAddr, peer: SocketAddr) -> Self {
        Self {
            tag,
            transport,
            local,
            device: None,
            peer,
            flavour: ConnectionFlavour::Plain,
            no_udp_fin: false,
            trip_times: false,
            congestion: None,
            congestion_by_user: false,
            tos: None,
            peer_is_tapeline: false,
            peer_version: None,
            peer_detected: false,
            initial: None,
            connect_time: None,
            window_clamp: None,
            segments: None,
            write_prefetch: None,
            connects_back: false,
            isochronous: false,
            burst_period: None,
            fair_queue: false,
            epoch_start: false,
            link_checks: false,
            l4s: false,
            quickack: false,
            permit_key: None,
            test: None,
            at: None,
        }
    }
}
