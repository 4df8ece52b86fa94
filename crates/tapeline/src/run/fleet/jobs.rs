//! `tapeline fleet jobs`, `cancel` and `watch`.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_fleet::{JobId, ScheduleName};

use crate::plan::Destination;
use crate::run::history::Fault;

/// Shows jobs.
pub(crate) fn jobs(
    _settings: &Path,
    _failed: bool,
    _schedule: Option<&ScheduleName>,
    _json: Option<&Destination>,
) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("jobs: not in this build".to_owned()))
}

/// Takes jobs back.
pub(crate) fn cancel(_settings: &Path, _jobs: &[JobId]) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("cancel: not in this build".to_owned()))
}

/// Follows a job.
pub(crate) fn watch(_settings: &Path, _job: &JobId) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("watch: not in this build".to_owned()))
}
