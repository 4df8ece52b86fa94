//! From two sides to what is said of them.

use jiff::Timestamp;
use tapeline_stats::{
    Confidence, Shift, ShiftMethod, Superiority, hedges_g, holm, median, runs_needed,
};

use super::change::Change;
use super::document::{
    COMPARISON_SCHEMA, Comparison, Difference, QuantityComparison, SideSummary, SideValues,
    Significance,
};
use super::side::Side;
use super::words::{MOST_RUNS, plain};
use crate::quantity::{Better, QuantityInfo};
use crate::run_facts::RunFacts;

/// What is compared, and which changes are of interest.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// Changes up to this share are of no interest.
    pub notice: f64,
    /// The numbers to compare, the main one first; all that both sides have where it is empty.
    pub quantities: Vec<String>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            notice: 0.02,
            quantities: Vec::new(),
        }
    }
}

const LEVEL: f64 = 0.05;

/// Compares B with A.
#[must_use]
pub fn compare(a: &Side, b: &Side, options: &CompareOptions) -> Comparison {
    let mut quantities = chosen(a, b, options);
    let main = main_quantity(a, b, options);
    quantities.sort_by_key(|(info, _)| Some(info.name) != main);
    let rows: Vec<Row> = quantities
        .into_iter()
        .map(|(info, direction)| Row::new(info, direction, a, b, options.notice))
        .collect();
    // One number is judged alone; of two directions the first.
    let alone = rows.iter().position(|row| Some(row.info.name) == main);
    let others = |number: usize| alone != Some(number);
    let judged = |row: &Row| row.shift.map(|shift| shift.p);
    let together: Vec<f64> = rows
        .iter()
        .enumerate()
        .filter(|(number, _)| others(*number))
        .filter_map(|(_, row)| judged(row))
        .collect();
    let mut corrected = holm(&together).into_iter();
    let rows = rows.into_iter().enumerate().map(|(number, row)| {
        let corrected = match judged(&row) {
            Some(_) if others(number) => corrected.next(),
            p => p,
        };
        row.finish(!others(number), corrected)
    });
    Comparison {
        schema: COMPARISON_SCHEMA,
        confidence_percent: 100.0 * (1.0 - LEVEL),
        notice_percent: 100.0 * options.notice,
        quantities: rows.collect(),
        differs: differences(a, b),
        notes: notes(a, b),
        a: summary(a),
        b: summary(b),
    }
}

/// The numbers that both sides have.
fn chosen(
    a: &Side,
    b: &Side,
    options: &CompareOptions,
) -> Vec<(&'static QuantityInfo, &'static str)> {
    let of_b = b.quantities();
    let both = a.quantities().into_iter().filter(|(info, direction)| {
        of_b.iter()
            .any(|(other, its)| other.name == info.name && its == direction)
    });
    let wanted = &options.quantities;
    both.filter(|(info, _)| wanted.is_empty() || wanted.iter().any(|name| name == info.name))
        .collect()
}

/// The number that is judged alone.
fn main_quantity(a: &Side, b: &Side, options: &CompareOptions) -> Option<&'static str> {
    if let Some(first) = options.quantities.first() {
        return QuantityInfo::find(first).map(|info| info.name);
    }
    let run = a.counted().chain(b.counted()).next()?;
    Some(match run.workload.as_deref() {
        Some("request_response") => "rtt",
        Some("connect_only") => "connect_time",
        _ => "rate",
    })
}

/// A number of both sides, before all are corrected together.
struct Row {
    info: &'static QuantityInfo,
    direction: &'static str,
    a: Vec<f64>,
    b: Vec<f64>,
    scale: Change,
    shift: Option<Shift>,
    /// The smallest change of interest, on the scale of the shift.
    notice: (f64, f64),
    share: f64,
}

