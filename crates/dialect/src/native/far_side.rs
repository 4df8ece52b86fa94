//! The other end's results in terms of this end's flows, and how its clock differs.

use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_report::{
    ClockEstimate, CpuUse, Endpoints, FlowEvidence, HostDrops, LossPattern, Measure, OtherEnd,
    OtherFlow, OtherLimits, OtherProgram, OtherWarning, Outage, Phase, Row, Span, Subject,
    TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{
    ClockFit, DelayCourse, DelaySlice, HostEvidence, Moments, RateTarget, ReceiverEvidence,
    SenderEvidence, StreamTimes,
};
use tapeline_wire::native::{FlowResult, LimitsResult, Program, Results, TransitResult, Way};

use super::own_flow::{OwnFlow, find};

/// A program at the other end.
pub(super) fn shown(program: Program) -> OtherProgram {
    OtherProgram {
        program: program.program,
        version: program.version,
        system: program.system,
    }
}

/// The other end's results, each flow by this end's number; and who the other end is.
pub(super) fn other_end(
    results: &Results,
    own: &[OwnFlow],
    program: Option<OtherProgram>,
) -> OtherEnd {
    let flows = results.flows.iter().filter_map(|flow| {
        Some(OtherFlow {
            total: total(flow, find(flow, own)?)?,
            limits: limits(flow),
            evidence: flow.limits.as_ref().map(|told| evidence(flow, told)),
        })
    });
    OtherEnd {
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
            .map(|warning| OtherWarning {
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
        measure,
    })
}

fn limits(flow: &FlowResult) -> OtherLimits {
    let tcp = flow.tcp.clone().unwrap_or_default();
    let micros = |value: Option<u64>| value.map(Duration::from_micros);
    OtherLimits {
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

/// What the other end knows of a flow's limits.
fn evidence(flow: &FlowResult, told: &LimitsResult) -> FlowEvidence {
    let host = HostEvidence {
        busy: told.thread_busy,
        waiting: told.thread_waiting,
        throttled: told.throttled,
        stolen: told.stolen,
        late_reports: told.late_reports,
    };
    let tcp = flow.tcp.as_ref();
    match flow.direction {
        Way::Send => FlowEvidence::Sender(SenderEvidence {
            host,
            micros: (flow.seconds * 1e6).round() as u64,
            rate: told
                .rate_asked
                .zip(told.rate_reached)
                .map(|(asked, reached)| RateTarget { asked, reached }),
            input_awaited: told.input_awaited_us,
            room_awaited: told.room_awaited_us,
            stream: tcp.and_then(|tcp| {
                Some(StreamTimes {
                    busy: tcp.busy_us?,
                    receive_window: tcp.receive_window_limited_us?,
                    send_buffer: tcp.send_buffer_limited_us?,
                })
            }),
            retransmits: tcp.and_then(|tcp| tcp.retransmits),
            datagrams: flow.packets.filter(|_| flow.datagrams),
            window_use: told.window_use,
            buffer_use: told.buffer_use,
            congested_sends: told.congested_sends,
            queue_drops: told.queue_drops,
            grouped: told.grouped,
        }),
        Way::Receive => FlowEvidence::Receiver(ReceiverEvidence {
            host,
            expected: told.expected,
            lost: flow.lost,
            socket_drops: told.socket_drops,
            shares_socket: told.shares_socket,
            joined: told.joined,
            backlog_drops: told.backlog_drops,
            buffer_depth: told.buffer_depth_us,
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

/// How its losses lie in the flow, where the other end says so.
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

/// The delays one by one, as the other end stamped them.
fn delays(transit: &TransitResult) -> DelayCourse {
    let slices = transit.slices.iter().map(|slice| {
        let delays = slice.delays.iter().map(|(beyond, count)| {
            let delay = slice.min_ns.saturating_add_unsigned(*beyond);
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
pub(super) fn estimate(fit: &ClockFit, start: WallTime, end: WallTime) -> ClockEstimate {
    let half = end.nanos_since(start).max(0).unsigned_abs() / 2;
    let middle = start + Duration::from_nanos(half);
    ClockEstimate {
        offset: fit.offset_at(middle),
        bound: fit.bound_at(middle),
        certain: fit.certain(),
        skew: fit.skew(),
        round_trip: fit.round_trip,
        exchanges: fit.exchanges,
    }
}
