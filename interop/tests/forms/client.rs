//! A client's text, files and line for programs.

use interop::{Family, Invocation, Program, ServerSpec, Transport, skip};
use libtest_mimic::Failed;
use serde_json::Value;

use crate::files::Files;
use crate::findings::Findings;
use crate::shown::{ONE, unit};
use crate::tables::{is_delay, jitter};
use crate::text::Text;
use crate::{Mode, Peer, brief, tables};

/// What a text says of a limit, and its name in documents.
const LIMITS: [(&str, &str); 13] = [
    ("network", "network"),
    ("sender's CPU", "sender_cpu"),
    ("receiver's CPU", "receiver_cpu"),
    ("send buffer (-w)", "send_buffer"),
    ("receive window", "receive_window"),
    ("receive buffer", "receive_buffer"),
    ("your -b", "requested_rate"),
    ("your --fq-rate", "requested_rate"),
    ("the requested frames", "requested_rate"),
    ("input (-F, -I)", "input"),
    ("the program", "application"),
    ("pacing", "pacing"),
    ("measurement", "measurement"),
];

/// The options of a mode for this peer: iperf3 counts whole seconds.
pub(crate) fn options(peer: Peer, mode: Mode) -> String {
    match peer.program {
        Program::Iperf3V22 => mode.options.replace("-t 1.3", "-t 1"),
        _ => mode.options.to_owned(),
    }
}

/// Runs the trial.
pub(crate) fn run(name: &str, peer: Peer, mode: Mode) -> Result<(), Failed> {
    let programs = [Program::Tapeline, peer.program];
    if let Some(reason) = programs.iter().find_map(|program| program.missing()) {
        skip(name, &reason);
        return Ok(());
    }
    let transport = match mode.is_udp && peer.program == Program::Iperf221 {
        true => Transport::Udp,
        false => Transport::Tcp,
    };
    let server = ServerSpec::new(peer.program, transport, Family::V4).start()?;
    let client = |more: Vec<String>| {
        let line = format!("-c 127.0.0.1 -p {} {}", server.port(), peer.options);
        Invocation::new(Program::Tapeline)
            .line(&format!("{line} {}", options(peer, mode)))
            .args(more)
            .run()
    };
    let files = Files::new();
    let ended = client(files.options())?;
    let mut findings = Findings::default();
    if ended.code() != Some(0) {
        findings.add(format!("exit code {:?}", ended.code()));
    }
    let documents = files.documents().map_err(|why| format!("{why}\n{ended}"))?;
    documents.compare(&mut findings);
    let text = Text::new(&ended.stdout);
    tables::compare(&text, &documents.json, &mut findings);
    facts(&text, &documents.json, mode, &mut findings);
    // The line stands in place of the text: another run, with its document.
    let files = Files::new();
    let more = files.options().into_iter().chain(["--brief".to_owned()]);
    let line = client(more.collect())?;
    let documents = files.documents().map_err(|why| format!("{why}\n{line}"))?;
    brief::compare(&line.stdout, &documents.json, &mut findings);
    findings.conclude(&format!("{ended}\n{line}"))
}

/// The result block.
fn facts(text: &Text, document: &Value, mode: Mode, findings: &mut Findings) {
    let ways = document["sum"]["directions"].as_array().cloned();
    let ways = ways.unwrap_or_default();
    let lines = text.facts("Throughput");
    if lines.len() != ways.len() {
        findings.add(format!("{} lines of throughput", lines.len()));
    }
    for (line, way) in lines.iter().zip(&ways) {
        throughput(line, way, ways.len() > 1, findings);
    }
    if mode.is_udp {
        let known: Vec<&Value> = ways.iter().map(|way| &way["receiver"]).collect();
        losses(&parts(text, "Loss", ways.len()), &known, findings);
        jitters(&parts(text, "Jitter", ways.len()), &known, findings);
    }
    latency(text.facts("Latency").first().copied(), document, findings);
    for (at, way) in ways.iter().enumerate() {
        limit(&text.facts("Limited by"), at, way, ways.len() > 1, findings);
    }
    let trust = text.facts("Trust");
    let (level, reasons) = trust
        .first()
        .and_then(|line| line.split_once(": "))
        .unwrap_or_default();
    let known = &document["trust"];
    findings.same("trust", level, known["level"].as_str().unwrap_or_default());
    let first = known["reasons"][0].as_str().unwrap_or_default();
    if !reasons.starts_with(first) {
        findings.add(format!("trust: {reasons:?}, and {first:?} in the document"));
    }
}

