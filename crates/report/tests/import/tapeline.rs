//! Documents of tapeline.

use std::fs;

use serde_json::{Value, json};

use super::{recordings, refused, run, runs};

#[test]
fn reports_stay_as_they_are() {
    let files = recordings("documents", ".json");
    let mut seen = 0;
    for file in files {
        let bytes = fs::read(&file).expect("bytes");
        let told = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
        let told: Vec<Value> = told.map(|value| value.expect("JSON")).collect();
        let found = runs(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let found: Vec<Value> = found.into_iter().map(|run| run.document).collect();
        assert_eq!(told, found, "{}", file.display());
        seen += found.len();
    }
    assert!(seen > 5);
}

/// `--json-stream` of the same tests says the same.
#[test]
fn lines_of_events_are_the_documents() {
    let mut seen = 0;
    for lines in recordings("documents", ".ndjson") {
        let bytes = fs::read(&lines).expect("bytes");
        let whole = fs::read(lines.with_extension("json")).expect("bytes");
        let found = runs(&bytes).unwrap_or_else(|error| panic!("{}: {error}", lines.display()));
        let told = runs(&whole).expect("documents");
        assert_eq!(found.len(), told.len(), "{}", lines.display());
        for (found, told) in found.iter().zip(&told) {
            assert_eq!(found.document, told.document, "{}", lines.display());
            assert_eq!(found.origin, told.origin);
            seen += found.document["intervals"]
                .as_array()
                .expect("intervals")
                .len();
        }
    }
    assert!(seen > 5);
}

#[test]
fn lines_of_a_series_know_it() {
    let end = json!({"event": "end", "test": 1, "data": report()});
    let series = json!({"event": "series", "at": "2026-11-20T23:05:56Z",
        "data": {"series": {"excluded": [{"run": 1, "reason": "warm_up"}]}}});
    let saved = json!({"event": "saved", "at": "2026-11-20T23:05:56Z", "data": {"runs": ["r1"]}});
    let listening = json!({"event": "listening", "at": "2026-11-20T23:05:56Z", "data": []});
    let file = format!("{listening}\n{end}\n{end}\n{series}\n{saved}\n{end}\n");
    let found = runs(file.as_bytes()).expect("runs");
    let told = |index: usize| (found[index].series, found[index].left_out.as_deref());
    assert_eq!(found.len(), 3);
    assert_eq!(told(0), (Some(0), Some("warm_up")));
    assert_eq!(told(1), (Some(0), None));
    assert_eq!(told(2), (None, None));
}

fn report() -> Value {
    let file = &recordings("documents", "/tcp-client.json")[0];
    serde_json::from_slice(&fs::read(file).expect("bytes")).expect("JSON")
}

#[test]
fn a_report_says_which_version_wrote_it() {
    let mut report = report();
    report["version"] = json!("9.8.7");
    assert_eq!(run(report.to_string().as_bytes()).origin, "tapeline 9.8.7");
}

#[test]
fn runs_of_a_series_know_it() {
    let series = json!({
        "schema": "tapeline-series/1",
        "series": {"excluded": [{"run": 1, "reason": "warm_up"}]},
        "runs": [report(), report()],
    });
    let file = format!("{}\n{series}\n{series}", report());
    let found = runs(file.as_bytes()).expect("runs");
    let told = |index: usize| (found[index].series, found[index].left_out.as_deref());
    assert_eq!(found.len(), 5);
    assert_eq!(told(0), (None, None));
    assert_eq!(told(1), (Some(0), Some("warm_up")));
    assert_eq!(told(2), (Some(0), None));
    assert_eq!(told(3), (Some(1), Some("warm_up")));
    assert_eq!(found[4].document, report());
}

#[test]
fn other_schemas_and_broken_reports_are_refused() {
    let method = br#"{"schema": "tapeline-method/1"}"#;
    assert!(
        refused(method).contains("tapeline-method/1 is no schema of runs"),
        "{}",
        refused(method)
    );
    let mut broken = report();
    broken["test"] = json!(null);
    let why = refused(broken.to_string().as_bytes());
    assert_eq!(
        why,
        "a.json:1: a report that tapeline-report/1 does not describe"
    );
    broken = report();
    broken["intervals"] = json!([1]);
    let why = refused(broken.to_string().as_bytes());
    assert_eq!(why, "a.json:1: an interval that is no object");
}
