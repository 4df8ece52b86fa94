use serde_json::{Value, json};

use super::*;
use crate::run_facts::RunFacts;

/// A run of this rate (Mbit/s), smoothed round trip (ms) and start (minutes).
fn run(rate: f64, rtt: f64, minute: u32, congestion: &str) -> RunFacts {
    let direction = json!({"direction": "forward",
        "receiver": {"bits_per_second": rate * 1e6, "seconds": 10.0},
        "sender": {"bits_per_second": rate * 1e6, "seconds": 10.0}});
    let document: Value = json!({
        "version": "0.1.0",
        "peer": {"host": "db1"},
        "test": {"role": "client", "transport": "tcp", "direction": "forward", "complete": true,
            "workload": "stream", "streams": 1, "requested_seconds": 10.0, "interrupted": false,
            "congestion_control": congestion,
            "started": format!("2026-11-21T09:{minute:02}:00Z")},
        "streams": [{"direction": "forward", "rtt": {"mean_ms": rtt, "samples": 10}}],
        "sum": {"directions": [direction]},
        "verdict": {"limited_by": "network", "confidence": "high"},
    });
    RunFacts::from_document(&document)
}

fn side(name: &str, rates: &[f64], minute: u32, congestion: &str) -> Side {
    let runs = rates.iter().zip(0..);
    Side {
        name: name.to_owned(),
        runs: runs
            .map(|(rate, at)| run(*rate, 0.4 + f64::from(at) * 0.01, minute + at, congestion))
            .collect(),
    }
}

const A: [f64; 8] = [941.0, 941.3, 940.8, 941.2, 941.9, 941.1, 940.7, 941.4];
const B: [f64; 8] = [903.0, 903.4, 902.9, 904.1, 903.3, 903.8, 903.2, 903.6];

fn verdict(comparison: &Comparison, quantity: &str) -> String {
    let one = comparison
        .quantities
        .iter()
        .find(|one| one.quantity == quantity);
    one.expect("the quantity").verdict.clone()
}

#[test]
fn a_drop_is_told_with_its_bounds() {
    let (a, b) = (
        side("baseline:main", &A, 1, "cubic"),
        side("last:8", &B, 20, "bbr"),
    );
    let comparison = compare(&a, &b, &CompareOptions::default());
    let text = text(&comparison, true);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "A  baseline:main  8 runs, 2026-11-21 09:01 to 09:08, TCP forward to db1, 1 stream, 10 s, cubic",
            "B  last:8         8 runs, 2026-11-21 09:20 to 09:27, the same, bbr",
            "differs: congestion control (cubic, bbr)",
            "note: all of B was measured after A; what changed in the network meanwhile counts as a difference",
        ]
    );
    let rate = lines
        .iter()
        .find(|line| line.starts_with("  rate Mbit/s"))
        .expect("the rate");
    let cells: Vec<&str> = rate
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .map(str::trim)
        .collect();
    assert_eq!(
        cells,
        [
            "rate Mbit/s",
            "941.1",
            "903.4",
            "-4.0 %",
            "-4.1 to -4.0 %",
            "0 of 64",
            "worse, surely"
        ]
    );
    let rtt = comparison
        .quantities
        .iter()
        .find(|one| one.quantity == "rtt")
        .expect("rtt");
    assert!(!rtt.main && comparison.quantities[0].main);
    assert_eq!(rtt.better_pairs, 32.0);
}

#[test]
fn few_runs_one_run_and_no_runs() {
    let a = side("a", &A[..3], 1, "cubic");
    let few = compare(
        &a,
        &side("b", &B[..3], 9, "cubic"),
        &CompareOptions::default(),
    );
    assert_eq!(verdict(&few, "rate"), "worse, surely (few runs)");
    let one = compare(
        &a,
        &side("b", &B[..1], 9, "cubic"),
        &CompareOptions::default(),
    );
    assert_eq!(verdict(&one, "rate"), "one run on a side: not judged");
    let row = &one.quantities[0];
    assert!(
        row.change
            .is_some_and(|change| (change + 4.04).abs() < 0.05),
        "{row:?}"
    );
    assert_eq!(
        (row.change_lower, row.significance),
        (None, Significance::NotJudged)
    );
    let none = compare(&a, &side("b", &[], 9, "cubic"), &CompareOptions::default());
    assert!(none.quantities.is_empty());
    assert!(text(&none, true).contains("no number is known of both sides"));
}

