//! Peers that do not keep to any protocol.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_base::Transport::Tcp;
use tapeline_dialect::{Arrangement, ClientWorkload, ServerPlan};
use tapeline_report::{Event, Notice};
use tapeline_wire::iperf2::{Bounceback, PeerVersion, TcpClientHeader, TestMode};

use crate::harness::*;

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("connect");
    stream.set_read_timeout(Some(LIMIT)).expect("timeout");
    stream
}

#[test]
fn fifty_clients_at_once() {
    let server = TestServer::on(V4, Tcp);
    let clients: Vec<_> = (0..50)
        .map(|index| {
            let mut plan = client_plan(server.address, Tcp);
            if index % 3 == 1 {
                plan.workload = ClientWorkload::Stream(Arrangement::Reverse);
            }
            TestClient::start(plan)
        })
        .collect();
    let mut all = Vec::new();
    for client in clients {
        let (code, events) = client.wait();
        assert_eq!(code, ExitCode::Success, "{events:?}");
        all.extend(events);
    }
    server.events.wait_for_totals(50);
    assert_agreement(&all, &server.stop(), 50, "50 clients");
}

#[test]
fn half_open_connections_delay_nobody() {
    // Also not a server that takes a number of tests, or one test at a time.
    let plans = [
        server_plan(V4, Tcp),
        ServerPlan {
            connections: Some(1),
            ..server_plan(V4, Tcp)
        },
        ServerPlan {
            single_client: true,
            ..server_plan(V4, Tcp)
        },
    ];
    for plan in plans {
        let counted = plan.connections.is_some();
        let server = TestServer::start(plan);
        let silent: Vec<_> = (0..20).map(|_| connect(&server)).collect();
        for (index, stream) in silent.iter().enumerate() {
            // Some say half of a word, or half of a header.
            let header = [0x40, 0x01, 0x00, 0x80, 0, 0, 0, 1];
            (&*stream).write_all(&header[..index % 8]).expect("write");
        }
        let client = succeed(client_plan(server.address, Tcp));
        server.events.wait_for_totals(1);
        let served = if counted {
            server.wait()
        } else {
            server.stop()
        };
        assert_agreement(&client, &served, 1, "beside silent peers");
    }
}

#[test]
fn garbage_is_refused_or_counted_as_payload_and_the_server_goes_on() {
    let server = TestServer::on(V4, Tcp);
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut peers = Vec::new();
    for length in 0..120_usize {
        let bytes: Vec<u8> = (0..length * 3)
            .map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as u8
            })
            .collect();
        let mut stream = connect(&server);
        // The server may close while we write.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        peers.push(stream);
    }
    for mut peer in peers {
        let mut rest = Vec::new();
        // Closed in order or reset: it is closed.
        let _ = peer.read_to_end(&mut rest);
    }
    let before = totals(&server.events.all()).len();
    succeed(client_plan(server.address, Tcp));
    server.events.wait_for_totals(before + 1);
    server.stop();
}

#[test]
fn a_peer_that_resets_ends_its_own_flow_only() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.limit = time(300);
    let other = TestClient::start(plan);
    other.events.wait_for_connections(1);
    for _ in 0..5 {
        let mut stream = connect(&server);
        let mut message = Vec::new();
        header(TestMode::Reverse).encode(&mut message);
        stream.write_all(&message).expect("header");
        let mut some = [0; 4096];
        stream.read_exact(&mut some).expect("data");
        // Closed with data unread: a reset.
        drop(stream);
    }
    let (code, events) = other.wait();
    assert_eq!(code, ExitCode::Success, "{events:?}");
    server.events.wait_for_totals(6);
    server.stop();
}

fn header(mode: TestMode) -> TcpClientHeader {
    TcpClientHeader {
        threads: 1,
        port: 5001,
        mode,
        version: Some(PeerVersion::IPERF_2_2_1),
        ..TcpClientHeader::default()
    }
}

#[test]
fn a_reply_may_be_longer_than_its_request() {
    let server = TestServer::on(V4, Tcp);
    let mut stream = connect(&server);
    let mut request = vec![0x31; 100];
    for id in 1..=3 {
        Bounceback {
            request_size: 100,
            reply_size: Some(5000),
            id,
            ..Bounceback::default()
        }
        .write(&mut request);
        stream.write_all(&request).expect("request");
        let mut reply = vec![0; 5000];
        stream.read_exact(&mut reply).expect("reply");
        let front = reply.first_chunk().expect("a header");
        assert_eq!(Bounceback::parse(front).expect("valid").id, id);
    }
    drop(stream);
    server.events.wait_for_totals(1);
    assert_eq!(totals(&server.stop())[0].bytes, 3 * 5100);
}

/// A server that takes the forward test of a dual one and reads it.
fn silent_server() -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(LIMIT)).expect("timeout");
        let mut buffer = [0; 65_536];
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    (address, thread)
}

