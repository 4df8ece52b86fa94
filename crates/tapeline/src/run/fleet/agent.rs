//! `tapeline agent`: this host takes part in a fleet.

use tapeline_base::ExitCode;
use tapeline_fleet::{AgentSettings, AgentStart, LocalHost, Opened, default_settings, run_agent};
use tapeline_sys::reason;

use super::role::{clock, log, until_interrupted};
use crate::identity;
use crate::plan::AgentJob;
use crate::run::history::Fault;

/// Serves until it is interrupted.
pub(crate) fn agent(job: &AgentJob) -> ExitCode {
    serve(job).unwrap_or_else(Fault::say)
}

fn serve(job: &AgentJob) -> Result<ExitCode, Fault> {
    let usual = || default_settings("agent");
    let settings = AgentSettings::read(&job.config.clone().unwrap_or_else(usual))?;
    let program = identity::executable().map_err(Fault::Failure)?;
    let opened = LocalHost::open(&settings.spool, &program);
    let opened = opened.map_err(|error| {
        let spool = settings.spool.display();
        Fault::Failure(format!("spool {spool}: {}", reason(&error)))
    })?;
    let Opened {
        mut host,
        kept,
        spooled,
    } = opened;
    let start = AgentStart {
        version: identity::OWN.to_owned(),
        kept,
        spooled,
    };
    let stop = until_interrupted()?;
    let name = settings.host.to_string();
    let mut say = |what: &str| log(&name, what);
    run_agent(&settings, start, &mut host, &clock(), stop, &mut say)?;
    Ok(ExitCode::Success)
}
