use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use proptest::prelude::*;
use tapeline_base::SplitMix64;

use super::*;
use crate::host::SharedLink;
use crate::plan::samples;

const LENGTH: Duration = Duration::from_secs(10);

/// What tests do in virtual time.
struct World {
    random: SplitMix64,
    /// Lengths differ by up to this part.
    spread: f64,
    /// Part of the tests that fail.
    failures: f64,
    /// The length that was forecast.
    forecast: Duration,
}

impl World {
    fn even() -> Self {
        Self {
            random: SplitMix64::new(1),
            spread: 0.0,
            failures: 0.0,
            forecast: LENGTH,
        }
    }

    fn length(&mut self) -> Duration {
        LENGTH.mul_f64(1.0 + self.spread * self.random.fraction())
    }
}

/// What a whole run came to.
#[derive(Debug, Default)]
struct Log {
    /// Starts of each pair.
    starts: BTreeMap<Pair, u32>,
    /// Times at which a test started.
    slots: BTreeSet<Duration>,
    end: Duration,
}

/// Runs all tests, and checks at each start that nobody is asked too much.
fn run(plan: &MeshPlan, world: &mut World) -> Log {
    let mut schedule = Schedule::new(plan, world.forecast).expect("it fits");
    let mut log = Log::default();
    let mut ends = BinaryHeap::new();
    let mut running: BTreeSet<TestId> = BTreeSet::new();
    let mut now = Duration::ZERO;
    while !schedule.is_over() {
        let started = schedule.next(now);
        let is_more = !started.is_empty();
        for test in started {
            running.insert(test);
            *log.starts.entry(schedule.pair(test)).or_default() += 1;
            log.slots.insert(now);
            ends.push(Reverse((now + world.length(), test)));
        }
        if is_more {
            check(plan, running.iter().map(|test| schedule.pair(*test)));
        }
        let Reverse((end, test)) = ends.pop().expect("something runs while something waits");
        now = end;
        log.end = now;
        running.remove(&test);
        let how = match world.random.chance(world.failures) {
            true => Ended::Failed,
            false => Ended::Measured,
        };
        schedule.ended(test, how, now);
        // What ends at the same time is one event.
        while ends.peek().is_some_and(|Reverse((end, _))| *end == now) {
            let Reverse((_, test)) = ends.pop().expect("it was there");
            running.remove(&test);
            schedule.ended(test, Ended::Measured, now);
        }
    }
    log
}

fn check(plan: &MeshPlan, running: impl Iterator<Item = Pair> + Clone) {
    let mut hosts = BTreeSet::new();
    for pair in running.clone() {
        assert!(
            hosts.insert(pair.from) && hosts.insert(pair.to),
            "{pair:?}: a host twice"
        );
    }
    for link in &plan.shared {
        let uses = |pair: &Pair| link.hosts.iter().any(|host| pair.has(*host));
        assert!(
            running.clone().filter(uses).count() <= link.at_once,
            "{link:?} is too full"
        );
    }
}

