use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MILLI: Duration = Duration::from_millis(1);

/// A path in virtual time.
struct Path {
    random: Random,
    /// Whether a packet of this size fits, by the number of the packet.
    fits: Box<dyn Fn(u16, u32) -> bool>,
    loss_there: f64,
    loss_back: f64,
    delay: Duration,
    jitter: Duration,
    /// What this host's own interface takes.
    interface: u16,
}

impl Path {
    fn of(mtu: u16) -> Self {
        Self {
            random: Random::seeded(1),
            fits: Box::new(move |size, _| size <= mtu),
            loss_there: 0.0,
            loss_back: 0.0,
            delay: 10 * MILLI,
            jitter: Duration::ZERO,
            interface: u16::MAX,
        }
    }

    fn way(&mut self) -> Duration {
        self.delay + self.jitter.mul_f64(self.random.fraction())
    }

    fn run(&mut self, limits: PathMtuLimits) -> Run {
        let mut search = PathMtuSearch::new(limits, self.random.bits());
        let mut answers: BinaryHeap<Reverse<(MonoTime, u32)>> = BinaryHeap::new();
        let start = MonoTime::from_nanos(5);
        let (mut now, mut received, mut sizes) = (start, 0, Vec::new());
        for _ in 0..100_000 {
            while let Some(&Reverse((time, number))) = answers.peek() {
                if time > now {
                    break;
                }
                answers.pop();
                search.answered(number, now);
            }
            match search.next(now) {
                PathMtuAction::Send(probe) if probe.size > self.interface => {
                    search.refused_here(probe.number);
                }
                PathMtuAction::Send(probe) => {
                    let headers = PathMtuLimits::headers(limits.is_v6);
                    assert_eq!(probe.payload + headers, probe.size);
                    assert!(probe.payload >= SHORTEST_PAYLOAD);
                    sizes.push((now, probe.size));
                    if !(self.fits)(probe.size, probe.number)
                        || self.random.fraction() < self.loss_there
                    {
                        continue;
                    }
                    let is_control = probe.size == search.outcome().control_size;
                    received += u32::from(is_control);
                    if self.random.fraction() >= self.loss_back {
                        let there = self.way();
                        let back = self.way();
                        answers.push(Reverse((now + there + back, probe.number)));
                    }
                }
                PathMtuAction::Wait(until) => {
                    assert!(until > now, "a wait that does not wait");
                    let next = answers.peek().map(|answer| answer.0.0);
                    now = next.map_or(until, |next| next.min(until));
                }
                PathMtuAction::Over => {
                    return Run {
                        outcome: search.outcome(),
                        took: now.since(start),
                        sizes,
                        controls_received: received,
                    };
                }
            }
        }
        panic!("no end");
    }
}

struct Run {
    outcome: PathMtuOutcome,
    took: Duration,
    sizes: Vec<(MonoTime, u16)>,
    controls_received: u32,
}

fn v4(largest: u16) -> PathMtuLimits {
    PathMtuLimits::new(false, largest)
}

#[test]
fn a_thousand_paths_give_their_mtu_to_the_byte() {
    let (mut exact, mut longest, mut longest_clean) = (0, Duration::ZERO, Duration::ZERO);
    for seed in 0..1000 {
        let mut random = Random::seeded(0x6d7475 + seed);
        let mut below = |limit: u16| (random.fraction() * f64::from(limit)) as u16;
        let mtu = match below(4) {
            0 => CANDIDATES[usize::from(below(22))],
            1 => 1200 + below(301),
            2 => 1501 + below(7500),
            _ => 576 + below(1000),
        };
        let largest = match below(3) {
            0 => mtu,
            1 => mtu.max([1500, 9000][usize::from(below(2))]),
            _ => 65_535,
        };
        // There and back together up to 30 %; a third of the paths loses nothing.
        let loss = f64::from(below(1000)) / 1000.0 * 0.3 * f64::from(u8::from(below(3) > 0));
        let share = f64::from(below(1000)) / 1000.0;
        let delay = Duration::from_micros(100) + MILLI.mul_f64(f64::from(below(100)));
        let mut path = Path {
            random: Random::seeded(seed),
            fits: Box::new(move |size, _| size <= mtu),
            loss_there: loss * share,
            loss_back: loss * (1.0 - share),
            delay,
            jitter: delay.mul_f64(0.3),
            interface: u16::MAX,
        };
        let run = path.run(v4(largest));
        let found = run.outcome;
        let what = format!(
            "seed {seed}: MTU {mtu} of {largest}, loss {loss:.3}, delay {delay:?}, \
             {:?}: {found:?}",
            run.took
        );
        longest = longest.max(run.took);
        if loss == 0.0 && delay <= 19 * MILLI {
            longest_clean = longest_clean.max(run.took);
        }
        assert!(run.took <= limits_within() + MILLI, "{what}");
        if found.ending == PathMtuEnding::TooLossy {
            assert!(loss > 0.2 && found.size <= Some(mtu), "{what}");
            assert!(!found.is_exact);
            continue;
        }
        assert_eq!(found.ending, PathMtuEnding::Found, "{what}");
        assert_eq!(found.size, Some(mtu), "{what}");
        assert!(found.is_exact && !found.is_size_dependent, "{what}");
        exact += 1;
    }
    assert!(exact > 950, "{exact} exact");
    assert!(longest_clean <= Duration::from_secs(6), "{longest_clean:?}");
    assert!(longest <= Duration::from_secs(20), "{longest:?}");
}

