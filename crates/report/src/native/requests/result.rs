//! What requests came to: one fact a line.

use tapeline_base::{BitRate, FormatLetter, Transport, counted};

use super::run::RequestsRun;
use crate::model::{ConnectTimes, RequestResponse};
use crate::native::brief::BriefLine;
use crate::native::number::{millis, rate};
use crate::native::result_line;
use crate::render::tame;
use crate::style::Style;

/// Labels and values; none where nothing came back.
pub(crate) fn facts(run: &RequestsRun) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(requests) = run.requests() {
        facts.push(("Round trip", round_trip(requests)));
        facts.extend(requests.one_way.map(|times| {
            let [there, back] = [times.transmit.mean, times.receive.mean].map(millis);
            let text =
                format!("to server {there}, from server {back} ms (clocks assumed synchronised)");
            ("One way", text)
        }));
    }
    facts.extend(working_load(run).map(|text| ("Load", text)));
    let connects = run.connects.as_ref();
    facts.extend(connects.and_then(connect).map(|text| ("Connect", text)));
    facts
}

/// `21.7 ms median, 20.4 min, 22.2 p90, 23.2 max (30 requests)`, with as much as fits.
fn round_trip(requests: &RequestResponse) -> String {
    let trips = &requests.round_trips;
    let [median, p90, _, p99, _] = requests.percentiles;
    let again = requests.retransmits.filter(|again| *again > 0);
    let text = |p90: Option<f64>, again: Option<u64>| {
        let mut parts = vec![match median {
            Some(median) => format!("{} ms median", millis(median)),
            None => format!("{} ms mean", millis(trips.mean)),
        }];
        parts.push(format!("{} min", millis(trips.min)));
        for (value, name) in [(p90, "p90"), (p99, "p99")] {
            parts.extend(value.map(|value| format!("{} {name}", millis(value))));
        }
        parts.push(format!("{} max", millis(trips.max)));
        let mut counts = counted(trips.count, "request");
        counts.extend(again.map(|again| format!(", {}", counted(again, "retransmission"))));
        format!("{} ({counts})", parts.join(", "))
    };
    let texts = [text(p90, again), text(p90, None), text(None, again)];
    let mut fits = texts
        .into_iter()
        .filter(|text| text.len() <= result_line::ROOM);
    fits.next().unwrap_or_else(|| text(None, None))
}

/// `939 Mbit/s sent, 2 streams`.
fn working_load(run: &RequestsRun) -> Option<String> {
    let total = |sends: bool| {
        let rows = run.load.iter().filter(|row| row.measure.sends() == sends);
        let rates = rows.map(|row| BitRate::over(row.bytes, row.span.length()));
        rates.reduce(|sum, one| sum + one)
    };
    let ways = [(total(true), "sent"), (total(false), "received")];
    let known = ways
        .into_iter()
        .filter_map(|(total, way)| Some(format!("{} {way}", rate(total?, FormatLetter::BITS))));
    let known: Vec<String> = known.collect();
    let streams = counted(run.load.len() as u64, "stream");
    (!known.is_empty()).then(|| format!("{}, {streams}", known.join(", ")))
}

/// `0.050 ms mean, 0.018 min, 0.173 max (5 connections, 0 failed)`; nothing where all attempts failed.
fn connect(result: &ConnectTimes) -> Option<String> {
    let times = &result.times;
    (!times.is_empty()).then(|| {
        format!(
            "{} ms mean, {} min, {} max ({}, {} failed)",
            millis(times.mean),
            millis(times.min),
            millis(times.max),
            counted(times.count, "connection"),
            result.errors
        )
    })
}

/// What `--brief` shows.
pub(crate) fn brief(run: &RequestsRun, style: &Style) -> BriefLine {
    let banner = run.banner.as_ref();
    let requests = run.requests();
    let median = requests.map(|requests| {
        let [median, ..] = requests.percentiles;
        median.unwrap_or(requests.round_trips.mean) * 1e3
    });
    let is_loaded = !run.load.is_empty();
    let udp = banner.is_some_and(|banner| banner.transport == Transport::Udp);
    let again = requests.and_then(|requests| requests.retransmits);
    let connects = run.connects.filter(|connects| !connects.times.is_empty());
    let time = run.whole().map(|row| row.span.length().as_secs_f64());
    BriefLine {
        host: banner
            .filter(|_| !style.hide_addresses)
            .map(|banner| tame(&banner.host).replace(' ', "_")),
        proto: if udp { "udp" } else { "tcp" },
        dir: Some(if connects.is_some() {
            "connect"
        } else {
            "requests"
        }),
        seconds: time,
        retransmits: again.map(|again| again as f64),
        rtt_idle: median.filter(|_| !is_loaded),
        rtt_load: median.filter(|_| is_loaded),
        trust: run.trust().map(|trust| trust.level),
        connect: connects.map(|connects| connects.times.mean * 1e3),
        ..BriefLine::default()
    }
}
