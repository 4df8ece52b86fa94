//! `history`, `compare` and `gate` on results that were measured, and on ones of known numbers.

#![cfg(all(unix, feature = "history"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{Ended, Program, Server, command};
use serde_json::{Value, json};
use tapeline_archive::{Bound, NewRun, NewSeries, Patience, SeriesKind, Uuid, save};
use tempfile::TempDir;

/// 2026-11-21 09:10:00, UTC.
const MORNING: i64 = 1_795_252_200_000;

/// A folder with a history.
struct Kept {
    folder: TempDir,
}

impl Kept {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A series with rates in Mbit/s and a delay that it adds.
    fn series(&self, rates: &[f64], minute: i64, congestion: &str, limited_by: &str) {
        let series = NewSeries {
            uuid: Uuid::at(MORNING + minute),
            started: MORNING,
            kind: SeriesKind::Repeat,
            plan: None,
        };
        for (rate, at) in rates.iter().zip(minute..) {
            let document = document(*rate, at, congestion, limited_by);
            let mut run = NewRun::new(document, MORNING + 60_000 * at).expect("a report");
            run.series = Some(series.clone());
            let path = self.path("history.db");
            save(&path, Bound::default(), Patience::default(), &run).expect("a place");
        }
    }

    fn tapeline(&self, line: &str) -> Ended {
        let words: Vec<&str> = line.split(' ').collect();
        self.words(&words)
    }

    fn words(&self, words: &[&str]) -> Ended {
        let mut command = command(words);
        command.env("TAPELINE_HISTORY", self.path("history.db"));
        command.current_dir(self.folder.path());
        Program::spawn(command).end()
    }

    fn said(&self, line: &str) -> String {
        let ended = self.tapeline(line);
        assert_eq!(ended.code(), Some(0), "{line}: {}", ended.stderr);
        ended.stdout
    }
}

fn document(mbps: f64, minute: i64, congestion: &str, limited_by: &str) -> Value {
    json!({
        "schema": "tapeline-report/1", "version": "0.1.0", "command": "tapeline -c db1",
        "peer": {"program": "tapeline", "version": "0.1.0", "host": "db1", "address": "192.0.2.7"},
        "test": {"role": "client", "protocol": "iperf2", "transport": "tcp",
            "direction": "forward", "workload": "stream", "streams": 1, "requested_seconds": 10.0,
            "complete": true, "interrupted": false, "congestion_control": congestion,
            "started": format!("2026-11-21T09:{minute:02}:00Z")},
        "streams": [{"direction": "forward", "rtt": {"mean_ms": 0.41, "samples": 10}}],
        "intervals": [{"stream": 1, "direction": "forward", "start_seconds": 0.0,
            "end_seconds": 1.0, "bytes": 117_000_000, "bits_per_second": mbps * 1e6}],
        "sum": {"directions": [{"direction": "forward",
            "sender": {"bits_per_second": mbps * 1e6, "bytes": 1_170_000_000_u64},
            "receiver": {"bits_per_second": mbps * 1e6}}]},
        "latency_under_load": {"increase_ms": 47.3},
        "verdict": {"limited_by": limited_by, "confidence": "high"},
        "error": null,
    })
}

const FAST: [f64; 8] = [941.0, 941.3, 940.8, 941.2, 941.9, 941.1, 940.7, 941.4];
const SLOW: [f64; 8] = [903.0, 903.4, 902.9, 904.1, 903.3, 903.8, 903.2, 903.6];

