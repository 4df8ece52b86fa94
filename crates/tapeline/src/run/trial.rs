//! `tapeline try`: what this machine, or a path, can do, in about ten seconds.
//!
//! Without a host a server is started inside the process on loopback, on ports that the
//! system chooses; the measurements go through real sockets either way.

use std::io::{IsTerminal, Write};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tapeline_base::{BitRate, ExitCode, Family, Pace, Role, Transport};
use tapeline_dialect::{
    Arrangement, BindPlan, ClientPlan, ClientWorkload, ExchangePlan, Interruption, Limit,
    Personality, Reporter, ReporterSettings, ServedTransports, Server, ServerPlan, ServerStopper,
    SocketPlan, Techniques, run_client,
};
use tapeline_report::{
    Event, Measure, Notice, Phase, Row, Subject, TrialPart, TrialReport, TrialResult,
};

use super::{cannot, printer, signals};
use crate::message::{self, CliMessage};
use crate::output;
use crate::plan::TryPlan;
use crate::presentation::Presentation;

/// Length of each measurement unless `-t` says otherwise.
const PART: Duration = Duration::from_secs(3);
/// UDP rate against this machine itself, and towards another host, bits per second.
const LOCAL_RATE: u64 = 50_000_000;
const REMOTE_RATE: u64 = 10_000_000;
/// Size of a request and of its response, bytes.
const REQUEST: u32 = 100;
/// Time beyond its length after which a measurement without an answer is given up.
const GRACE: Duration = Duration::from_secs(4);

/// Time for our own server to have counted what the client has finished sending.
const SETTLE: Duration = Duration::from_secs(1);

/// Events of one end, as they come.
#[derive(Clone, Default)]
struct Events(Arc<(Mutex<Vec<Event>>, Condvar)>);

