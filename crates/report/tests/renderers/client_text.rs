//! A client's text under tapeline's own name, compared with files: the path has 1 Gbit/s, an idle round trip of
//! 2.10 ms and a bottleneck queue of 45 ms.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};
use tapeline_report::{
    Amount, ClientBanner, ClockEstimate, CongestionControl, Connected, ConnectionFlavour,
    ControlConnected, ControlPeer, CpuUse, DelayClock, Endpoints, Event, GapErrors, HostDrops,
    InitialTcp, LimitVerdict, LoadedLatency, LossPattern, Measure, NativeText, Notice, OneWayDelay,
    Output, PeerFlow, PeerLimits, PeerProgram, PeerProgress, PeerResults, Phase, ProbeSeries,
    ProcessorUse, Renderer, RequestedTest, Row, SendTiming, Span, Style, Subject, TcpReceive,
    TcpSend, TcpState, Terminal, TestDirection, TestEnd, TestFailure, TestLimit, TestRequest,
    TestStart, TestTransport, UdpReceive, UdpSend,
};
use tapeline_stats::{
    BufferbloatGrade, Certainty, DelayCounts, Finding, HostEvidence, LimitedBy, RateTarget,
    ReceiverEvidence, SenderEvidence, Verdict, judge_datagrams,
};

/// 2026-11-22 12:40:20 UTC.
const START: WallTime = WallTime::from_nanos(1_795_351_220_000_000_000);
const MSS: u32 = 1448;

/// A test, told step by step.
struct Scene {
    peer: &'static str,
    port: u16,
    transport: Transport,
    direction: TestDirection,
    streams: u32,
    seconds: u64,
    /// Seconds after [`START`].
    at: u64,
    events: Vec<Event>,
}

fn tag(id: u32, reversed: bool) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed,
    }
}

/// Bytes of a rate in Mbit/s over a time in ms.
fn bytes(megabits: f64, millis: u64) -> u64 {
    (megabits * 1e3 / 8.0 * millis as f64).round() as u64
}

fn state(cwnd_kib: u32, rtt_micros: u32, variance: u32, in_flight: u32) -> TcpState {
    TcpState {
        cwnd_packets: Some(cwnd_kib),
        mss: Some(1024),
        rtt_micros: Some(rtt_micros),
        rtt_variance_micros: Some(variance),
        in_flight_packets: Some(in_flight),
        ..TcpState::default()
    }
}

fn tcp_send(retransmits: u64, state: Option<TcpState>) -> Measure {
    Measure::TcpSend(TcpSend {
        writes: 1000,
        retransmits: Some(retransmits),
        state,
        ..TcpSend::default()
    })
}

fn tcp_receive() -> Measure {
    Measure::TcpReceive(TcpReceive::default())
}

fn udp_send(writes: u64) -> Measure {
    Measure::UdpSend(UdpSend {
        writes,
        ..UdpSend::default()
    })
}

fn udp_receive(total: u64, lost: u64, jitter: f64) -> Measure {
    Measure::UdpReceive(UdpReceive {
        received: total - lost,
        total,
        lost,
        jitter: Some(jitter),
        jitter_mean: Some(jitter),
        pattern: Some(LossPattern {
            runs: 9,
            longest_run: 12,
            ..LossPattern::default()
        }),
        ..UdpReceive::default()
    })
}

fn finding_verdict(
    local_sends: bool,
    limited_by: LimitedBy,
    certainty: Certainty,
    finding: Finding,
) -> LimitVerdict {
    LimitVerdict {
        flows: vec![tag(1, !local_sends)],
        transport: Transport::Tcp,
        local_sends,
        sender: SenderEvidence::default(),
        receiver: ReceiverEvidence::default(),
        verdict: Verdict {
            limited_by: Some(limited_by),
            certainty,
            findings: vec![finding],
        },
    }
}

impl Scene {
    fn new(transport: Transport, direction: TestDirection) -> Self {
        Self {
            peer: "192.0.2.7",
            port: 5001,
            transport,
            direction,
            streams: 1,
            seconds: 5,
            at: 0,
            events: Vec::new(),
        }
    }

    fn local(&self) -> SocketAddr {
        "192.0.2.1:46976".parse().expect("an address")
    }

