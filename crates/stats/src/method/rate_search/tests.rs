use tapeline_base::SplitMix64;

use super::*;
use crate::method::rate_trial::{HostFault, loss_interval};

fn goal(loss: f64) -> LossGoal {
    LossGoal {
        loss,
        duration_sum: 10.0,
        exceed: 0.5,
    }
}

fn plan(goals: &[f64]) -> RateSearchPlan {
    RateSearchPlan {
        goals: goals.iter().map(|loss| goal(*loss)).collect(),
        full_seconds: 5.0,
        first_seconds: 1.0,
        resolution: 0.005,
        lowest: 100_000,
        start: 1_000_000,
        highest: 10_000_000_000,
        most_trials: 40,
        most_seconds: f64::INFINITY,
    }
}

/// Bits of a packet.
const BITS: f64 = 12_000.0;

/// A link that loses what is more than its rate, and a share of all.
#[derive(Clone, Copy)]
struct Step {
    rate: f64,
    /// Bits that a queue takes besides.
    queue: f64,
    random_loss: f64,
    /// Most that the sender can do.
    host: f64,
    /// Probability that a trial loses 1 % for reasons of its own.
    accident: f64,
    /// Probability that a trial is disturbed by a host.
    disturbed: f64,
}

impl Step {
    fn at(rate: f64) -> Self {
        Self {
            rate,
            queue: 0.0,
            random_loss: 0.0,
            host: f64::INFINITY,
            accident: 0.0,
            disturbed: 0.0,
        }
    }

    fn try_once(&self, trial: PlannedTrial, random: &mut SplitMix64) -> TrialResult {
        let load = trial.load as f64;
        let sent = (load * trial.seconds / BITS).max(1.0) as u64;
        let over = ((load - self.rate) * trial.seconds - self.queue).max(0.0) / BITS;
        let mut lost = over.floor();
        lost += (sent as f64 * self.random_loss).round();
        if random.chance(self.accident) {
            lost += (sent as f64 * 0.01).ceil();
        }
        TrialResult {
            trial,
            sent,
            lost: (lost as u64).min(sent),
            fault: if load > self.host {
                Some(short(FaultExtent::Limited))
            } else {
                let disturbed = random.chance(self.disturbed);
                disturbed.then_some(short(FaultExtent::Disturbed))
            },
        }
    }
}

/// It sent less than the load.
fn short(extent: FaultExtent) -> HostFault {
    HostFault {
        extent,
        losses: None,
    }
}

fn search(plan: RateSearchPlan, path: Step, seed: u64) -> RateSearch {
    let mut random = SplitMix64::new(seed);
    let mut search = RateSearch::new(plan);
    while let Some(trial) = search.next_trial(0.0) {
        let result = path.try_once(trial, &mut random);
        search.take(result);
    }
    search
}

fn found(plan: RateSearchPlan, path: Step) -> GoalResult {
    search(plan, path, 1).results()[0]
}

#[test]
fn loads_are_classified_as_by_the_standard() {
    let half = goal(0.0);
    for (good, bad, class) in [
        (5.0, 0.0, LoadClass::Lower),
        (0.0, 5.0, LoadClass::Undecided),
        (5.0, 5.0, LoadClass::Lower),
        (0.0, 10.0, LoadClass::Upper),
        (5.0, 10.0, LoadClass::Upper),
    ] {
        assert_eq!(classify(&half, good, bad), class, "{good} {bad}");
    }
    // RFC 2544: one trial of 60 s without any loss.
    let strict = LossGoal {
        loss: 0.0,
        duration_sum: 60.0,
        exceed: 0.0,
    };
    assert_eq!(classify(&strict, 60.0, 0.0), LoadClass::Lower);
    assert_eq!(classify(&strict, 0.0, 60.0), LoadClass::Upper);
    assert_eq!(classify(&strict, 0.0, 0.0), LoadClass::Undecided);
    // TST009: two trials of 60 s.
    let twice = LossGoal {
        duration_sum: 120.0,
        exceed: 0.5,
        ..strict
    };
    assert_eq!(classify(&twice, 0.0, 60.0), LoadClass::Undecided);
    assert_eq!(classify(&twice, 0.0, 120.0), LoadClass::Upper);
}

