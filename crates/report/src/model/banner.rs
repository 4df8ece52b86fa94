//! What is known before the first byte: who listens, who connects, with which settings.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{BitRate, Tos, Transport};
use tapeline_stats::HistogramShape;

/// Size of a socket buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferSize {
    /// What the kernel reports, bytes.
    pub actual: u64,
    /// What `-w` asked for, bytes; `None` when not asked.
    pub requested: Option<u64>,
}

/// Congestion control of a TCP end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CongestionControl {
    /// Name in force.
    pub name: String,
    /// Name asked for with `-Z`.
    pub requested: Option<String>,
}

/// The MSS line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSize {
    /// `-m`: the size in force, bytes.
    Measured(u32),
    /// `-M`: the size asked for, bytes.
    Requested(u32),
}

/// The key that clients of a server must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitKeyLife {
    /// The key.
    pub key: String,
    /// The server made it up: nobody else knows it.
    pub generated: bool,
    /// How long it is good (`--permit-key-timeout`); `None` for ever.
    pub lifetime: Option<Duration>,
}

/// A listening end.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerBanner {
    /// Transport listened for.
    pub transport: Transport,
    /// The socket is an IPv6 one (`-V`).
    pub ipv6: bool,
    /// First and last port.
    pub ports: (u16, u16),
    /// Process identifier.
    pub pid: u32,
    /// Address of `-B` (unicast).
    pub bound: Option<IpAddr>,
    /// Device of `-B address%device`.
    pub device: Option<String>,
    /// Group of `-B` (multicast).
    pub group: Option<IpAddr>,
    /// Read length, bytes.
    pub read_length: u64,
    /// TCP only.
    pub congestion: Option<CongestionControl>,
    /// MSS line, when `-m` or `-M` asked for it.
    pub segment_size: Option<SegmentSize>,
    /// `-S`.
    pub tos: Option<Tos>,
    /// `--tos-override`.
    pub reflected_tos: Option<Tos>,
    /// `-1`: one test at a time.
    pub single_client: bool,
    /// `-U` or `-u -1`.
    pub single_udp: bool,
    /// Receive buffer.
    pub buffer: BufferSize,
    /// This listener belongs to the client of a dual test.
    pub of_client: bool,
    /// TCP port that a UDP server serves in addition to its own (`--working-load`).
    pub working_load: Option<u16>,
    /// The only source that `group` is joined for (`-H`).
    pub group_source: Option<IpAddr>,
    /// Device that is read below the IP layer (`--tap-dev`).
    pub tap_device: Option<String>,
    /// Received payload stays in the kernel (`--skip-rx-copy`).
    pub skip_receive_copy: bool,
    /// `--tcp-tx-delay`.
    pub transmit_delay: Option<Duration>,
    /// `--histograms`.
    pub histograms: Option<HistogramShape>,
    /// Width of a bin of `--jitter-histograms`.
    pub jitter_histograms: Option<Duration>,
    /// `-i f`: a row for each frame or burst.
    pub by_frame: bool,
    /// `--permit-key`.
    pub permit_key: Option<PermitKeyLife>,
    /// Listeners of the same server that are reported behind this one.
    pub following: usize,
}

impl ServerBanner {
    /// A listener on one port with everything else at its default.
    #[must_use]
    pub fn new(transport: Transport, port: u16) -> Self {
        Self {
            transport,
            ipv6: false,
            ports: (port, port),
            pid: 0,
            bound: None,
            device: None,
            group: None,
            read_length: 0,
            congestion: None,
            segment_size: None,
            tos: None,
            reflected_tos: None,
            single_client: false,
            single_udp: false,
            buffer: BufferSize::default(),
            of_client: false,
            working_load: None,
            group_source: None,
            tap_device: None,
            skip_receive_copy: false,
            transmit_delay: None,
            histograms: None,
            jitter_histograms: None,
            by_frame: false,
            permit_key: None,
            following: 0,
        }
    }
}

/// How far apart datagrams are meant to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetGap {
    /// As fast as possible.
    None,
    /// One every so often.
    Every(Duration),
}

/// What a request/response client is going to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPlan {
    /// Request size, bytes.
    pub request: u32,
    /// Response size, bytes.
    pub response: u32,
    /// Time the server holds a response back, microseconds.
    pub hold_micros: u32,
    /// The ends acknowledge at once.
    pub quickack: bool,
    /// Requests per burst and the time between bursts; `None` runs back to back.
    pub burst: Option<(u32, Duration)>,
}

