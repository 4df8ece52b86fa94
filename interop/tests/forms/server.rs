//! A server's log, files and metrics.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use interop::{Invocation, Program, Transport, await_listening, free_port, skip};
use libtest_mimic::Failed;
use serde_json::Value;

use crate::client::options;
use crate::files::Files;
use crate::findings::Findings;
use crate::shown::{Unit, unit};
use crate::tables::jitter;
use crate::{Mode, Peer};

/// Time that a server may take for what follows a client's end.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs the trial.
pub(crate) fn run(name: &str, peer: Peer, mode: Mode) -> Result<(), Failed> {
    let programs = [Program::Tapeline, peer.program];
    if let Some(reason) = programs.iter().find_map(|program| program.missing()) {
        skip(name, &reason);
        return Ok(());
    }
    let files = Files::new();
    let (port, metrics) = (free_port(), free_port());
    let server = Invocation::new(Program::Tapeline)
        .line(&format!("-s -p {port} --metrics 127.0.0.1:{metrics}"))
        .args(files.options())
        .deadline(TIMEOUT * 3)
        .spawn()?;
    await_listening(&server, Transport::Tcp, metrics)?;
    await_listening(&server, Transport::Tcp, port)?;
    let mut line = options(peer, mode);
    if peer.program == Program::Iperf3V22 {
        line = line.replace("--full-duplex", "--bidir");
    }
    let client = Invocation::new(peer.program)
        .line(&format!("-c 127.0.0.1 -p {port} {line}"))
        .run()?;
    let until = Instant::now() + TIMEOUT;
    let done = |log: &str| log.contains(" done: ");
    while !(files.are_complete() && done(&server.stdout())) && Instant::now() < until {
        std::thread::sleep(POLL_INTERVAL);
    }
    let scraped = scrape(metrics)?;
    server.interrupt();
    let ended = server.wait()?;
    let shown = format!("{client}\n--- server\n{ended}\n{scraped}");
    let documents = files.documents().map_err(|why| format!("{why}\n{shown}"))?;
    let mut findings = Findings::default();
    documents.compare(&mut findings);
    match ended
        .stdout
        .lines()
        .find_map(|line| line.split_once(" done: "))
    {
        Some((_, line)) => log(line, &documents.json, &mut findings),
        None => findings.add("no line of the end"),
    }
    Metrics(&scraped).compare(&documents.json, &mut findings);
    findings.conclude(&shown)
}

fn scrape(port: u16) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

/// `939 Mbit/s received, 5.01 s, limited by network`.
fn log(line: &str, document: &Value, findings: &mut Findings) {
    let way = |name: &str| {
        let ways = document["sum"]["directions"].as_array();
        let known = ways.and_then(|ways| ways.iter().find(|way| way["direction"] == name));
        known.cloned().unwrap_or_default()
    };
    let own = [
        ("received", way("forward")["receiver"].take()),
        ("sent", way("reverse")["sender"].take()),
    ];
    let phrases: Vec<&str> = line.split(", ").collect();
    let behind = |word: &str| {
        let number = phrases.iter().find_map(|phrase| phrase.strip_suffix(word));
        number.map(str::trim)
    };
    for (word, end) in &own {
        let shown = behind(&format!(" {word}")).and_then(|words| words.split_once(' '));
        let unit = shown.and_then(|(_, name)| unit(name)).unwrap_or(Unit(1.0));
        let rate = end["bits_per_second"].as_f64();
        findings.number(
            &format!("log, {word}"),
            shown.map(|(number, _)| number),
            unit,
            rate,
        );
    }
    let longest = own.iter().filter_map(|(_, end)| end["seconds"].as_f64());
    let longest = longest.reduce(f64::max);
    findings.number("log, seconds", behind(" s"), Unit(1.0), longest);
    let receiver = &own[0].1;
    match (behind(" % lost"), phrases.contains(&"no loss")) {
        (None, true) => {
            findings.number("log, lost", Some("0"), Unit(1.0), receiver["lost"].as_f64())
        }
        (share, _) => {
            let known = receiver["lost_percent"].as_f64();
            findings.number("log, loss", share, Unit(1.0), known);
        }
    }
    let again = behind(" retransmissions").or(behind(" retransmission"));
    // None are not mentioned.
    let known = own[1].1["retransmits"]
        .as_f64()
        .filter(|count| *count > 0.0);
    findings.number("log, retransmissions", again, Unit(1.0), known);
}

