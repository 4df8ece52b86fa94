//! Faults 7, 8 and 27: clients that die or freeze in the middle of a test, and the server's own end.

use std::time::Duration;

use interop::{Program, Running};
use rustix::process::Signal;

use crate::Fault;
use crate::subject::{AFTER_DEADLINE, Honest, SOON, Subject};

pub(crate) const FAULTS: &[Fault] = &[
    ("7 clients killed over TCP", killed_over_tcp),
    ("7 clients killed over UDP", killed_over_udp),
    (
        "7 clients killed that are sent datagrams",
        killed_takers_of_datagrams,
    ),
    ("8 clients frozen", frozen),
    ("27 SIGTERM", terminated),
];

/// Long tests over TCP of both families.
const OVER_TCP: [Honest; 6] = [
    (Program::TapelineAsIperf, "-t 100 -b 20m"),
    (Program::TapelineAsIperf, "-t 100 -b 20m -R"),
    (Program::TapelineAsIperf, "-t 100 -b 20m --full-duplex"),
    (Program::TapelineAsIperf3, "-t 100 -b 20m"),
    (Program::TapelineAsIperf3, "-t 100 -b 20m -R"),
    (Program::TapelineAsIperf3, "-t 100 -b 20m --bidir"),
];

/// Long tests over UDP.
const OVER_UDP: [Honest; 5] = [
    (Program::TapelineAsIperf, "-u -t 100 -b 2m"),
    (Program::TapelineAsIperf, "-u -t 100 -b 2m -R"),
    (Program::TapelineAsIperf, "-u -t 100 -b 2m --full-duplex"),
    (Program::TapelineAsIperf3, "-u -t 100 -b 2m"),
    (Program::TapelineAsIperf3, "-u -t 100 -b 2m -R"),
];

/// Starts clients and waits until data of each have been counted.
fn running(subject: &Subject, clients: &[Honest]) -> Vec<Running> {
    let clients: Vec<Running> = clients
        .iter()
        .map(|honest| {
            let client = subject.client(*honest).line("-i 0.2");
            let client = client.deadline(Duration::from_secs(90));
            client.spawn().expect("a client")
        })
        .collect();
    for client in &clients {
        let moving = client.wait_for(AFTER_DEADLINE, |out| {
            out.contains("its/sec") || out.contains(" 0.00-0.20 ")
        });
        assert!(moving, "{}{}", client.stdout(), client.stderr());
    }
    clients
}

fn killed(clients: &[Honest], timeout: Duration) {
    let subject = Subject::new();
    for client in running(&subject, clients) {
        client.kill().expect("it dies");
    }
    subject.recovers(timeout);
}

fn killed_over_tcp() {
    killed(&OVER_TCP, SOON);
}

fn killed_over_udp() {
    killed(&OVER_UDP, AFTER_DEADLINE);
}

/// Whose port is closed is sent nothing more, long before silence says that he is gone; who is
/// there loses nothing by it.
fn killed_takers_of_datagrams() {
    let subject = Subject::new();
    let orders = OVER_UDP.into_iter().filter(|(program, options)| {
        let sent = options.contains("-R") || options.contains("--full-duplex");
        *program == Program::TapelineAsIperf && sent
    });
    let orders: Vec<Honest> = orders.cycle().take(8).collect();
    let victims = running(&subject, &orders);
    let companion = subject.client((Program::TapelineAsIperf, "-u -t 3 -b 2m -R"));
    let companion = companion
        .deadline(AFTER_DEADLINE)
        .spawn()
        .expect("a client");
    let begun = companion.wait_for(SOON, |out| out.contains("connected with"));
    assert!(begun, "{}{}", companion.stdout(), companion.stderr());
    for victim in victims {
        victim.kill().expect("it dies");
    }
    let run = companion.wait().expect("it ends");
    assert_eq!(run.code(), Some(0), "{run}");
    assert!(run.stdout.contains(" (0%)"), "it lost datagrams: {run}");
    subject.recovers(SOON);
    let said = subject.process().stdout();
    let logged = said.matches("the client's port is closed").count();
    assert_eq!(logged, orders.len(), "{said}");
}

fn frozen() {
    let subject = Subject::new();
    // A receiver of datagrams that is frozen looks like one that counts them.
    let sends = |(_, options): &Honest| !options.contains("-R");
    let over_udp = OVER_UDP.into_iter().filter(sends);
    let all: Vec<Honest> = OVER_TCP.into_iter().chain(over_udp).collect();
    let clients = running(&subject, &all);
    let before = subject.process().stdout().len();
    for client in &clients {
        client.signal(Signal::STOP);
    }
    subject.serves();
    subject.recovers(AFTER_DEADLINE);
    let said = subject.process().stdout().split_off(before);
    assert!(
        said.contains(" done: "),
        "partial results are reported\n{said}"
    );
    drop(clients);
}

fn terminated() {
    for count in [0, 16] {
        let subject = Subject::new();
        let own = [(Program::Tapeline, "-t 100 -b 2m")];
        let all = OVER_TCP.into_iter().chain(own);
        let clients: Vec<Honest> = all.cycle().take(count).collect();
        let clients = running(&subject, &clients);
        let server = subject.into_process();
        server.signal(Signal::TERM);
        // Its own process, so that the wait is not the clients'.
        let began = std::time::Instant::now();
        let server = server.wait().expect("it ends");
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        assert_eq!(server.code(), Some(0), "{server}");
        let totals = server.stdout.matches(" done: ").count();
        assert!(
            totals >= count,
            "{totals} results of {count} tests: {server}"
        );
        drop(clients);
    }
}
