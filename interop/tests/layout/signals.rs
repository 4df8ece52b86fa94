//! Signals and lives of servers, as recorded from iperf 2.2.1.
//!
//! Each recording names its signals and their times. Here a signal also waits until its receiver
//! has shown data, so that a busy machine changes nothing.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use interop::{Finished, Invocation, Program, Running, await_listening, free_port, skip};
use rustix::process::Signal;
use tapeline_report::Build;

use crate::compare::compare;
use crate::recording::Recording;
use crate::{TIMEOUT, exceptions};

/// Where the recordings are.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/signals");

/// A signal of a recording.
struct Sending {
    time: Duration,
    signal: Signal,
    to_client: bool,
}

/// The signals of a recording, in order.
fn sendings(name: &str) -> Vec<Sending> {
    let commands = std::fs::read_to_string(Path::new(RECORDINGS).join(format!("{name}.cmd")));
    let commands = commands.expect("a recording");
    let lines = commands.lines().filter_map(|line| line.strip_prefix("at "));
    let read = |line: &str| {
        let (time, rest) = line.split_once("s: ")?;
        let (signal, receiver) = rest.split_once(" to ")?;
        let signal = match signal {
            "SIGINT" => Signal::INT,
            "SIGTERM" => Signal::TERM,
            "SIGALRM" => Signal::ALARM,
            "SIGHUP" => Signal::HUP,
            "SIGKILL" => Signal::KILL,
            _ => return None,
        };
        Some(Sending {
            time: Duration::from_secs_f64(time.parse().ok()?),
            signal,
            to_client: receiver == "client",
        })
    };
    let sendings: Option<Vec<_>> = lines.map(read).collect();
    sendings.unwrap_or_else(|| panic!("a line that is not understood:\n{commands}"))
}

/// The recorded exit status: a code, or the negative number of the signal that ended the process.
fn recorded_status(name: &str, side: &str) -> i32 {
    let path = Path::new(RECORDINGS).join(format!("{name}.{side}.exit"));
    let text = std::fs::read_to_string(path).expect("a status");
    text.trim().parse().expect("a number")
}

fn check_status(name: &str, side: &'static str, finished: &Finished) {
    let status = finished
        .code()
        .or_else(|| finished.status.signal().map(|signal| -signal));
    let expected = exceptions::status(name, side).unwrap_or_else(|| recorded_status(name, side));
    assert_eq!(status, Some(expected), "{name}, {side}\n{finished}");
}

/// Sends the signals at their times, each not before its receiver has shown data.
fn send(name: &str, server: &Running, client: Option<&Running>) {
    let begin = Instant::now();
    for sending in sendings(name) {
        let receiver = if sending.to_client {
            client
        } else {
            Some(server)
        };
        let receiver = receiver.expect("a client");
        if client.is_some() {
            receiver.wait_for(TIMEOUT, |out| out.contains(" sec "));
        }
        // The recordings say when; what happens in between is part of the test.
        std::thread::sleep(sending.time.saturating_sub(begin.elapsed()));
        receiver.signal(sending.signal);
    }
}

fn repeat(name: &str) {
    let program = Program::TapelineAsIperf;
    if let Some(reason) = program.missing() {
        return skip(name, &reason);
    }
    let recording = Recording::load_from(Path::new(RECORDINGS), name);
    let port = free_port();
    let run = |line: &String| {
        let port = port.to_string();
        let run = Invocation::new(program).line(line).args(["-p", &port]);
        run.spawn().expect("a process")
    };
    let server = run(recording.server.as_ref().expect("a server"));
    await_listening(&server, recording.transport(), port).expect("a server");
    let client = recording.client.as_ref().map(run);
    send(name, &server, client.as_ref());
    if let Some(client) = client {
        let client = client.wait().expect("it ends");
        check_status(name, "client", &client);
        compare(
            name,
            "client",
            Build::Plain,
            &recording.printed[0],
            &client.stdout,
        );
    }
    // A server that ends by itself, or by its signal, does so soon; others are stopped.
    let enough = recording.printed[1].lines().count();
    server.wait_for(TIMEOUT, |out| out.lines().count() >= enough);
    server.interrupt();
    let server = server.wait().expect("it ends");
    check_status(name, "server", &server);
    compare(
        name,
        "server",
        Build::Plain,
        &recording.printed[1],
        &server.stdout,
    );
}

macro_rules! signals {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            repeat(stringify!($name));
        }
    )*};
}

signals! {
    client_killed_tcp client_killed_udp client_sigalrm client_sighup client_sigint2_tcp
    client_sigint2_udp client_sigint_R client_sigint_bb client_sigint_tcp client_sigint_tcp_P2
    client_sigint_tcp_e client_sigint_udp client_sigterm_tcp server_1_P2client server_P1
    server_P1_udp server_killed_tcp server_killed_tcp_e server_killed_udp server_sigint2_busy
    server_sigint2_busy_udp server_sigint_busy server_sigint_busy_udp server_sigint_idle
    server_sigint_udp_idle server_sigterm2_busy server_sigterm_busy server_sigterm_idle
    server_t1_noclient server_t1_noclient_udp server_t2_during server_t2_during_udp
}
