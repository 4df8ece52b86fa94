//! Runs a method, once or several times, and says how that ended.

use std::time::Duration;

use tapeline_base::{Clock, ExitCode, Role};
use tapeline_dialect::Interruption;
use tapeline_method::{Direction, MethodError, Performed, Program, Sample, Watch, perform};
use tapeline_report::document::RunInfo;
use tapeline_report::method::{MethodDocument, MethodRuns, PhaseRecord, PhaseState, TrialRecord};
use tapeline_report::{Event, MethodEvent, Severity, StopRule, Warning};
use tapeline_sys::{SystemClock, exit_now, reason};

use super::outputs::Outputs;
use super::plan_text::plan_text;
use super::progress::Progress;
use crate::identity;
use crate::message::{self, CliMessage, HINT, cannot};
use crate::plan::{MethodJob, RepeatPlan};
use crate::run::outputs::style;
use crate::run::view::MethodView;
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
    let program = Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: identity::command(
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()),
        ),
        hide_addresses: job.presentation.hide_addresses,
    };
    let view = match view(job, &program) {
        Ok(view) => view,
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
    let runner = Runner {
        job,
        program: &program,
        interruption: &interruption,
        sink: view.as_ref().map(MethodView::sink),
        outputs,
    };
    match &job.repeat {
        None => runner.once(view),
        Some(plan) => runner.several(plan, view),
    }
}

/// The live view, where it is wanted.
fn view(job: &MethodJob, program: &Program) -> Result<Option<MethodView>, ExitCode> {
    if !job.presentation.view {
        return Ok(None);
    }
    let host = if program.hide_addresses {
        "(hidden)"
    } else {
        &job.plan.common().host
    };
    let run_info = RunInfo {
        version: program.version.clone(),
        command: program.command.clone(),
        role: Role::Client,
        planned: None,
        style: style(&job.presentation, true),
    };
    let title = format!("{} to {host}", job.plan.word());
    MethodView::start(&title, &run_info).map(Some)
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

/// What every run of a method needs.
struct Runner<'a> {
    job: &'a MethodJob,
    program: &'a Program,
    interruption: &'a Interruption,
    /// To the live view.
    sink: Option<Box<dyn FnMut(Event) + Send>>,
    outputs: Outputs,
}

impl Runner<'_> {
    fn once(mut self, view: Option<MethodView>) -> ExitCode {
        let performed = self.run(None);
        view.into_iter().for_each(MethodView::close);
        let written = self.outputs.finish(&performed.document, &performed.head);
        say(&performed);
        let code = exit_code(
            &performed.document,
            performed.error.as_ref(),
            self.job.presentation.fail_if_host_limited,
        );
        if written { code } else { ExitCode::Failure }
    }

    /// An interrupt and a run that fails end the series; what is there is kept.
    fn several(mut self, plan: &RepeatPlan, view: Option<MethodView>) -> ExitCode {
        let mut runs = MethodRuns::new(StopRule {
            least: plan.least,
            most: plan.most,
            width: plan.width,
        });
        let mut worst = ExitCode::Success;
        let mut ended = Vec::new();
        for number in 1..=plan.most {
            let performed = self.run(Some((number, plan.most)));
            self.outputs.run_ended(&performed.document);
            let code = exit_code(
                &performed.document,
                performed.error.as_ref(),
                self.job.presentation.fail_if_host_limited,
            );
            worst = worse(worst, code);
            runs.add(performed.document.clone());
            ended.push(performed);
            if worst == ExitCode::Failure
                || runs.is_enough()
                || self.interruption.is_raised_within(plan.pause)
            {
                break;
            }
        }
        view.into_iter().for_each(MethodView::close);
        let series = runs.finish(self.interruption.is_raised());
        let written = match (series, ended.last()) {
            (Some(document), Some(last)) => self.outputs.finish_series(&document, &last.head),
            _ => true,
        };
        // What is true of all runs is said once.
        ended.last().into_iter().for_each(say);
        if written { worst } else { ExitCode::Failure }
    }

    fn run(&mut self, place: Option<(u32, u32)>) -> Performed {
        let job = self.job;
        let progress = Progress::start(&job.plan.phases(), place, job.presentation.view);
        let mut watch = Presenter {
            progress,
            sink: self.sink.as_mut(),
            outputs: &mut self.outputs,
        };
        let (plan, limits) = (&job.plan, &job.limits);
        perform(plan, limits, self.program, self.interruption, &mut watch)
    }
}

/// Of two runs: one that failed, else one that a host limited, else one that missed a limit.
fn worse(one: ExitCode, other: ExitCode) -> ExitCode {
    let order = [ExitCode::Failure, ExitCode::Limited, ExitCode::Missed];
    let found = order.into_iter().find(|code| [one, other].contains(code));
    found.unwrap_or(ExitCode::Success)
}

/// Shows what happens while a method runs.
struct Presenter<'a> {
    progress: Progress,
    sink: Option<&'a mut Box<dyn FnMut(Event) + Send>>,
    outputs: &'a mut Outputs,
}

impl Presenter<'_> {
    fn show(&mut self, event: MethodEvent) {
        if let Some(sink) = &mut self.sink {
            sink(Event::Method(event));
        }
    }
}

impl Watch for Presenter<'_> {
    fn phase(&mut self, phase: &PhaseRecord, place: (usize, usize)) {
        self.progress.phase(phase, place);
        self.outputs.phase(phase);
        let (number, count) = place;
        let title = phase.title();
        self.show(match phase.state {
            PhaseState::Running => MethodEvent::Phase {
                title: format!("{number} of {count}: {title}"),
                planned: Duration::from_secs_f64(phase.planned_seconds.clamp(0.0, 1e9)),
                at: SystemClock.wall(),
            },
            state => {
                let reason = phase.reason.as_ref();
                let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
                MethodEvent::Line(format!("{title}  {}{reason}", state.word()))
            }
        });
    }

    fn event(&mut self, event: &Event) {
        if let Some(sink) = &mut self.sink {
            sink(event.clone());
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.show(MethodEvent::Sample {
            curve: sample.curve,
            from_server: sample.direction == Some(Direction::Down),
            value: sample.value,
            at: SystemClock.wall(),
        });
    }

    fn trial(&mut self, trial: &TrialRecord) {
        self.outputs.trial(trial);
        self.show(MethodEvent::Line(trial.line()));
    }

    fn warning(&mut self, warning: &Warning) {
        self.outputs.warning(warning);
        self.show(MethodEvent::Line(format!("warning: {}", warning.text)));
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
