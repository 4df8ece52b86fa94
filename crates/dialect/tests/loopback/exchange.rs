//! Bounce-back: what goes over the wire, and what both ends report of it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::Transport::Tcp;
use tapeline_base::{Clock, Tos, WallTime};
use tapeline_dialect::{ClientWorkload, HistogramPlan, Limit, RequestResponsePlan, StartTime};
use tapeline_report::{
    ConnectionFlavour, Event, HistogramKind, HistogramRow, Measure, Phase, RequestResponse, Row,
    Subject,
};
use tapeline_sys::SystemClock;
use tapeline_wire::iperf2::Bounceback;
use tapeline_wire::native::Mark;

use crate::harness::*;

fn exchange(request: u32, response: u32) -> RequestResponsePlan {
    RequestResponsePlan {
        response,
        ..RequestResponsePlan::back_to_back(request)
    }
}

fn plan(
    server: std::net::SocketAddr,
    exchange: RequestResponsePlan,
) -> tapeline_dialect::ClientPlan {
    let mut plan = client_plan(server, Tcp);
    plan.workload = ClientWorkload::RequestResponse(exchange);
    plan
}

#[track_caller]
fn numbers(row: &Row) -> &RequestResponse {
    match &row.measure {
        Measure::RequestResponse(numbers) => numbers,
        other => panic!("{other:?}"),
    }
}

fn histograms(events: &[Event]) -> Vec<HistogramRow> {
    let histogram = |event: &Event| match event {
        Event::Histogram(row) => Some(row.clone()),
        _ => None,
    };
    events.iter().filter_map(histogram).collect()
}

#[test]
fn asymmetric_sizes_end_after_their_bytes_at_both_ends() {
    for (request, response) in [(100, 100), (68, 1 << 20), (1 << 20, 68), (300, 5000)] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = plan(server.address, exchange(request, response));
        plan.limit = Limit::Bytes(tapeline_base::Bytes(u64::from(request) * 5 - 1));
        let client = succeed(plan);
        server.events.wait_for_totals(1);
        let served = server.stop();
        let row = &totals(&client)[0];
        let numbers = numbers(row);
        assert_eq!(numbers.round_trips.count, 5);
        assert_eq!(numbers.sent, u64::from(request) * 5);
        assert_eq!(numbers.received, u64::from(response) * 5);
        let all = u64::from(request + response) * 5;
        assert_eq!(row.bytes, all);
        let row = &totals(&served)[0];
        assert_eq!(row.bytes, all);
        let Measure::TcpReceive(receive) = &row.measure else {
            panic!("{row:?}");
        };
        assert!(receive.reads.reads >= 5);
    }
}

#[test]
fn the_server_holds_responses_for_as_long_as_asked() {
    let server = TestServer::on(V4, Tcp);
    let hold = Duration::from_millis(20);
    let mut plan = plan(
        server.address,
        RequestResponsePlan {
            hold,
            ..exchange(100, 100)
        },
    );
    plan.limit = bytes(300);
    plan.latency.trip_times = true;
    let client = succeed(plan);
    server.stop();
    let rows = totals(&client);
    let numbers = numbers(&rows[0]);
    assert_eq!(numbers.round_trips.count, 3);
    assert!(numbers.round_trips.min >= hold.as_secs_f64());
    // The server's stamps are of the read and of the send: the hold is in neither way.
    let one_way = numbers.one_way.expect("one-way delays");
    assert_eq!((one_way.transmit.count, one_way.clock_errors), (3, 0));
    let ways = one_way.transmit.mean + one_way.receive.mean;
    assert!(ways + hold.as_secs_f64() <= numbers.round_trips.mean + 1e-3);
    for kind in [
        HistogramKind::Transmit,
        HistogramKind::Receive,
        HistogramKind::RoundTrip,
    ] {
        let of_kind = |row: &&HistogramRow| row.kind == kind;
        let found = histograms(&client);
        let found: Vec<_> = found.iter().filter(of_kind).collect();
        assert_eq!(found.len(), 1, "{kind:?}");
        assert_eq!(found[0].histogram.total(), 3, "{kind:?}");
    }
}

