//! Faults 10 to 14: orders of iperf 2's clients that are cut, absurd, or not kept.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use tapeline_base::{BitRate, Clock};
use tapeline_sys::SystemClock;
use tapeline_wire::iperf2::{
    Amount, Bounceback, ByteRate, CongestionControl, IsochronousSettings, Millionths, PeerVersion,
    PermitKey, TcpClientHeader, TestMode, Ticks, Timestamp, Workload,
};

use crate::Fault;
use crate::subject::{AFTER_DEADLINE, Honest, SOON, Subject, are_closed, extremes};
use interop::Program;

pub(crate) const FAULTS: &[Fault] = &[
    ("10 cut headers of every length", cut_headers),
    ("11 header fields at their extremes", header_extremes),
    ("11 a start in many years", start_in_many_years),
    (
        "12 keys and bounce-back sizes at their extremes",
        length_extremes,
    ),
    ("13 a dual test of 1000 connections back", connect_backs),
    ("14 reverse tests that never read", unread_reverse_tests),
    ("14 promised data that never comes", promised_data),
];

/// Who sends, in every arrangement.
pub(crate) const MODES: [TestMode; 5] = [
    TestMode::Normal,
    TestMode::Reverse,
    TestMode::FullDuplex,
    TestMode::Dual,
    TestMode::Tradeoff,
];

/// Words of a header that are looked at.
const WORDS: usize = 32;
/// Connections that are held at a time: each may cost as much as a block of the largest length.
const HELD: usize = 40;
/// Frames or bursts that are asked for.
pub(crate) const FRAMES: IsochronousSettings = IsochronousSettings {
    frames_per_second: Millionths::from_whole(60),
    mean: Millionths::from_whole(10_000),
    variance: Millionths::from_whole(100),
    burst_gap: Millionths(0),
};

pub(crate) fn header(mode: TestMode, seconds: u32) -> TcpClientHeader {
    TcpClientHeader {
        mode,
        // Nobody listens there: connections back are refused.
        port: 9,
        amount: Amount::Time(Ticks(seconds * 100)),
        version: Some(PeerVersion::IPERF_2_2_1),
        ..TcpClientHeader::default()
    }
}

/// Headers with every block that there is, as far as they go together.
fn full_headers(mode: TestMode) -> [TcpClientHeader; 4] {
    let full = TcpClientHeader {
        buffer_length: Some(1000),
        rate: Some(BitRate(1_000_000)),
        write_prefetch: Some(1000),
        barrier_micros: Some(1000),
        start_time: Some(SystemClock.wall().into()),
        trip_times: true,
        fq_rate: Some(ByteRate(1_000_000)),
        congestion_control: CongestionControl::new(b"cubic").ok(),
        ..header(mode, 1)
    };
    [
        full.clone(),
        TcpClientHeader {
            epoch_start: true,
            ..full.clone()
        },
        TcpClientHeader {
            workload: Workload::Isochronous(Some(FRAMES)),
            ..full.clone()
        },
        TcpClientHeader {
            workload: Workload::PeriodicBurst(FRAMES),
            ..full
        },
    ]
}

/// A client's first message.
pub(crate) fn order(mode: TestMode, seconds: u32) -> Vec<u8> {
    encoded(&header(mode, seconds))
}

pub(crate) fn encoded(header: &TcpClientHeader) -> Vec<u8> {
    let mut message = Vec::new();
    header.encode(&mut message);
    message
}

fn cut_headers() {
    let subject = Subject::new();
    let mut held = Vec::new();
    for mode in MODES {
        let message = order(mode, 1);
        for length in 0..message.len() {
            let mut stream = subject.connect();
            stream.write_all(&message[..length]).expect("a part");
            held.push(stream);
        }
    }
    subject.serves();
    drop(held);
    subject.recovers(SOON);
}

/// Sends each message on a connection of its own, with data behind it.
fn send_all<'a>(
    subject: &Subject,
    messages: impl IntoIterator<Item = &'a Vec<u8>>,
) -> Vec<TcpStream> {
    let send = |message: &Vec<u8>| {
        let mut stream = subject.connect();
        let _ = stream.write_all(message);
        let _ = stream.write_all(&[b'7'; 1000]);
        stream
    };
    messages.into_iter().map(send).collect()
}

/// The same, all held until an honest client has been served, which comes behind them.
fn bombard(subject: &Subject, messages: impl Iterator<Item = Vec<u8>>) {
    let messages: Vec<Vec<u8>> = messages.collect();
    let held = send_all(subject, &messages);
    subject.serves();
    drop(held);
}

