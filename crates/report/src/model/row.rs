//! Numbers of an interval or of a whole test.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, Placement, WallTime};
use tapeline_stats::{DelayCourse, Moments, ReadSizes};

/// What a row speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One direction of one flow.
    Flow(FlowTag),
    /// All flows of a group.
    Sum {
        /// How many.
        flows: usize,
    },
    /// Both directions of a full-duplex flow.
    Duplex(FlowTag),
}

/// Time covered, relative to the start of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// Start.
    pub start: Duration,
    /// End, not before the start.
    pub end: Duration,
}

impl Span {
    /// Its length.
    #[must_use]
    pub fn length(self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

/// Interval or total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One reporting interval.
    Interval,
    /// The whole test.
    Total,
    /// An interval at the start that does not count (iperf3's `-O`).
    Omitted,
}

/// Sender and receiver of the data (CSV orients its address columns that way).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Own address.
    pub local: SocketAddr,
    /// Peer's address.
    pub peer: SocketAddr,
    /// This end sends the data.
    pub local_sends: bool,
}

/// Sampled state of a TCP sender; a field that the kernel does not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Packets in flight (unacked - sacked - lost + retransmitted).
    pub in_flight_packets: Option<u32>,
    /// Congestion window, packets.
    pub cwnd_packets: Option<u32>,
    /// Maximum segment size, bytes.
    pub mss: Option<u32>,
    /// Smoothed round-trip time, microseconds.
    pub rtt_micros: Option<u32>,
    /// Its mean deviation, microseconds.
    pub rtt_variance_micros: Option<u32>,
    /// Window that the receiver offers, bytes.
    pub send_window: Option<u32>,
    /// Largest packet of the path, bytes.
    pub path_mtu: Option<u32>,
    /// Reordering events so far.
    pub reordering: Option<u32>,
    /// Slow-start threshold, packets; `None` too while there is none.
    pub ssthresh_packets: Option<u32>,
    /// The kernel's estimate of the rate at which data arrives, payload bits per second.
    pub delivery: Option<BitRate>,
    /// What the connection has carried so far.
    pub totals: TcpTotals,
}

/// Payload that a TCP sender's connection has carried since it began, as the kernel counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpTotals {
    /// When it was read, after the flow's start.
    pub at: Duration,
    /// Bytes sent, each time they were.
    pub sent: Option<u64>,
    /// Bytes of those that had been sent before.
    pub retransmitted: Option<u64>,
    /// Bytes that the receiver has acknowledged.
    pub acknowledged: Option<u64>,
}

impl TcpState {
    /// Bytes of the congestion window.
    #[must_use]
    pub fn window_bytes(&self) -> Option<u64> {
        self.bytes_of(self.cwnd_packets)
    }

    /// Bytes on the way.
    #[must_use]
    pub fn in_flight_bytes(&self) -> Option<u64> {
        self.bytes_of(self.in_flight_packets)
    }

    /// Slow-start threshold, bytes.
    #[must_use]
    pub fn threshold_bytes(&self) -> Option<u64> {
        self.bytes_of(self.ssthresh_packets)
    }

    fn bytes_of(&self, packets: Option<u32>) -> Option<u64> {
        Some(u64::from(packets?) * u64::from(self.mss?))
    }
}

/// A TCP sender's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpSend {
    /// Successful writes.
    pub writes: u64,
    /// Failed writes that did not end the flow.
    pub errors: u64,
    /// Retransmitted segments; `None` when the kernel does not report it.
    pub retransmits: Option<u64>,
    /// State at the end of the span (flows only, not sums).
    pub state: Option<TcpState>,
    /// Durations of writes, seconds (`--tcp-write-times`).
    pub write_times: Option<Moments>,
    /// Frames of isochronous traffic.
    pub frames: Option<FramesSent>,
    /// Rate at which the kernel paces, at the end of the span (`--fq-rate`).
    pub fair_queue_rate: Option<BitRate>,
}

/// Frames of an isochronous sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesSent {
    /// Frames that left.
    pub sent: u64,
    /// Ticks that passed without their frame.
    pub missed: u64,
    /// Times when ticks were missed, however many at once.
    pub slips: u64,
}

/// Frames of an isochronous receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FramesReceived {
    /// Complete frames.
    pub received: u64,
    /// Frames of which something or all is missing.
    pub lost: u64,
    /// From a frame's tick to the arrival of its last byte, seconds.
    pub latency: Moments,
}

