//! A line for each event, as it happens.

use serde::Serialize;

use super::assembler::{Assembler, Occasion, Step};
use super::report::Report;
use crate::model::Event;
use crate::render::{Output, Renderer};

/// `--json-stream`: NDJSON. Lines are `start`, `interval`, `other_end`, `warning`, `missed` and `end`;
/// the last one has the document without the intervals, which were told before. Behind the last of
/// several runs there is `series`, without the runs.
#[derive(Debug)]
pub struct DocumentStream {
    assembler: Assembler,
}

/// A line.
#[derive(Serialize)]
struct Line<'a, T> {
    event: &'a str,
    /// Number of the test, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<u32>,
    data: T,
}

/// What the reader did not get.
#[derive(Serialize)]
struct Missed {
    intervals: u64,
}

impl DocumentStream {
    /// A renderer for one process.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            assembler: Assembler::without_intervals(occasion),
        }
    }

    /// The only line of a test that did not begin.
    #[must_use]
    pub fn line_of(report: &Report) -> String {
        let mut out = Output::default();
        line("end", Some(1), report, &mut out);
        out.stdout
    }
}

impl Renderer for DocumentStream {
    fn render(&mut self, event: &Event, out: &mut Output) {
        print(self.assembler.note(event), out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.assembler.missed(rows);
        line("missed", None, Missed { intervals: rows }, out);
    }

    fn finish(&mut self, out: &mut Output) {
        print(self.assembler.finish(), out);
    }
}

fn print(steps: Vec<Step>, out: &mut Output) {
    for step in steps {
        match step {
            Step::Start { test, report } => line("start", Some(test), beginning(&report), out),
            Step::Interval { test, interval } => line("interval", Some(test), interval, out),
            Step::Progress { test, progress } => line("other_end", Some(test), progress, out),
            Step::Warning { test, warning } => line("warning", test, warning, out),
            Step::End { test, report } => line("end", Some(test), report, out),
            Step::Series(series) => line("series", None, series, out),
        }
    }
}

/// What is known when a test starts.
#[derive(Serialize)]
struct Beginning<'a> {
    schema: &'static str,
    version: &'a str,
    command: &'a str,
    peer: &'a super::report::Peer,
    test: &'a super::report::Test,
}

fn beginning(report: &Report) -> Beginning<'_> {
    Beginning {
        schema: report.schema,
        version: &report.version,
        command: &report.command,
        peer: &report.peer,
        test: &report.test,
    }
}

fn line(event: &str, test: Option<u32>, data: impl Serialize, out: &mut Output) {
    let line = Line { event, test, data };
    if let Ok(text) = serde_json::to_string(&line) {
        out.line(&text);
    }
}
