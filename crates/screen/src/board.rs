//! What is shown: the events so far, in short.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_base::{Role, WallTime};
use tapeline_report::document::{PlannedLimit, Report, ReportTracker, RunInfo, Step};
use tapeline_report::{
    Event, FlowDirection, Measure, Phase, Repetition, Row, Severity, Subject, Warning,
};

use crate::flows::Flows;
use crate::history::History;
use crate::words;

/// Lines of each list.
const MAX_LINES: usize = 32;

/// What a view shows of a process's tests.
#[derive(Debug)]
pub struct Board {
    tracker: ReportTracker,
    role: Role,
    /// The program's command line.
    command: String,
    /// How long a client's test is to last.
    planned: Option<Duration>,
    /// Number of this run and of the last one.
    run: Option<(u32, u32)>,
    peer: Option<String>,
    began: Option<WallTime>,
    latest: Option<WallTime>,
    flows: Flows,
    sent: History,
    received: History,
    /// Round trips of senders and exchanges, one-way delays of receivers, or round trips of probes; milliseconds.
    delay: History,
    delay_is_one_way: bool,
    /// Mean round trip of the probes of the running interval, milliseconds.
    probes: Option<f64>,
    verdicts: VecDeque<String>,
    warnings: VecDeque<Warning>,
    /// Tests that have ended, the latest first.
    results: VecDeque<String>,
    missed: u64,
}

impl Board {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        let planned = run_info.planned.as_ref();
        Self {
            role: run_info.role,
            command: run_info.command.clone(),
            planned: planned.and_then(|planned| match planned.limit {
                PlannedLimit::Time(span) => Some(span),
                _ => None,
            }),
            run: None,
            peer: planned
                .filter(|_| !run_info.style.hide_addresses)
                .map(|planned| planned.host.clone()),
            began: None,
            latest: None,
            flows: Flows::default(),
            sent: History::default(),
            received: History::default(),
            delay: History::default(),
            delay_is_one_way: false,
            probes: None,
            verdicts: VecDeque::new(),
            warnings: VecDeque::new(),
            results: VecDeque::new(),
            missed: 0,
            tracker: ReportTracker::without_intervals(run_info),
        }
    }

    /// Takes an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Row(row) => self.row(row),
            Event::Processor(_) => self.probes = None,
            Event::Probes(probes) => self.probes = Some(probes.round_trips.mean * 1e3),
            Event::LimitVerdict(limit_verdict) => {
                push(&mut self.verdicts, words::verdict(limit_verdict));
            }
            Event::Repetition(Repetition::Begins { run, most, .. }) => {
                self.run = Some((*run, *most));
                self.began = None;
                self.flows.clear();
                self.verdicts.clear();
            }
            _ => {}
        }
        for step in self.tracker.observe(event) {
            match step {
                Step::Warning { warning, .. } => push(&mut self.warnings, warning),
                Step::End { test, report } => push(&mut self.results, result(test, &report)),
                Step::Start { .. }
                | Step::Interval { .. }
                | Step::Progress { .. }
                | Step::Series(_) => {}
            }
        }
    }

    /// Rows that never came here, because the terminal was too slow.
    pub fn missed(&mut self, rows: u64) {
        self.missed += rows;
    }

    fn row(&mut self, row: &Row) {
        let Subject::Flow(_) = row.subject else {
            return;
        };
        self.flows.observe(row);
        let length = row.span.length();
        let start = WallTime::from_nanos(row.ended.as_nanos() - row.span.end.as_nanos() as i64);
        self.began = Some(self.began.map_or(start, |began| began.min(start)));
        self.latest = Some(
            self.latest
                .map_or(row.ended, |latest| latest.max(row.ended)),
        );
        if row.phase == Phase::Total {
            return;
        }
        let history = match row.measure {
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => &mut self.received,
            _ => &mut self.sent,
        };
        history.amount(row.ended, length, row.bytes as f64 * 8.0);
        let (delay, one_way) = match &row.measure {
            Measure::TcpSend(send) => {
                let micros = send.state.and_then(|state| state.rtt_micros);
                (micros.map(|micros| f64::from(micros) / 1e3), false)
            }
            Measure::RequestResponse(exchange) => {
                let trips = &exchange.round_trips;
                ((trips.count > 0).then_some(trips.mean * 1e3), false)
            }
            Measure::UdpReceive(receive) if row.trip_times => {
                let transit = &receive.transit;
                ((transit.count > 0).then_some(transit.mean * 1e3), true)
            }
            _ => (self.probes, false),
        };
        if let Some(delay) = delay {
            self.delay_is_one_way = one_way;
            self.delay.level(row.ended, delay);
        }
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    pub(crate) fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }

    pub(crate) fn run(&self) -> Option<(u32, u32)> {
        self.run
    }

    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// The latest time that is known.
    pub(crate) fn now(&self) -> WallTime {
        self.latest.unwrap_or_default()
    }

    /// Since the first flow's start.
    pub(crate) fn elapsed(&self) -> Duration {
        let nanos = self.latest.zip(self.began);
        let nanos = nanos.map_or(0, |(latest, began)| latest.nanos_since(began));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    pub(crate) fn planned(&self) -> Option<Duration> {
        self.planned
    }

    pub(crate) fn sent(&self) -> &History {
        &self.sent
    }

    pub(crate) fn received(&self) -> &History {
        &self.received
    }

    pub(crate) fn delay(&self) -> (&History, bool) {
        (&self.delay, self.delay_is_one_way)
    }

    /// What is to be read below the flows, the most important first.
    pub(crate) fn lines(&self) -> Vec<(Option<Severity>, String)> {
        let mut lines = Vec::new();
        if self.missed > 0 {
            let text = format!(
                "{} rows were not shown: the terminal was too slow",
                self.missed
            );
            lines.push((Some(Severity::Warning), text));
        }
        lines.extend(self.verdicts.iter().map(|text| (None, text.clone())));
        let warnings = self.warnings.iter();
        lines.extend(warnings.map(|one| (Some(one.severity), one.text.clone())));
        lines.extend(self.results.iter().map(|text| (None, text.clone())));
        lines
    }
}

/// Puts a line in front; the oldest goes when there are too many.
fn push<T>(lines: &mut VecDeque<T>, line: T) {
    lines.push_front(line);
    lines.truncate(MAX_LINES);
}

/// A test that has ended, in one line.
fn result(test: u32, report: &Report) -> String {
    let mut text = format!("test {test}");
    if let Some(address) = &report.peer.address {
        text.push_str(&format!(" with {address}"));
    }
    if let Some(transport) = report.test.transport {
        text.push_str(&format!(" over {}", transport.to_uppercase()));
    }
    for sum in &report.sum.directions {
        let rate = sum.receiver.end.bits_per_second;
        let rate = rate.or(sum.sender.end.bits_per_second);
        let way = match sum.direction {
            FlowDirection::Forward => "to the server",
            FlowDirection::Reverse => "from the server",
            FlowDirection::RoundTrip => "there and back",
        };
        if let Some(rate) = rate {
            text.push_str(&format!(", {} {way}", words::rate(rate)));
        }
        if let Some(percent) = sum.receiver.udp.and_then(|udp| udp.lost_percent) {
            text.push_str(&format!(", {} lost", words::percent(percent / 100.0)));
        }
    }
    if let Some(error) = &report.error {
        text.push_str(&format!(": {}", error.text));
    } else if report.test.interrupted {
        text.push_str(", interrupted");
    }
    text
}
