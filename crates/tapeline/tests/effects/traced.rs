//! What the system is asked for, where no output shows it: system calls as strace sees them.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::pair::has;
use crate::program::{Ended, Program, command};

const CALLS: &str = "trace=setsockopt,recvfrom,sendmsg,recvmmsg,prctl,sched_setscheduler,bind";

/// Whether calls can be traced here, or a skip.
fn can_trace(test: &str) -> bool {
    let mut trace = Command::new("strace");
    trace.args(["-qq", "-e", "trace=none", "true"]);
    let runs = trace.stderr(Stdio::null()).status();
    let good = runs.is_ok_and(|status| status.success());
    if !good {
        interop::skip(test, "strace is not installed or not permitted");
    }
    good
}

/// A process under strace, and the file with its calls.
struct Traced {
    program: Program,
    calls: tempfile::NamedTempFile,
}

impl Traced {
    fn start(line: &str, without: &str) -> Self {
        Self::of(command(&["--as", "iperf"]), line, without)
    }

    /// Under tapeline's own name.
    fn native(line: &str) -> Self {
        Self::of(command::<&str>(&[]), line, "")
    }

    fn of(own: Command, line: &str, without: &str) -> Self {
        let calls = tempfile::NamedTempFile::new().expect("a file");
        let mut trace = Command::new("strace");
        trace
            .args(["-f", "-qq", "-e", CALLS, "-o"])
            .arg(calls.path());
        trace
            .env("TAPELINE_WITHOUT", without)
            .arg(own.get_program())
            .args(own.get_args())
            .args(line.split_whitespace());
        Self {
            program: Program::spawn(trace),
            calls,
        }
    }

    /// Interrupts the program: strace takes no notice of its own signals.
    fn interrupt(&self) {
        let id = self.program.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let child = children.expect("a child").trim().parse().expect("its id");
        let child = Pid::from_raw(child).expect("a process");
        kill_process(child, Signal::INT).expect("a running process");
    }

    fn end(self) -> (Ended, String) {
        let ended = self.program.end();
        let calls = std::fs::read_to_string(self.calls.path()).expect("calls");
        (ended, calls)
    }
}

/// Runs both ends, the server for one connection; returns the calls of the client and of the
/// server.
fn calls(server: &str, client: &str) -> (String, String) {
    calls_without(server, client, "")
}

/// The same without one optimisation at both ends.
fn calls_without(server: &str, client: &str, without: &str) -> (String, String) {
    let port = interop::free_port();
    let mut server = Traced::start(&format!("-s -p {port} -P 1 {server}"), without);
    server.program.line("istening on ");
    let line = format!("-c 127.0.0.1 -p {port} {client}");
    let (ended, client) = Traced::start(&line, without).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let (ended, server) = server.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    (client, server)
}

#[test]
fn a_clients_socket_has_what_was_asked_for() {
    if !can_trace("a_clients_socket_has_what_was_asked_for") {
        return;
    }
    let line = "-n 10K -N -T 9 -S cs1 -w 40K -M 900 -Z reno --local-only --fq-rate 8m \
                --tcp-tx-delay 3 --tcp-write-prefetch 16K";
    let (client, _) = calls("", line);
    for call in [
        "SOL_TCP, TCP_NODELAY, [1]",
        "SOL_IP, IP_TTL, [9]",
        "SOL_IP, IP_TOS, [32]",
        "SOL_SOCKET, SO_SNDBUF, [40960]",
        "SOL_TCP, TCP_MAXSEG, [900]",
        "SOL_TCP, TCP_CONGESTION, ",
        "SOL_SOCKET, SO_DONTROUTE, [1]",
        "SOL_SOCKET, SO_MAX_PACING_RATE, ",
        "SOL_TCP, TCP_TX_DELAY, [3000]",
        "SOL_TCP, TCP_NOTSENT_LOWAT, [16384]",
    ] {
        has(&client, call);
    }
    let (plain, _) = calls("", "-n 10K --local-only=0");
    for call in [
        "TCP_NODELAY, [1]",
        "IP_TTL",
        "SO_DONTROUTE, [1]",
        "SO_MAX_PACING_RATE",
    ] {
        assert!(!plain.contains(call), "{call} without its option");
    }
}

#[test]
fn a_servers_socket_has_what_was_asked_for() {
    if !can_trace("a_servers_socket_has_what_was_asked_for") {
        return;
    }
    let options = "-w 50K --tcp-rx-window-clamp 20K --tcp-quickack --skip-rx-copy";
    let (_, server) = calls(options, "-n 100K");
    for call in [
        "SOL_SOCKET, SO_RCVBUF, [51200]",
        "SOL_TCP, TCP_WINDOW_CLAMP, [20480]",
        "SOL_TCP, TCP_QUICKACK, [1]",
        "MSG_TRUNC",
    ] {
        has(&server, call);
    }
    for receives in ["-R", "--full-duplex"] {
        let (client, _) = calls("", &format!("-n 100K -w 50K {receives}"));
        has(&client, "SOL_SOCKET, SO_RCVBUF, [51200]");
    }
    let (_, server) = calls("--tos-override cs3", "-n 100K -R");
    has(&server, "SOL_IP, IP_TOS, [96]");
    let (client, _) = calls("", "-n 10K --bounceback=1 -t 0.1");
    has(&client, "SOL_TCP, TCP_QUICKACK, [1]");
    let (client, _) = calls("", "--bounceback=1 -t 0.1 --bounceback-no-quickack");
    assert!(!client.contains("TCP_QUICKACK, [1]"), "{client}");
}

