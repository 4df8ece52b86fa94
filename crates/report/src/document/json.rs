//! A document for each test.

use super::assembler::{Assembler, Occasion, Step};
use super::report::{Report, TestRole};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// `--json`: a client's document, laid out for people too, or a line with a document for each
/// test of a server. Several runs of a client are one document.
#[derive(Debug)]
pub struct DocumentJson {
    assembler: Assembler,
    /// The runs of a series that have ended.
    runs: Vec<Report>,
}

impl DocumentJson {
    /// A renderer for one process.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            assembler: Assembler::new(occasion),
            runs: Vec::new(),
        }
    }
}

impl DocumentJson {
    fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match step {
                Step::End { report, .. } if self.assembler.is_in_series() => {
                    self.runs.push(*report);
                }
                Step::End { report, .. } => out.line(&text(&report)),
                Step::Series(mut series) => {
                    series.runs = std::mem::take(&mut self.runs);
                    out.line(&serde_json::to_string_pretty(&series).unwrap_or_default());
                }
                _ => {}
            }
        }
    }
}

impl Renderer for DocumentJson {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.assembler.note(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.assembler.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.assembler.finish();
        self.print(steps, out);
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
