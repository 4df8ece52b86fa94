use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tapeline_base::{FlowId, FlowTag, Transport, WallTime};
use tapeline_report::document::{PlannedLimit, PlannedTest, RunInfo, TestShape, Workload};
use tapeline_report::{
    Endpoints, Event, LimitVerdict, Measure, Notice, Phase, ProbeDelays, Row, Span, Subject,
    TcpSend, TcpState, UdpReceive, UdpSend,
};
use tapeline_stats::{Certainty, Finding, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

use super::*;

const PLAIN: Look = Look {
    unicode: false,
    colour: false,
};

fn run_info(role: Role) -> RunInfo {
    RunInfo {
        version: "0.1.0".to_owned(),
        command: "tapeline -c server.example --tui".to_owned(),
        role,
        planned: (role == Role::Client).then(|| PlannedTest {
            host: "server.example".to_owned(),
            transport: "tcp",
            direction: TestShape::Forward,
            workload: Workload::Stream,
            limit: PlannedLimit::Time(Duration::from_secs(10)),
            omit: Duration::ZERO,
            streams: 1,
            interval: None,
        }),
        style: tapeline_report::Style::default(),
    }
}

fn row(id: u32, phase: Phase, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Event {
    let address = |text: &str| text.parse().expect("an address");
    Event::Row(Row {
        subject: Subject::Flow(FlowTag {
            id: FlowId(id),
            reversed: false,
        }),
        phase,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: WallTime::from_nanos(1_795_215_956_000_000_000) + Duration::from_millis(end),
        bytes,
        endpoints: Some(Endpoints {
            local: address("192.0.2.1:46976"),
            peer: address("192.0.2.2:5001"),
            local_sends: true,
        }),
        trip_times: false,
        measure,
    })
}

fn tcp(retransmits: u64, rtt_micros: u32) -> Measure {
    Measure::TcpSend(TcpSend {
        retransmits: Some(retransmits),
        state: Some(TcpState {
            cwnd_packets: Some(100),
            mss: Some(1448),
            rtt_micros: Some(rtt_micros),
            ..TcpState::default()
        }),
        ..TcpSend::default()
    })
}

fn udp(total: u64, lost: u64) -> Measure {
    Measure::UdpReceive(UdpReceive {
        received: total - lost,
        total,
        lost,
        jitter: Some(4.2e-6),
        ..UdpReceive::default()
    })
}

fn board(role: Role, events: &[Event]) -> Board {
    let mut board = Board::new(run_info(role));
    for event in events {
        board.observe(event);
    }
    board
}

/// The picture as lines, without blanks at their ends.
fn picture(board: &Board, look: Look, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal
        .draw(|frame| draw(board, look, frame.area(), frame.buffer_mut()))
        .expect("a frame");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| -> String { (0..columns).map(|x| buffer[(x, y)].symbol()).collect() };
    (0..rows).map(|y| line(y).trim_end().to_owned()).collect()
}

/// Two seconds of a client's test of two flows.
fn two_seconds() -> Vec<Event> {
    let mut events = Vec::new();
    for step in 0..8 {
        let span = (step * 250, (step + 1) * 250);
        events.push(row(
            1,
            Phase::Interval,
            span,
            1_000_000 * (step + 1),
            tcp(1, 400),
        ));
        events.push(row(2, Phase::Interval, span, 1_000_000, tcp(0, 420)));
    }
    events.push(Event::LimitVerdict(Box::new(LimitVerdict {
        flows: Vec::new(),
        transport: Transport::Tcp,
        local_sends: true,
        sender: SenderEvidence::default(),
        receiver: ReceiverEvidence::default(),
        verdict: Verdict {
            limited_by: Some(LimitedBy::Network),
            certainty: Certainty::High,
            findings: vec![Finding::CongestionWindow(0.98)],
        },
    })));
    events.push(Event::Notice(Notice::BufferClamped {
        wanted: 4 << 20,
        actual: 1 << 20,
    }));
    events
}

#[test]
fn a_client_sees_its_flows() {
    let shown = picture(&board(Role::Client, &two_seconds()), PLAIN, 100, 16);
    assert_eq!(
        shown,
        [
            " tapeline to server.example                                   2 of 2 flows running   00:02 of 00:10",
            "",
            " sent 288 Mbit/s                                                                           ..::++##",
            " round trip 0.410 ms                                                                        #######",
            "",
            " flow     peer                          rate      bytes  details",
            " 1 ->     192.0.2.2:5001          256 Mbit/s   34.3 MiB  rtt 0.400 ms, 8 sent again, window 141 KiB",
            " 2 ->     192.0.2.2:5001         32.0 Mbit/s   7.63 MiB  rtt 0.420 ms, 0 sent again, window 141 KiB",
            "",
            "",
            "",
            "",
            "",
            " sending limited by network, high confidence; cwnd-limited 98 % of the time",
            " warning: socket buffer is 1 MiB, 4 MiB requested: raise net.core.rmem_max and wmem_max",
            " tapeline -c server.example --tui                                              Ctrl-C ends the test",
        ]
    );
}

#[test]
fn any_size_has_a_picture() {
    let boards = [
        board(Role::Client, &two_seconds()),
        board(Role::Client, &[]),
        board(Role::Server, &[]),
    ];
    for board in &boards {
        for columns in (1..30).chain([59, 60, 89, 90, 300]) {
            for rows in (1..12).chain([25, 26, 60]) {
                for unicode in [false, true] {
                    let look = Look {
                        unicode,
                        colour: true,
                    };
                    picture(board, look, columns, rows);
                }
            }
        }
    }
}

#[test]
fn a_server_sees_who_comes_and_what_came_of_it() {
    let idle = picture(&board(Role::Server, &[]), PLAIN, 80, 8);
    assert!(idle[0].starts_with(" tapeline serves"), "{idle:#?}");
    assert!(
        idle.iter().any(|line| line.contains("no client yet")),
        "{idle:#?}"
    );
    let mut events = vec![row(1, Phase::Interval, (0, 250), 125_000, udp(100, 3))];
    let running = picture(&board(Role::Server, &events), PLAIN, 80, 12);
    let text = running.join("\n");
    assert!(text.contains("1 of 1 flows running"), "{text}");
    assert!(text.contains("3 of 100 datagrams (3.00 %)"), "{text}");
    events.push(row(1, Phase::Total, (0, 500), 250_000, udp(200, 4)));
    let tag = FlowTag {
        id: FlowId(1),
        reversed: false,
    };
    events.extend([Event::TestOver(vec![tag]), Event::Idle]);
    let text = picture(&board(Role::Server, &events), PLAIN, 120, 14).join("\n");
    assert!(text.contains("0 of 1 flows running"), "{text}");
    assert!(
        text.contains("ended, 4 of 200 lost (2.00 %), jitter 0.004 ms"),
        "{text}"
    );
    assert!(
        text.contains("test 1 over UDP, 4.00 Mbit/s to the server, 2.00 % lost"),
        "{text}"
    );
}

#[test]
fn a_datagram_sender_sees_the_round_trips_of_probes() {
    let sent = || Measure::UdpSend(UdpSend::default());
    let probes = Event::Probes(ProbeDelays {
        round_trips: [0.002, 0.004].into_iter().collect(),
    });
    let mut events = vec![row(1, Phase::Interval, (0, 250), 1000, sent())];
    let text = |events: &[Event]| picture(&board(Role::Client, events), PLAIN, 100, 16).join("\n");
    assert!(!text(&events).contains("round trip"));
    for start in (250..2000).step_by(250) {
        events.push(probes.clone());
        events.push(row(1, Phase::Interval, (start, start + 250), 1000, sent()));
    }
    assert!(
        text(&events).contains("round trip 3.000 ms"),
        "{}",
        text(&events)
    );
}

#[test]
fn flows_that_do_not_fit_are_counted() {
    let events: Vec<Event> = (1..=40)
        .map(|id| row(id, Phase::Interval, (0, 250), 1000, tcp(0, 400)))
        .collect();
    let text = picture(&board(Role::Client, &events), PLAIN, 100, 20).join("\n");
    assert!(text.contains("40 of 40 flows running"), "{text}");
    let listed = text
        .lines()
        .filter(|line| line.contains("192.0.2.2:5001"))
        .count();
    assert!(
        text.contains(&format!("and {} more", 40 - listed)),
        "{text}"
    );
}

#[test]
fn only_differences_are_written() {
    let mut canvas = crate::Canvas::new(80, 20, PLAIN);
    let mut board = board(Role::Client, &two_seconds());
    let first = canvas.frame(&board);
    assert!(first.contains("tapeline to server.example"), "{first:?}");
    assert_eq!(canvas.frame(&board), "");
    board.observe(&row(
        1,
        Phase::Interval,
        (2000, 2250),
        9_000_000,
        tcp(5, 400),
    ));
    let next = canvas.frame(&board);
    assert!(!next.is_empty() && next.len() < first.len() / 2, "{next:?}");
    assert!(!next.contains("server.example"), "{next:?}");
    canvas.resize(100, 30);
    let resized = canvas.frame(&board);
    assert!(
        resized.contains("\x1b[2J") && resized.contains("server.example"),
        "{resized:?}"
    );
}

#[test]
fn text_of_others_writes_no_escape_sequence() {
    let events = [Event::Notice(Notice::Text("\x1b[2Jgone\r\x07".to_owned()))];
    let board = board(Role::Client, &events);
    let mut canvas = crate::Canvas::new(80, 20, PLAIN);
    let frame = canvas.frame(&board);
    assert_eq!(frame.matches("\x1b[2J").count(), 0, "{frame:?}");
    assert!(!frame.contains(['\r', '\x07']), "{frame:?}");
}
