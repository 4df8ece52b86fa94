//! What fails only while the test runs: words, stream and exit status, against recordings of
//! iperf 2.2.1 under its name, and one clear line under our own.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;
#[allow(dead_code, reason = "each test file uses its part")]
mod recordings;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use interop::skip;
use program::{Ended, Program, Server, command};
use recordings::{SAID_BY_THE_RUN, read, words};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// The reference ends with 0 although nothing of the test, or not all of it, took place.
#[rustfmt::skip]
const FAILURES_OF_OURS: &[&str] = &[
    "B_bad_addr_server", "Z_bad", "Z_bad_server", "client_v6_literal_without_V",
    "connect_refused", "connect_refused_P2", "connect_refused_e", "connect_retry",
    "connect_retry_only_time", "o_bad", "opt_6", "p_bad", "p_big", "p_in_use_server",
    "p_range_P_less", "p_range_P_more", "p_zero",
];

/// Lines on which less than the reference's complaint is due, and why.
#[rustfmt::skip]
const SILENT: &[(&str, &str)] = &[
    ("S_le", "the byte is 0x04, as the name says, which TCP takes"),
    ("udp_l_one", "a datagram has room for its number, so the server can answer"),
];

/// A TCP port on which nothing listens, and nothing will.
struct Refusing {
    port: u16,
    _socket: OwnedFd,
}

impl Refusing {
    fn on(address: SocketAddr) -> Option<Self> {
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = socket(family, SocketType::STREAM, None).ok()?;
        bind(&socket, &address).ok()?;
        let bound = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
        Some(Self {
            port: bound.port(),
            _socket: socket,
        })
    }

    fn v4() -> Self {
        Self::on((Ipv4Addr::LOCALHOST, 0).into()).expect("a port")
    }
}

/// Two ports, one after the other: a TCP server, and nobody.
struct Pair {
    server: Server,
    _next: Refusing,
}

impl Pair {
    fn new() -> Self {
        for _ in 0..50 {
            let next = Refusing::v4();
            let port = next.port - 1;
            // Whether the port is free shows here; the server takes it a moment later.
            if TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_err() {
                continue;
            }
            let mut program = Program::iperf(&format!("-s -p {port}"));
            program.line("listening on");
            let server = Server { program, port };
            return Self {
                server,
                _next: next,
            };
        }
        panic!("no two free ports in a row");
    }
}

/// The line of a recording, with ports that are ours instead of 5001, 5002 and 21599.
fn arguments(name: &str, port: u16) -> Vec<String> {
    let mut words = words(&read(name, "cmd"));
    for word in &mut words {
        *word = match word.as_str() {
            "5001" | "21599" => port.to_string(),
            "5001-5001" => format!("{port}-{port}"),
            "5001-5002" => format!("{port}-{}", port + 1),
            "21612" | "21614" => "0".into(),
            _ => continue,
        };
    }
    if words.iter().any(|word| word == "-c") && !words.iter().any(|word| word == "-p") {
        words.extend(["-p".into(), port.to_string()]);
    }
    words
}

fn run(name: &str, port: u16) -> Ended {
    let mut arguments = arguments(name, port);
    arguments.splice(0..0, ["--as".into(), "iperf".into()]);
    Program::spawn(command(&arguments)).end()
}

/// A complaint without what differs from run to run: repetitions count once, and flows that
/// connect at the same time fail in any order.
fn complaint(text: &str, port: u16) -> String {
    let mut lines: Vec<String> = Vec::new();
    // A connection that broke is complained of once here, not of its close again.
    for line in text
        .lines()
        .filter(|line| !line.contains("shutdown failed"))
    {
        let line = line
            .replace(&format!("port {port} "), "port 5001 ")
            .replace(&format!("port {} ", port.wrapping_add(1)), "port 5002 ")
            .replace("port 21599 ", "port 5001 ")
            .replace(": Unknown host", ": Host name lookup failure");
        let line = match line.split_once(" on 20") {
            Some((before, date)) => {
                let form: String = date.chars().map(digit_free).collect();
                format!("{before} on 20{form}")
            }
            None => line,
        };
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    let parallel = |line: &String| line.contains("[  2] tcp connect");
    if lines.iter().any(parallel) {
        lines.sort();
    }
    lines.join("\n")
}

fn digit_free(letter: char) -> char {
    if letter.is_ascii_digit() { '#' } else { letter }
}

/// Which lines a report has: numbers, rates and names of this machine taken out.
fn shape(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| match line {
            _ if line.starts_with("TCP window size") => "window".into(),
            _ if line.starts_with("TCP congestion control") => "congestion".into(),
            _ if line.contains(" connected with ") => "connected".into(),
            _ if line.starts_with('[') && line.contains(" sec ") => "row".into(),
            _ => numberless(line),
        })
        .collect()
}

