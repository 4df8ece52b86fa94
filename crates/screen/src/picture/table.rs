//! The streams in columns under one head.

use tapeline_base::Role;
use tapeline_report::{Column, Table, Unit, digits, in_unit, millis};

use super::curve::rate_unit;
use super::pen::Pen;
use crate::board::Board;
use crate::streams::Stream;

/// From so many columns on, wider tables.
const WIDE: u16 = 100;

/// What a stream shows in a column.
type Cell = Box<dyn Fn(&Stream) -> Option<String>>;

/// A column, and how a stream fills it.
struct Field {
    column: Column,
    cell: Cell,
}

/// Rows that all streams need, the head included.
pub(crate) fn rows(board: &Board) -> usize {
    1 + board.streams().len().max(1)
}

/// As many streams as so many rows hold; of more, the sum behind the first ones.
pub(crate) fn put(pen: &mut Pen<'_>, board: &Board, rows: u16) {
    let streams = board.streams();
    let Some(total) = streams.total() else {
        let text = match board.role() {
            Role::Client => "no data yet",
            Role::Server => "no client yet",
        };
        if rows > 0 {
            pen.put(1, text, pen.dim());
        }
        return;
    };
    let fields = fields(board, pen.area.width);
    let columns: Vec<Column> = fields.iter().map(|field| field.column.clone()).collect();
    let number = Column::new("stream", 6, 0);
    let columns = std::iter::once(number).chain(columns).collect();
    let table = Table::fitting(columns, usize::from(pen.area.width).saturating_sub(2));
    let line = |name: String, stream: &Stream| {
        let cells = fields.iter();
        let cells = cells.map(|field| (field.cell)(stream).unwrap_or_default());
        table.line(std::iter::once(name).chain(cells))
    };
    let bottom = pen.y.saturating_add(rows);
    if pen.y < bottom {
        pen.put(1, &table.header(), pen.dim());
        pen.y += 1;
    }
    let room = usize::from(bottom.saturating_sub(pen.y));
    let known = streams.len();
    let shown = match known > room {
        true => room.saturating_sub(1),
        false => known,
    };
    for (number, stream) in streams.iter().take(shown) {
        let style = match stream.ended && board.role() == Role::Server {
            true => pen.dim(),
            false => ratatui::style::Style::new(),
        };
        pen.put(1, &line(number.to_string(), stream), style);
        pen.y += 1;
    }
    if shown < known && room > 0 {
        let mut sum = total;
        // What stands for one stream stands not for all.
        sum.peer = None;
        let line = line("sum".to_owned(), &sum);
        let hidden = known - shown;
        let rest = format!("{}  of {known}, {hidden} not shown", line.trim_end());
        pen.put(1, &rest, pen.bold());
        pen.y += 1;
    }
}

fn fields(board: &Board, width: u16) -> Vec<Field> {
    let streams = board.streams();
    let any = |has: fn(&Stream) -> bool| streams.iter().any(|(_, stream)| has(stream));
    let unit = rate_unit(board);
    let mut fields = Vec::new();
    let mut add = |title: &str, width, rank, cell: Cell| {
        let column = Column::new(title, width, rank);
        fields.push(Field { column, cell });
    };
    if board.role() == Role::Server {
        add("client", 21, 7, Box::new(|stream| stream.peer.clone()));
    }
    if any(|stream| stream.sends) && any(|stream| !stream.sends) {
        let client = board.role() == Role::Client;
        let words = move |stream: &Stream| match stream.sends == client {
            true => "to server",
            false => "from server",
        };
        let cell = move |stream: &Stream| Some(words(stream).to_owned());
        add("direction", 11, 0, Box::new(cell));
    }
    if any(|stream| stream.counts.requests.is_none()) {
        let cell = move |stream: &Stream| {
            let carries = stream.counts.requests.is_none();
            carries.then(|| in_unit(unit, stream.rate))
        };
        add(unit.label, 6, 0, Box::new(cell));
        let most = streams.total().map_or(0, |total| total.bytes);
        let size = Unit::for_size(most as f64, board.format());
        let counts = |stream: &Stream| {
            let counts = stream.counts;
            counts.retransmits.is_some() || counts.datagrams.is_some()
        };
        let plain = streams.iter().all(|(_, stream)| !counts(stream));
        if width >= WIDE || plain {
            let cell = move |stream: &Stream| Some(in_unit(size, stream.bytes as f64));
            add(size.label, 7, 8, Box::new(cell));
        }
    }
    let count = |number: Option<u64>| number.map(|number| number.to_string());
    if any(|stream| stream.counts.retransmits.is_some()) {
        add(
            "retrans",
            7,
            1,
            Box::new(move |stream| count(stream.counts.retransmits)),
        );
    }
    if any(|stream| stream.counts.window.is_some()) {
        let cell = move |stream: &Stream| count(stream.counts.window.map(|bytes| bytes / 1024));
        add("cwnd KiB", 8, 3, Box::new(cell));
    }
    if any(|stream| stream.counts.round_trip.is_some()) {
        let cell = |stream: &Stream| stream.counts.round_trip.map(millis);
        add("rtt ms", 7, 2, Box::new(cell));
    }
    if any(|stream| stream.counts.datagrams.is_some()) {
        let cell = move |stream: &Stream| count(stream.counts.datagrams);
        add("datagrams", 9, 4, Box::new(cell));
    }
    if any(|stream| stream.counts.lost.is_some()) {
        let lost = move |stream: &Stream| count(stream.counts.lost.map(|(lost, _)| lost));
        add("lost", 7, 1, Box::new(lost));
        let share = |stream: &Stream| {
            let (lost, all) = stream.counts.lost?;
            Some(digits(100.0 * lost as f64 / all.max(1) as f64))
        };
        add("loss %", 7, 2, Box::new(share));
        let jitter = |stream: &Stream| stream.counts.jitter.map(millis);
        add("jitter ms", 9, 3, Box::new(jitter));
    }
    if any(|stream| stream.counts.requests.is_some()) {
        let of = |stream: &Stream| stream.counts.requests;
        let known = move |stream: &Stream| of(stream).filter(|trips| !trips.is_empty());
        let cell = move |stream: &Stream| count(of(stream).map(|trips| trips.count));
        add("round trips", 11, 0, Box::new(cell));
        let mean = move |stream: &Stream| known(stream).map(|trips| millis(trips.mean));
        add("mean ms", 8, 0, Box::new(mean));
        let least = move |stream: &Stream| known(stream).map(|trips| millis(trips.min));
        add("min ms", 7, 2, Box::new(least));
        let most = move |stream: &Stream| known(stream).map(|trips| millis(trips.max));
        add("max ms", 7, 1, Box::new(most));
    }
    fields
}
