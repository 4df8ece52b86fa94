//! iperf3's JSON: each number of each recording.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Run, recordings, refused, run, runs};

/// The whole documents of a recording, and whether they stand on lines of their own events.
fn told(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let values: Vec<Value> = values.map(|value| value.expect("JSON")).collect();
    let mut joined = Vec::new();
    let mut open: Option<Value> = None;
    for value in values {
        let Some(event) = value["event"].as_str().map(str::to_owned) else {
            let cookie = &value["start"]["cookie"];
            let again = joined
                .last()
                .is_some_and(|last: &Value| last["start"]["cookie"] == *cookie);
            if !again || cookie.is_null() {
                joined.push(value);
            }
            continue;
        };
        let test = open.get_or_insert_with(|| serde_json::json!({"intervals": []}));
        match event.as_str() {
            "interval" => {
                let list = test["intervals"].as_array_mut().expect("a list");
                list.push(value["data"].clone());
            }
            _ => test[event.as_str()] = value["data"].clone(),
        }
        if event == "end" {
            joined.extend(open.take());
        }
    }
    joined.extend(open);
    joined
}

/// The same number, but for the last digits of a reader of decimals.
fn equal(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-14 * one.abs(),
        _ => one == other,
    }
}

/// Every number of the source is in the run.
fn compare(file: &Path, source: &Value, run: &Run) {
    let name = file.display();
    assert_eq!(run.origin, "import:iperf3-json", "{name}");
    let document = &run.document;
    let empty = Vec::new();
    let list = |value: &'_ Value| value.as_array().unwrap_or(&empty).clone();
    let rows: Vec<Value> = list(&source["intervals"])
        .iter()
        .flat_map(|interval| list(&interval["streams"]))
        .collect();
    let intervals = list(&document["intervals"]);
    assert_eq!(rows.len(), intervals.len(), "{name}");
    for (row, interval) in rows.iter().zip(&intervals) {
        for (theirs, ours, scale) in [
            ("socket", "stream", 1.0),
            ("start", "start_seconds", 1.0),
            ("end", "end_seconds", 1.0),
            ("seconds", "seconds", 1.0),
            ("bytes", "bytes", 1.0),
            ("bits_per_second", "bits_per_second", 1.0),
            ("retransmits", "retransmits", 1.0),
            ("snd_cwnd", "cwnd_bytes", 1.0),
            ("rtt", "rtt_ms", 1e-3),
            ("rttvar", "rtt_variance_ms", 1e-3),
            ("jitter_ms", "jitter_ms", 1.0),
            ("lost_packets", "lost", 1.0),
        ] {
            let wanted = row[theirs].as_f64().map(|number| number * scale);
            let got = interval[ours].as_f64();
            assert!(equal(wanted, got), "{name}: {theirs} {wanted:?} {got:?}");
        }
        assert_eq!(row["omitted"], interval["omitted"], "{name}");
        let counted = if row["sender"] == true {
            "sender"
        } else {
            "receiver"
        };
        assert_eq!(interval["counted_by"], counted, "{name}");
        assert!(interval["time"].is_null());
    }
    let end = &source["end"];
    let entries = list(&end["streams"]);
    let streams = list(&document["streams"]);
    if !entries.is_empty() {
        assert_eq!(entries.len(), streams.len(), "{name}");
    }
    for (entry, stream) in entries.iter().zip(&streams) {
        let udp = &entry["udp"];
        let parts = if udp.is_object() {
            vec![("sender", udp)]
        } else {
            vec![
                ("sender", &entry["sender"]),
                ("receiver", &entry["receiver"]),
            ]
        };
        for (ours, part) in parts {
            let told = part["bytes"].as_u64().filter(|bytes| *bytes > 0);
            assert_eq!(
                stream[ours]["bytes"].as_u64().filter(|bytes| *bytes > 0),
                told,
                "{name}"
            );
            if told.is_some() {
                assert!(
                    equal(
                        stream[ours]["bits_per_second"].as_f64(),
                        part["bits_per_second"].as_f64()
                    ),
                    "{name}"
                );
            }
        }
        let sender = &entry["sender"];
        assert_eq!(
            stream["sender"]["retransmits"], sender["retransmits"],
            "{name}"
        );
        if udp.is_object() && stream["receiver"]["lost"].is_u64() {
            assert_eq!(stream["receiver"]["lost"], udp["lost_packets"], "{name}");
            let jitter = |value: &Value| value["jitter_ms"].as_f64();
            assert!(equal(jitter(&stream["receiver"]), jitter(udp)), "{name}");
            assert!(
                equal(
                    stream["receiver"]["lost_percent"].as_f64(),
                    udp["lost_percent"].as_f64()
                ),
                "{name}"
            );
        }
    }
    for (direction, ours, theirs) in [
        (0, "sender", "sum_sent"),
        (0, "receiver", "sum_received"),
        (1, "sender", "sum_sent_bidir_reverse"),
        (1, "receiver", "sum_received_bidir_reverse"),
    ] {
        let sum = &end[theirs];
        let got = &document["sum"]["directions"][direction][ours];
        match sum["bytes"].as_u64() {
            Some(bytes) if bytes > 0 => {
                assert_eq!(got["bytes"].as_u64(), Some(bytes), "{name}: {theirs}");
                assert!(
                    equal(
                        got["bits_per_second"].as_f64(),
                        sum["bits_per_second"].as_f64()
                    ),
                    "{name}: {theirs}"
                );
            }
            Some(_) => assert!(
                got["bytes"].as_u64().is_none_or(|bytes| bytes == 0),
                "{name}"
            ),
            None => {}
        }
    }
    let error = source["error"].as_str();
    let interrupted = error.is_some_and(|error| error.starts_with("interrupt - "));
    assert_eq!(document["test"]["interrupted"], interrupted, "{name}");
    // The source may have two, of which the first explains the other.
    let told = document["error"]["text"].as_str();
    let same = told
        .zip(error)
        .is_some_and(|(told, error)| told.ends_with(error));
    assert!(
        same || told.is_none() && (error.is_none() || interrupted),
        "{name}: {told:?}"
    );
    let complete = error.is_none() && !entries.is_empty();
    assert_eq!(document["test"]["complete"], complete, "{name}");
}

