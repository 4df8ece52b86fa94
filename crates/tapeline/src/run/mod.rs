//! The seam between the command line and the measurement.
//!
//! Each function takes a finished plan and the presentation, runs the job to its end,
//! prints, and returns the exit code. Nothing here looks at options.
//!
//! ```text
//! dialect ─► Reporter ─ Event ─► Printers (bounded queue, own thread) ─► renderer ─► stdout, files
//!    ▲
//!    └─ Interruption ◄─ signals
//! ```

mod adorned;
#[cfg(feature = "prometheus")]
mod exporter;
mod gate;
mod iperf3;
#[cfg(feature = "prometheus")]
mod metrics;
mod occasion;
mod outputs;
mod printer;
mod repeat;
#[cfg(feature = "tui")]
mod screen;
mod signals;
mod supervisor;
#[cfg(feature = "tui")]
mod terminal_lease;
mod trial;
#[cfg(feature = "tui")]
mod view;
#[cfg(not(feature = "tui"))]
#[path = "no_view.rs"]
mod view;

use std::sync::{Arc, OnceLock};

use tapeline_base::{ExitCode, Role};
use tapeline_dialect::{
    ClientPlan, Interruption, Reporter, ReporterHandle, ReporterSettings, Server, ServerLimits,
    ServerPlan, ServerStopper, run_client,
};
use tapeline_report::document::Occasion;
use tapeline_report::{Event, Iperf3Output, Notice};
use tapeline_sys::{Daemon, InheritedSockets, reason};

use crate::message::{self, CliMessage};
use crate::plan::{Life, RepeatPlan};
use crate::presentation::{Iperf3Form, Presentation, TextStyle};
use gate::Gate;
use outputs::Outputs;

#[cfg(feature = "prometheus")]
pub(crate) use exporter::exporter;
pub(crate) use iperf3::iperf3;
pub(crate) use printer::refusal;
pub(crate) use supervisor::Supervisor;
pub(crate) use trial::trial;

/// Share of an interval above which a last partial one is told: iperf 2's quarter, and
/// the 5 % that the measurement rules ask for. iperf3 tells each that has data.
fn settings(presentation: &Presentation) -> ReporterSettings {
    ReporterSettings {
        partial_share: match presentation.style {
            TextStyle::Native | TextStyle::Document(_) => 0.05,
            TextStyle::Iperf3(_) => 0.0,
            TextStyle::Iperf2Text | TextStyle::Csv => 0.25,
        },
        sum_single: presentation.sum_only,
    }
}

/// Says why the run cannot begin.
fn cannot(reason: &str) -> ExitCode {
    // Without standard error the exit code says the same.
    let _ = message::print(&[CliMessage::err(format!("tapeline: {reason}"))]);
    ExitCode::Failure
}

/// What every run needs: output, a way to be interrupted, whoever watches.
struct Stage {
    outputs: Outputs,
    settings: ReporterSettings,
    interruption: Interruption,
    gate: Option<Gate>,
}

impl Stage {
    fn set(
        role: Role,
        interval: bool,
        presentation: &Presentation,
        occasion: &Occasion,
    ) -> Result<Self, ExitCode> {
        let interruption =
            Interruption::new().map_err(|error| cannot(&format!("no wake-up channel: {error}")))?;
        Ok(Self {
            outputs: Outputs::start(presentation, interval, occasion, role, &interruption)?,
            settings: settings(presentation),
            interruption,
            gate: presentation.fail_if_limited.then(Gate::default),
        })
    }

    /// A reporter in front of the outputs; what it tells is shown to `watch` too.
    fn reporter(
        &self,
        mut watch: impl FnMut(&Event) + Send + 'static,
    ) -> Result<Reporter, ExitCode> {
        let mut sink = self.outputs.sink();
        let gate = self.gate.clone();
        let sink = move |event: Event| {
            if let Some(gate) = &gate {
                gate.watch(&event);
            }
            watch(&event);
            sink(event);
        };
        Reporter::start(self.settings, sink)
            .map_err(|error| cannot(&format!("no reporter thread: {error}")))
    }

    /// Tells what no reporter does, while none runs.
    fn tell(&self, event: Event) {
        (self.outputs.sink())(event);
    }