impl Row {
    fn new(
        info: &'static QuantityInfo,
        direction: &'static str,
        a: &Side,
        b: &Side,
        share: f64,
    ) -> Self {
        let (a, b) = (
            a.values(info.name, direction),
            b.values(info.name, direction),
        );
        let scale = Change::of(info, &a, &b);
        let shift = scale.shift(&a, &b, Confidence::P95);
        let notice = scale.of_share(share, median(&a).abs().max(median(&b).abs()));
        Self {
            info,
            direction,
            scale,
            shift,
            notice,
            share,
            a,
            b,
        }
    }

    /// The change where it is not judged.
    fn plain_change(&self) -> Option<f64> {
        let known = !self.a.is_empty() && !self.b.is_empty();
        known.then(|| self.scale.of_medians(&self.a, &self.b))
    }

    fn significance(&self, corrected: Option<f64>) -> Significance {
        let (Some(shift), Some(corrected)) = (self.shift, corrected) else {
            return Significance::NotJudged;
        };
        let (low, high) = self.notice;
        let large = shift.estimate < low || shift.estimate > high;
        match shift.p <= LEVEL {
            true if large && corrected <= LEVEL => Significance::Surely,
            true if large => Significance::Likely,
            true => Significance::Little,
            false if shift.lower >= low && shift.upper <= high => Significance::Same,
            false => Significance::Unclear,
        }
    }

    fn finish(self, main: bool, corrected: Option<f64>) -> QuantityComparison {
        let significance = self.significance(corrected);
        let higher = self.info.better == Better::Higher;
        let pairs = if higher {
            Superiority::new(&self.a, &self.b)
        } else {
            Superiority::new(&self.b, &self.a)
        };
        let needed = self.shift.filter(|_| significance == Significance::Unclear);
        let needed = needed.and_then(|shift| {
            let error = shift.standard_error(Confidence::P95);
            let (_, high) = self.notice;
            runs_needed(error, self.a.len(), self.b.len(), 2.0 * high)
        });
        let is_better = self
            .shift
            .filter(|_| {
                use Significance::{Likely, Little, Surely};
                matches!(significance, Surely | Likely | Little)
            })
            .map(|shift| (shift.estimate > 0.0) == higher);
        let few = self
            .shift
            .is_some_and(|shift| shift.method == ShiftMethod::Welch);
        let verdict = self.verdict(significance, is_better, needed, few);
        let change = self.shift.map(|shift| self.scale.told(shift.estimate));
        QuantityComparison {
            quantity: self.info.name,
            direction: (!self.direction.is_empty()).then_some(self.direction),
            unit: self.info.dimension.unit(),
            better: if higher { "higher" } else { "lower" },
            compared_as: match self.scale {
                Change::Ratio => "ratio",
                Change::Difference => "difference",
            },
            main,
            change: change.or_else(|| self.plain_change()),
            change_lower: self.shift.map(|shift| self.scale.told(shift.lower)),
            change_upper: self.shift.map(|shift| self.scale.told(shift.upper)),
            method: self.shift.map(|shift| match shift.method {
                ShiftMethod::Exact => "exact",
                ShiftMethod::Normal => "normal",
                ShiftMethod::Welch => "welch",
            }),
            p: self.shift.map(|shift| shift.p),
            p_corrected: corrected,
            better_pairs: pairs.pairs,
            pairs: pairs.of,
            hedges_g: hedges_g(&self.a, &self.b),
            significance,
            b_is_better: is_better,
            runs_needed: needed,
            verdict,
            a: values(self.a),
            b: values(self.b),
        }
    }