#[test]
fn every_recording_has_its_numbers() {
    let mut files = recordings("iperf3", ".json");
    files.extend(recordings("import", ".json"));
    let mut seen = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("text");
        if text.is_empty() {
            continue;
        }
        let told = told(&text);
        let found =
            runs(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(told.len(), found.len(), "{}", file.display());
        for (source, run) in told.iter().zip(&found) {
            compare(&file, source, run);
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn what_was_asked_for_and_both_ends_of_datagrams() {
    let files = recordings("iperf3", "/udp-loss.json");
    let document = run(&fs::read(&files[0]).expect("bytes")).document;
    let (test, sum) = (&document["test"], &document["sum"]["directions"][0]);
    assert_eq!(test["role"], "client");
    assert_eq!(test["protocol"], "iperf3");
    assert_eq!(test["transport"], "udp");
    assert_eq!(test["direction"], "forward");
    assert_eq!(test["started"], "2026-11-20T23:32:28.594000Z");
    assert_eq!(test["requested_seconds"], 3.0);
    assert_eq!(test["requested_bits_per_second"], 15_000_000);
    assert_eq!(document["version"], "iperf 3.21+");
    assert_eq!(
        document["imported"],
        serde_json::json!({"from": "iperf3-json", "resolution": null})
    );
    assert_eq!(
        (&sum["sender"]["packets"], &sum["sender"]["bytes"]),
        (&3886.into(), &5_626_928.into())
    );
    assert_eq!(
        (&sum["receiver"]["packets"], &sum["receiver"]["lost"]),
        (&2550.into(), &1335.into())
    );
    assert_eq!(sum["receiver"]["bytes"], 3_692_400);
    assert_eq!(sum["receiver"]["cpu_percent"], 0.758);
    for unknown in ["verdict", "trust", "command"] {
        assert!(document[unknown].is_null(), "{unknown}");
    }
    // A receiver of two streams told their bytes together.
    let two = recordings("iperf3", "/udp-P2.json");
    let two = run(&fs::read(&two[0]).expect("bytes")).document;
    assert!(two["streams"][0]["receiver"]["bytes"].is_null());
    assert_eq!(two["sum"]["receiver"]["bytes"], 3_000_000);
}

#[test]
fn directions_of_every_version() {
    for version in ["3.9", "3.12", "3.18"] {
        for (name, end, direction, streams) in [
            ("tcp", "", "forward", &["forward"][..]),
            ("tcpR", ".server", "reverse", &["reverse"]),
            ("bidir", "", "bidirectional", &["forward", "reverse"]),
            ("bidir", ".server", "bidirectional", &["forward", "reverse"]),
            ("udpR", "", "reverse", &["reverse"]),
        ] {
            let file = recordings("import", &format!("/iperf3-{name}-{version}{end}.json"));
            let document = run(&fs::read(&file[0]).expect("bytes")).document;
            assert_eq!(document["test"]["direction"], direction, "{file:?}");
            let got = document["streams"].as_array().expect("streams").iter();
            let got: Vec<&Value> = got.map(|stream| &stream["direction"]).collect();
            assert_eq!(got, streams, "{file:?}");
        }
    }
}

/// iperf3 3.0 tells neither flags of senders nor the direction.
#[test]
fn the_first_version() {
    let text = r#"{"start": {"connected": [{"socket": 4, "local_host": "::1", "local_port": 1,
        "remote_host": "::1", "remote_port": 5201}], "version": "iperf 3.0.7",
        "timestamp": {"timesecs": 1400000000}, "connecting_to": {"host": "h", "port": 5201},
        "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "blocks": 3}},
        "intervals": [{"streams": [{"socket": 4, "start": 0, "end": 1.5, "seconds": 1.5,
        "bytes": 3e6, "bits_per_second": 1.6e7, "retransmits": 2, "omitted": false}]}],
        "end": {"streams": [{"sender": {"socket": 4, "start": 0, "end": 1.5, "seconds": 1.5,
        "bytes": 3000000, "bits_per_second": 1.6e7, "retransmits": 2}, "receiver": {"socket": 4,
        "start": 0, "end": 1.5, "bytes": 2900000, "bits_per_second": 1.5e7}}]}}"#;
    let document = run(text.as_bytes()).document;
    assert_eq!(document["test"]["started"], "2014-05-13T16:53:20.000000Z");
    assert_eq!(document["test"]["requested_bytes"], 3 * 131_072);
    assert!(document["test"]["requested_seconds"].is_null());
    assert_eq!(document["streams"][0]["remote"], "[::1]:5201");
    assert_eq!(document["intervals"][0]["bytes"], 3_000_000);
    let sum = &document["sum"]["directions"][0];
    assert_eq!(sum["sender"]["retransmits"], 2);
    assert_eq!(sum["receiver"]["bytes"], 2_900_000);
}

