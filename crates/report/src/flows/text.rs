//! What a client of different flows prints under tapeline's own name: the flows, their sums in each
//! interval, a row for each flow, and one result.

use std::collections::BTreeSet;

use tapeline_stats::LimitedBy;

use super::document::{FlowReport, FlowsReport, WAYS, WaySum, title};
use super::intervals::{Counted, IntervalSums, Row};
use super::tracker::{FlowStep, FlowsInfo, FlowsTracker};
use crate::document::{Step, TestShape, Workload};
use crate::model::{Event, FlowDirection, FlowEvent, Severity, TrustLevel, Warning, WarningId};
use crate::native::{
    Column, LABEL, Paint, Table, Unit, digits, fact, hanging, in_unit, limit_words, rate_words,
    size,
};
use crate::render::{Output, Renderer, tame};
use crate::style::{Amount, Style, Terminal};

/// Columns of a result line.
const ROOM: usize = 80 - LABEL;
/// Columns of a flow's name at most.
const NAME: usize = 13;
/// Columns of what limited a flow.
const LIMIT: usize = 23;

/// Renders a client's test of different flows.
#[derive(Debug)]
pub struct FlowsText {
    tracker: FlowsTracker,
    style: Style,
    terminal: Terminal,
    errors: Terminal,
    /// Warnings are in the report too.
    in_report: bool,
    sums: Option<IntervalSums>,
    table: Table,
    begun: bool,
    header_due: bool,
    said: BTreeSet<String>,
}

impl FlowsText {
    /// A renderer for one process.
    #[must_use]
    pub fn new(info: FlowsInfo, style: Style, terminal: Terminal) -> Self {
        let lengths = info.flows.iter().filter_map(|flow| {
            let planned = flow.run_info.planned.as_ref()?;
            Some(planned.interval?.as_secs_f64())
        });
        let starts = info.flows.iter().map(|flow| flow.start.as_secs_f64());
        let sums = lengths
            .reduce(f64::max)
            .map(|length| IntervalSums::new(length, starts));
        let mut columns = vec![Column::new("seconds", 10, 0)];
        for way in ways(&info) {
            columns.push(Column::new(words(way), 11, 0));
        }
        columns.push(Column::new("retrans", 7, 1));
        Self {
            tracker: FlowsTracker::new(info, false),
            table: Table::fitting(columns, terminal.width),
            style,
            terminal,
            errors: terminal,
            in_report: false,
            sums,
            begun: false,
            header_due: true,
            said: BTreeSet::new(),
        }
    }

    /// Standard error is this device; its conditions go to the report too where that is elsewhere.
    #[must_use]
    pub fn with_errors(self, errors: Terminal, in_report: bool) -> Self {
        Self {
            errors,
            in_report,
            ..self
        }
    }

    fn is_quiet(&self) -> bool {
        self.style.amount != Amount::Usual
    }

    /// What the flows are.
    fn begin(&mut self, out: &mut Output) {
        if std::mem::replace(&mut self.begun, true) || self.is_quiet() {
            return;
        }
        let info = self.tracker.info();
        let host = match self.style.hide_addresses {
            true => "(hidden)".to_owned(),
            false => tame(&info.host),
        };
        out.line(&format!("{} flows with {host}", info.flows.len()));
        for (number, flow) in (1..).zip(&info.flows) {
            let name = title(number, flow.name.as_deref());
            let start = digits(flow.start.as_secs_f64());
            out.line(&format!("  {name:<NAME$}  at {start} s  {}", flow.options));
        }
    }

    fn take(&mut self, steps: Vec<FlowStep>, out: &mut Output) {
        for (flow, step) in steps {
            match step {
                Step::Interval { interval, .. } if !interval.omitted => {
                    let place = place(flow);
                    let info = self.tracker.info().flows.get(place);
                    let start = info.map_or(0.0, |info| info.start.as_secs_f64());
                    if let Some(sums) = &mut self.sums {
                        sums.add(
                            place,
                            &Counted {
                                from: start + interval.start_seconds,
                                to: start + interval.end_seconds,
                                direction: interval.direction,
                                bytes: interval.bytes,
                                retransmits: interval.retransmits,
                            },
                        );
                    }
                }
                Step::Warning { warning, .. } => self.warn(flow, &warning, out),
                _ => {}
            }
        }
        self.print_rows(out);
    }

