//! Tests over the protocol of iperf 2, as iperf3 would report them.

use tapeline_base::{FlowTag, Transport, WallTime};

use super::super::Iperf3Json;
use super::scenario::{changed, connected, datagrams, document, renumbered, row, sent, style, tag};
use super::support::{rendered, values};
use crate::model::{
    BufferSize, ClientBanner, Connected, Event, Measure, Notice, Phase, Row, ServerBanner, Subject,
    TcpReceive, UdpReceive,
};

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
    let lines = values(&rendered(Iperf3Json::stream(style()), &events).stdout);
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
fn an_iperf_2_server_prints_a_document_whenever_it_is_idle() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let mut events = vec![Event::Listening(ServerBanner::new(Transport::Tcp, 5001))];
    for id in [1, 2] {
        events.push(connected(id));
        events.push(row(id, Phase::Interval, (0, 1000), 10, received()));
        events.push(row(id, Phase::Total, (0, 2000), 20, received()));
        events.push(Event::Idle);
    }
    let documents = values(&rendered(Iperf3Json::documents(style()), &events).stdout);
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
            after: std::time::Duration::ZERO,
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
fn a_test_that_starts_during_one_over_iperf_2_keeps_its_connections() {
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
        Event::Connected(Connected::new(tag(1), Transport::Tcp, local, peer)),
        row(1, Phase::Interval, (0, 1000), 10, received()),
        row(1, Phase::Total, (0, 2000), 20, received()),
    ];
    // The row comes between the connections of the announced test and its start.
    mixed.splice(start..start, other);
    mixed.push(Event::Idle);
    let documents = values(&rendered(Iperf3Json::documents(style()), &mixed).stdout);
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
