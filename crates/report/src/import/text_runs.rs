//! The runs of a file of text of iperf 2 or iperf3.
//!
//! A run begins with its banner or, at a server, with a connection after a total. What the other end did not
//! report stands in iperf3's text as 0 bytes; it is unknown here.

use std::collections::{BTreeMap, VecDeque};

use jiff::fmt::rfc2822;
use tapeline_base::WallTime;

use super::error::Fault;
use super::intervals::{Delays, Detail, Sample};
use super::kind::Kind;
use super::lines::Lines;
use super::run::ImportedRun;
use super::table::{Row, Table};
use super::text::{self, Connection, Subject, TextRow};
use crate::document::figures::{rounded_seconds, time};
use crate::document::{CountedBy, Protocol, Requests, TestRole};
use crate::model::FlowDirection;

/// The runs of a file of text.
#[derive(Debug)]
pub(crate) struct TextRuns<'a> {
    lines: Lines<'a>,
    kind: Kind,
    test: TextTest,
    ready: VecDeque<Table>,
}

/// What a line is, as far as it tells the two programs apart.
pub(crate) fn kind_of(line: &str) -> Option<Kind> {
    let line = without_stamp(line);
    if line.starts_with("Connecting to host ")
        || line.starts_with("Accepted connection from ")
        || line.starts_with("iperf3: ")
        || line.contains(" connected to ") && text::connection(line).is_some()
    {
        return Some(Kind::Iperf3Text);
    }
    let known = line.starts_with("Client connecting to ")
        || line.starts_with("Server listening on TCP port ")
        || line.starts_with("Server listening on UDP port ")
        || text::connection(line).is_some()
        || text::row(line).is_some();
    known.then_some(Kind::Iperf2Text)
}

/// A line without the time or the title that iperf3 writes before it (`--timestamps`, `-T`).
fn without_stamp(line: &str) -> &str {
    let begins = ["[", "Connecting to host ", "Accepted connection from "];
    let at = begins
        .iter()
        .filter_map(|begin| line.find(begin))
        .min()
        .unwrap_or(0);
    let (stamp, rest) = line.split_at(at);
    if stamp.ends_with(' ') && stamp.len() <= 128 {
        rest
    } else {
        line
    }
}

/// A test whose lines are being read.
#[derive(Debug)]
struct TextTest {
    table: Table,
    /// The port that the server listens on (iperf 2).
    port: Option<u16>,
    /// Rows are of a sender, by the last line of names (iperf3).
    names_of_sender: bool,
    /// Streams of which the next row is the server's report.
    reports: BTreeMap<u32, ()>,
    /// Whether this end sends the data of a stream: of iperf 2, if it made the connection.
    sending: BTreeMap<u32, bool>,
    reverse: bool,
    /// This end sent the data of the last row.
    sends: bool,
    has_total: bool,
}

impl TextTest {
    fn new(kind: Kind) -> Self {
        let mut table = Table::new(kind);
        table.report.test.protocol = Some(if kind == Kind::Iperf3Text {
            Protocol::Iperf3
        } else {
            Protocol::Iperf2
        });
        table.report.test.transport = Some("tcp");
        Self {
            table,
            port: None,
            names_of_sender: true,
            reports: BTreeMap::new(),
            sending: BTreeMap::new(),
            reverse: false,
            sends: true,
            has_total: false,
        }
    }

    fn is_server(&self) -> bool {
        self.table.report.test.role == Some(TestRole::Server)
    }

    fn is_udp(&self) -> bool {
        self.table.report.test.transport == Some("udp")
    }

    /// The next test of the same server.
    fn next(&self, kind: Kind) -> Self {
        let mut next = Self::new(kind);
        next.port = self.port;
        let (test, before) = (&mut next.table.report.test, &self.table.report.test);
        test.role = before.role;
        test.transport = before.transport;
        next
    }

    fn connected(&mut self, line: &Connection<'_>) -> Result<(), String> {
        let shown = |(host, port): (&str, u16)| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        for direction in [
            FlowDirection::Forward,
            FlowDirection::Reverse,
            FlowDirection::RoundTrip,
        ] {
            self.table
                .connected(line.id, direction, (shown(line.local), shown(line.remote)))?;
        }
        if let Some(port) = self.port {
            self.sending.insert(line.id, line.local.1 != port);
        }
        let report = &mut self.table.report;
        report
            .peer
            .address
            .get_or_insert_with(|| line.remote.0.to_owned());
        if let Some((_, peer)) = line.remarks.split_once("(peer ") {
            let version = peer.split(')').next().map(str::to_owned);
            report.peer.program = Some("iperf".to_owned());
            report.peer.version = version;
        }
        let started = &mut report.test.started;
        *started = started
            .take()
            .or_else(|| text::date(line.remarks).map(time));
        Ok(())
    }

