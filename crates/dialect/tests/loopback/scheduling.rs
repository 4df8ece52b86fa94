//! Tests that start at a time of day or after a while, and flow numbers that clients choose.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

use tapeline_base::{ExitCode, Role, Transport, WallTime};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, StartTime};
use tapeline_report::{Event, StartDelay};
use tapeline_wire::iperf2::{Amount, TcpClientHeader, TestMode, Timestamp};

use crate::harness::*;

const WAIT: Duration = Duration::from_millis(700);

fn wall() -> WallTime {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    WallTime::from_nanos(now.as_nanos() as i64)
}

fn delays(events: &[Event]) -> Vec<StartDelay> {
    let delay = |event: &Event| match event {
        Event::StartDelay(delay) => Some(*delay),
        _ => None,
    };
    events.iter().filter_map(delay).collect()
}

fn short(server: &TestServer, transport: Transport, arrangement: Arrangement) -> ClientPlan {
    ClientPlan {
        workload: ClientWorkload::Stream(arrangement),
        limit: time(300),
        ..client_plan(server.address, transport)
    }
}

fn cases() -> Vec<(Transport, Arrangement)> {
    let arrangements = [
        Arrangement::Forward,
        Arrangement::Reverse,
        Arrangement::FullDuplex,
    ];
    [Transport::Tcp, Transport::Udp]
        .into_iter()
        .flat_map(|transport| arrangements.map(|arrangement| (transport, arrangement)))
        .collect()
}

#[test]
fn traffic_starts_at_the_time_of_day_asked_for() {
    at_once(cases(), |(transport, arrangement)| {
        let what = format!("{transport:?} {arrangement:?}");
        let server = TestServer::on(V4, transport);
        let epoch = wall() + WAIT;
        let client = succeed(ClientPlan {
            start: StartTime::At(epoch),
            parallel: 2,
            ..short(&server, transport, arrangement)
        });
        assert!(wall() > epoch + Duration::from_millis(250), "{what}");
        let delays_seen = delays(&client);
        assert_eq!(delays_seen.len(), 2, "{what}");
        assert!(
            delays_seen.iter().all(|delay| delay.role == Role::Client
                && delay.start == epoch
                && delay.now < epoch)
        );
        for row in totals(&client) {
            // The waiting is no part of the test.
            assert!(row.span.start.is_zero(), "{what} {row:?}");
            assert!(row.ended > epoch, "{what} {row:?}");
            assert!(row.bytes > 0, "{what} {row:?}");
        }
        server.events.wait_for_totals(2 * directions(arrangement));
        server.stop();
    });
}

/// A client that leaves the waiting to the server, as 2.2.1 does.
#[test]
fn a_server_that_sends_waits_for_the_time_of_day() {
    let server = TestServer::on(V4, Transport::Tcp);
    let epoch = wall() + WAIT;
    let (seconds, micros) = epoch.to_wire();
    let mut order = Vec::new();
    TcpClientHeader {
        mode: TestMode::Reverse,
        amount: Amount::Bytes(1000),
        start_time: Some(Timestamp { seconds, micros }),
        epoch_start: true,
        ..TcpClientHeader::default()
    }
    .encode(&mut order);
    let mut client = TcpStream::connect(server.address).expect("connect");
    client.write_all(&order).expect("the order");
    let mut data = [0; 1000];
    client.read_exact(&mut data).expect("the data");
    assert!(wall() >= epoch);
    drop(client);
    server.events.wait_for_totals(1);
    let served = server.stop();
    let delays_seen = delays(&served);
    assert_eq!(delays_seen.len(), 1);
    assert_eq!(delays_seen[0].role, Role::Server);
    assert!(delays_seen[0].now < delays_seen[0].start);
}

#[test]
fn traffic_starts_so_long_after_the_connect_as_asked_for() {
    at_once(cases(), |(transport, arrangement)| {
        let server = TestServer::on(V4, transport);
        let began = Instant::now();
        let client = succeed(ClientPlan {
            start: StartTime::After(WAIT),
            ..short(&server, transport, arrangement)
        });
        assert!(began.elapsed() > WAIT + Duration::from_millis(250));
        assert_eq!(delays(&client).len(), 1, "{transport:?} {arrangement:?}");
        server.stop();
    });
}