/// What a burst is on a TCP receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BurstKind {
    /// A write of a `--trip-times` sender.
    #[default]
    Write,
    /// A frame of an isochronous sender.
    Frame,
    /// A burst of `--burst-period`.
    Periodic {
        /// Time from one burst to the next, as announced.
        period: Duration,
    },
}

/// Stamped bursts that a TCP receiver completed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BurstsReceived {
    /// What they are.
    pub kind: BurstKind,
    /// From the first write of a burst to the read of its last byte, seconds; `count` is the
    /// number of complete bursts.
    pub latency: Moments,
    /// Bytes of complete bursts.
    pub bytes: u64,
    /// Bytes on the way on average, by Little's law; `None` without samples.
    pub in_progress: Option<f64>,
    /// Frames whose numbers were skipped (isochronous).
    pub frames_lost: u64,
}

/// A TCP receiver's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReceive {
    /// Reads and their sizes.
    pub reads: ReadSizes,
    /// Stamped bursts, where the sender sends such.
    pub bursts: Option<BurstsReceived>,
}

impl Default for TcpReceive {
    /// No reads.
    fn default() -> Self {
        Self {
            reads: ReadSizes::new(0),
            bursts: None,
        }
    }
}

/// A UDP sender's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UdpSend {
    /// Successful writes (data datagrams).
    pub writes: u64,
    /// Failed writes.
    pub errors: u64,
    /// Writes that timed out (also counted in `errors`).
    pub timeouts: u64,
    /// Frames of isochronous traffic.
    pub frames: Option<FramesSent>,
}

/// Datagrams on the way, by Little's law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InProgress {
    /// Rate of datagrams times mean delay.
    pub packets: f64,
    /// Rate of datagrams times the delay's standard deviation.
    pub deviation: f64,
}

/// What checks of the link layer found (`--l2checks`), datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkErrors {
    /// Length fields disagree.
    pub length: u64,
    /// UDP checksum wrong.
    pub checksum: u64,
    /// Neither IPv4 nor IPv6 with UDP.
    pub unknown: u64,
}

/// A time without arrivals, in a flow whose datagrams are to come evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outage {
    /// After the flow's first datagram.
    pub start: Duration,
    /// Its length, less the mean distance of the flow's datagrams.
    pub length: Duration,
}

/// How losses and late datagrams lie in a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPattern {
    /// Largest reordering extent (RFC 4737): distinct datagrams that came between the first later one and a
    /// late one.
    pub longest_extent: u64,
    /// Runs of consecutive losses (RFC 3357).
    pub runs: u64,
    /// Datagrams of the longest one.
    pub longest_run: u64,
    /// The longest outage; unknown of fewer than two datagrams.
    pub outage: Option<Outage>,
}

