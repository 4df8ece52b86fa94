//! Ordinary tests of a method: run, counted against the budget, kept with their documents.

use std::ops::ControlFlow;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use tapeline_base::{ExitCode, MutexExt, Role};
use tapeline_dialect::{
    ClientPlan, Interruption, Iperf3Client, MethodSession, Reporter, ReporterHandle,
    ReporterSettings, run_client, run_iperf3_client,
};
use tapeline_report::document::{
    Peer, PlannedTest, Report, ReportTracker, RunInfo, Step, WARNING_IDS,
};
use tapeline_report::method::{Direction, MethodTest};
use tapeline_report::{Event, Phase, Style, Subject, hint};

use crate::error::RunError;
use crate::phase_guard::PhaseGuard;

/// Time between two looks at the budget while nothing is reported.
const POLL: Duration = Duration::from_millis(50);
/// A test is ended so long before its rate would use up the budget.
const LEAD: f64 = 0.4;
/// Interval up to which documents of tests are without rows: a method has many tests.
const LEAST_KEPT: f64 = 1.0;
/// Lets a test run to its end.
pub(crate) const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// What documents say of the program that runs a method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// `--hide-ips`.
    pub hide_addresses: bool,
}

/// Runs ordinary tests, several at once where the procedure has threads.
pub struct ClientRuns<'a> {
    guard: &'a PhaseGuard<'a>,
    program: &'a Program,
    budget: Option<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: (&'static str, Option<Direction>),
    tests: Vec<MethodTest>,
    moved: u64,
    peer: Option<Peer>,
}

/// What runs a test to its end.
type Runner<'t> = dyn Fn(&ReporterHandle, &Interruption) -> ExitCode + Sync + 't;

/// What a test came to.
pub(crate) struct Performed {
    /// Its document; none of a test that did not begin, or that the run did not let end.
    pub(crate) report: Option<Report>,
    pub(crate) ended: Result<(), RunError>,
}

impl From<Result<Report, RunError>> for Performed {
    fn from(whole: Result<Report, RunError>) -> Self {
        match whole {
            Ok(report) => Self {
                report: Some(report),
                ended: Ok(()),
            },
            Err(error) => Self {
                report: None,
                ended: Err(error),
            },
        }
    }
}

impl Performed {
    /// The document of a test that has ended in order.
    fn whole(self) -> Result<Report, RunError> {
        self.ended?;
        self.report
            .ok_or_else(|| RunError::failed("test-failed", "the test did not begin"))
    }
}

impl<'a> ClientRuns<'a> {
    pub(crate) fn new(
        guard: &'a PhaseGuard<'a>,
        program: &'a Program,
        budget: Option<u64>,
    ) -> Self {
        Self {
            guard,
            program,
            budget,
            state: Mutex::default(),
        }
    }

    /// Tests that follow belong to this phase.
    pub(crate) fn enter(&self, phase: &'static str, direction: Option<Direction>) {
        self.state.lock_unpoisoned().phase = (phase, direction);
    }

    /// Runs a test towards tapeline or iperf 2. `observe` sees its events, and may end it early; what
    /// is reported then covers the time until then.
    ///
    /// # Errors
    /// [`RunError`]; a test that failed is kept with its document all the same.
    pub fn client_test(
        &self,
        plan: &ClientPlan,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        self.client_test_in_part(plan, observe).whole()
    }

    /// The same; of a test that failed there is what it had measured by then.
    pub(crate) fn client_test_in_part(
        &self,
        plan: &ClientPlan,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Performed {
        self.perform(plan.planned_test(), observe, &|reporter, interruption| {
            run_client(plan, reporter, interruption)
        })
    }

    /// The same towards an iperf3 server.
    ///
    /// # Errors
    /// As [`client_test`](Self::client_test).
    pub fn client_test_iperf3(
        &self,
        plan: &Iperf3Client,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Report, RunError> {
        self.perform(plan.planned_test(), observe, &|reporter, interruption| {
            run_iperf3_client(plan, reporter, interruption)
        })
        .whole()
    }

    /// Payload that may still be moved; `None` without a budget.
    #[must_use]
    pub fn bytes_left(&self) -> Option<u64> {
        let moved = self.state.lock_unpoisoned().moved;
        self.budget.map(|budget| budget.saturating_sub(moved))
    }

    /// Payload that was moved otherwise than by tests.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn count(&self, bytes: u64) -> Result<(), RunError> {
        let mut state = self.state.lock_unpoisoned();
        state.moved = state.moved.saturating_add(bytes);
        match self.budget {
            Some(budget) if state.moved >= budget => Err(RunError::BudgetUsed(budget)),
            _ => Ok(()),
        }
    }

    /// The other end, as far as tests told.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        self.state.lock_unpoisoned().peer.clone()
    }

