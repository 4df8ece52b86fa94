//! Both ends under the name iperf3, as processes, and tapeline's own server and client beside
//! them. Layouts and interoperation with other versions are tested elsewhere.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use interop::free_port;
use program::{Ended, Program};
use rustix::process::Signal;

fn iperf3(arguments: &str) -> Program {
    Program::native(&format!("--as iperf3 {arguments}"))
}

/// A server on a port of its own, which listens.
fn server(arguments: &str) -> (Program, u16) {
    let port = free_port();
    let mut program = iperf3(&format!("-s -p {port} {arguments}"));
    program.line("Server listening on");
    (program, port)
}

fn client(port: u16, arguments: &str) -> Ended {
    iperf3(&format!("-c 127.0.0.1 -p {port} {arguments}")).end()
}

/// `-t 30` of a client whose first interval is over.
fn running(port: u16, arguments: &str) -> Program {
    let line = format!("-c 127.0.0.1 -p {port} -t 30 -i 0.1 -b 1M {arguments}");
    let mut program = iperf3(&line);
    program.line("0.00-0.10");
    program
}

#[test]
fn a_one_off_server_ends_with_its_test() {
    for arguments in [
        "-n 1M",
        "-u -b 10M -n 100K",
        "-n 1M -R -P 2",
        "-n 1M --bidir",
    ] {
        let (server, port) = server("-1");
        let client = client(port, arguments);
        assert_eq!(
            (client.code(), client.stderr.as_str()),
            (Some(0), ""),
            "{arguments}"
        );
        assert!(
            client.stdout.ends_with("\niperf Done.\n"),
            "{}",
            client.stdout
        );
        let server = server.end();
        assert_eq!(
            (server.code(), server.stderr.as_str()),
            (Some(0), ""),
            "{arguments}"
        );
        assert!(
            server.stdout.contains("Accepted connection from 127.0.0.1"),
            "{arguments}"
        );
    }
}

