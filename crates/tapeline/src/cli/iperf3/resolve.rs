//! From words to a job, under the name iperf3.

use std::ffi::OsString;

use tapeline_base::ExitCode;

use super::fault::Fault;
use super::job;
use super::options::{self, Id};
use super::settings::Settings;
use crate::message::CliMessage;
use crate::plan::{HelpPage, Plan, Resolution};

/// Resolves a command line. `program` begins getopt's messages.
pub(crate) fn resolve(
    arguments: &[OsString],
    variable: &dyn Fn(&str) -> Option<OsString>,
    program: &str,
) -> Resolution {
    let mut messages = Vec::new();
    let outcome = match plan(arguments, variable, program, &mut messages) {
        Ok(plan) => Ok(plan),
        Err(fault) => {
            messages.extend(fault.document(arguments));
            messages.push(fault.message());
            Err(ExitCode::Failure)
        }
    };
    Resolution {
        messages,
        outcome,
        refusals: Vec::new(),
    }
}

fn plan(
    arguments: &[OsString],
    variable: &dyn Fn(&str) -> Option<OsString>,
    program: &str,
    messages: &mut Vec<CliMessage>,
) -> Result<Plan, Fault> {
    let mut settings = Settings::default();
    for piece in options::given(arguments.iter().cloned()) {
        let given = piece.map_err(|complaint| Fault::Syntax {
            program: program.to_owned(),
            complaint,
        })?;
        match given.spec.id {
            Id::Help => return Ok(Plan::Help(HelpPage::Iperf3)),
            Id::Version => return Ok(Plan::Iperf3Version),
            Id::NoFairQueue => messages.push(CliMessage::out(
                "Warning:  --no-fq-socket-pacing is deprecated",
            )),
            _ => {}
        }
        settings.apply(&given)?;
    }
    settings.check()?;
    job::plan(settings, variable, messages)
}