const fn limits_within() -> Duration {
    Duration::from_secs(20)
}

#[test]
fn a_path_of_the_interfaces_mtu_takes_two_round_trips() {
    for largest in [1200, 1280, 1500, 9000, 65_535] {
        let run = Path::of(largest).run(v4(largest));
        assert_eq!(run.outcome.size, Some(largest));
        assert!(run.outcome.is_exact);
        assert!(run.took <= 150 * MILLI, "{largest}: {:?}", run.took);
        assert!(run.sizes.len() <= 8, "{largest}: {:?}", run.sizes);
    }
}

#[test]
fn a_tunnels_mtu_needs_only_its_confirmation() {
    for mtu in CANDIDATES.into_iter().filter(|&mtu| mtu < 1500) {
        let run = Path::of(mtu).run(v4(1500));
        assert_eq!(run.outcome.size, Some(mtu));
        let tried = |(_, size): &&(MonoTime, u16)| *size == mtu + 1;
        let confirmed = run.sizes.iter().filter(tried).count() as u32;
        assert!(confirmed >= TRIES_TO_CONFIRM, "{mtu}: {confirmed}");
        assert!(run.took <= Duration::from_secs(2), "{mtu}: {:?}", run.took);
    }
}

#[test]
fn packets_are_ten_milliseconds_apart_at_random() {
    let run = Path::of(1430).run(v4(1500));
    let gaps: Vec<_> = run
        .sizes
        .windows(2)
        .map(|pair| pair[1].0.since(pair[0].0))
        .collect();
    assert!(gaps.iter().all(|gap| *gap >= SPACING / 2), "{gaps:?}");
    let close = gaps.iter().filter(|gap| **gap <= SPACING * 3 / 2);
    assert!(close.count() > 20);
}

#[test]
fn each_further_try_is_accompanied_by_a_control_packet() {
    let run = Path::of(1430).run(v4(1500));
    let failing = run.sizes.iter().filter(|(_, size)| *size > 1430).count();
    let controls = run.outcome.controls as usize;
    assert!(controls > failing / 2, "{controls} for {failing}");
    assert_eq!(run.outcome.control_loss_percent(), Some(0.0));
}

#[test]
fn nothing_answered_is_not_a_small_mtu() {
    for is_v6 in [false, true] {
        let run = Path::of(0).run(PathMtuLimits::new(is_v6, 1500));
        assert_eq!(run.outcome.ending, PathMtuEnding::Blocked);
        assert_eq!(run.outcome.size, None);
        assert!(run.took <= Duration::from_secs(4), "{:?}", run.took);
    }
}

#[test]
fn small_packets_alone_are_below_the_minimum() {
    for (is_v6, mtu) in [(false, 575), (true, 1199), (false, 100)] {
        let run = Path::of(mtu).run(PathMtuLimits::new(is_v6, 1500));
        assert_eq!(run.outcome.ending, PathMtuEnding::BelowMinimum, "{mtu}");
        assert_eq!(run.outcome.size, None);
        assert!(!run.outcome.is_exact);
    }
}

#[test]
fn an_mtu_below_the_base_size_is_found_over_ipv4() {
    for mtu in [576, 577, 700, 1199] {
        let run = Path::of(mtu).run(v4(1500));
        assert_eq!(run.outcome.size, Some(mtu));
        assert!(run.outcome.is_exact);
        assert_eq!(run.outcome.control_size, SMALLER_BASE);
    }
}

#[test]
fn the_loss_of_control_packets_is_counted_one_way() {
    let (mut worst, mut sum) = (0.0_f64, 0.0);
    for seed in 0..200 {
        let mut path = Path {
            random: Random::seeded(seed),
            loss_there: 0.05,
            loss_back: 0.05,
            ..Path::of(1492)
        };
        let run = path.run(v4(1500));
        assert_eq!(run.outcome.size, Some(1492));
        assert!(run.took <= Duration::from_secs(9), "{:?}", run.took);
        let received = f64::from(run.controls_received);
        let lost = 100.0 * (1.0 - received / f64::from(run.outcome.controls));
        worst = worst.max((lost - 5.0).abs());
        sum += lost / 200.0;
    }
    assert!(worst < 4.0, "{worst}, mean {sum}");
    assert!((sum - 5.0).abs() < 0.3, "{sum}");
}

