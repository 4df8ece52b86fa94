//! Clients: one test, or several (`--repeat`, `--precision`).

use std::sync::{Arc, Mutex};

use tapeline_base::{ExitCode, MutexExt, Role};
use tapeline_dialect::{ClientPlan, Interruption, ReporterHandle, run_client};
use tapeline_report::document::{Report, ReportTracker, RunInfo, Step};
use tapeline_report::{Event, Repetition, Runs, StopRule};
use tapeline_sys::{FileLock, reason};

use super::setup::{RunSetup, choose_cpu};
use super::{run_info, signals};
use crate::message::cannot;
use crate::plan::RepeatPlan;
use crate::presentation::Presentation;

/// Runs a client's test, or several.
pub(crate) fn client(
    plan: &ClientPlan,
    presentation: &Presentation,
    repeat: Option<&RepeatPlan>,
) -> ExitCode {
    let _lock = match exclusive(presentation) {
        Ok(lock) => lock,
        Err(why) => return cannot(&why),
    };
    if let Err(code) = choose_cpu(plan.affinity.own) {
        return code;
    }
    let run_info = run_info::client(plan, presentation);
    let interval = plan.interval.is_some();
    perform(
        presentation,
        interval,
        &run_info,
        repeat,
        |reporter, interruption| run_client(plan, reporter, interruption),
    )
}

/// The lock that keeps other exclusive tests of this host away, where one is wanted.
fn exclusive(presentation: &Presentation) -> Result<Option<FileLock>, String> {
    let Some(file) = &presentation.exclusive else {
        return Ok(None);
    };
    match FileLock::take(file) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(format!(
            "--exclusive: another test of this host has {}: try again when it ends",
            file.display()
        )),
        Err(error) => Err(format!(
            "--exclusive: {}: {}",
            file.display(),
            reason(&error)
        )),
    }
}

/// Performs a client's test as often as is wanted.
pub(crate) fn perform(
    presentation: &Presentation,
    interval: bool,
    run_info: &RunInfo,
    repeat: Option<&RepeatPlan>,
    test: impl Fn(&ReporterHandle, &Interruption) -> ExitCode,
) -> ExitCode {
    let setup = match RunSetup::new(Role::Client, interval, presentation, run_info) {
        Ok(setup) => setup,
        Err(code) => return code,
    };
    let interruption = setup.interruption.clone();
    if let Err(error) = signals::on_interrupt(move || interruption.interrupt(), setup.closing()) {
        return cannot(&format!("signals cannot be caught: {}", reason(&error)));
    }
    let done = match repeat {
        Some(plan) => series(&setup, plan, run_info, test),
        None => setup.reporter(|_| {}).map(|reporter| {
            let code = test(&reporter.handle(), &setup.interruption);
            reporter.finish();
            code
        }),
    };
    setup.end(done.unwrap_or_else(|code| code))
}

/// Makes the runs and reports what they came to. An interrupt and a run that fails end the series;
/// what is there is kept. The exit code is that of the last run.
fn series(
    setup: &RunSetup,
    plan: &RepeatPlan,
    run_info: &RunInfo,
    test: impl Fn(&ReporterHandle, &Interruption) -> ExitCode,
) -> Result<ExitCode, ExitCode> {
    let mut runs = Runs::new(StopRule {
        least: plan.least,
        most: plan.most,
        width: plan.width,
    });
    let mut code = ExitCode::Success;
    for run in 1..=plan.most {
        setup.report(Event::Repetition(Repetition::Begins {
            run,
            least: plan.least,
            most: plan.most,
        }));
        let collector = ReportCollector::new(run_info);
        let observer = collector.clone();
        let reporter = setup.reporter(move |event| observer.observe(event))?;
        code = test(&reporter.handle(), &setup.interruption);
        reporter.finish();
        let result = collector.report().map(|report| runs.add(&report));
        let result = Box::new(result.unwrap_or_default());
        setup.report(Event::Repetition(Repetition::Ends(result)));
        if code != ExitCode::Success
            || runs.is_enough()
            || setup.interruption.is_raised_within(plan.pause)
        {
            break;
        }
    }
    let series = runs.series(setup.interruption.is_raised());
    setup.report(Event::Repetition(Repetition::Over(Box::new(series))));
    Ok(code)
}

/// Makes the document of a run, for its numbers.
#[derive(Clone)]
struct ReportCollector(Arc<Mutex<ReportTracker>>);

impl ReportCollector {
    fn new(run_info: &RunInfo) -> Self {
        let tracker = ReportTracker::without_intervals(run_info.clone());
        Self(Arc::new(Mutex::new(tracker)))
    }

    fn observe(&self, event: &Event) {
        let mut tracker = self.0.lock_unpoisoned();
        drop(tracker.observe(event));
    }

    fn report(&self) -> Option<Report> {
        let mut tracker = self.0.lock_unpoisoned();
        tracker.finish().into_iter().find_map(|step| match step {
            Step::End { report, .. } => Some(*report),
            _ => None,
        })
    }
}
