//! Rows of a client's table against the document.

use serde_json::Value;

use crate::findings::Findings;
use crate::shown::{MILLI, ONE, Unit, agrees, unit};
use crate::text::{Row, Text};

/// The test's jitter by a receiver, ms: the mean, where it is known.
pub(crate) fn jitter(receiver: &Value) -> Option<f64> {
    let mean = receiver["jitter_mean_ms"].as_f64();
    mean.or(receiver["jitter_ms"].as_f64())
}

/// Compares all rows, and looks for those that are missing.
pub(crate) fn compare(text: &Text, document: &Value, findings: &mut Findings) {
    let ways = document["sum"]["directions"].as_array().cloned();
    match ways.unwrap_or_default().as_slice() {
        [] => findings.add("no directions in the document"),
        [way] => one_way(text, document, way, findings),
        [to, from, ..] => both_ways(text, document, [to, from], findings),
    }
    if !text.rows.iter().any(|row| row.label.is_empty()) {
        findings.add("no row of an interval");
    }
}

fn one_way(text: &Text, document: &Value, way: &Value, findings: &mut Findings) {
    for (label, name) in [("sent", "sender"), ("received", "receiver")] {
        let end = &way[name];
        let rows = text.rows.iter().filter(|row| row.label == label);
        let sums = rows.filter(|row| !row.has("stream") || row.cell("stream") == Some("sum"));
        let sums: Vec<&Row> = sums.collect();
        match (sums.as_slice(), end["bytes"].is_u64()) {
            ([row], true) => total(&format!("row {label}"), row, end, findings),
            ([], false) => {}
            (rows, known) => {
                let rows = rows.len();
                findings.add(format!(
                    "{rows} rows {label}, known to the document: {known}"
                ));
            }
        }
    }
    for row in text.rows.iter().filter(|row| !row.label.is_empty()) {
        let Some(stream) = row.cell("stream").filter(|name| *name != "sum") else {
            continue;
        };
        let streams = document["streams"].as_array();
        let known = streams.and_then(|streams| {
            let number = stream.parse::<u64>().ok();
            streams.iter().find(|one| one["id"].as_u64() == number)
        });
        let name = if row.label == "sent" {
            "sender"
        } else {
            "receiver"
        };
        match known {
            Some(known) => total(&format!("stream {stream}"), row, &known[name], findings),
            None => findings.add(format!("no stream {stream} in the document")),
        }
    }
    for row in text.rows.iter().filter(|row| row.label.is_empty()) {
        interval(row, document, findings);
    }
}

/// A row of a whole test as one end counted it.
fn total(what: &str, row: &Row, end: &Value, findings: &mut Findings) {
    let name = |part: &str| format!("{what}, {part}");
    let rate = unit(&row.rate).unwrap_or(ONE);
    let size = unit(&row.size).unwrap_or(ONE);
    let mut is = |part: &str, cell: Option<&str>, unit: Unit, known: Option<f64>| {
        findings.number(&name(part), cell, unit, known);
    };
    is(
        "rate",
        row.cell(&row.rate),
        rate,
        end["bits_per_second"].as_f64(),
    );
    is("size", row.cell(&row.size), size, end["bytes"].as_f64());
    let seconds = row.cell("seconds").and_then(|span| span.split_once('-'));
    is(
        "seconds",
        seconds.map(|(_, end)| end),
        ONE,
        end["seconds"].as_f64(),
    );
    is(
        "retrans",
        row.cell("retrans"),
        ONE,
        end["retransmits"].as_f64(),
    );
    if row.has("datagrams") {
        is(
            "datagrams",
            row.cell("datagrams"),
            ONE,
            end["packets"].as_f64(),
        );
        is("lost", row.cell("lost"), ONE, end["lost"].as_f64());
        is(
            "loss",
            row.cell("loss %"),
            ONE,
            end["lost_percent"].as_f64(),
        );
        is("jitter", row.cell("jitter ms"), ONE, jitter(end));
    }
}

/// Intervals of one direction that begin when a row does, added up.
#[derive(Default)]
struct Sum {
    count: usize,
    bytes: f64,
    start: Option<f64>,
    end: f64,
    retransmits: Option<f64>,
    packets: Option<f64>,
    lost: Option<f64>,
    jitter: Option<f64>,
    window: Option<f64>,
    round_trip: Option<f64>,
}

impl Sum {
    fn of(document: &Value, direction: Option<&str>, row: &Row) -> Option<Self> {
        let start: f64 = row.cell("seconds")?.split_once('-')?.0.parse().ok()?;
        let begins = |one: &&Value| {
            let at = one["start_seconds"].as_f64();
            let same = direction.is_none_or(|way| one["direction"] == way);
            // Streams begin one after the other.
            same && at.is_some_and(|at| (at - start).abs() < 0.02)
        };
        let intervals = document["intervals"].as_array()?;
        let mut sum = Self::default();
        for one in intervals.iter().filter(begins) {
            let add = |sum: &mut Option<f64>, name: &str| {
                let more = one[name].as_f64();
                *sum = more.map(|more| sum.unwrap_or(0.0) + more).or(*sum);
            };
            sum.count += 1;
            sum.bytes += one["bytes"].as_f64()?;
            let at = one["start_seconds"].as_f64()?;
            sum.start = Some(sum.start.map_or(at, |start| start.min(at)));
            sum.end = sum.end.max(one["end_seconds"].as_f64()?);
            add(&mut sum.retransmits, "retransmits");
            add(&mut sum.packets, "packets");
            add(&mut sum.lost, "lost");
            sum.jitter = one["jitter_ms"]
                .as_f64()
                .into_iter()
                .chain(sum.jitter)
                .reduce(f64::max);
            sum.window = one["cwnd_bytes"]
                .as_f64()
                .map(|bytes| (bytes / 1024.0).floor());
            sum.round_trip = one["rtt_ms"].as_f64();
        }
        (sum.count > 0).then_some(sum)
    }

