//! Two tapelines: what each is told of the other, and what a control connection may not disturb.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::io::{Read, Write};
use std::net::TcpStream;

use program::{Ended, Program, Server};
use rustix::process::Signal;
use serde_json::Value;

/// Seconds of a test that does not end by itself while we look.
const LONG: u32 = 30;

/// A client's test of this server, to its end.
fn test(server: &Server, arguments: &str) -> Ended {
    let port = server.port;
    let ended = Program::native(&format!("-c 127.0.0.1 -p {port} {arguments}")).end();
    assert_eq!(ended.code(), Some(0), "{arguments}: {}", ended.stderr);
    ended
}

/// The totals that only the other end knows: by who counted.
fn totals<'a>(ended: &'a Ended, counted: &str) -> Vec<&'a str> {
    let lines = ended.stdout.lines();
    let label = format!("  {counted}");
    lines.filter(|line| line.ends_with(&label)).collect()
}

#[test]
fn a_client_shows_what_the_server_counted_in_every_mode() {
    let server = Server::native("");
    for (arguments, counted) in [
        ("-n 1M", "received"),
        ("-n 1M -X", "received"),
        ("-n 1M -P 3", "received"),
        ("-n 1M -R", "sent"),
        ("-n 1M -R -X", "sent"),
        ("-n 1M --full-duplex", "received"),
        ("-u -n 1M -b 100m", "received"),
        ("-u -n 1M -b 100m -R", "sent"),
        ("-n 1M --trip-times -b 100m", "received"),
        ("-n 1M --isochronous=100:10m -R", "sent"),
    ] {
        let ended = test(&server, &format!("{arguments} -e"));
        let lines = totals(&ended, counted);
        assert_eq!(lines.len(), 1, "{arguments}: {}", ended.stdout);
        assert!(
            ended.stdout.contains("\n  clocks "),
            "{arguments}: {}",
            ended.stdout
        );
    }
}

#[test]
fn datagrams_have_a_one_way_delay_with_a_bound() {
    let server = Server::native("");
    for way in ["", "-R"] {
        let ended = test(&server, &format!("-u -n 500K -b 20m {way}"));
        let mut lines = ended.stdout.lines();
        let delay = lines.find(|line| line.starts_with("Jitter "));
        let delay = delay.unwrap_or_else(|| panic!("{}", ended.stdout));
        assert!(
            delay.contains("; one-way delay ") && delay.contains(" (error "),
            "{delay}"
        );
    }
}

#[test]
fn round_trips_are_measured_beside_the_traffic_unless_unwanted() {
    fn loaded(ended: &Ended) -> Option<&str> {
        let mut lines = ended.stdout.lines();
        lines.find(|line| line.starts_with("Latency "))
    }
    let server = Server::native("");
    for way in ["", "-R", "-u", "-u -R"] {
        let ended = test(&server, &format!("-t 2 -b 100m {way}"));
        let line = loaded(&ended).unwrap_or_else(|| panic!("{way}: {}", ended.stdout));
        assert!(line.contains(" ms under load ("), "{line}");
        // So short a load has numbers, and no grade.
        assert!(!ended.stdout.contains("bufferbloat grade"), "{way}");
    }
    let ended = test(&server, "-t 1 -b 100m --no-latency-probes");
    assert_eq!(
        (loaded(&ended), totals(&ended, "received").len()),
        (None, 1)
    );
}

#[test]
fn round_trips_are_told_with_the_intervals() {
    let server = Server::native("");
    let port = server.port;
    let line = format!("-c 127.0.0.1 -p {port} -t {LONG} -i 0.02 -b 100m --json-stream");
    let mut client = Program::native(&line);
    client.line("\"probe_samples\":1,");
    client.signal(Signal::INT);
    assert_eq!(client.end().code(), Some(0));
}

#[test]
fn neither_end_is_recognised_against_its_will_or_under_another_name() {
    let unknown = |ended: &Ended| {
        assert_eq!(totals(ended, "received").len(), 0, "{}", ended.stdout);
        assert!(ended.stdout.contains("sender's count"), "{}", ended.stdout);
        assert_eq!(ended.stderr, "");
    };
    let server = Server::native("--no-peer-results");
    unknown(&test(&server, "-n 100K"));
    let server = Server::native("");
    unknown(&test(&server, "-n 100K --no-peer-results"));
    server.serves("");
    let server = Server::iperf("");
    unknown(&test(&server, "-n 100K"));
}

#[test]
fn a_server_of_one_test_of_each_kind_waits_for_their_control_connections() {
    let server = Server::native("-P 1");
    // The connection for datagrams goes to the listener over TCP.
    for arguments in ["-u -n 100K -b 10m", "-n 1M"] {
        let ended = test(&server, arguments);
        assert_eq!(totals(&ended, "received").len(), 1, "{}", ended.stdout);
    }
    assert_eq!(server.program.end().code(), Some(0));
}

