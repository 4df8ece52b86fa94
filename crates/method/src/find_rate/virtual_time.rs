//! Searches over simulated paths: what they find, and how long they take.

use std::time::Duration;

use tapeline_base::{BitRate, SplitMix64};
use tapeline_stats::{
    FaultExtent, GoalResult, HostFault, PlannedTrial, RateOutcome, RateSearch, TrialResult,
};

use super::plan::{FindRatePlan, Laboratory};
use crate::common::Common;
use crate::phase_guard::time_limit;

/// Bits of a packet.
const BITS: f64 = 12_000.0;
/// Round trips that a test takes to begin and to end.
const ROUND_TRIPS: u32 = 6;

/// A path that loses what is more than its rate, and others at random.
struct Path {
    rate: f64,
    random_loss: f64,
    /// Probability that a host disturbs a trial.
    disturbed: f64,
    round_trip: Duration,
}

impl Path {
    fn losing(random_loss: f64) -> Self {
        Self {
            rate: 50e6,
            random_loss,
            disturbed: 0.0,
            round_trip: Duration::from_millis(20),
        }
    }

    fn any(random: &mut SplitMix64) -> Self {
        Self {
            rate: 3e5 * 3000_f64.powf(random.fraction()),
            random_loss: match random.chance(0.3) {
                true => 0.0,
                false => 10_f64.powf(-5.0 * random.fraction()),
            },
            disturbed: match random.chance(0.5) {
                true => 0.0,
                false => random.fraction(),
            },
            round_trip: Duration::from_secs_f64(0.6 * random.fraction()),
        }
    }

    fn try_once(&self, trial: PlannedTrial, random: &mut SplitMix64) -> TrialResult {
        let load = trial.load as f64;
        let sent = (load * trial.seconds / BITS).max(1.0).floor();
        let over = ((load - self.rate) * trial.seconds).max(0.0) / BITS;
        let lost = over.floor() + losses(sent, self.random_loss, random);
        TrialResult {
            trial,
            sent: sent as u64,
            lost: lost.min(sent) as u64,
            fault: random.chance(self.disturbed).then_some(HostFault {
                extent: FaultExtent::Disturbed,
                losses: None,
            }),
        }
    }
}

/// How many of `count` are lost where each may be: Poisson's distribution for few, a normal one for many.
fn losses(count: f64, share: f64, random: &mut SplitMix64) -> f64 {
    let mean = count * share;
    if mean > 30.0 {
        let normal = (0..12).map(|_| random.fraction()).sum::<f64>() - 6.0;
        return (mean + normal * (mean * (1.0 - share)).sqrt())
            .round()
            .max(0.0);
    }
    let none = (-mean).exp();
    let (mut lost, mut product) = (0.0, random.fraction());
    while product > none {
        lost += 1.0;
        product *= random.fraction();
    }
    lost
}

fn plan(loss_percent: &[f64]) -> FindRatePlan {
    let mut plan = FindRatePlan::new(Common::new("192.168.1.1", 5001));
    plan.common.rate = Some(BitRate(200_000_000));
    plan.loss_percent = loss_percent.to_vec();
    plan
}

/// Results, and how long the search took.
fn search(
    plan: &FindRatePlan,
    path: &Path,
    random: &mut SplitMix64,
) -> (Vec<GoalResult>, Duration) {
    let mut search = RateSearch::new(plan.search([192, 168, 1, 1].into()));
    let mut elapsed = Duration::ZERO;
    while let Some(trial) = search.next_trial(elapsed.as_secs_f64()) {
        search.take(path.try_once(trial, random));
        let length = Duration::from_secs_f64(trial.seconds);
        elapsed += length + path.round_trip * ROUND_TRIPS;
        elapsed += plan.settle(length, path.round_trip);
        elapsed += FindRatePlan::invalid_pause(search.invalid_in_a_row());
    }
    (search.results(), elapsed)
}

fn limit(plan: &FindRatePlan) -> Duration {
    time_limit(Duration::from_secs_f64(plan.search_seconds()))
}

#[test]
fn no_search_takes_longer_than_its_phase_may() {
    let mut random = SplitMix64::new(9971);
    for seed in 0..1000 {
        let path = Path::any(&mut random);
        for goals in [&[0.0][..], &[0.0, 1.0], &[0.0, 0.1, 1.0]] {
            let plan = FindRatePlan {
                laboratory: [None, Some(Laboratory::Rfc2544), Some(Laboratory::Tst009)][seed % 3],
                ..plan(goals)
            };
            let (_, took) = search(&plan, &path, &mut SplitMix64::new(seed as u64));
            assert!(took <= limit(&plan), "seed {seed}, {goals:?}: {took:?}");
        }
    }
}

#[test]
fn a_goal_that_no_rate_keeps_leaves_the_other_its_time() {
    // In each trial of a full length at any rate worth having, something is lost.
    for random_loss in [0.001, 0.002, 0.003] {
        let path = Path::losing(random_loss);
        let plan = plan(&[0.0, 1.0]);
        let mut right = 0;
        for seed in 0..1000 {
            let (results, took) = search(&plan, &path, &mut SplitMix64::new(seed));
            assert!(took <= limit(&plan), "seed {seed}: {took:?}");
            let [strict, loose] = results[..] else {
                panic!("two goals");
            };
            assert!(
                strict.lower.is_none_or(|lower| lower < 25_000_000),
                "seed {seed}"
            );
            let lower = loose.lower.unwrap_or(0) as f64;
            let near = (49.5e6..50.5e6).contains(&lower);
            right += usize::from(near && loose.outcome == Some(RateOutcome::Found));
        }
        assert!(right >= 990, "{random_loss}: {right}");
    }
}

#[test]
fn a_step_is_found_in_the_time_for_it() {
    let mut random = SplitMix64::new(2544);
    for goals in [&[0.0][..], &[0.0, 0.5, 1.0]] {
        let plan = plan(goals);
        let mut right = 0;
        for seed in 0..1000 {
            let path = Path {
                rate: 3e5 * 300_f64.powf(random.fraction()),
                disturbed: 0.01,
                ..Path::losing(0.0)
            };
            let (results, _) = search(&plan, &path, &mut SplitMix64::new(seed));
            let found = results.iter().all(|result| {
                let width = result.width().unwrap_or(1.0);
                let share = result.goal.loss.max(0.005);
                result.outcome == Some(RateOutcome::Found) && width <= share
            });
            right += usize::from(found);
        }
        assert!(right >= 990, "{goals:?}: {right}");
    }
}
