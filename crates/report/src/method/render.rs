//! A method's document in each form that is written.

use serde::Serialize;
use tapeline_base::WallTime;

use super::document::MethodDocument;
use super::figure::Chart;
use super::page::{MethodHead, PageStyle};
use super::pass::PassResult;
use super::phase::{PhaseRecord, PhaseState, TrialRecord};
use super::series::{HeadlineName, MethodSeriesDocument};
use crate::document::{event_line, page};
use crate::model::{Spread, Warning};
use crate::native::digits;

/// Columns of a label in front of an answer.
const LABEL: usize = 13;

/// The text of a run: the page of its result, and how criteria came out. Empty when no phase ran to its
/// end: there is nothing to show.
#[must_use]
pub fn text(document: &MethodDocument, head: &MethodHead, style: &PageStyle) -> String {
    let done = |phase: &PhaseRecord| phase.state == PhaseState::Done;
    if !document.phases.iter().any(done) {
        return String::new();
    }
    let mut text = document.result.page(head, style);
    if !document.pass.is_empty() && !document.result.shows_criteria() {
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        for one in &document.pass {
            text.push_str(&pass_line(one));
        }
    }
    text
}

/// `Pass         yes: mtu 1500 bytes, limit 1500`.
fn pass_line(one: &PassResult) -> String {
    let word = if one.passed { "yes" } else { "no" };
    let unit = if one.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", one.unit)
    };
    let value = match one.value {
        Some(value) => format!("{}{unit}", plain(value)),
        None => "not known".to_owned(),
    };
    format!(
        "{:<LABEL$}{word}: {} {value}, limit {}{unit}\n",
        "Pass",
        one.name,
        plain(one.limit)
    )
}

/// Whole numbers as they are, others with three digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        digits(value)
    }
}

/// The text of several runs: a row for each run, then means with their intervals.
#[must_use]
pub fn series_text(document: &MethodSeriesDocument, head: &MethodHead) -> String {
    let series = &document.series;
    let mut text = format!(
        "{} to {}, {} of {} runs\n\n",
        document.method,
        head.target(),
        series.runs,
        series.max_runs
    );
    let width = |spread: &Spread<HeadlineName>| heading(&spread.kind).len().max(9);
    text.push_str(&format!("{:>5}", "run"));
    for spread in &series.quantities {
        text.push_str(&format!(
            "  {:>width$}",
            heading(&spread.kind),
            width = width(spread)
        ));
    }
    text.push('\n');
    for run in 0..series.runs as usize {
        text.push_str(&format!("{:>5}", run + 1));
        for spread in &series.quantities {
            let value = spread.values.get(run).copied().flatten();
            let shown = value.map_or_else(|| "-".to_owned(), |value| in_unit(&spread.kind, value));
            text.push_str(&format!("  {shown:>width$}", width = width(spread)));
        }
        let reason = series
            .excluded
            .iter()
            .find(|one| one.run as usize == run + 1);
        if let Some(excluded) = reason {
            let why = format!("{:?}", excluded.reason).to_lowercase();
            text.push_str(&format!("  excluded: {why}"));
        }
        text.push('\n');
    }
    text.push('\n');
    for spread in &series.quantities {
        let Some(mean) = spread.mean else { continue };
        let mut line = format!(
            "{:<LABEL$}{}",
            spread.kind.name,
            in_unit(&spread.kind, mean)
        );
        line.push_str(&format!(
            "{} mean of {} runs",
            unit_word(&spread.kind),
            spread.runs
        ));
        if let (Some(lower), Some(upper)) = (spread.ci_lower, spread.ci_upper) {
            line.push_str(&format!(
                ", {} % confidence interval {} to {}",
                series.confidence_percent,
                in_unit(&spread.kind, lower),
                in_unit(&spread.kind, upper)
            ));
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Name and unit of a column.
fn heading(number: &HeadlineName) -> String {
    match unit_word(number).trim() {
        "" => number.name.clone(),
        unit => format!("{} {unit}", number.name),
    }
}

fn unit_word(number: &HeadlineName) -> &'static str {
    match number.unit {
        "bits_per_second" => " Mbit/s",
        "percent" => " %",
        "ms" => " ms",
        "bytes" => " bytes",
        "rpm" => " RPM",
        _ => "",
    }
}

fn in_unit(number: &HeadlineName, value: f64) -> String {
    match number.unit {
        "bits_per_second" => digits(value / 1e6),
        _ => plain(value),
    }
}

/// What the page of a method shows besides its document.
#[derive(Serialize)]
struct View {
    /// The text.
    page: String,
    charts: Vec<Chart>,
}

/// `--json`, `--csv` and `--html` of a run, or of several.
#[derive(Clone, Copy, Debug)]
pub enum MethodPage<'a> {
    /// One run.
    One(&'a MethodDocument),
    /// Several.
    Series(&'a MethodSeriesDocument),
}

impl MethodPage<'_> {
    /// The document, laid out for people too.
    #[must_use]
    pub fn json(&self) -> String {
        let text = match self {
            Self::One(document) => serde_json::to_string_pretty(document),
            Self::Series(document) => serde_json::to_string_pretty(document),
        };
        // Neither a map with keys that are no text nor a failing writer can occur.
        let mut text = text.unwrap_or_default();
        text.push('\n');
        text
    }

    /// A row for each trial.
    #[must_use]
    pub fn csv(&self) -> String {
        match self {
            Self::One(document) => document.result.csv().text(None, true),
            Self::Series(document) => {
                let runs = document.runs.iter().zip(1..);
                runs.map(|(run, number)| run.result.csv().text(Some(number), number == 1))
                    .collect()
            }
        }
    }

    /// A page with charts, which loads nothing; `text` is that of the terminal.
    #[must_use]
    pub fn html(&self, text: String) -> String {
        #[derive(Serialize)]
        struct Embedded<'d, T: Serialize> {
            view: View,
            #[serde(flatten)]
            document: &'d T,
        }
        match self {
            Self::One(document) => page(&Embedded {
                view: View {
                    page: text,
                    charts: document.result.charts(),
                },
                document: *document,
            }),
            Self::Series(document) => page(&Embedded {
                view: View {
                    page: text,
                    charts: Vec::new(),
                },
                document: *document,
            }),
        }
    }
}

/// `--json-stream`: a line of JSON for each thing that happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct MethodStream;

impl MethodStream {
    /// A phase begins, ends, or is left out.
    #[must_use]
    pub fn phase(phase: &PhaseRecord, at: WallTime) -> String {
        event_line("phase", at, phase)
    }

    /// A trial has ended.
    #[must_use]
    pub fn trial(trial: &TrialRecord, at: WallTime) -> String {
        event_line("trial", at, trial)
    }

    /// Something to know.
    #[must_use]
    pub fn warning(warning: &Warning, at: WallTime) -> String {
        event_line("warning", at, warning)
    }

    /// A run has ended: its document.
    #[must_use]
    pub fn end(document: &MethodDocument, at: WallTime) -> String {
        event_line("end", at, document)
    }

    /// Several runs have ended: what they came to, without the runs, which had their own lines.
    #[must_use]
    pub fn series(document: &MethodSeriesDocument, at: WallTime) -> String {
        event_line("series", at, &document.series)
    }
}
