//! Path MTU (`tapeline mtu`): the truth is the configured MTU of a link, or the length above which a
//! packet filter drops. Nothing here depends on time, so the cases of the sample run side by side.

use std::time::Duration;

use interop::{
    Cable, Family, Finished, Namespace, Program, RelayedPair, RoutedPair, Server, ServerSpec,
    Transport, skip,
};
use serde_json::Value;

use crate::support::document;

/// Runs of a case in the level `methods`.
const RUNS: usize = 20;
/// Longest time that a direction may take.
const LIMIT: f64 = 20.0;

/// What becomes of packets that are too long for the way there, or back.
#[derive(Clone, Copy)]
enum Obstacle {
    /// A link of this MTU, whose router reports it.
    Link(Cable, u16),
    /// The same, and the router's reports are dropped.
    SilentLink(Cable, u16),
    /// UDP packets above this length are dropped on both ways.
    Dropper(u16),
}

struct Case {
    name: &'static str,
    /// MTU of all cables.
    cables: u16,
    obstacles: &'static [Obstacle],
    /// UDP packets lost each way, %.
    loss: u32,
    /// Path MTU up and down, and what ICMP comes to.
    expected: [(u64, &'static str); 2],
}

const PLAIN: Case = Case {
    name: "nothing in the way",
    cables: 1500,
    obstacles: &[],
    loss: 0,
    expected: [(1500, "not-needed"), (1500, "not-needed")],
};

const CASES: &[Case] = &[
    Case {
        name: "ICMP works",
        obstacles: &[Obstacle::Link(Cable::ThereServer, 1400)],
        expected: [(1400, "received"), (1500, "not-needed")],
        ..PLAIN
    },
    Case {
        name: "ICMP works, down",
        obstacles: &[Obstacle::Link(Cable::BackClient, 1392)],
        expected: [(1500, "not-needed"), (1392, "received")],
        ..PLAIN
    },
    Case {
        name: "ICMP blocked",
        obstacles: &[Obstacle::SilentLink(Cable::ThereServer, 1400)],
        expected: [(1400, "blocked"), (1500, "not-needed")],
        ..PLAIN
    },
    Case {
        name: "ICMP blocked, down",
        obstacles: &[Obstacle::SilentLink(Cable::BackClient, 1437)],
        expected: [(1500, "not-needed"), (1437, "blocked")],
        ..PLAIN
    },
    Case {
        name: "silent dropper",
        obstacles: &[Obstacle::Dropper(1430)],
        expected: [(1430, "blocked"), (1430, "blocked")],
        ..PLAIN
    },
    Case {
        name: "jumbo",
        cables: 9000,
        expected: [(9000, "not-needed"), (9000, "not-needed")],
        ..PLAIN
    },
    Case {
        name: "jumbo up, a tunnel down",
        cables: 9000,
        obstacles: &[Obstacle::Link(Cable::BackClient, 4470)],
        expected: [(9000, "not-needed"), (4470, "received")],
        ..PLAIN
    },
    Case {
        name: "minimum of IPv6",
        obstacles: &[Obstacle::Link(Cable::ThereServer, 1280)],
        expected: [(1280, "received"), (1500, "not-needed")],
        ..PLAIN
    },
    Case {
        name: "loss",
        obstacles: &[
            Obstacle::Link(Cable::ThereServer, 1492),
            Obstacle::Link(Cable::BackClient, 1492),
        ],
        loss: 5,
        expected: [(1492, "received"), (1492, "received")],
        ..PLAIN
    },
];

/// Why nothing can be measured here, if so.
fn lacks(test: &str, programs: &[Program]) -> bool {
    let missing = programs.iter().find_map(|program| program.missing());
    let reason = missing.or_else(|| {
        let pair = RoutedPair::new().err();
        pair.map(|error| format!("no routed network namespaces: {error}"))
    });
    if let Some(reason) = &reason {
        skip(test, reason);
    }
    reason.is_some()
}

impl Obstacle {
    fn build(self, pair: &RoutedPair, family: Family) {
        match self {
            Self::Link(cable, mtu) => pair.set_mtu(cable, mtu).expect("an MTU"),
            Self::SilentLink(cable, mtu) => {
                pair.set_mtu(cable, mtu).expect("an MTU");
                let (table, report) = match family {
                    Family::V4 => ("ip", "icmp type destination-unreachable"),
                    Family::V6 => ("ip6", "icmpv6 type packet-too-big"),
                };
                for router in [&pair.there, &pair.back] {
                    let script = format!(
                        "table {table} silence {{\nchain out {{\n\
                         type filter hook output priority 0;\n{report} drop\n}}\n}}\n"
                    );
                    router.nft(&script).expect("a filter");
                }
            }
            Self::Dropper(length) => {
                let rule = format!("meta length > {length} drop");
                for router in [&pair.there, &pair.back] {
                    forward(router, "dropper", &rule);
                }
            }
        }
    }
}

/// A rule for the UDP packets that a router forwards.
fn forward(router: &Namespace, table: &str, rule: &str) {
    let script = format!(
        "table inet {table} {{\nchain forwarded {{\ntype filter hook forward priority 0;\n\
         meta l4proto udp {rule}\n}}\n}}\n"
    );
    router.nft(&script).expect("a filter");
}

/// Runs `tapeline mtu` towards a server and returns its document.
fn measure(
    client: &Namespace,
    server: &Server,
    address: std::net::IpAddr,
    options: &str,
) -> (Finished, Value) {
    let finished = interop::Invocation::new(Program::Tapeline)
        .args([
            "mtu",
            &address.to_string(),
            "-p",
            &server.port().to_string(),
        ])
        .within(client)
        .line(options)
        .line("--json")
        .deadline(Duration::from_secs(150))
        .run()
        .expect("a client");
    let document = document(&finished);
    (finished, document)
}

/// Checks a direction of a result.
#[track_caller]
fn check_way(way: &Value, expected: (u64, &str), shown: &dyn std::fmt::Display) {
    let (mtu, icmp) = expected;
    assert_eq!(way["mtu_bytes"], mtu, "{shown}");
    assert_eq!(way["exact"], true, "{shown}");
    assert_eq!(way["icmp"], icmp, "{shown}");
}

impl Case {
    fn run(&self, family: Family, times: usize) {
        let pair = RoutedPair::new().expect("a network");
        for cable in Cable::ALL {
            pair.set_mtu(cable, self.cables).expect("an MTU");
        }
        for obstacle in self.obstacles {
            obstacle.build(&pair, family);
        }
        if self.loss > 0 {
            for router in [&pair.there, &pair.back] {
                let rule = format!("numgen random mod 100 < {} drop", self.loss);
                forward(router, "loss", &rule);
            }
        }
        let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, family)
            .start_within(&pair.server)
            .expect("a server");
        for run in 1..=times {
            pair.forget_paths().expect("routes");
            let address = pair.server_address(family);
            let (finished, document) = measure(&pair.client, &server, address, "");
            let shown = format!("{}, {family:?}, run {run}\n{finished}", self.name);
            assert_eq!(finished.code(), Some(0), "{shown}");
            self.check(&pair, family, &document, &shown);
        }
    }

    fn check(&self, pair: &RoutedPair, family: Family, document: &Value, shown: &String) {
        let result = &document["result"];
        let routers = [pair.there_address(family), pair.back_address(family)];
        for ((name, expected), router) in ["up", "down"].iter().zip(self.expected).zip(routers) {
            let way = &result[*name];
            check_way(way, expected, shown);
            assert_eq!(
                way["interface_mtu_bytes"],
                u64::from(self.cables),
                "{shown}"
            );
            if expected.1 == "received" {
                assert_eq!(way["icmp_mtu_bytes"], expected.0, "{shown}");
                assert_eq!(way["icmp_from"], router.to_string(), "{shown}");
            } else {
                assert_eq!(way["icmp_mtu_bytes"], Value::Null, "{shown}");
            }
            let lost = way["control_loss_percent"].as_f64().expect("a loss");
            let allowed = if self.loss > 0 { 4.0 } else { 0.0 };
            assert!(
                (lost - f64::from(self.loss)).abs() <= allowed,
                "{lost} %\n{shown}"
            );
        }
        let headers = match family {
            Family::V4 => 28,
            Family::V6 => 48,
        };
        let least = self.expected.iter().map(|(mtu, _)| mtu).min().expect("two");
        assert_eq!(result["safe_udp_payload_bytes"], least - headers, "{shown}");
        assert_eq!(result["tcp_only"], false, "{shown}");
        for phase in document["phases"].as_array().expect("phases") {
            assert!(phase["seconds"].as_f64() <= Some(LIMIT), "{shown}");
        }
        let verdict = document["verdict"].as_str().unwrap_or_default();
        let is_hole = self.expected.iter().any(|(_, icmp)| *icmp == "blocked");
        assert_eq!(
            verdict.contains("vanish without notice"),
            is_hole,
            "{shown}"
        );
    }
}

/// Runs cases side by side.
fn run_all(cases: &[(&'static Case, Family)], times: usize) {
    std::thread::scope(|scope| {
        for &(case, family) in cases {
            scope.spawn(move || case.run(family, times));
        }
    });
}

fn of(family: Family) -> Vec<(&'static Case, Family)> {
    CASES.iter().map(|case| (case, family)).collect()
}

#[test]
fn every_path_is_measured_to_the_byte() {
    if lacks("every_path_is_measured_to_the_byte", &[Program::Tapeline]) {
        return;
    }
    run_all(&of(Family::V4), 1);
    let few = ["ICMP works", "silent dropper", "minimum of IPv6"];
    let v6 = of(Family::V6).into_iter();
    let v6: Vec<_> = v6.filter(|(case, _)| few.contains(&case.name)).collect();
    run_all(&v6, 1);
}

#[test]
#[ignore = "takes minutes: every case 20 times"]
fn every_path_over_ipv4_is_measured_twenty_times() {
    if lacks(
        "every_path_over_ipv4_is_measured_twenty_times",
        &[Program::Tapeline],
    ) {
        return;
    }
    run_all(&of(Family::V4), RUNS);
}

#[test]
#[ignore = "takes minutes: every case 20 times"]
fn every_path_over_ipv6_is_measured_twenty_times() {
    if lacks(
        "every_path_over_ipv6_is_measured_twenty_times",
        &[Program::Tapeline],
    ) {
        return;
    }
    run_all(&of(Family::V6), RUNS);
}

/// A path of 200 ms on which longer datagrams vanish.
fn far(times: usize) {
    let delayed = || relay::Path {
        delay: Duration::from_millis(100),
        ..relay::Path::default()
    };
    let pair = RelayedPair::new(delayed(), delayed()).expect("a relay");
    let hosts = pair.hosts();
    for host in [&hosts.client, &hosts.server] {
        let script = "table inet dropper {\nchain arrived {\n\
                      type filter hook prerouting priority -300;\n\
                      meta l4proto udp meta length > 1443 drop\n}\n}\n";
        host.nft(script).expect("a filter");
    }
    let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&hosts.server)
        .expect("a server");
    for _ in 0..times {
        let address = hosts.server_address(Family::V4);
        let (finished, document) = measure(&hosts.client, &server, address, "");
        assert_eq!(finished.code(), Some(0), "{finished}");
        for name in ["up", "down"] {
            check_way(&document["result"][name], (1443, "blocked"), &finished);
        }
        for phase in document["phases"].as_array().expect("phases") {
            assert!(phase["seconds"].as_f64() <= Some(LIMIT), "{finished}");
        }
    }
}

#[test]
fn a_far_path_is_measured_in_time() {
    if !lacks("a_far_path_is_measured_in_time", &[Program::Tapeline]) {
        far(1);
    }
}

#[test]
#[ignore = "takes minutes: 20 times"]
fn a_far_path_is_measured_in_time_twenty_times() {
    if !lacks("a_far_path_is_measured_in_time", &[Program::Tapeline]) {
        far(RUNS);
    }
}

/// Without UDP what TCP knows remains, and the method succeeds with a warning.
fn without_udp(times: usize) {
    for family in Family::ALL {
        let pair = RoutedPair::new().expect("a network");
        for router in [&pair.there, &pair.back] {
            forward(router, "silence", "drop");
        }
        let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, family)
            .start_within(&pair.server)
            .expect("a server");
        for _ in 0..times {
            let address = pair.server_address(family);
            let (finished, document) = measure(&pair.client, &server, address, "");
            assert_eq!(finished.code(), Some(0), "{finished}");
            let result = &document["result"];
            assert_eq!(result["tcp_only"], true, "{finished}");
            assert_eq!(result["up"]["mtu_bytes"], Value::Null, "{finished}");
            assert_eq!(result["up"]["tcp_path_mtu_bytes"], 1500, "{finished}");
            let segment = 1500 - if family == Family::V4 { 52 } else { 72 };
            assert_eq!(result["up"]["mss_bytes"], segment, "{finished}");
            let warnings = document["warnings"].as_array().expect("warnings");
            let is_warned = warnings
                .iter()
                .any(|warning| warning["id"] == "udp-blocked");
            assert!(is_warned, "{finished}");
        }
    }
}

#[test]
fn without_udp_the_view_of_tcp_remains() {
    if !lacks("without_udp_the_view_of_tcp_remains", &[Program::Tapeline]) {
        without_udp(1);
    }
}

#[test]
#[ignore = "takes minutes: 20 times"]
fn without_udp_the_view_of_tcp_remains_twenty_times() {
    if !lacks("without_udp_the_view_of_tcp_remains", &[Program::Tapeline]) {
        without_udp(RUNS);
    }
}

/// Linux refuses a datagram that the client's own device has no room for (ENOBUFS).
#[test]
fn a_full_queue_of_the_own_host_is_a_loss() {
    if lacks(
        "a_full_queue_of_the_own_host_is_a_loss",
        &[Program::Tapeline],
    ) {
        return;
    }
    let pair = RoutedPair::new().expect("a network");
    pair.set_mtu(Cable::ThereServer, 1400).expect("an MTU");
    let script = "table netdev full {\nchain out {\n\
                  type filter hook egress device there priority 0;\n\
                  meta l4proto udp numgen inc mod 5 0 drop\n}\n}\n";
    pair.client.nft(script).expect("a filter");
    let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&pair.server)
        .expect("a server");
    let address = pair.server_address(Family::V4);
    let (shown, document) = measure(&pair.client, &server, address, "");
    assert_eq!(shown.code(), Some(0), "{shown}");
    let result = &document["result"];
    check_way(&result["up"], (1400, "received"), &shown);
    check_way(&result["down"], (1500, "not-needed"), &shown);
}