    /// A condition of a flow, once.
    fn warn(&mut self, flow: u32, warning: &Warning, out: &mut Output) {
        // The result says so.
        if warning.id == WarningId::Interrupted.name() {
            return;
        }
        let name = self.tracker.info().flows.get(place(flow));
        let name = title(flow, name.and_then(|info| info.name.as_deref()));
        let word = warning.severity.word();
        let id = match warning.severity {
            Severity::Warning => format!(" [{}]", warning.id),
            Severity::Note | Severity::Error => String::new(),
        };
        let text = format!("flow {name}: {}{id}", warning.text);
        if !self.said.insert(text.clone()) {
            return;
        }
        for line in hanging(&format!("{word}: "), &text, self.errors.width) {
            out.error_line(&line);
            if self.in_report {
                out.line(&line);
            }
        }
    }

    fn print_rows(&mut self, out: &mut Output) {
        let rows = self.sums.as_mut().map(IntervalSums::complete);
        for row in rows.unwrap_or_default() {
            if self.is_quiet() {
                continue;
            }
            if std::mem::take(&mut self.header_due) {
                out.line("");
                let paint = Paint::new(self.terminal.colour);
                let unit = Unit::for_rate(1e7, self.style.format);
                out.line(&paint.dim(&self.table.header()));
                let ways = ways(self.tracker.info());
                let units = ways.iter().map(|_| unit.label.to_owned());
                let cells = std::iter::once(String::new()).chain(units);
                let units = self.table.line(cells.chain([String::new()]));
                out.line(&paint.dim(units.trim_end()));
            }
            let line = self.table.line(self.cells(&row));
            out.line(&line);
        }
    }

    fn cells(&self, row: &Row) -> Vec<String> {
        let unit = Unit::for_rate(1e7, self.style.format);
        let rate = |bytes: f64| in_unit(unit, bytes * 8.0 / (row.end - row.start));
        let mut cells = vec![format!("{:.2}-{:.2}", row.start, row.end)];
        for way in ways(self.tracker.info()) {
            cells.push(rate(match way {
                FlowDirection::Reverse => row.sums.from_server,
                FlowDirection::Forward | FlowDirection::RoundTrip => row.sums.to_server,
            }));
        }
        let again = row.sums.retransmits;
        cells.push(again.map_or_else(|| "-".to_owned(), |again| again.to_string()));
        cells
    }

    /// A row for each direction of each flow.
    fn flow_table(&self, report: &FlowsReport, out: &mut Output) {
        let rates = Unit::for_rate(1e7, self.style.format);
        let sizes = Unit::for_size(1e7, self.style.format);
        let columns = vec![
            Column::new("start", 6, 3),
            Column::new(rates.label, 8, 0),
            Column::new(sizes.label, 7, 2),
            Column::new("lost %", 6, 0),
            Column::new("retrans", 7, 0),
            Column::new("rtt ms", 6, 1),
            Column::new("dscp", 4, 4),
        ];
        let fixed = NAME + 2 + 15 + 2 + LIMIT;
        let table = Table::fitting(columns, self.terminal.width.saturating_sub(fixed));
        let paint = Paint::new(self.terminal.colour);
        let line = |name: &str, what: &str, cells: String, limit: &str| {
            let line = format!("{name:<NAME$}  {what:<15}{cells}  {limit}");
            line.trim_end().to_owned()
        };
        out.line("");
        let header = line("flow", "", table.header(), "limited by");
        out.line(&paint.dim(&header));
        for flow in &report.flows {
            for way in ways_of(flow) {
                let name: String = flow.title().chars().take(NAME).collect();
                let cells = table.line(row(flow, way, rates, sizes));
                out.line(&line(&name, &what(flow, way), cells, &limit(flow, way)));
            }
        }
    }

    fn result(&self, report: &FlowsReport, out: &mut Output) {
        if !self.is_quiet() {
            out.line("");
        }
        let paint = Paint::new(self.terminal.colour);
        for sum in &report.directions {
            out.line(&fact("Throughput", &self.throughput(report, sum), paint));
        }
        let facts = [
            ("Loss", loss(report)),
            ("Latency", latency(report)),
            ("Limited by", limits(report)),
        ];
        for (label, value) in facts {
            if let Some(value) = value {
                out.line(&fact(label, &value, paint));
            }
        }
        if let Some((level, reason)) = trust(report) {
            let word = match level {
                TrustLevel::Good => paint.green(level.word()),
                TrustLevel::HostLimited | TrustLevel::Partial => paint.yellow(level.word()),
                TrustLevel::Poor => paint.red(level.word()),
            };
            let reason = cut(&reason, ROOM - level.word().len() - 2);
            out.line(&format!("{:<LABEL$}{word}: {reason}", "Trust"));
        }
    }

