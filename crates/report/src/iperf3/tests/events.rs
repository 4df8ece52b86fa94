//! From a recorded document back to the events that it reports.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};

use super::super::json::Json;
use crate::model::{
    Connected, ControlConnected, ControlPeer, CpuUse, Endpoints, Event, Measure, PeerOutput, Phase,
    Row, Span, Subject, TcpReceive, TcpSend, TcpState, TestDirection, TestEnd, TestFailure,
    TestFile, TestLimit, TestRequest, TestStart, TestTransport, UdpReceive, UdpSend,
};

/// What a document speaks of.
struct Source<'a> {
    document: &'a Json,
    role: Role,
    transport: TestTransport,
    direction: TestDirection,
    /// Sockets, and whether this end sends.
    flows: Vec<(u64, bool)>,
}

/// The events of a recorded document.
pub(crate) fn events(document: &Json, role: Role) -> Vec<Event> {
    let Some(source) = Source::new(document, role) else {
        return unstarted(document, role);
    };
    let mut events = Vec::new();
    events.push(source.control());
    for (number, line) in document.at("start.connected").items().iter().enumerate() {
        let address = |host: &str, port: &str| -> SocketAddr {
            let host: std::net::IpAddr = line.at(host).text().parse().expect("an address");
            (host, line.at(port).count() as u16).into()
        };
        let local = address("local_host", "local_port");
        let peer = address("remote_host", "remote_port");
        events.push(Event::Connected(Connected::new(
            tag(number),
            Transport::Tcp,
            local,
            peer,
        )));
    }
    events.push(Event::TestStart(Box::new(source.start())));
    for interval in document.at("intervals").items() {
        for stream in interval.at("streams").items() {
            events.push(Event::Row(source.interval(stream)));
        }
    }
    let mut peer_totals = Vec::new();
    if document.at("end").get("streams").is_some() {
        for flow in 0..source.flows.len() {
            events.push(Event::Row(source.total(flow, true)));
            if role == Role::Client && document.get("error").is_none() {
                peer_totals.push(source.total(flow, false));
            }
        }
    }
    events.push(Event::TestEnd(Box::new(TestEnd {
        peer_totals,
        ..end(document, role)
    })));
    events
}

/// A test that came to nothing.
fn unstarted(document: &Json, role: Role) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(cookie) = document.at("start").get("cookie") {
        let to = document.at("start.connecting_to");
        events.push(Event::ControlConnected(ControlConnected {
            test: 1,
            peer: ControlPeer::ConnectingTo {
                host: to.at("host").text().to_owned(),
                port: to.at("port").count() as u16,
            },
            at: time(document),
            cookie: cookie.text().to_owned(),
            segment_size: Some(document.at("start.tcp_mss_default").small()),
            request: Some(TestRequest {
                transport: TestTransport::Tcp,
                direction: TestDirection::Forward,
                target_rate: document.at("start.target_bitrate").count(),
                pacing_rate: 0,
                segment_size: None,
            }),
        }));
    } else if role == Role::Server {
        events.push(accepted(WallTime::default()));
    }
    events.push(Event::TestEnd(Box::new(end(document, role))));
    events
}

fn accepted(at: WallTime) -> Event {
    Event::ControlConnected(ControlConnected {
        test: 1,
        peer: ControlPeer::Accepted("[::ffff:127.0.0.1]:4711".parse().expect("an address")),
        at,
        cookie: "a".repeat(36),
        segment_size: None,
        request: None,
    })
}

fn tag(number: usize) -> FlowTag {
    FlowTag {
        id: FlowId(number as u32 + 1),
        reversed: false,
    }
}

fn time(document: &Json) -> WallTime {
    let millis = document.at("start.timestamp.timemillisecs").count();
    WallTime::from_nanos(millis as i64 * 1_000_000)
}

fn span(start: f64, end: f64) -> Span {
    Span {
        start: Duration::from_secs_f64(start),
        end: Duration::from_secs_f64(end),
    }
}

