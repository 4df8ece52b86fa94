//! The idle path, with a flow as small as a call's: round trips, loss and jitter.

use std::time::Duration;

use tapeline_base::{Pace, PacketRate, Transport};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, Iperf3Client, Limit};
use tapeline_report::FlowDirection;
use tapeline_report::document::Report;
use tapeline_report::method::{Direction, NOT_KNOWN, TryDatagrams, TryIdle};
use tapeline_wire::iperf3 as wire;

use crate::common::DirectionChoice;
use crate::error::RunError;
use crate::method_peer::{MethodPeer, MethodPeerProgram};
use crate::run::Run;

/// How long it lasts.
pub(crate) const TIME: Duration = Duration::from_millis(2500);
/// Datagrams per second and their payload, bytes.
const RATE: u64 = 100;
const LENGTH: u32 = 200;
/// Payload, both directions together.
pub(crate) const BYTES: u64 = 2 * RATE * LENGTH as u64 * 5 / 2;
/// iperf3's tests last whole seconds.
const IPERF3_TIME: u32 = 2;

/// Measures datagrams and round trips at the same time.
///
/// # Errors
/// What of it failed; the rest is entered.
pub(crate) fn measure(
    run: &mut Run<'_>,
    peer: &mut MethodPeer,
    result: &mut TryIdle,
) -> Result<(), RunError> {
    let (common, runs) = (run.common(), run.runs());
    let program = peer.program;
    let (datagrams, delays) = run.lend_session(|run, session| {
        std::thread::scope(|scope| {
            let delays =
                scope.spawn(|| peer.round_trips(session, common, runs, Duration::ZERO, TIME));
            let datagrams = match program {
                MethodPeerProgram::Iperf3 => run.client_test_iperf3(&iperf3_plan(run), &mut |_| {}),
                _ => ordinary(run, program),
            };
            let delays = delays.join().unwrap_or_else(|_| {
                Err(RunError::failed(
                    "test-failed",
                    "round trips were not measured",
                ))
            });
            (datagrams, delays)
        })
    });
    let mut failed = None;
    match delays {
        Ok(trips) => {
            let delays = trips.delays;
            result.source = Some(delays.source.id());
            result.samples = Some(delays.answered.into());
            result.min_ms = Some(delays.min_ms);
            result.p50_ms = Some(delays.p50_ms);
            result.p95_ms = Some(delays.p95_ms);
        }
        Err(error) => failed = Some(error),
    }
    match datagrams {
        Ok(report) => {
            result.up = found(&report, FlowDirection::Forward);
            result.down = found(&report, FlowDirection::Reverse);
        }
        Err(error @ RunError::Failed { .. }) => {
            result.reason = Some(error.to_string());
            failed = Some(error);
        }
        Err(error) => return Err(error),
    }
    failed.map_or(Ok(()), Err)
}

/// The test with tapeline or iperf 2. A server that sends no datagrams to strangers still receives theirs.
fn ordinary(run: &mut Run<'_>, program: MethodPeerProgram) -> Result<Report, RunError> {
    let choice = run.common().direction;
    let Some(wanted) = plan(run, program, choice) else {
        // Nothing is known of what this server would send.
        return Err(RunError::failed("no-reply", NOT_KNOWN));
    };
    match run.client_test(&wanted, &mut |_| {}) {
        Err(RunError::Failed {
            id: "test-refused",
            text,
            ..
        }) if choice == DirectionChoice::Both => {
            run.deviate(format!("no datagrams down without load: {text}"));
            match plan(run, program, DirectionChoice::Up) {
                Some(up) => run.client_test(&up, &mut |_| {}),
                None => Err(RunError::failed("test-refused", text)),
            }
        }
        other => other,
    }
}

fn plan(run: &Run<'_>, program: MethodPeerProgram, choice: DirectionChoice) -> Option<ClientPlan> {
    let (arrangement, direction) = match (program, choice) {
        (MethodPeerProgram::Tapeline, DirectionChoice::Both) => {
            (Arrangement::FullDuplex, Direction::Up)
        }
        (MethodPeerProgram::Tapeline, DirectionChoice::Down) => {
            (Arrangement::Reverse, Direction::Down)
        }
        // What plain iperf 2 sends is not compared with what it says it sent.
        (_, DirectionChoice::Down) => return None,
        _ => (Arrangement::Forward, Direction::Up),
    };
    Some(ClientPlan {
        workload: ClientWorkload::Stream(arrangement),
        limit: Limit::Time(TIME),
        pace: Some(Pace::Packets(PacketRate(RATE))),
        length: Some(LENGTH),
        interval: None,
        probe: false,
        ..run.client_plan(Transport::Udp, direction)
    })
}

fn iperf3_plan(run: &Run<'_>) -> Iperf3Client {
    let mut plan = run.iperf3_plan(Transport::Udp, Direction::Up);
    plan.interval = None;
    let parameters = &mut plan.parameters;
    parameters.direction = match run.common().direction {
        DirectionChoice::Both => wire::Direction::Bidirectional,
        DirectionChoice::Up => wire::Direction::Forward,
        DirectionChoice::Down => wire::Direction::Reverse,
    };
    parameters.time = IPERF3_TIME;
    parameters.rate = RATE * u64::from(LENGTH) * 8;
    parameters.length = Some(LENGTH);
    plan
}

/// What the receiver of a direction counted.
fn found(report: &Report, direction: FlowDirection) -> TryDatagrams {
    let mut streams = report.streams.iter();
    let stream = streams.find(|stream| stream.direction == direction);
    let Some(udp) = stream.and_then(|stream| stream.receiver.udp.as_ref()) else {
        return TryDatagrams::default();
    };
    let sent = udp
        .packets
        .zip(udp.lost)
        .map(|(packets, lost)| packets + lost);
    TryDatagrams::new(sent, udp.lost, udp.jitter_mean_ms.or(udp.jitter_ms))
}
