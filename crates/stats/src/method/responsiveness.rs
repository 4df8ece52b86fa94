//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-09): round trips per minute, and
//! when goodput and they have settled.
//!
//! ```text
//!  interval ─► goodput, mean of the last 4 ─► stable? ─ yes, or time over ─► probes, RPM of the last 4 ─► stable? ─► end
//!              └────────── saturation ───────────────┘                     └────────── responsiveness ────────┘
//! ```

use std::collections::VecDeque;

use crate::confidence::trimmed_mean;
use crate::moments::Moments;

/// Milliseconds in a minute.
const MINUTE: f64 = 60_000.0;

/// The constants of the draft under the names that it has for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponsivenessConstants {
    /// `mad`: intervals of the moving averages.
    pub distance: usize,
    /// `id`: length of an interval, seconds.
    pub interval: f64,
    /// `tmp`: share of the samples that is kept, 0.95 for 95 %; the slowest go.
    pub kept: f64,
    /// `sdt`: standard deviation below which averages are stable, as a share of the last one.
    pub tolerance: f64,
    /// `inp`: connections at the beginning.
    pub initial: usize,
    /// `inc`: connections added each interval.
    pub added: usize,
    /// `mnp`: most connections.
    pub most: usize,
    /// `mps`: pairs of probes per second.
    pub probes: f64,
    /// `ptc`: share of the goodput that probes may take.
    pub share: f64,
}

impl Default for ResponsivenessConstants {
    /// Those of revision 09, but for the interval: 1 s as up to revision 08, since 5 s need 40 s for a direction.
    fn default() -> Self {
        Self {
            distance: 4,
            interval: 1.0,
            kept: 0.95,
            tolerance: 0.05,
            initial: 1,
            added: 1,
            most: 16,
            probes: 100.0,
            share: 0.05,
        }
    }
}

impl ResponsivenessConstants {
    /// The revision that they are from.
    pub const DRAFT: &'static str = "09";
    /// Its interval, seconds.
    pub const DRAFT_INTERVAL: f64 = 5.0;

    /// The draft's names of the constants.
    pub const NAMES: [&'static str; 9] =
        ["mad", "id", "tmp", "sdt", "inp", "inc", "mnp", "mps", "ptc"];

    /// Sets a constant by the draft's name; shares are in percent.
    ///
    /// # Errors
    /// The range in words, when the value is outside of it, or `None` when there is no such constant.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Option<&'static str>> {
        let count = |value: f64, least: usize, most: usize, range| {
            let whole = value.fract() == 0.0;
            let fits = whole && (least as f64..=most as f64).contains(&value);
            if fits {
                Ok(value as usize)
            } else {
                Err(Some(range))
            }
        };
        let within = |value: f64, least: f64, most: f64, range| {
            if (least..=most).contains(&value) {
                Ok(value)
            } else {
                Err(Some(range))
            }
        };
        match name {
            "mad" => self.distance = count(value, 2, 20, "a whole number from 2 to 20")?,
            "id" => self.interval = within(value, 0.5, 30.0, "0.5 to 30 s")?,
            "tmp" => self.kept = within(value, 50.0, 100.0, "50 to 100 percent")? / 100.0,
            "sdt" => self.tolerance = within(value, 0.1, 50.0, "0.1 to 50 percent")? / 100.0,
            "inp" => self.initial = count(value, 1, 64, "a whole number from 1 to 64")?,
            "inc" => self.added = count(value, 1, 64, "a whole number from 1 to 64")?,
            "mnp" => self.most = count(value, 1, 64, "a whole number from 1 to 64")?,
            "mps" => self.probes = within(value, 1.0, 200.0, "1 to 200 per second")?,
            "ptc" => self.share = within(value, 0.1, 50.0, "0.1 to 50 percent")? / 100.0,
            _ => return Err(None),
        }
        Ok(())
    }

