//! Signals to either end, and ends that die or freeze, against recordings of iperf 2.2.1.
//! A lost peer is a failure here (exit status 1), where the reference reports success.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::time::{Duration, Instant};

use program::{Program, Server};
use rustix::process::Signal;

/// Seconds of a test that does not end by itself while we look.
const LONG: u32 = 30;

/// A client of `server` in its test, which has printed an interval row.
fn running(server: &Server, arguments: &str) -> Program {
    let port = server.port;
    let line = format!("-c 127.0.0.1 -p {port} -t {LONG} -i 0.1 {arguments}");
    let mut client = Program::iperf(&line);
    client.line(" 0.00-");
    client
}

/// Amount and rate columns of a row: what both ends must agree on.
fn amount(row: &str) -> &str {
    let (_, rest) = row.split_once(" sec ").expect("a row");
    rest.split("Bytes").next().expect("an amount").trim()
}

/// End of the span of a row, seconds.
fn seconds(row: &str) -> f64 {
    let (_, rest) = row.split_once('-').expect("a span");
    let end = rest.split_whitespace().next().expect("an end");
    end.parse().expect("seconds")
}

#[test]
fn a_signal_ends_a_client_in_order() {
    let mut server = Server::iperf("-i 0.1");
    for signal in [Signal::INT, Signal::TERM, Signal::ALARM] {
        let client = running(&server, "");
        client.signal(signal);
        let ended = client.end();
        assert_eq!(ended.code(), Some(0), "{signal:?}");
        assert_eq!(ended.stderr, "", "{signal:?}");
        let total = ended.total();
        assert!(seconds(total) < f64::from(LONG) / 2.0, "{total}");
        let of_server = server.program.line(" 0.00-");
        assert!(seconds(&of_server) <= seconds(total) + 1.0, "{of_server}");
        // Takes what is left of this test's rows.
        while amount(&server.program.line(" sec ")) != amount(total) {}
    }
    let ended = server.stop();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_test_that_is_interrupted_twice_leaves_whole_files_and_no_warning() {
    let server = Server::iperf("");
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let files = [path("json"), path("csv"), path("html")];
    let [json, csv, html] = &files;
    let mut client = Program::native(&format!(
        "-c 127.0.0.1 -p {} -t {LONG} -i 0.1 --json={json} --csv={csv} --html {html}",
        server.port
    ));
    client.line(" 0.00-0.10");
    client.signal(Signal::INT);
    client.signal(Signal::INT);
    let ended = client.end();
    assert_eq!(ended.code(), Some(0));
    // The result says so; whoever interrupted knows.
    assert!(!ended.stderr.contains("interrupted"), "{}", ended.stderr);
    let read = |path: &str| std::fs::read_to_string(path).expect("a whole file");
    assert!(read(json).ends_with("}\n") && read(csv).ends_with('\n'));
    assert!(read(html).trim_end().ends_with("</html>"));
    let kept = std::fs::read_dir(directory.path()).expect("the directory");
    assert_eq!(kept.count(), files.len(), "nothing half");
    drop(server);
}

#[test]
fn a_signal_ends_parallel_flows_with_their_sum() {
    let server = Server::iperf("");
    let client = running(&server, "-P 2");
    client.signal(Signal::INT);
    let ended = client.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.total().starts_with("[SUM] 0.00-"), "{}", ended.stdout);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn a_signal_ends_a_reverse_test() {
    let server = Server::iperf("");
    let client = running(&server, "-R");
    client.signal(Signal::INT);
    let ended = client.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.total().starts_with("[ *1] 0.00-"), "{}", ended.stdout);
    server.serves("");
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0));
    // Whether the server was writing when the client went is a matter of chance.
    assert!(
        ["", "[  1] tcp write failed\n"].contains(&ended.stderr.as_str()),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_signal_ends_a_udp_client_with_the_servers_report() {
    let server = Server::iperf("-u");
    let client = running(&server, "-u");
    client.signal(Signal::INT);
    let ended = client.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    let (before, report) = ended
        .stdout
        .split_once("[  1] Server Report:\n")
        .expect("the server's report");
    assert!(before.contains("\n[  1] Sent "), "{before}");
    let report = report.lines().nth(1).expect("a row");
    assert!(report.contains(" (0%)"), "{report}");
    assert!(seconds(report) < f64::from(LONG) / 2.0, "{report}");
    assert_eq!(server.stop().stderr, "");
}

#[test]
fn the_second_signal_ends_a_client_at_once() {
    for transport in ["", "-u"] {
        let server = Server::iperf(transport);
        let client = running(&server, transport);
        // What the client would wait for in its ending does not come. The two signals
        // differ, since two of a kind may arrive as one.
        server.program.signal(Signal::STOP);
        client.signal(Signal::INT);
        client.signal(Signal::TERM);
        let ended = client.end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
        assert!(!ended.stdout.contains("Server Report"), "{}", ended.stdout);
        server.program.signal(Signal::CONT);
        if transport.is_empty() {
            server.serves("");
        }
        server.program.signal(Signal::INT);
        assert_eq!(server.program.end().code(), Some(0));
    }
}

#[test]
fn a_hangup_kills_a_client_and_the_server_goes_on() {
    let mut server = Server::iperf("");
    let client = running(&server, "");
    client.signal(Signal::HUP);
    let ended = client.end();
    assert_eq!(ended.code(), None, "killed by the signal");
    server.program.line(" 0.00-");
    server.serves("");
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(
        ended.stderr,
        "[  1] tcp recv failed: Connection reset by peer\n"
    );
}

#[test]
fn an_idle_server_ends_silently() {
    for arguments in ["", "-u", "-t 30"] {
        for signal in [Signal::INT, Signal::TERM] {
            let server = Server::iperf(arguments);
            server.program.signal(signal);
            let ended = server.program.end();
            assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
        }
    }
    let server = Server::native("");
    server.program.signal(Signal::TERM);
    let ended = server.program.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
}

/// What a server says when its running tests are interrupted.
const WAITING: &str = "Waiting for server threads to complete. Interrupt again to force quit.\n";

#[test]
fn a_busy_server_ends_its_tests_with_totals() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::iperf("-i 0.1");
        let clients = [running(&server, ""), running(&server, "")];
        server.program.signal(signal);
        let ended = server.program.end_within(Duration::from_secs(5));
        assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), WAITING));
        for id in ["[  1] 0.00-", "[  2] 0.00-"] {
            let rows = ended.stdout.lines().filter(|line| line.starts_with(id));
            assert!(rows.count() >= 2, "first row and total: {}", ended.stdout);
        }
        for client in clients {
            let ended = client.end();
            assert_eq!(ended.code(), Some(1), "the server left");
            assert_eq!(ended.stderr, "[  1] tcp write failed\n");
            assert!(seconds(ended.total()) < f64::from(LONG) / 2.0);
        }
    }
}

