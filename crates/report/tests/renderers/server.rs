//! What a server's log looks like.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_base::{FlowTag, Transport, WallTime};
use tapeline_report::{
    Amount, BurstKind, BurstsReceived, ClientTest, Connected, ConnectionFlavour, ControlConnected,
    ControlPeer, Endpoints, Event, LimitVerdict, Measure, Notice, Output, PeerProgram, Renderer,
    Row, ServerBanner, ServerText, Style, Subject, TcpReceive, Terminal, TestDirection, TestEnd,
    TestFailure, TestLimit, TestStart, TestTransport,
};
use tapeline_stats::{Certainty, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

use crate::scenario::{connected, row, tag, tcp_receive, tcp_send, total, udp_receive};

/// 2026-11-22 12:40:20 UTC.
const NOW: WallTime = WallTime::from_nanos(1_795_351_220_000_000_000);

fn log(style: Style) -> ServerText {
    let style = Style { utc: true, ..style };
    ServerText::new(style, Terminal::default())
}

fn rendered(mut renderer: ServerText, events: &[Event]) -> Output {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn banner(transport: Transport, port: u16, following: usize) -> Event {
    Event::Listening(ServerBanner {
        ipv6: true,
        following,
        ..ServerBanner::new(transport, port)
    })
}

fn peer(address: &str) -> SocketAddr {
    format!("{address}:46976").parse().expect("an address")
}

/// A connection of a client's test.
fn line(id: u32, test: u32, address: &str, transport: Transport) -> Connected {
    let Event::Connected(line) = connected(id, transport) else {
        unreachable!("a connection")
    };
    Connected {
        peer: peer(address),
        test: Some(ClientTest {
            number: test,
            flows: Some(1),
        }),
        ..line
    }
}

fn whole(id: u32, address: &str, millis: u64, bytes: u64, measure: Measure) -> Event {
    let row = total(row(Subject::Flow(tag(id)), (0, millis), bytes, measure));
    Event::Row(Row {
        endpoints: row.endpoints.map(|ends| Endpoints {
            peer: peer(address),
            ..ends
        }),
        ..row
    })
}

fn limited(id: u32, limit: LimitedBy) -> Event {
    Event::LimitVerdict(Box::new(LimitVerdict {
        flows: vec![tag(id)],
        transport: Tcp,
        local_sends: false,
        sender: SenderEvidence::default(),
        receiver: ReceiverEvidence::default(),
        verdict: Verdict {
            limited_by: Some(limit),
            certainty: Certainty::High,
            findings: Vec::new(),
        },
    }))
}

#[test]
fn a_burst_has_the_row_of_its_period() {
    let burst = Measure::TcpReceive(TcpReceive {
        bursts: Some(BurstsReceived {
            kind: BurstKind::Periodic {
                period: Duration::from_millis(500),
            },
            ..BurstsReceived::default()
        }),
        ..TcpReceive::default()
    });
    let at = |span| Event::Row(row(Subject::Flow(tag(1)), span, 1_048_576, burst.clone()));
    let line = line(1, 1, "192.0.2.1", Tcp);
    let events = [Event::Connected(line), at((0, 2)), at((490, 490))];
    let out = rendered(log(Style::default()), &events).stdout;
    let rows: Vec<&str> = out.lines().skip(2).take(2).collect();
    assert_eq!(
        rows,
        [
            "  #1    to server    0.00-0.50     16.8        -       -       -          -",
            "  #1    to server    0.49-0.99     16.8        -       -       -          -",
        ],
        "{out}"
    );
}

/// The client of this flow says which tapeline it is.
fn found(id: u32) -> Event {
    Event::PeerFound {
        program: PeerProgram {
            program: "tapeline".to_owned(),
            version: "0.1.0".to_owned(),
            system: "Linux".to_owned(),
        },
        flows: vec![tag(id)],
    }
}

fn over(id: u32) -> Event {
    Event::TestOver(vec![tag(id)])
}

fn iperf3_start(test: u32, flows: &[FlowTag]) -> Event {
    Event::TestStart(Box::new(TestStart {
        test,
        flows: flows.iter().map(|tag| (*tag, true)).collect(),
        role: tapeline_base::Role::Server,
        transport: TestTransport::Tcp,
        direction: TestDirection::Reverse,
        streams: flows.len() as u32,
        block_length: 131_072,
        limit: TestLimit::Time(Duration::from_secs(10)),
        omit: Duration::ZERO,
        interval: None,
        tos: 0,
        target_rate: 0,
        pacing_rate: 0,
        segment_size: None,
        window: 0,
        buffers: (0, 0),
        send_offload: false,
        receive_offload: false,
        title: None,
        extra_data: None,
        file: None,
    }))
}

fn iperf3_end(test: u32, failure: Option<&str>) -> Event {
    Event::TestEnd(Box::new(TestEnd {
        test,
        cpu: Default::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        peer_tapeline: None,
        failure: failure.map(|text| TestFailure {
            code: 119,
            text: text.to_owned(),
            by_peer: true,
            interrupted: false,
        }),
    }))
}

fn control(test: u32, address: &str) -> Event {
    Event::ControlConnected(ControlConnected {
        test,
        peer: ControlPeer::Accepted(peer(address)),
        at: NOW,
        cookie: "c".repeat(36),
        segment_size: None,
        request: None,
    })
}

/// Three tests that overlap, and somebody who brings none.
fn busy() -> Vec<Event> {
    let mut loss = udp_receive(42_517, 83, 0, 0);
    loss.jitter = Some(42e-6);
    vec![
        banner(Tcp, 5001, 3),
        banner(Udp, 5001, 2),
        banner(Tcp, 5201, 1),
        banner(Udp, 5201, 0),
        Event::Connected(Connected {
            peer_is_tapeline: true,
            ..line(1, 1, "192.0.2.1", Tcp)
        }),
        found(1),
        Event::Connected(Connected {
            peer_version: Some("2.2.1-rc".to_owned()),
            ..line(2, 2, "192.0.2.1", Udp)
        }),
        whole(1, "192.0.2.1", 5010, 588_251_136, tcp_receive(9)),
        control(1, "198.51.100.4"),
        limited(1, LimitedBy::Network),
        over(1),
        Event::Connected(Connected {
            test: None,
            flavour: ConnectionFlavour::Reverse,
            ..line(3, 3, "198.51.100.4", Tcp)
        }),
        iperf3_start(1, &[tag(3)]),
        whole(2, "192.0.2.1", 5000, 62_380_920, Measure::UdpReceive(loss)),
        over(2),
        whole(3, "198.51.100.4", 10_000, 1_176_502_272, tcp_send(9, 412)),
        iperf3_end(1, None),
        over(3),
        Event::Notice(Notice::PeerRefused {
            peer: peer("203.0.113.9"),
            reason: "not a test".to_owned(),
        }),
        Event::Idle,
    ]
}

#[test]
fn each_event_has_a_line_and_each_test_its_own_end() {
    let out = rendered(log(Style::default()).timed(|| NOW), &busy());
    assert_eq!(
        out.stdout,
        text(&[
            "Listening on ports 5001 and 5201, TCP and UDP, IPv4 and IPv6 (Ctrl-C stops)",
            "For clients: tapeline -c HOST, iperf -c HOST, iperf3 -c HOST",
            "12:40:20 #1 192.0.2.1 started: TCP, 1 stream, to server, tapeline 0.1.0",
            "12:40:20 #2 192.0.2.1 started: UDP, 1 stream, to server, iperf 2.2.1",
            "12:40:20 #1 192.0.2.1 done: 939 Mbit/s received, 5.01 s, limited by network",
            "12:40:20 #3 198.51.100.4 started: TCP, 1 stream, from server, iperf3",
            "12:40:20 #2 192.0.2.1 done: 99.8 Mbit/s received, 5.00 s, 0.195 % lost",
            "12:40:20 #3 198.51.100.4 done: 941 Mbit/s sent, 10.0 s, 412 retransmissions",
            "12:40:20 203.0.113.9 refused: not a test [client-refused]",
        ])
    );
    assert_eq!(out.stderr, "");
    assert!(
        out.stdout.lines().all(|line| line.len() <= 80),
        "{}",
        out.stdout
    );
}

#[test]
fn without_a_clock_and_quiet_there_are_ends_and_refusals() {
    let quiet = Style {
        amount: Amount::Quiet,
        ..Style::default()
    };
    let out = rendered(log(quiet), &busy());
    let lines: Vec<&str> = out.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("#1 192.0.2.1 done: "), "{lines:?}");
    assert!(lines[3].starts_with("203.0.113.9 refused: "), "{lines:?}");
}

#[test]
fn a_banner_names_what_clients_type() {
    let own = [banner(Tcp, 7000, 1), banner(Udp, 7000, 0)];
    let said = |events: &[Event]| rendered(log(Style::default()), events).stdout;
    assert_eq!(
        said(&own),
        text(&[
            "Listening on port 7000, TCP and UDP, IPv4 and IPv6 (Ctrl-C stops)",
            "For clients: tapeline -c HOST -p 7000, iperf -c HOST -p 7000, iperf3 -c HOST -p 7000",
        ])
    );
    let udp = Event::Listening(ServerBanner {
        bound: Some("192.0.2.7".parse().expect("an address")),
        ..ServerBanner::new(Udp, 5001)
    });
    assert_eq!(
        said(&[udp]),
        text(&[
            "Listening on port 5001 of 192.0.2.7, UDP (Ctrl-C stops)",
            "For clients: tapeline -c HOST -u, iperf -c HOST -u",
        ])
    );
}

#[test]
fn five_clients_that_overlap_have_five_ends_with_their_own_rates() {
    let ids = 1..=5;
    let mut events = vec![banner(Tcp, 5001, 0)];
    events.extend(
        ids.clone()
            .map(|id| Event::Connected(line(id, id, "192.0.2.1", Tcp))),
    );
    for id in ids {
        let bytes = u64::from(id) * 1_250_000;
        events.push(whole(id, "192.0.2.1", 1000, bytes, tcp_receive(9)));
        events.push(over(id));
    }
    events.push(Event::Idle);
    let out = rendered(log(Style::default()), &events);
    for (id, rate) in (1..=5).zip(["10.0", "20.0", "30.0", "40.0", "50.0"]) {
        let done = format!("#{id} 192.0.2.1 done: {rate} Mbit/s received, 1.00 s\n");
        assert_eq!(out.stdout.matches(&done).count(), 1, "{}", out.stdout);
    }
}

#[test]
fn intervals_stand_below_a_header_that_comes_again() {
    let mut events = vec![
        banner(Tcp, 5001, 0),
        Event::Connected(line(1, 1, "192.0.2.1", Tcp)),
    ];
    for second in 0..25 {
        let span = (second * 1000, second * 1000 + 1000);
        let interval = row(Subject::Flow(tag(1)), span, 1_250_000, tcp_receive(9));
        events.push(Event::Row(interval));
    }
    let out = rendered(log(Style::default()), &events);
    let header = "test    direction      seconds   Mbit/s  retrans    lost  loss %  jitter ms";
    let lines: Vec<&str> = out.stdout.lines().skip(3).collect();
    assert_eq!((lines[0], lines[21]), (header, header), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| **line == header).count(), 2);
    assert_eq!(
        lines[1],
        "  #1    to server    0.00-1.00     10.0        -       -       -          -"
    );
}