/// Every number, however long, becomes one `#`.
fn numberless(line: &str) -> String {
    let mut form = String::new();
    for letter in line.chars().map(digit_free) {
        if letter != '#' || !form.ends_with('#') {
            form.push(letter);
        }
    }
    form
}

/// Compares a run with its recording.
fn check(name: &str, port: u16) -> Ended {
    let ended = run(name, port);
    let silent = SILENT.iter().any(|(other, _)| *other == name);
    let expected = if silent {
        String::new()
    } else {
        complaint(&read(name, "stderr"), 5001)
    };
    assert_eq!(complaint(&ended.stderr, port), expected, "{name}");
    if name != "udp_l_one" {
        assert_eq!(shape(&ended.stdout), shape(&read(name, "stdout")), "{name}");
    }
    let recorded = read(name, "exit").trim().parse().expect("a status");
    let status = if FAILURES_OF_OURS.contains(&name) {
        assert_eq!(recorded, 0, "{name} is no improvement");
        1
    } else {
        recorded
    };
    assert_eq!(ended.code(), Some(status), "{name}");
    ended
}

const WITH_A_SERVER: &[&str] = &[
    "B_bad_addr",
    "B_unresolvable",
    "M_bad",
    "M_big",
    "S_ecn",
    "S_le",
    "Z_bad",
    "c_dev_bad",
    "o_bad",
    "p_in_use_server",
    "p_range_P_less",
    "p_range_P_more",
];
const WITHOUT_A_SERVER: &[&str] = &[
    "B_bad_addr_server",
    "Z_bad_server",
    "client_unresolvable",
    "connect_refused",
    "connect_refused_P2",
    "connect_refused_e",
    "connect_retry",
    "connect_retry_only_time",
    "p_bad",
    "p_big",
    "p_zero",
];
const WITHOUT_A_SERVER_IPV6: &[&str] = &["client_v6_literal_without_V", "opt_6"];
const WITH_A_UDP_SERVER: &[&str] = &["udp_l_one"];
/// Compared by words of their own: the reference says that all went well.
const REPORTED_BETTER: &[&str] = &["permit_key_client_only"];

#[test]
fn every_recording_is_compared() {
    let mut compared: Vec<&str> = [
        WITH_A_SERVER,
        WITHOUT_A_SERVER,
        WITHOUT_A_SERVER_IPV6,
        WITH_A_UDP_SERVER,
        REPORTED_BETTER,
    ]
    .concat();
    compared.sort_unstable();
    let recorded: Vec<&str> = SAID_BY_THE_RUN.iter().map(|(name, ..)| *name).collect();
    assert_eq!(compared, recorded);
}

#[test]
fn options_that_the_system_refuses() {
    let pair = Pair::new();
    for name in WITH_A_SERVER {
        check(name, pair.server.port);
    }
    // The reference says that its write failed, and that the test went well.
    let keyed = run(REPORTED_BETTER[0], pair.server.port);
    assert!(keyed.stderr.contains("permit key"), "{}", keyed.stderr);
    assert_eq!(keyed.code(), Some(1));
    let small = check("w_small", pair.server.port);
    assert!(small.stdout.contains("(WARNING: requested 1000 Byte)"));
    pair.server.serves("");
}

#[test]
fn refused_connections_and_listeners() {
    let nobody = Refusing::v4();
    for name in WITHOUT_A_SERVER {
        let ended = check(name, nobody.port);
        if name.starts_with("connect_retry") {
            let tries = ended.stderr.matches("Connection refused").count();
            assert!(tries >= 2, "{name}: {}", ended.stderr);
        }
    }
}