#[test]
fn several_documents_and_lines_of_events_in_one_file() {
    let one = fs::read_to_string(&recordings("iperf3", "/tcp.json")[0]).expect("text");
    let lines = fs::read_to_string(&recordings("iperf3", "/json-stream.json")[0]).expect("text");
    let both = format!("{one}\n{lines}{one}{lines}");
    let found = runs(both.as_bytes()).expect("runs");
    assert_eq!(found.len(), 4);
    assert_eq!(found[0].document, found[2].document);
    assert_eq!(found[1].document, found[3].document);
    let array = format!("[{one},{one}]");
    assert_eq!(runs(array.as_bytes()).expect("runs").len(), 2);
    // Lines that end early are a run, and so is an error alone.
    let cut = lines.lines().take(2).collect::<Vec<_>>().join("\n");
    let document = run(cut.as_bytes()).document;
    assert_eq!(document["test"]["complete"], false);
    assert_eq!(document["streams"].as_array().map(Vec::len), Some(1));
    let failed = run(br#"{"error": "unable to connect"}"#).document;
    assert_eq!(failed["error"]["text"], "unable to connect");
}

#[test]
fn faults_name_their_line() {
    let unknown = "neither a report of tapeline nor iperf3's JSON, and no line of iperf's";
    assert_eq!(refused(b"hello"), format!("a.json:1: {unknown}"));
    assert_eq!(refused(b""), format!("a.json:1: {unknown}"));
    assert_eq!(refused(b"\n\n {\"a\": 1}"), format!("a.json:3: {unknown}"));
    assert_eq!(
        refused(b"{\"end\": {}}\n{\"start\":\n x}"),
        "a.json:3: expected value"
    );
    assert_eq!(
        refused(b"{\"end\": {}"),
        "a.json:1: the JSON ends within a document"
    );
}

/// A server prints before it hears what its client counted.
#[test]
fn nothing_from_the_other_end_is_unknown() {
    let stream = |name: &str| {
        let file = &recordings("iperf3", name)[0];
        let document = run(&fs::read(file).expect("bytes")).document;
        assert_eq!(document["test"]["role"], "server");
        assert!(
            document["sum"]["sender"]["bits_per_second"].is_null() || name == "/udp-R.server.json"
        );
        document["streams"][0].clone()
    };
    let tcp = stream("/tcp.server.json");
    assert!(tcp["sender"]["bytes"].is_null());
    assert_eq!(tcp["receiver"]["bytes"], 15_073_280);
    let udp = stream("/udp-R.server.json");
    assert_eq!(udp["sender"]["bytes"], 1_528_000);
    for unknown in ["bytes", "lost", "jitter_ms", "lost_percent", "packets"] {
        assert!(udp["receiver"][unknown].is_null(), "{unknown}");
    }
}
