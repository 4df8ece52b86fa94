//! Documents of runs, for tests.

use serde_json::{Value, json};
use tapeline_archive::{Bound, NewRun, Patience, RunId, Saved, save};

/// 2026-11-21 09:10:00, UTC.
pub(crate) const MORNING: i64 = 1_795_252_200_000;

/// A report of a TCP test to `db1` with a rate in Mbit/s, `minute` minutes after [`MORNING`].
pub(crate) fn document(mbps: f64, minute: i64) -> Value {
    let interval =
        json!({"stream": 1, "start_seconds": 0.0, "end_seconds": 1.0, "bytes": 117_000_000});
    json!({
        "schema": "tapeline-report/1",
        "version": "0.1.0",
        "command": "tapeline -c db1",
        "peer": {"program": "tapeline", "version": "0.1.0", "host": "db1", "address": "192.0.2.7"},
        "test": {
            "role": "client", "protocol": "iperf2", "transport": "tcp", "direction": "forward",
            "workload": "stream", "streams": 1, "requested_seconds": 10.0, "complete": true,
            "interrupted": false, "congestion_control": "cubic",
            "started": format!("2026-11-21T09:{:02}:00Z", 10 + minute),
        },
        "streams": [],
        "intervals": vec![interval; 10],
        "sum": {"directions": [{
            "direction": "forward",
            "sender": {"bits_per_second": mbps * 1.001e6, "bytes": 1_170_000_000_u64},
            "receiver": {"bits_per_second": mbps * 1e6},
        }]},
        "verdict": {"limited_by": "network", "confidence": "high"},
        "error": null,
    })
}

/// It as a run that is to be kept.
pub(crate) fn run(mbps: f64, minute: i64) -> NewRun {
    NewRun::new(document(mbps, minute), MORNING + 60_000 * (minute + 1)).expect("a report")
}

/// Keeps a run where nothing stands in the way.
pub(crate) fn kept(path: &std::path::Path, run: &NewRun) -> Saved {
    save(path, Bound::default(), Patience::default(), run).expect("a place")
}

/// Keeps `count` runs, one a minute; returns their names.
#[allow(dead_code, reason = "not every test program needs several")]
pub(crate) fn filled(path: &std::path::Path, count: i64) -> Vec<RunId> {
    let runs = (0..count).map(|minute| kept(path, &run(940.0 + minute as f64, minute)).run);
    runs.collect()
}
