//! The picture of a board: a pure function of it and of the size.
//!
//! ```text
//!  tapeline to HOST                          00:07 of 00:10     a line
//!  sent 942 Mbit/s ... curve                                    as far as there is data
//!  received ... curve
//!  round trip 0.42 ms ... curve
//!  flow  peer  rate  bytes  details                             as many as fit
//!  verdicts, warnings, results                                  up to a third
//!  how to end it                                                a line
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use ratatui::widgets::{Sparkline, Widget};
use tapeline_base::Role;
use tapeline_report::Severity;

use crate::board::Board;
use crate::flows::{FlowLine, Kind};
use crate::words::{clock, millis, percent, rate, size};

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Colours.
    pub colour: bool,
}

/// Bars of ASCII characters.
const ASCII: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: ":",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

/// Columns in front of a curve, for its name and numbers.
const LEGEND: u16 = 22;
/// Rows of a curve on a high terminal, and on a low one.
const HIGH: u16 = 4;
const LOW: u16 = 1;
/// From so many rows on, curves are high.
const ROOMY: u16 = 26;

/// Draws the board; the area is the buffer's or a part of it.
pub fn draw(board: &Board, look: Look, area: Rect, buffer: &mut Buffer) {
    let mut pen = Pen {
        look,
        area,
        y: area.y,
        buffer,
    };
    pen.heading(board);
    pen.curves(board);
    let lines = board.lines();
    let lines = &lines[..lines.len().min(usize::from(area.height / 3))];
    // A footer, and a blank line in front of the lines.
    let below = lines.len() as u16 + u16::from(!lines.is_empty()) + 1;
    pen.flows(board, area.bottom().saturating_sub(below));
    pen.y = area.bottom().saturating_sub(below) + u16::from(!lines.is_empty());
    for (severity, text) in lines {
        pen.sentence(*severity, text);
    }
    pen.footer(board);
}

/// Draws line by line, from top to bottom.
struct Pen<'a> {
    look: Look,
    area: Rect,
    y: u16,
    buffer: &'a mut Buffer,
}

