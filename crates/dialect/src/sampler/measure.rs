//! From two snapshots to a row's numbers, and from a sender's packet gaps to how its datagrams left.

use std::time::Duration;

use tapeline_base::{BitRate, Clock, FlowTag, MonoTime};
use tapeline_engine::{
    BurstCounters, Closed, DatagramCounters, DelaySeries, FrameArrivals, FrameRecord, OneWayDelays,
    PacketGaps, ReceiveCounters, RequestResponseCounters, SendCounters,
};
use tapeline_report::{
    BurstKind, BurstsReceived, FlowEvidence, FramesReceived, FramesSent, GapErrors, InProgress,
    IntervalPattern, LinkErrors, LossPattern, Measure, OneWayTimes, Outage, Phase, RequestResponse,
    SendTiming, Span, TcpReceive, TcpSend, TcpState, TcpTotals, UdpReceive, UdpSend,
};
use tapeline_stats::{Moments, ReadSizes, little_in_progress, little_packets_in_progress};
use tapeline_sys::{SystemClock, TcpConn, TcpInfo};

use super::evidence::{Course, Orders, StreamRoom};
use super::flow_start::{CounterCell, FlowStart};

/// One reading of a flow's counters.
#[derive(Clone, Copy, Debug)]
enum Counters {
    Send(SendCounters),
    Receive(ReceiveCounters),
    Bursts(BurstCounters),
    Datagram(DatagramCounters),
    Exchange(RequestResponseCounters),
}

/// Counters with the kernel's view at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    counters: Counters,
    tcp: Option<TcpInfo>,
    /// When `tcp` was read.
    read_at: MonoTime,
}

impl Sample {
    fn read(counters: Counters, conn: Option<&TcpConn>) -> Self {
        Self {
            counters,
            tcp: conn.and_then(TcpConn::tcp_info),
            read_at: conn.map_or(MonoTime::ZERO, |_| SystemClock.now()),
        }
    }

    /// The connection's state, for a flow that began at `start`.
    fn tcp_state(&self, start: MonoTime) -> Option<TcpState> {
        let info = self.tcp.as_ref()?;
        let mut state = tcp_state(info);
        state.totals.at = self.read_at.since(start);
        Some(state)
    }

    /// The reading that later ones are compared with: nothing yet, but the kernel's
    /// counters are not zero for a connection with a past.
    pub(crate) fn first(cell: &CounterCell, conn: Option<&TcpConn>) -> Self {
        Self::read(zero(cell), conn)
    }

    /// The window that the receiver offers, bytes.
    pub(crate) fn window(&self) -> Option<u32> {
        self.tcp?.snd_wnd
    }

