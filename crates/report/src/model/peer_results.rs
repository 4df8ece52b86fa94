//! What the peer says of a test over the control connection of two tapelines
//! (`docs/dev/protocol.md`), and what follows from it for the two clocks.

use std::time::Duration;

use tapeline_base::FlowTag;
use tapeline_stats::{DelayCounts, ReceiverEvidence, SenderEvidence};

use super::{CpuUse, Row};

/// The peer's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerProgram {
    /// Its name.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The system that it runs on.
    pub system: String,
}

/// What the peer has sent or received so far, in all flows of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeerProgress {
    /// Since its first flow's start.
    pub elapsed: Duration,
    /// Payload bytes.
    pub bytes: u64,
    /// Datagrams; 0 over TCP.
    pub datagrams: u64,
    /// Flows under way.
    pub flows: u32,
    /// Its processor use since it sent its counters last, percent of one processor.
    pub cpu_percent: Option<f64>,
}

/// The peer's results of a whole test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerResults {
    /// The peer's program, where it has said so.
    pub program: Option<PeerProgram>,
    /// Time over which its processor use was taken, seconds.
    pub seconds: Option<f64>,
    /// Its processor use while the test ran, percent of one processor, all of its tests together.
    pub cpu: Option<CpuUse>,
    /// Its flows, each by the number of this end's flow.
    pub flows: Vec<PeerFlow>,
    /// What its host dropped meanwhile.
    pub host: HostDrops,
    /// How far its real-time clock was adjusted during the test, nanoseconds.
    pub clock_adjustment_ns: Option<i64>,
    /// What it warns of.
    pub warnings: Vec<PeerWarning>,
}

/// One flow as the peer counted it.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerFlow {
    /// Its total. The subject is this end's flow; `local_sends` of the endpoints, which are this
    /// end's too, says who sends.
    pub total: Row,
    /// What limited it, as far as its system reports it; a value that is not known is `None`.
    pub limits: PeerLimits,
    /// All that it knows of the flow's limits, where it says so much.
    pub evidence: Option<FlowEvidence>,
    /// Smoothed round trips of a TCP sender at the ends of its intervals, microseconds.
    pub round_trips: Vec<u32>,
}

/// What one end knows of a flow's limits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each flow of a test, and copied"
)]
pub enum FlowEvidence {
    /// The end that sends.
    Sender(SenderEvidence),
    /// The end that receives.
    Receiver(ReceiverEvidence),
}

/// Times and counts that say what limited a flow at the peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerLimits {
    /// Congestion control in use (TCP).
    pub congestion_control: Option<String>,
    /// Segments sent again (TCP senders).
    pub retransmits: Option<u64>,
    /// Smoothed round-trip time at the end (TCP senders).
    pub rtt: Option<Duration>,
    /// Time in which there was something to send (TCP senders).
    pub busy: Option<Duration>,
    /// Of that, time in which the receiver's window was full.
    pub receive_window_limited: Option<Duration>,
    /// Of that, time in which the send buffer was the limit.
    pub send_buffer_limited: Option<Duration>,
    /// Datagrams that its socket dropped (UDP receivers).
    pub socket_drops: Option<u64>,
    /// Processor time of the flow's own thread as a share of the flow's time, from 0 to 1.
    pub thread_cpu: Option<f64>,
}

/// Packets that a host dropped during a test, of whatever flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// Datagrams for which a socket's receive buffer had no room.
    pub udp_receive: Option<u64>,
    /// Packets for which the queue between interrupt and protocol had no room.
    pub softnet: Option<u64>,
}

/// A warning of the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerWarning {
    /// Its identifier.
    pub id: String,
    /// Note, warning or error.
    pub severity: String,
    /// The sentence.
    pub text: String,
}

/// Why there are no results of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPeerResults {
    /// Nothing showed that it is tapeline.
    NotRecognised,
    /// The control connection could not be made.
    Unreachable(String),
    /// The server does not want it.
    Refused(String),
    /// It broke, or the peer was silent for too long.
    Broken(String),
}

/// The difference of the two ends' clocks over a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockEstimate {
    /// The peer's clock minus this end's in the middle of the test, seconds.
    pub offset: f64,
    /// Largest error of that offset, seconds, if the quiet path takes as long there as back.
    pub bound: f64,
    /// Largest error of the offset whatever the path is like, seconds: with a path that takes all of the
    /// smallest round trip in one direction.
    pub certain: f64,
    /// How much faster the peer's clock runs, seconds per second.
    pub skew: f64,
    /// Smallest round trip of an exchange, seconds.
    pub round_trip: f64,
    /// Exchanges of clock readings.
    pub exchanges: u64,
}

impl ClockEstimate {
    /// What a path that is not symmetric may add to a bound, seconds.
    #[must_use]
    pub fn asymmetry(&self) -> f64 {
        (self.certain - self.bound).max(0.0)
    }
}

/// How one-way delays relate to the clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelayClock {
    /// Corrected by the estimated offset of the clocks.
    Estimated(ClockEstimate),
    /// As measured: the user says that the clocks agree.
    AssumedSynchronised,
}

/// The one-way delay of a flow's datagrams, by either end's count.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWayDelay {
    /// The flow; reversed when the peer sent.
    pub tag: FlowTag,
    /// Datagrams.
    pub samples: u64,
    /// Smallest, seconds.
    pub min: f64,
    /// Mean, seconds.
    pub mean: f64,
    /// Largest, seconds.
    pub max: f64,
    /// Standard deviation, seconds.
    pub deviation: f64,
    /// The delays one by one, corrected like the others; empty when the receiver reports only the numbers above.
    pub counts: DelayCounts,
    /// What they are worth. Where it is estimated, its bound is that of the mean.
    pub clock: DelayClock,
    /// Largest error of a single delay, and so of extremes and percentiles, seconds: the difference of the
    /// clocks is known best in the middle of the test. `None` where it is not estimated.
    pub bound_single: Option<f64>,
}
