//! A server inside a program.

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::Role;
use tapeline_dialect::{
    Interruption, Iperf3Server, Personality, Reporter, ServedProtocols, ServedTransports,
    Server as Serving, ServerPlan, ServerStopper,
};
use tapeline_report::document::{Report, ReportTracker, Step};
use tapeline_report::{Event, ServerBanner};

use crate::error::TestError;
use crate::reporting;

/// Serves tapeline, iperf 2 and iperf3 clients over TCP and UDP on one port, as `tapeline -s` does: every
/// address, no limits. When it is dropped it ends, with the tests that run.
#[derive(Debug)]
pub struct Server {
    port: u16,
    stopper: ServerStopper,
    reports: Receiver<Report>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens on `port`, or on any free one for 0.
    ///
    /// # Errors
    /// The port is in use, or the process has no thread or descriptor left.
    pub fn start(port: u16) -> Result<Self, TestError> {
        let plan = ServerPlan {
            enhanced: true,
            control: true,
            protocols: ServedProtocols::Both(Iperf3Server::default()),
            ..ServerPlan::new(Personality::Native, port, ServedTransports::Both)
        };
        let interruption = Interruption::new().map_err(|error| TestError::no_resource(&error))?;
        let (reporter, events) = reporting::begin()?;
        let serving = Serving::start(&plan, &reporter.handle(), &interruption);
        let Ok(serving) = serving else {
            reporter.finish();
            return Err(why_not(&events, port));
        };
        let port = events
            .iter()
            .find_map(|event| match event {
                Event::Listening(ServerBanner { ports, .. }) => Some(ports.0),
                _ => None,
            })
            .unwrap_or(port);
        let (sender, reports) = channel();
        let follow = move || {
            let mut tracker = ReportTracker::new(reporting::run_info(Role::Server, None));
            for event in events {
                for step in tracker.observe(&event) {
                    if let Step::End { report, .. } = step {
                        // Whoever no longer listens has dropped the server.
                        let _ = sender.send(*report);
                    }
                }
            }
        };
        let mut server = Self {
            port,
            stopper: serving.stopper(),
            reports,
            threads: Vec::new(),
        };
        server.spawn(follow)?;
        server.spawn(move || wait(serving, reporter))?;
        Ok(server)
    }

    fn spawn(&mut self, run: impl FnOnce() + Send + 'static) -> Result<(), TestError> {
        let thread = std::thread::Builder::new().name("tapeline".to_owned());
        let thread = thread.spawn(run);
        let thread = thread.map_err(|error| TestError::no_resource(&error))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The result of the next test that ends, each once; none within `timeout`.
    #[must_use]
    pub fn next_report(&self, timeout: Duration) -> Option<Report> {
        self.reports.recv_timeout(timeout).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopper.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn wait(serving: Serving, reporter: Reporter) {
    let _ = serving.wait();
    reporter.finish();
}

/// What the reporter was told when no server began.
fn why_not(events: &Receiver<Event>, port: u16) -> TestError {
    let mut tracker = ReportTracker::new(reporting::run_info(Role::Server, None));
    let said = events.try_iter().flat_map(|event| tracker.observe(&event));
    let said = said.collect::<Vec<_>>().into_iter();
    let warning = said.rev().find_map(|step| match step {
        Step::Warning { warning, .. } => Some(warning),
        _ => None,
    });
    match warning {
        Some(warning) => TestError::without_report(&warning.id, warning.text),
        None => TestError::without_report(
            "listen-failed",
            format!("port {port}: the server does not listen"),
        ),
    }
}
