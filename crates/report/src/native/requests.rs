//! A client's requests and their responses, and connections without data.

use std::collections::BTreeMap;

use tapeline_base::{BitRate, FlowTag, FormatLetter};
use tapeline_stats::{Moments, Verdict};

use super::cells::{self, Field};
use super::number::{digits, millis, rate, size};
use super::table::{Column, Table};
use super::text_parts::Paint;
use super::{distribution, result_line, setup};
use crate::calendar::Calendar;
use crate::model::{
    ClientBanner, ConnectTimes, Connected, ConnectionFlavour, CountedBy, Event, HistogramRow,
    Measure, Notice, PeerProgram, Phase, RequestPlan, RequestResponse, Row, Subject, Trust,
    TrustFacts, TrustLevel, TrustReason,
};
use crate::render::{Output, tame};
use crate::style::{Style, Terminal};

/// Streams whose totals have a row each.
const MAX_TOTALS: usize = 8;
/// Histograms that the result shows.
const MAX_HISTOGRAMS: usize = 64;
/// Requests that a 99th percentile needs.
const REQUESTS_FOR_P99: u64 = 100;
/// Columns of a label behind a row.
const MARK: usize = "  total".len();

/// Tells one such test: banner, table, result.
#[derive(Debug)]
pub(crate) struct RequestsText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    calendar: Calendar,
    banner: Option<ClientBanner>,
    /// How many runs there are to be, in words.
    runs: Option<String>,
    /// The first connection.
    connected: Option<Connected>,
    server: Option<PeerProgram>,
    /// The banner's second line is out.
    is_open: bool,
    table: Option<Table>,
    /// Streams of requests.
    totals: BTreeMap<FlowTag, Row>,
    /// All of them, where there are several.
    sum: Option<Row>,
    /// Streams of working load.
    load: Vec<Row>,
    connects: Option<ConnectTimes>,
    histograms: Vec<HistogramRow>,
    interrupted: bool,
    clock_jump: Option<i64>,
}

