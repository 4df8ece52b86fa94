//! Multicast between two hosts: what one sends to a group, everyone who joined it receives.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use interop::{
    Family, Invocation, Namespace, NamespacePair, Program, Running, Transcript, Transport,
    await_listening, free_port, skip,
};

/// Time that a receiver may take to print its total after the sender has ended.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A group and how it is joined.
struct Group {
    /// Address of the group, as the sender names it.
    address: &'static str,
    /// Options of the receiver.
    joined: String,
    family: Family,
}

/// The kinds of groups: any source, one source, and IPv6.
fn groups(pair: &NamespacePair) -> [Group; 3] {
    let interface = Namespace::INTERFACE;
    let source = pair.client_address(Family::V4);
    [
        Group {
            address: "239.1.2.3",
            joined: format!("-B 239.1.2.3%{interface}"),
            family: Family::V4,
        },
        Group {
            address: "232.1.2.3",
            joined: format!("-B 232.1.2.3%{interface} -H {source}"),
            family: Family::V4,
        },
        Group {
            address: "ff15::7:7%eth0",
            joined: format!("-B ff15::7:7%{interface}"),
            family: Family::V6,
        },
    ]
}

/// Two hosts with routes to groups, or a skip.
fn hosts(test: &str, programs: &[Program]) -> Option<NamespacePair> {
    if let Some(reason) = programs.iter().find_map(|program| program.missing()) {
        skip(test, &reason);
        return None;
    }
    let pair = NamespacePair::new().and_then(|pair| {
        for namespace in [&pair.client, &pair.server] {
            let interface = Namespace::INTERFACE;
            namespace.ip(&format!("route add 224.0.0.0/4 dev {interface}"))?;
        }
        Ok(pair)
    });
    match pair {
        Ok(pair) => Some(pair),
        Err(error) => {
            let reason = format!("network namespaces are not available: {error}");
            skip(test, &reason);
            None
        }
    }
}

fn receiver(pair: &NamespacePair, program: Program, group: &Group, port: u16) -> Running {
    let server = Invocation::new(program)
        .line("-s -u -f b -t 4")
        .args(["-p", &port.to_string()])
        .args(group.family.options().iter().copied())
        .line(&group.joined)
        .within(&pair.server)
        .spawn()
        .expect("a receiver");
    await_listening(&server, Transport::Udp, port).expect("a receiver");
    server
}

/// Sockets that have joined the group, in the network of this process (`ip_mc_list` and
/// `ifmcaddr6` of the kernel, as `/proc/net` shows them).
fn members(process: &Running, group: &Group) -> u32 {
    let address = group.address.split('%').next().expect("an address");
    let (table, shown, field) = match address.parse().expect("an address") {
        IpAddr::V4(address) => {
            let shown = u32::from_le_bytes(address.octets());
            ("igmp", format!("{shown:08X}"), 0)
        }
        IpAddr::V6(address) => ("igmp6", format!("{:032x}", address.to_bits()), 2),
    };
    let table = std::fs::read_to_string(format!("/proc/{}/net/{table}", process.id()));
    let table = table.unwrap_or_default();
    table
        .lines()
        .map(|line| line.split_whitespace().skip(field))
        .filter_map(|mut fields| {
            fields
                .next()
                .filter(|address| *address == shown)
                .and(fields.next())
        })
        .filter_map(|users| users.parse::<u32>().ok())
        .sum()
}

/// Waits until all have joined: that one of them listens on the port says nothing of the others.
fn await_members(receivers: &[Running], group: &Group) {
    let end = Instant::now() + TIMEOUT;
    let process = receivers.first().expect("a receiver");
    while members(process, group) < u32::try_from(receivers.len()).expect("a few") {
        assert!(
            Instant::now() < end,
            "not all have joined {}",
            group.address
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends to the group and compares what each receiver counts.
fn send(pair: &NamespacePair, program: Program, group: &Group, port: u16, receivers: &[Running]) {
    await_members(receivers, group);
    let client = Invocation::new(program)
        .args(["-c", group.address, "-p", &port.to_string()])
        .line("-u -f b -t 0.5 -b 2m -T 3 -l 1400")
        .args(group.family.options().iter().copied())
        .within(&pair.client)
        .run()
        .expect("a sender");
    assert_eq!(client.code(), Some(0), "{client}");
    let sent = Transcript::parse(&client.stdout).totals()[0].bytes;
    for receiver in receivers {
        let ended = |out: &str| !Transcript::parse(out).totals().is_empty();
        receiver.wait_for(TIMEOUT, ended);
        let totals = Transcript::parse(&receiver.stdout()).totals();
        let shown = format!(
            "{client}--- receiver\n{}{}",
            receiver.stdout(),
            receiver.stderr()
        );
        assert_eq!(totals.len(), 1, "{shown}");
        let counts = totals[0].datagrams.expect("counts of datagrams");
        assert_eq!(counts.lost, 0, "{shown}");
        // Whether the end marker counts is every version's own choice.
        assert!(totals[0].bytes.abs_diff(sent) <= 2 * 1400, "{shown}");
    }
}

fn every_kind_of_group(test: &str, client: Program, server: Program) {
    let Some(pair) = hosts(test, &[client, server]) else {
        return;
    };
    for group in groups(&pair) {
        let port = free_port();
        let receivers = [receiver(&pair, server, &group, port)];
        send(&pair, client, &group, port, &receivers);
    }
}

#[test]
fn groups_of_every_kind_between_tapelines() {
    let tapeline = Program::TapelineAsIperf;
    every_kind_of_group("groups_of_every_kind_between_tapelines", tapeline, tapeline);
}

#[test]
fn groups_of_every_kind_to_the_reference() {
    let name = "groups_of_every_kind_to_the_reference";
    every_kind_of_group(name, Program::TapelineAsIperf, Program::Iperf221);
}

#[test]
fn groups_of_every_kind_from_the_reference() {
    let name = "groups_of_every_kind_from_the_reference";
    every_kind_of_group(name, Program::Iperf221, Program::TapelineAsIperf);
}

#[test]
fn several_receivers_of_one_group() {
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts("several_receivers_of_one_group", &[tapeline]) else {
        return;
    };
    let [group, ..] = groups(&pair);
    let port = free_port();
    let receivers = [0; 3].map(|_| receiver(&pair, tapeline, &group, port));
    send(&pair, tapeline, &group, port, &receivers);
}

#[test]
fn another_source_is_not_received() {
    let name = "another_source_is_not_received";
    let tapeline = Program::TapelineAsIperf;
    let Some(pair) = hosts(name, &[tapeline]) else {
        return;
    };
    let [_, group, _] = groups(&pair);
    let other = Group {
        joined: format!("-B 232.1.2.3%{} -H 10.77.0.99", Namespace::INTERFACE),
        ..group
    };
    let port = free_port();
    let receiver = receiver(&pair, tapeline, &other, port);
    let client = Invocation::new(tapeline)
        .args(["-c", other.address, "-p", &port.to_string()])
        .line("-u -t 0.3 -b 2m")
        .within(&pair.client)
        .run()
        .expect("a sender");
    assert_eq!(client.code(), Some(0), "{client}");
    assert_eq!(Transcript::parse(&receiver.stdout()).connections, 0);
}
