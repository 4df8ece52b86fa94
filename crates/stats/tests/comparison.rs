//! Comparisons of runs against SciPy's numbers: `data/comparison.py` makes `data/comparison.tsv`.

use tapeline_stats::{
    BoundsMethod, Confidence, MedianBounds, RankTest, Shift, ShiftMethod, Superiority, Welch,
    hedges_g, holm,
};

const VECTORS: &str = include_str!("data/comparison.tsv");

/// The lists of numbers of each line of a kind.
fn vectors(kind: &str) -> Vec<Vec<Vec<f64>>> {
    let lines = VECTORS.lines().map(|line| line.split('\t'));
    let numbers = |list: &str| {
        list.split(',')
            .map(|word| word.parse().expect("a number"))
            .collect()
    };
    let found: Vec<Vec<Vec<f64>>> = lines
        .filter_map(|mut words| (words.next() == Some(kind)).then(|| words.map(numbers).collect()))
        .collect();
    assert!(!found.is_empty(), "no vector of {kind}");
    found
}

#[track_caller]
fn same(found: f64, wanted: f64, of: &[Vec<f64>]) {
    assert!(
        (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
        "{found} {wanted}: {of:?}"
    );
}

fn confidence(level: f64) -> Confidence {
    let all = [Confidence::P90, Confidence::P95, Confidence::P99];
    all.into_iter()
        .find(|one| one.level() == level)
        .expect("a level")
}

#[test]
fn rank_sums() {
    for vector in vectors("rank") {
        let test = RankTest::new(&vector[0], &vector[1]).expect("a test");
        same(test.p, vector[2][0], &vector);
        assert_eq!(test.exact, vector[0].len() * vector[1].len() <= 400);
    }
}

#[test]
fn shifts_and_their_bounds() {
    for vector in vectors("shift") {
        let shift = Shift::new(&vector[0], &vector[1], Confidence::P95).expect("a shift");
        assert_ne!(shift.method, ShiftMethod::Welch);
        let found = [shift.estimate, shift.lower, shift.upper, shift.p];
        for (found, wanted) in found.into_iter().zip(&vector[2..]) {
            same(found, wanted[0], &vector);
        }
        assert_eq!(shift.is_significant(), shift.p <= 0.05, "{vector:?}");
    }
}

#[test]
fn welch_of_few_runs() {
    for vector in vectors("welch") {
        let welch = Welch::new(&vector[0], &vector[1]).expect("a comparison");
        let half = welch.half_width(0.05);
        let found = [
            welch.difference / welch.error,
            welch.degrees,
            welch.p(),
            welch.difference - half,
            welch.difference + half,
        ];
        for (found, wanted) in found.into_iter().zip(&vector[2..]) {
            same(found, wanted[0], &vector);
        }
    }
    for vector in vectors("hedges") {
        let g = hedges_g(&vector[0], &vector[1]).expect("a size");
        same(g, vector[2][0], &vector);
    }
}

#[test]
fn pairs_and_corrections() {
    for vector in vectors("superiority") {
        let superiority = Superiority::new(&vector[0], &vector[1]);
        same(superiority.pairs, vector[2][0], &vector);
        assert_eq!(superiority.of, (vector[0].len() * vector[1].len()) as u64);
    }
    for vector in vectors("holm") {
        for (found, wanted) in holm(&vector[0]).into_iter().zip(&vector[1]) {
            same(found, *wanted, &vector);
        }
    }
}

#[test]
fn quantiles() {
    for vector in vectors("student") {
        let t = confidence(vector[0][0]).student_t(vector[1][0]);
        same(t, vector[2][0], &vector);
    }
    for vector in vectors("median") {
        let runs: Vec<f64> = (0..vector[1][0] as u32)
            .map(|run| f64::from(run) + 1.0)
            .collect();
        let bounds = MedianBounds::new(&runs, confidence(vector[0][0])).expect("bounds");
        // The runs are their numbers, so a bound is its place.
        let outer = vector[2][0];
        match bounds.method {
            BoundsMethod::OrderStatistics => {
                same(bounds.lower, outer, &vector);
                same(bounds.upper, runs.len() as f64 + 1.0 - outer, &vector);
            }
            BoundsMethod::Student => assert_eq!(outer, 0.0, "{vector:?}"),
        }
    }
}