    /// Which way the data of a row goes, and whether this end sends it. iperf 2's sums do not say it: they
    /// stand behind rows that do.
    fn way(&mut self, row: &TextRow<'_>) -> (FlowDirection, bool) {
        let server = self.is_server();
        let sends = match (row.part, row.subject) {
            (Some(part), _) => part.starts_with("TX"),
            (None, Subject::Stream(_)) if row.starred => server,
            (None, Subject::Stream(id)) if self.port.is_some() => {
                *self.sending.get(&id).unwrap_or(&!server)
            }
            (None, Subject::Sum) if self.port.is_some() => self.sends,
            // A server of iperf3 tells its own end; the totals of datagrams have one form.
            (None, Subject::Stream(id)) if server => {
                *self.sending.entry(id).or_insert(match row.rest.last() {
                    Some(&"sender") => true,
                    Some(&"receiver") => false,
                    _ => self.names_of_sender,
                })
            }
            (None, Subject::Sum) if server => self.sends,
            (None, _) => !self.reverse,
        };
        self.sends = sends;
        let forward = sends != server;
        let direction = if forward {
            FlowDirection::Forward
        } else {
            FlowDirection::Reverse
        };
        (direction, sends)
    }

    fn row(&mut self, row: &TextRow<'_>) -> Result<(), String> {
        let of_requests = row.is_of_requests();
        let (direction, sends) = self.way(row);
        let direction = if of_requests {
            FlowDirection::RoundTrip
        } else {
            direction
        };
        let last = row.rest.last().copied();
        let id = match row.subject {
            Subject::Stream(id) => id,
            Subject::Sum => 0,
        };
        let report = self.reports.remove(&id).is_some();
        let total = report || matches!(last, Some("sender" | "receiver"));
        let sent = match last {
            Some("sender") => true,
            Some("receiver") => false,
            _ if report => false,
            _ => sends || of_requests,
        };
        // The other end's count of nothing is none.
        if total && sent != sends && row.bytes.value == 0.0 {
            return Ok(());
        }
        let sum = row.subject == Subject::Sum;
        let losses = row.losses();
        let mut resolution = row.resolution;
        let detail = match (losses, self.is_udp(), sent) {
            (Some(losses), _, false) => {
                resolution.milliseconds = Some(losses.jitter.step);
                Detail::UdpReceive {
                    packets: losses.all.checked_sub(losses.lost),
                    lost: Some(losses.lost),
                    jitter_ms: Some(losses.jitter.value),
                }
            }
            (Some(losses), _, true) => Detail::UdpSend {
                packets: Some(losses.all),
            },
            (None, true, true) => Detail::UdpSend {
                packets: row.datagrams(),
            },
            (None, false, true) => {
                let state = row.tcp_state();
                let millis = |micros: f64| micros / 1e3;
                Detail::TcpSend {
                    retransmits: state.retransmits,
                    cwnd_bytes: state.cwnd_bytes,
                    in_flight_bytes: state.in_flight_bytes,
                    rtt_ms: state.rtt_micros.map(millis),
                    rtt_variance_ms: state.rtt_variance_micros.map(millis),
                }
            }
            (None, _, false) => Detail::None,
        };
        let delays = row.delays().map(|(samples, [mean, min, max])| {
            resolution.milliseconds = Some(0.001);
            Box::new(Delays {
                samples,
                min_ms: Some(min),
                mean_ms: Some(mean),
                max_ms: Some(max),
            })
        });
        let whole = |name| row.named(name).map(|one| one.value.round() as u64);
        let requests = of_requests.then(|| {
            Some(Requests {
                responses: delays.as_ref()?.samples?,
                per_second: row.named("RPS=").map(|one| one.value),
                request_bytes: whole("Tx=")?,
                response_bytes: whole("Rx=")?,
                retransmits: None,
            })
        });
        self.table.resolved(resolution);
        let sample = Sample {
            stream: id,
            direction,
            counted_by: if sent {
                CountedBy::Sender
            } else {
                CountedBy::Receiver
            },
            omitted: row.rest.contains(&"(omitted)"),
            ended: None,
            start: row.start,
            end: row.end,
            seconds: rounded_seconds(row.end - row.start).max(0.0),
            bytes: row.bytes.value.round() as u64,
            bits_per_second: Some(row.rate.value),
            detail,
            delays,
        };
        let row = Row {
            sample,
            out_of_order: None,
            requests: requests.flatten(),
        };
        if total {
            self.has_total = true;
            self.table.total(row, sum)
        } else {
            self.has_total |= self.table.knows(&row, sum) && row.sample.start == 0.0;
            self.table.row(row, sum)
        }
    }

