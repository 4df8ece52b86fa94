//! An answer to "what limited this test", with its reasons.

use std::time::Duration;

use super::evidence::{HostEvidence, RateTarget, ReceiverEvidence, SenderEvidence};

/// What kept a test from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitedBy {
    /// The path: its rate, its losses, the congestion window that follows from both.
    Network,
    /// The processor of the sender's host.
    SenderCpu,
    /// The processor of the receiver's host.
    ReceiverCpu,
    /// The sender's socket buffer (TCP).
    SendBuffer,
    /// The window that the receiver offers (TCP).
    ReceiveWindow,
    /// The receiver's socket buffer (UDP).
    ReceiveBuffer,
    /// The rate that was requested, or the schedule of frames, was reached.
    RequestedRate,
    /// Its input came too slowly.
    Input,
    /// The program itself had nothing to send, for no other reason found.
    Application,
    /// The sender's clock: it did not keep the rate that was asked for, for no other reason found.
    Pacing,
    /// The thread that reports the results was late.
    Measurement,
}

impl LimitedBy {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Network,
        Self::SenderCpu,
        Self::ReceiverCpu,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::ReceiveBuffer,
        Self::RequestedRate,
        Self::Input,
        Self::Application,
        Self::Pacing,
        Self::Measurement,
    ];

    /// Its name in documents, a published interface.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::SenderCpu => "sender_cpu",
            Self::ReceiverCpu => "receiver_cpu",
            Self::SendBuffer => "send_buffer",
            Self::ReceiveWindow => "receive_window",
            Self::ReceiveBuffer => "receive_buffer",
            Self::RequestedRate => "requested_rate",
            Self::Input => "input",
            Self::Application => "application",
            Self::Pacing => "pacing",
            Self::Measurement => "measurement",
        }
    }

    /// Whether the test itself was the limit: its order, its input, its program.
    #[must_use]
    pub const fn is_order(self) -> bool {
        matches!(self, Self::RequestedRate | Self::Input | Self::Application)
    }

    /// Whether a host or its settings limited the test, so that it says little about the
    /// network; the order of the test itself is no host's limit.
    #[must_use]
    pub const fn is_host(self) -> bool {
        !matches!(self, Self::Network) && !self.is_order()
    }
}

/// How sure a verdict is. Each word is calibrated against tests of known truth
/// (docs/dev/verdicts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// One of several explanations that the evidence leaves.
    Low,
    /// The likeliest one, right in 90 of 100 tests; the peer or a counter that would exclude
    /// others is missing.
    Medium,
    /// Counters say so, and exclude the others: right in 99 of 100 tests.
    High,
}

impl Certainty {
    /// Its name in documents, a published interface.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The one that sends.
    Sender,
    /// The one that receives.
    Receiver,
}

/// A fact that a verdict rests on. Shares are 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// The test was too short to say anything, seconds.
    TooShort(f64),
    /// There were too few writes or datagrams to say anything.
    TooFew(u64),
    /// Sends that were refused: nobody listens at the peer's port.
    Refused(u64),
    /// The rate asked for was reached.
    RateReached(RateTarget),
    /// The rate at which the system was to pace the connections was reached.
    PacedRateReached(RateTarget),
    /// The rate at which the receiver was to read, or its peer to send, has come.
    ReceivedRateReached(RateTarget),
    /// Frames that left on schedule.
    ScheduleKept(u64),
    /// Frames that missed their period, and all frames.
    ScheduleMissed(u64, u64),
    /// The rate asked for was not reached.
    RateMissed(RateTarget),
    /// Share of the time in which input was awaited.
    InputAwaited(f64),
    /// Share of the time in which a connection had nothing outstanding.
    Idle(f64),
    /// Data was delivered as fast as the sender wrote it.
    DeliveryOwn,
    /// Share of the busy time in which neither window nor buffer limited: what is left is the
    /// congestion window.
    CongestionWindow(f64),
    /// Share of the busy time in which the receiver's window was full.
    ReceiveWindow(f64),
    /// Share of the send buffer that was used in each round trip.
    BufferUse(f64),
    /// Share of the receiver's largest window that was used in each round trip.
    WindowUse(f64),
    /// Share of the busy time in which the send buffer was full and all of it on its way.
    SendBuffer(f64),
    /// Segments sent again.
    Retransmissions(u64),
    /// A queue stood on the path: round-trip times without and with it, seconds.
    Queue(f64, f64),
    /// The test lasted for so few round trips.
    RoundTrips(u64),
    /// Processor time of the busiest traffic thread, share of one processor.
    Processor(End, f64),
    /// Share of the time in which it was ready to run and got no processor.
    ProcessorAwaited(End, f64),
    /// Share of the time in which a quota of processor time held the process back.
    Throttled(End, f64),
    /// Share of processor time that a hypervisor gave to others.
    Stolen(End, f64),
    /// Datagrams lost between the hosts.
    LostInNetwork(u64),
    /// Datagrams lost in a host.
    LostInHost(End, u64),
    /// Datagrams lost, nobody knows where.
    Lost(u64),
    /// Groups of datagrams, of up to 64 each, that the receiver's socket dropped.
    GroupsDropped(u64),
    /// Time of traffic that the receiver's socket buffer holds, seconds.
    BufferDepth(f64),
    /// Sends that had to wait or failed for want of room in the host's queues.
    CongestedSends(u64),
    /// Share of the time in which sends waited for room in the host's queues.
    RoomAwaited(f64),
    /// Intervals reported late.
    LateReports(u64),
    /// Nothing is known of this end.
    Unknown(End),
}

