//! What this end knows of a flow's limits, from its readings at both ends of its time.

use std::time::Duration;

use tapeline_base::BitRate;
use tapeline_engine::{SendCounters, ThreadUse};
use tapeline_report::FlowEvidence;
use tapeline_stats::{HostEvidence, RateTarget, ReceiverEvidence, SenderEvidence, StreamTimes};
use tapeline_sys::{HostCounters, TcpInfo, UdpSocket};

/// What a flow's driver tells at its end, beside the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndFacts {
    /// The thread that moved the data.
    pub(crate) thread: Option<ThreadUse>,
    /// Most datagrams of one send (UDP senders).
    pub(crate) group: Option<usize>,
    /// The socket of a UDP receiver.
    pub(crate) socket: Option<SocketFacts>,
}

/// What the system tells of a UDP receiver's socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketFacts {
    /// Datagrams that it dropped during the flow.
    pub(crate) drops: Option<u64>,
    /// Its receive buffer, bytes as the system counts it.
    pub(crate) buffer: Option<u64>,
    /// Other flows may have had some of the drops.
    pub(crate) shared: bool,
}

impl SocketFacts {
    /// Of a socket that served one flow, which had dropped `before` when the flow began.
    pub(crate) fn of(socket: &UdpSocket, before: Option<u64>) -> Self {
        let drops = socket.dropped().zip(before);
        Self {
            drops: drops.map(|(after, before)| after.saturating_sub(before)),
            buffer: socket.receive_buffer().ok(),
            shared: false,
        }
    }
}

/// How much of a stream may be on its way, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamRoom {
    /// The largest window that the receiver offered.
    pub(super) window: Option<u32>,
    /// The send buffer, as the system counts it.
    pub(super) buffer: Option<u64>,
}

/// What one end knows of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Evidence {
    Sender(SenderEvidence),
    Receiver(ReceiverEvidence),
}

impl From<FlowEvidence> for Evidence {
    fn from(evidence: FlowEvidence) -> Self {
        match evidence {
            FlowEvidence::Sender(sender) => Self::Sender(sender),
            FlowEvidence::Receiver(receiver) => Self::Receiver(receiver),
        }
    }
}

impl From<Evidence> for FlowEvidence {
    fn from(evidence: Evidence) -> Self {
        match evidence {
            Evidence::Sender(sender) => Self::Sender(sender),
            Evidence::Receiver(receiver) => Self::Receiver(receiver),
        }
    }
}

/// A flow's time and what its host counted meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub(super) span: Duration,
    pub(super) facts: EndFacts,
    pub(super) host: HostCounters,
    /// Intervals that were told late.
    pub(super) late: u64,
}

impl Course {
    fn host(&self) -> HostEvidence {
        let span = self.span.as_secs_f64();
        let share = |time: Duration| (span > 0.0).then(|| (time.as_secs_f64() / span).min(1.0));
        let thread = self.facts.thread.map(|thread| thread.time);
        let stolen = self.host.steal_ticks.zip(self.host.total_ticks);
        HostEvidence {
            busy: thread.and_then(|time| share(time.used)),
            waiting: thread.and_then(|time| share(time.waited?)),
            stolen: stolen
                .filter(|(_, total)| *total > 0)
                .map(|(stolen, total)| stolen as f64 / total as f64),
            late_reports: Some(self.late),
            ..HostEvidence::default()
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.span.as_micros()).unwrap_or(u64::MAX)
    }

    /// Of a sender, from its counters and the kernel's state then and now.
    pub(super) fn sender(
        &self,
        target: Option<BitRate>,
        room: StreamRoom,
        before: (&SendCounters, Option<&TcpInfo>),
        after: (&SendCounters, Option<&TcpInfo>),
        is_stream: bool,
    ) -> SenderEvidence {
        let ((b, tcp_before), (a, tcp)) = (before, after);
        let bytes = a.bytes.saturating_sub(b.bytes);
        let reached = BitRate::over(bytes, self.span);
        let rate = target.map(|BitRate(asked)| RateTarget {
            asked: asked as f64,
            reached,
        });
        let awaited = a.input_awaited.saturating_sub(b.input_awaited) / 1000;
        let mut evidence = SenderEvidence {
            host: self.host(),
            micros: self.micros(),
            rate,
            input_awaited: Some(awaited),
            ..SenderEvidence::default()
        };
        if is_stream {
            let begun = tcp_before.copied().unwrap_or_default();
            evidence.stream = tcp.and_then(|info| stream_times(&begun, info));
            evidence.retransmits = tcp
                .and_then(|info| info.total_retrans)
                .map(|sum| u64::from(sum.wrapping_sub(begun.total_retrans.unwrap_or(0))));
            evidence.window_use = tcp.and_then(|info| {
                share_in_flight(reached, info.min_rtt_us?, u64::from(room.window?))
            });
            evidence.buffer_use =
                tcp.and_then(|info| share_in_flight(reached, info.rtt_us?, room.buffer?));
        } else {
            evidence.datagrams = Some(a.writes.saturating_sub(b.writes));
            evidence.congested_sends = Some(a.errors.saturating_sub(b.errors));
            let awaited = a.room_awaited.saturating_sub(b.room_awaited) / 1000;
            evidence.room_awaited = Some(awaited);
            evidence.queue_drops = self.host.udp_send_buffer_errors;
            evidence.grouped = self.facts.group.is_some_and(|group| group > 1);
        }
        evidence
    }