#[test]
fn an_interval_of_several_flows_is_one_row() {
    let flows = |id| Connected {
        test: Some(ClientTest {
            number: 1,
            flows: Some(2),
        }),
        ..line(id, 1, "192.0.2.1", Tcp)
    };
    let interval = |id| {
        let one = row(Subject::Flow(tag(id)), (0, 1000), 1_250_000, tcp_send(9, 2));
        Event::Row(one)
    };
    let events = [
        Event::Connected(flows(1)),
        Event::Connected(flows(2)),
        interval(1),
        interval(2),
    ];
    let out = rendered(log(Style::default()), &events);
    assert!(
        out.stdout
            .starts_with("#1 192.0.2.1 started: TCP, 2 streams, to server"),
        "{}",
        out.stdout
    );
    let row = "  #1  from server    0.00-1.00     20.0        4       -       -          -\n";
    assert!(out.stdout.contains(row), "{}", out.stdout);
}

#[test]
fn a_test_that_fails_says_why_in_its_last_line() {
    let lost = Notice::PeerVanished {
        tag: tag(1),
        silent_for: Duration::from_secs(10),
    };
    let events = [
        Event::Connected(line(1, 1, "192.0.2.1", Tcp)),
        whole(1, "192.0.2.1", 1000, 1_250_000, tcp_receive(9)),
        Event::Notice(lost),
        over(1),
        control(7, "198.51.100.4"),
        iperf3_end(7, Some("the client has terminated")),
    ];
    let out = rendered(log(Style::default()), &events);
    let lines: Vec<&str> = out.stdout.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "#1 192.0.2.1 done: 10.0 Mbit/s received, 1.00 s, nothing received for 10.0 s: peer lost, the test was ended [peer-lost]",
            "#2 198.51.100.4 failed: the client has terminated",
        ]
    );
    assert_eq!(out.stderr, "");
}

