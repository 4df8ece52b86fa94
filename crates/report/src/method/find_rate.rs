//! What `find-rate` comes to: the highest rates whose loss stays within a goal.

use serde::Serialize;
use tapeline_base::FormatLetter;

use super::figure::{Chart, ChartKind, ChartSeries, CsvTable, Mark, Quantity, cell};
use super::page::{MethodHead, PageStyle};
use super::pass::Criterion;
use super::phase::Direction;
use super::result::MethodResult;
use crate::native::{digits, hanging, rate_words};

/// What `find-rate` comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindRateResult {
    /// To the server.
    pub up: Option<DirectionRates>,
    /// From the server.
    pub down: Option<DirectionRates>,
}

/// The searches of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionRates {
    /// One for each size and goal.
    pub searches: Vec<RateFinding>,
    /// Ethernet frames that are too small for a datagram of a test, bytes.
    pub skipped_frame_bytes: Vec<u32>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RateFound {
    /// Both bounds are known.
    Found,
    /// The highest rate that was tried passes.
    AtLeast,
    /// The lowest rate that was tried fails.
    None,
    /// A host could not do more.
    Host,
}

/// What one search found for one goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateFinding {
    /// Payload of the datagrams, bytes.
    pub payload_bytes: u32,
    /// Their IP packets, bytes.
    pub packet_bytes: u32,
    /// Their Ethernet frames, bytes.
    pub frame_bytes: u32,
    /// Loss that is acceptable, percent.
    pub loss_goal_percent: f64,
    /// Length of a full trial.
    pub trial_seconds: f64,
    /// How it ended; `null` when it was ended before anything was certain.
    pub outcome: Option<RateFound>,
    /// Why it was ended early; `null` when it was not.
    pub ended_by: Option<String>,
    /// What rates count: `ip`.
    pub layer: &'static str,
    /// The highest rate that passes.
    pub lower_bits_per_second: Option<f64>,
    /// The smallest rate that loses too much.
    pub upper_bits_per_second: Option<f64>,
    /// What arrives at the lower one.
    pub conditional_bits_per_second: Option<f64>,
    /// Packets of the lower one.
    pub packets_per_second: Option<f64>,
    /// The lower one with Ethernet headers and check sums.
    pub ethernet_bits_per_second: Option<f64>,
    /// The same on the line, with preambles and gaps.
    pub line_bits_per_second: Option<f64>,
    /// Distance of both, relative to the upper one, percent.
    pub resolution_percent: Option<f64>,
    /// Full trials at the lower one, and what is certain of their loss.
    pub confidence: Option<RateConfidence>,
    /// A trial at the lower one, with delays.
    pub at_rate: Option<TrialDelays>,
    /// With `--loss-curve`: from the first rate that lost too much downwards.
    pub loss_curve: Option<Vec<RateTrial>>,
    /// Every trial, in order; searches of several goals share them.
    pub trials: Vec<RateTrial>,
    /// How long all trials took, with the pauses between them.
    pub seconds: f64,
}

/// What is certain of a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateConfidence {
    /// Datagrams sent.
    pub sent: u64,
    /// Of them lost.
    pub lost: u64,
    /// The loss is above that at 95 %.
    pub lost_above_percent: f64,
    /// The loss is below that at 95 %.
    pub lost_below_percent: f64,
}

/// Whether a trial kept within a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// It lost no more.
    Passes,
    /// It lost more.
    TooMuch,
    /// A host, not the network, decided it.
    Host,
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateTrial {
    /// The load, at the IP layer.
    pub bits_per_second: f64,
    /// Its packets.
    pub packets_per_second: f64,
    /// Its length.
    pub seconds: f64,
    /// Datagrams sent.
    pub sent: u64,
    /// Of them lost.
    pub lost: u64,
    /// Of these dropped by a host; `null` where the hosts cannot tell.
    pub lost_host: Option<u64>,
    /// Whether it kept within the goal.
    pub verdict: TrialVerdict,
    /// What a host did, where that decided it.
    pub reason: Option<String>,
}

impl RateTrial {
    fn loss_words(&self) -> String {
        let share = self.lost as f64 * 100.0 / self.sent.max(1) as f64;
        match self.lost {
            0 => "0".to_owned(),
            lost if share < 1.0 => lost.to_string(),
            _ => format!("{} %", digits(share)),
        }
    }
}

