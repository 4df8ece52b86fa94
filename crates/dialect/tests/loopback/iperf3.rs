//! iperf3 clients against a server of this crate.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tapeline_base::{ExitCode, Transport};
use tapeline_dialect::{Iperf3Client, Iperf3Server, ServedProtocols, ServedTransports, ServerPlan};
use tapeline_report::{Event, Measure, Row, SendTiming, TestEnd, TestFailure};
use tapeline_wire::iperf3::{CounterWidth, Direction, Parameters, Protocol};

use crate::harness::{TestClient, TestServer, V4, at_once, server_plan, totals};

/// A server of iperf3 clients, on one port for both transports.
pub(crate) fn serve(plan: Iperf3Server) -> TestServer {
    let port = crate::harness::free_port();
    TestServer::start(ServerPlan {
        ports: (port, port),
        transports: ServedTransports::Both,
        protocols: ServedProtocols::Both(plan),
        ..server_plan(V4, Transport::Tcp)
    })
}

pub(crate) fn plan(server: SocketAddr, parameters: Parameters) -> Iperf3Client {
    Iperf3Client {
        parameters,
        connect_timeout: None,
        iperf2_command: "iperf -c host".into(),
        ..Iperf3Client::new(&server.ip().to_string(), server.port())
    }
}

pub(crate) fn ends(events: &[Event]) -> Vec<TestEnd> {
    let end = |event: &Event| match event {
        Event::TestEnd(end) => Some((**end).clone()),
        _ => None,
    };
    events.iter().filter_map(end).collect()
}

/// Runs a test that must end in order.
#[track_caller]
pub(crate) fn succeed(plan: Iperf3Client) -> Vec<Event> {
    let shown = format!("{:?}", plan.parameters);
    let (code, events) = TestClient::start_iperf3(plan).wait();
    assert_eq!(code, ExitCode::Success, "{shown}: {events:#?}");
    events
}

/// Runs a test that must fail, and says how.
#[track_caller]
pub(crate) fn fail(plan: Iperf3Client) -> TestFailure {
    let (code, events) = TestClient::start_iperf3(plan).wait();
    assert_eq!(code, ExitCode::Failure, "{events:#?}");
    let end = ends(&events).pop().expect("an end");
    end.failure.expect("a failure")
}

pub(crate) fn of_bytes(bytes: u64) -> Parameters {
    Parameters {
        time: 0,
        bytes,
        ..Parameters::default()
    }
}

pub(crate) fn of_seconds(time: u32) -> Parameters {
    Parameters {
        time,
        ..Parameters::default()
    }
}

pub(crate) fn udp(parameters: Parameters) -> Parameters {
    Parameters {
        protocol: Protocol::Udp,
        length: Some(1000),
        rate: 8_000_000,
        ..parameters
    }
}

fn bytes(rows: &[Row], sent: bool) -> u64 {
    let of = |row: &&Row| row.endpoints.expect("a flow has addresses").local_sends == sent;
    rows.iter().filter(of).map(|row| row.bytes).sum()
}

/// Waits for the server's end of `count` tests.
pub(crate) fn served(server: &TestServer, count: usize) -> Vec<TestEnd> {
    server
        .events
        .wait("ends of tests", |events| ends(events).len() >= count);
    ends(&server.events.all())
}

/// iperf3's servers close their port for a moment after each connection, and reset those that wait.
#[test]
fn a_port_that_is_opened_anew_is_asked_again_where_the_plan_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let turned_away = |client: Iperf3Client| {
        let client = TestClient::start_iperf3(client);
        drop(listener.accept().expect("a client"));
        client
    };
    let hasty = plan(address, of_bytes(1000));
    let (code, events) = turned_away(hasty.clone()).wait();
    assert_eq!(code, ExitCode::Failure, "{events:#?}");
    let client = turned_away(Iperf3Client {
        refused_limit: Duration::from_secs(60),
        ..hasty
    });
    drop(listener);
    let ports = (address.port(), address.port());
    let _server = TestServer::start(ServerPlan {
        ports,
        transports: ServedTransports::Both,
        protocols: ServedProtocols::Both(Iperf3Server::default()),
        ..server_plan(V4, Transport::Tcp)
    });
    let (code, events) = client.wait();
    assert_eq!(code, ExitCode::Success, "{events:#?}");
    assert_eq!(ends(&events).len(), 1, "{events:#?}");
}

