//! The report of `tapeline try`.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{Transport, WallTime};
use tapeline_report::{
    CpuUse, Endpoints, Event, LimitVerdict, LoadedLatency, Measure, Notice, PeerFlow, PeerLimits,
    PeerProgram, PeerResults, ProbeSeries, RequestResponse, Row, Subject, TcpReceive, TcpSend,
    Terminal, TrafficOperation, TrialPart, TrialReport, TrialResult, UdpReceive, UdpSend,
};
use tapeline_stats::{
    BufferbloatGrade, Certainty, LimitedBy, Moments, ReceiverEvidence, SenderEvidence, Verdict,
};

use crate::scenario::{row, tag, total};

const UDP: TrialPart = TrialPart::Udp { rate: 10_000_000 };

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn whole(seconds: u64, bytes: u64, measure: Measure) -> Row {
    let mut row = total(row(
        Subject::Flow(tag(1)),
        (0, seconds * 1000),
        bytes,
        measure,
    ));
    row.endpoints = row.endpoints.map(|ends| Endpoints {
        local: address("192.0.2.1:46976"),
        peer: address("192.0.2.7:5001"),
        ..ends
    });
    row
}

fn result(part: TrialPart, events: &[Event]) -> TrialResult {
    let mut result = TrialResult::new(part, Duration::from_secs(5));
    events.iter().for_each(|event| result.observe(event));
    result
}

fn latency() -> TrialResult {
    let trips = Moments {
        count: 1412,
        mean: 0.002_12,
        m2: 1e-5,
        min: 0.002_01,
        max: 0.003_3,
    };
    let requests = Measure::RequestResponse(RequestResponse {
        round_trips: trips,
        percentiles: [Some(0.002_1), Some(0.002_3), None, Some(0.002_87), None],
        ..RequestResponse::default()
    });
    let saturated = Notice::CpuSaturated {
        tag: tag(1),
        share: 0.93,
    };
    let events = [
        Event::Notice(saturated),
        Event::Row(whole(3, 282_400, requests)),
    ];
    result(TrialPart::Latency, &events)
}

fn judged(limited_by: LimitedBy, local_sends: bool) -> Event {
    Event::LimitVerdict(Box::new(LimitVerdict {
        flows: vec![tag(1)],
        transport: Transport::Tcp,
        local_sends,
        sender: SenderEvidence::default(),
        receiver: ReceiverEvidence::default(),
        verdict: Verdict {
            limited_by: Some(limited_by),
            certainty: Certainty::High,
            findings: Vec::new(),
        },
    }))
}

fn results(row: Row) -> Event {
    Event::PeerResults(Box::new(PeerResults {
        program: Some(PeerProgram::default()),
        cpu: Some(CpuUse::default()),
        flows: vec![PeerFlow {
            total: row,
            limits: PeerLimits::default(),
            evidence: None,
            round_trips: Vec::new(),
        }],
        ..PeerResults::default()
    }))
}

fn loaded(micros: i64, grade: BufferbloatGrade) -> Event {
    let trips = |micros: i64, count: u64| ProbeSeries {
        sent: count,
        round_trips: [(micros * 1000, count)].into_iter().collect(),
    };
    Event::LoadedLatency(Box::new(LoadedLatency {
        idle: trips(2100, 24),
        loaded: trips(micros, 250),
        load: Duration::from_secs(5),
        increase: Some((micros - 2100) as f64 * 1e-6),
        increase_there: None,
        increase_back: None,
        grade: Some(grade),
    }))
}

fn tcp(limited_by: LimitedBy, micros: i64, grade: BufferbloatGrade) -> TrialResult {
    let bytes = 939_000_000 / 8 * 5;
    let sent = whole(5, bytes + 1_000_000, Measure::TcpSend(TcpSend::default()));
    let received = whole(5, bytes, Measure::TcpReceive(TcpReceive::default()));
    let events = [
        Event::Row(sent),
        results(received),
        judged(limited_by, true),
        loaded(micros, grade),
    ];
    result(TrialPart::TcpUp, &events)
}