#[test]
fn refused_connections_over_ipv6() {
    let Some(nobody) = Refusing::on((Ipv6Addr::LOCALHOST, 0).into()) else {
        skip("refused_connections_over_ipv6", "this host has no IPv6");
        return;
    };
    for name in WITHOUT_A_SERVER_IPV6 {
        check(name, nobody.port);
    }
}

#[test]
fn datagrams_with_odd_orders_are_answered() {
    let server = Server::iperf("-u");
    let ended = check("udp_l_one", server.port);
    assert!(ended.stdout.contains("Sending 16 byte datagrams"));
    assert!(ended.stdout.contains("[  1] Server Report:\n"));
    // From an address that is not ours: said, and sent from another, as with TCP.
    let port = server.port;
    let line = format!("-c 127.0.0.1 -u -n 10K -p {port} -B 203.0.113.9");
    let ended = Program::iperf(&line).end();
    assert_eq!(ended.stderr, read("B_bad_addr", "stderr"));
    assert_eq!(ended.code(), Some(0));
    assert!(ended.stdout.contains("[  1] Server Report:\n"));
    // The reference's two servers take turns without a word.
    let second = Program::iperf(&format!("-s -u -p {}", server.port)).end();
    assert_eq!(
        second.stderr,
        "listener bind failed: Address already in use\n"
    );
    assert_eq!((second.code(), second.stdout.as_str()), (Some(1), ""));
}

/// A UDP port of 127.0.0.1 that nobody has: it is taken on another loopback address.
fn deaf() -> (u16, UdpSocket) {
    let socket = UdpSocket::bind(("127.0.0.9", 0)).expect("a port");
    (socket.local_addr().expect("its address").port(), socket)
}

#[test]
fn datagrams_to_nobody() {
    let (port, _taken) = deaf();
    let ended = Program::iperf(&format!("-c 127.0.0.1 -u -t 0.2 -p {port}")).end();
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let (last, refusals) = lines.split_last().expect("complaints");
    assert!((1..=2).contains(&refusals.len()), "{lines:?}");
    for line in refusals {
        assert_eq!(*line, "[  1] Read UDP fin failed: Connection refused");
    }
    let form: String = last.chars().filter(|c| !c.is_ascii_digit()).collect();
    assert_eq!(
        form,
        "[  ] WARNING: did not receive ack of last datagram after  tries."
    );
    assert!(ended.stdout.contains("[  1] Sent "), "{}", ended.stdout);
    assert_eq!(ended.code(), Some(1));

    let ended = Program::native(&format!("-c 127.0.0.1 -u -t 0.2 -p {port}")).end();
    assert_eq!(
        ended.stderr,
        format!(
            "error: no reply from 127.0.0.1 port {port} over UDP: connection refused\n\
             hint:  is \"tapeline -s\" running there? Another port: -p\n"
        )
    );
    assert!(!ended.stdout.contains("limited by"), "{}", ended.stdout);
    assert_eq!(ended.code(), Some(1));
}

/// Runs as somebody who may not listen on port 1; `None` where that cannot be arranged.
fn unprivileged(arguments: &[&str]) -> Option<Ended> {
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if first.is_ok_and(|text| text.trim().parse().is_ok_and(|first: u16| first <= 1)) {
        return None;
    }
    let own = command(arguments);
    if !rustix::process::geteuid().is_root() {
        return Some(Program::spawn(own).end());
    }
    let mut lowered = std::process::Command::new("setpriv");
    lowered
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(own.get_program())
        .args(own.get_args());
    if lowered.output().is_err() {
        return None;
    }
    let ended = Program::spawn(lowered).end();
    // The program may lie where only its owner can go.
    (!ended.stderr.starts_with("setpriv:")).then_some(ended)
}

#[test]
fn privileged_ports() {
    let Some(ended) = unprivileged(&["--as", "iperf", "-s", "-p", "1"]) else {
        skip("privileged_ports", "no way to run without privileges");
        return;
    };
    assert_eq!(ended.stderr, "listener bind failed: Permission denied\n");
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(1), ""));
    let ended = unprivileged(&["-s", "-p", "1"]).expect("as before");
    assert_eq!(
        ended.stderr,
        "error: cannot listen on TCP port 1: permission denied\n\
         hint:  ports below 1024 need privileges: choose a higher one with -p\n"
    );
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(1), ""));
}

