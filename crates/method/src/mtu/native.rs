//! Towards a tapeline: probes of any size, which the other end answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tapeline_dialect::{
    IcmpOutcome, MethodFlow, MethodSession, PathMtuFinding, PathMtuRequest, ProbeFormat,
    SessionError, SessionEvent, is_path_mtu_search, measure_path_mtu,
};
use tapeline_report::method::{
    Direction, MtuDirection, MtuFragments, MtuIcmp, MtuResult, MtuTrial, is_mss_clamped,
};
use tapeline_stats::PathMtuEnding;
use tapeline_sys::{TcpInfo, reason};
use tapeline_wire::native::{
    Done, LoadParameters, MethodDatagram, MethodKind, Order, OrderDirection, OrderEnd, PathMtuDone,
};

use super::basis::{PACKETS, PLANNED, fall_back_to_tcp, headers, largest};
use crate::common::Common;
use crate::error::{MethodError, RunError};
use crate::run::Run;

/// What an order may take: more than a search ever does.
const ORDERED: Duration = Duration::from_secs(25);
/// Time for the server's last word.
const DONE: Duration = Duration::from_secs(3);
/// Longest wait between two looks at the control connection.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of a control packet.
const CONTROL: u32 = 1200;

/// Why a direction has no exact size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortfall {
    Blocked,
    BelowMinimum,
    TooLossy,
    /// And how the server's order ended, if it was one.
    OutOfTime(Option<OrderEnd>),
}

impl Shortfall {
    const fn of(ending: PathMtuEnding) -> Option<Self> {
        match ending {
            PathMtuEnding::Found => None,
            PathMtuEnding::Blocked => Some(Self::Blocked),
            PathMtuEnding::BelowMinimum => Some(Self::BelowMinimum),
            PathMtuEnding::TooLossy => Some(Self::TooLossy),
            PathMtuEnding::OutOfTime => Some(Self::OutOfTime(None)),
        }
    }

    /// Of a server's word.
    fn of_word(word: Option<&str>, end: OrderEnd) -> Option<Self> {
        Some(match word? {
            "blocked" => Self::Blocked,
            "mtu-below-minimum" => Self::BelowMinimum,
            "path-too-lossy" => Self::TooLossy,
            _ => Self::OutOfTime(Some(end)),
        })
    }

    fn error(self, host: &str, direction: Direction) -> Option<RunError> {
        let (id, text) = match self {
            Self::Blocked => return None,
            Self::BelowMinimum => (
                "mtu-below-minimum",
                format!("packets of {CONTROL} bytes do not pass {direction}, shorter ones do"),
            ),
            Self::TooLossy => (
                "path-too-lossy",
                "more than 30 % of the control packets were lost".to_owned(),
            ),
            Self::OutOfTime(None | Some(OrderEnd::Complete)) => (
                "method-overran",
                "the search was not over after 20 s".to_owned(),
            ),
            Self::OutOfTime(Some(end)) => (
                "test-stopped",
                format!("the server ended the search: {}", reason_of(end)),
            ),
        };
        Some(RunError::failed(
            id,
            format!("{text} ({host}, {direction})"),
        ))
    }
}

/// Why a server ended an order.
const fn reason_of(end: OrderEnd) -> &'static str {
    match end {
        OrderEnd::NoFeedback => "no answer of this client arrived for a second",
        OrderEnd::BytesUsedUp => "the bytes that it grants are used up",
        OrderEnd::ServerStopped => "the server stops",
        OrderEnd::NotOpened => "no datagram of this client arrived",
        _ => "it does not give a reason",
    }
}

/// Measures the directions that were asked for.
pub(crate) fn measure(
    common: &Common,
    run: &mut Run<'_>,
    session: &mut MethodSession,
    result: &mut MtuResult,
) -> Result<(), MethodError> {
    let mut ended = Ok(());
    let mut blocked = 0;
    let directions = common.direction.directions();
    for &direction in directions {
        run.begin(PACKETS, Some(direction), PLANNED);
        let shortfall = match measure_way(run, session, direction, result) {
            Ok(shortfall) => shortfall,
            Err(SessionError::UdpBlocked) => Some(Shortfall::Blocked),
            Err(error) => return Err(run.session_failure(&error)),
        };
        // Known already: whatever ends the method keeps it.
        enter_tcp(session.tcp_info(), result);
        run.check()?;
        if shortfall == Some(Shortfall::Blocked) {
            blocked += 1;
            if blocked == directions.len() || direction == Direction::Up {
                // Without one direction the answers of the other are missing, too.
                return fall_back_to_tcp(common, run, result);
            }
        } else if let Some(error) =
            shortfall.and_then(|shortfall| shortfall.error(&common.host, direction))
        {
            run.fail_phase(&error.to_string())?;
            ended = Err(error);
        }
        result.conclude();
    }
    for &direction in directions {
        let way = way(result, direction);
        if way.size_dependent_loss {
            let passes = way.passes().unwrap_or_default();
            run.warn(
                "size-dependent-loss",
                format!(
                    "sizes above {passes} bytes are lost again and again {direction}, although \
                     larger ones pass"
                ),
            );
        }
    }
    ended
}

