//! A line for each event, as it happens.

use serde::Serialize;
use tapeline_base::{Transport, WallTime};

use super::figures::time;
use super::run_info::RunInfo;
use super::schema::Report;
use super::tracker::{ReportTracker, Step};
use super::warning::Incident;
use crate::model::{Event, ServerBanner, Warning};
use crate::render::{Output, Renderer};

/// `--json-stream`: NDJSON. A server's first line is `listening`. Lines of tests are `start`, `interval`, `peer_progress`, `warning`, `dropped` and `end`;
/// the last one has the document without the intervals, which were told before. Behind the last of
/// several runs there is `series`, without the runs.
#[derive(Debug)]
pub struct DocumentStream {
    tracker: ReportTracker,
    /// Sockets of a server, until all are known.
    sockets: Vec<ListeningSocket>,
    clock: Option<Clock>,
}

/// What tells the time of day.
type Clock = fn() -> WallTime;

/// A line.
#[derive(Serialize)]
struct Line<'a, T> {
    event: &'a str,
    /// Number of the test, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<u32>,
    /// When the line was written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Whom a warning is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'a str>,
    /// Why that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    data: T,
}

/// Where a server listens.
#[derive(Debug, Serialize)]
struct ListeningSocket {
    transport: &'static str,
    port: u16,
    last_port: u16,
    address: Option<String>,
}

impl ListeningSocket {
    fn new(banner: &ServerBanner) -> Self {
        Self {
            transport: match banner.transport {
                Transport::Tcp => "tcp",
                Transport::Udp => "udp",
            },
            port: banner.ports.0,
            last_port: banner.ports.1,
            address: banner.bound.map(|address| address.to_string()),
        }
    }
}

/// What the reader did not get.
#[derive(Serialize)]
struct Dropped {
    intervals: u64,
}

impl DocumentStream {
    /// A renderer for one process.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        Self {
            tracker: ReportTracker::without_intervals(run_info),
            sockets: Vec::new(),
            clock: None,
        }
    }

    /// The same; each line bears the time of day at which it was written.
    #[must_use]
    pub fn timed(self, clock: fn() -> WallTime) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }

    /// Prints what steps of whatever tests add.
    pub(crate) fn print(&self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match step {
                Step::Start { test, report } => {
                    self.line("start", Some(test), beginning(&report), out);
                }
                Step::Interval { test, interval } => {
                    self.line("interval", Some(test), interval, out);
                }
                Step::Progress { test, progress } => {
                    self.line("peer_progress", Some(test), progress, out);
                }
                Step::Warning {
                    test,
                    warning,
                    incident,
                } => self.print_warning(test, &warning, incident.as_ref(), out),
                Step::End { test, report } => self.line("end", Some(test), report, out),
                Step::Series(series) => self.line("series", None, series, out),
            }
        }
    }

    fn print_warning(
        &self,
        test: Option<u32>,
        warning: &Warning,
        incident: Option<&Incident>,
        out: &mut Output,
    ) {
        write(
            &Line {
                event: "warning",
                test,
                at: self.now(),
                peer: incident.map(|incident| incident.peer.as_str()),
                reason: incident.and_then(|incident| incident.reason.as_deref()),
                data: warning,
            },
            out,
        );
    }

    fn line(&self, event: &str, test: Option<u32>, data: impl Serialize, out: &mut Output) {
        let at = self.now();
        write(&Line::new(event, test, at, data), out);
    }

    /// A line that belongs to no test.
    pub(crate) fn whole(&self, event: &str, data: impl Serialize, out: &mut Output) {
        self.line(event, None, data, out);
    }

    /// Rows that the reader did not get.
    pub(crate) fn dropped(&self, rows: u64, out: &mut Output) {
        self.line("dropped", None, Dropped { intervals: rows }, out);
    }

    fn now(&self) -> Option<String> {
        self.clock.map(|clock| time(clock()))
    }

    /// The only line of a test that did not begin.
    #[must_use]
    pub fn line_of(report: &Report) -> String {
        let mut out = Output::default();
        write(&Line::new("end", Some(1), None, report), &mut out);
        out.stdout
    }
}

impl Renderer for DocumentStream {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if let Event::Listening(banner) = event {
            self.sockets.push(ListeningSocket::new(banner));
            if banner.following == 0 {
                let sockets = std::mem::take(&mut self.sockets);
                self.whole("listening", sockets, out);
            }
        }
        let steps = self.tracker.observe(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.tracker.missed(rows);
        self.dropped(rows, out);
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.tracker.finish();
        self.print(steps, out);
    }
}

/// What is known when a test starts.
#[derive(Serialize)]
struct Beginning<'a> {
    schema: &'static str,
    version: Option<&'a str>,
    command: Option<&'a str>,
    peer: &'a super::schema::Peer,
    test: &'a super::schema::Test,
}

fn beginning(report: &Report) -> Beginning<'_> {
    Beginning {
        schema: report.schema,
        version: report.version.as_deref(),
        command: report.command.as_deref(),
        peer: &report.peer,
        test: &report.test,
    }
}

impl<'a, T> Line<'a, T> {
    fn new(event: &'a str, test: Option<u32>, at: Option<String>, data: T) -> Self {
        Self {
            event,
            test,
            at,
            peer: None,
            reason: None,
            data,
        }
    }
}

/// A line of an event that belongs to no test; with its end.
#[must_use]
pub fn event_line(event: &str, at: WallTime, data: &impl Serialize) -> String {
    let mut out = Output::default();
    write(&Line::new(event, None, Some(time(at)), data), &mut out);
    out.stdout
}

fn write(line: &impl Serialize, out: &mut Output) {
    if let Ok(text) = serde_json::to_string(line) {
        out.line(&text);
    }
}
