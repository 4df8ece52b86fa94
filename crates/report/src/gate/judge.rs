//! Whether runs keep rules.

use tapeline_stats::{BoundsMethod, Confidence, MedianBounds, ShiftMethod, median, runs_to_decide};

use super::document::{GATE_SCHEMA, GateReport, Outcome, RuleResult};
use super::rule::{Condition, Gate, Margin, Rule};
use crate::comparison::{Change, MOST_RUNS, Shown, Side, plain, runs_words, signed};
use crate::quantity::Better;

/// One-sided questions at 95 % take the two-sided interval of 90 %.
const CONFIDENCE: Confidence = Confidence::P90;

/// Judges every rule.
#[must_use]
pub fn judge(gate: &Gate, side: &Side) -> GateReport {
    let rules: Vec<RuleResult> = gate
        .rules
        .iter()
        .map(|rule| one(gate, rule, side))
        .collect();
    let any = |outcome| rules.iter().any(|rule| rule.outcome == outcome);
    GateReport {
        schema: GATE_SCHEMA,
        name: side.name.clone(),
        runs: side.counted().count(),
        host_limited: side.host_limited(),
        outcome: match (any(Outcome::Fail), any(Outcome::Undecided)) {
            (true, _) => Outcome::Fail,
            (_, true) => Outcome::Undecided,
            _ => Outcome::Pass,
        },
        rules,
    }
}

/// An interval, and the line that it is to lie on one side of.
struct Question {
    value: f64,
    lower: f64,
    upper: f64,
    line: f64,
    /// Above the line is good.
    above: bool,
}

impl Question {
    /// The line itself is good.
    fn outcome(&self) -> Outcome {
        if self.above {
            match (self.lower >= self.line, self.upper < self.line) {
                (true, _) => Outcome::Pass,
                (_, true) => Outcome::Fail,
                _ => Outcome::Undecided,
            }
        } else {
            match (self.upper <= self.line, self.lower > self.line) {
                (true, _) => Outcome::Pass,
                (_, true) => Outcome::Fail,
                _ => Outcome::Undecided,
            }
        }
    }

    /// Runs that would decide it.
    fn more(&self, runs: usize) -> Option<u64> {
        let towards = if self.value > self.line {
            self.value - self.lower
        } else {
            self.upper - self.value
        };
        runs_to_decide(runs, towards, (self.value - self.line).abs())
    }
}

fn one(gate: &Gate, rule: &Rule, all: &Side) -> RuleResult {
    let info = rule.quantity;
    let side = Side {
        name: all.name.clone(),
        runs: all
            .runs
            .iter()
            .filter(|run| rule.is_about(run))
            .cloned()
            .collect(),
    };
    let directions: Vec<&str> = side
        .quantities()
        .into_iter()
        .filter(|(its, direction)| {
            let wanted = rule.direction.as_deref();
            its.name == info.name && wanted.is_none_or(|wanted| wanted == *direction)
        })
        .map(|(_, direction)| direction)
        .collect();
    let values = match directions[..] {
        [direction] => side.values(info.name, direction),
        _ => Vec::new(),
    };
    let about = match &rule.condition {
        Condition::AtLeast(limit) | Condition::AtMost(limit) => *limit,
        Condition::NoWorseThan { .. } => median(&values),
    };
    let shown = Shown::new(info.dimension, about);
    let mut result = RuleResult {
        quantity: info.name,
        rule: words(rule, &shown),
        outcome: Outcome::Undecided,
        value: (!values.is_empty()).then(|| median(&values)),
        lower: None,
        upper: None,
        unit: info.dimension.unit().to_owned(),
        runs: values.len(),
        few_runs: false,
        why: String::new(),
    };
    if directions.len() > 1 {
        result.why = format!(
            "the runs have {}: name a direction",
            directions.join(" and ")
        );
        return result;
    }
    if values.is_empty() {
        result.why = "no run has this number".to_owned();
        return result;
    }
    if values.len() < gate.at_least {
        let (runs, least) = (values.len(), gate.at_least);
        result.why = format!("{} of {least} runs that are needed", runs);
        return result;
    }
    match &rule.condition {
        Condition::AtLeast(limit) => threshold(&mut result, &values, *limit, true, &shown),
        Condition::AtMost(limit) => threshold(&mut result, &values, *limit, false, &shown),
        Condition::NoWorseThan { runs, by, .. } => {
            let before = runs.values(info.name, directions[0]);
            margin(&mut result, rule, &before, &values, *by, &shown);
        }
    }
    let limited = side.host_limited();
    if let Some(outcome) = gate.host_limited.filter(|_| limited > 0) {
        // What is broken stays broken: a host that limited a run does not mend it.
        if result.outcome != Outcome::Fail {
            result.outcome = outcome;
        }
        result.why.push_str(&format!(
            "; a host limited {limited} of them, not the network"
        ));
    }
    result
}