#[test]
fn the_page_names_the_router_and_a_criterion_decides_the_exit_code() {
    let test = "the_page_names_the_router_and_a_criterion_decides_the_exit_code";
    if lacks(test, &[Program::Tapeline]) {
        return;
    }
    let pair = RoutedPair::new().expect("a network");
    pair.set_mtu(Cable::ThereServer, 1400).expect("an MTU");
    let server = ServerSpec::new(Program::Tapeline, Transport::Tcp, Family::V4)
        .start_within(&pair.server)
        .expect("a server");
    let address = pair.server_address(Family::V4);
    let run = |options: &str| {
        pair.forget_paths().expect("routes");
        interop::Invocation::new(Program::Tapeline)
            .args([
                "mtu",
                &address.to_string(),
                "-p",
                &server.port().to_string(),
            ])
            .within(&pair.client)
            .line(options)
            .run()
            .expect("a client")
    };
    let missed = run("--pass mtu=1500");
    assert_eq!(missed.code(), Some(4), "{missed}");
    for line in [
        format!("path MTU to {address} (IPv4)"),
        "            largest packet    ICMP                                 TCP MSS".to_owned(),
        format!(
            "  up              1400        {:<40}1348",
            format!("received from {} (1400)", pair.there_address(Family::V4))
        ),
        format!("  down            1500        {:<40}1448", "not needed"),
    ] {
        assert!(
            missed.stdout.lines().any(|shown| shown == line),
            "{line}\n{missed}"
        );
    }
    assert!(missed.stdout.contains("100 bytes narrower"), "{missed}");
    let kept = run("--pass mtu=1400 --direction up");
    assert_eq!(kept.code(), Some(0), "{kept}");
    // What the system has learnt from the first run is not taken for the router's report.
    let known = interop::Invocation::new(Program::Tapeline)
        .args([
            "mtu",
            &address.to_string(),
            "-p",
            &server.port().to_string(),
        ])
        .within(&pair.client)
        .line("--json --direction up")
        .run()
        .expect("a client");
    check_way(&document(&known)["result"]["up"], (1400, "cached"), &known);
}

