//! `--repeat` and `--until-ci`: one test, several times.

use std::sync::{Arc, Mutex, PoisonError};

use tapeline_base::ExitCode;
use tapeline_dialect::{Interruption, ReporterHandle};
use tapeline_report::document::{Assembler, Occasion, Report, Step};
use tapeline_report::{Event, Repetition, Runs, StopRule};

use super::Stage;
use crate::plan::RepeatPlan;

/// Makes the runs and tells what they came to. An interrupt and a run that fails end the series;
/// what is there is kept. The exit code is that of the last run.
pub(super) fn series(
    stage: &Stage,
    plan: &RepeatPlan,
    occasion: &Occasion,
    test: impl Fn(&ReporterHandle, &Interruption) -> ExitCode,
) -> Result<ExitCode, ExitCode> {
    let mut runs = Runs::new(StopRule {
        least: plan.least,
        most: plan.most,
        width: plan.width,
    });
    let mut code = ExitCode::Success;
    for run in 1..=plan.most {
        stage.tell(Event::Repetition(Repetition::Begins {
            run,
            most: plan.most,
        }));
        let teller = Teller::new(occasion);
        let heard = teller.clone();
        let reporter = stage.reporter(move |event| heard.hear(event))?;
        code = test(&reporter.handle(), &stage.interruption);
        reporter.finish();
        stage.tell(Event::Repetition(Repetition::Ends));
        if let Some(report) = teller.report() {
            runs.add(&report);
        }
        if code != ExitCode::Success
            || runs.is_enough()
            || stage.interruption.is_raised_within(plan.pause)
        {
            break;
        }
    }
    let series = runs.series(stage.interruption.is_raised());
    stage.tell(Event::Repetition(Repetition::Over(Box::new(series))));
    Ok(code)
}

/// Makes the document of a run, for its numbers.
#[derive(Clone)]
struct Teller(Arc<Mutex<Assembler>>);

impl Teller {
    fn new(occasion: &Occasion) -> Self {
        let assembler = Assembler::without_intervals(occasion.clone());
        Self(Arc::new(Mutex::new(assembler)))
    }

    fn hear(&self, event: &Event) {
        let mut assembler = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(assembler.note(event));
    }

    fn report(&self) -> Option<Report> {
        let mut assembler = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assembler.finish().into_iter().find_map(|step| match step {
            Step::End { report, .. } => Some(*report),
            _ => None,
        })
    }
}