/// Our own words: the one line on standard error, and the exit status.
fn native(arguments: &str, line: &str, status: i32) {
    let ended = Program::native(arguments).end();
    assert_eq!(ended.stderr, format!("{line}\n"), "{arguments}");
    assert_eq!(ended.code(), Some(status), "{arguments}");
}

#[test]
fn our_own_words_say_what_to_do() {
    let nobody = Refusing::v4().port;
    native(
        &format!("-c 127.0.0.1 -t 0.2 -p {nobody}"),
        &format!(
            "error: cannot connect to 127.0.0.1 port {nobody}: connection refused\n\
             hint:  is \"tapeline -s\" running there? Another port: -p"
        ),
        1,
    );
    native(
        "-s -p 0 -B 203.0.113.9",
        "error: cannot listen on TCP 203.0.113.9 port 0: cannot assign requested address\n\
         hint:  this host has no such address",
        1,
    );
    native(
        &format!("-c 127.0.0.1 -p {nobody} -B 203.0.113.9"),
        "error: cannot bind 203.0.113.9: cannot assign requested address\n\
         hint:  this host has no such address",
        1,
    );
    native(
        &format!("-c 127.0.0.1 -u -p {nobody} -B 203.0.113.9"),
        "error: cannot bind 203.0.113.9: cannot assign requested address\n\
         hint:  this host has no such address",
        1,
    );
    native(
        &format!("-c 127.0.0.1%nodev -p {nobody}"),
        "error: cannot use device nodev: no such device\nhint:  this host has no such interface",
        1,
    );
    for role in ["-s -p 0", &format!("-c 127.0.0.1 -p {nobody}")] {
        native(
            &format!("{role} -Z nope"),
            "error: congestion control \"nope\" is not available: no such file or directory\n\
             hint:  this host's are in net.ipv4.tcp_available_congestion_control",
            1,
        );
    }
    native(
        &format!("-c 127.0.0.1 -p {nobody} -o /no/such/dir/x"),
        "error: cannot write to /no/such/dir/x: No such file or directory",
        1,
    );
    native(
        "-c 127.0.0.1 -p 70000",
        "error: -p needs a port (0..65535), not \"70000\"",
        2,
    );
}

#[test]
fn a_port_in_use_is_named_in_our_own_words() {
    let server = Server::native("");
    native(
        &format!("-s -p {}", server.port),
        &format!(
            "error: cannot listen on TCP port {}: in use by another program\n\
             hint:  stop it, or choose another port: -p {}",
            server.port,
            server.port.checked_add(1).unwrap_or(server.port - 1)
        ),
        1,
    );
    server.serves("");
    server.serves("-u");
    let ended = server.stop();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_only_spoils_the_test_is_a_warning_of_ours() {
    let server = Server::native("");
    let port = server.port;
    native(
        &format!("-c 127.0.0.1 -n 100K -p {port} -M 1"),
        "warning: a segment size of 1 bytes cannot be set: the system chooses [segment-size-failed]",
        0,
    );
    native(
        &format!("-c 127.0.0.1 -n 100K -p {port} -S 0x03"),
        "warning: TOS is 0x0 (dscp=0,ecn=0), not 0x3 (dscp=0,ecn=3): \
         the system keeps the ECN bits of TCP for itself [tos-changed]",
        0,
    );
}

#[test]
fn a_name_that_nobody_knows() {
    for arguments in [
        "-c no.such.host.invalid",
        "-c 127.0.0.1 -B no.such.host.invalid",
        "-s -p 0 -B no.such.host.invalid",
    ] {
        let ended = Program::native(arguments).end();
        let stderr = ended.stderr.as_str();
        let first = stderr.lines().next().unwrap_or_default();
        // A host without a name server cannot know.
        let unknown = first.starts_with("error: unknown host no.such.host.invalid (");
        let unasked = first.starts_with("error: cannot look up no.such.host.invalid: ");
        assert!(unknown || unasked, "{arguments}: {stderr}");
        assert_eq!(ended.code(), Some(1), "{arguments}");
    }
}
