//! Faults 15 to 18: datagrams of sources that are not verified.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use tapeline_base::{BitRate, Clock};
use tapeline_sys::SystemClock;
use tapeline_wire::iperf2::{
    Amount, ByteRate, DatagramStamp, PeerVersion, Rate, TestMode, Ticks, UdpClientHeader, Workload,
    limits,
};

use crate::Fault;
use crate::iperf2_tcp::{FRAMES, MODES};
use crate::subject::{AFTER_DEADLINE, SOON, Subject, extremes, noise};

pub(crate) const FAULTS: &[Fault] = &[
    (
        "11 settings of datagrams at their extremes",
        setting_extremes,
    ),
    ("14 a datagram in a year", datagram_in_a_year),
    ("15 first datagrams from 3000 ports", many_sources),
    ("16 orders of unverified sources", unverified_orders),
    ("17 final datagrams of unknown sessions", unknown_ends),
    ("17 reports of short flows", short_flows),
    ("18 random datagrams", random_datagrams),
];

/// Sources of one datagram each that are remembered in a trial.
const NEW_FLOWS: usize = 1000;
/// Time in which an answer is found that is there.
const AT_ONCE: Duration = Duration::from_millis(1);
/// Time in which an answer that should not come would come.
const WATCH: Duration = Duration::from_millis(700);

/// A first datagram of `length` bytes.
pub(crate) fn first(mode: TestMode, length: usize) -> Vec<u8> {
    let mut datagram = vec![0; length];
    UdpClientHeader {
        mode,
        port: 9,
        amount: Amount::Time(Ticks(6000)),
        rate: Rate::Bits(BitRate(20_000_000)),
        version: Some(PeerVersion::IPERF_2_2_1),
        ..UdpClientHeader::default()
    }
    .write(&mut datagram);
    stamp(&mut datagram, 1);
    datagram
}

fn stamp(datagram: &mut [u8], id: i64) {
    DatagramStamp {
        id,
        ..DatagramStamp::default()
    }
    .write_16(datagram);
}

/// A first datagram with every block that there is.
fn full(mode: TestMode, workload: Workload) -> Vec<u8> {
    let mut datagram = vec![0; limits::UDP_HEADER_ROOM];
    UdpClientHeader {
        mode,
        workload,
        port: 9,
        amount: Amount::Time(Ticks(100)),
        buffer_length: Some(1000),
        rate: Rate::Bits(BitRate(1_000_000)),
        start_time: Some(SystemClock.wall().into()),
        epoch_start: true,
        trip_times: true,
        fq_rate: Some(ByteRate(1_000_000)),
        ..UdpClientHeader::default()
    }
    .write(&mut datagram);
    stamp(&mut datagram, 1);
    datagram
}

/// Bytes that have come to a socket, and those that still come.
fn received(socket: &UdpSocket, watch: Duration) -> usize {
    socket.set_read_timeout(Some(watch)).expect("a timeout");
    let mut buffer = vec![0; 65_536];
    let mut bytes = 0;
    loop {
        match socket.recv(&mut buffer) {
            Ok(count) => bytes += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return bytes,
            Err(_) => {}
        }
        if bytes > 1 << 20 {
            return bytes;
        }
    }
}

/// Asserts that no socket has got more than `times` what it has sent.
fn assert_no_amplification(sources: &[(UdpSocket, usize)], times: usize, what: &str) {
    for (number, (socket, sent)) in sources.iter().enumerate() {
        // All have been waiting while the first was watched.
        let watch = if number == 0 {
            WATCH
        } else {
            Duration::from_millis(1)
        };
        let got = received(socket, watch);
        assert!(got <= times * sent, "{what}: {got} bytes for {sent}");
    }
}

fn setting_extremes() {
    let subject = Subject::public();
    for mode in MODES {
        let mut sources = Vec::new();
        for workload in [Workload::Stream, Workload::Isochronous(Some(FRAMES))] {
            let message = full(mode, workload);
            for message in extremes(&message, message.len() / 4) {
                let socket = subject.datagrams();
                let sent = socket.send(&message).expect("a datagram");
                sources.push((socket, sent));
            }
        }
        subject.serves();
        assert_no_amplification(&sources, 3, "settings");
    }
    subject.recovers(AFTER_DEADLINE);
}

/// Who is waited for as long as he says could keep his place for ever.
fn datagram_in_a_year() {
    let subject = Subject::public();
    let mut message = vec![0; 1470];
    UdpClientHeader {
        rate: Rate::Bits(BitRate(1)),
        ..UdpClientHeader::default()
    }
    .write(&mut message);
    let socket = subject.datagrams();
    for number in [1, 2] {
        stamp(&mut message, number);
        socket.send(&message).expect("a datagram");
    }
    let gone = |said: &str| said.contains("peer lost");
    let process = subject.process();
    let logged = process.wait_for(AFTER_DEADLINE, gone);
    assert!(logged, "{}", subject.said());
    subject.recovers(SOON);
}

