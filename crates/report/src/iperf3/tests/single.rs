//! Single properties of what is reported.

use std::time::Duration;

use tapeline_base::Transport;

use super::super::json::Json;
use super::super::{Iperf3Json, Iperf3Text};
use super::scenario::{changed, document, renumbered, style, tag};
use super::support::{rendered, values};
use crate::model::{
    Event, Measure, Notice, Phase, Row, ServerBanner, TcpState, TestEnd, TestFailure, TestStart,
};

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
fn every_rate_is_that_of_the_bytes_and_seconds_next_to_it() {
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
fn several_tests_of_a_server_are_distinguished() {
    let one = changed("tcp.server.json", |_| true);
    let two = renumbered(&changed("udp.server.json", |_| true), 2);
    let alone = [document(&one), document(&two)];
    let mut mixed = Vec::new();
    for at in 0..one.len().max(two.len()) {
        mixed.extend(one.get(at).cloned());
        mixed.extend(two.get(at).cloned());
    }
    let documents = values(&rendered(Iperf3Json::documents(style()), &mixed).stdout);
    assert_eq!(documents, alone);
    let lines = values(&rendered(Iperf3Json::stream(style()), &mixed).stdout);
    let of = |number: u64| {
        let named = |line: &&Json| line.get("test").is_some_and(|test| test.count() == number);
        lines.iter().filter(named).count()
    };
    // The last line of the test that ends last is alone again.
    assert_eq!((of(1) + of(2) + 1, lines.len()), (10, 10));
    let listening = Event::Listening(ServerBanner::new(Transport::Tcp, 5201));
    mixed.insert(0, listening);
    let text = rendered(Iperf3Text::new(style()), &mixed).stdout;
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
fn an_error_is_printed_once_and_in_one_document() {
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
    let out = rendered(Iperf3Json::documents(style()), &events);
    assert_eq!(out.stdout.matches("\"error\"").count(), 1);
    let streamed = rendered(Iperf3Json::stream(style()), &events).stdout;
    assert_eq!(
        streamed,
        format!(
            "{{\"event\":\"error\",\"data\":\"{}\"}}\n{{\"event\":\"end\",\"data\":{{}}}}\n",
            failure.text
        )
    );
    let text = rendered(Iperf3Text::new(style()), &events);
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
        peer_tapeline: None,
        failure: None,
    }
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
    let text = rendered(Iperf3Text::new(style()), &events).stdout;
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
        if let Event::TestStart(original) = event {
            start = Some(TestStart {
                flows: Vec::new(),
                ..(**original).clone()
            });
        }
        true
    });
    let start = Event::TestStart(Box::new(start.expect("a start")));
    let events = [start, Event::TestEnd(Box::new(empty_end()))];
    let document = document(&events);
    assert_eq!(document.at("intervals").items().len(), 0);
    assert_eq!(document.at("end.sum_sent.bits_per_second").float(), 0.0);
    let text = rendered(Iperf3Text::new(style()), &events).stdout;
    assert!(text.ends_with("iperf Done.\n"), "{text}");
}
