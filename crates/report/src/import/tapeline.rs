//! Documents of tapeline.

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::Fault;
use super::intervals::{ImportedIntervals, MAX_INTERVALS};
use super::json::{self, Parts};
use super::run::{ImportedRun, MAX_RUNS, Origin};
use crate::document::SCHEMA;

/// The run of a report; `intervals` is a part of its text.
pub(crate) fn run<'a>(
    text: &'a str,
    intervals: Option<&'a RawValue>,
) -> Result<ImportedRun<'a>, String> {
    let intervals = intervals.ok_or("a report without intervals")?;
    let mut count = 0;
    json::elements(intervals, &mut |interval| {
        count += 1;
        match interval.get().starts_with('{') {
            _ if count > MAX_INTERVALS => Err(format!("more than {MAX_INTERVALS} intervals")),
            true => Ok(()),
            false => Err("an interval that is no object".to_owned()),
        }
    })?;
    // A part of the text: where it begins there.
    let begin = intervals.get().as_ptr() as usize - text.as_ptr() as usize;
    let end = begin + intervals.get().len();
    let document = json::bounded(&format!("{}[]{}", &text[..begin], &text[end..]))?;
    Ok(ImportedRun {
        intervals: ImportedIntervals::raw(intervals, count),
        ..of_document(document)?
    })
}

/// The run of a report without its intervals.
pub(crate) fn of_document<'a>(mut document: Value) -> Result<ImportedRun<'a>, String> {
    let shaped = document["test"].is_object()
        && document["sum"].is_object()
        && document["streams"].is_array();
    if document["schema"] != SCHEMA || !shaped {
        return Err(format!("a report that {SCHEMA} does not describe"));
    }
    document["intervals"] = Value::Array(Vec::new());
    let version = json::text(&document["version"]).unwrap_or_default();
    Ok(ImportedRun {
        position: 0,
        origin: Origin::Tapeline(version),
        series: None,
        left_out: None,
        document,
        intervals: ImportedIntervals::lines(Vec::new()),
    })
}

/// Why a run does not count in its series; `excluded` is what that says.
pub(crate) fn left_out(excluded: &Value, run: u64) -> Option<String> {
    let its = excluded.as_array()?.iter().find(|one| one["run"] == run)?;
    json::text(&its["reason"])
}

/// The runs of a document of several.
#[derive(Debug)]
pub(crate) struct SeriesRuns<'a> {
    /// Its number in the file.
    number: usize,
    at: usize,
    excluded: Value,
    runs: std::vec::IntoIter<&'a RawValue>,
    /// The number of the run, from 1.
    run: u64,
}

impl<'a> SeriesRuns<'a> {
    /// Of the parts of a document that begins there.
    pub(crate) fn new(parts: &Parts<'a>, at: usize, number: usize) -> Result<Self, String> {
        let mut runs = Vec::new();
        let list = parts.runs.ok_or("a series without runs")?;
        json::elements(list, &mut |run| {
            runs.push(run);
            match runs.len() {
                0..=MAX_RUNS => Ok(()),
                _ => Err(format!("more than {MAX_RUNS} runs")),
            }
        })?;
        let mut series = parts
            .series
            .map(json::value)
            .transpose()?
            .unwrap_or_default();
        Ok(Self {
            number,
            at,
            excluded: series["excluded"].take(),
            runs: runs.into_iter(),
            run: 0,
        })
    }
}

impl<'a> Iterator for SeriesRuns<'a> {
    type Item = Result<ImportedRun<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.runs.next()?.get();
        self.run += 1;
        let parts = Parts::new(text.as_bytes()).map_err(|error| json::said(&error));
        let found = parts.and_then(|parts| run(text, parts.intervals));
        Some(match found {
            Ok(run) => Ok(ImportedRun {
                series: Some(self.number),
                left_out: left_out(&self.excluded, self.run),
                ..run
            }),
            Err(why) => Err(Fault::new(self.at, format!("run {}: {why}", self.run))),
        })
    }
}