fn header_extremes() {
    let subject = Subject::new().with_workers();
    for mode in MODES {
        bombard(&subject, extremes(&order(mode, 1), WORDS));
        subject.lets_go(AFTER_DEADLINE);
        for header in full_headers(mode) {
            let messages: Vec<Vec<u8>> = extremes(&encoded(&header), WORDS).collect();
            for some in messages.chunks(HELD) {
                let held = send_all(&subject, some);
                // Behind them, so that all of them have been read by then.
                subject.serves_one();
                drop(held);
                subject.lets_go(AFTER_DEADLINE);
            }
        }
        subject.serves();
    }
    subject.recovers(AFTER_DEADLINE);
}

/// Who is obeyed in all could keep a place until then: nobody is, and such a test begins at once.
fn start_in_many_years() {
    let subject = Subject::new();
    let message = encoded(&TcpClientHeader {
        start_time: Some(Timestamp {
            seconds: u32::MAX,
            micros: 0,
        }),
        epoch_start: true,
        ..header(TestMode::Reverse, 1)
    });
    let mut stream = subject.connect();
    stream.write_all(&message).expect("an order");
    stream.set_read_timeout(Some(SOON)).expect("a timeout");
    let begun = stream.read(&mut [0; 1000]);
    assert!(
        begun.is_ok_and(|count| count > 0),
        "it waits: {}",
        subject.said()
    );
    drop(stream);
    subject.recovers(SOON);
}

/// Clients of a server that wants a key.
/// They come from another address than wrong keys do.
pub(crate) const KEYED: &[Honest] = &[(
    Program::TapelineAsIperf,
    "-n 100K --permit-key=sesame -B 127.0.0.2",
)];

fn length_extremes() {
    let subject = Subject::new().with_workers();
    let mut request = vec![0x31; 200];
    Bounceback {
        request_size: 200,
        reply_size: Some(200),
        id: 1,
        ..Bounceback::default()
    }
    .write(&mut request);
    bombard(&subject, extremes(&request, 16));
    subject.recovers(AFTER_DEADLINE);

    let subject = Subject::serving("--permit-key=sesame --permit-key-timeout 0", KEYED);
    let keyed = encoded(&TcpClientHeader {
        permit_key: PermitKey::new(b"sesame").ok(),
        ..header(TestMode::Normal, 1)
    });
    let at = keyed.len() - b"sesame".len() - 2;
    let lengths = [0_u16, 1, 3, 4, 5, 7, 127, 128, 129, 255, 32_767, 65_535];
    bombard(
        &subject,
        lengths.into_iter().map(|length| {
            let mut message = keyed.clone();
            message[at..at + 2].copy_from_slice(&length.to_be_bytes());
            message
        }),
    );
    subject.recovers(AFTER_DEADLINE);
}

/// One of each family and transport, from another address than the harm comes from: the tests of
/// that one may have all of its places.
const ELSEWHERE: &[Honest] = &[
    (Program::TapelineAsIperf, "-n 100K -B 127.0.0.2"),
    (Program::TapelineAsIperf, "-u -n 14700 -b 2m -B 127.0.0.2"),
    (Program::TapelineAsIperf3, "-n 100K -B 127.0.0.2"),
];

fn connect_backs() {
    let subject = Subject::serving("--trust none", ELSEWHERE);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let message = encoded(&TcpClientHeader {
        threads: 1000,
        port: listener.local_addr().expect("its address").port(),
        ..header(TestMode::Dual, 1)
    });
    let one_by_one = encoded(&TcpClientHeader {
        port: listener.local_addr().expect("its address").port(),
        ..header(TestMode::Dual, 1)
    });
    let mut held = Vec::new();
    for number in 0..1000 {
        let mut stream = subject.connect();
        let _ = stream.write_all(if number < 500 { &message } else { &one_by_one });
        held.push(stream);
    }
    drop(held);
    subject.recovers(AFTER_DEADLINE);
    listener.set_nonblocking(true).expect("a look");
    let mut count = 0;
    loop {
        match listener.accept() {
            Ok(_) => count += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => {}
        }
    }
    assert!(count <= 128, "{count} connections back");
}

fn unread_reverse_tests() {
    let subject = Subject::new();
    let held: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = subject.connect();
            stream
                .write_all(&order(TestMode::Reverse, 2))
                .expect("an order");
            stream
        })
        .collect();
    subject.serves();
    // Nobody has closed: the tests end by the server's clock.
    subject.recovers(AFTER_DEADLINE);
    drop(held);
}

fn promised_data() {
    let subject = Subject::public();
    // Who is waited for as long as he says could keep his place for ever.
    let in_a_year = encoded(&TcpClientHeader {
        rate: Some(BitRate(1)),
        ..header(TestMode::Normal, 2)
    });
    let held: Vec<TcpStream> = [order(TestMode::Normal, 2), in_a_year]
        .iter()
        .cycle()
        .take(12)
        .map(|message| {
            let mut stream = subject.connect();
            stream.write_all(message).expect("an order");
            stream
        })
        .collect();
    subject.serves();
    assert!(are_closed(&held, AFTER_DEADLINE), "idle tests go on");
    subject.recovers(SOON);
}
