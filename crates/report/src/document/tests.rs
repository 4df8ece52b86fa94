//! Small tests, told as events.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};

use super::*;
use crate::model::{
    ClientBanner, Connected, Endpoints, Event, Measure, Notice, PeerFlow, PeerLimits, PeerProgress,
    PeerResults, Phase, Row, Span, Subject, TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};
use crate::render::{Output, Renderer};
use crate::style::Style;

/// 2026-11-20 23:05:56 UTC.
const START: WallTime = WallTime::from_nanos(1_795_215_956_108_000_000);

fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

fn ends() -> (SocketAddr, SocketAddr) {
    let socket = |text: &str| text.parse().expect("an address");
    (socket("192.0.2.1:46976"), socket("192.0.2.2:5001"))
}

fn row(id: u32, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Row {
    let (local, peer) = ends();
    Row {
        subject: Subject::Flow(tag(id)),
        phase: Phase::Interval,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: START + Duration::from_millis(end),
        bytes,
        endpoints: Some(Endpoints {
            local,
            peer,
            local_sends: true,
        }),
        trip_times: false,
        placement: Placement::default(),
        measure,
    }
}

/// A TCP sender's row.
pub(crate) fn tcp_row(id: u32, span: (u64, u64), bytes: u64) -> Row {
    let state = TcpState {
        cwnd_packets: Some(10),
        mss: Some(1448),
        rtt_micros: Some(422),
        ..TcpState::default()
    };
    let send = TcpSend {
        writes: 1,
        retransmits: Some(3),
        state: Some(state),
        ..TcpSend::default()
    };
    row(id, span, bytes, Measure::TcpSend(send))
}

/// The document of a client's TCP test of a second at this rate, bits per second.
pub(crate) fn report_of_rate(rate: f64) -> Report {
    let mut tracker = ReportTracker::new(run_info(Role::Client, "tcp"));
    let row = tcp_row(1, (0, 1000), (rate / 8.0) as u64);
    for event in [connected(1, "192.0.2.2:5001"), total(row)] {
        tracker.observe(&event);
    }
    match tracker.finish().pop() {
        Some(Step::End { report, .. }) => *report,
        other => panic!("{other:?}"),
    }
}

fn total(row: Row) -> Event {
    Event::Row(Row {
        phase: Phase::Total,
        ..row
    })
}

fn connected(id: u32, peer: &str) -> Event {
    let peer = peer.parse().expect("an address");
    Event::Connected(Connected {
        at: Some(START),
        ..Connected::new(tag(id), Transport::Tcp, ends().0, peer)
    })
}

fn run_info(role: Role, transport: &'static str) -> RunInfo {
    RunInfo {
        version: "0.0.0".to_owned(),
        command: "tapeline -c server".to_owned(),
        role,
        planned: (role == Role::Client).then(|| PlannedTest {
            host: "server".to_owned(),
            transport,
            direction: TestShape::Forward,
            workload: Workload::Stream,
            limit: PlannedLimit::Time(Duration::from_secs(2)),
            omit: Duration::ZERO,
            streams: 1,
            interval: None,
        }),
        style: Style::default(),
    }
}

/// What a renderer makes of events.
fn lines(mut renderer: impl Renderer, events: &[Event]) -> String {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    assert_eq!(out.stderr, "");
    out.stdout
}

fn document(events: &[Event]) -> Value {
    let text = lines(WholeDocument::json(run_info(Role::Client, "tcp")), events);
    serde_json::from_str(&text).expect("one document")
}

#[test]
fn what_the_other_end_counted_is_unknown() {
    let document = document(&[
        Event::Connecting(ClientBanner::new("server", 5001, Transport::Tcp)),
        connected(1, "192.0.2.2:5001"),
        Event::Row(tcp_row(1, (0, 1000), 125_000)),
        Event::Row(tcp_row(1, (1000, 2000), 125_000)),
        total(tcp_row(1, (0, 2000), 250_000)),
    ]);
    assert_eq!(document["schema"], "tapeline-report/1");
    let flow = &document["streams"][0];
    assert_eq!(flow["id"], 1);
    assert_eq!(flow["direction"], "forward");
    assert_eq!(flow["local"], "192.0.2.1:46976");
    assert_eq!(flow["sender"]["bytes"], 250_000);
    assert_eq!(flow["sender"]["bits_per_second"], 1e6);
    assert_eq!(flow["sender"]["retransmits"], 3);
    assert_eq!(flow["sender"]["cwnd_bytes"], 14_480);
    for member in [
        "bytes",
        "seconds",
        "bits_per_second",
        "cpu_percent",
        "placement",
    ] {
        assert!(
            flow["receiver"]
                .as_object()
                .expect("an end")
                .contains_key(member)
        );
        assert_eq!(flow["receiver"][member], Value::Null, "{member}");
    }
    assert_eq!(flow["rtt"]["samples"], 2);
    assert_eq!(flow["rtt"]["max_ms"], 0.422);
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["intervals"][1]["start_seconds"], 1.0);
    assert_eq!(document["sum"]["sender"]["bytes"], 250_000);
    assert_eq!(document["test"]["complete"], true);
    assert_eq!(document["error"], Value::Null);
}

