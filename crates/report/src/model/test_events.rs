//! A whole test as iperf3 reports it: what was agreed, and how it ended at both ends.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, Role, WallTime};

use super::{Phase, Row};

/// Transport as a test names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestTransport {
    /// TCP (also over several paths).
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// Who sends, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestDirection {
    /// The client.
    Forward,
    /// The server.
    Reverse,
    /// Both.
    Bidirectional,
}

/// When a test is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestLimit {
    /// After this time; zero is never.
    Time(Duration),
    /// After so many bytes.
    Bytes(u64),
    /// After so many blocks.
    Blocks(u64),
}

/// The two ends of a control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlPeer {
    /// A client's: host and port as typed.
    ConnectingTo {
        /// Host.
        host: String,
        /// Port.
        port: u16,
    },
    /// A server's: where the client came from.
    Accepted(SocketAddr),
}

/// A control connection is made; nothing is agreed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlConnected {
    /// Number of the test, from 1 in each process; a server may run several at once.
    pub test: u32,
    /// Who.
    pub peer: ControlPeer,
    /// When.
    pub at: WallTime,
    /// The test's name on the wire, 36 characters.
    pub cookie: String,
    /// MSS of the control connection, bytes (TCP clients).
    pub segment_size: Option<u32>,
    /// What is going to be asked for (clients).
    pub request: Option<TestRequest>,
}

/// What a client asks for, as far as it is reported before a server agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRequest {
    /// Transport.
    pub transport: TestTransport,
    /// Who sends.
    pub direction: TestDirection,
    /// Bits per second of a stream, 0 without limit.
    pub target_rate: u64,
    /// SO_MAX_PACING_RATE, bits per second, 0 without.
    pub pacing_rate: u64,
    /// `-M`: MSS asked for, bytes.
    pub segment_size: Option<u32>,
}

/// A file that is sent or written (`-F`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFile {
    /// Its name, as typed.
    pub name: String,
    /// Its size at the start of the test, bytes.
    pub size: u64,
}

/// A test's data connections are there and its clocks start.
#[derive(Clone, Debug, PartialEq)]
pub struct TestStart {
    /// Number of the test.
    pub test: u32,
    /// Its flows at this end, in the order of their numbers, and whether this end sends.
    pub flows: Vec<(FlowTag, bool)>,
    /// Which end reports it.
    pub role: Role,
    /// Transport.
    pub transport: TestTransport,
    /// Who sends.
    pub direction: TestDirection,
    /// Streams in each direction.
    pub streams: u32,
    /// Bytes of a block or datagram.
    pub block_length: u32,
    /// When it is over.
    pub limit: TestLimit,
    /// What does not count at the start.
    pub omit: Duration,
    /// `-i` of this end.
    pub interval: Option<Duration>,
    /// Type of service byte.
    pub tos: u8,
    /// Bits per second of a stream, 0 without limit.
    pub target_rate: u64,
    /// SO_MAX_PACING_RATE, bits per second, 0 without.
    pub pacing_rate: u64,
    /// `-M`: MSS asked for, bytes.
    pub segment_size: Option<u32>,
    /// Socket buffer asked for, bytes; 0 is the system's choice.
    pub window: u64,
    /// Send and receive buffer of the first stream, bytes.
    pub buffers: (u64, u64),
    /// Segmentation offload when sending.
    pub send_offload: bool,
    /// Segmentation offload when receiving.
    pub receive_offload: bool,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// `-F` of this end.
    pub file: Option<TestFile>,
}

/// Processor time over a test's time, percent of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// Both modes.
    pub total: f64,
    /// User mode.
    pub user: f64,
    /// Kernel mode.
    pub system: f64,
}

/// Processor time of this process, of all its tests together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorUse {
    /// Since the last interval, or while flows ran.
    pub phase: Phase,
    /// How long that was.
    pub span: Duration,
    /// Its use in that time.
    pub cpu: CpuUse,
}

/// What the peer printed, where it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerOutput {
    /// Lines of text.
    Text(String),
    /// A JSON document.
    Json(String),
}

/// A test has ended; totals of all flows were reported before.
#[derive(Clone, Debug, PartialEq)]
pub struct TestEnd {
    /// Number of the test.
    pub test: u32,
    /// This end's processor use.
    pub cpu: CpuUse,
    /// The peer's, where it said so.
    pub peer_cpu: Option<CpuUse>,
    /// Congestion control of the sending end (TCP).
    pub sender_congestion: Option<String>,
    /// Of the receiving end.
    pub receiver_congestion: Option<String>,
    /// The peer's totals, flow by flow, as it counted them. The subject is the own flow.
    pub peer_totals: Vec<Row>,
    /// Datagrams that were lost behind the last one that a receiver of this end saw.
    pub lost_behind: Vec<(FlowTag, u64)>,
    /// The peer's own output.
    pub peer_output: Option<PeerOutput>,
    /// Version of the peer where that said that it is tapeline.
    pub peer_tapeline: Option<String>,
    /// Why it ended before its time, in iperf3's words without prefix.
    pub failure: Option<TestFailure>,
}

/// Why a test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// iperf3's number for it.
    pub code: u32,
    /// iperf3's sentence, with the system's reason where one belongs to it.
    pub text: String,
    /// The peer said it.
    pub by_peer: bool,
    /// It was a signal.
    pub interrupted: bool,
}
