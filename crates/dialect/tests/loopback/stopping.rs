//! Interrupts reach every wait.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_base::{BitRate, Pace, Transport};
use tapeline_dialect::{Arrangement, ClientPlan, ClientWorkload, Limit};
use tapeline_report::Notice;

use crate::harness::*;

/// An interrupt takes milliseconds; every other way to end takes many seconds.
const SOON: Duration = Duration::from_secs(4);

#[track_caller]
fn interrupt(client: TestClient, flows: usize) {
    let began = Instant::now();
    client.interruption.interrupt();
    let (_, events) = client.wait();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(notices(&events).contains(&Notice::Interrupted));
    assert_eq!(totals(&events).len(), flows);
}

fn endless(address: std::net::SocketAddr, transport: Transport) -> ClientPlan {
    ClientPlan {
        limit: Limit::Never,
        ..client_plan(address, transport)
    }
}

#[test]
fn senders_whose_peer_does_not_read() {
    for parallel in [1, 4, 70] {
        let listener = TcpListener::bind((V4, 0)).expect("listener");
        let mut plan = endless(listener.local_addr().expect("address"), Tcp);
        plan.parallel = parallel;
        let client = TestClient::start(plan);
        client.events.wait_for_connections(parallel);
        // Long enough for the buffers to fill in most runs; the end is the same in all.
        std::thread::sleep(Duration::from_millis(100));
        interrupt(client, parallel);
    }
}

#[test]
fn senders_that_wait_for_the_peers_close() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = client_plan(listener.local_addr().expect("address"), Tcp);
    plan.limit = bytes(1000);
    let client = TestClient::start(plan);
    client.events.wait_for_connections(1);
    std::thread::sleep(Duration::from_millis(50));
    interrupt(client, 1);
}

#[test]
fn receivers_whose_peer_does_not_send() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = endless(listener.local_addr().expect("address"), Tcp);
    plan.workload = ClientWorkload::Stream(Arrangement::Reverse);
    let client = TestClient::start(plan);
    client.events.wait_for_connections(1);
    interrupt(client, 1);
    // And over UDP.
    let socket = UdpSocket::bind((V4, 0)).expect("socket");
    let mut plan = endless(socket.local_addr().expect("address"), Udp);
    plan.workload = ClientWorkload::Stream(Arrangement::Reverse);
    let client = TestClient::start(plan);
    client.events.wait_for_connections(1);
    interrupt(client, 1);
}

#[test]
fn slow_senders_between_two_blocks() {
    for transport in [Tcp, Udp] {
        let server = TestServer::on(V4, transport);
        let mut plan = endless(server.address, transport);
        plan.pace = Some(Pace::Bits(BitRate(1000)));
        plan.length = Some(1400);
        let client = TestClient::start(plan);
        server.events.wait_for_connections(1);
        interrupt(client, 1);
        server.events.wait_for_totals(1);
        server.stop();
    }
}

#[test]
fn a_requester_without_an_answer() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = endless(listener.local_addr().expect("address"), Tcp);
    plan.workload =
        ClientWorkload::RequestResponse(tapeline_dialect::RequestResponsePlan::back_to_back(100));
    let client = TestClient::start(plan);
    client.events.wait_for_connections(1);
    interrupt(client, 1);
}

#[test]
fn a_question_for_the_version() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = endless(listener.local_addr().expect("address"), Tcp);
    plan.peer_detect = true;
    plan.parallel = 3;
    let client = TestClient::start(plan);
    listener.accept().expect("a connection");
    interrupt_any(client);
}

#[test]
fn a_final_exchange_without_an_answer() {
    let socket = UdpSocket::bind((V4, 0)).expect("socket");
    let mut plan = client_plan(socket.local_addr().expect("address"), Udp);
    plan.limit = bytes(1000);
    let client = TestClient::start(plan);
    client.events.wait_for_totals(1);
    let began = Instant::now();
    client.interruption.interrupt();
    client.wait();
    assert!(began.elapsed() < Duration::from_millis(1500));
}

/// As [`interrupt`], for tests that may not have begun.
#[track_caller]
fn interrupt_any(client: TestClient) {
    let began = Instant::now();
    client.interruption.interrupt();
    client.wait();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_server_with_running_tests() {
    for transport in [Tcp, Udp] {
        for arrangement in [
            Arrangement::Forward,
            Arrangement::Reverse,
            Arrangement::FullDuplex,
        ] {
            let server = TestServer::on(V4, transport);
            let mut plan = endless(server.address, transport);
            plan.workload = ClientWorkload::Stream(arrangement);
            let client = TestClient::start(plan);
            server.events.wait_for_connections(1);
            let began = Instant::now();
            let served = server.stop();
            assert!(began.elapsed() < SOON, "{transport:?} {arrangement:?}");
            assert_eq!(totals(&served).len(), directions(arrangement));
            client.interruption.interrupt();
            client.wait();
        }
    }
}

#[test]
fn an_idle_server() {
    for transport in [Tcp, Udp] {
        let server = TestServer::on(V4, transport);
        let began = Instant::now();
        assert!(totals(&server.stop()).is_empty());
        assert!(began.elapsed() < SOON);
    }
}