    fn remote(&self) -> SocketAddr {
        format!("{}:{}", self.peer, self.port)
            .parse()
            .expect("an address")
    }

    /// Banner, connections and what the server is.
    fn begin(&mut self, rtt_micros: u32, program: Option<&str>) -> &mut Self {
        let tcp = self.transport == Transport::Tcp;
        self.events.push(Event::Connecting(ClientBanner {
            flows: self.streams as usize,
            write_length: if tcp { 131_072 } else { 1470 },
            rate: (!tcp).then_some(100_000_000),
            congestion: tcp.then(|| CongestionControl {
                name: "cubic".to_owned(),
                requested: None,
            }),
            ..ClientBanner::new(self.peer, self.port, self.transport)
        }));
        let flavour = match self.direction {
            TestDirection::Forward => ConnectionFlavour::Plain,
            TestDirection::Reverse => ConnectionFlavour::Reverse,
            TestDirection::Bidirectional => ConnectionFlavour::FullDuplex,
        };
        for id in 1..=self.streams {
            let tag = tag(id, self.direction == TestDirection::Reverse);
            let connected = Connected {
                flavour,
                congestion: tcp.then(|| "cubic".to_owned()),
                initial: tcp.then_some(InitialTcp {
                    cwnd_kib: 14,
                    mss: MSS,
                    rtt_micros,
                }),
                ..self.line(tag)
            };
            self.events.push(Event::Connected(connected));
        }
        self.events.extend(program.map(|version| Event::PeerFound {
            program: PeerProgram {
                program: "tapeline".to_owned(),
                version: version.to_owned(),
                system: "Linux".to_owned(),
            },
            flows: Vec::new(),
        }));
        self
    }

    fn line(&self, tag: FlowTag) -> Connected {
        Connected {
            device: Some("eth0".to_owned()),
            at: Some(START + Duration::from_secs(self.at)),
            ..Connected::new(tag, self.transport, self.local(), self.remote())
        }
    }

    fn made(
        &self,
        tag: FlowTag,
        phase: Phase,
        span: (u64, u64),
        bytes: u64,
        measure: Measure,
    ) -> Row {
        Row {
            subject: Subject::Flow(tag),
            phase,
            span: Span {
                start: Duration::from_millis(span.0),
                end: Duration::from_millis(span.1),
            },
            ended: START + Duration::from_millis(span.1),
            bytes,
            endpoints: Some(Endpoints {
                local: self.local(),
                peer: self.remote(),
                local_sends: !tag.reversed,
            }),
            trip_times: false,
            placement: Placement::default(),
            measure,
        }
    }

    fn interval(&mut self, tag: FlowTag, span: (u64, u64), bytes: u64, measure: Measure) {
        let row = self.made(tag, Phase::Interval, span, bytes, measure);
        self.events.push(Event::Row(row));
    }

    fn total(&mut self, tag: FlowTag, end: u64, bytes: u64, measure: Measure) {
        let row = self.made(tag, Phase::Total, (0, end), bytes, measure);
        self.events.push(Event::Row(row));
    }

    /// What the server counted: a stream with the end of its time, its bytes and numbers.
    fn results(&mut self, flows: Vec<(FlowTag, u64, u64, Measure)>) -> &mut Self {
        let flows = flows
            .into_iter()
            .map(|(tag, end, bytes, measure)| PeerFlow {
                limits: PeerLimits {
                    retransmits: match &measure {
                        Measure::TcpSend(send) => send.retransmits,
                        _ => None,
                    },
                    ..PeerLimits::default()
                },
                total: self.made(tag, Phase::Total, (0, end), bytes, measure),
                evidence: None,
                round_trips: Vec::new(),
            });
        let flows = flows.collect();
        self.events.push(Event::PeerResults(Box::new(PeerResults {
            program: Some(PeerProgram {
                program: "tapeline".to_owned(),
                version: "0.1.0".to_owned(),
                system: "Linux".to_owned(),
            }),
            seconds: Some(5.0),
            cpu: Some(CpuUse {
                total: 9.0,
                ..CpuUse::default()
            }),
            flows,
            host: HostDrops::default(),
            ..PeerResults::default()
        })));
        self
    }

