//! The phases of `responsiveness`.

use std::time::Duration;

use tapeline_dialect::{Interruption, MethodSession};
use tapeline_report::method::{
    Direction, LoadedResponsiveness, NOT_KNOWN, PlannedPhase, ResponsivenessResult,
};
use tapeline_stats::{DelaySamples, ResponsivenessConstants};
use tapeline_sys::{SocketOptions, reason};
use tapeline_wire::native::{Mark, VERSIONS};

use super::fresh_probe::{LENGTH, ProbeTarget};
use super::loaded::Load;
use crate::common::{Common, PeerKind};
use crate::error::{MethodError, RunError};
use crate::method_peer::{MethodPeer, MethodPeerProgram};
use crate::procedure::Procedure;
use crate::run::Run;

/// Phases, as documents name them.
const CONNECT: &str = "connect";
const IDLE: &str = "idle";
const LOAD: &str = "load";
const PAUSE: &str = "pause";
/// Time for them.
const CONNECT_TIME: Duration = Duration::from_secs(1);
const PAUSE_TIME: Duration = Duration::from_secs(1);
/// Both stages of a load, unless `-t` says otherwise.
const LOAD_TIME: Duration = Duration::from_secs(20);
/// Probes before the load, and the time between them.
const IDLE_PROBES: u32 = 10;
const IDLE_SPACING: Duration = Duration::from_millis(100);

/// `responsiveness`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponsivenessPlan {
    /// What all methods are asked for alike; `-t` is the length of each load, `-P` its most connections.
    pub common: Common,
    /// The constants of the draft.
    pub constants: ResponsivenessConstants,
}

impl ResponsivenessPlan {
    /// Shortest and longest load that can be asked for, seconds.
    pub const LOADS: (f64, f64) = (8.0, 120.0);

    fn time(&self) -> Duration {
        self.common.time_or(LOAD_TIME)
    }

    /// Directions that are loaded one after the other, or at once.
    fn loads(&self) -> Vec<&'static [Direction]> {
        let directions = self.common.direction.directions();
        if self.common.full_duplex {
            return vec![&Direction::BOTH];
        }
        directions.chunks(1).collect()
    }

    fn measure(
        &self,
        run: &mut Run<'_>,
        result: &mut ResponsivenessResult,
    ) -> Result<(), MethodError> {
        run.begin(CONNECT, None, CONNECT_TIME);
        if self.common.peer == PeerKind::Iperf3 {
            let why = "responsiveness needs a peer that answers requests: iperf3 has none";
            return Err(RunError::failed("usage", why));
        }
        let interruption = Interruption::new()
            .map_err(|error| RunError::failed("out-of-resources", reason(&error)))?;
        let _ending = run.ends(&interruption);
        let peer = MethodPeer::find(run, &interruption)?;
        self.deviate(run);
        let server = self.common.address()?;
        let target = ProbeTarget {
            server,
            local: self.common.local(server)?,
            options: SocketOptions {
                device: self.common.device.clone(),
                tos: self.common.tos,
                ..SocketOptions::default()
            },
            mark: self.common.control.then(|| Mark {
                version: *VERSIONS.end(),
                number: MethodSession::test_number(),
            }),
        };
        run.begin(IDLE, None, IDLE_SPACING * IDLE_PROBES);
        let idle = idle(run, &target)?;
        let kept = self.constants.kept;
        result.idle_rpm = idle.rpm(kept);
        result.idle_ms = result.idle_rpm.map(|rpm| 60_000.0 / rpm);
        let round_trip = result.idle_ms.unwrap_or(0.0).max(0.0);
        run.know_round_trip(Duration::from_secs_f64(round_trip / 1e3));
        for (place, directions) in self.loads().into_iter().enumerate() {
            let way = way(directions);
            let mut found = LoadedResponsiveness::default();
            // What the server's connections see, it alone can tell.
            let is_told = peer.program == MethodPeerProgram::Tapeline && run.session().is_some()
                || !directions.contains(&Direction::Down);
            if place > 0 && is_told {
                run.begin(PAUSE, None, PAUSE_TIME);
                run.pause()?;
            }
            let measured = if is_told {
                run.begin(LOAD, way, self.time());
                let load = Load {
                    constants: self.constants,
                    directions,
                    time: self.time(),
                    target: &target,
                    idle_ms: result.idle_ms,
                    idle_rpm: result.idle_rpm,
                };
                run.lend_session(|run, session| load.measure(run, session, &mut found))
            } else {
                run.skip(LOAD, way, NOT_KNOWN);
                Ok(())
            };
            *entry(result, directions) = Some(found);
            match measured {
                Err(RunError::Failed {
                    id: "no-reply",
                    text,
                    ..
                }) => run.fail_phase(&text)?,
                other => other?,
            }
        }
        if peer.program == MethodPeerProgram::Iperf2 {
            run.deviate("the server is iperf 2: only the upload is measured");
        }
        Ok(())
    }

    /// Where this run leaves the letter of the draft.
    fn deviate(&self, run: &mut Run<'_>) {
        let usual = ResponsivenessConstants::default();
        if self.constants.interval < ResponsivenessConstants::DRAFT_INTERVAL {
            run.deviate(format!(
                "intervals of {} s (draft-09: 5 s)",
                self.constants.interval
            ));
        }
        let others = ResponsivenessConstants {
            interval: usual.interval,
            ..self.constants
        };
        if others != usual {
            run.deviate("constants were changed with --draft");
        }
        run.deviate(format!(
            "answers on new connections have {LENGTH} bytes (draft-09: 1 byte)"
        ));
        if !self.common.full_duplex && self.loads().len() > 1 {
            run.deviate("one direction after the other (draft-09: both at once, --full-duplex)");
        }
    }
}

