//! Servers, in the foreground and in the background.

use std::sync::{Arc, OnceLock};

use tapeline_base::{ExitCode, Role};
use tapeline_dialect::{Reporter, Server, ServerLimits, ServerPlan, ServerStopper};
use tapeline_report::document::RunInfo;
use tapeline_report::{Event, Iperf3Output, Notice};
use tapeline_sys::{Daemon, InheritedSockets, reason};

use super::setup::{RunSetup, choose_cpu};
use super::supervisor::Supervisor;
use super::{run_info, signals};
use crate::message::cannot;
use crate::output::iperf3_renderer::{end_of_server, iperf3_style};
use crate::plan::Life;
use crate::presentation::{Iperf3Form, Presentation, TextStyle};

#[cfg(feature = "prometheus")]
use super::metrics;

/// Serves until asked to stop, on the sockets that were handed over, if any were. A server in the background leaves before it starts threads and
/// opens files; the process that was called ends when the server listens.
pub(crate) fn server(
    plan: &ServerPlan,
    presentation: &Presentation,
    life: Life,
    supervisor: Supervisor,
) -> ExitCode {
    // They are for this process, not for the one that goes on in the background.
    let sockets = match Supervisor::sockets(plan.personality) {
        Ok(sockets) => sockets,
        Err(why) => return cannot(&why),
    };
    serve(plan, presentation, life, supervisor, sockets, || {
        choose_cpu(plan.affinity)
    })
}

/// The same; `prepare` is called in the process that serves, before it starts threads, and what
/// it returns lives as long as the server.
pub(crate) fn serve<T>(
    plan: &ServerPlan,
    presentation: &Presentation,
    life: Life,
    supervisor: Supervisor,
    sockets: InheritedSockets,
    prepare: impl FnOnce() -> Result<T, ExitCode>,
) -> ExitCode {
    let daemon = match life {
        Life::Foreground => None,
        Life::Background => match Daemon::start() {
            Ok(daemon) => Some(daemon),
            Err(error) => return cannot(&format!("no background process: {}", reason(&error))),
        },
    };
    let _prepared = match prepare() {
        Ok(prepared) => prepared,
        Err(code) => return code,
    };
    let run = match Run::begin(
        Role::Server,
        plan.interval.is_some(),
        presentation,
        &run_info::server(presentation),
    ) {
        Ok(run) => run,
        Err(code) => return code,
    };
    let mut plan = plan.clone();
    if let Some(iperf3) = plan.protocols.iperf3_mut() {
        iperf3.output = server_output(presentation);
    }
    let reporter = run.reporter.handle();
    // Caught before the server announces itself; what comes meanwhile is seen below.
    let stopper = Arc::new(OnceLock::<ServerStopper>::new());
    let limits = Arc::new(OnceLock::<ServerLimits>::new());
    let (known, interruption) = (Arc::clone(&stopper), run.setup.interruption.clone());
    let notices = reporter.clone();
    let interrupted = move || {
        Supervisor::stopping();
        match known.get() {
            Some(stopper) => {
                if stopper.stop() > 0 {
                    notices.event(Event::Notice(Notice::WaitingForTests));
                }
            }
            None => interruption.interrupt(),
        }
    };
    let (limits_known, notices) = (Arc::clone(&limits), reporter.clone());
    let caught = if supervisor.reloads() {
        let wished = move || supervisor.reload(limits_known.get(), &notices);
        signals::on_interrupt_or_wish(interrupted, run.setup.closing(), wished)
    } else {
        signals::on_interrupt(interrupted, run.setup.closing())
    };
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let interruption = &run.setup.interruption;
    let server = match Server::start_on(&plan, sockets, &reporter, interruption) {
        Ok(server) => server,
        // The reason has been reported as an event.
        Err(_) => return run.end(ExitCode::Failure),
    };
    if let Some(daemon) = daemon
        && let Err(error) = daemon.ready()
    {
        return cannot(&format!("no background process: {}", reason(&error)));
    }
    let _ = limits.set(server.limits());
    let stopper = stopper.get_or_init(|| server.stopper());
    if let Err(why) = supervisor.ready() {
        reporter.event(Event::Notice(Notice::Text(why)));
    }
    if run.setup.interruption.is_raised() {
        stopper.stop();
    }
    let code = server.wait();
    if let (TextStyle::Iperf3(_), Some(end)) = (presentation.style, end_of_server()) {
        run.reporter.handle().event(end);
    }
    run.end(code)
}

/// A setup with a reporter, for one server.
struct Run {
    setup: RunSetup,
    reporter: Reporter,
}

impl Run {
    fn begin(
        role: Role,
        interval: bool,
        presentation: &Presentation,
        run_info: &RunInfo,
    ) -> Result<Self, ExitCode> {
        #[cfg_attr(not(feature = "prometheus"), expect(unused_mut))]
        let mut setup = RunSetup::new(role, interval, presentation, run_info)?;
        #[cfg(feature = "prometheus")]
        let board = setup
            .outputs
            .add_metrics(presentation, run_info, &setup.interruption)?;
        let reporter = setup.reporter(|_| {})?;
        #[cfg(feature = "prometheus")]
        if let Some((address, board)) = board {
            let local = board.serve(&address, reporter.handle())?;
            // A view has the terminal.
            if !presentation.view {
                metrics::log(&format!("metrics at http://{local}/metrics"));
            }
        }
        Ok(Self { setup, reporter })
    }

    fn end(self, code: ExitCode) -> ExitCode {
        self.reporter.finish();
        self.setup.end(code)
    }
}

/// What iperf3's clients see that ask for the server's output: iperf3's form of it that the
/// server itself prints, its text where it prints another.
fn server_output(presentation: &Presentation) -> Iperf3Output {
    let TextStyle::Iperf3(form) = presentation.style else {
        return Iperf3Output::default();
    };
    Iperf3Output {
        json: form != Iperf3Form::Text,
        style: iperf3_style(form, presentation),
    }
}
