//! Small tests, told as events.

use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Role, Transport, WallTime};

use super::super::json::Json;
use super::super::{Iperf3Json, Iperf3Style, Iperf3Text};
use super::events::events;
use super::{golden, told, values};
use crate::model::{
    BufferSize, ClientBanner, Connected, Event, Measure, Notice, Phase, Row, ServerBanner, Span,
    Subject, TcpReceive, TcpSend, TcpState, TestEnd, TestFailure, TestStart, UdpReceive, UdpSend,
};

pub(super) fn style() -> Iperf3Style {
    Iperf3Style {
        version: "iperf 3.21+".to_owned(),
        system_info: "Linux host".to_owned(),
        ..Iperf3Style::default()
    }
}

fn document(events: &[Event]) -> Json {
    let mut documents = values(&told(Iperf3Json::documents(style()), events).stdout);
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

pub(super) fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

pub(super) fn row(
    id: u32,
    phase: Phase,
    (start, end): (u64, u64),
    bytes: u64,
    measure: Measure,
) -> Event {
    Event::Row(Row {
        subject: Subject::Flow(tag(id)),
        phase,
        span: Span {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
        },
        ended: WallTime::default(),
        bytes,
        endpoints: None,
        trip_times: false,
        measure,
    })
}

fn connected(id: u32) -> Event {
    let local = "[::ffff:192.0.2.1]:40000".parse().expect("an address");
    let peer = "192.0.2.2:5001".parse().expect("an address");
    Event::Connected(Connected::new(tag(id), local, peer))
}

fn sent() -> Measure {
    Measure::TcpSend(TcpSend {
        retransmits: Some(3),
        state: Some(TcpState {
            cwnd_packets: Some(10),
            mss: Some(1448),
            rtt_micros: Some(250),
            ..TcpState::default()
        }),
        ..TcpSend::default()
    })
}

fn datagrams(writes: u64) -> Measure {
    Measure::UdpSend(UdpSend {
        writes,
        ..UdpSend::default()
    })
}

/// A recorded run's events without one kind of them, or changed.
fn changed(name: &str, mut change: impl FnMut(&mut Event) -> bool) -> Vec<Event> {
    let recorded = values(&golden(name)).remove(0);
    let role = if name.contains(".server.") {
        Role::Server
    } else {
        Role::Client
    };
    let mut events = events(&recorded, role);
    events.retain_mut(|event| change(event));
    events
}

/// The same test under another number, with flows of its own.
fn renumbered(events: &[Event], number: u32) -> Vec<Event> {
    let shifted = |tag: FlowTag| FlowTag {
        id: FlowId(tag.id.0 + 100 * number),
        ..tag
    };
    let mut events = events.to_vec();
    for event in &mut events {
        match event {
            Event::ControlConnected(control) => control.test = number,
            Event::Connected(line) => line.tag = shifted(line.tag),
            Event::TestStart(start) => {
                start.test = number;
                for (tag, _) in &mut start.flows {
                    *tag = shifted(*tag);
                }
            }
            Event::Row(row) => {
                if let Subject::Flow(tag) = &mut row.subject {
                    *tag = shifted(*tag);
                }
            }
            Event::TestEnd(end) => end.test = number,
            _ => {}
        }
    }
    events
}

fn assert_rate(object: &Json) {
    let (bytes, seconds) = (object.at("bytes").float(), object.at("seconds").float());
    let rate = object.at("bits_per_second").float();
    assert!((rate * seconds - bytes * 8.0).abs() <= 1e-9 * bytes * 8.0);
    let length = object.at("end").float() - object.at("start").float();
    assert!((length - seconds).abs() < 1e-9, "{}", object.indented());
}

/// Every object that has a rate.
fn check_rates(value: &Json) -> usize {
    match value {
        Json::Array(values) => values.iter().map(check_rates).sum(),
        Json::Object(object) => {
            let rated = value.get("bits_per_second").is_some();
            if rated {
                assert_rate(value);
            }
            let inner = object.entries().iter();
            usize::from(rated) + inner.map(|(_, value)| check_rates(value)).sum::<usize>()
        }
        _ => 0,
    }
}

#[test]
fn every_rate_is_that_of_the_bytes_and_seconds_beside_it() {
    for name in [
        "tcp.json",
        "tcp-bidir-P2.json",
        "udp-loss.json",
        "udp-bidir.server.json",
    ] {
        let document = document(&changed(name, |_| true));
        assert!(check_rates(&document) >= 10, "{name}");
    }
}

#[test]
fn an_exporter_finds_the_sums_of_both_ends() {
    for name in ["tcp.json", "tcp-R.json", "udp.json", "udp-R.json"] {
        let document = document(&changed(name, |_| true));
        for sum in ["sum_sent", "sum_received"] {
            for key in ["seconds", "bytes", "bits_per_second"] {
                let number = document.at(&format!("end.{sum}.{key}")).float();
                assert!(number > 0.0, "{name} {sum} {key}");
            }
        }
    }
}

#[test]
fn perfsonar_finds_streams_and_sums() {
    for name in ["tcp-P4.json", "udp-P2.json"] {
        let document = document(&changed(name, |_| true));
        for interval in document.at("intervals").items() {
            for stream in interval.at("streams").items() {
                for key in ["socket", "start", "end", "bits_per_second", "omitted"] {
                    stream.at(key);
                }
            }
            for key in ["start", "end", "bits_per_second", "omitted"] {
                interval.at("sum").at(key);
            }
        }
        let sum = if name.starts_with("tcp") {
            "sum_sent"
        } else {
            "sum"
        };
        let sum = document.at("end").at(sum);
        for key in ["start", "end", "seconds", "bytes", "bits_per_second"] {
            sum.at(key);
        }
        let sockets = |list: &Json| -> Vec<u64> {
            let items = list.items().iter();
            items.map(|one| one.at("socket").count()).collect()
        };
        let interval = sockets(document.at("intervals.0.streams"));
        assert_eq!(interval, sockets(document.at("start.connected")), "{name}");
    }
}

#[test]
fn benchmarks_find_retransmits_goodput_and_loss() {
    let tcp = document(&changed("tcp.json", |_| true));
    assert_eq!(tcp.at("end.sum_sent.retransmits").count(), 1);
    assert!(tcp.at("end.sum_received.bits_per_second").float() > 39e6);
    assert!(tcp.at("end.cpu_utilization_percent.host_total").float() > 0.0);
    let udp = document(&changed("udp-loss.json", |_| true));
    assert!((udp.at("end.sum.lost_percent").float() - 34.38).abs() < 0.01);
    assert!(udp.at("end.sum.jitter_ms").float() > 0.3);
}

#[test]
fn datagrams_lost_at_the_very_end_are_lost() {
    let udp = document(&changed("udp-loss.json", |_| true));
    for path in ["end.sum", "end.sum_received", "end.streams.0.udp"] {
        let lost = udp.at(path).at("lost_packets").count();
        let packets = udp.at(path).at("packets").count();
        assert_eq!((lost, packets), (1336, 3886), "{path}");
    }
    // Where both ends cut off a start, they do so at different moments.
    let omitted = document(&changed("udp-loss.json", |event| {
        if let Event::TestStart(start) = event {
            start.omit = Duration::from_secs(1);
        }
        true
    }));
    assert_eq!(omitted.at("end.sum_received.lost_packets").count(), 1335);
}

#[test]
fn a_test_without_intervals_is_one_long_interval() {
    let told = document(&changed(
        "tcp-P4.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    ));
    let intervals = told.at("intervals").items();
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].at("streams").items().len(), 4);
    assert_eq!(intervals[0].at("sum.bytes"), told.at("end.sum_sent.bytes"));
}

#[test]
fn intervals_wait_for_their_slowest_stream() {
    let all = changed("tcp-P4.json", |_| true);
    let reference = document(&all);
    // The rows of one stream come late, and all at once; those of another were dropped.
    let is_of = |event: &Event, id: u32| {
        matches!(event, Event::Row(row) if row.phase == Phase::Interval
            && row.subject == Subject::Flow(tag(id)))
    };
    let (late, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| is_of(e, 2));
    let at = others
        .iter()
        .position(|event| matches!(event, Event::Row(row) if row.phase == Phase::Total));
    let at = at.expect("a total");
    others.splice(at..at, late);
    assert_eq!(document(&others), reference);
    others.retain(|event| !is_of(event, 3));
    let fewer = document(&others);
    for interval in fewer.at("intervals").items() {
        assert_eq!(interval.at("streams").items().len(), 3);
    }
    assert_eq!(fewer.at("end"), &{
        let mut end = reference.at("end").clone();
        let stream = &mut end;
        unmeasured(stream, 2);
        end
    });
}

/// Windows of a stream without intervals are not known.
fn unmeasured(end: &mut Json, stream: usize) {
    let Json::Object(end) = end else { return };
    for (key, value) in end.entries_mut() {
        if let (true, Json::Array(streams)) = (key == "streams", value)
            && let Json::Object(both) = &mut streams[stream]
            && let Json::Object(sender) = &mut both.entries_mut()[0].1
        {
            for name in [
                "max_snd_cwnd",
                "max_snd_wnd",
                "max_rtt",
                "min_rtt",
                "mean_rtt",
            ] {
                sender.set(name, 0u32);
            }
        }
    }
}

#[test]
fn the_rest_of_a_datagram_sender_is_its_last_interval() {
    let start = |event: &mut Event| {
        if let Event::TestStart(start) = event {
            start.interval = Some(Duration::from_secs(1));
        }
    };
    let mut seen = 0;
    let mut events = changed("udp.json", |event| {
        start(event);
        let interval = matches!(event, Event::Row(row) if row.phase == Phase::Interval);
        seen += u32::from(interval);
        !interval || seen < 3
    });
    let document = document(&events);
    let last = document.at("intervals.2.streams.0");
    assert_eq!(last.at("packets").count(), 501);
    assert!((last.at("seconds").float() - 0.9947).abs() < 1e-4);
    // A short one is told too: it has data.
    for event in &mut events {
        if let Event::TestStart(start) = event {
            start.interval = Some(Duration::from_secs(10));
        }
    }
    let short = super::values(&told(Iperf3Json::documents(style()), &events).stdout).remove(0);
    let short = short.at("intervals").items();
    let bytes = |interval: &Json| interval.at("sum.bytes").count();
    assert_eq!(
        short.iter().map(bytes).sum::<u64>(),
        document.at("end.sum.bytes").count()
    );
}

#[test]
fn a_datagram_sender_that_ends_before_its_first_interval_is_in_it() {
    let mut seen = Vec::new();
    let events = changed("udp-P2.json", |event| match event {
        Event::Row(row) if row.phase == Phase::Interval => {
            // The second stream tells no interval.
            seen.push(row.subject);
            row.subject == seen[0]
        }
        _ => true,
    });
    let document = document(&events);
    let intervals = document.at("intervals").items().iter();
    let told: u64 = intervals.map(|one| one.at("sum.packets").count()).sum();
    assert_eq!(told, document.at("end.sum_sent.packets").count());
}

#[test]
fn last_intervals_of_streams_that_end_apart_are_one() {
    let mut flow = 0;
    let mut events = changed(
        "tcp-P4.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    );
    let rest: Vec<Event> = events
        .iter()
        .filter_map(|event| match event {
            Event::Row(row) if row.phase == Phase::Total => {
                flow += 1;
                let mut row = row.clone();
                row.phase = Phase::Interval;
                row.span.end = Duration::from_millis(flow * flow * 10);
                Some(Event::Row(row))
            }
            _ => None,
        })
        .collect();
    let first = events
        .iter()
        .position(|event| matches!(event, Event::Row(_)));
    let first = first.expect("a row");
    events.splice(first..first, rest);
    let intervals = document(&events).at("intervals").items().to_vec();
    assert_eq!(intervals.len(), 1);
    assert_eq!(intervals[0].at("streams").items().len(), 4);
    assert!(
        (intervals[0].at("sum.end").float() - 0.16).abs() < 1e-9,
        "{}",
        intervals[0].indented()
    );
}

#[test]
fn a_test_that_omits_without_intervals_has_one_that_counts() {
    let events = changed(
        "tcp-omit1.json",
        |event| !matches!(event, Event::Row(row) if row.phase == Phase::Interval),
    );
    let document = document(&events);
    let intervals = document.at("intervals").items();
    let counted = intervals
        .iter()
        .filter(|one| !one.at("sum.omitted").is_true());
    let bytes: Vec<u64> = counted.map(|one| one.at("sum.bytes").count()).collect();
    assert_eq!(bytes, [document.at("end.sum_sent.bytes").count()]);
}

#[test]
fn several_tests_of_a_server_are_told_apart() {
    let one = changed("tcp.server.json", |_| true);
    let two = renumbered(&changed("udp.server.json", |_| true), 2);
    let alone = [document(&one), document(&two)];
    let mut mixed = Vec::new();
    for at in 0..one.len().max(two.len()) {
        mixed.extend(one.get(at).cloned());
        mixed.extend(two.get(at).cloned());
    }
    let documents = values(&told(Iperf3Json::documents(style()), &mixed).stdout);
    assert_eq!(documents, alone);
    let lines = values(&told(Iperf3Json::stream(style()), &mixed).stdout);
    let of = |number: u64| {
        let named = |line: &&Json| line.get("test").is_some_and(|test| test.count() == number);
        lines.iter().filter(named).count()
    };
    // The last line of the test that ends last is alone again.
    assert_eq!((of(1) + of(2) + 1, lines.len()), (10, 10));
    let listening = Event::Listening(ServerBanner::new(Transport::Tcp, 5201));
    mixed.insert(0, listening);
    let text = told(Iperf3Text::new(style()), &mixed).stdout;
    assert!(text.contains("test #1:  [  5]   0.00-1.00   sec"), "{text}");
    assert!(
        text.contains("test #2:  [  5]   0.00-1.00   sec   488"),
        "{text}"
    );
    assert!(
        text.contains("Server listening on 5201 (test #3)"),
        "{text}"
    );
}

#[test]
fn an_error_is_told_once_and_in_one_document() {
    let failure = TestFailure {
        code: 27,
        text: "total required bandwidth is larger than server limit".to_owned(),
        by_peer: true,
        interrupted: false,
    };
    let events = changed("err-bitrate-limit.json", |event| {
        if let Event::TestEnd(end) = event {
            end.failure = Some(failure.clone());
        }
        true
    });
    let out = told(Iperf3Json::documents(style()), &events);
    assert_eq!(out.stdout.matches("\"error\"").count(), 1);
    let streamed = told(Iperf3Json::stream(style()), &events).stdout;
    assert_eq!(
        streamed,
        format!(
            "{{\"event\":\"error\",\"data\":\"{}\"}}\n{{\"event\":\"end\",\"data\":{{}}}}\n",
            failure.text
        )
    );
    let text = told(Iperf3Text::new(style()), &events);
    assert_eq!(
        text.stderr,
        format!(
            "iperf3: SERVER ERROR - {0}\niperf3: error - {0}\n",
            failure.text
        )
    );
    assert!(!text.stdout.contains("iperf Done."));
}

#[test]
fn a_test_that_cannot_be_had_is_a_document() {
    let events = [Event::TestEnd(Box::new(TestEnd {
        failure: Some(TestFailure {
            code: 103,
            text: "unable to connect to server: Connection refused".to_owned(),
            by_peer: false,
            interrupted: false,
        }),
        ..empty_end()
    }))];
    let refused = document(&events);
    assert_eq!(refused.at("end").object().entries().len(), 0);
    assert_eq!(refused.at("start.connected").items().len(), 0);
    assert!(refused.at("error").text().ends_with("Connection refused"));
}

fn empty_end() -> TestEnd {
    TestEnd {
        test: 1,
        cpu: crate::model::CpuUse::default(),
        peer_cpu: None,
        sender_congestion: None,
        receiver_congestion: None,
        peer_totals: Vec::new(),
        lost_behind: Vec::new(),
        peer_output: None,
        failure: None,
    }
}

#[test]
fn a_test_over_iperf_2_is_a_document_too() {
    let banner = ClientBanner {
        write_length: 131_072,
        buffer: BufferSize {
            actual: 16_384,
            requested: None,
        },
        ..ClientBanner::new("server.example", 5001, Transport::Tcp)
    };
    let mut events = vec![Event::Connecting(banner), connected(1), connected(2)];
    for id in [1, 2] {
        events.push(row(id, Phase::Interval, (0, 1000), 1_000_000, sent()));
    }
    for id in [1, 2] {
        events.push(row(id, Phase::Total, (0, 1000), 1_000_000, sent()));
    }
    let document = document(&events);
    assert_eq!(document.get("error"), None);
    assert_eq!(document.at("start.connected").items().len(), 2);
    assert_eq!(
        document.at("start.connected.0.local_host").text(),
        "192.0.2.1"
    );
    assert_eq!(document.at("start.test_start.num_streams").count(), 2);
    assert_eq!(document.at("start.test_start.blksize").count(), 131_072);
    assert_eq!(document.at("intervals").items().len(), 1);
    assert_eq!(document.at("intervals.0.sum.bytes").count(), 2_000_000);
    assert_eq!(
        document.at("intervals.0.streams.1.snd_cwnd").count(),
        14_480
    );
    assert_eq!(document.at("end.sum_sent.retransmits").count(), 6);
    assert!((document.at("end.sum_received.bits_per_second").float() - 16e6).abs() < 1.0);
    let lines = values(&told(Iperf3Json::stream(style()), &events).stdout);
    let names: Vec<&str> = lines.iter().map(|line| line.at("event").text()).collect();
    assert_eq!(names, ["start", "interval", "end"]);
}

#[test]
fn an_iperf_2_servers_report_is_the_receivers_count() {
    let banner = ClientBanner {
        rate: Some(1_048_576),
        ..ClientBanner::new("server.example", 5001, Transport::Udp)
    };
    let report = Measure::UdpReceive(UdpReceive {
        total: 90,
        lost: 5,
        jitter: Some(0.001),
        ..UdpReceive::default()
    });
    let Event::Row(report) = row(1, Phase::Total, (0, 1010), 85 * 1470, report) else {
        return;
    };
    let events = [
        Event::Connecting(banner),
        connected(1),
        row(1, Phase::Total, (0, 1000), 90 * 1470, datagrams(90)),
        Event::Idle,
        Event::ServerReport {
            row: report,
            enhanced: false,
        },
    ];
    let document = document(&events);
    assert_eq!(document.at("start.target_bitrate").count(), 1_048_576);
    assert_eq!(document.at("end.sum_sent.packets").count(), 90);
    assert_eq!(document.at("end.sum_received.lost_packets").count(), 5);
    assert_eq!(document.at("end.sum_received.bytes").count(), 85 * 1470);
    assert_eq!(document.at("end.sum.jitter_ms").float(), 1.0);
}

#[test]
fn an_iperf_2_server_tells_a_document_whenever_it_is_idle() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let mut events = vec![Event::Listening(ServerBanner::new(Transport::Tcp, 5001))];
    for id in [1, 2] {
        events.push(connected(id));
        events.push(row(id, Phase::Interval, (0, 1000), 10, received()));
        events.push(row(id, Phase::Total, (0, 2000), 20, received()));
        events.push(Event::Idle);
    }
    let documents = values(&told(Iperf3Json::documents(style()), &events).stdout);
    assert_eq!(documents.len(), 2);
    for document in documents {
        assert_eq!(document.at("end.sum_received.bytes").count(), 20);
        assert_eq!(document.at("end.sum_sent.bytes").count(), 0);
        assert_eq!(document.at("start.test_start.duration").float(), 2.0);
    }
}

#[test]
fn a_failed_connection_over_iperf_2_is_a_document_with_an_error() {
    let events = [
        Event::Connecting(ClientBanner::new("server.example", 5001, Transport::Tcp)),
        Event::Notice(Notice::ConnectFailed {
            tag: tag(1),
            peer: "192.0.2.2:5001".parse().expect("an address"),
            reason: "Connection refused".to_owned(),
            at: WallTime::default(),
            retrying: false,
        }),
    ];
    let document = document(&events);
    assert!(
        document
            .at("error")
            .text()
            .ends_with("etc.: Connection refused")
    );
    assert_eq!(document.at("end").object().entries().len(), 0);
}

#[test]
fn conditions_of_an_iperf3_test_make_no_second_document() {
    let mut events = changed("tcp.json", |_| true);
    events.insert(
        events.len() - 1,
        Event::Notice(Notice::TrafficFailed {
            tag: tag(1),
            operation: crate::model::TrafficOperation::Write,
            transport: Transport::Tcp,
            reason: "Connection reset by peer".to_owned(),
        }),
    );
    assert_eq!(document(&events).get("error"), None);
}

#[test]
fn reordered_datagrams_have_a_line_of_their_own() {
    let events = changed("udp.server.json", |event| {
        if let Event::Row(row) = event
            && let (Phase::Total, Measure::UdpReceive(receive)) = (row.phase, &mut row.measure)
        {
            receive.out_of_order = 7;
        }
        true
    });
    let text = told(Iperf3Text::new(style()), &events).stdout;
    let line = "[SUM]  0.0- 3.0 sec  7 datagrams received out-of-order\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(
        document(&events)
            .at("end.streams.0.udp.out_of_order")
            .count(),
        7
    );
}

