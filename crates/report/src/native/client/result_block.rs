//! The answer: one fact a line, at most eight, never wrapped.

use std::time::Duration;

use tapeline_base::Transport;
use tapeline_stats::{Finding, LimitedBy};

use super::amount::{Amount, Way};
use super::banner::server;
use super::run::{ClientRun, counts_losses};
use crate::model::{DelayClock, OneWayDelay, PeerKind, Row};
use crate::native::latency::increase;
use crate::native::number::{delay, digits, millis, percent, rate, rate_unit, size, small};
use crate::native::paint::Paint;
use crate::native::result_line;
use crate::native::setup::shown_address;
use crate::native::verdict::{finding_words, limit_words};
use crate::style::{Style, Terminal};

/// Lines of a block.
const MAX_LINES: usize = 8;
/// Columns of a line, whatever the terminal's width.
const WIDTH: usize = 80 - result_line::LABEL;
/// Streams that are named one by one; above, their rates are summed up.
const FEW_STREAMS: usize = 8;
/// Shorter pauses are every host's own.
const LEAST_GAP: Duration = Duration::from_millis(10);

/// A line, and how soon it goes where there are more than eight: the highest rank first, 0 never.
struct Fact {
    rank: u8,
    label: &'static str,
    value: String,
}

impl Fact {
    fn new(rank: u8, label: &'static str, value: String) -> Self {
        Self { rank, label, value }
    }
}

/// All lines.
pub(crate) fn lines(run: &ClientRun, style: &Style, terminal: Terminal) -> Vec<String> {
    let ways = run.ways();
    let mut facts: Vec<Fact> = Vec::new();
    for way in &ways {
        let value = throughput(run, *way, ways.len() > 1, style);
        facts.extend(value.map(|value| Fact::new(0, "Throughput", value)));
    }
    // The error says why the only one failed.
    if run.streams() > 1 {
        let value = streams(run, style, terminal.width);
        let rank = if run.failed.is_empty() { 4 } else { 0 };
        facts.extend(value.map(|value| Fact::new(rank, "Streams", value)));
    }
    if run.transport() == Transport::Udp {
        facts.extend(joined(&ways, |way| loss(run, way)).map(|value| Fact::new(0, "Loss", value)));
        let several = ways.len() > 1;
        let value = joined(&ways, |way| jitter(run, way, several));
        facts.extend(value.map(|value| Fact::new(3, "Jitter", value)));
        facts.extend(gap(run).map(|value| Fact::new(5, "Gap", value)));
    }
    facts.extend(latency(run).map(|value| Fact::new(1, "Latency", value)));
    for way in &ways {
        let value = limited_by(run, *way, ways.len() > 1);
        facts.extend(value.map(|value| Fact::new(0, "Limited by", value)));
    }
    while facts.len() >= MAX_LINES {
        let worst = (0..facts.len()).max_by_key(|at| facts[*at].rank);
        match worst.filter(|at| facts[*at].rank > 0) {
            Some(worst) => facts.remove(worst),
            None => break,
        };
    }
    let paint = Paint::new(terminal.colour);
    let lines = facts.iter();
    let lines = lines.map(|fact| result_line::fact(fact.label, &fact.value, paint));
    let mut lines: Vec<String> = lines.collect();
    lines.push(result_line::trust(&run.trust(), terminal));
    lines
}

/// What each direction has to say, alone or with its name.
fn joined(ways: &[Way], say: impl Fn(Way) -> Option<String>) -> Option<String> {
    let said = ways.iter().filter_map(|way| Some((*way, say(*way)?)));
    let said: Vec<(Way, String)> = said.collect();
    match said.as_slice() {
        [] => None,
        [(_, only)] if ways.len() == 1 => Some(only.clone()),
        several => {
            let named = several.iter();
            let named = named.map(|(way, words)| format!("{} {words}", way.words()));
            let words: Vec<String> = named.collect();
            Some(words.join("; "))
        }
    }
}

/// The longest text that fits.
fn fitting(texts: impl IntoIterator<Item = String>) -> Option<String> {
    let mut last = None;
    for text in texts {
        if text.chars().count() <= WIDTH {
            return Some(text);
        }
        last = Some(text);
    }
    last
}

