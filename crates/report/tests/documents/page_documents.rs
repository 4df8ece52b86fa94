//! Documents for the page: the mock-up's test and its variations.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::file;

fn golden(name: &str) -> Value {
    let path = file(&format!("crates/report/tests/golden/documents/{name}.json"));
    let text = std::fs::read_to_string(path).expect("a recorded sample");
    serde_json::from_str(&text).expect("one document")
}

/// Sets members of an object.
fn set(object: &mut Value, members: Value) {
    let Value::Object(members) = members else {
        panic!("{members} is no object");
    };
    for (name, value) in members {
        object[name] = value;
    }
}

/// An interval of the mock-up, from a second on, so many seconds long.
fn interval(second: u32, seconds: f64, megabits: f64) -> Value {
    let mut interval = golden("tcp-client")["intervals"][0].clone();
    let start = f64::from(second);
    set(
        &mut interval,
        json!({
            "start_seconds": start, "end_seconds": start + seconds, "seconds": seconds,
            "bits_per_second": megabits * 1e6, "retransmits": second % 3, "cwnd_bytes": 3_000_000 + 400_000 * second,
            "rtt_ms": 31.2 + 4.0 * start, "cpu_percent": 12.0 + start, "peer_cpu_percent": 9.0,
            "probe_min_ms": 20.0, "probe_mean_ms": 40.0 + start, "probe_max_ms": 60.0,
        }),
    );
    interval
}

/// 2.1 of the mock-ups: one TCP stream for 5 s over a path with a queue; its last interval lasts for 0.17 s.
pub(crate) fn tcp() -> Value {
    let mut document = golden("tcp-client");
    let rates = [829.0, 942.0, 941.0, 942.0, 941.0];
    let rows = (0..)
        .zip(rates)
        .map(|(second, rate)| interval(second, 1.0, rate));
    document["intervals"] = rows.chain([interval(5, 0.17, 5.0)]).collect();
    let sender = json!({"bytes": 588_251_136, "seconds": 5.0, "bits_per_second": 940.4e6, "retransmits": 41, "cpu_percent": 12.0});
    let receiver = json!({"bytes": 588_251_136, "seconds": 5.01, "bits_per_second": 938.7e6, "cpu_percent": 9.0});
    let verdict = json!({"limited_by": "network", "confidence": "high", "evidence": ["cwnd-limited 98 % of the time"]});
    document["streams"] = json!([document["streams"][0]]);
    let direction = &mut document["sum"]["directions"][0];
    direction["stream_count"] = json!(1);
    direction["verdict"] = verdict.clone();
    for place in ["/streams/0", "/sum/directions/0"] {
        let end = document.pointer_mut(place).expect("both ends");
        set(&mut end["sender"], sender.clone());
        set(&mut end["receiver"], receiver.clone());
    }
    set(&mut document["verdict"], verdict);
    let delays = |median: f64| {
        let steps: Vec<f64> = (0..21)
            .map(|step| median * (0.8 + 0.02 * f64::from(step)))
            .collect();
        json!({"samples": 250, "min_ms": steps[0], "mean_ms": median, "p50_ms": median, "p90_ms": steps[18],
            "p95_ms": steps[19], "p99_ms": steps[20], "p999_ms": null, "max_ms": steps[20], "quantiles_ms": steps})
    };
    let delay = delays(1.06);
    document["streams"][0]["rtt"] = delays(45.0);
    document["streams"][0]["one_way_delay"] = delay;
    set(
        &mut document,
        json!({
            "peer": {"program": "tapeline", "version": "0.1.0", "host": "192.0.2.7", "address": "192.0.2.7"},
            "trust": {"level": "good", "reasons": ["both ends counted", "neither host was the bottleneck"]},
            "latency_under_load": {"idle": delays(2.1), "loaded": delays(47.3), "load_seconds": 5.0, "probes_sent": 250,
                "probes_answered": 250, "increase_ms": 45.2, "increase_p95_ms": 46.0, "increase_to_server_ms": 45.0,
                "increase_from_server_ms": 0.2, "bufferbloat_grade": "B"},
            "command": "tapeline -c 192.0.2.7 -t 5 --html run.html",
        }),
    );
    set(
        &mut document["test"],
        json!({"started": "2026-11-22T12:40:20.000000Z", "requested_seconds": 5.0, "streams": 1, "congestion_control": "cubic"}),
    );
    document
}