#[test]
fn unknown_kernel_values_are_minus_one() {
    let without = |row: &mut Row| {
        if let Measure::TcpSend(send) = &mut row.measure {
            send.state = Some(TcpState::default());
        }
    };
    let events = changed("tcp.json", |event| {
        if let Event::Row(row) = event {
            without(row);
        }
        true
    });
    let document = document(&events);
    for key in ["snd_wnd", "pmtu", "reorder"] {
        let value = document.at("intervals.0.streams.0").at(key);
        assert_eq!(value, &Json::Integer(-1), "{key}");
    }
    assert_eq!(document.at("end.streams.0.sender.mean_rtt").count(), 0);
}

#[test]
fn a_start_without_control_connection_or_flows_is_no_fault() {
    let mut start = None;
    changed("tcp.json", |event| {
        if let Event::TestStart(told) = event {
            start = Some(TestStart {
                flows: Vec::new(),
                ..(**told).clone()
            });
        }
        true
    });
    let start = Event::TestStart(Box::new(start.expect("a start")));
    let events = [start, Event::TestEnd(Box::new(empty_end()))];
    let document = document(&events);
    assert_eq!(document.at("intervals").items().len(), 0);
    assert_eq!(document.at("end.sum_sent.bits_per_second").float(), 0.0);
    let text = told(Iperf3Text::new(style()), &events).stdout;
    assert!(text.ends_with("iperf Done.\n"), "{text}");
}

