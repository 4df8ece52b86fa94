//! From events to the steps of documents.

use std::sync::mpsc::{Receiver, channel};

use tapeline_base::Role;
use tapeline_dialect::{Reporter, ReporterSettings};
use tapeline_report::document::{PlannedTest, RunInfo};
use tapeline_report::{Event, Style};

use crate::error::TestError;

/// A reporter, and what it reports; the channel closes when it has finished.
pub(crate) fn begin() -> Result<(Reporter, Receiver<Event>), TestError> {
    let (sender, events) = channel();
    let reporter = Reporter::start(ReporterSettings::default(), move |event| {
        // Whoever no longer listens has dropped the run.
        let _ = sender.send(event);
    })
    .map_err(|error| TestError::no_resource(&error))?;
    Ok((reporter, events))
}

/// What no event says of a run; there is no command line.
pub(crate) fn run_info(role: Role, planned: Option<PlannedTest>) -> RunInfo {
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: String::new(),
        role,
        planned,
        style: Style {
            enhanced: true,
            ..Style::default()
        },
    }
}