/// The same with so many streams of each direction.
pub(crate) fn streams(count: u32, directions: &[&str]) -> Value {
    let mut document = tcp();
    let (stream, sum) = (
        document["streams"][0].clone(),
        document["sum"]["directions"][0].clone(),
    );
    let rows = document["intervals"].as_array().expect("intervals").clone();
    let named = |value: &Value, direction: &str, id: u32| {
        let mut value = value.clone();
        value["direction"] = json!(direction);
        let name = if value.get("stream").is_some() {
            "stream"
        } else {
            "id"
        };
        value[name] = json!(id);
        value
    };
    let ids = || {
        directions
            .iter()
            .flat_map(|direction| (1..=count).rev().map(move |id| (*direction, id)))
    };
    document["streams"] = ids()
        .map(|(direction, id)| named(&stream, direction, id))
        .collect();
    let rows = rows.iter().flat_map(|row| {
        ids().map(|(direction, id)| {
            let mut row = named(row, direction, id);
            let rate = row["bits_per_second"].as_f64().unwrap_or_default();
            row["bits_per_second"] = json!(rate * f64::from(id) / f64::from(count));
            row
        })
    });
    document["intervals"] = rows.collect();
    let sums = directions.iter().map(|direction| {
        let mut sum = sum.clone();
        set(
            &mut sum,
            json!({"direction": direction, "stream_count": count}),
        );
        sum
    });
    document["sum"]["directions"] = sums.collect();
    document["test"]["streams"] = json!(count);
    document["test"]["direction"] = json!(match directions {
        ["forward"] => "forward",
        ["reverse"] => "reverse",
        _ => "bidirectional",
    });
    document
}

/// A UDP receiver's document, whose one-way delays are below 0 by the clocks' error.
pub(crate) fn udp() -> Value {
    let mut document = golden("udp-tapeline");
    let row = document["intervals"][0].clone();
    let rows = (0..4).map(|second| {
        let (mut row, start) = (row.clone(), f64::from(second));
        set(&mut row, json!({"counted_by": "receiver", "start_seconds": start, "end_seconds": start + 1.0, "seconds": 1.0,
            "packets": 850, "lost": second, "jitter_ms": 0.01 * start, "bits_per_second": 9.9e6 + 1e4 * start,
            "delay_min_ms": -0.05, "delay_mean_ms": -0.02 + 0.01 * start, "delay_max_ms": 0.03}));
        row
    });
    document["intervals"] = rows.collect();
    document["test"]["direction"] = json!("reverse");
    document["streams"][0]["direction"] = json!("reverse");
    document["streams"][0]["one_way_delay"]["min_ms"] = json!(-0.05);
    document["sum"]["directions"][0]["direction"] = json!("reverse");
    document["latency_under_load"] = Value::Null;
    document
}

/// Three runs that differ by little, and a warm-up.
pub(crate) fn series() -> Value {
    let runs = [470e6, 941e6, 943e6, 939e6];
    let quantity = |name: &str, values: Value, mean: f64, half: f64| {
        json!({"quantity": name, "direction": "forward", "runs": 3, "mean": mean, "deviation": half / 2.5, "min": mean - half / 2.5,
            "max": mean + half / 2.5, "ci_lower": mean - half, "ci_upper": mean + half, "ci_width_percent": 1.0, "values": values})
    };
    let documents = runs.map(|rate| {
        let mut run = tcp();
        run["sum"]["directions"][0]["receiver"]["bits_per_second"] = json!(rate);
        run
    });
    json!({"schema": "tapeline-series/1", "version": "0.1.0", "command": "tapeline -c 192.0.2.7 --repeat 4 --html run.html",
        "series": {"runs": 4, "max_runs": 4, "confidence_percent": 95.0, "requested_width_percent": null, "precise_enough": null,
            "interrupted": false, "excluded": [{"run": 1, "reason": "warm_up"}],
            "quantities": [quantity("bits_per_second", json!(runs), 941e6, 4.97e6),
                quantity("retransmits", json!([0, 0, 0, 0]), 0.0, 0.0),
                quantity("rtt_mean_ms", json!([47.4, 46.9, 47.8, 47.1]), 47.3, 0.02),
                quantity("jitter_ms", json!([0.1, 0.2, 0.9, 0.1]), 0.4, 1.0),
                quantity("one_way_delay_mean_ms", json!([-0.1, 0.05, 0.01, -0.02]), 0.02, 0.1)]},
        "warnings": [], "runs": documents})
}

