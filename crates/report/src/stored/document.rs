//! A list of what is kept, as data.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Name and version of the document's form.
pub const HISTORY_SCHEMA: &str = "tapeline-history/1";

/// Results of a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryDocument {
    /// Name and version of this form: `tapeline-history/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = HISTORY_SCHEMA)))]
    pub schema: &'static str,
    /// The file that they are kept in.
    pub file: String,
    /// The runs; those of a series one after the other.
    pub runs: Vec<HistoryRun>,
}

/// A run that is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRun {
    /// What it is called there: `r42`.
    pub name: String,
    /// The series that it belongs to: `s14`.
    pub series: Option<String>,
    /// Why it does not count in its series.
    pub left_out: Option<String>,
    /// What it comes from: `tapeline 0.2.0`, `import:iperf3-json`.
    pub origin: String,
    /// The host that it was measured from, where that was named.
    pub from_host: Option<String>,
    /// Words to find it by.
    pub tags: BTreeMap<String, String>,
    /// What somebody wrote of it.
    pub note: Option<String>,
    /// Its report (`tapeline-report/1`), without intervals.
    pub document: Value,
}

impl HistoryDocument {
    /// Of the runs of a file.
    #[must_use]
    pub fn new(file: String, runs: Vec<HistoryRun>) -> Self {
        Self {
            schema: HISTORY_SCHEMA,
            file,
            runs,
        }
    }
}