/// One direction, in a phase of another method; nothing where that ends without a size.
pub(crate) fn measure_one(
    run: &mut Run<'_>,
    session: &mut MethodSession,
    direction: Direction,
    result: &mut MtuResult,
) {
    *way(result, direction) = MtuDirection::default();
    let blocked = matches!(
        measure_way(run, session, direction, result),
        Ok(Some(Shortfall::Blocked)) | Err(SessionError::UdpBlocked)
    );
    result.tcp_only |= blocked;
    enter_tcp(session.tcp_info(), result);
}

fn measure_way(
    run: &mut Run<'_>,
    session: &mut MethodSession,
    direction: Direction,
    result: &mut MtuResult,
) -> Result<Option<Shortfall>, SessionError> {
    let common = run.common();
    match direction {
        Direction::Up => measure_up(common, run, session, result),
        Direction::Down => measure_down(common, run, session, result),
    }
}

/// Probes of this end, which the server answers.
fn measure_up(
    common: &Common,
    run: &mut Run<'_>,
    session: &mut MethodSession,
    result: &mut MtuResult,
) -> Result<Option<Shortfall>, SessionError> {
    let ready = session.order(&order(common, OrderDirection::Up))?;
    let mut flow = session.flow(&ready)?;
    let socket = std::sync::Arc::clone(flow.socket());
    let request = PathMtuRequest {
        largest: largest(common),
        is_quick: false,
        round_trip: Some(session.connect_time()),
        seed: flow.key().get(),
    };
    let mut probes = Probes {
        flow: &mut flow,
        run: &*run,
        bytes: 0,
    };
    let found = measure_path_mtu(&socket, &request, &mut probes)
        .map_err(|error| SessionError::Socket(reason(&error)))?;
    let bytes = probes.bytes;
    session.end_order("the search is over");
    // A server that has gone meanwhile has answered nothing: that says nothing about sizes.
    let done = session.wait_done(DONE)?;
    let _ = run.count_bytes(bytes);
    result.round_trip_ms = found
        .outcome
        .round_trip
        .map(|trip| trip.as_secs_f64() * 1e3);
    result
        .trials
        .extend(found.trials.iter().map(|trial| MtuTrial {
            direction: Direction::Up,
            packet_bytes: trial.size.into(),
            sent: Some(trial.tries),
            arrived: trial.answers,
        }));
    enter_up(way(result, Direction::Up), &found, &done);
    Ok(Shortfall::of(found.outcome.ending))
}

