//! A client's test inside the process, to its document.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_dialect::{
    Interruption, Reporter, ReporterSettings, Techniques, run_client, run_iperf3_client,
};
use tapeline_report::Event;
use tapeline_report::document::{Assembler, Occasion, Report, Step};

use super::order::Order;
use crate::invocation::{Invocation, understand};
use crate::plan::{Iperf3Job, Iperf3Task, Plan};
use crate::quoting;
use crate::run::{occasion, settings};

/// A test that can begin.
pub(super) struct Prepared {
    plan: Plan,
    occasion: Occasion,
    settings: ReporterSettings,
}

impl Prepared {
    /// Understands an order's command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn new(order: &Order, techniques: Techniques) -> Result<Self, String> {
        let words = order.words();
        let shown = words.iter().map(|word| word.to_string_lossy().into_owned());
        let command = quoting::command(["tapeline".to_owned()].into_iter().chain(shown));
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
        let (occasion, settings) = match &plan {
            Plan::Client(client, shown, _) => (occasion::client(client, shown), settings(shown)),
            Plan::Iperf3(job) => match &**job {
                Iperf3Job {
                    task: Iperf3Task::Client(client),
                    presentation,
                    ..
                } => (
                    occasion::iperf3_client(client, presentation),
                    settings(presentation),
                ),
                _ => return Err("a probe is a client's test".to_owned()),
            },
            _ => return Err("a probe is a client's test".to_owned()),
        };
        Ok(Self {
            plan,
            occasion: Occasion {
                command,
                ..occasion
            },
            settings,
        })
    }

    /// Runs the test; it is broken off after `deadline`. Returns whether it ran to its end, and its
    /// document.
    ///
    /// # Errors
    /// The process is out of threads or descriptors.
    pub(super) fn run(self, deadline: Duration) -> io::Result<(bool, Report)> {
        let interruption = Interruption::new()?;
        let account = Arc::new(Mutex::new(Account {
            assembler: Assembler::without_intervals(self.occasion),
            report: None,
        }));
        let told = Arc::clone(&account);
        let reporter = Reporter::start(self.settings, move |event: Event| {
            let mut account = told.lock().unwrap_or_else(PoisonError::into_inner);
            let steps = account.assembler.note(&event);
            account.take(steps);
        })?;
        let handle = reporter.handle();
        let (over, is_over) = mpsc::channel::<()>();
        let code = thread::scope(|scope| {
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
            io::Result::Ok(match &self.plan {
                Plan::Client(plan, ..) => run_client(plan, &handle, &interruption),
                Plan::Iperf3(job) => match &job.task {
                    Iperf3Task::Client(plan) => run_iperf3_client(plan, &handle, &interruption),
                    Iperf3Task::Server(..) => ExitCode::Usage,
                },
                _ => ExitCode::Usage,
            })
        });
        reporter.finish();
        let code = code?;
        let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = account.assembler.finish();
        account.take(steps);
        let report = account.report.take();
        // A client has a document in any case.
        let report = report.ok_or(io::ErrorKind::Other)?;
        let good = code == ExitCode::Success && report.test.complete;
        Ok((good, *report))
    }
}

/// What the test tells.
struct Account {
    assembler: Assembler,
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
