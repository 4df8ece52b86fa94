//! `tapeline fleet matrix`.

use tapeline_base::ExitCode;

use crate::plan::FleetMatrix;
use crate::run::history::Fault;

/// Shows the newest results of all pairs.
pub(crate) fn matrix(_what: &FleetMatrix) -> Result<ExitCode, Fault> {
    Err(Fault::Failure("matrix: not in this build".to_owned()))
}
