//! A test that runs.

use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use tapeline_base::{ExitCode, Role};
use tapeline_dialect::{ClientPlan, Interruption, Iperf3Client, run_client, run_iperf3_client};
use tapeline_report::Event;
use tapeline_report::document::{Report, ReportTracker, Step};

use crate::error::TestError;
use crate::reporting;

/// What is to be run.
pub(crate) enum Order {
    Native(Box<ClientPlan>),
    Iperf3(Box<Iperf3Client>),
}

/// A test that runs. As an iterator it waits for the next thing that happens; there is none after the
/// last. When it is dropped, the test ends.
#[derive(Debug)]
pub struct RunningTest {
    tracker: ReportTracker,
    events: Receiver<Event>,
    /// Steps of an event that are not taken yet, the next one last.
    waiting: Vec<Step>,
    interruption: Interruption,
    runner: Option<JoinHandle<ExitCode>>,
}

/// Ends a test, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Interruption);

impl CancelHandle {
    /// Ends the traffic. The report has what was measured until then, and says that the test is not
    /// complete.
    pub fn cancel(&self) {
        self.0.interrupt();
    }
}

impl RunningTest {
    pub(crate) fn begin(order: Order) -> Result<Self, TestError> {
        let planned = match &order {
            Order::Native(plan) => plan.planned_test(),
            Order::Iperf3(plan) => plan.planned_test(),
        };
        let interruption = Interruption::new().map_err(|error| TestError::no_resource(&error))?;
        let (reporter, events) = reporting::begin()?;
        let stop = interruption.clone();
        let runner = std::thread::Builder::new()
            .name("tapeline".to_owned())
            .spawn(move || {
                let handle = reporter.handle();
                let code = match &order {
                    Order::Native(plan) => run_client(plan, &handle, &stop),
                    Order::Iperf3(plan) => run_iperf3_client(plan, &handle, &stop),
                };
                drop(handle);
                // The channel is closed with it.
                reporter.finish();
                code
            })
            .map_err(|error| TestError::no_resource(&error))?;
        Ok(Self {
            tracker: ReportTracker::new(reporting::run_info(Role::Client, Some(planned))),
            events,
            waiting: Vec::new(),
            interruption,
            runner: Some(runner),
        })
    }

    /// What ends it from elsewhere.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.interruption.clone())
    }

    /// Waits for its end. A test that was cancelled has a report of what it measured.
    ///
    /// # Errors
    /// [`TestError`]: it could not begin, or broke off; then with what was measured.
    pub fn finish(mut self) -> Result<Report, TestError> {
        while self.next().is_some() {}
        let code = match self.runner.take().map(JoinHandle::join) {
            Some(Ok(code)) => code,
            _ => ExitCode::Failure,
        };
        let ended = self
            .tracker
            .finish()
            .into_iter()
            .find_map(|step| match step {
                Step::End { report, .. } => Some(*report),
                _ => None,
            });
        match ended {
            Some(report) if code == ExitCode::Success || self.interruption.is_raised() => {
                Ok(report)
            }
            Some(report) => Err(TestError::of_test(report)),
            None if self.interruption.is_raised() => Err(TestError::without_report(
                "interrupted",
                "the test was cancelled before it began",
            )),
            None => Err(TestError::without_report(
                "test-failed",
                "the test did not begin",
            )),
        }
    }
}

impl Iterator for RunningTest {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.waiting.pop() {
                return Some(step);
            }
            let event = self.events.recv().ok()?;
            self.waiting = self.tracker.observe(&event);
            self.waiting.reverse();
        }
    }
}

impl Drop for RunningTest {
    fn drop(&mut self) {
        if let Some(runner) = self.runner.take() {
            self.interruption.interrupt();
            let _ = runner.join();
        }
    }
}