/// What limited a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The limit; `None` when the evidence does not show it.
    pub limited_by: Option<LimitedBy>,
    /// How sure that is.
    pub certainty: Certainty,
    /// What it rests on, the weightiest first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// A test that is shorter says nothing of its limit.
    pub const LEAST_TIME: Duration = Duration::from_millis(500);
    /// Writes or datagrams below which a test says nothing of its limit.
    pub const LEAST_WRITES: u64 = 10;

    pub(crate) fn new(
        limited_by: LimitedBy,
        certainty: Certainty,
        findings: impl IntoIterator<Item = Finding>,
    ) -> Self {
        Self {
            limited_by: Some(limited_by),
            certainty,
            findings: findings.into_iter().collect(),
        }
    }
}

/// Share of a thread's time from which on its processor is the limit.
pub(crate) const SATURATED: f64 = 0.9;
/// Share of the time under a quota's hold from which on that is the limit.
const THROTTLED: f64 = 0.2;
/// Segments of which as many writes are distinguished as of [`Verdict::LEAST_WRITES`]: a long block is not one
/// burst on a slow path.
const SEGMENTS: u64 = 100;
/// Share of a rate asked for that counts as reached.
const REACHED: f64 = 0.98;
/// The same of a rate at which the system paces: its rate contains the headers.
const PACED: f64 = 0.9;

/// Why nothing can be said, whatever the evidence looks like.
pub(crate) fn unjudged(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Option<Verdict> {
    let none = |finding: Finding| Verdict {
        limited_by: None,
        certainty: Certainty::Low,
        findings: vec![finding],
    };
    // Who was refused has been sent nothing: no report, no losses.
    let refused = sender.refused.filter(|sends| *sends > 0);
    if let Some(sends) = refused.filter(|_| receiver.lost.is_none()) {
        return Some(none(Finding::Refused(sends)));
    }
    let longest = match sender.longest {
        0 => receiver.longest,
        written => written,
    };
    let least = Verdict::LEAST_TIME.as_micros();
    if longest > 0 && u128::from(longest) < least {
        return Some(none(Finding::TooShort(longest as f64 / 1e6)));
    }
    let writes = sender.writes.or(receiver.expected)?;
    let few = writes < Verdict::LEAST_WRITES
        && sender.segments.is_none_or(|segments| segments < SEGMENTS);
    few.then(|| none(Finding::TooFew(writes)))
}

/// Whether a quota of processor time holds the host's process back for long.
pub(crate) fn is_throttled(host: &HostEvidence) -> bool {
    host.throttled.is_some_and(|share| share >= THROTTLED)
}

/// Why a host's processor is the limit, if it is.
pub(crate) fn saturation(end: End, host: &HostEvidence) -> Vec<Finding> {
    let throttled = host.throttled.filter(|_| is_throttled(host));
    let saturated = host.busy.is_some() && host.load() >= SATURATED;
    if throttled.is_none() && !saturated {
        return Vec::new();
    }
    let mut found: Vec<Finding> = throttled
        .map(|share| Finding::Throttled(end, share))
        .into_iter()
        .collect();
    if saturated {
        found.extend(use_of(end, host));
    }
    let stolen = host.stolen.filter(|share| *share >= 0.02);
    found.extend(stolen.map(|share| Finding::Stolen(end, share)));
    found
}

/// How a thread used its processor, and waited for it; of one that was not saturated the wait is the reason.
pub(crate) fn use_of(end: End, host: &HostEvidence) -> impl Iterator<Item = Finding> {
    let waiting = host.waiting.filter(|share| *share >= 0.1);
    let used = host.busy.map(|share| Finding::Processor(end, share));
    let waited = waiting.map(|share| Finding::ProcessorAwaited(end, share));
    let saturated = host.busy.is_some_and(|share| share >= SATURATED);
    let (first, second) = match saturated {
        true => (used, waited),
        false => (waited, used),
    };
    first.into_iter().chain(second)
}

/// The test's own order, where it explains everything: the rate asked for was reached, the frames
/// left on schedule.
pub(crate) fn order_kept(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Option<Finding> {
    let reached = |rate: &RateTarget, share: f64| rate.reached >= share * rate.asked;
    if let Some(rate) = sender.rate.filter(|rate| reached(rate, REACHED)) {
        return Some(Finding::RateReached(rate));
    }
    // What the system could not keep back was not paced.
    let paced = |rate: &RateTarget| reached(rate, PACED) && rate.reached <= 1.1 * rate.asked;
    if let Some(rate) = sender.paced.filter(paced) {
        return Some(Finding::PacedRateReached(rate));
    }
    if let Some(rate) = receiver.rate.filter(|rate| reached(rate, REACHED)) {
        return Some(Finding::ReceivedRateReached(rate));
    }
    let schedule = sender.schedule.filter(|frames| frames.sent > 0);
    let kept = schedule.filter(|frames| frames.missed == 0);
    kept.map(|frames| Finding::ScheduleKept(frames.sent))
}

/// When nothing else explains a test: late reports, or nothing at all.
pub(crate) fn unexplained(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    let late = sender.host.late_reports.max(receiver.host.late_reports);
    if let Some(late) = late.filter(|late| *late > 0) {
        return Verdict::new(
            LimitedBy::Measurement,
            Certainty::Low,
            [Finding::LateReports(late)],
        );
    }
    Verdict {
        limited_by: None,
        certainty: Certainty::Low,
        findings: unknown_ends(sender, receiver),
    }
}

/// The ends that say nothing of their hosts.
pub(crate) fn unknown_ends(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Vec<Finding> {
    let ends = [(End::Sender, sender.host), (End::Receiver, receiver.host)];
    let unknown = ends.into_iter().filter(|(_, host)| !host.is_known());
    unknown.map(|(end, _)| Finding::Unknown(end)).collect()
}
