//! `tapeline try`: what this machine, or a path, can do, in about ten seconds.

use tapeline_base::ExitCode;

use super::cannot;
use crate::plan::TryPlan;
use crate::presentation::Presentation;

/// Runs the measurements one after the other and prints one report.
pub(crate) fn trial(_plan: &TryPlan, _presentation: &Presentation) -> ExitCode {
    cannot("try is not there yet")
}
