//! What this end counted, as the other end is told.

use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::whole_nanos;
use tapeline_report::{FlowEvidence, Measure, Row, Subject};
use tapeline_stats::{DelayCourse, DelaySlice, HostEvidence, Moments};
use tapeline_wire::native::{
    FlowResult, HostResult, LimitsResult, MOST_DELAYS, Results, SliceResult, TcpResult,
    TransitResult, Way,
};

use super::own_flow::OwnFlow;
use super::reading::Surroundings;
use crate::reporter::Following;

/// Delays that are told apart in all flows of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// None: a server does not know how the clocks differ.
    ForServer,
    /// As many as a client reads in an instant.
    ForClient,
}

impl Detail {
    fn delays(self) -> usize {
        match self {
            Self::ForServer => 0,
            Self::ForClient => MOST_DELAYS,
        }
    }
}

/// The results of a test with these flows, which were followed.
pub(super) fn results(
    flows: &[OwnFlow],
    following: &Following,
    around: &Surroundings,
    detail: Detail,
) -> Results {
    let totals = following.totals().into_iter();
    let totals: Vec<_> = totals
        .map(|total| {
            let evidence = match total.subject {
                Subject::Flow(tag) => following.evidence(tag),
                _ => None,
            };
            (total, evidence)
        })
        .collect();
    of_totals(flows, &totals, around, detail)
}

/// The results of a test with these flows and totals.
pub(super) fn of_totals(
    flows: &[OwnFlow],
    totals: &[(Row, Option<FlowEvidence>)],
    around: &Surroundings,
    detail: Detail,
) -> Results {
    let seconds = around.time.as_secs_f64();
    let most = detail.delays() / totals.len().max(1);
    let percent = |time: Duration| (seconds > 0.0).then(|| time.as_secs_f64() / seconds * 100.0);
    Results {
        seconds: Some(seconds),
        cpu_percent: percent(around.cpu.total()),
        cpu_user_percent: percent(around.cpu.user),
        clock_adjustment_ns: Some(around.clock_adjustment_ns),
        host: HostResult {
            udp_receive_drops: around.drops.udp_receive,
            softnet_drops: around.drops.softnet,
        },
        flows: totals
            .iter()
            .filter_map(|(row, evidence)| flow(flows, row, *evidence, most))
            .collect(),
        warnings: Vec::new(),
    }
}

/// At most `most` delays are told apart.
fn flow(
    flows: &[OwnFlow],
    row: &Row,
    evidence: Option<FlowEvidence>,
    most: usize,
) -> Option<FlowResult> {
    let Subject::Flow(tag) = row.subject else {
        return None;
    };
    let known = flows
        .iter()
        .find(|flow| flow.tags().any(|own| own == tag))?;
    let result = FlowResult {
        token: known.token.map_or(0, NonZeroU32::get),
        local_port: known.local.port(),
        remote_port: known.peer.port(),
        bytes: row.bytes,
        seconds: row.span.length().as_secs_f64(),
        limits: evidence.map(limits),
        ..FlowResult::default()
    };
    let times = match evidence {
        Some(FlowEvidence::Sender(sender)) => sender.stream,
        Some(FlowEvidence::Receiver(_)) | None => None,
    };
    let outage = match &row.measure {
        Measure::UdpReceive(receive) => receive.pattern.and_then(|pattern| pattern.outage),
        _ => None,
    };
    let tcp = TcpResult {
        congestion_control: known.congestion.clone(),
        ..TcpResult::default()
    };
    Some(match &row.measure {
        Measure::TcpSend(send) => FlowResult {
            direction: Way::Send,
            tcp: Some(TcpResult {
                retransmits: send.retransmits,
                rtt_us: send.state.and_then(|state| state.rtt_micros).map(u64::from),
                busy_us: times.map(|times| times.busy),
                receive_window_limited_us: times.map(|times| times.receive_window),
                send_buffer_limited_us: times.map(|times| times.send_buffer),
                ..tcp
            }),
            ..result
        },
        Measure::TcpReceive(_) => FlowResult {
            tcp: Some(tcp),
            ..result
        },
        Measure::UdpSend(send) => FlowResult {
            direction: Way::Send,
            datagrams: true,
            packets: Some(send.writes),
            ..result
        },
        Measure::UdpReceive(receive) => FlowResult {
            datagrams: true,
            packets: Some(receive.received),
            lost: Some(receive.lost),
            duplicates: Some(receive.duplicates),
            reordered: Some(receive.reordered),
            reordering_extent: receive.pattern.map(|pattern| pattern.longest_extent),
            loss_runs: receive.pattern.map(|pattern| pattern.runs),
            longest_loss_run: receive.pattern.map(|pattern| pattern.longest_run),
            longest_outage_ns: outage.map(|outage| whole_nanos(outage.length)),
            longest_outage_start_ns: outage.map(|outage| whole_nanos(outage.start)),
            jitter_ms: receive.jitter.map(|seconds| seconds * 1e3),
            jitter_mean_ms: receive.jitter_mean.map(|seconds| seconds * 1e3),
            socket_drops: receive.lost_in_host,
            transit: transit(&receive.transit, receive.delays.as_ref(), most),
            ..result
        },
        Measure::Both { .. } | Measure::RequestResponse(_) => return None,
    })
}

