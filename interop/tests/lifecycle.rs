//! Beginnings and endings that go wrong, under both names.
//!
//! A failure is one clear line, a documented exit code and whatever had been measured; a server
//! survives all of it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use interop::{
    Family, Finished, Invocation, Program, Server, ServerSpec, Transcript, Transport, free_port,
    skip,
};

/// Time that an event may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Exit codes, as the documentation has them.
const SUCCESS: Option<i32> = Some(0);
const FAILURE: Option<i32> = Some(1);

/// Both names.
const NAMES: [Program; 2] = [Program::Tapeline, Program::TapelineAsIperf];

/// Whether tapeline can be run, or a skip.
fn ready(test: &str) -> bool {
    match NAMES.iter().find_map(|name| name.missing()) {
        Some(reason) => {
            skip(test, &reason);
            false
        }
        None => true,
    }
}

fn server(transport: Transport) -> Server {
    let spec = ServerSpec::new(Program::TapelineAsIperf, transport, Family::V4);
    spec.start().expect("a server")
}

/// Checks that a run failed with one line that holds one of `words`.
fn assert_clear_failure(run: &Finished, words: &[&str]) {
    assert_eq!(run.code(), FAILURE, "{run}");
    let all = format!("{}{}", run.stdout, run.stderr);
    let said = |line: &&str| words.iter().any(|word| line.to_lowercase().contains(word));
    let lines = all.lines().filter(said).count();
    assert_eq!(lines, 1, "one line with one of {words:?}\n{run}");
    assert!(!all.contains("panicked"), "{run}");
}

/// A test that a server must still be able to serve.
fn assert_serves(server: &mut Server) {
    assert!(server.is_alive(), "the server died\n{}", server.output());
    server.begin();
    let client = server
        .client(Program::TapelineAsIperf)
        .line("-n 100K")
        .run()
        .expect("a client");
    assert_eq!(
        client.code(),
        SUCCESS,
        "{client}--- server\n{}",
        server.output()
    );
    let served = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
    assert!(
        !served.totals().is_empty(),
        "{client}--- server\n{}",
        server.output()
    );
}

#[test]
fn a_refused_connection_is_one_line() {
    if !ready("a_refused_connection_is_one_line") {
        return;
    }
    for name in NAMES {
        let port = free_port().to_string();
        let run = Invocation::new(name)
            .args(["-c", "127.0.0.1", "-t", "1", "-p", &port])
            .run()
            .expect("it ends");
        assert_clear_failure(&run, &["refused"]);
    }
}

#[test]
fn an_unresolvable_name_is_one_line() {
    if !ready("an_unresolvable_name_is_one_line") {
        return;
    }
    for name in NAMES {
        let run = Invocation::new(name)
            .line("-c no-such-host.invalid -t 1")
            .run()
            .expect("it ends");
        assert_ne!(run.code(), SUCCESS, "{run}");
        assert!(run.stderr.contains("no-such-host.invalid"), "{run}");
        assert!(!run.stderr.contains("panicked"), "{run}");
    }
}

#[test]
fn a_port_in_use_is_one_line() {
    if !ready("a_port_in_use_is_one_line") {
        return;
    }
    let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    for name in NAMES {
        let run = Invocation::new(name)
            .args(["-s", "-p", &port])
            .run()
            .expect("it ends");
        assert_clear_failure(&run, &["in use"]);
    }
}

/// Starts a long client and waits until data flow.
fn long_client(server: &Server, options: &str) -> interop::Running {
    let client = server
        .client(Program::TapelineAsIperf)
        .line("-t 60 -i 0.2")
        .line(options)
        .deadline(Duration::from_secs(40))
        .spawn()
        .expect("a client");
    let moving = client.wait_for(TIMEOUT, |out| !Transcript::parse(out).rows.is_empty());
    assert!(moving, "no data: {}{}", client.stdout(), client.stderr());
    client
}

#[test]
fn a_client_survives_its_server() {
    if !ready("a_client_survives_its_server") {
        return;
    }
    for options in ["", "-R", "-P 3"] {
        let server = server(Transport::Tcp);
        let client = long_client(&server, options);
        server.kill().expect("it dies");
        let client = client.wait().expect("it ends by itself");
        let totals = Transcript::parse(&client.stdout).totals();
        assert!(
            !totals.is_empty() && totals.iter().all(|row| row.bytes > 0),
            "{client}"
        );
        assert!(
            totals.iter().all(|row| row.interval.0 == 0.0),
            "totals\n{client}"
        );
        assert!(!client.stderr.contains("panicked"), "{client}");
    }
}

#[test]
fn a_server_survives_its_clients() {
    if !ready("a_server_survives_its_clients") {
        return;
    }
    for (transport, options) in [
        (Transport::Tcp, ""),
        (Transport::Tcp, "-R"),
        (Transport::Tcp, "--full-duplex -b 20m"),
        (Transport::Udp, "-R -b 5m"),
    ] {
        let mut server = server(transport);
        let client = long_client(&server, options);
        client.kill().expect("it dies");
        if transport == Transport::Tcp {
            let ended = server.await_output(TIMEOUT, |out| !out.totals().is_empty());
            assert!(
                !ended.totals().is_empty(),
                "the cut test has a total\n{}",
                server.output()
            );
        }
        assert_serves(&mut server);
    }
}

