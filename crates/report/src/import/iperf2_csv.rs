//! Rows of iperf 2's `-y C`: 9 or 14 columns, or those that a line of names tells (2.2.1).
//!
//! Addresses are the sender's and the receiver's; before 2.0.14 a server's own came first, which is known by its
//! port and by numbers of streams from 3 on. Rows of 9 and 14 columns tell neither which end counted nor a time zone.

use std::net::IpAddr;

use jiff::civil::DateTime;

use super::intervals::{Delays, Detail, Sample};
use super::table::{Row, Table};
use crate::document::figures::rounded_seconds;
use crate::document::{CountedBy, Protocol, Requests, Resolution, TestRole};
use crate::model::FlowDirection;

/// iperf 2's port.
const PORT: u16 = 5001;
/// The first port that systems give to clients.
const CLIENT_PORTS: u16 = 32_768;
/// Bytes of an address that can be hidden.
const MAX_ADDRESS: usize = 64;
/// Columns of a row; 2.2.1 has at most 27.
const MAX_COLUMNS: usize = 40;
/// Columns that every row begins with.
const COMMON: &[&str] = &[
    "time",
    "srcaddress",
    "srcport",
    "dstaddr",
    "dstport",
    "transferid",
    "istart",
    "iend",
    "bytes",
    "speed",
];
/// The others of datagrams without names.
const DATAGRAMS: &[&str] = &["jitter", "errors", "datagrams", "errpercent", "outoforder"];

/// Names of columns, in their order.
pub(crate) type Names = Vec<String>;

/// The names that a line tells.
pub(crate) fn names(line: &str) -> Option<Names> {
    let all: Names = line
        .split(',')
        .take(MAX_COLUMNS)
        .map(str::to_owned)
        .collect();
    all.iter()
        .zip(COMMON)
        .all(|(one, name)| one == name)
        .then_some(all)
        .filter(|all| all.len() >= COMMON.len())
}

/// A row with what it tells of its test.
#[derive(Debug)]
pub(crate) struct CsvRow {
    row: Row,
    sum: bool,
    /// The client's and the server's address, by which rows of one test are known.
    pub(crate) pair: (String, String),
    ends: (String, String),
    role: Option<TestRole>,
    udp: bool,
    /// It does not tell which end counted.
    unsure: bool,
    /// Its time, of an unknown zone.
    pub(crate) time: Option<DateTime>,
}

/// The cells of a line by the names of their columns.
struct Cells<'a> {
    names: Vec<&'a str>,
    cells: Vec<&'a str>,
}

impl<'a> Cells<'a> {
    fn new(line: &'a str, names: Option<&'a Names>) -> Option<Self> {
        let mut cells: Vec<&str> = line.split(',').take(MAX_COLUMNS).collect();
        let of = match (names, cells.len()) {
            (Some(names), count) if names.len() == count => {
                names.iter().map(String::as_str).collect()
            }
            (_, 9 | 14) => {
                // `0.0-1.0` is two columns elsewhere.
                let (start, end) = cells[6].split_once('-')?;
                cells.splice(6..7, [start, end]);
                let all = COMMON.iter().chain(DATAGRAMS).copied();
                all.take(cells.len()).collect()
            }
            _ => return None,
        };
        Some(Self { names: of, cells })
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|one| *one == name)?;
        self.cells.get(at).copied()
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// A number that is not negative; -1 is what is not known.
    fn number(&self, name: &str) -> Option<f64> {
        let number: f64 = self.text(name)?.parse().ok()?;
        (number.is_finite() && number >= 0.0 && !self.text(name)?.starts_with('-'))
            .then_some(number)
    }

    fn micros(&self, name: &str) -> Option<f64> {
        self.count(name)
            .filter(|micros| *micros > 0)
            .map(|micros| micros as f64 / 1e3)
    }