    /// The other end, as somebody found out; what is known of it stays.
    pub(crate) fn know_peer(&self, peer: Peer) {
        let mut state = self.state.lock_unpoisoned();
        let known = state.peer.as_ref().and_then(|peer| peer.program.as_ref());
        if known.is_none() {
            let host = peer.host.filter(|_| !self.program.hide_addresses);
            let address = peer.address.filter(|_| !self.program.hide_addresses);
            state.peer = Some(Peer {
                host,
                address,
                ..peer
            });
        }
    }

    /// The server of a session.
    pub(crate) fn know_server(&self, host: &str, session: &MethodSession) {
        let server = session.server();
        self.know_peer(Peer {
            program: Some(server.program.clone()),
            version: Some(server.version.clone()),
            host: Some(host.to_owned()),
            address: Some(tapeline_sys::unmapped(session.peer()).ip().to_string()),
        });
    }

    /// The documents so far.
    pub(crate) fn take_tests(&self) -> Vec<MethodTest> {
        std::mem::take(&mut self.state.lock_unpoisoned().tests)
    }

    fn perform(
        &self,
        planned: PlannedTest,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        run: &Runner<'_>,
    ) -> Performed {
        match self.try_to_perform(planned, observe, run) {
            Ok((report, ended)) => Performed {
                report: Some(report),
                ended,
            },
            Err(error) => Err(error).into(),
        }
    }

