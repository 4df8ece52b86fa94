//! Several runs of one test: a row for each, and what they came to together.

use std::collections::BTreeMap;

use tapeline_base::counted;
use tapeline_stats::{Certainty, LimitedBy};

use super::brief::BriefLine;
use super::number::{digits, percent, rate, rate_unit};
use super::paint::Paint;
use super::result_line;
use super::table::{Column, Table};
use super::unit::Unit;
use super::verdict::limit_words;
use crate::model::{
    ExcludedRun, ExclusionReason, FlowDirection, Quantity, RunResult, RunValue, Series, Spread,
    Trust, TrustLevel, TrustReason,
};
use crate::render::Output;
use crate::style::{Amount, Style, Terminal};

/// Columns of the longest level of trust, with their gap.
const TRUST: usize = "  host-limited".len();

/// Title of the limits' column.
const LIMITED_BY: &str = "limited by";

/// Prints the runs of a series.
#[derive(Debug)]
pub(crate) struct SeriesText {
    style: Style,
    terminal: Terminal,
    paint: Paint,
    /// The run that runs, from 1.
    run: u32,
    results: BTreeMap<u32, RunResult>,
    /// Their lines for programs.
    briefs: BTreeMap<u32, BriefLine>,
    layout: Option<Layout>,
}

/// The columns of the rows, as the first run determines them.
#[derive(Debug)]
struct Layout {
    kinds: Vec<(Quantity, Option<FlowDirection>)>,
    unit: Unit,
    table: Table,
    /// Columns of the limits, where runs have a rate, and so a limit.
    limits: Option<usize>,
    /// Runs carry traffic, and so a level of trust.
    trust: bool,
}