fn seconds(span: Duration) -> String {
    digits(span.as_secs_f64())
}

fn throughput(run: &ClientRun, way: Way, both: bool, style: &Style) -> Option<String> {
    let peer = run.peer().map(|peer| shown_address(peer, style));
    let peer = peer.unwrap_or_else(|| "the server".to_owned());
    let received = run.received(way);
    let sent = run.sent(way);
    let known = received.as_ref().or(sent.as_ref())?;
    let rate_of = |amount: &Amount| rate(amount.rate(), style.format);
    let amount = format!(
        "{} in {} s",
        size(known.bytes, style.format),
        seconds(known.span.length())
    );
    let number = rate_of(known);
    if both {
        let (preposition, counted) = match (way, received.is_some()) {
            (Way::ToServer, true) => ("to", "received there"),
            (Way::ToServer, false) => ("to", "sender's count"),
            (Way::FromServer, _) => ("from", "received here"),
        };
        let bytes = size(known.bytes, style.format);
        return Some(format!(
            "{number} {preposition} {peer}, {bytes} ({counted})"
        ));
    }
    let received_by = match way {
        Way::ToServer => format!("{number} received by {peer}"),
        Way::FromServer => format!("{number} received from {peer}"),
    };
    let text = match (received.is_some(), run.transport()) {
        (false, Transport::Udp) => return Some(format!("{number} sent to {peer} ({amount})")),
        (false, Transport::Tcp) => format!("{number} to {peer} ({amount}, sender's count)"),
        (true, Transport::Tcp) => format!("{received_by} ({amount})"),
        (true, Transport::Udp) => match &sent {
            Some(sent) => format!("{received_by}, of {} sent", rate_of(sent)),
            None => format!("{received_by} ({amount})"),
        },
    };
    match run.streams() {
        1 => Some(text),
        several => fitting([format!("{text}, {several} streams"), text]),
    }
}

/// The rates of a test's streams; of both directions, what was sent.
fn streams(run: &ClientRun, style: &Style, width: usize) -> Option<String> {
    let failed = failed(run);
    let ways = run.ways();
    let rows = run.totals.values();
    let rows = rows.filter(|row| Some(&Way::of(row)) == ways.first());
    let amounts = rows.filter_map(|row| Some((number(row)?, Amount::of([row])?.rate())));
    let mut rates: Vec<(u32, f64)> = amounts.collect();
    rates.sort_by(|a, b| a.1.total_cmp(&b.1));
    let spread = match rates.as_slice() {
        [slowest, .., fastest] => spread(&rates, *slowest, *fastest, style),
        _ => return failed,
    };
    // The whole of many streams needs more than 80 columns.
    let room = width.saturating_sub(result_line::LABEL).max(WIDTH);
    match failed {
        Some(failed) => {
            let [_, spread] = spread;
            fitting([format!("{failed}; {spread}"), failed])
        }
        None => spread.into_iter().find(|text| text.chars().count() <= room),
    }
}

fn number(row: &Row) -> Option<u32> {
    match row.subject {
        crate::model::Subject::Flow(tag) => Some(tag.id.0),
        crate::model::Subject::Sum { .. } | crate::model::Subject::Duplex(_) => None,
    }
}

/// `fastest 242 Mbit/s (1), slowest 231 (4), fairness 1.00`, of many streams with their median in front of a
/// shorter text; of rates from the slowest to the fastest.
fn spread(
    rates: &[(u32, f64)],
    (slowest, least): (u32, f64),
    (fastest, most): (u32, f64),
    style: &Style,
) -> [String; 2] {
    let with_unit = rate(most, style.format);
    let least = in_unit_of(most, least, style);
    let fastest = format!("fastest {with_unit} ({fastest})");
    let fairness = fairness(rates);
    let rest = format!("slowest {least} ({slowest}), fairness {fairness:.2}");
    if rates.len() <= FEW_STREAMS {
        let few = format!("{fastest}, {rest}");
        return [few.clone(), few];
    }
    let median = in_unit_of(most, rates[rates.len() / 2].1, style);
    let all = rates.len();
    [
        format!("{all}: {fastest}, median {median}, {rest}"),
        format!("{all}: {fastest}, {rest}"),
    ]
}