    fn verdict(
        &self,
        significance: Significance,
        is_better: Option<bool>,
        needed: Option<u64>,
        few: bool,
    ) -> String {
        let way = if is_better == Some(true) {
            "better"
        } else {
            "worse"
        };
        let notice = plain(100.0 * self.share);
        let mut words = match significance {
            Significance::Surely => format!("{way}, surely"),
            Significance::Likely => format!("{way}, likely"),
            Significance::Little => "differs a little".to_owned(),
            Significance::Same => format!("the same within {notice} %"),
            Significance::Unclear => match needed {
                Some(runs) => {
                    let twice = plain(200.0 * self.share);
                    if runs > MOST_RUNS {
                        format!(
                            "unclear: the runs differ too much among themselves to show {twice} %"
                        )
                    } else {
                        format!("unclear: about {runs} runs each would show {twice} %")
                    }
                }
                None => "unclear".to_owned(),
            },
            Significance::NotJudged if self.a.len() < 2 || self.b.len() < 2 => {
                "one run on a side: not judged".to_owned()
            }
            Significance::NotJudged => "few runs without any spread: not judged".to_owned(),
        };
        if few {
            words.push_str(" (few runs)");
        }
        words
    }
}

fn values(values: Vec<f64>) -> SideValues {
    SideValues {
        median: (!values.is_empty()).then(|| median(&values)),
        values,
    }
}

/// In what the tests of both sides differ, and the hosts and programs.
fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, a: Vec<String>, b: Vec<String>, of_the_test| {
        let same = a.iter().all(|one| b.contains(one)) && b.iter().all(|one| a.contains(one));
        if !same && !a.is_empty() && !b.is_empty() {
            let what = what.to_owned();
            found.push(Difference {
                what,
                a,
                b,
                of_the_test,
            });
        }
    };
    for (number, (what, _)) in RunFacts::default().shape().into_iter().enumerate() {
        let answer = |run: &RunFacts| run.shape().swap_remove(number).1;
        add(what, a.distinct(answer), b.distinct(answer), true);
    }
    let host = |run: &RunFacts| {
        run.host
            .clone()
            .or_else(|| run.address.clone())
            .unwrap_or_default()
    };
    add("host", a.distinct(host), b.distinct(host), false);
    let version = |run: &RunFacts| run.version.clone();
    add("tapeline", a.distinct(version), b.distinct(version), false);
    found
}

fn notes(a: &Side, b: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    for (letter, side) in [("A", a), ("B", b)] {
        let limited = side.host_limited();
        if limited > 0 {
            let runs = side.counted().count();
            notes.push(format!(
                "{letter} measured a host, not the network, in {limited} of {runs} runs"
            ));
        }
    }
    let later = |one: &Side, other: &Side| {
        one.span()
            .zip(other.span())
            .is_some_and(|((first, _), (_, last))| first > last)
    };
    for (one, other, [later_side, earlier]) in [(b, a, ["B", "A"]), (a, b, ["A", "B"])] {
        if later(one, other) {
            notes.push(format!(
                "all of {later_side} was measured after {earlier}; what changed in the network \
                 meanwhile counts as a difference"
            ));
        }
    }
    notes
}

fn summary(side: &Side) -> SideSummary {
    let runs = side.counted().count();
    let time = |millis: i64| {
        Timestamp::from_millisecond(millis)
            .ok()
            .map(|time| time.to_string())
    };
    let span = side.span();
    SideSummary {
        name: side.name.clone(),
        runs,
        left_out: side.runs.len() - runs,
        first: span.and_then(|(first, _)| time(first)),
        last: span.and_then(|(_, last)| time(last)),
        host_limited: side.host_limited(),
        test: test_words(side),
    }
}

/// The test of the first run in words.
fn test_words(side: &Side) -> Vec<String> {
    let Some(run) = side.counted().next() else {
        return Vec::new();
    };
    let transport = run.transport.as_deref().unwrap_or_default().to_uppercase();
    let way = match run.workload.as_deref() {
        Some("request_response") => "requests",
        Some("connect_only") => "connects",
        _ => run.direction.as_deref().unwrap_or_default(),
    };
    let mut words = vec![match &run.host {
        Some(host) => format!("{transport} {way} to {host}"),
        None => format!("{transport} {way}"),
    }];
    words.extend(run.streams.map(|streams| match streams {
        1 => "1 stream".to_owned(),
        _ => format!("{streams} streams"),
    }));
    words.extend(run.seconds.map(|seconds| format!("{} s", plain(seconds))));
    words.extend(run.congestion.clone());
    words
}
