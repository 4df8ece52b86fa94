//! A client's test inside the process, to its document.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};

use tapeline_base::{ExitCode, MutexExt};
use tapeline_dialect::{
    Interruption, Reporter, ReporterSettings, Techniques, run_client, run_iperf3_client,
};
use tapeline_method::{NobodyWatches, Program, perform};
use tapeline_report::Event;
use tapeline_report::document::{Report, ReportTracker, RunInfo, Step};
use tapeline_report::method::MethodDocument;

use super::order::Order;
use crate::cli::invocation::understand;
use crate::identity;
use crate::plan::{Invocation, Iperf3Job, Iperf3Task, MethodJob, Plan};
use crate::run::run_info;
use crate::run::setup::settings;

/// What a probe came to.
pub(crate) enum Outcome {
    /// A test; whether it ran to its end, and its document.
    Test(bool, Box<Report>),
    /// A method; the same.
    Method(bool, Box<MethodDocument>),
}

impl Outcome {
    /// Whether it ran to its end.
    pub(crate) fn success(&self) -> bool {
        match self {
            Self::Test(success, _) | Self::Method(success, _) => *success,
        }
    }
}

/// A probe that can begin.
pub(crate) enum Prepared {
    Test(Box<PreparedTest>),
    Method(Box<MethodJob>, Program),
}

/// A test that can begin.
pub(crate) struct PreparedTest {
    plan: Plan,
    run_info: RunInfo,
    settings: ReporterSettings,
}

impl Prepared {
    /// Understands an order's command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(order: &Order, techniques: Techniques) -> Result<Self, String> {
        let words = order.words();
        let shown = words.iter().map(|word| word.to_string_lossy().into_owned());
        let command = identity::command(["tapeline".to_owned()].into_iter().chain(shown));
        let (_, resolution) = understand(&Invocation {
            program: "tapeline".into(),
            arguments: words,
            variable: &|_| None,
            resolver: |_| Vec::new(),
        });
        let Ok(mut plan) = resolution.outcome else {
            let said = resolution.messages.iter().map(|message| &*message.text);
            return Err(said.collect::<Vec<_>>().join("\n"));
        };
        plan.confine(techniques);
        // Under iperf3's name nothing says so by itself; a tapeline at the other end answers with its own.
        if let Plan::Iperf3(job) = &mut plan
            && let Iperf3Task::Client(client) = &mut job.task
        {
            client.parameters.tapeline = Some(env!("CARGO_PKG_VERSION").to_owned());
        }
        let (run_info, settings) = match &plan {
            Plan::Client(client, shown, _) => (run_info::client(client, shown), settings(shown)),
            Plan::Iperf3(job) => match &**job {
                Iperf3Job {
                    task: Iperf3Task::Client(client),
                    presentation,
                    ..
                } => (
                    run_info::iperf3_client(client, presentation),
                    settings(presentation),
                ),
                _ => return Err("a probe is a client's test".to_owned()),
            },
            Plan::Method(job) => {
                let program = Program {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    command,
                    hide_addresses: false,
                };
                return Ok(Self::Method(job.clone(), program));
            }
            _ => return Err("a probe is a client's test".to_owned()),
        };
        Ok(Self::Test(Box::new(PreparedTest {
            plan,
            run_info: RunInfo {
                command,
                ..run_info
            },
            settings,
        })))
    }

    /// Runs it; it is broken off after `deadline`.
    ///
    /// # Errors
    /// The process is out of threads or descriptors.
    pub(crate) fn run(self, deadline: Duration) -> io::Result<Outcome> {
        match self {
            Self::Test(test) => {
                let (good, report) = test.run(deadline)?;
                Ok(Outcome::Test(good, Box::new(report)))
            }
            Self::Method(job, program) => {
                let interruption = Interruption::new()?;
                let performed = within(deadline, &interruption, || {
                    let (plan, limits) = (&job.plan, &job.limits);
                    perform(plan, limits, &program, &interruption, &mut NobodyWatches)
                })?;
                let good = performed.document.complete;
                Ok(Outcome::Method(good, Box::new(performed.document)))
            }
        }
    }
}

/// Carries something out; `interruption` is raised after `deadline`.
fn within<T>(
    deadline: Duration,
    interruption: &Interruption,
    work: impl FnOnce() -> T,
) -> io::Result<T> {
    let (over, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let stopped = interruption.clone();
        let watch = move || {
            if is_over.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
                stopped.interrupt();
            }
        };
        thread::Builder::new()
            .name("deadline".into())
            .spawn_scoped(scope, watch)?;
        // Ends the watch, after a panic too.
        let _over = over;
        Ok(work())
    })
}

impl PreparedTest {
    /// Runs the test; it is broken off after `deadline`. Returns whether it ran to its end, and its
    /// document.
    ///
    /// # Errors
    /// The process is out of threads or descriptors.
    fn run(self, deadline: Duration) -> io::Result<(bool, Report)> {
        let interruption = Interruption::new()?;
        let account = Arc::new(Mutex::new(Account {
            tracker: ReportTracker::without_intervals(self.run_info),
            report: None,
        }));
        let observed = Arc::clone(&account);
        let reporter = Reporter::start(self.settings, move |event: Event| {
            let mut account = observed.lock_unpoisoned();
            let steps = account.tracker.observe(&event);
            account.take(steps);
        })?;
        let handle = reporter.handle();
        let code = within(deadline, &interruption, || match &self.plan {
            Plan::Client(plan, ..) => run_client(plan, &handle, &interruption),
            Plan::Iperf3(job) => match &job.task {
                Iperf3Task::Client(plan) => run_iperf3_client(plan, &handle, &interruption),
                Iperf3Task::Server(..) => ExitCode::Usage,
            },
            _ => ExitCode::Usage,
        });
        reporter.finish();
        let code = code?;
        let mut account = account.lock_unpoisoned();
        let steps = account.tracker.finish();
        account.take(steps);
        let report = account.report.take();
        // A client has a document in any case.
        let report = report.ok_or(io::ErrorKind::Other)?;
        let good = code == ExitCode::Success && report.test.complete;
        Ok((good, *report))
    }
}

/// What the test reports.
struct Account {
    tracker: ReportTracker,
    report: Option<Box<Report>>,
}

impl Account {
    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            if let Step::End { report, .. } = step {
                self.report = Some(report);
            }
        }
    }
}
