//! A number over time: its name, what it is now, and a curve beside that.

use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::bar;
use ratatui::widgets::{Sparkline, Widget};
use tapeline_base::Role;
use tapeline_report::{Unit, digits, in_unit, millis};

use super::pen::Pen;
use crate::board::Board;
use crate::history::History;
use crate::streams::Stream;

/// Columns in front of the number, for its name.
const LABEL: u16 = 13;
/// Column of an axis.
const AXIS: u16 = 53;
/// Columns of a curve at least.
const LEAST: u16 = 8;
/// Values of the bars: more than a bar of any height has parts.
const SCALE: f64 = 1e6;

/// Colours of the curves.
const SENT: Color = Color::Green;
const RECEIVED: Color = Color::Cyan;
const DELAY: Color = Color::Yellow;

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

/// What a curve shows of time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// Bits per second.
    Sent,
    Received,
    /// Seconds.
    Delay,
}

/// A number over time.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    name: &'static str,
    /// What it is now, and what else is to be known of it.
    numbers: Vec<String>,
    /// Nothing where there is no more than the number.
    pub(crate) values: Option<Values>,
}

/// All that a board has, from top to bottom.
pub(crate) fn curves(board: &Board) -> Vec<Curve> {
    let both = !board.sent.is_empty() && !board.received.is_empty();
    let mut curves = Vec::new();
    for (sends, values) in [(true, Values::Sent), (false, Values::Received)] {
        let name = match (board.role(), both, sends) {
            (Role::Client, false, _) => "Throughput",
            (Role::Client, true, true) => "To server",
            (Role::Client, true, false) => "From server",
            (Role::Server, _, true) => "Sent",
            (Role::Server, _, false) => "Received",
        };
        if let Some(sum) = board.streams().sum(sends)
            && !history(board, values).is_empty()
        {
            curves.push(Curve {
                name,
                numbers: rates(board, &sum, both),
                values: Some(values),
            });
        }
    }
    if let Some((delay, one_way)) = board.latest_delay() {
        let requests = board.streams().total().and_then(|sum| sum.counts.requests);
        let name = match (one_way, requests) {
            (true, _) => "Delay",
            (false, Some(_)) => "Round trip",
            (false, None) => "Latency",
        };
        let now = millis(delay);
        let idle = board.answer().idle_round_trip();
        let idle = idle.filter(|_| board.role() == Role::Client);
        let number = match (requests, idle) {
            (Some(requests), _) => format!("{now} ms now, {} mean", millis(requests.mean)),
            (None, Some(idle)) if !one_way => match board.answer().loaded_round_trip() {
                Some(loaded) => format!("{} ms under load, {} idle", millis(loaded), millis(idle)),
                None => format!("{now} ms now, {} idle", millis(idle)),
            },
            (None, _) => format!("{now} ms now"),
        };
        curves.push(Curve {
            name,
            numbers: vec![number],
            values: Some(Values::Delay),
        });
    }
    curves.extend(board.loss().map(|loss| Curve {
        name: "Loss",
        numbers: vec![loss],
        values: None,
    }));
    curves
}

/// What the streams of one direction move now and have moved so far.
fn rates(board: &Board, sum: &Stream, both: bool) -> Vec<String> {
    let unit = rate_unit(board);
    let shown = |rate: f64| in_unit(unit, rate);
    if board.role() == Role::Server {
        return vec![format!("{} {} now", shown(sum.rate), unit.label)];
    }
    let mean = board.answer().mean(sum.sends).filter(|_| sum.ended);
    if let Some(mean) = mean {
        return vec![format!("{} {} mean", shown(mean), unit.label)];
    }
    let mean = sum.mean();
    let mut numbers = vec![format!(
        "{} {} now, {} mean",
        shown(sum.rate),
        unit.label,
        shown(mean)
    )];
    // Its counters are of both directions together.
    let arrives = board.answer().received_by_server();
    let arrives = arrives.filter(|_| sum.sends && !both);
    numbers.extend(arrives.map(|rate| format!("{} received by the server", shown(rate))));
    numbers
}

