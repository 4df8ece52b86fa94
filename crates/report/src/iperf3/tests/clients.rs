//! Tests over iperf 2's protocol on a server, distinguished.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::Transport;

use super::super::Iperf3Json;
use super::super::json::Json;
use super::scenario::{row, style, tag};
use super::support::{rendered, values};
use crate::model::{ClientTest, Connected, Event, Measure, Notice, Phase, TcpReceive};
use crate::render::{Output, Renderer};

/// A connection of an iperf 2 client at a server: where from, and in which test.
fn served(id: u32, client: u8, test: Option<ClientTest>) -> Event {
    let local = "192.0.2.1:5001".parse().expect("an address");
    let peer = SocketAddr::from(([192, 0, 2, client], 40_000));
    Event::Connected(Connected {
        test,
        ..Connected::new(tag(id), Transport::Tcp, local, peer)
    })
}

/// The documents of a server's events: bytes that each stream received.
fn received_bytes(events: &[Event]) -> Vec<Vec<u64>> {
    let documents = values(&rendered(Iperf3Json::documents(style()), events).stdout);
    let bytes = |stream: &Json| stream.at("receiver.bytes").count();
    let streams = |document: &Json| {
        let streams = document.at("end.streams").items();
        streams.iter().map(bytes).collect()
    };
    documents.iter().map(streams).collect()
}

#[test]
fn iperf_2_clients_at_the_same_time_have_a_document_each() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let test = |number, flows| {
        Some(ClientTest {
            number,
            flows: Some(flows),
        })
    };
    // Two streams of a client, one of another, and a second test of the first client.
    let mut events = vec![
        served(1, 7, test(1, 2)),
        served(2, 8, test(2, 1)),
        served(3, 7, test(1, 2)),
        served(4, 7, test(3, 1)),
    ];
    for id in [1, 2, 3, 4] {
        events.push(row(id, Phase::Interval, (0, 1000), 10, received()));
    }
    // A test that has one of its streams only is not over.
    for (id, bytes) in [(1, 100), (4, 400), (3, 300), (2, 200)] {
        events.push(row(id, Phase::Total, (0, 2000), bytes, received()));
    }
    events.push(Event::Idle);
    assert_eq!(
        received_bytes(&events),
        [vec![400], vec![100, 300], vec![200]]
    );
    let documents = values(&rendered(Iperf3Json::documents(style()), &events).stdout);
    assert_eq!(documents[1].at("end.sum_received.bytes").count(), 400);
    assert_eq!(documents[1].at("intervals.0.sum.bytes").count(), 20);
    let lines = values(&rendered(Iperf3Json::stream(style()), &events).stdout);
    let ends = lines.iter().filter(|line| line.at("event").text() == "end");
    let named: Vec<Option<u64>> = ends.map(|line| line.get("test").map(Json::count)).collect();
    assert_eq!(named, [Some(3), Some(1), None]);
}

#[test]
fn iperf_2_clients_without_a_header_are_distinguished_by_address_and_time() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let mut events = vec![served(1, 7, None), served(2, 7, None), served(3, 8, None)];
    for id in [1, 2, 3] {
        events.push(row(id, Phase::Interval, (0, 1000), 10, received()));
    }
    // The streams of a test come together: this is the next one.
    events.push(served(4, 7, None));
    for (id, bytes) in [(1, 100), (4, 400), (3, 300), (2, 200)] {
        events.push(row(id, Phase::Total, (0, 2000), bytes, received()));
    }
    assert_eq!(
        received_bytes(&events),
        [vec![400], vec![300], vec![100, 200]]
    );
}

#[test]
fn a_flow_that_fails_on_an_iperf_2_server_fails_its_own_test() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let mut events = vec![served(1, 7, None), served(2, 8, None)];
    for id in [1, 2] {
        events.push(row(id, Phase::Interval, (0, 1000), 10, received()));
    }
    events.push(Event::Notice(Notice::PeerVanished {
        tag: tag(2),
        silent_for: Duration::from_secs(3),
    }));
    for id in [1, 2] {
        events.push(row(id, Phase::Total, (0, 2000), 20, received()));
    }
    let documents = values(&rendered(Iperf3Json::documents(style()), &events).stdout);
    let errors: Vec<bool> = documents
        .iter()
        .map(|document| document.get("error").is_some())
        .collect();
    assert_eq!(errors, [false, true]);
}

#[test]
fn a_stream_that_never_comes_keeps_a_test_open_until_the_server_is_idle() {
    let received = || Measure::TcpReceive(TcpReceive::default());
    let test = Some(ClientTest {
        number: 1,
        flows: Some(2),
    });
    let mut events = vec![
        served(1, 7, test),
        row(1, Phase::Total, (0, 2000), 100, received()),
    ];
    let shown = |events: &[Event]| {
        let mut renderer = Iperf3Json::documents(style());
        let mut out = Output::default();
        for event in events {
            renderer.render(event, &mut out);
        }
        values(&out.stdout).len()
    };
    assert_eq!(shown(&events), 0);
    events.push(Event::Idle);
    assert_eq!(shown(&events), 1);
}
