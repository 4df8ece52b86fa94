//! `tapeline fleet collect`.

use std::path::Path;

use tapeline_base::ExitCode;

use crate::run::history::Fault;

/// Puts results into the history.
pub(crate) fn collect(
    _settings: &Path,
    _history: Option<&Path>,
    _metrics: Option<&str>,
    _ndjson: Option<&Path>,
) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("collect: not in this build".to_owned()))
}