    /// Connections in interval number `interval` (from 0).
    #[must_use]
    pub fn flows(&self, interval: usize) -> usize {
        let grown = self
            .initial
            .saturating_add(self.added.saturating_mul(interval));
        grown.min(self.most).max(1)
    }
}

/// The draft's words for a number of round trips per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResponsivenessClass {
    /// Below 300: a round trip takes more than 200 ms.
    Poor,
    /// Below 1000: more than 60 ms.
    Fair,
    /// Below 6000: more than 10 ms.
    Good,
    /// From 6000 on.
    Excellent,
}

impl ResponsivenessClass {
    /// The class of so many round trips per minute.
    #[must_use]
    pub fn of(rpm: f64) -> Self {
        match rpm {
            rpm if rpm < 300.0 => Self::Poor,
            rpm if rpm < 1000.0 => Self::Fair,
            rpm if rpm < 6000.0 => Self::Good,
            _ => Self::Excellent,
        }
    }

    /// `poor`, `fair`, `good` or `excellent`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }
}

/// Delays that probes saw, milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelaySamples {
    /// `tcp_f`: connecting.
    pub connect: Vec<f64>,
    /// `tls_f`: a round trip of TLS; without TLS nothing.
    pub tls: Vec<f64>,
    /// `http_f`: the answer of one byte on the new connection.
    pub answer: Vec<f64>,
    /// `self`: on the connections that load the path.
    pub own: Vec<f64>,
}

impl DelaySamples {
    /// Puts in what `other` has.
    pub fn merge(&mut self, other: &Self) {
        self.connect.extend_from_slice(&other.connect);
        self.tls.extend_from_slice(&other.tls);
        self.answer.extend_from_slice(&other.answer);
        self.own.extend_from_slice(&other.own);
    }

    /// Mean delay of new connections, milliseconds: the mean of the trimmed means of their parts.
    #[must_use]
    pub fn foreign_delay(&self, kept: f64) -> Option<f64> {
        let connect = trimmed_mean(&self.connect, kept)?;
        let answer = trimmed_mean(&self.answer, kept)?;
        let tls = trimmed_mean(&self.tls, kept);
        let parts: Moments = [connect, answer].into_iter().chain(tls).collect();
        Some(parts.mean)
    }

    /// Mean delay on the connections that load the path, milliseconds.
    #[must_use]
    pub fn own_delay(&self, kept: f64) -> Option<f64> {
        trimmed_mean(&self.own, kept)
    }

    /// Round trips per minute on new connections.
    #[must_use]
    pub fn foreign_rpm(&self, kept: f64) -> Option<f64> {
        per_minute(self.foreign_delay(kept)?)
    }

    /// Round trips per minute on the connections that load the path.
    #[must_use]
    pub fn own_rpm(&self, kept: f64) -> Option<f64> {
        per_minute(self.own_delay(kept)?)
    }

    /// Round trips per minute under load: the mean of both. Nothing if one is not known.
    #[must_use]
    pub fn rpm(&self, kept: f64) -> Option<f64> {
        Some(f64::midpoint(self.foreign_rpm(kept)?, self.own_rpm(kept)?))
    }

    /// Complete pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        let foreign = self.connect.len().min(self.answer.len());
        foreign.min(self.own.len())
    }
}

fn per_minute(delay: f64) -> Option<f64> {
    (delay > 0.0).then_some(MINUTE / delay)
}

/// What the search is looking for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStage {
    /// Goodput that no further connection raises.
    Goodput,
    /// Round trips per minute that stay.
    Responsiveness,
    /// Nothing any more.
    Over,
}

/// How sure the result of a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageConfidence {
    /// Fewer intervals than a moving average has.
    Low,
    /// Enough intervals, and never stable.
    Medium,
    /// Stable.
    High,
}

impl StageConfidence {
    /// `low`, `medium` or `high`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What an interval came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResponsivenessInterval {
    /// Bytes that the receivers read.
    pub bytes: u64,
    /// Its length, seconds.
    pub seconds: f64,
    /// The probes that were answered in it.
    pub samples: DelaySamples,
}

