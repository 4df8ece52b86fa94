//! `-D`: the process that was called ends, its child serves on.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::path::Path;
use std::time::{Duration, Instant};

use program::{Program, SOON};
use rustix::process::{Pid, Signal, kill_process};

/// The report as soon as it holds `part`.
fn report(path: &Path, part: &str) -> String {
    let until = Instant::now() + SOON;
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.contains(part) {
            return text;
        }
        assert!(Instant::now() < until, "no {part} in {text:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn number_behind(text: &str, words: &str) -> i32 {
    let rest = text.split(words).nth(1).expect(words);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn a_server_in_the_background_serves_and_writes_its_report() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("report");
    let called = Program::iperf(&format!("-s -D -e -t 60 -p 0 -o {}", path.display())).end();
    assert_eq!(called.code(), Some(0), "{}", called.stderr);
    assert_eq!(called.stderr, "Running Iperf Server as a daemon\n");
    assert!(called.stdout.starts_with("Output from stdout"));

    let text = report(&path, " with pid ");
    let pid = Pid::from_raw(number_behind(&text, " with pid ")).expect("a process");
    let port = number_behind(&text, "listening on TCP port ");
    let client = Program::iperf(&format!("-c 127.0.0.1 -p {port} -n 1M")).end();
    let row = report(&path, "MBytes");
    kill_process(pid, Signal::TERM).expect("the server lives");
    assert_eq!(client.code(), Some(0), "{}", client.stderr);
    assert!(row.contains(" 1.00 MBytes"), "{row}");
}

#[test]
fn a_server_that_cannot_listen_says_so_before_it_leaves() {
    let taken = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let called = Program::iperf(&format!("-s -D -p {port}")).end();
    assert_eq!(called.code(), Some(1));
    assert_eq!(
        called.stderr,
        "Running Iperf Server as a daemon\nlistener bind failed: Address already in use\n"
    );
}
