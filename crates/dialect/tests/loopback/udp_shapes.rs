//! UDP traffic in every shape, and what both ends measure of it.

use std::net::UdpSocket;
use std::time::Duration;

use tapeline_base::Transport::Udp;
use tapeline_base::{BitRate, Bytes, Pace};
use tapeline_dialect::{
    Arrangement, ClientPlan, ClientWorkload, FrameMean, HistogramPlan, IsochronousPlan,
    MarkovChain, Payload, Shape,
};
use tapeline_report::{
    Event, FramesReceived, FramesSent, HistogramKind, MarkovReport, Measure, Phase, Row,
    ScheduleErrors, UdpReceive, UdpSend,
};
use tapeline_wire::iperf2::{DatagramStamp, L4sAck, L4sStamp, Timestamp, UdpClientHeader};

use crate::harness::*;

/// Runs a client against a server of its own; the events of both.
#[track_caller]
fn run(shape: impl FnOnce(&mut ClientPlan)) -> (Vec<Event>, Vec<Event>) {
    let server = TestServer::on(V4, Udp);
    run_against(server, shape)
}

#[track_caller]
fn run_against(
    server: TestServer,
    shape: impl FnOnce(&mut ClientPlan),
) -> (Vec<Event>, Vec<Event>) {
    let mut plan = client_plan(server.address, Udp);
    shape(&mut plan);
    let ClientWorkload::Stream(arrangement) = plan.workload else {
        panic!("no stream");
    };
    let client = succeed(plan);
    let flows = directions(arrangement);
    server.events.wait_for_totals(flows);
    let served = server.stop();
    assert_agreement(&client, &served, flows, "bytes");
    (client, served)
}

#[track_caller]
fn sent(events: &[Event]) -> UdpSend {
    let of = |row: &Row| match &row.measure {
        Measure::UdpSend(send) => Some(send.clone()),
        _ => None,
    };
    totals(events).iter().find_map(of).expect("a sender")
}

#[track_caller]
fn received(events: &[Event]) -> (Row, UdpReceive) {
    let of = |row: &Row| match &row.measure {
        Measure::UdpReceive(receive) => Some((row.clone(), receive.clone())),
        _ => None,
    };
    totals(events).iter().find_map(of).expect("a receiver")
}

fn isochronous(frames_per_second: f64, mean: FrameMean) -> Shape {
    Shape::Isochronous(IsochronousPlan {
        frames_per_second,
        mean,
        deviation: 0.0,
    })
}

#[test]
fn trip_times_in_every_direction_and_size() {
    let cases = [
        (Arrangement::Forward, None),
        (Arrangement::Forward, Some(92)),
        (Arrangement::Forward, Some(127)),
        (Arrangement::Forward, Some(128)),
        (Arrangement::Reverse, Some(128)),
        (Arrangement::Reverse, None),
        (Arrangement::FullDuplex, None),
    ];
    at_once(cases, |(arrangement, length)| {
        let (client, served) = run(|plan| {
            plan.workload = ClientWorkload::Stream(arrangement);
            plan.latency.trip_times = true;
            plan.length = length;
            plan.limit = bytes(20_000);
        });
        let what = format!("{arrangement:?} {length:?}");
        let receivers = match arrangement {
            Arrangement::Forward => vec![&served],
            Arrangement::Reverse => vec![&client],
            _ => vec![&client, &served],
        };
        for events in receivers {
            let (row, receive) = received(events);
            assert!(row.trip_times, "{what}");
            assert!(receive.in_progress.is_some(), "{what}");
            assert_eq!(receive.transit.count, receive.received, "{what}");
            // One host, one clock.
            assert!(receive.transit.min > -1e-3, "{what}: {receive:?}");
            assert_eq!((receive.lost, receive.duplicates), (0, 0), "{what}");
        }
        let enhanced = client
            .iter()
            .any(|event| matches!(event, Event::ServerReport { enhanced, .. } if *enhanced));
        assert_eq!(enhanced, arrangement == Arrangement::Forward, "{what}");
    });
}

#[test]
fn delays_of_a_clock_that_is_far_off_are_not_used() {
    let server = TestServer::on(V4, Udp);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let mut datagram = vec![0; 200];
    UdpClientHeader {
        trip_times: true,
        start_time: Some(Timestamp {
            seconds: 1_000_000,
            micros: 0,
        }),
        ..UdpClientHeader::default()
    }
    .write(&mut datagram);
    for id in [1, 2, -3] {
        DatagramStamp {
            id,
            seconds: 1_000_000,
            micros: 0,
        }
        .write_16(&mut datagram);
        socket.send_to(&datagram, server.address).expect("sent");
    }
    server.events.wait_for_totals(1);
    let served = server.stop();
    let (row, receive) = received(&served);
    assert!(!row.trip_times && receive.in_progress.is_none());
    assert!(!notices(&served).is_empty());
}