fn threshold(result: &mut RuleResult, values: &[f64], line: f64, above: bool, shown: &Shown) {
    let runs = runs_words(values.len());
    let Some(bounds) = MedianBounds::new(values, CONFIDENCE) else {
        let number = shown.number(median(values));
        result.why = format!("{number}, {runs}: too few to judge by");
        return;
    };
    let question = Question {
        value: bounds.median,
        lower: bounds.lower,
        upper: bounds.upper,
        line,
        above,
    };
    result.few_runs = bounds.method == BoundsMethod::Student;
    result.lower = Some(bounds.lower);
    result.upper = Some(bounds.upper);
    let number = |value| shown.number(value);
    result.outcome = question.outcome();
    tell(result, &question, values.len(), &runs, &number);
}

fn margin(
    result: &mut RuleResult,
    rule: &Rule,
    before: &[f64],
    values: &[f64],
    by: Margin,
    shown: &Shown,
) {
    let higher = rule.quantity.better == Better::Higher;
    let scale = Change::of(rule.quantity, before, values);
    let runs = format!("{} against {}", runs_words(values.len()), before.len());
    result.value = None;
    if before.is_empty() {
        result.why = "no run of the baseline has this number".to_owned();
        return;
    }
    let Some(shift) = scale.shift(before, values, CONFIDENCE) else {
        result.why = format!("{runs}: too few to judge by");
        return;
    };
    let (loss, gain) = match by {
        Margin::Share(share) => scale.of_share(share, median(before)),
        Margin::Amount(amount) => (-amount, amount),
    };
    let question = Question {
        value: shift.estimate,
        lower: shift.lower,
        upper: shift.upper,
        line: if higher { loss } else { gain },
        above: higher,
    };
    result.few_runs = shift.method == ShiftMethod::Welch;
    result.value = Some(scale.told(shift.estimate));
    result.lower = Some(scale.told(shift.lower));
    result.upper = Some(scale.told(shift.upper));
    if scale == Change::Ratio {
        "%".clone_into(&mut result.unit);
    }
    result.outcome = question.outcome();
    let number = |shift: f64| match scale {
        Change::Ratio => format!("{} %", signed((scale.told(shift) * 10.0).round() / 10.0)),
        Change::Difference => format!("{} {}", shown.change(shift), shown.label),
    };
    tell(result, &question, values.len(), &runs, &number);
}

/// What an outcome rests on.
fn tell(
    result: &mut RuleResult,
    question: &Question,
    count: usize,
    runs: &str,
    number: &dyn Fn(f64) -> String,
) {
    let value = number(question.value);
    let (lower, upper) = (number(question.lower), number(question.upper));
    let is_above = question.above == (result.outcome == Outcome::Pass);
    result.why = match result.outcome {
        Outcome::Undecided => {
            let more = question.more(count).map(|more| match more {
                1 => "; about 1 more run would decide".to_owned(),
                more if more > MOST_RUNS => {
                    "; the runs differ too much among themselves to decide".to_owned()
                }
                more => format!("; about {more} more runs would decide"),
            });
            let more = more.unwrap_or_default();
            format!("{value}, between {lower} and {upper}, {runs}{more}")
        }
        _ if is_above => format!("{value}, and above {lower} with 95 % confidence, {runs}"),
        _ => format!("{value}, and below {upper} with 95 % confidence, {runs}"),
    };
    if result.few_runs {
        result.why.push_str(" (few runs)");
    }
}

/// A rule in words.
fn words(rule: &Rule, shown: &Shown) -> String {
    let mut name = rule.quantity.name.to_owned();
    if let Some(direction) = &rule.direction {
        name.push_str(&format!(" {}", direction.replace('_', " ")));
    }
    for (member, value) in &rule.only {
        name.push_str(&format!(" ({member} {value})"));
    }
    match &rule.condition {
        Condition::AtLeast(limit) => {
            format!(
                "{name} at least {} {}",
                limit_words(shown, *limit),
                shown.label
            )
        }
        Condition::AtMost(limit) => {
            format!(
                "{name} at most {} {}",
                limit_words(shown, *limit),
                shown.label
            )
        }
        Condition::NoWorseThan {
            baseline,
            by,
            written,
            ..
        } => {
            let by = match by {
                Margin::Share(share) => format!("{} %", plain(100.0 * share)),
                Margin::Amount(_) => written.clone(),
            };
            format!("{name} no worse than {baseline} by {by}")
        }
    }
}

/// A limit as it was meant: `900`, not `900.0`.
fn limit_words(shown: &Shown, limit: f64) -> String {
    let text = shown.number(limit);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
