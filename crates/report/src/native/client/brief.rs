//! A test in one line for programs that read no JSON (`--brief`). Keys and their order are an interface.

use tapeline_base::Transport;

use super::amount::{Amount, Way};
use super::run::ClientRun;
use crate::model::LimitVerdict;
use crate::native::number::{digits, millis};
use crate::native::setup::shown_address;
use crate::render::tame;
use crate::style::Style;

/// The line.
pub(crate) fn line(run: &ClientRun, style: &Style) -> String {
    let ways = run.ways();
    let host = match run.target() {
        Some((host, _)) if !style.hide_addresses => Some(tame(host).replace(' ', "_")),
        _ => run.peer().map(|peer| shown_address(peer, style)),
    };
    let proto = match run.transport() {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    };
    let dir = match ways.as_slice() {
        [Way::ToServer] => Some("to-server"),
        [Way::FromServer] => Some("from-server"),
        [] => None,
        _ => Some("both"),
    };
    let counts = ways
        .iter()
        .filter_map(|way| run.received(*way).or(run.sent(*way)));
    let counts: Vec<Amount> = counts.collect();
    let rate: f64 = counts.iter().map(Amount::rate).sum();
    let bytes: u64 = counts.iter().map(|count| count.bytes).sum();
    let seconds = counts.iter().map(|count| count.span.length()).max();
    let losses = ways.iter().filter_map(|way| run.received(*way)?.lost);
    let lost = losses.reduce(|(a, b), (c, d)| (a + c, b + d));
    let retransmits = ways.iter().filter_map(|way| run.sent(*way)?.retransmits);
    let retransmits = retransmits.reduce(|a, b| a + b);
    let probes = run.latency.as_ref();
    let median = |nanos: Option<i64>| nanos.map(|nanos| millis(nanos as f64 * 1e-9));
    let idle = probes.and_then(|probes| median(probes.idle.round_trips.percentile(50.0)));
    let loaded = probes.and_then(|probes| median(probes.loaded.round_trips.percentile(50.0)));
    let verdict = LimitVerdict::most_limited(&run.verdicts).map(|one| &one.verdict);
    let limit = verdict.and_then(|verdict| verdict.limited_by);
    let confidence = verdict.filter(|verdict| verdict.limited_by.is_some());
    let known = !counts.is_empty();
    let pairs = [
        ("host", host),
        ("proto", Some(proto.to_owned())),
        ("dir", dir.map(str::to_owned)),
        ("mbps", known.then(|| megabits(rate))),
        ("bytes", known.then(|| bytes.to_string())),
        (
            "seconds",
            seconds.map(|time| format!("{:.2}", time.as_secs_f64())),
        ),
        (
            "lost_pct",
            lost.map(|(lost, all)| digits(100.0 * lost as f64 / all.max(1) as f64)),
        ),
        ("retrans", retransmits.map(|count| count.to_string())),
        ("rtt_idle_ms", idle),
        ("rtt_load_ms", loaded),
        ("limited_by", limit.map(|limit| limit.id().to_owned())),
        (
            "confidence",
            confidence.map(|verdict| verdict.certainty.id().to_owned()),
        ),
        ("trust", Some(run.trust().level.word().to_owned())),
    ];
    let pairs = pairs.map(|(key, value)| format!("{key}={}", value.unwrap_or("-".to_owned())));
    format!("tapeline {}", pairs.join(" "))
}

/// Four significant digits.
fn megabits(bits_per_second: f64) -> String {
    let value = bits_per_second / 1e6;
    let decimals = match value {
        large if large >= 100.0 => 1,
        tens if tens >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}
