use std::path::Path;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tapeline_base::{FlowId, FlowTag, Placement, Transport, WallTime};
use tapeline_report::document::{PlannedLimit, PlannedTest, RunInfo, TestShape, Workload};
use tapeline_report::{
    ClientBanner, ClientTest, Connected, Endpoints, Event, InitialTcp, LimitVerdict, Measure,
    Notice, PeerFlow, PeerLimits, PeerProgram, PeerProgress, PeerResults, Phase, ProbeDelays,
    Repetition, RequestResponse, Row, Span, Subject, TcpReceive, TcpSend, TcpState, UdpReceive,
    UdpSend,
};
use tapeline_stats::{Certainty, Finding, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

use super::*;

const PLAIN: Look = Look {
    unicode: false,
    colour: false,
    keys: true,
};
const UNICODE: Look = Look {
    unicode: true,
    ..PLAIN
};

fn planned(streams: usize) -> Option<PlannedTest> {
    Some(PlannedTest {
        host: "server.example".to_owned(),
        transport: "tcp",
        direction: TestShape::Forward,
        workload: Workload::Stream,
        limit: PlannedLimit::Time(Duration::from_secs(10)),
        omit: Duration::ZERO,
        streams,
        interval: None,
    })
}

fn board(planned: Option<PlannedTest>, events: &[Event]) -> Board {
    let run_info = RunInfo {
        version: "0.1.0".to_owned(),
        command: "tapeline".to_owned(),
        role: match planned {
            Some(_) => Role::Client,
            None => Role::Server,
        },
        planned,
        style: tapeline_report::Style {
            utc: true,
            ..tapeline_report::Style::default()
        },
    };
    let mut board = Board::new(run_info, || WallTime::from_nanos(1_795_215_956_000_000_000));
    for event in events {
        board.observe(event);
    }
    board
}

fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

fn row(id: u32, phase: Phase, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Event {
    let address = |text: &str| text.parse().expect("an address");
    Event::Row(Row {
        subject: Subject::Flow(tag(id)),
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
        placement: Placement::default(),
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

fn received() -> Measure {
    Measure::TcpReceive(TcpReceive::default())
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

/// Compares a picture with the one that is kept under a name; `TAPELINE_GOLDEN=1` keeps this one.
fn is_golden(name: &str, board: &Board, look: Look, (columns, rows): (u16, u16)) {
    let shown = picture(board, look, columns, rows).join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/picture/golden/{name}.txt"));
    if std::env::var_os("TAPELINE_GOLDEN").is_some() {
        std::fs::write(&path, &shown).expect("a file");
    }
    let kept = std::fs::read_to_string(&path).expect("a picture that is kept");
    assert!(shown == kept, "{name}:\n{shown}");
    let widest = shown.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(columns.into()), "{name} is too wide");
}

/// A connection of the client with an idle round trip of 0.3 ms.
fn begins(streams: usize) -> Vec<Event> {
    let mut banner = ClientBanner::new("server.example", 5001, Transport::Tcp);
    banner.flows = streams;
    let address = |text: &str| text.parse().expect("an address");
    let mut line = Connected::new(
        tag(1),
        Transport::Tcp,
        address("192.0.2.1:46976"),
        address("192.0.2.2:5001"),
    );
    line.initial = Some(InitialTcp {
        cwnd_kib: 14,
        mss: 1448,
        rtt_micros: 300,
    });
    vec![Event::Connecting(banner), Event::Connected(line)]
}

/// Two seconds of a client's test of two streams, the second of which reports first.
fn two_seconds() -> Vec<Event> {
    let mut events = begins(2);
    for step in 0..8 {
        let span = (step * 250, (step + 1) * 250);
        let grows = 1_000_000 * (step + 1);
        events.push(row(2, Phase::Interval, span, 1_000_000, tcp(0, 420)));
        events.push(row(1, Phase::Interval, span, grows, tcp(1, 400)));
        events.push(Event::PeerProgress(PeerProgress {
            elapsed: Duration::from_millis(span.1),
            bytes: (step + 1) * 900_000,
            datagrams: 0,
            flows: 2,
            cpu_percent: None,
        }));
    }
    events.push(Event::Notice(Notice::BufferClamped {
        wanted: 4 << 20,
        actual: 1 << 20,
    }));
    events
}

/// A last fragment, both ends' totals and what limited it.
fn the_end() -> Vec<Event> {
    let whole = (0, 2010);
    let mut events = vec![
        row(1, Phase::Interval, (2000, 2010), 1000, tcp(0, 400)),
        row(1, Phase::Total, whole, 36_001_000, tcp(8, 400)),
        row(2, Phase::Total, whole, 8_000_000, tcp(0, 420)),
    ];
    let counted = |id, bytes| match row(id, Phase::Total, whole, bytes, received()) {
        Event::Row(total) => PeerFlow {
            total,
            limits: PeerLimits::default(),
            evidence: None,
            round_trips: Vec::new(),
        },
        _ => unreachable!("a row"),
    };
    events.push(Event::PeerResults(Box::new(PeerResults {
        program: Some(PeerProgram {
            program: "tapeline".to_owned(),
            version: "0.1.0".to_owned(),
            system: String::new(),
        }),
        flows: vec![counted(1, 36_001_000), counted(2, 7_900_000)],
        ..PeerResults::default()
    })));
    events.push(Event::LimitVerdict(Box::new(LimitVerdict {
        flows: vec![tag(1), tag(2)],
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
    events
}

#[test]
fn a_client_sees_its_streams_in_order() {
    let board = board(planned(2), &two_seconds());
    is_golden("client_80x24", &board, UNICODE, (80, 24));
    is_golden("client_120x40", &board, UNICODE, (120, 40));
    // The curves give way first.
    is_golden("client_80x10", &board, PLAIN, (80, 10));
    is_golden("client_48x14", &board, PLAIN, (48, 14));
}

#[test]
fn a_test_that_has_ended_shows_its_mean_and_the_answer() {
    let mut events = two_seconds();
    events.extend(the_end());
    let mut board = board(planned(2), &events);
    board.finish();
    is_golden("ended_80x24", &board, UNICODE, (80, 24));
    let text = picture(&board, PLAIN, 80, 24).join("\n");
    // 43,901,000 bytes in 2.01 s; the fragment of 10 ms went at 800 kbit/s.
    assert!(text.contains("Throughput  175 Mbit/s mean"), "{text}");
    assert!(
        text.contains("Limited by   network (high confidence)"),
        "{text}"
    );
    assert!(text.contains("Trust "), "{text}");
}

#[test]
fn both_directions_have_their_curves() {
    let mut events = begins(1);
    for step in 0..8 {
        let span = (step * 250, (step + 1) * 250);
        events.push(row(1, Phase::Interval, span, 30_000_000, tcp(0, 6310)));
        let Event::Row(mut back) = row(1, Phase::Interval, span, 29_000_000, received()) else {
            unreachable!("a row");
        };
        back.subject = Subject::Flow(FlowTag {
            reversed: true,
            ..tag(1)
        });
        events.push(Event::Row(back));
    }
    let planned = planned(1).map(|planned| PlannedTest {
        direction: TestShape::Bidirectional,
        ..planned
    });
    is_golden(
        "full_duplex_80x24",
        &board(planned, &events),
        UNICODE,
        (80, 24),
    );
}

#[test]
fn a_receiver_of_datagrams_sees_losses() {
    let mut events = Vec::new();
    for step in 0..8 {
        let span = (step * 250, (step + 1) * 250);
        events.push(row(1, Phase::Interval, span, 3_125_000, udp(2126, step)));
    }
    let planned = planned(1).map(|planned| PlannedTest {
        transport: "udp",
        direction: TestShape::Reverse,
        ..planned
    });
    is_golden(
        "datagrams_80x24",
        &board(planned, &events),
        UNICODE,
        (80, 24),
    );
}

#[test]
fn requests_have_round_trips_and_no_rate() {
    let mut events = Vec::new();
    for step in 0..3u64 {
        let trips = RequestResponse {
            round_trips: [0.0204, 0.0217, 0.0232].into_iter().collect(),
            ..RequestResponse::default()
        };
        let span = (step * 1000, (step + 1) * 1000);
        events.push(row(
            1,
            Phase::Interval,
            span,
            600,
            Measure::RequestResponse(trips),
        ));
    }
    let planned = planned(1).map(|planned| PlannedTest {
        workload: Workload::RequestResponse,
        ..planned
    });
    let board = board(planned, &events);
    is_golden("requests_80x24", &board, UNICODE, (80, 24));
    let text = picture(&board, PLAIN, 80, 24).join("\n");
    assert!(!text.contains("bit/s"), "{text}");
}

#[test]
fn any_size_has_a_picture() {
    let boards = [
        board(planned(2), &two_seconds()),
        board(planned(1), &[]),
        board(None, &[]),
    ];
    for board in &boards {
        for columns in (1..30).chain([54, 60, 61, 62, 63, 80, 100, 300]) {
            for rows in (1..12).chain([20, 25, 60]) {
                for unicode in [false, true] {
                    let look = Look {
                        unicode,
                        colour: true,
                        keys: true,
                    };
                    picture(board, look, columns, rows);
                }
            }
        }
    }
}

#[test]
fn a_server_sees_who_comes_and_what_came_of_it() {
    let idle = picture(&board(None, &[]), PLAIN, 80, 8);
    assert!(idle[0].starts_with(" tapeline  server"), "{idle:#?}");
    let has = |lines: &[String], part: &str| lines.iter().any(|line| line.contains(part));
    assert!(has(&idle, "no client yet"), "{idle:#?}");
    let address = |text: &str| text.parse().expect("an address");
    let mut line = Connected::new(
        tag(1),
        Transport::Udp,
        address("192.0.2.1:46976"),
        address("192.0.2.2:5001"),
    );
    line.test = Some(ClientTest {
        number: 1,
        flows: Some(1),
    });
    let mut events = vec![
        Event::Connected(line),
        row(1, Phase::Interval, (0, 250), 125_000, udp(100, 3)),
    ];
    is_golden("server_80x24", &board(None, &events), UNICODE, (80, 24));
    events.push(row(1, Phase::Total, (0, 500), 250_000, udp(200, 4)));
    events.extend([Event::TestOver(vec![tag(1)]), Event::Idle]);
    let over = picture(&board(None, &events), PLAIN, 80, 14);
    assert!(has(&over, "no stream running"), "{over:#?}");
    assert!(
        has(
            &over,
            "#1 192.0.2.2 done: 4.00 Mbit/s received, 0.500 s, 2.00 % lost"
        ),
        "{over:#?}"
    );
}

#[test]
fn a_datagram_sender_sees_the_round_trips_of_probes() {
    let sent = || Measure::UdpSend(UdpSend::default());
    let probes = Event::Probes(ProbeDelays {
        round_trips: [0.002, 0.004].into_iter().collect(),
    });
    let mut events = vec![row(1, Phase::Interval, (0, 250), 1000, sent())];
    let text = |events: &[Event]| picture(&board(planned(1), events), PLAIN, 100, 16).join("\n");
    assert!(!text(&events).contains("Latency"));
    for start in (250..2000).step_by(250) {
        events.push(probes.clone());
        events.push(row(1, Phase::Interval, (start, start + 250), 1000, sent()));
    }
    assert!(
        text(&events).contains("Latency     3.00 ms now"),
        "{}",
        text(&events)
    );
}

#[test]
fn streams_that_do_not_fit_are_summed_up() {
    let events: Vec<Event> = (1..=100)
        .rev()
        .map(|id| row(id, Phase::Interval, (0, 250), 31_250, tcp(1, 400)))
        .collect();
    let shown = picture(&board(planned(100), &events), PLAIN, 80, 24);
    let first = shown
        .iter()
        .position(|line| line.trim_start().starts_with("stream "));
    let first = first.expect("a head") + 1;
    assert!(
        shown[first].starts_with("      1    1.00        1"),
        "{shown:#?}"
    );
    let listed = shown[first..]
        .iter()
        .take_while(|line| !line.contains("sum"));
    let listed = listed.count();
    let sum = &shown[first + listed];
    assert!(sum.starts_with("    sum     100      100 "), "{sum}");
    let hidden = 100 - listed;
    assert!(
        sum.ends_with(&format!("  of 100, {hidden} not shown")),
        "{sum}"
    );
}

#[test]
fn a_run_of_a_series_has_its_own_curves() {
    let begin = |run| {
        Event::Repetition(Repetition::Begins {
            run,
            least: 3,
            most: 3,
        })
    };
    let mut events = vec![begin(1)];
    events.extend(two_seconds());
    events.push(begin(2));
    let shown = picture(&board(planned(2), &events), PLAIN, 80, 24);
    assert!(shown[0].contains("run 2/3"), "{shown:#?}");
    assert!(shown[0].ends_with("connecting"), "{shown:#?}");
    assert!(
        !shown.iter().any(|line| line.contains("Throughput")),
        "{shown:#?}"
    );
}

#[test]
fn a_paused_picture_says_so() {
    let mut board = board(planned(2), &two_seconds());
    board.pause(true);
    let shown = picture(&board, PLAIN, 80, 24);
    assert!(shown[0].ends_with("paused at 0:02 of 0:10"), "{shown:#?}");
    assert!(
        shown[23].ends_with("p shows the picture again"),
        "{shown:#?}"
    );
    let look = Look {
        keys: false,
        ..PLAIN
    };
    let shown = picture(&board, look, 80, 24);
    assert_eq!(shown[23], " Ctrl-C ends the test");
}

#[test]
fn only_differences_are_written() {
    let mut canvas = crate::Canvas::new(80, 20, PLAIN);
    let mut board = board(planned(1), &two_seconds());
    let first = canvas.frame(&board);
    assert!(first.contains("TCP to server.example"), "{first:?}");
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
    let board = board(planned(1), &events);
    let mut canvas = crate::Canvas::new(80, 20, PLAIN);
    let frame = canvas.frame(&board);
    assert_eq!(frame.matches("\x1b[2J").count(), 0, "{frame:?}");
    assert!(!frame.contains(['\r', '\x07']), "{frame:?}");
}