#[test]
fn a_test_that_starts_beside_one_over_iperf_2_keeps_its_connections() {
    let announced = renumbered(&changed("tcp.server.json", |_| true), 1);
    let start = announced
        .iter()
        .position(|event| matches!(event, Event::TestStart(_)))
        .expect("a start");
    let received = || Measure::TcpReceive(TcpReceive::default());
    let mut mixed = announced.clone();
    // From the same address.
    let local = "127.0.0.1:5001".parse().expect("an address");
    let peer = "127.0.0.1:40000".parse().expect("an address");
    let other = [
        Event::Connected(Connected::new(tag(1), local, peer)),
        row(1, Phase::Interval, (0, 1000), 10, received()),
        row(1, Phase::Total, (0, 2000), 20, received()),
    ];
    // The row comes between the connections of the announced test and its start.
    mixed.splice(start..start, other);
    mixed.push(Event::Idle);
    let documents = values(&told(Iperf3Json::documents(style()), &mixed).stdout);
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[0], document(&announced));
    assert_eq!(documents[1].at("end.streams").items().len(), 1);
    assert_eq!(documents[1].at("intervals").items().len(), 1);
}

#[test]
fn directions_of_a_connection_over_iperf_2_are_streams() {
    let banner = ClientBanner::new("server.example", 5001, Transport::Tcp);
    let back = FlowTag {
        reversed: true,
        ..tag(1)
    };
    let received = |phase, bytes| {
        let measure = Measure::TcpReceive(TcpReceive::default());
        let Event::Row(row) = row(1, phase, (0, 1000), bytes, measure) else {
            unreachable!("a row");
        };
        Event::Row(Row {
            subject: Subject::Flow(back),
            ..row
        })
    };
    // Its line names the direction of the connection, its rows that of the data.
    let reverse = document(&[
        Event::Connecting(banner.clone()),
        connected(1),
        received(Phase::Interval, 70),
        received(Phase::Total, 70),
    ]);
    assert_eq!(reverse.at("start.test_start.reverse").count(), 1);
    assert_eq!(reverse.at("end.streams").items().len(), 1);
    assert_eq!(reverse.at("end.sum_received.bytes").count(), 70);
    let Event::Connected(line) = connected(1) else {
        return;
    };
    let both = document(&[
        Event::Connecting(banner),
        Event::Connected(Connected {
            flavour: crate::model::ConnectionFlavour::FullDuplex,
            ..line
        }),
        received(Phase::Interval, 70),
        row(1, Phase::Interval, (0, 1000), 50, sent()),
        received(Phase::Total, 70),
        row(1, Phase::Total, (0, 1000), 50, sent()),
    ]);
    assert_eq!(both.at("start.test_start.bidir").count(), 1);
    assert_eq!(both.at("start.test_start.num_streams").count(), 1);
    assert_eq!(both.at("intervals").items().len(), 1);
    assert_eq!(both.at("intervals.0.sum.bytes").count(), 50);
    assert_eq!(both.at("intervals.0.sum_bidir_reverse.bytes").count(), 70);
    assert_eq!(both.at("end.sum_sent.bytes").count(), 50);
    assert_eq!(both.at("end.sum_received_bidir_reverse.bytes").count(), 70);
}
