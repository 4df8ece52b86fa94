//! What each end of a test saw of its own limits.

/// How the threads that moved the data got on with their host's processors: shares of the
/// test's time, 0..=1. `None` is not known, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostEvidence {
    /// Processor time of the busiest traffic thread, as a share of one processor.
    pub busy: Option<f64>,
    /// Time in which that thread was ready to run and waited for a processor.
    pub waiting: Option<f64>,
    /// Share of the time in which a quota of processor time held the process back.
    pub throttled: Option<f64>,
    /// Share of the host's processor time that its hypervisor gave to others.
    pub stolen: Option<f64>,
    /// Intervals that the reporting thread could not report at their end.
    pub late_reports: Option<u64>,
}

impl HostEvidence {
    /// The worse of two threads or hosts in each respect, or what is known of one.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self {
            busy: larger(self.busy, other.busy),
            waiting: larger(self.waiting, other.waiting),
            throttled: larger(self.throttled, other.throttled),
            stolen: larger(self.stolen, other.stolen),
            late_reports: self.late_reports.max(other.late_reports),
        }
    }

    /// Whether anything is known that could limit a test.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.busy.is_some() || self.throttled.is_some()
    }

    /// Share of the time in which the thread ran or wanted to.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.busy.unwrap_or(0.0) + self.waiting.unwrap_or(0.0)
    }

    /// The processor is known not to be in the way: a starved thread uses little of it, so its
    /// waiting must be known, too.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let held_back = self.throttled.unwrap_or(0.0);
        self.busy.is_some() && self.waiting.is_some() && self.load() < BUSY && held_back < HELD
    }
}

/// Load of a traffic thread from which on a faster path might have gained little.
pub(crate) const BUSY: f64 = 0.6;
/// Share of the time under a quota's hold from which on it may be in the way.
const HELD: f64 = 0.05;

/// Share of a sender's datagrams, one in so many, that may be missing at the end without being lost: an
/// iperf3 receiver's test is over while those of the last round trip are under way.
const TAIL: u64 = 5;

/// Round-trip times of a connection, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// The smallest one: the path without queues.
    pub smallest: u32,
    /// The smoothed one at the end: with the queues that the test has built.
    pub smoothed: u32,
}

impl RoundTrips {
    /// How many times the smallest one fits into the smoothed one, at least 1.
    #[must_use]
    pub fn growth(&self) -> f64 {
        (f64::from(self.smoothed) / f64::from(self.smallest.max(1))).max(1.0)
    }

    /// What the smoothed one is longer, microseconds.
    #[must_use]
    pub fn queue(&self) -> u32 {
        self.smoothed.saturating_sub(self.smallest)
    }
}

/// Frames of a schedule (isochronous traffic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSchedule {
    /// Frames that left.
    pub sent: u64,
    /// Frames that could not leave within their period.
    pub missed: u64,
}

/// Times of a TCP sender by what held it up, microseconds (Linux 4.10, `tcp_info(7)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamTimes {
    /// Data was outstanding.
    pub busy: u64,
    /// Of those, the peer's window was full.
    pub receive_window: u64,
    /// Of those, the own send buffer was full and everything in it was on its way.
    pub send_buffer: u64,
}

/// A target of a rate, bits per second of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateTarget {
    /// Asked for.
    pub asked: f64,
    /// Reached.
    pub reached: f64,
}

impl RateTarget {
    /// Of two flows together.
    fn sum(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            reached: self.reached + other.reached,
        }
    }
}

/// What the sending end knows of one flow, or of all flows of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderEvidence {
    /// Its processors.
    pub host: HostEvidence,
    /// Length of the flows, microseconds; the sum over several.
    pub micros: u64,
    /// Until the last write of the longest of them, microseconds.
    pub longest: u64,
    /// A rate that was asked for; `None` for as fast as it goes.
    pub rate: Option<RateTarget>,
    /// TCP: a rate at which the system was to pace the connections (`--fq-rate`).
    pub paced: Option<RateTarget>,
    /// A schedule of frames.
    pub schedule: Option<FrameSchedule>,
    /// Bits of payload per second that left.
    pub throughput: Option<f64>,
    /// Blocks or datagrams that were written.
    pub writes: Option<u64>,
    /// Time without anything to send because input was awaited, microseconds (`-F`, `-I`).
    pub input_awaited: Option<u64>,
    /// UDP: time in which sends waited for room in the host's queues, microseconds.
    pub room_awaited: Option<u64>,
    /// TCP: what held the connections up.
    pub stream: Option<StreamTimes>,
    /// TCP: segments sent again.
    pub retransmits: Option<u64>,
    /// TCP: of those, the ones that the receiver had already (RFC 2883): no loss.
    pub spurious: Option<u64>,
    /// TCP: segments with data, those that were sent again among them.
    pub segments: Option<u64>,
    /// TCP: the rate at which data was delivered was the sender's own at the end
    /// (`tcpi_delivery_rate_app_limited`, Linux 4.9).
    pub app_limited: Option<bool>,
    /// TCP: round-trip times.
    pub round_trips: Option<RoundTrips>,
    /// UDP: datagrams that left the program.
    pub datagrams: Option<u64>,
    /// TCP: share of the largest window that the receiver offered which was used in each round
    /// trip: bytes per second times smallest round-trip time over that window.
    pub window_use: Option<f64>,
    /// TCP: share of the send buffer, as the system counts it, that the path without queues needs:
    /// bytes per second times smallest round-trip time over its size.
    pub buffer_use: Option<f64>,
    /// UDP: sends that found no room in the host's queues; their datagrams left later.
    pub congested_sends: Option<u64>,
    /// UDP: sends that were refused, since nobody listens at the peer's port.
    pub refused: Option<u64>,
    /// UDP: datagrams, or groups of them, for which the host's queues had no room: those of
    /// `congested_sends`, those that it dropped after taking them, and other programs' ones.
    pub queue_drops: Option<u64>,
    /// UDP: several datagrams left with one call, and would be dropped as one.
    pub grouped: bool,
}

