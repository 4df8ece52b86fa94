//! What the program prints, as its users and their scripts get it: on terminals and in pipes, on loopback.

#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;
#[allow(dead_code, reason = "each test file uses its part")]
mod terminal;

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use program::{Ended, Program, SOON, Server, command};
use rustix::process::Signal;
use serde_json::Value;
use terminal::OnTerminal;

/// Tests of each mode, short enough for one after the other.
const MODES: &[&str] = &[
    "-t 0.6",
    "-t 0.6 -e",
    "-t 0.6 -R",
    "-t 0.6 --full-duplex",
    "-t 0.6 -d",
    "-t 0.6 -P 4",
    "-t 0.6 -P 20",
    "-t 0.6 -u -b 20m",
    "-t 0.6 -u -b 20m -e",
    "-t 0.6 -u -b 20m -R",
    "-t 0.6 -u -b 20m --full-duplex",
    "-t 0.6 -u --isochronous=30:2m,0",
    "-n 100K -b 10m",
    "-t 0.6 --bounceback",
    "-t 0.6 --bounceback --working-load",
    "--connect-only=5",
    "-t 0.6 --repeat 2 --repeat-pause 0",
    "-t 1 --peer iperf3",
    "-t 1 --peer iperf3 -u -b 20m -R",
];

fn client(server: &Server, arguments: &str) -> Program {
    Program::native(&format!("-c 127.0.0.1 -p {} {arguments}", server.port))
}

/// Runs a client that must succeed.
fn succeeded(server: &Server, arguments: &str) -> Ended {
    let ended = client(server, arguments).end();
    assert_eq!(ended.code(), Some(0), "{arguments}: {}", ended.stderr);
    ended
}

/// All that a client shows on a terminal of so many columns.
fn on_terminal(arguments: &str, columns: u16, variables: &[(&str, &str)]) -> String {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let mut command = command(&words);
    command.env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    command.envs(variables.iter().copied());
    let OnTerminal {
        mut child,
        terminal,
        chunks,
        ..
    } = OnTerminal::spawn(command, columns);
    // The last end of the terminal is the program's: its end is that of what it shows.
    drop(terminal);
    let until = Instant::now() + SOON;
    let mut shown = Vec::new();
    while let Ok(bytes) = chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
        shown.extend(bytes);
    }
    child.wait().expect("its end");
    let shown = String::from_utf8(shown).expect("text");
    // What is drawn in place is a line of its own.
    shown.replace("\r\u{1b}[2K", "\n").replace('\r', "")
}

/// Text without colours and without lines that are drawn in place.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let end = escape.find(|letter: char| letter.is_ascii_alphabetic());
        rest = end.map_or("", |end| &escape[end + 1..]);
    }
    plain + rest
}

/// The value of a fact of the result.
fn fact<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| Some(line.strip_prefix(label)?.trim_start()))
}

#[test]
fn the_last_lines_are_the_answer() {
    let server = Server::native("");
    let shown = succeeded(&server, "-t 0.6").stdout;
    let lines: Vec<&str> = shown.lines().rev().take(8).collect();
    for label in ["Throughput ", "Limited by ", "Trust "] {
        let count = lines.iter().filter(|line| line.starts_with(label)).count();
        assert_eq!(count, 1, "{label}: {shown}");
    }
    for (arguments, start) in [
        (
            "-t 0.6 --brief",
            "tapeline host=127.0.0.1 proto=tcp dir=to-server mbps=",
        ),
        (
            "-t 0.6 --brief --repeat 2 --repeat-pause 0",
            "tapeline host=127.0.0.1 proto=tcp dir=to-server mbps=",
        ),
        (
            "-t 0.6 --brief --bounceback",
            "tapeline host=127.0.0.1 proto=tcp dir=requests mbps=- ",
        ),
        (
            "--brief --connect-only=3",
            "tapeline host=127.0.0.1 proto=tcp dir=connect mbps=- ",
        ),
    ] {
        let line = succeeded(&server, arguments).stdout;
        assert_eq!(line.lines().count(), 1, "{arguments}: {line}");
        assert!(line.starts_with(start), "{line}");
    }
    let quiet = succeeded(&server, "-t 0.6 -q --repeat 2 --repeat-pause 0").stdout;
    assert_eq!(quiet.matches("Throughput ").count(), 1, "{quiet}");
    assert!(quiet.starts_with("Throughput "), "{quiet}");
    assert!(
        !quiet.contains("\n\n") && !quiet.contains("trust\n"),
        "{quiet}"
    );
}