/// `939 Mbit/s received by HOST (561 MiB in 5.01 s)`, or `…, 561 MiB (received there)`, or
/// `…, of 100 Mbit/s sent`.
fn throughput(line: &str, way: &Value, both: bool, findings: &mut Findings) {
    let received = &way["receiver"];
    let known = match received["bytes"].is_u64() {
        true => received,
        false => &way["sender"],
    };
    let words: Vec<&str> = line
        .split([' ', '(', ')', ','])
        .filter(|word| !word.is_empty())
        .collect();
    let mut is = |what: &str, at: usize, known: &Value| {
        let unit = words.get(at + 1).and_then(|name| unit(name)).unwrap_or(ONE);
        let shown = words.get(at).copied();
        findings.number(&format!("throughput, {what}"), shown, unit, known.as_f64());
    };
    is("rate", 0, &known["bits_per_second"]);
    let size = words
        .iter()
        .position(|word| ["KiB", "MiB", "GiB"].contains(word));
    if let Some(size) = size {
        is("size", size - 1, &known["bytes"]);
        if !both {
            is("seconds", size + 2, &known["seconds"]);
        }
    } else if let Some(of) = words.iter().position(|word| *word == "of") {
        is("sent", of + 1, &way["sender"]["bits_per_second"]);
    } else {
        findings.add(format!("throughput without size or what was sent: {line}"));
    }
    let says_sender = line.contains("sender's count") || line.contains(" sent to ");
    if says_sender == received["bytes"].is_u64() {
        findings.add(format!("who counted: {line}"));
    }
}

/// What is said of each direction.
fn parts(text: &Text, label: &str, ways: usize) -> Vec<Option<String>> {
    let line = text.facts(label).first().copied();
    if ways == 1 {
        return vec![line.map(str::to_owned)];
    }
    let said: Vec<&str> = line.map_or_else(Vec::new, |line| line.split("; ").collect());
    let part = |way: &str| said.iter().find_map(|part| part.strip_prefix(way));
    let parts = ["to server ", "from server "].map(part);
    parts.map(|part| part.map(str::to_owned)).to_vec()
}

fn losses(parts: &[Option<String>], known: &[&Value], findings: &mut Findings) {
    for (part, known) in parts.iter().zip(known) {
        let lost = known["lost"].as_f64();
        let all = lost
            .zip(known["packets"].as_f64())
            .map(|(lost, all)| lost + all);
        let Some(part) = part else {
            findings.number("loss", None, ONE, lost);
            continue;
        };
        if let Some((_, counts)) = part.split_once('(') {
            let mut words = counts.split([' ', ')']);
            findings.number("loss, lost", words.next(), ONE, lost);
            findings.number("loss, all", words.nth(1), ONE, all);
        } else if part != "none" || lost != Some(0.0) {
            findings.add(format!("loss: {part}, and {lost:?} in the document"));
        }
        if let Some((share, _)) = part.split_once(" % ") {
            let percent = known["lost_percent"].as_f64();
            findings.number("loss, share", Some(share), ONE, percent);
        }
    }
}

fn jitters(parts: &[Option<String>], known: &[&Value], findings: &mut Findings) {
    for (part, known) in parts.iter().zip(known) {
        let shown = part.as_ref().and_then(|part| part.split(' ').next());
        findings.number("jitter", shown, ONE, jitter(known));
    }
}

/// `2.10 ms idle, 47.3 ms under load (+45.2 ms): bufferbloat grade B`.
fn latency(line: Option<&str>, document: &Value, findings: &mut Findings) {
    let known = &document["latency_under_load"];
    let idle = known["idle"]["p50_ms"].as_f64();
    let loaded = known["loaded"]["p50_ms"].as_f64();
    let Some(line) = line else {
        if let Some((idle, loaded)) = idle.zip(loaded) {
            findings.add(format!("no latency: {idle} and {loaded} in the document"));
        }
        return;
    };
    let words: Vec<&str> = line.split(' ').collect();
    for (at, known) in [(0, idle), (3, loaded)] {
        let shown = words.get(at).copied().unwrap_or_default();
        if !known.is_some_and(|known| is_delay(shown, known)) {
            findings.add(format!("latency: {shown}, and {known:?} in the document"));
        }
    }
    if let Some((_, grade)) = line.split_once("grade ") {
        let known = known["bufferbloat_grade"].as_str();
        findings.same("grade", grade, known.unwrap_or_default());
    }
}

/// `network (high confidence): cwnd-limited 98 % of the time`.
fn limit(lines: &[&str], at: usize, way: &Value, both: bool, findings: &mut Findings) {
    let verdict = &way["verdict"];
    let known = verdict["limited_by"].as_str();
    let name = match at {
        0 => "to server: ",
        _ => "from server: ",
    };
    let line = match both {
        true => lines.iter().find_map(|line| line.strip_prefix(name)),
        false => lines.first().copied(),
    };
    let Some(line) = line else {
        // Trust says why it is not known.
        if let Some(known) = known {
            findings.add(format!("no limit: {known} in the document"));
        }
        return;
    };
    let named = LIMITS.iter().find(|(words, _)| {
        let rest = line.strip_prefix(words);
        rest.is_some_and(|rest| rest.starts_with(" ("))
    });
    let Some((words, id)) = named else {
        if !line.starts_with("unknown") || known.is_some() {
            findings.add(format!("limit: {line}, and {known:?} in the document"));
        }
        return;
    };
    findings.same("limit", id, known.unwrap_or_default());
    let confidence = line[words.len() + 2..]
        .split(' ')
        .next()
        .unwrap_or_default();
    let known = verdict["confidence"].as_str().unwrap_or_default();
    findings.same("confidence", confidence, known);
}
