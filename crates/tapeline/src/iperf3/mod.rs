//! The command line under the name iperf3: that of 3.22.
//!
//! ```text
//! argv ─► parse (getopt_long) ─► settings, left to right ─► rules ─► job ─► Plan
//!            ▲
//!            └ options (one table) ─► help
//! ```
//!
//! What is wrong is said in iperf3's words on standard error, with exit status 1. It differs
//! where 3.22 does something else than it says:
//!
//! | Given | iperf3 3.22 | tapeline as iperf3 |
//! |---|---|---|
//! | `-n -5`, `-b -5` | takes it for a huge number | refused (error 38) |
//! | `-u -l 1000000000000` | takes the low 32 bits | refused (error 20) |
//! | a bad option with `-J` | no JSON | a document with the error as well |
//! | `-c --use-pkcs1-padding` | refused (error 3) | logs in to servers up to 3.16 |
//! | `-F FILE` that cannot be read | connects first | refused at once |
//! | `--sctp` with `-X` or `--nstreams` | what they say | refused (error 13) |

mod fault;
mod help;
mod job;
mod options;
mod parse;
mod quantity;
mod settings;
#[cfg(test)]
mod tests;

use std::ffi::OsString;

use tapeline_base::ExitCode;

use crate::message::CliMessage;
use crate::plan::{HelpPage, Plan};
use crate::resolve::Resolution;
use fault::Fault;
use settings::Settings;

pub(crate) use help::page;
pub(crate) use options::{End, Id, Spec, listed};
pub(crate) use quantity::dscp;

/// The version whose place this program takes; peers and readers of JSON see it.
pub(crate) const VERSION: &str = "3.22";

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
    for piece in parse::parse(arguments.iter().cloned()) {
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