    /// Prints what is left; a failed output makes the run a failure.
    fn end(self, code: ExitCode) -> ExitCode {
        let code = self.outputs.finish(code);
        self.gate.map_or(code, |gate| gate.pass(code))
    }
}

/// A stage on which one test, or one server, is told.
struct Run {
    stage: Stage,
    reporter: Reporter,
}

impl Run {
    fn begin(
        role: Role,
        interval: bool,
        presentation: &Presentation,
        occasion: &Occasion,
    ) -> Result<Self, ExitCode> {
        #[cfg_attr(not(feature = "prometheus"), expect(unused_mut))]
        let mut stage = Stage::set(role, interval, presentation, occasion)?;
        #[cfg(feature = "prometheus")]
        let board = stage
            .outputs
            .add_metrics(presentation, occasion, &stage.interruption)?;
        let reporter = stage.reporter(|_| {})?;
        #[cfg(feature = "prometheus")]
        if let Some((address, board)) = board {
            let local = board.serve(&address, reporter.handle())?;
            // A view has the terminal.
            if !presentation.view {
                metrics::tell(&format!("metrics at http://{local}/metrics"));
            }
        }
        Ok(Self { stage, reporter })
    }

    fn end(self, code: ExitCode) -> ExitCode {
        self.reporter.finish();
        self.stage.end(code)
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
        style: printer::iperf3_style(form, presentation),
    }
}

/// Runs a client's test, or several.
pub(crate) fn client(
    plan: &ClientPlan,
    presentation: &Presentation,
    repeat: Option<&RepeatPlan>,
) -> ExitCode {
    let occasion = occasion::client(plan, presentation);
    let interval = plan.interval.is_some();
    perform(
        presentation,
        interval,
        &occasion,
        repeat,
        |reporter, interruption| run_client(plan, reporter, interruption),
    )
}

/// Performs a client's test as often as is wanted.
fn perform(
    presentation: &Presentation,
    interval: bool,
    occasion: &Occasion,
    repeat: Option<&RepeatPlan>,
    test: impl Fn(&ReporterHandle, &Interruption) -> ExitCode,
) -> ExitCode {
    let stage = match Stage::set(Role::Client, interval, presentation, occasion) {
        Ok(stage) => stage,
        Err(code) => return code,
    };
    let interruption = stage.interruption.clone();
    if let Err(error) = signals::on_interrupt(move || interruption.interrupt()) {
        return cannot(&format!("signals cannot be caught: {}", reason(&error)));
    }
    let done = match repeat {
        Some(plan) => repeat::series(&stage, plan, occasion, test),
        None => stage.reporter(|_| {}).map(|reporter| {
            let code = test(&reporter.handle(), &stage.interruption);
            reporter.finish();
            code
        }),
    };
    stage.end(done.unwrap_or_else(|code| code))
}

/// Serves until told to stop, on the sockets that were handed over, if any were. A server in the background leaves before it starts threads and
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
    serve(plan, presentation, life, supervisor, sockets, || Ok(()))
}

/// The same; `prepare` is called in the process that serves, before it starts threads, and what
/// it returns lives as long as the server.
fn serve<T>(
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
        &occasion::server(presentation),
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
    let (known, interruption) = (Arc::clone(&stopper), run.stage.interruption.clone());
    let teller = reporter.clone();
    let interrupted = move || {
        Supervisor::stopping();
        match known.get() {
            Some(stopper) => {
                if stopper.stop() > 0 {
                    teller.event(Event::Notice(Notice::WaitingForTests));
                }
            }
            None => interruption.interrupt(),
        }
    };
    let (limits_known, teller) = (Arc::clone(&limits), reporter.clone());
    let caught = if supervisor.reloads() {
        let wished = move || supervisor.reload(limits_known.get(), &teller);
        signals::on_interrupt_or_wish(interrupted, wished)
    } else {
        signals::on_interrupt(interrupted)
    };
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let interruption = &run.stage.interruption;
    let server = match Server::start_on(&plan, sockets, &reporter, interruption) {
        Ok(server) => server,
        // The reason has been told as an event.
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
    if run.stage.interruption.is_raised() {
        stopper.stop();
    }
    let code = server.wait();
    if let (TextStyle::Iperf3(_), Some(end)) = (presentation.style, iperf3::end_of_server()) {
        run.reporter.handle().event(end);
    }
    run.end(code)
}
