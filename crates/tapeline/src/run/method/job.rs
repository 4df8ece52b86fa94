//! Runs a method, once or several times, and says how that ended.

use tapeline_base::ExitCode;
use tapeline_dialect::Interruption;
use tapeline_method::{MethodError, Performed, Program, Watch, perform};
use tapeline_report::method::{MethodDocument, MethodRuns, PhaseRecord, PhaseState, TrialRecord};
use tapeline_report::{Severity, StopRule, Warning};
use tapeline_sys::{exit_now, reason};

use super::outputs::Outputs;
use super::plan_text::plan_text;
use super::progress::Progress;
use crate::identity;
use crate::message::{self, CliMessage, HINT, cannot};
use crate::plan::{MethodJob, RepeatPlan};
use crate::run::{printer, signals};

/// Runs the job to its end.
pub(crate) fn method(job: &MethodJob) -> ExitCode {
    if job.only_plan {
        return show_plan(job);
    }
    printer::choose_color(job.presentation.color);
    let interruption = match Interruption::new() {
        Ok(interruption) => interruption,
        Err(error) => return cannot(&format!("no wake-up channel: {}", reason(&error))),
    };
    let outputs = match Outputs::open(&job.presentation) {
        Ok(outputs) => outputs,
        Err(code) => return code,
    };
    let first = interruption.clone();
    let caught = signals::on_interrupt(
        move || first.interrupt(),
        || {
            cannot("stopped at once; the running phase was not ended in order");
            exit_now(1)
        },
    );
    if let Err(error) = caught {
        return cannot(&format!("signals cannot be caught: {}", reason(&error)));
    }
    let program = Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: identity::command(
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()),
        ),
        hide_addresses: job.presentation.hide_addresses,
    };
    match &job.repeat {
        None => once(job, &program, &interruption, outputs),
        Some(plan) => several(job, plan, &program, &interruption, outputs),
    }
}

/// Shows what would be done. The name is looked up, and nothing else is asked of the network.
fn show_plan(job: &MethodJob) -> ExitCode {
    let address = match job.plan.common().address() {
        Ok(address) => address.ip().to_string(),
        Err(error) => return cannot(&error.to_string()),
    };
    let text = plan_text(&job.plan, &address);
    match message::print(&[CliMessage::out(text.trim_end())]) {
        Ok(()) => ExitCode::Success,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::Success,
        Err(_) => ExitCode::Failure,
    }
}

#[allow(unreachable_code, unused, reason = "there may be no method")]
fn once(
    job: &MethodJob,
    program: &Program,
    interruption: &Interruption,
    mut outputs: Outputs,
) -> ExitCode {
    let performed = run(job, program, interruption, &mut outputs, None);
    let written = outputs.finish(&performed.document, &performed.head);
    say(&performed);
    let code = exit_code(
        &performed.document,
        performed.error.as_ref(),
        job.presentation.fail_if_host_limited,
    );
    if written { code } else { ExitCode::Failure }
}

/// An interrupt and a run that fails end the series; what is there is kept.
#[allow(unreachable_code, unused, reason = "there may be no method")]
fn several(
    job: &MethodJob,
    plan: &RepeatPlan,
    program: &Program,
    interruption: &Interruption,
    mut outputs: Outputs,
) -> ExitCode {
    let mut runs = MethodRuns::new(StopRule {
        least: plan.least,
        most: plan.most,
        width: plan.width,
    });
    let mut worst = ExitCode::Success;
    let mut head = None;
    for number in 1..=plan.most {
        let place = Some((number, plan.most));
        let performed = run(job, program, interruption, &mut outputs, place);
        outputs.run_ended(&performed.document);
        say(&performed);
        let code = exit_code(
            &performed.document,
            performed.error.as_ref(),
            job.presentation.fail_if_host_limited,
        );
        worst = worse(worst, code);
        head = Some(performed.head);
        runs.add(performed.document);
        if worst == ExitCode::Failure
            || runs.is_enough()
            || interruption.is_raised_within(plan.pause)
        {
            break;
        }
    }
    let written = match (runs.finish(interruption.is_raised()), head) {
        (Some(document), Some(head)) => outputs.finish_series(&document, &head),
        _ => true,
    };
    if written { worst } else { ExitCode::Failure }
}

/// Of two runs: one that failed, else one that a host limited, else one that missed a limit.
fn worse(one: ExitCode, other: ExitCode) -> ExitCode {
    let order = [ExitCode::Failure, ExitCode::Limited, ExitCode::Missed];
    let found = order.into_iter().find(|code| [one, other].contains(code));
    found.unwrap_or(ExitCode::Success)
}

fn run(
    job: &MethodJob,
    program: &Program,
    interruption: &Interruption,
    outputs: &mut Outputs,
    place: Option<(u32, u32)>,
) -> Performed {
    let progress = Progress::start(&job.plan.phases(), place, job.presentation.view);
    let mut watch = Presenter { progress, outputs };
    perform(&job.plan, &job.limits, program, interruption, &mut watch)
}

/// Shows what happens while a method runs.
struct Presenter<'a> {
    progress: Progress,
    outputs: &'a mut Outputs,
}

impl Watch for Presenter<'_> {
    fn phase(&mut self, phase: &PhaseRecord, place: (usize, usize)) {
        self.progress.phase(phase, place);
        self.outputs.phase(phase);
    }

    fn trial(&mut self, trial: &TrialRecord) {
        self.outputs.trial(trial);
    }

    fn warning(&mut self, warning: &Warning) {
        self.outputs.warning(warning);
    }
}

/// Warnings, and why the method did not run to its end: below its page.
fn say(performed: &Performed) {
    let warnings = performed.document.warnings.iter().map(|warning| {
        let word = match warning.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        CliMessage::err(format!("{word}: {} [{}]", warning.text, warning.id))
    });
    let mut said: Vec<CliMessage> = warnings.collect();
    match &performed.error {
        Some(MethodError::Failed { id, text, hint }) => {
            let hint = hint
                .as_ref()
                .map_or_else(String::new, |hint| format!("\n{HINT}{hint}"));
            said.push(CliMessage::err(format!("error: {text} [{id}]{hint}")));
        }
        Some(error @ MethodError::Overran) => {
            said.push(CliMessage::err(format!("error: {error} [method-overran]")));
        }
        Some(error @ MethodError::BudgetUsed(_)) => {
            said.push(CliMessage::err(format!("error: {error}")));
        }
        Some(MethodError::Interrupted) => {
            let shown = performed
                .document
                .phases
                .iter()
                .any(|phase| phase.state == PhaseState::Done);
            said.push(CliMessage::err(if shown {
                "note: interrupted; phases that were over have counted"
            } else {
                "note: interrupted before any phase was over"
            }));
        }
        None => {}
    }
    // Without standard error the exit code says the same.
    let _ = message::print(&said);
}

/// The exit code of a run.
fn exit_code(
    document: &MethodDocument,
    error: Option<&MethodError>,
    fails_if_limited: bool,
) -> ExitCode {
    let failed = |phase: &PhaseRecord| phase.state == PhaseState::Failed;
    if error.is_some() || document.phases.iter().any(failed) {
        ExitCode::Failure
    } else if fails_if_limited && document.result.host_limited() {
        // Limited by a host it says nothing of the network.
        ExitCode::Limited
    } else if document.pass.iter().any(|one| !one.passed) {
        ExitCode::Missed
    } else {
        ExitCode::Success
    }
}
