//! A test of requests as it is printed: banner, table, result.

use tapeline_stats::Moments;

use super::run::RequestsRun;
use super::{banner, result};
use crate::calendar::Calendar;
use crate::model::{Event, HistogramRow, Measure, Notice, Phase, RequestResponse, Row, Subject};
use crate::native::brief::BriefLine;
use crate::native::cells::{self, Field, field};
use crate::native::number::millis;
use crate::native::paint::Paint;
use crate::native::table::{Table, wrap};
use crate::native::{distribution, result_line};
use crate::render::Output;
use crate::style::{Amount, Style, Terminal};

/// Streams whose totals have a row each.
const MAX_TOTALS: usize = 8;
/// Histograms that the result shows.
const MAX_HISTOGRAMS: usize = 64;
/// Columns of a label behind a row.
const MARK: usize = "  total".len();

/// Prints one such test.
#[derive(Debug)]
pub(crate) struct RequestsText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    calendar: Calendar,
    run: RequestsRun,
    /// The banner's first line is out.
    has_head: bool,
    /// Its second line is out.
    is_open: bool,
    table: Option<Table>,
    histograms: Vec<HistogramRow>,
    /// Phrases of connections that follow the banner (`-e`).
    connections: Vec<Vec<String>>,
}

impl RequestsText {
    /// Of a test that begins; `runs` says how often it is made.
    pub(crate) fn new(style: Style, terminal: Terminal, runs: Option<String>) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            calendar: Calendar::new(style.utc),
            run: RequestsRun::new(runs),
            has_head: false,
            is_open: false,
            table: None,
            histograms: Vec::new(),
            connections: Vec::new(),
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

    /// Prints what an event adds; returns whether that was all there is to it.
    pub(crate) fn render(&mut self, event: &Event, out: &mut Output) -> bool {
        self.run.observe(event);
        match event {
            Event::Connecting(_) => {}
            Event::Connected(line) => {
                self.head(out);
                if self.style.enhanced && self.is_usual() && !self.style.exclude.connection {
                    self.connections.push(banner::connection(&self.run, line));
                    if self.run.is_connect_only() || self.is_open {
                        self.open(out);
                    }
                }
            }
            Event::PeerFound { .. } => self.open(out),
            Event::Row(row) => {
                self.open(out);
                self.row(row, out);
                return false;
            }
            Event::Histogram(row) => self.histogram(row, out),
            Event::ConnectTimes(_)
            // Requests that follow each other at once use a CPU by their nature; the load says its own limit.
            | Event::Notice(Notice::CpuSaturated { .. })
            | Event::LimitVerdict(_) => {}
            _ => return false,
        }
        true
    }

    /// Learns that so many interval rows never came.
    pub(crate) fn dropped(&mut self, rows: u64) {
        self.run.dropped(rows);
    }

    /// Everything is printed, not the result alone.
    fn is_usual(&self) -> bool {
        self.style.amount == Amount::Usual
    }

    fn has_banner(&self) -> bool {
        self.is_usual() && !self.style.exclude.settings
    }

    /// Rows of data are printed.
    fn has_rows(&self) -> bool {
        self.is_usual() && !self.style.exclude.data
    }

    /// The banner's first line, when there is a connection.
    fn head(&mut self, out: &mut Output) {
        if std::mem::replace(&mut self.has_head, true) || !self.has_banner() {
            return;
        }
        if let Some(line) = banner::first(&self.run, &self.style, self.terminal.width) {
            out.line(&line);
        }
    }

    /// The banner's second line, when all that it says is known or the first row is due, and the
    /// connections behind it.
    fn open(&mut self, out: &mut Output) {
        self.head(out);
        if !self.is_open
            && self.has_banner()
            && let Some(line) = banner::second(&self.run, &self.style, self.terminal.width)
        {
            self.is_open = true;
            out.line(&line);
        }
        for phrases in self.connections.drain(..) {
            out.line(&wrap(&phrases, self.terminal.width, 4));
        }
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        let Measure::RequestResponse(requests) = &row.measure else {
            return;
        };
        let several = self.run.streams() > 1;
        match (row.subject, row.phase) {
            // Those of several streams stand above their sum.
            (Subject::Flow(_), Phase::Total) if several => return,
            (Subject::Flow(_), Phase::Interval | Phase::Omitted)
                if several && !self.style.enhanced =>
            {
                return;
            }
            (Subject::Flow(_) | Subject::Duplex(_), _) if !self.has_rows() => return,
            (Subject::Sum { .. }, Phase::Total)
                if self.has_rows() && self.run.totals.len() <= MAX_TOTALS =>
            {
                for (tag, total) in self.run.totals.clone() {
                    if let Measure::RequestResponse(requests) = &total.measure {
                        self.print(&tag.id.to_string(), &total, requests, out);
                    }
                }
            }
            _ => {}
        }
        let stream = match row.subject {
            Subject::Flow(tag) | Subject::Duplex(tag) => tag.id.to_string(),
            Subject::Sum { .. } if self.style.exclude.sums || !self.is_usual() => return,
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
            list.push(field(title, width, rank, cell));
        };
        if self.run.streams() > 1 {
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
        let banner = self.run.banner.as_ref();
        let requested = banner.is_none_or(|banner| banner.histograms.is_some());
        if !requested || !self.has_rows() || self.style.sum_only {
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

    /// Prints the result, and gives its line for programs; nothing where nothing came back.
    pub(crate) fn finish(mut self, out: &mut Output) -> Option<BriefLine> {
        if self.run.connected.is_some() {
            self.open(out);
        }
        let facts = result::facts(&self.run);
        let brief = (!facts.is_empty()).then(|| result::brief(&self.run, &self.style))?;
        if self.style.amount == Amount::Brief {
            out.line(&brief.to_string());
            return Some(brief);
        }
        for row in &self.histograms {
            out.line("");
            for line in distribution::total(row, self.terminal.unicode, &self.calendar) {
                out.line(&line);
            }
        }
        if self.is_usual() {
            out.line("");
        }
        for (label, value) in facts {
            out.line(&result_line::fact(label, &value, self.paint));
        }
        if let Some(trust) = self.run.trust() {
            out.line(&result_line::trust(&trust, self.terminal));
        }
        Some(brief)
    }
}
