//! Forms that are written when a test is over.

use super::assembler::{Assembler, Occasion, Step};
use super::report::Report;
use super::{html, json};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// The document of each test, in one form.
#[derive(Debug)]
pub struct WholeDocument {
    assembler: Assembler,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Json {
        /// The runs of a series that have ended.
        runs: Vec<Report>,
    },
    Html,
}

impl WholeDocument {
    /// `--json`: a client's document, laid out for people too, or a line with a document for each
    /// test of a server. Several runs of a client are one document.
    #[must_use]
    pub fn json(occasion: Occasion) -> Self {
        Self::new(occasion, Form::Json { runs: Vec::new() })
    }

    /// `--html`: one page with charts, which needs nothing else. Of several tests it is the last
    /// one's.
    #[must_use]
    pub fn html(occasion: Occasion) -> Self {
        Self::new(occasion, Form::Html)
    }

    fn new(occasion: Occasion, form: Form) -> Self {
        Self {
            assembler: Assembler::new(occasion),
            form,
        }
    }

    /// A document that no event belongs to, as JSON.
    #[must_use]
    pub fn json_of(report: &Report) -> String {
        let mut out = Output::default();
        json::write(report, &mut out);
        out.stdout
    }

    fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match (&mut self.form, step) {
                (Form::Json { runs }, Step::End { report, .. }) => {
                    if self.assembler.is_in_series() {
                        runs.push(*report);
                    } else {
                        json::write(&report, out);
                    }
                }
                (Form::Json { runs }, Step::Series(mut series)) => {
                    series.runs = std::mem::take(runs);
                    json::write_series(&series, out);
                }
                (Form::Html, Step::End { report, .. }) => html::write(&report, out),
                _ => {}
            }
        }
    }
}

impl Renderer for WholeDocument {
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
