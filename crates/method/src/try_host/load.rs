//! TCP as fast as it goes in one direction, with round trips beside it.

use std::time::Duration;

use tapeline_base::Transport;
use tapeline_dialect::{ClientPlan, Limit, SocketPlan};
use tapeline_report::FlowDirection;
use tapeline_report::document::{Report, Stream};
use tapeline_report::method::{Direction, TryDirection};

use super::rate_meter::{RateMeter, SETTLING};
use crate::error::RunError;
use crate::method_peer::{MethodPeer, MethodPeerProgram};
use crate::run::Run;

/// Flows, unless `-P` says otherwise.
const FLOWS: usize = 4;

/// Loads a direction and measures. `segment` bounds the segments of both ends, where longer packets would
/// vanish.
///
/// # Errors
/// What failed of it; the rest is entered.
pub(crate) fn measure(
    run: &mut Run<'_>,
    peer: &mut MethodPeer,
    direction: Direction,
    time: Duration,
    segment: Option<u32>,
    found: &mut TryDirection,
) -> Result<(), RunError> {
    let (common, runs) = (run.common(), run.runs());
    let program = peer.program;
    let mut meter = RateMeter::default();
    let time_of_probes = time.saturating_sub(SETTLING);
    let (performed, trips) = run.lend_session(|run, session| {
        std::thread::scope(|scope| {
            let trips =
                scope.spawn(|| peer.round_trips(session, common, runs, SETTLING, time_of_probes));
            let performed = if program == MethodPeerProgram::Iperf3 {
                let mut plan = run.iperf3_plan(Transport::Tcp, direction);
                let parameters = &mut plan.parameters;
                parameters.segment_size = segment.or(parameters.segment_size);
                parameters.parallel = common.parallel.unwrap_or(FLOWS) as u32;
                parameters.omit = SETTLING.as_secs() as u32;
                parameters.time = (time - SETTLING).as_secs().max(1) as u32;
                run.client_test_iperf3(&plan, &mut |_| {}).into()
            } else {
                let plan = run.client_plan(Transport::Tcp, direction);
                let plan = ClientPlan {
                    socket: SocketPlan {
                        segment_size: segment.or(plan.socket.segment_size),
                        ..plan.socket
                    },
                    limit: Limit::Time(time),
                    parallel: common.parallel.unwrap_or(FLOWS),
                    // Round trips are measured otherwise.
                    probe: false,
                    ..plan
                };
                run.client_test_in_part(&plan, &mut |event| meter.observe(event))
            };
            let trips = trips.join().unwrap_or_else(|_| {
                Err(RunError::failed(
                    "test-failed",
                    "round trips were not measured",
                ))
            });
            (performed, trips)
        })
    });
    if let Some(report) = &performed.report {
        enter_rate(report, direction, program, &meter, found);
        if let (Some(judged), Some(_)) = (&report.verdict, found.bits_per_second) {
            found.limited_by = judged.verdict.limited_by;
            found.confidence = found.limited_by.map(|_| judged.verdict.confidence);
        }
    }
    // Round trips behind a load that ended early are none of a loaded path.
    performed.ended?;
    let trips = trips?;
    found.source = Some(trips.delays.source.id());
    found.samples = Some(trips.delays.answered.into());
    found.loaded_p50_ms = Some(trips.delays.p50_ms);
    found.loaded_p95_ms = Some(trips.delays.p95_ms);
    found.loss_percent = trips.loss_percent;
    Ok(())
}

fn enter_rate(
    report: &Report,
    direction: Direction,
    program: MethodPeerProgram,
    meter: &RateMeter,
    found: &mut TryDirection,
) {
    let wanted = match direction {
        Direction::Up => FlowDirection::Forward,
        Direction::Down => FlowDirection::Reverse,
    };
    let streams: Vec<&Stream> = report
        .streams
        .iter()
        .filter(|stream| stream.direction == wanted)
        .collect();
    // What a sender counts of a test that broke off may lie in its buffers still.
    let is_received = |stream: &&Stream| stream.receiver.end.bytes.is_some();
    if !report.test.complete && !streams.iter().all(is_received) {
        return;
    }
    // The receiver's count, else the sender's.
    let counted = streams.iter().map(|stream| {
        let received = &stream.receiver.end;
        let end = if received.bytes.is_some() {
            received
        } else {
            &stream.sender.end
        };
        (end.bytes.unwrap_or(0), end.seconds.unwrap_or(0.0))
    });
    let (bytes, seconds) = counted.fold((0, 0.0_f64), |(bytes, seconds), (more, time)| {
        (bytes + more, seconds.max(time))
    });
    if seconds <= 0.0 {
        return;
    }
    let whole = bytes as f64 * 8.0 / seconds;
    let settled = match (program, direction) {
        (MethodPeerProgram::Iperf3, _) => None,
        (_, Direction::Down) => meter.own(),
        (_, Direction::Up) => meter.of_server(bytes, Duration::from_secs_f64(seconds)),
    };
    found.bits_per_second = Some(settled.unwrap_or(whole));
    let omitted = match program {
        MethodPeerProgram::Iperf3 => SETTLING.as_secs_f64(),
        _ => 0.0,
    };
    found.load_seconds = Some(seconds + omitted);
}
