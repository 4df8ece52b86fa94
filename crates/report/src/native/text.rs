//! tapeline's own text.

use std::collections::VecDeque;

use tapeline_base::FlowId;

use super::cells::{self, Field, Units};
use super::cost::Cost;
use super::paint::Paint;
use super::summary::Summary;
use super::table::{Table, wrap};
use super::warning;
use super::{distribution, other_end, repetition, setup, timing, verdict, views};
use crate::calendar::Calendar;
use crate::model::{
    Event, HistogramRow, Judgement, Measure, Notice, OtherProgress, Phase, Repetition,
    RequestResponse, Row, Severity, Subject,
};
use crate::render::{Output, Renderer};
use crate::style::{Style, Terminal};

/// Sender's totals that wait for the receiver's view.
const MOST_WAITING: usize = 4096;
/// Warnings that the summary repeats.
const MOST_WARNINGS: usize = 20;
/// Lines that the summary has of the other end.
const MOST_BEYOND: usize = 64;
/// Verdicts that the summary shows: a busy server may never come to one.
const MOST_JUDGEMENTS: usize = 64;
/// Histograms that the summary shows.
const MOST_HISTOGRAMS: usize = 64;

/// Renders tapeline's own text: aligned columns under one header per kind of row, units
/// that stay, both ends' views beside each other, a headline at the end.
#[derive(Debug)]
pub struct NativeText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    calendar: Calendar,
    /// This process waits for others.
    serves: bool,
    /// Target rate of the banner, bits per second.
    target: Option<u64>,
    units: Option<Units>,
    tables: Vec<Table>,
    summary: Summary,
    warnings: Vec<(Severity, String)>,
    /// What limited the tests, told with the result.
    judgements: Vec<Judgement>,
    /// Histograms of whole tests, told with the result.
    histograms: Vec<HistogramRow>,
    /// Totals of UDP senders whose receiver may still tell its view.
    waiting: VecDeque<(FlowId, Row)>,
    /// What the other end has counted so far.
    so_far: other_end::SoFar,
    cost: Cost,
    /// Closing lines of the other end and of the clocks.
    beyond: Vec<other_end::Headline>,
    /// The settings were shown in an earlier run.
    repeats: bool,
}