impl SenderEvidence {
    /// UDP: datagrams that the sender's host took and dropped. Not known when groups were dropped,
    /// whose size nobody counts.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        let dropped = self
            .queue_drops?
            .saturating_sub(self.congested_sends.unwrap_or(0));
        (dropped == 0 || !self.grouped).then_some(dropped)
    }

    /// Both flows together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            host: self.host.worse(other.host),
            micros: self.micros.saturating_add(other.micros),
            longest: self.longest.max(other.longest),
            rate: both(self.rate, other.rate, RateTarget::sum),
            paced: both(self.paced, other.paced, RateTarget::sum),
            schedule: both(self.schedule, other.schedule, |a, b| FrameSchedule {
                sent: a.sent.saturating_add(b.sent),
                missed: a.missed.saturating_add(b.missed),
            }),
            throughput: both(self.throughput, other.throughput, |a, b| a + b),
            writes: both(self.writes, other.writes, u64::saturating_add),
            input_awaited: both(self.input_awaited, other.input_awaited, u64::saturating_add),
            room_awaited: both(self.room_awaited, other.room_awaited, u64::saturating_add),
            stream: both(self.stream, other.stream, |a, b| StreamTimes {
                busy: a.busy.saturating_add(b.busy),
                receive_window: a.receive_window.saturating_add(b.receive_window),
                send_buffer: a.send_buffer.saturating_add(b.send_buffer),
            }),
            retransmits: both(self.retransmits, other.retransmits, u64::saturating_add),
            spurious: both(self.spurious, other.spurious, u64::saturating_add),
            segments: both(self.segments, other.segments, u64::saturating_add),
            app_limited: both(self.app_limited, other.app_limited, |a, b| a && b),
            // A connection that began later never saw the path without the others' queue.
            round_trips: both(self.round_trips, other.round_trips, |a, b| RoundTrips {
                smallest: a.smallest.min(b.smallest),
                smoothed: a.smoothed.min(b.smoothed),
            }),
            datagrams: both(self.datagrams, other.datagrams, u64::saturating_add),
            window_use: larger(self.window_use, other.window_use),
            buffer_use: larger(self.buffer_use, other.buffer_use),
            congested_sends: both(
                self.congested_sends,
                other.congested_sends,
                u64::saturating_add,
            ),
            refused: both(self.refused, other.refused, u64::saturating_add),
            // Flows of one host see the same counter.
            queue_drops: both(self.queue_drops, other.queue_drops, u64::max),
            grouped: self.grouped || other.grouped,
        }
    }
}

/// What the receiving end knows of one flow, or of all flows of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverEvidence {
    /// Its processors.
    pub host: HostEvidence,
    /// Length of the longest flow, microseconds.
    pub longest: u64,
    /// A rate at which it was to read, or its peer to send; `None` for as fast as it goes.
    pub rate: Option<RateTarget>,
    /// UDP: datagrams that were sent, as far as the receiver knows.
    pub expected: Option<u64>,
    /// UDP: of those, the ones that did not come.
    pub lost: Option<u64>,
    /// UDP: datagrams that the receiver's socket dropped because its buffer was full.
    pub socket_drops: Option<u64>,
    /// UDP: other flows of the test arrived on the same socket, whose drops are all of theirs.
    pub shares_socket: bool,
    /// UDP: datagrams came joined into groups, and a group that is dropped counts once in
    /// `socket_drops`.
    pub joined: bool,
    /// UDP: packets that the host dropped before any socket; of the whole host, others'
    /// packets among them.
    pub backlog_drops: Option<u64>,
    /// UDP: traffic that the socket's buffer can hold, microseconds.
    pub buffer_depth: Option<u64>,
}

