//! What this end knows of a flow's limits, from its readings at both ends of its time.

use std::time::Duration;

use tapeline_base::{BitRate, MonoTime, Placement};
use tapeline_engine::{SendCounters, ThreadUse};
use tapeline_stats::{
    FrameSchedule, HostEvidence, RateTarget, ReceiverEvidence, RoundTrips, SenderEvidence,
    StreamTimes,
};
use tapeline_sys::{HostCounters, TcpInfo, UdpSocket};

/// What a flow's driver reports at its end, in addition to the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndFacts {
    /// The thread that moved the data.
    pub(crate) thread: Option<ThreadUse>,
    /// Most datagrams of one send (UDP senders).
    pub(crate) group: Option<usize>,
    /// The socket of a UDP receiver.
    pub(crate) socket: Option<SocketFacts>,
}

impl EndFacts {
    /// Where the flow was handled.
    pub(crate) fn placement(&self) -> Placement {
        let thread = self.thread.map(|thread| thread.placement);
        let arrivals = self.socket.map(|socket| socket.arrivals);
        thread.unwrap_or_default().or(arrivals.unwrap_or_default())
    }
}

/// What the system reports of a UDP receiver's socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketFacts {
    /// Datagrams that it dropped during the flow.
    pub(crate) drops: Option<u64>,
    /// Its receive buffer, bytes as the system counts it.
    pub(crate) buffer: Option<u64>,
    /// Other flows may have had some of the drops.
    pub(crate) shared: bool,
    /// Where the system took in its last packet.
    pub(crate) arrivals: Placement,
}

impl SocketFacts {
    /// Of a socket that served one flow, which had dropped `before` when the flow began.
    pub(crate) fn since(socket: &UdpSocket, before: Option<u64>) -> Self {
        let drops = socket.dropped().zip(before);
        Self {
            drops: drops.map(|(after, before)| after.saturating_sub(before)),
            buffer: socket.receive_buffer().ok(),
            shared: false,
            arrivals: socket.arrivals(),
        }
    }
}

/// What a flow was to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orders {
    /// Rate of its data; of a receiver, at which it is to read or its peer is to send.
    pub(crate) target: Option<BitRate>,
    /// It sends frames on a schedule.
    pub(crate) frames: bool,
    /// It pauses between its writes.
    pub(crate) pauses: bool,
}

/// How much of a stream may be on its way, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamRoom {
    /// The largest window that the receiver offered.
    pub(crate) window: Option<u32>,
    /// The send buffer, as the system counts it.
    pub(crate) buffer: Option<u64>,
}

