//! A live view in front of the text, which waits until the terminal is given back.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tapeline_base::{ExitCode, MutexExt};
use tapeline_report::document::RunInfo;
use tapeline_report::{Event, Output, Phase, Renderer};

use super::screen::Screen;

/// Text that may wait, bytes; of more, the end is kept.
const MAX_HELD: usize = 1 << 20;

/// What is written to standard output and standard error behind a view.
#[derive(Clone, Default)]
pub(crate) struct Behind {
    out: Held,
    errors: Held,
}

impl Behind {
    /// Where a view is wanted.
    pub(crate) fn wanted(wanted: bool) -> Option<Self> {
        wanted.then(Self::default)
    }

    /// A text without its intervals: the view shows them.
    pub(crate) fn text(&self, inner: Box<dyn Renderer + Send>) -> Box<dyn Renderer + Send> {
        Box::new(Totals(inner))
    }

    /// In place of standard output.
    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        Box::new(self.out.clone())
    }

    /// In place of standard error.
    pub(crate) fn errors(&self) -> Box<dyn Write + Send> {
        Box::new(self.errors.clone())
    }

    /// The view in front of it.
    ///
    /// # Errors
    /// The exit code, when there is no terminal; the reason has been printed.
    pub(crate) fn view(self, run_info: &RunInfo) -> Result<View, ExitCode> {
        let screen = Screen::start(run_info)?;
        Ok(View {
            screen,
            behind: self,
        })
    }

    /// Writes what waits.
    pub(crate) fn print(self) {
        // Nobody can be notified when this fails.
        let _ = io::stdout().write_all(&self.out.take());
        let _ = io::stdout().flush();
        let _ = io::stderr().write_all(&self.errors.take());
    }
}

/// A view, and what is behind it.
pub(crate) struct View {
    screen: Screen,
    behind: Behind,
}

impl View {
    /// Where the reporter sends its events.
    pub(crate) fn sink(&self) -> Box<dyn FnMut(Event) + Send> {
        Box::new(self.screen.sink())
    }

    /// Gives the terminal back.
    pub(crate) fn close(self) -> Behind {
        self.screen.finish();
        self.behind
    }
}

/// The view of a method, whose page is written when the terminal is given back.
pub(crate) struct MethodView {
    screen: Screen,
}

impl MethodView {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The exit code, when there is none; the reason has been printed.
    pub(crate) fn start(title: &str, run_info: &RunInfo) -> Result<Self, ExitCode> {
        let screen = Screen::of_method(title, run_info)?;
        Ok(Self { screen })
    }

    /// Where events go.
    pub(crate) fn sink(&self) -> Box<dyn FnMut(Event) + Send> {
        Box::new(self.screen.sink())
    }

    /// Gives the terminal back.
    pub(crate) fn close(self) {
        self.screen.finish();
    }
}

/// Bytes that wait.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Vec<u8>>>);

impl Held {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock_unpoisoned())
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock_unpoisoned();
        held.extend_from_slice(bytes);
        if held.len() > MAX_HELD {
            let middle = held.len() - MAX_HELD / 2;
            let line = held[middle..].iter().position(|byte| *byte == b'\n');
            held.drain(..line.map_or(middle, |end| middle + end + 1));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A renderer that gets no intervals.
struct Totals(Box<dyn Renderer + Send>);

impl Renderer for Totals {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if !matches!(event, Event::Row(row) if row.phase != Phase::Total) {
            self.0.render(event, out);
        }
    }

    fn finish(&mut self, out: &mut Output) {
        self.0.finish(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_text_the_end_is_kept() {
        let behind = Behind::default();
        let mut out = behind.out();
        for number in 0..200_000 {
            writeln!(out, "line {number}").expect("room");
        }
        let held = String::from_utf8(behind.out.take()).expect("text");
        assert!(held.len() <= MAX_HELD);
        assert!(held.starts_with("line ") && held.ends_with("line 199999\n"));
    }
}