/// Both stages for one direction.
#[derive(Clone, Debug)]
pub struct ResponsivenessSearch {
    constants: ResponsivenessConstants,
    /// Intervals after which a stage is over even if nothing is stable.
    limit: usize,
    stage: SearchStage,
    /// The last intervals, at most `distance`.
    last: VecDeque<ResponsivenessInterval>,
    goodput: Stage,
    responsiveness: Stage,
    /// Complete pairs of probes in the second stage.
    pairs: usize,
}

/// The averages of one stage.
#[derive(Clone, Debug, Default)]
struct Stage {
    averages: Vec<f64>,
    intervals: usize,
    is_stable: bool,
}

impl Stage {
    /// Takes the average of an interval.
    fn add(&mut self, average: Option<f64>, constants: &ResponsivenessConstants) {
        self.intervals += 1;
        let Some(average) = average else {
            // What lies on both sides of a gap does not follow each other.
            self.averages.clear();
            return;
        };
        self.averages.push(average);
        let Some(first) = self.averages.len().checked_sub(constants.distance) else {
            return;
        };
        let last: Moments = self.averages[first..].iter().copied().collect();
        self.is_stable = population_deviation(&last) < constants.tolerance * average;
    }

    fn confidence(&self, constants: &ResponsivenessConstants) -> StageConfidence {
        if self.is_stable {
            StageConfidence::High
        } else if self.intervals >= constants.distance {
            StageConfidence::Medium
        } else {
            StageConfidence::Low
        }
    }
}

/// The deviation that divides by the number of values, as goresponsiveness does; the draft does not say.
fn population_deviation(values: &Moments) -> f64 {
    let count = values.count as f64;
    if values.count < 2 {
        return 0.0;
    }
    values.stdev() * ((count - 1.0) / count).sqrt()
}

impl ResponsivenessSearch {
    /// A search whose stages last at most `limit` intervals each.
    #[must_use]
    pub fn new(constants: ResponsivenessConstants, limit: usize) -> Self {
        Self {
            constants,
            limit: limit.max(1),
            stage: SearchStage::Goodput,
            last: VecDeque::new(),
            goodput: Stage::default(),
            responsiveness: Stage::default(),
            pairs: 0,
        }
    }

    /// Takes an interval; returns what is looked for next.
    pub fn add(&mut self, interval: ResponsivenessInterval) -> SearchStage {
        match self.stage {
            SearchStage::Goodput => {
                self.push(interval);
                let average = self.average_goodput();
                self.goodput.add(average, &self.constants);
                if self.goodput.is_stable || self.goodput.intervals >= self.limit {
                    self.stage = SearchStage::Responsiveness;
                }
            }
            SearchStage::Responsiveness => {
                if self.responsiveness.intervals == 0 {
                    // Probes of the first stage saw queues that were still growing.
                    for former in &mut self.last {
                        former.samples = DelaySamples::default();
                    }
                }
                self.pairs += interval.samples.pairs();
                self.push(interval);
                let rpm = self.samples().rpm(self.constants.kept);
                self.responsiveness.add(rpm, &self.constants);
                if self.responsiveness.is_stable || self.responsiveness.intervals >= self.limit {
                    self.stage = SearchStage::Over;
                }
            }
            SearchStage::Over => {}
        }
        self.stage
    }

    fn push(&mut self, interval: ResponsivenessInterval) {
        if self.last.len() >= self.constants.distance.max(1) {
            self.last.pop_front();
        }
        self.last.push_back(interval);
    }