/// Documents that have no value under one name, for each name whose values may be unknown.
pub(crate) fn without_one_name(document: &Value) -> Vec<Value> {
    /// What every document has.
    const KNOWN: [&str; 31] = [
        "reason",
        "confidence_percent",
        "confidence",
        "schema",
        "version",
        "command",
        "peer",
        "test",
        "streams",
        "intervals",
        "sum",
        "warnings",
        "role",
        "id",
        "stream",
        "direction",
        "directions",
        "sender",
        "receiver",
        "stream_count",
        "start_seconds",
        "end_seconds",
        "seconds",
        "level",
        "reasons",
        "series",
        "runs",
        "quantities",
        "quantity",
        "values",
        "excluded",
    ];
    fn names(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                found.insert(name.clone());
                names(value, found);
            }),
            Value::Array(list) => list.iter().for_each(|one| names(one, found)),
            _ => {}
        }
    }
    fn clear(value: &mut Value, name: &str) {
        match value {
            Value::Object(map) => map.iter_mut().for_each(|(its, value)| match its == name {
                true => *value = Value::Null,
                false => clear(value, name),
            }),
            Value::Array(list) => list.iter_mut().for_each(|one| clear(one, name)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    names(document, &mut found);
    let unknown = found.iter().filter(|name| !KNOWN.contains(&name.as_str()));
    unknown
        .map(|name| {
            let mut document = document.clone();
            clear(&mut document, name);
            document
        })
        .collect()
}

/// A change of the mock-up's document.
fn changed(change: impl Fn(&mut Value)) -> Value {
    let mut document = tcp();
    change(&mut document);
    document
}

/// Documents of every kind, under names.
pub(crate) fn named() -> Vec<(&'static str, Value)> {
    vec![
        ("tcp", tcp()),
        (
            "drained",
            changed(|document| {
                let rows = document["intervals"].as_array_mut().expect("intervals");
                let mut late = rows[4].clone();
                late["start_seconds"] = json!(5.0);
                late["end_seconds"] = json!(6.0);
                late["seconds"] = json!(1.0);
                late["bits_per_second"] = json!(5e6);
                rows.push(late);
            }),
        ),
        ("p4", streams(4, &["forward"])),
        ("p8", streams(8, &["forward"])),
        ("p100", streams(100, &["forward"])),
        ("duplex", streams(1, &["forward", "reverse"])),
        ("duplex-p100", streams(100, &["forward", "reverse"])),
        ("reverse", streams(1, &["reverse"])),
        ("udp", udp()),
        ("runs", series()),
        (
            "quiet",
            changed(|document| {
                for row in document["intervals"].as_array_mut().expect("intervals") {
                    row["retransmits"] = json!(0);
                    row["bits_per_second"] =
                        json!(940e6 + row["start_seconds"].as_f64().unwrap_or(0.0) * 1e6);
                }
            }),
        ),
        (
            "short",
            changed(|document| {
                document["intervals"] = json!([document["intervals"][5]]);
                document["verdict"] = json!({"direction": null, "limited_by": null, "confidence": "low", "evidence": ["0.17 s are too short to tell"]});
                document["sum"]["directions"][0]["verdict"] = document["verdict"].clone();
                document["trust"] =
                    json!({"level": "poor", "reasons": ["0.17 s of traffic is too short"]});
            }),
        ),
        (
            "your-b",
            changed(|document| {
                limit(
                    document,
                    "requested_rate",
                    "the requested 100 Mbit/s was sent",
                )
            }),
        ),
        (
            "fq-rate",
            changed(|document| {
                limit(
                    document,
                    "requested_rate",
                    "the --fq-rate 100 Mbit/s was reached, headers included",
                )
            }),
        ),
        (
            "cpu",
            changed(|document| {
                limit(
                    document,
                    "sender_cpu",
                    "the sender's thread used 97 % of one core",
                );
                document["trust"] = json!({"level": "host-limited", "reasons": ["the network may be faster", "try -P 2 or a larger -l"]});
                document["warnings"] = json!([{"id": "cpu-saturated", "severity": "warning", "text": "this host's CPU limits stream 1"}]);
            }),
        ),
        (
            "server",
            changed(|document| {
                document["test"]["role"] = json!("server");
                document["peer"]["host"] = Value::Null;
            }),
        ),
        (
            "hostile",
            changed(|document| {
                let text = "</script><img src=x onerror=alert(1)><b>\u{202e}&amp;";
                for place in ["host", "address", "program", "version"] {
                    document["peer"][place] = json!(text);
                }
                document["command"] = json!(text);
                document["test"]["congestion_control"] = json!(text);
                document["test"]["started"] = json!(text);
                document["trust"]["reasons"] = json!([text]);
                document["warnings"] = json!([{"id": text, "severity": "warning", "text": text}]);
                limit(document, text, text);
            }),
        ),
    ]
}

fn limit(document: &mut Value, limited_by: &str, evidence: &str) {
    let verdict = json!({"direction": null, "limited_by": limited_by, "confidence": "high", "evidence": [evidence]});
    document["sum"]["directions"][0]["verdict"] = verdict.clone();
    document["verdict"] = verdict;
}