#[test]
fn a_one_off_server_waits_no_longer_than_told() {
    let (server, _) = server("-1 --idle-timeout 1");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn somebody_who_looks_in_is_not_the_one_client() {
    let (server, port) = server("-1");
    drop(std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection"));
    assert_eq!(client(port, "-n 100K").code(), Some(0));
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_one_off_server_is_busy_with_its_test() {
    let (server, port) = server("-1");
    let first = running(port, "");
    let second = client(port, "-n 1M");
    assert_eq!(second.code(), Some(1));
    assert_eq!(
        second.stderr,
        "iperf3: error - the server is busy running a test. try again later\n"
    );
    first.signal(Signal::INT);
    assert_eq!(first.end().code(), Some(0));
    let server = server.end();
    assert_eq!(server.code(), Some(0));
    assert_eq!(server.stderr, "iperf3: the client has terminated\n");
}

#[test]
fn signals_to_a_client_are_named() {
    let (_server, port) = server("");
    for (signal, name) in [
        (Signal::INT, "Interrupt(2)"),
        (Signal::TERM, "Terminated(15)"),
        (Signal::HUP, "Hangup(1)"),
    ] {
        let client = running(port, "");
        client.signal(signal);
        let ended = client.end();
        assert_eq!(ended.code(), Some(0));
        assert_eq!(
            ended.stderr,
            format!("iperf3: interrupt - the client has terminated by signal {name}\n")
        );
        assert!(ended.stdout.contains(" sender"), "{}", ended.stdout);
    }
}

#[test]
fn signals_to_a_server_are_named_once() {
    let (idle, _) = server("");
    let (busy, port) = server("");
    let client = running(port, "");
    for server in [idle, busy] {
        server.signal(Signal::TERM);
        let ended = server.end();
        assert_eq!(ended.code(), Some(0));
        assert_eq!(
            ended.stderr,
            "iperf3: interrupt - the server has terminated by signal Terminated(15)\n"
        );
    }
    let client = client.end();
    assert_eq!(client.code(), Some(1));
    assert_eq!(client.stderr, "iperf3: error - the server has terminated\n");
}

#[test]
fn what_cannot_begin_says_why() {
    let unable = "unable to connect to server - server may have stopped running or use a \
                  different port, firewall issue, etc.: Connection refused";
    let port = free_port();
    let refused = client(port, "");
    assert_eq!(refused.code(), Some(1));
    assert_eq!(refused.stderr, format!("iperf3: error - {unable}\n"));
    let in_json = client(port, "-J");
    assert_eq!((in_json.code(), in_json.stderr.as_str()), (Some(1), ""));
    assert!(
        in_json
            .stdout
            .contains(&format!("\t\"error\":\t\"{unable}\""))
    );
    let taken = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let server = iperf3(&format!("-s -4 -p {port}")).end();
    assert_eq!(server.code(), Some(1));
    assert_eq!(
        server.stderr,
        "iperf3: error - unable to start listener for connections: Address already in use\n\
         iperf3: exiting\n"
    );
    let unwritable = client(port, "--logfile /no/such/directory/x");
    assert_eq!(unwritable.code(), Some(1));
    assert_eq!(
        unwritable.stderr,
        "iperf3: error - unable to open log file: No such file or directory\n"
    );
}

#[test]
fn what_the_system_has_not_ends_the_test_before_it_begins() {
    let (_server, port) = server("");
    for (arguments, text) in [
        ("--bind-dev nodev", "No such device"),
        ("--bind-dev nodev -u", "No such device"),
        ("-L 5", "unable to set IPv6 flow label"),
        ("-C nosuch", "unable to set TCP_CONGESTION"),
    ] {
        let ended = client(port, &format!("-n 10K {arguments}"));
        assert_eq!(ended.code(), Some(1), "{arguments}");
        assert!(ended.stderr.contains(text), "{arguments}: {}", ended.stderr);
    }
    let own = free_port();
    for _ in 0..2 {
        let ended = client(port, &format!("-n 10K --cport {own}"));
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    }
}

#[test]
fn bad_options_are_refused_in_json_too() {
    let ended = iperf3("-c h -J -P 200").end();
    let text = "invalid number of parallel streams (min = 1, max = 128)";
    assert_eq!(ended.code(), Some(1));
    assert_eq!(
        ended.stderr,
        format!(
            "iperf3: parameter error - {text}\n\nUsage: iperf3 [-s|-c host] [options]\n\
             Try `iperf3 --help' for more information.\n"
        )
    );
    assert!(
        ended.stdout.contains(&format!("\"error\":\t\"{text}\"")),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_server_refuses_what_it_was_told_to() {
    let (_server, port) = server("--server-max-duration 5 --server-bitrate-limit 10M");
    for (arguments, text) in [
        (
            "-t 9",
            "client's requested duration exceeds the server's maximum permitted limit",
        ),
        (
            "-t 1 -b 50M",
            "total required bandwidth is larger than server limit",
        ),
    ] {
        let ended = client(port, arguments);
        assert_eq!(ended.code(), Some(1));
        assert_eq!(
            ended.stderr,
            format!("iperf3: SERVER ERROR - {text}\niperf3: error - {text}\n")
        );
    }
    assert_eq!(
        client(port, "-n 10K -b 1M").code(),
        Some(1),
        "no limit of time"
    );
    assert_eq!(client(port, "-t 1 -b 1M").code(), Some(0));
}

#[test]
fn a_server_under_this_name_serves_nobody_else() {
    let (server, port) = server("--server-max-duration 5");
    // What is all sent before the refusal comes is no failure, as with iperf 2.2.1.
    for arguments in ["-t 1", "-u -b 10M -n 100K"] {
        let other = Program::native(&format!("-c 127.0.0.1 -p {port} {arguments}")).end();
        assert_eq!(other.code(), Some(1), "{arguments}");
    }
    assert_eq!(client(port, "-t 1 -b 1M").code(), Some(0));
    assert_eq!(client(port, "-t 1 -u").code(), Some(0));
    server.signal(Signal::TERM);
    let ended = server.end();
    let refusal = "iperf3: refused 127.0.0.1: it does not speak iperf3's protocol, and no other \
                   is served here\n";
    assert!(ended.stderr.starts_with(refusal), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("refused").count(), 1);
    assert_eq!(ended.stdout.matches("Accepted connection").count(), 2);
}

#[test]
fn a_server_of_iperf2_alone_turns_clients_of_iperf3_away_in_a_line() {
    let port = free_port();
    let mut server = Program::iperf(&format!("-s -p {port}"));
    server.line("TCP window size");
    let refused = client(port, "-t 1");
    assert_eq!(refused.code(), Some(1));
    assert!(refused.stderr.contains("iperf 2"), "{}", refused.stderr);
    server.signal(Signal::TERM);
    let ended = server.end();
    assert!(!ended.stdout.contains(" sec "), "{}", ended.stdout);
    let said = "its client is iperf3's, and this server speaks iperf 2's protocol only\n";
    assert!(ended.stderr.ends_with(said), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("refused").count(), 1);
}

#[test]
fn the_process_id_and_the_log_go_to_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name| directory.path().join(name);
    let shown = |path: &Path| path.display().to_string();
    let (pid, log) = (path("pid"), path("log"));
    let port = free_port();
    let server = iperf3(&format!(
        "-s -p {port} -1 -I {} --logfile {}",
        shown(&pid),
        shown(&log)
    ));
    let until = std::time::Instant::now() + program::SOON;
    let listens = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("listening"));
    while !listens() && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    let number = std::fs::read_to_string(&pid).expect("the process id");
    assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{number}");
    let again = iperf3(&format!("-s -p {} -I {}", free_port(), shown(&pid))).end();
    assert_eq!(again.code(), Some(1));
    assert!(
        again
            .stderr
            .starts_with("iperf3: error - unable to write PID file: ")
    );
    running(port, "").signal(Signal::KILL);
    let ended = server.end();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    assert!(!pid.exists());
    let text = std::fs::read_to_string(&log).expect("the log");
    assert!(
        text.contains("Accepted connection from 127.0.0.1"),
        "{text}"
    );
    assert!(
        text.contains("iperf3: the client has unexpectedly closed"),
        "{text}"
    );
}

#[test]
fn lines_begin_with_the_time_where_asked() {
    let (_server, port) = server("");
    let ended = client(port, "-n 100K --timestamps=%F_at_ -T title");
    for line in ended.stdout.lines() {
        assert_eq!(line.get(10..14), Some("_at_"), "{line}");
        assert!(
            line.starts_with("20") && line.contains("_at_title:  "),
            "{line}"
        );
    }
    let exposed = client(port, "-n 100K --debug=1");
    assert!(exposed.stdout.contains("TestStart {"), "{}", exposed.stdout);
}

#[test]
fn a_client_stays_on_its_processor() {
    let (_server, port) = server("");
    let (status, first) = (
        std::fs::read_to_string("/proc/self/status"),
        |line: &str| {
            let list = line.split_whitespace().last()?;
            list.split([',', '-']).next().map(str::to_owned)
        },
    );
    let Some(processor) = status.ok().and_then(|text| {
        let line = text
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list:"))?;
        first(line)
    }) else {
        return;
    };
    assert_eq!(
        client(port, &format!("-n 100K -A {processor}")).code(),
        Some(0)
    );
    let missing = client(port, "-n 100K -A 1023");
    assert_eq!(missing.code(), Some(1));
    assert!(
        missing
            .stderr
            .starts_with("iperf3: error - unable to set CPU affinity: ")
    );
}

#[test]
fn tapelines_own_server_serves_and_its_client_tests() {
    let mut own = program::Server::native("-i 1");
    let port = own.port;
    assert_eq!(client(port, "-n 1M -P 2").code(), Some(0));
    own.program.line(" done: ");
    let line = format!("-c 127.0.0.1 -p {port} --peer iperf3 -n 1M -R");
    let ended = Program::native(&line).end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("\nThroughput "), "{}", ended.stdout);
    own.serves("");
    let stopped = own.stop();
    assert_eq!(stopped.code(), Some(0));
    let refused = Program::native(&format!("-c 127.0.0.1 -p {} --peer iperf3", free_port())).end();
    assert_eq!(refused.code(), Some(1));
    assert!(
        refused.stderr.contains("connection refused"),
        "{}",
        refused.stderr
    );
}

#[test]
fn tapelines_own_server_limits_tests_at_the_same_time() {
    let own = program::Server::native("--one-at-a-time");
    let first = running(own.port, "");
    let second = client(own.port, "-n 1M");
    assert_eq!(
        second.stderr,
        "iperf3: error - the server is busy running a test. try again later\n"
    );
    first.signal(Signal::INT);
    let _ = first.end();
    let single = program::Server::native("-1");
    assert_eq!(client(single.port, "-n 1M").code(), Some(0));
    let counted = program::Server::native("-P 1");
    assert_eq!(client(counted.port, "-n 1M").code(), Some(0));
}

/// tapeline's own server that tells in iperf3's form, once somebody can connect.
fn server_of_documents() -> (Program, u16) {
    let port = free_port();
    let program = Program::native(&format!("-s -p {port} -f iperf3-json"));
    let until = Instant::now() + program::SOON;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "nobody listens");
        std::thread::yield_now();
    }
    (program, port)
}