#[test]
fn strangers_on_control_connections_disturb_nobody() {
    let server = Server::native("");
    let connect = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        stream.write_all(b"TAPELINE").expect("the first bytes");
        stream.write_all(bytes).expect("the others");
        stream
    };
    let silent: Vec<TcpStream> = (0..100).map(|_| connect(b"")).collect();
    // A test that there is not, a message out of turn, one that cannot be, one that is too long.
    let strange: [&[u8]; 4] = [
        &[1, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0],
        &[7, 0, 0, 0],
        &[63, 0, 0, 0],
        &[64, 15, 255, 255],
    ];
    for bytes in strange {
        let mut stream = connect(bytes);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an end");
        assert!(
            matches!(answer.first(), Some(3 | 10)),
            "{bytes:?} {answer:?}"
        );
    }
    let ended = test(&server, "-n 1M");
    assert_eq!(totals(&ended, "received").len(), 1, "{}", ended.stdout);
    drop(silent);
}

#[test]
fn a_server_that_stops_tells_its_clients() {
    for way in ["", "-R", "-u", "-u -R"] {
        let mut server = Server::native("-i 0.1");
        let port = server.port;
        let line = format!("-c 127.0.0.1 -p {port} -t {LONG} -i 0.1 -b 10m {way}");
        let mut client = Program::native(&line);
        client.line("0.00-");
        server.program.line("0.00-");
        // So much later there is a control connection.
        client.line("1.00-");
        server.program.signal(Signal::INT);
        let ended = client.end();
        let words = "the server ended the test: the server was stopped";
        assert!(ended.stderr.contains(words), "{way}: {}", ended.stderr);
        assert_eq!(server.program.end().code(), Some(0));
    }
}

#[test]
fn an_interrupted_client_ends_the_servers_part() {
    let mut server = Server::native("-i 0.1");
    let port = server.port;
    let line = format!("-c 127.0.0.1 -p {port} -t {LONG} -i 0.1 -u -R -b 10m");
    let mut client = Program::native(&line);
    client.line("1.00-");
    client.signal(Signal::INT);
    client.end();
    // Otherwise the server goes on for the rest of the time: it has nobody to ask.
    server.program.line(" done: ");
}

/// The first and the last CPU that this process may use.
#[cfg(target_os = "linux")]
fn cpus() -> (usize, usize) {
    let usable = rustix::thread::sched_getaffinity(None).expect("the CPUs of this process");
    let usable = |cpu: &usize| usable.is_set(*cpu);
    let mut cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(usable);
    let first = cpus.next().expect("a CPU");
    (first, cpus.next_back().unwrap_or(first))
}

#[test]
#[cfg(target_os = "linux")]
fn both_ends_say_where_they_handled_a_stream() {
    let server = Server::native("");
    let (first, last) = cpus();
    for arguments in ["-t 0.3", "-t 0.3 -R", "-u -t 0.3 -R"] {
        let ended = test(
            &server,
            &format!("{arguments} --affinity {first},{last} --json"),
        );
        let document: Value = serde_json::from_str(&ended.stdout).expect("a document");
        let stream = &document["streams"][0];
        let (own, other) = if arguments.contains("-R") {
            ("receiver", "sender")
        } else {
            ("sender", "receiver")
        };
        let [own, other] = [own, other].map(|end| &stream[end]["placement"]);
        assert_eq!(own["cpu"], first, "{arguments}: {own}");
        assert_eq!(other["cpu"], last, "{arguments}: {other}");
        for end in [own, other] {
            assert!(end["numa_node"].is_u64(), "{arguments}: {end}");
        }
        let received = &stream["receiver"]["placement"]["incoming_cpu"];
        assert!(received.is_u64(), "{arguments}: {stream}");
        assert_eq!(document["sum"]["sender"]["placement"], Value::Null);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_chooses_the_cpu_of_the_servers_streams() {
    let (_, last) = cpus();
    let server = Server::native("");
    let said = |arguments: &str| test(&server, arguments).stderr;
    for arguments in ["-t 1", "-t 1 -R -P 3", "-t 1 --full-duplex", "-u -t 1 -R"] {
        let text = said(&format!("{arguments} --affinity ,{last}"));
        assert!(!text.contains("--affinity"), "{arguments}: {text}");
    }
    if last > 0 {
        // Busy UDP streams get threads of their own at a server with several CPUs.
        let text = said(&format!("-u -t 1 -P 2 -b 50M --affinity ,{last}"));
        assert!(!text.contains("--affinity"), "{text}");
    }
    // A CPU that is not there, and a thread that serves several streams.
    for arguments in ["-t 1", "-u -t 1"] {
        let text = said(&format!("{arguments} --affinity ,1023"));
        let ran = text.contains("warning: 1 stream of the server ran on CPU ");
        assert!(
            ran && text.contains(" rather than 1023 (--affinity)"),
            "{arguments}: {text}"
        );
    }
    // A server that does not say who it is.
    let server = Server::native("--no-peer-results");
    let text = test(&server, "-t 1 --affinity ,0").stderr;
    assert!(
        text.contains("warning: the server's CPU could not be chosen (--affinity)"),
        "{text}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn an_end_without_such_a_cpu_does_not_start() {
    for arguments in ["-s -p 0 --affinity 1023", "-c 127.0.0.1 --affinity 1023"] {
        let ended = Program::native(arguments).end();
        assert_eq!(ended.code(), Some(1), "{arguments}");
        let beginning = "error: --affinity: this process cannot use CPU 1023, ";
        assert!(
            ended.stderr.starts_with(beginning),
            "{arguments}: {}",
            ended.stderr
        );
    }
}
