//! What this end counted, as the peer is sent it: its flows, its process and its host.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, WallTime, whole_nanos};
use tapeline_report::{FlowEvidence, HostDrops, Measure, Subject};
use tapeline_stats::{DelayCourse, DelaySlice, HostEvidence, Moments};
use tapeline_sys::{CpuTime, HostCounters, HostFacts, process_cpu_time};
use tapeline_wire::native::{
    FlowResult, HostResult, LimitsResult, MAX_DELAYS, MAX_ROUND_TRIPS, Program, Results,
    SliceResult, TcpResult, TransitResult, Way,
};

use crate::run::context::Context;
use crate::sampler::{Counted, FlowTotals};

/// Delays that are distinguished in all flows of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// None: a server does not know how the clocks differ.
    ForServer,
    /// As many as a client reads in an instant.
    ForClient,
}

impl Detail {
    fn delays(self) -> usize {
        match self {
            Self::ForServer => 0,
            Self::ForClient => MAX_DELAYS,
        }
    }
}

/// The results of a test with these flows, which were followed.
pub(crate) fn results(
    flows: &[OwnFlow],
    totals: &FlowTotals,
    around: &HostUsageSince,
    detail: Detail,
) -> Results {
    from_counted(flows, &totals.counted(), around, detail)
}

/// The results of a test with these flows, which came to so much.
pub(crate) fn from_counted(
    flows: &[OwnFlow],
    counted: &[Counted],
    around: &HostUsageSince,
    detail: Detail,
) -> Results {
    let seconds = around.time.as_secs_f64();
    let max_delays = detail.delays() / counted.len().max(1);
    let max_round_trips = MAX_ROUND_TRIPS / counted.len().max(1);
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
        flows: counted
            .iter()
            .filter_map(|one| flow(flows, one, max_delays, max_round_trips))
            .collect(),
        warnings: Vec::new(),
    }
}

/// At most `max_delays` delays and so many round trips are distinguished.
fn flow(
    flows: &[OwnFlow],
    counted: &Counted,
    max_delays: usize,
    max_round_trips: usize,
) -> Option<FlowResult> {
    let (row, evidence) = (&counted.total, counted.evidence);
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
        placement: row.placement.is_known().then(|| row.placement.into()),
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
                interval_rtts_us: if counted.round_trips.len() <= max_round_trips {
                    counted.round_trips.clone()
                } else {
                    Vec::new()
                },
                cwnd_segments: send.state.and_then(|state| state.cwnd_packets),
                segment_bytes: send.state.and_then(|state| state.mss),
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
            transit: transit(&receive.transit, receive.delays.as_ref(), max_delays),
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
            paced_asked: sender.paced.map(|rate| rate.asked),
            paced_reached: sender.paced.map(|rate| rate.reached),
            frames_sent: sender.schedule.map(|frames| frames.sent),
            frames_missed: sender.schedule.map(|frames| frames.missed),
            written_us: Some(sender.longest),
            writes: sender.writes,
            segments: sender.segments,
            spurious: sender.spurious,
            app_limited: sender.app_limited,
            smallest_rtt_us: sender.round_trips.map(|trips| trips.smallest),
            smoothed_rtt_us: sender.round_trips.map(|trips| trips.smoothed),
            refused: sender.refused,
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
            rate_asked: receiver.rate.map(|rate| rate.asked),
            rate_reached: receiver.rate.map(|rate| rate.reached),
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

fn transit(
    seconds: &Moments,
    delays: Option<&DelayCourse>,
    max_delays: usize,
) -> Option<TransitResult> {
    let nanos = |seconds: f64| (seconds * 1e9).round() as i64;
    let delays = delays.filter(|_| max_delays > 0);
    let slices = delays.map(|delays| delays.coarsened(max_delays));
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
    let offset = |(delay, count): &(i64, u64)| {
        // The middle of a bucket can lie beyond what was measured.
        let delay = (*delay).clamp(least, largest);
        (delay.abs_diff(least), *count)
    };
    SliceResult {
        first_ns: slice.first.as_nanos(),
        last_ns: slice.last.as_nanos(),
        min_ns: least,
        max_ns: largest,
        delays: slice.counts.points().iter().map(offset).collect(),
    }
}

/// A connection or a pair of addresses over which data goes in one direction or in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnFlow {
    /// Number that the server answered the flow's mark with. None while no answer was received, and for
    /// flows that the server opens.
    pub(crate) token: Option<NonZeroU32>,
    /// What this end sends.
    pub(crate) sends: Option<FlowTag>,
    /// What it receives.
    pub(crate) receives: Option<FlowTag>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// Congestion control of this end (TCP).
    pub(crate) congestion: Option<String>,
}

