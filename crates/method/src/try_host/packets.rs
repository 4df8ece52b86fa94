//! The largest packet that arrives: a first impression, both ways.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_dialect::{
    FlowProbes, IcmpOutcome, LoadParameters, MethodSession, Order, OrderDirection, PathMtuRequest,
    SessionError, SessionEvent, measure_path_mtu,
};
use tapeline_report::method::{Direction, TryMtu};
use tapeline_sys::reason;

use crate::error::RunError;
use crate::run::Run;
use crate::session_slot::knows;

/// How long it takes on most paths.
pub(crate) const TIME: Duration = Duration::from_millis(1500);
/// How long a direction takes at most.
const LONGEST: Duration = Duration::from_secs(6);
/// Time for the server's last word.
const FAREWELL: Duration = Duration::from_secs(1);
/// Time between two looks for it.
const LOOK: Duration = Duration::from_millis(20);

/// What a direction came to.
struct Found {
    bytes: u32,
    is_exact: bool,
    /// Larger packets vanish without notice; `None` where that cannot be told.
    is_black_hole: Option<bool>,
}

/// Measures; nothing with a peer that takes no orders.
///
/// # Errors
/// Datagrams do not pass.
pub(crate) fn measure(run: &mut Run<'_>, result: &mut TryMtu) -> Result<(), RunError> {
    run.lend_session(
        |run, session| match session.filter(|one| knows(one, "mtu")) {
            Some(session) => measure_with(run, session, result),
            None => Ok(()),
        },
    )
}

fn measure_with(
    run: &Run<'_>,
    session: &mut MethodSession,
    result: &mut TryMtu,
) -> Result<(), RunError> {
    result.exact = true;
    let mut holes = Vec::new();
    for direction in run.common().direction.directions() {
        let found = match direction {
            Direction::Up => up(run, session),
            Direction::Down => down(run, session),
        };
        run.check()?;
        let found = found.map_err(|error| RunError::failed("no-reply", error.to_string()))?;
        let Some(found) = found else {
            continue;
        };
        result.exact &= found.is_exact;
        holes.push(found.is_black_hole);
        match direction {
            Direction::Up => result.up_bytes = Some(found.bytes),
            Direction::Down => result.down_bytes = Some(found.bytes),
        }
    }
    // One is enough; that there is none needs every direction.
    result.black_hole = match holes.contains(&Some(true)) {
        true => Some(true),
        false if holes.is_empty() || holes.contains(&None) => None,
        false => Some(false),
    };
    Ok(())
}

fn order(direction: OrderDirection) -> Order {
    Order {
        method: "mtu".to_owned(),
        direction,
        seconds: LONGEST,
        parameters: LoadParameters {
            quick: Some(true),
            ..LoadParameters::default()
        },
    }
}

/// Probes of this end, which the server answers.
fn up(run: &Run<'_>, session: &mut MethodSession) -> Result<Option<Found>, SessionError> {
    let ready = session.order(&order(OrderDirection::Up))?;
    let mut flow = session.flow(&ready)?;
    let socket = Arc::clone(flow.socket());
    let request = PathMtuRequest {
        largest: None,
        is_quick: true,
        round_trip: Some(session.connect_time()),
        seed: flow.key().get(),
    };
    let until = Instant::now() + LONGEST;
    let mut is_over = || Instant::now() >= until || run.check().is_err();
    let mut probes = FlowProbes::new(&mut flow, &mut is_over);
    let found = measure_path_mtu(&socket, &request, &mut probes)
        .map_err(|error| SessionError::Socket(reason(&error)))?;
    session.end_order("the search is over");
    let _ = session.wait_done(FAREWELL);
    let outcome = found.outcome;
    Ok(outcome.size.map(|size| Found {
        bytes: size.into(),
        is_exact: outcome.is_exact,
        is_black_hole: found.icmp.map(|icmp| icmp == IcmpOutcome::Blocked),
    }))
}

/// Whether this is the server's word for a black hole.
fn is_blocked(icmp: &str) -> Option<bool> {
    (!icmp.is_empty()).then(|| icmp == IcmpOutcome::Blocked.word())
}

/// Probes of the server, which this end answers.
fn down(run: &Run<'_>, session: &mut MethodSession) -> Result<Option<Found>, SessionError> {
    let ready = session.order(&order(OrderDirection::Down))?;
    let mut flow = session.flow(&ready)?;
    let until = Instant::now() + LONGEST + FAREWELL;
    while run.check().is_ok() && Instant::now() < until {
        flow.answer_probes(LOOK)
            .map_err(|error| SessionError::Socket(reason(&error)))?;
        if let Some(SessionEvent::Done(done)) = session.next_event(Duration::ZERO)? {
            return Ok(done.path_mtu.as_ref().and_then(|found| {
                Some(Found {
                    bytes: found.mtu_bytes.or(found.at_least)?,
                    is_exact: found.exact,
                    is_black_hole: is_blocked(&found.icmp),
                })
            }));
        }
    }
    session.end_order("no more time");
    let _ = session.wait_done(FAREWELL);
    Ok(None)
}