/// The next document of a server: it ends with a brace at the margin.
fn next_document(server: &mut Program) -> serde_json::Value {
    let mut text = String::new();
    while !text.ends_with("\n}\n") {
        text += &server.line("");
        text.push('\n');
    }
    serde_json::from_str(&text).expect("a document")
}

#[test]
fn iperf_2_clients_at_the_same_time_have_a_document_each() {
    let (mut server, port) = server_of_documents();
    let line = format!("-c 127.0.0.1 -p {port} -t 30 -i 0.1 -b 1M -P 2");
    let mut long = Program::iperf(&line);
    long.line("[SUM] 0.00-0.10");
    let line = format!("-c 127.0.0.1 -p {port} -n 1M");
    assert_eq!(Program::iperf(&line).end().code(), Some(0));
    let short = next_document(&mut server);
    assert_eq!(short["start"]["test_start"]["num_streams"], 1);
    assert_eq!(short["end"]["sum_received"]["bytes"], 1 << 20);
    long.signal(Signal::INT);
    let _ = long.end();
    let long = next_document(&mut server);
    assert_eq!(long["start"]["test_start"]["num_streams"], 2);
    let streams = long["end"]["streams"].as_array().expect("streams");
    let bytes = |stream: &serde_json::Value| stream["receiver"]["bytes"].as_u64();
    let sum: Option<u64> = streams.iter().map(bytes).sum();
    assert_eq!(long["end"]["sum_received"]["bytes"].as_u64(), sum);
}