/// A rate without unit, in that of a larger one.
fn in_unit_of(larger: f64, value: f64, style: &Style) -> String {
    digits(rate_unit(larger, style.format).of(value))
}

/// Jain's index: 1 where all rates are equal, 1/n where one stream has all (RFC 5166, 3.3).
fn fairness(rates: &[(u32, f64)]) -> f64 {
    let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
    let squares: f64 = rates.iter().map(|(_, rate)| rate * rate).sum();
    if squares > 0.0 {
        sum * sum / (rates.len() as f64 * squares)
    } else {
        1.0
    }
}

/// `2 of 100 failed: 41, 77 (connection reset)`.
fn failed(run: &ClientRun) -> Option<String> {
    let (_, reason) = run.failed.first_key_value()?;
    let numbers: Vec<String> = run.failed.keys().map(ToString::to_string).collect();
    let counted = format!("{} of {} failed", numbers.len(), run.streams());
    fitting([
        format!("{counted}: {} ({reason})", numbers.join(", ")),
        format!("{counted}: {}", numbers.join(", ")),
        counted,
    ])
}

fn loss(run: &ClientRun, way: Way) -> Option<String> {
    let received = run.received(way)?;
    let (lost, all) = received.lost?;
    let both = run.ways().len() > 1;
    if lost == 0 {
        return Some(match both {
            true => "none".to_owned(),
            false => format!("none (0 of {all} datagrams)"),
        });
    }
    let share = percent(received.loss()?);
    let counted = format!("{share} ({lost} of {all})");
    if both {
        return Some(counted);
    }
    let origin = run.loss_origin(way);
    let known = origin.and_then(|origin| Some((origin.network?, origin.receiver_host?, origin)));
    let text = match known {
        None => {
            let unseen = match run.peer_kind() {
                PeerKind::Tapeline => String::new(),
                PeerKind::Iperf2 | PeerKind::Iperf3 => format!(" (server is {})", server(run)),
            };
            return Some(format!("{counted}, place unknown{unseen}"));
        }
        Some((network, 0, origin)) if network == lost && origin.sender_host.unwrap_or(0) == 0 => {
            format!("{counted}, all in the network")
        }
        Some((network, receiver, origin)) => {
            let parts = [
                (network, "in the network"),
                (receiver, "in the receiver's socket buffer"),
                (origin.sender_host.unwrap_or(0), "in the sender's host"),
            ];
            let parts = parts.iter().filter(|(number, _)| *number > 0);
            let parts: Vec<String> = parts
                .map(|(number, where_)| format!("{number} {where_}"))
                .collect();
            format!("{counted}: {}", parts.join(", "))
        }
    };
    let longest = received.pattern.map(|pattern| pattern.longest_run);
    let longest = longest.filter(|longest| *longest > 0);
    match longest {
        Some(1) => fitting([format!("{text}, longest run 1 datagram"), text]),
        Some(longest) => fitting([
            format!("{text}, longest run {longest} datagrams"),
            format!("{text}, longest run {longest}"),
            text,
        ]),
        None => Some(text),
    }
}

fn jitter(run: &ClientRun, way: Way, both: bool) -> Option<String> {
    let jitter = run.received(way)?.jitter?;
    let jitter = format!("{} ms", millis(jitter));
    match run.delay(way).filter(|_| !both) {
        Some(measured) => {
            let [whole, median] = one_way(measured).map(|delay| format!("{jitter}; {delay}"));
            fitting([whole, median, jitter])
        }
        None => Some(jitter),
    }
}

/// `one-way delay 1.06 ms median, 1.42 ms p99 (error 0.05 ms)`, and the same without the percentile.
fn one_way(measured: &OneWayDelay) -> [String; 2] {
    let (error, remark) = match &measured.clock {
        DelayClock::Estimated(clock) => {
            let error = clock.bound;
            (error, format!(" (error {} ms)", small(error * 1e3)))
        }
        DelayClock::AssumedSynchronised => (0.0, " (clocks assumed synchronised)".to_owned()),
    };
    let percentile = |percent: f64| {
        let nanos = measured.counts.percentile(percent)?;
        Some(delay(nanos as f64 * 1e-9, error))
    };
    let middle = match percentile(50.0) {
        Some(median) => format!("one-way delay {median} median"),
        None => format!("one-way delay {} mean", delay(measured.mean, error)),
    };
    let high = percentile(99.0).map_or(String::new(), |high| format!(", {high} p99"));
    [
        format!("{middle}{high}{remark}"),
        format!("{middle}{remark}"),
    ]
}

