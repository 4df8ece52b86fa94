use proptest::prelude::*;

use super::*;
use crate::{Confidence, Random};

const P95: Confidence = Confidence::P95;

proptest! {
    /// "0 is outside" and "significant" are the same sentence, with ties and without.
    #[test]
    fn bounds_leave_out_zero_exactly_where_p_is_small(
        a in prop::collection::vec(0_u8..12, 2..12),
        b in prop::collection::vec(0_u8..12, 2..12),
        up in 0_u8..9,
    ) {
        let a: Vec<f64> = a.into_iter().map(f64::from).collect();
        let b: Vec<f64> = b.into_iter().map(|value| f64::from(value + up)).collect();
        if let Some(shift) = Shift::new(&a, &b, P95) {
            prop_assert!(shift.lower <= shift.estimate && shift.estimate <= shift.upper, "{shift:?}");
            if shift.method != ShiftMethod::Welch {
                prop_assert_eq!(shift.is_significant(), shift.p <= 0.05, "{:?}", shift);
            }
        }
    }

    /// The other way round is the same comparison.
    #[test]
    fn sides_change_places(
        a in prop::collection::vec(0_u8..40, 4..10),
        b in prop::collection::vec(0_u8..40, 4..10),
    ) {
        let a: Vec<f64> = a.into_iter().map(f64::from).collect();
        let b: Vec<f64> = b.into_iter().map(f64::from).collect();
        let there = Shift::new(&a, &b, P95).expect("a shift");
        let back = Shift::new(&b, &a, P95).expect("a shift");
        prop_assert!((there.p - back.p).abs() < 1e-12);
        prop_assert!((there.estimate + back.estimate).abs() < 1e-12);
        prop_assert!((there.lower + back.upper).abs() < 1e-12);
    }
}

/// A spread of runs.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Normal,
    /// A rate with 1 % noise, one run in ten 5 to 30 % low.
    Skewed,
    /// A few values only.
    Tied,
}

impl Spread {
    fn run(self, random: &mut Random) -> f64 {
        let noise = 100.0 + random.normal();
        match self {
            Self::Normal => noise,
            Self::Skewed if random.fraction() < 0.1 => {
                noise * (1.0 - 0.05 - 0.25 * random.fraction())
            }
            Self::Skewed => noise,
            Self::Tied => noise.round(),
        }
    }

    fn runs(self, count: usize, random: &mut Random) -> Vec<f64> {
        (0..count).map(|_| self.run(random)).collect()
    }
}

/// Share of comparisons of alike sides, of so many runs each, that find a difference; and of those
/// whose bounds hold the true shift of 3.
fn alike(spread: Spread, count: usize, rounds: u32) -> (f64, f64) {
    let mut random = Random::seeded(7 + count as u64);
    let (mut alarms, mut held, mut judged) = (0_u32, 0_u32, 0_u32);
    for _ in 0..rounds {
        let a = spread.runs(count, &mut random);
        let mut b = spread.runs(count, &mut random);
        let shift = Shift::new(&a, &b, P95);
        alarms += u32::from(shift.is_some_and(|shift| shift.is_significant()));
        b.iter_mut().for_each(|value| *value += 3.0);
        if let Some(shift) = Shift::new(&a, &b, P95) {
            judged += 1;
            held += u32::from(shift.lower <= 3.0 + 1e-9 && shift.upper >= 3.0 - 1e-9);
        }
    }
    let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
    (share(alarms, rounds), share(held, judged))
}

/// Share of gates at the true median that say it is passed, and that it is missed.
fn at_the_threshold(spread: Spread, count: usize, rounds: u32, threshold: f64) -> (f64, f64) {
    let mut random = Random::seeded(70 + count as u64);
    let (mut passed, mut failed) = (0_u32, 0_u32);
    for _ in 0..rounds {
        let runs = spread.runs(count, &mut random);
        if let Some(bounds) = MedianBounds::new(&runs, Confidence::P90) {
            passed += u32::from(bounds.lower > threshold);
            failed += u32::from(bounds.upper < threshold);
        }
    }
    let share = |count: u32| f64::from(count) / f64::from(rounds);
    (share(passed), share(failed))
}

/// The bounds of a share that is at most (or at least) its limit, with what so few rounds add.
fn chance(limit: f64, rounds: u32) -> f64 {
    if rounds >= 10_000 {
        return 0.0;
    }
    3.0 * (limit * (1.0 - limit) / f64::from(rounds)).sqrt()
}

