//! The lines of tapeline's `--json-stream`.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::intervals::{ImportedIntervals, MAX_INTERVALS};
use super::json;
use super::run::{ImportedRun, MAX_RUNS};
use super::tapeline::{self, left_out};

/// Tests whose lines are being read, and those that have ended; their text stays where it is.
#[derive(Debug, Default)]
pub(crate) struct TapelineStream<'a> {
    /// By their numbers.
    open: BTreeMap<u64, Vec<&'a RawValue>>,
    /// Intervals of all of them.
    intervals: usize,
    ended: Vec<Ended<'a>>,
}

/// A test with its document, which has no intervals.
#[derive(Debug)]
struct Ended<'a> {
    document: &'a RawValue,
    intervals: Vec<&'a RawValue>,
}

impl<'a> TapelineStream<'a> {
    /// Takes a line of a test.
    pub(crate) fn take(
        &mut self,
        event: &str,
        test: u64,
        data: &'a RawValue,
    ) -> Result<(), String> {
        match event {
            "start" => {
                self.open.insert(test, Vec::new());
            }
            "interval" => {
                self.intervals += 1;
                if self.intervals > MAX_INTERVALS {
                    return Err(format!("more than {MAX_INTERVALS} intervals"));
                }
                if !data.get().starts_with('{') {
                    return Err("an interval that is no object".to_owned());
                }
                self.open.entry(test).or_default().push(data);
            }
            "end" => {
                if self.ended.len() == MAX_RUNS {
                    return Err(format!("more than {MAX_RUNS} runs"));
                }
                self.ended.push(Ended {
                    document: data,
                    intervals: self.open.remove(&test).unwrap_or_default(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The tests that have ended, in the order of their ends; of a series with what is said of it.
    pub(crate) fn finish(
        &mut self,
        series: Option<(usize, &RawValue)>,
    ) -> Result<Vec<ImportedRun<'a>>, String> {
        let mut excluded = Value::Null;
        if let Some((_, data)) = series {
            excluded = json::value(data)?["series"]["excluded"].take();
        }
        let number = series.map(|(number, _)| number);
        let ended = std::mem::take(&mut self.ended).into_iter();
        let runs = (1..).zip(ended).map(|(place, one)| {
            let run = tapeline::of_document(json::value(one.document)?)?;
            Ok(ImportedRun {
                series: number,
                left_out: left_out(&excluded, place),
                intervals: ImportedIntervals::lines(one.intervals),
                ..run
            })
        });
        runs.collect()
    }
}