    fn average_goodput(&self) -> Option<f64> {
        let bytes: u64 = self.last.iter().map(|interval| interval.bytes).sum();
        let seconds: f64 = self.last.iter().map(|interval| interval.seconds).sum();
        (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
    }

    /// Where the search is.
    #[must_use]
    pub const fn stage(&self) -> SearchStage {
        self.stage
    }

    /// Goodput of the last intervals, bits per second.
    #[must_use]
    pub fn goodput(&self) -> Option<f64> {
        self.average_goodput()
    }

    /// The probes that count now: those of the last intervals.
    #[must_use]
    pub fn samples(&self) -> DelaySamples {
        let mut all = DelaySamples::default();
        for interval in &self.last {
            all.merge(&interval.samples);
        }
        all
    }

    /// Complete pairs of probes in the second stage.
    #[must_use]
    pub const fn pairs(&self) -> usize {
        self.pairs
    }

    /// How sure the goodput is.
    #[must_use]
    pub fn goodput_confidence(&self) -> StageConfidence {
        self.goodput.confidence(&self.constants)
    }

    /// How sure the round trips per minute are.
    #[must_use]
    pub fn confidence(&self) -> StageConfidence {
        self.responsiveness.confidence(&self.constants)
    }
}

/// How many bytes probes may take beside the load: a share of what the load moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeBudget {
    share: f64,
    spent: u64,
}

impl ProbeBudget {
    /// Nothing is spent.
    #[must_use]
    pub const fn new(share: f64) -> Self {
        Self { share, spent: 0 }
    }

    /// Takes `bytes` for a probe if the load's `moved` bytes so far leave room for them.
    pub fn take(&mut self, bytes: u64, moved: u64) -> bool {
        let wanted = self.spent.saturating_add(bytes);
        if wanted as f64 > self.share * moved as f64 {
            return false;
        }
        self.spent = wanted;
        true
    }

    /// A probe took more than was thought.
    pub const fn add(&mut self, bytes: u64) {
        self.spent = self.spent.saturating_add(bytes);
    }