fn frames_agree(from: &[Event], to: &[Event], what: &str) -> (FramesSent, FramesReceived) {
    let sent = sent(from).frames.expect("frames");
    let received = received(to).1.frames.expect("frames");
    assert_eq!(received.received, sent.sent, "{what}");
    assert_eq!(received.lost, 0, "{what}");
    assert_eq!(received.latency.count, received.received, "{what}");
    assert!(sent.slips <= sent.missed, "{what}");
    assert!(sent.sent + sent.missed <= 30, "{what}: {sent:?}");
    let errors = from.iter().find_map(|event| match event {
        Event::ScheduleErrors(ScheduleErrors { errors, .. }) => Some(errors.count),
        _ => None,
    });
    assert_eq!(errors, Some(sent.sent), "{what}");
    (sent, received)
}

#[test]
fn frames_arrive_as_they_were_sent() {
    at_once(
        [Arrangement::Forward, Arrangement::Reverse],
        |arrangement| {
            for trip_times in [false, true] {
                let (client, served) = run(|plan| {
                    plan.workload = ClientWorkload::Stream(arrangement);
                    plan.shape = isochronous(100.0, FrameMean::Bits(4e6));
                    plan.latency.trip_times = trip_times;
                    plan.pace = None;
                    plan.limit = time(300);
                });
                let what = format!("{arrangement:?} {trip_times}");
                let (from, to) = match arrangement {
                    Arrangement::Forward => (&client, &served),
                    _ => (&served, &client),
                };
                frames_agree(from, to, &what);
                let (row, receive) = received(to);
                assert_eq!(row.trip_times, trip_times, "{what}");
                assert_eq!((receive.lost, receive.duplicates), (0, 0), "{what}");
                let late = receive.frames.expect("frames").latency;
                assert!(late.min > -1e-3, "{what}: {late:?}");
            }
        },
    );
}

#[test]
fn frames_can_be_counted_in_datagrams() {
    let (client, served) = run(|plan| {
        plan.shape = isochronous(50.0, FrameMean::Packets(7.0));
        plan.pace = None;
        plan.length = Some(500);
        plan.limit = time(100);
    });
    let (frames, _) = frames_agree(&client, &served, "7p");
    assert!(frames.sent >= 1);
    // The final datagram is one more.
    assert_eq!(received(&served).1.received, 7 * frames.sent + 1);
}

#[test]
fn bursts_have_their_size() {
    let (client, served) = run(|plan| {
        plan.shape = Shape::Burst {
            period: Duration::from_millis(40),
            size: Bytes(3_500),
        };
        plan.pace = None;
        plan.length = Some(1_000);
        plan.limit = time(200);
    });
    let data = totals(&served)[0].bytes - 1_000;
    assert_eq!(data % 3_500, 0, "{data}");
    assert!((1..=5).contains(&(data / 3_500)), "{data}");
    // Bursts are no frames to either end.
    assert_eq!(sent(&client).frames, None);
    assert_eq!(received(&served).1.frames, None);
}

#[test]
fn a_gap_is_kept() {
    let (_, served) = run(|plan| {
        plan.pace = Some(Pace::Gap(Duration::from_millis(10)));
        plan.length = Some(100);
        plan.limit = bytes(1_000);
    });
    let (row, receive) = received(&served);
    assert_eq!(receive.received, 11);
    assert!(row.span.end >= Duration::from_millis(89), "{row:?}");
}

#[test]
fn a_gap_stands_within_frames_too() {
    let (client, served) = run(|plan| {
        plan.shape = isochronous(2.0, FrameMean::Packets(10.0));
        plan.pace = Some(Pace::Gap(Duration::from_millis(5)));
        plan.length = Some(200);
        plan.limit = time(100);
    });
    frames_agree(&client, &served, "gap");
    let (row, _) = received(&served);
    assert!(row.span.end >= Duration::from_millis(44), "{row:?}");
}

fn chain() -> Shape {
    Shape::Markov(MarkovChain {
        text: "<200|0.5,0.5<600|0.2,0.8".into(),
        lengths: vec![200, 600],
        transitions: vec![vec![0.5, 0.5], vec![0.2, 0.8]],
    })
}

fn markov(events: &[Event]) -> MarkovReport {
    let report = |event: &Event| match event {
        Event::Markov(report) => Some(report.clone()),
        _ => None,
    };
    events.iter().find_map(report).expect("a chain")
}

