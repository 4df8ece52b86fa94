//! Different flows in one test: what each is said to have carried is what the packet filter counted,
//! with its DSCP, from its time on.
//!
//! The arithmetic: nft counts bytes of IP packets. A datagram has 28 bytes of headers (20 of IPv4, 8
//! of UDP). A segment has 52 (20, and 32 of TCP with time stamps), and that with the SYN 60. A tapeline
//! answers a client with 28 bytes in front of its data, and a client acknowledges the report on its
//! datagrams with 16. So with `n` datagrams of `l` bytes and `a` short ones of `s` bytes:
//!
//! - UDP: bytes = 28 (n + a) + l n + s a, where packets = n + a;
//! - TCP: bytes = 52 packets + 8 + payload, with 28 more of a tapeline that sends. Nothing is lost on
//!   this path; a segment that TCP sends again nevertheless, because an answer was late, is in the
//!   count of retransmissions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use interop::{
    CountedAt, CountedFlow, Family, Finished, FlowCounters, Invocation, Program, Server,
    ServerSpec, TestPath, Transport, Way, in_a_quiet_moment,
};
use relay::{Passage, Record};
use serde_json::Value;

use crate::support::{assert_within, document, lacks, path};

/// Headers of a datagram, and of a segment of TCP with time stamps.
const UDP_HEADERS: u64 = 28;
const TCP_HEADERS: u64 = 52;
/// What a SYN has in addition.
const SYN: u64 = 8;
/// What a tapeline says in front of its data.
const ANSWER: u64 = 28;
/// What a client says to the report on its datagrams.
const ACKNOWLEDGEMENT: u64 = 16;
/// Payload of a full segment.
const SEGMENT: u64 = 1448;
/// Short datagrams at the beginning and the end of a flow, at most.
const SHORT: u64 = 12;
/// Seconds by which a flow may begin late: what connecting takes, and a busy machine.
const LATE: f64 = 0.25;

/// A path on which nothing is lost and nobody waits for long: 60 Mbit/s, 1 MiB of queue, 5 ms.
fn ample(test: &str) -> Option<TestPath> {
    let way = Way::shaped(60_000_000, 1024 * 1024, std::time::Duration::from_millis(5));
    path(test, way, way)
}

fn scenario(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/methods/scenarios");
    folder.join(name).to_string_lossy().into_owned()
}

/// What came of a scenario.
struct Measured {
    client: Finished,
    document: Value,
    /// What came to the server's host, and to the client's.
    arrived: [Vec<CountedFlow>; 2],
    record: Record,
}

/// Runs a scenario; `options` stand beside it.
fn run(test: &str, server: Program, name: &str, options: &str) -> Option<Measured> {
    if lacks(test, &[server]) {
        return None;
    }
    let path = ample(test)?;
    let hosts = path.hosts();
    let servers = serve(&path, server);
    let counted = [&hosts.server, &hosts.client]
        .map(|host| FlowCounters::new(host, CountedAt::Arrival).expect("counters"));
    let client = Invocation::new(Program::Tapeline)
        .args(["--flows", &scenario(name)])
        .args(["-c", &hosts.server_address(Family::V4).to_string()])
        .args(["-p", &servers[0].port().to_string(), "--json"])
        .line(options)
        .within(&hosts.client)
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    let arrived = counted.each_ref().map(|one| one.flows().expect("flows"));
    drop((counted, servers));
    let document = document(&client);
    let record = path.finish().expect("a record");
    Some(Measured {
        client,
        document,
        arrived,
        record,
    })
}

/// A server of both transports on one port.
fn serve(path: &TestPath, program: Program) -> Vec<Server> {
    let host = &path.hosts().server;
    let start = |transport| ServerSpec::new(program, transport, Family::V4);
    let tcp = start(Transport::Tcp).start_within(host).expect("a server");
    if program == Program::Tapeline {
        return vec![tcp];
    }
    let port = tcp.port();
    let udp = start(Transport::Udp).start_within_on(host, port);
    vec![tcp, udp.expect("a server")]
}

fn port(stream: &Value, end: &str) -> u16 {
    let address = stream[end].as_str().expect("an address");
    let (_, port) = address.rsplit_once(':').expect("a port");
    port.parse().expect("a port")
}

impl Measured {
    /// Compares every stream of every flow with the packet filter.
    fn check_bytes(&self, server: Program) {
        for flow in self.document["flows"].as_array().expect("flows") {
            for stream in flow["report"]["streams"].as_array().expect("streams") {
                self.check_stream(flow, stream, server);
            }
        }
    }

