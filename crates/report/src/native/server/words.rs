//! The lines of a server's log, without the time in front.

use std::net::IpAddr;

use tapeline_base::{Transport, counted};
use tapeline_stats::LimitedBy;

use super::amount::Amount;
use super::record::ServedTest;
use crate::model::{Connected, ConnectionFlavour, ServerBanner, TestDirection, TestTransport};
use crate::native::number::{digits, percent, rate};
use crate::native::setup;
use crate::native::verdict::limit_words;
use crate::render::tame;
use crate::style::Style;

/// Ports that clients try without `-p`.
const IPERF2_PORT: u16 = 5001;
const IPERF3_PORT: u16 = 5201;

/// `Listening on ports 5001 and 5201, TCP and UDP, IPv4 and IPv6 (Ctrl-C stops)`.
pub(crate) fn listening(banners: &[ServerBanner]) -> String {
    let ports = ports(banners);
    let noun = if ports.len() > 1 { "ports" } else { "port" };
    let shown = match &ports[..] {
        [first, .., last] if ports.len() > 3 => format!("{first} to {last}"),
        all => and(all.iter().map(u16::to_string)),
    };
    let over = |transport| banners.iter().any(|one| one.transport == transport);
    let transports = [(Transport::Tcp, "TCP"), (Transport::Udp, "UDP")];
    let transports = transports.into_iter().filter(|(kind, _)| over(*kind));
    let transports = and(transports.map(|(_, name)| name.to_owned()));
    let first = banners.first();
    let bound = first.and_then(|one| one.bound.or(one.group));
    let place = match bound {
        Some(address) => format!("{noun} {shown} of {address}, {transports}"),
        None if first.is_some_and(|one| one.ipv6) => {
            format!("{noun} {shown}, {transports}, IPv4 and IPv6")
        }
        None => format!("{noun} {shown}, {transports}, IPv4"),
    };
    format!("Listening on {place} (Ctrl-C stops)")
}

/// `For clients: tapeline -c HOST, iperf -c HOST, iperf3 -c HOST`.
pub(crate) fn for_clients(banners: &[ServerBanner]) -> String {
    let ports = ports(banners);
    let own = ports.first().copied().unwrap_or(IPERF2_PORT);
    let place = |usual: u16| {
        let port = if ports.contains(&usual) { usual } else { own };
        if port == usual {
            String::new()
        } else {
            format!(" -p {port}")
        }
    };
    let tcp = banners.iter().any(|one| one.transport == Transport::Tcp);
    let udp = if tcp { "" } else { " -u" };
    let permit = banners.iter().find_map(|one| one.permit_key.as_ref());
    let key = permit.is_some();
    let key_word = match permit {
        // Nobody else can say what it is.
        Some(permit) if permit.generated => format!(" --permit-key={}", tame(&permit.key)),
        Some(_) => " --permit-key=KEY".to_owned(),
        None => String::new(),
    };
    let two = place(IPERF2_PORT);
    let mut clients = vec![
        format!("tapeline -c HOST{two}{udp}{key_word}"),
        format!("iperf -c HOST{two}{udp}{key_word}"),
    ];
    if tcp && !key {
        clients.push(format!("iperf3 -c HOST{}", place(IPERF3_PORT)));
    }
    format!("For clients: {}", clients.join(", "))
}

fn ports(banners: &[ServerBanner]) -> Vec<u16> {
    let mut ports: Vec<u16> = banners
        .iter()
        .flat_map(|one| one.ports.0..=one.ports.1)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn and(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match &words[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.concat(),
    }
}

/// `192.0.2.1`, or what there is of it.
pub(crate) fn peer(address: Option<IpAddr>, style: &Style) -> String {
    address.map_or_else(
        || "unknown client".to_owned(),
        |address| setup::shown_address(address, style),
    )
}

/// `started: TCP, 1 stream, to server, tapeline 0.1.0`.
pub(crate) fn started(test: &ServedTest, style: &Style) -> String {
    let streams = test.streams();
    let plural = if streams == 1 { "" } else { "s" };
    let mut phrases = vec![
        transport(test).to_owned(),
        format!("{streams} stream{plural}"),
        direction(test).to_owned(),
    ];
    phrases.extend(client(test));
    if let Some(line) = test.line.as_ref().filter(|_| style.enhanced) {
        phrases.extend(details(line));
    }
    format!("started: {}", phrases.join(", "))
}

fn transport(test: &ServedTest) -> &'static str {
    match (&test.start, &test.line) {
        (Some(start), _) => match start.transport {
            TestTransport::Tcp => "TCP",
            TestTransport::Udp => "UDP",
            TestTransport::Sctp => "SCTP",
        },
        (None, Some(line)) => match line.transport {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        },
        (None, None) => "a test",
    }
}