impl ReceiverEvidence {
    /// Both flows together.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            host: self.host.worse(other.host),
            longest: self.longest.max(other.longest),
            rate: both(self.rate, other.rate, RateTarget::sum),
            expected: both(self.expected, other.expected, u64::saturating_add),
            lost: both(self.lost, other.lost, u64::saturating_add),
            socket_drops: both(self.socket_drops, other.socket_drops, |a, b| {
                if self.shares_socket && other.shares_socket {
                    a.max(b)
                } else {
                    a.saturating_add(b)
                }
            }),
            shares_socket: self.shares_socket && other.shares_socket,
            joined: self.joined || other.joined,
            // Flows of one host see the same counter.
            backlog_drops: both(self.backlog_drops, other.backlog_drops, u64::max),
            buffer_depth: both(self.buffer_depth, other.buffer_depth, u64::min),
        }
    }

    /// UDP: the same with the datagrams behind the last one that came, as lost ones. A receiver that
    /// gets no end does not know of them; few are no loss.
    #[must_use]
    pub fn with_tail(self, sender: &SenderEvidence) -> Self {
        let (Some(sent), Some(expected), Some(lost)) = (sender.datagrams, self.expected, self.lost)
        else {
            return self;
        };
        let tail = sent.saturating_sub(expected);
        if tail <= sent / TAIL {
            return self;
        }
        Self {
            expected: Some(sent),
            lost: Some(lost.saturating_add(tail)),
            ..self
        }
    }

    /// UDP: datagrams that the receiver's socket dropped, where they were counted one by one.
    #[must_use]
    pub fn counted_drops(&self) -> Option<u64> {
        self.socket_drops
            .filter(|drops| *drops == 0 || !self.joined)
    }

    /// Where the lost datagrams went, as far as both ends report it.
    #[must_use]
    pub fn loss(&self, sender: &SenderEvidence) -> Option<LossOrigin> {
        let drops = DropCounts {
            sender: sender.dropped(),
            socket: self.counted_drops(),
            backlog: self.backlog_drops,
        };
        Some(LossOrigin::of(self.lost?, drops))
    }
}

/// Datagrams that the hosts themselves dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// The sender's host.
    pub sender: Option<u64>,
    /// The receiver's socket.
    pub socket: Option<u64>,
    /// The receiver's host before the socket, others' packets among them.
    pub backlog: Option<u64>,
}

/// Where lost datagrams were lost; the parts add up to all of them when each is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossOrigin {
    /// Between the hosts: what neither host dropped. `None` unless the receiver's socket drops are known.
    pub network: Option<u64>,
    /// In the receiver's host.
    pub receiver_host: Option<u64>,
    /// In the sender's host.
    pub sender_host: Option<u64>,
}

impl LossOrigin {
    /// Splits `lost` datagrams. The exact counts come first; of the packets that the receiver's host
    /// dropped before any socket, no more are taken than are left. What a host dropped
    /// beyond `lost` were repeated datagrams or those behind the last one that was counted.
    #[must_use]
    pub fn of(lost: u64, drops: DropCounts) -> Self {
        let sender = drops.sender.map(|dropped| dropped.min(lost));
        let left = lost - sender.unwrap_or(0);
        let receiver = drops.socket.map(|socket| {
            let socket = socket.min(left);
            socket + drops.backlog.unwrap_or(0).min(left - socket)
        });
        Self {
            network: receiver.map(|receiver| left - receiver),
            receiver_host: receiver,
            sender_host: sender,
        }
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (known, None) | (None, known) => known,
    }
}

/// Added up where both know it: half of a sum is no sum.
fn both<T>(a: Option<T>, b: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    Some(add(a?, b?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_datagrams_are_each_lost_once() {
        let split = |lost, sender, socket, backlog| {
            let split = LossOrigin::of(
                lost,
                DropCounts {
                    sender,
                    socket,
                    backlog,
                },
            );
            (split.network, split.receiver_host, split.sender_host)
        };
        assert_eq!(
            split(100, Some(10), Some(60), Some(0)),
            (Some(30), Some(60), Some(10))
        );
        // Packets of others are no loss of this test.
        assert_eq!(
            split(5, Some(0), Some(3), Some(99)),
            (Some(0), Some(5), Some(0))
        );
        assert_eq!(split(5, None, Some(9), None), (Some(0), Some(5), None));
        // Where the receiver's host says nothing, the network is not to blame for all.
        assert_eq!(split(5, Some(1), None, None), (None, None, Some(1)));
        assert_eq!(split(0, None, Some(0), None), (Some(0), Some(0), None));
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let known = SenderEvidence {
            retransmits: Some(3),
            micros: 10,
            ..SenderEvidence::default()
        };
        assert_eq!(known.merge(known).retransmits, Some(6));
        let sum = known.merge(SenderEvidence::default());
        assert_eq!((sum.retransmits, sum.micros), (None, 10));
        let busy = |busy| HostEvidence {
            busy,
            ..HostEvidence::default()
        };
        assert_eq!(busy(Some(0.2)).worse(busy(Some(0.7))).busy, Some(0.7));
        assert_eq!(busy(None).worse(busy(Some(0.7))).busy, Some(0.7));
    }
}