#[test]
fn a_start_in_the_past_is_reported_and_takes_place_at_once() {
    let server = TestServer::on(V4, Transport::Tcp);
    let past = WallTime::from_nanos(wall().as_nanos() - 5_000_000_000);
    let client = succeed(ClientPlan {
        start: StartTime::At(past),
        ..short(&server, Transport::Tcp, Arrangement::Forward)
    });
    let delays_seen = delays(&client);
    assert_eq!(delays_seen.len(), 1);
    assert!(delays_seen[0].start < delays_seen[0].now);
    server.stop();
}

#[test]
fn an_interrupt_ends_the_waiting_on_both_ends() {
    at_once(cases(), |(transport, arrangement)| {
        let server = TestServer::on(V4, transport);
        let client = TestClient::start(ClientPlan {
            start: StartTime::At(wall() + Duration::from_secs(3000)),
            ..short(&server, transport, arrangement)
        });
        client
            .events
            .wait("the wait", |events| !delays(events).is_empty());
        client.interruption.interrupt();
        let (code, events) = client.wait();
        assert!(
            code == ExitCode::Success || !notices(&events).is_empty(),
            "{transport:?} {arrangement:?}"
        );
        server.stop();
    });
}

fn numbers(events: &[Event]) -> Vec<u32> {
    let mut numbers: Vec<u32> = totals(events)
        .iter()
        .filter_map(|row| match row.subject {
            tapeline_report::Subject::Flow(tag) => Some(tag.id.0),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn the_server_shows_the_numbers_that_the_client_gives() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let server = TestServer::on(V4, transport);
        // The server has given away some numbers already.
        succeed(client_plan(server.address, transport));
        for _ in 0..2 {
            let client = succeed(ClientPlan {
                sync_transfer_id: true,
                parallel: 3,
                ..client_plan(server.address, transport)
            });
            assert_eq!(numbers(&client), [1, 2, 3]);
        }
        server.events.wait_for_totals(7);
        let served = server.stop();
        assert_eq!(numbers(&served), [1, 1, 1, 2, 2, 3, 3], "{transport:?}");
    }
}

#[test]
fn two_clients_that_want_the_same_number_get_different_ones() {
    let server = TestServer::on(V4, Transport::Tcp);
    let plan = ClientPlan {
        sync_transfer_id: true,
        limit: time(800),
        ..client_plan(server.address, Transport::Tcp)
    };
    let first = TestClient::start(plan.clone());
    server.events.wait_for_connections(1);
    let second = TestClient::start(plan);
    for client in [first, second] {
        let (code, events) = client.wait();
        assert_eq!(code, ExitCode::Success, "{events:?}");
    }
    server.events.wait_for_totals(2);
    let numbers = numbers(&server.stop());
    assert_eq!(numbers.len(), 2);
    assert_ne!(numbers[0], numbers[1]);
}

/// Runs on a thread of its own, so that no other test is scheduled so.
#[test]
fn realtime_is_had_or_its_refusal_logged_and_the_test_runs() {
    let server = TestServer::on(V4, Transport::Tcp);
    let (_, events) = TestClient::start(ClientPlan {
        realtime: true,
        ..client_plan(server.address, Transport::Tcp)
    })
    .wait();
    assert_eq!(totals(&events).len(), 1);
    for notice in notices(&events) {
        let text = format!("{notice:?}");
        assert!(text.contains("-z") || text.contains("Saturated"), "{text}");
    }
    server.stop();
}

/// A stream whose header waited for its siblings began when it was accepted, plus the wait.
#[test]
fn a_stream_that_waited_for_its_siblings_says_so() {
    let held = Duration::from_millis(300);
    let server = TestServer::on(V4, Transport::Tcp);
    let mut message = Vec::new();
    TcpClientHeader {
        barrier_micros: Some(0),
        ..TcpClientHeader::default()
    }
    .encode(&mut message);
    let mut client = TcpStream::connect(server.address).expect("connect");
    // It says that it did not wait, but it comes late.
    std::thread::sleep(held);
    client.write_all(&message).expect("header");
    client
        .shutdown(std::net::Shutdown::Write)
        .expect("the end of the data");
    server.events.wait_for_totals(1);
    let span = totals(&server.stop())[0].span.end;
    // The server counts from its accept, which may come a moment after our connect.
    assert!(span >= held / 2, "{span:?}");
}