/// Towards plain peers each size is a flow of its own.
fn plain_peers(family: Family) {
    let pair = RoutedPair::new().expect("a network");
    pair.set_mtu(Cable::ThereServer, 1443).expect("an MTU");
    pair.set_mtu(Cable::BackClient, 1480).expect("an MTU");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let server = ServerSpec::new(Program::Iperf221, Transport::Udp, family)
                .start_within(&pair.server)
                .expect("a server");
            let address = pair.server_address(family);
            let (finished, document) = measure(&pair.client, &server, address, "");
            assert_eq!(finished.code(), Some(0), "{finished}");
            let result = &document["result"];
            assert_eq!(result["up"]["mtu_bytes"], 1443, "{finished}");
            assert_eq!(result["up"]["icmp"], Value::Null, "{finished}");
            assert_eq!(result["down"]["mtu_bytes"], Value::Null, "{finished}");
        });
        scope.spawn(|| {
            let server = ServerSpec::new(Program::Iperf3V22, Transport::Tcp, family)
                .start_within(&pair.server)
                .expect("a server");
            let address = pair.server_address(family);
            let (finished, document) = measure(&pair.client, &server, address, "--peer iperf3");
            assert_eq!(finished.code(), Some(0), "{finished}");
            let result = &document["result"];
            assert_eq!(result["up"]["mtu_bytes"], 1443, "{finished}");
            assert_eq!(result["down"]["mtu_bytes"], Value::Null, "{finished}");
        });
    });
}

#[test]
fn plain_peers_are_measured_by_flows() {
    let programs = [Program::Tapeline, Program::Iperf221, Program::Iperf3V22];
    if lacks("plain_peers_are_measured_by_flows", &programs) {
        return;
    }
    std::thread::scope(|scope| {
        for family in Family::ALL {
            scope.spawn(move || plain_peers(family));
        }
    });
}