    /// Medians of round trips, microseconds, their difference and its grade.
    fn latency(&mut self, idle: i64, loaded: &[(i64, u64)], grade: BufferbloatGrade) -> &mut Self {
        let counts = |points: &[(i64, u64)]| -> DelayCounts {
            let points = points.iter();
            points
                .map(|(micros, count)| (micros * 1000, *count))
                .collect()
        };
        let series = |round_trips: DelayCounts| ProbeSeries {
            sent: round_trips.count(),
            round_trips,
        };
        let median = counts(loaded).percentile(50.0).expect("a median");
        let latency = LoadedLatency {
            idle: series(counts(&[(idle, 100)])),
            loaded: series(counts(loaded)),
            load: Duration::from_secs(5),
            increase: Some((median - idle * 1000) as f64 * 1e-9),
            grade: Some(grade),
            ..LoadedLatency::default()
        };
        self.events.push(Event::LoadedLatency(Box::new(latency)));
        self
    }

    fn verdict(&mut self, verdict: LimitVerdict) -> &mut Self {
        self.events.push(Event::LimitVerdict(Box::new(verdict)));
        self
    }

    fn network(&mut self, share: f64, certainty: Certainty) -> &mut Self {
        let sends = self.direction != TestDirection::Reverse;
        let finding = Finding::CongestionWindow(share);
        self.verdict(finding_verdict(
            sends,
            LimitedBy::Network,
            certainty,
            finding,
        ))
    }

    fn printed(&self, style: Style, width: usize) -> Output {
        let terminal = Terminal {
            width,
            ..Terminal::default()
        };
        let style = Style { utc: true, ..style };
        let requested = RequestedTest {
            direction: self.direction,
            limit: TestLimit::Time(Duration::from_secs(self.seconds)),
        };
        let mut renderer = NativeText::new(style, terminal).requested(requested);
        let mut out = Output::default();
        for event in &self.events {
            renderer.render(event, &mut out);
        }
        renderer.finish(&mut out);
        out
    }

    fn shown(&self, style: Style, width: usize) -> String {
        let out = self.printed(style, width);
        assert_eq!(out.stderr, "");
        assert!(out.stdout.is_ascii(), "{}", out.stdout);
        out.stdout
    }

    /// Compares with a file; no line is longer than the terminal is wide.
    fn looks_like(&self, file: &str, style: Style, width: usize) {
        let shown = self.shown(style, width);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/native");
        let path = folder.join(file);
        if std::env::var_os("TAPELINE_GOLDEN").is_some() {
            std::fs::write(&path, &shown).expect("a golden file");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shown, expected, "{file}\n{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= width, "{file}: {line}");
        }
    }
}

/// Rate in Mbit/s, retransmissions, KiB of the congestion window, round trip in us of five seconds.
const SECONDS: [(f64, u64, u32, u32); 5] = [
    (936.0, 0, 3570, 31_200),
    (942.0, 12, 5620, 48_900),
    (941.0, 9, 5300, 46_100),
    (942.0, 11, 5520, 48_000),
    (941.0, 9, 5440, 47_400),
];

fn tcp_intervals(scene: &mut Scene) {
    for (second, (rate, retransmits, window, rtt)) in (0..).zip(SECONDS) {
        if second == 0 {
            scene.events.push(Event::PeerProgress(PeerProgress {
                elapsed: Duration::from_secs(1),
                bytes: bytes(932.0, 1000),
                flows: 1,
                ..PeerProgress::default()
            }));
        }
        let measure = tcp_send(retransmits, Some(state(window, rtt, 4810, 2460)));
        let span = (second * 1000, (second + 1) * 1000);
        scene.interval(tag(1, false), span, bytes(rate, 1000), measure);
    }
}

fn tcp_client() -> Scene {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Forward);
    scene.begin(2100, Some("0.1.0"));
    tcp_intervals(&mut scene);
    let all = bytes(940.4, 5000);
    scene.total(tag(1, false), 5000, all, tcp_send(41, None));
    scene
        .latency(2100, &[(47_300, 250)], BufferbloatGrade::B)
        .results(vec![(tag(1, false), 5010, all, tcp_receive())])
        .network(0.98, Certainty::High);
    scene
}

