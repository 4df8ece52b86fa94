//! Conditions that a reader must know of.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serialize;
use tapeline_base::{FlowTag, Tos, Transport, WallTime};

/// A socket call in which traffic failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficOperation {
    /// Sending payload.
    Write,
    /// Receiving payload.
    Receive,
    /// Closing the sending direction.
    Shutdown,
    /// The client's final datagram.
    WriteFin,
    /// Waiting for the server's report.
    ReadFin,
    /// Sending the test header.
    SendHeader,
}

/// Why there is no word from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Its host refuses the datagrams, with this reason of the operating system.
    Refused(String),
    /// Nothing came, and nothing was taken, for so long.
    Timeout(Duration),
}

/// A condition. Each has one sentence per personality.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// connect() failed. `retrying` when another attempt follows.
    ConnectFailed {
        /// The flow.
        tag: FlowTag,
        /// Where to.
        peer: SocketAddr,
        /// The operating system's reason, without number.
        reason: String,
        /// How long the attempt took.
        after: Duration,
        /// When.
        at: WallTime,
        /// Another attempt follows.
        retrying: bool,
    },
    /// `--connect-retry-time` has passed.
    ConnectTimedOut {
        /// The flow.
        tag: FlowTag,
        /// How long that was.
        after: Duration,
        /// When.
        at: WallTime,
    },
    /// The server was reached, or seemed to be, and neither answered nor took part in the test:
    /// there was none. Reported under tapeline's own name.
    NoReply {
        /// The flow.
        tag: FlowTag,
        /// Where to.
        peer: SocketAddr,
        /// TCP or UDP.
        transport: Transport,
        /// Why.
        silence: Silence,
    },
    /// A listening socket cannot be had.
    ListenFailed {
        /// Transport.
        transport: Transport,
        /// Address wanted.
        address: SocketAddr,
        /// The operating system's reason.
        reason: String,
    },
    /// The client cannot bind its address.
    BindFailed {
        /// Address wanted.
        address: SocketAddr,
        /// The operating system's reason.
        reason: String,
    },
    /// SO_BINDTODEVICE failed.
    DeviceFailed {
        /// Device wanted.
        device: String,
        /// The operating system's reason.
        reason: String,
    },
    /// Name resolution failed.
    Unresolvable {
        /// Host as typed.
        host: String,
        /// iperf 2's words for the resolver's answer.
        reason: String,
    },
    /// The congestion control cannot be had.
    CongestionFailed {
        /// Name wanted.
        name: String,
        /// The operating system's reason.
        reason: String,
    },
    /// The MSS cannot be set.
    SegmentSizeFailed {
        /// Bytes wanted.
        wanted: u32,
    },
    /// The TOS byte reads back differently.
    TosFailed {
        /// Wanted.
        wanted: Tos,
        /// In force.
        actual: Tos,
    },
    /// `-w` below 2048.
    SmallWindow {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A traffic call failed and ended the flow.
    TrafficFailed {
        /// The flow.
        tag: FlowTag,
        /// Which call.
        operation: TrafficOperation,
        /// TCP or UDP.
        transport: Transport,
        /// The operating system's reason.
        reason: String,
    },
    /// No server report came.
    NoServerReport {
        /// The flow.
        tag: FlowTag,
        /// Tries.
        tries: u32,
    },
    /// The client went on asking for the report after it was sent.
    ReportUnacknowledged {
        /// The flow.
        tag: FlowTag,
    },
    /// Nothing came from the peer for so long that the flow was ended.
    PeerVanished {
        /// The flow.
        tag: FlowTag,
        /// Time without data.
        silent_for: Duration,
    },
    /// The peer's host says that nobody takes the flow's datagrams any more, so it was ended.
    PeerGone {
        /// The flow.
        tag: FlowTag,
    },
    /// A peer's first message was no test of ours, or broke a rule.
    PeerRefused {
        /// Who.
        peer: SocketAddr,
        /// Why, in words.
        reason: String,
    },
    /// What comes in floods was counted in place of being reported one by one.
    Suppressed {
        /// How often.
        count: u64,
        /// What, such as `refusals`.
        kind: &'static str,
    },
    /// A server is out of descriptors or memory, for now: new connections give way to those that run.
    Shedding {
        /// The operating system's reason.
        reason: String,
    },
    /// A fault of this program's has ended a session of a server, and nothing else.
    InternalFault {
        /// Whose session.
        peer: SocketAddr,
    },
    /// The server does not run this client's test, and says why.
    TestRefused {
        /// The server.
        peer: SocketAddr,
        /// Why, in words.
        reason: String,
        /// Time after which another try makes sense; `None` where none does.
        retry_after: Option<Duration>,
    },
    /// The server has ended this client's test before its end, and why.
    TestCut {
        /// The server.
        peer: SocketAddr,
        /// Why, in words.
        reason: String,
    },
    /// A client of iperf 2's protocol has reached an iperf3 server.
    WrongProtocol {
        /// Host as typed.
        host: String,
        /// The server's port.
        port: u16,
    },
    /// A server has read its limits anew; they hold from now on.
    LimitsReread,
    /// The limits cannot be read anew, and stay as they are.
    LimitsKept {
        /// What is wrong, and where.
        fault: String,
    },
    /// The server waits for running tests after the first interrupt.
    WaitingForTests,
    /// The socket buffer is smaller than asked for.
    BufferClamped {
        /// Asked for, bytes.
        wanted: u64,
        /// In force, bytes.
        actual: u64,
    },
    /// A traffic thread used most of a processor.
    CpuSaturated {
        /// The flow.
        tag: FlowTag,
        /// Share of one processor, 0..1.
        share: f64,
    },
    /// The kernel dropped datagrams because the socket buffer was full.
    ReceiveBufferDrops {
        /// The flow, when the drops can be ascribed to one.
        tag: Option<FlowTag>,
        /// Datagrams.
        datagrams: u64,
    },
    /// The sender could not keep the rate asked for.
    PacingMissed {
        /// The flow.
        tag: FlowTag,
        /// Asked for, bits per second.
        wanted: u64,
        /// Reached, bits per second.
        reached: u64,
    },
    /// The time of day was set while a test ran, or the machine was suspended.
    ClockSet {
        /// By how much, nanoseconds; negative is back.
        by: i64,
    },
    /// The test ended by an interrupt: numbers cover a part of it.
    Interrupted,
    /// Any other sentence, already whole, on what failed.
    Text(String),
    /// Any other sentence, already whole, on a test that goes on: its numbers say less than was
    /// asked for.
    Remark(String),
}

impl Notice {
    /// Whether it concerns a server and none of its tests.
    #[must_use]
    pub const fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::PeerRefused { .. }
                | Self::Suppressed { .. }
                | Self::Shedding { .. }
                | Self::InternalFault { .. }
                | Self::LimitsReread
                | Self::LimitsKept { .. }
                | Self::WaitingForTests
        )
    }
}

/// How grave a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something to know; the numbers hold.
    Note,
    /// The numbers say less than they seem to.
    Warning,
    /// Something did not take place.
    Error,
}

impl Severity {
    /// The word before a sentence, and the name in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A condition with a name that does not change between versions. The other end may send
/// names that this one does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Its name, lower case with hyphens; `tapeline explain` knows it.
    pub id: String,
    /// How grave.
    pub severity: Severity,
    /// One sentence with the numbers of this run.
    pub text: String,
}