#[test]
fn warnings_name_their_test_on_standard_error() {
    let saturated = Notice::PacingMissed {
        tag: tag(1),
        wanted: 100_000_000,
        reached: 87_100_000,
    };
    let events = [
        Event::Connected(line(1, 1, "192.0.2.1", Udp)),
        Event::Notice(saturated),
        Event::Notice(Notice::LimitsReread),
    ];
    let out = rendered(log(Style::default()), &events);
    assert_eq!(
        out.stderr,
        text(&[
            "warning: #1 192.0.2.1: sent only 87.1 of the requested 100 Mbit/s [rate-not-reached]",
            "note: limits reloaded",
        ])
    );
}

#[test]
fn a_test_that_never_ends_has_one_line_however_often_it_is_judged() {
    let mut events = vec![Event::Connected(line(1, 1, "192.0.2.1", Tcp))];
    events.extend(std::iter::repeat_n(limited(1, LimitedBy::Network), 1000));
    events.push(whole(1, "192.0.2.1", 1000, 1_250_000, tcp_receive(9)));
    let out = rendered(log(Style::default()), &events);
    assert_eq!(
        out.stdout.matches("limited by").count(),
        1,
        "{}",
        out.stdout
    );
}

#[test]
fn a_tapeline_that_never_says_its_version_has_begun_when_it_connected() {
    static SECONDS: AtomicI64 = AtomicI64::new(0);
    let clock = || {
        let seconds = SECONDS.fetch_add(1, Ordering::Relaxed);
        WallTime::from_nanos(NOW.as_nanos() + seconds * 1_000_000_000)
    };
    let events = [
        Event::Connected(Connected {
            peer_is_tapeline: true,
            ..line(1, 1, "192.0.2.1", Tcp)
        }),
        Event::Connected(line(2, 2, "192.0.2.9", Tcp)),
        whole(1, "192.0.2.1", 1000, 1_250_000, tcp_receive(9)),
        over(1),
    ];
    let out = rendered(log(Style::default()).timed(clock), &events);
    let started = "12:40:20 #1 192.0.2.1 started: TCP, 1 stream, to server, tapeline\n";
    assert!(out.stdout.contains(started), "{}", out.stdout);
}

