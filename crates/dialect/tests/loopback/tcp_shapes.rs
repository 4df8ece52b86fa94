//! Shaped and stamped TCP traffic: trip times, frames, bursts, input, and peers that do not
//! stamp as they should.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapeline_base::Transport::Tcp;
use tapeline_base::{BitRate, Bytes, Pace, WallTime};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, FairQueuePlan, FrameMean, HistogramPlan,
    IsochronousPlan, Payload, ServerPlan, Shape,
};
use tapeline_report::{
    BurstKind, BurstsReceived, Event, HistogramKind, Measure, Phase, Row, Subject,
};
use tapeline_wire::iperf2::{
    Amount, BurstHeader, ServerAck, TcpClientHeader, TestMode, Timestamp, Workload,
};

use crate::harness::*;

const ONE_SOCKET: [Arrangement; 3] = [
    Arrangement::Forward,
    Arrangement::Reverse,
    Arrangement::FullDuplex,
];

/// Runs a client against a server of this crate; both ends' events.
fn run(
    server: impl FnOnce(&mut ServerPlan),
    client: impl FnOnce(&mut ClientPlan),
) -> (Vec<Event>, Vec<Event>) {
    let mut plan = server_plan(V4, Tcp);
    server(&mut plan);
    let server = TestServer::start(plan);
    let mut plan = client_plan(server.address, Tcp);
    client(&mut plan);
    let flows = match plan.workload {
        ClientWorkload::Stream(arrangement) => directions(arrangement),
        _ => 1,
    };
    let seen = succeed(plan);
    server.events.wait_for_totals(flows);
    let served = server.stop();
    assert_agreement(&seen, &served, flows, "both ends");
    (seen, served)
}

fn bursts(row: &Row) -> Option<BurstsReceived> {
    match &row.measure {
        Measure::TcpReceive(receive) => receive.bursts,
        _ => None,
    }
}

/// The receiving flows' totals of both ends.
fn receivers(ends: &(Vec<Event>, Vec<Event>)) -> Vec<Row> {
    let all = [totals(&ends.0), totals(&ends.1)].concat();
    let receives = |row: &Row| matches!(row.measure, Measure::TcpReceive(_));
    all.into_iter().filter(receives).collect()
}

fn histograms(events: &[Event], kind: HistogramKind, phase: Phase) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Histogram(row) if row.kind == kind && row.phase == phase => {
                Some(row.histogram.total())
            }
            _ => None,
        })
        .collect()
}

fn frames(bits: f64) -> Shape {
    Shape::Isochronous(IsochronousPlan {
        frames_per_second: 200.0,
        mean: FrameMean::Bits(bits),
        deviation: bits / 10.0,
    })
}

#[test]
fn every_receiver_of_stamped_data_measures_its_delay() {
    at_once(ONE_SOCKET, |arrangement| {
        let ends = run(
            |server| server.latency.histograms = Some(HistogramPlan::default()),
            |client| {
                client.workload = ClientWorkload::Stream(arrangement);
                client.latency.trip_times = true;
                client.latency.histograms = Some(HistogramPlan::default());
                client.length = Some(10_000);
                client.limit = bytes(200_000);
            },
        );
        let receivers = receivers(&ends);
        assert!(!receivers.is_empty());
        for row in receivers {
            assert!(row.trip_times, "{row:?}");
            let bursts = bursts(&row).expect("bursts");
            assert_eq!(bursts.kind, BurstKind::Write);
            assert_eq!(bursts.latency.count, 20, "{arrangement:?} {row:?}");
            // One clock, so that no delay is negative; stamps are whole microseconds.
            assert!(bursts.latency.min >= 0.0 && bursts.latency.max > 0.0);
            assert!(bursts.in_progress.is_some_and(|bytes| bytes > 0.0));
            // All but the header before them.
            assert_eq!(bursts.bytes + 80, row.bytes, "{arrangement:?}");
        }
        let both = [&ends.0, &ends.1].into_iter();
        let counted: u64 = both
            .flat_map(|events| histograms(events, HistogramKind::Frame, Phase::Total))
            .sum();
        assert_eq!(
            counted,
            20 * if arrangement == Arrangement::FullDuplex {
                2
            } else {
                1
            }
        );
    });
}

