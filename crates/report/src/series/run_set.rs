//! Numbers of several runs, whatever they are called: which runs count, when there are enough, and how sure
//! the means are.

use tapeline_stats::{Confidence, ConfidenceInterval, Moments, median};

use crate::model::{ExcludedRun, ExclusionReason, Series, Spread};

/// Other runs that there must be before the first one is suspected of being a warm-up.
const OTHERS: usize = 4;
/// How many median absolute deviations a warm-up is off the median of the others.
const DEVIATIONS: f64 = 3.0;
/// Level of all confidence intervals.
const LEVEL: Confidence = Confidence::P95;
/// The same in percent.
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

/// A run that has ended: its numbers by their kind.
#[derive(Clone, Debug)]
struct Run<K> {
    values: Vec<(K, f64)>,
    fault: Option<ExclusionReason>,
}

impl<K: PartialEq> Run<K> {
    fn value(&self, kind: &K) -> Option<f64> {
        let mut values = self.values.iter();
        values.find(|(its, _)| its == kind).map(|(_, value)| *value)
    }
}

/// The runs so far.
#[derive(Clone, Debug)]
pub(crate) struct RunSet<K> {
    rule: StopRule,
    is_main: fn(&K) -> bool,
    runs: Vec<Run<K>>,
}

impl<K: Clone + PartialEq> RunSet<K> {
    /// No run yet.
    pub(crate) fn new(rule: StopRule, is_main: fn(&K) -> bool) -> Self {
        Self {
            rule,
            is_main,
            runs: Vec::new(),
        }
    }

    /// Takes a run.
    pub(crate) fn push(&mut self, values: Vec<(K, f64)>, fault: Option<ExclusionReason>) {
        self.runs.push(Run { values, fault });
    }

    /// Whether the rule asks for no further run.
    pub(crate) fn is_enough(&self) -> bool {
        let made = self.runs.len() as u64;
        if made >= self.rule.most.into() {
            return true;
        }
        made >= self.rule.least.into() && self.rule.width.is_none_or(|width| self.is_narrow(width))
    }

    /// What they came to.
    pub(crate) fn series(&self, interrupted: bool) -> Series<K> {
        self.series_without(self.excluded(), interrupted)
    }

    /// The same where it is known which runs do not count.
    pub(crate) fn series_without(
        &self,
        excluded: Vec<ExcludedRun>,
        interrupted: bool,
    ) -> Series<K> {
        let kinds = self.kinds().into_iter();
        let width = self.rule.width;
        Series {
            runs: self.runs.len() as u32,
            max_runs: self.rule.most,
            confidence_percent: LEVEL_PERCENT,
            requested_width_percent: width.map(|width| 100.0 * width),
            precise_enough: width.map(|width| self.is_narrow(width)),
            interrupted,
            quantities: kinds.map(|kind| self.spread(kind, &excluded)).collect(),
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
                let moments = self.counted(&kind, &excluded);
                let interval = ConfidenceInterval::of_mean(&moments, LEVEL);
                interval.is_some_and(|interval| interval.is_narrower_than(width))
            })
    }

    /// Runs that do not count.
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
                let others: Vec<f64> = others.filter_map(|run| run.value(&kind)).collect();
                let Some(value) = first.value(&kind).filter(|_| others.len() >= OTHERS) else {
                    return false;
                };
                let middle = median(&others);
                let distances: Vec<f64> = others.iter().map(|one| (one - middle).abs()).collect();
                (value - middle).abs() > DEVIATIONS * median(&distances)
            })
    }

    /// The numbers that any run has, in the order of their first appearance.
    fn kinds(&self) -> Vec<K> {
        let mut kinds: Vec<K> = Vec::new();
        for (kind, _) in self.runs.iter().flat_map(|run| &run.values) {
            if !kinds.contains(kind) {
                kinds.push(kind.clone());
            }
        }
        kinds
    }

    fn main_kinds(&self) -> impl Iterator<Item = K> {
        self.kinds().into_iter().filter(self.is_main)
    }

    fn counted(&self, kind: &K, excluded: &[ExcludedRun]) -> Moments {
        let counts = |number: u32| !excluded.iter().any(|one| one.run == number);
        let runs = self.runs.iter().zip(1..);
        runs.filter(|(_, number)| counts(*number))
            .filter_map(|(run, _)| run.value(kind))
            .collect()
    }

    /// What the runs that count came to in one number.
    fn spread(&self, kind: K, excluded: &[ExcludedRun]) -> Spread<K> {
        let moments = self.counted(&kind, excluded);
        let interval = ConfidenceInterval::of_mean(&moments, LEVEL);
        let known = |value: f64| (moments.count > 0).then_some(rounded(value));
        let width = interval.filter(|interval| interval.mean != 0.0);
        Spread {
            runs: moments.count,
            mean: known(moments.mean),
            deviation: known(moments.stdev()).filter(|_| moments.count > 1),
            min: known(moments.min),
            max: known(moments.max),
            ci_lower: interval.map(|interval| rounded(interval.lower())),
            ci_upper: interval.map(|interval| rounded(interval.upper())),
            ci_width_percent: width
                .map(|interval| rounded(200.0 * interval.half_width / interval.mean.abs())),
            values: self.runs.iter().map(|run| run.value(&kind)).collect(),
            kind,
        }
    }
}

/// To a millionth: what lies below is noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
