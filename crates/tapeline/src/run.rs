//! The seam between the command line and the measurement.
//!
//! Each function takes a finished plan and the presentation, runs the job to its end,
//! prints, and returns the exit code. Nothing here looks at options.

use tapeline_base::ExitCode;
use tapeline_dialect::{ClientPlan, ServerPlan};

use crate::message::{CliMessage, print};
use crate::plan::TryPlan;
use crate::presentation::Presentation;

/// Runs a client's test.
pub(crate) fn client(_plan: &ClientPlan, _presentation: &Presentation) -> ExitCode {
    not_wired("clients")
}

/// Serves until told to stop.
pub(crate) fn server(_plan: &ServerPlan, _presentation: &Presentation) -> ExitCode {
    not_wired("servers")
}

/// Runs `tapeline try`.
pub(crate) fn trial(_plan: &TryPlan, _presentation: &Presentation) -> ExitCode {
    not_wired("try")
}

fn not_wired(what: &str) -> ExitCode {
    // A closed standard error leaves the exit code, which says the same.
    let _ = print(&[CliMessage::err(format!(
        "tapeline: {what} cannot be run by this build"
    ))]);
    ExitCode::Failure
}