#[test]
fn a_busy_udp_server_ends_its_tests_with_totals() {
    let server = Server::iperf("-u -i 0.1");
    let port = server.port;
    let mut client = Program::iperf(&format!("-c 127.0.0.1 -u -p {port} -t 1.5 -i 0.1"));
    client.line(" 0.00-");
    server.program.signal(Signal::INT);
    let ended = server.program.end_within(Duration::from_secs(5));
    assert_eq!(ended.code(), Some(0));
    let words = ended.stderr.strip_prefix(WAITING).expect("the notice");
    // The client is not through: nothing acknowledges the report.
    assert_eq!(words, "[  1] WARNING: ack of last datagram failed.\n");
    assert!(ended.total().contains("(0%)"), "{}", ended.stdout);
    // The client goes on to its end, where the report waits for it.
    let ended = client.end();
    assert_eq!(ended.code(), Some(1), "the server left");
    let refusal = "[  1] Read UDP fin failed: Connection refused";
    assert_eq!(ended.stderr.lines().last(), Some(refusal));
    let (own, report) = ended
        .stdout
        .split_once("[  1] Server Report:\n")
        .expect("the server's report");
    let total = own.lines().rfind(|line| line.contains(" 0.00-"));
    let report = report.lines().nth(1).expect("a row");
    assert!(seconds(report) < seconds(total.expect("a total")), "{own}");
}

