//! `tapeline fleet schedule`.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_fleet::ScheduleName;

use crate::plan::Destination;
use crate::run::history::Fault;

/// Adds a schedule.
pub(crate) fn schedule_add(_settings: &Path, _file: &Path) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("schedule add: not in this build".to_owned()))
}

/// Shows the schedules.
pub(crate) fn schedule_list(
    _settings: &Path,
    _json: Option<&Destination>,
) -> Result<ExitCode, Fault> {
    Err(Fault::Failure(
        "schedule list: not in this build".to_owned(),
    ))
}

/// Removes a schedule.
pub(crate) fn schedule_remove(_settings: &Path, _name: &ScheduleName) -> Result<ExitCode, Fault> {
    Err(Fault::Failure(
        "schedule remove: not in this build".to_owned(),
    ))
}