/// A trial with delays.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialDelays {
    /// Its length.
    pub seconds: f64,
    /// Datagrams sent.
    pub sent: u64,
    /// Of them lost.
    pub lost: u64,
    /// What the delays are: `one_way` or `round_trip`; `null` where none is known.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["one_way", "round_trip", null])))]
    pub delay_source: Option<&'static str>,
    /// Median delay.
    pub delay_p50_ms: Option<f64>,
    /// 90 % are below that.
    pub delay_p90_ms: Option<f64>,
    /// 99 % are below that.
    pub delay_p99_ms: Option<f64>,
    /// The longest.
    pub delay_max_ms: Option<f64>,
    /// Jitter (RFC 3550).
    pub jitter_ms: Option<f64>,
    /// Runs of consecutive losses.
    pub loss_runs: Option<u64>,
    /// Datagrams of the longest one.
    pub longest_loss_run: Option<u64>,
}

impl TrialDelays {
    fn words(&self) -> Option<String> {
        let mut said = Vec::new();
        if let Some(median) = self.delay_p50_ms {
            let delay = match self.delay_source {
                Some("round_trip") => "round trip",
                _ => "delay",
            };
            // Two clocks may differ by more.
            let digits = |millis: f64| digits(millis.max(0.0));
            let last = match self.delay_p99_ms {
                Some(late) => format!(", {} p99", digits(late)),
                None => String::new(),
            };
            said.push(format!("{delay} {} ms median{last}", digits(median)));
        }
        if let Some(jitter) = self.jitter_ms {
            said.push(format!("jitter {} ms", digits(jitter)));
        }
        if self.lost > 0 {
            let runs = match (self.loss_runs, self.longest_loss_run) {
                (Some(runs), Some(longest)) => {
                    format!(" in {runs} bursts, the longest of {longest}")
                }
                _ => String::new(),
            };
            said.push(format!("{} of {} lost{runs}", self.lost, self.sent));
        }
        (!said.is_empty()).then(|| format!("at that rate: {}", said.join(", ")))
    }
}

impl RateFinding {
    fn goal_words(&self) -> String {
        match self.loss_goal_percent {
            0.0 => "without loss".to_owned(),
            goal => format!("with at most {goal} % lost"),
        }
    }

    /// The heading, as far as it differs from search to search.
    fn title(&self, direction: Direction) -> String {
        format!(
            "{direction}, {}-byte datagrams, loss {} %, trials of {} s",
            self.payload_bytes, self.loss_goal_percent, self.trial_seconds
        )
    }

    /// Loads of full trials, and the load that ended the rise; with their trials.
    fn rows(&self) -> Vec<Vec<&RateTrial>> {
        let full = |trial: &&RateTrial| trial.seconds >= self.trial_seconds * 0.999;
        let first_bad = self
            .trials
            .iter()
            .find(|trial| trial.verdict == TrialVerdict::TooMuch);
        let mut rows: Vec<Vec<&RateTrial>> = Vec::new();
        for trial in &self.trials {
            let shown = full(&trial)
                || trial.verdict == TrialVerdict::Host
                || first_bad.is_some_and(|first| std::ptr::eq(first, trial));
            let same = rows.iter_mut().find(|row| {
                row[0].bits_per_second == trial.bits_per_second && row[0].seconds == trial.seconds
            });
            match same {
                _ if !shown => {}
                Some(row) => row.push(trial),
                None => rows.push(vec![trial]),
            }
        }
        rows
    }

    /// What the trials of a row came to.
    fn row_words(&self, row: &[&RateTrial]) -> String {
        let count = |verdict| row.iter().filter(|trial| trial.verdict == verdict).count();
        let (good, bad) = (count(TrialVerdict::Passes), count(TrialVerdict::TooMuch));
        let full = row[0].seconds >= self.trial_seconds * 0.999;
        let lower = self.lower_bits_per_second == Some(row[0].bits_per_second);
        if let Some(reason) = row.iter().rev().find_map(|trial| trial.reason.as_ref())
            && good + bad == 0
        {
            return format!("not counted: {reason}");
        }
        match (good, bad) {
            (good, 0) if good > 0 && lower && good == 1 && full => {
                "passes (another trial could not change that)".to_owned()
            }
            (_, 0) => "passes".to_owned(),
            (0, bad) if full && bad > 1 => format!("too much ({bad} of {bad})"),
            (0, _) => "too much".to_owned(),
            (good, bad) if good >= bad => format!("passes ({good} of {})", good + bad),
            (good, bad) => format!("too much ({bad} of {})", good + bad),
        }
    }