#[test]
fn interval_histograms_come_with_their_option_only() {
    for wanted in [None, Some(HistogramPlan::default())] {
        let server = TestServer::on(V4, Tcp);
        let mut plan = plan(server.address, exchange(100, 100));
        plan.limit = time(120);
        plan.interval = Some(Duration::from_millis(40));
        plan.latency.histograms = wanted;
        let client = succeed(plan);
        server.stop();
        let found = histograms(&client);
        let of = |phase| found.iter().filter(|row| row.phase == phase).count();
        let rows = rows(&client, Phase::Interval, |subject| {
            matches!(subject, Subject::Flow(_))
        });
        let expected = if wanted.is_some() { rows.len() } else { 0 };
        assert!(rows.len() >= 2);
        assert_eq!((of(Phase::Interval), of(Phase::Total)), (expected, 1));
        if wanted.is_some() {
            let by_interval: u64 = found
                .iter()
                .filter(|row| row.phase == Phase::Interval)
                .map(|row| row.histogram.total())
                .sum();
            let counts: u64 = rows.iter().map(|row| numbers(row).round_trips.count).sum();
            // A histogram is read behind its row, so it may hold the request that came between.
            let between = by_interval.checked_sub(counts);
            assert!(matches!(between, Some(0 | 1)), "{by_interval}, {counts}");
        }
    }
}

#[test]
fn parallel_flows_add_up() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = plan(server.address, exchange(100, 200));
    plan.parallel = 3;
    plan.limit = bytes(1000);
    let client = succeed(plan);
    server.events.wait_for_totals(3);
    let served = server.stop();
    // How many of them overlap is not the server's to know.
    for sum in sums(&served) {
        assert!(sum.bytes <= 9000, "{sum:?}");
    }
    let sums = sums(&client);
    assert_eq!(sums.len(), 1);
    assert_eq!(numbers(&sums[0]).round_trips.count, 30);
    assert_eq!(sums[0].bytes, 9000);
}

/// Requests as they arrived, with their times.
type Requests = Vec<(Vec<u8>, WallTime)>;

/// A server that reads `count` requests of `size` bytes, answers each, and hands them over with
/// the time of their arrival.
fn requests(
    count: usize,
    size: usize,
) -> (std::net::SocketAddr, std::thread::JoinHandle<Requests>) {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let address = listener.local_addr().expect("address");
    let thread = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a client");
        let mut got = Vec::new();
        for _ in 0..count {
            let mut request = vec![0; size];
            peer.read_exact(&mut request).expect("a request");
            let arrived = SystemClock.wall();
            peer.write_all(&request).expect("a response");
            got.push((request, arrived));
        }
        // The client closes first.
        assert_eq!(peer.read(&mut [0; 1]).expect("an end"), 0);
        got
    });
    (address, thread)
}

#[test]
fn a_request_says_what_is_asked_for() {
    let (address, server) = requests(2, 200);
    let mut plan = plan(
        address,
        RequestResponsePlan {
            hold: Duration::from_micros(1234),
            quickack: false,
            ..exchange(200, 200)
        },
    );
    plan.limit = bytes(400);
    plan.latency.trip_times = true;
    plan.socket.tos = Some(Tos(0x40));
    let began = SystemClock.wall();
    let (_, events) = TestClient::start(plan).wait();
    for (number, (bytes, arrived)) in server.join().expect("the server").iter().enumerate() {
        let request = Bounceback::parse(bytes.first_chunk().expect("a header")).expect("valid");
        assert_eq!(request.id as usize, number + 1);
        assert_eq!((request.request_size, request.hold_micros), (200, 1234));
        assert_eq!(request.tos, Some(Tos(0x40)));
        assert!(request.clock_synchronised && !request.quickack && !request.stop);
        assert_eq!((request.server_receive, request.server_send), (None, None));
        // Of this request, not of the response before it.
        let sent = WallTime::from(request.client_send);
        assert!(sent.nanos_since(began) >= -1000 && arrived.nanos_since(sent) >= 0);
        if number == 1 {
            assert!(arrived.nanos_since(sent) < 1_000_000_000);
        }
    }
    let line = events.iter().find_map(|event| match event {
        Event::Connected(line) => Some(line.clone()),
        _ => None,
    });
    let line = line.expect("a connection");
    assert!(line.trip_times);
    assert_eq!(
        line.flavour,
        ConnectionFlavour::RequestResponse {
            request: 200,
            response: 200,
            hold_micros: 1234,
            quickack: false
        }
    );
}