/// The longest pause in arrivals, where nothing in the sender explains it.
fn gap(run: &ClientRun) -> Option<String> {
    let own = run.totals.values().chain(run.peer_totals.values());
    let rows: Vec<&Row> = own.filter(|row| counts_losses(row)).collect();
    let pattern = Amount::of(rows)?.pattern?;
    let outage = pattern.outage?;
    let least = LEAST_GAP.max(run.longest_pause_of_sender());
    (outage.length > least).then(|| {
        let length = millis(outage.length.as_secs_f64());
        let start = outage.start.as_secs_f64();
        format!("longest pause in arrivals {length} ms at {start:.2} s")
    })
}

/// `2.10 ms idle, 47.3 ms under load (+45.2 ms): bufferbloat grade B`.
fn latency(run: &ClientRun) -> Option<String> {
    let latency = run.latency.as_ref()?;
    let idle = latency.idle.round_trips.percentile(50.0)? as f64 * 1e-6;
    let loaded = latency.loaded.round_trips.percentile(50.0)? as f64 * 1e-6;
    let increase = increase(latency)?;
    let text = format!(
        "{} ms idle, {} ms under load ({increase})",
        digits(idle),
        digits(loaded)
    );
    let Some(grade) = latency.grade.map(|grade| grade.letter()) else {
        return Some(text);
    };
    fitting([
        format!("{text}: bufferbloat grade {grade}"),
        format!("{text}: bufferbloat {grade}"),
    ])
}

/// `network (high confidence): cwnd-limited 98 % of the time`.
fn limited_by(run: &ClientRun, way: Way, both: bool) -> Option<String> {
    let verdict = &run.verdict(way)?.verdict;
    let first = verdict.findings.first();
    let Some(limit) = verdict.limited_by else {
        let reason = match first {
            // Trust says so.
            Some(Finding::TooShort(_) | Finding::TooFew(_) | Finding::Refused(_)) => return None,
            Some(Finding::Unknown(_)) | None if !run.peer_visible => {
                format!(": the server's side is not visible ({})", server(run))
            }
            Some(finding) => format!(": {}", finding_words(finding)),
            None => String::new(),
        };
        let named = if both {
            format!("{}: ", way.words())
        } else {
            String::new()
        };
        return Some(format!("{named}unknown{reason}"));
    };
    let words = limit_name(limit, first);
    let confidence = verdict.certainty.id();
    let named = if both {
        format!("{}: ", way.words())
    } else {
        String::new()
    };
    let head = format!("{named}{words} ({confidence} confidence)");
    let Some(finding) = first.map(finding_words) else {
        return Some(head);
    };
    // Whose it is, the limit says.
    let whose = [
        "the sender's thread ",
        "the receiver's thread ",
        "the sender's ",
        "the receiver's ",
    ];
    let finding = whose
        .iter()
        .find_map(|whose| finding.strip_prefix(whose))
        .unwrap_or(&finding);
    let short = finding.strip_suffix(" of the time").unwrap_or(finding);
    let whole = format!("{head}: {finding}");
    let shorter = format!("{head}: {short}");
    if both {
        fitting([shorter, head])
    } else {
        fitting([whole, shorter, head])
    }
}

/// The limit as people say it, by what was requested.
pub(crate) fn limit_name(limit: LimitedBy, finding: Option<&Finding>) -> &'static str {
    match (limit, finding) {
        (
            LimitedBy::RequestedRate,
            Some(Finding::RateReached(_) | Finding::ReceivedRateReached(_)),
        ) => "your -b",
        (LimitedBy::RequestedRate, Some(Finding::PacedRateReached(_))) => "your --fq-rate",
        (LimitedBy::RequestedRate, Some(Finding::ScheduleKept(_))) => "the requested frames",
        (LimitedBy::Input, Some(Finding::InputAwaited(_))) => "input (-F, -I)",
        _ => limit_words(limit),
    }
}
