//! Forms that are written when a test is over.

use serde::Serialize;

use super::page::page;
use super::run_info::RunInfo;
use super::schema::{Report, TestRole};
use super::series::SeriesReport;
use super::tracker::{ReportTracker, Step};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// The document of each test, in one form.
#[derive(Debug)]
pub struct WholeDocument {
    tracker: ReportTracker,
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
    pub fn json(run_info: RunInfo) -> Self {
        Self::new(run_info, Form::Json)
    }

    /// `--html`: one page with charts, which needs nothing else. Several runs of a client are one page; of a
    /// server's tests it is the last one's.
    #[must_use]
    pub fn html(run_info: RunInfo) -> Self {
        Self::new(run_info, Form::Html)
    }

    fn new(run_info: RunInfo, form: Form) -> Self {
        Self {
            tracker: ReportTracker::new(run_info),
            form,
            runs: Vec::new(),
        }
    }

    /// A document that no event belongs to, as JSON.
    #[must_use]
    pub fn json_of(report: &Report) -> String {
        let mut out = Output::default();
        write_json(report, &mut out);
        out.stdout
    }

    /// The same as a page.
    #[must_use]
    pub fn html_of(report: &impl Serialize) -> String {
        page(report)
    }

    fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match step {
                Step::End { report, .. } if self.tracker.is_in_series() => {
                    self.runs.push(*report);
                }
                Step::End { report, .. } => match self.form {
                    Form::Json => write_json(&report, out),
                    Form::Html => write_page(&report, out),
                },
                Step::Series(mut series) => {
                    series.runs = std::mem::take(&mut self.runs);
                    match self.form {
                        Form::Json => write_json_series(&series, out),
                        Form::Html => write_series_page(&series, out),
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
        let steps = self.tracker.observe(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.tracker.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.tracker.finish();
        self.print(steps, out);
    }
}

/// Writes the document of a client over many lines, that of a server in one.
fn write_json(report: &Report, out: &mut Output) {
    let text = match report.test.role {
        Some(TestRole::Server) => serde_json::to_string(report),
        _ => serde_json::to_string_pretty(report),
    };
    // Neither a map with keys that are no text nor a failing writer can occur.
    out.line(&text.unwrap_or_default());
}

/// Writes the document of several runs.
fn write_json_series(series: &SeriesReport, out: &mut Output) {
    out.line(&serde_json::to_string_pretty(series).unwrap_or_default());
}

/// Writes the document as a page, in the place of an earlier one.
fn write_page(report: &Report, out: &mut Output) {
    out.stdout = page(report);
}

/// Writes the document of several runs as a page.
fn write_series_page(series: &SeriesReport, out: &mut Output) {
    out.stdout = page(series);
}