    fn table(&self, style: &PageStyle) -> Vec<String> {
        let mut lines = vec![format!(
            "  {:>11} {:>8} {:>8}   {:<27}rate is IP layer",
            "rate Mbit/s", "pkt/s", "lost", "verdict"
        )];
        let rows = self.rows();
        if rows.is_empty() {
            lines.clear();
        }
        for row in rows {
            let worst = row.iter().max_by_key(|trial| trial.lost).expect("a trial");
            let head = format!(
                "  {:>11} {:>8} {:>8}   ",
                four_digits(row[0].bits_per_second / 1e6),
                row[0].packets_per_second.round(),
                worst.loss_words()
            );
            lines.extend(hanging(&head, &self.row_words(&row), style.width));
        }
        lines
    }

    /// What was found, in sentences.
    fn words(&self, format: FormatLetter) -> String {
        let rate = |rate: f64| rate_words(rate, format);
        let goal = self.goal_words();
        let lower = self.lower_bits_per_second.map(rate);
        let trials = self.trials.len();
        let plural = if trials == 1 { "" } else { "s" };
        let cost = format!("{trials} trial{plural}, {} s.", self.seconds.round());
        let found = match (self.outcome, lower) {
            (Some(RateFound::Found), Some(lower)) => {
                let packets = self.packets_per_second.unwrap_or_default().round();
                let upper = self.upper_bits_per_second.unwrap_or_default() / 1e6;
                let more = match self.loss_goal_percent {
                    0.0 => "loses packets",
                    _ => "loses more",
                };
                let upper = four_digits(upper);
                format!("highest rate {goal}: {lower} ({packets} packets/s); {upper} {more}.")
            }
            (Some(RateFound::AtLeast), Some(lower)) if self.ended_by.is_some() => {
                format!("highest rate {goal}: at least {lower}.")
            }
            (Some(RateFound::AtLeast), Some(lower)) => {
                format!("highest rate {goal}: at least {lower}, the highest that was tried.")
            }
            (Some(RateFound::Host), lower) => {
                let invalid = self.trials.iter().rev();
                let reason = invalid.filter_map(|trial| trial.reason.as_deref()).next();
                let reason = reason.unwrap_or("a host decided the trials above that");
                match lower {
                    Some(lower) => format!(
                        "highest rate {goal}: at least {lower}; the limit is a computer's, not the network's: {reason}."
                    ),
                    None => format!("highest rate {goal}: not found, because {reason}."),
                }
            }
            (Some(RateFound::None), _) => self.nothing_words(),
            _ => format!("highest rate {goal}: not found."),
        };
        match &self.ended_by {
            Some(why) => format!("{found} {cost} Ended early: {why}."),
            None => format!("{found} {cost}"),
        }
    }

    fn nothing_words(&self) -> String {
        let lowest = self
            .trials
            .iter()
            .filter(|trial| trial.verdict != TrialVerdict::Host)
            .map(|trial| trial.bits_per_second)
            .fold(f64::INFINITY, f64::min);
        let there = self.trials.iter();
        let there = there.filter(|trial| trial.bits_per_second == lowest);
        let (sent, lost) = there.fold((0, 0), |(sent, lost), trial| {
            (sent + trial.sent, lost + trial.lost)
        });
        let loss = lost as f64 * 100.0 / sent.max(1) as f64;
        let interval = tapeline_stats::loss_interval(lost, sent).unwrap_or((0.0, 1.0));
        let half = (interval.1 - interval.0) * 50.0;
        // More than what was seen, in steps of half a percent.
        let advice = ((loss + half) * 2.0).ceil() / 2.0;
        let rate = rate_words(lowest, FormatLetter::BITS);
        let goal = match self.loss_goal_percent {
            0.0 => "no rate is free of loss".to_owned(),
            goal => format!("no rate loses {goal} % or less"),
        };
        format!(
            "Packets are lost even at {rate} ({} % +/- {}): {goal}. Try --loss {advice}.",
            digits(loss),
            digits(half)
        )
    }

    fn confidence_words(&self) -> Option<String> {
        let confidence = self.confidence?;
        let below = digits(confidence.lost_below_percent);
        let (lost, sent) = (confidence.lost, confidence.sent);
        Some(match lost {
            0 => format!("{lost} of {sent} lost: below {below} % at 95 % confidence"),
            _ => format!(
                "{lost} of {sent} lost: {} to {below} % at 95 % confidence",
                digits(confidence.lost_above_percent)
            ),
        })
    }