#[test]
fn amounts_arrive_in_full_in_every_direction_and_over_every_number_of_streams() {
    const AMOUNT: u64 = 600_000;
    let server = serve(Iperf3Server::default());
    let mut tests = 0;
    for direction in [
        Direction::Forward,
        Direction::Reverse,
        Direction::Bidirectional,
    ] {
        for parallel in [1, 3] {
            let parameters = Parameters {
                direction,
                parallel,
                // A server sends whole blocks.
                length: Some(1000),
                ..of_bytes(AMOUNT)
            };
            for parameters in [parameters.clone(), udp(parameters)] {
                tests += 1;
                let what = format!("{parameters:?}");
                let is_udp = parameters.protocol == Protocol::Udp;
                let events = succeed(plan(server.address, parameters));
                let (rows, end) = (totals(&events), ends(&events).pop().expect("an end"));
                let both = direction == Direction::Bidirectional;
                let streams = parallel as usize * if both { 2 } else { 1 };
                assert_eq!(rows.len(), streams, "{what}");
                assert_eq!(end.peer_totals.len(), streams, "{what}");
                if direction != Direction::Reverse {
                    assert_eq!(bytes(&rows, true), AMOUNT, "{what}");
                    assert_eq!(bytes(&end.peer_totals, false), AMOUNT, "{what}");
                }
                if direction != Direction::Forward {
                    assert_eq!(bytes(&rows, false), AMOUNT, "{what}");
                    // A sender that is asked to stop may have begun more, but not of an amount.
                    assert_eq!(bytes(&end.peer_totals, true), AMOUNT, "{what}");
                }
                for row in rows.iter().chain(&end.peer_totals).filter(|_| is_udp) {
                    if let Measure::UdpReceive(receive) = &row.measure {
                        assert_eq!(receive.lost, 0, "{what}");
                        assert_eq!(receive.total * 1000, row.bytes, "{what}");
                    }
                }
            }
        }
    }
    let reported = served(&server, tests);
    assert!(
        reported.iter().all(|end| end.failure.is_none()),
        "{reported:#?}"
    );
    server.stop();
}

#[test]
fn blocks_are_counted_and_wide_counters_are_understood() {
    let server = serve(Iperf3Server::default());
    let parameters = Parameters {
        blocks: 50,
        counters: CounterWidth::Wide,
        ..udp(of_bytes(0))
    };
    let events = succeed(plan(server.address, parameters));
    let end = ends(&events).pop().expect("an end");
    let Measure::UdpReceive(receive) = &end.peer_totals[0].measure else {
        panic!("{end:?}");
    };
    assert_eq!((receive.received, receive.total, receive.lost), (50, 50, 0));
    server.stop();
}

#[test]
fn an_amount_counts_after_the_omitted_time() {
    const AMOUNT: u64 = 400_000;
    let server = serve(Iperf3Server::default());
    let omitting = |direction| Parameters {
        omit: 1,
        direction,
        rate: 8_000_000,
        length: Some(1000),
        ..of_bytes(AMOUNT)
    };
    at_once(
        [
            omitting(Direction::Forward),
            omitting(Direction::Reverse),
            udp(omitting(Direction::Forward)),
        ],
        |parameters| {
            let sends = parameters.direction == Direction::Forward;
            let what = format!("{parameters:?}");
            let events = succeed(plan(server.address, parameters));
            let rows = totals(&events);
            let end = ends(&events).pop().expect("an end");
            let sent = if sends {
                bytes(&rows, true)
            } else {
                bytes(&end.peer_totals, true)
            };
            // The writes that were under way when counting began are in between: several where a late
            // sender catches up.
            assert!(sent.abs_diff(AMOUNT) <= 20_000, "{sent}: {what}");
        },
    );
    server.stop();
}

#[test]
fn a_receiver_s_time_is_the_test_s_however_slow_the_sender() {
    let server = serve(Iperf3Server::default());
    let events = succeed(plan(
        server.address,
        Parameters {
            // One block at the start, and no second one in time.
            rate: 100_000,
            direction: Direction::Reverse,
            ..of_seconds(2)
        },
    ));
    let own = &totals(&events)[0];
    assert_eq!(own.bytes, 131_072);
    assert_eq!(own.span.length(), Duration::from_secs(2));
    server.stop();
}

#[test]
fn senders_at_a_rate_report_how_they_kept_their_gaps() {
    let server = serve(Iperf3Server::default());
    // A 99th percentile takes a hundred gaps.
    let mut parameters = udp(of_bytes(150_000));
    parameters.direction = Direction::Bidirectional;
    let events = succeed(plan(server.address, parameters));
    let reported = |events: &[Event]| -> Vec<SendTiming> {
        let send_timing = events.iter().filter_map(|event| match event {
            Event::SendTiming(send_timing) => Some(*send_timing),
            _ => None,
        });
        send_timing.collect()
    };
    served(&server, 1);
    for send_timing in [reported(&events), reported(&server.stop())] {
        let [one] = &send_timing[..] else {
            panic!("{send_timing:?}");
        };
        let gaps = one.gaps.as_ref().expect("enough of them");
        assert_eq!(gaps.gap, Duration::from_millis(1));
        assert!(gaps.p50 <= gaps.p99 && gaps.p99 <= gaps.max, "{gaps:?}");
        assert!((0.0..=1.0).contains(&gaps.back_to_back), "{gaps:?}");
    }
}