/// Probes of the server, which this end answers.
fn measure_down(
    common: &Common,
    run: &mut Run<'_>,
    session: &mut MethodSession,
    result: &mut MtuResult,
) -> Result<Option<Shortfall>, SessionError> {
    let ready = session.order(&order(common, OrderDirection::Down))?;
    let mut flow = session.flow(&ready)?;
    let mut arrived: BTreeMap<u32, u32> = BTreeMap::new();
    let mut heads = Vec::new();
    let headers = headers(result.ipv6);
    let until = Instant::now() + ORDERED + DONE;
    let done = loop {
        if run.check().is_err() {
            session.end_order("interrupted");
            break session.wait_done(DONE)?;
        }
        flow.receive(LOOK, |datagram| {
            let bytes = u32::try_from(datagram.payload.len()).unwrap_or(u32::MAX) + headers;
            heads.push((datagram.head, bytes));
        })
        .map_err(|error| SessionError::Socket(reason(&error)))?;
        for (head, bytes) in heads.drain(..) {
            // One that does not leave is asked for again.
            let _ = flow.answer(&head);
            if head.kind == MethodKind::Probe && is_path_mtu_search(head.number) {
                *arrived.entry(bytes).or_default() += 1;
            }
        }
        match session.next_event(Duration::ZERO)? {
            Some(SessionEvent::Done(done)) => break *done,
            _ if Instant::now() >= until => return Err(SessionError::Silent),
            _ => {}
        }
    };
    let _ = run.count_bytes(done.bytes_sent);
    let controls = arrived.get(&CONTROL).copied().unwrap_or_default();
    result
        .trials
        .extend(arrived.into_iter().map(|(packet_bytes, arrived)| MtuTrial {
            direction: Direction::Down,
            packet_bytes,
            sent: None,
            arrived,
        }));
    let Some(found) = &done.path_mtu else {
        let why = done.why.unwrap_or_else(|| reason_of(done.end).to_owned());
        return Err(SessionError::Declined(why));
    };
    if let (None, Some(nanos)) = (result.round_trip_ms, found.round_trip_ns) {
        result.round_trip_ms = Some(nanos as f64 / 1e6);
    }
    enter_down(way(result, Direction::Down), found, controls);
    Ok(Shortfall::of_word(found.error.as_deref(), done.end))
}

fn order(common: &Common, direction: OrderDirection) -> Order {
    Order {
        method: "mtu".into(),
        direction,
        seconds: ORDERED,
        parameters: LoadParameters {
            largest: largest(common).map(u32::from),
            tos: common.tos.map(|tos| tos.0),
            ..LoadParameters::default()
        },
    }
}

/// The entry of a direction, which there is if it was asked for.
fn way(result: &mut MtuResult, direction: Direction) -> &mut MtuDirection {
    result.direction_mut(direction).get_or_insert_default()
}

fn enter_up(way: &mut MtuDirection, found: &PathMtuFinding, done: &Done) {
    let outcome = &found.outcome;
    let size = outcome.size.map(u32::from);
    *way = MtuDirection {
        mtu_bytes: size.filter(|_| outcome.is_exact),
        exact: outcome.is_exact,
        at_least: size.filter(|_| !outcome.is_exact),
        interface_mtu_bytes: found.interface_mtu,
        icmp: found.icmp.map(icmp),
        icmp_mtu_bytes: found.icmp_mtu,
        icmp_from: found.icmp_from,
        fragments: Some(match found.fragments_pass {
            Some(true) => MtuFragments::Pass,
            Some(false) => MtuFragments::Blocked,
            None => MtuFragments::Unknown,
        }),
        probes_sent: Some(outcome.sent),
        probes_answered: Some(outcome.answered),
        control_loss_percent: done
            .controls_received
            .filter(|_| u32::from(outcome.control_size) == CONTROL)
            .and_then(|received| loss_percent(outcome.controls.into(), received)),
        size_dependent_loss: outcome.is_size_dependent,
        ..MtuDirection::default()
    };
}

fn enter_down(way: &mut MtuDirection, found: &PathMtuDone, controls: u32) {
    let size = found.mtu_bytes.or(found.at_least);
    *way = MtuDirection {
        mtu_bytes: size.filter(|_| found.exact),
        exact: found.exact,
        at_least: size.filter(|_| !found.exact),
        interface_mtu_bytes: found.interface_mtu_bytes,
        mss_bytes: found.mss_bytes,
        tcp_path_mtu_bytes: found.tcp_path_mtu_bytes,
        icmp: icmp_of_word(&found.icmp),
        icmp_mtu_bytes: found.icmp_mtu_bytes,
        icmp_from: found.icmp_from,
        fragments: Some(match found.fragments.as_str() {
            "pass" => MtuFragments::Pass,
            "blocked" => MtuFragments::Blocked,
            _ => MtuFragments::Unknown,
        }),
        probes_sent: u32::try_from(found.probes_sent).ok(),
        probes_answered: u32::try_from(found.probes_answered).ok(),
        control_loss_percent: loss_percent(found.controls_sent, controls.into()),
        size_dependent_loss: found.size_dependent_loss,
        ..MtuDirection::default()
    };
}

/// Share of `sent` that did not arrive, %.
fn loss_percent(sent: u64, received: u64) -> Option<f64> {
    (sent > 0).then(|| 100.0 * sent.saturating_sub(received) as f64 / sent as f64)
}