    /// What is told above rows.
    fn setting(&mut self, line: &str) {
        let names = line.contains("Interval") && line.contains("Transfer");
        if names {
            self.names_of_sender = line.contains("Retr")
                || line.contains("Total Datagrams") && !line.contains("Lost/Total");
            if ["Jitter", "Total Datagrams", "PPS"]
                .iter()
                .any(|name| line.contains(name))
            {
                self.table.report.test.transport = Some("udp");
            }
            return;
        }
        if let Some((id, "Server Report:")) =
            text::bracket(line).map(|(id, rest)| (id, rest.trim()))
        {
            if let Ok(id) = id.parse() {
                self.reports.insert(id, ());
            }
            return;
        }
        let report = &mut self.table.report;
        let test = &mut report.test;
        if line.starts_with("Reverse mode, ") {
            self.reverse = true;
        } else if let Some(date) = line.strip_prefix("Time: ") {
            let stamp = rfc2822::parse(date)
                .ok()
                .map(|zoned| zoned.timestamp().as_nanosecond());
            let nanos = stamp.and_then(|nanos| i64::try_from(nanos).ok());
            test.started = nanos.map(WallTime::from_nanos).map(time);
        } else if line.starts_with("iperf 3.") {
            report.version = Some(line.to_owned());
        } else if let Some(asked) = line.strip_prefix("Starting Test: ") {
            for part in asked.split(", ") {
                let words: Vec<&str> = part.split(' ').collect();
                match words[..] {
                    ["protocol:", "UDP"] => test.transport = Some("udp"),
                    ["protocol:", "SCTP"] => test.transport = Some("sctp"),
                    [length, "byte", "blocks"] => test.length_bytes = length.parse().ok(),
                    ["omitting", seconds, _] => {
                        test.omit_seconds = seconds.parse().ok().filter(finite)
                    }
                    [seconds, "second", "test"] => {
                        test.requested_seconds = seconds.parse().ok().filter(finite);
                    }
                    ["tos", tos] => test.tos = tos.parse().ok(),
                    _ => {}
                }
            }
        } else if let Some(why) = line.strip_prefix("iperf3: ") {
            let why = why.strip_prefix("error - ").unwrap_or(why);
            if why.starts_with("interrupt - ") {
                test.interrupted = true;
            } else {
                self.table.failed(why);
            }
        } else if line.contains("connect failed: ") || line.contains("tcp connect to ") {
            self.table.failed(line);
        }
    }
}

/// A span that a document can have.
fn finite(seconds: &f64) -> bool {
    seconds.is_finite() && *seconds >= 0.0
}

impl<'a> TextRuns<'a> {
    pub(crate) fn new(file: &'a [u8], kind: Kind) -> Self {
        Self {
            lines: Lines::new(file),
            kind,
            test: TextTest::new(kind),
            ready: VecDeque::new(),
        }
    }

    /// The test so far is over.
    fn end(&mut self, next: TextTest) {
        let over = std::mem::replace(&mut self.test, next);
        if !over.table.is_empty() {
            self.ready.push_back(over.table);
        }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let line = without_stamp(line).trim_end();
        if let Some(row) = text::row(line) {
            return self.test.row(&row);
        }
        if let Some(connection) = text::connection(line) {
            if self.test.has_total {
                self.end(self.test.next(self.kind));
            }
            return self.test.connected(&connection);
        }
        let banner = [
            ("Client connecting to ", TestRole::Client),
            ("Server listening on ", TestRole::Server),
            ("Connecting to host ", TestRole::Client),
            ("Accepted connection from ", TestRole::Server),
        ];
        let found = banner
            .iter()
            .find_map(|(begin, role)| Some((*role, line.strip_prefix(begin)?)));
        let Some((role, rest)) = found else {
            self.test.setting(line);
            return Ok(());
        };
        // The server of a test both ways connects too; its client listens first.
        let connected = !self.test.sending.is_empty();
        if role == TestRole::Client
            && self.test.is_server()
            && connected
            && self.kind == Kind::Iperf2Text
        {
            return Ok(());
        }
        if !self.test.table.is_empty() {
            self.end(TextTest::new(self.kind));
        }
        let test = &mut self.test;
        let report = &mut test.table.report;
        report.test.role = Some(role);
        if self.kind == Kind::Iperf2Text {
            if rest.contains("UDP port ") {
                report.test.transport = Some("udp");
            }
            let port = rest
                .split_once(" port ")
                .or_else(|| rest.split_once("port "));
            let digits = port.and_then(|(_, port)| port.split([' ', ',']).next());
            test.port = digits.and_then(|digits| digits.parse().ok());
        }
        if role == TestRole::Client {
            report.peer.host = rest.split(", ").next().map(str::to_owned);
        }
        Ok(())
    }
}

impl Iterator for TextRuns<'_> {
    type Item = Result<ImportedRun<'static>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(table) = self.ready.pop_front() {
                return Some(Ok(table.finish()));
            }
            match self.lines.next() {
                Some(line) => {
                    if let Err(why) = self.take(&line.text) {
                        return Some(Err(Fault::new(line.at, why)));
                    }
                }
                None if self.test.table.is_empty() => return None,
                None => self.end(TextTest::new(self.kind)),
            }
        }
    }
}
