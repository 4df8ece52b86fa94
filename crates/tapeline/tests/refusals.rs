//! A client that a server does not serve says why, whatever it was that the server did not like.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use program::{Ended, Program, Server};
use serde_json::Value;

/// A test of ten seconds, were it served.
fn client(server: &Server, options: &str) -> Ended {
    let port = server.port;
    Program::native(&format!("-c 127.0.0.1 -p {port} {options}")).end()
}

/// A server with these options refuses a client with those, which says `reason`.
fn refuses(server: &Server, options: &str, reason: &str) {
    let ended = client(server, options);
    assert_eq!(ended.code(), Some(1), "{options}: {}", ended.stdout);
    let line = format!(
        "error: 127.0.0.1 port {} refused the test: {reason}",
        server.port
    );
    // A busy machine may have its warnings beside it.
    let said = ended.stderr.lines().any(|one| one == line);
    assert!(said, "{options}: {}", ended.stderr);
    let ended = client(server, &format!("{options} --json"));
    assert_eq!(ended.code(), Some(1), "{options}: {}", ended.stdout);
    let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
    let error = &document["error"];
    assert_eq!(error["id"], "test-refused", "{options}: {error}");
    let text = error["text"].as_str().expect("a sentence");
    assert!(
        text.ends_with(&format!("refused the test: {reason}")),
        "{text}"
    );
}

#[test]
fn each_limit_is_told_to_who_exceeds_it() {
    for (limit, options, reason) in [
        ("tests=0", "", "it runs at most 0 tests at a time"),
        ("tests=0", "-R", "it runs at most 0 tests at a time"),
        (
            "tests=0",
            "-n 100 -P 2",
            "it runs at most 0 tests at a time",
        ),
        (
            "tests=0",
            "-X --full-duplex",
            "it runs at most 0 tests at a time",
        ),
        (
            "tests-per-source=0",
            "-P 3",
            "it runs at most 0 tests of an address at a time",
        ),
        (
            "streams=0",
            "-R -P 2",
            "it runs at most 0 streams at a time",
        ),
        (
            "streams-per-test=2",
            "-P 3",
            "a test has at most 2 streams there",
        ),
        (
            "block=1000",
            "-R -l 2000",
            "blocks of at most 1000 bytes may be ordered there",
        ),
        (
            "lowest-port=65535",
            "-r -L 0",
            "it connects back to no port below 65535",
        ),
        (
            "tests=64",
            "-u -R",
            "it sends datagrams on the order of trusted addresses alone",
        ),
        (
            "tests=64",
            "-u --full-duplex",
            "it sends datagrams on the order of trusted addresses alone",
        ),
    ] {
        let server = Server::native(&format!("--trust none --limit {limit}"));
        refuses(&server, options, reason);
    }
}

#[test]
fn who_finds_all_places_taken_hears_when_to_come_again() {
    let server = Server::native("--trust none --limit tests=1");
    let port = server.port;
    let mut first = Program::native(&format!("-c 127.0.0.1 -p {port} -R -t 60 -i 0.1"));
    first.line(" 0.00-");
    for options in ["", "-R"] {
        refuses(
            &server,
            options,
            "it runs at most 1 tests at a time; retry in 10 s",
        );
    }
    drop(first);

    let server = Server::native("--trust none --limit udp-clients=1");
    let port = server.port;
    let mut first = Program::native(&format!("-c 127.0.0.1 -p {port} -u -t 60 -i 0.1"));
    // The server has more than one of its datagrams before those of another one.
    first.line(" 1.00-");
    refuses(
        &server,
        "-u",
        "as many UDP flows as may be are busy there; retry in 10 s",
    );
}

#[test]
fn who_is_not_known_as_tapeline_is_told_nothing() {
    let server = Server::native("--trust none --limit tests=0");
    for options in ["--no-peer-results -R", "--as iperf -R"] {
        let port = server.port;
        let ended = Program::native(&format!("{options} -c 127.0.0.1 -p {port}")).end();
        assert!(!ended.stderr.contains("refused"), "{}", ended.stderr);
    }
    // Nor by a server that answers no marks.
    let server = Server::native("--trust none --limit tests=0 --no-peer-results");
    let ended = client(&server, "-R");
    assert!(!ended.stderr.contains("refused"), "{}", ended.stderr);
}

#[test]
fn a_test_that_is_cut_ends_with_the_reason() {
    for (limit, options, reason) in [
        ("bytes=1M", "", "limit: 1048576 bytes a test"),
        ("bytes=1M", "-R -P 2", "limit: 1048576 bytes a test"),
        ("duration=1", "-b 10m", "limit: 1 s a test"),
        ("bytes=100K", "-u -b 2m -t 1", "limit: 102400 bytes a test"),
        ("rate=1m", "-u -b 10m -t 2", "limit: 1000000 bit/s a test"),
    ] {
        let server = Server::native(&format!("--trust none --limit {limit}"));
        let ended = client(&server, &format!("{options} --json"));
        assert_eq!(ended.code(), Some(1), "{options}: {}", ended.stdout);
        let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
        let text = format!("127.0.0.1 port {} stopped the test: {reason}", server.port);
        assert_eq!(document["error"]["id"], "test-stopped", "{limit} {options}");
        assert_eq!(document["error"]["text"], *text, "{limit} {options}");
    }
    // What ends by itself was not cut.
    let server = Server::native("--trust none --limit bytes=10M --limit duration=60");
    for options in ["-n 1M", "-n 1M -R", "-u -b 1m -t 1"] {
        let ended = client(&server, options);
        assert_eq!(ended.code(), Some(0), "{options}: {}", ended.stderr);
    }
}