#[test]
fn a_server_of_documents_gives_clients_its_document() {
    let (mut server, port) = server_of_documents();
    let ended = client(port, "-n 1M -J --get-server-output");
    let client: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a document");
    let theirs = &client["server_output_json"];
    let own = next_document(&mut server);
    assert_eq!(theirs["start"]["cookie"], client["start"]["cookie"]);
    for part in ["start", "intervals"] {
        assert_eq!(theirs[part], own[part], "{part}");
    }
    assert_eq!(theirs["end"]["streams"], own["end"]["streams"]);
}

/// Whether this system gives less than what `-w 512M` asks for; it books twice what it grants.
#[cfg(target_os = "linux")]
fn buffers_are_bounded() -> bool {
    let most = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/core/{name}"));
        text.ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let most = most("rmem_max").into_iter().chain(most("wmem_max"));
    most.min().is_some_and(|bytes| bytes * 2 < 512 << 20)
}

#[cfg(target_os = "linux")]
#[test]
fn a_buffer_that_the_system_does_not_give_ends_the_test() {
    if !buffers_are_bounded() {
        let test = "a_buffer_that_the_system_does_not_give_ends_the_test";
        return interop::skip(test, "the system gives sockets 512 MiB");
    }
    let why = "socket buffer size not set correctly";
    let (_server, port) = server("");
    for arguments in ["-w 512M", "-u -w 512M", "-R -w 512M"] {
        let client = client(port, arguments);
        let expected = format!("iperf3: error - {why}\n");
        assert_eq!((client.code(), client.stderr), (Some(1), expected));
    }
    let document = client(port, "-J -w 512M");
    let error = format!("\"error\":\t\"{why}\"");
    assert!(document.stdout.contains(&error), "{}", document.stdout);
    // A client that goes on is told by the server.
    let line = format!("-c 127.0.0.1 -p {port} --peer iperf3 -n 1M -w 512M");
    let refused = Program::native(&line).end();
    assert_eq!(refused.code(), Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn tapeline_warns_of_a_buffer_that_the_system_does_not_give() {
    if !buffers_are_bounded() {
        let test = "tapeline_warns_of_a_buffer_that_the_system_does_not_give";
        return interop::skip(test, "the system gives sockets 512 MiB");
    }
    let server = program::Server::native("");
    let port = server.port;
    let line = format!("-c 127.0.0.1 -p {port} --peer iperf3 -n 1M -w 512M --json");
    let client = Program::native(&line).end();
    assert_eq!(client.code(), Some(0), "{}", client.stderr);
    assert!(
        client.stdout.contains("buffer-clamped"),
        "{}",
        client.stdout
    );
    let served = server.stop();
    let said = served.stdout + &served.stderr;
    assert!(said.contains("512 MiB requested"), "{said}");
}