fn simulate(rounds: impl Fn(usize) -> u32) {
    for spread in [Spread::Normal, Spread::Skewed, Spread::Tied] {
        for count in [2, 3, 5, 8, 20] {
            let rounds = rounds(count);
            let (alarms, held) = alike(spread, count, rounds);
            assert!(
                alarms <= 0.055 + chance(0.055, rounds),
                "{spread:?} {count}: {alarms}"
            );
            if count >= 4 {
                assert!(
                    held >= 0.94 - chance(0.94, rounds),
                    "{spread:?} {count}: {held}"
                );
            }
        }
    }
}

fn simulate_gates(rounds: u32) {
    // The median of the skewed runs: where 0.9 Φ + 0.1 is a half.
    for (spread, median) in [
        (Spread::Normal, 100.0),
        (Spread::Skewed, 99.86),
        (Spread::Tied, 100.0),
    ] {
        for count in [2, 3, 5, 8, 20] {
            let (passed, failed) = at_the_threshold(spread, count, rounds, median);
            let limit = 0.055 + chance(0.055, rounds);
            assert!(
                passed <= limit && failed <= limit,
                "{spread:?} {count}: {passed} {failed}"
            );
        }
    }
}

#[test]
fn alike_sides_rarely_differ() {
    simulate(|count| if count == 20 { 60 } else { 400 });
}

/// 10,000 comparisons of each kind; half a minute in a release build.
#[test]
#[ignore = "minutes; the test above has fewer rounds"]
fn alike_sides_rarely_differ_in_ten_thousand_comparisons() {
    simulate(|_| 10_000);
}

#[test]
fn a_gate_at_its_threshold_rarely_decides() {
    simulate_gates(10_000);
}

#[test]
fn a_real_drop_is_found_in_skewed_runs() {
    let mut random = Random::seeded(5);
    let found = (0..200)
        .filter(|_| {
            let a = Spread::Skewed.runs(8, &mut random);
            let b: Vec<f64> = Spread::Skewed.runs(8, &mut random);
            let b: Vec<f64> = b.into_iter().map(|value| value * 0.95).collect();
            Shift::new(&a, &b, P95).is_some_and(|shift| shift.upper < 0.0)
        })
        .count();
    // Of 200 rounds; 82 % of many.
    assert!(found >= 145, "{found}");
}

#[test]
fn few_runs_without_spread_are_not_judged() {
    assert_eq!(Shift::new(&[5.0, 5.0], &[6.0, 6.0], P95), None);
    let same = Shift::new(&[5.0, 5.0], &[5.0, 5.0], P95).expect("no shift");
    assert_eq!((same.lower, same.upper, same.p), (0.0, 0.0, 1.0));
    assert_eq!(Shift::new(&[5.0], &[1.0, 2.0, 3.0], P95), None);
    assert_eq!(MedianBounds::new(&[5.0, 5.0], Confidence::P90), None);
    let alike = Shift::new(&[5.0; 5], &[8.0; 5], P95).expect("a shift");
    assert_eq!((alike.lower, alike.upper), (3.0, 3.0));
    assert!(alike.is_significant());
}

#[test]
fn which_test_is_used() {
    for (a, b, shows) in [
        (4, 4, true),
        (3, 5, true),
        (3, 4, false),
        (3, 3, false),
        (2, 8, true),
    ] {
        assert_eq!(RankTest::can_show(a, b, 0.05), shows, "{a} {b}");
    }
    assert!(RankTest::can_show(3, 3, 0.1));
    assert!(RankTest::can_show(100_000, 100_000, 0.05));
}

#[test]
fn as_many_of_so_many_runs_must_be_good() {
    for (count, good) in [(5, 5), (7, 7), (8, 7), (20, 15)] {
        let runs: Vec<f64> = (1..=count).map(f64::from).collect();
        let bounds = MedianBounds::new(&runs, Confidence::P90).expect("bounds");
        assert_eq!(bounds.lower, f64::from(count - good + 1), "{count}");
    }
    // Where the binomial distribution of halves underflows.
    let runs: Vec<f64> = (1..=10_000).map(f64::from).collect();
    let bounds = MedianBounds::new(&runs, Confidence::P90).expect("bounds");
    assert!((bounds.lower - 4_918.0).abs() <= 1.0, "{bounds:?}");
}

#[test]
fn runs_that_would_show_it() {
    // Deviation 1, difference 1: 2 · 2.8² = 15.7 runs a side.
    let error = (2.0_f64 / 8.0).sqrt();
    assert_eq!(runs_needed(error, 8, 8, 1.0), Some(16));
    assert_eq!(runs_needed(error, 8, 8, 100.0), Some(4));
    assert_eq!(runs_needed(error, 8, 8, 0.0), None);
    assert_eq!(runs_to_decide(8, 2.0, 1.0), Some(24));
    assert_eq!(runs_to_decide(8, 2.0, 0.0), None);
}
