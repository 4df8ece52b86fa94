//! Documents of tests with real peers: what their protocol carries is there, the rest is `null`, and
//! nothing is 0 that is not known.

use std::collections::BTreeSet;
use std::time::Duration;

use interop::{Family, Program, Server, ServerSpec, Transport, skip};
use rustix::process::Signal;
use serde_json::Value;

/// Time that a server may take for what follows a client's end.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What each end knows of every flow of its own.
const END: &[&str] = &["bytes", "seconds", "bits_per_second"];
/// What is known of a process.
const PROCESS: &[&str] = &["cpu_percent", "cpu_seconds_per_gigabyte"];
/// What an end says of itself alone, and tapeline to tapeline.
const OWN: &[&str] = &["placement"];
const OWN_STREAM: &[&str] = &["retransmits", "rtt_ms", "cwnd_bytes"];
const OWN_DATAGRAMS: &[&str] = &["packets", "send_errors"];
const COUNTED: &[&str] = &["packets", "lost", "lost_percent", "out_of_order"];
const OWN_COUNTED: &[&str] = &[
    "lost_network",
    "lost_receiver_host",
    "lost_sender_host",
    "duplicates",
    "reordered",
    "reordering_extent",
    "loss_runs",
    "longest_loss_run",
    "jitter_ms",
    "jitter_mean_ms",
];

/// A test, and what is known of its ends.
struct Case {
    options: &'static str,
    sender: &'static [&'static [&'static str]],
    receiver: &'static [&'static [&'static str]],
}

/// With a server of iperf 2: over TCP it reports nothing, over UDP it sends a report.
const IPERF2: [Case; 4] = [
    Case {
        options: "-n 1M",
        sender: &[END, PROCESS, OWN, OWN_STREAM],
        receiver: &[],
    },
    Case {
        options: "-R -t 0.5 -b 20m",
        sender: &[],
        receiver: &[END, PROCESS, OWN],
    },
    Case {
        options: "-u -n 294000 -b 10m",
        sender: &[END, PROCESS, OWN, OWN_DATAGRAMS],
        // Its own sends did not fail: none was lost there.
        receiver: &[
            END,
            COUNTED,
            &["jitter_ms", "jitter_mean_ms", "lost_sender_host"],
        ],
    },
    Case {
        options: "-u -R -t 0.5 -b 5m",
        sender: &[],
        receiver: &[END, PROCESS, OWN, COUNTED, OWN_COUNTED],
    },
];

/// With a server of iperf3: both ends report what they counted.
const IPERF3: [Case; 4] = [
    Case {
        options: "-n 1M",
        sender: &[END, PROCESS, OWN, OWN_STREAM],
        receiver: &[END, PROCESS],
    },
    Case {
        options: "-R -n 1M",
        sender: &[END, PROCESS, &["retransmits"]],
        receiver: &[END, PROCESS, OWN],
    },
    Case {
        options: "-u -n 294000 -b 10m -l 1470",
        sender: &[END, PROCESS, OWN, OWN_DATAGRAMS],
        receiver: &[END, PROCESS, COUNTED, &["jitter_ms", "lost_sender_host"]],
    },
    Case {
        options: "-u -R -n 294000 -b 10m -l 1470",
        sender: &[END, PROCESS, &["packets"]],
        receiver: &[END, PROCESS, OWN, COUNTED, OWN_COUNTED],
    },
];

/// Whether all programs are there, or a skip.
fn ready(test: &str, programs: &[Program]) -> bool {
    let missing = programs.iter().find_map(|program| program.missing());
    if let Some(reason) = &missing {
        skip(test, reason);
    }
    missing.is_none()
}

/// Names of the members that are known.
fn known(end: &Value) -> BTreeSet<&str> {
    let members = end.as_object().expect("an end").iter();
    // The longest gap takes more than two arrivals.
    let filled =
        members.filter(|(name, value)| !value.is_null() && !name.starts_with("longest_gap"));
    filled.map(|(name, _)| name.as_str()).collect()
}

fn expected(groups: &[&'static [&'static str]]) -> BTreeSet<&'static str> {
    groups.concat().into_iter().collect()
}

fn assert_known(end: &Value, groups: &[&'static [&'static str]], shown: &str) {
    assert_eq!(known(end), expected(groups), "{shown}");
    for name in ["bytes", "seconds", "packets"] {
        assert!(end.get(name) != Some(&Value::from(0)), "{name}: {shown}");
    }
}

/// The document of a client of this server.
fn document(server: &Server, options: &str) -> (Value, String) {
    let client = server.client(Program::Tapeline);
    let client = client
        .line(options)
        .args(["--json"])
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    let document = serde_json::from_str(&client.stdout).expect("a document");
    (document, client.to_string())
}

fn transport(case: &Case) -> Transport {
    match case.options.starts_with("-u") {
        true => Transport::Udp,
        false => Transport::Tcp,
    }
}

