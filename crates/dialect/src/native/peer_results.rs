//! The peer's results in terms of this end's flows, and how its clock differs.

use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_report::{
    ClockEstimate, CpuUse, Endpoints, FlowEvidence, HostDrops, LossPattern, Measure, Outage,
    PeerFlow, PeerLimits, PeerProgram, PeerResults, PeerWarning, Phase, Row, Span, Subject,
    TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{
    ClockFit, DelayCourse, DelaySlice, FrameSchedule, HostEvidence, Moments, RateTarget,
    ReceiverEvidence, RoundTrips, SenderEvidence, StreamTimes,
};
use tapeline_wire::native::{FlowResult, LimitsResult, Program, Results, TransitResult, Way};

use super::local_results::{OwnFlow, find};

/// The peer's program.
pub(crate) fn shown(program: Program) -> PeerProgram {
    PeerProgram {
        program: program.program,
        version: program.version,
        system: program.system,
    }
}

/// The peer's results, each flow by this end's number; and who the peer is.
pub(crate) fn from_message(
    results: &Results,
    own: &[OwnFlow],
    program: Option<PeerProgram>,
) -> PeerResults {
    let flows = results.flows.iter().filter_map(|flow| {
        Some(PeerFlow {
            total: total(flow, find(flow, own)?)?,
            limits: limits(flow),
            evidence: flow.limits.as_ref().map(|limits| evidence(flow, limits)),
            round_trips: flow
                .tcp
                .as_ref()
                .map_or(Vec::new(), |tcp| tcp.interval_rtts_us.clone()),
        })
    });
    PeerResults {
        program,
        seconds: results.seconds,
        cpu: results.cpu_percent.map(|total| {
            let user = results.cpu_user_percent.unwrap_or(0.0);
            CpuUse {
                total,
                user,
                system: total - user,
            }
        }),
        flows: flows.collect(),
        host: HostDrops {
            udp_receive: results.host.udp_receive_drops,
            softnet: results.host.softnet_drops,
        },
        clock_adjustment_ns: results.clock_adjustment_ns,
        warnings: results
            .warnings
            .iter()
            .map(|warning| PeerWarning {
                id: warning.id.clone(),
                severity: warning.severity.clone(),
                text: warning.text.clone(),
            })
            .collect(),
    }
}

fn total(flow: &FlowResult, own: &OwnFlow) -> Option<Row> {
    let tag = own.counterpart(flow.direction)?;
    let span = Span {
        start: Duration::ZERO,
        end: Duration::try_from_secs_f64(flow.seconds).unwrap_or_default(),
    };
    let tcp = flow.tcp.clone().unwrap_or_default();
    let measure = match (flow.datagrams, flow.direction) {
        (false, Way::Send) => Measure::TcpSend(TcpSend {
            retransmits: tcp.retransmits,
            state: tcp.rtt_us.map(|rtt| TcpState {
                rtt_micros: u32::try_from(rtt).ok(),
                cwnd_packets: tcp.cwnd_segments,
                mss: tcp.segment_bytes,
                ..TcpState::default()
            }),
            ..TcpSend::default()
        }),
        (false, Way::Receive) => Measure::TcpReceive(TcpReceive::default()),
        (true, Way::Send) => Measure::UdpSend(UdpSend {
            writes: flow.packets.unwrap_or(0),
            ..UdpSend::default()
        }),
        (true, Way::Receive) => {
            let (received, lost) = (flow.packets.unwrap_or(0), flow.lost.unwrap_or(0));
            Measure::UdpReceive(UdpReceive {
                received,
                lost,
                total: received.saturating_add(lost),
                reordered: flow.reordered.unwrap_or(0),
                duplicates: flow.duplicates.unwrap_or(0),
                pattern: pattern(flow),
                lost_in_host: flow.socket_drops,
                jitter: flow.jitter_ms.map(|milliseconds| milliseconds / 1e3),
                jitter_mean: flow.jitter_mean_ms.map(|milliseconds| milliseconds / 1e3),
                transit: flow.transit.as_ref().map_or(Moments::EMPTY, moments),
                delays: flow.transit.as_ref().map(delays),
                ..UdpReceive::default()
            })
        }
    };
    Some(Row {
        subject: Subject::Flow(tag),
        phase: Phase::Total,
        span,
        ended: WallTime::default(),
        bytes: flow.bytes,
        endpoints: Some(Endpoints {
            local: own.local,
            peer: own.peer,
            local_sends: flow.direction == Way::Receive,
        }),
        trip_times: false,
        placement: flow.placement.unwrap_or_default().into(),
        measure,
    })
}

fn limits(flow: &FlowResult) -> PeerLimits {
    let tcp = flow.tcp.clone().unwrap_or_default();
    let micros = |value: Option<u64>| value.map(Duration::from_micros);
    PeerLimits {
        congestion_control: tcp.congestion_control,
        retransmits: tcp.retransmits,
        rtt: micros(tcp.rtt_us),
        busy: micros(tcp.busy_us),
        receive_window_limited: micros(tcp.receive_window_limited_us),
        send_buffer_limited: micros(tcp.send_buffer_limited_us),
        socket_drops: flow.socket_drops,
        thread_cpu: flow.limits.and_then(|limits| limits.thread_busy),
    }
}

/// What the peer knows of a flow's limits.
fn evidence(flow: &FlowResult, limits: &LimitsResult) -> FlowEvidence {
    let host = HostEvidence {
        busy: limits.thread_busy,
        waiting: limits.thread_waiting,
        throttled: limits.throttled,
        stolen: limits.stolen,
        late_reports: limits.late_reports,
    };
    let tcp = flow.tcp.as_ref();
    let longest = (flow.seconds * 1e6).round() as u64;
    let target = |asked: Option<f64>, reached: Option<f64>| {
        let (asked, reached) = asked.zip(reached)?;
        Some(RateTarget { asked, reached })
    };
    let rate = target(limits.rate_asked, limits.rate_reached);
    match flow.direction {
        Way::Send => FlowEvidence::Sender(SenderEvidence {
            host,
            micros: longest,
            longest: limits.written_us.unwrap_or(longest),
            rate,
            paced: target(limits.paced_asked, limits.paced_reached),
            schedule: limits
                .frames_sent
                .zip(limits.frames_missed)
                .map(|(sent, missed)| FrameSchedule { sent, missed }),
            throughput: (flow.seconds > 0.0).then(|| flow.bytes as f64 * 8.0 / flow.seconds),
            writes: limits.writes,
            segments: limits.segments,
            spurious: limits.spurious,
            app_limited: limits.app_limited,
            round_trips: limits
                .smallest_rtt_us
                .zip(limits.smoothed_rtt_us)
                .map(|(smallest, smoothed)| RoundTrips { smallest, smoothed }),
            refused: limits.refused,
            input_awaited: limits.input_awaited_us,
            room_awaited: limits.room_awaited_us,
            stream: tcp.and_then(|tcp| {
                Some(StreamTimes {
                    busy: tcp.busy_us?,
                    receive_window: tcp.receive_window_limited_us?,
                    send_buffer: tcp.send_buffer_limited_us?,
                })
            }),
            retransmits: tcp.and_then(|tcp| tcp.retransmits),
            datagrams: flow.packets.filter(|_| flow.datagrams),
            window_use: limits.window_use,
            buffer_use: limits.buffer_use,
            congested_sends: limits.congested_sends,
            queue_drops: limits.queue_drops,
            grouped: limits.grouped,
        }),
        Way::Receive => FlowEvidence::Receiver(ReceiverEvidence {
            host,
            longest,
            rate,
            expected: limits.expected,
            lost: flow.lost,
            socket_drops: limits.socket_drops,
            shares_socket: limits.shares_socket,
            joined: limits.joined,
            backlog_drops: limits.backlog_drops,
            buffer_depth: limits.buffer_depth_us,
        }),
    }
}

fn moments(transit: &TransitResult) -> Moments {
    let seconds = |nanos: i64| nanos as f64 * 1e-9;
    let deviation = transit.deviation_ns as f64 * 1e-9;
    Moments {
        count: transit.samples,
        mean: seconds(transit.mean_ns),
        m2: deviation * deviation * transit.samples.saturating_sub(1) as f64,
        min: seconds(transit.min_ns),
        max: seconds(transit.max_ns),
    }
}

/// How its losses lie in the flow, where the peer says so.
fn pattern(flow: &FlowResult) -> Option<LossPattern> {
    let outage = flow.longest_outage_start_ns.zip(flow.longest_outage_ns);
    Some(LossPattern {
        longest_extent: flow.reordering_extent?,
        runs: flow.loss_runs?,
        longest_run: flow.longest_loss_run?,
        outage: outage.map(|(start, length)| Outage {
            start: Duration::from_nanos(start),
            length: Duration::from_nanos(length),
        }),
    })
}

/// The delays one by one, as the peer stamped them.
fn delays(transit: &TransitResult) -> DelayCourse {
    let slices = transit.slices.iter().map(|slice| {
        let delays = slice.delays.iter().map(|(offset, count)| {
            let delay = slice.min_ns.saturating_add_unsigned(*offset);
            (delay, *count)
        });
        DelaySlice {
            first: WallTime::from_nanos(slice.first_ns),
            last: WallTime::from_nanos(slice.last_ns),
            least: slice.min_ns,
            largest: slice.max_ns,
            counts: delays.collect(),
        }
    });
    slices.collect()
}

/// The estimate over a test that lasted from `start` to `end`.
pub(crate) fn estimate(fit: &ClockFit, start: WallTime, end: WallTime) -> ClockEstimate {
    let half = end.nanos_since(start).max(0).unsigned_abs() / 2;
    let middle = start + Duration::from_nanos(half);
    ClockEstimate {
        offset: fit.offset_at(middle),
        bound: fit.bound_at(middle),
        certain: fit.certain_at(middle),
        skew: fit.skew(),
        round_trip: fit.round_trip,
        exchanges: fit.exchanges,
    }
}
