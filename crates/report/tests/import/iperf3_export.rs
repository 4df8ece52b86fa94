//! A report in iperf3's form is the report again, as far as iperf3 tells it.

use std::fs;

use serde_json::Value;
use tapeline_report::iperf3_document;

use super::{recordings, run, runs};

/// Numbers that both have, and how far a whole microsecond is from what was measured.
const STREAM: [(&str, f64); 12] = [
    ("/sender/bytes", 0.0),
    ("/sender/seconds", 1e-6),
    ("/sender/bits_per_second", 0.0),
    ("/sender/retransmits", 0.0),
    ("/receiver/bytes", 0.0),
    ("/receiver/seconds", 1e-6),
    ("/receiver/bits_per_second", 0.0),
    ("/receiver/lost", 0.0),
    ("/receiver/lost_percent", 0.0),
    ("/receiver/jitter_ms", 0.0),
    ("/rtt/mean_ms", 5.1e-4),
    ("/rtt/max_ms", 5.1e-4),
];
const INTERVAL: [(&str, f64); 10] = [
    ("/start_seconds", 0.0),
    ("/end_seconds", 0.0),
    ("/seconds", 0.0),
    ("/bytes", 0.0),
    ("/bits_per_second", 0.0),
    ("/retransmits", 0.0),
    ("/cwnd_bytes", 0.0),
    ("/rtt_ms", 5.1e-4),
    ("/packets", 0.0),
    ("/lost", 0.0),
];

fn same(what: &str, one: &Value, other: &Value, numbers: &[(&str, f64)]) {
    for (place, slack) in numbers {
        let number = |value: &Value| value.pointer(place).and_then(Value::as_f64);
        let (one, other) = (number(one), number(other));
        let equal = match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() <= slack + 1e-14 * one.abs(),
            _ => one == other,
        };
        assert!(equal, "{what}{place}: {one:?} became {other:?}");
    }
}

fn list<'a>(document: &'a Value, place: &str) -> &'a [Value] {
    let list = document.pointer(place).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// Compares a report with what became of it; true if iperf3 has such a test.
fn returns(name: &str, report: &Value) -> bool {
    let told = match iperf3_document(report) {
        Ok(told) => told,
        Err(why) => {
            assert!(why.starts_with("iperf3 has no test of the kind "), "{why}");
            return false;
        }
    };
    let again = run(told.as_bytes()).document;
    for (place, numbers) in [
        ("/streams", &STREAM[..]),
        ("/sum/directions", &STREAM[..10]),
        ("/intervals", &INTERVAL[..]),
    ] {
        let (before, after) = (list(report, place), list(&again, place));
        assert_eq!(before.len(), after.len(), "{name}{place}");
        for (number, (one, other)) in before.iter().zip(after).enumerate() {
            same(&format!("{name}{place}/{number}"), one, other, numbers);
            assert_eq!(one["direction"], other["direction"], "{name}{place}");
        }
    }
    for member in [
        "role",
        "transport",
        "direction",
        "requested_seconds",
        "requested_bytes",
        "streams",
        "length_bytes",
        "requested_bits_per_second",
        "congestion_control",
        "interrupted",
        "complete",
    ] {
        let known = &report["test"][member];
        // iperf3 tells it of TCP alone.
        let told = member != "congestion_control" || report["test"]["transport"] == "tcp";
        if told && !known.is_null() {
            assert_eq!(known, &again["test"][member], "{name}: {member}");
        }
    }
    assert_eq!(report["error"]["text"], again["error"]["text"], "{name}");
    true
}

#[test]
fn every_golden_report_returns() {
    let mut told = 0;
    for file in recordings("documents", ".json") {
        let text = fs::read_to_string(&file).expect("a report");
        let reports = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        for report in reports {
            let name = file.display().to_string();
            told += usize::from(returns(&name, &report.expect("JSON")));
        }
    }
    assert!(told > 5, "{told}");
}

#[test]
fn every_recording_of_iperf3_returns() {
    let mut told = 0;
    for file in recordings("import", ".json") {
        let bytes = fs::read(&file).expect("a recording");
        for one in runs(&bytes).expect("runs") {
            assert!(returns(&file.display().to_string(), &one.document));
            told += 1;
        }
    }
    assert!(told > 20, "{told}");
}