fn check(document: &Value, case: &Case, shown: &str) {
    let streams = document["streams"].as_array().expect("streams");
    assert_eq!(streams.len(), 1, "{shown}");
    assert_known(&streams[0]["sender"], case.sender, shown);
    assert_known(&streams[0]["receiver"], case.receiver, shown);
    // Nobody has compared the clocks.
    assert!(streams[0]["one_way_delay"].is_null(), "{shown}");
    assert!(document["latency_under_load"].is_null(), "{shown}");
}

#[test]
fn clients_of_iperf2_servers_report_what_there_is() {
    let servers = [Program::Iperf221, Program::Iperf218, Program::Iperf2014a];
    let name = "clients_of_iperf2_servers_report_what_there_is";
    if !ready(name, &servers) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    for program in servers {
        for case in &IPERF2 {
            // That version ends when it is to send datagrams.
            if program == Program::Iperf2014a && case.options.starts_with("-u -R") {
                continue;
            }
            let spec = ServerSpec::new(program, transport(case), Family::V4);
            let server = spec.start().expect("a server");
            // The server's kind says which transport.
            let options = case.options.trim_start_matches("-u ");
            let (document, shown) = document(&server, options);
            check(&document, case, &shown);
            assert!(document["peer"]["version"].is_null(), "{shown}");
        }
    }
}

#[test]
fn clients_of_iperf3_servers_report_what_there_is() {
    let servers = [
        Program::Iperf3V22,
        Program::Iperf3V18,
        Program::Iperf3V12,
        Program::Iperf3V9,
    ];
    let name = "clients_of_iperf3_servers_report_what_there_is";
    if !ready(name, &servers) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    for program in servers {
        let spec = ServerSpec::new(program, Transport::Tcp, Family::V4);
        let server = spec.start().expect("a server");
        for case in &IPERF3 {
            let (document, shown) = document(&server, &format!("--peer iperf3 {}", case.options));
            check(&document, case, &shown);
            assert_eq!(document["peer"]["program"], "iperf3", "{shown}");
        }
    }
}

#[test]
fn two_tapelines_report_all_of_the_sender_in_either_direction() {
    let name = "two_tapelines_report_all_of_the_sender_in_either_direction";
    if !ready(name, &[Program::Tapeline]) {
        return;
    }
    let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
    let server = spec.start().expect("a server");
    for direction in ["", "-R"] {
        let (document, shown) = document(&server, &format!("-t 0.3 -b 50m {direction}"));
        let flow = &document["streams"][0];
        assert_known(&flow["sender"], &[END, PROCESS, OWN, OWN_STREAM], &shown);
        assert_known(&flow["receiver"], &[END, PROCESS, OWN], &shown);
        assert!(flow["rtt"]["samples"].is_u64(), "{shown}");
    }
}

/// What a server reports of real clients.
#[test]
fn servers_report_what_there_is_of_their_clients() {
    let clients = [
        (Program::Iperf221, "-n 1M", "iperf", "2.2.1"),
        (Program::Iperf218, "-u -n 147000 -b 10m", "iperf", "2.1.8"),
        (Program::Iperf3V22, "-n 1M", "iperf3", "3.22"),
        (
            Program::Iperf3V9,
            "-u -n 147000 -b 10m -l 1470",
            "iperf3",
            "3.9",
        ),
    ];
    let name = "servers_report_what_there_is_of_their_clients";
    let programs: Vec<Program> = clients.iter().map(|client| client.0).collect();
    if !ready(name, &programs) || !ready(name, &[Program::Tapeline]) {
        return;
    }
    for (program, options, family, version) in clients {
        let spec = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4);
        let mut server = spec.options("--json").start().expect("a server");
        let client = server
            .client(program)
            .line(options)
            .run()
            .expect("a client");
        assert_eq!(client.code(), Some(0), "{client}");
        let complete = server
            .process()
            .wait_for(TIMEOUT, |out| out.ends_with("}\n"));
        let shown = format!("{client}--- server\n{}", server.output());
        assert!(complete, "{shown}");
        server.process().signal(Signal::INT);
        let document: Value = serde_json::from_str(&server.output()).expect(&shown);
        assert_eq!(document["peer"]["program"], family, "{shown}");
        let said = document["peer"]["version"].as_str().unwrap_or_default();
        assert!(said.starts_with(version), "{said}: {shown}");
        let flow = &document["streams"][0];
        let own: &[&[&str]] = match options.starts_with("-u") {
            true => &[END, PROCESS, OWN, COUNTED, OWN_COUNTED],
            false => &[END, PROCESS, OWN],
        };
        assert_known(&flow["receiver"], own, &shown);
        let theirs: &[&[&str]] = match (family, options.starts_with("-u")) {
            ("iperf3", true) => &[END, PROCESS, &["packets"]],
            ("iperf3", false) => &[END, PROCESS, &["retransmits"]],
            _ => &[],
        };
        assert_known(&flow["sender"], theirs, &shown);
        // Both ends' hosts are judged, as far as they are known.
        assert!(!document["verdict"].is_null(), "{shown}");
    }
}