#[test]
fn a_tcp_client() {
    let scene = tcp_client();
    scene.looks_like("tcp.txt", Style::default(), 80);
    let enhanced = Style {
        enhanced: true,
        ..Style::default()
    };
    scene.looks_like("tcp-wide-enhanced.txt", enhanced, 100);
}

#[test]
fn the_result_alone() {
    let amount = |amount| Style {
        amount,
        ..Style::default()
    };
    tcp_client().looks_like("tcp-quiet.txt", amount(Amount::Quiet), 80);
    let brief = tcp_client().shown(amount(Amount::Brief), 80);
    assert_eq!(
        brief,
        "tapeline host=192.0.2.7 proto=tcp dir=to-server mbps=938.5 bytes=587750000 seconds=5.01 \
         lost_pct=- retrans=41 rtt_idle_ms=2.10 rtt_load_ms=47.3 limited_by=network \
         confidence=high trust=good\n"
    );
}

fn udp_client() -> Scene {
    let mut scene = Scene::new(Transport::Udp, TestDirection::Forward);
    scene.at = 42;
    scene.begin(0, Some("0.1.0"));
    let tag = tag(1, false);
    for second in 0..5 {
        let writes = if second == 4 { 8505 } else { 8503 };
        let span = (second * 1000, (second + 1) * 1000);
        scene.interval(tag, span, writes * 1470, udp_send(writes));
    }
    scene.total(tag, 5000, 42_517 * 1470, udp_send(42_517));
    scene.events.push(Event::SendTiming(SendTiming {
        tag,
        group: 1,
        gaps: Some(GapErrors {
            gap: Duration::from_nanos(117_600),
            p50: Duration::from_nanos(20),
            p99: Duration::from_nanos(900),
            max: Duration::from_micros(40),
            back_to_back: 0.0,
            late: 0,
        }),
    }));
    scene.events.push(Event::Processor(ProcessorUse {
        phase: Phase::Total,
        span: Duration::from_secs(5),
        cpu: CpuUse {
            total: 12.0,
            ..CpuUse::default()
        },
    }));
    let clocks = ClockEstimate {
        offset: 0.000_02,
        bound: 0.000_05,
        certain: 0.000_08,
        skew: 3.7e-6,
        round_trip: 0.002_09,
        exchanges: 64,
    };
    scene.events.push(Event::Clocks(clocks));
    let trips = [(2160, 150), (2310, 80), (2770, 18), (2900, 2)];
    let received = udp_receive(42_517, 83, 0.000_042);
    scene
        .latency(2100, &trips, BufferbloatGrade::APlus)
        .results(vec![(tag, 5000, 42_434 * 1470, received)]);
    let counts: DelayCounts = [
        (1_060_000, 30_000),
        (1_210_000, 10_000),
        (1_420_000, 2300),
        (3_110_000, 134),
    ]
    .into_iter()
    .collect();
    scene.events.push(Event::OneWayDelay(OneWayDelay {
        tag,
        samples: counts.count(),
        min: 0.001_01,
        mean: 0.001_1,
        max: 0.003_11,
        deviation: 0.000_1,
        counts,
        clock: DelayClock::Estimated(clocks),
        bound_single: Some(0.000_06),
    }));
    let reached = Finding::RateReached(RateTarget {
        asked: 100e6,
        reached: 99.99e6,
    });
    scene.verdict(LimitVerdict {
        receiver: ReceiverEvidence {
            expected: Some(42_517),
            lost: Some(83),
            socket_drops: Some(0),
            backlog_drops: Some(0),
            ..ReceiverEvidence::default()
        },
        ..finding_verdict(true, LimitedBy::RequestedRate, Certainty::High, reached)
    });
    scene
}

#[test]
fn a_udp_client() {
    udp_client().looks_like("udp.txt", Style::default(), 80);
    let enhanced = Style {
        enhanced: true,
        ..Style::default()
    };
    udp_client().looks_like("udp-enhanced.txt", enhanced, 80);
}

