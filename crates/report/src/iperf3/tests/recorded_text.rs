//! From a recorded text back to the events that it reports: numbers are sought that are printed
//! as they were.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, FormatLetter, Placement, Role, Transport, WallTime};

use super::super::amounts::Amount;
use super::super::figure;
use crate::model::{
    Connected, ControlConnected, ControlPeer, CpuUse, Event, Measure, PeerOutput, Phase, Row,
    ServerBanner, Span, Subject, TcpReceive, TcpSend, TcpState, TestDirection, TestEnd,
    TestFailure, TestFile, TestLimit, TestRequest, TestStart, TestTransport, UdpReceive, UdpSend,
};

/// A recorded text and how it was made.
pub(crate) struct Recording<'a> {
    pub(crate) role: Role,
    pub(crate) lines: Vec<&'a str>,
    options: Vec<&'a str>,
    stderr: &'a str,
}

/// A row as it was printed.
#[derive(Clone, Debug)]
struct Printed<'a> {
    /// `None` for a sum.
    socket: Option<u64>,
    role: &'a str,
    span: &'a str,
    volume: String,
    rate: String,
    rest: Vec<&'a str>,
}

impl<'a> Printed<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (label, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let span = words.next().filter(|word| word.contains('-'))?;
        words.next().filter(|word| *word == "sec")?;
        let volume = format!("{} {}", words.next()?, words.next()?);
        let rate = format!("{} {}", words.next()?, words.next()?);
        Some(Self {
            socket: label.trim().parse().ok(),
            role,
            span,
            volume: volume.trim_end_matches('s').to_owned(),
            rate: rate.trim_end_matches("s/sec").to_owned(),
            rest: words.collect(),
        })
    }

    fn ends(&self) -> (f64, f64) {
        let (start, end) = self.span.split_once('-').expect("a span");
        (start.parse().expect("start"), end.parse().expect("end"))
    }

    /// `sender`, `receiver`, or an interval.
    fn side(&self) -> Option<bool> {
        match self.rest.last() {
            Some(&"sender") => Some(true),
            Some(&"receiver") => Some(false),
            _ => None,
        }
    }

    fn omitted(&self) -> bool {
        self.rest.last() == Some(&"(omitted)")
    }

    /// Lost and total datagrams.
    fn loss(&self) -> Option<(u64, u64)> {
        let (lost, total) = self.rest.get(2)?.split_once('/')?;
        Some((lost.parse().ok()?, total.parse().ok()?))
    }

    fn datagrams(&self) -> Option<u64> {
        self.loss()
            .map(|(_, total)| total)
            .or(self.rest.first()?.parse().ok())
    }
}

/// A printed quantity in its smallest unit.
fn quantity(text: &str) -> f64 {
    let (number, unit) = text.trim().split_once(' ').expect("a unit");
    let base: f64 = if unit.ends_with("Byte") {
        1024.0
    } else {
        1000.0
    };
    let steps = "KMGT".find(&unit[..1]).map_or(0, |at| at as i32 + 1);
    number.parse::<f64>().expect("a number") * base.powi(steps)
}

fn tag(number: usize) -> FlowTag {
    FlowTag {
        id: FlowId(number as u32 + 1),
        reversed: false,
    }
}

impl<'a> Recording<'a> {
    pub(crate) fn new(text: &'a str, command: &'a str, role: Role) -> Self {
        let of = |key: &str| {
            let mut lines = command.lines();
            lines.find_map(|line| line.strip_prefix(key)).unwrap_or("")
        };
        let stderr = match role {
            Role::Client => of("client stderr: "),
            Role::Server => of("server stderr: "),
        };
        // After the peer was ended by a signal, the last interval is reported twice.
        let mut lines: Vec<&str> = text.lines().collect();
        lines.dedup_by(|a, b| a == b && a.contains(" sec "));
        Self {
            role,
            lines,
            options: of("client: ").split_whitespace().collect(),
            stderr: stderr.trim_matches(['\'', '"']),
        }
    }

