//! A fleet: the newest numbers of its pairs, and what becomes of hosts and jobs.

use std::collections::BTreeMap;

use crate::prometheus::family::{Family, Labels, text};

/// With more pairs than this, each host has one sample in the place of one for each of its peers.
const MAX_PAIRS: usize = 20_000;

/// What a fleet is like now.
#[derive(Clone, Debug, Default)]
pub struct FleetState {
    /// Hosts by what they do: `free`, `busy`, `away`.
    pub hosts: BTreeMap<&'static str, u64>,
    /// Jobs that the server holds, by the name of their state.
    pub jobs: BTreeMap<&'static str, u64>,
    /// Jobs that ended, by the name of their last state.
    pub ended: BTreeMap<&'static str, u64>,
    /// Results that wait at hosts.
    pub spooled: u64,
    /// Results that hosts gave up for lack of room, ever.
    pub given_up: u64,
    /// Results that came, by what became of them: `new`, `repeated`, `failed`.
    pub results: BTreeMap<&'static str, u64>,
}

/// The newest numbers of each pair of a site.
#[derive(Clone, Debug)]
pub struct FleetMetrics {
    site: String,
    pairs: BTreeMap<(String, String), Newest>,
}

/// The numbers of a test between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairNumbers {
    /// The rate that arrived, bits a second.
    pub rate: Option<f64>,
    /// The round trip, seconds.
    pub rtt: Option<f64>,
    /// Lost datagrams of those sent, 0 to 1.
    pub lost_ratio: Option<f64>,
}

#[derive(Clone, Debug)]
struct Newest {
    numbers: PairNumbers,
    /// Seconds since 1970.
    at: i64,
}

impl FleetMetrics {
    /// Of a site, without results.
    #[must_use]
    pub fn new(site: &str) -> Self {
        Self {
            site: site.to_owned(),
            pairs: BTreeMap::new(),
        }
    }

    /// Takes the numbers of a test, which ended at `at`, seconds since 1970.
    pub fn measured(&mut self, from: &str, to: &str, numbers: PairNumbers, at: i64) {
        let pair = (from.to_owned(), to.to_owned());
        self.pairs.insert(pair, Newest { numbers, at });
    }

    /// The text of all metrics.
    #[must_use]
    pub fn text(&self, state: &FleetState) -> String {
        let by = |label: &'static str, counts: &BTreeMap<&'static str, u64>| {
            let samples = counts.iter().map(|(name, count)| {
                let labels: Labels = vec![("site", self.site.clone()), (label, (*name).to_owned())];
                (labels, *count)
            });
            samples.collect::<Vec<_>>()
        };
        let gauges = |label, counts| {
            let samples = by(label, counts).into_iter();
            samples
                .map(|(labels, count)| (labels, count as f64))
                .collect::<Vec<_>>()
        };
        let site = || -> Labels { vec![("site", self.site.clone())] };
        let mut families = self.pairs();
        families.extend([
            Family::counter(
                "tapeline_mesh_runs",
                "Jobs that ended, by how",
                by("result", &state.ended),
            ),
            Family::gauge(
                "tapeline_fleet_hosts",
                "Hosts by what they do",
                gauges("state", &state.hosts),
            ),
            Family::gauge(
                "tapeline_fleet_jobs",
                "Jobs that the server holds",
                gauges("state", &state.jobs),
            ),
            Family::gauge(
                "tapeline_fleet_spooled_results",
                "Results that wait at hosts for the collector",
                [(site(), state.spooled as f64)],
            ),
            Family::counter(
                "tapeline_fleet_results_given_up",
                "Results that hosts gave up for lack of room",
                [(site(), state.given_up)],
            ),
            Family::counter(
                "tapeline_fleet_results",
                "Results that came, by what became of them",
                by("outcome", &state.results),
            ),
        ]);
        text(families)
    }

