//! Comma-separated values: a row for each flow and interval, or for each number of a series.

use std::collections::BTreeMap;

use super::interval::Interval;
use super::run_info::RunInfo;
use super::tracker::{ReportTracker, Step};
use crate::model::{Event, FlowDirection, Repetition, Spread};
use crate::render::{Output, Renderer};

/// `--csv`: comma-separated values after RFC 4180, with a header line; what is not known is
/// empty. The columns are the number of the test, the members of an interval, and `trust`: how far
/// the numbers are to be trusted, in the last row of each stream.
#[derive(Debug)]
pub struct DocumentCsv {
    tracker: ReportTracker,
    header: bool,
    /// The latest row of each stream, which waits for the next one, or for the test's end.
    latest: BTreeMap<RowKey, Box<Interval>>,
}

/// Number of a test, number of a stream, and its direction.
type RowKey = (u32, u32, FlowDirection);

impl DocumentCsv {
    /// A renderer for one process.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        Self {
            tracker: ReportTracker::without_intervals(run_info),
            header: false,
            latest: BTreeMap::new(),
        }
    }

    /// Prints what steps of whatever tests add.
    pub(crate) fn print(&mut self, steps: Vec<Step>, out: &mut Output) {
        if !self.header {
            self.header = true;
            out.line(&format!("test,{},trust", Interval::COLUMNS.join(",")));
        }
        for step in steps {
            match step {
                Step::Interval { test, interval } => {
                    let key = (test, interval.stream, interval.direction);
                    if let Some(before) = self.latest.insert(key, interval) {
                        write(test, &before, "", out);
                    }
                }
                Step::End { test, report } => {
                    let trust = report.trust.as_ref().map(|trust| trust.level.word());
                    let rows = std::mem::take(&mut self.latest).into_iter();
                    let (ended, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
                        rows.partition(|((of, ..), _)| *of == test);
                    self.latest = others;
                    for (_, last) in ended {
                        write(test, &last, trust.unwrap_or_default(), out);
                    }
                }
                _ => {}
            }
        }
    }
}

fn write(test: u32, interval: &Interval, trust: &str, out: &mut Output) {
    out.line(&format!("{test},{},{trust}", interval.cells().join(",")));
}

impl Renderer for DocumentCsv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.tracker.observe(event);
        self.print(steps, out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        out.error_line(&format!(
            "warning: {rows} rows are missing in the CSV: its reader was too slow"
        ));
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.tracker.finish();
        self.print(steps, out);
    }
}

/// `--repeat-csv`: a row for each number of a series, with its mean and how sure that is; what is
/// not known is empty.
#[derive(Debug, Default)]
pub struct SeriesCsv;

impl Renderer for SeriesCsv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if let Event::Repetition(Repetition::Over(series)) = event {
            out.line(
                "quantity,direction,runs,mean,deviation,min,max,ci_lower,ci_upper,ci_width_percent",
            );
            for spread in &series.quantities {
                out.line(&cells(spread).join(","));
            }
        }
    }
}

fn cells(spread: &Spread) -> [String; 10] {
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let direction = spread.kind.direction.map(|direction| direction.id());
    [
        spread.kind.quantity.id().to_owned(),
        direction.unwrap_or_default().to_owned(),
        spread.runs.to_string(),
        known(spread.mean),
        known(spread.deviation),
        known(spread.min),
        known(spread.max),
        known(spread.ci_lower),
        known(spread.ci_upper),
        known(spread.ci_width_percent),
    ]
}