#[test]
fn one_interrupt_prints_the_totals() {
    if !ready("one_interrupt_prints_the_totals") {
        return;
    }
    for (transport, options) in [
        (Transport::Tcp, ""),
        (Transport::Tcp, "-R"),
        (Transport::Udp, "-b 5m"),
    ] {
        let mut server = server(transport);
        let client = long_client(&server, options);
        client.interrupt();
        let client = client.wait().expect("it ends");
        assert_eq!(client.code(), SUCCESS, "{client}");
        let transcript = Transcript::parse(&client.stdout);
        let total = &transcript.totals()[0];
        assert!(total.interval.0 == 0.0 && total.bytes > 0, "{client}");
        if transport == Transport::Udp {
            assert_eq!(transcript.server_reports.len(), 1, "{client}");
        }
        assert_serves(&mut server);
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    if !ready("a_second_interrupt_ends_at_once") {
        return;
    }
    // A peer that accepts and never answers: the ending cannot complete by itself.
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = mute.local_addr().expect("its address").port().to_string();
    let client = Invocation::new(Program::TapelineAsIperf)
        .args(["-c", "127.0.0.1", "-p", &port, "-t", "60"])
        .deadline(Duration::from_secs(20))
        .spawn()
        .expect("a client");
    let (mut connection, _) = mute.accept().expect("the client");
    let mut first = [0; 24];
    connection
        .read_exact(&mut first)
        .expect("the client's header");
    client.interrupt();
    // Two signals at the same time are one.
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(200));
        if !client.is_alive() {
            break;
        }
        client.interrupt();
    }
    let client = client.wait().expect("it ends");
    assert!(!client.stderr.contains("panicked"), "{client}");
}

#[test]
fn an_interrupted_server_ends() {
    if !ready("an_interrupted_server_ends") {
        return;
    }
    for transport in [Transport::Tcp, Transport::Udp] {
        let server = server(transport).interrupt().expect("it ends");
        assert_eq!(server.code(), SUCCESS, "{server}");
    }
}

#[test]
fn a_busy_server_ends_its_tests_when_interrupted() {
    if !ready("a_busy_server_ends_its_tests_when_interrupted") {
        return;
    }
    let server = server(Transport::Tcp);
    let client = long_client(&server, "");
    let server = server.interrupt().expect("it ends");
    assert_eq!(server.code(), SUCCESS, "{server}");
    assert!(
        !Transcript::parse(&server.stdout).totals().is_empty(),
        "{server}"
    );
    let client = client.wait().expect("it ends");
    assert!(
        !Transcript::parse(&client.stdout).totals().is_empty(),
        "{client}"
    );
}

/// Bytes that mean nothing, of many lengths; the same on every run.
fn garbage() -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let mut all = vec![Vec::new()];
    for length in [
        1, 3, 4, 12, 16, 23, 24, 28, 35, 36, 40, 60, 64, 76, 128, 500, 1470, 9000,
    ] {
        all.push((0..length).map(|_| next()).collect());
        all.push(vec![0xff; length]);
        all.push(vec![0; length]);
    }
    all
}

#[test]
fn a_tcp_server_survives_garbage() {
    if !ready("a_tcp_server_survives_garbage") {
        return;
    }
    let mut server = server(Transport::Tcp);
    for bytes in garbage() {
        let mut stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("the server");
        // The server may close the connection at any time.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
    }
    assert_serves(&mut server);
    assert!(
        !server.process().stderr().contains("panicked"),
        "{}",
        server.process().stderr()
    );
}

#[test]
fn a_udp_server_survives_garbage() {
    if !ready("a_udp_server_survives_garbage") {
        return;
    }
    let mut server = server(Transport::Udp);
    for bytes in garbage() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        // An empty datagram cannot be sent through every path; that is no matter of the server.
        let _ = socket.send_to(&bytes, (Ipv4Addr::LOCALHOST, server.port()));
    }
    assert_serves(&mut server);
    assert!(
        !server.process().stderr().contains("panicked"),
        "{}",
        server.process().stderr()
    );
}

#[test]
fn a_silent_connection_does_not_keep_others_out() {
    if !ready("a_silent_connection_does_not_keep_others_out") {
        return;
    }
    let mut server = server(Transport::Tcp);
    let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("the server");
    assert_serves(&mut server);
}

#[test]
fn fifty_clients_at_once_are_served() {
    if !ready("fifty_clients_at_once_are_served") {
        return;
    }
    const CLIENTS: usize = 50;
    for (transport, options) in [
        (Transport::Tcp, "-n 200K"),
        (Transport::Udp, "-n 14700 -b 1m -l 1470"),
    ] {
        let mut server = server(transport);
        server.begin();
        let clients: Vec<interop::Running> = (0..CLIENTS)
            .map(|_| {
                let client = server.client(Program::TapelineAsIperf).line(options);
                client
                    .deadline(Duration::from_secs(60))
                    .spawn()
                    .expect("a client")
            })
            .collect();
        let mut sent = Vec::new();
        for client in clients {
            let client = client.wait().expect("it ends");
            assert_eq!(
                client.code(),
                SUCCESS,
                "{client}--- server\n{}",
                server.output()
            );
            sent.push(Transcript::parse(&client.stdout).totals()[0].bytes);
        }
        let served = server.await_output(TIMEOUT, |out| out.totals().len() >= CLIENTS);
        let mut received: Vec<u64> = served.totals().iter().map(|row| row.bytes).collect();
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent, received, "{}", server.output());
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    if !ready("output_that_cannot_be_written_is_a_failure") {
        return;
    }
    let server = server(Transport::Tcp);
    let run = server
        .client(Program::TapelineAsIperf)
        .line("-n 100K -o /nonexistent/folder/file")
        .run()
        .expect("it ends");
    assert_ne!(run.code(), SUCCESS, "{run}");
    assert!(run.stderr.contains("No such file or directory"), "{run}");
}