impl LossPattern {
    /// That of this flow and another one, of which nothing else is known in common.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let longer = |a: Outage, b: Outage| if b.length > a.length { b } else { a };
        Self {
            longest_extent: self.longest_extent.max(other.longest_extent),
            runs: self.runs.saturating_add(other.runs),
            longest_run: self.longest_run.max(other.longest_run),
            outage: match (self.outage, other.outage) {
                (Some(a), Some(b)) => Some(longer(a, b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// How losses and late datagrams lie in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalPattern {
    /// Largest reordering extent (RFC 4737) of the datagrams that came in it.
    pub longest_extent: u64,
    /// Runs of consecutive losses that it added. What came late closed or split earlier ones.
    pub runs: u64,
}

/// A UDP receiver's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UdpReceive {
    /// Distinct datagrams received.
    pub received: u64,
    /// Sent as far as is known: highest sequence number (interval: its increase).
    pub total: u64,
    /// Not received.
    pub lost: u64,
    /// Arrived after a later one (distinct datagrams).
    pub reordered: u64,
    /// Arrived again.
    pub duplicates: u64,
    /// What iperf 2 prints as out of order: reordered and duplicates together.
    pub out_of_order: u64,
    /// How they lie in the flow; totals of flows only.
    pub pattern: Option<LossPattern>,
    /// The same of an interval; intervals of flows only.
    pub interval_pattern: Option<IntervalPattern>,
    /// Of `lost`: dropped by this host's own socket buffer, when the kernel reports them.
    pub lost_in_host: Option<u64>,
    /// RFC 3550 jitter at the end of the span, seconds; `None` without a sample.
    pub jitter: Option<f64>,
    /// Mean of all running jitter values, seconds: iperf 2's jitter of a total.
    pub jitter_mean: Option<f64>,
    /// Receive time minus send stamp, seconds. Clocks are not compared.
    pub transit: Moments,
    /// The same one by one, to a thousandth of their spread; totals of flows only, where something is known
    /// of the clocks.
    pub delays: Option<DelayCourse>,
    /// Read calls that delivered data, counted per datagram.
    pub reads: u64,
    /// Read calls that timed out.
    pub timeouts: u64,
    /// Datagrams longer than the read buffer.
    pub truncated: u64,
    /// Datagrams per second over the span.
    pub packets_per_second: f64,
    /// Datagrams on the way (`--trip-times`).
    pub in_progress: Option<InProgress>,
    /// Frames of isochronous traffic.
    pub frames: Option<FramesReceived>,
    /// Checks of the link layer, where asked for.
    pub link_errors: Option<LinkErrors>,
    /// Datagrams marked congestion experienced (RFC 3168); `None` when not watched.
    pub marked: Option<u64>,
    /// Datagrams that the kernel joined with others: they share its arrival stamp.
    pub joined: u64,
}

/// One-way delays of requests and responses, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWayTimes {
    /// Client to server.
    pub transmit: Moments,
    /// Server to client.
    pub receive: Moments,
    /// Absolute difference of the two.
    pub asymmetry: Moments,
    /// Pairs of which one delay was negative: the clocks disagree.
    pub clock_errors: u64,
}

/// A request/response client's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestResponse {
    /// Round-trip times, seconds; `count` is the number of responses.
    pub round_trips: Moments,
    /// The published percentiles (50, 90, 95, 99, 99.9) in seconds, when there are samples enough.
    pub percentiles: [Option<f64>; 5],
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Retransmitted segments; `None` when the kernel does not report it.
    pub retransmits: Option<u64>,
    /// State at the end of the span.
    pub state: Option<TcpState>,
    /// One-way delays (`--trip-times`).
    pub one_way: Option<OneWayTimes>,
}

/// The numbers, by what the flow does.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// TCP sender.
    TcpSend(TcpSend),
    /// TCP receiver.
    TcpReceive(TcpReceive),
    /// UDP sender.
    UdpSend(UdpSend),
    /// UDP receiver.
    UdpReceive(UdpReceive),
    /// Sender and receiver together: full duplex (`datagrams` for UDP) and the sums of
    /// dual tests (`datagrams` is `None`; `loss` when a receiver of the sum counted it).
    /// When enhanced output is wanted, the sum of a dual test is a `TcpSend`/`UdpSend` on
    /// the ordering end and a `TcpReceive`/`UdpReceive` on the serving end, because
    /// iperf 2.2.1 prints the members' own columns there.
    Both {
        /// UDP datagrams of both directions of full-duplex flows.
        datagrams: Option<u64>,
        /// (lost, total) of the receiving members on a server.
        loss: Option<(u64, u64)>,
    },
    /// Request and response.
    RequestResponse(RequestResponse),
}

impl Measure {
    /// Whether a sender counted it; whoever asks is one.
    #[must_use]
    pub fn sends(&self) -> bool {
        match self {
            Self::TcpSend(_) | Self::UdpSend(_) | Self::RequestResponse(_) => true,
            Self::TcpReceive(_) | Self::UdpReceive(_) | Self::Both { .. } => false,
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it speaks of.
    pub subject: Subject,
    /// Interval or total.
    pub phase: Phase,
    /// Time covered.
    pub span: Span,
    /// Wall time of the end of the span.
    pub ended: WallTime,
    /// Payload bytes.
    pub bytes: u64,
    /// Addresses; of a sum, those of one member.
    pub endpoints: Option<Endpoints>,
    /// The peer stamps its writes with a clock that it says is synchronised.
    pub trip_times: bool,
    /// Where the end that counted handled the flow; of a total.
    pub placement: Placement,
    /// The numbers.
    pub measure: Measure,
}

impl Row {
    /// Whether it is of the whole test.
    #[must_use]
    pub fn is_total(&self) -> bool {
        self.phase == Phase::Total
    }
}
