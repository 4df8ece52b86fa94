//! `tapeline fleet controller`.

use std::path::Path;

use tapeline_base::ExitCode;

use crate::run::history::Fault;

/// Hands jobs to agents.
pub(crate) fn controller(_settings: &Path) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("controller: not in this build".to_owned()))
}