fn limits(evidence: FlowEvidence) -> LimitsResult {
    let of_host = |host: &HostEvidence| LimitsResult {
        thread_busy: host.busy,
        thread_waiting: host.waiting,
        throttled: host.throttled,
        stolen: host.stolen,
        late_reports: host.late_reports,
        ..LimitsResult::default()
    };
    match evidence {
        FlowEvidence::Sender(sender) => LimitsResult {
            rate_asked: sender.rate.map(|rate| rate.asked),
            rate_reached: sender.rate.map(|rate| rate.reached),
            input_awaited_us: sender.input_awaited,
            room_awaited_us: sender.room_awaited,
            window_use: sender.window_use,
            buffer_use: sender.buffer_use,
            congested_sends: sender.congested_sends,
            queue_drops: sender.queue_drops,
            grouped: sender.grouped,
            ..of_host(&sender.host)
        },
        FlowEvidence::Receiver(receiver) => LimitsResult {
            expected: receiver.expected,
            socket_drops: receiver.socket_drops,
            shares_socket: receiver.shares_socket,
            joined: receiver.joined,
            backlog_drops: receiver.backlog_drops,
            buffer_depth_us: receiver.buffer_depth,
            ..of_host(&receiver.host)
        },
    }
}

fn transit(seconds: &Moments, delays: Option<&DelayCourse>, most: usize) -> Option<TransitResult> {
    let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
    let delays = delays.filter(|_| most > 0);
    let slices = delays.map(|delays| delays.coarsened(most));
    let slices = slices.iter().flat_map(DelayCourse::slices);
    (!seconds.is_empty()).then(|| TransitResult {
        samples: seconds.count,
        min_ns: nanos(seconds.min),
        mean_ns: nanos(seconds.mean),
        max_ns: nanos(seconds.max),
        deviation_ns: nanos(seconds.stdev()).unsigned_abs(),
        slices: slices.map(slice).collect(),
    })
}

fn slice(slice: &DelaySlice) -> SliceResult {
    let (least, largest) = (slice.least.min(slice.largest), slice.largest);
    let beyond = |(delay, count): &(i64, u64)| {
        // The middle of a bucket can lie beyond what was measured.
        let delay = (*delay).clamp(least, largest);
        (delay.abs_diff(least), *count)
    };
    SliceResult {
        first_ns: slice.first.as_nanos(),
        last_ns: slice.last.as_nanos(),
        min_ns: least,
        max_ns: largest,
        delays: slice.counts.points().iter().map(beyond).collect(),
    }
}