#[test]
fn a_reverse_test() {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Reverse);
    scene.at = 131;
    scene.begin(2110, Some("0.1.0"));
    let tag = tag(1, true);
    for (second, rate) in (0..).zip([929.0, 942.0, 941.0, 942.0, 942.0]) {
        let span = (second * 1000, (second + 1) * 1000);
        scene.interval(tag, span, bytes(rate, 1000), tcp_receive());
    }
    let all = bytes(939.2, 5000);
    scene.total(tag, 5000, all, tcp_receive());
    scene
        .latency(2110, &[(47_300, 250)], BufferbloatGrade::B)
        .results(vec![(tag, 5000, all, tcp_send(37, None))])
        .network(0.98, Certainty::High);
    scene.looks_like("tcp-reverse.txt", Style::default(), 80);
}

#[test]
fn both_directions_stand_beside_each_other() {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Bidirectional);
    scene.begin(2100, Some("0.1.0"));
    let (there, back) = (tag(1, false), tag(1, true));
    for (second, (up, down, again)) in (0..).zip([
        (910.0, 915.0, 0),
        (916.0, 922.0, 3),
        (917.0, 923.0, 2),
        (915.0, 921.0, 3),
        (917.0, 924.0, 1),
    ]) {
        let span = (second * 1000, (second + 1) * 1000);
        let sent = tcp_send(again, Some(state(900, 6310, 100, 90)));
        scene.interval(there, span, bytes(up, 1000), sent);
        scene.interval(back, span, bytes(down, 1000), tcp_receive());
    }
    let (up, down) = (bytes(915.0, 5000), bytes(921.0, 5000));
    scene.total(there, 5000, up, tcp_send(9, None));
    scene.total(back, 5000, down, tcp_receive());
    scene.latency(2100, &[(7020, 250)], BufferbloatGrade::APlus);
    scene.results(vec![
        (there, 5000, up, tcp_receive()),
        (back, 5000, down, tcp_send(14, None)),
    ]);
    for (sends, share) in [(true, 0.97), (false, 0.96)] {
        let finding = Finding::CongestionWindow(share);
        let network = LimitedBy::Network;
        scene.verdict(finding_verdict(sends, network, Certainty::High, finding));
    }
    scene.looks_like("tcp-full-duplex.txt", Style::default(), 80);
}

/// Rates of single streams over five seconds in Mbit/s, with their retransmissions.
fn parallel(rates: &[(f64, u64)]) -> Scene {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Forward);
    scene.at = 170;
    scene.streams = rates.len() as u32;
    scene.begin(2100, Some("0.1.0"));
    let numbered = || (1..).zip(rates);
    for second in 0..5 {
        for (id, (rate, again)) in numbered() {
            let share = if second == 0 { 0.997 } else { 1.000_75 };
            let again = if second == 0 { 0 } else { again / 4 };
            let span = (second * 1000, (second + 1) * 1000);
            let measure = tcp_send(again, Some(state(1400, 47_000, 900, 900)));
            scene.interval(tag(id, false), span, bytes(rate * share, 1000), measure);
        }
    }
    for (id, (rate, again)) in numbered() {
        scene.total(
            tag(id, false),
            5000,
            bytes(*rate, 5000),
            tcp_send(*again, None),
        );
    }
    let received = numbered().map(|(id, (rate, _))| {
        let all = bytes(*rate, 5000);
        (tag(id, false), 5010, all, tcp_receive())
    });
    let received = received.collect();
    scene
        .latency(2100, &[(47_300, 250)], BufferbloatGrade::B)
        .results(received)
        .network(0.98, Certainty::High);
    scene
}

#[test]
fn several_streams_have_sums_and_a_spread() {
    let four = parallel(&[(242.0, 13), (236.0, 11), (232.0, 9), (231.0, 12)]);
    four.looks_like("tcp-4-streams.txt", Style::default(), 80);
}

#[test]
fn many_streams_are_summed_up() {
    let mut rates: Vec<(f64, u64)> = (0..100)
        .map(|place| match place {
            0..50 => 6.12 + f64::from(place) * (9.38 - 6.12) / 50.0,
            _ => 9.38 + f64::from(place - 50) * (13.1 - 9.38) / 49.0,
        })
        .map(|rate| (rate, 1))
        .collect();
    // The slowest is stream 83, the fastest is stream 7.
    rates.swap(0, 82);
    rates.swap(99, 6);
    let hundred = parallel(&rates);
    hundred.looks_like("tcp-100-streams.txt", Style::default(), 80);
    let wide = hundred.shown(Style::default(), 100);
    let line = "Streams      100: fastest 13.1 Mbit/s (7), median 9.38, slowest 6.12 (83), fairness 0.96\n";
    assert!(wide.contains(line), "{wide}");
}