#[test]
fn no_line_is_wider_than_a_terminal_of_80_columns() {
    let server = Server::native("");
    for mode in MODES {
        let arguments = format!("-c 127.0.0.1 -p {} {mode}", server.port);
        let shown = without_escapes(&on_terminal(&arguments, 80, &[]));
        assert!(shown.lines().count() >= 3, "{mode}: {shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{mode}: {line:?} of {shown}");
        }
    }
    let shown = without_escapes(&on_terminal("try", 80, &[]));
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line:?} of {shown}");
    }
}

#[test]
fn other_locales_get_ascii_and_delays_are_never_negative() {
    let server = Server::native("");
    for mode in MODES {
        let words = format!("-c 127.0.0.1 -p {} {mode} -e", server.port);
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut command = command(&words);
        command.env("LC_ALL", "C");
        let ended = Program::spawn(command).end();
        for text in [&ended.stdout, &ended.stderr] {
            assert!(text.is_ascii(), "{mode}: {text}");
            // The drift of a clock is no delay.
            let delays = text.lines().filter(|line| !line.starts_with("  clocks "));
            let negative = delays.flat_map(str::split_whitespace).find(|word| {
                let number = word.trim_start_matches('(').strip_prefix('-');
                number.is_some_and(|number| number.starts_with(|one: char| one.is_ascii_digit()))
            });
            assert_eq!(negative, None, "{mode}: {text}");
        }
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let server = Server::native("");
    let arguments = format!("-c 127.0.0.1 -p {} -t 0.6", server.port);
    let painted = on_terminal(&arguments, 80, &[]);
    assert!(painted.contains("\u{1b}[1m"), "{painted:?}");
    for variable in [("NO_COLOR", "1"), ("CLICOLOR", "0")] {
        let plain = on_terminal(&arguments, 80, &[variable]);
        assert!(!plain.contains('\u{1b}'), "{variable:?}: {plain:?}");
    }
    let plain = on_terminal(&format!("{arguments} --color never"), 80, &[]);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn an_interrupt_is_mentioned_once() {
    let server = Server::native("");
    let mut client = client(&server, "-t 60 -i 0.2");
    client.line("0.20-0.40");
    client.signal(Signal::INT);
    let ended = client.end();
    let all = ended.stdout + &ended.stderr;
    assert_eq!(all.matches("interrupted").count(), 1, "{all}");
    assert!(all.contains("\nThroughput "), "{all}");
}

#[test]
fn a_closed_udp_port_is_one_error_and_no_table() {
    let closed = {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.local_addr().expect("its address").port()
    };
    for arguments in ["-t 1", "-t 30 -b 100m", "-t 30 -P 4", "-t 30 -R"] {
        let ended = Program::native(&format!("-c 127.0.0.1 -p {closed} -u {arguments}")).end();
        assert_eq!(ended.code(), Some(1), "{arguments}");
        assert_eq!(ended.stdout, "", "{arguments}");
        let expected = format!(
            "error: no reply from 127.0.0.1 port {closed} over UDP: connection refused\n\
             hint:  is \"tapeline -s\" running there? Another port: -p\n"
        );
        assert_eq!(ended.stderr, expected, "{arguments}");
    }
}

#[test]
fn a_udp_port_that_opens_within_a_second_is_waited_for() {
    for arguments in ["-R", "-R -P 4", ""] {
        let late = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = late.local_addr().expect("its address").port();
        drop(late);
        let client = Program::native(&format!("-c 127.0.0.1 -p {port} -u -t 2 {arguments}"));
        // iperf 2.2.1 has its port closed for as long.
        std::thread::sleep(Duration::from_secs(1));
        let _server = Server::of(Program::native(&format!("-s -p {port}")));
        let ended = client.end();
        assert_eq!(ended.code(), Some(0), "{arguments}: {}", ended.stderr);
        assert!(
            ended.stdout.contains("\nThroughput "),
            "{arguments}: {}",
            ended.stdout
        );
    }
}

#[test]
fn a_server_that_never_answers_is_given_up_within_the_time_for_connecting() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its address").port();
    let arguments = format!("-c 127.0.0.1 -p {port} -X -t 30 --connect-timeout 2 -i 0");
    let ended = Program::native(&arguments).end();
    assert_eq!(ended.code(), Some(1));
    let error = ended
        .stderr
        .lines()
        .find(|line| line.starts_with("error: "));
    let (_, time) = error
        .and_then(|line| line.split_once(" over TCP for "))
        .expect(&ended.stderr);
    let seconds: f64 = time.trim_end_matches(" s").parse().expect("seconds");
    assert!(seconds < 2.0, "{}", ended.stderr);
}

#[test]
fn what_is_too_short_or_paced_is_not_overrated() {
    let server = Server::native("");
    let few = succeeded(&server, "-n 100K -b 10m").stdout;
    assert_eq!(fact(&few, "Limited by"), None, "{few}");
    assert!(
        fact(&few, "Trust").is_some_and(|trust| trust.starts_with("poor: ")),
        "{few}"
    );
    let frames = succeeded(&server, "--isochronous=30:2m,0 -u -t 1").stdout;
    assert_eq!(fact(&frames, "Gap"), None, "{frames}");
}

#[test]
fn text_and_document_agree_about_what_iperf3_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("result.json").display().to_string();
    let server = Server::native("");
    let arguments = format!("--peer iperf3 -u -b 50M -t 1 --json={file}");
    let shown = succeeded(&server, &arguments).stdout;
    assert!(shown.contains(" at 50.0 Mbit/s, "), "{shown}");
    let document = std::fs::read_to_string(file).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let test = &document["test"];
    assert_eq!(test["requested_bits_per_second"], 50_000_000, "{test}");
    let received = &document["sum"]["receiver"];
    let number = |name: &str| {
        received[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {received}"))
    };
    let rate = number("bits_per_second") / 1e6;
    let throughput = fact(&shown, "Throughput").expect("a rate");
    assert!(
        throughput.starts_with(&format!("{rate:.1} Mbit/s received by ")),
        "{rate}: {shown}"
    );
    let total = shown
        .lines()
        .find(|line| line.ends_with("  received"))
        .expect("a total");
    let cells: Vec<&str> = total.split_whitespace().collect();
    let [.., lost, _, jitter, _] = cells[..] else {
        panic!("{total}");
    };
    assert_eq!(
        lost.parse().ok(),
        received["lost"].as_u64(),
        "{received}: {total}"
    );
    let shown_jitter: f64 = jitter.trim_start_matches('<').parse().expect("a jitter");
    assert!(
        (number("jitter_ms") - shown_jitter).abs() <= 0.001 + 0.005 * shown_jitter,
        "{total}"
    );
}

#[test]
fn clients_that_overlap_are_summed_up_alone() {
    let mut server = Server::native("");
    let rates = [10, 20, 30, 40, 50];
    let clients: Vec<Program> = rates
        .iter()
        .map(|rate| client(&server, &format!("-u -b {rate}m -t 1.5")))
        .collect();
    for one in clients {
        assert_eq!(one.end().code(), Some(0));
    }
    for _ in rates {
        server.program.line(" done: ");
    }
    let log = server.stop().stdout;
    let done = log.lines().filter(|line| line.contains(" done: "));
    let done = done.map(|line| line.split_whitespace().nth(4).expect("a rate"));
    let mut found: Vec<f64> = done.map(|rate| rate.parse().expect("a number")).collect();
    found.sort_by(f64::total_cmp);
    assert_eq!(found.len(), 5, "{log}");
    for (found, rate) in found.iter().zip(rates) {
        // A busy machine sends less; another client's rate is 10 Mbit/s away.
        assert!((found - f64::from(rate)).abs() < 5.0, "{log}");
    }
    assert_eq!(log.matches("tapeline 0.").count(), 5, "{log}");
}

#[test]
fn a_server_says_what_its_clients_do() {
    let server = Server::native("");
    succeeded(&server, "-d -t 0.6");
    succeeded(&server, "--bounceback=5 -t 2 --bounceback-period 0.2");
    let log = server.stop().stdout;
    let version = env!("CARGO_PKG_VERSION");
    let both = format!("started: TCP, 1 stream, both ways, tapeline {version}\n");
    assert!(log.contains(&both), "{log}");
    assert!(log.contains(" round trips, "), "{log}");
    assert!(!log.contains("kbit/s"), "{log}");
}

#[test]
fn bad_values_say_which_units_there_are() {
    for (arguments, sentence) in [
        (
            "-b 10x",
            "-b: unknown unit \"x\" in \"10x\" (use k, M, G: 10M is 10 Mbit/s)",
        ),
        (
            "-l 5q",
            "-l: unknown unit \"q\" in \"5q\" (use k, K, M, G: 128K is 128 KiB)",
        ),
        ("-t 5q", "-t needs a number of seconds, not \"5q\""),
    ] {
        let ended = Program::native(&format!("-c 127.0.0.1 {arguments}")).end();
        assert_eq!(ended.code(), Some(2), "{arguments}");
        assert_eq!(ended.stderr, format!("error: {sentence}\n"));
    }
}
