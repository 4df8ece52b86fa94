//! What each end of a test saw of its own limits.

/// How the threads that moved the data got on with their host's processors: shares of the
/// test's time, 0..=1. `None` is not known, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostEvidence {
    /// Processor time of the busiest traffic thread, as a share of one processor.
    pub busy: Option<f64>,
    /// Time in which that thread was ready to run and waited for a processor.
    pub waiting: Option<f64>,
    /// Share of the scheduler's periods in which a quota held the process back.
    pub throttled: Option<f64>,
    /// Share of the host's processor time that its hypervisor gave to others.
    pub stolen: Option<f64>,
    /// Intervals that the reporting thread could not tell at their end.
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

/// What the sending end knows of one flow, or of all flows of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderEvidence {
    /// Its processors.
    pub host: HostEvidence,
    /// Length of the flows, microseconds; the sum over several.
    pub micros: u64,
    /// A rate that was asked for; `None` for as fast as it goes.
    pub rate: Option<RateTarget>,
    /// Time without anything to send because input was awaited, microseconds (`-F`, `-I`).
    pub input_awaited: Option<u64>,
    /// UDP: time in which sends waited for room in the host's queues, microseconds.
    pub room_awaited: Option<u64>,
    /// TCP: what held the connections up.
    pub stream: Option<StreamTimes>,
    /// TCP: segments sent again.
    pub retransmits: Option<u64>,
    /// UDP: datagrams that left the program.
    pub datagrams: Option<u64>,
    /// TCP: share of the largest window that the receiver offered which was used in each round
    /// trip: bytes per second times smallest round-trip time over that window.
    pub window_use: Option<f64>,
    /// TCP: share of the send buffer, as the system counts it, that was on its way: bytes per second
    /// times smoothed round-trip time over its size.
    pub buffer_use: Option<f64>,
    /// UDP: sends that found no room in the host's queues; their datagrams left later.
    pub congested_sends: Option<u64>,
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
            rate: both(self.rate, other.rate, |a, b| RateTarget {
                asked: a.asked + b.asked,
                reached: a.reached + b.reached,
            }),
            input_awaited: both(self.input_awaited, other.input_awaited, u64::saturating_add),
            room_awaited: both(self.room_awaited, other.room_awaited, u64::saturating_add),
            stream: both(self.stream, other.stream, |a, b| StreamTimes {
                busy: a.busy.saturating_add(b.busy),
                receive_window: a.receive_window.saturating_add(b.receive_window),
                send_buffer: a.send_buffer.saturating_add(b.send_buffer),
            }),
            retransmits: both(self.retransmits, other.retransmits, u64::saturating_add),
            datagrams: both(self.datagrams, other.datagrams, u64::saturating_add),
            window_use: larger(self.window_use, other.window_use),
            buffer_use: larger(self.buffer_use, other.buffer_use),
            congested_sends: both(
                self.congested_sends,
                other.congested_sends,
                u64::saturating_add,
            ),
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

    /// UDP: datagrams that the receiver's socket dropped, where they were counted one by one.
    #[must_use]
    pub fn counted_drops(&self) -> Option<u64> {
        self.socket_drops
            .filter(|drops| *drops == 0 || !self.joined)
    }

    /// Where the lost datagrams went, as far as both ends tell.
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