    fn delays(&self, prefix: &str) -> Option<Box<Delays>> {
        let of = |name: &str| self.number(&format!("{prefix}{name}"));
        let mean_ms = Some(of("avg")?);
        Some(Box::new(Delays {
            samples: self.count(&format!("{prefix}cnt")),
            min_ms: of("min"),
            mean_ms,
            max_ms: of("max"),
        }))
    }
}

/// `20261120231132`, in whatever zone, with one before and a fraction behind.
fn date(text: &str) -> Option<DateTime> {
    let digits = text.split_once(':').map_or(text, |(_, digits)| digits);
    DateTime::strptime("%Y%m%d%H%M%S", digits.get(..14)?).ok()
}

fn address(text: &str) -> bool {
    let hidden = text.contains('*') && text.len() <= MAX_ADDRESS;
    text.is_empty()
        || hidden
        || text
            .split('%')
            .next()
            .is_some_and(|one| one.parse::<IpAddr>().is_ok())
}

fn shown(address: &str, port: u16) -> String {
    if address.contains(':') {
        format!("[{address}]:{port}")
    } else {
        format!("{address}:{port}")
    }
}

/// A line as a row; `known` are the names that lines told so far, and `old` is of a program before 2.0.14.
pub(crate) fn row(line: &str, known: &[Names], old: bool) -> Option<CsvRow> {
    let columns = line.bytes().filter(|byte| *byte == b',').count() + 1;
    let mut fitting = known.iter().rev().filter(|names| names.len() == columns);
    let (names, other) = (fitting.next(), fitting.next());
    // Sent and received datagrams have as many; their rows alternate.
    let ambiguous = other.is_some();
    let receives = |names: &&Names| names.iter().any(|name| name == "readcnt");
    let names = names
        .filter(|names| !ambiguous || receives(names))
        .or(other);
    let cells = Cells::new(line, names)?;
    let time = cells.text("time")?;
    if !time
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-:.".contains(&byte))
        || time.len() < 14
    {
        return None;
    }
    let (from, to) = (cells.text("srcaddress")?, cells.text("dstaddr")?);
    if !address(from) || !address(to) {
        return None;
    }
    let port = |name| cells.text(name)?.parse::<u16>().ok();
    let (from_port, to_port) = (port("srcport")?, port("dstport")?);
    let id: i64 = cells.text("transferid")?.parse().ok()?;
    let sum = id < 0;
    let bounceback = cells.has("bbcnt");
    let serves = |port: u16| port == PORT || (1..CLIENT_PORTS).contains(&port);
    let server_first = from_port == PORT && to_port != PORT
        || serves(from_port) && !serves(to_port) && to_port != 0;
    let old_server = server_first && old && names.is_none();
    let direction = match (bounceback, server_first && !old_server) {
        (true, _) => FlowDirection::RoundTrip,
        (false, true) => FlowDirection::Reverse,
        (false, false) => FlowDirection::Forward,
    };
    let named = names.is_some();
    let udp = cells.has("jitter");
    let sent = if named {
        cells.has("writecnt") || bounceback
    } else {
        !udp && !old_server
    };
    let detail = match (udp, sent) {
        (true, true) => Detail::UdpSend {
            packets: cells.count("writecnt"),
        },
        (true, false) => {
            let lost = cells.count("errors");
            let all = cells.count("datagrams");
            Detail::UdpReceive {
                packets: all.zip(lost).and_then(|(all, lost)| all.checked_sub(lost)),
                lost: all.and(lost),
                jitter_ms: cells.number("jitter"),
            }
        }
        (false, true) => Detail::TcpSend {
            retransmits: cells.count("tcpretry"),
            cwnd_bytes: cells
                .count("tcpcwnd")
                .filter(|kilo| *kilo > 0)
                .and_then(|kilo| kilo.checked_mul(1024)),
            in_flight_bytes: None,
            rtt_ms: cells.micros("tcprtt"),
            rtt_variance_ms: cells.micros("tcprttvar"),
        },
        (false, false) => Detail::None,
    };
    let delays = cells.delays(if bounceback { "bb" } else { "tt" });
    let requests = bounceback.then(|| {
        Some(Requests {
            responses: cells.count("bbcnt")?,
            per_second: cells.number("rps"),
            request_bytes: cells.count("txbytes")?,
            response_bytes: cells.count("rxbytes")?,
            retransmits: cells.count("tcpretry"),
        })
    });
    let (start, end) = (cells.number("istart")?, cells.number("iend")?);
    let forward = direction != FlowDirection::Reverse && !old_server;
    let (client, server) = if forward { (from, to) } else { (to, from) };
    let role = named.then_some(if sent == (direction != FlowDirection::Reverse) {
        TestRole::Client
    } else {
        TestRole::Server
    });
    let ends = (shown(from, from_port), shown(to, to_port));
    Some(CsvRow {
        row: Row {
            sample: Sample {
                stream: u32::try_from(id.max(0)).ok()?,
                direction,
                counted_by: if sent {
                    CountedBy::Sender
                } else {
                    CountedBy::Receiver
                },
                omitted: false,
                ended: None,
                start,
                end,
                seconds: rounded_seconds(end - start).max(0.0),
                bytes: cells.count("bytes")?,
                bits_per_second: cells.number("speed"),
                detail,
                delays,
            },
            out_of_order: cells.count("outoforder"),
            requests: requests.flatten(),
        },
        sum,
        pair: (client.to_owned(), server.to_owned()),
        // Own and remote.
        ends: if sent || old_server || udp && !named {
            ends
        } else {
            (ends.1, ends.0)
        },
        role,
        udp,
        time: date(time),
        unsure: udp && (!named || ambiguous),
    })
}