    /// What may have limited the flow since `before`.
    pub(crate) fn evidence(
        &self,
        before: &Self,
        course: &Course,
        flow: &FlowStart,
        room: StreamRoom,
    ) -> Option<FlowEvidence> {
        let orders = Orders {
            target: flow.extras.target,
            frames: flow.extras.frames,
            pauses: flow.extras.pauses,
        };
        let bytes = self.bytes().saturating_sub(before.bytes());
        match (&before.counters, &self.counters) {
            (Counters::Send(b), Counters::Send(a)) => {
                let is_stream = matches!(flow.cell, CounterCell::TcpSend(_));
                Some(FlowEvidence::Sender(course.sender(
                    orders,
                    room,
                    (b, before.tcp.as_ref()),
                    (a, self.tcp.as_ref()),
                    is_stream,
                )))
            }
            (Counters::Receive(_), _) | (Counters::Bursts(_), _) => Some(FlowEvidence::Receiver(
                course.stream_receiver(orders, bytes),
            )),
            (Counters::Datagram(b), Counters::Datagram(a)) => {
                Some(FlowEvidence::Receiver(course.datagram_receiver(
                    orders,
                    (
                        a.total.saturating_sub(b.total),
                        a.lost.saturating_sub(b.lost),
                    ),
                    bytes,
                    a.joined > b.joined,
                )))
            }
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match &self.counters {
            Counters::Send(c) => c.bytes,
            Counters::Receive(c) => c.bytes,
            Counters::Bursts(c) => c.receive.bytes,
            Counters::Datagram(c) => c.bytes,
            Counters::Exchange(c) => c.sent + c.received,
        }
    }

    /// Datagrams sent or received; 0 over TCP.
    pub(crate) fn datagrams(&self, cell: &CounterCell) -> u64 {
        match (&self.counters, cell) {
            (Counters::Send(c), CounterCell::UdpSend(_)) => c.writes,
            (Counters::Datagram(c), _) => c.received,
            _ => 0,
        }
    }

    /// Smallest and largest over the whole flow.
    pub(crate) fn extremes(&self) -> (f64, f64) {
        match &self.counters {
            Counters::Bursts(c) => (c.latency.min, c.latency.max),
            Counters::Datagram(c) => (c.transit.min, c.transit.max),
            Counters::Exchange(c) => (c.round_trips.min, c.round_trips.max),
            Counters::Send(_) | Counters::Receive(_) => (f64::INFINITY, f64::NEG_INFINITY),
        }
    }
}

fn zero(cell: &CounterCell) -> Counters {
    match cell {
        CounterCell::TcpSend(_) | CounterCell::UdpSend(_) => {
            Counters::Send(SendCounters::default())
        }
        CounterCell::TcpReceive(cell) => {
            let width = cell.read().reads.bin_width();
            Counters::Receive(ReceiveCounters {
                bytes: 0,
                reads: ReadSizes::new(width.saturating_mul(8)),
                last: tapeline_base::MonoTime::ZERO,
            })
        }
        CounterCell::TcpBursts(cell, _) => {
            let width = cell.read().receive.reads.bin_width();
            let reads = ReadSizes::new(width.saturating_mul(8));
            Counters::Bursts(BurstCounters::new(reads))
        }
        CounterCell::UdpReceive(_) => Counters::Datagram(DatagramCounters {
            transit: Moments::EMPTY,
            ..DatagramCounters::default()
        }),
        CounterCell::Exchange(_) => Counters::Exchange(RequestResponseCounters {
            round_trips: Moments::EMPTY,
            ..RequestResponseCounters::default()
        }),
    }
}

/// Reads the counters without closing an interval.
pub(crate) fn sample_total(cell: &CounterCell, conn: Option<&TcpConn>) -> Sample {
    let counters = match cell {
        CounterCell::TcpSend(cell) | CounterCell::UdpSend(cell) => Counters::Send(cell.read()),
        CounterCell::TcpReceive(cell) => Counters::Receive(cell.read()),
        CounterCell::TcpBursts(cell, _) => Counters::Bursts(cell.read()),
        CounterCell::UdpReceive(cell) => Counters::Datagram(cell.read()),
        CounterCell::Exchange(cell) => Counters::Exchange(cell.read()),
    };
    Sample::read(counters, conn)
}

/// Reads the counters at the end of interval `index`: the sample, the interval's own
/// extremes, and the number of the next interval.
pub(crate) fn sample_interval(
    cell: &CounterCell,
    conn: Option<&TcpConn>,
    index: u64,
) -> (Sample, (f64, f64), u64) {
    let (counters, extremes, next) = match cell {
        CounterCell::TcpSend(cell) | CounterCell::UdpSend(cell) => {
            parts(cell.close_interval(index), Counters::Send)
        }
        CounterCell::TcpReceive(cell) => parts(cell.close_interval(index), Counters::Receive),
        CounterCell::TcpBursts(cell, _) => parts(cell.close_interval(index), Counters::Bursts),
        CounterCell::UdpReceive(cell) => parts(cell.close_interval(index), Counters::Datagram),
        CounterCell::Exchange(cell) => parts(cell.close_interval(index), Counters::Exchange),
    };
    (Sample::read(counters, conn), extremes, next)
}

fn parts<C>(closed: Closed<C>, kind: fn(C) -> Counters) -> (Counters, (f64, f64), u64) {
    (kind(closed.counters), closed.extremes, closed.next)
}

/// Bytes and numbers between two samples.
pub(crate) fn measure(
    flow: &FlowStart,
    phase: Phase,
    before: &Sample,
    after: &Sample,
    span: Span,
    extremes: (f64, f64),
) -> (u64, Measure) {
    let cell = &flow.cell;
    let bytes = after.bytes().saturating_sub(before.bytes());
    let measure = match (&before.counters, &after.counters) {
        (Counters::Send(b), Counters::Send(a)) => {
            let writes = a.writes.saturating_sub(b.writes);
            let errors = a.errors.saturating_sub(b.errors);
            let frames = flow.extras.frames.then(|| frames_sent(b, a));
            if matches!(cell, CounterCell::UdpSend(_)) {
                Measure::UdpSend(UdpSend {
                    writes,
                    errors,
                    timeouts: a.timeouts.saturating_sub(b.timeouts),
                    frames,
                })
            } else {
                Measure::TcpSend(TcpSend {
                    writes,
                    errors,
                    retransmits: retransmits(before, after),
                    state: after.tcp_state(flow.start),
                    write_times: None,
                    frames,
                    fair_queue_rate: (a.pacing_rate > 0).then_some(BitRate(a.pacing_rate)),
                })
            }
        }
        (Counters::Receive(b), Counters::Receive(a)) => Measure::TcpReceive(TcpReceive {
            reads: a.reads.since(&b.reads),
            bursts: None,
        }),
        (Counters::Bursts(b), Counters::Bursts(a)) => Measure::TcpReceive(TcpReceive {
            reads: a.receive.reads.since(&b.receive.reads),
            bursts: Some(bursts(cell, b, a, span, extremes)),
        }),
        (Counters::Datagram(b), Counters::Datagram(a)) => {
            Measure::UdpReceive(udp_receive(flow, phase, b, a, span, extremes))
        }
        (Counters::Exchange(b), Counters::Exchange(a)) => {
            let finite =
                |seconds: f64| (phase == Phase::Total && seconds.is_finite()).then_some(seconds);
            Measure::RequestResponse(RequestResponse {
                round_trips: a
                    .round_trips
                    .since(&b.round_trips)
                    .with_extremes(extremes.0, extremes.1),
                percentiles: a.percentiles.map(finite),
                sent: a.sent.saturating_sub(b.sent),
                received: a.received.saturating_sub(b.received),
                retransmits: retransmits(before, after),
                state: after.tcp_state(flow.start),
                one_way: one_way(phase, &b.one_way, &a.one_way),
            })
        }
        // A cell never changes its kind.
        _ => Measure::Both {
            datagrams: None,
            loss: None,
        },
    };
    (bytes, measure)
}

/// One-way delays, where the clocks are said to agree.
fn one_way(phase: Phase, b: &OneWayDelays, a: &OneWayDelays) -> Option<OneWayTimes> {
    if a.transmit.all.is_empty() && a.clock_errors == 0 {
        return None;
    }
    let series = |before: &DelaySeries, after: &DelaySeries| match phase {
        Phase::Interval | Phase::Omitted => after.since(before),
        Phase::Total => after.all,
    };
    Some(OneWayTimes {
        transmit: series(&b.transmit, &a.transmit),
        receive: series(&b.receive, &a.receive),
        asymmetry: series(&b.asymmetry, &a.asymmetry),
        clock_errors: a.clock_errors.saturating_sub(b.clock_errors),
    })
}

fn frames_sent(before: &SendCounters, after: &SendCounters) -> FramesSent {
    let (a, b) = (&after.frames, &before.frames);
    FramesSent {
        sent: a.sent.saturating_sub(b.sent),
        missed: a.missed.saturating_sub(b.missed),
        slips: a.slips.saturating_sub(b.slips),
    }
}

fn bursts(
    cell: &CounterCell,
    before: &BurstCounters,
    after: &BurstCounters,
    span: Span,
    extremes: (f64, f64),
) -> BurstsReceived {
    let kind = match cell {
        CounterCell::TcpBursts(_, kind) => *kind,
        _ => BurstKind::default(),
    };
    let latency = after
        .latency
        .since(&before.latency)
        .with_extremes(extremes.0, extremes.1);
    let bytes = after.complete.saturating_sub(before.complete);
    let seconds = span.length().as_secs_f64();
    let measurable = !latency.is_empty() && seconds > 0.0;
    BurstsReceived {
        kind,
        latency,
        bytes,
        in_progress: measurable.then(|| little_in_progress(bytes as f64 / seconds, latency.mean)),
        frames_lost: after.skipped.saturating_sub(before.skipped),
    }
}

fn retransmits(before: &Sample, after: &Sample) -> Option<u64> {
    let total = |sample: &Sample| sample.tcp.and_then(|info| info.total_retrans);
    let after = total(after)?;
    Some(u64::from(after.wrapping_sub(total(before).unwrap_or(0))))
}
/// The fields that rows show.
/// `TCP_INFINITE_SSTHRESH` of Linux; other systems have larger values.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

pub(crate) fn tcp_state(info: &TcpInfo) -> TcpState {
    let in_flight = match (info.unacked, info.sacked, info.lost, info.retrans) {
        (Some(unacked), Some(sacked), Some(lost), Some(retrans)) => Some(
            unacked
                .saturating_add(retrans)
                .saturating_sub(sacked)
                .saturating_sub(lost),
        ),
        _ => None,
    };
    TcpState {
        in_flight_packets: in_flight,
        cwnd_packets: info.snd_cwnd,
        mss: info.snd_mss,
        rtt_micros: info.rtt_us,
        rtt_variance_micros: info.rttvar_us,
        send_window: info.snd_wnd,
        path_mtu: info.pmtu,
        reordering: info.reord_seen,
        // The kernel says "none yet" with the largest number.
        ssthresh_packets: info.snd_ssthresh.filter(|packets| *packets < NO_THRESHOLD),
        delivery: info
            .delivery_rate
            .filter(|rate| *rate > 0)
            .map(|rate| BitRate(rate.saturating_mul(8))),
        totals: TcpTotals {
            at: Duration::ZERO,
            sent: info.bytes_sent,
            retransmitted: info.bytes_retrans,
            acknowledged: info.bytes_acked,
        },
    }
}

fn udp_receive(
    flow: &FlowStart,
    phase: Phase,
    b: &DatagramCounters,
    a: &DatagramCounters,
    span: Span,
    extremes: (f64, f64),
) -> UdpReceive {
    let out_of_order = a.out_of_order.saturating_sub(b.out_of_order);
    let arrivals = (a.received + a.duplicates).saturating_sub(b.received + b.duplicates);
    let has_jitter = a.jitter_count
        > if phase == Phase::Total {
            0
        } else {
            b.jitter_count
        };
    let transit = a
        .transit
        .since(&b.transit)
        .with_extremes(extremes.0, extremes.1);
    let packets_per_second = BitRate::over(arrivals, span.length()) / 8.0;
    let in_progress = flow.extras.trip_times.then(|| {
        let on_the_way = little_packets_in_progress(packets_per_second, &transit);
        InProgress {
            packets: on_the_way.mean,
            deviation: on_the_way.deviation,
        }
    });
    UdpReceive {
        received: a.received.saturating_sub(b.received),
        total: a.total.saturating_sub(b.total),
        lost: a.lost.saturating_sub(b.lost),
        reordered: a.reordered.saturating_sub(b.reordered),
        duplicates: a.duplicates.saturating_sub(b.duplicates),
        out_of_order,
        pattern: (phase == Phase::Total && flow.extras.omit.is_zero())
            .then(|| pattern(a, arrivals))
            .flatten(),
        interval_pattern: (phase != Phase::Total).then(|| interval_pattern(b, a)),
        lost_in_host: None,
        jitter: (has_jitter || a.jitter_count > 0).then_some(a.jitter_ns * 1e-9),
        jitter_mean: (a.jitter_count > 0).then_some(a.jitter_mean_ns * 1e-9),
        transit,
        delays: None,
        reads: arrivals,
        timeouts: 0,
        truncated: a.truncated.saturating_sub(b.truncated),
        packets_per_second,
        in_progress,
        frames: flow
            .extras
            .frames
            .then(|| frames_received(phase, &b.frames, &a.frames)),
        joined: a.joined.saturating_sub(b.joined),
        marked: flow.extras.marks.then(|| a.marked.saturating_sub(b.marked)),
        link_errors: flow.extras.link.then(|| LinkErrors {
            length: a.link.length.saturating_sub(b.link.length),
            checksum: a.link.checksum.saturating_sub(b.link.checksum),
            unknown: a.link.unknown.saturating_sub(b.link.unknown),
        }),
    }
}

/// How the losses of a whole flow lie in it; unknown of one that was cut off before it could be reported.
fn pattern(counters: &DatagramCounters, arrivals: u64) -> Option<LossPattern> {
    let pattern = &counters.pattern;
    if pattern.longest_loss_run == 0 && counters.lost > 0 {
        return None;
    }
    let outage = Outage {
        start: Duration::from_nanos(pattern.outage_start_ns),
        length: Duration::from_nanos(pattern.outage_ns),
    };
    Some(LossPattern {
        longest_extent: pattern.longest_extent,
        runs: pattern.loss_runs,
        longest_run: pattern.longest_loss_run,
        outage: (arrivals > 1).then_some(outage),
    })
}

/// How losses lie in the interval between two snapshots.
fn interval_pattern(before: &DatagramCounters, after: &DatagramCounters) -> IntervalPattern {
    let (earlier, pattern) = (&before.pattern, &after.pattern);
    // Without anything late the extent may be that of an earlier interval.
    let late = after.reordered > before.reordered;
    IntervalPattern {
        longest_extent: if late { pattern.interval_extent } else { 0 },
        runs: pattern.loss_runs.saturating_sub(earlier.loss_runs),
    }
}

/// What came since the frame before this one.
pub(crate) fn frame_measure(
    flow: &FlowStart,
    before: &DatagramCounters,
    record: &FrameRecord,
    span: Span,
) -> UdpReceive {
    let after = &record.counters;
    let received = udp_receive(flow, Phase::Interval, before, after, span, record.extremes);
    UdpReceive {
        frames: Some(FramesReceived {
            received: after.frames.received.saturating_sub(before.frames.received),
            lost: after.frames.lost.saturating_sub(before.frames.lost),
            latency: record.latency.into_iter().collect(),
        }),
        interval_pattern: None,
        ..received
    }
}

fn frames_received(phase: Phase, b: &FrameArrivals, a: &FrameArrivals) -> FramesReceived {
    FramesReceived {
        received: a.received.saturating_sub(b.received),
        lost: a.lost.saturating_sub(b.lost),
        latency: match phase {
            Phase::Interval | Phase::Omitted => a.latency.since(&b.latency),
            Phase::Total => a.latency.all,
        },
    }
}

/// Of a flow that sent up to `group` datagrams with one call, and `late` of them late.
pub(crate) fn send_timing(
    tag: FlowTag,
    group: usize,
    packet_gaps: Option<&PacketGaps>,
    late: u64,
) -> SendTiming {
    let gaps = packet_gaps.and_then(|packet_gaps| {
        let errors = packet_gaps.errors();
        let percentile = |percent| errors.percentile(percent).map(Duration::from_nanos);
        Some(GapErrors {
            gap: packet_gaps.gap(),
            p50: percentile(50.0)?,
            p99: percentile(99.0)?,
            max: percentile(100.0)?,
            back_to_back: packet_gaps.back_to_back() as f64 / packet_gaps.count() as f64,
            late,
        })
    });
    SendTiming {
        tag,
        group: group as u64,
        gaps,
    }
}
