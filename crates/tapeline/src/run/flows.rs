//! Clients of different flows in one test.

use tapeline_base::ExitCode;
use tapeline_dialect::{ClientPlan, Reporter, run_flows};
use tapeline_sys::reason;

use super::setup::RunSetup;
use super::{run_info, signals};
use crate::message::cannot;
use crate::plan::FlowsPlan;
use crate::presentation::Presentation;

/// Runs the flows, each to its own end. One that fails makes the test a failure, and does not end the
/// others.
pub(crate) fn flows(plan: &FlowsPlan, presentation: &Presentation) -> ExitCode {
    let info = run_info::flows(plan, presentation);
    let setup = match RunSetup::for_flows(presentation, &info) {
        Ok(setup) => setup,
        Err(code) => return code,
    };
    let interruption = setup.interruption.clone();
    if let Err(error) = signals::on_interrupt(move || interruption.interrupt(), setup.closing()) {
        return cannot(&format!("signals cannot be caught: {}", reason(&error)));
    }
    let plans: Vec<ClientPlan> = plan.flows.iter().map(|flow| flow.plan.clone()).collect();
    let code = match setup.flow_reporters(plans.len()) {
        Err(code) => code,
        Ok((reporters, joined)) => {
            let handles: Vec<_> = reporters.iter().map(Reporter::handle).collect();
            let codes = run_flows(&plans, &handles, &setup.interruption, &|flow| {
                joined.end(flow);
            });
            reporters.into_iter().for_each(Reporter::finish);
            joined.finish();
            let failed = codes.iter().find(|code| **code != ExitCode::Success);
            failed.copied().unwrap_or(ExitCode::Success)
        }
    };
    setup.end(code)
}
