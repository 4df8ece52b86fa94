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
mod gate;
mod iperf3;
mod occasion;
mod outputs;
mod printer;
mod signals;
mod trial;

use std::sync::{Arc, OnceLock};

use tapeline_base::{ExitCode, Role};
use tapeline_dialect::{
    ClientPlan, Interruption, Reporter, ReporterSettings, Server, ServerPlan, ServerStopper,
    run_client,
};
use tapeline_report::document::Occasion;
use tapeline_report::{Event, Iperf3Output, Notice};
use tapeline_sys::{Daemon, reason};

use crate::message::{self, CliMessage};
use crate::plan::Life;
use crate::presentation::{Iperf3Form, Presentation, TextStyle};
use gate::Gate;
use outputs::Outputs;

pub(crate) use iperf3::iperf3;
pub(crate) use printer::refusal;
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

/// What every run needs: output, a reporter in front of it, a way to be interrupted.
struct Run {
    outputs: Outputs,
    reporter: Reporter,
    interruption: Interruption,
    gate: Option<Gate>,
}

impl Run {
    fn begin(
        role: Role,
        settings: ReporterSettings,
        interval: bool,
        presentation: &Presentation,
        occasion: &Occasion,
    ) -> Result<Self, ExitCode> {
        let interruption =
            Interruption::new().map_err(|error| cannot(&format!("no wake-up channel: {error}")))?;
        let outputs = Outputs::start(presentation, interval, occasion, role, &interruption)?;
        let gate = presentation.fail_if_limited.then(Gate::default);
        let mut sink = outputs.sink();
        let watched = gate.clone();
        let sink = move |event: Event| {
            if let Some(gate) = &watched {
                gate.watch(&event);
            }
            sink(event);
        };
        let reporter = Reporter::start(settings, sink)
            .map_err(|error| cannot(&format!("no reporter thread: {error}")))?;
        Ok(Self {
            outputs,
            reporter,
            interruption,
            gate,
        })
    }

    /// Prints what is left; a failed output makes the run a failure.
    fn end(self, code: ExitCode) -> ExitCode {
        self.reporter.finish();
        let code = self.outputs.finish(code);
        self.gate.map_or(code, |gate| gate.pass(code))
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

/// Runs a client's test.
pub(crate) fn client(plan: &ClientPlan, presentation: &Presentation) -> ExitCode {
    let run = match Run::begin(
        Role::Client,
        settings(presentation),
        plan.interval.is_some(),
        presentation,
        &occasion::client(plan, presentation),
    ) {
        Ok(run) => run,
        Err(code) => return code,
    };
    let interruption = run.interruption.clone();
    if let Err(error) = signals::on_interrupt(move || interruption.interrupt()) {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let code = run_client(plan, &run.reporter.handle(), &run.interruption);
    run.end(code)
}

/// Serves until told to stop. A server in the background leaves before it starts threads and
/// opens files; the process that was called ends when the server listens.
pub(crate) fn server(plan: &ServerPlan, presentation: &Presentation, life: Life) -> ExitCode {
    serve(plan, presentation, life, || Ok(()))
}

/// The same; `prepare` is called in the process that serves, before it starts threads, and what
/// it returns lives as long as the server.
fn serve<T>(
    plan: &ServerPlan,
    presentation: &Presentation,
    life: Life,
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
        settings(presentation),
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
    let (known, interruption) = (Arc::clone(&stopper), run.interruption.clone());
    let teller = reporter.clone();
    let caught = signals::on_interrupt(move || match known.get() {
        Some(stopper) => {
            if stopper.stop() > 0 {
                teller.event(Event::Notice(Notice::WaitingForTests));
            }
        }
        None => interruption.interrupt(),
    });
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {error}"));
    }
    let server = match Server::start(&plan, &reporter, &run.interruption) {
        Ok(server) => server,
        // The reason has been told as an event.
        Err(_) => return run.end(ExitCode::Failure),
    };
    if let Some(daemon) = daemon
        && let Err(error) = daemon.ready()
    {
        return cannot(&format!("no background process: {}", reason(&error)));
    }
    let stopper = stopper.get_or_init(|| server.stopper());
    if run.interruption.is_raised() {
        stopper.stop();
    }
    let code = server.wait();
    if let (TextStyle::Iperf3(_), Some(end)) = (presentation.style, iperf3::end_of_server()) {
        run.reporter.handle().event(end);
    }
    run.end(code)
}