    fn is_host_limited(&self) -> bool {
        self.outcome == Some(RateFound::Host)
    }
}

/// `64.00`, `49.90`, `0.1000`: one digit more than elsewhere, because bounds lie close together.
fn four_digits(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 0.99995 => 4,
        units if units < 9.9995 => 3,
        tens if tens < 99.995 => 2,
        hundreds if hundreds < 999.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

impl FindRateResult {
    /// The directions that were searched.
    fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionRates)> {
        let both = [(Direction::Up, &self.up), (Direction::Down, &self.down)];
        both.into_iter()
            .filter_map(|(direction, one)| Some((direction, one.as_ref()?)))
    }

    fn searches(&self) -> impl Iterator<Item = (Direction, &RateFinding)> {
        self.directions().flat_map(|(direction, rates)| {
            let searches = rates.searches.iter();
            searches.map(move |search| (direction, search))
        })
    }

    /// The rate of the first search of a direction.
    fn rate(&self, direction: Direction) -> Option<f64> {
        let mut searches = self.searches();
        let first = searches.find(|(other, _)| *other == direction);
        first.and_then(|(_, search)| search.lower_bits_per_second)
    }
}

const COLUMNS: [&str; 11] = [
    "direction",
    "payload_bytes",
    "loss_goal_percent",
    "trial",
    "bits_per_second",
    "packets_per_second",
    "seconds",
    "sent",
    "lost",
    "lost_host",
    "verdict",
];