impl OwnFlow {
    /// Its directions.
    pub(crate) fn tags(&self) -> impl Iterator<Item = FlowTag> {
        self.receives.into_iter().chain(self.sends)
    }

    /// The direction of this end that a direction of the peer is.
    pub(crate) fn counterpart(&self, way: Way) -> Option<FlowTag> {
        match way {
            Way::Send => self.receives,
            Way::Receive => self.sends,
        }
    }
}

/// The flow that the peer speaks of: by its token, or by its ports where it has none (a
/// translation of addresses may have changed those).
pub(crate) fn find<'a>(result: &FlowResult, own: &'a [OwnFlow]) -> Option<&'a OwnFlow> {
    let by_token = own
        .iter()
        .find(|one| one.token.is_some_and(|token| token.get() == result.token));
    by_token.or_else(|| {
        own.iter().find(|one| {
            let unnamed = one.token.is_none() || result.token == 0;
            unnamed
                && (one.peer.port(), one.local.port()) == (result.local_port, result.remote_port)
        })
    })
}

/// Counters of the process and its host, and both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostUsage {
    at: MonoTime,
    wall: WallTime,
    cpu: CpuTime,
    host: HostCounters,
}

/// What happened to the process and its host while a test ran.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostUsageSince {
    /// How long that was.
    pub(crate) time: Duration,
    /// Processor time of the process.
    pub(crate) cpu: CpuTime,
    pub(crate) drops: HostDrops,
    pub(crate) clock_adjustment_ns: i64,
}

impl HostUsage {
    pub(crate) fn now(context: &Context) -> Self {
        Self {
            at: context.now(),
            wall: context.wall(),
            cpu: process_cpu_time(),
            host: HostCounters::read(),
        }
    }

    /// Processor time of the process since then.
    pub(crate) fn processor(&self) -> Duration {
        process_cpu_time().total().saturating_sub(self.cpu.total())
    }

    pub(crate) fn since(&self, earlier: &Self) -> HostUsageSince {
        let time = self.at.since(earlier.at);
        let host = self.host.since(&earlier.host);
        let passed = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        HostUsageSince {
            time,
            cpu: CpuTime {
                user: self.cpu.user.saturating_sub(earlier.cpu.user),
                system: self.cpu.system.saturating_sub(earlier.cpu.system),
            },
            drops: HostDrops {
                udp_receive: host.udp_receive_buffer_errors,
                softnet: host.softnet_drops,
            },
            clock_adjustment_ns: self.wall.nanos_since(earlier.wall) - passed,
        }
    }
}

/// This program, as it is named to the peer.
pub(crate) fn own_program() -> Program {
    Program {
        program: "tapeline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system: HostFacts::gather().system,
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::FlowId;

    use super::*;

    fn flow(token: u32, port: u16) -> OwnFlow {
        let tag = |reversed| FlowTag {
            id: FlowId(u32::from(port)),
            reversed,
        };
        OwnFlow {
            token: NonZeroU32::new(token),
            sends: Some(tag(false)),
            receives: Some(tag(true)),
            local: SocketAddr::from(([10, 0, 0, 1], port)),
            peer: SocketAddr::from(([10, 0, 0, 2], 5001)),
            congestion: None,
        }
    }

    #[test]
    fn a_flow_is_found_by_its_token_and_else_by_its_ports() {
        let own = [flow(7, 1), flow(0, 2), flow(9, 3)];
        let result = |token, remote_port| FlowResult {
            token,
            local_port: 5001,
            remote_port,
            ..FlowResult::default()
        };
        let found = |token, port| find(&result(token, port), &own).map(|one| one.local.port());
        // A translated port does not matter where there is a token.
        assert_eq!(found(7, 60_000), Some(1));
        assert_eq!(found(8, 2), Some(2));
        assert_eq!(found(0, 3), Some(3));
        // Two tokens that differ are two flows.
        assert_eq!(found(8, 3), None);
        let found = find(&result(7, 1), &own).expect("a flow");
        assert_eq!(found.counterpart(Way::Send), own[0].receives);
        assert_eq!(found.counterpart(Way::Receive), own[0].sends);
    }
}