#[test]
fn bursts_carry_their_slot_and_wait_for_it() {
    let period = Duration::from_millis(30);
    let (address, server) = requests(6, 100);
    let mut plan = plan(
        address,
        RequestResponsePlan {
            burst: Some((2, period)),
            ..exchange(100, 100)
        },
    );
    plan.limit = bytes(600);
    succeed(plan);
    let got = server.join().expect("the server");
    let ids: Vec<u32> = got
        .iter()
        .map(|(bytes, _)| Bounceback::parse(bytes.first_chunk().expect("a header")))
        .map(|request| request.expect("valid").id)
        .collect();
    assert!(ids.chunks(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    let gap = got[2].1.nanos_since(got[1].1);
    assert!(gap >= 10_000_000, "{gap} ns between bursts");
}

#[test]
fn the_first_request_waits_for_the_delay() {
    let delay = Duration::from_millis(80);
    let (address, server) = requests(1, 100);
    let mut plan = plan(address, exchange(100, 100));
    plan.limit = bytes(100);
    plan.start = StartTime::After(delay);
    let began = SystemClock.wall();
    let client = succeed(plan);
    let got = server.join().expect("the server");
    assert!(got[0].1.nanos_since(began) >= delay.as_nanos() as i64);
    // The delay is no part of the measurement.
    assert!(totals(&client)[0].span.start.is_zero());
}

/// A request of 100 bytes with `change` made to it.
fn request(change: impl Fn(&mut Bounceback)) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let mut request = Bounceback {
        request_size: 100,
        id: 1,
        ..Bounceback::default()
    };
    change(&mut request);
    request.write(&mut bytes);
    bytes
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("connection");
    stream.set_read_timeout(Some(LIMIT)).expect("timeout");
    stream
}

#[test]
fn a_server_counts_a_stop_and_does_not_answer_it() {
    let server = TestServer::on(V4, Tcp);
    let mut peer = connect(&server);
    let mut reply = [0; 100];
    for _ in 0..2 {
        peer.write_all(&request(|_| {})).expect("a request");
        peer.read_exact(&mut reply).expect("a response");
    }
    peer.write_all(&request(|request| request.stop = true))
        .expect("the end");
    assert_eq!(peer.read(&mut reply).expect("a close"), 0);
    server.events.wait_for_totals(1);
    assert_eq!(totals(&server.stop())[0].bytes, 500);
}

#[test]
fn an_unmarked_reply_size_is_fill() {
    // 2.1.8 has no such field.
    let server = TestServer::on(V4, Tcp);
    let mut peer = connect(&server);
    let mut bytes = request(|_| {});
    bytes[60..64].copy_from_slice(&70_u32.to_be_bytes());
    peer.write_all(&bytes).expect("a request");
    peer.shutdown(Shutdown::Write).expect("shutdown");
    let mut reply = Vec::new();
    peer.read_to_end(&mut reply).expect("a response");
    assert_eq!(reply.len(), 100);
    server.stop();
}

#[test]
fn a_reply_is_stamped_after_the_hold() {
    let server = TestServer::on(V4, Tcp);
    let mut peer = connect(&server);
    peer.write_all(&request(|request| request.hold_micros = 30_000))
        .expect("a request");
    let mut reply = [0; 100];
    peer.read_exact(&mut reply).expect("a response");
    let reply = Bounceback::parse(reply.first_chunk().expect("a header")).expect("valid");
    let received = WallTime::from(reply.server_receive.expect("a time"));
    let sent = WallTime::from(reply.server_send.expect("a time"));
    assert!(sent.nanos_since(received) >= 29_000_000);
    drop(peer);
    server.stop();
}

/// Sends a probe of a run on a new connection, and takes the answer.
fn probe(server: &TestServer, run: u32) {
    let mut bytes = [0; 68];
    Bounceback {
        request_size: 68,
        id: 1,
        mark: NonZeroU32::new(run).map(|number| Mark { version: 1, number }),
        ..Bounceback::default()
    }
    .write(&mut bytes);
    let mut peer = connect(server);
    // The rest comes later, as it may.
    peer.write_all(&bytes[..66]).expect("a request");
    peer.write_all(&bytes[66..]).expect("its end");
    peer.read_exact(&mut bytes).expect("an answer");
    let answer = Bounceback::parse(bytes.first_chunk().expect("a header")).expect("an answer");
    assert!(answer.server_send.is_some());
}

#[test]
fn the_probes_of_a_run_are_one_flow_of_the_server() {
    let server = TestServer::on(V4, Tcp);
    for _ in 0..30 {
        probe(&server, 7);
    }
    probe(&server, 8);
    for _ in 0..2 {
        probe(&server, 0);
    }
    let events = server.stop();
    let connected = events
        .iter()
        .filter(|event| matches!(event, Event::Connected(_)));
    assert_eq!(connected.count(), 4, "{events:?}");
    let mut bytes: Vec<u64> = totals(&events).iter().map(|row| row.bytes).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [136, 136, 136, 30 * 136]);
}