impl MethodResult for FindRateResult {
    const CRITERIA: &'static [Criterion] = &[
        Criterion::rate(Direction::Up),
        Criterion::rate(Direction::Down),
    ];

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        let mut lines = Vec::new();
        for direction in &head.directions {
            let searches = self.searches();
            let mut searches = searches.filter(|(other, _)| other == direction).peekable();
            if searches.peek().is_none() {
                let said = format!("find-rate to {} {direction}: ", head.target());
                lines.extend(hanging("", &(said + head.missing()), style.width));
            }
            for (_, search) in searches {
                let title = format!(
                    "find-rate to {} {}",
                    head.target(),
                    search.title(*direction)
                );
                lines.extend(hanging("", &title, style.width));
                lines.extend(search.table(style));
                lines.extend(hanging("", &search.words(style.format), style.width));
                let delays = search.at_rate.as_ref().and_then(TrialDelays::words);
                for said in [search.confidence_words(), delays].into_iter().flatten() {
                    lines.extend(hanging("", &said, style.width));
                }
                for one in search.loss_curve.iter().flatten() {
                    lines.push(format!(
                        "  loss curve {:>11} Mbit/s {:>8} lost",
                        four_digits(one.bits_per_second / 1e6),
                        one.loss_words()
                    ));
                }
            }
        }
        for (direction, rates) in self.directions() {
            if !rates.skipped_frame_bytes.is_empty() {
                let frames: Vec<String> = rates
                    .skipped_frame_bytes
                    .iter()
                    .map(u32::to_string)
                    .collect();
                let said = format!(
                    "{direction}: frames of {} bytes are too small for a datagram of a test",
                    frames.join(", ")
                );
                lines.extend(hanging("", &said, style.width));
            }
        }
        lines.join("\n") + "\n"
    }

    fn verdict(&self) -> String {
        let said: Vec<String> = self
            .searches()
            .map(|(direction, search)| {
                let rate = search.lower_bits_per_second;
                let rate = rate.map(|rate| rate_words(rate, FormatLetter::BITS));
                let goal = search.goal_words();
                let size = search.payload_bytes;
                match (search.outcome, rate) {
                    (Some(RateFound::Found), Some(rate)) => {
                        format!("{rate} {direction} {goal} ({size}-byte datagrams)")
                    }
                    (Some(RateFound::AtLeast | RateFound::Host), Some(rate)) => {
                        format!("at least {rate} {direction} {goal} ({size}-byte datagrams)")
                    }
                    (Some(RateFound::None), _) => format!("no rate {direction} {goal}"),
                    _ => format!("not found {direction} {goal}"),
                }
            })
            .collect();
        match said.is_empty() {
            true => "No rate was searched.".to_owned(),
            false => format!("Highest rate of IP packets: {}.", said.join("; ")),
        }
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&COLUMNS);
        for (direction, search) in self.searches() {
            for (number, trial) in search.trials.iter().enumerate() {
                let verdict = serde_json::to_value(trial.verdict);
                let verdict = verdict
                    .ok()
                    .and_then(|word| word.as_str().map(str::to_owned));
                table.push(vec![
                    direction.to_string(),
                    search.payload_bytes.to_string(),
                    search.loss_goal_percent.to_string(),
                    (number + 1).to_string(),
                    trial.bits_per_second.to_string(),
                    format!("{:.3}", trial.packets_per_second),
                    trial.seconds.to_string(),
                    trial.sent.to_string(),
                    trial.lost.to_string(),
                    cell(trial.lost_host),
                    cell(verdict),
                ]);
            }
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let mut quantities = Vec::new();
        for (direction, rates) in self.directions() {
            for (number, search) in rates.searches.iter().enumerate() {
                // The first has the plain name; further sizes and goals are told apart.
                let name = match number {
                    0 => format!("rate.{direction}"),
                    _ => format!(
                        "rate.{direction}.{}.{}",
                        search.payload_bytes, search.loss_goal_percent
                    ),
                };
                let value = search.lower_bits_per_second;
                quantities.push(Quantity::new(name, value, "bits_per_second"));
            }
        }
        quantities
    }

    fn charts(&self) -> Vec<Chart> {
        let series: Vec<ChartSeries> = self
            .searches()
            .map(|(direction, search)| {
                let counted = search.trials.iter();
                let counted = counted.filter(|trial| trial.verdict != TrialVerdict::Host);
                let mut points: Vec<(f64, Option<f64>)> = counted
                    .chain(search.loss_curve.iter().flatten())
                    .map(|trial| {
                        let loss = trial.lost as f64 * 100.0 / trial.sent.max(1) as f64;
                        (trial.bits_per_second / 1e6, Some(loss))
                    })
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                ChartSeries {
                    name: format!(
                        "{direction}, {} bytes, goal {} %",
                        search.payload_bytes, search.loss_goal_percent
                    ),
                    mark: Mark::Dots,
                    points,
                }
            })
            .collect();
        vec![Chart {
            title: "Lost".to_owned(),
            kind: ChartKind::Percent,
            abscissa: "load at the IP layer, Mbit/s".to_owned(),
            series,
        }]
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let rate = self.rate(Direction::named(name)?);
        rate.map(|rate| rate / 1e6)
    }

    fn host_limited(&self) -> bool {
        self.searches().any(|(_, search)| search.is_host_limited())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(rate: f64, seconds: f64, lost: u64, verdict: TrialVerdict) -> RateTrial {
        let packets = rate / 12_000.0;
        RateTrial {
            bits_per_second: rate,
            packets_per_second: packets,
            seconds,
            sent: (packets * seconds) as u64,
            lost,
            lost_host: Some(0),
            verdict,
            reason: None,
        }
    }

    fn finding() -> RateFinding {
        RateFinding {
            payload_bytes: 1472,
            packet_bytes: 1500,
            frame_bytes: 1518,
            trial_seconds: 5.0,
            outcome: Some(RateFound::Found),
            layer: "ip",
            lower_bits_per_second: Some(49.9e6),
            upper_bits_per_second: Some(50.15e6),
            packets_per_second: Some(4158.3),
            confidence: Some(RateConfidence {
                sent: 20_790,
                lost: 0,
                lost_above_percent: 0.0,
                lost_below_percent: 0.01443,
            }),
            at_rate: Some(TrialDelays {
                seconds: 5.0,
                sent: 20_790,
                delay_source: Some("one_way"),
                delay_p50_ms: Some(20.41),
                delay_p99_ms: Some(24.9),
                jitter_ms: Some(0.03),
                ..TrialDelays::default()
            }),
            trials: vec![
                trial(32e6, 1.0, 0, TrialVerdict::Passes),
                trial(64e6, 1.0, 1168, TrialVerdict::TooMuch),
                trial(49.9e6, 5.0, 0, TrialVerdict::Passes),
                trial(50.15e6, 5.0, 17, TrialVerdict::TooMuch),
                trial(50.15e6, 5.0, 12, TrialVerdict::TooMuch),
            ],
            seconds: 42.1,
            ..RateFinding::default()
        }
    }

    fn result(finding: RateFinding) -> FindRateResult {
        FindRateResult {
            up: Some(DirectionRates {
                searches: vec![finding],
                skipped_frame_bytes: Vec::new(),
            }),
            down: None,
        }
    }

    fn head() -> MethodHead {
        MethodHead {
            method: "find-rate",
            host: "192.0.2.10".into(),
            address: Some([192, 0, 2, 10].into()),
            directions: vec![Direction::Up],
            ..MethodHead::default()
        }
    }

    /// The page, as one line.
    fn said(finding: RateFinding) -> String {
        let page = result(finding).page(&head(), &PageStyle::default());
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_page_of_the_specification() {
        let page = result(finding()).page(&head(), &PageStyle::default());
        assert_eq!(
            page,
            "\
find-rate to 192.0.2.10 up, 1472-byte datagrams, loss 0 %, trials of 5 s
  rate Mbit/s    pkt/s     lost   verdict                    rate is IP layer
        64.00     5333   21.9 %   too much
        49.90     4158        0   passes (another trial could not change that)
        50.15     4179       17   too much (2 of 2)
highest rate without loss: 49.9 Mbit/s (4158 packets/s); 50.15 loses packets. 5
trials, 42 s.
0 of 20790 lost: below 0.014 % at 95 % confidence
at that rate: delay 20.4 ms median, 24.9 p99, jitter 0.030 ms
"
        );
    }

    #[test]
    fn every_outcome_has_its_sentence() {
        let none = said(RateFinding {
            outcome: Some(RateFound::None),
            lower_bits_per_second: None,
            confidence: None,
            at_rate: None,
            trials: vec![trial(120_000.0, 400.0, 39, TrialVerdict::TooMuch)],
            ..finding()
        });
        let wanted = "Packets are lost even at 120 kbit/s (0.975 % +/- 0.308): no rate is free of \
                      loss. Try --loss 1.5.";
        assert!(none.contains(wanted), "{none}");
        let most = said(RateFinding {
            outcome: Some(RateFound::AtLeast),
            ..finding()
        });
        assert!(
            most.contains("at least 49.9 Mbit/s, the highest that was tried."),
            "{most}"
        );
        let mut late = trial(128e6, 1.0, 0, TrialVerdict::Host);
        late.reason = Some("this computer sent 99.1 of 128 Mbit/s".into());
        let host = said(RateFinding {
            outcome: Some(RateFound::Host),
            trials: vec![late],
            ..finding()
        });
        assert!(
            host.contains("not counted: this computer sent 99.1"),
            "{host}"
        );
        assert!(host.contains("the limit is a computer's, not the network's: this computer"));
        let ended = said(RateFinding {
            outcome: None,
            lower_bits_per_second: None,
            ended_by: Some("the budget is used up".into()),
            ..finding()
        });
        assert!(ended.contains("not found. 5 trials, 42 s. Ended early: the budget is used up."));
        assert!(ended.contains("verdict"), "{ended}");
        let at_once = said(RateFinding {
            outcome: None,
            lower_bits_per_second: None,
            trials: Vec::new(),
            ..finding()
        });
        // A head without rows would be none of a table.
        assert!(!at_once.contains("verdict"), "{at_once}");
        let behind = TrialDelays {
            delay_p50_ms: Some(-0.003),
            delay_p99_ms: None,
            ..finding().at_rate.expect("delays")
        };
        let words = behind.words().expect("words");
        assert!(words.contains("delay 0 ms median"), "{words}");
        let missing = FindRateResult::default().page(&head(), &PageStyle::default());
        assert_eq!(
            missing,
            "find-rate to 192.0.2.10 up: not known with this peer\n"
        );
    }

    #[test]
    fn numbers_for_machines() {
        let result = result(finding());
        let json = serde_json::to_value(&result).expect("JSON");
        let search = &json["up"]["searches"][0];
        assert_eq!(search["outcome"], "found");
        assert_eq!(search["trials"][1]["verdict"], "too-much");
        assert_eq!(search["confidence"]["lost_below_percent"], 0.01443);
        assert_eq!(result.csv().rows.len(), 5);
        assert_eq!(result.csv().rows[1][10], "too-much");
        assert_eq!(result.quantities()[0].name, "rate.up");
        assert_eq!(result.criterion("up"), Some(49.9));
        assert!(!result.host_limited());
        assert_eq!(
            result.verdict(),
            "Highest rate of IP packets: 49.9 Mbit/s up without loss (1472-byte datagrams)."
        );
    }
}