/// What Prometheus reads.
struct Metrics<'a>(&'a str);

impl Metrics<'_> {
    /// The value of the sample of the last test with this name and these labels.
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let wanted = |line: &&str| {
            let named = line
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('{'));
            let is = |(label, value): &(&str, &str)| line.contains(&format!("{label}=\"{value}\""));
            named && labels.iter().all(is)
        };
        self.0.lines().find(wanted)?.rsplit(' ').next()
    }

    fn compare(&self, document: &Value, findings: &mut Findings) {
        let ways = document["sum"]["directions"].as_array().cloned();
        for way in ways.unwrap_or_default() {
            self.compare_way(&way, findings);
        }
        let known = document["trust"]["level"].as_str().unwrap_or_default();
        if self
            .value("tapeline_test_trust", &[("level", known)])
            .is_none()
        {
            findings.add(format!("metrics without trust {known}"));
        }
        let complete = if document["test"]["complete"] == true {
            "1.0"
        } else {
            "0.0"
        };
        let shown = self
            .value("tapeline_test_complete", &[])
            .unwrap_or_default();
        findings.same("metrics, complete", shown, complete);
    }

    fn compare_way(&self, way: &Value, findings: &mut Findings) {
        let direction = way["direction"].as_str().unwrap_or_default();
        // Not that of the test, whose label ends with the same word.
        let labelled = format!(",direction=\"{direction}\"");
        let lines: Vec<&str> = self
            .0
            .lines()
            .filter(|line| line.contains(&labelled))
            .collect();
        let text = lines.join("\n");
        let of_way = Metrics(&text);
        let (sender, receiver) = (&way["sender"], &way["receiver"]);
        let exact = |value: &Value| value.as_f64();
        let scaled = |value: Option<f64>| value.map(|value| value * 1e-3);
        let numbers = [
            ("sent_bytes", exact(&sender["bytes"])),
            ("sent_seconds", exact(&sender["seconds"])),
            ("sent_bits_per_second", exact(&sender["bits_per_second"])),
            ("received_bytes", exact(&receiver["bytes"])),
            ("received_seconds", exact(&receiver["seconds"])),
            (
                "received_bits_per_second",
                exact(&receiver["bits_per_second"]),
            ),
            ("retransmits", exact(&sender["retransmits"])),
            ("datagrams_received", exact(&receiver["packets"])),
            ("datagrams_lost", exact(&receiver["lost"])),
            ("datagrams_reordered", exact(&receiver["reordered"])),
            ("datagrams_duplicate", exact(&receiver["duplicates"])),
            ("jitter_seconds", scaled(jitter(receiver))),
        ];
        for (name, known) in numbers {
            let shown = of_way.value(&format!("tapeline_test_{name}"), &[]);
            let value = shown.and_then(|shown| shown.parse::<f64>().ok());
            let same = match (value, known) {
                (Some(shown), Some(known)) => (shown - known).abs() <= known.abs() * 1e-9,
                (None, None) => true,
                _ => false,
            };
            if !same {
                findings.add(format!(
                    "metrics, {direction} {name}: {shown:?}, and {known:?} in the document"
                ));
            }
        }
        let verdict = &way["verdict"];
        let word = |name: &str| verdict[name].as_str();
        let shown = of_way
            .0
            .lines()
            .find(|line| line.starts_with("tapeline_test_limited_by{"));
        let same = match (word("limited_by"), word("confidence"), shown) {
            (Some(limit), Some(confidence), Some(line)) => {
                line.contains(&format!("limit=\"{limit}\",confidence=\"{confidence}\""))
            }
            (None, Some(_), Some(line)) => line.contains("limit=\"unknown\""),
            (None, _, None) => true,
            _ => false,
        };
        if !same {
            findings.add(format!(
                "metrics, {direction} limit: {shown:?}, and {verdict}"
            ));
        }
    }
}