#[test]
fn many_polled_flows_are_measured_as_well() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.parallel = 70;
    plan.latency.trip_times = true;
    plan.socket.write_prefetch = Some(4096);
    plan.length = Some(4_000);
    plan.limit = bytes(20_080);
    succeed(plan);
    server.events.wait_for_totals(70);
    let served = server.stop();
    for row in totals(&served) {
        assert_eq!(bursts(&row).expect("bursts").latency.count, 5, "{row:?}");
    }
    let sum = &sums(&served)[0];
    let all = bursts(sum).expect("bursts");
    assert_eq!((all.latency.count, all.bytes), (350, 70 * 20_000));
}

#[test]
fn frames_arrive_as_they_were_sent() {
    at_once(ONE_SOCKET, |arrangement| {
        for trip_times in [false, true] {
            let ends = run(
                |_| {},
                |client| {
                    client.workload = ClientWorkload::Stream(arrangement);
                    client.shape = frames(16e6);
                    client.latency.trip_times = trip_times;
                    client.seed = Some(7);
                    client.limit = time(200);
                },
            );
            let mut sent = 0;
            for row in [totals(&ends.0), totals(&ends.1)].concat() {
                let Measure::TcpSend(send) = &row.measure else {
                    continue;
                };
                let frames = send.frames.expect("frames");
                // A late machine leaves frames out, and says so; a schedule that slipped has fewer.
                let due = if frames.slips == 0 { 38..=41 } else { 1..=41 };
                assert!(due.contains(&(frames.sent + frames.missed)), "{frames:?}");
                assert!(frames.slips <= frames.missed);
                sent += frames.sent;
            }
            let errors = [&ends.0, &ends.1].into_iter().flatten();
            let errors: u64 = errors
                .filter_map(|event| match event {
                    Event::ScheduleErrors(errors) => Some(errors.errors.count),
                    _ => None,
                })
                .sum();
            assert_eq!(errors, sent);
            for row in receivers(&ends) {
                // Without a common clock a frame has no delay.
                let bursts = bursts(&row);
                assert_eq!(bursts.is_some(), trip_times, "{row:?}");
                if let Some(bursts) = bursts {
                    assert_eq!(bursts.kind, BurstKind::Frame);
                    assert!((1..=sent).contains(&bursts.latency.count), "{bursts:?}");
                    let mean = bursts.bytes as f64 / bursts.latency.count as f64;
                    assert!((8_500.0..11_500.0).contains(&mean), "{mean}");
                }
            }
        }
    });
}

#[test]
fn a_burst_has_a_row_of_its_own() {
    at_once(
        [Arrangement::Forward, Arrangement::Reverse],
        |arrangement| {
            let ends = run(
                |server| server.interval = Some(Duration::from_secs(1)),
                |client| {
                    client.workload = ClientWorkload::Stream(arrangement);
                    client.shape = Shape::Burst {
                        period: Duration::from_millis(100),
                        size: Bytes(50_000),
                    };
                    client.limit = time(350);
                },
            );
            let events = match arrangement {
                Arrangement::Reverse => &ends.0,
                _ => &ends.1,
            };
            let flows = |subject| matches!(subject, Subject::Flow(_));
            let seen = rows(events, Phase::Interval, flows);
            let total = bursts(&receivers(&ends)[0]).expect("bursts");
            assert!((2..=4).contains(&seen.len()), "{seen:?}");
            assert_eq!(seen.len() as u64, total.latency.count);
            for row in seen {
                let burst = bursts(&row).expect("a burst");
                let period = Duration::from_millis(100);
                assert_eq!(burst.kind, BurstKind::Periodic { period });
                assert_eq!((row.bytes, burst.latency.count), (50_000, 1));
                let lasted = row.span.length().as_secs_f64();
                assert!((lasted - burst.latency.mean).abs() < 1e-6, "{row:?}");
            }
        },
    );
}

#[test]
fn writes_are_timed_where_they_are_made() {
    let ends = run(
        |_| {},
        |client| {
            client.latency.write_times = true;
            client.latency.histograms = Some(HistogramPlan::default());
            client.length = Some(10_000);
            client.limit = bytes(100_064);
        },
    );
    let Measure::TcpSend(send) = &totals(&ends.0)[0].measure else {
        panic!("{:?}", ends.0);
    };
    let times = send.write_times.expect("write times");
    assert_eq!(times.count, 10);
    // The header is a write, too, but not one of the traffic.
    assert_eq!(send.writes, 11);
    let seen = histograms(&ends.0, HistogramKind::Write, Phase::Total);
    assert_eq!(seen, [10]);
    assert!(histograms(&ends.1, HistogramKind::Frame, Phase::Total).is_empty());
}

