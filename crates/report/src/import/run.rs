//! A run that was taken over.

use std::fmt;

use serde_json::Value;

use super::intervals::ImportedIntervals;
use super::kind::Kind;
use crate::document::Report;

/// Runs of a file.
pub const MAX_RUNS: usize = 10_000;

/// Where a run comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A tapeline of this version.
    Tapeline(String),
    /// Another program's result of this kind.
    Import(Kind),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tapeline(version) => write!(f, "tapeline {version}"),
            Self::Import(kind) => write!(f, "import:{kind}"),
        }
    }
}

/// A run that was taken over.
#[derive(Debug)]
pub struct ImportedRun<'a> {
    /// Its place in the file, from 0.
    pub position: usize,
    /// Where it comes from.
    pub origin: Origin,
    /// The series of the file that it belongs to, from 0.
    pub series: Option<usize>,
    /// Why it does not count in that series.
    pub left_out: Option<String>,
    /// Its report (`tapeline-report/1`); `intervals` is empty.
    pub document: Value,
    /// The intervals of the report.
    pub intervals: ImportedIntervals<'a>,
}

impl ImportedRun<'_> {
    /// The report with its intervals, as JSON.
    ///
    /// # Errors
    /// The document is no object: that of a report of tapeline that is broken.
    pub fn json(&self) -> serde_json::Result<String> {
        let mut document = self.document.clone();
        document["intervals"] = serde_json::to_value(&self.intervals)?;
        serde_json::to_string(&document)
    }
}

/// Of another program.
pub(crate) fn converted(
    kind: Kind,
    report: &Report,
    intervals: ImportedIntervals<'static>,
) -> ImportedRun<'static> {
    ImportedRun {
        position: 0,
        origin: Origin::Import(kind),
        series: None,
        left_out: None,
        // Neither a map with keys that are no text nor a number that is none can occur.
        document: serde_json::to_value(report).unwrap_or_default(),
        intervals,
    }
}
