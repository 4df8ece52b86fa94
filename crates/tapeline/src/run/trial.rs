//! `tapeline try` without a host: what this machine can do, in about ten seconds.
//!
//! A server is started inside the process on loopback, on ports that the system chooses; the
//! measurements go through real sockets. With a host it is a method.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use tapeline_base::{BitRate, ExitCode, Family, MutexExt, Pace, Role, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, Interruption, Limit, Personality, Reporter,
    ReporterSettings, RequestResponsePlan, ServedTransports, Server, ServerPlan, ServerStopper,
    SocketPlan, Techniques, run_client,
};
use tapeline_report::{Event, Notice, TrialPart, TrialReport, TrialResult};

use super::{printer, signals};
use crate::files::output_file;
use crate::message::{self, CliMessage, cannot};
use crate::plan::TryPlan;
use crate::presentation::Presentation;

/// Length of a measurement unless `-t` says otherwise; TCP's are as long as a grade needs.
const PART: Duration = Duration::from_secs(3);
const TCP_PART: Duration = Duration::from_secs(5);
/// UDP rate, bits per second.
const RATE: u64 = 50_000_000;
/// What is measured, one after the other.
const PARTS: [TrialPart; 3] = [
    TrialPart::Latency,
    TrialPart::TcpUp,
    TrialPart::Udp { rate: RATE },
];
/// Size of a request and of its response, bytes.
const REQUEST: u32 = 100;
/// Time beyond its length after which a measurement is given up; an attempt to connect takes less.
const GRACE: Duration = Duration::from_secs(11);
/// Time between two looks at the user's wish to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the measurements one after the other; each has its line when it ends.
pub(crate) fn trial(plan: &TryPlan, presentation: &Presentation) -> ExitCode {
    let opened = output_file::open(
        presentation.style,
        presentation.output_file.as_deref(),
        Role::Client,
    );
    let writer = match opened {
        Ok(writer) => writer,
        Err(message) => {
            let _ = message::print(&[message]);
            return ExitCode::Failure;
        }
    };
    let trial = match Trial::prepare(plan) {
        Ok(trial) => trial,
        Err(code) => return code,
    };
    let terminal = printer::terminal(presentation.output_file.is_none());
    let report = TrialReport::new(terminal);
    let done = trial.measure(report, writer);
    trial.end();
    match done {
        Ok(code) => code,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::Success,
        Err(error) => cannot(&format!("the report cannot be written: {error}")),
    }
}

/// A trial whose server is up.
struct Trial {
    plan: TryPlan,
    host: &'static str,
    port: u16,
    server: ServerStopper,
    /// The user's wish to end.
    cancelled: Interruption,
}

impl Trial {
    fn prepare(plan: &TryPlan) -> Result<Self, ExitCode> {
        let cancelled = Interruption::new().map_err(|error| cannot(&error.to_string()))?;
        let on_signal = cancelled.clone();
        signals::on_interrupt(move || on_signal.interrupt(), || {})
            .map_err(|error| cannot(&format!("signals cannot be caught: {error}")))?;
        let host = loopback(plan.family);
        let (server, port) = start_server(host, plan.family, plan.techniques)?;
        Ok(Self {
            host,
            port,
            server,
            cancelled,
            plan: plan.clone(),
        })
    }

    fn length(&self, part: TrialPart) -> Duration {
        self.plan.time.unwrap_or(match part {
            TrialPart::Latency | TrialPart::Udp { .. } => PART,
            TrialPart::TcpUp => TCP_PART,
        })
    }

    /// Measures part by part. An error ends it: the parts that follow would meet the same.
    fn measure(
        &self,
        mut report: TrialReport,
        mut writer: Box<dyn Write + Send>,
    ) -> std::io::Result<ExitCode> {
        let mut print = |text: &str| {
            writer.write_all(text.as_bytes())?;
            writer.flush()
        };
        print(&report.opening())?;
        let mut code = ExitCode::Success;
        for part in PARTS {
            let result = self.run(part);
            if let Some(failure) = result.failure() {
                let _ = message::print(&[CliMessage::err(failure)]);
                return Ok(ExitCode::Failure);
            }
            if result.is_empty() {
                code = ExitCode::Failure;
            }
            if self.cancelled.is_raised() && result.is_empty() {
                break;
            }
            print(&report.add(result))?;
            if self.cancelled.is_raised() {
                code = ExitCode::Failure;
                break;
            }
        }
        print(&report.closing())?;
        Ok(code)
    }

    fn end(&self) {
        self.server.stop();
    }

    fn run(&self, part: TrialPart) -> TrialResult {
        let result = Arc::new(Mutex::new(TrialResult::new(part, self.length(part))));
        if let Err(error) = self.run_client(part, &result) {
            result.lock_unpoisoned().fail(error.to_string());
        }
        let result = result.lock_unpoisoned();
        result.clone()
    }