/// A flow's time and what its host counted meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// When counting began.
    pub(crate) from: MonoTime,
    pub(crate) span: Duration,
    pub(crate) facts: EndFacts,
    pub(crate) host: HostCounters,
    /// Intervals that were reported late.
    pub(crate) late: u64,
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
            throttled: self
                .host
                .throttled_micros
                .and_then(|micros| share(Duration::from_micros(micros))),
            stolen: stolen
                .filter(|(_, total)| *total > 0)
                .map(|(stolen, total)| stolen as f64 / total as f64),
            late_reports: Some(self.late),
        }
    }

    fn micros(&self) -> u64 {
        whole_micros(self.span)
    }

    /// Of a sender, from its counters and the kernel's state then and now.
    pub(crate) fn sender(
        &self,
        orders: Orders,
        room: StreamRoom,
        before: (&SendCounters, Option<&TcpInfo>),
        after: (&SendCounters, Option<&TcpInfo>),
        is_stream: bool,
    ) -> SenderEvidence {
        let ((b, tcp_before), (a, tcp)) = (before, after);
        let bytes = a.bytes.saturating_sub(b.bytes);
        let reached = BitRate::over(bytes, self.span);
        let frames = FrameSchedule {
            sent: a.frames.sent.saturating_sub(b.frames.sent),
            missed: a.frames.missed.saturating_sub(b.frames.missed),
        };
        let awaited = a.input_awaited.saturating_sub(b.input_awaited) / 1000;
        let mut evidence = SenderEvidence {
            host: self.host(),
            micros: self.micros(),
            // Without the time until all has arrived: a queue makes no short test long.
            longest: whole_micros(a.last.since(self.from)),
            rate: orders.target.map(|asked| rate_target(asked, reached)),
            schedule: orders.frames.then_some(frames),
            throughput: Some(reached),
            writes: Some(a.writes.saturating_sub(b.writes)),
            input_awaited: Some(awaited),
            ..SenderEvidence::default()
        };
        if is_stream {
            let begun = tcp_before.copied().unwrap_or_default();
            evidence.stream = tcp.and_then(|info| stream_times(&begun, info));
            let idle = evidence
                .stream
                .map(|times| self.span.saturating_sub(Duration::from_micros(times.busy)));
            let awaited = self.span.saturating_sub(a.last.since(self.from));
            let counted = self.span - idle.unwrap_or_default().min(awaited);
            evidence.rate = evidence
                .rate
                .map(|rate| until_all_arrived(rate, BitRate::over(bytes, counted)));
            let since = |read: fn(&TcpInfo) -> Option<u32>| {
                let sum = read(tcp?)?;
                Some(u64::from(sum.wrapping_sub(read(&begun).unwrap_or(0))))
            };
            let paced = tcp.and_then(|info| info.max_pacing_rate);
            evidence.paced = paced
                .filter(|bytes| (1..u64::MAX).contains(bytes))
                .map(|bytes| rate_target(BitRate(bytes.saturating_mul(8)), reached));
            evidence.retransmits = since(|info| info.total_retrans);
            evidence.spurious = since(|info| info.dsack_dups);
            evidence.segments = since(|info| info.data_segs_out);
            evidence.app_limited = match orders.pauses {
                true => Some(true),
                false => tcp.and_then(|info| info.delivery_rate_app_limited),
            };
            evidence.round_trips = tcp.and_then(|info| {
                Some(RoundTrips {
                    smallest: info.min_rtt_us?,
                    smoothed: info.rtt_us?,
                })
            });
            evidence.window_use = tcp.and_then(|info| {
                share_in_flight(reached, info.min_rtt_us?, u64::from(room.window?))
            });
            evidence.buffer_use =
                tcp.and_then(|info| share_in_flight(reached, info.min_rtt_us?, room.buffer?));
        } else {
            evidence.datagrams = Some(a.writes.saturating_sub(b.writes));
            let refused = (a.refused + a.unreachable).saturating_sub(b.refused + b.unreachable);
            let errors = a.errors.saturating_sub(b.errors);
            evidence.refused = Some(refused);
            evidence.congested_sends = Some(errors.saturating_sub(refused));
            let awaited = a.room_awaited.saturating_sub(b.room_awaited) / 1000;
            evidence.room_awaited = Some(awaited);
            evidence.queue_drops = self.host.udp_send_buffer_errors;
            evidence.grouped = self.facts.group.is_some_and(|group| group > 1);
        }
        evidence
    }

    /// Of a TCP receiver that has read so many bytes.
    pub(crate) fn stream_receiver(&self, orders: Orders, bytes: u64) -> ReceiverEvidence {
        let reached = BitRate::over(bytes, self.span);
        ReceiverEvidence {
            host: self.host(),
            longest: self.micros(),
            rate: orders.target.map(|asked| rate_target(asked, reached)),
            ..ReceiverEvidence::default()
        }
    }

    /// Of a UDP receiver.
    pub(crate) fn datagram_receiver(
        &self,
        orders: Orders,
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
            longest: self.micros(),
            rate: orders
                .target
                .map(|asked| rate_target(asked, BitRate::over(bytes, self.span))),
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

fn whole_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn rate_target(BitRate(asked): BitRate, reached: f64) -> RateTarget {
    RateTarget {
        asked: asked as f64,
        reached,
    }
}

/// The rate until all had arrived: what follows is the wait for a peer that closes late, and takes
/// nothing from an order that was kept.
fn until_all_arrived(rate: RateTarget, reached: f64) -> RateTarget {
    RateTarget {
        reached: rate.reached.max(reached.min(rate.asked)),
        ..rate
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
    fn a_peer_that_closes_late_takes_nothing_from_a_rate() {
        let reached = |busy: u64| {
            let course = Course {
                from: MonoTime::ZERO,
                span: Duration::from_secs(4),
                facts: EndFacts::default(),
                host: HostCounters::default(),
                late: 0,
            };
            let counted = SendCounters {
                bytes: 3_750_000,
                last: MonoTime::ZERO + Duration::from_secs(3),
                ..SendCounters::default()
            };
            let info = TcpInfo {
                busy_time_us: Some(busy),
                rwnd_limited_us: Some(0),
                sndbuf_limited_us: Some(0),
                ..TcpInfo::default()
            };
            let orders = Orders {
                target: Some(BitRate(10_000_000)),
                ..Orders::default()
            };
            let before = (&SendCounters::default(), None);
            let sender = course.sender(
                orders,
                StreamRoom::default(),
                before,
                (&counted, Some(&info)),
                true,
            );
            sender.rate.map(|rate| rate.reached)
        };
        // Nothing was outstanding while the close was awaited.
        assert_eq!(reached(50_000), Some(10_000_000.0));
        // The last second went into delivering what was written.
        assert_eq!(reached(4_000_000), Some(7_500_000.0));
        assert_eq!(reached(3_500_000), Some(3_750_000.0 * 8.0 / 3.5));
    }

    #[test]
    fn readings_become_shares_and_unknown_ones_stay_unknown() {
        let course = Course {
            from: MonoTime::ZERO,
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
            Orders {
                target: Some(BitRate(10_000_000)),
                ..Orders::default()
            },
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
            Orders::default(),
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
                arrivals: Placement {
                    incoming_cpu: Some(3),
                    ..Placement::default()
                },
            }),
            ..EndFacts::default()
        };
        let receiver = Course { facts, ..course }.datagram_receiver(
            Orders::default(),
            (9, 3),
            2_000_000,
            false,
        );
        assert_eq!(receiver.buffer_depth, Some(10_000));
        assert_eq!(receiver.socket_drops, None);
    }
}