    fn rate(&self) -> f64 {
        let span = self.end - self.start.unwrap_or(0.0);
        self.bytes * 8.0 / span.max(1e-9)
    }

    fn loss(&self) -> Option<f64> {
        let (lost, arrived) = (self.lost?, self.packets?);
        Some(100.0 * lost / (lost + arrived).max(1.0))
    }
}

fn interval(row: &Row, document: &Value, findings: &mut Findings) {
    let span = row.cell("seconds").unwrap_or_default();
    let Some(sum) = Sum::of(document, None, row) else {
        return findings.add(format!("no interval {span} in the document"));
    };
    let rate = unit(&row.rate).unwrap_or(ONE);
    let size = unit(&row.size).unwrap_or(ONE);
    let name = |part: &str| format!("interval {span}, {part}");
    let mut is = |part: &str, cell: Option<&str>, unit: Unit, known: Option<f64>| {
        findings.number(&name(part), cell, unit, known);
    };
    is("rate", row.cell(&row.rate), rate, Some(sum.rate()));
    is("size", row.cell(&row.size), size, Some(sum.bytes));
    is("retrans", row.cell("retrans"), ONE, sum.retransmits);
    if row.has("cwnd KiB") {
        is("cwnd", row.cell("cwnd KiB"), ONE, sum.window);
        is("rtt", row.cell("rtt ms"), ONE, sum.round_trip);
    }
    if row.has("datagrams") {
        is("datagrams", row.cell("datagrams"), ONE, sum.packets);
        is("lost", row.cell("lost"), ONE, sum.lost);
        is("loss", row.cell("loss %"), ONE, sum.loss());
        is("jitter", row.cell("jitter ms"), ONE, sum.jitter);
    }
}

fn both_ways(text: &Text, document: &Value, [to, from]: [&Value; 2], findings: &mut Findings) {
    for row in &text.rows {
        let rate = unit(&row.rate).unwrap_or(ONE);
        let cell = |way: &str| row.cell(&format!("{way}{}", row.rate)).map(str::to_owned);
        let (there, back, sum) = (cell("to "), cell("from "), cell(""));
        let name = match row.label.as_str() {
            "sent" => "sender",
            "received" => "receiver",
            _ => {
                let known = |way: &str| Sum::of(document, Some(way), row);
                let (forward, reverse) = (known("forward"), known("reverse"));
                let span = row.cell("seconds").unwrap_or_default();
                let mut is = |part: &str, cell: Option<&str>, unit: Unit, known: Option<f64>| {
                    findings.number(&format!("interval {span}, {part}"), cell, unit, known);
                };
                is(
                    "to",
                    there.as_deref(),
                    rate,
                    forward.as_ref().map(Sum::rate),
                );
                is(
                    "from",
                    back.as_deref(),
                    rate,
                    reverse.as_ref().map(Sum::rate),
                );
                if row.has("retrans") {
                    let known = forward.as_ref().and_then(|sum| sum.retransmits);
                    is("retrans", row.cell("retrans"), ONE, known);
                }
                if row.has("lost") {
                    let reverse = reverse.as_ref();
                    is(
                        "lost",
                        row.cell("lost"),
                        ONE,
                        reverse.and_then(|sum| sum.lost),
                    );
                    is("loss", row.cell("loss %"), ONE, reverse.and_then(Sum::loss));
                    is(
                        "jitter",
                        row.cell("jitter ms"),
                        ONE,
                        reverse.and_then(|sum| sum.jitter),
                    );
                }
                continue;
            }
        };
        let known = |way: &Value| way[name]["bits_per_second"].as_f64();
        findings.number(
            &format!("row {name}, to"),
            there.as_deref(),
            rate,
            known(to),
        );
        findings.number(
            &format!("row {name}, from"),
            back.as_deref(),
            rate,
            known(from),
        );
        let both = [known(to), known(from)].into_iter().flatten().sum();
        findings.number(
            &format!("row {name}, both"),
            sum.as_deref(),
            rate,
            Some(both),
        );
        if row.has("retrans") {
            let known = to["sender"]["retransmits"].as_f64();
            findings.number("row, retrans", row.cell("retrans"), ONE, known);
        }
        if row.has("lost") && name == "receiver" {
            let known = &from["receiver"];
            findings.number("row, lost", row.cell("lost"), ONE, known["lost"].as_f64());
            let share = known["lost_percent"].as_f64();
            findings.number("row, loss", row.cell("loss %"), ONE, share);
            findings.number("row, jitter", row.cell("jitter ms"), ONE, jitter(known));
        }
    }
    let has = |label: &str| text.rows.iter().any(|row| row.label == label);
    if from["receiver"]["bytes"].is_u64() && !has("received") {
        findings.add("no row received");
    }
}

/// A delay in a sentence, in ms; one below the error of its clocks is only bounded.
pub(crate) fn is_delay(shown: &str, known_ms: f64) -> bool {
    agrees(shown, MILLI, known_ms * MILLI.0)
}
