//! Text in its place, cut at the right edge.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;

/// Draws line by line, from top to bottom.
pub(crate) struct Pen<'a> {
    pub(crate) look: Look,
    pub(crate) area: Rect,
    /// The row in which it draws.
    pub(crate) y: u16,
    pub(crate) buffer: &'a mut Buffer,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(look: Look, area: Rect, buffer: &'a mut Buffer) -> Self {
        Self {
            look,
            area,
            y: area.y,
            buffer,
        }
    }

    pub(crate) fn style(&self, colour: Color) -> Style {
        if self.look.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    pub(crate) fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn bold(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Text at a column, cut at the right edge.
    pub(crate) fn put(&mut self, x: u16, text: &str, style: Style) {
        let x = self.area.x.saturating_add(x);
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

    /// Text that ends in front of the right edge, behind what stands there.
    pub(crate) fn put_right(&mut self, text: &str, style: Style) {
        let length = text.chars().count() as u16 + 1;
        let text = format!(" {text}");
        self.put(self.area.width.saturating_sub(length + 1), &text, style);
    }

    /// A reversed row.
    pub(crate) fn bar(&mut self) {
        let row = Rect::new(self.area.x, self.y, self.area.width, 1);
        let style = Style::new().add_modifier(Modifier::REVERSED);
        self.buffer.set_style(row.intersection(self.area), style);
    }

    /// Goes to the last line.
    pub(crate) fn last_line(&mut self) {
        self.y = self.area.bottom().saturating_sub(1).max(self.area.y);
    }

    /// A line of text, in the colours of the text.
    pub(crate) fn message(&mut self, line: &str) {
        let word = line.split(' ').next().unwrap_or_default();
        let style = match word {
            "note:" => self.dim(),
            "warning:" => self.style(Color::Yellow),
            "error:" => self.style(Color::Red),
            _ => Style::new(),
        };
        self.put(1, line, style);
        self.y += 1;
    }
}

/// Text without characters beyond ASCII.
fn ascii(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '┤' | '│' => "|".to_owned(),
        '→' => "->".to_owned(),
        '←' => "<-".to_owned(),
        '±' => "+/-".to_owned(),
        'µ' => "u".to_owned(),
        letter if letter.is_ascii() => letter.to_string(),
        _ => "?".to_owned(),
    });
    letters.collect()
}