#[test]
fn a_search_rises_guesses_and_closes_in() {
    let search = search(plan(&[0.0]), Step::at(50e6), 1);
    let loads: Vec<u64> = search.trials().iter().map(|one| one.trial.load).collect();
    let rise = [1, 2, 4, 8, 16, 32, 64].map(|load| load * 1_000_000);
    assert_eq!(loads[..7], rise);
    // What arrived of 64 Mbit/s, and 2 % more.
    assert!((50.9e6..51.1e6).contains(&(loads[7] as f64)), "{loads:?}");
    assert!((48.9e6..49.1e6).contains(&(loads[8] as f64)), "{loads:?}");
    assert!(loads.len() <= 22, "{loads:?}");
    let result = search.results()[0];
    assert_eq!(result.outcome, Some(RateOutcome::Found));
    let lower = result.lower.expect("a bound") as f64;
    assert!((49.75e6..=50e6).contains(&lower), "{lower}");
    assert!(result.width().expect("bounds") <= 0.005);
    assert_eq!(
        search.class_of(0, result.upper.expect("a bound")),
        Some(LoadClass::Upper)
    );
    assert_eq!(search.class_of(0, 1_000_000), None);
}

#[test]
fn a_thousand_steps_are_found_within_the_resolution() {
    let mut random = SplitMix64::new(2544);
    let (mut right, mut trials) = (0, 0);
    for seed in 0..1000 {
        let rate = 3e5 * 3000_f64.powf(random.fraction());
        let path = Step {
            queue: rate * 0.004 * random.fraction(),
            accident: 0.01,
            disturbed: 0.01,
            ..Step::at(rate)
        };
        let search = search(plan(&[0.0]), path, seed);
        trials += search.trials().len();
        let result = search.results()[0];
        // What a queue takes in a full trial, and what is less than a datagram, passes.
        let step = path.rate + (path.queue + BITS) / 5.0;
        let near =
            |load: Option<u64>| load.is_some_and(|load| (load as f64 / step - 1.0).abs() <= 0.0051);
        let both = near(result.lower) && near(result.upper);
        let found = both && result.outcome == Some(RateOutcome::Found);
        right += usize::from(found);
    }
    assert!(right >= 990, "{right}");
    assert!(trials < 24_000, "{trials}");
}

#[test]
fn the_ends_of_the_range() {
    let top = found(plan(&[0.0]), Step::at(1e12));
    assert_eq!(top.outcome, Some(RateOutcome::AtLeast));
    assert_eq!((top.lower, top.upper), (Some(10_000_000_000), None));
    let broken = Step {
        random_loss: 0.01,
        ..Step::at(50e6)
    };
    // 100 kbit/s for 5 s are 41 datagrams: too few to lose one in a hundred.
    let lowest = RateSearchPlan {
        lowest: 1_000_000,
        ..plan(&[0.0])
    };
    let nothing = found(lowest, broken);
    assert_eq!(nothing.outcome, Some(RateOutcome::Nothing));
    assert_eq!((nothing.lower, nothing.upper), (None, Some(1_000_000)));
    // More loss than the goal only above the step.
    let half = found(plan(&[0.015]), broken);
    let lower = half.lower.expect("a bound") as f64;
    assert!((49e6..51e6).contains(&lower), "{lower}");
    let conditional = half.conditional.expect("a rate");
    assert!((0.984..0.991).contains(&(conditional / lower)), "{half:?}");
    assert!(half.width().expect("bounds") <= 0.015);
}

#[test]
fn several_goals_equal_several_searches() {
    for rate in [7e6, 50e6, 333e6] {
        let path = Step {
            queue: 1e5,
            ..Step::at(rate)
        };
        let both = search(plan(&[0.0, 0.005]), path, 1);
        let [strict, loose] = both.results()[..] else {
            panic!("two goals");
        };
        for (result, loss) in [(strict, 0.0), (loose, 0.005)] {
            let alone = found(plan(&[loss]), path);
            assert_eq!(result.outcome, Some(RateOutcome::Found));
            let [one, other] = [result, alone].map(|one| one.lower.expect("a bound") as f64);
            assert!((one / other - 1.0).abs() <= 0.005, "{one} {other}");
        }
        let singly = search(plan(&[0.0]), path, 1).trials().len()
            + search(plan(&[0.005]), path, 1).trials().len();
        assert!(both.trials().len() < singly);
    }
}

