//! What every renderer is: a function from events to text.

use crate::model::Event;

/// Text that a renderer produced, by the stream it belongs to. The program writes it
/// and empties it; a renderer only appends whole lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// For standard output (or the file of `-o`).
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
}

impl Output {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }

    /// Forgets the text after it was written; keeps the memory.
    pub fn clear(&mut self) {
        self.stdout.clear();
        self.stderr.clear();
    }

    /// Appends a line to standard output.
    pub(crate) fn line(&mut self, text: &str) {
        push_line(&mut self.stdout, text);
    }

    /// Appends a line to standard error.
    pub(crate) fn error_line(&mut self, text: &str) {
        push_line(&mut self.stderr, text);
    }
}

fn push_line(buffer: &mut String, text: &str) {
    buffer.push_str(text);
    buffer.push('\n');
}

/// Tells a test in one format.
pub trait Renderer {
    /// Appends what `event` adds to the tale.
    fn render(&mut self, event: &Event, out: &mut Output);

    /// Learns that so many interval rows never came, because the output was too slow.
    fn missed(&mut self, _rows: u64, _out: &mut Output) {}

    /// Appends what can only be said after the last event (a closing summary).
    fn finish(&mut self, _out: &mut Output) {}
}