    fn pairs(&self) -> Vec<Family> {
        let samples = |value: fn(&Newest) -> Option<f64>| match self.pairs.len() {
            0..=MAX_PAIRS => self.of_pairs(value),
            _ => Vec::new(),
        };
        let sums =
            |value: fn(&Newest) -> Option<f64>, join: fn(f64, f64) -> f64| match self.pairs.len() {
                0..=MAX_PAIRS => self.of_pairs(value),
                _ => self.of_hosts(value, join),
            };
        vec![
            Family::gauge(
                "tapeline_mesh_rate_bits_per_second",
                "The newest rate of a pair; of all peers together where there are too many pairs",
                sums(|newest| newest.numbers.rate, |one, other| one + other),
            ),
            Family::gauge(
                "tapeline_mesh_rtt_seconds",
                "The newest round trip of a pair",
                samples(|newest| newest.numbers.rtt),
            ),
            Family::gauge(
                "tapeline_mesh_lost_ratio",
                "The newest share of lost datagrams of a pair",
                samples(|newest| newest.numbers.lost_ratio),
            ),
            Family::gauge(
                "tapeline_mesh_last_time_seconds",
                "When the newest test of a pair ended, seconds since 1970",
                sums(|newest| Some(newest.at as f64), f64::max),
            ),
        ]
    }

    fn labels(&self, from: &str, to: &str) -> Labels {
        vec![
            ("site", self.site.clone()),
            ("from", from.to_owned()),
            ("to", to.to_owned()),
            ("way", "forward".to_owned()),
        ]
    }

    fn of_pairs(&self, value: fn(&Newest) -> Option<f64>) -> Vec<(Labels, f64)> {
        let samples = self
            .pairs
            .iter()
            .filter_map(|((from, to), newest)| Some((self.labels(from, to), value(newest)?)));
        samples.collect()
    }

    fn of_hosts(
        &self,
        value: fn(&Newest) -> Option<f64>,
        join: fn(f64, f64) -> f64,
    ) -> Vec<(Labels, f64)> {
        let mut hosts: BTreeMap<&str, f64> = BTreeMap::new();
        for ((from, _), newest) in &self.pairs {
            if let Some(value) = value(newest) {
                let sum = hosts.entry(from).or_default();
                *sum = join(*sum, value);
            }
        }
        let samples = hosts.into_iter();
        samples
            .map(|(host, value)| (self.labels(host, "*"), value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rate: f64) -> PairNumbers {
        PairNumbers {
            rate: Some(rate),
            ..PairNumbers::default()
        }
    }

    #[test]
    fn each_pair_has_its_newest_numbers() {
        let mut metrics = FleetMetrics::new("lab");
        metrics.measured("a", "b", measured(1e6), 10);
        metrics.measured("a", "b", measured(2e6), 20);
        let state = FleetState {
            hosts: BTreeMap::from([("free", 2)]),
            ended: BTreeMap::from([("done", 7)]),
            ..FleetState::default()
        };
        let text = metrics.text(&state);
        for line in [
            r#"tapeline_mesh_rate_bits_per_second{site="lab",from="a",to="b",way="forward"} 2000000.0"#,
            r#"tapeline_mesh_last_time_seconds{site="lab",from="a",to="b",way="forward"} 20.0"#,
            r#"tapeline_mesh_runs_total{site="lab",result="done"} 7"#,
            r#"tapeline_fleet_hosts{site="lab",state="free"} 2.0"#,
            r#"tapeline_fleet_spooled_results{site="lab"} 0.0"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(
            !text.contains("rtt_seconds{"),
            "what is not known has no sample"
        );
    }

    #[test]
    fn many_pairs_are_summed_by_host() {
        let mut metrics = FleetMetrics::new("lab");
        for number in 0..=MAX_PAIRS {
            let (from, to) = (format!("f{}", number % 3), format!("t{number}"));
            metrics.measured(&from, &to, measured(1.0), number as i64);
        }
        let text = metrics.text(&FleetState::default());
        let rates = text
            .lines()
            .filter(|line| line.starts_with("tapeline_mesh_rate_bits_per_second{"));
        assert_eq!(rates.count(), 3);
        assert!(
            text.contains(r#"{site="lab",from="f0",to="*",way="forward"} 6667.0"#),
            "{text}"
        );
    }
}