/// What this end's TCP believes, and what follows for both directions.
fn enter_tcp(info: Option<TcpInfo>, result: &mut MtuResult) {
    let ipv6 = result.ipv6;
    if let (Some(up), Some(info)) = (&mut result.up, info) {
        up.mss_bytes = info.snd_mss;
        up.tcp_path_mtu_bytes = info.pmtu;
    }
    // What makes segments small at an end: its interface, or what it knows of the path.
    let known = [&result.up, &result.down]
        .into_iter()
        .flatten()
        .flat_map(|way| [way.interface_mtu_bytes, way.tcp_path_mtu_bytes])
        .flatten()
        .min();
    for way in [&mut result.up, &mut result.down].into_iter().flatten() {
        let passes = way
            .passes()
            .zip(known)
            .map(|(passes, known)| passes.min(known));
        way.mss_clamped = is_mss_clamped(way.mss_bytes, passes, ipv6);
    }
}

const fn icmp(outcome: IcmpOutcome) -> MtuIcmp {
    match outcome {
        IcmpOutcome::NotNeeded => MtuIcmp::NotNeeded,
        IcmpOutcome::Received => MtuIcmp::Received,
        IcmpOutcome::Wrong => MtuIcmp::Wrong,
        IcmpOutcome::Blocked => MtuIcmp::Blocked,
        IcmpOutcome::Cached => MtuIcmp::Cached,
    }
}

fn icmp_of_word(word: &str) -> Option<MtuIcmp> {
    let all = [
        IcmpOutcome::NotNeeded,
        IcmpOutcome::Received,
        IcmpOutcome::Wrong,
        IcmpOutcome::Blocked,
        IcmpOutcome::Cached,
    ];
    let found = all.into_iter().find(|outcome| outcome.word() == word);
    found.map(icmp)
}

/// The probes of this end.
struct Probes<'a, 'r> {
    flow: &'a mut MethodFlow,
    run: &'a Run<'r>,
    bytes: u64,
}

impl ProbeFormat for Probes<'_, '_> {
    fn probe(&mut self, number: u32, length: usize) -> &[u8] {
        self.bytes += length as u64;
        self.flow.fill(MethodKind::Probe, number, 0, length)
    }

    fn answer(&mut self, datagram: &[u8]) -> Option<u32> {
        let head = MethodDatagram::parse(datagram)?;
        let is_answer = head.key == self.flow.key() && head.kind == MethodKind::Answer;
        is_answer.then_some(head.number)
    }

    fn is_over(&mut self) -> bool {
        self.flow.stay_present();
        self.run.check().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_server_is_known() {
        for (word, expected) in [
            ("not-needed", Some(MtuIcmp::NotNeeded)),
            ("received", Some(MtuIcmp::Received)),
            ("wrong", Some(MtuIcmp::Wrong)),
            ("blocked", Some(MtuIcmp::Blocked)),
            ("cached", Some(MtuIcmp::Cached)),
            ("", None),
            ("else", None),
        ] {
            assert_eq!(icmp_of_word(word), expected);
        }
        let of_word = |word| Shortfall::of_word(word, OrderEnd::NoFeedback);
        assert_eq!(of_word(None), None);
        assert_eq!(of_word(Some("path-too-lossy")), Some(Shortfall::TooLossy));
        let ended = Shortfall::OutOfTime(Some(OrderEnd::NoFeedback));
        assert_eq!(of_word(Some("a new word")), Some(ended));
    }

    #[test]
    fn the_loss_of_control_packets_is_one_way() {
        assert_eq!(loss_percent(0, 0), None);
        assert_eq!(loss_percent(400, 380), Some(5.0));
        // Repeats on the way are no gain.
        assert_eq!(loss_percent(10, 12), Some(0.0));
    }

    #[test]
    fn a_small_interface_is_no_clamp() {
        let direction = |mss, interface| MtuDirection {
            mtu_bytes: Some(1500),
            exact: true,
            mss_bytes: Some(mss),
            interface_mtu_bytes: Some(interface),
            ..MtuDirection::default()
        };
        let clamped = |mss, interface| {
            let mut result = MtuResult {
                down: Some(direction(mss, interface)),
                ..MtuResult::default()
            };
            enter_tcp(None, &mut result);
            result.down.and_then(|down| down.mss_clamped)
        };
        assert_eq!(clamped(1448, 1500), Some(false));
        assert_eq!(clamped(1348, 1500), Some(true));
        assert_eq!(clamped(1348, 1400), Some(false));
    }
}