#[test]
fn a_receiver_tells_what_the_sender_at_the_other_end_saw() {
    let mut there = tcp_row(1, (0, 1000), 1000);
    there.phase = Phase::Total;
    let document = document(&[
        connected(1, "192.0.2.2:5001"),
        total(row(
            1,
            (0, 1000),
            1000,
            Measure::TcpReceive(TcpReceive::default()),
        )),
        Event::PeerResults(Box::new(PeerResults {
            flows: vec![PeerFlow {
                total: there,
                limits: PeerLimits::default(),
                evidence: None,
                round_trips: vec![300, 500],
            }],
            ..PeerResults::default()
        })),
    ]);
    let flow = &document["streams"][0];
    assert_eq!(flow["sender"]["cwnd_bytes"], 14_480);
    assert_eq!(flow["sender"]["rtt_ms"], 0.422);
    assert_eq!(flow["rtt"]["samples"], 2);
    assert_eq!(flow["rtt"]["mean_ms"], 0.4);
}

#[test]
fn a_report_of_the_old_protocol_tells_what_it_has() {
    let receive = UdpReceive {
        received: 90,
        total: 100,
        lost: 10,
        out_of_order: 4,
        jitter: Some(0.001),
        jitter_mean: Some(0.001),
        ..UdpReceive::default()
    };
    let send = UdpSend {
        writes: 101,
        ..UdpSend::default()
    };
    let mut row_received = row(1, (0, 1000), 90_000, Measure::UdpReceive(receive));
    row_received.phase = Phase::Total;
    let text = lines(
        WholeDocument::json(run_info(Role::Client, "udp")),
        &[
            connected(1, "192.0.2.2:5001"),
            total(row(1, (0, 1000), 100_000, Measure::UdpSend(send))),
            Event::ServerReport {
                row: row_received,
                enhanced: false,
            },
        ],
    );
    let document: Value = serde_json::from_str(&text).expect("one document");
    let receiver = &document["streams"][0]["receiver"];
    assert_eq!(receiver["packets"], 90);
    assert_eq!(receiver["lost"], 10);
    assert_eq!(receiver["lost_percent"], 10.0);
    assert_eq!(receiver["out_of_order"], 4);
    assert_eq!(receiver["jitter_mean_ms"], 1.0);
    assert_eq!(receiver["jitter_ms"], 1.0, "the only one that it tells");
    for member in ["lost_network", "duplicates", "reordered"] {
        assert_eq!(receiver[member], Value::Null, "{member}");
    }
    assert_eq!(document["streams"][0]["sender"]["packets"], 101);
    assert_eq!(document["sum"]["receiver"]["lost"], 10);
}

#[test]
fn a_test_that_was_not_begun_has_a_document() {
    let refused = Notice::Unresolvable {
        host: "server".to_owned(),
        reason: "Unknown host".to_owned(),
    };
    let document = document(&[Event::Notice(refused)]);
    assert_eq!(document["error"]["id"], "unknown-host");
    assert_eq!(document["test"]["complete"], false);
    assert_eq!(document["streams"], Value::Array(Vec::new()));
    assert_eq!(document["warnings"][0]["severity"], "error");
}

#[test]
fn an_interrupted_test_says_so() {
    let document = document(&[
        connected(1, "192.0.2.2:5001"),
        total(tcp_row(1, (0, 500), 1000)),
        Event::Notice(Notice::Interrupted),
    ]);
    assert_eq!(document["test"]["interrupted"], true);
    assert_eq!(document["test"]["complete"], false);
    assert_eq!(document["error"], Value::Null);
    assert_eq!(document["warnings"][0]["id"], "interrupted");
}