impl RequestsText {
    /// Of a test that begins; `runs` says how often it is made.
    pub(crate) fn new(style: Style, terminal: Terminal, runs: Option<String>) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            calendar: Calendar::new(style.utc),
            banner: None,
            runs,
            connected: None,
            server: None,
            is_open: false,
            table: None,
            totals: BTreeMap::new(),
            sum: None,
            load: Vec::new(),
            connects: None,
            histograms: Vec::new(),
            interrupted: false,
            clock_jump: None,
        }
    }

    /// Whether an event is the first of such a test.
    pub(crate) fn begins(event: &Event) -> bool {
        match event {
            Event::Connecting(banner) => banner.request_response.is_some() || banner.connect_only,
            Event::Row(row) => matches!(row.measure, Measure::RequestResponse(_)),
            Event::ConnectTimes(_) => true,
            _ => false,
        }
    }

    /// Tells an event; returns whether that was all there is to it.
    pub(crate) fn render(&mut self, event: &Event, out: &mut Output) -> bool {
        match event {
            Event::Connecting(banner) => {
                self.banner = Some(banner.clone());
                if !self.style.exclude.settings {
                    let phrases = self.first_line(banner);
                    out.line(&fitted(&phrases, self.terminal.width));
                }
            }
            Event::Connected(line) => {
                let of_requests = |line: &Connected| {
                    matches!(line.flavour, ConnectionFlavour::RequestResponse { .. })
                };
                // Not that of the working load.
                if !self.connected.as_ref().is_some_and(of_requests) {
                    self.connected = Some(line.clone());
                }
                if self.style.enhanced && !self.style.exclude.connection {
                    let phrases = setup::connected(line, &self.style, &self.calendar);
                    out.line(&super::table::wrap(&phrases, self.terminal.width, 4));
                }
            }
            Event::PeerFound(program) => {
                self.server = Some(program.clone());
                self.open(out);
            }
            Event::Row(row) => self.row(row, out),
            Event::Histogram(row) => self.histogram(row, out),
            Event::ConnectTimes(times) => self.connects = Some(*times),
            // The result says so.
            Event::Notice(Notice::Interrupted) => self.interrupted = true,
            Event::Notice(Notice::ClockSet { by }) => {
                self.clock_jump = Some(*by);
                return false;
            }
            // Requests that follow each other at once use a CPU by their nature; the load says its own limit.
            Event::Notice(Notice::CpuSaturated { .. }) | Event::LimitVerdict(_) => {}
            _ => return false,
        }
        true
    }

    fn streams(&self) -> usize {
        self.banner.as_ref().map_or(1, |banner| banner.flows)
    }

    fn first_line(&self, banner: &ClientBanner) -> Vec<String> {
        let host = if self.style.hide_addresses {
            "(hidden)".to_owned()
        } else {
            tame(&banner.host)
        };
        let transport = setup::name(banner.transport);
        let port = banner.port;
        let mut phrases = match &banner.request_response {
            Some(plan) => {
                let head = format!("{transport} requests to {host} port {port}: ");
                let mut phrases = self.requests(plan);
                phrases[0].insert_str(0, &head);
                phrases
            }
            None => vec![format!("{transport} to {host} port {port}: connect only")],
        };
        if banner.flows > 1 {
            phrases.push(format!("{} streams", banner.flows));
        }
        if banner.load_flows > 0 {
            phrases.push(format!(
                "with {} streams of working load",
                banner.load_flows
            ));
        }
        phrases.extend(self.runs.clone());
        phrases
    }

    /// `100 B sent`, `100 B back`, `10 each second`.
    fn requests(&self, plan: &RequestPlan) -> Vec<String> {
        let hold = match plan.hold_micros {
            0 => String::new(),
            hold => format!(" after {} ms", digits(f64::from(hold) / 1e3)),
        };
        let length = |bytes: u32| match bytes {
            ..1024 => format!("{bytes} B"),
            _ => size(u64::from(bytes), self.style.format),
        };
        vec![
            format!("{} sent", length(plan.request)),
            format!("{} back{hold}", length(plan.response)),
            match plan.burst {
                None => "back to back".to_owned(),
                Some((number, period)) if period.as_secs_f64() == 1.0 => {
                    format!("{number} each second")
                }
                Some((number, period)) => format!("{number} every {} s", period.as_secs_f64()),
            },
        ]
    }

    /// The banner's second line, when all that it says is known or the first row is due.
    fn open(&mut self, out: &mut Output) {
        let Some(line) = self.connected.as_ref().filter(|_| !self.is_open) else {
            return;
        };
        self.is_open = true;
        if self.style.exclude.settings {
            return;
        }
        let address = setup::shown_address(line.local.ip(), &self.style);
        let device = line.device.as_ref();
        let device = device.map_or(String::new(), |device| format!(" ({device})"));
        let mut phrases = vec![format!("from {address}{device}")];
        let is_one = self.connects.is_none();
        let time = line.connect_time.filter(|_| is_one);
        let time = time.map(|time| time.as_secs_f64());
        phrases.extend(time.map(|time| format!("connected in {} ms", millis(time))));
        phrases.extend(self.program(line).map(|name| format!("server is {name}")));
        out.line(&fitted(&phrases, self.terminal.width));
    }

    fn program(&self, line: &Connected) -> Option<String> {
        match &self.server {
            Some(server) => Some(format!(
                "{} {}",
                tame(&server.program),
                tame(&server.version)
            )),
            None if line.peer_is_tapeline => Some("tapeline".to_owned()),
            None => {
                let version = line.peer_version.as_ref();
                version.map(|version| format!("iperf {}", tame(version)))
            }
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        self.open(out);
        let Measure::RequestResponse(requests) = &row.measure else {
            if let (Subject::Flow(_), Phase::Total) = (row.subject, row.phase) {
                self.load.push(row.clone());
            }
            return;
        };
        let exclude = self.style.exclude;
        let several = self.streams() > 1;
        match (row.subject, row.phase) {
            (Subject::Flow(tag), Phase::Total) => {
                self.totals.insert(tag, row.clone());
                if several || exclude.data {
                    return;
                }
            }
            (Subject::Flow(_), _) if exclude.data || several && !self.style.enhanced => return,
            (Subject::Sum { .. }, Phase::Total) => {
                self.sum = Some(row.clone());
                if !exclude.data && self.totals.len() <= MAX_TOTALS {
                    for (tag, total) in self.totals.clone() {
                        if let Measure::RequestResponse(requests) = &total.measure {
                            self.print(&tag.id.to_string(), &total, requests, out);
                        }
                    }
                }
            }
            _ => {}
        }
        let stream = match row.subject {
            Subject::Flow(tag) | Subject::Duplex(tag) => tag.id.to_string(),
            Subject::Sum { .. } if exclude.sums => return,
            Subject::Sum { .. } => "sum".to_owned(),
        };
        self.print(&stream, row, requests, out);
    }

    fn print(&mut self, stream: &str, row: &Row, requests: &RequestResponse, out: &mut Output) {
        let fields = self.fields(stream, row, requests);
        let (columns, cells) = fields
            .into_iter()
            .map(|Field { column, cell }| (column, cell))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let (width, paint) = (self.terminal.width.saturating_sub(MARK), self.paint);
        let table = self.table.get_or_insert_with(|| {
            let table = Table::fitting(columns, width);
            out.line("");
            out.line(&paint.dim(&table.header()));
            table
        });
        let line = table.line(cells);
        out.line(&match row.phase {
            Phase::Total => paint.bold(&(line + "  total")),
            Phase::Interval | Phase::Omitted => line,
        });
    }

    fn fields(&self, stream: &str, row: &Row, requests: &RequestResponse) -> Vec<Field> {
        let mut list = Vec::new();
        let mut add = |title: &str, width, rank, cell| {
            let column = Column::new(title, width, rank);
            list.push(Field { column, cell });
        };
        if self.streams() > 1 {
            add("stream", 10, 0, stream.to_owned());
        }
        let trips = &requests.round_trips;
        let known = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), millis);
        let of = |moments: &Moments, value: f64| known((!moments.is_empty()).then_some(value));
        add("seconds", 10, 0, cells::seconds(row.span));
        add("round trips", 11, 0, trips.count.to_string());
        add("mean ms", 8, 0, of(trips, trips.mean));
        add("min ms", 7, 2, of(trips, trips.min));
        if self.style.enhanced {
            let [p50, p90, _, p99, _] = requests.percentiles;
            add("p50 ms", 7, 5, known(p50));
            add("p90 ms", 7, 6, known(p90));
            add("p99 ms", 7, 3, known(p99));
        }
        add("max ms", 7, 1, of(trips, trips.max));
        if let Some(times) = &requests.one_way {
            add(
                "to server ms",
                12,
                4,
                of(&times.transmit, times.transmit.mean),
            );
            add(
                "from server ms",
                14,
                4,
                of(&times.receive, times.receive.mean),
            );
        }
        if self.style.enhanced {
            let count = requests.retransmits;
            let count = count.map_or_else(|| "-".to_owned(), |count| count.to_string());
            add("retrans", 7, 7, count);
        }
        list
    }

    /// Histograms that were requested: of an interval below its row, of the whole test with the result.
    fn histogram(&mut self, row: &HistogramRow, out: &mut Output) {
        let banner = self.banner.as_ref();
        let requested = banner.is_none_or(|banner| banner.histograms.is_some());
        if !requested || self.style.exclude.data || self.style.sum_only {
            return;
        }
        match row.phase {
            Phase::Interval | Phase::Omitted if row.histogram.total() == 0 => {}
            Phase::Interval | Phase::Omitted => {
                out.line(&self.paint.dim(&distribution::interval(row)));
            }
            Phase::Total if self.histograms.len() < MAX_HISTOGRAMS => {
                self.histograms.push(row.clone());
            }
            Phase::Total => {}
        }
    }

    /// Prints the result; nothing where nothing came back.
    pub(crate) fn conclude(mut self, out: &mut Output) {
        self.open(out);
        for row in &self.histograms {
            out.line("");
            for line in distribution::total(row, self.terminal.unicode, &self.calendar) {
                out.line(&line);
            }
        }
        let facts = self.facts();
        if facts.is_empty() {
            return;
        }
        out.line("");
        for (label, value) in facts {
            out.line(&result_line::fact(label, &value, self.paint));
        }
        if let Some(trust) = self.trust() {
            out.line(&result_line::trust(&trust, self.terminal));
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(requests) = self.requests_total() {
            facts.push(("Round trip", self.round_trip(requests)));
            facts.extend(requests.one_way.map(|times| {
                let [there, back] = [times.transmit.mean, times.receive.mean].map(millis);
                let text = format!(
                    "to server {there}, from server {back} ms (clocks assumed synchronised)"
                );
                ("One way", text)
            }));
        }
        facts.extend(self.working_load().map(|text| ("Load", text)));
        let connects = self.connects.as_ref();
        facts.extend(connects.and_then(connect).map(|text| ("Connect", text)));
        facts
    }

    /// Of all requests, where any was answered.
    fn requests_total(&self) -> Option<&RequestResponse> {
        let row = self.sum.as_ref().or(self.totals.values().next())?;
        match &row.measure {
            Measure::RequestResponse(requests) if requests.round_trips.count > 0 => Some(requests),
            _ => None,
        }
    }

    /// `21.7 ms median, 20.4 min, 22.2 p90, 23.2 max (30 requests)`, with as much as fits.
    fn round_trip(&self, requests: &RequestResponse) -> String {
        let trips = &requests.round_trips;
        let [median, p90, _, p99, _] = requests.percentiles;
        let again = requests.retransmits.filter(|again| *again > 0);
        let text = |p90: Option<f64>, again: Option<u64>| {
            let mut parts = vec![match median {
                Some(median) => format!("{} ms median", millis(median)),
                None => format!("{} ms mean", millis(trips.mean)),
            }];
            parts.push(format!("{} min", millis(trips.min)));
            for (value, name) in [(p90, "p90"), (p99, "p99")] {
                parts.extend(value.map(|value| format!("{} {name}", millis(value))));
            }
            parts.push(format!("{} max", millis(trips.max)));
            let mut counts = counted(trips.count, "request");
            counts.extend(again.map(|again| format!(", {}", counted(again, "retransmission"))));
            format!("{} ({counts})", parts.join(", "))
        };
        let texts = [text(p90, again), text(p90, None), text(None, again)];
        let mut fits = texts
            .into_iter()
            .filter(|text| text.len() <= result_line::ROOM);
        fits.next().unwrap_or_else(|| text(None, None))
    }

    /// `939 Mbit/s sent, 2 streams`.
    fn working_load(&self) -> Option<String> {
        let total = |sends: bool| {
            let rows = self.load.iter().filter(|row| row.measure.sends() == sends);
            let rates = rows.map(|row| BitRate::over(row.bytes, row.span.length()));
            rates.reduce(|sum, one| sum + one)
        };
        let ways = [(total(true), "sent"), (total(false), "received")];
        let known = ways
            .into_iter()
            .filter_map(|(total, way)| Some(format!("{} {way}", rate(total?, FormatLetter::BITS))));
        let known: Vec<String> = known.collect();
        let streams = counted(self.load.len() as u64, "stream");
        (!known.is_empty()).then(|| format!("{}, {streams}", known.join(", ")))
    }

    fn trust(&self) -> Option<Trust> {
        let count = self.requests_total()?.round_trips.count;
        let row = self.sum.as_ref().or(self.totals.values().next())?;
        let line = self.connected.as_ref();
        let mut trust = Trust::new(&TrustFacts {
            duration: row.span.length(),
            too_few: Some(count).filter(|count| *count < Verdict::LEAST_WRITES),
            counted_by: CountedBy::OneClock,
            same_machine: line.is_some_and(|line| {
                line.peer.ip().to_canonical().is_loopback() || line.peer.ip() == line.local.ip()
            }),
            clock_jump: self.clock_jump,
            interrupted: self.interrupted,
            streams: self.streams(),
            ..TrustFacts::default()
        });
        if count < REQUESTS_FOR_P99 && trust.level < TrustLevel::Partial {
            trust.reasons.push(TrustReason {
                text: format!("p99 needs {REQUESTS_FOR_P99} requests"),
                warning_id: None,
            });
        }
        Some(trust)
    }
}

/// `0.050 ms mean, 0.018 min, 0.173 max (5 connections, 0 failed)`; nothing where all attempts failed.
fn connect(result: &ConnectTimes) -> Option<String> {
    let times = &result.times;
    (!times.is_empty()).then(|| {
        format!(
            "{} ms mean, {} min, {} max ({}, {} failed)",
            millis(times.mean),
            millis(times.min),
            millis(times.max),
            counted(times.count, "connection"),
            result.errors
        )
    })
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// As many phrases as fit in a line.
fn fitted(phrases: &[String], width: usize) -> String {
    let mut line = String::new();
    for phrase in phrases {
        let gap = if line.is_empty() { "" } else { ", " };
        if !line.is_empty() && line.chars().count() + 2 + phrase.chars().count() > width {
            break;
        }
        line.push_str(gap);
        line.push_str(phrase);
    }
    line
}
