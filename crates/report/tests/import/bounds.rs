//! Bounds: sizes, depth, numbers of runs, and memory.

use tapeline_report::import::{self, Kind, MAX_BYTES};

use super::{refused, runs};

/// Takes all runs of a file one after the other; the bytes that were in use at most, and how many runs.
fn peak(file: &[u8]) -> (u64, usize) {
    let mut count = 0;
    let used = allocation_counter::measure(|| {
        if let Ok(runs) = import::read("a", file, None) {
            count = runs.filter(Result::is_ok).count();
        }
    });
    (used.bytes_max, count)
}

#[test]
fn sizes_and_depth() {
    assert_eq!(
        refused(&vec![b' '; MAX_BYTES + 1]),
        "a.json:1: larger than 64 MiB"
    );
    let deep = |levels: usize| format!("{}{}", "{\"start\":".repeat(levels), "}".repeat(levels));
    assert_eq!(
        refused(deep(65).as_bytes()),
        "a.json:1: more than 64 levels of JSON"
    );
    let deep = |levels: usize| {
        let arrays = levels - 1;
        format!("{{\"start\":{}{}}}", "[".repeat(arrays), "]".repeat(arrays))
    };
    assert!(runs(deep(64).as_bytes()).is_ok());
    assert_eq!(
        refused(deep(65).as_bytes()),
        "a.json:1: more than 64 levels of JSON"
    );
}

#[test]
fn numbers_of_runs_and_intervals() {
    let many = "{\"error\":\"e\"}\n".repeat(10_000);
    assert_eq!(runs(many.as_bytes()).expect("runs").len(), 10_000);
    let more = format!("{many}{{\"error\":\"e\"}}");
    assert_eq!(refused(more.as_bytes()), "a.json:1: more than 10000 runs");
    let interval = r#"{"streams":[{"socket":1,"start":0,"end":1,"bytes":1}]},"#;
    let file = |count: usize| format!("{{\"intervals\":[{}{{}}]}}", interval.repeat(count));
    assert_eq!(
        refused(file((1 << 19) + 1).as_bytes()),
        "a.json:1: more than 524288 intervals"
    );
    let found = import::read("a", file(1 << 19).as_bytes(), None).map(|mut runs| {
        let run = runs.next().expect("a run").expect("intervals");
        run.intervals.len()
    });
    assert_eq!(found, Ok(1 << 19));
}

/// With a file of 64 MiB, 256 MiB: what grows without a bound of its own may take as much again.
#[test]
fn memory() {
    let report = r#"{"schema":"tapeline-report/1","test":{},"sum":{},"streams":["#;
    let end = r#"{}],"intervals":[]}"#;
    let raw = r#"{"schema":"tapeline-report/1","test":{},"sum":{},"streams":[],"intervals":["#;
    let interval = r#"{"streams":[{"socket":1,"start":0,"end":1,"bytes":1,"rtt":1}]},"#;
    let start = r#"{"start":{"connected":["#;
    let series = r#"{"schema":"tapeline-series/1","runs":["#;
    let sender = r#"{"sender":{"socket":1}},"#;
    for (begin, part, count, end) in [
        (r#"{"intervals":["#, interval, 1 << 19, "{}]}"),
        (
            r#"{"intervals":[{"streams":["#,
            r#"{"":0},"#,
            99_000,
            "0]}]}",
        ),
        (r#"{"end":{"streams":["#, sender, 4095, "0]}}"),
        (r#"{"end":{"streams":["#, sender, 49_000, "0]}}"),
        (start, r#"{"socket":1},"#, 99_000, "0]}}"),
        (start, r#"{"":0},"#, 99_000, "0]}}"),
        (start, r#"{"":0},"#, 400_000, "0]}}"),
        (report, "1,", 199_000, end),
    ] {
        let file = format!("{begin}{}{end}", part.repeat(count));
        let (bytes, _) = peak(file.as_bytes());
        assert!(bytes <= 160 << 20, "{} MiB of {begin}{part}", bytes >> 20);
    }
    for (begin, part, end) in [
        ("", r#"{"error":"e"}"#, ""),
        ("", r#"{"event":"start"}"#, ""),
        ("{", r#""a":[],"#, r#""end":{}}"#),
        (raw, "{},", "{}]}"),
        (series, "{},", "{}]}"),
        ("", "[", ""),
        (r#"{""#, r"\\\\", r#"":1}"#),
    ] {
        let file = format!("{begin}{}{end}", part.repeat((1 << 20) / part.len()));
        let (bytes, _) = peak(file.as_bytes());
        assert!(bytes <= 2 << 20, "{} MiB of {begin}{part}", bytes >> 20);
    }
}

#[test]
fn a_kind_can_be_forced() {
    let iperf3 = br#"{"error": "e"}"#;
    let why = |kind| {
        let mut runs = import::read("a", iperf3, Some(kind)).expect("a file");
        runs.next()
            .expect("an item")
            .map(|run| run.origin.to_string())
    };
    assert_eq!(why(Kind::Iperf3Json), Ok("import:iperf3-json".to_owned()));
    assert_eq!(
        why(Kind::Tapeline).expect_err("a fault").to_string(),
        "a:1: not tapeline"
    );
    for kind in Kind::ALL {
        assert_eq!(Kind::from_name(kind.name()), Some(kind));
    }
}