impl Events {
    fn push(&self, event: Event) {
        self.lock().push(event);
        self.0.1.notify_all();
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the total of this part is there, at most [`SETTLE`].
    fn await_total(&self, part: TrialPart) {
        let missing = |events: &mut Vec<Event>| {
            !events
                .iter()
                .any(|event| matches!(event, Event::Row(row) if is_server_total(row, part)))
        };
        drop(self.0.1.wait_timeout_while(self.lock(), SETTLE, missing));
    }
}

/// Runs the measurements one after the other and prints one report.
pub(crate) fn trial(plan: &TryPlan, presentation: &Presentation) -> ExitCode {
    let mut writer = match output::open(
        presentation.style,
        presentation.output_file.as_deref(),
        Role::Client,
    ) {
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
    let report = trial.measure();
    let failed = trial.is_failed(&report);
    let terminal = printer::terminal(presentation.output_file.is_none());
    let text = report.render(terminal);
    if let Err(error) = writer
        .write_all(text.as_bytes())
        .and_then(|()| writer.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        return cannot(&format!("the report cannot be written: {error}"));
    }
    if failed {
        ExitCode::Failure
    } else {
        ExitCode::Success
    }
}

/// A trial whose server, if it is our own, is up.
struct Trial {
    plan: TryPlan,
    host: String,
    target: String,
    port: u16,
    local: Option<LocalServer>,
    /// The user's wish to end.
    cancelled: Interruption,
}

/// The server inside this process.
struct LocalServer {
    events: Events,
    stopper: ServerStopper,
}

impl Trial {
    fn prepare(plan: &TryPlan) -> Result<Self, ExitCode> {
        let cancelled = Interruption::new().map_err(|error| cannot(&error.to_string()))?;
        let on_signal = cancelled.clone();
        signals::on_interrupt(move || on_signal.interrupt())
            .map_err(|error| cannot(&format!("signals cannot be caught: {error}")))?;
        if let Some(host) = &plan.host {
            return Ok(Self {
                host: host.clone(),
                target: format!("{host} port {}", plan.port),
                port: plan.port,
                local: None,
                cancelled,
                plan: plan.clone(),
            });
        }
        let (local, port) = LocalServer::start(plan.family, plan.techniques)?;
        let host = match plan.family {
            Family::V6 => "::1",
            Family::Any | Family::V4 => "127.0.0.1",
        };
        Ok(Self {
            host: host.into(),
            target: "this machine against itself, through loopback".into(),
            port,
            local: Some(local),
            cancelled,
            plan: plan.clone(),
        })
    }

    fn measure(&self) -> TrialReport {
        let rate = if self.local.is_some() {
            LOCAL_RATE
        } else {
            REMOTE_RATE
        };
        let mut parts = vec![TrialPart::Latency, TrialPart::TcpUp];
        if self.local.is_none() {
            parts.push(TrialPart::TcpDown);
        }
        parts.push(TrialPart::Udp { rate });
        let length = self.plan.time.unwrap_or(PART);
        let mut results = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if self.cancelled.is_raised() {
                break;
            }
            let progress = Progress::begin(index + 1, parts.len(), *part, length);
            let result = self.run(*part, length);
            progress.end();
            let unknown = result
                .notices
                .iter()
                .any(|notice| matches!(notice, Notice::Unresolvable { .. }));
            results.push(result);
            if unknown {
                break;
            }
        }
        if let Some(local) = &self.local {
            local.stopper.stop();
        }
        TrialReport {
            target: self.target.clone(),
            results,
        }
    }

    /// A measurement failed, or the user ended it early.
    fn is_failed(&self, report: &TrialReport) -> bool {
        let empty = |result: &TrialResult| result.sender.is_none() && result.receiver.is_none();
        self.cancelled.is_raised() || report.results.iter().any(empty)
    }

    fn run(&self, part: TrialPart, length: Duration) -> TrialResult {
        let mut result = TrialResult {
            part,
            sender: None,
            receiver: None,
            congestion: None,
            notices: Vec::new(),
        };
        if let Some(local) = &self.local {
            // What earlier measurements left behind.
            drop(local.events.take());
        }
        let events = Events::default();
        match self.run_client(part, length, &events) {
            Ok(()) => {}
            Err(reason) => result.notices.push(Notice::Text(reason)),
        }
        for event in events.take() {
            take_client_event(&mut result, event);
        }
        if let Some(local) = &self.local {
            local.events.await_total(part);
            for event in local.events.take() {
                take_server_event(&mut result, event);
            }
        }
        result
    }

    fn run_client(&self, part: TrialPart, length: Duration, events: &Events) -> Result<(), String> {
        let sink = events.clone();
        let reporter = Reporter::start(ReporterSettings::default(), move |event| {
            sink.push(event);
        })
        .map_err(|error| error.to_string())?;
        let interruption = Interruption::new().map_err(|error| error.to_string())?;
        let plan = self.client_plan(part, length);
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel::<()>();
            let watched = interruption.clone();
            let cancelled = self.cancelled.clone();
            scope.spawn(move || {
                // Looks at the user's wish ten times a second; ends with the client.
                let looks = (length + GRACE).as_millis() / 100;
                for _ in 0..looks {
                    if ended.recv_timeout(Duration::from_millis(100))
                        != Err(mpsc::RecvTimeoutError::Timeout)
                    {
                        return;
                    }
                    if cancelled.is_raised() {
                        break;
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
                ClientWorkload::RequestResponse(ExchangePlan::back_to_back(REQUEST)),
                None,
            ),
            TrialPart::TcpUp => (
                Transport::Tcp,
                ClientWorkload::Stream(Arrangement::Forward),
                None,
            ),
            TrialPart::TcpDown => (
                Transport::Tcp,
                ClientWorkload::Stream(Arrangement::Reverse),
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
            techniques: self.plan.techniques,
            ..ClientPlan::new(Personality::Native, &self.host, self.port, transport)
        }
    }
}

impl LocalServer {
    fn start(family: Family, techniques: Techniques) -> Result<(Self, u16), ExitCode> {
        let events = Events::default();
        let sink = events.clone();
        let reporter = Reporter::start(ReporterSettings::default(), move |event| {
            sink.push(event);
        })
        .map_err(|error| cannot(&error.to_string()))?;
        let interruption = Interruption::new().map_err(|error| cannot(&error.to_string()))?;
        let host = match family {
            Family::V6 => "::1",
            Family::Any | Family::V4 => "127.0.0.1",
        };
        let plan = ServerPlan {
            family,
            bind: Some(BindPlan::address(host)),
            enhanced: true,
            techniques,
            ..ServerPlan::new(Personality::Native, 0, ServedTransports::Both)
        };
        let handle = reporter.handle();
        let Ok(server) = Server::start(&plan, &handle, &interruption) else {
            reporter.finish();
            let reason = events
                .take()
                .iter()
                .find_map(|event| match event {
                    Event::Notice(Notice::ListenFailed {
                        address, reason, ..
                    }) => Some(format!("cannot listen on {address}: {reason}")),
                    _ => None,
                })
                .unwrap_or_else(|| "the server inside this process did not start".into());
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
        Ok((Self { events, stopper }, port))
    }
}

/// The total that our own server tells of this part's flow.
fn is_server_total(row: &Row, part: TrialPart) -> bool {
    is_total(row)
        && match part {
            TrialPart::Latency | TrialPart::TcpUp => {
                matches!(row.measure, Measure::TcpReceive(_))
            }
            TrialPart::TcpDown => matches!(row.measure, Measure::TcpSend(_)),
            TrialPart::Udp { .. } => matches!(row.measure, Measure::UdpReceive(_)),
        }
}

fn is_total(row: &Row) -> bool {
    row.phase == Phase::Total && matches!(row.subject, Subject::Flow(_))
}

fn take_client_event(result: &mut TrialResult, event: Event) {
    match event {
        Event::Connected(line) => result.congestion = line.congestion,
        Event::Row(row) if is_total(&row) => match row.measure {
            Measure::TcpSend(_) | Measure::UdpSend(_) => result.sender = Some(row),
            Measure::TcpReceive(_) | Measure::UdpReceive(_) | Measure::RequestResponse(_) => {
                result.receiver = Some(row);
            }
            Measure::Both { .. } => {}
        },
        Event::ServerReport { row, .. } => result.receiver = Some(row),
        Event::Notice(notice) => result.notices.push(notice),
        _ => {}
    }
}

/// Our own server saw the other end of the same flow.
fn take_server_event(result: &mut TrialResult, event: Event) {
    match event {
        // The round trips are the client's to tell.
        Event::Row(_) if result.part == TrialPart::Latency => {}
        Event::Row(row) if is_total(&row) => match row.measure {
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => result.receiver = Some(row),
            Measure::TcpSend(_) | Measure::UdpSend(_) => result.sender = Some(row),
            Measure::RequestResponse(_) | Measure::Both { .. } => {}
        },
        Event::Notice(notice) => result.notices.push(notice),
        _ => {}
    }
}

/// A line on standard error that says what is going on.
struct Progress {
    terminal: bool,
}

impl Progress {
    fn begin(number: usize, of: usize, part: TrialPart, length: Duration) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let what = match part {
            TrialPart::Latency => "round trips of small messages",
            TrialPart::TcpUp => "TCP to the server",
            TrialPart::TcpDown => "TCP from the server",
            TrialPart::Udp { .. } => "UDP to the server at a fixed rate",
        };
        let text = format!("[{number}/{of}] {what}, {} s ...", length.as_secs_f64());
        if terminal {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\u{1b}[2K{text}");
            let _ = stderr.flush();
        } else {
            let _ = message::print(&[CliMessage::err(text)]);
        }
        Self { terminal }
    }

    fn end(self) {
        if self.terminal {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\u{1b}[2K");
            let _ = stderr.flush();
        }
    }
}