/// Probes of the idle path, and each connection's own round trip.
fn idle(run: &mut Run<'_>, target: &ProbeTarget) -> Result<DelaySamples, RunError> {
    let mut samples = DelaySamples::default();
    let mut refused = None;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    for _ in 0..IDLE_PROBES {
        match target.probe() {
            Ok(probe) => {
                samples.connect.push(millis(probe.connect));
                samples.answer.push(millis(probe.answer));
                samples.own.extend(probe.smoothed.map(millis));
            }
            Err(error) => refused = Some(error),
        }
        run.wait(IDLE_SPACING)?;
    }
    match refused {
        Some(error) if samples.connect.is_empty() => Err(RunError::failed(
            "no-reply",
            format!("the server does not answer requests: {}", reason(&error)),
        )),
        _ => Ok(samples),
    }
}

fn way(directions: &[Direction]) -> Option<Direction> {
    match directions {
        [one] => Some(*one),
        _ => None,
    }
}

fn entry<'a>(
    result: &'a mut ResponsivenessResult,
    directions: &[Direction],
) -> &'a mut Option<LoadedResponsiveness> {
    match way(directions) {
        Some(Direction::Up) => &mut result.up,
        Some(Direction::Down) => &mut result.down,
        None => &mut result.both,
    }
}

impl Procedure for ResponsivenessPlan {
    const WORD: &'static str = "responsiveness";
    const STANDARD: &'static str = "draft-ietf-ippm-responsiveness-09";
    const ABOUT: &'static str = "round trips per minute while the path is loaded";

    type Result = ResponsivenessResult;

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
            PlannedPhase::new(IDLE, None, seconds(IDLE_SPACING * IDLE_PROBES)),
        ];
        for (place, directions) in self.loads().into_iter().enumerate() {
            if place > 0 {
                phases.push(PlannedPhase::new(PAUSE, None, seconds(PAUSE_TIME)));
            }
            phases.push(PlannedPhase::new(
                LOAD,
                way(directions),
                seconds(self.time()),
            ));
        }
        phases
    }

    fn run(&self, run: &mut Run<'_>, result: &mut ResponsivenessResult) -> Result<(), MethodError> {
        self.measure(run, result)
    }
}