#[test]
fn a_host_that_cannot_do_more_is_no_loss() {
    let path = Step {
        host: 300e6,
        ..Step::at(1e9)
    };
    let search = search(plan(&[0.0]), path, 1);
    let result = search.results()[0];
    assert_eq!(result.outcome, Some(RateOutcome::Host));
    assert_eq!((result.lower, result.upper), (Some(256_000_000), None));
    // 1 to 512, 512 again, and one full trial.
    assert_eq!(search.trials().len(), 12);
    let helpless = found(
        plan(&[0.0]),
        Step {
            host: 0.0,
            ..Step::at(1e9)
        },
    );
    assert_eq!(helpless.outcome, Some(RateOutcome::Host));
    assert_eq!(helpless.lower, None);
}

#[test]
fn a_host_that_is_held_up_is_tried_again_and_again() {
    // Every fifth trial: two in a row are no rarity.
    let disturbed = Step {
        disturbed: 0.2,
        ..Step::at(50e6)
    };
    let plan = RateSearchPlan {
        most_trials: 100,
        ..plan(&[0.0])
    };
    let outcomes = (0..100).map(|seed| search(plan.clone(), disturbed, seed).results()[0].outcome);
    let found = outcomes.filter(|outcome| *outcome == Some(RateOutcome::Found));
    assert!(found.count() > 90);
    // Four trials in vain, and one that counts; five in vain, after which the host is the limit.
    for (vain, outcome) in [(4, RateOutcome::Found), (5, RateOutcome::Host)] {
        let mut search = RateSearch::new(plan.clone());
        let mut random = SplitMix64::new(1);
        let mut left = vain;
        while let Some(trial) = search.next_trial(0.0) {
            let mut result = Step::at(50e6).try_once(trial, &mut random);
            if trial.load == 4_000_000 && left > 0 {
                left -= 1;
                result.fault = Some(short(FaultExtent::Disturbed));
            }
            search.take(result);
        }
        assert_eq!(search.results()[0].outcome, Some(outcome));
    }
    // All of its trials were not enough.
    let few = RateSearchPlan {
        most_trials: 4,
        ..plan.clone()
    };
    let disturbed = Step {
        disturbed: 1.0,
        ..disturbed
    };
    assert_eq!(search(few, disturbed, 1).used_up(0), Some(UsedUp::Trials));
    assert_eq!(search(plan.clone(), Step::at(50e6), 1).used_up(0), None);
    // Whoever has sent 64 Mbit/s can send 50.
    let mut search = RateSearch::new(plan);
    let mut random = SplitMix64::new(1);
    let mut left = 4;
    while let Some(trial) = search.next_trial(0.0) {
        let mut result = Step::at(50e6).try_once(trial, &mut random);
        if search.trials().len() > 8 && left > 0 {
            left -= 1;
            result.fault = Some(short(FaultExtent::Limited));
        }
        search.take(result);
    }
    assert_eq!(search.results()[0].outcome, Some(RateOutcome::Found));
}

#[test]
fn losses_of_a_host_count_for_the_goals_that_they_do_not_decide() {
    let trial = PlannedTrial {
        load: 1_000_000,
        seconds: 5.0,
    };
    // 20 of 1000 lost, 8 of them perhaps by a host: 1.2 to 2 %.
    let mut result = TrialResult {
        trial,
        sent: 1000,
        lost: 20,
        fault: Some(HostFault {
            extent: FaultExtent::Disturbed,
            losses: Some(8),
        }),
    };
    let goals = [0.0, 0.011, 0.013, 0.019, 0.02, 0.5].map(|loss| LossGoal {
        loss,
        duration_sum: 10.0,
        exceed: 0.5,
    });
    let counts = |result: TrialResult| goals.map(|goal| result.counts_for(&goal));
    assert_eq!(counts(result), [true, true, false, false, true, true]);
    result.fault = Some(short(FaultExtent::Disturbed));
    assert_eq!(counts(result), [false; 6]);
    result.fault = None;
    assert_eq!(counts(result), [true; 6]);
}

