//! The iperf3 client against servers of raw sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;

use tapeline_base::ExitCode;
use tapeline_dialect::{Iperf3Client, Iperf3Timeouts};
use tapeline_report::{Event, Measure};
use tapeline_wire::iperf3::{
    CONNECT, CONNECT_REPLY, Direction, ErrorCode, Parameters, Results, StreamResults,
};

use crate::harness::{LIMIT, TestClient, V4, notices, totals};
use crate::iperf3::{ends, fail, of_bytes, of_seconds, plan, succeed, udp};

/// A server that does what `serve` does with its one control connection, whose cookie and
/// parameters have been read.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpStream, UdpSocket) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((V4, crate::harness::free_port())).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let socket = UdpSocket::bind(address).expect("the same port");
    socket.set_read_timeout(Some(LIMIT)).expect("a timeout");
    let thread = std::thread::spawn(move || {
        let (mut control, _) = listener.accept().expect("a client");
        control.set_read_timeout(Some(LIMIT)).expect("a timeout");
        let _: [u8; 37] = read(&mut control);
        control.write_all(&[9]).expect("room");
        message(&mut control);
        serve(control, socket)
    });
    (address, thread)
}

fn read<const N: usize>(conn: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    conn.read_exact(&mut bytes).expect("bytes");
    bytes
}

fn message(conn: &mut TcpStream) -> Vec<u8> {
    let mut json = vec![0; u32::from_be_bytes(read(conn)) as usize];
    conn.read_exact(&mut json).expect("a message");
    json
}

#[test]
fn a_lost_answer_and_losses_at_the_end_are_reported_as_they_are() {
    const SENT: i64 = 20;
    const HIGHEST: i64 = 15;
    let (address, thread) = server(|mut control, socket| {
        control.write_all(&[10]).expect("room");
        let mut datagram = [0; 2000];
        let (length, _) = socket.recv_from(&mut datagram).expect("a connect message");
        assert_eq!(datagram[..length], CONNECT);
        // No answer: the start says that the stream is there.
        control.write_all(&[1, 2]).expect("room");
        assert_eq!(read(&mut control), [4]);
        exchange_results(&mut control, |theirs| {
            assert_eq!(theirs.packets, SENT);
            // Two of them are missing in between; of those behind the highest it knows nothing.
            StreamResults {
                packets: HIGHEST,
                errors: 2,
                bytes: 13_000,
                ..theirs
            }
        });
    });
    let events = succeed(plan(address, udp(of_bytes(20_000))));
    thread.join().expect("the server");
    let end = ends(&events).pop().expect("an end");
    let Measure::UdpReceive(receive) = &end.peer_totals[0].measure else {
        panic!("{end:?}");
    };
    let numbers = (receive.total, receive.received, receive.lost);
    assert_eq!(numbers, (20, 13, 7));
    assert_eq!(totals(&events)[0].bytes, 20_000);
    assert!(notices(&events).is_empty(), "{:?}", notices(&events));
}

/// Takes the client's results, answers with those that `ours` makes of its only stream, and sees the
/// client end in order.
fn exchange_results(control: &mut TcpStream, ours: impl FnOnce(StreamResults) -> StreamResults) {
    control.write_all(&[13]).expect("room");
    let theirs = Results::parse(&message(control)).expect("results");
    let ours = Results {
        streams: vec![ours(theirs.streams[0])],
        ..theirs
    };
    let mut answer = Vec::new();
    ours.encode(&mut answer);
    answer.push(14);
    control.write_all(&answer).expect("room");
    assert_eq!(read(control), [16]);
    // The client has nothing more to say, and waits for the close.
    assert_eq!(control.read(&mut [0]).expect("a close in order"), 0);
}

/// A datagram of a stream.
fn datagram(number: u32) -> Vec<u8> {
    let mut bytes = vec![0; 1000];
    bytes[8..12].copy_from_slice(&number.to_be_bytes());
    bytes
}

#[test]
fn losses_behind_the_last_datagram_are_seen_by_a_receiving_client() {
    const SENT: i64 = 15;
    for (after_the_end, lost) in [(None, 5), (Some(13), 2), (Some(11), 0)] {
        let (address, thread) = server(move |mut control, socket| {
            control.write_all(&[10]).expect("room");
            let (_, client) = socket.recv_from(&mut [0; 100]).expect("a connect message");
            socket.send_to(&CONNECT_REPLY, client).expect("room");
            control.write_all(&[1, 2]).expect("room");
            let send = |number| socket.send_to(&datagram(number), client).expect("room");
            for number in 1..=10 {
                send(number);
            }
            assert_eq!(read(&mut control), [4]);
            after_the_end.map(send);
            exchange_results(&mut control, |theirs| {
                assert_eq!(theirs.packets, 10);
                StreamResults {
                    packets: SENT,
                    errors: 0,
                    ..theirs
                }
            });
        });
        let events = succeed(plan(
            address,
            udp(Parameters {
                direction: Direction::Reverse,
                ..of_seconds(1)
            }),
        ));
        thread.join().expect("the server");
        let end = ends(&events).pop().expect("an end");
        let behind: u64 = end.lost_behind.iter().map(|(_, lost)| lost).sum();
        assert_eq!(behind, lost, "{after_the_end:?}");
    }
}

