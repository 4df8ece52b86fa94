//! What a procedure works with.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::Serialize;
use tapeline_base::Transport;
use tapeline_dialect::{ClientPlan, Interruption, Iperf3Client, MethodSession, SessionError};
use tapeline_report::document::{Peer, Report, WARNING_IDS};
use tapeline_report::method::{Direction, PhaseRecord, PhaseState, PlannedPhase, TrialRecord};
use tapeline_report::{Event, Severity, Warning, digits};

use crate::baseline::{self, Baseline};
use crate::client_runs::{ClientRuns, GO_ON, Performed};
use crate::common::Common;
use crate::departure;
use crate::error::RunError;
use crate::phase_guard::{PhaseGuard, Registration};
use crate::session_slot::{NoSession, SessionSlot};
use crate::watch::{Sample, Watch};

/// Least and longest pause between loaded phases, and how many round trips it is.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const PAUSE_ROUND_TRIPS: u32 = 10;

/// What a procedure works with: its phases, ordinary tests, and those who look on.
pub struct Run<'a> {
    common: &'a Common,
    guard: &'a PhaseGuard<'a>,
    runs: &'a ClientRuns<'a>,
    watch: &'a mut dyn Watch,
    planned: Vec<PlannedPhase>,
    phases: Vec<PhaseRecord>,
    began: Instant,
    warnings: Vec<Warning>,
    deviations: Vec<String>,
    trials: u32,
    round_trip: Option<Duration>,
    session: SessionSlot<'a>,
}