/// One datagram of 1000 is lost, and each time a host may have been the cause: no rate is free of loss,
/// and that does not hide the rate of the goal that allows it.
#[test]
fn a_loose_goal_does_not_suffer_from_a_host_that_only_a_strict_one_notices() {
    let path = Step {
        random_loss: 0.001,
        ..Step::at(50e6)
    };
    let mut random = SplitMix64::new(1);
    let mut search = RateSearch::new(plan(&[0.0, 0.005]));
    while let Some(trial) = search.next_trial(0.0) {
        let mut result = path.try_once(trial, &mut random);
        result.fault = Some(HostFault {
            extent: FaultExtent::Disturbed,
            losses: Some(result.sent / 500),
        });
        search.take(result);
    }
    let [strict, loose] = search.results()[..] else {
        panic!("two goals");
    };
    // Trials at the lowest loads have too few datagrams to lose one.
    assert!(strict.lower.is_none_or(|lower| lower < 3_000_000));
    assert_eq!(loose.outcome, Some(RateOutcome::Found));
    let lower = loose.lower.expect("a bound") as f64;
    assert!((49.5e6..=50.3e6).contains(&lower), "{lower}");
}

#[test]
fn where_a_lower_load_loses_more_the_smallest_upper_bound_wins() {
    // Loses between 20 and 30 Mbit/s, and from 50 on.
    let mut search = RateSearch::new(plan(&[0.0]));
    while let Some(trial) = search.next_trial(0.0) {
        let load = trial.load as f64;
        let lost = u64::from((20e6..30e6).contains(&load)) * 5 + u64::from(load > 50e6) * 500;
        search.take(TrialResult {
            trial,
            sent: 10_000,
            lost,
            fault: None,
        });
    }
    let result = search.results()[0];
    let (lower, upper) = (
        result.lower.expect("a bound"),
        result.upper.expect("a bound"),
    );
    assert!(lower < upper);
    assert_eq!(search.class_of(0, upper), Some(LoadClass::Upper));
    let full = search
        .trials()
        .iter()
        .filter(|one| one.trial.seconds >= 5.0);
    let smallest = full
        .filter(|one| one.lost > 0)
        .map(|one| one.trial.load)
        .min();
    assert_eq!(smallest, Some(upper));
}

#[test]
fn a_search_that_is_ended_keeps_what_is_certain() {
    let path = Step::at(50e6);
    let mut random = SplitMix64::new(1);
    let mut search = RateSearch::new(plan(&[0.0]));
    for _ in 0..8 {
        let trial = search.next_trial(0.0).expect("a trial");
        search.take(path.try_once(trial, &mut random));
    }
    search.end();
    assert_eq!(search.next_trial(0.0), None);
    let result = search.results()[0];
    assert_eq!(
        (result.outcome, result.lower, result.upper),
        (None, None, None)
    );
    let few = RateSearchPlan {
        most_trials: 16,
        resolution: 1e-6,
        ..plan(&[0.0])
    };
    let search = self::search(few, path, 1);
    assert_eq!(search.trials().len(), 16);
}

/// One packet in a thousand is lost: no rate is free of loss, and any below the link's loses less than
/// half a percent.
#[test]
fn a_goal_that_no_rate_keeps_leaves_the_others_their_trials() {
    let path = Step {
        random_loss: 0.001,
        ..Step::at(50e6)
    };
    let plan = RateSearchPlan {
        most_trials: 20,
        ..plan(&[0.0, 0.005])
    };
    for seed in 0..100 {
        let search = search(plan.clone(), path, seed);
        let loose = search.results()[1];
        let lower = loose.lower.expect("a bound") as f64;
        assert_eq!(loose.outcome, Some(RateOutcome::Found), "seed {seed}");
        assert!((49.7e6..50.3e6).contains(&lower), "seed {seed}: {lower}");
        // It does not climb again from where the strict goal has come down to.
        let trials = search
            .trials()
            .iter()
            .filter(|one| one.trial.seconds >= 5.0);
        assert_eq!(
            trials
                .filter(|one| (5e6..45e6).contains(&(one.trial.load as f64)))
                .count(),
            0
        );
    }
}

/// Seconds from the beginning to the end of a search; each trial is followed by a pause.
fn seconds(plan: RateSearchPlan, path: Step, seed: u64) -> (RateSearch, f64) {
    let mut random = SplitMix64::new(seed);
    let mut search = RateSearch::new(plan);
    let mut elapsed = 0.0;
    while let Some(trial) = search.next_trial(elapsed) {
        search.take(path.try_once(trial, &mut random));
        elapsed += trial.seconds + 2.5;
    }
    (search, elapsed)
}

