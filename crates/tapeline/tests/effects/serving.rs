//! The life of a server, and what a client waits for.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::pair::{Pair, has, has_not, rows};
use crate::program::{Program, SOON, Server, command};

/// End of the span of a row, seconds.
fn seconds(row: &str) -> f64 {
    let (_, rest) = row.split_once('-').expect("a span");
    let end = rest.split_whitespace().next().expect("an end");
    end.parse().expect("seconds")
}

#[test]
fn a_server_in_the_background_serves_and_reports_to_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report");
    let port = interop::free_port();
    let line = format!("-s -D -p {port} -P 1 -o {}", file.display());
    let ended = Program::iperf(&line).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    has(&ended.stderr, "Running Iperf Server as a daemon");
    // What was started goes on behind us, and ends after one connection.
    let client = Program::iperf(&format!("-c 127.0.0.1 -p {port} -n 10K")).end();
    assert_eq!(client.code(), Some(0), "{}", client.stderr);
    let until = Instant::now() + SOON;
    let report = loop {
        let report = std::fs::read_to_string(&file).unwrap_or_default();
        if !rows(&report, "[  1]").is_empty() || Instant::now() > until {
            break report;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(rows(&report, "[  1]").len(), 1, "{report}");
}

#[test]
fn a_silent_connection_is_given_up_in_time() {
    let server = Server::iperf("--test-exchange-timeout 0.3");
    let begun = Instant::now();
    let mut silent = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    silent.set_read_timeout(Some(SOON)).expect("a timeout");
    // Closed or reset: the server has given up.
    let read = silent.read(&mut [0; 64]);
    assert!(!matches!(read, Ok(1..)), "{read:?}");
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_millis(250), "{waited:?}");
    assert!(waited < Duration::from_secs(9), "{waited:?}");
    server.serves("");
}

#[test]
fn single_udp_serves_udp() {
    let server = Server::iperf("-U");
    server.serves("-u -b 100m");
    has(&server.stop().stdout, "UDP buffer size");
}

#[test]
fn flows_wait_for_each_other_unless_told_not_to() {
    // The second port is nobody's: its flow tries until its time is over.
    let first_ends_after = |trying: f64, option: &str| {
        let mut server = Server::iperf("");
        let (port, next) = (server.port, server.port + 1);
        let begun = Instant::now();
        let client = Program::iperf(&format!(
            "-c 127.0.0.1 -p {port}-{next} -n 10K --connect-retry-time {trying} \
             --connect-retry-timer 0.1 {option}"
        ));
        server.program.line(" 0.00-");
        drop(client);
        begun.elapsed().as_secs_f64()
    };
    assert!(first_ends_after(0.6, "") >= 0.5);
    assert!(first_ends_after(15.0, "--no-connect-sync") < 10.0);
}

#[test]
fn the_close_is_waited_for_unless_told_not_to() {
    let ended = |option: &str| {
        let pair = Pair::run("-b 2m -l 8K", &format!("-n 200K {option}"));
        seconds(rows(pair.client(), "[  1]")[0])
    };
    assert!(ended("") >= 0.5);
    assert!(ended("--ignore-shutdown") < 0.5);
}

#[test]
fn some_options_are_accepted_without_effect_and_some_refused() {
    let pair = Pair::run("", "-n 10K -A");
    assert_eq!(pair.client.stderr, "");
    let pair = Pair::run("", "-n 10K -W");
    has(
        &pair.client.stderr,
        "The -W option is not available in this release",
    );
    for (line, word) in [("-s --tun-dev=tun0", "tun"), ("-s --remove", "--remove")] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let refused = Program::spawn(command(&words)).end();
        assert_eq!(refused.code(), Some(2), "{line}");
        has(&refused.stderr, word);
        has_not(&refused.stdout, "listening");
    }
}
