//! What `rfc6349` is asked for, and its phases.

use std::time::Duration;

use tapeline_report::method::rfc6349::BottleneckSource;
use tapeline_report::method::{Direction, PlannedPhase};
use tapeline_stats::rfc6349::BottleneckLayer;

use super::path;
use crate::common::Common;
use crate::mtu;

/// Names of the phases.
pub(crate) const MTU: &str = "mtu";
pub(crate) const BASELINE: &str = "baseline";
/// As the method of that name calls it.
pub(crate) const BOTTLENECK: &str = "capacity";
pub(crate) const LIGHT_LOAD: &str = "light load";
pub(crate) const WINDOWS: &str = "windows";
pub(crate) const FULL: &str = "full window";
pub(crate) const ALGORITHMS: &str = "algorithms";
pub(crate) const CONNECTIONS: &str = "connections";
pub(crate) const SIMULTANEOUS: &str = "both at once";

/// Length of a counted run.
pub(crate) const RUN: Duration = Duration::from_secs(10);
/// Length of the flow at a tenth of the rate.
pub(crate) const LIGHT: Duration = Duration::from_secs(5);
/// Planned lengths of the other phases.
pub(crate) const BASELINE_TIME: Duration = Duration::from_secs(5);
pub(crate) const BOTTLENECK_TIME: Duration = Duration::from_secs(10);
/// Shortest and longest start of a run that does not count, and how many round trips it is.
const LEAST_RAMP: Duration = Duration::from_secs(2);
const LONGEST_RAMP: Duration = Duration::from_secs(30);
const RAMP_ROUND_TRIPS: u32 = 20;

/// A window of the sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowShare {
    /// Percent of the bandwidth-delay product.
    Percent(f64),
    /// Bytes.
    Bytes(u64),
}

/// The bottleneck as the user knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GivenBottleneck {
    /// `--cir`: a contract, bytes of IP packets; up and down, bits per second.
    Contract(f64, f64),
    /// `--line-rate`: an Ethernet line, bits per second in both directions.
    Line(f64),
}

impl GivenBottleneck {
    /// Its rate in a direction, bits per second.
    pub(crate) const fn rate(self, direction: Direction) -> f64 {
        match (self, direction) {
            (Self::Contract(up, _), Direction::Up) => up,
            (Self::Contract(_, down), Direction::Down) => down,
            (Self::Line(rate), _) => rate,
        }
    }

    /// Where it is counted.
    pub(crate) const fn layer(self) -> BottleneckLayer {
        match self {
            Self::Contract(..) => BottleneckLayer::Ip,
            Self::Line(_) => BottleneckLayer::Ethernet { tags: 0 },
        }
    }

    pub(crate) const fn source(self) -> BottleneckSource {
        match self {
            Self::Contract(..) => BottleneckSource::Cir,
            Self::Line(_) => BottleneckSource::LineRate,
        }
    }
}

/// What `rfc6349` is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Rfc6349Plan {
    /// What all methods are asked for alike.
    pub common: Common,
    /// The bottleneck, where it is known.
    pub bottleneck: Option<GivenBottleneck>,
    /// `--windows`: the sweep.
    pub windows: Vec<WindowShare>,
    /// Both directions at once, unless `--no-simultaneous`.
    pub simultaneous: bool,
    /// `-Z A,B`: further congestion controls; the first name is `common.congestion`.
    pub algorithms: Vec<String>,
}

impl Rfc6349Plan {
    /// Of a host, with everything else at its default.
    #[must_use]
    pub fn new(common: Common) -> Self {
        Self {
            common,
            bottleneck: None,
            windows: [25.0, 50.0, 75.0, 100.0].map(WindowShare::Percent).to_vec(),
            simultaneous: true,
            algorithms: Vec::new(),
        }
    }

    /// Length of each counted run.
    pub(crate) fn run_time(&self) -> Duration {
        self.common.time_or(RUN)
    }

    /// The bottleneck in a direction, as it was given.
    pub(crate) fn given_rate(&self, direction: Direction) -> Option<f64> {
        self.bottleneck.map(|given| given.rate(direction))
    }

    /// Whether both directions are to run at once.
    pub(crate) fn runs_both_at_once(&self) -> bool {
        self.simultaneous && self.common.direction.directions().len() == 2
    }