impl NativeText {
    /// A renderer for one process.
    #[must_use]
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            calendar: Calendar::new(style.utc),
            serves: false,
            target: None,
            units: None,
            tables: Vec::new(),
            summary: Summary::default(),
            warnings: Vec::new(),
            judgements: Vec::new(),
            histograms: Vec::new(),
            waiting: VecDeque::new(),
            so_far: other_end::SoFar::default(),
            cost: Cost::default(),
            beyond: Vec::new(),
            repeats: false,
        }
    }

    fn phrases(&self, phrases: &[String], out: &mut Output) {
        out.line(&wrap(phrases, self.terminal.width, 4));
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        self.summary.add(row);
        if row.phase != Phase::Total {
            self.so_far.interval_ended();
        }
        if let Some(endpoints) = row.endpoints {
            self.summary.meets(endpoints.peer.ip());
        }
        if let (Subject::Flow(tag), Phase::Total, Measure::UdpSend(_)) =
            (row.subject, row.phase, &row.measure)
        {
            if self.waiting.len() >= MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back((tag.id, row.clone()));
        }
        if let Some(sentence) = clock_errors(row) {
            self.say((Severity::Warning, sentence), out);
        }
        let exclude = self.style.exclude;
        let hidden = match row.subject {
            Subject::Flow(_) | Subject::Duplex(_) => exclude.data || self.style.sum_only,
            Subject::Sum { .. } => exclude.sums,
        };
        if !hidden {
            self.print_row(row, out);
            self.lines(timing::shared_arrivals(row), out);
        }
    }

    fn print_row(&mut self, row: &Row, out: &mut Output) {
        let target = self.target;
        let format = self.style.format;
        let units = *self
            .units
            .get_or_insert_with(|| Units::suiting(target, row, format));
        let (columns, cells) = cells::fields(self.subject(row), row, units)
            .into_iter()
            .map(|Field { column, cell }| (column, cell))
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let known = self.tables.iter().position(|table| table.is_of(&columns));
        let index = known.unwrap_or_else(|| {
            let mark = " total".len();
            let width = self.terminal.width.saturating_sub(mark);
            let table = Table::fitting(columns, width);
            if self.tables.is_empty() {
                out.line("");
            }
            out.line(&self.paint.dim(&table.header()));
            self.tables.push(table);
            self.tables.len() - 1
        });
        let line = self.tables[index].line(cells);
        let line = match row.phase {
            Phase::Interval if loses(row) => self.paint.yellow(&line),
            Phase::Interval | Phase::Omitted => line,
            Phase::Total => self.paint.bold(&(line + " total")),
        };
        out.line(&line);
    }

    /// `1 ->`: which flow, which way.
    fn subject(&self, row: &Row) -> String {
        let (sends, receives) = match row.measure {
            Measure::TcpSend(_) | Measure::UdpSend(_) => (true, false),
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => (false, true),
            Measure::Both { .. } | Measure::RequestResponse(_) => (true, true),
        };
        let arrow = match (sends, receives, self.terminal.unicode) {
            (true, true, false) => "<>",
            (true, false, false) => "->",
            (_, _, false) => "<-",
            (true, true, true) => "↔",
            (true, false, true) => "→",
            (_, _, true) => "←",
        };
        match row.subject {
            Subject::Flow(tag) | Subject::Duplex(tag) => format!("{} {arrow}", tag.id),
            Subject::Sum { .. } => format!("sum {arrow}"),
        }
    }

    fn server_report(&mut self, row: &Row, out: &mut Output) {
        let (Subject::Flow(tag) | Subject::Duplex(tag)) = row.subject else {
            return;
        };
        self.summary.delivered(row);
        let sender = self.waiting.iter().position(|(id, _)| *id == tag.id);
        let sender = sender.and_then(|index| self.waiting.remove(index));
        if self.style.exclude.server_report {
            return;
        }
        out.line("");
        let format = self.style.format;
        let sender = sender.as_ref().map(|(_, row)| row);
        for (index, line) in views::lines(tag, sender, row, format)
            .into_iter()
            .enumerate()
        {
            out.line(&if index == 0 {
                self.paint.dim(&line)
            } else {
                line
            });
        }
    }

    /// Says a condition at once, and keeps it for the summary when it touches the result.
    /// The same failure is said once.
    fn notice(&mut self, notice: &Notice, out: &mut Output) {
        let (severity, sentence) = warning::sentence(notice, &self.style);
        if notice.is_of_server() {
            out.error_line(&self.warning_line(severity, &sentence));
        } else {
            self.say((severity, sentence), out);
        }
    }

    fn say(&mut self, (severity, sentence): (Severity, String), out: &mut Output) {
        let kept = self.warnings.iter().any(|(_, known)| *known == sentence);
        if severity == Severity::Error && kept {
            return;
        }
        out.error_line(&self.warning_line(severity, &sentence));
        if severity != Severity::Note && !kept && self.warnings.len() < MOST_WARNINGS {
            self.warnings.push((severity, sentence));
        }
    }

    /// Facts beside the rows; they go with the data.
    fn lines(&self, lines: impl IntoIterator<Item = String>, out: &mut Output) {
        if self.style.exclude.data {
            return;
        }
        for line in lines {
            out.line(&line);
        }
    }

    /// A histogram of an interval stands below its row, one of a whole test with the result.
    fn histogram(&mut self, row: &HistogramRow, out: &mut Output) {
        if self.style.exclude.data || self.style.sum_only {
            return;
        }
        match row.phase {
            Phase::Interval | Phase::Omitted if row.histogram.total() == 0 => {}
            Phase::Interval | Phase::Omitted => {
                out.line(&self.paint.dim(&distribution::interval(row)))
            }
            Phase::Total if self.histograms.len() < MOST_HISTOGRAMS => {
                self.histograms.push(row.clone());
            }
            Phase::Total => {}
        }
    }

    /// The other end's running counters: a line for each interval of this end.
    fn progress(&mut self, progress: &OtherProgress, out: &mut Output) {
        let line = self.so_far.line(progress, self.style.format);
        if !self.style.exclude.data
            && let Some(line) = line
        {
            out.line(&self.paint.dim(&line));
        }
    }

    /// Keeps closing lines.
    fn beyond(&mut self, lines: impl IntoIterator<Item = other_end::Headline>) {
        let room = MOST_BEYOND.saturating_sub(self.beyond.len());
        self.beyond.extend(lines.into_iter().take(room));
    }

    /// Runs stand below each other under one head, their means and how sure they are below all.
    fn repetition(&mut self, repetition: &Repetition, out: &mut Output) {
        match repetition {
            Repetition::Begins { run, most } => {
                self.repeats = *run > 1;
                if self.repeats {
                    out.line("");
                }
                out.line(&self.paint.dim(&format!("run {run} of at most {most}")));
            }
            Repetition::Ends => {
                self.conclude(out);
                self.tables.clear();
            }
            Repetition::Over(series) => {
                out.line("");
                for (index, line) in repetition::lines(series, &self.style)
                    .into_iter()
                    .enumerate()
                {
                    out.line(&if index == 0 {
                        self.paint.dim(&line)
                    } else {
                        line
                    });
                }
                if let Some(sentence) = repetition::unreached(series) {
                    self.say((Severity::Warning, sentence), out);
                }
            }
        }
    }

    fn warning_line(&self, severity: Severity, sentence: &str) -> String {
        let word = severity.word();
        let word = match severity {
            Severity::Note => word.to_owned(),
            Severity::Warning => self.paint.yellow(word),
            Severity::Error => self.paint.red(word),
        };
        format!("{word}: {sentence}")
    }

    /// Prints headline and warnings of what ended, and forgets it.
    fn conclude(&mut self, out: &mut Output) {
        let summary = std::mem::take(&mut self.summary);
        let warnings = std::mem::take(&mut self.warnings);
        let judgements = std::mem::take(&mut self.judgements);
        self.waiting.clear();
        for row in std::mem::take(&mut self.histograms) {
            out.line("");
            let lines = distribution::total(&row, self.terminal.unicode, &self.calendar);
            self.lines(lines, out);
        }
        let mut headlines = summary.headlines(&self.style);
        let mut beyond = std::mem::take(&mut self.beyond);
        beyond.extend(std::mem::take(&mut self.cost).headline(summary.bytes()));
        if !headlines.is_empty() {
            headlines.extend(beyond);
        }
        if headlines.is_empty() {
            return;
        }
        out.line("");
        for (title, number, details) in headlines {
            let title = format!("{title:<8} {number}");
            let mut phrases = details;
            if let Some(first) = phrases.first_mut() {
                *first = format!("{title}  {first}");
            }
            let text = wrap(&phrases, self.terminal.width, 9);
            out.line(&text.replacen(&title, &self.paint.bold(&title), 1));
        }
        for judgement in &judgements {
            let several = judgements.len() > 1;
            let phrases = verdict::phrases(judgement, several);
            out.line(&wrap(&phrases, self.terminal.width, 9));
        }
        for (severity, sentence) in warnings {
            out.line(&self.warning_line(severity, &sentence));
        }
    }
}

