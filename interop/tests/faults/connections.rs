//! Faults 1 to 6 and 9: connections that say nothing, or nothing that means anything.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use interop::Vitals;
use rustix::net::sockopt::set_socket_linger;
use tapeline_wire::iperf2::TestMode;

use crate::Fault;
use crate::effort::busiest_thread;
use crate::iperf2_tcp::{MODES, order};
use crate::iperf3::cookie;
use crate::subject::{AFTER_DEADLINE, SOON, Subject, are_closed, noise};

pub(crate) const FAULTS: &[Fault] = &[
    ("1 random first bytes", random_first_bytes),
    ("2 one byte, then silence", one_byte_then_silence),
    ("3 5000 idle connections", idle_connections),
    ("4 connections that are reset at once", resets),
    ("5 connect and close from 8 threads", connect_and_close),
    ("6 300 connections and 64 descriptors", few_descriptors),
    ("9 half close after the first message", half_closes),
];

/// Connections beyond the first message that one foreign source may hold.
const MAX_OF_ONE_SOURCE: usize = 256;
/// Time in which a connection is seen to be closed that is closed.
const AT_ONCE: Duration = Duration::from_millis(10);
/// Descriptors that a process with 64 of them has when it can open nothing for a test.
const FULL: usize = 50;

fn random_first_bytes() {
    let subject = Subject::new();
    let mut held = Vec::new();
    for (seed, length) in [
        1, 2, 3, 4, 12, 23, 24, 36, 37, 38, 64, 100, 255, 256, 1470, 9000,
    ]
    .into_iter()
    .cycle()
    .take(96)
    .enumerate()
    {
        let mut next = noise(seed as u64);
        let bytes: Vec<u8> = match seed % 4 {
            0 => vec![0; length],
            1 => vec![0xff; length],
            // As a cookie begins.
            2 => (0..length).map(|_| b'a' + next() % 26).collect(),
            _ => (0..length).map(|_| next()).collect(),
        };
        let mut stream = subject.connect();
        // The server may close meanwhile.
        let _ = stream.write_all(&bytes);
        if seed % 2 == 0 {
            held.push(stream);
        }
    }
    subject.serves();
    drop(held);
    subject.recovers(AFTER_DEADLINE);
}

fn one_byte_then_silence() {
    let subject = Subject::new();
    let silent: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = subject.connect();
            let byte: &[u8] = match number % 4 {
                0 => &[],
                1 => &[0x40],
                2 => b"a",
                _ => &[0],
            };
            stream.write_all(byte).expect("a byte");
            stream
        })
        .collect();
    subject.serves();
    assert!(
        are_closed(&silent, AFTER_DEADLINE),
        "silence is borne for long"
    );
    subject.recovers(SOON);
}

fn idle_connections() {
    let subject = Subject::public();
    let idle: Vec<TcpStream> = (0..5000).map(|_| subject.connect()).collect();
    // A client behind them: all of them have been accepted by then.
    subject.serves();
    let now = subject.vitals().descriptors;
    let most = subject.baseline().descriptors + MAX_OF_ONE_SOURCE;
    assert!(now <= most + 16, "{now} descriptors for {most}");
    drop(idle);
    subject.recovers(SOON);
    // A source that is trusted keeps what it opens.
    let subject = Subject::new();
    let idle: Vec<TcpStream> = (0..5000).map(|_| subject.connect()).collect();
    subject.serves();
    drop(idle);
    subject.recovers(SOON);
}

/// Closes a connection without a farewell.
pub(crate) fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("linger");
    drop(stream);
}

fn resets() {
    let subject = Subject::new();
    for count in [1, 30, 5000] {
        for _ in 0..count {
            reset(subject.connect());
        }
        subject.recovers(SOON);
    }
}

fn connect_and_close() {
    let subject = Subject::new();
    let (over, made) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // Addresses of closed connections are taken for a minute.
                while !over.load(Ordering::Relaxed) && made.load(Ordering::Relaxed) < 10_000 {
                    if let Ok(stream) = TcpStream::connect(subject.address()) {
                        drop(stream);
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| subject.serves()));
        over.store(true, Ordering::Relaxed);
        if let Err(complaint) = served {
            std::panic::resume_unwind(complaint);
        }
    });
    subject.recovers(SOON);
}

/// What 300 connections say that take all descriptors.
fn takers() -> [(&'static str, Vec<Vec<u8>>); 3] {
    let promises = [TestMode::Normal, TestMode::Dual];
    [
        ("silence", vec![Vec::new()]),
        (
            "cookies",
            (0..2000).map(|number| cookie(number).to_vec()).collect(),
        ),
        ("orders", promises.map(|mode| order(mode, 2)).into()),
    ]
}

fn few_descriptors() {
    std::thread::scope(|scope| {
        for (name, messages) in takers() {
            scope.spawn(move || fills_up(name, &messages));
        }
    });
}

fn fills_up(name: &str, messages: &[Vec<u8>]) {
    let subject = Subject::by_shell("ulimit -n 64; exec TAPELINE -s -p PORT");
    let began = Instant::now();
    let connect = |message: &Vec<u8>| {
        let mut stream = subject.connect();
        // It may have been rejected.
        let _ = stream.write_all(message);
        stream
    };
    let mut messages = messages.iter().cycle();
    let mut held: Vec<TcpStream> = messages.by_ref().take(300).map(connect).collect();
    let full = |now: Vitals| now.descriptors >= FULL;
    let (over, server) = (AtomicBool::new(false), subject.process().id());
    let busy = std::thread::scope(|scope| {
        // More and more, so that what is given up is taken.
        let more = scope.spawn(|| {
            let more = messages.take_while(|_| !over.load(Ordering::Relaxed));
            let calm = |stream| {
                std::thread::sleep(AT_ONCE);
                stream
            };
            more.map(connect).map(calm).collect::<Vec<_>>()
        });
        let busy = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            subject.comes_to(SOON, "it has descriptors left", full);
            busiest_thread(server, Duration::from_secs(2))
        }));
        over.store(true, Ordering::Relaxed);
        held.extend(more.join().unwrap_or_default());
        busy.unwrap_or_else(|complaint| std::panic::resume_unwind(complaint))
    });
    assert!(
        busy < 0.5,
        "{name}: a thread is busy for {busy} of the time while all is full"
    );
    // Who cannot be served is rejected, and does not wait for others to go.
    let end = Instant::now() + SOON;
    loop {
        held.retain(|one| !are_closed([one], AT_ONCE));
        if held.len() <= 64 {
            break;
        }
        assert!(
            Instant::now() < end,
            "{name}: who cannot be served waits: {}",
            held.len()
        );
    }
    drop(held);
    subject.recovers(AFTER_DEADLINE);
    let failed = |line: &&str| line.contains(" accept ") && line.contains("Too many open files");
    let logged = subject.process().stderr().lines().filter(failed).count() as u64;
    let minutes = began.elapsed().as_secs() / 60;
    assert!(
        logged <= minutes + 1,
        "{name}: logged {logged} times\n{}",
        subject.said()
    );
}

fn half_closes() {
    let subject = Subject::new();
    let mut messages: Vec<Vec<u8>> = MODES.map(|mode| order(mode, 1)).into();
    messages.push(cookie(9).to_vec());
    let held: Vec<TcpStream> = messages
        .iter()
        .cycle()
        .take(30)
        .map(|message| {
            let mut stream = subject.connect();
            stream.write_all(message).expect("a message");
            stream.shutdown(Shutdown::Write).expect("half a close");
            stream
        })
        .collect();
    subject.serves();
    drop(held);
    subject.recovers(AFTER_DEADLINE);
}