    /// Its phases, with lengths and amounts as far as they are known before.
    pub(crate) fn planned_phases(&self) -> Vec<PlannedPhase> {
        let directions = self.common.direction.directions();
        let phase = |name, direction: Option<Direction>, time: Duration, bytes: Option<u64>| {
            let phase = PlannedPhase::new(name, direction, time.as_secs_f64());
            match bytes {
                Some(bytes) => phase.moving(bytes),
                None => phase,
            }
        };
        let run = LEAST_RAMP + self.run_time();
        let mut phases = Vec::new();
        for way in directions {
            let time = mtu::planned(&self.common);
            phases.push(phase(MTU, Some(*way), time, Some(path::PROBE_BYTES)));
        }
        phases.push(phase(BASELINE, None, BASELINE_TIME, None));
        if self.bottleneck.is_none() {
            for way in directions {
                phases.push(phase(BOTTLENECK, Some(*way), BOTTLENECK_TIME, None));
            }
        }
        for way in directions {
            let tenth = self.given_rate(*way).map(|rate| rate / 10.0);
            phases.push(phase(LIGHT_LOAD, Some(*way), LIGHT, moved(tenth, LIGHT)));
        }
        for way in directions {
            let rate = self.given_rate(*way);
            let share = |window: &WindowShare| match window {
                WindowShare::Percent(percent) => (percent / 100.0).min(1.0),
                WindowShare::Bytes(_) => 1.0,
            };
            let shares: f64 = self.windows.iter().map(share).sum();
            let count = self.windows.len() as u32;
            if count > 0 {
                let bytes = moved(rate.map(|rate| rate * shares), run);
                phases.push(phase(WINDOWS, Some(*way), run * count, bytes));
            }
            phases.push(phase(FULL, Some(*way), run, moved(rate, run)));
            let names = self.algorithms.len() as u32;
            if names > 0 {
                let time = run * names;
                phases.push(phase(ALGORITHMS, Some(*way), time, moved(rate, time)));
            }
            if self.common.window.is_some() {
                phases.push(phase(CONNECTIONS, Some(*way), run, moved(rate, run)));
            }
        }
        if self.runs_both_at_once() {
            let sum = self
                .given_rate(Direction::Up)
                .zip(self.given_rate(Direction::Down));
            let bytes = moved(sum.map(|(up, down)| up + down), run);
            phases.push(phase(SIMULTANEOUS, None, run, bytes));
        }
        phases
    }
}

/// Start of a run that does not count.
pub(crate) fn ramp(round_trip: Duration) -> Duration {
    round_trip
        .saturating_mul(RAMP_ROUND_TRIPS)
        .clamp(LEAST_RAMP, LONGEST_RAMP)
}

/// Payload at a rate over a time.
fn moved(bits_per_second: Option<f64>, time: Duration) -> Option<u64> {
    bits_per_second.map(|rate| (rate * time.as_secs_f64() / 8.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::DirectionChoice;

    fn plan() -> Rfc6349Plan {
        Rfc6349Plan::new(Common::new("192.0.2.1", 5001))
    }

    fn seconds(plan: &Rfc6349Plan) -> f64 {
        plan.planned_phases()
            .iter()
            .map(|phase| phase.seconds)
            .sum()
    }

    #[test]
    fn the_default_takes_about_three_minutes() {
        let mut plan = plan();
        let all = seconds(&plan);
        assert!((170.0..200.0).contains(&all), "{all}");
        plan.common.time = Some(Duration::from_secs(30));
        let all = seconds(&plan);
        assert!((380.0..430.0).contains(&all), "{all}");
    }

    #[test]
    fn what_was_not_asked_for_is_no_phase() {
        let mut plan = plan();
        plan.bottleneck = Some(GivenBottleneck::Contract(50e6, 5e6));
        plan.common.direction = DirectionChoice::Down;
        let names: Vec<&str> = plan
            .planned_phases()
            .iter()
            .map(|phase| phase.name)
            .collect();
        assert_eq!(names, [MTU, BASELINE, LIGHT_LOAD, WINDOWS, FULL]);
        plan.common.window = Some(32 << 10);
        plan.algorithms = vec!["bbr".into()];
        plan.windows.clear();
        let names: Vec<&str> = plan
            .planned_phases()
            .iter()
            .map(|phase| phase.name)
            .collect();
        assert_eq!(
            names,
            [MTU, BASELINE, LIGHT_LOAD, FULL, ALGORITHMS, CONNECTIONS]
        );
        // A contract tells the amount: 12 s of 5 Mbit/s.
        let full = plan
            .planned_phases()
            .into_iter()
            .find(|phase| phase.name == FULL);
        assert_eq!(full.expect("a phase").bytes, Some(7_500_000));
    }

    #[test]
    fn ramps_follow_the_round_trip_within_bounds() {
        let of = |millis| ramp(Duration::from_millis(millis)).as_millis();
        assert_eq!([of(20), of(600), of(5000)], [2000, 12_000, 30_000]);
    }
}
