//! Different flows in one test (`--flow`): ordinary clients' runs next to each other, each with its own
//! start.

use std::time::Duration;

use tapeline_base::{Clock, ExitCode, MonoTime};
use tapeline_report::Notice;
use tapeline_sys::SystemClock;

use super::iperf2::run_client;
use crate::plan::{ClientPlan, StartTime};
use crate::run::context::Interruption;
use crate::sampler::ReporterHandle;

/// Time before its start at which a flow connects: servers would take longer silence for a fault.
const CONNECT_AHEAD: Duration = Duration::from_secs(1);

/// Runs flows of one test, each to its own end; returns what became of each.
///
/// A plan that starts [`StartTime::After`] a time begins that long after the test's beginning, however
/// long connecting takes; all others begin at once. `reporters` are one for each plan: flow numbers of
/// different plans are not distinct. A flow that fails does not end the others. `ended` learns the place
/// of each flow whose run is over and reported.
#[must_use]
pub fn run_flows(
    plans: &[ClientPlan],
    reporters: &[ReporterHandle],
    interruption: &Interruption,
    ended: &(dyn Fn(usize) + Sync),
) -> Vec<ExitCode> {
    let began = SystemClock.now();
    std::thread::scope(|scope| {
        let flows = plans.iter().zip(reporters).enumerate();
        let threads: Vec<_> = flows
            .map(|(place, (plan, reporter))| {
                let thread = std::thread::Builder::new().name("test".into());
                thread.spawn_scoped(scope, move || {
                    let code = flow(plan, began, reporter, interruption);
                    reporter.flush();
                    ended(place);
                    code
                })
            })
            .collect();
        threads
            .into_iter()
            // A flow without a thread, or one that panicked, has failed.
            .map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or(ExitCode::Failure),
                Err(_) => ExitCode::Failure,
            })
            .collect()
    })
}

/// Waits for the flow's time and runs it.
fn flow(
    plan: &ClientPlan,
    began: MonoTime,
    reporter: &ReporterHandle,
    interruption: &Interruption,
) -> ExitCode {
    let StartTime::After(delay) = plan.start else {
        return run_client(plan, reporter, interruption);
    };
    let start = began + delay;
    loop {
        let wait = start.since(SystemClock.now());
        if wait <= CONNECT_AHEAD {
            break;
        }
        if interruption.is_raised_within(wait - CONNECT_AHEAD) {
            reporter.event(tapeline_report::Event::Notice(Notice::Interrupted));
            return ExitCode::Success;
        }
    }
    let plan = ClientPlan {
        start: StartTime::Moment(start),
        ..plan.clone()
    };
    run_client(&plan, reporter, interruption)
}