    fn throughput(&self, report: &FlowsReport, sum: &WaySum) -> String {
        let format = self.style.format;
        let (Some(rate), Some(bytes)) = (sum.bits_per_second, sum.bytes) else {
            return format!("not known {}", words(sum.direction));
        };
        let counted = match (sum.received, sum.direction) {
            (false, _) => "sender's count",
            (true, FlowDirection::Reverse) => "received here",
            (true, _) => "received there",
        };
        let seconds = report
            .seconds
            .map_or_else(String::new, |seconds| format!(" in {} s", digits(seconds)));
        let plural = if sum.flows == 1 { "" } else { "s" };
        format!(
            "{} {}, {}{seconds}, {} flow{plural} ({counted})",
            rate_words(rate, format),
            words(sum.direction),
            size(bytes, format),
            sum.flows
        )
    }
}

impl Renderer for FlowsText {
    fn render(&mut self, event: &Event, out: &mut Output) {
        self.begin(out);
        let steps = self.tracker.observe(event);
        if let (Event::OfFlow(FlowEvent { flow, event: None }), Some(sums)) =
            (event, &mut self.sums)
        {
            sums.end(place(*flow));
        }
        self.take(steps, out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.tracker.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        self.begin(out);
        let (steps, report) = self.tracker.finish();
        if let Some(sums) = &mut self.sums {
            (0..report.flows.len()).for_each(|flow| sums.end(flow));
        }
        self.take(steps, out);
        // What came to nothing has said why.
        if report.seconds.is_none() {
            return;
        }
        if !self.is_quiet() {
            self.flow_table(&report, out);
        }
        self.result(&report, out);
    }
}

fn place(flow: u32) -> usize {
    usize::try_from(flow).unwrap_or(usize::MAX).wrapping_sub(1)
}

/// The directions that flows are to have.
fn ways(info: &FlowsInfo) -> Vec<FlowDirection> {
    let planned = || {
        info.flows
            .iter()
            .filter_map(|flow| flow.run_info.planned.as_ref())
    };
    let has = |way: FlowDirection| {
        planned().any(|planned| match (planned.direction, planned.workload) {
            (_, Workload::RequestResponse) => way == FlowDirection::Forward,
            (TestShape::Bidirectional, _) => true,
            (TestShape::Forward, _) => way == FlowDirection::Forward,
            (TestShape::Reverse, _) => way == FlowDirection::Reverse,
        })
    };
    WAYS.into_iter().filter(|way| has(*way)).collect()
}

const fn words(way: FlowDirection) -> &'static str {
    match way {
        FlowDirection::Forward => "to server",
        FlowDirection::Reverse => "from server",
        FlowDirection::RoundTrip => "both ways",
    }
}

/// The directions that a flow had; a flow that came to nothing has a row nevertheless.
fn ways_of(flow: &FlowReport) -> Vec<FlowDirection> {
    let had = flow.report.sum.directions.iter();
    let had: Vec<FlowDirection> = had.map(|sum| sum.direction).collect();
    match had.is_empty() {
        true => vec![match flow.report.test.direction {
            Some(TestShape::Reverse) => FlowDirection::Reverse,
            _ => FlowDirection::Forward,
        }],
        false => had,
    }
}

/// `UDP to server`.
fn what(flow: &FlowReport, way: FlowDirection) -> String {
    let transport = flow.report.test.transport.unwrap_or("");
    let transport = transport.to_ascii_uppercase();
    match way {
        FlowDirection::RoundTrip => format!("{transport} requests"),
        way => format!("{transport} {}", words(way)),
    }
}

/// The cells of a flow's row.
fn row(flow: &FlowReport, way: FlowDirection, rates: Unit, sizes: Unit) -> [String; 7] {
    let sums = flow.report.sum.directions.iter();
    let sum = sums.into_iter().find(|sum| sum.direction == way);
    let requests = way == FlowDirection::RoundTrip;
    let end = sum.map(|sum| match sum.receiver.end.bytes {
        Some(_) => sum.receiver.end,
        None => sum.sender.end,
    });
    let end = end.filter(|_| !requests);
    let shown = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let lost = sum.and_then(|sum| sum.receiver.udp.as_ref()?.lost_percent);
    let again = sum.and_then(|sum| sum.sender.retransmits());
    [
        digits(flow.start_seconds),
        shown(end.and_then(|end| Some(in_unit(rates, end.bits_per_second?)))),
        shown(end.and_then(|end| Some(in_unit(sizes, end.bytes? as f64)))),
        shown(lost.map(digits)),
        shown(again.map(|again| again.to_string())),
        shown(round_trip(flow, way).map(digits)),
        flow.dscp.to_string(),
    ]
}