fn direction(test: &ServedTest) -> &'static str {
    if let Some(start) = &test.start {
        return match start.direction {
            TestDirection::Forward => "to server",
            TestDirection::Reverse => "from server",
            TestDirection::Bidirectional => "both ways",
        };
    }
    match test.line.as_ref().map(|line| line.flavour) {
        _ if test.is_both_ways() => "both ways",
        Some(ConnectionFlavour::Reverse) => "from server",
        Some(ConnectionFlavour::RequestResponse { .. }) => "requests",
        Some(
            ConnectionFlavour::Plain
            | ConnectionFlavour::ConnectOnly
            | ConnectionFlavour::FullDuplex,
        )
        | None => "to server",
    }
}

/// The client's program; nothing where requests say nothing of it.
fn client(test: &ServedTest) -> Option<String> {
    if let Some(program) = &test.program {
        return Some(format!(
            "{} {}",
            tame(&program.program),
            tame(&program.version)
        ));
    }
    if test.control {
        return Some("iperf3".to_owned());
    }
    let line = test.line.as_ref();
    if line.is_some_and(|line| line.peer_is_tapeline) {
        return Some("tapeline".to_owned());
    }
    match line.and_then(|line| line.peer_version.as_ref()) {
        Some(version) => {
            let version = tame(version);
            let version = version.split('-').next().unwrap_or_default();
            Some(format!("iperf {version}"))
        }
        None => {
            let flavour = line.map(|line| line.flavour);
            let requests = matches!(flavour, Some(ConnectionFlavour::RequestResponse { .. }));
            (!requests).then(|| "iperf 2".to_owned())
        }
    }
}

/// What `-e` adds: ports, MSS, windows.
fn details(line: &Connected) -> Vec<String> {
    let mut list = vec![format!(
        "port {} to {}",
        line.peer.port(),
        line.local.port()
    )];
    if let Some(initial) = line.initial {
        list.push(format!("MSS {}", initial.mss));
        list.push(format!("cwnd {} KiB", initial.cwnd_kib));
    }
    list.extend(
        line.window_clamp
            .map(|bytes| format!("window clamped to {} KiB", bytes / 1024)),
    );
    list.extend(line.congestion.as_ref().map(|name| tame(name)));
    list
}

/// `done: 939 Mbit/s received, 5.01 s, limited by network`, with as much as fits into `room` columns.
pub(crate) fn done(test: &ServedTest, style: &Style, room: usize) -> String {
    let failure = test.failure.as_ref().map(|(why, id)| match id {
        Some(id) => format!("{why} [{}]", id.name()),
        None => why.clone(),
    });
    let ways = [(test.received, "received"), (test.sent, "sent")];
    let known: Vec<(Amount, &str)> = ways
        .into_iter()
        .filter_map(|(amount, word)| Some((amount?, word)))
        .collect();
    let Some(longest) = known.iter().map(|(amount, _)| amount.longest).max() else {
        return format!(
            "failed: {}",
            failure.unwrap_or_else(|| "no data".to_owned())
        );
    };
    let longest = format!("{} s", digits(longest.as_secs_f64()));
    let rates = known
        .iter()
        .map(|(amount, word)| format!("{} {word}", rate(amount.rate(), style.format)));
    let mut phrases: Vec<String> = match test.requests() {
        Some(requests) => vec![counted(requests, "round trip")],
        None => rates.collect(),
    };
    phrases.push(longest);
    let losses = known.iter().filter_map(|(amount, _)| amount.loss);
    phrases.extend(losses.map(|(lost, total)| match lost {
        0 => "no loss".to_owned(),
        _ => format!("{} lost", percent(lost as f64 / total.max(1) as f64)),
    }));
    let again = known.iter().filter_map(|(amount, _)| amount.retransmits);
    let again = again.filter(|count| *count > 0);
    let again = again.map(|count| counted(count, "retransmission"));
    let limit = limit(test).map(|limit| format!("limited by {}", limit_words(limit)));
    let mut line = format!("done: {}", phrases.join(", "));
    if let Some(failure) = failure {
        return format!("{line}, {failure}");
    }
    for phrase in limit.into_iter().chain(again) {
        if line.len() + 2 + phrase.len() <= room {
            line = format!("{line}, {phrase}");
        }
    }
    line
}

/// What limited what came in over TCP; what is sent, or lost, says that by itself.
fn limit(test: &ServedTest) -> Option<LimitedBy> {
    let mut received = test.verdicts.iter().filter(|one| !one.local_sends);
    let over_tcp = received.find(|one| one.transport == Transport::Tcp)?;
    over_tcp.verdict.limited_by
}
