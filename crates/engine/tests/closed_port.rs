//! A UDP sender whose peer's port is closed: a source of traffic all the same.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_engine::{
    Cause, DatagramStamp, Destination, FailedOperation, Intervals, Precision, Schedule, SendCell,
    SendCounters, Stop, UdpSendEnd, UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_sys::{SocketOptions, SystemClock, UdpSocket};

/// Bytes of a datagram.
const LENGTH: usize = 100;

struct Plain;

impl DatagramStamp for Plain {
    fn stamp(&mut self, _: &mut [u8], _: u64, _: WallTime) {}
}

/// Most that a test waits for what should come at once.
const LIMIT: Duration = Duration::from_secs(30);

/// A port that nobody listens on.
fn closed_port() -> SocketAddr {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let passing = UdpSocket::bind(any, &SocketOptions::default()).expect("socket");
    passing.socket.local_addr().expect("address")
}

/// A datagram a millisecond.
fn milliseconds(start: MonoTime) -> UdpTraffic {
    UdpTraffic::Paced(Schedule::at_gap(start, Duration::from_millis(1)).expect("a gap"))
}

/// Sends as `traffic` says to a port that nobody listens on, until `datagrams` have left.
fn send(
    datagrams: u64,
    choices: (bool, bool),
    traffic: impl FnOnce(MonoTime) -> UdpTraffic,
) -> UdpSendEnd {
    send_to(closed_port(), datagrams, choices, traffic, |_| {})
}

/// Sends to a port, and looks at the counters meanwhile.
fn send_to(
    port: SocketAddr,
    datagrams: u64,
    (segmentation, ends_refused): (bool, bool),
    traffic: impl FnOnce(MonoTime) -> UdpTraffic,
    mut look: impl FnMut(SendCounters),
) -> UdpSendEnd {
    let options = SocketOptions::default();
    let socket = UdpSocket::connected(port, None, &options).expect("socket");
    let start = SystemClock.now();
    let cell = Arc::new(SendCell::new(Intervals::new(start, None)));
    let stop = Stop::new();
    let plan = UdpSendPlan {
        socket: Arc::new(socket.socket),
        to: Destination::Connected,
        template: vec![0; LENGTH],
        first: None,
        first_sequence: 1,
        start,
        deadline: Some(start + LIMIT),
        bytes: Some(datagrams * LENGTH as u64),
        bytes_from: MonoTime::ZERO,
        traffic: traffic(start),
        content: None,
        precision: Precision::Economical,
        segmentation,
        ends_refused,
        cell: Arc::clone(&cell),
        stop: stop.clone(),
        stamp: Plain,
    };
    let sending = thread::spawn(|| run_udp_sender(plan));
    while cell.read().writes < datagrams && !sending.is_finished() {
        look(cell.read());
        thread::yield_now();
    }
    stop.raise();
    sending.join().expect("the sender")
}

#[test]
fn refused_sends_are_counted_apart() {
    for segmentation in [false, true] {
        let end = send(1000, (segmentation, false), |_| UdpTraffic::Unpaced);
        let counters = end.counters;
        assert_eq!(counters.writes, 1000, "{end:?}");
        assert!(counters.refused > 0, "{end:?}");
        assert_eq!(counters.errors, counters.refused, "{end:?}");
    }
}

#[test]
fn a_refusal_uses_up_no_turn() {
    // Ten are due at once, the next ten in hours.
    let end = send(10, (false, false), |start| {
        let schedule = Schedule::at_gap(start, Duration::from_secs(3600)).expect("a gap");
        UdpTraffic::Paced(schedule.in_bursts(10))
    });
    assert_eq!(end.counters.writes, 10, "{end:?}");
    assert!(end.counters.refused > 0, "{end:?}");
}

#[test]
fn a_port_that_is_closed_from_the_start_ends_the_test() {
    let end = send(1_000_000, (false, true), milliseconds);
    let Cause::Failed(FailedOperation::Send, error) = &end.ending.cause else {
        panic!("{end:?}");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(end.counters.refused >= 2, "{end:?}");
}

#[test]
fn a_port_that_is_closed_for_a_moment_does_not() {
    let port = closed_port();
    let mut opened = None;
    let end = send_to(port, 1000, (false, true), milliseconds, |counters| {
        if counters.refused > 0 && opened.is_none() {
            let options = SocketOptions::default();
            opened = Some(UdpSocket::bind(port, &options).expect("its port"));
        }
    });
    assert!(opened.is_some() && end.counters.writes == 1000, "{end:?}");
}