/// Sizes and times of what a client sends, where they are special.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TrafficShape {
    /// Equal writes or datagrams.
    #[default]
    Steady,
    /// Frames at a fixed rate (`--isochronous`).
    Isochronous {
        /// Frames per second, above 0.
        frames_per_second: f64,
        /// Mean rate, bits per second.
        mean: f64,
        /// Standard deviation of the rate, bits per second.
        deviation: f64,
        /// Time between the datagrams of a frame.
        gap: Duration,
    },
    /// Bursts at a fixed rate (`--burst-period`, `--burst-size`).
    Bursts {
        /// Bytes of a burst.
        size: u64,
        /// Time from one burst to the next.
        period: Duration,
    },
    /// Lengths by a Markov chain (`-l` as a bra-ket chain), as written.
    Markov(String),
    /// Pauses of so many round-trip times (`--near-congestion`).
    NearCongestion(f64),
}

/// Pacing by the kernel (`--fq-rate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairQueue {
    /// Rate at the start.
    pub rate: BitRate,
    /// What is added to it again and again (`--fq-rate-step`).
    pub step: Option<BitRate>,
}

/// A connecting end.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientBanner {
    /// Host as typed.
    pub host: String,
    /// Remote port.
    pub port: u16,
    /// Transport.
    pub transport: Transport,
    /// Process identifier.
    pub pid: u32,
    /// `-c host%device`.
    pub device: Option<String>,
    /// Parallel flows.
    pub flows: usize,
    /// `-B` address (and port) as bound.
    pub bound: Option<IpAddr>,
    /// Write length, bytes: TCP block or UDP datagram payload.
    pub write_length: u64,
    /// Target rate in bits per second, when there is one.
    pub rate: Option<u64>,
    /// UDP only: planned gap between datagrams.
    pub gap: TargetGap,
    /// TCP only.
    pub congestion: Option<CongestionControl>,
    /// MSS line, when `-m` or `-M` asked for it.
    pub segment_size: Option<SegmentSize>,
    /// TOS byte in force.
    pub tos: Tos,
    /// `-S` set it (`--dscp` and the default do not count, as in iperf 2.2.1).
    pub tos_by_user: bool,
    /// TCP_NODELAY (Nagle off).
    pub nodelay: bool,
    /// Send buffer.
    pub buffer: BufferSize,
    /// The flows carry requests and responses.
    pub request_response: Option<RequestPlan>,
    /// This connection is a server's connect-back for a dual test.
    pub connect_back: bool,
    /// TCP flows next to the test (`--working-load`).
    pub load_flows: usize,
    /// Their congestion control, when one was asked for (`--working-load-cca`).
    pub load_congestion: Option<String>,
    /// Sizes and times of sends.
    pub shape: TrafficShape,
    /// `--fq-rate`.
    pub fair_queue: Option<FairQueue>,
    /// `--tcp-write-times`.
    pub write_times: bool,
    /// `--trip-times`.
    pub trip_times: bool,
    /// `--tcp-write-prefetch`, bytes.
    pub write_prefetch: Option<u32>,
    /// `--tcp-tx-delay`.
    pub transmit_delay: Option<Duration>,
    /// `--histograms`.
    pub histograms: Option<HistogramShape>,
    /// `-U`: a UDP test of a single thread.
    pub single_udp: bool,
    /// `--connect-only`.
    pub connect_only: bool,
}

impl ClientBanner {
    /// One flow to a host with everything else at its default.
    #[must_use]
    pub fn new(host: &str, port: u16, transport: Transport) -> Self {
        Self {
            host: host.to_owned(),
            port,
            transport,
            pid: 0,
            device: None,
            flows: 1,
            bound: None,
            write_length: 0,
            rate: None,
            gap: TargetGap::None,
            congestion: None,
            segment_size: None,
            tos: Tos(0),
            tos_by_user: false,
            nodelay: false,
            buffer: BufferSize::default(),
            request_response: None,
            connect_back: false,
            load_flows: 0,
            load_congestion: None,
            shape: TrafficShape::Steady,
            fair_queue: None,
            write_times: false,
            trip_times: false,
            write_prefetch: None,
            transmit_delay: None,
            histograms: None,
            single_udp: false,
            connect_only: false,
        }
    }
}