#[test]
fn each_test_of_a_server_is_a_line() {
    let receive = |id, at: &str, span| {
        let mut row = row(id, span, 1000, Measure::TcpReceive(Default::default()));
        row.phase = Phase::Total;
        [connected(id, at), Event::Row(row)]
    };
    let over = |id| {
        let tag = FlowTag {
            id: FlowId(id),
            reversed: false,
        };
        Event::TestOver(vec![tag])
    };
    let mut events = receive(1, "192.0.2.7:1000", (0, 1000)).to_vec();
    events.extend(receive(2, "192.0.2.8:1000", (0, 3000)));
    // Neither waits for the other.
    events.extend([over(2), over(1), Event::Idle]);
    events.extend(receive(3, "192.0.2.7:1001", (0, 5000)));
    let server = || WholeDocument::json(run_info(Role::Server, "tcp"));
    let text = lines(server(), &events);
    let peers: Vec<Value> = text
        .lines()
        .map(|line| {
            let document: Value = serde_json::from_str(line).expect("a document in a line");
            assert_eq!(document["streams"].as_array().map(Vec::len), Some(1));
            assert_eq!(document["streams"][0]["sender"]["bytes"], Value::Null);
            document["peer"]["address"].clone()
        })
        .collect();
    assert_eq!(peers, ["192.0.2.8", "192.0.2.7", "192.0.2.7"]);
}

#[test]
fn a_stream_ends_with_the_document() {
    let stream = DocumentStream::new(run_info(Role::Client, "tcp"));
    let text = lines(
        stream,
        &[
            connected(1, "192.0.2.2:5001"),
            Event::Row(tcp_row(1, (0, 1000), 125_000)),
            Event::PeerProgress(PeerProgress {
                elapsed: std::time::Duration::from_millis(500),
                bytes: 70_000,
                flows: 1,
                ..PeerProgress::default()
            }),
            Event::Notice(Notice::Interrupted),
            total(tcp_row(1, (0, 1000), 125_000)),
        ],
    );
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let events: Vec<&Value> = lines.iter().map(|line| &line["event"]).collect();
    let expected = ["start", "interval", "peer_progress", "warning", "end"];
    assert_eq!(events, expected);
    assert_eq!(lines[1]["data"]["bytes"], 125_000);
    assert_eq!(lines[2]["data"]["bytes"], 70_000);
    assert_eq!(lines[2]["data"]["packets"], Value::Null);
    assert_eq!(lines[4]["data"]["streams"][0]["sender"]["bytes"], 125_000);
    assert_eq!(lines[4]["data"]["intervals"], Value::Array(Vec::new()));
}