    /// The document of a test, and how it ended.
    fn try_to_perform(
        &self,
        planned: PlannedTest,
        observe: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        run: &Runner<'_>,
    ) -> Result<(Report, Result<(), RunError>), RunError> {
        self.guard.check()?;
        if let (Some(0), Some(budget)) = (self.bytes_left(), self.budget) {
            return Err(RunError::BudgetUsed(budget));
        }
        let interval = planned.interval;
        let mut tracker = ReportTracker::new(self.run_info(planned));
        let stop = Interruption::new().map_err(|error| no_resource(&error))?;
        let registered = self.guard.register(&stop);
        let (sender, events) = mpsc::channel();
        let reporter = Reporter::start(ReporterSettings::default(), move |event| {
            let _ = sender.send(event);
        })
        .map_err(|error| no_resource(&error))?;
        let mut ledger = Ledger::default();
        let mut spent = false;
        let mut advice = None;
        let code = std::thread::scope(|scope| {
            let handle = reporter.handle();
            let interruption = &stop;
            let runner = scope.spawn(move || {
                let code = run(&handle, interruption);
                // The channel is closed with it.
                reporter.finish();
                code
            });
            loop {
                match events.recv_timeout(POLL) {
                    Ok(event) => {
                        drop(tracker.observe(&event));
                        ledger.observe(&event);
                        if let Event::Notice(notice) = &event {
                            advice = hint(notice).or(advice.take());
                        }
                        if observe(&event).is_break() {
                            stop.conclude();
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                let left = self.bytes_left();
                if !spent && left.is_some_and(|left| ledger.ahead() >= left) {
                    spent = true;
                    stop.conclude();
                }
            }
            runner.join().unwrap_or(ExitCode::Failure)
        });
        drop(registered);
        let ended = tracker.finish().into_iter().find_map(|step| match step {
            Step::End { report, .. } => Some(*report),
            _ => None,
        });
        let Some(report) = ended else {
            self.guard.check()?;
            return Err(RunError::failed("test-failed", "the test did not begin"));
        };
        let fine = interval.is_some_and(|interval| interval.as_secs_f64() < LEAST_KEPT);
        self.keep(&report, fine, ledger.bytes);
        self.guard.check()?;
        if let (true, Some(budget)) = (spent, self.budget) {
            return Err(RunError::BudgetUsed(budget));
        }
        let ended = match (code, advice) {
            (ExitCode::Success, _) => Ok(()),
            (_, Some(advice)) => Err(failure(&report).hinting(advice)),
            (_, None) => Err(failure(&report)),
        };
        Ok((report, ended))
    }

    fn keep(&self, report: &Report, fine: bool, counted: u64) {
        let mut state = self.state.lock_unpoisoned();
        let (phase, direction) = state.phase;
        state.moved = state.moved.saturating_add(moved(report).max(counted));
        let known = |peer: &Peer| peer.program.is_some() || peer.address.is_some();
        if state
            .peer
            .as_ref()
            .is_none_or(|peer| peer.program.is_none())
            && known(&report.peer)
        {
            state.peer = Some(report.peer.clone());
        }
        let mut report = report.clone();
        if fine {
            report.intervals.clear();
        }
        state.tests.push(MethodTest {
            phase,
            direction,
            report,
        });
    }

    fn run_info(&self, planned: PlannedTest) -> RunInfo {
        RunInfo {
            version: self.program.version.clone(),
            command: self.program.command.clone(),
            role: Role::Client,
            planned: Some(planned),
            style: Style {
                hide_addresses: self.program.hide_addresses,
                enhanced: true,
                ..Style::default()
            },
        }
    }
}

/// Payload of a test: each stream's, by the end that counted more.
fn moved(report: &Report) -> u64 {
    let streams = report.streams.iter().map(|stream| {
        let (sent, received) = (stream.sender.end.bytes, stream.receiver.end.bytes);
        sent.unwrap_or(0).max(received.unwrap_or(0))
    });
    streams.fold(0, u64::saturating_add)
}

/// Payload of the running test, by its rows.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    bytes: u64,
    /// Bytes per second in the newest rows, of all flows: of each time span the sum.
    rate: f64,
    latest: Option<Duration>,
}

impl Ledger {
    fn observe(&mut self, event: &Event) {
        let Event::Row(row) = event else { return };
        if !matches!(row.subject, Subject::Flow(_)) || row.phase != Phase::Interval {
            return;
        }
        self.bytes = self.bytes.saturating_add(row.bytes);
        let seconds = row.span.length().as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let rate = row.bytes as f64 / seconds;
        if self.latest == Some(row.span.end) {
            self.rate += rate;
        } else {
            (self.rate, self.latest) = (rate, Some(row.span.end));
        }
    }

    /// What will have been moved when an end that is decided now has come.
    fn ahead(&self) -> u64 {
        self.bytes.saturating_add((self.rate * LEAD) as u64)
    }
}

/// What a test that failed says of it.
fn failure(report: &Report) -> RunError {
    match report.failure() {
        Some(failure) => named(&failure.id, &failure.text),
        None => RunError::failed("test-failed", "the test failed"),
    }
}

fn named(id: &str, text: &str) -> RunError {
    let known = WARNING_IDS.iter().copied().find(|known| *known == id);
    // Which of its streams it was is the test's matter.
    let text = match text.split_once(": ") {
        Some((stream, rest)) if stream.starts_with("stream ") => rest,
        _ => text,
    };
    RunError::failed(known.unwrap_or("test-failed"), text)
}

fn no_resource(error: &std::io::Error) -> RunError {
    RunError::failed(
        "out-of-resources",
        format!("a test cannot begin: {}", tapeline_sys::reason(error)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_base::{FlowId, FlowTag, Placement, WallTime};
    use tapeline_report::{Endpoints, Measure, Row, Span, TcpReceive};

    fn row(id: u32, end: u64, bytes: u64) -> Event {
        let tag = FlowTag {
            id: FlowId(id),
            reversed: true,
        };
        let any = ([127, 0, 0, 1], 1).into();
        Event::Row(Row {
            subject: Subject::Flow(tag),
            phase: Phase::Interval,
            span: Span {
                start: Duration::from_millis(end - 100),
                end: Duration::from_millis(end),
            },
            bytes,
            measure: Measure::TcpReceive(TcpReceive::default()),
            endpoints: Some(Endpoints {
                local: any,
                peer: any,
                local_sends: false,
            }),
            ended: WallTime::default(),
            trip_times: false,
            placement: Placement::default(),
        })
    }

    #[test]
    fn a_budget_is_seen_coming() {
        let mut ledger = Ledger::default();
        for event in [row(1, 100, 1000), row(2, 100, 1000), row(1, 200, 500)] {
            ledger.observe(&event);
        }
        assert_eq!(ledger.bytes, 2500);
        // The newest rows are of one flow so far: 5000 bytes a second.
        assert_eq!(ledger.ahead(), 2500 + 2000);
        ledger.observe(&row(2, 200, 500));
        assert_eq!(ledger.ahead(), 3000 + 4000);
    }
}
