//! A document for each test.

use super::assembler::{Assembler, Occasion, Step};
use super::report::{Report, TestRole};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// `--json`: a client's document, laid out for people too, or a line with a document for each
/// test of a server.
#[derive(Debug)]
pub struct DocumentJson {
    assembler: Assembler,
}

impl DocumentJson {
    /// A renderer for one process.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            assembler: Assembler::new(occasion),
        }
    }
}

impl Renderer for DocumentJson {
    fn render(&mut self, event: &Event, out: &mut Output) {
        print(self.assembler.note(event), out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.assembler.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        print(self.assembler.finish(), out);
    }
}

fn print(steps: Vec<Step>, out: &mut Output) {
    for step in steps {
        if let Step::End { report, .. } = step {
            out.line(&text(&report));
        }
    }
}

/// The document as text.
pub(super) fn text(report: &Report) -> String {
    let text = match report.test.role {
        TestRole::Client => serde_json::to_string_pretty(report),
        TestRole::Server => serde_json::to_string(report),
    };
    // Neither a map with keys that are no text nor a failing writer can occur.
    text.unwrap_or_default()
}