impl SeriesText {
    pub(crate) fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            terminal,
            paint: Paint::new(terminal.colour),
            run: 0,
            results: BTreeMap::new(),
            briefs: BTreeMap::new(),
            layout: None,
        }
    }

    /// Each run is printed in full.
    pub(crate) fn is_full(&self) -> bool {
        self.style.enhanced && self.is_usual()
    }

    /// Everything is printed, not the result alone.
    fn is_usual(&self) -> bool {
        self.style.amount == Amount::Usual
    }

    /// A run begins; with the line above it, where it is printed in full.
    pub(crate) fn begin(&mut self, run: u32, most: u32, out: &mut Output) {
        self.run = run;
        if self.is_full() {
            if run > 1 {
                out.line("");
            }
            out.line(&self.paint.dim(&format!("run {run}/{most}")));
        }
    }

    /// Whether the run that runs is the first one.
    pub(crate) fn is_first(&self) -> bool {
        self.run == 1
    }

    /// A run has ended; with its line for programs.
    pub(crate) fn end(&mut self, result: &RunResult, brief: Option<BriefLine>, out: &mut Output) {
        self.briefs.extend(brief.map(|brief| (self.run, brief)));
        if !self.is_full() {
            self.row(self.run, result, out);
        }
        self.results.insert(self.run, result.clone());
    }

    /// All runs have ended.
    pub(crate) fn conclude(mut self, series: &Series, out: &mut Output) {
        if self.is_full() {
            for (run, result) in std::mem::take(&mut self.results) {
                self.row(run, &result, out);
                self.results.insert(run, result);
            }
        }
        if self.style.amount == Amount::Brief {
            if let Some(line) = self.brief(series) {
                out.line(&line.to_string());
            }
            return;
        }
        let facts = self.facts(series);
        if facts.is_empty() {
            return;
        }
        let excluded = series.excluded.iter().filter(|_| self.is_usual());
        for one in excluded {
            out.line(&excluded_run(one, series, &self.style));
        }
        if self.is_usual() {
            out.line("");
        }
        for (label, value) in facts {
            out.line(&result_line::fact(label, &value, self.paint));
        }
        out.line(&result_line::trust(&self.trust(series), self.terminal));
    }

    fn row(&mut self, run: u32, result: &RunResult, out: &mut Output) {
        if result.values.is_empty() || self.style.exclude.data || !self.is_usual() {
            return;
        }
        let (style, terminal, paint) = (self.style, self.terminal, self.paint);
        let layout = self.layout.get_or_insert_with(|| {
            let layout = Layout::new(result, &style, terminal);
            out.line("");
            out.line(&paint.dim(&layout.header()));
            layout
        });
        out.line(&layout.row(run, result));
    }

    fn facts(&self, series: &Series) -> Vec<(&'static str, String)> {
        let mains: Vec<&Spread> = series
            .quantities
            .iter()
            .filter(|one| one.kind.is_main())
            .collect();
        let several = mains.len() > 1;
        let mut facts = Vec::new();
        for spread in &mains {
            let name = several.then(|| way(spread.kind.direction)).flatten();
            let name = name.map_or_else(String::new, |name| format!("{name}: "));
            let Some(mean) = mean(spread, series, &self.style) else {
                continue;
            };
            facts.push((label(spread), fitted(&name, mean)));
            let scatter = scatter(spread, &self.style);
            facts.extend(scatter.map(|texts| ("Spread", fitted(&name, texts))));
        }
        facts.extend(self.limited_by(series).map(|text| ("Limited by", text)));
        facts
    }

    fn counted<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = &'a RunResult> {
        let counts = |run: u32| !series.excluded.iter().any(|one| one.run == run);
        let results = self.results.iter();
        results.filter_map(move |(run, result)| counts(*run).then_some(result))
    }

    /// `network (high confidence) in 3 of 3 runs`: the limit of most runs, as sure as in the least sure one.
    fn limited_by(&self, series: &Series) -> Option<String> {
        let runs = self.counted(series).count();
        let limits = self.limits(series);
        let ((limit, (count, certainty)), others) = limits.split_first()?;
        let words = limit_words(*limit);
        let confidence = certainty.id();
        let mut text = format!("{words} ({confidence} confidence) in {count} of {runs} runs");
        for (limit, (count, _)) in others {
            let more = format!(", {} in {count}", limit_words(*limit));
            if text.len() + more.len() <= result_line::ROOM {
                text.push_str(&more);
            }
        }
        Some(text)
    }

    /// In how many runs each limit was one, the most frequent first, and how sure that is at least.
    fn limits(&self, series: &Series) -> Vec<(LimitedBy, (u32, Certainty))> {
        let mut limits: BTreeMap<LimitedBy, (u32, Certainty)> = BTreeMap::new();
        for result in self.counted(series) {
            if let Some((limit, certainty)) = result.limit {
                let (count, least) = limits.entry(limit).or_insert((0, certainty));
                *count += 1;
                *least = certainty.min(*least);
            }
        }
        let mut limits: Vec<_> = limits.into_iter().collect();
        limits.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        limits
    }

    /// The means of the runs that count, with the interval of their rate where it has one.
    fn brief(&self, series: &Series) -> Option<BriefLine> {
        let counts = |run: &u32| !series.excluded.iter().any(|one| one.run == *run);
        let briefs = self.briefs.iter().filter(|(run, _)| counts(run));
        let briefs: Vec<BriefLine> = briefs.map(|(_, brief)| brief.clone()).collect();
        let rates = series.quantities.iter();
        let mut rates =
            rates.filter(|one| one.kind.quantity == Quantity::BitsPerSecond && one.kind.is_main());
        let rate = rates.next().filter(|_| rates.next().is_none());
        let interval = rate.and_then(|rate| rate.ci_lower.zip(rate.ci_upper));
        (!briefs.is_empty()).then(|| BriefLine {
            limit: self
                .limits(series)
                .first()
                .map(|(limit, (_, certainty))| (*limit, *certainty)),
            trust: Some(self.trust(series).level),
            series: Some((briefs.len(), interval)),
            ..BriefLine::mean(&briefs)
        })
    }

    /// That of the worst run that counts, and how many do.
    fn trust(&self, series: &Series) -> Trust {
        let count = self.counted(series).count();
        let trusts = self
            .counted(series)
            .filter_map(|result| result.trust.as_ref());
        let worst = trusts.max_by_key(|trust| trust.level);
        let level = worst.map_or(TrustLevel::Good, |trust| trust.level);
        let mut reasons = Vec::new();
        let mut say = |text: String| {
            reasons.push(TrustReason {
                text,
                warning_id: None,
            });
        };
        if series.interrupted {
            say(format!(
                "interrupted after {} of {} runs",
                series.runs, series.max_runs
            ));
        }
        if level > TrustLevel::Good {
            let reason = worst.and_then(|trust| trust.reasons.first());
            reason
                .into_iter()
                .for_each(|reason| say(reason.text.clone()));
        }
        say(format!("{count} of {} runs count", series.runs));
        if let (Some(requested), Some(false)) =
            (series.requested_width_percent, series.precise_enough)
        {
            say(format!("the requested width is {}", share(requested)));
        }
        let is_part = series.interrupted || count < 2;
        Trust {
            level: if is_part {
                level.max(TrustLevel::Partial)
            } else {
                level
            },
            reasons,
        }
    }
}