#[test]
fn realtime_is_asked_for() {
    if !can_trace("realtime_is_asked_for") {
        return;
    }
    for option in ["-z", "--realtime"] {
        let (client, server) = calls(option, &format!("-n 10K {option}"));
        has(&client, "SCHED_RR");
        has(&server, "SCHED_RR");
    }
}

#[test]
fn a_flows_thread_waits_as_its_end_chose() {
    if !can_trace("a_flows_thread_waits_as_its_end_chose") {
        return;
    }
    // A look that finds nothing; a call that blocks carries no flag.
    let looks = |calls: &str| {
        let empty = |call: &&str| call.contains("MSG_DONTWAIT") && call.contains("EAGAIN");
        calls.lines().filter(empty).count()
    };
    let of = |mode: &str| {
        let port = interop::free_port();
        let mut server = Traced::native(&format!("-s -p {port} --wait {mode}"));
        server.program.line("istening on ");
        // Each answer takes so long that it is waited for.
        let line = format!(
            "-c 127.0.0.1 -p {port} --bounceback=1 --bounceback-hold 20 -t 0.2 --no-peer-results \
             --no-latency-probes --wait {mode}"
        );
        let (ended, client) = Traced::native(&line).end();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        server.interrupt();
        let (_, server) = server.end();
        [looks(&client), looks(&server)]
    };
    let asleep = of("sleep");
    for mode in ["spin", "yield"] {
        let awake = of(mode);
        for (awake, asleep) in awake.into_iter().zip(asleep) {
            assert!(awake > asleep + 20, "{mode}: {awake}, asleep {asleep}");
        }
    }
}

#[test]
fn groups_are_joined_from_their_sources() {
    if !can_trace("groups_are_joined_from_their_sources") {
        return;
    }
    let port = interop::free_port();
    let joined = |options: &str| {
        let server = Traced::start(&format!("-s -u -p {port} -t 0.3 {options}"), "");
        server.end().1
    };
    has(&joined("-B 239.77.1.2%lo"), "_ADD_MEMBERSHIP");
    let calls = joined("-B 232.77.1.2%lo -H 127.0.0.1");
    assert!(
        calls.contains("IP_ADD_SOURCE_MEMBERSHIP") || calls.contains("MCAST_JOIN_SOURCE_GROUP"),
        "{calls}"
    );
}

#[test]
fn optimisations_can_be_left_out() {
    if !can_trace("optimisations_can_be_left_out") {
        return;
    }
    let udp = "-u -b 0 -l 200 -n 100K";
    let tcp = "-n 4M";
    for (technique, options, client, call) in [
        ("udp-segmentation", udp, true, "cmsg_level=SOL_UDP"),
        ("udp-coalescing", udp, false, "SOL_UDP, UDP_GRO, [1]"),
        ("receive-buffer", udp, false, "SO_RCVBUF"),
        ("repeated-chunk", tcp, true, "msg_iovlen=32"),
    ] {
        let server = if options == udp { "-u" } else { "" };
        let seen = |without: &str| {
            let (sent, received) = calls_without(server, options, without);
            if client { sent } else { received }
        };
        has(&seen(""), call);
        let plain = seen(technique);
        assert!(!plain.contains(call), "{call} without {technique}: {plain}");
    }
}

#[test]
fn probes_and_their_replies_have_the_class_of_the_flows() {
    if !can_trace("probes_and_their_replies_have_the_class_of_the_flows") {
        return;
    }
    let port = interop::free_port();
    let mut server = Traced::native(&format!("-s -p {port} -P 1"));
    server.program.line("istening on ");
    // Enough for the row of probes behind the test, however quickly it ends.
    let line = format!("-c 127.0.0.1 -p {port} -n 50M -S ef");
    let (ended, client) = Traced::native(&line).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    has(&client, "SOL_IP, IP_TOS, [184]");
    // The server takes one test of each kind.
    let line = format!("-c 127.0.0.1 -p {port} -u -n 50K -b 10m --no-latency-probes");
    let (ended, _) = Traced::native(&line).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let (ended, server) = server.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    has(&server, "cmsg_type=IP_TOS, cmsg_data=[0xb8");
}

#[test]
fn both_ends_keep_the_unsent_data_of_a_loaded_path_short() {
    if !can_trace("both_ends_keep_the_unsent_data_of_a_loaded_path_short") {
        return;
    }
    let port = interop::free_port();
    let mut server = Traced::native(&format!("-s -p {port}"));
    server.program.line("istening on ");
    let line = format!(
        "responsiveness 127.0.0.1 -p {port} -t 8 --full-duplex --draft id=0.5 --draft mnp=2 --json"
    );
    let (ended, client) = Traced::native(&line).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    server.interrupt();
    let (_, server) = server.end();
    for calls in [client, server] {
        has(&calls, "SOL_TCP, TCP_NOTSENT_LOWAT, [");
    }
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let deviations = document["deviations"].to_string();
    assert!(!deviations.contains("unsent"), "{deviations}");
}
