//! What foreign clients are granted: amounts, rates, blocks, ports, answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_base::{BitRate, Bytes};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, Iperf3Server, Limits, Networks, ServedProtocols,
    ServedTransports, ServerPlan,
};
use tapeline_report::{Event, Notice};
use tapeline_wire::iperf2::{Amount, Bounceback, PeerVersion, TcpClientHeader, TestMode};
use tapeline_wire::iperf3::{ErrorCode, Parameters};

use crate::harness::*;
use crate::iperf3::{fail, of_bytes, of_seconds, plan, succeed as succeed_iperf3, udp};

/// Bytes of a read or write that may be under way when a limit is reached.
const BLOCK: u64 = 1 << 20;
const RATE: BitRate = BitRate(40_000_000);

const ON_ONE_CONNECTION: [Arrangement; 3] = [
    Arrangement::Forward,
    Arrangement::Reverse,
    Arrangement::FullDuplex,
];

/// Bytes that a flow may have moved since then.
fn granted_since(began: Instant) -> u64 {
    (RATE.0 as f64 / 8.0 * began.elapsed().as_secs_f64()) as u64 + BLOCK
}

/// A server to which this host is as foreign as any.
fn public(limits: Limits) -> ServerPlan {
    ServerPlan {
        limits: Limits {
            trusted: Networks::none(),
            ..limits
        },
        ..server_plan(V4, Tcp)
    }
}

/// The same for datagrams, or for iperf3's clients.
fn datagrams(limits: Limits) -> ServerPlan {
    ServerPlan {
        transports: ServedTransports::Udp,
        ..public(limits)
    }
}

fn of_iperf3(limits: Limits) -> ServerPlan {
    let port = free_port();
    ServerPlan {
        ports: (port, port),
        transports: ServedTransports::Both,
        protocols: ServedProtocols::Iperf3(Iperf3Server::default()),
        ..public(limits)
    }
}

fn reasons(events: &[Event]) -> Vec<String> {
    let reason = |notice| match notice {
        Notice::PeerRefused { reason, .. } => Some(reason),
        _ => None,
    };
    notices(events).into_iter().filter_map(reason).collect()
}

/// Waits until a client was refused or cut for such a reason.
#[track_caller]
fn wait_for_reason(server: &TestServer, part: &str) {
    server.events.wait(part, |events| {
        reasons(events).iter().any(|reason| reason.contains(part))
    });
}

#[test]
fn a_tcp_test_has_as_many_bytes_in_each_direction_as_it_is_granted() {
    const MAX_BYTES: u64 = 4_000_000;
    at_once(ON_ONE_CONNECTION, |arrangement| {
        let server = TestServer::start(public(Limits {
            bytes: Some(Bytes(MAX_BYTES)),
            ..Limits::default()
        }));
        let client = TestClient::start(ClientPlan {
            workload: ClientWorkload::Stream(arrangement),
            limit: time(20_000),
            parallel: 2,
            ..client_plan(server.address, Tcp)
        });
        server.events.wait_for_totals(2 * directions(arrangement));
        client.interruption.interrupt();
        let _ = client.wait();
        for row in totals(&server.stop()) {
            let share = MAX_BYTES / 2;
            assert!(
                (share..share + BLOCK).contains(&row.bytes),
                "{arrangement:?}: {row:?}"
            );
        }
    });
}

#[test]
fn a_tcp_test_is_not_faster_than_it_is_granted() {
    at_once(ON_ONE_CONNECTION, |arrangement| {
        let server = TestServer::start(public(Limits {
            rate: Some(RATE),
            ..Limits::default()
        }));
        let began = Instant::now();
        let client = TestClient::start(ClientPlan {
            workload: ClientWorkload::Stream(arrangement),
            limit: time(1000),
            ..client_plan(server.address, Tcp)
        });
        let _ = client.wait();
        let flows = directions(arrangement);
        server.events.wait_for_totals(flows);
        let max = granted_since(began);
        let rows = totals(&server.stop());
        assert_eq!(rows.len(), flows);
        for row in rows {
            assert!((1..=max).contains(&row.bytes), "{arrangement:?}: {row:?}");
        }
    });
}

