//! Faults of servers: whatever a server does, a client ends by itself, says why, and keeps what it
//! has measured.

use std::time::{Duration, Instant};

use interop::{
    Finished, Invocation, Namespace, NamespacePair, PacketFilter, Program, Running, free_port,
};
use rustix::process::Signal;

use crate::Fault;
use crate::hostile::{self, Act, HostileServer};
use crate::subject::{AFTER_DEADLINE, SOON, Subject};

pub(crate) const FAULTS: &[Fault] = &[
    ("client: refused", refused),
    ("client: closed and reset", closed_and_reset),
    ("client: silence", silence),
    ("client: nonsense", nonsense),
    (
        "client: an iperf3 server that is busy or errs",
        iperf3_errors,
    ),
    ("client: an iperf3 server that stops", iperf3_stops),
    ("client: a server killed in the middle", killed),
    ("client: a server frozen in the middle", frozen),
    ("8 client: a path that is cut in the middle", cut_path),
    (
        "client: an interface removed in the middle",
        removed_interface,
    ),
];

/// Time in which every process must have ended, whatever it does.
const ENDS: Duration = Duration::from_secs(90);
/// Time for a client whose server refuses, closes or errs. The promise is 1 s on a machine that has
/// time; what ends by a deadline of 10 s takes longer.
const AT_ONCE: Duration = SOON;
/// Time for a client whose server has fallen silent, or has never said a word: 10 s, an interval, and
/// time for a busy machine.
const GIVES_UP: Duration = Duration::from_secs(25);

/// Clients over TCP of iperf 2's protocol.
const IPERF2: [&str; 4] = ["", "-R", "--full-duplex", "--bounceback"];
/// Those of iperf3's.
const IPERF3: [&str; 3] = [
    "--peer iperf3",
    "--peer iperf3 -R",
    "--peer iperf3 --full-duplex",
];

/// Much longer than any bound: no test ends because it is over.
fn client(port: u16, options: &str) -> Invocation {
    Invocation::new(Program::Tapeline)
        .args(["-c", "127.0.0.1", "-p", &port.to_string()])
        .line("-t 60 -i 0.5")
        .line(options)
        .deadline(ENDS)
}

/// The client has failed, and said so in words that a terminal can show.
fn failed(run: &Finished) {
    assert_ne!(run.code(), Some(0), "{run}");
    assert!(run.code().is_some(), "it was killed: {run}");
    let said: Vec<&str> = run.stderr.lines().collect();
    assert!(!said.is_empty(), "nothing is said: {run}");
    assert!(!run.stderr.contains("panicked"), "{run}");
    let printable = |text: &str| {
        text.chars()
            .all(|letter| letter == '\n' || !letter.is_control())
    };
    assert!(printable(&run.stderr) && printable(&run.stdout), "{run}");
}

/// The same, and that in one line.
fn failed_in_a_line(run: &Finished) {
    failed(run);
    let complaints = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert_eq!(complaints.count(), 1, "{run}");
}

/// Runs a client; it must end within `limit`.
fn against(act: Act, options: &str, limit: Duration) -> Finished {
    let server = HostileServer::new(act);
    let run = client(server.port(), options).deadline(limit).run();
    run.unwrap_or_else(|error| panic!("{options}: {error}"))
}