#[test]
fn a_killed_server_leaves_its_client_with_totals() {
    let server = Server::iperf("");
    let client = running(&server, "");
    server.program.signal(Signal::KILL);
    let ended = client.end();
    assert_eq!(ended.code(), Some(1));
    assert_eq!(ended.stderr, "[  1] tcp write failed\n");
    assert!(seconds(ended.total()) < f64::from(LONG) / 2.0);
    assert_eq!(server.program.end().code(), None);

    let server = Server::iperf("");
    let client = running(&server, "-R");
    server.program.signal(Signal::KILL);
    let ended = client.end();
    assert_eq!(ended.code(), Some(1));
    // The reference says nothing.
    assert_eq!(
        ended.stderr,
        "[ *1] tcp recv failed: Closed by the peer before the end of the test\n"
    );
    assert!(seconds(ended.total()) < f64::from(LONG) / 2.0);
}

#[test]
fn a_killed_udp_server_leaves_its_client_with_totals() {
    let server = Server::iperf("-u");
    let port = server.port;
    let mut client = Program::iperf(&format!("-c 127.0.0.1 -u -p {port} -t 0.5 -i 0.1"));
    client.line(" 0.00-");
    server.program.signal(Signal::KILL);
    let ended = client.end();
    assert_eq!(ended.code(), Some(1));
    assert!(
        ended
            .stderr
            .starts_with("[  1] Read UDP fin failed: Connection refused\n"),
        "{}",
        ended.stderr
    );
    let warning = "[  1] WARNING: did not receive ack of last datagram after ";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("\n[  1] Sent "),
        "the test went on to its end: {}",
        ended.stdout
    );
}

#[test]
fn a_killed_client_does_not_disturb_the_server() {
    let mut server = Server::native("");
    let client = running(&server, "");
    client.signal(Signal::KILL);
    drop(client);
    server.program.line(" done: ");
    server.serves("");
    server.serves("-u");
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0));
    let reset = " done: ";
    let failed = ended.stdout.lines().find(|line| line.contains(reset));
    let failed = failed.expect("the end of a test");
    assert!(
        failed.ends_with("receiving failed: connection reset by peer [traffic-failed]"),
        "{failed}"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_frozen_server_does_not_hold_its_clients() {
    let server = Server::native("");
    let port = server.port;
    let began = Instant::now();
    let kinds = ["", "-R", "-u", "-u -R"];
    let clients = kinds.map(|kind| {
        let line = format!("-c 127.0.0.1 -p {port} -t 1 -i 0.1 {kind}");
        let mut client = Program::iperf(&line);
        client.line(" 0.00-");
        client
    });
    server.program.signal(Signal::STOP);
    for (client, kind) in clients.into_iter().zip(kinds) {
        let ended = client.end_within(Duration::from_secs(16).saturating_sub(began.elapsed()));
        assert_eq!(ended.code(), Some(1), "{kind}: {}", ended.stderr);
        let words = if kind == "-u" {
            "[  1] WARNING: did not receive ack of last datagram after "
        } else {
            "WARN: nothing received for "
        };
        assert!(ended.stderr.contains(words), "{kind}: {}", ended.stderr);
        assert!(seconds(ended.total()) < 16.0, "{kind}: {}", ended.stdout);
    }
}

#[test]
fn a_client_that_vanished_is_given_up_slow() {
    let mut server = Server::native("");
    let frozen = running(&server, "");
    let killed = running(&server, "-u");
    frozen.signal(Signal::STOP);
    killed.signal(Signal::KILL);
    server.serves("");
    server.serves("-u");
    // Ten seconds of patience for each, at the same time.
    let tests = 4;
    for _ in 0..tests {
        server.program.line(" done: ");
    }
    drop(frozen);
    server.serves("");
    let ended = server.stop();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(ended.stdout.matches("nothing received for 10.").count(), 2);
    assert_eq!(ended.stdout.matches("peer lost").count(), 2);
}

#[test]
fn a_servers_own_end() {
    for arguments in ["-t 0.3", "-u -t 0.3"] {
        let server = Server::iperf(arguments);
        let ended = server.program.end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    }
    for transport in ["", "-u"] {
        let server = Server::iperf(&format!("-P 1 {transport}"));
        server.serves(transport);
        let ended = server.program.end();
        assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    }
    let server = Server::iperf("-t 0.5");
    let client = running(&server, "");
    let ended = server.program.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert!(seconds(ended.total()) > 0.0, "{}", ended.stdout);
    let ended = client.end();
    assert_eq!(ended.code(), Some(1));
    assert_eq!(ended.stderr, "[  1] tcp write failed\n");
}
