//! Whether the numbers of one document belong together.

use serde_json::Value;

use crate::document::{Document, number};

/// Share by which products of rounded numbers may differ.
const ROUNDING: f64 = 1e-6;

/// All that is wrong in a document.
pub(crate) fn failures(document: &Document) -> Vec<String> {
    let mut failures = Vec::new();
    rates("", document.value(), &mut failures);
    interval_sums(document, &mut failures);
    final_sums(document, &mut failures);
    intervals_add_up(document, &mut failures);
    no_short_interval(document, &mut failures);
    all_streams(document, &mut failures);
    failures
}

/// Each rate is that of the bytes and seconds next to it.
fn rates(path: &str, value: &Value, failures: &mut Vec<String>) {
    match value {
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                rates(&format!("{path}.{at}"), value, failures);
            }
        }
        Value::Object(object) => {
            if object.contains_key("bits_per_second") {
                let [rate, seconds, bytes] =
                    ["bits_per_second", "seconds", "bytes"].map(|key| number(value, key));
                if (rate * seconds - bytes * 8.0).abs() > ROUNDING * bytes * 8.0 {
                    failures.push(format!(
                        "{path}: {bytes} bytes in {seconds} s are not {rate}"
                    ));
                }
                let length = number(value, "end") - number(value, "start");
                if (length - seconds).abs() > ROUNDING {
                    failures.push(format!("{path}: {seconds} s from its start to its end"));
                }
            }
            for (key, value) in object {
                if key != "server_output_json" {
                    rates(&format!("{path}.{key}"), value, failures);
                }
            }
        }
        _ => {}
    }
}

/// Each stream has its place in each interval.
fn all_streams(document: &Document, failures: &mut Vec<String>) {
    let streams = |interval: &Value| interval["streams"].as_array().map_or(0, Vec::len);
    let intervals = document.items("intervals");
    let most = intervals.iter().map(streams).max();
    for (at, interval) in intervals.iter().enumerate() {
        if Some(streams(interval)) != most {
            failures.push(format!("intervals.{at} has {} streams", streams(interval)));
        }
    }
}

/// In each interval the streams of a direction make its sum.
fn interval_sums(document: &Document, failures: &mut Vec<String>) {
    for (at, interval) in document.items("intervals").iter().enumerate() {
        for key in ["sum", "sum_bidir_reverse"] {
            let Some(sum) = interval.get(key) else {
                continue;
            };
            let ours = |stream: &&Value| stream["sender"] == sum["sender"];
            let streams = interval["streams"].as_array().into_iter().flatten();
            let streams: Vec<&Value> = streams.filter(ours).collect();
            for counted in ["bytes", "packets", "lost_packets", "retransmits"] {
                let parts: f64 = streams.iter().map(|stream| number(stream, counted)).sum();
                if sum.get(counted).is_some() && parts != number(sum, counted) {
                    failures.push(format!("intervals.{at}.{key}.{counted} is not {parts}"));
                }
            }
        }
    }
}

/// At the end the streams of a direction make its sums.
fn final_sums(document: &Document, failures: &mut Vec<String>) {
    let udp = document.at("end.sum").is_some();
    for (name, counted) in [
        ("sum_sent", "bytes"),
        ("sum_sent", "retransmits"),
        ("sum_received", "bytes"),
        ("sum_sent_bidir_reverse", "bytes"),
        ("sum_sent_bidir_reverse", "retransmits"),
        ("sum_received_bidir_reverse", "bytes"),
        ("sum", "bytes"),
        ("sum", "packets"),
        ("sum", "lost_packets"),
        ("sum_bidir_reverse", "bytes"),
        ("sum_bidir_reverse", "packets"),
        ("sum_bidir_reverse", "lost_packets"),
    ] {
        let Some(sum) = document.at(&format!("end.{name}")) else {
            continue;
        };
        // A UDP stream's object has the sender's bytes, and those of both ends have one key.
        if sum.get(counted).is_none() || (udp && name.starts_with("sum_")) {
            continue;
        }
        let part = match (udp, name.starts_with("sum_sent")) {
            (true, _) => "udp",
            (false, true) => "sender",
            (false, false) => "receiver",
        };
        let streams = document.items("end.streams").iter();
        let parts = streams.filter_map(|stream| stream.get(part));
        let parts = parts.filter(|part| part["sender"] == sum["sender"]);
        let parts: f64 = parts.map(|part| number(part, counted)).sum();
        if parts != number(sum, counted) {
            failures.push(format!("end.{name}.{counted} is not {parts}"));
        }
    }
}

/// A test of an agreed time, in whole intervals, ends with one: what comes next to the end has no
/// interval of its own, whose rate would be any.
fn no_short_interval(document: &Document, failures: &mut Vec<String>) {
    let start = |key: &str| {
        let number = document.number(&format!("start.test_start.{key}"));
        number.unwrap_or_default()
    };
    let (time, interval) = (start("duration"), start("interval"));
    let broke_off = document.at("error").is_some();
    if broke_off || time == 0.0 || interval == 0.0 || (time / interval).fract() > ROUNDING {
        return;
    }
    let counts = |interval: &&Value| interval["sum"]["omitted"] == false;
    for interval_reported in document.items("intervals").iter().filter(counts) {
        if number(&interval_reported["sum"], "seconds") < interval / 10.0 {
            failures.push(format!("a short interval: {}", interval_reported["sum"]));
        }
    }
}

/// The intervals that count follow each other, and make what this end counted in all.
fn intervals_add_up(document: &Document, failures: &mut Vec<String>) {
    let directions = [("sum", ""), ("sum_bidir_reverse", "_bidir_reverse")];
    for (key, suffix) in directions {
        let sums = document.items("intervals").iter();
        let sums: Vec<&Value> = sums
            .filter_map(|interval| interval.get(key))
            .filter(|sum| sum["omitted"] == false)
            .collect();
        for pair in sums.windows(2) {
            if number(pair[0], "end") != number(pair[1], "start") {
                failures.push(format!("{key}: a gap behind {}", pair[0]));
            }
        }
        let Some(last) = sums.last() else {
            continue;
        };
        let end = if last["sender"] == true {
            "sent"
        } else {
            "received"
        };
        let whole = document.number(&format!("end.sum_{end}{suffix}.bytes"));
        let parts: f64 = sums.iter().map(|sum| number(sum, "bytes")).sum();
        // A test that broke off has no sums.
        if whole.is_some_and(|whole| whole != parts) {
            failures.push(format!("end.sum_{end}{suffix}.bytes is not {parts}"));
        }
    }
}
