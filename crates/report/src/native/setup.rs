//! Who listens, who connects, with which settings.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FormatLetter, Tos, Transport};

use super::unit::{rate, size};
use crate::calendar::Calendar;
use crate::iperf2::{hidden, tame};
use crate::model::{
    BufferSize, ClientBanner, CongestionControl, Connected, ConnectionFlavour, SegmentSize,
    ServerBanner, TargetGap, TosNote,
};
use crate::style::Style;

/// Phrases of a server's settings.
pub(super) fn listening(banner: &ServerBanner) -> Vec<String> {
    let family = if banner.ipv6 { " (IPv6 and IPv4)" } else { "" };
    let ports = match banner.ports {
        (first, last) if first != last => format!("ports {first}-{last}"),
        (port, _) => format!("port {port}"),
    };
    let mut list = vec![format!(
        "listening on {} {ports}{family}",
        name(banner.transport)
    )];
    if let Some(address) = banner.bound {
        list.push(format!("bound to {address}"));
    }
    if let Some(group) = banner.group {
        list.push(format!("member of {group}"));
    }
    list.extend(
        banner
            .device
            .iter()
            .map(|device| format!("device {device}")),
    );
    list.extend(banner.congestion.as_ref().map(congestion));
    list.push(format!("receive buffer {}", buffer(banner.buffer)));
    list.extend(banner.segment_size.map(segment_size));
    list.extend(banner.tos.map(|tos| format!("TOS {tos}")));
    list.extend(
        banner
            .reflected_tos
            .map(|tos| format!("replies with TOS {tos}")),
    );
    if banner.single_client || banner.single_udp {
        list.push("one test at a time".to_owned());
    }
    list
}

/// Phrases of a client's settings.
pub(super) fn connecting(banner: &ClientBanner, style: &Style) -> Vec<String> {
    let host = if style.hide_addresses {
        "(hidden)"
    } else {
        &banner.host
    };
    let mut list = vec![format!(
        "{} to {host} port {}",
        name(banner.transport),
        banner.port
    )];
    list.extend(banner.device.iter().map(|device| format!("via {device}")));
    if banner.flows > 1 {
        list.push(format!("{} flows", banner.flows));
    }
    list.extend(
        banner
            .rate
            .map(|bits| format!("target {}", rate(bits as f64, FormatLetter::BITS))),
    );
    match (banner.transport, &banner.request_response) {
        (_, Some(plan)) => list.push(format!(
            "requests of {} answered with {}",
            size(u64::from(plan.request)),
            size(u64::from(plan.response))
        )),
        (Transport::Tcp, None) => list.push(format!("writes of {}", size(banner.write_length))),
        (Transport::Udp, None) => list.push(datagrams(banner.write_length, banner.gap)),
    }
    list.extend(banner.congestion.as_ref().map(congestion));
    list.push(format!("send buffer {}", buffer(banner.buffer)));
    list.extend(banner.segment_size.map(segment_size));
    if banner.tos != Tos(0) {
        list.push(format!("TOS {}", banner.tos));
    }
    if banner.nodelay {
        list.push("no delay".to_owned());
    }
    list
}

/// Phrases of a connected flow.
pub(super) fn connected(flow: &Connected, style: &Style, calendar: &Calendar) -> Vec<String> {
    let address = |socket| shown(socket, style);
    let device = flow
        .device
        .as_ref()
        .map_or(String::new(), |device| format!(" ({device})"));
    let mut list = vec![
        format!(
            "flow {}: local {}{device}",
            flow.tag.id,
            address(flow.local)
        ),
        format!("peer {}", address(flow.peer)),
    ];
    match flow.flavour {
        ConnectionFlavour::Plain | ConnectionFlavour::ConnectOnly => {}
        ConnectionFlavour::Reverse => list.push("reverse".to_owned()),
        ConnectionFlavour::FullDuplex => list.push("both directions".to_owned()),
        ConnectionFlavour::RequestResponse { hold_micros, .. } => {
            list.push("request/response".to_owned());
            if hold_micros > 0 {
                list.push(format!("server holds {hold_micros} us"));
            }
        }
    }
    list.extend(flow.congestion.as_ref().map(|name| tame(name)));
    list.extend(flow.tos.map(tos));
    if let Some(initial) = flow.initial {
        list.push(format!("mss {}", initial.mss));
        list.push(format!(
            "first rtt {}",
            micros(u64::from(initial.rtt_micros))
        ));
    }
    list.extend(
        flow.connect_time
            .map(|time| format!("connected in {}", duration(time))),
    );
    list.extend(
        flow.peer_version
            .as_ref()
            .map(|version| format!("peer speaks {}", tame(version))),
    );
    if flow.trip_times {
        list.push("delays from stamps".to_owned());
    }
    list.extend(flow.at.map(|at| format!("at {}", calendar.time_of_day(at))));
    list
}

/// `192.168.77.1:5001`, hidden when wanted.
pub(super) fn shown(socket: SocketAddr, style: &Style) -> String {
    if style.hide_addresses && socket.is_ipv4() {
        format!("{}:{}", hidden(socket.ip()), socket.port())
    } else {
        socket.to_string()
    }
}

/// `TCP` or `UDP`.
pub(super) fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

fn datagrams(length: u64, gap: TargetGap) -> String {
    match gap {
        TargetGap::None => format!("datagrams of {length} B as fast as possible"),
        TargetGap::Every(gap) => format!("datagrams of {length} B every {}", duration(gap)),
    }
}

fn congestion(control: &CongestionControl) -> String {
    let name = tame(&control.name);
    match &control.requested {
        Some(requested) if *requested != control.name => {
            format!("{name} instead of {requested}")
        }
        _ => name,
    }
}

fn buffer(buffer: BufferSize) -> String {
    let actual = size(buffer.actual);
    match buffer.requested {
        None | Some(0) => format!("{actual} (system's choice)"),
        Some(requested) if requested == buffer.actual => actual,
        Some(requested) => format!("{actual} ({} asked for)", size(requested)),
    }
}

fn segment_size(size: SegmentSize) -> String {
    match size {
        SegmentSize::Measured(bytes) => format!("mss {bytes}"),
        SegmentSize::Requested(bytes) => format!("mss {bytes} asked for"),
    }
}

fn tos(note: TosNote) -> String {
    match note {
        TosNote::Transmit(tos) => format!("TOS {tos}"),
        TosNote::Receive(tos) => format!("TOS {tos} expected"),
        TosNote::Both { receive, transmit } if receive == transmit => format!("TOS {transmit}"),
        TosNote::Both { receive, transmit } => {
            format!("TOS {transmit} sent and {receive} received")
        }
    }
}

fn duration(time: Duration) -> String {
    micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// A short time in the unit that suits it.
fn micros(micros: u64) -> String {
    match micros {
        0..1000 => format!("{micros} us"),
        1000..1_000_000 => format!("{:.2} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}
