//! Different flows in forms for programs.

use super::document::FlowsReport;
use super::tracker::{FlowStep, FlowsInfo, FlowsTracker};
use crate::document::{DocumentCsv, DocumentStream, Step, page};
use crate::model::Event;
use crate::render::{Output, Renderer};

/// `--json` and `--html`: one document when all flows have ended.
#[derive(Debug)]
pub struct FlowsDocument {
    tracker: FlowsTracker,
    write: fn(&FlowsReport) -> String,
}

impl FlowsDocument {
    /// A document, laid out for people too.
    #[must_use]
    pub fn json(info: FlowsInfo) -> Self {
        Self {
            tracker: FlowsTracker::new(info, true),
            // Neither a map with keys that are no text nor a failing writer can occur.
            write: |report| {
                let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
                text.push('\n');
                text
            },
        }
    }

    /// A page with charts of each flow.
    #[must_use]
    pub fn html(info: FlowsInfo) -> Self {
        Self {
            tracker: FlowsTracker::new(info, true),
            write: |report| page(report),
        }
    }
}

impl Renderer for FlowsDocument {
    fn render(&mut self, event: &Event, _out: &mut Output) {
        self.tracker.observe(event);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.tracker.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        let (_, report) = self.tracker.finish();
        out.stdout = (self.write)(&report);
    }
}

/// `--json-stream`: the lines of each flow's test, whose number is the flow's, and behind them `flows`: the
/// document of all, without intervals, which were told before.
#[derive(Debug)]
pub struct FlowsStream {
    tracker: FlowsTracker,
    lines: DocumentStream,
}

impl FlowsStream {
    /// Lines that look as those of `lines`.
    #[must_use]
    pub fn new(info: FlowsInfo, lines: DocumentStream) -> Self {
        Self {
            tracker: FlowsTracker::new(info, false),
            lines,
        }
    }

    fn print(&self, steps: Vec<FlowStep>, out: &mut Output) {
        for (flow, step) in steps {
            self.lines.print(vec![of_flow(flow, step)], out);
        }
    }
}

/// A step whose test has the number of its flow.
fn of_flow(flow: u32, step: Step) -> Step {
    match step {
        Step::Start { report, .. } => Step::Start { test: flow, report },
        Step::Interval { interval, .. } => Step::Interval {
            test: flow,
            interval,
        },
        Step::Progress { progress, .. } => Step::Progress {
            test: flow,
            progress,
        },
        Step::Warning {
            warning, incident, ..
        } => Step::Warning {
            test: Some(flow),
            warning,
            incident,
        },
        Step::End { report, .. } => Step::End { test: flow, report },
        Step::Series(series) => Step::Series(series),
    }
}

impl Renderer for FlowsStream {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.tracker.observe(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.tracker.missed(rows);
        self.lines.dropped(rows, out);
    }

    fn finish(&mut self, out: &mut Output) {
        let (steps, report) = self.tracker.finish();
        self.print(steps, out);
        self.lines.whole("flows", &report, out);
    }
}

/// `--csv`: the rows of each flow, whose number is in the column `test`.
#[derive(Debug)]
pub struct FlowsCsv {
    tracker: FlowsTracker,
    rows: DocumentCsv,
}

impl FlowsCsv {
    /// A renderer for one process.
    #[must_use]
    pub fn new(info: FlowsInfo) -> Self {
        Self {
            rows: DocumentCsv::new(info.run_info.clone()),
            tracker: FlowsTracker::new(info, false),
        }
    }

    fn print(&mut self, steps: Vec<FlowStep>, out: &mut Output) {
        let steps = steps.into_iter();
        let steps = steps.map(|(flow, step)| of_flow(flow, step));
        self.rows.print(steps.collect(), out);
    }
}

impl Renderer for FlowsCsv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.tracker.observe(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.rows.missed(rows, out);
    }

    fn finish(&mut self, out: &mut Output) {
        let (steps, _) = self.tracker.finish();
        self.print(steps, out);
    }
}
