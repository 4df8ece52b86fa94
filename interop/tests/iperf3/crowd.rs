//! Real clients of every version of iperf3 and of iperf 2 at once on one `tapeline -s`.

use std::time::Duration;

use interop::{
    CsvRow, Finished, Invocation, Program, Transcript, Transport, await_listening, free_port,
    parse_csv, skip,
};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::document::{Document, look, number};

/// The name of the test.
const NAME: &str = "eight clients of iperf3 and four of iperf 2 at once";
/// Time for the server's last rows.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that may be under way when a test over TCP ends by its time.
const UNDER_WAY: u64 = 1 << 22;

/// The clients, with the number of their flows.
const CLIENTS: [(Program, &str, usize); 12] = [
    (Program::Iperf3V22, "-J -t 1 -b 2M -l 1000 --bidir", 2),
    (Program::Iperf3V22, "-J -u -t 1 -b 1M -l 1000 -P 2", 2),
    (Program::Iperf3V18, "-J -t 1 -b 2M -l 1000 -P 3", 3),
    (Program::Iperf3V18, "-J -u -t 1 -b 1M -l 1000 -R", 1),
    (Program::Iperf3V12, "-J -t 1 -b 2M -l 1000 -R", 1),
    (Program::Iperf3V12, "-J -u -t 1 -b 1M -l 1000", 1),
    (Program::Iperf3V9, "-J -t 1 -b 2M -l 1000", 1),
    (Program::Iperf3V9, "-J -u -t 1 -b 1M -l 1000 --bidir", 2),
    (Program::Iperf221, "-f b -t 1 -b 2m", 1),
    (Program::Iperf221, "-f b -u -t 1 -b 1m -l 1000", 1),
    (Program::Iperf221, "-f b -t 1 -b 2m -R", 1),
    (Program::Iperf221, "-f b -u -t 1 -b 1m -l 1000 -R", 1),
];

/// The trial.
pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test(NAME, run)]
}

fn run() -> Result<(), Failed> {
    let mut clients = CLIENTS.to_vec();
    clients.retain(|(program, ..)| match program.missing() {
        Some(reason) => {
            skip(&format!("{NAME}, {program}"), &reason);
            false
        }
        None => true,
    });
    let port = free_port().to_string();
    let server = Invocation::new(Program::Tapeline).args(["-s", "-y", "C", "-p", &port]);
    let server = server.spawn()?;
    await_listening(&server, Transport::Tcp, port.parse()?)?;
    let running: Result<Vec<_>, _> = clients
        .iter()
        .map(|(program, options, _)| {
            let line = Invocation::new(*program).args(["-c", "127.0.0.1", "-p", &port]);
            line.line(options).spawn()
        })
        .collect();
    let ended: Result<Vec<Finished>, _> =
        running?.into_iter().map(interop::Running::wait).collect();
    let ended = ended?;
    let flows: usize = clients.iter().map(|(.., flows)| flows).sum();
    server.wait_for(TIMEOUT, |said| rows_of_flows(said).len() >= flows);
    let rows = rows_of_flows(&server.stdout());
    let mut failures = Vec::new();
    if rows.len() != flows {
        failures.push(format!("{} rows of {flows} flows", rows.len()));
    }
    // A busy machine may keep its senders from their rates.
    let complaints = server.stderr();
    let mut complaints = complaints.lines();
    if let Some(complaint) = complaints.find(|line| !line.contains("not reached, sent at")) {
        failures.push(format!("the server complained: {complaint}"));
    }
    for ((program, ..), ended) in clients.iter().zip(&ended) {
        let checked = match (ended.code(), *program) {
            (Some(0), Program::Iperf221) => check_iperf2(ended, &rows),
            (Some(0), _) => check_iperf3(ended, &rows),
            (code, _) => Err(format!("ended with {code:?}")),
        };
        failures.extend(checked.err().map(|error| format!("{error}\n{ended}")));
    }
    if failures.is_empty() {
        return Ok(());
    }
    let (said, complained) = (server.stdout(), server.stderr());
    Err(Failed::from(format!(
        "{}\n{said}{complained}",
        failures.join("\n")
    )))
}

/// The server's rows, without sums.
fn rows_of_flows(said: &str) -> Vec<CsvRow> {
    let mut rows = parse_csv(said);
    rows.retain(|row| row.id >= 0);
    rows
}

/// The server's row of a flow, by the client's port, and whether the client sends it.
fn find(rows: &[CsvRow], port: u16) -> Result<(&CsvRow, bool), String> {
    let row = rows
        .iter()
        .find(|row| [row.source.1, row.destination.1].contains(&port));
    let row = row.ok_or(format!("the server has no row of port {port}"))?;
    Ok((row, row.source.1 == port))
}

/// Lost and all datagrams of a server's row, where it received them.
fn datagrams(row: &CsvRow) -> Option<(f64, f64)> {
    let field = |at: usize| row.rest.get(at).and_then(|field| field.parse().ok());
    field(1).zip(field(2))
}

fn check_iperf3(ended: &Finished, rows: &[CsvRow]) -> Result<(), String> {
    let document = Document::first(&ended.stdout).ok_or("no document")?;
    let lines = document.items("start.connected").iter();
    let streams = document.items("end.streams").iter();
    for (line, stream) in lines.zip(streams) {
        let port = number(line, "local_port") as u16;
        let (row, sends) = find(rows, port)?;
        let bytes = row.bytes as f64;
        let fits = match stream.get("udp") {
            Some(udp) if sends => {
                number(udp, "lost_packets") == 0.0
                    && datagrams(row) == Some((0.0, number(udp, "packets")))
            }
            Some(udp) => number(udp, "lost_packets") == 0.0 && number(udp, "bytes") == bytes,
            None => {
                let at = if sends { "receiver" } else { "sender" };
                let counted = look(stream, &format!("{at}.bytes")).and_then(Value::as_f64);
                counted == Some(bytes) && bytes > 0.0
            }
        };
        if !fits {
            return Err(format!("the server's row is {row:?}"));
        }
    }
    Ok(())
}

fn check_iperf2(ended: &Finished, rows: &[CsvRow]) -> Result<(), String> {
    let transcript = Transcript::parse(&ended.stdout);
    let total = transcript.totals().into_iter().next().ok_or("no total")?;
    let line = ended.stdout.split_once("local 127.0.0.1 port ");
    let port = line.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let port = port.ok_or("no port")?;
    let (row, sends) = find(rows, port)?;
    let fits = match (sends, datagrams(row), total.datagrams) {
        (true, Some((lost, all)), _) => {
            let report = transcript
                .server_reports
                .first()
                .and_then(|row| row.datagrams);
            let report = report.map(|counts| (counts.lost as f64, counts.total as f64));
            lost == 0.0 && report == Some((lost, all))
        }
        (true, None, _) => row.bytes == total.bytes,
        (false, _, Some(counts)) => counts.lost == 0 && total.bytes > 0,
        (false, _, None) => total.bytes <= row.bytes && row.bytes - total.bytes <= UNDER_WAY,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("the server's row is {row:?}"))
    }
}
