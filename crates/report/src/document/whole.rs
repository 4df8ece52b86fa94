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
    /// The runs of a series that have ended.
    runs: Vec<Report>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Html,
}

impl WholeDocument {
    /// `--json`: a client's document, laid out for people too, or a line with a document for each
    /// test of a server. Several runs of a client are one document.
    #[must_use]
    pub fn json(occasion: Occasion) -> Self {
        Self::new(occasion, Form::Json)
    }

    /// `--html`: one page with charts, which needs nothing else. Several runs of a client are one page; of a
    /// server's tests it is the last one's.
    #[must_use]
    pub fn html(occasion: Occasion) -> Self {
        Self::new(occasion, Form::Html)
    }

    fn new(occasion: Occasion, form: Form) -> Self {
        Self {
            assembler: Assembler::new(occasion),
            form,
            runs: Vec::new(),
        }
    }

    /// A document that no event belongs to, as JSON.
    #[must_use]
    pub fn json_of(report: &Report) -> String {
        let mut out = Output::default();
        json::write(report, &mut out);
        out.stdout
    }

    /// The same as a page.
    #[must_use]
    pub fn html_of(report: &Report) -> String {
        html::page(report)
    }

    fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match step {
                Step::End { report, .. } if self.assembler.is_in_series() => {
                    self.runs.push(*report);
                }
                Step::End { report, .. } => match self.form {
                    Form::Json => json::write(&report, out),
                    Form::Html => html::write(&report, out),
                },
                Step::Series(mut series) => {
                    series.runs = std::mem::take(&mut self.runs);
                    match self.form {
                        Form::Json => json::write_series(&series, out),
                        Form::Html => html::write_series(&series, out),
                    }
                }
                Step::Start { .. }
                | Step::Interval { .. }
                | Step::Progress { .. }
                | Step::Warning { .. } => {}
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