/// Runs clients side by side, since most of it is waiting, and looks at each.
fn each(
    limit: Duration,
    trials: impl IntoIterator<Item = (Act, &'static str)>,
    look: fn(&Finished),
) {
    std::thread::scope(|scope| {
        for (act, options) in trials {
            scope.spawn(move || look(&against(act, options, limit)));
        }
    });
}

fn refused() {
    for options in IPERF2.into_iter().chain(IPERF3) {
        let client = client(free_port(), options).deadline(AT_ONCE);
        let run = client.run().unwrap_or_else(|error| panic!("{error}"));
        failed_in_a_line(&run);
        assert!(run.stderr.contains("refused"), "{run}");
    }
}

fn closed_and_reset() {
    for act in [hostile::closes as Act, hostile::resets] {
        let clients = IPERF2.into_iter().chain(IPERF3);
        each(AT_ONCE, clients.map(|options| (act, options)), failed);
    }
}

fn silence() {
    let silent = |options| (hostile::is_silent as Act, options);
    each(GIVES_UP, IPERF3.map(silent), failed);
    // One that takes what fits its buffers has said so much.
    each(GIVES_UP, IPERF2.map(silent), failed);
    // A server of iperf 2 that only reads is one that tests forward; a client that sends too sends to
    // its end.
    let readers = ["-t 2 -R", "-t 2 --full-duplex", "-t 2 --bounceback"];
    let readers = readers.into_iter().chain(IPERF3);
    let swallows = |options| (hostile::swallows as Act, options);
    each(GIVES_UP, readers.map(swallows), failed);
}

fn nonsense() {
    let nonsense = |options| (hostile::talks_nonsense as Act, options);
    each(AT_ONCE, IPERF3.map(nonsense), failed_in_a_line);
    // Requests have answers of their own form.
    each(AT_ONCE, [nonsense("--bounceback")], failed);
    // In other tests over TCP any bytes are data; they end on time all the same.
    let on_time = |run: &Finished| {
        assert!(run.code().is_some(), "{run}");
        assert!(!run.stderr.contains("panicked"), "{run}");
    };
    let streams = ["-t 2", "-t 2 -R", "-t 2 --full-duplex"];
    each(GIVES_UP, streams.map(nonsense), on_time);
}

fn iperf3_errors() {
    let acts = [
        hostile::is_busy as Act,
        hostile::has_an_unknown_error,
        hostile::has_an_unknown_state,
    ];
    each(AT_ONCE, acts.map(|act| (act, IPERF3[0])), failed_in_a_line);
    let run = against(hostile::is_busy, IPERF3[0], AT_ONCE);
    assert!(run.stderr.contains("busy"), "{run}");
}

fn iperf3_stops() {
    let short = "--peer iperf3 -t 2";
    let acts = [
        hostile::stops_after_parameters as Act,
        hostile::announces_much,
        hostile::nests_deeply,
        hostile::keeps_its_results,
    ];
    each(GIVES_UP, acts.map(|act| (act, short)), failed);
    // What was measured before is kept.
    let run = against(hostile::keeps_its_results, short, GIVES_UP);
    assert!(has_rows(&run.stdout), "{run}");
}

/// Whether a client has counted data of an interval.
fn has_rows(out: &str) -> bool {
    out.contains(" 0.00-")
}

/// Long tests, in which a server may come to harm. Whoever sends datagrams of iperf 2's need not learn of
/// it, and may go on to the end.
const LONG: [&str; 8] = [
    "-t 100 -b 20m",
    "-t 100 -b 20m -R",
    "-t 100 -b 20m --full-duplex",
    "-t 15 -u -b 2m",
    "-t 15 -u -b 2m -R",
    "-t 100 --peer iperf3 -b 20m",
    "-t 100 --peer iperf3 -b 20m -R",
    "-t 15 --peer iperf3 -u -b 2m",
];

/// Starts long tests and waits until data of each have been counted.
fn moving(subject: &Subject) -> Vec<Running> {
    let clients: Vec<Running> = LONG
        .iter()
        .map(|options| {
            let client = subject.client((Program::Tapeline, options));
            client
                .line("-i 0.2")
                .deadline(ENDS)
                .spawn()
                .expect("a client")
        })
        .collect();
    for client in &clients {
        let moves = client.wait_for(AFTER_DEADLINE, has_rows);
        assert!(moves, "{}{}", client.stdout(), client.stderr());
    }
    clients
}

/// They end by themselves, soon after the harm, as failed, with what they had measured.
fn all_failed(clients: Vec<Running>) {
    let harm = Instant::now();
    for client in clients {
        let run = client.wait().unwrap_or_else(|error| panic!("{error}"));
        failed(&run);
        let totals = run.stdout.lines();
        let mut totals = totals.filter(|line| line.ends_with("sent") || line.ends_with("received"));
        assert!(totals.next().is_some(), "no totals: {run}");
        let after = harm.elapsed();
        assert!(after < AFTER_DEADLINE, "{after:?} after the harm: {run}");
    }
}

fn killed() {
    let subject = Subject::new();
    let clients = moving(&subject);
    subject.into_process().kill().expect("it dies");
    all_failed(clients);
}

fn frozen() {
    let subject = Subject::new();
    let clients = moving(&subject);
    subject.process().signal(Signal::STOP);
    all_failed(clients);
}

/// Clients and a server with a cable between them, in the middle of their tests. Both sides must
/// bear the harm, which lasts as long as what `harm` returns.
fn over_a_cable(
    name: &str,
    harm: impl for<'a> FnOnce(&'a NamespacePair) -> Vec<PacketFilter<'a>>,
) -> Option<Subject> {
    let subject = Subject::over_a_cable(name)?;
    let clients = moving(&subject);
    let before = subject.process().stdout().len();
    let filters = harm(subject.cable().expect("a cable"));
    all_failed(clients);
    subject.lets_go(AFTER_DEADLINE);
    let said = subject.process().stdout().split_off(before);
    assert!(
        said.contains(" done: "),
        "partial results are reported\n{said}"
    );
    drop(filters);
    Some(subject)
}

/// Fault 8 of servers is the counterpart of this one.
fn cut_path() {
    let subject = over_a_cable("a path that is cut", |pair| {
        [&pair.client, &pair.server]
            .map(|host| PacketFilter::cut(host).expect("a filter"))
            .into()
    });
    if let Some(subject) = subject {
        subject.recovers(AFTER_DEADLINE);
    }
}

fn removed_interface() {
    over_a_cable("an interface that is removed", |pair| {
        let device = Namespace::INTERFACE;
        pair.client
            .ip(&format!("link delete {device}"))
            .expect("no link");
        Vec::new()
    });
}