#[test]
fn a_udp_flow_that_has_had_what_it_is_granted_is_cut() {
    let limits = Limits::default();
    at_once(
        [
            Limits {
                bytes: Some(Bytes(20_000)),
                ..limits.clone()
            },
            Limits {
                rate: Some(BitRate(100_000)),
                ..limits.clone()
            },
            Limits {
                longest: Duration::from_millis(200),
                ..limits
            },
        ],
        |limits| {
            let server = TestServer::start(datagrams(limits));
            let client = TestClient::start(ClientPlan {
                limit: time(20_000),
                ..client_plan(server.address, Udp)
            });
            wait_for_reason(&server, "cut: ");
            server.events.wait_for_totals(1);
            client.interruption.interrupt();
            let _ = client.wait();
            assert_eq!(
                totals(&server.stop()).len(),
                1,
                "what came behind is no new flow"
            );
        },
    );
}

#[test]
fn clients_within_their_grant_are_served_as_any() {
    let limits = Limits {
        bytes: Some(Bytes(1_000_000)),
        rate: Some(BitRate(100_000_000)),
        ..Limits::default()
    };
    for (transport, server) in [(Tcp, public(limits.clone())), (Udp, datagrams(limits))] {
        let server = TestServer::start(server);
        let client = succeed(client_plan(server.address, transport));
        server.events.wait_for_totals(1);
        let served = server.stop();
        assert_agreement(&client, &served, 1, "within the grant");
        assert!(reasons(&served).is_empty(), "{:?}", reasons(&served));
    }
}

fn order(mode: TestMode, port: u16, buffer_length: u32) -> Vec<u8> {
    let mut order = Vec::new();
    TcpClientHeader {
        threads: 1,
        port,
        mode,
        amount: Amount::Bytes(1000),
        buffer_length: Some(buffer_length),
        version: Some(PeerVersion::IPERF_2_2_1),
        ..TcpClientHeader::default()
    }
    .encode(&mut order);
    order
}

fn exchange(size: u32) -> Vec<u8> {
    let mut request = vec![0x31; 100];
    Bounceback {
        request_size: 100,
        reply_size: Some(size),
        id: 1,
        ..Bounceback::default()
    }
    .write(&mut request);
    request
}

#[test]
fn orders_of_long_blocks_and_low_ports_are_refused() {
    let limits = Limits {
        block: 8192,
        ..Limits::default()
    };
    let server = TestServer::start(public(limits.clone()));
    for (order, reason) in [
        (
            order(TestMode::Reverse, 5001, 8193),
            "blocks of 8193 bytes, of 8192 at most",
        ),
        (
            order(TestMode::Normal, 5001, 1 << 20),
            "blocks of 1048576 bytes, of 8192 at most",
        ),
        (exchange(9000), "blocks of 9000 bytes, of 8192 at most"),
        (
            order(TestMode::Dual, 1023, 8192),
            "a connection to its port 1023, below 1024",
        ),
        (
            order(TestMode::Tradeoff, 22, 8192),
            "a connection to its port 22, below 1024",
        ),
    ] {
        let mut conn = TcpStream::connect(server.address).expect("a connection");
        conn.set_read_timeout(Some(LIMIT)).expect("a timeout");
        conn.write_all(&order).expect("an order");
        let mut answer = Vec::new();
        // Closed in order or reset: it is closed, and nothing was sent.
        let _ = conn.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{reason}: {} bytes", answer.len());
        wait_for_reason(&server, reason);
    }
    let served = server.stop();
    assert!(totals(&served).is_empty());

    // Who is trusted may.
    let server = TestServer::start(ServerPlan {
        limits,
        ..server_plan(V4, Tcp)
    });
    let mut conn = TcpStream::connect(server.address).expect("a connection");
    conn.set_read_timeout(Some(LIMIT)).expect("a timeout");
    let order = order(TestMode::Reverse, 5001, 8193);
    conn.write_all(&order).expect("an order");
    conn.read_exact(&mut [0; 1000]).expect("what was ordered");
    drop(conn);
    server.events.wait_for_totals(1);
    assert!(reasons(&server.stop()).is_empty());
}

