//! The runs so far, and when there are enough.

use tapeline_stats::{Certainty, Confidence, ConfidenceInterval, LimitedBy, Moments};

use super::values::{self, Kind, Value};
use crate::document::Report;
use crate::model::{
    ExcludedRun, ExclusionReason, RunResult, RunValue, Series, Spread, Trust, TrustReason,
};

/// Other runs that there must be before the first one is suspected of being a warm-up.
const OTHERS: usize = 4;
/// How many median absolute deviations a warm-up is off the median of the others.
const DEVIATIONS: f64 = 3.0;
/// Level of all confidence intervals.
const LEVEL: Confidence = Confidence::P95;
const LEVEL_PERCENT: f64 = 95.0;

/// How many runs are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// Runs in any case, at least 1.
    pub least: u32,
    /// Runs at most, not below `least`.
    pub most: u32,
    /// Between these: runs until the confidence interval of the main numbers is at most so wide,
    /// as a share of their mean.
    pub width: Option<f64>,
}

/// A run that has ended.
#[derive(Clone, Debug)]
struct Run {
    values: Vec<Value>,
    fault: Option<ExclusionReason>,
}

/// The runs so far.
#[derive(Clone, Debug)]
pub struct Runs {
    rule: StopRule,
    runs: Vec<Run>,
}

impl Runs {
    /// No run yet.
    #[must_use]
    pub fn new(rule: StopRule) -> Self {
        Self {
            rule,
            runs: Vec::new(),
        }
    }

    /// Takes the document of a run; with what the run came to.
    pub fn add(&mut self, report: &Report) -> RunResult {
        let fault = if report.test.interrupted {
            Some(ExclusionReason::Interrupted)
        } else {
            (!report.test.complete).then_some(ExclusionReason::Failed)
        };
        let run = Run {
            values: values::from_report(report),
            fault,
        };
        let values = run.values.iter().map(|value| RunValue {
            quantity: value.kind.quantity,
            direction: value.kind.direction,
            number: value.number,
        });
        let result = RunResult {
            values: values.collect(),
            limit: limit(report),
            trust: trust(report),
            fault,
        };
        self.runs.push(run);
        result
    }

    /// Whether the rule asks for no further run.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        let made = self.runs.len() as u64;
        if made >= self.rule.most.into() {
            return true;
        }
        made >= self.rule.least.into() && self.rule.width.is_none_or(|width| self.is_narrow(width))
    }

    /// What they came to.
    #[must_use]
    pub fn series(&self, interrupted: bool) -> Series {
        let excluded = self.excluded();
        Series {
            runs: self.runs.len() as u32,
            max_runs: self.rule.most,
            confidence_percent: LEVEL_PERCENT,
            requested_width_percent: self.rule.width.map(|width| 100.0 * width),
            precise_enough: self.rule.width.map(|width| self.is_narrow(width)),
            interrupted,
            quantities: self
                .kinds()
                .map(|kind| self.spread(kind, &excluded))
                .collect(),
            excluded,
        }
    }

    /// Whether the intervals of all main numbers are at most so wide.
    fn is_narrow(&self, width: f64) -> bool {
        let excluded = self.excluded();
        let counted = self.runs.len() - excluded.len();
        let mut mains = self.main_kinds().peekable();
        counted as u64 >= self.rule.least.min(2).into()
            && mains.peek().is_some()
            && mains.all(|kind| {
                let moments = self.counted(kind, &excluded).collect();
                let interval = ConfidenceInterval::of_mean(&moments, LEVEL);
                interval.is_some_and(|interval| interval.is_narrower_than(width))
            })
    }

    fn excluded(&self) -> Vec<ExcludedRun> {
        let faulty = self.runs.iter().zip(1..).filter_map(|(run, number)| {
            run.fault.map(|reason| ExcludedRun {
                run: number,
                reason,
            })
        });
        let mut list: Vec<ExcludedRun> = faulty.collect();
        if self.warmed_up() {
            list.insert(
                0,
                ExcludedRun {
                    run: 1,
                    reason: ExclusionReason::WarmUp,
                },
            );
        }
        list
    }

    /// Whether the first run differs in a main number from all others by far.
    fn warmed_up(&self) -> bool {
        let Some((first, others)) = self.runs.split_first() else {
            return false;
        };
        first.fault.is_none()
            && self.main_kinds().any(|kind| {
                let others = others.iter().filter(|run| run.fault.is_none());
                let others: Vec<f64> = others.filter_map(|run| run.value(kind)).collect();
                let Some(value) = first.value(kind).filter(|_| others.len() >= OTHERS) else {
                    return false;
                };
                let middle = median(&others);
                let distances: Vec<f64> = others.iter().map(|one| (one - middle).abs()).collect();
                (value - middle).abs() > DEVIATIONS * median(&distances)
            })
    }

    /// The numbers that any run has, in the order of their first appearance.
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let mut kinds: Vec<Kind> = Vec::new();
        for value in self.runs.iter().flat_map(|run| &run.values) {
            if !kinds.contains(&value.kind) {
                kinds.push(value.kind);
            }
        }
        kinds.into_iter()
    }

    fn main_kinds(&self) -> impl Iterator<Item = Kind> {
        self.kinds().filter(Kind::is_main)
    }

    fn counted(&self, kind: Kind, excluded: &[ExcludedRun]) -> impl Iterator<Item = f64> {
        let counts = |number: u32| !excluded.iter().any(|one| one.run == number);
        let runs = self.runs.iter().zip(1..);
        runs.filter(move |(_, number)| counts(*number))
            .filter_map(move |(run, _)| run.value(kind))
    }

    fn spread(&self, kind: Kind, excluded: &[ExcludedRun]) -> Spread {
        let moments: Moments = self.counted(kind, excluded).collect();
        let interval = ConfidenceInterval::of_mean(&moments, LEVEL);
        let known = |value: f64| (moments.count > 0).then_some(rounded(value));
        let width = interval.filter(|interval| interval.mean != 0.0);
        Spread {
            quantity: kind.quantity,
            direction: kind.direction,
            runs: moments.count,
            mean: known(moments.mean),
            deviation: known(moments.stdev()).filter(|_| moments.count > 1),
            min: known(moments.min),
            max: known(moments.max),
            ci_lower: interval.map(|interval| rounded(interval.lower())),
            ci_upper: interval.map(|interval| rounded(interval.upper())),
            ci_width_percent: width
                .map(|interval| rounded(200.0 * interval.half_width / interval.mean.abs())),
            values: self.runs.iter().map(|run| run.value(kind)).collect(),
        }
    }
}

impl Run {
    fn value(&self, kind: Kind) -> Option<f64> {
        let mut values = self.values.iter();
        values
            .find(|value| value.kind == kind)
            .map(|value| value.number)
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

/// The middle of some numbers, 0 of none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[length / 2],
        length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
    }
}

/// To a millionth: what lies below is noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
