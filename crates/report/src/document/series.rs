//! Several runs of one test, as data.

use serde::Serialize;

use super::run_info::RunInfo;
use super::schema::Report;
use super::warning::{WarningId, warning};
use crate::model::{Series, Severity, Warning};
use crate::native;

/// Name and version of the form of a document of several runs.
pub const SERIES_SCHEMA: &str = "tapeline-series/1";

/// Several runs of one test (`--repeat`, `--precision`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesReport {
    /// Name and version of this form: `tapeline-series/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SERIES_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// What the runs came to.
    pub series: Series,
    /// What a reader of the series must know; what concerns a run is there.
    pub warnings: Vec<Warning>,
    /// The document of each run, in their order.
    pub runs: Vec<Report>,
}

impl SeriesReport {
    /// Without the runs.
    pub(crate) fn new(run_info: &RunInfo, series: Series) -> Self {
        let said = native::unreached(&series).map(|text| (Severity::Warning, text));
        let warnings = said.map(|said| warning(WarningId::ConfidenceNotReached, said));
        Self {
            schema: SERIES_SCHEMA,
            version: run_info.version.clone(),
            command: run_info.command.clone(),
            series,
            warnings: warnings.into_iter().collect(),
            runs: Vec::new(),
        }
    }
}