#[test]
fn a_server_that_never_connects_back_is_waited_for_until_interrupted() {
    for arrangement in arrangements().into_iter().skip(3) {
        let (address, thread) = silent_server();
        let mut plan = client_plan(address, Tcp);
        plan.workload = ClientWorkload::Stream(arrangement);
        let client = TestClient::start(plan);
        client.events.wait_for_totals(1);
        client.interruption.interrupt();
        let (code, events) = client.wait();
        assert!(notices(&events).contains(&Notice::Interrupted), "{code:?}");
        thread.join().expect("server");
    }
}

#[test]
fn a_client_that_listens_late_is_reached() {
    let server = TestServer::on(V4, Tcp);
    let port = free_port();
    let mut order = Vec::new();
    TcpClientHeader {
        threads: 1,
        port,
        mode: TestMode::Dual,
        amount: tapeline_wire::iperf2::Amount::Bytes(1000),
        version: Some(PeerVersion::IPERF_2_2_1),
        ..TcpClientHeader::default()
    }
    .encode(&mut order);
    let mut forward = TcpStream::connect(server.address).expect("connect");
    forward.write_all(&order).expect("order");
    drop(forward);
    // By now the server has tried, and was refused.
    server.events.wait_for_totals(1);
    let options = tapeline_sys::SocketOptions {
        reuse_address: true,
        ..tapeline_sys::SocketOptions::default()
    };
    let listener = tapeline_sys::TcpListener::bind(SocketAddr::new(V4, port), &options, 1)
        .expect("listener")
        .socket;
    let wait = tapeline_sys::Wait::AtMost(LIMIT);
    assert!(listener.wait_ready(wait).expect("poll"), "not reached");
    let (back, _) = listener.accept().expect("accept").expect("the server");
    back.set_receive_timeout(Some(LIMIT)).expect("timeout");
    back.recv_exact(&mut [0; 1000]).expect("data");
    assert_eq!(back.recv(&mut [0; 1]).expect("the end"), 0);
    drop(back);
    server.events.wait_for_totals(2);
    server.stop();
}

#[test]
fn only_the_server_may_connect_back() {
    let (address, thread) = silent_server();
    let listen_port = free_port();
    let mut plan = client_plan(address, Tcp);
    plan.workload = ClientWorkload::Stream(Arrangement::Dual { listen_port });
    let client = TestClient::start(plan);
    client.events.wait("a listener", |events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Listening(_)))
    });
    // From another address of this host.
    let options = tapeline_sys::SocketOptions::default();
    let stranger = tapeline_sys::TcpConn::connect(
        SocketAddr::new(V4, listen_port),
        Some(SocketAddr::from(([127, 0, 0, 2], 0))),
        &options,
        Some(LIMIT),
    )
    .expect("connect")
    .conn;
    stranger.set_receive_timeout(Some(LIMIT)).expect("timeout");
    let _ = stranger.send(b"0123456789");
    let mut buffer = [0; 16];
    assert!(!matches!(stranger.recv(&mut buffer), Ok(1..)), "served");
    client.events.wait_for_totals(1);
    client.interruption.interrupt();
    let (_, events) = client.wait();
    assert_eq!(totals(&events).len(), 1, "the forward flow alone");
    thread.join().expect("server");
}

#[test]
fn a_server_that_never_says_its_version_does_not_hold_the_test_up() {
    // It closes instead of answering, as one that does not know the question may.
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    let thread = std::thread::spawn(move || {
        for _ in 0..4 {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut header = [0; 64];
            stream.read_exact(&mut header).expect("a header");
            stream.shutdown(Shutdown::Write).expect("shutdown");
            std::thread::spawn(move || {
                let mut rest = [0; 65_536];
                while stream.read(&mut rest).is_ok_and(|count| count > 0) {}
            });
        }
    });
    let mut plan = client_plan(address, Tcp);
    plan.peer_detect = true;
    plan.parallel = 4;
    let (code, events) = TestClient::start(plan).wait();
    assert_eq!(code, ExitCode::Success, "{events:?}");
    assert_eq!(totals(&events).len(), 4);
    thread.join().expect("server");
}

#[test]
fn a_peer_that_talks_on_after_the_end_does_not_keep_the_client() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut reader = stream.try_clone().expect("clone");
        std::thread::spawn(move || {
            let mut rest = [0; 65_536];
            while reader.read(&mut rest).is_ok_and(|count| count > 0) {}
        });
        // Ends when the client has closed.
        while (&stream).write(&[0; 1000]).is_ok() {}
    });
    let client = TestClient::start(client_plan(address, Tcp));
    client.events.wait_for_connections(1);
    std::thread::sleep(Duration::from_millis(50));
    client.interruption.interrupt();
    let (_, events) = client.wait();
    assert_eq!(totals(&events).len(), 1);
    thread.join().expect("server");
}