#[test]
fn nothing_of_a_test_sticks_to_the_next() {
    let server = serve(Iperf3Server::default());
    let strange = Parameters {
        nodelay: true,
        window: Some(100_000),
        segment_size: Some(900),
        tos: 0x20,
        repeating_payload: true,
        server_output: true,
        skip_receive_copy: true,
        zerocopy: true,
        omit: 1,
        parallel: 2,
        title: Some("first".into()),
        ..of_seconds(1)
    };
    succeed(plan(server.address, strange));
    let events = succeed(plan(server.address, of_bytes(300_000)));
    let end = ends(&events).pop().expect("an end");
    assert!(end.peer_output.is_none());
    assert_eq!(end.peer_totals.len(), 1);
    let starts: Vec<_> = server
        .events
        .all()
        .into_iter()
        .filter_map(|event| match event {
            Event::TestStart(start) => Some(start),
            _ => None,
        })
        .collect();
    let [first, second] = &starts[..] else {
        panic!("{starts:?}");
    };
    assert_eq!(first.title.as_deref(), Some("first"));
    assert_eq!((second.title.as_deref(), second.tos), (None, 0));
    assert_eq!((second.window, second.segment_size), (0, None));
    assert_eq!(second.omit, Duration::ZERO);
    assert_ne!(first.buffers, second.buffers);
    server.stop();
}

#[test]
fn tests_at_the_same_time_have_their_own_numbers() {
    let server = serve(Iperf3Server::default());
    let tests = [
        of_bytes(1_000_000),
        of_bytes(2_000_000),
        Parameters {
            direction: Direction::Reverse,
            length: Some(1000),
            ..of_bytes(3_000_000)
        },
        // All from one address: their streams say nothing of their tests.
        udp(of_bytes(100_000)),
        udp(of_bytes(200_000)),
        udp(Parameters {
            parallel: 2,
            direction: Direction::Reverse,
            ..of_bytes(300_000)
        }),
    ];
    let count = tests.len();
    at_once(tests, |parameters| {
        let amount = parameters.bytes;
        let sends = parameters.direction == Direction::Forward;
        let events = succeed(plan(server.address, parameters));
        let end = ends(&events).pop().expect("an end");
        assert_eq!(bytes(&totals(&events), sends), amount);
        assert_eq!(bytes(&end.peer_totals, !sends), amount);
    });
    served(&server, count);
    server.stop();
}

#[test]
fn what_is_received_can_go_into_a_file_and_come_from_one() {
    let folder = std::env::temp_dir().join(format!("tapeline-iperf3-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, target) = (folder.join("source"), folder.join("target"));
    let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&source, &content).expect("a file");
    let server = serve(Iperf3Server {
        file: Some(target.clone()),
        ..Iperf3Server::default()
    });
    // The file is the amount: it ends long before the time.
    let client = Iperf3Client {
        file: Some(source),
        ..plan(server.address, of_seconds(20))
    };
    let events = succeed(client);
    assert_eq!(bytes(&totals(&events), true), content.len() as u64);
    served(&server, 1);
    server.stop();
    assert!(std::fs::read(&target).expect("the target") == content);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn either_end_judges_a_test_before_its_end_and_is_idle_behind_it() {
    let server = serve(Iperf3Server::default());
    let client = succeed(plan(
        server.address,
        Parameters {
            client_version: Some("3.99\u{1b}[2J".into()),
            ..of_bytes(600_000)
        },
    ));
    let idle = |event: &Event| matches!(event, Event::Idle);
    server
        .events
        .wait("an end", |events| events.iter().any(idle));
    let server = server.stop();
    for events in [&client, &server] {
        let place = |what: fn(&Event) -> bool| events.iter().position(what).expect("told");
        let judged = place(|event| matches!(event, Event::LimitVerdict(_)));
        let end = place(|event| matches!(event, Event::TestEnd(_)));
        let idle = place(|event| matches!(event, Event::Idle));
        assert!(judged < end && end < idle, "{events:#?}");
    }
    let versions = server.iter().filter_map(|event| match event {
        Event::Connected(line) => line.peer_version.as_deref(),
        _ => None,
    });
    // What a client says of itself is fit to be shown.
    assert_eq!(versions.collect::<Vec<_>>(), ["3.99[2J"]);
}

#[test]
fn a_tapeline_at_either_end_is_named_to_one_that_says_it_is_one() {
    let server = serve(Iperf3Server::default());
    let own = env!("CARGO_PKG_VERSION");
    for (said, client_reads, server_reads) in [
        (None, None, None),
        (Some("9.9\u{1b}"), Some(own), Some("9.9")),
    ] {
        let events = succeed(plan(
            server.address,
            Parameters {
                tapeline: said.map(str::to_owned),
                ..of_bytes(600_000)
            },
        ));
        let named = |events: &[Event]| ends(events).pop().expect("an end").peer_tapeline;
        assert_eq!(named(&events).as_deref(), client_reads);
        let tests = if said.is_none() { 1 } else { 2 };
        let over = |events: &[Event]| ends(events).len() == tests;
        server.events.wait("an end", over);
        let reported = named(&server.events.all());
        assert_eq!(reported.as_deref(), server_reads);
    }
    server.stop();
}
