//! Peers from before the extended headers, by the bytes that they send: 1.7 and 2.0.5, 2.0.13.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_dialect::ClientPlan;
use tapeline_report::{Event, Measure, Row};

use crate::harness::*;

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("hex"))
        .collect()
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("connect");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    stream
}

/// The base header of 2.0.5: flags, one stream, port, length 1024, window, amount.
fn base_header(flags: u32, port: u16, amount: i32) -> Vec<u8> {
    let words = [flags, 1, u32::from(port), 1024, 0, amount as u32];
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn the_base_header_of_a_plain_tcp_test_is_data() {
    let server = TestServer::on(V4, Tcp);
    let mut client = connect(&server);
    client
        .write_all(&base_header(0, 5001, 20_480))
        .expect("header");
    client.write_all(&[b'7'; 20_480]).expect("data");
    client.shutdown(Shutdown::Write).expect("end");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the server's end");
    assert!(answer.is_empty(), "it would not read an acknowledgement");
    server.events.wait_for_totals(1);
    assert_eq!(totals(&server.stop())[0].bytes, 24 + 20_480);
}

#[test]
fn the_version_question_of_2_0_13_is_answered() {
    let server = TestServer::on(V4, Tcp);
    let mut client = connect(&server);
    // 60 bytes without a length in the flag word, the base header left unset.
    let header = bytes_of(
        "40000000 34353637 38393031 32333435 36373839 30313233 00000001 0000001c 00000000
         00020000 000d0000 00000000 00003839 30313233 34353637 3839",
    );
    client.write_all(&header).expect("header");
    client.write_all(&[b'7'; 4096]).expect("data");
    let mut ack = [0; 28];
    client.read_exact(&mut ack).expect("an acknowledgement");
    assert_eq!(ack[..8], [0, 0, 0, 2, 0, 0, 0, 28]);
    client.shutdown(Shutdown::Write).expect("end");
    server.events.wait_for_totals(1);
    let bytes = totals(&server.stop())[0].bytes;
    assert_eq!(bytes, header.len() as u64 + 4096);
}

#[test]
fn a_connect_back_of_2_0_5_comes_without_a_header() {
    for (flags, both) in [(0x8000_0001, true), (0x8000_0000, false)] {
        let server = TestServer::on(V4, Tcp);
        let listener = TcpListener::bind((V4, 0)).expect("listener");
        let port = listener.local_addr().expect("port").port();
        let mut client = connect(&server);
        let header = base_header(flags, port, 5000);
        client.write_all(&header).expect("header");
        client.write_all(&[b'7'; 5000]).expect("data");
        if !both {
            client.shutdown(Shutdown::Write).expect("end");
        }
        let (mut back, _) = listener.accept().expect("the connect-back");
        let mut data = Vec::new();
        back.read_to_end(&mut data).expect("data");
        assert_eq!(data.len(), 5000);
        assert!(data.starts_with(b"0123456789"), "pattern and nothing else");
        drop((back, client));
        server.events.wait_for_totals(2);
        server.stop();
    }
}

/// A 2.0.5 datagram: number from 0, time, base header at 12, 500 bytes in all.
fn datagram_12(id: i32, flags: u32, port: u16) -> Vec<u8> {
    let mut datagram = vec![b'7'; 500];
    datagram[..4].copy_from_slice(&id.to_be_bytes());
    datagram[4..12].copy_from_slice(&bytes_of("6b00d4cb 000e8e6b"));
    let words = [flags, 1, u32::from(port), 500, 50_000, (-30_i32) as u32];
    for (word, at) in words.iter().zip((12..).step_by(4)) {
        datagram[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }
    datagram
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn udp_client(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((V4, 0)).expect("socket");
    socket.connect(server).expect("connect");
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    socket
}

fn losses(row: &Row) -> (u64, u64) {
    match &row.measure {
        Measure::UdpReceive(udp) => (udp.lost, udp.total),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_2_0_5_client_gets_its_report_where_it_looks_for_it() {
    let server = TestServer::on(V4, Udp);
    let client = udp_client(server.address);
    for id in 0..14 {
        client.send(&datagram_12(id, 0, 5001)).expect("data");
    }
    client.send(&datagram_12(-14, 0, 5001)).expect("the end");
    let mut report = [0; 2048];
    let length = client.recv(&mut report).expect("a report");
    assert!(length <= 500, "no longer than what the client sends");
    let report = &report[..length];
    assert_eq!(word(report, 0), (-14_i32) as u32, "the final number");
    assert_eq!(word(report, 12), 0x8000_0000, "a valid report");
    assert_eq!(word(report, 20), 15 * 500, "bytes");
    assert_eq!((word(report, 32), word(report, 36)), (0, 0), "no loss");
    server.events.wait_for_totals(1);
    let row = &totals(&server.stop())[0];
    assert_eq!((losses(row).0, row.bytes), (0, 15 * 500));
}

#[test]
fn a_2_0_5_client_is_connected_back_with_12_byte_headers() {
    let server = TestServer::on(V4, Udp);
    let listener = UdpSocket::bind((V4, 0)).expect("listener");
    listener.set_read_timeout(Some(LIMIT)).expect("a limit");
    let port = listener.local_addr().expect("port").port();
    let client = udp_client(server.address);
    client
        .send(&datagram_12(0, 0x8000_0001, port))
        .expect("the order");
    let mut data = [0; 2048];
    let (length, _) = listener.recv_from(&mut data).expect("data");
    assert_eq!(length, 500, "as ordered");
    assert_eq!(word(&data, 0), 0, "numbers begin at 0");
    assert_eq!(data[12..16], *b"2345", "pattern right behind the time");
    server.stop();
}

#[test]
fn the_final_number_of_2_0_13_is_no_loss() {
    let server = TestServer::on(V4, Udp);
    let client = udp_client(server.address);
    let datagram = |id: u32| {
        let mut datagram = bytes_of(
            "00000000 6b00d525 000b16a0 32333435 00000000 30313233 34353637 38393031
             32333435 36373839 30313233 34353637 38393100 34353637 38393031",
        );
        datagram.resize(500, b'7');
        datagram[..4].copy_from_slice(&id.to_be_bytes());
        datagram
    };
    for id in 0..13 {
        client.send(&datagram(id)).expect("data");
    }
    client.send(&datagram(0x8000_000d)).expect("the end");
    let mut report = [0; 2048];
    client.recv(&mut report).expect("a report");
    server.events.wait_for_totals(1);
    let (lost, total) = losses(&totals(&server.stop())[0]);
    assert_eq!(lost, 0, "of {total}");
}

/// Plays a server that answers the end of a test with `answers`; the client's events.
fn answered_by(answers: Vec<Vec<u8>>) -> Vec<Event> {
    let socket = UdpSocket::bind((V4, 0)).expect("socket");
    let address = socket.local_addr().expect("address");
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    let client = TestClient::start(ClientPlan {
        length: Some(500),
        limit: bytes(5000),
        ..client_plan(address, Udp)
    });
    let mut data = [0; 2048];
    loop {
        let (_, from) = socket.recv_from(&mut data).expect("data");
        if word(&data, 0) as i32 >= 0 {
            continue;
        }
        for answer in &answers {
            socket.send_to(answer, from).expect("answer");
        }
        break;
    }
    client.wait().1
}

fn reports(events: &[Event]) -> Vec<Row> {
    let report = |event: &Event| match event {
        Event::ServerReport { row, .. } => Some(row.clone()),
        _ => None,
    };
    events.iter().filter_map(report).collect()
}

#[test]
fn the_long_report_of_a_2_0_5_server_is_read_at_its_own_offset() {
    let mut report = bytes_of(
        "fffffff5 6b00d508 0002ed36 80000000 00000000 00001388 00000001 0001d52d
         00000002 00000000 0000000a 00000000 00000017",
    );
    report.resize(1470, b'7');
    let reports = reports(&answered_by(vec![report]));
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].bytes, 5000);
    assert_eq!(losses(&reports[0]), (2, 10));
}

#[test]
fn the_early_acknowledgement_of_a_2_0_13_server_is_no_report() {
    let ack = bytes_of("00000002 0000001c 00000000 00020000 000d0000 00000000 00000000");
    let mut report = bytes_of(
        "fffffff5 6b00d52a 000e8313 ffffffff 80000000 00000000 00001388 00000001
         0001679f 00000003 00000000 0000000a 00000000 00000003",
    );
    report.resize(144, 0);
    let reports = reports(&answered_by(vec![ack, report]));
    assert_eq!(reports.len(), 1);
    assert_eq!(losses(&reports[0]), (3, 10));
}

#[test]
fn a_compatible_client_sends_data_from_the_first_byte() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    let client = TestClient::start(ClientPlan {
        compatibility: true,
        ..client_plan(address, Tcp)
    });
    let (mut conn, _) = listener.accept().expect("the client");
    let mut data = Vec::new();
    conn.read_to_end(&mut data).expect("data");
    drop(conn);
    assert_eq!(data.len(), 100_000);
    assert!(data.starts_with(b"0123456789"));
    client.wait();

    let socket = UdpSocket::bind((V4, 0)).expect("socket");
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    let address = socket.local_addr().expect("address");
    let client = TestClient::start(ClientPlan {
        compatibility: true,
        udp_fin: false,
        ..client_plan(address, Udp)
    });
    let mut data = [0; 2048];
    let (length, _) = socket.recv_from(&mut data).expect("data");
    assert_eq!(length, 1470);
    assert_eq!(word(&data, 0), 1, "numbered from 1");
    assert_eq!(word(&data, 12), 0, "the upper half of the number");
    // 2.2.1 would take digits there for flags.
    assert_eq!(word(&data, 16), 0);
    client.wait();
}