#[test]
fn streams_that_failed_are_named() {
    let mut scene = parallel(&[(242.0, 13), (236.0, 11), (232.0, 9), (231.0, 12)]);
    for id in [2, 4] {
        let failed = Notice::TrafficFailed {
            tag: tag(id, false),
            operation: tapeline_report::TrafficOperation::Write,
            transport: Transport::Tcp,
            reason: "connection reset".to_owned(),
        };
        scene.events.push(Event::Notice(failed));
    }
    let shown = scene.printed(Style::default(), 80).stdout;
    let line = "Streams      2 of 4 failed: 2, 4 (connection reset)\n";
    assert!(shown.contains(line), "{shown}");
    assert!(
        shown.ends_with("Trust        partial: 2 of 4 streams failed\n"),
        "{shown}"
    );
}

#[test]
fn an_interrupted_test() {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Forward);
    scene.seconds = 10;
    scene.begin(2100, Some("0.1.0"));
    let tag = tag(1, false);
    let rows: [(u64, u64, f64, u64, u32, u32); 3] = [
        (0, 1000, 936.0, 0, 3570, 31_200),
        (1000, 2000, 941.0, 12, 5620, 48_900),
        (2000, 2400, 941.0, 8, 5460, 47_500),
    ];
    for (start, end, rate, again, window, rtt) in rows {
        let measure = tcp_send(again, Some(state(window, rtt, 4810, 2460)));
        scene.interval(tag, (start, end), bytes(rate, end - start), measure);
    }
    let all = bytes(939.0, 2400);
    scene.total(tag, 2400, all, tcp_send(20, None));
    scene.events.push(Event::Notice(Notice::Interrupted));
    scene
        .results(vec![(tag, 2410, all, tcp_receive())])
        .network(0.98, Certainty::High);
    scene.looks_like("tcp-interrupted.txt", Style::default(), 80);
}

#[test]
fn a_server_of_iperf_2() {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Forward);
    (scene.peer, scene.at) = ("192.0.2.8", 587);
    scene.begin(2100, None);
    tcp_intervals(&mut scene);
    scene.total(tag(1, false), 5010, bytes(939.0, 5010), tcp_send(41, None));
    scene.network(0.98, Certainty::Medium);
    scene.looks_like("tcp-iperf2.txt", Style::default(), 80);
}

/// A test of an iperf3 server whose client has counted its 5 s.
fn towards_iperf3() -> (Scene, FlowTag) {
    let mut scene = Scene::new(Transport::Udp, TestDirection::Forward);
    (scene.peer, scene.port, scene.at) = ("192.0.2.9", 5201, 680);
    let tag = tag(1, false);
    scene.events.push(Event::ControlConnected(ControlConnected {
        test: 1,
        peer: ControlPeer::ConnectingTo {
            host: scene.peer.to_owned(),
            port: scene.port,
        },
        at: START + Duration::from_secs(scene.at),
        cookie: String::new(),
        segment_size: None,
        request: Some(TestRequest {
            transport: TestTransport::Udp,
            direction: TestDirection::Forward,
            target_rate: 100_000_000,
            pacing_rate: 0,
            segment_size: None,
        }),
    }));
    let line = scene.line(tag);
    scene.events.push(Event::Connected(line));
    scene.events.push(Event::TestStart(Box::new(TestStart {
        test: 1,
        flows: vec![(tag, true)],
        role: Role::Client,
        transport: TestTransport::Udp,
        direction: TestDirection::Forward,
        streams: 1,
        block_length: 1448,
        limit: TestLimit::Time(Duration::from_secs(5)),
        omit: Duration::ZERO,
        interval: Some(Duration::from_secs(1)),
        tos: 0,
        target_rate: 100_000_000,
        pacing_rate: 0,
        segment_size: None,
        window: 0,
        buffers: (212_992, 212_992),
        send_offload: false,
        receive_offload: false,
        title: None,
        extra_data: None,
        file: None,
    })));
    for second in 0..5 {
        let writes = if second == 4 { 8631 } else { 8633 };
        let span = (second * 1000, (second + 1) * 1000);
        scene.interval(tag, span, writes * 1448, udp_send(writes));
    }
    scene.total(tag, 5000, 43_163 * 1448, udp_send(43_163));
    (scene, tag)
}

