//! How UDP flows begin and end, by a client of raw sockets.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapeline_base::Transport::Udp;
use tapeline_report::{Event, Measure, UdpReceive};
use tapeline_wire::iperf2::{DatagramStamp, ServerReport, TestMode, UdpClientHeader};

use crate::harness::*;

/// A client that sends what it is given.
pub(crate) struct Raw {
    pub(crate) socket: UdpSocket,
    pub(crate) header: UdpClientHeader,
    /// Offset of the stamps, so that they grow from call to call.
    sent: u32,
}

impl Raw {
    pub(crate) fn new(server: &TestServer) -> Self {
        let own = SocketAddr::new(server.address.ip(), 0);
        let socket = UdpSocket::bind(own).expect("socket");
        socket.connect(server.address).expect("connect");
        socket.set_read_timeout(Some(LIMIT)).expect("timeout");
        Self {
            socket,
            header: UdpClientHeader::default(),
            sent: 0,
        }
    }

    /// Sends datagram `id`, stamped after all before.
    pub(crate) fn send(&mut self, id: i64) {
        self.sent += 1;
        self.send_stamped(id, self.sent);
    }

    pub(crate) fn send_stamped(&self, id: i64, order: u32) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("time");
        self.send_as(DatagramStamp {
            id,
            seconds: now.as_secs() as u32 + order,
            micros: now.subsec_micros(),
        });
    }

    pub(crate) fn send_as(&self, stamp: DatagramStamp) {
        let mut datagram = vec![0; 200];
        self.header.write(&mut datagram);
        stamp.write_16(&mut datagram);
        self.socket.send(&datagram).expect("send");
    }

    pub(crate) fn report(&self) -> ServerReport {
        let mut buffer = [0; 2048];
        let length = self.socket.recv(&mut buffer).expect("a report");
        assert_eq!(length, 128);
        ServerReport::accept(&buffer[..length]).expect("a valid report")
    }
}

pub(crate) fn received(events: &[Event]) -> Vec<UdpReceive> {
    totals(events)
        .into_iter()
        .map(|row| match row.measure {
            Measure::UdpReceive(udp) => udp,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn no_first_datagram_is_lost_among_two_hundred_flows() {
    let server = TestServer::on(V4, Udp);
    let mut flows: Vec<Raw> = (0..200).map(|_| Raw::new(&server)).collect();
    for id in [1, 2, -3] {
        for flow in &mut flows {
            flow.send(id);
        }
    }
    for flow in &flows {
        let report = flow.report();
        assert_eq!((report.datagrams, report.lost), (3, 0));
        assert_eq!(report.bytes.0, 600);
    }
    server.events.wait_for_totals(200);
    let served = server.stop();
    let flows = received(&served);
    assert_eq!(flows.len(), 200);
    assert!(
        flows
            .iter()
            .all(|flow| (flow.received, flow.out_of_order) == (3, 0))
    );
}

#[test]
fn the_report_is_repeated_for_every_final_datagram_but_shown_once() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for id in [1, 2, -3] {
        client.send(id);
    }
    let first = client.report();
    // As 2.2.1 counts on, as we repeat, and data that was under way.
    for id in [-4, -3, 2, -3] {
        client.send_stamped(id, client.sent.saturating_sub(1));
    }
    for _ in 0..3 {
        assert_eq!(client.report(), first);
    }
    let served = server.stop();
    assert_eq!(received(&served).len(), 1);
    assert_eq!(received(&served)[0].received, 3);
}

#[test]
fn data_that_the_final_datagram_overtook_is_counted() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for id in [1, 2, -5, 4, 3] {
        client.send(id);
    }
    let report = client.report();
    assert_eq!((report.datagrams, report.lost), (5, 0));
    assert_eq!(report.out_of_order, 2);
    server.stop();
}

#[test]
fn a_lost_tail_is_reported_with_the_second_question() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for id in [1, 2, -5] {
        client.send(id);
    }
    client.send(-5);
    let report = client.report();
    assert_eq!((report.datagrams, report.lost), (5, 2));
    let served = server.stop();
    let flow = &received(&served)[0];
    assert_eq!((flow.received, flow.lost, flow.duplicates), (3, 2, 0));
}

#[test]
fn a_client_that_asks_once_gets_its_report_in_spite_of_loss() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for id in [1, 3, -4] {
        client.send(id);
    }
    let report = client.report();
    assert_eq!((report.datagrams, report.lost), (4, 1));
    server.stop();
}

#[test]
fn a_new_test_from_the_same_port_is_a_new_flow() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for id in [1, 2, -3, 1, 2, 3, -4] {
        client.send(id);
        if id < 0 {
            client.report();
        }
    }
    // And one whose forerunner never ended.
    for id in [1, 2, 1, 2, 3, 4, -5] {
        client.send(id);
    }
    assert_eq!(client.report().datagrams, 5);
    server.events.wait_for_totals(4);
    let served = server.stop();
    let totals: Vec<_> = received(&served).iter().map(|flow| flow.total).collect();
    assert_eq!(totals, [3, 4, 2, 5]);
}

#[test]
fn strangers_words_open_nothing() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    for garbage in [
        &[][..],
        &[0],
        &[0; 3],
        &[0xff; 3],
        &[0xff; 16],
        &[0xff; 1470],
    ] {
        client.socket.send(garbage).expect("send");
    }
    client.send(-1);
    client.send(0);
    // The flow that follows is the first.
    let mut good = Raw::new(&server);
    for id in [1, -2] {
        good.send(id);
    }
    good.report();
    let served = server.stop();
    assert_eq!(received(&served).len(), 1);
}

#[test]
fn repeated_orders_of_a_reverse_test_start_it_once() {
    let server = TestServer::on(V4, Udp);
    let mut client = Raw::new(&server);
    client.header.mode = TestMode::Reverse;
    client.header.amount = tapeline_wire::iperf2::Amount::Bytes(2000);
    for _ in 0..20 {
        client.send(1);
    }
    let mut buffer = [0; 2048];
    let mut ids = vec![];
    while ids.last().is_none_or(|id| *id > 0) {
        let length = client.socket.recv(&mut buffer).expect("data");
        ids.push(
            DatagramStamp::read_16(&buffer[..length], true)
                .expect("a stamp")
                .id,
        );
    }
    let count = ids.len() as i64;
    let expected: Vec<i64> = (1..count).chain([-count]).collect();
    assert_eq!(ids, expected);
    // Late copies after its end.
    client.send(1);
    client
        .socket
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("timeout");
    assert!(client.socket.recv(&mut buffer).is_err(), "it began again");
    assert_eq!(totals(&server.stop()).len(), 1);
}
