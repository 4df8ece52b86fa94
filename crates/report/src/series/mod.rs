//! Several runs of one test: their numbers, and when there are enough (methodology 15).
//!
//! ```text
//! Report of each run ─► Runs ─┬─ is_enough ─► another run?
//!                             └─ series ────► Series ─► Event::Repetition
//! ```
//!
//! The unit is a run: the intervals of one run depend on each other and say nothing of how sure
//! a mean is.

mod values;

use tapeline_stats::{Confidence, ConfidenceInterval, Moments};

use crate::document::Report;
use crate::model::{FlowDirection, LeftOut, Quantity, Series, Spread, WhyLeftOut};
use values::Value;

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
    fault: Option<WhyLeftOut>,
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

    /// Takes the document of a run.
    pub fn add(&mut self, report: &Report) {
        let fault = if report.test.interrupted {
            Some(WhyLeftOut::Interrupted)
        } else {
            (!report.test.complete).then_some(WhyLeftOut::Failed)
        };
        self.runs.push(Run {
            values: values::of(report),
            fault,
        });
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
        let left_out = self.left_out();
        Series {
            runs: self.runs.len() as u32,
            most_runs: self.rule.most,
            confidence_percent: LEVEL_PERCENT,
            wanted_width_percent: self.rule.width.map(|width| 100.0 * width),
            reached: self.rule.width.map(|width| self.is_narrow(width)),
            interrupted,
            quantities: self
                .kinds()
                .map(|kind| self.spread(kind, &left_out))
                .collect(),
            left_out,
        }
    }

    /// Whether the intervals of all main numbers are at most so wide.
    fn is_narrow(&self, width: f64) -> bool {
        let left_out = self.left_out();
        let counted = self.runs.len() - left_out.len();
        let mut mains = self.main_kinds().peekable();
        counted as u64 >= self.rule.least.min(2).into()
            && mains.peek().is_some()
            && mains.all(|kind| {
                let moments = self.counted(kind, &left_out).collect();
                let interval = ConfidenceInterval::of_mean(&moments, LEVEL);
                interval.is_some_and(|interval| interval.is_narrower_than(width))
            })
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let faulty = self.runs.iter().zip(1..).filter_map(|(run, number)| {
            run.fault.map(|reason| LeftOut {
                run: number,
                reason,
            })
        });
        let mut list: Vec<LeftOut> = faulty.collect();
        if self.warmed_up() {
            list.insert(
                0,
                LeftOut {
                    run: 1,
                    reason: WhyLeftOut::WarmUp,
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

    fn counted(&self, kind: Kind, left_out: &[LeftOut]) -> impl Iterator<Item = f64> {
        let counts = |number: u32| !left_out.iter().any(|one| one.run == number);
        let runs = self.runs.iter().zip(1..);
        runs.filter(move |(_, number)| counts(*number))
            .filter_map(move |(run, _)| run.value(kind))
    }

    fn spread(&self, kind: Kind, left_out: &[LeftOut]) -> Spread {
        let moments: Moments = self.counted(kind, left_out).collect();
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

/// A number, and the direction that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    quantity: Quantity,
    direction: Option<FlowDirection>,
}

impl Kind {
    fn is_main(&self) -> bool {
        self.quantity.is_main(self.direction)
    }
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

#[cfg(test)]
mod tests;