/// Columns that hold each limit, since a later run may have another one than the first.
fn limits_width() -> usize {
    let words = LimitedBy::ALL.map(|limit| limit_words(limit).len());
    words.into_iter().fold(LIMITED_BY.len(), usize::max)
}

impl Layout {
    fn new(first: &RunResult, style: &Style, terminal: Terminal) -> Self {
        let kind = |value: &RunValue| (value.quantity, value.direction);
        let kinds: Vec<_> = first.values.iter().map(kind).collect();
        let several = first.values.iter().filter(|value| is_main(value)).count() > 1;
        let rates = first.values.iter();
        let rate = rates.filter(|value| value.quantity == Quantity::BitsPerSecond);
        let unit = Unit::for_rate(
            rate.map(|value| value.number).fold(0.0, f64::max),
            style.format,
        );
        let has_rate = |value: &RunValue| value.quantity == Quantity::BitsPerSecond;
        let rates = first.values.iter().any(has_rate);
        let trust = first.trust.is_some();
        let mut columns = vec![Column::new("run", 6, 0)];
        columns.extend(first.values.iter().zip(1..).map(|(value, place)| {
            let title = match value.quantity {
                Quantity::BitsPerSecond => unit.label,
                Quantity::LostPercent => "loss %",
                Quantity::JitterMs => "jitter ms",
                Quantity::Retransmits => "retrans",
                Quantity::RttMeanMs => "rtt ms",
                Quantity::OneWayDelayMeanMs => "delay ms",
                Quantity::ConnectMeanMs => "connect ms",
            };
            let title = match value.direction.filter(|_| several) {
                Some(FlowDirection::Forward) => format!("to {title}"),
                Some(FlowDirection::Reverse) => format!("from {title}"),
                Some(FlowDirection::RoundTrip) | None => title.to_owned(),
            };
            Column::new(&title, 7, if is_main(value) { 0 } else { place })
        }));
        let limits = rates.then(limits_width);
        let words = limits.map_or(0, |width| 2 + width) + if trust { TRUST } else { 0 };
        Self {
            kinds,
            unit,
            table: Table::fitting(columns, terminal.width.saturating_sub(words)),
            limits,
            trust,
        }
    }

    fn header(&self) -> String {
        let mut line = self.table.header();
        if let Some(width) = self.limits {
            line.push_str(&format!("  {LIMITED_BY:<width$}"));
        }
        if self.trust {
            line.push_str("  trust");
        }
        line
    }

    fn row(&self, run: u32, result: &RunResult) -> String {
        let number = |(quantity, direction): &(Quantity, Option<FlowDirection>)| {
            let same =
                |value: &&RunValue| value.quantity == *quantity && value.direction == *direction;
            let value = result.values.iter().find(same);
            value.map_or_else(|| "-".to_owned(), |value| self.cell(value))
        };
        let cells = [run.to_string()].into_iter();
        let mut line = self.table.line(cells.chain(self.kinds.iter().map(number)));
        if let Some(width) = self.limits {
            let limit = result.limit.map_or("-", |(limit, _)| limit_words(limit));
            line.push_str(&format!("  {limit:<width$}"));
        }
        if self.trust {
            let trust = result.trust.as_ref();
            line.push_str("  ");
            line.push_str(trust.map_or("-", |trust| trust.level.word()));
        }
        line
    }

    fn cell(&self, value: &RunValue) -> String {
        match value.quantity {
            Quantity::BitsPerSecond => digits(self.unit.of(value.number)),
            Quantity::Retransmits => format!("{:.0}", value.number),
            // A delay by two clocks may be below 0 by their error.
            _ => digits(value.number.max(0.0)),
        }
    }
}

fn is_main(value: &RunValue) -> bool {
    value.quantity.is_main(value.direction)
}

fn label(spread: &Spread) -> &'static str {
    match spread.kind.quantity {
        Quantity::ConnectMeanMs => "Connect",
        Quantity::RttMeanMs => "Round trip",
        _ => "Throughput",
    }
}

fn way(direction: Option<FlowDirection>) -> Option<&'static str> {
    match direction? {
        FlowDirection::Forward => Some("to server"),
        FlowDirection::Reverse => Some("from server"),
        FlowDirection::RoundTrip => None,
    }
}

