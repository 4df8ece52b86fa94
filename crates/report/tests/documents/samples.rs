//! Tests of every kind, told as events.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{BitRate, FlowId, FlowTag, Placement, Role, Transport, WallTime};
use tapeline_report::document::{PlannedLimit, PlannedTest, RunInfo, TestShape, Workload};
use tapeline_report::{
    ClientBanner, ClockEstimate, ConnectTimes, Connected, CpuUse, DelayClock, Endpoints, Event,
    IntervalPattern, LimitVerdict, LoadedLatency, LossPattern, Measure, Notice, OneWayDelay,
    OneWayTimes, Outage, PeerFlow, PeerLimits, PeerProgram, PeerProgress, PeerResults, Phase,
    ProbeDelays, ProbeSeries, ProcessorUse, RequestResponse, Row, Span, Style, Subject, TcpReceive,
    TcpSend, TcpState, TestDirection, TestEnd, TestLimit, TestStart, TestTransport, UdpReceive,
    UdpSend,
};
use tapeline_stats::{
    BufferbloatGrade, Certainty, Finding, HostEvidence, LimitedBy, Moments, ReceiverEvidence,
    SenderEvidence, Verdict,
};

/// A test under a name.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) run_info: RunInfo,
    pub(crate) events: Vec<Event>,
}

/// 2026-11-20 23:05:56 UTC.
const START: WallTime = WallTime::from_nanos(1_795_215_956_108_000_000);

pub(crate) fn all() -> Vec<Sample> {
    vec![
        tcp_client(),
        old_udp_server(),
        two_tapelines(),
        udp_server(),
        bounceback(),
        connects(),
        refused(),
        iperf3_interrupted(),
    ]
}

fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn client(line: &str, transport: &'static str, streams: usize) -> RunInfo {
    RunInfo {
        version: "0.1.0".to_owned(),
        command: format!("tapeline -c server.example {line}"),
        role: Role::Client,
        planned: Some(PlannedTest {
            host: "server.example".to_owned(),
            transport,
            direction: TestShape::Forward,
            workload: Workload::Stream,
            limit: PlannedLimit::Time(Duration::from_secs(2)),
            omit: Duration::ZERO,
            streams,
            interval: Some(Duration::from_secs(1)),
        }),
        style: Style::default(),
    }
}

fn server() -> RunInfo {
    RunInfo {
        command: "tapeline -s --json".to_owned(),
        role: Role::Server,
        planned: None,
        ..client("", "tcp", 1)
    }
}

fn banner(transport: Transport) -> Event {
    Event::Connecting(ClientBanner {
        write_length: if transport == Transport::Tcp {
            1 << 20
        } else {
            1470
        },
        rate: (transport == Transport::Udp).then_some(10_000_000),
        ..ClientBanner::new("server.example", 5001, transport)
    })
}

fn connected(id: u32) -> Event {
    Event::Connected(Connected {
        congestion: Some("bbr".to_owned()),
        connect_time: Some(Duration::from_micros(110)),
        at: Some(START),
        ..Connected::new(
            tag(id),
            Transport::Tcp,
            address("192.0.2.1:46976"),
            address("192.0.2.2:5001"),
        )
    })
}