fn end_of_iperf3(peer_totals: Vec<Row>, failure: Option<TestFailure>) -> Event {
    Event::TestEnd(Box::new(TestEnd {
        test: 1,
        cpu: CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals,
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure,
    }))
}

#[test]
fn a_server_of_iperf3() {
    let (mut scene, tag) = towards_iperf3();
    let received = udp_receive(43_163, 84, 0.000_040);
    let peer = scene.made(tag, Phase::Total, (0, 5000), 43_079 * 1448, received);
    scene.events.push(end_of_iperf3(vec![peer], None));
    let reached = Finding::RateReached(RateTarget {
        asked: 100e6,
        reached: 99.99e6,
    });
    scene.verdict(LimitVerdict {
        receiver: ReceiverEvidence {
            expected: Some(43_163),
            lost: Some(84),
            ..ReceiverEvidence::default()
        },
        ..finding_verdict(true, LimitedBy::RequestedRate, Certainty::High, reached)
    });
    scene.looks_like("udp-iperf3.txt", Style::default(), 80);
}

#[test]
fn what_was_counted_is_printed_when_a_server_of_iperf3_is_lost() {
    let (mut scene, tag) = towards_iperf3();
    let reason = "network is unreachable".to_owned();
    scene.events.push(Event::Notice(Notice::TrafficFailed {
        tag,
        operation: tapeline_report::TrafficOperation::Write,
        transport: Transport::Udp,
        reason,
    }));
    let failure = TestFailure {
        code: 110,
        text: "no answer from the server".to_owned(),
        by_peer: false,
        interrupted: false,
    };
    scene.events.push(end_of_iperf3(Vec::new(), Some(failure)));
    let shown = scene.printed(Style::default(), 80).stdout;
    let starts = |word: &str| shown.lines().any(|line| line.starts_with(word));
    assert!(shown.contains("sent\n"), "{shown}");
    assert!(
        starts("Throughput ") && starts("Trust        poor"),
        "{shown}"
    );
}

#[test]
fn a_cpu_that_is_the_limit_is_named_by_its_strongest_finding() {
    let mut scene = Scene::new(Transport::Tcp, TestDirection::Forward);
    scene.begin(2100, Some("0.1.0"));
    let all = bytes(939.0, 5000);
    scene.total(tag(1, false), 5000, all, tcp_send(0, None));
    let evidence = SenderEvidence {
        micros: 5_000_000,
        writes: Some(1000),
        host: HostEvidence {
            busy: Some(0.16),
            waiting: Some(0.62),
            ..HostEvidence::default()
        },
        rate: Some(RateTarget {
            asked: 2e9,
            reached: 939e6,
        }),
        datagrams: Some(1000),
        ..SenderEvidence::default()
    };
    let receiver = ReceiverEvidence::default();
    scene.verdict(LimitVerdict {
        verdict: judge_datagrams(&evidence, &receiver),
        ..finding_verdict(
            true,
            LimitedBy::SenderCpu,
            Certainty::Medium,
            Finding::Idle(0.5),
        )
    });
    let shown = scene.shown(Style::default(), 80);
    let line = "Limited by   sender's CPU (medium confidence): CPU not available 62 %\n";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn the_only_stream_that_fails_has_no_number() {
    let mut scene = tcp_client();
    let failed = Notice::TrafficFailed {
        tag: tag(1, false),
        operation: tapeline_report::TrafficOperation::Write,
        transport: Transport::Tcp,
        reason: "connection reset".to_owned(),
    };
    scene.events.push(Event::Notice(failed));
    let out = scene.printed(Style::default(), 80);
    assert!(!out.stdout.contains("\nStreams "), "{}", out.stdout);
    let trust = "Trust        partial: the stream failed before its end\n";
    assert!(out.stdout.ends_with(trust), "{}", out.stdout);
}
