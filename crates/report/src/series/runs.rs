//! The runs of a test so far, and when there are enough.

use tapeline_stats::{Certainty, LimitedBy};

use super::run_set::{RunSet, StopRule};
use super::values;
use crate::document::Report;
use crate::model::{
    DirectedQuantity, ExclusionReason, RunResult, RunValue, Series, Trust, TrustReason,
};

/// The runs so far.
#[derive(Clone, Debug)]
pub struct Runs {
    set: RunSet<DirectedQuantity>,
}

impl Runs {
    /// No run yet.
    #[must_use]
    pub fn new(rule: StopRule) -> Self {
        Self {
            set: RunSet::new(rule, DirectedQuantity::is_main),
        }
    }

    /// Takes the document of a run; with what the run came to.
    pub fn add(&mut self, report: &Report) -> RunResult {
        let fault = if report.test.interrupted {
            Some(ExclusionReason::Interrupted)
        } else {
            (!report.test.complete).then_some(ExclusionReason::Failed)
        };
        let values = values::from_report(report);
        let said = values.iter().map(|(kind, number)| RunValue {
            quantity: kind.quantity,
            direction: kind.direction,
            number: *number,
        });
        let result = RunResult {
            values: said.collect(),
            limit: limit(report),
            trust: trust(report),
            fault,
        };
        self.set.push(values, fault);
        result
    }

    /// Whether the rule asks for no further run.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.set.is_enough()
    }

    /// What they came to.
    #[must_use]
    pub fn series(&self, interrupted: bool) -> Series {
        self.set.series(interrupted)
    }
}

/// What a document says that limited its test.
fn limit(report: &Report) -> Option<(LimitedBy, Certainty)> {
    let verdict = &report.verdict.as_ref()?.verdict;
    let limits = LimitedBy::ALL.into_iter();
    let limit = limits.filter(|limit| verdict.limited_by == Some(limit.id()));
    let certainties = [Certainty::Low, Certainty::Medium, Certainty::High].into_iter();
    let certainty = certainties.filter(|certainty| certainty.id() == verdict.confidence);
    limit.zip(certainty).next()
}

fn trust(report: &Report) -> Option<Trust> {
    let trust = report.trust.as_ref()?;
    let reasons = trust.reasons.iter().map(|text| TrustReason {
        text: text.clone(),
        warning_id: None,
    });
    Some(Trust {
        level: trust.level,
        reasons: reasons.collect(),
    })
}