fn udp(lost: u64) -> TrialResult {
    let sent = Measure::UdpSend(UdpSend {
        writes: 2552,
        ..UdpSend::default()
    });
    let received = Measure::UdpReceive(UdpReceive {
        received: 2552 - lost,
        total: 2552,
        lost,
        jitter: Some(0.000_042),
        ..UdpReceive::default()
    });
    let events = [
        Event::Row(whole(3, 3_750_000, sent)),
        results(whole(3, 3_750_000, received)),
        judged(LimitedBy::Application, true),
    ];
    result(UDP, &events)
}

fn rendered(terminal: Terminal, results: Vec<TrialResult>) -> String {
    let mut report = TrialReport::new(terminal);
    let mut text = report.opening();
    for result in results {
        text.push_str(&report.add(result));
    }
    text + &report.closing()
}

#[test]
fn each_measurement_is_a_line() {
    let results = vec![
        latency(),
        tcp(LimitedBy::Network, 47_300, BufferbloatGrade::B),
        udp(0),
    ];
    assert_eq!(
        rendered(Terminal::default(), results),
        include_str!("../golden/native/try.txt")
    );
}

#[test]
fn the_worst_measurement_decides_how_far_all_is_trusted() {
    let results = vec![
        latency(),
        tcp(LimitedBy::SenderCpu, 2000, BufferbloatGrade::APlus),
        udp(5),
    ];
    let shown = rendered(Terminal::default(), results);
    for line in [
        "UDP up       10.0 of 10.0 Mbit/s, 0.196 % lost (5 of 2552), jitter 0.042 ms\n",
        "Bufferbloat  A+ up (no increase under load)\n",
        "Trust        host-limited: the network may be faster; try -P 2 or a larger -l\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn what_is_not_known_is_left_out_or_said_once() {
    let sent = whole(5, 586_875_000, Measure::TcpSend(TcpSend::default()));
    let datagrams = whole(3, 3_750_000, Measure::UdpSend(UdpSend::default()));
    let results = vec![
        result(TrialPart::Latency, &[]),
        result(TrialPart::TcpUp, &[Event::Row(sent)]),
        result(UDP, &[Event::Row(datagrams)]),
    ];
    let shown = rendered(Terminal::default(), results);
    let (_, lines) = shown.split_once("\n\n").expect("lines");
    assert_eq!(
        lines,
        "Latency      not measured: the server does not answer requests\n\
         TCP up       939 Mbit/s sent, limit unknown\n\
         UDP up       10.0 Mbit/s sent, no report from the server\n\
         Trust        poor: no report from the server [no-receiver-report]\n"
    );
}

#[test]
fn a_connection_that_fails_is_an_error_and_no_result() {
    let failed = Notice::ConnectFailed {
        tag: tag(1),
        peer: address("192.0.2.7:5001"),
        reason: "Connection refused".to_owned(),
        after: Duration::ZERO,
        at: WallTime::default(),
        retrying: false,
    };
    let result = result(TrialPart::Latency, &[Event::Notice(failed)]);
    assert!(result.is_empty());
    assert_eq!(
        result.failure().expect("an error"),
        "error: cannot connect to 192.0.2.7 port 5001: connection refused\n\
         hint:  is \"tapeline -s\" running there? Another port: -p"
    );
    let reset = Notice::TrafficFailed {
        tag: tag(1),
        operation: TrafficOperation::Receive,
        transport: Transport::Tcp,
        reason: "Connection reset by peer".to_owned(),
    };
    let events = [Event::Notice(reset)];
    assert_eq!(self::result(TrialPart::Latency, &events).failure(), None);
}

#[test]
fn loopback_is_no_network() {
    let opening = |width| {
        let terminal = Terminal {
            width,
            ..Terminal::default()
        };
        TrialReport::new(terminal).opening()
    };
    assert_eq!(
        opening(120),
        "Testing this machine against itself (loopback): this measures its CPU, not a network\n\n"
    );
    assert!(opening(80).lines().all(|line| line.len() <= 80));
}
