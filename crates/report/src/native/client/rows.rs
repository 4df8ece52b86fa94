//! The one table of a client's test.

use tapeline_base::Transport;

use super::amount::{Amount, Way};
use super::run::ClientRun;
use super::special;
use crate::model::{Phase, Row, Span, TestDirection};
use crate::native::cells::{self, Field, field};
use crate::native::number::{digits, in_unit, millis};
use crate::native::table::{Column, Table};
use crate::native::unit::Unit;
use crate::style::{Style, Terminal};

/// From so many columns on there are further ones.
const WIDE: usize = 100;
/// Columns of a label behind a row, with its gap.
const LABEL: usize = 10;

/// Header and layout, as far as rows have determined them.
#[derive(Debug)]
pub(crate) struct ClientTable {
    width: usize,
    wide: bool,
    enhanced: bool,
    duplex: bool,
    transport: Transport,
    /// This end sends, so that its intervals have the sender's columns.
    sends: bool,
    several: bool,
    retransmits: bool,
    times: usize,
    rate: Unit,
    size: Unit,
    /// Titles of the columns now, all of them.
    columns: Vec<Column>,
    table: Table,
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// An interval, as this end counted it.
    Interval,
    /// The sender's total.
    Sent,
    /// The receiver's.
    Received,
}