/// The median round trip that a flow has seen: of its requests or of the probes beside it, else the mean
/// of TCP's own.
fn round_trip(flow: &FlowReport, way: FlowDirection) -> Option<f64> {
    let own = || flow.streams(way).find_map(|stream| stream.rtt.as_ref());
    if way == FlowDirection::RoundTrip {
        let rtt = own()?;
        return rtt.p50_ms.or(rtt.mean_ms);
    }
    let probes = flow.report.latency_under_load.as_ref();
    let probes = probes.and_then(|latency| latency.loaded.p50_ms);
    probes.or_else(|| own()?.mean_ms)
}

/// `network (high)`, or why there is nothing to be limited.
fn limit(flow: &FlowReport, way: FlowDirection) -> String {
    if let Some(error) = &flow.report.error {
        return cut(&format!("failed: {}", error.text), LIMIT);
    }
    let mut sums = flow.report.sum.directions.iter();
    let Some(sum) = sums.find(|sum| sum.direction == way) else {
        return "did not begin".to_owned();
    };
    let verdict = sum.verdict.as_ref();
    match verdict.and_then(|verdict| Some((limit_named(verdict.limited_by?)?, verdict))) {
        Some((words, verdict)) => format!("{words} ({})", verdict.confidence),
        None if way == FlowDirection::RoundTrip => "-".to_owned(),
        None => "unknown".to_owned(),
    }
}

/// A limit in words, by its name in documents.
fn limit_named(id: &str) -> Option<&'static str> {
    let limit = LimitedBy::ALL.into_iter().find(|limit| limit.id() == id)?;
    Some(limit_words(limit))
}

/// `0.195 % (83 of 42517 datagrams)`, of all flows of datagrams whose receivers are known.
fn loss(report: &FlowsReport) -> Option<String> {
    let sums = report
        .flows
        .iter()
        .flat_map(|flow| &flow.report.sum.directions);
    let counted = sums.filter_map(|sum| {
        let udp = sum.receiver.udp.as_ref()?;
        Some((udp.lost?, udp.packets?))
    });
    let (lost, arrived) = counted.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    let all = lost + arrived;
    Some(match lost {
        0 => format!("none (0 of {all} datagrams)"),
        _ => {
            let share = digits(100.0 * lost as f64 / all.max(1) as f64);
            format!("{share} % ({lost} of {all} datagrams)")
        }
    })
}

/// `20.1 ms idle, 28.0 ms under load (+7.90 ms): bufferbloat grade A`.
fn latency(report: &FlowsReport) -> Option<String> {
    let latency = report.latency_under_load.as_ref()?;
    let (idle, loaded) = (latency.idle.p50_ms?, latency.loaded.p50_ms?);
    let more = match latency.increase_ms {
        Some(more) if more >= 0.0005 => format!("+{} ms", digits(more)),
        _ => "no increase".to_owned(),
    };
    let text = format!(
        "{} ms idle, {} ms under load ({more})",
        digits(idle),
        digits(loaded)
    );
    Some(match latency.bufferbloat_grade {
        Some(grade) => format!("{text}: bufferbloat grade {grade}"),
        None => text,
    })
}

/// `network (2 bulk, 3), your -b (1 voice)`.
fn limits(report: &FlowsReport) -> Option<String> {
    let mut named: Vec<(&'static str, Vec<String>)> = Vec::new();
    for flow in &report.flows {
        let sums = flow.report.sum.directions.iter();
        let limits: BTreeSet<&'static str> = sums
            .filter_map(|sum| limit_named(sum.verdict.as_ref()?.limited_by?))
            .collect();
        for words in limits {
            match named.iter_mut().find(|(known, _)| *known == words) {
                Some((_, flows)) => flows.push(flow.title()),
                None => named.push((words, vec![flow.title()])),
            }
        }
    }
    let parts: Vec<String> = named
        .iter()
        .map(|(words, flows)| format!("{words} ({})", flows.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| cut(&parts.join("; "), ROOM))
}

/// The least trusted flow's level, with its reason.
fn trust(report: &FlowsReport) -> Option<(TrustLevel, String)> {
    let rank = |level: TrustLevel| match level {
        TrustLevel::Good => 0,
        TrustLevel::HostLimited => 1,
        TrustLevel::Partial => 2,
        TrustLevel::Poor => 3,
    };
    let mut worst: Option<(TrustLevel, String)> = None;
    for flow in &report.flows {
        let Some(trust) = &flow.report.trust else {
            continue;
        };
        let reason = trust.reasons.first().cloned().unwrap_or_default();
        let told = match trust.level {
            TrustLevel::Good => reason,
            _ => format!("flow {}: {reason}", flow.title()),
        };
        if worst
            .as_ref()
            .is_none_or(|(level, _)| rank(trust.level) > rank(*level))
        {
            worst = Some((trust.level, told));
        }
    }
    worst
}

/// A text of at most so many columns.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}