/// Asks for the report of a flow. The end of a session that nobody knows is not answered.
fn ask(socket: &UdpSocket) {
    let mut message = [0; 128];
    stamp(&mut message, -2);
    socket.send(&message).expect("a datagram");
}

/// Whether a report comes.
fn is_answered(socket: &UdpSocket, watch: Duration) -> bool {
    socket.set_read_timeout(Some(watch)).expect("a timeout");
    socket.recv(&mut [0; 2000]).is_ok()
}

/// Whether the server knows of a flow, asked twice.
fn is_known(socket: &UdpSocket) -> bool {
    (0..2).any(|_| {
        ask(socket);
        is_answered(socket, WATCH)
    })
}

fn many_sources() {
    let subject = Subject::with(&format!("--trust none --limit udp-clients={NEW_FLOWS}"));
    let message = first(TestMode::Normal, 256);
    let before = subject.baseline();
    let mut most = 0;
    let held: Vec<UdpSocket> = (0..3000)
        .map(|number| {
            let socket = subject.datagrams();
            socket.send(&message).expect("a datagram");
            if number % 100 == 0 {
                most = most.max(subject.vitals().threads);
            }
            socket
        })
        .collect();
    // A slow machine reads them for longer than a client asks for its report.
    let marker = subject.datagrams();
    marker.send(&message).expect("a datagram");
    let end = Instant::now() + AFTER_DEADLINE;
    while !is_known(&marker) {
        assert!(Instant::now() < end, "the datagrams are not read");
    }
    subject.serves();
    let now = subject.vitals();
    most = most.max(now.threads);
    assert!(most <= before.threads + 16, "{most} threads, {before:?}");
    assert_eq!(now.descriptors, before.descriptors, "{now:?}");
    // The oldest have given their places to the newest.
    let (old, new) = held.split_at(held.len() - NEW_FLOWS);
    old.iter().for_each(ask);
    let (newest, new) = new.split_last().expect("sources");
    // Behind the others, so that they have been read by then.
    assert!(is_known(newest), "the newest source is not known");
    let known = old.iter().filter(|socket| is_answered(socket, AT_ONCE));
    let known = known.count();
    // Datagrams that two processors deliver may change places.
    assert!(
        known <= NEW_FLOWS / 100,
        "{known} sources are known that are too many"
    );
    // Those are forgotten, too. Asking ends a flow: each is asked once.
    let end = Instant::now() + AFTER_DEADLINE;
    let forgotten = new.iter().rev().any(|socket| {
        std::thread::sleep(WATCH);
        !is_known(socket) || Instant::now() > end
    });
    assert!(
        forgotten && Instant::now() < end,
        "silent sources are known for long"
    );
    subject.recovers(SOON);
}

fn unverified_orders() {
    let subject = Subject::public();
    let modes = [
        TestMode::Reverse,
        TestMode::FullDuplex,
        TestMode::Dual,
        TestMode::Tradeoff,
    ];
    let sources: Vec<(UdpSocket, usize)> = modes
        .into_iter()
        .cycle()
        .take(50)
        .map(|mode| {
            let socket = subject.datagrams();
            let message = first(mode, 1470);
            socket.send(&message).expect("a datagram");
            (socket, message.len())
        })
        .collect();
    subject.serves();
    assert_no_amplification(&sources, 3, "orders");
    subject.recovers(AFTER_DEADLINE);
}

fn unknown_ends() {
    let subject = Subject::public();
    let sources: Vec<(UdpSocket, usize)> = (0..50)
        .map(|number| {
            let socket = subject.datagrams();
            let mut message = vec![0; 16 + number * 20];
            stamp(&mut message, -100);
            socket.send(&message).expect("a datagram");
            (socket, message.len())
        })
        .collect();
    subject.serves();
    assert_no_amplification(&sources, 1, "ends");
    subject.recovers(SOON);
}

fn short_flows() {
    let subject = Subject::public();
    let sources: Vec<(UdpSocket, usize)> = (0..20)
        .map(|_| {
            let socket = subject.datagrams();
            let mut message = vec![0; 16];
            let mut sent = 0;
            for number in [1, 2, -3, -3, -3, -3, -3] {
                stamp(&mut message, number);
                sent += socket.send(&message).expect("a datagram");
            }
            (socket, sent)
        })
        .collect();
    subject.serves();
    assert_no_amplification(&sources, 3, "reports");
    subject.recovers(AFTER_DEADLINE);
}

fn random_datagrams() {
    let subject = Subject::public();
    let sources: Vec<(UdpSocket, usize)> = (0..650)
        .map(|seed| {
            let mut next = noise(seed);
            let message: Vec<u8> = (0..seed % 65).map(|_| next()).collect();
            let socket = subject.datagrams();
            let sent = socket.send(&message).expect("a datagram");
            (socket, sent)
        })
        .collect();
    subject.serves();
    assert_no_amplification(&sources, 1, "noise");
    subject.recovers(AFTER_DEADLINE);
}
