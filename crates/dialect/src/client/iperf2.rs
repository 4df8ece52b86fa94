//! A client's run over iperf 2's protocol: resolve, and hand over to the transport.

use tapeline_base::{ExitCode, Transport};
use tapeline_report::Notice;

use super::target::Target;
use super::{tcp, udp};
use crate::plan::ClientPlan;
use crate::run::context::{Context, Interruption};
use crate::sampler::ReporterHandle;

/// Runs a client's test to its end. Every event goes to `reporter`.
#[must_use]
pub fn run_client(
    plan: &ClientPlan,
    reporter: &ReporterHandle,
    interruption: &Interruption,
) -> ExitCode {
    let context = Context::new(reporter.clone(), interruption.clone(), plan.techniques);
    let target = match Target::resolve(plan) {
        Ok(target) => target,
        Err(notice) => {
            context.notice(notice);
            return ExitCode::Failure;
        }
    };
    if plan.realtime {
        context.run_first();
    }
    let failed = match plan.transport {
        Transport::Tcp => tcp::run(plan, &target, &context),
        Transport::Udp => udp::run(plan, &target, &context),
    };
    if interruption.is_raised() {
        context.notice(Notice::Interrupted);
    }
    if failed {
        ExitCode::Failure
    } else {
        ExitCode::Success
    }
}