#[test]
fn a_path_that_loses_nearly_half_gives_a_lower_bound() {
    for seed in 0..100 {
        let mut path = Path {
            random: Random::seeded(seed),
            loss_there: 0.45,
            ..Path::of(1492)
        };
        let outcome = path.run(v4(1500)).outcome;
        let is_lossy = outcome.ending == PathMtuEnding::TooLossy;
        assert!(is_lossy && !outcome.is_exact, "{seed}: {outcome:?}");
        assert!(outcome.size >= Some(1200) && outcome.size <= Some(1492));
    }
}

#[test]
fn sizes_that_contradict_each_other_are_reported_from_below() {
    let mut path = Path::of(1500);
    path.fits = Box::new(|size, _| size <= 1500 && !(1405..1425).contains(&size));
    let outcome = path.run(v4(9000)).outcome;
    assert!(outcome.is_size_dependent);
    assert_eq!(outcome.size, Some(1404));
    assert!(outcome.is_exact);
}

#[test]
fn two_paths_in_turn_are_not_a_contradiction() {
    for seed in 0..100 {
        let mut path = Path::of(1500);
        path.random = Random::seeded(seed);
        path.fits = Box::new(|size, number| size <= [1400, 1450][number as usize % 2]);
        let outcome = path.run(v4(1500)).outcome;
        let size = outcome.size.unwrap_or_default();
        assert!((1400..=1450).contains(&size), "{seed}: {outcome:?}");
    }
}

#[test]
fn what_this_host_refuses_is_its_own_limit() {
    let mut path = Path::of(9000);
    path.interface = 1500;
    let run = path.run(v4(9000));
    assert_eq!(run.outcome.size, Some(1500));
    assert!(run.outcome.is_exact && run.outcome.refused_here);
    assert!(!run.sizes.iter().any(|(_, size)| *size > 1500));
}

#[test]
fn a_lowered_upper_end_gives_a_lower_bound() {
    let limits = PathMtuLimits {
        is_lowered: true,
        ..v4(1400)
    };
    let outcome = Path::of(1500).run(limits).outcome;
    assert_eq!((outcome.size, outcome.is_exact), (Some(1400), false));
    let outcome = Path::of(1300).run(limits).outcome;
    assert_eq!((outcome.size, outcome.is_exact), (Some(1300), true));
}

#[test]
fn a_quick_search_stops_at_a_candidate() {
    let limits = PathMtuLimits {
        is_quick: true,
        ..v4(1500)
    };
    let run = Path::of(1495).run(limits);
    assert_eq!(
        (run.outcome.size, run.outcome.is_exact),
        (Some(1492), false)
    );
    assert!(run.took <= Duration::from_millis(1500), "{:?}", run.took);
}

#[test]
fn the_time_is_bounded_whatever_happens() {
    for within in [1_u64, 50, 300, 1000] {
        let limits = PathMtuLimits {
            within: Duration::from_millis(within),
            ..v4(9000)
        };
        let run = Path::of(5000).run(limits);
        assert_eq!(run.outcome.ending, PathMtuEnding::OutOfTime);
        assert!(run.took <= limits.within + 15 * MILLI, "{:?}", run.took);
        assert!(!run.outcome.is_exact && run.outcome.size <= Some(5000));
    }
}

#[test]
fn strange_answers_change_nothing() {
    let mut search = PathMtuSearch::new(v4(1500), 1);
    let now = MonoTime::from_nanos(1);
    assert!(!search.answered(0, now) && !search.answered(u32::MAX, now));
    let PathMtuAction::Send(probe) = search.next(now) else {
        panic!("nothing to send");
    };
    assert!(search.answered(probe.number, now) && !search.answered(probe.number, now));
    search.not_sent(probe.number);
    search.refused_here(7);
    let outcome = search.outcome();
    assert_eq!((outcome.sent, outcome.answered), (1, 1));
    assert!(!outcome.refused_here);
}

#[test]
fn packets_that_could_not_be_sent_are_sent_again() {
    let mut search = PathMtuSearch::new(v4(1500), 1);
    let mut now = MonoTime::from_nanos(1);
    let mut actions = 0;
    loop {
        actions += 1;
        match search.next(now) {
            PathMtuAction::Send(probe) => {
                // Each other send meets a full queue.
                if actions % 2 == 0 {
                    search.not_sent(probe.number);
                } else {
                    search.answered(probe.number, now);
                }
            }
            PathMtuAction::Wait(until) => now = until,
            PathMtuAction::Over => break,
        }
    }
    let outcome = search.outcome();
    assert_eq!((outcome.size, outcome.is_exact), (Some(1500), true));
    assert_eq!(outcome.sent, outcome.answered);
}