    /// Bytes of all probes.
    #[must_use]
    pub const fn spent(&self) -> u64 {
        self.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const KEPT: f64 = 0.95;

    fn samples(connect: f64, tls: Option<f64>, answer: f64, own: f64) -> DelaySamples {
        DelaySamples {
            connect: vec![connect; 20],
            tls: tls.map(|tls| vec![tls; 20]).unwrap_or_default(),
            answer: vec![answer; 20],
            own: vec![own; 20],
        }
    }

    fn interval(megabits: f64, delay: f64) -> ResponsivenessInterval {
        ResponsivenessInterval {
            bytes: (megabits * 1e6 / 8.0).round() as u64,
            seconds: 1.0,
            samples: samples(delay, None, delay, delay),
        }
    }

    fn near(value: Option<f64>, expected: f64) {
        let value = value.expect("a value");
        assert!((value - expected).abs() < 0.05, "{value} != {expected}");
    }

    #[test]
    fn vectors_of_the_methods_document() {
        let mut delays: Vec<f64> = (1..100).map(f64::from).collect();
        delays.push(5000.0);
        assert_eq!(trimmed_mean(&delays, KEPT), Some(48.0));
        // With TLS: 25, 28 and 31 ms on new connections, 60 ms on those of the load.
        near(samples(25.0, Some(28.0), 31.0, 60.0).rpm(KEPT), 1571.4);
        let plain = samples(25.0, None, 31.0, 60.0);
        near(plain.foreign_rpm(KEPT), 2142.9);
        near(plain.own_rpm(KEPT), 1000.0);
        near(plain.rpm(KEPT), 1571.4);
    }

    #[test]
    fn a_missing_part_gives_no_number() {
        let mut lacking = samples(25.0, None, 31.0, 60.0);
        lacking.own.clear();
        assert_eq!(lacking.rpm(KEPT), None);
        near(lacking.foreign_rpm(KEPT), 2142.9);
        assert_eq!(lacking.pairs(), 0);
        assert_eq!(DelaySamples::default().foreign_delay(KEPT), None);
    }

    #[test]
    fn classes_end_where_the_draft_says() {
        let classes = [0.0, 299.9, 300.0, 999.9, 1000.0, 5999.9, 6000.0];
        let names = classes.map(|rpm| ResponsivenessClass::of(rpm).name());
        let expected = ["poor", "poor", "fair", "fair", "good", "good", "excellent"];
        assert_eq!(names, expected);
    }

    #[test]
    fn each_constant_of_the_draft_can_be_set_within_its_range() {
        let mut constants = ResponsivenessConstants::default();
        for name in ResponsivenessConstants::NAMES {
            assert_eq!(
                constants.set(name, 5.0),
                if name == "tmp" {
                    Err(Some("50 to 100 percent"))
                } else {
                    Ok(())
                }
            );
            assert!(matches!(constants.set(name, -1.0), Err(Some(_))), "{name}");
        }
        assert_eq!(constants.set("tmp", 90.0), Ok(()));
        assert_eq!(constants.set("nonsense", 1.0), Err(None));
        assert_eq!(
            constants.set("mad", 4.5),
            Err(Some("a whole number from 2 to 20"))
        );
        assert_eq!((constants.distance, constants.most), (5, 5));
        assert_eq!((constants.kept, constants.share), (0.9, 0.05));
    }

    #[test]
    fn connections_grow_by_one_up_to_the_most() {
        let constants = ResponsivenessConstants::default();
        let flows: Vec<usize> = [0, 1, 14, 15, 40].map(|i| constants.flows(i)).into();
        assert_eq!(flows, [1, 2, 15, 16, 16]);
    }

    #[test]
    fn the_deviation_divides_by_the_number_of_values() {
        let values: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .into_iter()
            .collect();
        assert!((population_deviation(&values) - 2.0).abs() < 1e-12);
    }

    /// Averages of a script are worked out by hand: 40, 43.3, 45, 46 (four intervals that rise), then 49, 50.
    #[test]
    fn goodput_is_saturated_when_four_averages_differ_by_less_than_a_twentieth() {
        let mut search = ResponsivenessSearch::new(ResponsivenessConstants::default(), 10);
        // 20, 30, 36.7, 40, 50, 50, 50, 50 on average.
        let script = [20.0, 40.0, 50.0, 50.0, 50.0, 50.0, 50.0];
        let stages: Vec<SearchStage> = script
            .iter()
            .map(|rate| search.add(interval(*rate, 30.0)))
            .collect();
        // σ(20, 30, 36.7, 40) = 7.64 > 2; σ(30, 36.7, 40, 47.5) = 6.32 > 2.375;
        // σ(36.7, 40, 47.5, 50) = 5.4 > 2.5; σ(40, 47.5, 50, 50) = 4.09 > 2.5.
        assert!(
            stages.iter().all(|stage| *stage == SearchStage::Goodput),
            "{stages:?}"
        );
        // σ(47.5, 50, 50, 50) = 1.08 < 2.5.
        assert_eq!(
            search.add(interval(50.0, 30.0)),
            SearchStage::Responsiveness
        );
        assert_eq!(search.goodput_confidence(), StageConfidence::High);
        assert_eq!(search.goodput(), Some(50e6));
        assert_eq!(search.confidence(), StageConfidence::Low);
    }

    #[test]
    fn round_trips_of_the_first_stage_do_not_count() {
        let mut search = ResponsivenessSearch::new(ResponsivenessConstants::default(), 10);
        for _ in 0..4 {
            search.add(interval(50.0, 20.0));
        }
        assert_eq!(search.stage(), SearchStage::Responsiveness);
        for left in (0..4).rev() {
            let stage = search.add(interval(50.0, 100.0));
            let expected = if left == 0 {
                SearchStage::Over
            } else {
                SearchStage::Responsiveness
            };
            assert_eq!(stage, expected);
        }
        near(search.samples().rpm(KEPT), 600.0);
        assert_eq!(search.pairs(), 80);
        assert_eq!(search.confidence(), StageConfidence::High);
        // What comes later changes nothing.
        search.add(interval(1.0, 1.0));
        near(search.samples().rpm(KEPT), 600.0);
    }

    #[test]
    fn stages_end_at_their_limit() {
        let mut search = ResponsivenessSearch::new(ResponsivenessConstants::default(), 10);
        let mut rate = 1.0;
        for count in 1..=10 {
            rate *= 2.0;
            let stage = search.add(interval(rate, 20.0));
            assert_eq!(stage == SearchStage::Responsiveness, count == 10);
        }
        assert_eq!(search.goodput_confidence(), StageConfidence::Medium);
        let mut delay = 10.0;
        for count in 1..=10 {
            delay *= 2.0;
            let stage = search.add(interval(rate, delay));
            assert_eq!(stage == SearchStage::Over, count == 10);
        }
        assert_eq!(search.confidence(), StageConfidence::Medium);
    }

    #[test]
    fn an_interval_without_pairs_breaks_the_row() {
        let mut search = ResponsivenessSearch::new(ResponsivenessConstants::default(), 10);
        for _ in 0..4 {
            search.add(interval(50.0, 20.0));
        }
        for _ in 0..10 {
            let mut lacking = interval(50.0, 20.0);
            lacking.samples = DelaySamples::default();
            search.add(lacking);
        }
        assert_eq!(search.stage(), SearchStage::Over);
        assert_eq!(search.confidence(), StageConfidence::Medium);
        assert_eq!(search.samples().rpm(KEPT), None);
    }

    /// Goodput that grows with the connections to a ceiling and varies by 1.5 %, and delays by 10 %: nearly all runs are stable
    /// and right. With goodput that varies by 60 % hardly any is.
    #[test]
    fn a_thousand_paths_settle_where_they_are_steady() {
        let constants = ResponsivenessConstants::default();
        let run = |seed: u64, spread: f64| {
            let mut random = Random::seeded(seed);
            let mut search = ResponsivenessSearch::new(constants, 10);
            let ceiling = 50.0;
            for count in 0..20 {
                let flows = constants.flows(count) as f64;
                let rate = ceiling * (flows / 3.0).min(1.0) * (1.0 + spread * random.normal());
                let mut one = interval(rate.max(0.1), 0.0);
                let mut delays =
                    || -> Vec<f64> { (0..50).map(|_| 30.0 + 3.0 * random.normal()).collect() };
                one.samples = DelaySamples {
                    connect: delays(),
                    tls: Vec::new(),
                    answer: delays(),
                    own: delays(),
                };
                if search.add(one) == SearchStage::Over {
                    break;
                }
            }
            search
        };
        let steady: Vec<_> = (0..1000).map(|seed| run(seed, 0.015)).collect();
        let high = |search: &&ResponsivenessSearch| {
            let both = (search.goodput_confidence(), search.confidence());
            both == (StageConfidence::High, StageConfidence::High)
        };
        assert!(steady.iter().filter(high).count() >= 990);
        for search in &steady {
            // Trimming drops the slowest twentieth of a normal distribution: 0.109 σ.
            let rpm = search.samples().rpm(KEPT).expect("pairs");
            assert!((rpm / (60_000.0 / 29.67) - 1.0).abs() < 0.02, "{rpm}");
            let goodput = search.goodput().expect("intervals");
            assert!((goodput / 50e6 - 1.0).abs() < 0.05, "{goodput}");
        }
        let unsteady = (0..1000).map(|seed| run(seed, 0.6));
        let settled =
            unsteady.filter(|search| search.goodput_confidence() == StageConfidence::High);
        assert!(settled.count() < 500);
    }

    #[test]
    fn probes_take_no_more_than_their_share() {
        let mut budget = ProbeBudget::new(0.05);
        assert!(!budget.take(700, 10_000));
        assert!(budget.take(700, 14_000));
        assert!(!budget.take(700, 20_000));
        budget.add(300);
        assert!(!budget.take(700, 28_000));
        assert!(budget.take(700, 34_000));
        assert_eq!(budget.spent(), 1700);
    }
}