/// Stamps that contradict each other, at the end of a test.
pub(crate) fn clock_errors(row: &Row) -> Option<String> {
    let (Subject::Flow(tag), Phase::Total) = (row.subject, row.phase) else {
        return None;
    };
    let Measure::RequestResponse(RequestResponse {
        one_way: Some(times),
        ..
    }) = &row.measure
    else {
        return None;
    };
    (times.clock_errors > 0).then(|| {
        format!(
            "flow {}: {} of {} exchanges were answered before they were asked by the stamps: \
             the clocks of both hosts disagree",
            tag.id, times.clock_errors, times.transmit.count
        )
    })
}

/// Whether a receiver's row shows losses.
fn loses(row: &Row) -> bool {
    matches!(&row.measure, Measure::UdpReceive(receive) if receive.lost > 0)
}

impl Renderer for NativeText {
    fn render(&mut self, event: &Event, out: &mut Output) {
        match event {
            Event::Listening(banner) => {
                self.serves = !banner.of_client;
                if !self.style.exclude.settings {
                    self.phrases(&setup::listening(banner), out);
                }
            }
            Event::Connecting(banner) => {
                self.serves = banner.connect_back;
                self.target = banner.rate.or(self.target);
                if let Some(congestion) = &banner.congestion {
                    self.summary.uses(&congestion.name);
                }
                if !self.style.exclude.settings && !self.repeats {
                    self.phrases(&setup::connecting(banner, &self.style), out);
                }
            }
            Event::Connected(connected) => {
                self.summary.meets(connected.peer.ip());
                if let Some(congestion) = &connected.congestion {
                    self.summary.uses(congestion);
                }
                if !self.style.exclude.connection && !self.style.sum_only {
                    let phrases = setup::connected(connected, &self.style, &self.calendar);
                    self.phrases(&phrases, out);
                }
            }
            Event::Row(row) => self.row(row, out),
            // The rows tell the datagrams already.
            Event::Sent { .. } => {}
            Event::ServerReport { row, .. } => self.server_report(row, out),
            Event::Notice(notice) => self.notice(notice, out),
            Event::Histogram(row) => self.histogram(row, out),
            Event::StartDelay(delay) => self.say(timing::start_delay(delay, &self.calendar), out),
            Event::ClockCheck(check) => self.say(timing::clock_check(check), out),
            Event::ConnectTimes(times) => self.summary.connects(timing::connect_times(times)),
            Event::ScheduleErrors(schedule) => self.lines(timing::schedule_errors(schedule), out),
            Event::Departures(departures) => self.lines(timing::departures(departures), out),
            Event::Markov(report) => self.lines(timing::markov(report), out),
            Event::Judgement(judgement) => {
                if self.judgements.len() < MOST_JUDGEMENTS {
                    self.judgements.push((**judgement).clone());
                }
            }
            Event::Dropped(connected) => {
                let peer = setup::shown(connected.peer, &self.style);
                let sentence = format!("turned away {peer}: its permit key is wrong or missing");
                self.say((Severity::Warning, sentence), out);
            }
            Event::TestEnd(end) => {
                // An interrupt is known to whoever interrupted.
                let failure = end.failure.as_ref().filter(|failure| !failure.interrupted);
                if let Some(failure) = failure {
                    self.say((Severity::Error, failure.text.clone()), out);
                }
            }
            Event::ControlConnected(_) | Event::TestStart(_) => {}
            Event::OtherEndFound(_) | Event::Probes(_) => {}
            Event::OtherProgress(progress) => self.progress(progress, out),
            Event::OtherEnd(end) => {
                self.cost.other(end);
                self.beyond(other_end::headlines(end, self.style.format));
            }
            Event::Processor(used) => self.cost.own(used),
            Event::Clocks(clock) => self.beyond([other_end::clocks(clock)]),
            Event::OneWayDelay(delay) => self.beyond([other_end::one_way(delay)]),
            Event::Repetition(repetition) => self.repetition(repetition, out),
            Event::LoadedLatency(latency) => self.beyond([other_end::under_load(latency)]),
            Event::NoOtherEnd(reason) => {
                self.say((Severity::Note, other_end::absence(reason)), out);
            }
            Event::Idle => {
                self.tables.clear();
                self.so_far = other_end::SoFar::default();
                if self.serves {
                    self.units = None;
                    self.target = None;
                    self.conclude(out);
                    out.line("");
                }
            }
        }
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.lines(
            [format!(
                "({rows} rows are missing here: the output was too slow)"
            )],
            out,
        );
    }

    fn finish(&mut self, out: &mut Output) {
        self.conclude(out);
    }
}