    pub(crate) fn option(&self, name: &str) -> Option<&'a str> {
        let at = self.options.iter().position(|option| *option == name)?;
        Some(self.options.get(at + 1).copied().unwrap_or(""))
    }

    pub(crate) fn verbose(&self) -> bool {
        self.lines.iter().any(|line| line.contains("Cookie: "))
    }

    pub(crate) fn stderr(&self) -> &'a str {
        self.stderr
    }

    pub(crate) fn format(&self) -> FormatLetter {
        let letter = self.option("-f").filter(|_| self.role == Role::Client);
        let letter = letter.and_then(|value| value.chars().next());
        letter.map_or(FormatLetter::default(), FormatLetter::new)
    }

    fn udp(&self) -> bool {
        self.option("-u").is_some()
    }

    fn transport(&self) -> TestTransport {
        if self.udp() {
            TestTransport::Udp
        } else {
            TestTransport::Tcp
        }
    }

    fn direction(&self) -> TestDirection {
        if self.option("-R").is_some() {
            TestDirection::Reverse
        } else if self.option("--bidir").is_some() {
            TestDirection::Bidirectional
        } else {
            TestDirection::Forward
        }
    }

    fn number(&self, option: &str, default: u64) -> u64 {
        self.option(option)
            .map_or(default, |value| value.parse().expect("a number"))
    }

    fn block(&self) -> u64 {
        self.number("-l", if self.udp() { 1448 } else { 131_072 })
    }

    fn after(&self, words: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| {
            let at = line.find(words)?;
            Some(&line[at + words.len()..])
        })
    }

    /// Sockets in the order of their connections, before `Server output:`.
    pub(crate) fn sockets(&self) -> Vec<u64> {
        self.own_lines()
            .filter(|line| line.contains(" connected to "))
            .map(|line| line[1..4].trim().parse().expect("a socket"))
            .collect()
    }

    fn own_lines(&self) -> impl Iterator<Item = &'a str> {
        let lines = self.lines.iter().copied();
        lines.take_while(|line| *line != "Server output:")
    }

    fn sends(&self, flow: usize) -> bool {
        let forward = match self.direction() {
            TestDirection::Forward => true,
            TestDirection::Reverse => false,
            TestDirection::Bidirectional => flow < self.number("-P", 1) as usize,
        };
        forward == (self.role == Role::Client)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(port) = self.after("Server listening on ") {
            let port = port.split_once(' ').expect("a port").0;
            let port = port.parse().expect("a port");
            let tcp = ServerBanner::new(Transport::Tcp, port);
            events.push(Event::Listening(tcp));
            let udp = ServerBanner::new(Transport::Udp, port);
            events.push(Event::Listening(udp));
        }
        events.push(self.control());
        for (number, line) in self
            .own_lines()
            .filter(|line| line.contains(" connected to "))
            .enumerate()
        {
            let words: Vec<&str> = line[5..].split_whitespace().collect();
            let address = |host: &str, port: &str| -> SocketAddr {
                let host: std::net::IpAddr = host.parse().expect("an address");
                (host, port.parse::<u16>().expect("a port")).into()
            };
            let local = address(words[1], words[3]);
            let peer = address(words[6], words[8]);
            events.push(Event::Connected(Connected::new(
                tag(number),
                Transport::Tcp,
                local,
                peer,
            )));
        }
        events.push(Event::TestStart(Box::new(self.start())));
        let printed: Vec<Printed<'_>> = self.own_lines().filter_map(Printed::parse).collect();
        let mut peer_totals = Vec::new();
        for group in groups(&printed) {
            let solved = self.solve(&group);
            for row in group.iter().filter(|row| row.socket.is_some()) {
                let row = self.row(row, solved);
                let own = row.endpoints.is_none();
                match row.phase {
                    Phase::Total if !own => peer_totals.push(Row {
                        endpoints: None,
                        ..row
                    }),
                    _ => events.push(Event::Row(row)),
                }
            }
        }
        peer_totals.retain(|row| row.bytes > 0);
        let end = TestEnd {
            peer_totals,
            ..self.end()
        };
        events.push(Event::TestEnd(Box::new(end)));
        events
    }

    fn control(&self) -> Event {
        let at = self.after("Time: ").map_or(WallTime::default(), |date| {
            let date = jiff::fmt::rfc2822::parse(date).expect("a date");
            let nanos = date.timestamp().as_nanosecond();
            WallTime::from_nanos(i64::try_from(nanos).expect("a time of ours"))
        });
        let segment = self.after("Control connection MSS ");
        let (peer, request) = match self.after("Connecting to host ") {
            Some(to) => {
                let (host, port) = to.split_once(", port ").expect("a port");
                let peer = ControlPeer::ConnectingTo {
                    host: host.to_owned(),
                    port: port.parse().expect("a port"),
                };
                let request = TestRequest {
                    transport: self.transport(),
                    direction: self.direction(),
                    target_rate: self.target(),
                    pacing_rate: 0,
                    segment_size: None,
                };
                (peer, Some(request))
            }
            None => {
                let from = self.after("Accepted connection from ").expect("a peer");
                let (host, port) = from.split_once(", port ").expect("a port");
                let host: std::net::IpAddr = host.parse().expect("an address");
                let port: u16 = port.parse().expect("a port");
                (ControlPeer::Accepted((host, port).into()), None)
            }
        };
        Event::ControlConnected(ControlConnected {
            test: 1,
            peer,
            at,
            cookie: self.after("Cookie: ").unwrap_or("").to_owned(),
            segment_size: segment.map(|bytes| bytes.parse().expect("a number")),
            request,
        })
    }

    fn target(&self) -> u64 {
        self.after("Target Bitrate: ")
            .map_or(0, |rate| rate.parse().expect("a rate"))
    }

    fn start(&self) -> TestStart {
        let flows = self.sockets().len();
        let file = self.option("-F").map(|name| TestFile {
            name: name.to_owned(),
            size: 3_000_000,
        });
        TestStart {
            test: 1,
            flows: (0..flows)
                .map(|flow| (tag(flow), self.sends(flow)))
                .collect(),
            role: self.role,
            transport: self.transport(),
            direction: self.direction(),
            streams: self.number("-P", 1) as u32,
            block_length: self.block() as u32,
            limit: TestLimit::Time(Duration::from_secs(self.number("-t", 10))),
            omit: Duration::from_secs(self.number("-O", 0)),
            // Rows come as they were reported.
            interval: None,
            tos: 0,
            target_rate: self.target(),
            pacing_rate: 0,
            segment_size: None,
            window: 0,
            buffers: (0, 0),
            send_offload: false,
            receive_offload: false,
            title: None,
            extra_data: None,
            file,
        }
    }

    fn end(&self) -> TestEnd {
        let numbers: Vec<f64> = self
            .after("CPU Utilization: ")
            .unwrap_or("")
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .filter_map(|number| number.parse().ok())
            .collect();
        let cpu = |at: usize| CpuUse {
            total: numbers[at],
            user: numbers[at + 1],
            system: numbers[at + 2],
        };
        let name = |words: &str| self.after(words).map(str::to_owned);
        let mut output = self
            .lines
            .iter()
            .skip_while(|line| **line != "Server output:");
        let output = output.next().map(|_| {
            let lines: Vec<&str> = output
                .copied()
                .take_while(|line| !line.is_empty())
                .collect();
            PeerOutput::Text(lines.join("\n") + "\n")
        });
        TestEnd {
            test: 1,
            cpu: if numbers.is_empty() {
                CpuUse::default()
            } else {
                cpu(0)
            },
            peer_cpu: (numbers.len() == 6).then(|| cpu(3)),
            sender_congestion: name("snd_tcp_congestion "),
            receiver_congestion: name("rcv_tcp_congestion "),
            peer_totals: Vec::new(),
            lost_behind: Vec::new(),
            peer_output: output,
            peer_tapeline: None,
            failure: self.failure(),
        }
    }

    fn failure(&self) -> Option<TestFailure> {
        let text = self.stderr.strip_prefix("iperf3: ")?;
        Some(TestFailure {
            code: if text.contains("client") { 119 } else { 120 },
            text: text.trim_start_matches("error - ").to_owned(),
            by_peer: false,
            interrupted: text.starts_with("interrupt"),
        })
    }

    /// Bytes of a stream's row.
    fn bytes(&self, row: &Printed<'_>) -> u64 {
        if self.udp() {
            let lost = row.loss().map_or(0, |(lost, _)| lost);
            let count = row.datagrams().expect("datagrams");
            // Senders are reported with the losses of nobody.
            return (count - lost) * self.block();
        }
        let about = quantity(&row.volume);
        let block = self.block() as f64;
        let whole = (about / block).round() * block;
        let candidates = [whole, 3_000_000.0, about.round()];
        let bytes = candidates
            .into_iter()
            .find(|bytes| figure::volume(*bytes as u64).trim() == row.volume);
        bytes.expect("a volume") as u64
    }

    /// Start and length with which all rows of a group are printed as they were.
    fn solve(&self, group: &[Printed<'_>]) -> (f64, f64) {
        let bytes: Vec<u64> = {
            let streams = group.iter().filter(|row| row.socket.is_some());
            streams.map(|row| self.bytes(row)).collect()
        };
        let sum: u64 = bytes.iter().sum();
        let (start, end) = group[0].ends();
        let all = bytes[0] as f64 * 8.0;
        let middle = if bytes[0] == 0 {
            end - start
        } else {
            let letter = quantity(&group[0].rate);
            let bits = if group[0].rate.ends_with("Byte") {
                letter * 8.0
            } else {
                letter
            };
            if bits > 0.0 { all / bits } else { end - start }
        };
        for step in -300..=300 {
            let length = middle * (1.0 + f64::from(step) * 5e-5);
            // Totals begin at zero.
            let shifts = if group[0].side().is_some() { 0 } else { 20 };
            for shift in -shifts..=shifts {
                let start = (start + f64::from(shift) * 2.4e-4).max(0.0);
                let fits = group.iter().enumerate().all(|(at, row)| {
                    let bytes = bytes.get(at).copied().unwrap_or(sum);
                    self.prints(row, start, length, bytes)
                });
                if fits {
                    return (start, length);
                }
            }
        }
        panic!("no numbers for {group:?}");
    }

    fn prints(&self, row: &Printed<'_>, start: f64, length: f64, bytes: u64) -> bool {
        let (from, to) = row.ends();
        let near = |a: f64, b: f64| format!("{a:.2}") == format!("{b:.2}");
        let amount = Amount {
            seconds: length,
            bytes,
        };
        near(start, from)
            && near(start + length, to)
            && figure::volume(bytes).trim() == row.volume
            && figure::rate(amount, self.format()).trim() == row.rate
    }

    /// The row; that of the peer has endpoints, to be distinguished.
    fn row(&self, printed: &Printed<'_>, (start, length): (f64, f64)) -> Row {
        let socket = printed.socket.expect("a stream");
        let sockets = self.sockets();
        let flow = sockets.iter().position(|one| *one == socket);
        let flow = flow.expect("a known socket");
        let own = printed.side().is_none_or(|side| side == self.sends(flow));
        let sender = printed.side().unwrap_or(self.sends(flow));
        let other: SocketAddr = "127.0.0.1:1".parse().expect("an address");
        Row {
            subject: Subject::Flow(tag(flow)),
            phase: match (printed.side(), printed.omitted()) {
                (Some(_), _) => Phase::Total,
                (None, true) => Phase::Omitted,
                (None, false) => Phase::Interval,
            },
            span: Span {
                start: Duration::from_secs_f64(start),
                end: Duration::from_secs_f64(start + length),
            },
            ended: WallTime::default(),
            bytes: self.bytes(printed),
            endpoints: (!own).then_some(crate::model::Endpoints {
                local: other,
                peer: other,
                local_sends: false,
            }),
            trip_times: false,
            placement: Placement::default(),
            measure: self.measure(printed, sender),
        }
    }

    fn measure(&self, printed: &Printed<'_>, sender: bool) -> Measure {
        match (self.udp(), sender) {
            (true, true) => Measure::UdpSend(UdpSend {
                writes: printed.datagrams().expect("datagrams"),
                ..UdpSend::default()
            }),
            (true, false) => {
                let (lost, total) = printed.loss().expect("losses");
                let jitter: f64 = printed.rest[0].parse().expect("jitter");
                Measure::UdpReceive(UdpReceive {
                    total,
                    lost,
                    // What was cut off decides how a mean is rounded.
                    jitter: Some((jitter + 1e-4) / 1e3),
                    ..UdpReceive::default()
                })
            }
            (false, true) => {
                let window = printed.rest.get(1).zip(printed.rest.get(2));
                let window = window.filter(|_| printed.side().is_none());
                let window = window.map(|(number, unit)| {
                    quantity(&format!("{number} {}", unit.trim_end_matches('s')))
                });
                Measure::TcpSend(TcpSend {
                    retransmits: printed.rest.first().and_then(|count| count.parse().ok()),
                    state: Some(TcpState {
                        cwnd_packets: window.map(|bytes| bytes as u32),
                        mss: Some(1),
                        ..TcpState::default()
                    }),
                    ..TcpSend::default()
                })
            }
            (false, false) => Measure::TcpReceive(TcpReceive::default()),
        }
    }
}

/// Rows of the same time: those of an interval in one direction, or one end's of the summary.
fn groups<'a>(printed: &[Printed<'a>]) -> Vec<Vec<Printed<'a>>> {
    let mut groups: Vec<Vec<Printed<'a>>> = Vec::new();
    for row in printed {
        let belongs = |group: &&mut Vec<Printed<'a>>| {
            let first = &group[0];
            let open = group.last().is_some_and(|last| last.socket.is_some());
            let new = group.iter().all(|other| other.socket != row.socket);
            open && new
                && (first.role, first.span, first.side(), first.omitted())
                    == (row.role, row.span, row.side(), row.omitted())
        };
        match groups.iter_mut().rev().take(2).find(belongs) {
            Some(group) => group.push(row.clone()),
            None => groups.push(vec![row.clone()]),
        }
    }
    groups
}
