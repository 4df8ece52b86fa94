//! The seam between the command line and the measurement.
//!
//! Each function takes a finished plan and the presentation, runs the job to its end,
//! prints, and returns the exit code. Nothing here looks at options.

use tapeline_base::ExitCode;
use tapeline_dialect::{ClientPlan, ServerPlan};

use crate::message::{CliMessage, print};
use crate::output;
use crate::plan::TryPlan;
use crate::presentation::Presentation;

/// Runs a client's test.
pub(crate) fn client(_plan: &ClientPlan, presentation: &Presentation) -> ExitCode {
    not_wired("clients", presentation)
}

/// Serves until told to stop.
pub(crate) fn server(_plan: &ServerPlan, presentation: &Presentation) -> ExitCode {
    not_wired("servers", presentation)
}

/// Runs `tapeline try`.
pub(crate) fn trial(_plan: &TryPlan, presentation: &Presentation) -> ExitCode {
    not_wired("try", presentation)
}

fn not_wired(what: &str, presentation: &Presentation) -> ExitCode {
    let message = match output::open(presentation) {
        Ok(_) => CliMessage::err(format!("tapeline: {what} cannot be run by this build")),
        Err(message) => message,
    };
    // A closed standard error leaves the exit code, which says the same.
    let _ = print(&[message]);
    ExitCode::Failure
}
