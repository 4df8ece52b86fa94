//! Servers that end by themselves, and those that take turns.

use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_base::Transport::{Tcp, Udp};
use tapeline_dialect::{ClientWorkload, ServedTransports, ServerPlan};
use tapeline_report::Event;

use crate::harness::*;

#[test]
fn a_server_ends_after_the_number_of_tests_asked_for() {
    for transport in [Tcp, Udp] {
        at_once(arrangements(), |arrangement| {
            let server = TestServer::start(ServerPlan {
                connections: Some(2),
                ..server_plan(V4, transport)
            });
            let mut plan = client_plan(server.address, transport);
            plan.workload = ClientWorkload::Stream(arrangement);
            plan.parallel = 2;
            let client = succeed(plan);
            let served = server.wait();
            let flows = 2 * directions(arrangement);
            assert_agreement(&client, &served, flows, &format!("{arrangement:?}"));
        });
    }
}

#[test]
fn connections_that_say_nothing_are_no_tests() {
    let server = TestServer::start(ServerPlan {
        connections: Some(1),
        ..server_plan(V4, Tcp)
    });
    for _ in 0..3 {
        drop(std::net::TcpStream::connect(server.address).expect("connect"));
    }
    let client = succeed(client_plan(server.address, Tcp));
    assert_agreement(&client, &server.wait(), 1, "-P 1");
}

#[test]
fn no_more_tests_than_asked_for_even_when_they_come_together() {
    let server = TestServer::start(ServerPlan {
        connections: Some(1),
        ..server_plan(V4, Tcp)
    });
    let clients: Vec<_> = (0..5)
        .map(|_| TestClient::start(client_plan(server.address, Tcp)))
        .collect();
    let served = server.wait();
    assert_eq!(totals(&served).len(), 1);
    let codes = clients.into_iter().map(|client| client.wait().0);
    let successes = codes.filter(|code| *code == ExitCode::Success).count();
    assert!(successes >= 1, "the one that was served");
}

#[test]
fn one_test_at_a_time_serves_all_that_wait() {
    let server = TestServer::start(ServerPlan {
        single_client: true,
        ..server_plan(V4, Tcp)
    });
    let clients: Vec<_> = (0..6)
        .map(|_| TestClient::start(client_plan(server.address, Tcp)))
        .collect();
    for client in clients {
        let (code, events) = client.wait();
        assert_eq!(code, ExitCode::Success, "{events:?}");
    }
    server.events.wait_for_totals(6);
    let mut running = 0_u32;
    for event in server.stop() {
        match event {
            Event::Connected(_) => {
                running += 1;
                assert_eq!(running, 1, "two at a time");
            }
            Event::Row(_) => running = 0,
            _ => {}
        }
    }
}

#[test]
fn a_server_with_a_time_ends_when_it_is_over() {
    for transport in [Tcp, Udp] {
        let server = TestServer::start(ServerPlan {
            time: Some(Duration::from_millis(200)),
            ..server_plan(V4, transport)
        });
        // Longer than the server serves: its end is the server's.
        let mut plan = client_plan(server.address, transport);
        plan.limit = time(600);
        let client = TestClient::start(plan);
        server.events.wait_for_connections(1);
        let served = server.wait();
        let rows = totals(&served);
        assert_eq!(rows.len(), 1);
        assert!(rows[0].span.end >= Duration::from_millis(100), "{rows:#?}");
        client.interruption.interrupt();
        client.wait();
    }
}

#[test]
fn both_transports_share_a_port() {
    let server = TestServer::start(ServerPlan {
        transports: ServedTransports::Both,
        ..server_plan(V4, Tcp)
    });
    for transport in [Tcp, Udp] {
        succeed(client_plan(server.address, transport));
    }
    server.events.wait_for_totals(2);
    server.stop();
}

#[test]
fn a_server_for_one_host_serves_nobody_else() {
    let server = TestServer::start(ServerPlan {
        only_from: Some("127.0.0.9".parse().expect("address")),
        ..server_plan(V4, Tcp)
    });
    let mut plan = client_plan(server.address, Tcp);
    plan.limit = bytes(10_000_000);
    let (code, _) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Failure);
    assert!(totals(&server.stop()).is_empty());
}