    /// Of a TCP receiver.
    pub(super) fn stream_receiver(&self) -> ReceiverEvidence {
        ReceiverEvidence {
            host: self.host(),
            ..ReceiverEvidence::default()
        }
    }

    /// Of a UDP receiver.
    pub(super) fn datagram_receiver(
        &self,
        (expected, lost): (u64, u64),
        bytes: u64,
        joined: bool,
    ) -> ReceiverEvidence {
        let per_second = BitRate::over(bytes, self.span) / 8.0;
        let socket = self.facts.socket;
        let buffer = socket.and_then(|socket| socket.buffer);
        let depth = buffer.filter(|_| per_second > 0.0);
        ReceiverEvidence {
            host: self.host(),
            expected: Some(expected),
            lost: Some(lost),
            socket_drops: socket.and_then(|socket| socket.drops),
            shares_socket: socket.is_some_and(|socket| socket.shared),
            joined,
            backlog_drops: self.host.softnet_drops,
            buffer_depth: depth.map(|bytes| (bytes as f64 / per_second * 1e6) as u64),
        }
    }
}

/// What the kernel's clocks of a sender added up to.
fn stream_times(before: &TcpInfo, after: &TcpInfo) -> Option<StreamTimes> {
    let since =
        |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before.unwrap_or(0)));
    Some(StreamTimes {
        busy: since(after.busy_time_us, before.busy_time_us)?,
        receive_window: since(after.rwnd_limited_us, before.rwnd_limited_us)?,
        send_buffer: since(after.sndbuf_limited_us, before.sndbuf_limited_us)?,
    })
}

/// What is on its way in a round trip, as a share of `room` bytes.
fn share_in_flight(bits_per_second: f64, round_trip_us: u32, room: u64) -> Option<f64> {
    let seconds = f64::from(round_trip_us) * 1e-6;
    (room > 0).then(|| bits_per_second / 8.0 * seconds / room as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_become_shares_and_unknown_ones_stay_unknown() {
        let course = Course {
            span: Duration::from_secs(2),
            facts: EndFacts::default(),
            host: HostCounters::default(),
            late: 0,
        };
        let counted = SendCounters {
            bytes: 2_500_000,
            ..SendCounters::default()
        };
        let begun = TcpInfo {
            busy_time_us: Some(100),
            rwnd_limited_us: Some(0),
            sndbuf_limited_us: Some(0),
            ..TcpInfo::default()
        };
        let ended = TcpInfo {
            busy_time_us: Some(1_000_100),
            rwnd_limited_us: Some(700_000),
            min_rtt_us: Some(20_000),
            ..begun
        };
        let sender = course.sender(
            Some(BitRate(10_000_000)),
            StreamRoom {
                window: Some(25_000),
                buffer: None,
            },
            (&SendCounters::default(), Some(&begun)),
            (&counted, Some(&ended)),
            true,
        );
        assert_eq!(sender.rate.map(|rate| rate.reached), Some(10_000_000.0));
        let times = sender.stream.expect("told");
        assert_eq!((times.busy, times.receive_window), (1_000_000, 700_000));
        assert_eq!(sender.window_use, Some(1.0));
        assert_eq!((sender.host.busy, sender.retransmits), (None, None));
        let old = course.sender(
            None,
            StreamRoom::default(),
            (&SendCounters::default(), None),
            (&counted, None),
            true,
        );
        assert_eq!((old.stream, old.rate), (None, None));

        let facts = EndFacts {
            socket: Some(SocketFacts {
                drops: None,
                buffer: Some(10_000),
                shared: false,
            }),
            ..EndFacts::default()
        };
        let receiver = Course { facts, ..course }.datagram_receiver((9, 3), 2_000_000, false);
        assert_eq!(receiver.buffer_depth, Some(10_000));
        assert_eq!(receiver.socket_drops, None);
    }
}
