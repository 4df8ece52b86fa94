//! The text of a test, made from its document.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;
use tapeline_base::FormatLetter;
use tapeline_stats::{Certainty, LimitedBy};

use crate::calendar::zone;
use crate::native::{Unit, digits, in_unit, limit_words, rate_words};
use crate::run_facts::RunFacts;

/// Columns of a label of the result.
const LABEL: usize = 13;

/// The text, with a line end behind each line; `name` is what the run is kept as.
#[must_use]
pub fn show(name: &str, document: &Value, utc: bool) -> String {
    let facts = RunFacts::from_document(document);
    let mut out = String::new();
    let zone = zone(utc);
    let when = facts.started.and_then(|millis| {
        let time = Timestamp::from_millisecond(millis).ok()?;
        let zoned = time.to_zoned(zone);
        Some(zoned.strftime("%Y-%m-%d %H:%M:%S").to_string())
    });
    let when = when.unwrap_or_else(|| "at an unknown time".to_owned());
    let _ = writeln!(out, "{name}, {when}, tapeline {}", facts.version);
    let peer = match (&facts.host, &facts.address) {
        (Some(host), Some(address)) if host != address => format!(" with {host} ({address})"),
        (Some(peer), _) | (None, Some(peer)) => format!(" with {peer}"),
        (None, None) => String::new(),
    };
    let test = test_line(&facts, true);
    let _ = writeln!(out, "{test}{peer}");
    if let Some(command) = document["command"].as_str() {
        let _ = writeln!(out, "{command}");
    }
    out.push_str(&intervals(document));
    out.push('\n');
    for line in result(document, &facts) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// `TCP reverse, 1 stream`; with `all` its duration and congestion control too.
pub(crate) fn test_line(run: &RunFacts, all: bool) -> String {
    let transport = run.transport.as_deref().unwrap_or_default().to_uppercase();
    let way = match run.workload.as_deref() {
        Some("request_response") => "requests",
        Some("connect_only") => "connects",
        _ => run.direction.as_deref().unwrap_or_default(),
    };
    let mut words = vec![format!("{transport} {way}").trim().to_owned()];
    words.extend(
        run.target_bps
            .map(|rate| rate_words(rate, FormatLetter::default())),
    );
    let streams = run.streams.map(|streams| match streams {
        1 => "1 stream".to_owned(),
        several => format!("{several} streams"),
    });
    words.extend(streams.filter(|_| all || run.target_bps.is_none() || run.streams != Some(1)));
    if all {
        words.extend(run.seconds.map(|seconds| format!("{} s", digits(seconds))));
        words.extend(run.congestion.clone());
    }
    words.join(", ")
}

/// What all streams of a direction have in an interval.
#[derive(Clone, Copy, Default)]
struct Together {
    end: f64,
    bits_per_second: f64,
    bytes: u64,
    retransmits: Option<u64>,
    lost: Option<u64>,
    omitted: bool,
}

/// A row for each interval and direction, then the totals; empty without intervals.
fn intervals(document: &Value) -> String {
    let empty = Vec::new();
    let intervals = document["intervals"].as_array().unwrap_or(&empty);
    let mut rows: BTreeMap<(u64, String), Together> = BTreeMap::new();
    for one in intervals {
        let (Some(start), Some(end)) = (one["start_seconds"].as_f64(), one["end_seconds"].as_f64())
        else {
            continue;
        };
        let direction = one["direction"].as_str().unwrap_or_default().to_owned();
        // Streams begin and end a little apart.
        let at = (start * 100.0).round().max(0.0) as u64;
        let row = rows.entry((at, direction)).or_default();
        row.end = row.end.max(end);
        row.bytes += one["bytes"].as_u64().unwrap_or(0);
        row.bits_per_second += one["bits_per_second"].as_f64().unwrap_or(0.0);
        row.omitted |= one["omitted"] == true;
        let add = |sum: &mut Option<u64>, member: &str| {
            if let Some(more) = one[member].as_u64() {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        add(&mut row.retransmits, "retransmits");
        add(&mut row.lost, "lost");
    }
    let Some(fastest) = rows
        .values()
        .map(|row| row.bits_per_second)
        .max_by(f64::total_cmp)
    else {
        return String::new();
    };
    let unit = Unit::for_rate(fastest, FormatLetter::default());
    let mut ways: Vec<&str> = rows.keys().map(|(_, way)| way.as_str()).collect();
    ways.sort_unstable();
    ways.dedup();
    let several = ways.len() > 1;
    let resent = rows.values().any(|row| row.retransmits.is_some());
    let lost = rows.values().any(|row| row.lost.is_some());
    let mut out = format!("\n{:>13} {:>8} {:>8}", "seconds", unit.label, "MiB");
    if resent {
        out.push_str("  retrans");
    }
    if lost {
        out.push_str("     lost");
    }
    out.push('\n');
    for ((start, way), row) in &rows {
        let span = format!("{:.2}-{:.2}", *start as f64 / 100.0, row.end);
        let mib = digits(row.bytes as f64 / 1_048_576.0);
        let rate = in_unit(unit, row.bits_per_second);
        let _ = write!(out, "{span:>13} {rate:>8} {mib:>8}");
        let mut count = |wanted: bool, value: Option<u64>| {
            if wanted {
                let value = value.map_or_else(|| "-".to_owned(), |value| value.to_string());
                let _ = write!(out, " {value:>8}");
            }
        };
        count(resent, row.retransmits);
        count(lost, row.lost);
        if several {
            let _ = write!(out, "  {}", way.replace('_', " "));
        }
        out.push_str(if row.omitted { "  (omitted)\n" } else { "\n" });
    }
    out
}

/// What the test came to, a fact a line.
fn result(document: &Value, facts: &RunFacts) -> Vec<String> {
    let mut lines = Vec::new();
    let mut fact = |label: &str, value: String| lines.push(format!("{label:LABEL$}{value}"));
    let empty = Vec::new();
    let sums = document["sum"]["directions"].as_array().unwrap_or(&empty);
    let several = sums.len() > 1;
    for sum in sums {
        let direction = sum["direction"].as_str().unwrap_or_default();
        let way = if several {
            format!(" {}", direction.replace('_', " "))
        } else {
            String::new()
        };
        let number = |end: &str, member: &str| sum[end][member].as_f64();
        let received = number("receiver", "bits_per_second");
        let sent = number("sender", "bits_per_second");
        let counted = if received.is_some() {
            "receiver"
        } else {
            "sender"
        };
        if direction != "round_trip"
            && let Some(rate) = received.or(sent)
        {
            let mut words = rate_words(rate, FormatLetter::default());
            words.push_str(&way);
            if let (Some(bytes), Some(seconds)) =
                (number(counted, "bytes"), number(counted, "seconds"))
            {
                let (mib, seconds) = (digits(bytes / 1_048_576.0), digits(seconds));
                let _ = write!(words, ", {mib} MiB in {seconds} s");
            }
            let _ = write!(words, " ({counted}'s count)");
            fact("Throughput", words);
        }
        if let (Some(lost), Some(packets)) =
            (number("receiver", "lost"), number("receiver", "packets"))
        {
            let all = lost + packets;
            let percent = digits(number("receiver", "lost_percent").unwrap_or(0.0));
            let words = if lost > 0.0 {
                format!("{percent} % ({lost} of {all}){way}")
            } else {
                format!("none (0 of {all}){way}")
            };
            fact("Loss", words);
        }
        if let Some(jitter) = number("receiver", "jitter_ms") {
            fact("Jitter", format!("{} ms{way}", digits(jitter)));
        }
    }
    if let Some(requests) = facts.value("rtt", "round_trip") {
        fact("Round trip", format!("{} ms mean", digits(requests)));
    }
    let loaded = &document["latency_under_load"];
    if let (Some(idle), Some(under)) = (
        loaded["idle"]["p50_ms"].as_f64(),
        loaded["loaded"]["p50_ms"].as_f64(),
    ) {
        let mut words = format!("{} ms idle, {} ms under load", digits(idle), digits(under));
        if let Some(grade) = loaded["bufferbloat_grade"].as_str() {
            let _ = write!(words, ": bufferbloat grade {grade}");
        }
        fact("Latency", words);
    }
    if let Some(connect) = document["connect_times"]["mean_ms"].as_f64() {
        fact("Connect", format!("{} ms mean", digits(connect)));
    }
    let limit = LimitedBy::ALL
        .into_iter()
        .find(|limit| facts.limited_by.as_deref() == Some(limit.id()));
    if let Some(limit) = limit {
        let certainty = [Certainty::High, Certainty::Medium, Certainty::Low]
            .into_iter()
            .find(|certainty| facts.confidence.as_deref() == Some(certainty.id()));
        let sure = certainty.map_or_else(String::new, |certainty| {
            format!(" ({} confidence)", certainty.id())
        });
        fact("Limited by", format!("{}{sure}", limit_words(limit)));
    }
    if let Some(level) = document["trust"]["level"].as_str() {
        let reasons = document["trust"]["reasons"].as_array().unwrap_or(&empty);
        let reasons: Vec<&str> = reasons.iter().filter_map(Value::as_str).collect();
        let words = match reasons.is_empty() {
            true => level.replace('_', "-"),
            false => format!("{}: {}", level.replace('_', "-"), reasons.join("; ")),
        };
        fact("Trust", words);
    }
    if let Some(error) = &facts.error {
        fact("Failed", error.clone());
    } else if !facts.complete {
        fact("Interrupted", "the numbers are those up to then".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::tests::report_of_rate;

    #[test]
    fn a_document_becomes_its_text() {
        let mut document = serde_json::to_value(report_of_rate(5e6)).expect("a document");
        document["command"] = "tapeline -c db1".into();
        document["peer"] = serde_json::json!({"host": "db1", "address": "192.0.2.7"});
        document["test"]["started"] = "2026-11-22T14:02:03Z".into();
        document["intervals"] = serde_json::json!([
            {"direction": "forward", "start_seconds": 0.0, "end_seconds": 1.0, "bytes": 1_048_576,
                "bits_per_second": 8_388_608.0, "retransmits": 3, "omitted": true},
            {"direction": "forward", "start_seconds": 0.001, "end_seconds": 1.001, "bytes": 1_048_576,
                "bits_per_second": 8_388_608.0, "retransmits": 1, "omitted": true},
            {"direction": "forward", "start_seconds": 1.0, "end_seconds": 2.0, "bytes": 1_048_576,
                "bits_per_second": 8_388_608.0, "retransmits": 0, "omitted": false},
        ]);
        let text = show("r7", &document, true);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("r7, 2026-11-22 14:02:03, tapeline "),
            "{text}"
        );
        assert!(lines[1].ends_with(" with db1 (192.0.2.7)"), "{text}");
        assert_eq!(
            lines[2..8],
            [
                "tapeline -c db1",
                "",
                "      seconds   Mbit/s      MiB  retrans",
                "    0.00-1.00     16.8     2.00        4  (omitted)",
                "    1.00-2.00     8.39     1.00        0",
                "",
            ]
        );
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("Throughput   5.00 Mbit/s")),
            "{text}"
        );
    }

    #[test]
    fn what_failed_says_why() {
        let document = serde_json::json!({"version": "0.1.0", "test": {"complete": false},
            "error": {"text": "no route"}});
        let text = show("r1", &document, true);
        assert!(text.contains("at an unknown time") && text.ends_with("Failed       no route\n"));
    }
}
