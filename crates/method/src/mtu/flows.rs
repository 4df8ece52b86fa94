//! Towards plain peers: a short flow of datagrams for each size, of which the other end reports what
//! arrived. Up only: an iperf3 server sends, too, but sets IP_MTU_DISCOVER for `dont_fragment` only if it
//! was started with -4 (3.22); else its system fragments as soon as it has learnt the path MTU.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, Pace, Transport};
use tapeline_dialect::Limit;
use tapeline_report::document::Report;
use tapeline_report::method::{Direction, MtuDirection, MtuResult, MtuTrial};
use tapeline_stats::PathMtuTrials;
use tapeline_sys::{SocketOptions, UdpSocket};

use super::basis::{
    PACKETS, PLANNED_BY_FLOWS, PLANNED_TCP, TCP, fall_back_to_tcp, headers, largest as asked,
};
use super::tcp_view;
use crate::common::{Common, PeerKind};
use crate::error::{MethodError, RunError};
use crate::run::Run;

/// Datagrams of a flow; a size passes if one of them arrives.
const DATAGRAMS: u64 = 10;
/// Packets a second of a flow.
const PACE: u64 = 100;
/// Tests of a size that may fail for other reasons than its length, and the pause behind each.
const MOST_FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(300);
/// The upper end where the interface's MTU is not known.
const COMMON_LARGEST: u32 = 9000;
/// Sizes of which nothing arrives before the first that passes: UDP is blocked.
const LEAST: u16 = 576;

/// Measures the directions that were asked for. `without_tcp` is why there is no TCP connection, if
/// that has been tried: the error if there is no UDP either.
pub(crate) fn measure(
    common: &Common,
    run: &mut Run<'_>,
    result: &mut MtuResult,
    without_tcp: Option<RunError>,
) -> Result<(), MethodError> {
    let server = common.address()?;
    let interface = outgoing_mtu(common, server);
    let is_iperf3 = common.peer == PeerKind::Iperf3;
    for &direction in common.direction.directions() {
        if direction == Direction::Down {
            let why = if is_iperf3 {
                "iperf3 servers forbid fragmentation only if started with -4, and do not report it"
            } else {
                "iperf 2 servers do not forbid fragmentation"
            };
            run.skip(PACKETS, Some(direction), why);
            continue;
        }
        run.begin(PACKETS, Some(direction), PLANNED_BY_FLOWS);
        if !search(common, run, result, interface)? {
            return match without_tcp {
                Some(error) => Err(error),
                None => fall_back_to_tcp(common, run, result),
            };
        }
    }
    if without_tcp.is_some() {
        return Ok(());
    }
    run.begin(TCP, Some(Direction::Up), PLANNED_TCP);
    match tcp_view::measure(run, result) {
        Err(RunError::Failed { text, .. }) => run.fail_phase(&text),
        ended => ended,
    }
}

/// One direction, in a phase of another method.
pub(crate) fn measure_one(
    run: &mut Run<'_>,
    direction: Direction,
    result: &mut MtuResult,
) -> Result<(), RunError> {
    if direction == Direction::Down {
        result.down = Some(MtuDirection::default());
        return Ok(());
    }
    result.up = Some(MtuDirection::default());
    let common = run.common();
    let interface = outgoing_mtu(common, common.address()?);
    let arrives = search(common, run, result, interface)?;
    result.tcp_only |= !arrives;
    Ok(())
}

/// MTU of the interface that leads to the server.
fn outgoing_mtu(common: &Common, server: SocketAddr) -> Option<u32> {
    let local = common.local(server).ok()?;
    let options = SocketOptions {
        device: common.device.clone(),
        ..SocketOptions::default()
    };
    let opened = UdpSocket::connected(server, local, &options).ok()?;
    opened.socket.outgoing_mtu()
}