/// The end without the streams.
fn end(document: &Json, role: Role) -> TestEnd {
    let end = document.at("end");
    let cpu = |host: &str| {
        let cpu = end.get("cpu_utilization_percent")?;
        let part = |name: &str| cpu.at(&format!("{host}_{name}")).float();
        Some(CpuUse {
            total: part("total"),
            user: part("user"),
            system: part("system"),
        })
    };
    let name = |key: &str| end.get(key).map(|name| name.text().to_owned());
    let failure = document.get("error").map(|error| {
        let text = error.text();
        let interrupted = text.starts_with("interrupt");
        TestFailure {
            code: match text {
                "the client has terminated" => 119,
                "the server has terminated" => 120,
                "the server is busy running a test. try again later" => 121,
                _ => 27,
            },
            text: text.trim_start_matches("error - ").to_owned(),
            by_peer: !interrupted && role == Role::Client,
            interrupted,
        }
    });
    let text = document.get("server_output_text");
    let text = text.map(|text| PeerOutput::Text(text.text().to_owned()));
    let json = document.get("server_output_json");
    let json = json.map(|json| PeerOutput::Json(json.compact()));
    TestEnd {
        test: 1,
        cpu: cpu("host").unwrap_or_default(),
        peer_cpu: cpu("remote"),
        sender_congestion: name("sender_tcp_congestion"),
        receiver_congestion: name("receiver_tcp_congestion"),
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: text.or(json),
        peer_tapeline: None,
        failure,
    }
}

impl<'a> Source<'a> {
    fn new(document: &'a Json, role: Role) -> Option<Self> {
        let start = document.at("start").get("test_start")?;
        let direction = match (start.at("reverse").count(), start.at("bidir").count()) {
            (0, 0) => TestDirection::Forward,
            (0, _) => TestDirection::Bidirectional,
            _ => TestDirection::Reverse,
        };
        let connected = document.at("start.connected").items();
        let parallel = start.at("num_streams").count() as usize;
        let flows = connected.iter().enumerate().map(|(number, line)| {
            let forward = match direction {
                TestDirection::Forward => true,
                TestDirection::Reverse => false,
                TestDirection::Bidirectional => number < parallel,
            };
            (line.at("socket").count(), forward == (role == Role::Client))
        });
        Some(Self {
            document,
            role,
            transport: match start.at("protocol").text() {
                "TCP" => TestTransport::Tcp,
                "UDP" => TestTransport::Udp,
                other => panic!("{other}"),
            },
            direction,
            flows: flows.collect(),
        })
    }

    fn control(&self) -> Event {
        let start = self.document.at("start");
        let segment = start.get("tcp_mss_default").map(Json::small);
        let (peer, request) = match start.get("connecting_to") {
            Some(to) => (
                ControlPeer::ConnectingTo {
                    host: to.at("host").text().to_owned(),
                    port: to.at("port").count() as u16,
                },
                Some(TestRequest {
                    transport: self.transport,
                    direction: self.direction,
                    target_rate: start.at("target_bitrate").count(),
                    pacing_rate: start.at("fq_rate").count(),
                    segment_size: None,
                }),
            ),
            None => {
                let from = start.at("accepted_connection");
                let host: std::net::IpAddr = from.at("host").text().parse().expect("an address");
                let address = (host, from.at("port").count() as u16).into();
                (ControlPeer::Accepted(address), None)
            }
        };
        Event::ControlConnected(ControlConnected {
            test: 1,
            peer,
            at: time(self.document),
            cookie: start.at("cookie").text().to_owned(),
            segment_size: segment,
            request,
        })
    }

    fn start(&self) -> TestStart {
        let start = self.document.at("start");
        let test = start.at("test_start");
        let text = |key: &str| self.document.get(key).map(|text| text.text().to_owned());
        let limit = match (test.at("bytes").count(), test.at("blocks").count()) {
            (0, 0) => TestLimit::Time(Duration::from_secs(test.at("duration").count())),
            (0, blocks) => TestLimit::Blocks(blocks),
            (bytes, _) => TestLimit::Bytes(bytes),
        };
        let streams = self.document.at("end").get("streams");
        let stream = streams.and_then(|streams| streams.items().first());
        let file = stream.and_then(|stream| stream.get("diskfile"));
        TestStart {
            test: 1,
            flows: (0..self.flows.len())
                .map(|number| (tag(number), self.flows[number].1))
                .collect(),
            role: self.role,
            transport: self.transport,
            direction: self.direction,
            streams: test.at("num_streams").small(),
            block_length: test.at("blksize").small(),
            limit,
            omit: Duration::from_secs(test.at("omit").count()),
            interval: Some(Duration::from_secs_f64(test.at("interval").float()))
                .filter(|interval| !interval.is_zero()),
            tos: test.at("tos").count() as u8,
            target_rate: test.at("target_bitrate").count(),
            pacing_rate: test.at("fqrate").count(),
            segment_size: None,
            window: start.at("sock_bufsize").count(),
            buffers: (
                start.at("sndbuf_actual").count(),
                start.at("rcvbuf_actual").count(),
            ),
            send_offload: test.at("gso").count() == 1,
            receive_offload: test.at("gro").count() == 1,
            title: text("title"),
            extra_data: text("extra_data"),
            file: file.map(|file| TestFile {
                name: file.at("filename").text().to_owned(),
                size: file.at("size").count(),
            }),
        }
    }