    fn check_stream(&self, flow: &Value, stream: &Value, server: Program) {
        let tapeline = server == Program::Tapeline;
        let report = &flow["report"];
        let udp = report["test"]["transport"] == "udp";
        let reverse = stream["direction"] == "reverse";
        let (local, remote) = (port(stream, "local"), port(stream, "remote"));
        let ports = if reverse {
            (remote, local)
        } else {
            (local, remote)
        };
        let protocol = if udp { "udp" } else { "tcp" };
        let mut its: Vec<&CountedFlow> = self.arrived[usize::from(reverse)]
            .iter()
            .filter(|one| one.protocol == protocol)
            .filter(|one| (one.source_port, one.destination_port) == ports)
            .collect();
        its.sort_by_key(|one| std::cmp::Reverse(one.bytes));
        let shown = format!("{its:?}\n{stream:#}\n{}", self.client.stderr);
        let [data, others @ ..] = &its[..] else {
            panic!("nothing arrived\n{shown}");
        };
        // A server answers in the default class.
        let rest: u64 = others.iter().map(|one| one.packets).sum();
        assert!(rest <= SHORT, "{shown}");
        assert_eq!(Some(u64::from(data.dscp)), flow["dscp"].as_u64(), "{shown}");
        let received = tapeline || reverse;
        let end = &stream[if received { "receiver" } else { "sender" }];
        let bytes = end["bytes"].as_u64().expect("bytes");
        let packets: u64 = its.iter().map(|one| one.packets).sum();
        let total: u64 = its.iter().map(|one| one.bytes).sum();
        if !udp {
            let answer = if tapeline && reverse { ANSWER } else { 0 };
            let payload = total - packets * TCP_HEADERS - SYN - answer;
            let again = stream["sender"]["retransmits"].as_u64().unwrap_or(0);
            let most = bytes + again * SEGMENT;
            assert!((bytes..=most).contains(&payload), "{payload}\n{shown}");
            return;
        }
        let length = report["test"]["length_bytes"].as_u64().expect("a length");
        let short = if reverse { ANSWER } else { ACKNOWLEDGEMENT };
        let payload = total - packets * UDP_HEADERS;
        let long = (payload - short * packets) / (length - short);
        assert_eq!(
            payload,
            long * length + (packets - long) * short,
            "two lengths: {shown}"
        );
        assert!(packets - long <= SHORT, "{shown}");
        let counted = end["packets"].as_u64().expect("packets");
        assert_eq!(bytes, counted * length, "{shown}");
        // The last datagram may have been sent again: distinct ones count.
        let again = if tapeline { 0 } else { SHORT };
        assert!(
            (counted..=counted + again).contains(&long),
            "{long}\n{shown}"
        );
    }

    /// Compares when each flow began, and with which DSCP, with what the relay carried.
    fn check_starts(&self) {
        let flows = self.document["flows"].as_array().expect("flows");
        let first = [&self.record.there, &self.record.back]
            .iter()
            .filter_map(|way| way.first())
            .map(|passage| passage.entered)
            .min()
            .expect("packets");
        for flow in flows {
            let stream = &flow["report"]["streams"][0];
            let reverse = stream["direction"] == "reverse";
            let (local, remote) = (port(stream, "local"), port(stream, "remote"));
            let (passages, ports) = if reverse {
                (&self.record.back, (remote, local))
            } else {
                (&self.record.there, (local, remote))
            };
            let length = flow["report"]["test"]["length_bytes"].as_u64();
            let length = usize::try_from(length.expect("a length")).expect("a length");
            // What is ordered and answered before is shorter than data.
            let least = (length + 28).min(1000);
            let data: Vec<&Passage> = passages
                .iter()
                .filter(|one| one.head.ports() == Some(ports) && one.length >= least)
                .collect();
            let begin = data.first().expect("data").entered;
            let start = flow["start_seconds"].as_f64().expect("a start");
            assert_within(
                &format!("start of {}", flow["name"]),
                (begin - first) as f64 / 1e9,
                start,
                start + LATE,
                &self.client,
            );
            for passage in data {
                let dscp = passage.head.dscp().map(u64::from);
                assert_eq!(dscp, flow["dscp"].as_u64(), "{}", flow["name"]);
            }
        }
    }
}

/// A scenario towards a tapeline.
fn check(test: &str, name: &str) {
    in_a_quiet_moment(|| {
        let Some(measured) = run(test, Program::Tapeline, name, "") else {
            return;
        };
        measured.check_bytes(Program::Tapeline);
        measured.check_starts();
        let document = &measured.document;
        assert_eq!(document["schema"], "tapeline-flows/1");
        assert_eq!(document["complete"], true, "{}", measured.client);
        // The whole is the sum of its parts.
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for flow in document["flows"].as_array().expect("flows") {
            for sum in flow["report"]["sum"]["directions"]
                .as_array()
                .expect("sums")
            {
                let direction = sum["direction"].as_str().expect("a direction");
                *sums.entry(direction).or_default() +=
                    sum["receiver"]["bytes"].as_u64().expect("bytes");
            }
        }
        for sum in document["directions"].as_array().expect("directions") {
            let direction = sum["direction"].as_str().expect("a direction");
            assert_eq!(sum["bytes"].as_u64(), Some(sums[direction]));
        }
    });
}