#[test]
fn iperf3_clients_are_answered_that_they_ask_for_too_much() {
    let server = TestServer::start(of_iperf3(Limits {
        bytes: Some(Bytes(50_000_000)),
        rate: Some(RATE),
        block: 65_536,
        ..Limits::default()
    }));
    let fast = |rate| Parameters {
        rate,
        parallel: 2,
        ..of_seconds(1)
    };
    let long = |parameters, length| Parameters {
        length: Some(length),
        ..parameters
    };
    for (parameters, code) in [
        (long(of_bytes(50_000_001), 16_384), ErrorCode::ACCESS_DENIED),
        (long(fast(RATE.0 / 2 + 1), 16_384), ErrorCode::RATE_LIMIT),
        (long(of_seconds(1), 65_537), ErrorCode::LENGTH),
    ] {
        let failure = fail(plan(server.address, parameters));
        assert_eq!(failure.code, code.0, "{failure:?}");
    }
    wait_for_reason(&server, "it asks for 50000001 bytes, of 50000000 at most");

    // Who asks for no rate has the one that is granted, in both directions.
    let before = totals(&server.events.all()).len();
    let began = Instant::now();
    let parameters = Parameters {
        direction: tapeline_wire::iperf3::Direction::Bidirectional,
        ..long(of_seconds(1), 16_384)
    };
    succeed_iperf3(plan(server.address, parameters));
    server.events.wait_for_totals(before + 2);
    let max = granted_since(began);
    for row in &totals(&server.stop())[before..] {
        assert!((1..=max).contains(&row.bytes), "{row:?}");
    }
}

#[test]
fn an_iperf3_test_that_goes_beyond_its_grant_is_ended_with_a_reason() {
    let server = TestServer::start(of_iperf3(Limits {
        bytes: Some(Bytes(100_000)),
        ..Limits::default()
    }));
    let fast = Parameters {
        rate: 10_000_000,
        ..udp(of_seconds(20))
    };
    let reverse = |parameters| Parameters {
        direction: tapeline_wire::iperf3::Direction::Reverse,
        ..parameters
    };
    let orders = [
        of_seconds(20),
        reverse(of_seconds(20)),
        reverse(fast.clone()),
        fast,
    ];
    for parameters in orders {
        let parameters = Parameters {
            length: Some(1000),
            ..parameters
        };
        let failure = fail(plan(server.address, parameters));
        let reason = (failure.code, failure.by_peer);
        assert_eq!(reason, (ErrorCode::TEST_EXPIRED.0, true));
    }
    // What comes over UDP is counted when it is there; all else stops at once.
    let all = totals(&server.stop());
    assert_eq!(all.len(), 4, "{all:?}");
    for row in &all[..3] {
        assert!((100_000..=103_000).contains(&row.bytes), "{row:?}");
    }
}

#[test]
fn answers_to_unverified_sources_have_a_rate_of_their_own() {
    for (rate, answered) in [(BitRate(10_000_000), true), (BitRate(0), false)] {
        let server = TestServer::start(datagrams(Limits {
            unverified_rate: rate,
            ..Limits::default()
        }));
        let (_, events) = TestClient::start(client_plan(server.address, Udp)).wait();
        let missed = |notice: &Notice| matches!(notice, Notice::NoServerReport { .. });
        assert_eq!(!notices(&events).iter().any(missed), answered, "{rate:?}");
        server.stop();
    }
}
