//! The iperf3 client against servers of raw sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;

use tapeline_base::ExitCode;
use tapeline_report::Measure;
use tapeline_wire::iperf3::{CONNECT, ErrorCode, Results, StreamResults};

use crate::harness::{LIMIT, TestClient, V4, notices, totals};
use crate::iperf3::{ends, fail, of_bytes, plan, succeed, udp};

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
fn a_lost_answer_and_losses_at_the_end_are_told_as_they_are() {
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
        control.write_all(&[13]).expect("room");
        let theirs = Results::parse(&message(&mut control)).expect("results");
        assert_eq!(theirs.streams[0].packets, SENT);
        // Two of them are missing in between; of those behind the highest it knows nothing.
        let ours = Results {
            streams: vec![StreamResults {
                packets: HIGHEST,
                errors: 2,
                bytes: 13_000,
                ..theirs.streams[0]
            }],
            ..theirs
        };
        let mut answer = Vec::new();
        ours.encode(&mut answer);
        answer.push(14);
        control.write_all(&answer).expect("room");
        assert_eq!(read(&mut control), [16]);
        // The client has nothing more to say, and waits for the close.
        assert_eq!(control.read(&mut [0]).expect("a close in order"), 0);
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
