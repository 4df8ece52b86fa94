//! An answer to "what limited this test", with its reasons.

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
    /// The test itself: the rate that was asked for, its input, its shortness.
    Application,
    /// The sender's clock: it did not keep the rate that was asked for, for no other reason found.
    Pacing,
    /// The thread that tells the results was late.
    Reporter,
}

impl LimitedBy {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Network,
        Self::SenderCpu,
        Self::ReceiverCpu,
        Self::SendBuffer,
        Self::ReceiveWindow,
        Self::ReceiveBuffer,
        Self::Application,
        Self::Pacing,
        Self::Reporter,
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
            Self::Application => "application",
            Self::Pacing => "pacing",
            Self::Reporter => "reporter",
        }
    }

    /// Whether a host or its settings limited the test, so that it says little about the
    /// network; the order of the test itself is no host's limit.
    #[must_use]
    pub const fn is_host(self) -> bool {
        !matches!(self, Self::Network | Self::Application)
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// One of several explanations that the evidence leaves.
    Low,
    /// The likeliest one; the other end or a counter that would exclude others is missing.
    Medium,
    /// Counters say so, and exclude the others.
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
    /// The rate asked for was reached.
    RateReached(RateTarget),
    /// The rate asked for was not reached.
    RateMissed(RateTarget),
    /// Share of the time in which input was awaited.
    InputAwaited(f64),
    /// Share of the time in which a connection had nothing outstanding.
    Idle(f64),
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
    /// Processor time of the busiest traffic thread, share of one processor.
    Processor(End, f64),
    /// Share of the time in which it was ready to run and got no processor.
    ProcessorAwaited(End, f64),
    /// Share of the scheduler's periods in which a quota held the process back.
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
    /// Intervals told late.
    LateReports(u64),
    /// Nothing is known of this end.
    Unknown(End),
}

/// What limited a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The limit; `None` when the evidence does not tell.
    pub limited_by: Option<LimitedBy>,
    /// How sure that is.
    pub certainty: Certainty,
    /// What it rests on, the weightiest first.
    pub findings: Vec<Finding>,
}

impl Verdict {
    pub(super) fn new(
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
const SATURATED: f64 = 0.9;
/// Share of the scheduler's periods from which on a quota is the limit.
const THROTTLED: f64 = 0.2;

/// Why a host's processor is the limit, if it is.
pub(super) fn saturation(end: End, host: &HostEvidence) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(share) = host.throttled.filter(|share| *share >= THROTTLED) {
        found.push(Finding::Throttled(end, share));
    }
    if let Some(busy) = host.busy {
        let waiting = host.waiting.unwrap_or(0.0);
        if busy + waiting >= SATURATED {
            found.push(Finding::Processor(end, busy));
            if waiting >= 0.1 {
                found.push(Finding::ProcessorAwaited(end, waiting));
            }
        }
    }
    if !found.is_empty()
        && let Some(share) = host.stolen.filter(|share| *share >= 0.02)
    {
        found.push(Finding::Stolen(end, share));
    }
    found
}

/// The test's own order, where it explains everything: the rate asked for was reached.
pub(super) fn rate_reached(sender: &SenderEvidence) -> Option<Finding> {
    let rate = sender.rate?;
    (rate.reached >= 0.98 * rate.asked).then_some(Finding::RateReached(rate))
}

/// When nothing else explains a test: late reports, or nothing at all.
pub(super) fn unexplained(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    let late = sender.host.late_reports.max(receiver.host.late_reports);
    if let Some(late) = late.filter(|late| *late > 0) {
        return Verdict::new(
            LimitedBy::Reporter,
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
pub(super) fn unknown_ends(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Vec<Finding> {
    let ends = [(End::Sender, sender.host), (End::Receiver, receiver.host)];
    let unknown = ends.into_iter().filter(|(_, host)| !host.is_known());
    unknown.map(|(end, _)| Finding::Unknown(end)).collect()
}
