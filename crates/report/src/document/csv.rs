//! A row for each flow and interval.

use super::assembler::{Assembler, Occasion, Step};
use super::interval::Interval;
use crate::model::Event;
use crate::render::{Output, Renderer};

/// `--csv`: comma-separated values after RFC 4180, with a header line; what is not known is
/// empty. The columns are the number of the test and the members of an interval.
#[derive(Debug)]
pub struct DocumentCsv {
    assembler: Assembler,
    header: bool,
}

impl DocumentCsv {
    /// A renderer for one process.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            assembler: Assembler::without_intervals(occasion),
            header: false,
        }
    }

    fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        if !self.header {
            self.header = true;
            out.line(&format!("test,{}", Interval::COLUMNS.join(",")));
        }
        for step in steps {
            if let Step::Interval { test, interval } = step {
                out.line(&format!("{test},{}", interval.cells().join(",")));
            }
        }
    }
}

impl Renderer for DocumentCsv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.assembler.note(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        out.error_line(&format!(
            "warning: {rows} rows are missing in the CSV: its reader was too slow"
        ));
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.assembler.finish();
        self.print(steps, out);
    }
}