impl CsvRow {
    /// The number of its stream; 0 of all together.
    pub(crate) const fn id(&self) -> u32 {
        self.row.sample.stream
    }

    /// Whether both are of the same two hosts; 2.2.1 leaves one out at times.
    pub(crate) fn is_between(&self, pair: &(String, String)) -> bool {
        let same = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
        same(&self.pair.0, &pair.0) && same(&self.pair.1, &pair.1)
    }

    /// Whether it can be of this test.
    pub(crate) fn is_of(&self, table: &Table, last: Option<DateTime>) -> bool {
        let sample = &self.row.sample;
        let known = table.ends(sample.stream, sample.direction);
        let same = self.sum || known.is_none_or(|ends| *ends == self.ends);
        // A stream whose first row comes at another time than the rows before is of the next test.
        let late = sample.start == 0.0
            && !table.is_empty()
            && !table.knows(&self.row, self.sum)
            && last.zip(self.time).is_some_and(|(last, time)| {
                (time - last)
                    .total(jiff::Unit::Second)
                    .is_ok_and(|apart| apart.abs() > 1.5)
            });
        same && !late
            && table.continues(&self.row, self.sum)
            && table
                .report
                .test
                .transport
                .is_none_or(|transport| (transport == "udp") == self.udp)
    }

    /// Enters it.
    pub(crate) fn enter(self, table: &mut Table) -> Result<(), String> {
        let test = &mut table.report.test;
        test.protocol = Some(Protocol::Iperf2);
        test.transport = Some(if self.udp { "udp" } else { "tcp" });
        test.role = test.role.or(self.role);
        table.unsure |= self.unsure;
        let host = if self.role == Some(TestRole::Server) {
            &self.pair.0
        } else {
            &self.pair.1
        };
        if self.role.is_some() && !host.is_empty() {
            table
                .report
                .peer
                .address
                .get_or_insert_with(|| host.clone());
        }
        let sample = &self.row.sample;
        table.resolved(Resolution {
            seconds: Some(0.1),
            milliseconds: (self.udp || sample.delays.is_some()).then_some(0.001),
            ..Resolution::default()
        });
        if !self.sum {
            table.connected(sample.stream, sample.direction, self.ends)?;
        }
        table.row(self.row, self.sum)
    }
}
