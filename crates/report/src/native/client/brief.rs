//! What `--brief` shows of a test of traffic.

use tapeline_base::Transport;

use super::amount::{Amount, Way};
use super::run::ClientRun;
use crate::model::LimitVerdict;
use crate::native::brief::BriefLine;
use crate::native::setup::shown_address;
use crate::render::tame;
use crate::style::Style;

/// The line.
pub(crate) fn line(run: &ClientRun, style: &Style) -> BriefLine {
    let ways = run.ways();
    let counts = ways
        .iter()
        .filter_map(|way| run.received(*way).or(run.sent(*way)));
    let counts: Vec<Amount> = counts.collect();
    let is_known = !counts.is_empty();
    let seconds = counts.iter().map(|count| count.span.length()).max();
    let losses = ways.iter().filter_map(|way| run.received(*way)?.lost);
    let lost = losses.reduce(|(a, b), (c, d)| (a + c, b + d));
    let retransmits = ways.iter().filter_map(|way| run.sent(*way)?.retransmits);
    let retransmits = retransmits.reduce(|a, b| a + b);
    let probes = run.latency.as_ref();
    let median = |nanos: Option<i64>| nanos.map(|nanos| nanos as f64 * 1e-6);
    let verdict = LimitVerdict::most_limited(&run.verdicts).map(|one| &one.verdict);
    BriefLine {
        host: match run.target() {
            Some((host, _)) if !style.hide_addresses => Some(tame(host).replace(' ', "_")),
            _ => run.peer().map(|peer| shown_address(peer, style)),
        },
        proto: match run.transport() {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        },
        dir: match ways.as_slice() {
            [Way::ToServer] => Some("to-server"),
            [Way::FromServer] => Some("from-server"),
            [] => None,
            _ => Some("both"),
        },
        bits_per_second: is_known.then(|| counts.iter().map(Amount::rate).sum()),
        bytes: is_known.then(|| counts.iter().map(|count| count.bytes as f64).sum()),
        seconds: seconds.map(|time| time.as_secs_f64()),
        lost_percent: lost.map(|(lost, all)| 100.0 * lost as f64 / all.max(1) as f64),
        retransmits: retransmits.map(|count| count as f64),
        rtt_idle: probes.and_then(|probes| median(probes.idle.round_trips.percentile(50.0))),
        rtt_load: probes.and_then(|probes| median(probes.loaded.round_trips.percentile(50.0))),
        limit: verdict.and_then(|verdict| Some((verdict.limited_by?, verdict.certainty))),
        trust: Some(run.trust().level),
        connect: None,
        series: None,
    }
}