#[test]
fn lengths_follow_the_chain_and_repeat_with_the_seed() {
    let counts = |seed| {
        let (client, served) = run(|plan| {
            plan.shape = chain();
            plan.length = Some(600);
            plan.seed = Some(seed);
            plan.limit = bytes(100_000);
        });
        let report = markov(&client);
        let data = sent(&client).writes - 1;
        assert_eq!(report.counts.iter().flatten().sum::<u64>(), data);
        assert!(report.counts.iter().flatten().all(|count| *count > 0));
        assert_eq!(received(&served).1.received, data + 1);
        report.counts
    };
    assert_eq!(counts(5), counts(5));
    assert_ne!(counts(5), counts(6));
}

#[test]
fn a_rate_may_vary() {
    let (client, served) = run(|plan| {
        plan.pace = Some(Pace::Bits(BitRate(20_000_000)));
        plan.shape = Shape::Variable {
            deviation: BitRate(5_000_000),
        };
        plan.seed = Some(1);
        plan.limit = bytes(500_000);
    });
    assert_eq!(received(&served).1.received, sent(&client).writes);
}

#[test]
fn histograms_hold_every_datagram_and_frame() {
    let mut plan = server_plan(V4, Udp);
    plan.latency.histograms = Some(HistogramPlan::default());
    plan.latency.jitter_histograms = Some(Duration::from_micros(10));
    plan.interval = Some(Duration::from_millis(100));
    let (_, served) = run_against(TestServer::start(plan), |plan| {
        plan.shape = isochronous(100.0, FrameMean::Bits(8e6));
        plan.pace = None;
        plan.latency.trip_times = true;
        plan.limit = time(250);
    });
    let (_, receive) = received(&served);
    let frames = receive.frames.expect("frames").received;
    let count = |kind: HistogramKind, phase: Phase| -> u64 {
        let of = |event: &Event| match event {
            Event::Histogram(row) if (row.kind, row.phase) == (kind, phase) => {
                Some(row.histogram.total())
            }
            _ => None,
        };
        served.iter().filter_map(of).sum()
    };
    assert_eq!(
        count(HistogramKind::Transit, Phase::Total),
        receive.received
    );
    assert_eq!(count(HistogramKind::Frame, Phase::Total), frames);
    // The first datagram of each frame is compared with none; the final one is of no frame.
    let differences = receive.received - frames;
    assert_eq!(count(HistogramKind::Jitter, Phase::Total), differences);
    let by_interval = count(HistogramKind::Transit, Phase::Interval);
    assert!((1..=receive.received).contains(&by_interval));
}

#[test]
fn each_frame_may_have_a_row_of_its_own() {
    let mut plan = server_plan(V4, Udp);
    plan.latency.by_frame = true;
    let (client, served) = run_against(TestServer::start(plan), |plan| {
        plan.shape = isochronous(50.0, FrameMean::Packets(5.0));
        plan.pace = None;
        plan.latency.trip_times = true;
        plan.length = Some(400);
        plan.limit = time(200);
    });
    let frames = sent(&client).frames.expect("frames").sent;
    let of_a_flow = |subject| matches!(subject, tapeline_report::Subject::Flow(_));
    let rows = rows(&served, Phase::Interval, of_a_flow);
    assert_eq!(rows.len() as u64, frames);
    for row in &rows {
        let Measure::UdpReceive(receive) = &row.measure else {
            panic!("{row:?}");
        };
        assert_eq!((row.bytes, receive.received), (2_000, 5), "{row:?}");
        let frame = receive.frames.expect("a frame");
        assert_eq!((frame.received, frame.latency.count), (1, 1));
        assert_eq!(receive.transit.count, 5);
        assert!(receive.transit.min <= receive.transit.max, "{row:?}");
    }
    for pair in rows.windows(2) {
        assert!(pair[0].span.end <= pair[1].span.start);
    }
}

/// Datagrams that arrive at a socket which is no server, up to the final one.
fn arrivals(socket: &UdpSocket) -> Vec<Vec<u8>> {
    socket.set_read_timeout(Some(LIMIT)).expect("timeout");
    let mut all = Vec::new();
    loop {
        let mut buffer = vec![0; 65_536];
        let length = socket.recv(&mut buffer).expect("a datagram");
        buffer.truncate(length);
        let stamp = DatagramStamp::read_16(&buffer, true).expect("a stamp");
        if stamp.is_fin() {
            return all;
        }
        all.push(buffer);
    }
}

