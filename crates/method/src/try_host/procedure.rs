//! The phases of `try HOST`, and what becomes of a part that fails.

use std::time::Duration;

use tapeline_dialect::Interruption;
use tapeline_report::method::{Direction, PlannedPhase, TryDirection, TryMtu, TryResult};
use tapeline_sys::reason;

use super::{idle, load, packets};
use crate::common::Common;
use crate::error::{MethodError, RunError};
use crate::method_peer::MethodPeer;
use crate::procedure::Procedure;
use crate::run::Run;

/// Phases, as documents name them.
const CONNECT: &str = "connect";
const IDLE: &str = "idle";
const MTU: &str = "mtu";
const LOAD: &str = "load";
const PAUSE: &str = "pause";
/// Time for them.
const CONNECT_TIME: Duration = Duration::from_secs(1);
const PAUSE_TIME: Duration = Duration::from_secs(1);
/// A load, unless `-t` says otherwise.
const LOAD_TIME: Duration = Duration::from_secs(6);
/// Download first.
const ORDER: [Direction; 2] = [Direction::Down, Direction::Up];

/// `try HOST`.
#[derive(Clone, Debug, PartialEq)]
pub struct TryPlan {
    /// What all methods are asked for alike; `-t` is the length of each load, `-P` its flows.
    pub common: Common,
}

impl TryPlan {
    /// Shortest and longest load that can be asked for, seconds.
    pub const LOADS: (f64, f64) = (5.0, 30.0);
    /// Most flows that can be asked for.
    pub const MOST_FLOWS: usize = 64;

    fn directions(&self) -> impl Iterator<Item = Direction> {
        let choice = self.common.direction;
        ORDER.into_iter().filter(move |one| choice.includes(*one))
    }

    fn load_time(&self) -> Duration {
        self.common.time_or(LOAD_TIME)
    }

    fn measure(&self, run: &mut Run<'_>, result: &mut TryResult) -> Result<(), MethodError> {
        run.begin(CONNECT, None, CONNECT_TIME);
        let interruption = Interruption::new()
            .map_err(|error| RunError::failed("out-of-resources", reason(&error)))?;
        let _ending = run.ends(&interruption);
        let mut peer = MethodPeer::find(run, &interruption)?;
        result.connect_ms = Some(peer.connect_time.as_secs_f64() * 1e3);
        for direction in self.directions() {
            *way(result, direction) = Some(TryDirection::default());
        }
        run.begin(IDLE, None, idle::TIME);
        let measured = idle::measure(run, &mut peer, &mut result.idle);
        go_on(run, measured, &mut result.idle.reason)?;
        if let Some(millis) = result.idle.p50_ms {
            run.know_round_trip(Duration::from_secs_f64(millis.max(0.0) / 1e3));
        }
        run.begin(MTU, None, packets::TIME);
        let measured = packets::measure(run, &mut result.mtu);
        go_on(run, measured, &mut result.mtu.reason)?;
        let segment = segment_within(&result.mtu, run.common().address()?.is_ipv6());
        if let Some(bytes) = segment {
            run.deviate(format!(
                "TCP with segments of at most {bytes} bytes: larger packets vanish"
            ));
        }
        let mut first = true;
        for direction in self.directions() {
            if !std::mem::take(&mut first) {
                run.begin(PAUSE, None, PAUSE_TIME);
                run.pause()?;
            }
            run.begin(LOAD, Some(direction), self.load_time());
            let mut found = TryDirection::default();
            let time = self.load_time();
            let measured = load::measure(run, &mut peer, direction, time, segment, &mut found);
            let measured = go_on(run, measured, &mut found.reason);
            *way(result, direction) = Some(found);
            measured?;
        }
        Ok(())
    }
}

/// The longest segment that arrives where longer packets vanish without notice, bytes: TCP would stall.
fn segment_within(mtu: &TryMtu, is_v6: bool) -> Option<u32> {
    let bytes = mtu.narrower().filter(|_| mtu.black_hole == Some(true))?;
    let headers = if is_v6 { 60 } else { 40 };
    Some(bytes.saturating_sub(headers))
}

fn way(result: &mut TryResult, direction: Direction) -> &mut Option<TryDirection> {
    match direction {
        Direction::Up => &mut result.up,
        Direction::Down => &mut result.down,
    }
}

/// A part that failed has its line on the page; a signal, a time limit, the budget and a server that has
/// gone end all of it.
fn go_on(
    run: &mut Run<'_>,
    measured: Result<(), RunError>,
    reason: &mut Option<String>,
) -> Result<(), MethodError> {
    match measured {
        Err(RunError::Failed { text, .. }) => {
            let ended = run.fail_phase(&text);
            reason.get_or_insert(text);
            ended
        }
        other => other,
    }
}

impl Procedure for TryPlan {
    const WORD: &'static str = "try";
    const STANDARD: &'static str = "";
    const ABOUT: &'static str = "speed, delay under load, loss, and what they are good for";

    type Result = TryResult;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn phases(&self) -> Vec<PlannedPhase> {
        let seconds = |time: Duration| time.as_secs_f64();
        let mut phases = vec![
            PlannedPhase::new(CONNECT, None, seconds(CONNECT_TIME)),
            PlannedPhase::new(IDLE, None, seconds(idle::TIME)).moving(idle::BYTES),
            PlannedPhase::new(MTU, None, seconds(packets::TIME)),
        ];
        for direction in self.directions() {
            if phases.iter().any(|phase| phase.name == LOAD) {
                phases.push(PlannedPhase::new(PAUSE, None, seconds(PAUSE_TIME)));
            }
            let time = seconds(self.load_time());
            phases.push(PlannedPhase::new(LOAD, Some(direction), time));
        }
        phases
    }

    fn run(&self, run: &mut Run<'_>, result: &mut TryResult) -> Result<(), MethodError> {
        let ended = self.measure(run, result);
        // What was measured has its conclusions, whatever ended it.
        result.conclude();
        ended
    }
}