#[test]
fn who_is_no_iperf3_server_is_recognised_in_time() {
    let silent = Iperf3Timeouts {
        answer: std::time::Duration::from_millis(100),
        ..Iperf3Timeouts::default()
    };
    type Says = fn(TcpStream);
    let servers: [(Says, Iperf3Timeouts); 4] = [
        (drop, Iperf3Timeouts::default()),
        // The acknowledgement of iperf 2, and a web server.
        (
            |mut conn| conn.write_all(&[0, 0, 0, 8, 0, 0, 0, 28]).expect("room"),
            Iperf3Timeouts::default(),
        ),
        (
            |mut conn| conn.write_all(b"HTTP/1.1 400").expect("room"),
            Iperf3Timeouts::default(),
        ),
        (
            |mut conn| {
                // Until the client gives up.
                while conn.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
            },
            silent,
        ),
    ];
    for (says, timeouts) in servers {
        let listener = TcpListener::bind((V4, 0)).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let thread = std::thread::spawn(move || {
            let (mut conn, _) = listener.accept().expect("a client");
            let _: [u8; 37] = read(&mut conn);
            says(conn);
        });
        let failure = fail(Iperf3Client {
            timeouts,
            ..plan(address, of_bytes(1000))
        });
        let advice = "; if the server is one of iperf 2, use: iperf -c host";
        assert!(failure.text.ends_with(advice), "{failure:?}");
        thread.join().expect("the server");
    }
    // One that has answered is iperf3's.
    let (address, thread) = server(|control, _| drop(control));
    let failure = fail(plan(address, of_bytes(1000)));
    assert_eq!(failure.code, ErrorCode::CONTROL_CLOSED.0);
    assert!(!failure.text.contains("iperf 2"), "{failure:?}");
    thread.join().expect("the server");
}

#[test]
fn what_servers_say_at_any_time_ends_the_test_with_their_reason() {
    let expired = [&[0xfe][..], &160_u32.to_be_bytes(), &[0; 4]].concat();
    let half = [&[0xfe][..], &142_u32.to_be_bytes()].concat();
    for (bytes, code) in [
        (vec![0xff], ErrorCode::ACCESS_DENIED),
        (vec![11], ErrorCode::SERVER_TERMINATED),
        (expired, ErrorCode::TEST_EXPIRED),
        // Older servers close behind the first half.
        (half, ErrorCode::AUTHENTICATION),
        (Vec::new(), ErrorCode::CONTROL_CLOSED),
        (vec![99], ErrorCode::UNKNOWN_MESSAGE),
    ] {
        for streams_first in [false, true] {
            let bytes = bytes.clone();
            let (address, thread) = server(move |mut control, socket| {
                if streams_first {
                    // The client awaits the answer of its stream.
                    control.write_all(&[10]).expect("room");
                    socket.recv_from(&mut [0; 100]).expect("a connect message");
                }
                control.write_all(&bytes).expect("room");
            });
            let failure = fail(plan(address, udp(of_bytes(20_000))));
            assert_eq!(failure.code, code.0, "{failure:?}");
            thread.join().expect("the server");
        }
    }
}

/// A server that says `bytes` and resets the connection, since it has not read all of the cookie.
fn resets(bytes: Vec<u8>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind((V4, 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (mut conn, _) = listener.accept().expect("a client");
        let _: [u8; 36] = read(&mut conn);
        conn.write_all(&bytes).expect("room");
    });
    (address, thread)
}

#[test]
fn what_a_server_sends_before_it_resets_the_connection_is_read() {
    const CANNOT_READ: ErrorCode = ErrorCode(108);
    let refused = [&[9, 0xfe][..], &111_u32.to_be_bytes(), &[0; 4]].concat();
    for (bytes, code, asked) in [
        (vec![0xff], ErrorCode::ACCESS_DENIED, false),
        (refused, ErrorCode(111), true),
        (Vec::new(), CANNOT_READ, false),
    ] {
        // The reset may come a moment later.
        for _ in 0..20 {
            let (address, thread) = resets(bytes.clone());
            let client = TestClient::start_iperf3(plan(address, of_bytes(1000)));
            let (_, events) = client.wait();
            let failure = ends(&events).pop().and_then(|end| end.failure);
            assert_eq!(failure.map(|failure| failure.code), Some(code.0));
            let greeted = |event: &Event| matches!(event, Event::ControlConnected(_));
            assert_eq!(events.iter().any(greeted), asked, "as 3.22 does: {bytes:?}");
            thread.join().expect("the server");
        }
    }
}

#[test]
fn an_interrupted_client_says_so_while_it_waits_for_a_stream() {
    let (asked, wait) = std::sync::mpsc::channel();
    let (address, thread) = server(move |mut control, socket| {
        control.write_all(&[10]).expect("room");
        socket.recv_from(&mut [0; 100]).expect("a connect message");
        asked.send(()).expect("a listener");
        (read(&mut control), socket)
    });
    let client = TestClient::start_iperf3(plan(address, udp(of_bytes(20_000))));
    wait.recv_timeout(LIMIT).expect("a connect message");
    client.interruption.interrupt();
    let (code, events) = client.wait();
    assert_eq!(code, ExitCode::Success);
    let failure = ends(&events).pop().and_then(|end| end.failure);
    assert!(failure.expect("a reason").interrupted);
    let (word, _socket) = thread.join().expect("the server");
    assert_eq!(word, [12]);
}