#[test]
fn a_file_goes_out_to_its_last_byte() {
    let content: Vec<u8> = (0..5_000_u32).map(|n| (n % 251) as u8).collect();
    let file = std::env::temp_dir().join(format!("tapeline-udp-{}", std::process::id()));
    std::fs::write(&file, &content).expect("file");
    let sink = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let mut plan = client_plan(sink.local_addr().expect("address"), Udp);
    plan.payload = Payload::File(file.clone());
    plan.length = Some(1_000);
    plan.udp_fin = false;
    plan.limit = time(60_000);
    let client = TestClient::start(plan);
    let datagrams = arrivals(&sink);
    let (_, events) = client.wait();
    std::fs::remove_file(&file).expect("removed");
    let arrived: Vec<u8> = datagrams
        .iter()
        .flat_map(|datagram| datagram[80..].iter().copied())
        .collect();
    assert_eq!(arrived, content, "{:?}", notices(&events));
    // 920 bytes fit into each; the last one is cut.
    assert_eq!(datagrams.last().expect("some").len(), 80 + 5_000 % 920);
}

#[test]
fn a_missing_file_is_said() {
    let sink = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let mut plan = client_plan(sink.local_addr().expect("address"), Udp);
    plan.payload = Payload::File("/nonexistent/payload".into());
    let (code, events) = TestClient::start(plan).wait();
    assert_ne!(code, tapeline_base::ExitCode::Success);
    assert!(format!("{:?}", notices(&events)).contains("cannot read"));
}

#[test]
fn l4s_flows_reach_a_limit_and_are_answered() {
    let (client, served) = run(|plan| {
        plan.l4s = true;
        plan.pace = Some(Pace::Bits(BitRate(50_000_000)));
        plan.limit = bytes(200_000);
    });
    let (_, receive) = received(&served);
    assert_eq!((receive.lost, receive.duplicates), (0, 0));
    assert_eq!(receive.received, sent(&client).writes);
    if cfg!(target_os = "linux") {
        // Nothing marks on loopback, but it is watched.
        assert_eq!(receive.marked, Some(0));
    }
}

#[test]
fn l4s_datagrams_carry_their_stamp_and_start_slowly_without_answers() {
    let sink = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let mut plan = client_plan(sink.local_addr().expect("address"), Udp);
    plan.l4s = true;
    plan.pace = None;
    plan.udp_fin = false;
    plan.limit = time(300);
    let client = TestClient::start(plan);
    let datagrams = arrivals(&sink);
    let (_, events) = client.wait();
    assert!(format!("{:?}", notices(&events)).contains("does not answer"));
    for (n, datagram) in datagrams.iter().enumerate() {
        let header = UdpClientHeader::parse(datagram).expect("settings");
        assert!(header.l4s);
        let stamp = L4sStamp::read(datagram).expect("a stamp");
        assert_eq!(stamp.sequence as usize, n + 1);
        assert!(stamp.time != 0 && stamp.echoed_time == 0);
        assert!((150..=160).contains(&datagram.len()), "{}", datagram.len());
    }
    // The first window, and no more: nobody answers.
    assert!((2..=100).contains(&datagrams.len()), "{}", datagrams.len());
}

#[test]
fn a_server_answers_l4s_datagrams_but_not_their_end() {
    let server = TestServer::on(V4, Udp);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    socket.set_read_timeout(Some(LIMIT)).expect("timeout");
    let mut datagram = vec![0; 200];
    UdpClientHeader {
        l4s: true,
        ..UdpClientHeader::default()
    }
    .write(&mut datagram);
    let mut answer = |id: i64, count: u32| {
        DatagramStamp {
            id,
            seconds: 1,
            micros: 0,
        }
        .write_16(&mut datagram);
        L4sStamp {
            time: 1_000 * count as i32,
            echoed_time: 0,
            sequence: count,
        }
        .write(&mut datagram);
        socket.send_to(&datagram, server.address).expect("sent");
        let mut buffer = [0; 1500];
        let length = socket.recv(&mut buffer).expect("an answer");
        buffer[..length].to_vec()
    };
    let counts = |bytes: &[u8]| {
        let ack = L4sAck::parse(bytes).expect("an acknowledgement");
        (ack.received, ack.marked, ack.lost)
    };
    assert_eq!(counts(&answer(1, 1)), (1, 0, 0));
    assert_eq!(counts(&answer(2, 2)), (2, 0, 0));
    // Numbers 3 and 4 are missing.
    let third = answer(5, 5);
    assert_eq!(third.len(), 28);
    assert_eq!(counts(&third), (3, 0, 2));
    assert_eq!(answer(-6, 6).len(), 128, "the report");
    server.events.wait_for_totals(1);
    server.stop();
}
