//! What this end counted, as the other end is told.

use std::time::Duration;

use tapeline_report::{HostDrops, Measure, Row, Subject};
use tapeline_stats::Moments;
use tapeline_wire::native::{FlowResult, HostResult, Results, TcpResult, TransitResult, Way};

use super::tests::KnownFlow;

/// What happened to the process and its host while a test ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Surroundings {
    /// How long that was.
    pub(super) time: Duration,
    /// Processor time of the process.
    pub(super) cpu: tapeline_sys::CpuTime,
    pub(super) drops: HostDrops,
    pub(super) clock_adjustment_ns: i64,
}

/// The results of a test with these flows and totals.
pub(super) fn results(flows: &[KnownFlow], totals: &[Row], around: &Surroundings) -> Results {
    let seconds = around.time.as_secs_f64();
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
        flows: totals.iter().filter_map(|row| flow(flows, row)).collect(),
        warnings: Vec::new(),
    }
}

fn flow(flows: &[KnownFlow], row: &Row) -> Option<FlowResult> {
    let Subject::Flow(tag) = row.subject else {
        return None;
    };
    let known = flows.iter().find(|flow| flow.tags.contains(&tag))?;
    let result = FlowResult {
        token: known.token.get(),
        local_port: known.facts.local_port,
        remote_port: known.facts.remote_port,
        bytes: row.bytes,
        seconds: row.span.length().as_secs_f64(),
        ..FlowResult::default()
    };
    let tcp = TcpResult {
        congestion_control: known.facts.congestion.clone(),
        ..TcpResult::default()
    };
    Some(match &row.measure {
        Measure::TcpSend(send) => FlowResult {
            direction: Way::Send,
            tcp: Some(TcpResult {
                retransmits: send.retransmits,
                rtt_us: send.state.and_then(|state| state.rtt_micros).map(u64::from),
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
            jitter_ms: receive.jitter.map(|seconds| seconds * 1e3),
            jitter_mean_ms: receive.jitter_mean.map(|seconds| seconds * 1e3),
            socket_drops: receive.lost_in_host,
            transit: transit(&receive.transit),
            ..result
        },
        Measure::Both { .. } | Measure::RequestResponse(_) => return None,
    })
}

fn transit(seconds: &Moments) -> Option<TransitResult> {
    let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
    (!seconds.is_empty()).then(|| TransitResult {
        samples: seconds.count,
        min_ns: nanos(seconds.min),
        mean_ns: nanos(seconds.mean),
        max_ns: nanos(seconds.max),
        deviation_ns: nanos(seconds.stdev()).unsigned_abs(),
    })
}