    fn run_client(&self, part: TrialPart, result: &Arc<Mutex<TrialResult>>) -> std::io::Result<()> {
        let observed = Arc::clone(result);
        let reporter = Reporter::start(ReporterSettings::default(), move |event| {
            observed.lock_unpoisoned().observe(&event);
        })?;
        let interruption = Interruption::new()?;
        let length = self.length(part);
        let plan = self.client_plan(part, length);
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel::<()>();
            let watched = interruption.clone();
            scope.spawn(move || {
                let mut progress = Progress::new(part, length);
                while progress.elapsed() < length + GRACE && !self.cancelled.is_raised() {
                    progress.show();
                    if ended.recv_timeout(POLL_INTERVAL) != Err(mpsc::RecvTimeoutError::Timeout) {
                        return;
                    }
                }
                watched.interrupt();
            });
            // Its exit code says what its notices and rows say.
            let _ = run_client(&plan, &reporter.handle(), &interruption);
            drop(done);
        });
        reporter.finish();
        Ok(())
    }

    fn client_plan(&self, part: TrialPart, length: Duration) -> ClientPlan {
        let (transport, workload, pace) = match part {
            TrialPart::Latency => (
                Transport::Tcp,
                ClientWorkload::RequestResponse(RequestResponsePlan::back_to_back(REQUEST)),
                None,
            ),
            TrialPart::TcpUp => (
                Transport::Tcp,
                ClientWorkload::Stream(Arrangement::Forward),
                None,
            ),
            TrialPart::Udp { rate } => (
                Transport::Udp,
                ClientWorkload::Stream(Arrangement::Forward),
                Some(Pace::Bits(BitRate(rate))),
            ),
        };
        ClientPlan {
            family: self.plan.family,
            workload,
            limit: Limit::Time(length),
            pace,
            socket: SocketPlan {
                nodelay: part == TrialPart::Latency,
                ..SocketPlan::default()
            },
            enhanced: true,
            control: true,
            probe: true,
            techniques: self.plan.techniques,
            ..ClientPlan::new(Personality::Native, self.host, self.port, transport)
        }
    }
}

/// The address of this machine itself.
const fn loopback(family: Family) -> &'static str {
    match family {
        Family::V6 => "::1",
        Family::Any | Family::V4 => "127.0.0.1",
    }
}

/// Starts the server inside this process; with its port.
fn start_server(
    host: &str,
    family: Family,
    techniques: Techniques,
) -> Result<(ServerStopper, u16), ExitCode> {
    let (notices, observed) = mpsc::channel();
    let reporter = Reporter::start(ReporterSettings::default(), move |event| {
        if let Event::Notice(notice) = event {
            // Nobody reads them once the server is up.
            let _ = notices.send(notice);
        }
    })
    .map_err(|error| cannot(&error.to_string()))?;
    let interruption = Interruption::new().map_err(|error| cannot(&error.to_string()))?;
    let plan = ServerPlan {
        family,
        bind: Some(BindPlan::address(host)),
        enhanced: true,
        control: true,
        techniques,
        ..ServerPlan::new(Personality::Native, 0, ServedTransports::Both)
    };
    let handle = reporter.handle();
    let Ok(server) = Server::start(&plan, &handle, &interruption) else {
        reporter.finish();
        let failed = observed.try_iter().find_map(|notice| match notice {
            Notice::ListenFailed {
                address, reason, ..
            } => Some(format!("cannot listen on {address}: {reason}")),
            _ => None,
        });
        let reason =
            failed.unwrap_or_else(|| "the server inside this process did not start".into());
        return Err(cannot(&reason));
    };
    let port = server.ports().first().map_or(0, |(_, port)| *port);
    let stopper = server.stopper();
    std::thread::Builder::new()
        .name("own server".into())
        .spawn(move || {
            let _ = server.wait();
            reporter.finish();
        })
        .map_err(|error| cannot(&error.to_string()))?;
    Ok((stopper, port))
}

/// A line on standard error that says what is going on, where somebody watches; it is erased at
/// the end of the measurement.
struct Progress {
    part: TrialPart,
    length: Duration,
    start: Instant,
    /// What the line says now, seconds.
    shown: Option<u64>,
}

impl Progress {
    fn new(part: TrialPart, length: Duration) -> Self {
        Self {
            part,
            length,
            start: Instant::now(),
            shown: None,
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn show(&mut self) {
        let seconds = self.elapsed().as_secs();
        if self.shown == Some(seconds) || !std::io::stderr().is_terminal() {
            return;
        }
        self.shown = Some(seconds);
        let of = self.length.as_secs_f64();
        redraw(&format!("{}: {seconds} of {of} s", self.part.name()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            redraw("");
        }
    }
}

/// Puts a text in the place of the line on standard error.
fn redraw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A terminal that went away shows nothing.
    let _ = write!(stderr, "\r\u{1b}[2K{text}").and_then(|()| stderr.flush());
}