    fn row(&self, flow: usize, phase: Phase, span: Span, bytes: u64, measure: Measure) -> Row {
        let address: SocketAddr = "127.0.0.1:1".parse().expect("an address");
        Row {
            subject: Subject::Flow(tag(flow)),
            phase,
            span,
            ended: WallTime::default(),
            bytes,
            endpoints: Some(Endpoints {
                local: address,
                peer: address,
                local_sends: self.flows[flow].1,
            }),
            trip_times: false,
            placement: Placement::default(),
            measure,
        }
    }

    fn interval(&self, stream: &Json) -> Row {
        let socket = stream.at("socket").count();
        let flow = self.flows.iter().position(|(known, _)| *known == socket);
        let flow = flow.expect("a known socket");
        let sends = self.flows[flow].1;
        assert_eq!(stream.at("sender").is_true(), sends);
        let measure = match (self.transport, sends) {
            (TestTransport::Udp, true) => Measure::UdpSend(UdpSend {
                writes: stream.at("packets").count(),
                ..UdpSend::default()
            }),
            (TestTransport::Udp, false) => Measure::UdpReceive(received(stream)),
            (_, true) => Measure::TcpSend(TcpSend {
                retransmits: Some(stream.at("retransmits").count()),
                state: Some(TcpState {
                    cwnd_packets: Some(stream.at("snd_cwnd").small()),
                    mss: Some(1),
                    rtt_micros: Some(stream.at("rtt").small()),
                    rtt_variance_micros: Some(stream.at("rttvar").small()),
                    send_window: Some(stream.at("snd_wnd").small()),
                    path_mtu: Some(stream.at("pmtu").small()),
                    reordering: Some(stream.at("reorder").small()),
                    ..TcpState::default()
                }),
                ..TcpSend::default()
            }),
            (_, false) => Measure::TcpReceive(TcpReceive::default()),
        };
        let omitted = stream.at("omitted").is_true();
        let phase = if omitted {
            Phase::Omitted
        } else {
            Phase::Interval
        };
        let span = span(stream.at("start").float(), stream.at("end").float());
        self.row(flow, phase, span, stream.at("bytes").count(), measure)
    }

    /// The count of this end or of the other.
    fn total(&self, flow: usize, own: bool) -> Row {
        let stream = &self.document.at("end.streams").items()[flow];
        let sends = self.flows[flow].1 == own;
        match self.transport {
            TestTransport::Udp => self.datagrams(flow, stream.at("udp"), sends),
            _ => self.stream(flow, stream, sends),
        }
    }

    fn stream(&self, flow: usize, stream: &Json, sends: bool) -> Row {
        let side = stream.at(if sends { "sender" } else { "receiver" });
        let measure = if sends {
            Measure::TcpSend(TcpSend {
                retransmits: side.get("retransmits").map(Json::count),
                state: Some(TcpState {
                    reordering: side.get("reorder").map(Json::small),
                    ..TcpState::default()
                }),
                ..TcpSend::default()
            })
        } else {
            Measure::TcpReceive(TcpReceive::default())
        };
        let span = span(0.0, side.at("end").float());
        self.row(flow, Phase::Total, span, side.at("bytes").count(), measure)
    }

    fn datagrams(&self, flow: usize, udp: &Json, sends: bool) -> Row {
        if sends {
            let measure = Measure::UdpSend(UdpSend {
                writes: udp.at("packets").count(),
                ..UdpSend::default()
            });
            let bytes = udp.at("bytes").count();
            let span = span(0.0, udp.at("end").float());
            return self.row(flow, Phase::Total, span, bytes, measure);
        }
        let client = self.role == Role::Client;
        let reverse =
            self.direction == TestDirection::Bidirectional && self.flows[flow].1 != client;
        let suffix = if reverse { "_bidir_reverse" } else { "" };
        let sum = self.document.at(&format!("end.sum_received{suffix}"));
        let alone = self.document.at("start.test_start.num_streams").count() == 1;
        let mut receive = received(udp);
        let bytes = if alone {
            receive.total = sum.at("packets").count();
            sum.at("bytes").count()
        } else {
            receive.total * self.document.at("start.test_start.blksize").count()
        };
        let span = span(0.0, sum.at("end").float());
        self.row(
            flow,
            Phase::Total,
            span,
            bytes,
            Measure::UdpReceive(receive),
        )
    }
}

fn received(figures: &Json) -> UdpReceive {
    UdpReceive {
        total: figures.at("packets").count(),
        lost: figures.at("lost_packets").count(),
        jitter: Some(figures.at("jitter_ms").float() / 1e3),
        out_of_order: figures.get("out_of_order").map_or(0, Json::count),
        ..UdpReceive::default()
    }
}