fn plan_with_links(hosts: usize, links: &[(u64, usize, usize)]) -> MeshPlan {
    let mut plan = samples::full(hosts);
    for (seed, size, at_once) in links {
        let mut random = SplitMix64::new(*seed);
        let behind: BTreeSet<usize> = (0..*size)
            .map(|_| random.below(hosts as u64) as usize)
            .collect();
        plan.shared.push(SharedLink {
            hosts: behind.into_iter().map(HostId).collect(),
            at_once: *at_once,
        });
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_host_or_link_is_overloaded_and_all_pairs_meet_once_each_way(
        hosts in prop_oneof![12 => 2_usize..24, 1 => 24_usize..=200],
        links in prop::collection::vec((any::<u64>(), 1_usize..6, 1_usize..4), 0..5),
        spread in prop_oneof![Just(0.0), 0.0..3.0_f64],
        failures in prop_oneof![Just(0.0), 0.0..0.3_f64],
        seed in any::<u64>(),
    ) {
        let plan = plan_with_links(hosts, &links);
        let random = SplitMix64::new(seed);
        let log = run(&plan, &mut World { random, spread, failures, forecast: LENGTH });
        prop_assert_eq!(log.starts.len(), hosts * (hosts - 1));
        let most = if failures == 0.0 { 1 } else { ATTEMPTS };
        prop_assert!(log.starts.values().all(|starts| (1..=most).contains(starts)));
    }
}

#[test]
fn equal_lengths_need_no_slot_more_than_must_be() {
    for hosts in (2..=24).chain([99, 200]) {
        let log = run(&samples::full(hosts), &mut World::even());
        let rounds = hosts - 1 + hosts % 2;
        // Each pair has two directions.
        assert_eq!(log.slots.len(), 2 * rounds, "{hosts} hosts");
    }
}

#[test]
fn small_differences_do_not_mix_up_the_rounds() {
    let plan = samples::full(24);
    let mut world = World::even();
    world.spread = 0.1;
    let log = run(&plan, &mut world);
    let rounds = log.end.div_duration_f64(LENGTH);
    assert!(rounds < 46.0 * 1.15, "{rounds} lengths for 46 slots");
}

/// What is forecast has room for processes that start, which short tests notice.
#[test]
fn a_forecast_that_is_far_off_does_not_mix_up_the_rounds() {
    let plan = samples::full(24);
    for forecast in [LENGTH / 2, LENGTH * 2] {
        let mut world = World {
            spread: 0.1,
            forecast,
            ..World::even()
        };
        let rounds = run(&plan, &mut world).end.div_duration_f64(LENGTH);
        assert!(rounds < 46.0 * 1.15, "{rounds} lengths for 46 slots");
    }
}

#[test]
fn a_slow_host_delays_its_own_pairs_alone() {
    let mut schedule = Schedule::new(&samples::full(8), LENGTH).expect("it fits");
    let mut now = Duration::ZERO;
    let mut running = schedule.next(now);
    let slow = running[0];
    let away = schedule.pair(slow);
    let mut without = 0;
    // The first pair never ends; the six others test meanwhile, as often as they can.
    while running.len() > 1 {
        now += LENGTH;
        for test in running.drain(..).filter(|test| *test != slow) {
            without += usize::from(!schedule.pair(test).has(away.from));
            schedule.ended(test, Ended::Measured, now);
        }
        running = schedule.next(now);
        running.push(slow);
    }
    assert_eq!(without, 6 * 5);
}

#[test]
fn failed_tests_are_tried_once_more_at_the_end() {
    let mut schedule = Schedule::new(&samples::full(2), LENGTH).expect("it fits");
    let mut order = Vec::new();
    while !schedule.is_over() {
        for test in schedule.next(Duration::ZERO) {
            order.push(test.0);
            schedule.ended(test, Ended::Failed, LENGTH);
        }
    }
    assert_eq!(order, [0, 1, 0, 1]);
    assert_eq!(schedule.attempts(TestId(0)), 2);
}

#[test]
fn a_host_that_fails_with_several_is_named_and_its_tests_go() {
    let mut schedule = Schedule::new(&samples::full(5), LENGTH).expect("it fits");
    let bad = HostId(3);
    let mut named = BTreeSet::new();
    let mut gone = Vec::new();
    let mut failed = 0;
    while !schedule.is_over() {
        for test in schedule.next(Duration::ZERO) {
            let is_bad = schedule.pair(test).has(bad);
            failed += u32::from(is_bad);
            let how = if is_bad {
                Ended::Failed
            } else {
                Ended::Measured
            };
            for host in schedule.ended(test, how, LENGTH) {
                named.insert(host);
                gone.extend(schedule.give_up(host));
            }
        }
    }
    assert_eq!(named, BTreeSet::from([bad]));
    // Three of its eight tests were tried.
    assert_eq!((failed, gone.len()), (3, 5));
}

#[test]
fn what_was_measured_or_abandoned_is_not_tried_again() {
    let mut schedule = Schedule::new(&samples::full(3), LENGTH).expect("it fits");
    let ids: Vec<TestId> = schedule.tests().map(|(test, _)| test).collect();
    ids[1..].iter().for_each(|test| schedule.skip(*test));
    assert_eq!(schedule.next(Duration::ZERO), [ids[0]]);
    assert!(schedule.ended(ids[0], Ended::Abandoned, LENGTH).is_empty());
    assert!(schedule.is_over());
}

#[test]
fn all_at_once_starts_all() {
    let mut plan = plan_with_links(5, &[(1, 3, 1)]);
    plan.mode = Mode::AllAtOnce;
    let mut schedule = Schedule::new(&plan, LENGTH).expect("it fits");
    assert_eq!(schedule.next(Duration::ZERO).len(), 20);
}