fn row(id: u32, phase: Phase, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Row {
    Row {
        subject: Subject::Flow(tag(id)),
        phase,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: START + Duration::from_millis(end),
        bytes,
        endpoints: Some(Endpoints {
            local: address("192.0.2.1:46976"),
            peer: address("192.0.2.2:5001"),
            local_sends: true,
        }),
        trip_times: false,
        placement: Placement::default(),
        measure,
    }
}

fn interval(id: u32, second: u64, bytes: u64, measure: Measure) -> Event {
    let span = (second * 1000, (second + 1) * 1000);
    Event::Row(row(id, Phase::Interval, span, bytes, measure))
}

fn total(id: u32, bytes: u64, measure: Measure) -> Event {
    Event::Row(row(id, Phase::Total, (0, 2000), bytes, measure))
}

fn tcp_send(rtt: u32, retransmits: u64) -> Measure {
    Measure::TcpSend(TcpSend {
        writes: 100,
        retransmits: Some(retransmits),
        state: Some(TcpState {
            in_flight_packets: Some(97),
            cwnd_packets: Some(1740),
            mss: Some(1448),
            rtt_micros: Some(rtt),
            rtt_variance_micros: Some(21),
            ssthresh_packets: Some(1500),
            delivery: Some(BitRate(9_400_000_000)),
            ..TcpState::default()
        }),
        ..TcpSend::default()
    })
}

fn processor(phase: Phase) -> Event {
    Event::Processor(ProcessorUse {
        phase,
        span: Duration::from_secs(2),
        cpu: CpuUse {
            total: 25.0,
            user: 5.0,
            system: 20.0,
        },
    })
}

fn udp_send(writes: u64) -> Measure {
    Measure::UdpSend(UdpSend {
        writes,
        ..UdpSend::default()
    })
}

fn udp_receive(total: u64, lost: u64) -> UdpReceive {
    UdpReceive {
        received: total - lost,
        total,
        lost,
        reordered: 2,
        duplicates: 1,
        out_of_order: 3,
        pattern: Some(LossPattern {
            longest_extent: 4,
            runs: 5,
            longest_run: 9,
            outage: Some(Outage {
                start: Duration::from_millis(1250),
                length: Duration::from_micros(5_300),
            }),
        }),
        jitter: Some(4.2e-6),
        jitter_mean: Some(5.1e-6),
        ..UdpReceive::default()
    }
}

fn limit_verdict(limited_by: LimitedBy, findings: &[Finding], receiver: ReceiverEvidence) -> Event {
    Event::LimitVerdict(Box::new(LimitVerdict {
        flows: vec![tag(1)],
        transport: Transport::Tcp,
        local_sends: true,
        sender: SenderEvidence::default(),
        receiver,
        verdict: Verdict {
            limited_by: Some(limited_by),
            certainty: Certainty::Medium,
            findings: findings.to_vec(),
        },
    }))
}

fn tcp_client() -> Sample {
    let mut events = vec![banner(Transport::Tcp), connected(1), connected(2)];
    for second in 0..2 {
        events.push(interval(
            1,
            second,
            118_000_000 + second,
            tcp_send(422, second),
        ));
        events.push(interval(2, second, 117_000_000, tcp_send(431, 0)));
    }
    events.push(total(1, 236_000_001, tcp_send(422, 1)));
    events.push(total(2, 234_000_000, tcp_send(431, 0)));
    let findings = [Finding::CongestionWindow(0.97), Finding::Retransmissions(1)];
    let receiver = ReceiverEvidence::default();
    events.push(limit_verdict(LimitedBy::Network, &findings, receiver));
    events.push(Event::Idle);
    Sample {
        name: "tcp-client",
        run_info: client("-P 2 -t 2 --json", "tcp", 2),
        events,
    }
}

fn old_udp_server() -> Sample {
    let report = UdpReceive {
        reordered: 0,
        duplicates: 0,
        jitter: Some(5e-6),
        jitter_mean: Some(5e-6),
        ..udp_receive(1701, 17)
    };
    Sample {
        name: "udp-old-server",
        run_info: client("-u -b 10m -t 2 --json", "udp", 1),
        events: vec![
            banner(Transport::Udp),
            connected(1),
            interval(1, 0, 1_250_970, udp_send(851)),
            interval(1, 1, 1_249_500, udp_send(850)),
            total(1, 2_500_470, udp_send(1701)),
            Event::ServerReport {
                row: row(
                    1,
                    Phase::Total,
                    (0, 2000),
                    2_475_480,
                    Measure::UdpReceive(report),
                ),
                enhanced: false,
            },
            Event::Idle,
        ],
    }
}

/// Round trips from `least` nanoseconds on, a hundredth longer each.
fn probes(count: i64, least: i64) -> ProbeSeries {
    ProbeSeries {
        sent: count.unsigned_abs() + 1,
        round_trips: (0..count).map(|one| least + one * least / 100).collect(),
    }
}

fn two_tapelines() -> Sample {
    let total_there = Row {
        trip_times: true,
        ..row(
            1,
            Phase::Total,
            (0, 2000),
            2_475_480,
            Measure::UdpReceive(udp_receive(1701, 17)),
        )
    };
    let estimate = ClockEstimate {
        offset: 0.0123,
        bound: 4e-5,
        certain: 0.002,
        skew: 1e-6,
        round_trip: 0.004,
        exchanges: 40,
    };
    let delay = OneWayDelay {
        tag: tag(1),
        samples: 1684,
        min: 0.0021,
        mean: 0.0023,
        max: 0.0041,
        deviation: 0.0002,
        // From 2.1 ms on, most of them early.
        counts: (0..1684_i64)
            .map(|number| 2_100_000 + number * number * 2_000_000 / (1683 * 1683))
            .collect(),
        clock: DelayClock::Estimated(estimate),
        bound_single: Some(6e-5),
    };
    let receiver = ReceiverEvidence {
        host: HostEvidence {
            busy: Some(0.12),
            ..HostEvidence::default()
        },
        lost: Some(17),
        socket_drops: Some(5),
        backlog_drops: Some(0),
        ..ReceiverEvidence::default()
    };
    let findings = [Finding::LostInNetwork(12)];
    let program = PeerProgram {
        program: "tapeline".to_owned(),
        version: "0.1.0".to_owned(),
        system: "Linux".to_owned(),
    };
    Sample {
        name: "udp-tapeline",
        run_info: client("-u -b 10m -t 2 --json", "udp", 1),
        events: vec![
            banner(Transport::Udp),
            connected(1),
            Event::PeerFound {
                program: program.clone(),
                flows: Vec::new(),
            },
            Event::PeerProgress(PeerProgress {
                elapsed: Duration::from_millis(500),
                bytes: 600_000,
                datagrams: 408,
                flows: 1,
                cpu_percent: Some(12.5),
            }),
            processor(Phase::Interval),
            Event::Probes(ProbeDelays {
                round_trips: [0.049, 0.051, 0.056].into_iter().collect(),
            }),
            interval(1, 0, 1_250_970, udp_send(851)),
            processor(Phase::Interval),
            interval(1, 1, 1_249_500, udp_send(850)),
            total(1, 2_500_470, udp_send(1701)),
            processor(Phase::Total),
            Event::PeerResults(Box::new(PeerResults {
                seconds: Some(2.0),
                program: Some(program),
                cpu: Some(CpuUse {
                    total: 12.25,
                    user: 2.25,
                    system: 10.0,
                }),
                flows: vec![PeerFlow {
                    total: total_there,
                    limits: PeerLimits::default(),
                    evidence: None,
                    round_trips: Vec::new(),
                }],
                ..PeerResults::default()
            })),
            Event::OneWayDelay(delay),
            Event::LoadedLatency(Box::new(LoadedLatency {
                idle: probes(24, 4_000_000),
                loaded: probes(90, 51_000_000),
                load: Duration::from_secs(6),
                increase: Some(0.047),
                increase_there: Some(0.0469),
                increase_back: Some(0.0001),
                grade: Some(BufferbloatGrade::B),
            })),
            limit_verdict(LimitedBy::Network, &findings, receiver),
            Event::Idle,
        ],
    }
}

fn udp_server() -> Sample {
    let mut events = Vec::new();
    for (id, peer) in [(1, "192.0.2.7:1000"), (2, "192.0.2.8:1000")] {
        events.push(Event::Connected(Connected {
            at: Some(START),
            ..Connected::new(
                tag(id),
                Transport::Tcp,
                address("192.0.2.2:5001"),
                address(peer),
            )
        }));
        let part = UdpReceive {
            pattern: None,
            interval_pattern: Some(IntervalPattern {
                longest_extent: 4,
                runs: 3,
            }),
            ..udp_receive(851, 9)
        };
        events.push(interval(id, 0, 1_237_740, Measure::UdpReceive(part)));
        let measure = Measure::UdpReceive(udp_receive(1701, 17));
        events.push(total(id, 2_475_480, measure));
        events.push(Event::Notice(Notice::ReceiveBufferDrops {
            tag: Some(tag(id)),
            datagrams: 5,
        }));
    }
    events.push(Event::TestOver(vec![tag(1), tag(2)]));
    events.push(Event::Idle);
    Sample {
        name: "udp-server",
        run_info: server(),
        events,
    }
}

fn bounceback() -> Sample {
    let series = |mean: f64| Moments {
        count: 20,
        mean,
        m2: 1e-7,
        min: mean / 2.0,
        max: mean * 2.0,
    };
    let exchange = RequestResponse {
        round_trips: series(55e-6),
        percentiles: [Some(42e-6), Some(90e-6), None, None, None],
        sent: 2000,
        received: 2000,
        retransmits: Some(0),
        one_way: Some(OneWayTimes {
            transmit: series(25e-6),
            receive: series(30e-6),
            asymmetry: series(5e-6),
            clock_errors: 0,
        }),
        ..RequestResponse::default()
    };
    let mut run_info = client("--bounceback --trip-times -t 2 --json", "tcp", 1);
    if let Some(planned) = &mut run_info.planned {
        planned.direction = TestShape::Bidirectional;
        planned.workload = Workload::RequestResponse;
    }
    let measure = Measure::RequestResponse(exchange);
    Sample {
        name: "bounceback",
        run_info,
        events: vec![
            banner(Transport::Tcp),
            connected(1),
            interval(1, 0, 2000, measure.clone()),
            total(1, 4000, measure),
            Event::Idle,
        ],
    }
}

fn connects() -> Sample {
    let mut run_info = client("--connect-only=2 --json", "tcp", 1);
    if let Some(planned) = &mut run_info.planned {
        planned.workload = Workload::ConnectOnly;
        planned.limit = PlannedLimit::Never;
        planned.interval = None;
    }
    let times: Moments = [0.000_11, 0.000_13].into_iter().collect();
    Sample {
        name: "connects",
        run_info,
        events: vec![
            banner(Transport::Tcp),
            connected(1),
            Event::ConnectTimes(ConnectTimes { times, errors: 1 }),
        ],
    }
}

fn refused() -> Sample {
    Sample {
        name: "refused",
        run_info: client("--json", "tcp", 1),
        events: vec![
            banner(Transport::Tcp),
            Event::Notice(Notice::ConnectFailed {
                tag: tag(1),
                peer: address("192.0.2.2:5001"),
                reason: "Connection refused".to_owned(),
                after: Duration::ZERO,
                at: START,
                retrying: false,
            }),
        ],
    }
}

fn iperf3_interrupted() -> Sample {
    let cpu = |total| CpuUse {
        total,
        user: 1.0,
        system: total - 1.0,
    };
    let received = row(
        1,
        Phase::Total,
        (0, 1000),
        117_000_000,
        Measure::TcpReceive(TcpReceive::default()),
    );
    Sample {
        name: "iperf3-interrupted",
        run_info: client("--peer iperf3 -t 2 --json", "tcp", 1),
        events: vec![
            connected(1),
            Event::TestStart(Box::new(TestStart {
                test: 1,
                flows: vec![(tag(1), true)],
                role: Role::Client,
                transport: TestTransport::Tcp,
                direction: TestDirection::Forward,
                streams: 1,
                block_length: 131_072,
                limit: TestLimit::Time(Duration::from_secs(2)),
                omit: Duration::ZERO,
                interval: Some(Duration::from_secs(1)),
                tos: 0,
                target_rate: 0,
                pacing_rate: 0,
                segment_size: None,
                window: 0,
                buffers: (16_384, 131_072),
                send_offload: false,
                receive_offload: false,
                title: None,
                extra_data: None,
                file: None,
            })),
            interval(1, 0, 118_000_000, tcp_send(422, 0)),
            Event::Row(row(
                1,
                Phase::Total,
                (0, 1000),
                118_000_000,
                tcp_send(422, 0),
            )),
            Event::Notice(Notice::Interrupted),
            Event::TestEnd(Box::new(TestEnd {
                test: 1,
                cpu: cpu(31.5),
                peer_cpu: Some(cpu(44.25)),
                sender_congestion: Some("bbr".to_owned()),
                receiver_congestion: Some("cubic".to_owned()),
                peer_totals: vec![received],
                lost_behind: Vec::new(),
                peer_output: None,
                peer_tapeline: None,
                failure: None,
            })),
        ],
    }
}