fn history(board: &Board, values: Values) -> &History {
    match values {
        Values::Sent => &board.sent,
        Values::Received => &board.received,
        Values::Delay => &board.delay,
    }
}

/// The unit of all rates of the picture.
pub(crate) fn rate_unit(board: &Board) -> Unit {
    let tops = [&board.sent, &board.received].map(|history| {
        let rates = history.rates(board.now(), board.window(), board.window());
        rates.into_iter().flatten().fold(0.0, f64::max)
    });
    let sums = [true, false].map(|sends| board.streams().sum(sends));
    let rates = sums.iter().flatten().map(|sum| sum.rate.max(sum.mean()));
    Unit::for_rate(rates.chain(tops).fold(0.0, f64::max), board.format())
}

/// The next of 1, 2, 5, 10, 20, ... that is not below `value`.
fn ceiling(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| value <= *step);
    step.unwrap_or(10.0 * power)
}

impl Curve {
    /// Draws it in so many rows, and goes to the next one.
    pub(crate) fn put(&self, pen: &mut Pen<'_>, board: &Board, height: u16) {
        let top = pen.y;
        pen.put(1, self.name, pen.bold());
        for number in self.numbers.iter().take(height.into()) {
            pen.put(LABEL, number, pen.style(self.colour()));
            pen.y += 1;
        }
        pen.y = top;
        if let Some(values) = self.values {
            self.draw(pen, board, values, height);
        }
        pen.y = top + height;
    }

    fn colour(&self) -> Color {
        match self.values {
            Some(Values::Sent) => SENT,
            Some(Values::Received) => RECEIVED,
            Some(Values::Delay) => DELAY,
            None => Color::Reset,
        }
    }

    fn draw(&self, pen: &mut Pen<'_>, board: &Board, values: Values, height: u16) {
        let columns = pen.area.width.saturating_sub(AXIS + 2);
        if columns < LEAST {
            return;
        }
        let (now, window) = (board.now(), board.window());
        let history = history(board, values);
        let rates = matches!(values, Values::Sent | Values::Received);
        // The unit in which the axis is numbered.
        let scale = match rates {
            true => 1.0 / rate_unit(board).of(1.0),
            false => 1e-3,
        };
        let values = match rates {
            true => history.rates(now, window, columns.into()),
            false => history.levels(now, window, columns.into()),
        };
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        let top = ceiling(most / scale);
        let mark = |pen: &mut Pen<'_>, number: &str, tick: &str| {
            pen.put(AXIS - 6, &format!("{number:>5} {tick}"), pen.dim());
            pen.y += 1;
        };
        let first = pen.y;
        for row in 0..height {
            match row {
                0 => mark(pen, &axis(top), "┤"),
                last if last + 1 == height => mark(pen, "0", "┤"),
                _ => mark(pen, "", "│"),
            }
        }
        pen.y = first;
        let share = |value: f64| ((value / scale / top).clamp(0.0, 1.0) * SCALE) as u64;
        let data: Vec<Option<u64>> = values.iter().map(|value| value.map(share)).collect();
        let area = Rect::new(pen.area.x + AXIS + 1, pen.y, columns, height);
        let bars = match pen.look.unicode {
            true => bar::NINE_LEVELS,
            false => ASCII,
        };
        Sparkline::default()
            .data(data)
            .max(SCALE as u64)
            .bar_set(bars)
            .absent_value_symbol(" ")
            .style(pen.style(self.colour()))
            .render(area.intersection(pen.area), pen.buffer);
    }
}

/// `1000`, `50`, `0.5`.
fn axis(top: f64) -> String {
    match top {
        large if large >= 1.0 => format!("{large:.0}"),
        small => digits(small).trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (value, expected) in [
            (0.0, "1"),
            (0.042, "0.05"),
            (0.5, "0.5"),
            (47.3, "50"),
            (50.0, "50"),
            (51.0, "100"),
            (938.5, "1000"),
            (5888.8, "10000"),
        ] {
            assert_eq!(axis(ceiling(value)), expected, "{value}");
        }
    }
}
