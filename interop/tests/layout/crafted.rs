//! Recordings in which the client was a generator of datagrams with faults.

use std::net::UdpSocket;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use interop::{Invocation, Program, await_listening, free_port, skip};
use tapeline_report::Build;

use crate::TIMEOUT;
use crate::compare::compare;
use crate::recording::Recording;

/// Payload of a datagram.
const DATAGRAM: usize = 1470;
/// Datagrams of a test, and the time between two.
const COUNT: i32 = 200;
const GAP: Duration = Duration::from_millis(10);

/// What is wrong with a sequence of datagrams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Every twentieth comes twice.
    Doubled,
    /// Every twentieth comes after its successor.
    Swapped,
    /// Every tenth is missing.
    Missing,
    /// Both.
    SwappedAndMissing,
    /// One comes much later.
    Late,
}

impl Fault {
    /// The numbers of a test in the order in which they are sent.
    fn numbers(self) -> Vec<i32> {
        let mut numbers: Vec<i32> = (0..COUNT).collect();
        if matches!(self, Self::Missing | Self::SwappedAndMissing) {
            numbers.retain(|number| number % 10 != 7);
        }
        let places = |numbers: &[i32], remainder| -> Vec<usize> {
            let chosen = |place: &usize| numbers[*place] % 20 == remainder;
            (0..numbers.len() - 1).filter(chosen).collect()
        };
        match self {
            Self::Doubled => {
                for place in places(&numbers, 3).into_iter().rev() {
                    numbers.insert(place, numbers[place]);
                }
            }
            Self::Swapped | Self::SwappedAndMissing => {
                for place in places(&numbers, 3) {
                    numbers.swap(place, place + 1);
                }
            }
            Self::Late => {
                let late = numbers.remove(50);
                numbers.insert(130, late);
            }
            Self::Missing => {}
        }
        numbers
    }
}

/// Sends the datagrams of a test in the layout of iperf 2.0.5, which begins at number 0, and asks
/// for the report until it comes.
fn send(fault: Fault, port: u16) -> std::io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.connect(("127.0.0.1", port))?;
    let mut datagram = vec![0; DATAGRAM];
    let mut put = |number: i32| {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        datagram[4..8].copy_from_slice(&(now.as_secs() as u32).to_be_bytes());
        datagram[8..12].copy_from_slice(&now.subsec_micros().to_be_bytes());
        socket.send(&datagram)
    };
    let begin = Instant::now();
    for (place, number) in (0..).zip(fault.numbers()) {
        std::thread::sleep((GAP * place).saturating_sub(begin.elapsed()));
        put(number)?;
    }
    socket.set_read_timeout(Some(Duration::from_millis(250)))?;
    for _ in 0..10 {
        put(-COUNT)?;
        if socket.recv(&mut [0; DATAGRAM]).is_ok() {
            break;
        }
    }
    Ok(())
}

fn repeat(name: &str, fault: Fault) {
    let program = Program::TapelineAsIperf;
    if let Some(reason) = program.missing() {
        return skip(name, &reason);
    }
    let recording = Recording::load(name, Build::Plain);
    let port = free_port();
    let server = Invocation::new(program)
        .line(recording.server.as_ref().expect("a server"))
        .args(["-p", &port.to_string()]);
    let server = server.spawn().expect("a server");
    await_listening(&server, recording.transport(), port).expect("a server");
    send(fault, port).expect("datagrams");
    let enough = recording.printed[1].lines().count();
    server.wait_for(TIMEOUT, |out| out.lines().count() >= enough);
    server.interrupt();
    let server = server.wait().expect("it ends");
    compare(
        name,
        "server",
        Build::Plain,
        &recording.printed[1],
        &server.stdout,
    );
}

macro_rules! crafted {
    ($($name:ident: $fault:ident;)*) => {$(
        #[test]
        fn $name() {
            repeat(stringify!($name), Fault::$fault);
        }
    )*};
}

crafted! {
    udp_crafted_dup: Doubled;
    udp_crafted_dup_e: Doubled;
    udp_crafted_ooo: Swapped;
    udp_crafted_ooo_e: Swapped;
    udp_crafted_loss: Missing;
    udp_crafted_loss_e: Missing;
    udp_crafted_ooo_loss: SwappedAndMissing;
    udp_crafted_ooo_loss_e: SwappedAndMissing;
    udp_crafted_late: Late;
    udp_crafted_late_e: Late;
}