#[test]
fn pacing_by_the_kernel_is_reported_with_its_steps() {
    let rate = |client: &[Event]| match &totals(client)[0].measure {
        Measure::TcpSend(send) => send.fair_queue_rate.map(|rate| rate.0),
        _ => None,
    };
    for (step, expected) in [
        (None, 80_000_000..=80_000_000),
        (Some(1_000_000), 82_000_000..=83_000_000),
    ] {
        let ends = run(
            |_| {},
            |client| {
                client.socket.fair_queue = Some(FairQueuePlan {
                    rate: BitRate(80_000_000),
                    step: step.map(|step| (BitRate(step), Duration::from_millis(50))),
                });
                client.limit = time(149);
            },
        );
        let rate = rate(&ends.0).expect("a rate");
        assert!(expected.contains(&rate), "{rate}");
        let carried = totals(&ends.1)[0].bytes;
        assert!(carried < 8_000_000, "not paced: {carried}");
    }
}

#[test]
fn a_changing_rate_keeps_its_mean() {
    let ends = run(
        |_| {},
        |client| {
            client.pace = Some(Pace::Bits(BitRate(40_000_000)));
            client.shape = Shape::Variable {
                deviation: BitRate(4_000_000),
            };
            client.seed = Some(3);
            client.length = Some(5_000);
            client.limit = time(500);
        },
    );
    let carried = totals(&ends.0)[0].bytes;
    assert!((1_500_000..3_200_000).contains(&carried), "{carried}");
}

/// A server that is only a socket: what a client sent behind its header, and the header.
fn collect(listener: &TcpListener) -> (TcpClientHeader, Vec<u8>) {
    let (mut stream, _) = listener.accept().expect("accept");
    stream.set_read_timeout(Some(LIMIT)).expect("timeout");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("the client's data");
    let header = TcpClientHeader::parse(&all).expect("a header");
    let data = all.split_off(header.counted_length());
    (header, data)
}

#[test]
fn a_file_is_sent_to_its_last_byte() {
    let content: Vec<u8> = (0..70_001_u32).map(|n| (n % 253) as u8).collect();
    let path = std::env::temp_dir().join(format!("tapeline-input-{}", std::process::id()));
    std::fs::write(&path, &content).expect("a file");
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = client_plan(listener.local_addr().expect("address"), Tcp);
    plan.payload = Payload::File(path.clone());
    plan.length = Some(8_192);
    plan.limit = tapeline_dialect::Limit::Never;
    let client = TestClient::start(plan);
    let (_, data) = collect(&listener);
    let (code, events) = client.wait();
    std::fs::remove_file(&path).expect("the file");
    assert_eq!(code, tapeline_base::ExitCode::Success, "{events:?}");
    assert!(data == content, "{} bytes", data.len());
}

#[test]
fn a_file_that_cannot_be_read_fails_the_flow_in_words() {
    let server = TestServer::on(V4, Tcp);
    let mut plan = client_plan(server.address, Tcp);
    plan.payload = Payload::File("/nowhere/at/all".into());
    let (code, events) = TestClient::start(plan).wait();
    assert_ne!(code, tapeline_base::ExitCode::Success);
    let seen = format!("{:?}", notices(&events));
    assert!(seen.contains("/nowhere/at/all"), "{seen}");
    server.stop();
}

#[test]
fn what_the_client_stamps_is_what_the_wire_says() {
    let listener = TcpListener::bind((V4, 0)).expect("listener");
    let mut plan = client_plan(listener.local_addr().expect("address"), Tcp);
    plan.shape = Shape::Burst {
        period: Duration::from_millis(20),
        size: Bytes(3_000),
    };
    plan.latency.trip_times = true;
    plan.length = Some(1_000);
    plan.limit = time(90);
    let client = TestClient::start(plan);
    let (header, data) = collect(&listener);
    client.wait();
    assert!(header.trip_times && header.start_time.is_some());
    assert!(matches!(header.workload, Workload::PeriodicBurst(_)));
    let mut last = 0;
    for burst in data.chunks_exact(3_000) {
        let front = burst.first_chunk().expect("a header");
        let stamp = BurstHeader::read(front, true).expect("a header");
        assert_eq!((stamp.size, stamp.period_micros), (3_000, Some(20_000)));
        assert!(stamp.id > last, "{} after {last}", stamp.id);
        assert!(stamp.write_time >= stamp.report_start);
        last = stamp.id;
    }
    assert!((1..=5).contains(&last), "{last}");
}

fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock");
    WallTime::from_nanos(since.as_nanos() as i64).into()
}

