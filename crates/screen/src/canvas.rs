//! From pictures to the bytes that bring them to a terminal.

use std::convert::Infallible;

use ratatui::Terminal;
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use crate::board::Board;
use crate::picture::{Look, draw};

/// What puts a terminal into the state in which frames can be written: a screen of their own,
/// without a cursor.
pub const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";

/// What brings back the terminal as it was.
pub const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// Makes frames: only what differs from the frame before is written.
pub struct Canvas {
    terminal: Terminal<Escapes>,
    look: Look,
}

impl Canvas {
    /// For an empty terminal of this size.
    #[must_use]
    pub fn new(columns: u16, rows: u16, look: Look) -> Self {
        let escapes = Escapes {
            size: Size::new(columns, rows),
            out: String::new(),
        };
        let terminal = match Terminal::new(escapes) {
            Ok(terminal) => terminal,
            Err(never) => match never {},
        };
        Self { terminal, look }
    }

    /// The terminal has this size from now on.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.backend_mut().size = Size::new(columns, rows);
    }

    /// What to write to show the board as it is now.
    pub fn frame(&mut self, board: &Board) -> String {
        let look = self.look;
        let drawn = self.terminal.draw(|frame| {
            let area = frame.area();
            draw(board, look, area, frame.buffer_mut());
        });
        match drawn {
            Ok(_) => std::mem::take(&mut self.terminal.backend_mut().out),
            Err(never) => match never {},
        }
    }
}

/// A terminal that understands ECMA-48, as far as pictures need it.
#[derive(Debug)]
struct Escapes {
    size: Size,
    out: String,
}

impl Escapes {
    fn go_to(&mut self, x: u16, y: u16) {
        self.out.push_str(&format!("\x1b[{};{}H", y + 1, x + 1));
    }
}

/// The sequence that sets colours and modifiers, whatever was set before.
fn dress(cell: &Cell) -> String {
    let mut codes = vec!["0".to_owned()];
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::REVERSED, "7"),
    ] {
        if cell.modifier.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    codes.extend(colour(cell.fg, 30));
    codes.extend(colour(cell.bg, 40));
    format!("\x1b[{}m", codes.join(";"))
}

/// The sixteen colours that every terminal has; the others are not used.
fn colour(colour: Color, base: u8) -> Option<String> {
    let (offset, bright) = match colour {
        Color::Black => (0, false),
        Color::Red => (1, false),
        Color::Green => (2, false),
        Color::Yellow => (3, false),
        Color::Blue => (4, false),
        Color::Magenta => (5, false),
        Color::Cyan => (6, false),
        Color::Gray => (7, false),
        Color::DarkGray => (0, true),
        Color::LightRed => (1, true),
        Color::LightGreen => (2, true),
        Color::LightYellow => (3, true),
        Color::LightBlue => (4, true),
        Color::LightMagenta => (5, true),
        Color::LightCyan => (6, true),
        Color::White => (7, true),
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    };
    Some((base + offset + if bright { 60 } else { 0 }).to_string())
}

impl Backend for Escapes {
    type Error = Infallible;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Infallible>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut dressed = String::new();
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.go_to(x, y);
            }
            let dress = dress(cell);
            if dress != dressed {
                self.out.push_str(&dress);
                dressed = dress;
            }
            self.out.push_str(cell.symbol());
            next = Some((x + 1, y));
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> Result<(), Infallible> {
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Infallible> {
        self.out.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), Infallible> {
        self.clear()
    }

    fn size(&self) -> Result<Size, Infallible> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> Result<WindowSize, Infallible> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
