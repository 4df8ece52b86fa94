//! Where everything stands.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tapeline_base::Role;
use tapeline_report::hanging;

use super::curve::{self, Curve};
use super::look::Look;
use super::pen::Pen;
use super::table;
use crate::board::{Board, Stage};

/// Rows of a curve that streams leave to it, on a terminal with room.
const GOOD_HEIGHT: u16 = 3;
/// From so many rows on there is room.
const ROOMY: u16 = 20;

/// Draws the board; the area is the buffer's or a part of it.
pub fn draw(board: &Board, look: Look, area: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(look, area, buffer);
    heading(&mut pen, board);
    let lines = lines(board, area);
    let room = area.height.saturating_sub(2 + lines.len() as u16);
    let curves = curve::curves(board);
    let wide = table::rows(board).min(usize::from(u16::MAX)) as u16;
    let least = curves.iter().map(|curve| least_height(curve, area));
    let least: u16 = least.sum();
    // At least a head and a row.
    let table = wide.min(room.saturating_sub(least)).max(2).min(room);
    put_curves(&mut pen, board, &curves, room - table);
    pen.y = area.y + 1 + (room - table);
    table::put(&mut pen, board, table);
    pen.y = (area.y + 1 + room).min(area.bottom());
    for line in lines {
        pen.message(&line);
    }
    footer(&mut pen, board);
}

fn least_height(curve: &Curve, area: Rect) -> u16 {
    match curve.values.is_some() && area.height >= ROOMY {
        true => GOOD_HEIGHT,
        false => 1,
    }
}

/// What is read below the streams, in lines that fit; the latest of them.
fn lines(board: &Board, area: Rect) -> Vec<String> {
    // After the end, the answer.
    let share = match (board.role(), board.stage()) {
        (Role::Client, Stage::Ended) => area.height / 2,
        _ => area.height / 3,
    };
    let width = usize::from(area.width).saturating_sub(2);
    let mut lines: Vec<String> = Vec::new();
    for line in board.lines().rev() {
        let head = line.find(": ").map_or(0, |at| at + 2);
        let head = match line[..head].trim_end() {
            "note:" | "warning:" | "error:" => head,
            _ => 0,
        };
        let wrapped = hanging(&line[..head], &line[head..], width);
        if lines.len() + wrapped.len() > usize::from(share) {
            break;
        }
        lines.extend(wrapped.into_iter().rev());
    }
    lines.reverse();
    lines
}

fn heading(pen: &mut Pen<'_>, board: &Board) {
    pen.bar();
    let bar = Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD);
    pen.put(0, &format!(" tapeline  {}", board.title()), bar);
    let running = board.streams().running();
    let right = match (board.role(), board.stage()) {
        (Role::Server, _) => {
            let plural = if running == 1 { "" } else { "s" };
            match running {
                0 => "no stream running".to_owned(),
                _ => format!("{running} stream{plural} running"),
            }
        }
        (Role::Client, Stage::Connecting) => "connecting".to_owned(),
        (Role::Client, stage) => {
            let word = match stage {
                _ if board.is_paused() => "paused at",
                Stage::Running => "running",
                Stage::Connecting | Stage::Ended => "ended after",
            };
            let of = board.planned();
            let of = of.map_or_else(String::new, |span| format!(" of {}", clock(span)));
            format!("{word} {}{of}", clock(board.elapsed()))
        }
    };
    pen.put_right(&right, bar);
    pen.y += 1;
}

/// The curves one below the other, in so many rows.
fn put_curves(pen: &mut Pen<'_>, board: &Board, curves: &[Curve], rows: u16) {
    let texts = curves.iter().filter(|curve| curve.values.is_none()).count() as u16;
    let drawn = curves.len() as u16 - texts;
    let Some(each) = rows.saturating_sub(texts).checked_div(drawn) else {
        curves.iter().for_each(|curve| curve.put(pen, board, 1));
        return;
    };
    // A blank line in front of the next one, where there is room for it.
    let blank = u16::from(each > GOOD_HEIGHT);
    let mut left = rows.saturating_sub(texts).saturating_sub(each * drawn);
    for curve in curves {
        if curve.values.is_none() {
            curve.put(pen, board, 1);
            continue;
        }
        let more = u16::from(left > 0);
        left -= more;
        curve.put(pen, board, (each + more - blank).max(1));
        pen.y += blank;
    }
}

fn footer(pen: &mut Pen<'_>, board: &Board) {
    pen.last_line();
    let ends = match board.role() {
        Role::Client if board.is_method() => "Ctrl-C ends the method",
        Role::Client => "Ctrl-C ends the test",
        Role::Server => "Ctrl-C stops the server",
    };
    let pauses = match board.is_paused() {
        true => "p shows the picture again",
        false => "p pauses the picture",
    };
    let text = match pen.look.keys {
        true => format!("q or {ends}   {pauses}"),
        false => ends.to_owned(),
    };
    pen.put(1, &text, pen.dim());
}

/// `0:07`; hours when there are any.
fn clock(span: Duration) -> String {
    let seconds = span.as_secs_f64().round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests;
