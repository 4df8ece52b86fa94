//! tapeline's own text.

use std::collections::VecDeque;

use tapeline_base::FlowId;

use super::cells::{self, Kind, Units};
use super::paint::Paint;
use super::summary::Summary;
use super::table::{Table, wrap};
use super::warning::{self, Severity};
use super::{setup, views};
use crate::calendar::Calendar;
use crate::model::{Event, Measure, Notice, Phase, Row, Subject};
use crate::render::{Output, Renderer};
use crate::style::{Style, Terminal};

/// Sender's totals that wait for the receiver's view.
const MOST_WAITING: usize = 4096;
/// Warnings that the summary repeats.
const MOST_WARNINGS: usize = 20;

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
    tables: Vec<(Kind, Table)>,
    summary: Summary,
    warnings: Vec<(Severity, String)>,
    /// Totals of UDP senders whose receiver may still tell its view.
    waiting: VecDeque<(FlowId, Row)>,
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
            waiting: VecDeque::new(),
        }
    }

    fn phrases(&self, phrases: &[String], out: &mut Output) {
        out.line(&wrap(phrases, self.terminal.width, 4));
    }

    fn row(&mut self, row: &Row, out: &mut Output) {
        self.summary.add(row);
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
        let exclude = self.style.exclude;
        let hidden = match row.subject {
            Subject::Flow(_) | Subject::Duplex(_) => exclude.data || self.style.sum_only,
            Subject::Sum { .. } => exclude.sums,
        };
        if !hidden {
            self.print_row(row, out);
        }
    }

    fn print_row(&mut self, row: &Row, out: &mut Output) {
        let target = self.target;
        let format = self.style.format;
        let units = *self
            .units
            .get_or_insert_with(|| Units::suiting(target, row, format));
        let kind = Kind::of(row);
        let known = self.tables.iter().position(|(other, _)| *other == kind);
        let index = known.unwrap_or_else(|| {
            let mark = " total".len();
            let width = self.terminal.width.saturating_sub(mark);
            let table = Table::fitting(cells::columns(kind, units), width);
            if self.tables.is_empty() {
                out.line("");
            }
            out.line(&self.paint.dim(&table.header()));
            self.tables.push((kind, table));
            self.tables.len() - 1
        });
        let line = self.tables[index]
            .1
            .line(cells::cells(self.subject(row), row, units));
        let line = match row.phase {
            Phase::Interval if loses(row) => self.paint.yellow(&line),
            Phase::Interval => line,
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
        let kept = self.warnings.iter().any(|(_, known)| *known == sentence);
        if severity == Severity::Error && kept {
            return;
        }
        out.error_line(&self.warning_line(severity, &sentence));
        if severity != Severity::Note && !kept && self.warnings.len() < MOST_WARNINGS {
            self.warnings.push((severity, sentence));
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
        self.waiting.clear();
        let headlines = summary.headlines(&self.style);
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
        for (severity, sentence) in warnings {
            out.line(&self.warning_line(severity, &sentence));
        }
    }
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
                if !self.style.exclude.settings {
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
            Event::Histogram(_)
            | Event::StartDelay(_)
            | Event::ClockCheck(_)
            | Event::ConnectTimes(_)
            | Event::ScheduleErrors(_)
            | Event::Markov(_)
            | Event::Dropped(_) => {}
            Event::Idle => {
                self.tables.clear();
                if self.serves {
                    self.units = None;
                    self.target = None;
                    self.conclude(out);
                    out.line("");
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Output) {
        self.conclude(out);
    }
}