/// What a run leaves behind.
pub(crate) struct Traces {
    pub(crate) phases: Vec<PhaseRecord>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) deviations: Vec<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        common: &'a Common,
        planned: Vec<PlannedPhase>,
        guard: &'a PhaseGuard<'a>,
        runs: &'a ClientRuns<'a>,
        watch: &'a mut dyn Watch,
    ) -> Self {
        Self {
            common,
            guard,
            runs,
            watch,
            planned,
            phases: Vec::new(),
            began: Instant::now(),
            warnings: Vec::new(),
            deviations: Vec::new(),
            trials: 0,
            round_trip: None,
            session: SessionSlot::Unopened,
        }
    }

    /// What all methods are asked for alike.
    #[must_use]
    pub fn common(&self) -> &'a Common {
        self.common
    }

    // Phases.

    /// Starts a phase; the one before has ended in order.
    pub fn begin(&mut self, name: &'static str, direction: Option<Direction>, planned: Duration) {
        self.finish_phase(PhaseState::Done, None);
        self.guard.begin(planned);
        self.runs.enter(name, direction);
        self.began = Instant::now();
        self.add_phase(PhaseRecord {
            name,
            direction,
            planned_seconds: planned.as_secs_f64(),
            seconds: None,
            state: PhaseState::Running,
            reason: None,
        });
    }

    /// Leaves a phase out, and says why. A running one has ended in order.
    pub fn skip(&mut self, name: &'static str, direction: Option<Direction>, why: &str) {
        self.finish_phase(PhaseState::Done, None);
        let planned = self.planned.iter();
        let mut planned = planned
            .filter(|phase| phase.name == name && phase.direction == direction)
            .map(|phase| phase.seconds);
        let planned_seconds = planned.next().unwrap_or(0.0);
        self.add_phase(PhaseRecord {
            name,
            direction,
            planned_seconds,
            seconds: None,
            state: PhaseState::Skipped,
            reason: Some(why.to_owned()),
        });
    }

    /// The running phase gave nothing, and the method goes on without it.
    ///
    /// # Errors
    /// The server has gone: nothing else would give anything.
    pub fn fail_phase(&mut self, why: &str) -> Result<(), RunError> {
        self.finish_phase(PhaseState::Failed, Some(why.to_owned()));
        self.server_has_gone().map_or(Ok(()), Err)
    }

    /// Behind a failure: an error where a tapeline served first, and its port refuses connections now.
    /// What fails then is a symptom, which would blame the path.
    pub(crate) fn server_has_gone(&self) -> Option<RunError> {
        let program = self.peer().and_then(|peer| peer.program);
        if self.check().is_err() || program.is_none_or(|program| program != "tapeline") {
            return None;
        }
        let server = self.common.address().ok()?;
        departure::refuses(server).then(|| RunError::gone(&self.common.host, server.port()))
    }

    /// The running phase has ended in order.
    pub fn end_phase(&mut self) {
        self.finish_phase(PhaseState::Done, None);
    }

    fn finish_phase(&mut self, state: PhaseState, reason: Option<String>) {
        let place = self.place();
        if let Some(last) = self.phases.last_mut()
            && last.state == PhaseState::Running
        {
            last.state = state;
            last.seconds = Some(self.began.elapsed().as_secs_f64());
            last.reason = reason;
            self.watch.phase(last, place);
        }
    }

    fn add_phase(&mut self, phase: PhaseRecord) {
        self.phases.push(phase);
        let place = self.place();
        if let Some(last) = self.phases.last() {
            self.watch.phase(last, place);
        }
    }

    /// Number of the newest phase, and how many there are as far as is known.
    fn place(&self) -> (usize, usize) {
        let number = self.phases.len();
        (number, self.planned.len().max(number))
    }

    /// Ends the method: what runs, and what was planned and did not begin.
    pub(crate) fn close(mut self, ended: &Result<(), RunError>) -> Traces {
        let (state, reason) = match ended {
            Ok(()) => (PhaseState::Done, None),
            Err(error @ RunError::Failed { .. }) => (PhaseState::Failed, Some(error.to_string())),
            Err(error) => (PhaseState::Interrupted, Some(error.to_string())),
        };
        self.finish_phase(state, reason.clone());
        if let Some(reason) = reason {
            for phase in std::mem::take(&mut self.planned) {
                let ran = self
                    .phases
                    .iter()
                    .any(|ran| ran.name == phase.name && ran.direction == phase.direction);
                if !ran {
                    self.phases.push(PhaseRecord {
                        name: phase.name,
                        direction: phase.direction,
                        planned_seconds: phase.seconds,
                        seconds: None,
                        state: PhaseState::Skipped,
                        reason: Some(reason.clone()),
                    });
                }
            }
        }
        if let Err(RunError::BudgetUsed(_)) = ended {
            self.deviations
                .extend(ended.as_ref().err().map(ToString::to_string));
        }
        Traces {
            phases: self.phases,
            warnings: self.warnings,
            deviations: self.deviations,
        }
    }

    // Tests.

    /// From what all methods are asked for: one flow in a direction, rows ten times a second.
    #[must_use]
    pub fn client_plan(&self, transport: Transport, direction: Direction) -> ClientPlan {
        self.common.client_plan(transport, direction)
    }

    /// The same towards an iperf3 server.
    #[must_use]
    pub fn iperf3_plan(&self, transport: Transport, direction: Direction) -> Iperf3Client {
        self.common.iperf3_plan(transport, direction)
    }

    /// Runs an ordinary test. `observe` sees its events; its document is kept with the phase's name.
    ///
    /// # Errors
    /// [`RunError`]: a signal, the phase's time limit, the budget, or that it failed.
    pub fn client_test(
        &mut self,
        plan: &ClientPlan,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Report, RunError> {
        self.client_test_until(plan, &mut |event| {
            observe(event);
            GO_ON
        })
    }

    /// The same; of a test that failed there is what it had measured by then.
    pub(crate) fn client_test_in_part(
        &mut self,
        plan: &ClientPlan,
        observe: &mut dyn FnMut(&Event),
    ) -> Performed {
        let watch = &mut *self.watch;
        self.runs.client_test_in_part(plan, &mut |event| {
            watch.event(event);
            observe(event);
            GO_ON
        })
    }

    /// A test whose `observe` may end it early.
    ///
    /// # Errors
    /// As [`client_test`](Self::client_test).
    pub fn client_test_until(
        &mut self,
        plan: &ClientPlan,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        let watch = &mut *self.watch;
        self.runs.client_test(plan, &mut |event| {
            watch.event(event);
            observe(event)
        })
    }

    /// The same towards an iperf3 server.
    ///
    /// # Errors
    /// As [`client_test`](Self::client_test).
    pub fn client_test_iperf3(
        &mut self,
        plan: &Iperf3Client,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Report, RunError> {
        let watch = &mut *self.watch;
        self.runs.client_test_iperf3(plan, &mut |event| {
            watch.event(event);
            observe(event);
            GO_ON
        })
    }

    /// Runs tests from threads of the procedure, several at once.
    #[must_use]
    pub fn runs(&self) -> &'a ClientRuns<'a> {
        self.runs
    }

    /// The other end, as far as tests told.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        self.runs.peer()
    }

    /// The session with a tapeline that takes orders, opened on first use; `None` of any other peer
    /// (`no_session` knows why).
    pub fn session(&mut self) -> Option<&mut MethodSession> {
        self.session.get(self.common, self.guard, self.runs)
    }

    /// Lends the session to `work`, which needs the run as well; `None` of a peer without one.
    pub(crate) fn lend_session<T>(
        &mut self,
        work: impl FnOnce(&mut Self, Option<&mut MethodSession>) -> T,
    ) -> T {
        self.session();
        let mut lent = std::mem::replace(&mut self.session, SessionSlot::Unopened);
        let done = work(self, lent.opened());
        self.session = lent;
        done
    }

    /// Why there is no session, once one was wanted.
    pub(crate) fn no_session(&self) -> Option<&NoSession> {
        self.session.reason()
    }

    /// Why a session came to nothing, as an error of the method.
    pub(crate) fn session_failure(&self, error: &SessionError) -> RunError {
        match self.check() {
            Err(ended) => ended,
            Ok(()) => RunError::of_session(error, &self.common.host),
        }
    }

    /// Measures round trips on the idle path; pauses that follow know of them.
    ///
    /// # Errors
    /// As [`client_test`](Self::client_test); `connect-failed` when nothing answers.
    pub fn baseline(&mut self, probes: u32) -> Result<Baseline, RunError> {
        let session = self.session.get(self.common, self.guard, self.runs);
        let baseline = match session {
            Some(session) => baseline::by_probes(session, self.guard, probes)?,
            None => None,
        };
        let baseline = match baseline {
            Some(baseline) => baseline,
            None => baseline::measure(self.common, self.runs, self.guard, probes)?,
        };
        self.know_round_trip(baseline.min());
        Ok(baseline)
    }

    /// The least round trip is so long.
    pub fn know_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = Some(round_trip);
    }

    // Time.

    /// Waits between loaded phases until queues are empty, as far as that can be seen: where a session
    /// is open, until its probes are as fast as on the idle path, or 3 s have passed.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn pause(&mut self) -> Result<(), RunError> {
        let until = Instant::now() + LONGEST_PAUSE;
        self.wait(pause_after(self.round_trip))?;
        let (Some(least), Some(session)) = (self.round_trip, self.session.opened()) else {
            return Ok(());
        };
        let idle = least.mul_f64(1.2) + Duration::from_millis(1);
        let (mut seen, mut unanswered) = (None, 0);
        loop {
            match baseline::fastest(session, self.guard)? {
                Some(round_trip) if round_trip <= idle => return Ok(()),
                Some(round_trip) => seen = Some(round_trip),
                None => unanswered += 1,
            }
            // A full queue may drop a row of probes; where two are dropped, nothing can be seen.
            if Instant::now() >= until || (seen.is_none() && unanswered == 2) {
                break;
            }
        }
        let Some(slow) = seen else {
            return Ok(());
        };
        let (now, idle) = (slow.as_secs_f64() * 1e3, least.as_secs_f64() * 1e3);
        self.warn(
            "path-not-idle",
            format!(
                "3 s after a load, round trips take {} ms instead of {} ms: other traffic is on \
                     the path",
                digits(now),
                digits(idle)
            ),
        );
        Ok(())
    }

    /// Waits.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn wait(&self, span: Duration) -> Result<(), RunError> {
        self.guard.wait(span)
    }

    /// The phase may go on.
    ///
    /// # Errors
    /// Why it may not: a signal, or its time limit.
    pub fn check(&self) -> Result<(), RunError> {
        self.guard.check()
    }

    /// Raises `interruption` when a signal or the phase's time limit comes, as long as the
    /// registration lives.
    #[must_use]
    pub fn ends(&self, interruption: &Interruption) -> impl Drop + use<'a> {
        let registration: Registration<'a> = self.guard.register(interruption);
        registration
    }

    /// Whether a signal came.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.guard.is_interrupted()
    }

    /// Payload that may still be moved; `None` without a budget.
    #[must_use]
    pub fn bytes_left(&self) -> Option<u64> {
        self.runs.bytes_left()
    }

    /// Payload that was moved otherwise than by tests.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn count_bytes(&self, bytes: u64) -> Result<(), RunError> {
        self.runs.count(bytes)
    }

    // What is said.

    /// Something that a reader of the numbers must know. The id is one that `tapeline explain`
    /// explains.
    pub fn warn(&mut self, id: &'static str, text: String) {
        debug_assert!(WARNING_IDS.contains(&id), "{id} is not explained");
        let warning = Warning {
            id: id.to_owned(),
            severity: Severity::Warning,
            text,
        };
        self.watch.warning(&warning);
        self.warnings.push(warning);
    }

    /// A way in which this run leaves the letter of the standard; each is listed once.
    pub fn deviate(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.deviations.contains(&text) {
            self.deviations.push(text);
        }
    }

    /// A trial has ended: `--json-stream` has a line with its members.
    pub fn trial(&mut self, data: &impl Serialize) {
        self.trials += 1;
        let (phase, direction) = match self.phases.last() {
            Some(phase) => (phase.name, phase.direction),
            None => ("", None),
        };
        self.watch.trial(&TrialRecord {
            phase,
            direction,
            number: self.trials,
            // What has no JSON is no trial.
            data: serde_json::to_value(data).unwrap_or_default(),
        });
    }

    /// A number of the running phase, for the curves of `--tui`.
    pub fn sample(&mut self, curve: &'static str, value: f64) {
        let direction = self.phases.last().and_then(|phase| phase.direction);
        self.watch.sample(&Sample {
            curve,
            direction,
            value,
        });
    }
}

/// How long a pause is on a path of this round trip.
fn pause_after(round_trip: Option<Duration>) -> Duration {
    let round_trips = round_trip.unwrap_or_default() * PAUSE_ROUND_TRIPS;
    round_trips.clamp(LEAST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_round_trip_within_bounds() {
        let pause = |millis| pause_after(Some(Duration::from_millis(millis)));
        assert_eq!(pause_after(None), LEAST_PAUSE);
        assert_eq!(pause(20), LEAST_PAUSE);
        assert_eq!(pause(100), Duration::from_secs(1));
        assert_eq!(pause(600), LONGEST_PAUSE);
    }
}