/// Sends a header to a server and returns the connection.
fn ask(server: &TestServer, header: &TcpClientHeader) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).expect("connect");
    stream.set_read_timeout(Some(LIMIT)).expect("timeout");
    let mut message = Vec::new();
    header.encode(&mut message);
    stream.write_all(&message).expect("write");
    stream
}

fn stamped() -> TcpClientHeader {
    TcpClientHeader {
        trip_times: true,
        start_time: Some(now()),
        amount: Amount::Bytes(5_000),
        buffer_length: Some(1_000),
        ..TcpClientHeader::default()
    }
}

#[test]
fn an_acknowledgement_carries_the_times_and_a_wrong_clock_gets_none() {
    let server = TestServer::on(V4, Tcp);
    let header = stamped();
    let mut stream = ask(&server, &header);
    let mut ack = [0; 52];
    stream.read_exact(&mut ack).expect("an acknowledgement");
    let times = ServerAck::parse(&ack)
        .expect("an acknowledgement")
        .trip_times;
    let times = times.expect("times");
    assert_eq!(Some(times.sent), header.start_time);
    assert!(times.sent <= times.accepted && times.accepted <= times.acknowledged);
    drop(stream);

    let mut late = stamped();
    late.start_time = Some(Timestamp {
        seconds: now().seconds - 700,
        micros: 0,
    });
    let mut stream = ask(&server, &late);
    let mut ack = [0; 28];
    stream.read_exact(&mut ack).expect("an acknowledgement");
    assert_eq!(ServerAck::parse(&ack).expect("one").trip_times, None);
    stream.shutdown(Shutdown::Write).expect("shutdown");
    server.events.wait_for_totals(2);
    let served = server.stop();
    // The first one's end may be reported behind the second's.
    let stamped = |row: &&Row| row.trip_times && bursts(row).is_some();
    let plain = |row: &&Row| !row.trip_times && bursts(row).is_none();
    let rows = totals(&served);
    assert_eq!(rows.iter().filter(stamped).count(), 1, "{rows:?}");
    assert_eq!(rows.iter().filter(plain).count(), 1, "{rows:?}");
    let seen = format!("{:?}", notices(&served));
    assert!(seen.contains("700 s away") || seen.contains("70"), "{seen}");
}

#[test]
fn a_server_that_sends_bursts_puts_its_header_before_them() {
    let server = TestServer::on(V4, Tcp);
    let mut header = stamped();
    header.mode = TestMode::Reverse;
    let mut stream = ask(&server, &header);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("data");
    let answer = TcpClientHeader::parse(&all).expect("a header");
    assert!(answer.trip_times);
    assert_eq!(answer.mode, TestMode::Normal);
    let data = &all[answer.counted_length()..];
    assert_eq!(data.len(), 4_920);
    let first = BurstHeader::read(data.first_chunk().expect("a burst"), false);
    assert_eq!(first.expect("a burst").size, 1_000);
    server.stop();
}

#[test]
fn bursts_that_cannot_be_are_counted_and_said() {
    for size in [0, 91, u32::MAX] {
        let server = TestServer::on(V4, Tcp);
        let mut stream = ask(&server, &stamped());
        let mut burst = vec![0; 1_000];
        for announced in [1_000, size] {
            BurstHeader {
                id: 1,
                size: announced,
                write_time: now(),
                ..BurstHeader::default()
            }
            .write(&mut burst);
            stream.write_all(&burst).expect("write");
        }
        stream.shutdown(Shutdown::Write).expect("shutdown");
        server.events.wait_for_totals(1);
        let served = server.stop();
        let row = &totals(&served)[0];
        assert_eq!(row.bytes, 80 + 2_000, "{size}");
        assert_eq!(bursts(row).expect("bursts").latency.count, 1, "{size}");
        let seen = format!("{:?}", notices(&served));
        assert!(seen.contains("could not be separated"), "{seen}");
    }
}

#[test]
fn the_end_may_come_within_a_burst() {
    let server = TestServer::on(V4, Tcp);
    let mut stream = ask(&server, &stamped());
    let mut burst = vec![0; 1_000];
    BurstHeader {
        id: 1,
        size: 1_000,
        write_time: now(),
        ..BurstHeader::default()
    }
    .write(&mut burst);
    stream.write_all(&burst[..700]).expect("write");
    stream.shutdown(Shutdown::Write).expect("shutdown");
    server.events.wait_for_totals(1);
    let served = server.stop();
    let row = &totals(&served)[0];
    assert_eq!(row.bytes, 780);
    assert_eq!(bursts(row).expect("bursts").latency.count, 0);
    assert!(notices(&served).is_empty(), "{:?}", notices(&served));
}
