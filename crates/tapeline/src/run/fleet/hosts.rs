//! `tapeline fleet hosts`.

use std::path::Path;

use tapeline_base::ExitCode;

use crate::plan::Destination;
use crate::run::history::Fault;

/// Shows who is there.
pub(crate) fn hosts(_settings: &Path, _json: Option<&Destination>) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("hosts: not in this build".to_owned()))
}
