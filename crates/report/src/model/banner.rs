//! What is known before the first byte: who listens, who connects, with which settings.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{Tos, Transport};

/// Size of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}