/// Tries sizes until the largest is known; returns whether any arrived.
fn search(
    common: &Common,
    run: &mut Run<'_>,
    result: &mut MtuResult,
    interface: Option<u32>,
) -> Result<bool, MethodError> {
    let ends_at = interface.unwrap_or(COMMON_LARGEST);
    let ends_at = u16::try_from(ends_at).unwrap_or(u16::MAX);
    let largest = asked(common).unwrap_or(ends_at).min(ends_at);
    let mut trials = PathMtuTrials::new(result.ipv6, largest);
    let (mut sent, mut arrived) = (0, 0);
    while let Some(size) = trials.next() {
        run.check()?;
        let came = try_size(run, size, result.ipv6)?;
        trials.tried(size, came > 0);
        sent += DATAGRAMS as u32;
        arrived += came;
        let trial = MtuTrial {
            direction: Direction::Up,
            packet_bytes: size.into(),
            sent: Some(DATAGRAMS as u32),
            arrived: came,
        };
        run.trial(&trial);
        result.trials.push(trial);
        if trials.passed().is_none() && size <= LEAST.max(if result.ipv6 { size } else { 0 }) {
            return Ok(false);
        }
    }
    let is_exact = trials.is_exact() && (largest == ends_at || trials.passed() < Some(largest));
    // Up to the usual sizes only, the upper end is a lower bound.
    let is_exact = is_exact && (interface.is_some() || trials.passed() < Some(largest));
    let size = trials.passed().map(u32::from);
    let way = MtuDirection {
        mtu_bytes: size.filter(|_| is_exact),
        exact: is_exact,
        at_least: size.filter(|_| !is_exact),
        interface_mtu_bytes: interface,
        probes_sent: Some(sent),
        probes_answered: Some(arrived),
        ..MtuDirection::default()
    };
    result.up = Some(way);
    result.conclude();
    Ok(true)
}

/// A flow of packets of this size: how many arrived, as the receiver reports.
fn try_size(run: &mut Run<'_>, size: u16, is_v6: bool) -> Result<u32, MethodError> {
    let payload = u32::from(size).saturating_sub(headers(is_v6));
    let rate = BitRate(u64::from(payload) * 8 * PACE);
    let mut failures = 0;
    loop {
        match flow(run, payload, rate) {
            Ok(report) => return Ok(arrived(&report)),
            // Nothing of it arrived, not even its end: that is an answer.
            Err(RunError::Failed { id, .. }) if is_silence(id) => return Ok(0),
            // A server that has just ended a test may not take the next one yet.
            Err(RunError::Failed { .. }) if failures < MOST_FAILURES => {
                failures += 1;
                run.wait(PAUSE)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A flow of datagrams of this payload.
fn flow(run: &mut Run<'_>, payload: u32, rate: BitRate) -> Result<Report, RunError> {
    if run.common().peer == PeerKind::Iperf3 {
        let mut plan = run.iperf3_plan(Transport::Udp, Direction::Up);
        plan.parameters.length = Some(payload);
        plan.parameters.blocks = DATAGRAMS;
        plan.parameters.time = 0;
        plan.parameters.rate = rate.0;
        plan.parameters.dont_fragment = true;
        return run.client_test_iperf3(&plan, &mut |_| {});
    }
    let mut plan = run.client_plan(Transport::Udp, Direction::Up);
    plan.length = Some(payload);
    plan.limit = Limit::Bytes(Bytes(u64::from(payload) * DATAGRAMS));
    plan.pace = Some(Pace::Bits(rate));
    plan.control = false;
    plan.probe = false;
    plan.socket.unfragmented = true;
    run.client_test(&plan, &mut |_| {})
}

/// Whether a test failed because nothing arrived.
fn is_silence(id: &str) -> bool {
    matches!(
        id,
        "traffic-failed" | "no-receiver-report" | "no-reply" | "peer-lost"
    )
}

/// Datagrams that the receiver counted.
fn arrived(report: &Report) -> u32 {
    let packets = report
        .streams
        .iter()
        .filter_map(|stream| stream.receiver.udp?.packets)
        .sum::<u64>();
    u32::try_from(packets).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_is_an_answer() {
        assert!(is_silence("no-receiver-report") && is_silence("traffic-failed"));
        assert!(is_silence("peer-lost") && is_silence("no-reply"));
        assert!(!is_silence("connect-failed") && !is_silence("test-failed"));
    }
}