/// A number with its unit, and others in the same unit without it.
struct Scale {
    unit: Option<Unit>,
}

impl Scale {
    /// That of a number's mean.
    fn of(spread: &Spread, style: &Style) -> Self {
        let is_rate = spread.kind.quantity == Quantity::BitsPerSecond;
        let mean = spread.mean.unwrap_or(0.0);
        Self {
            unit: is_rate.then(|| rate_unit(mean, style.format)),
        }
    }

    fn bare(&self, value: f64) -> String {
        digits(self.unit.map_or(value, |unit| unit.of(value)))
    }

    fn named(&self, value: f64) -> String {
        format!(
            "{} {}",
            self.bare(value),
            self.unit.map_or("ms", |unit| unit.label)
        )
    }
}

/// `941 Mbit/s mean of 3 runs, 95 % confidence interval 936 to 946`, the longest first.
fn mean(spread: &Spread, series: &Series, style: &Style) -> Option<Vec<String>> {
    let scale = Scale::of(spread, style);
    let runs = counted(spread.runs, "run");
    let mean = scale.named(spread.mean?);
    let Some((lower, upper)) = spread.ci_lower.zip(spread.ci_upper) else {
        return Some(vec![format!("{mean} in {runs}, no confidence interval")]);
    };
    // A rate or a time is not below 0, however wide its interval.
    let [lower, upper] = [lower.max(0.0), upper].map(|value| scale.bare(value));
    let level = series.confidence_percent;
    Some(vec![
        format!("{mean} mean of {runs}, {level} % confidence interval {lower} to {upper}"),
        format!("{mean} mean of {runs}, {level} % CI {lower} to {upper}"),
    ])
}

/// The first that fits behind a label and a name.
fn fitted(name: &str, texts: Vec<String>) -> String {
    let mut named = texts.into_iter().map(|text| format!("{name}{text}"));
    let first = named.next().unwrap_or_default();
    if first.len() <= result_line::ROOM {
        return first;
    }
    named.next().unwrap_or(first)
}

/// `0.21 % standard deviation, 939 to 943; the interval is 1.06 % wide`, the longest first.
fn scatter(spread: &Spread, style: &Style) -> Option<Vec<String>> {
    let mean = spread.mean.filter(|mean| *mean > 0.0)?;
    let deviation = share(100.0 * spread.deviation? / mean);
    let scale = Scale::of(spread, style);
    let [min, max] = [spread.min?, spread.max?].map(|value| scale.bare(value));
    let text = format!("{deviation} standard deviation, {min} to {max}");
    let width = spread.ci_width_percent.map(share);
    let wide = width.map(|width| format!("{text}; the interval is {width} wide"));
    Some(wide.into_iter().chain([text]).collect())
}

/// A share that is an estimate itself: two decimals below 10 %.
fn share(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2} %")
    } else {
        percent(value / 100.0)
    }
}

/// `run 1 excluded: warm-up (470 Mbit/s)`.
fn excluded_run(one: &ExcludedRun, series: &Series, style: &Style) -> String {
    let reason = match one.reason {
        ExclusionReason::WarmUp => "warm-up",
        ExclusionReason::Interrupted => "interrupted",
        ExclusionReason::Failed => "failed",
    };
    let main = series
        .quantities
        .iter()
        .find(|spread| spread.kind.is_main());
    let value = main.and_then(|spread| {
        let value = (*spread.values.get(one.run as usize - 1)?)?;
        Some(match spread.kind.quantity {
            Quantity::BitsPerSecond => format!(" ({})", rate(value, style.format)),
            _ => format!(" ({} ms)", digits(value)),
        })
    });
    format!(
        "run {} excluded: {reason}{}",
        one.run,
        value.unwrap_or_default()
    )
}

/// That the requested interval was not reached, and what it is.
pub(crate) fn unreached(series: &Series) -> Option<String> {
    let requested = series.requested_width_percent?;
    if series.precise_enough != Some(false) {
        return None;
    }
    let widths = series
        .quantities
        .iter()
        .filter(|spread| spread.kind.is_main());
    let widest = widths.filter_map(|spread| spread.ci_width_percent);
    let runs = counted(series.runs.into(), "run");
    Some(match widest.max_by(f64::total_cmp) {
        Some(widest) => format!(
            "after {runs} the confidence interval is {} of the mean wide, not the requested {}",
            share(widest),
            share(requested)
        ),
        None => format!("after {runs} there is no confidence interval: too few of them count"),
    })
}