#[test]
fn runs_that_failed_do_not_count_and_hosts_are_named() {
    let mut b = side("b", &B, 9, "cubic");
    b.runs[0].complete = false;
    b.runs[1].left_out = Some("warm_up".to_owned());
    b.runs[2].limited_by = Some("receiver_cpu".to_owned());
    let comparison = compare(&side("a", &A, 1, "cubic"), &b, &CompareOptions::default());
    assert_eq!((comparison.b.runs, comparison.b.left_out), (6, 2));
    assert_eq!(
        comparison.notes[0],
        "B measured a host, not the network, in 1 of 6 runs"
    );
    assert_eq!(comparison.quantities[0].pairs, 48);
}

#[test]
fn the_same_and_the_unclear() {
    let a = side("a", &A, 1, "cubic");
    let same = compare(&a, &side("b", &A, 9, "cubic"), &CompareOptions::default());
    assert_eq!(verdict(&same, "rate"), "the same within 2 %");
    let wild = [941.0, 870.0, 990.0, 860.0, 1000.0, 950.0, 910.0, 930.0];
    let unclear = compare(
        &a,
        &side("b", &wild, 9, "cubic"),
        &CompareOptions::default(),
    );
    let said = verdict(&unclear, "rate");
    assert!(
        said.starts_with("unclear: about ") && said.ends_with("each would show 4 %"),
        "{said}"
    );
    let wild: Vec<f64> = (0..8)
        .map(|at| 941.0 / f64::from(1 + 3 * (at % 2)).exp2())
        .collect();
    let hopeless = compare(
        &side("a", &wild, 1, "cubic"),
        &side("b", &wild, 9, "cubic"),
        &CompareOptions::default(),
    );
    assert!(hopeless.quantities[0].runs_needed > Some(200));
    assert_eq!(
        verdict(&hopeless, "rate"),
        "unclear: the runs differ too much among themselves to show 4 %"
    );
    let little: Vec<f64> = A.iter().map(|rate| rate * 0.99).collect();
    let little = compare(
        &a,
        &side("b", &little, 9, "cubic"),
        &CompareOptions::default(),
    );
    assert_eq!(verdict(&little, "rate"), "differs a little");
}

#[test]
fn a_chosen_quantity_is_judged_alone() {
    let options = CompareOptions {
        quantities: vec!["rtt".to_owned()],
        ..CompareOptions::default()
    };
    let a = side("a", &A, 1, "cubic");
    let comparison = compare(&a, &side("b", &B, 9, "cubic"), &options);
    let [only] = &comparison.quantities[..] else {
        panic!("{comparison:?}");
    };
    assert!(only.main && only.quantity == "rtt");
}

#[test]
fn zeros_are_compared_by_their_difference() {
    let lossy = |share: f64, minute: u32| {
        let mut run = run(100.0, 1.0, minute, "cubic");
        run.measurements.retain(|one| one.quantity != "rtt");
        for one in &mut run.measurements {
            (one.quantity, one.value) = ("lost_percent", share);
        }
        run
    };
    let all = |share: f64, minute| Side {
        name: "x".to_owned(),
        runs: (0..5_u32)
            .map(|number| lossy(share, minute + number))
            .collect(),
    };
    let options = CompareOptions::default();
    assert_eq!(
        verdict(
            &compare(&all(0.0, 1), &all(0.0, 9), &options),
            "lost_percent"
        ),
        "the same within 2 %"
    );
    let worse = compare(&all(0.0, 1), &all(0.5, 9), &options);
    // Alone among others, five against five are significant after the correction.
    assert!(verdict(&worse, "lost_percent").starts_with("worse, "));
    assert_eq!(worse.quantities[0].compared_as, "difference");
}

#[test]
fn a_change_of_next_to_nothing_has_no_sign() {
    use super::words::signed;
    assert_eq!(signed(-0.0001), "0");
    assert_eq!(
        [signed(-0.5), signed(0.5), signed(0.0)],
        ["-0.500", "+0.500", "0"]
    );
}