impl Pen<'_> {
    fn style(&self, colour: Color) -> Style {
        if self.look.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Text at a column, cut at the right edge.
    fn put(&mut self, x: u16, text: &str, style: Style) {
        let x = self.area.x + x;
        if self.y < self.area.bottom() && x < self.area.right() {
            let room = usize::from(self.area.right() - x);
            let text = if self.look.unicode {
                text.to_owned()
            } else {
                ascii(text)
            };
            self.buffer.set_stringn(x, self.y, text, room, style);
        }
    }

    /// Text that ends at the right edge.
    fn put_right(&mut self, text: &str, style: Style) {
        let length = text.chars().count() as u16;
        self.put(self.area.width.saturating_sub(length + 1), text, style);
    }

    fn heading(&mut self, board: &Board) {
        let bar = Style::new().add_modifier(Modifier::REVERSED);
        let row = Rect::new(self.area.x, self.y, self.area.width, 1);
        self.buffer.set_style(row.intersection(self.area), bar);
        let bar = bar.add_modifier(Modifier::BOLD);
        let mut title = match (board.role(), board.peer()) {
            (Role::Client, Some(peer)) => format!(" tapeline to {peer}"),
            (Role::Client, None) => " tapeline".to_owned(),
            (Role::Server, _) => " tapeline serves".to_owned(),
        };
        if let Some((run, max)) = board.run() {
            title.push_str(&format!(", run {run} of at most {max}"));
        }
        self.put(0, &title, bar);
        let (running, known) = (board.flows().running(), board.flows().len());
        let mut right = format!("{running} of {known} flows running");
        if board.role() == Role::Client {
            let elapsed = clock(board.elapsed());
            let of = board
                .planned()
                .map_or_else(String::new, |span| format!(" of {}", clock(span)));
            right.push_str(&format!("   {elapsed}{of}"));
        }
        self.put_right(&right, bar);
        self.y += 2;
    }

    fn curves(&mut self, board: &Board) {
        let columns = self.area.width.saturating_sub(LEGEND + 1);
        let high = self.area.height >= ROOMY;
        let now = board.now();
        for (name, history, colour) in [
            ("sent", board.sent(), Color::Green),
            ("received", board.received(), Color::Cyan),
        ] {
            if history.is_empty() {
                continue;
            }
            let rates = history.rates(now, columns.into());
            let latest = rates.last().copied().unwrap_or(0.0);
            let max = rates.iter().copied().fold(0.0, f64::max);
            let values: Vec<Option<u64>> = rates.iter().map(|rate| Some(*rate as u64)).collect();
            let numbers = [rate(latest), format!("most {}", rate(max))];
            self.curve(
                name,
                &numbers,
                &values,
                colour,
                if high { HIGH } else { LOW },
            );
        }
        let (delay, one_way) = board.delay();
        if !delay.is_empty() {
            let name = if one_way {
                "one-way delay"
            } else {
                "round trip"
            };
            let levels = delay.levels(now, columns.into());
            let known = || levels.iter().flatten().copied();
            let latest = known().last().unwrap_or(0.0);
            let least = known().fold(f64::INFINITY, f64::min);
            let max = known().fold(0.0, f64::max);
            // In nanoseconds, so that small ones have a height.
            let nanos = |level: &Option<f64>| level.map(|millis| (millis * 1e6).max(0.0) as u64);
            let values: Vec<Option<u64>> = levels.iter().map(nanos).collect();
            let least = if least.is_finite() { least } else { 0.0 };
            let range = format!(
                "{} to {}",
                millis(least).trim_end_matches(" ms"),
                millis(max)
            );
            let numbers = [millis(latest), range];
            self.curve(
                name,
                &numbers,
                &values,
                Color::Yellow,
                if high { HIGH - 1 } else { LOW },
            );
        }
        if let Some((lost, sent)) = board.flows().losses() {
            let share = percent(lost as f64 / sent.max(1) as f64);
            let style = if lost > 0 {
                self.style(Color::Red)
            } else {
                Style::new()
            };
            self.put(1, "lost", self.bold());
            self.put(
                LEGEND,
                &format!("{lost} of {sent} datagrams ({share})"),
                style,
            );
            self.y += 1;
        }
        self.y += 1;
    }

    fn curve(
        &mut self,
        name: &str,
        numbers: &[String; 2],
        values: &[Option<u64>],
        colour: Color,
        height: u16,
    ) {
        let [latest, range] = numbers;
        if height > 1 {
            self.put(1, name, self.bold());
            self.y += 1;
            self.put(1, latest, self.style(colour));
            self.y += 1;
            if height > 2 {
                self.put(1, range, self.dim());
            }
            self.y -= 2;
        } else {
            self.put(1, &format!("{name} {latest}"), self.bold());
        }
        let area = Rect::new(
            self.area.x + LEGEND,
            self.y,
            self.area.width.saturating_sub(LEGEND + 1),
            height,
        );
        let bars = if self.look.unicode {
            bar::NINE_LEVELS
        } else {
            ASCII
        };
        // The latest step stands at the right edge.
        let room = usize::from(area.width).saturating_sub(values.len());
        let data: Vec<Option<u64>> = std::iter::repeat_n(None, room)
            .chain(values.iter().copied())
            .collect();
        Sparkline::default()
            .data(data)
            .bar_set(bars)
            .absent_value_symbol(" ")
            .style(self.style(colour))
            .render(area.intersection(self.area), self.buffer);
        self.y += height;
    }

    /// As many flows as fit above `end`.
    fn flows(&mut self, board: &Board, end: u16) {
        let flows = board.flows();
        if flows.len() == 0 {
            let text = match board.role() {
                Role::Client => "no data yet",
                Role::Server => "no client yet",
            };
            self.put(1, text, self.dim());
            return;
        }
        let columns = Columns::fitting(self.area.width);
        if self.y >= end {
            return;
        }
        self.row(
            &columns,
            ["flow", "peer", "rate", "bytes", "details"],
            self.dim(),
        );
        let room = usize::from(end.saturating_sub(self.y));
        let known = flows.len();
        let shown = if known > room {
            room.saturating_sub(1)
        } else {
            known
        };
        for line in flows.shown().take(shown) {
            let style = if line.ended { self.dim() } else { Style::new() };
            let (name, details) = (self.name(line), self.details(line));
            let peer = line.peer.clone().unwrap_or_default();
            let cells = [&name, &peer, &rate(line.rate), &size(line.bytes), &details];
            self.row(&columns, cells.map(String::as_str), style);
        }
        if known > shown && self.y < end {
            self.put(1, &format!("and {} more", known - shown), self.dim());
            self.y += 1;
        }
    }

    fn row(&mut self, columns: &Columns, cells: [&str; 5], style: Style) {
        let mut x = 1;
        for ((cell, width), left) in cells
            .into_iter()
            .zip(columns.0)
            .zip([true, true, false, false, true])
        {
            if width == 0 {
                continue;
            }
            let length = cell.chars().count() as u16;
            let shift = if left {
                0
            } else {
                width.saturating_sub(length)
            };
            let cut: String = cell.chars().take(width.into()).collect();
            self.put(x + shift, &cut, style);
            x += width + 2;
        }
        self.y += 1;
    }

    fn name(&self, line: &FlowLine) -> String {
        let arrow = match (matches!(line.kind, Kind::Exchange { .. }), line.sends) {
            (true, _) => "↔",
            (false, true) => "→",
            (false, false) => "←",
        };
        format!("{} {arrow}", line.tag.id)
    }

    fn details(&self, line: &FlowLine) -> String {
        let mut parts = Vec::new();
        if line.ended {
            parts.push("ended".to_owned());
        }
        match line.kind {
            Kind::TcpSend {
                retransmits,
                rtt,
                window,
            } => {
                parts.extend(rtt.map(|rtt| format!("rtt {}", millis(rtt))));
                parts.extend(retransmits.map(|count| format!("{count} sent again")));
                parts.extend(window.map(|window| format!("window {}", size(window))));
            }
            Kind::TcpReceive => {}
            Kind::UdpSend { datagrams } => parts.push(format!("{datagrams} datagrams")),
            Kind::UdpReceive { lost, sent, jitter } => {
                let share = percent(lost as f64 / sent.max(1) as f64);
                parts.push(format!("{lost} of {sent} lost ({share})"));
                parts.extend(jitter.map(|jitter| format!("jitter {}", millis(jitter))));
            }
            Kind::Exchange { responses, rtt } => {
                parts.push(format!("{responses} round trips"));
                parts.extend(rtt.map(millis));
            }
        }
        parts.join(", ")
    }

    fn sentence(&mut self, severity: Option<Severity>, text: &str) {
        let (mark, style) = match severity {
            None => ("", Style::new()),
            Some(Severity::Note) => ("note: ", self.dim()),
            Some(Severity::Warning) => ("warning: ", self.style(Color::Yellow)),
            Some(Severity::Error) => ("error: ", self.style(Color::Red)),
        };
        self.put(1, &format!("{mark}{text}"), style);
        self.y += 1;
    }

    fn footer(&mut self, board: &Board) {
        self.y = self.area.bottom().saturating_sub(1);
        let text = match board.role() {
            Role::Client => "Ctrl-C ends the test",
            Role::Server => "Ctrl-C stops the server",
        };
        self.put(1, board.command(), self.dim());
        self.put_right(&format!("  {text}"), self.dim());
    }
}

/// Widths of the columns of flows; 0 is left out.
struct Columns([u16; 5]);

impl Columns {
    fn fitting(width: u16) -> Self {
        let details = |others: u16| width.saturating_sub(others);
        if width >= 120 {
            Self([7, 28, 11, 9, details(64)])
        } else if width >= 90 {
            Self([7, 21, 11, 9, details(57)])
        } else if width >= 60 {
            Self([7, 0, 11, 9, details(34)])
        } else {
            Self([7, 0, 11, 0, details(23)])
        }
    }
}

/// Text without characters beyond ASCII.
fn ascii(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '→' => "->".to_owned(),
        '←' => "<-".to_owned(),
        '↔' => "<>".to_owned(),
        '±' => "+/-".to_owned(),
        letter if letter.is_ascii() => letter.to_string(),
        _ => "?".to_owned(),
    });
    letters.collect()
}

#[cfg(test)]
mod tests;
