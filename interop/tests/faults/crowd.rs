//! Honest clients of all families at once, while strangers do to a public server what they can.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use interop::{Finished, Invocation, Program, parse_csv};
use serde_json::Value;
use tapeline_wire::iperf2::TestMode;

use crate::Fault;
use crate::connections::reset;
use crate::iperf2_udp::first;
use crate::subject::{AFTER_DEADLINE, Subject};

pub(crate) const FAULTS: &[Fault] = &[("64 honest clients under attack", under_attack)];

/// Honest clients at the same time.
const CLIENTS: usize = 64;
/// Addresses that they come from; the attack comes from another one.
const SOURCES: usize = 8;
/// Payload of each test and direction, bytes; not a multiple of iperf3's blocks.
const AMOUNT: u64 = 200 << 10;
/// Datagrams of such a test.
const DATAGRAMS: u64 = AMOUNT / 1000;
/// Connections that say nothing.
const IDLE: usize = 5000;
/// More first datagrams than a server has places for flows.
const FLOOD: usize = 5000;
/// Between two strokes of an attacker: the clients, too, need the processors.
const PAUSE: Duration = Duration::from_micros(500);
/// Time for a client next to 63 others.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Every kind of test that a public server gives to strangers.
const HONEST: [(Program, &str); 8] = [
    (Program::TapelineAsIperf, ""),
    (Program::TapelineAsIperf, "-R"),
    (Program::TapelineAsIperf, "-u -l 1000"),
    (Program::Iperf221, ""),
    (Program::TapelineAsIperf3, ""),
    (Program::TapelineAsIperf3, "-u -l 1000"),
    (Program::TapelineAsIperf3, "-u -l 1000 -R"),
    (Program::Iperf3V18, "-R"),
];

/// What the attackers have done so far.
#[derive(Default)]
struct Attack {
    over: AtomicBool,
    resets: AtomicUsize,
    datagrams: AtomicUsize,
}

impl Attack {
    /// Strikes again and again.
    fn go_on(&self, mut stroke: impl FnMut()) {
        while !self.over.load(Ordering::Relaxed) {
            stroke();
            std::thread::sleep(PAUSE);
        }
    }

    /// All places of new UDP sources have been taken many times over.
    fn await_flood(&self) {
        let end = Instant::now() + TIMEOUT;
        while self.datagrams.load(Ordering::Relaxed) < FLOOD {
            assert!(Instant::now() < end, "the flood does not rise");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn under_attack() {
    let subject = Subject::public();
    let attack = Attack::default();
    let mut idle: VecDeque<TcpStream> = (0..IDLE).map(|_| subject.connect()).collect();
    let datagram = first(TestMode::Normal, 1470);
    let address = subject.address();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            attack.go_on(|| {
                if let Ok(stream) = TcpStream::connect(address) {
                    idle.push_back(stream);
                    idle.pop_front();
                }
            });
        });
        scope.spawn(|| {
            attack.go_on(|| {
                if let Ok(stream) = TcpStream::connect(address) {
                    reset(stream);
                    attack.resets.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
        scope.spawn(|| {
            attack.go_on(|| {
                let sent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
                    .and_then(|socket| socket.send_to(&datagram, address));
                attack
                    .datagrams
                    .fetch_add(usize::from(sent.is_ok()), Ordering::Relaxed);
            });
        });
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            attack.await_flood();
            serve_all(&subject);
        }));
        attack.over.store(true, Ordering::Relaxed);
        if let Err(complaint) = served {
            std::panic::resume_unwind(complaint);
        }
    });
    assert!(attack.resets.load(Ordering::Relaxed) > 0);
    drop(idle);
    subject.recovers(AFTER_DEADLINE);
}

/// Runs all honest clients at once.
fn serve_all(subject: &Subject) {
    let kinds: Vec<_> = HONEST
        .into_iter()
        .filter(|(program, _)| program.missing().is_none())
        .collect();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (program, options) = kinds[number / SOURCES % kinds.len()];
            let client = client(subject, program, options, number % SOURCES);
            (program, options, client.spawn().expect("a client"))
        })
        .collect();
    for (program, options, client) in clients {
        let run = client
            .wait()
            .unwrap_or_else(|error| panic!("not served: {error}"));
        assert_eq!(run.code(), Some(0), "{run}");
        if is_of_iperf3(program) {
            iperf3_is_right(&run, options);
        } else {
            iperf2_is_right(&run, options);
        }
    }
}

const fn is_of_iperf3(program: Program) -> bool {
    matches!(program, Program::TapelineAsIperf3 | Program::Iperf3V18)
}

fn client(subject: &Subject, program: Program, options: &'static str, source: usize) -> Invocation {
    let form = if is_of_iperf3(program) { "-J" } else { "-y C" };
    subject
        .client((program, options))
        .line(form)
        .line("-b 2m")
        .args(["-n".to_owned(), AMOUNT.to_string()])
        .args(["-B".to_owned(), format!("127.0.1.{}", source + 1)])
        .deadline(TIMEOUT)
}

/// The amount has been moved, and over UDP the server has reported how much of it came.
fn iperf2_is_right(run: &Finished, options: &str) {
    let rows = parse_csv(&run.stdout);
    assert!(rows.iter().any(|row| row.bytes >= AMOUNT), "{run}");
    if options.contains("-u") {
        let number = |field: Option<&String>| field.and_then(|text| text.parse::<u64>().ok());
        let reported = rows
            .iter()
            .any(|row| number(row.rest.get(2)).is_some_and(|total| total >= DATAGRAMS));
        assert!(reported, "no report: {run}");
    }
}

/// The amount has been moved, and what both ends have counted fits together.
fn iperf3_is_right(run: &Finished, options: &str) {
    let document: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    let count = |path: &str| document.pointer(path).and_then(Value::as_u64);
    if options.contains("-u") {
        let packets = count("/end/sum/packets").unwrap_or_default();
        assert!(packets >= DATAGRAMS, "{packets} datagrams: {run}");
        return;
    }
    let received = count("/end/sum_received/bytes").unwrap_or_default();
    assert!(received >= AMOUNT, "{received} bytes: {run}");
    // A server that sends is a little ahead of the client that stops it.
    let sent = count("/end/sum_sent/bytes").unwrap_or_default();
    let ahead = options.contains("-R") && sent > received;
    assert!(
        ahead || sent == received,
        "{sent} and {received} bytes: {run}"
    );
}