#[test]
fn calls_and_downloads_are_what_the_packet_filter_counts() {
    let test = "calls_and_downloads_are_what_the_packet_filter_counts";
    check(test, "office.toml");
}

#[test]
fn flows_begin_at_their_times() {
    check("flows_begin_at_their_times", "staggered.toml");
}

#[test]
fn classes_of_service_are_on_the_wire() {
    check("classes_of_service_are_on_the_wire", "classes.toml");
}

#[test]
fn streams_beside_datagrams_are_what_the_packet_filter_counts() {
    let test = "streams_beside_datagrams_are_what_the_packet_filter_counts";
    check(test, "streams.toml");
}

#[test]
fn amounts_are_what_the_packet_filter_counts() {
    let test = "amounts_are_what_the_packet_filter_counts";
    check(test, "amounts.toml");
}

#[test]
fn flows_with_iperf_2_are_what_the_packet_filter_counts() {
    let test = "flows_with_iperf_2_are_what_the_packet_filter_counts";
    in_a_quiet_moment(|| {
        let Some(measured) = run(test, Program::Iperf221, "office.toml", "") else {
            return;
        };
        measured.check_bytes(Program::Iperf221);
        measured.check_starts();
    });
}

#[test]
fn a_flow_that_fails_is_named_and_the_others_go_on() {
    let test = "a_flow_that_fails_is_named_and_the_others_go_on";
    let Some(path) = ample(test) else {
        return;
    };
    let servers = serve(&path, Program::Tapeline);
    let hosts = path.hosts();
    let port = servers[0].port();
    let client = Invocation::new(Program::Tapeline)
        .args(["-c", &hosts.server_address(Family::V4).to_string()])
        .args(["-p", &port.to_string(), "-t", "1"])
        .args(["--flow", "good: -b 5m", "--flow", "bad: -p 9 -b 5m"])
        .within(&hosts.client)
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(1), "{client}");
    assert!(client.stderr.contains("error: flow 2 bad: "), "{client}");
    assert!(client.stdout.contains("1 good"), "{client}");
    assert!(client.stdout.contains("\nThroughput   "), "{client}");
}

#[test]
fn all_forms_of_flows_agree() {
    let Some(path) = ample("all_forms_of_flows_agree") else {
        return;
    };
    let servers = serve(&path, Program::Tapeline);
    let hosts = path.hosts();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let client = Invocation::new(Program::Tapeline)
        .args(["-c", &hosts.server_address(Family::V4).to_string()])
        .args(["-p", &servers[0].port().to_string(), "-t", "2"])
        .args(["--flow", "up: -b 5m", "--flow", "down: -u -R -b 2m"])
        .args([format!("--json={}", file("json"))])
        .args([format!("--json-stream={}", file("lines"))])
        .args([format!("--csv={}", file("csv"))])
        .args(["--html".to_owned(), file("html")])
        .within(&hosts.client)
        .run()
        .expect("a client");
    assert_eq!(client.code(), Some(0), "{client}");
    let read = |name: &str| std::fs::read_to_string(file(name)).expect(name);
    let whole: Value = serde_json::from_str(&read("json")).expect("a document");
    let bytes = |flow: usize| whole["flows"][flow]["report"]["sum"]["receiver"]["bytes"].clone();
    let lines = read("lines");
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    for flow in 0..2 {
        let end = lines
            .iter()
            .find(|line| line["event"] == "end" && line["test"] == flow + 1)
            .expect("an end");
        let place = usize::try_from(flow).expect("small");
        assert_eq!(end["data"]["sum"]["receiver"]["bytes"], bytes(place));
        // The rows of a flow are its intervals.
        let number = format!("{},", flow + 1);
        let rows = read("csv")
            .lines()
            .filter(|row| row.starts_with(&number))
            .count();
        let intervals = &whole["flows"][place]["report"]["intervals"];
        assert_eq!(Some(rows), intervals.as_array().map(Vec::len));
    }
    let last = lines.last().expect("lines");
    assert_eq!(last["event"], "flows");
    assert_eq!(last["data"]["directions"], whole["directions"]);
    assert!(read("html").contains("\"schema\":\"tapeline-flows/1\""));
    let shown = client.stdout.lines();
    let rows = shown.filter(|line| line.starts_with("Throughput ")).count();
    assert_eq!(rows, 2, "{client}");
}