/// As on Windows.
#[test]
fn tcp_is_named_where_the_system_says_nothing_of_it() {
    let events = [Event::Connected(Connected {
        congestion: None,
        initial: None,
        ..line(1, 1, "192.0.2.1", Tcp)
    })];
    let out = rendered(log(Style::default()), &events);
    assert!(
        out.stdout.contains("started: TCP, 1 stream"),
        "{}",
        out.stdout
    );
}

#[test]
fn a_server_that_connects_back_has_streams_both_ways() {
    let both = |id| Connected {
        connects_back: true,
        test: Some(ClientTest {
            number: 1,
            flows: Some(2),
        }),
        ..line(id, 1, "192.0.2.1", Tcp)
    };
    let out = rendered(log(Style::default()), &[Event::Connected(both(1))]);
    let started = "#1 192.0.2.1 started: TCP, 1 stream, both ways, iperf 2\n";
    assert!(out.stdout.starts_with(started), "{}", out.stdout);
}

#[test]
fn requests_are_counted_and_have_no_rate() {
    let events = [
        Event::Connected(Connected {
            flavour: ConnectionFlavour::RequestResponse {
                request: 100,
                response: 200,
                hold_micros: 0,
                quickack: true,
            },
            ..line(1, 1, "192.0.2.1", Tcp)
        }),
        whole(1, "192.0.2.1", 3000, 9000, tcp_receive(30)),
        over(1),
    ];
    assert_eq!(
        rendered(log(Style::default()), &events).stdout,
        text(&[
            "#1 192.0.2.1 started: TCP, 1 stream, requests",
            "#1 192.0.2.1 done: 30 round trips, 3.00 s",
        ])
    );
}

#[test]
fn what_does_not_fit_is_left_out_of_the_last_line() {
    let mut back = tag(1);
    back.reversed = true;
    let sent = total(row(
        Subject::Flow(back),
        (0, 5000),
        2_500_000_000,
        tcp_send(9, 412),
    ));
    let events = [
        Event::Connected(Connected {
            flavour: ConnectionFlavour::FullDuplex,
            ..line(1, 1, "192.168.100.100", Tcp)
        }),
        whole(1, "192.168.100.100", 5000, 2_000_000_000, tcp_receive(9)),
        Event::Row(sent),
        limited(1, LimitedBy::ReceiverCpu),
        Event::TestOver(vec![tag(1), back]),
    ];
    let narrow = Terminal {
        width: 80,
        ..Terminal::default()
    };
    let narrow = ServerText::new(Style::default(), narrow).timed(|| NOW);
    let shown = rendered(narrow, &events).stdout;
    assert!(
        shown.ends_with(" done: 3.20 Gbit/s received, 4.00 Gbit/s sent, 5.00 s\n"),
        "{shown}"
    );
    // A file has room for all.
    let wide = rendered(log(Style::default()).timed(|| NOW), &events).stdout;
    assert!(
        wide.ends_with("5.00 s, limited by receiver's CPU, 412 retransmissions\n"),
        "{wide}"
    );
}

#[test]
fn a_version_that_comes_before_its_connection_is_kept() {
    let tapeline = |id| {
        Event::Connected(Connected {
            peer_is_tapeline: true,
            ..line(id, id, "192.0.2.1", Tcp)
        })
    };
    let events = [found(1), tapeline(1), found(2), tapeline(2)];
    let out = rendered(log(Style::default()), &events);
    assert_eq!(
        out.stdout.matches(", tapeline 0.1.0\n").count(),
        2,
        "{}",
        out.stdout
    );
}