impl Counted {
    const fn label(self) -> &'static str {
        match self {
            Self::Interval => "",
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

/// A header where one is due, and a row.
pub(crate) struct Printed {
    pub(crate) header: Option<String>,
    pub(crate) row: String,
}

impl ClientTable {
    /// Suited to the test and to the first row that is known.
    pub(crate) fn new(run: &ClientRun, first: &Amount, style: &Style, terminal: Terminal) -> Self {
        let duplex = run.direction() == TestDirection::Bidirectional;
        let rate = run.rate().map_or(first.rate(), |rate| rate as f64);
        let times = run.time().map_or(13, |time| {
            let end = time.as_secs_f64();
            format!("{:.2}-{end:.2}", (end - 1.0).max(0.0)).len()
        });
        Self {
            width: terminal.width.saturating_sub(LABEL),
            wide: terminal.width >= WIDE,
            enhanced: style.enhanced,
            duplex,
            transport: run.transport(),
            sends: run.direction() != TestDirection::Reverse,
            several: run.streams() > 1,
            retransmits: run.direction() != TestDirection::Reverse || run.peer_tells_retransmits(),
            times,
            rate: Unit::for_rate(rate, style.format),
            size: Unit::for_size(first.bytes as f64, style.format),
            columns: Vec::new(),
            table: Table::fitting(Vec::new(), 0),
        }
    }

    /// A row of a stream or of all; `row` is the only one that it is of, if it is of one. `received` is what
    /// the server counts meanwhile, bits per second.
    pub(crate) fn row(
        &mut self,
        counted: Counted,
        stream: &str,
        amount: &Amount,
        row: Option<&Row>,
        received: Option<f64>,
    ) -> Printed {
        let mut fields = self.fields(counted, stream, amount, received);
        fields.extend(row.map_or(Vec::new(), |row| special::fields(row, self.rate)));
        let label = match row {
            Some(row) if row.phase == Phase::Omitted => "omitted",
            _ => counted.label(),
        };
        self.print(fields, label)
    }

    /// Both directions beside each other.
    pub(crate) fn both_ways(
        &mut self,
        counted: Counted,
        ways: [Option<&Amount>; 2],
        beside: &Amount,
    ) -> Printed {
        let rate = |amount: Option<&Amount>| {
            amount.map_or("-".to_owned(), |amount| in_unit(self.rate, amount.rate()))
        };
        let sum: f64 = ways.iter().flatten().map(|amount| amount.rate()).sum();
        let spans = ways.iter().flatten().map(|amount| amount.span);
        let span = spans.reduce(|a, b| Span {
            start: a.start.min(b.start),
            end: a.end.max(b.end),
        });
        let mut fields = vec![
            field(
                "seconds",
                self.times.max(10),
                0,
                cells::seconds(span.unwrap_or_default()),
            ),
            field(&format!("to {}", self.rate.label), 11, 0, rate(ways[0])),
            field(&format!("from {}", self.rate.label), 11, 0, rate(ways[1])),
            field(self.rate.label, 7, 0, in_unit(self.rate, sum)),
        ];
        match self.transport {
            Transport::Tcp => {
                fields.push(field("retrans", 7, 1, count(beside.retransmits)));
                fields.push(field("rtt ms", 7, 2, rtt(beside)));
            }
            Transport::Udp => {
                let lost = beside.lost.map(|(lost, _)| lost);
                fields.push(field("lost", 7, 0, count(lost)));
                fields.push(field("loss %", 7, 1, share(beside)));
                fields.push(field("jitter ms", 9, 2, jitter(beside)));
            }
        }
        self.print(fields, counted.label())
    }

    fn fields(
        &self,
        counted: Counted,
        stream: &str,
        amount: &Amount,
        received: Option<f64>,
    ) -> Vec<Field> {
        let mut list = Vec::new();
        let mut times = self.times.max(10);
        if self.several {
            list.push(field("stream", 10, 0, stream.to_owned()));
            times = self.times;
        }
        list.push(field("seconds", times, 0, cells::seconds(amount.span)));
        let rate = in_unit(self.rate, amount.rate());
        list.push(field(self.rate.label, width_of(self.rate), 0, rate));
        let is_total = counted != Counted::Interval;
        if self.wide && self.enhanced && self.sends {
            let shown = received.map_or("-".to_owned(), |bits| in_unit(self.rate, bits));
            let shown = if is_total { String::new() } else { shown };
            list.push(field("received", 8, 6, shown));
        }
        let bytes = in_unit(self.size, amount.bytes as f64);
        list.push(field(self.size.label, width_of(self.size), 0, bytes));
        match self.transport {
            Transport::Tcp => list.extend(self.stream_fields(counted, amount)),
            Transport::Udp => list.extend(datagram_fields(amount)),
        }
        list
    }

    fn stream_fields(&self, counted: Counted, amount: &Amount) -> Vec<Field> {
        let mut list = Vec::new();
        if self.retransmits {
            list.push(field("retrans", 7, 1, count(amount.retransmits)));
        }
        // A momentary value, which a total does not have.
        let state = amount.state.filter(|_| counted == Counted::Interval);
        let window = state.and_then(|state| state.window_bytes());
        if self.sends && (!self.several || self.enhanced) {
            list.push(field(
                "cwnd KiB",
                8,
                3,
                count(window.map(|bytes| bytes / 1024)),
            ));
            let now = Amount {
                state,
                ..Amount::default()
            };
            list.push(field("rtt ms", 7, 2, rtt(&now)));
            if self.wide {
                let variance = state.and_then(|state| state.rtt_variance_micros);
                let variance = variance.map(|micros| millis(f64::from(micros) * 1e-6));
                list.push(field("rttvar ms", 9, 5, variance.unwrap_or_default()));
                let flight = state.and_then(|state| state.in_flight_packets);
                list.push(field("in flight", 9, 4, count(flight.map(u64::from))));
            }
        }
        list
    }

    fn print(&mut self, fields: Vec<Field>, label: &str) -> Printed {
        let new = fields.iter().filter(|field| {
            let title = field.column.title();
            !self.columns.iter().any(|column| column.title() == title)
        });
        let new: Vec<Column> = new.map(|field| field.column.clone()).collect();
        let header = (!new.is_empty()).then(|| {
            self.columns.extend(new);
            self.table = Table::fitting(self.columns.clone(), self.width);
            self.header()
        });
        let cells = self.columns.iter().map(|column| {
            let same = |field: &&Field| field.column.title() == column.title();
            let field = fields.iter().find(same);
            field.map_or(String::new(), |field| field.cell.clone())
        });
        let cells: Vec<String> = cells.collect();
        let mut row = self.table.line(cells);
        if label.is_empty() {
            row.truncate(row.trim_end().len());
        } else {
            row = format!("{row}  {label}");
        }
        Printed { header, row }
    }

    /// The header; of both directions in two lines, whose units stand below.
    fn header(&self) -> String {
        if !self.duplex {
            return self.table.header();
        }
        let above = self.columns.iter().enumerate().map(|(at, _)| match at {
            1 => "to server",
            2 => "from server",
            3 => "both",
            _ => "",
        });
        let below = self.columns.iter().map(|column| {
            let title = column.title();
            let unit = title.strip_prefix("to ").or(title.strip_prefix("from "));
            unit.unwrap_or(title).to_owned()
        });
        let above = self.table.line(above.map(str::to_owned));
        format!("{}\n{}", above.trim_end(), self.table.line(below))
    }
}

fn datagram_fields(amount: &Amount) -> Vec<Field> {
    let lost = amount.lost.map(|(lost, _)| lost);
    let mut list = vec![
        field("datagrams", 9, 1, count(amount.datagrams)),
        field("lost", 7, 0, count(lost)),
        field("loss %", 7, 0, share(amount)),
        field("jitter ms", 9, 2, jitter(amount)),
    ];
    for (title, number) in [
        ("errors", amount.errors),
        ("reordered", amount.reordered),
        ("dup", amount.duplicates),
        ("reordered or dup", amount.disordered),
    ] {
        if number > 0 {
            list.push(field(title, title.len(), 3, number.to_string()));
        }
    }
    list
}

/// Columns of numbers in this unit.
fn width_of(unit: Unit) -> usize {
    if unit.is_single() { 13 } else { 7 }
}

/// The way of a row among both.
pub(crate) const fn place(way: Way) -> usize {
    match way {
        Way::ToServer => 0,
        Way::FromServer => 1,
    }
}

fn count(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn rtt(amount: &Amount) -> String {
    let micros = amount.state.and_then(|state| state.rtt_micros);
    micros.map_or_else(String::new, |micros| millis(f64::from(micros) * 1e-6))
}

fn share(amount: &Amount) -> String {
    amount
        .loss()
        .map_or_else(String::new, |share| digits(share * 100.0))
}

fn jitter(amount: &Amount) -> String {
    amount.jitter.map_or_else(String::new, millis)
}
