//! A terminal that is a picture: what the live view writes, as a page shows it.

/// Colours of the page, in the order of their codes; the bright ones follow.
const COLOURS: [&str; 16] = [
    "#2e3338", "#e06c6c", "#7ec98a", "#d9b65c", "#6ca0e0", "#c08ae0", "#5cc8c8", "#c8ccd0",
    "#6b7278", "#ff8a8a", "#98e0a4", "#f0d080", "#8ab8f8", "#d8a8f8", "#7ce0e0", "#ffffff",
];

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    letter: char,
    look: Look,
}

/// How it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    bold: bool,
    dim: bool,
    reversed: bool,
    colour: Option<usize>,
}

/// Cells, and where the next letter goes. It knows the sequences that the live view writes.
#[derive(Debug)]
pub(crate) struct Terminal {
    columns: usize,
    cells: Vec<Cell>,
    at: usize,
    look: Look,
}

const BLANK: Cell = Cell {
    letter: ' ',
    look: Look {
        bold: false,
        dim: false,
        reversed: false,
        colour: None,
    },
};

impl Terminal {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let columns = usize::from(columns);
        Self {
            columns,
            cells: vec![BLANK; columns * usize::from(rows)],
            at: 0,
            look: Look::default(),
        }
    }

    pub(crate) fn write(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\x1b' => {
                    let sequence: String = letters.by_ref().skip(1).collect_until_letter();
                    self.obey(&sequence);
                }
                '\r' => self.at -= self.at % self.columns,
                '\n' => self.at += self.columns,
                letter => {
                    if let Some(cell) = self.cells.get_mut(self.at) {
                        *cell = Cell {
                            letter,
                            look: self.look,
                        };
                    }
                    self.at += 1;
                }
            }
        }
    }

    /// A sequence without its introducer: parameters, then a letter.
    fn obey(&mut self, sequence: &str) {
        let Some((last, parameters)) = sequence.char_indices().next_back().map(|(at, letter)| {
            (
                letter,
                sequence[..at]
                    .split(';')
                    .map(|one| one.parse().unwrap_or(0)),
            )
        }) else {
            return;
        };
        let parameters: Vec<usize> = parameters.collect();
        match last {
            'H' => {
                let place = |index: usize| parameters.get(index).map_or(0, |one| (*one).max(1) - 1);
                self.at = place(0) * self.columns + place(1);
            }
            'J' => self.cells.fill(BLANK),
            'm' => {
                for code in parameters {
                    match code {
                        0 => self.look = Look::default(),
                        1 => self.look.bold = true,
                        2 => self.look.dim = true,
                        7 => self.look.reversed = true,
                        30..=37 => self.look.colour = Some(code - 30),
                        90..=97 => self.look.colour = Some(code - 82),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// What it shows, as the content of a `pre` element.
    pub(crate) fn html(&self) -> String {
        let mut page = String::new();
        for line in self.cells.chunks(self.columns) {
            for run in line.chunk_by(|one, other| one.look == other.look) {
                let text: String = run.iter().map(|cell| cell.letter).collect();
                let text = text.replace('&', "&amp;").replace('<', "&lt;");
                page.push_str(&format!(
                    "<span style='{}'>{text}</span>",
                    run[0].look.css()
                ));
            }
            page.push('\n');
        }
        page
    }
}

impl Look {
    fn css(self) -> String {
        let mut css = String::new();
        if self.bold {
            css.push_str("font-weight:bold;");
        }
        if self.dim {
            css.push_str("opacity:.6;");
        }
        if self.reversed {
            css.push_str("background:#c8ccd0;color:#14171a;");
        } else if let Some(colour) = self.colour {
            css.push_str(&format!("color:{};", COLOURS[colour]));
        }
        css
    }
}

/// The rest of an escape sequence.
trait CollectUntilLetter: Iterator<Item = char> + Sized {
    fn collect_until_letter(self) -> String {
        let mut text = String::new();
        for letter in self {
            text.push(letter);
            if letter.is_ascii_alphabetic() {
                break;
            }
        }
        text
    }
}

impl<I: Iterator<Item = char>> CollectUntilLetter for I {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_becomes_a_page() {
        let mut terminal = Terminal::new(4, 2);
        terminal.write("\x1b[?25l\x1b[2Jgone\x1b[2J\x1b[2;2H\x1b[0;1;32m<b\x1b[1;1H\x1b[0ma\r\n");
        let page = terminal.html();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], "<span style=''>a   </span>");
        let green = "font-weight:bold;color:#7ec98a;";
        assert_eq!(
            lines[1],
            format!(
                "<span style=''> </span><span style='{green}'>&lt;b</span><span style=''> </span>"
            )
        );
    }
}