#[test]
fn lines_of_refusals_have_their_peer_and_belong_to_no_test() {
    let clock = || WallTime::from_nanos(1_795_215_956_108_899_000);
    let stream = DocumentStream::new(run_info(Role::Server, "tcp")).timed(clock);
    let text = lines(
        stream,
        &[
            connected(1, "192.0.2.2:5001"),
            Event::Row(tcp_row(1, (0, 1000), 125_000)),
            Event::Notice(Notice::PeerRefused {
                peer: "192.0.2.9:1234".parse().expect("an address"),
                reason: "no\ntest".to_owned(),
            }),
            Event::Notice(Notice::Suppressed {
                count: 7,
                kind: "refusals",
            }),
            total(tcp_row(1, (0, 1000), 125_000)),
        ],
    );
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert!(
        lines
            .iter()
            .all(|line| line["at"] == "2026-11-20T23:05:56.108899Z"),
        "{text}"
    );
    let [.., refused, suppressed, end] = &lines[..] else {
        panic!("{text}")
    };
    assert_eq!(refused["data"]["id"], "client-refused");
    assert_eq!(refused["peer"], "192.0.2.9:1234");
    assert_eq!(refused["reason"], "no?test");
    assert_eq!(
        (&refused["test"], &suppressed["peer"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(suppressed["data"]["id"], "refusals-suppressed");
    assert_eq!(end["data"]["warnings"], Value::Array(Vec::new()));
}

#[test]
fn rows_that_were_missed_are_counted() {
    let mut stream = DocumentStream::new(run_info(Role::Client, "tcp"));
    let mut out = Output::default();
    stream.render(&connected(1, "192.0.2.2:5001"), &mut out);
    out.clear();
    stream.missed(3, &mut out);
    assert_eq!(
        out.stdout,
        "{\"event\":\"dropped\",\"data\":{\"intervals\":3}}\n"
    );
    out.clear();
    stream.finish(&mut out);
    let end: Value = serde_json::from_str(&out.stdout).expect("JSON");
    assert_eq!(end["data"]["test"]["intervals_dropped"], 3);
}

/// The reader of any form learns what it did not get.
#[test]
fn every_form_says_what_its_reader_missed() {
    let render = |mut renderer: Box<dyn Renderer>| {
        let mut out = Output::default();
        renderer.render(&connected(1, "192.0.2.2:5001"), &mut out);
        let interval = tcp_row(1, (0, 1000), 125_000);
        let total = Row {
            phase: Phase::Total,
            ..interval.clone()
        };
        renderer.render(&Event::Row(interval), &mut out);
        renderer.missed(3, &mut out);
        renderer.render(&Event::Row(total), &mut out);
        renderer.finish(&mut out);
        out
    };
    let client = || run_info(Role::Client, "tcp");
    let documents: [Box<dyn Renderer>; 3] = [
        Box::new(WholeDocument::json(client())),
        Box::new(WholeDocument::html(client())),
        Box::new(DocumentStream::new(client())),
    ];
    for renderer in documents {
        let out = render(renderer);
        assert!(out.stdout.contains("intervals-dropped"), "{}", out.stdout);
        assert!(out.stdout.contains("3 intervals are not in this document"));
    }
    let csv = render(Box::new(DocumentCsv::new(client())));
    assert!(csv.stderr.contains("3 rows are missing"), "{}", csv.stderr);
    let style = Style::default();
    let text = render(Box::new(crate::NativeText::new(
        style,
        crate::Terminal::default(),
    )));
    let reason = "3 interval rows dropped [intervals-dropped]";
    assert!(text.stdout.contains(reason), "{}", text.stdout);
}

#[test]
fn a_test_that_fails_at_once_says_why() {
    let end = Event::TestEnd(Box::new(crate::model::TestEnd {
        test: 1,
        cpu: crate::model::CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure: Some(crate::model::TestFailure {
            code: 103,
            text: "unable to connect to server: Connection refused".to_owned(),
            by_peer: false,
            interrupted: false,
        }),
    }));
    let text = lines(WholeDocument::json(run_info(Role::Client, "tcp")), &[end]);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["error"]["id"], "test-failed");
    assert_eq!(document["test"]["complete"], false);
}

#[test]
fn a_command_line_that_cannot_be_carried_out_has_a_document() {
    let refused = refused(&run_info(Role::Client, "tcp"), "there is no option --x");
    let text = WholeDocument::json_of(&refused);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["error"]["id"], "usage");
    assert_eq!(document["error"]["text"], "there is no option --x");
    assert_eq!(document["test"]["complete"], false);
    assert_eq!(document["streams"], Value::Array(Vec::new()));
    let line: Value = serde_json::from_str(&DocumentStream::line_of(&refused)).expect("JSON");
    assert_eq!((&line["event"], &line["data"]), (&"end".into(), &document));
}

#[test]
fn a_test_says_how_far_it_is_to_be_trusted() {
    let whole = total(tcp_row(1, (0, 2000), 250_000));
    let told = document(&[connected(1, "192.0.2.2:5001"), whole.clone()]);
    let trust =
        |level: &str, reason: &str| serde_json::json!({"level": level, "reasons": [reason]});
    let unreported = "iperf 2 does not report what it received over TCP";
    assert_eq!(told["trust"], trust("partial", unreported));
    let failed = Notice::TrafficFailed {
        tag: FlowTag {
            id: FlowId(1),
            reversed: false,
        },
        operation: crate::model::TrafficOperation::Write,
        transport: Transport::Tcp,
        reason: "Connection reset".to_owned(),
    };
    let told = document(&[
        connected(1, "192.0.2.2:5001"),
        Event::Notice(failed),
        whole.clone(),
    ]);
    assert_eq!(
        told["trust"]["reasons"][0],
        "the stream failed before its end"
    );
    let told = document(&[
        connected(1, "192.0.2.2:5001"),
        Event::Notice(Notice::ClockSet { by: 1_500_000_000 }),
        whole,
    ]);
    assert_eq!(told["trust"], trust("poor", "a clock jumped by +1.5 s"));
    let short = total(tcp_row(1, (0, 200), 1000));
    let told = document(&[connected(1, "192.0.2.2:5001"), short]);
    assert_eq!(told["trust"]["level"], "poor");
    let unconnected = document(&[Event::Notice(Notice::Unresolvable {
        host: "server".to_owned(),
        reason: "Unknown host".to_owned(),
    })]);
    assert_eq!(unconnected["trust"], Value::Null);
}

#[test]
fn csv_has_a_row_for_each_flow_and_interval() {
    let csv = DocumentCsv::new(run_info(Role::Client, "tcp"));
    let text = lines(
        csv,
        &[
            connected(1, "192.0.2.2:5001"),
            Event::Row(tcp_row(1, (0, 1000), 125_000)),
            Event::Row(tcp_row(2, (0, 1000), 250_000)),
            total(tcp_row(1, (0, 1000), 125_000)),
        ],
    );
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0][..4], ["test", "stream", "direction", "counted_by"]);
    assert_eq!(rows[2][..4], ["1", "2", "forward", "sender"]);
    let last = |row: &[&str]| row[row.len() - 1].to_owned();
    assert_eq!(last(&rows[0]), "trust");
    assert_eq!(last(&rows[2]), "partial", "the last row of its stream");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
}
