//! The one line for programs (`--brief`) against the document of its run.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::findings::Findings;
use crate::shown::{MEGA, ONE};

/// Compares all keys.
pub(crate) fn compare(line: &str, document: &Value, findings: &mut Findings) {
    let pairs = line
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='));
    let pairs: BTreeMap<&str, &str> = pairs.collect();
    let shown = |key: &str| pairs.get(key).copied().filter(|value| *value != "-");
    let ways = document["sum"]["directions"].as_array().cloned();
    let ways = ways.unwrap_or_default();
    let ends = ways
        .iter()
        .map(|way| match way["receiver"]["bytes"].is_u64() {
            true => &way["receiver"],
            false => &way["sender"],
        });
    let ends: Vec<&Value> = ends.collect();
    let sum = |name: &str| {
        let known: Option<Vec<f64>> = ends.iter().map(|end| end[name].as_f64()).collect();
        known.map(|known| known.iter().sum::<f64>())
    };
    let longest = ends.iter().filter_map(|end| end["seconds"].as_f64());
    let longest = longest.reduce(f64::max);
    findings.number("brief mbps", shown("mbps"), MEGA, sum("bits_per_second"));
    findings.number("brief bytes", shown("bytes"), ONE, sum("bytes"));
    findings.number("brief seconds", shown("seconds"), ONE, longest);
    let lost = ways
        .iter()
        .filter_map(|way| way["receiver"]["lost"].as_f64());
    let lost = lost.reduce(|a, b| a + b);
    let arrived = ways
        .iter()
        .filter_map(|way| way["receiver"]["packets"].as_f64());
    let arrived = arrived.reduce(|a, b| a + b);
    let share = lost
        .zip(arrived)
        .map(|(lost, arrived)| 100.0 * lost / (lost + arrived).max(1.0));
    findings.number("brief lost_pct", shown("lost_pct"), ONE, share);
    let again = ways
        .iter()
        .filter_map(|way| way["sender"]["retransmits"].as_f64());
    let again = again.reduce(|a, b| a + b);
    findings.number("brief retrans", shown("retrans"), ONE, again);
    let latency = &document["latency_under_load"];
    let median = |path: &str| latency[path]["p50_ms"].as_f64();
    findings.number(
        "brief rtt_idle_ms",
        shown("rtt_idle_ms"),
        ONE,
        median("idle"),
    );
    findings.number(
        "brief rtt_load_ms",
        shown("rtt_load_ms"),
        ONE,
        median("loaded"),
    );
    let verdict = &document["verdict"];
    let limit = verdict["limited_by"].as_str();
    let words = |key: &str| shown(key).unwrap_or_default();
    findings.same(
        "brief limited_by",
        words("limited_by"),
        limit.unwrap_or_default(),
    );
    let confidence = verdict["confidence"].as_str().filter(|_| limit.is_some());
    findings.same(
        "brief confidence",
        words("confidence"),
        confidence.unwrap_or_default(),
    );
    let trust = document["trust"]["level"].as_str();
    findings.same("brief trust", words("trust"), trust.unwrap_or_default());
    let proto = document["test"]["transport"].as_str();
    findings.same("brief proto", words("proto"), proto.unwrap_or_default());
    let dir = match document["test"]["direction"].as_str() {
        Some("forward") => "to-server",
        Some("reverse") => "from-server",
        _ => "both",
    };
    findings.same("brief dir", words("dir"), dir);
}