#[test]
fn a_search_begins_no_trial_after_its_time() {
    let path = Step {
        random_loss: 0.001,
        accident: 0.3,
        disturbed: 0.3,
        ..Step::at(50e6)
    };
    let mut used_up = 0;
    for seed in 0..1000 {
        for goals in [&[0.0][..], &[0.0, 0.005], &[0.0, 0.001, 0.005]] {
            let plan = RateSearchPlan {
                most_seconds: 60.0 * goals.len() as f64,
                ..plan(goals)
            };
            let most = plan.most_seconds;
            let (search, took) = seconds(plan, path, seed);
            assert!(took <= most + 7.5, "seed {seed}: {took} s of {most} s");
            let used = (0..goals.len()).any(|goal| search.used_up(goal) == Some(UsedUp::Time));
            used_up += usize::from(used);
        }
    }
    assert!(used_up > 100, "{used_up}");
    // The goal that no rate keeps comes last, and uses up what is left.
    let plan = RateSearchPlan {
        most_seconds: 240.0,
        ..plan(&[0.0, 0.005])
    };
    let path = Step {
        accident: 0.0,
        disturbed: 0.0,
        ..path
    };
    let (search, _) = seconds(plan, path, 1);
    assert_eq!(search.used_up(0), Some(UsedUp::Time));
    assert_eq!(search.used_up(1), None);
    assert_eq!(search.results()[1].outcome, Some(RateOutcome::Found));
}

/// Short trials lose nothing, full ones do down to a fiftieth of the rate: the search does not creep
/// from one short trial's bound to the next.
#[test]
fn where_full_trials_lose_on_and_on_steps_become_wide() {
    let mut search = RateSearch::new(plan(&[0.0]));
    while let Some(trial) = search.next_trial(0.0) {
        let limit = if trial.seconds < 5.0 { 50e6 } else { 1e6 };
        search.take(Step::at(limit).try_once(trial, &mut SplitMix64::new(1)));
    }
    let result = search.results()[0];
    assert_eq!(result.outcome, Some(RateOutcome::Found));
    let lower = result.lower.expect("a bound") as f64;
    assert!((0.9e6..=1.01e6).contains(&lower), "{lower}");
}

#[test]
fn a_lost_datagram_of_few_does_not_end_the_rise() {
    let mut search = RateSearch::new(plan(&[0.0, 0.005]));
    let mut loads = Vec::new();
    for (lost, sent) in [(1, 83), (2, 167), (3, 333), (20, 667)] {
        let trial = search.next_trial(0.0).expect("a trial");
        loads.push(trial.load);
        search.take(TrialResult {
            trial,
            sent,
            lost,
            fault: None,
        });
    }
    assert_eq!(loads, [1, 2, 4, 8].map(|load| load * 1_000_000));
    let next = search.next_trial(0.0).expect("a trial");
    assert!(next.load < 8_000_000, "{next:?}");
}

#[test]
fn trials_become_longer_and_short_plans_have_one_length() {
    let search = search(plan(&[0.0]), Step::at(50e6), 1);
    let seconds: Vec<f64> = search
        .trials()
        .iter()
        .map(|one| one.trial.seconds)
        .collect();
    assert!(
        seconds.windows(2).all(|pair| pair[0] <= pair[1]),
        "{seconds:?}"
    );
    assert_eq!(seconds.last(), Some(&5.0));
    let short = RateSearchPlan {
        full_seconds: 0.5,
        ..plan(&[0.0])
    };
    let search = self::search(short, Step::at(50e6), 1);
    assert!(search.trials().iter().all(|one| one.trial.seconds == 0.5));
}

#[test]
fn intervals_of_a_loss() {
    let percent = |lost, sent| {
        let (lower, upper) = loss_interval(lost, sent).expect("sent");
        (lower * 100.0, upper * 100.0)
    };
    let (lower, upper) = percent(0, 20_790);
    assert_eq!(lower, 0.0);
    assert!((upper - 0.01443).abs() < 1e-5);
    // Wilson: 1 of 10 is 1.8 to 40.4 %; 98 of 10 000 is 0.80 to 1.19 %.
    let (lower, upper) = percent(1, 10);
    assert!(
        (lower - 1.787).abs() < 1e-2 && (upper - 40.415).abs() < 1e-2,
        "{lower} {upper}"
    );
    let (lower, upper) = percent(98, 10_000);
    assert!(
        (lower - 0.805).abs() < 5e-3 && (upper - 1.193).abs() < 5e-3,
        "{lower} {upper}"
    );
    assert_eq!(loss_interval(0, 0), None);
    assert_eq!(loss_interval(0, 1), Some((0.0, 1.0)));
}