#[test]
fn what_was_saved_is_listed_shown_and_marked() {
    let kept = Kept::new();
    let none = kept.tapeline("history");
    assert_eq!(none.code(), Some(1));
    assert!(
        none.stderr
            .ends_with("does not exist: no result has been saved there\n")
    );
    kept.series(&FAST[..2], 10, "cubic", "network");
    kept.series(&SLOW[..1], 20, "bbr", "network");
    assert_eq!(
        kept.said("history tag s1 link=uplink"),
        "tagged   r1 to r2\n"
    );
    assert_eq!(kept.said("history note r3 switched"), "noted    r3\n");
    let list = kept.said("history --utc");
    let words = list
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(
        words.collect::<Vec<_>>(),
        [
            "id when peer test Mbit/s rtt ms limited by tags",
            "s2 ×1 2026-11-21 09:20 db1 TCP forward, 1 stream 903.0 0.410 network (switched)",
            "s1 ×2 2026-11-21 09:10 db1 TCP forward, 1 stream 941.1 ± 1.9 0.410 ± 0.000 network link=uplink",
        ]
    );
    let list = kept.said("history list r1+r2 --json");
    let list: Value = serde_json::from_str(&list).expect("a document");
    assert_eq!(list["schema"], "tapeline-history/1");
    assert_eq!(list["runs"][1]["name"], "r2");
    assert_eq!(list["runs"][1]["tags"]["link"], "uplink");
    assert_eq!(list["runs"][0]["document"]["intervals"], json!([]));
    let text = kept.said("history show r1 --utc");
    assert!(
        text.starts_with("r1, 2026-11-21 09:10:00, tapeline 0.1.0\n"),
        "{text}"
    );
    assert!(text.contains("\nThroughput   941 Mbit/s"), "{text}");
    let rows = kept.said("history export --csv");
    assert!(
        rows.contains(
            "\nr3,2026-11-21T09:20:00Z,db1,tcp,forward,true,rate,forward,903000000,bit/s,receiver\n"
        ),
        "{rows}"
    );
    let intervals = kept.said("history export s1 --csv --intervals");
    assert_eq!(intervals.lines().count(), 3);
    kept.said("history export --json -o all.ndjson");
    let lines = fs::read_to_string(kept.path("all.ndjson")).expect("a file");
    assert_eq!(lines.lines().count(), 3);
    kept.said("history export r1 --html -o page.html");
    let page = fs::read_to_string(kept.path("page.html")).expect("a page");
    assert!(page.contains("tapeline-report/1") && page.ends_with("</html>\n"));
    let page = kept.said("history export s1 --html");
    assert!(page.contains("tapeline-series/1") && page.ends_with("</html>\n"));
    let told = kept.said("history export s1 --iperf3-json");
    let told: Vec<Value> = serde_json::Deserializer::from_str(&told)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("a document for each run");
    let rates = told
        .iter()
        .map(|run| &run["end"]["sum_received"]["bits_per_second"]);
    assert_eq!(
        rates.map(Value::as_f64).collect::<Vec<_>>(),
        [Some(941e6), Some(941.3e6)]
    );
    assert_eq!(told[0]["start"]["connecting_to"]["host"], "db1");
    assert_eq!(
        kept.said("history path").trim(),
        kept.path("history.db").display().to_string()
    );
    let check = kept.said("history check");
    assert!(
        check.contains(": 3 runs and 2 series, ") && check.ends_with("sound    the whole file\n"),
        "{check}"
    );
    for (line, part) in [
        ("history show r9", "history.db: no run r9\n"),
        ("history show baseline:x", "no baseline x\n"),
        (
            "history export r1 --html --iperf3-json",
            "export writes one form: --json, --iperf3-json, --csv or --html\n",
        ),
    ] {
        let ended = kept.tapeline(line);
        assert!(
            ended.code() > Some(0) && ended.stderr.ends_with(part),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn files_are_taken_in_once_and_old_results_go() {
    let kept = Kept::new();
    let text = document(941.0, 10, "cubic", "network").to_string();
    fs::write(kept.path("a.json"), text).expect("written");
    fs::write(kept.path("b.json"), "[1]").expect("written");
    let ended = kept.tapeline("history import a.json b.json --tag from=lab");
    assert_eq!(
        (ended.code(), ended.stdout.as_str()),
        (Some(1), "imported r1\n")
    );
    assert!(
        ended.stderr.starts_with("error: b.json:1: "),
        "{}",
        ended.stderr
    );
    assert!(
        ended
            .stderr
            .ends_with("note: 1 of 2 files were not taken in\n"),
        "{}",
        ended.stderr
    );
    assert_eq!(kept.said("history import a.json"), "imported r1\n");
    let list: Value = serde_json::from_str(&kept.said("history --json")).expect("a document");
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(list["runs"][0]["tags"]["from"], "lab");
    kept.series(&FAST[..1], 11, "cubic", "network");
    assert_eq!(
        kept.said("history prune --older 0h --keep-tagged"),
        "removed  1 run\n"
    );
    assert_eq!(
        kept.said("history prune --older 0h --intervals"),
        "removed  the intervals of 1 run\n"
    );
    assert_eq!(kept.said("history prune --older 0h"), "removed  1 run\n");
    assert!(
        kept.said("history check")
            .contains(": 0 runs and 0 series, ")
    );
}

#[test]
fn a_drop_is_seen_and_judged() {
    let kept = Kept::new();
    kept.series(&FAST, 10, "cubic", "network");
    kept.series(&SLOW, 30, "bbr", "network");
    assert_eq!(
        kept.said("history baseline main s1"),
        "baseline main: r1 to r8\n"
    );
    assert_eq!(kept.said("history baseline"), "main  s1\n");
    let text = kept.said("compare baseline:main last:8 --utc");
    assert!(
        text.starts_with(
            "A  baseline:main  8 runs, 2026-11-21 09:10 to 09:17, TCP forward to db1,"
        ),
        "{text}"
    );
    assert!(
        text.contains("\ndiffers: congestion control (cubic, bbr)\n"),
        "{text}"
    );
    let rate = text
        .lines()
        .find(|line| line.starts_with("  rate Mbit/s"))
        .expect("the rate");
    assert!(
        rate.contains("-4.0 %") && rate.ends_with("worse, surely"),
        "{rate}"
    );
    let document: Value =
        serde_json::from_str(&kept.said("compare s1 s2 --json --quantities rtt")).expect("JSON");
    assert_eq!(document["schema"], "tapeline-comparison/1");
    assert_eq!(document["quantities"].as_array().map(Vec::len), Some(1));
    kept.said("compare s1 s2 --json=c.json");
    assert!(kept.path("c.json").exists());
    kept.said("compare s1 s2 --html=c.html");
    let page = fs::read_to_string(kept.path("c.html")).expect("a page");
    // What is drawn is drawn by the page: the numbers, and the rates in time of each run.
    let (_, rest) = page.split_once("id=\"report\">").expect("the document");
    let (kept_document, _) = rest.split_once("</script>").expect("its end");
    let drawn: Value = serde_json::from_str(kept_document).expect("JSON");
    assert_eq!(
        drawn["comparison"]["quantities"][0]["verdict"],
        "worse, surely"
    );
    for side in ["a", "b"] {
        let runs = drawn["runs"][side].as_array().expect("runs");
        assert_eq!(runs.len(), 8, "{side}");
    }
    // Files stand for runs as well as names do.
    kept.said("history export s1 --json -o before.json");
    let text = kept.said("compare before.json s2");
    assert!(text.contains("worse, surely"), "{text}");
    let strict = kept.tapeline("compare s1 s2 --strict");
    assert_eq!(strict.code(), Some(2));
    assert!(
        strict.stderr.contains("they differ in congestion control"),
        "{}",
        strict.stderr
    );
    assert_eq!(kept.tapeline("compare s1 r1..r8 --strict").code(), Some(0));
    let list = kept.said("compare --list");
    assert!(
        list.lines()
            .any(|line| line.starts_with("rate ") && line.contains("higher")),
        "{list}"
    );
}

/// A gate about a rate of Mbit/s.
fn gate(path: &Path, rules: &str) {
    fs::write(path, rules).expect("written");
}

#[test]
fn gates_pass_fail_and_stay_undecided() {
    let kept = Kept::new();
    kept.series(&FAST, 10, "cubic", "network");
    kept.series(&SLOW, 30, "cubic", "network");
    kept.series(&FAST[..5], 50, "cubic", "receiver_cpu");
    kept.said("history baseline main s1");
    let at_least = |limit: &str| format!("[[rule]]\nquantity = \"rate\"\nat_least = \"{limit}\"\n");
    let against = "[[rule]]\nquantity = \"rate\"\nno_worse_than = \"baseline:main\"\nby = \"3%\"\n";
    let file = kept.path("gate.toml");
    for (rules, runs, options, code, last) in [
        (at_least("900M"), "s1", "", 0, "passed: 1 of 1 rules"),
        (
            at_least("900M") + against,
            "s2",
            "",
            4,
            "failed: 1 of 2 rules",
        ),
        (at_least("941.2M"), "s1", "", 5, "undecided: 1 of 1 rules"),
        (
            at_least("941.2M"),
            "s1",
            "--undecided pass",
            0,
            "undecided: 1 of 1 rules",
        ),
        (
            at_least("941.2M"),
            "s1",
            "--undecided fail",
            4,
            "undecided: 1 of 1 rules",
        ),
        (
            at_least("941.2M") + &at_least("950M"),
            "s1",
            "",
            4,
            "failed: 1 of 2 rules",
        ),
        (at_least("900M"), "r1", "", 5, "undecided: 1 of 1 rules"),
        (
            format!("runs = {{ at_least = 9 }}\n{}", at_least("900M")),
            "s1",
            "",
            5,
            "undecided: 1 of 1 rules",
        ),
        (at_least("900M"), "s3", "", 5, "undecided: 1 of 1 rules"),
        (
            format!("host_limited = \"fail\"\n{}", at_least("900M")),
            "s3",
            "",
            4,
            "failed: 1 of 1 rules",
        ),
        (
            format!("host_limited = \"ignore\"\n{}", at_least("900M")),
            "s3",
            "",
            0,
            "passed: 1 of 1 rules",
        ),
    ] {
        gate(&file, &rules);
        let line = format!("gate gate.toml {runs} {options}");
        let ended = kept.tapeline(line.trim_end());
        assert_eq!(
            ended.code(),
            Some(code),
            "{rules}{line}: {}{}",
            ended.stdout,
            ended.stderr
        );
        assert_eq!(ended.stdout.lines().last(), Some(last), "{rules}{line}");
    }
    gate(&file, &at_least("900X"));
    let broken = kept.tapeline("gate gate.toml s1");
    assert_eq!(broken.code(), Some(2));
    assert_eq!(
        broken.stderr,
        "error: gate.toml:3: at_least: \"900X\" is no rate\n"
    );
}

/// What another program says of a file, which it must be able to read; nothing where it is missing.
fn read_by(program: &str, arguments: &[&str], file: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let Ok(output) = command.args(arguments).arg(file).output() else {
        interop::skip("gates_speak_to_other_programs", &format!("no {program}"));
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn gates_speak_to_other_programs() {
    let kept = Kept::new();
    kept.series(&FAST, 10, "cubic", "network");
    kept.series(&SLOW, 30, "cubic", "network");
    kept.said("history export s1 --json -o base.json");
    let rules = "[[rule]]\nquantity = \"rate\"\nno_worse_than = \"baseline:none\"\nby = \"3%\"\n\
                 [[rule]]\nquantity = \"latency_increase\"\nat_most = \"60ms\"\n";
    gate(&kept.path("gate.toml"), rules);
    let missing = kept.tapeline("gate gate.toml s2");
    assert_eq!(missing.code(), Some(1));
    let ended = kept.tapeline(
        "gate gate.toml s2 --baseline-file base.json --markdown m.md --junit j.xml --json=g.json",
    );
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let read = |name: &str| fs::read_to_string(kept.path(name)).expect(name);
    assert!(read("m.md").contains("| fail | rate no worse than baseline:none by 3 % |"));
    let xml = read("j.xml");
    assert!(
        xml.contains(" tests=\"2\" failures=\"1\" errors=\"0\" "),
        "{xml}"
    );
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/junit.xsd");
    if let Some(said) = read_by(
        "xmllint",
        &["--noout", "--schema", schema],
        &kept.path("j.xml"),
    ) {
        assert_eq!(said, "");
    }
    if let Some(page) = read_by("cmark-gfm", &["--extension", "table"], &kept.path("m.md")) {
        assert_eq!(page.matches("<table>").count(), 1, "{page}");
        assert_eq!(page.matches("<tr>").count(), 3, "{page}");
        assert_eq!(page.matches("<td>").count(), 6, "{page}");
    }
    let document: Value = serde_json::from_str(&read("g.json")).expect("JSON");
    assert_eq!(
        (&document["schema"], &document["outcome"]),
        (&json!("tapeline-gate/1"), &json!("fail"))
    );
}

#[test]
fn tests_are_measured_in_turn_and_until_they_are_decided() {
    let kept = Kept::new();
    let server = Server::native("");
    let test = format!("-c 127.0.0.1 -p {} -u -b 8m -n 100K", server.port);
    let ended = kept.words(&[
        "compare",
        "--interleave",
        "2",
        "--seed",
        "1",
        "--repeat-pause",
        "0",
        "--json",
        "--",
        &test,
        "--",
        &test,
    ]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (&document["a"]["runs"], &document["b"]["runs"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(document["a"]["name"], test);
    let rules = "host_limited = \"ignore\"\nruns = { at_least = 4 }\n\
                 [[rule]]\nquantity = \"rate\"\nat_least = \"1M\"\n";
    gate(&kept.path("gate.toml"), rules);
    let words: Vec<&str> = test.split(' ').collect();
    let line = [
        &["gate", "gate.toml", "--repeat-pause", "0", "--json", "--"][..],
        &words,
    ]
    .concat();
    let ended = kept.words(&line);
    assert_eq!(ended.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(document["runs"], 4);
    let line = [
        &[
            "gate",
            "gate.toml",
            "--repeat-pause",
            "0",
            "--max-runs",
            "2",
            "--",
        ][..],
        &words,
    ]
    .concat();
    assert_eq!(kept.words(&line).code(), Some(5));
    let ended = kept.words(&["gate", "gate.toml", "--", "-c", "h", "--paralel", "3"]);
    assert_eq!(ended.code(), Some(2));
    assert!(
        ended.stderr.contains("unknown option --paralel"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_page_of_help_is_there() {
    let kept = Kept::new();
    for command in ["history", "compare", "gate"] {
        let text = kept.said(&format!("{command} --help"));
        assert!(text.starts_with(&format!("tapeline {command} ")), "{text}");
    }
}
