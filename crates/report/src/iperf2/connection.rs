//! The line of a flow that is connected.

use std::net::SocketAddr;

use tapeline_base::Tos;

use super::figure;
use crate::calendar::Calendar;
use crate::model::{Connected, ConnectionFlavour, TosNote};
use crate::style::Style;

/// The whole line.
pub(super) fn line(connected: &Connected, style: &Style, calendar: &Calendar) -> String {
    let hide = style.hide_addresses;
    let address = |socket: SocketAddr| figure::address(socket.ip(), hide);
    let device = match &connected.device {
        Some(device) if style.enhanced => format!("%{device}"),
        _ => String::new(),
    };
    let mut line = format!(
        "{}local {}{device} port {} connected with {} port {}",
        figure::flow_id(connected.tag),
        address(connected.local),
        connected.local.port(),
        address(connected.peer),
        connected.peer.port(),
    );
    for suffix in suffixes(connected, style) {
        line.push(' ');
        line += &suffix;
    }
    if let (Some(at), true) = (connected.at, style.enhanced) {
        if let Some(time) = connected.connect_time {
            line += &format!(" (ct={:4.2} ms)", time.as_secs_f64() * 1e3);
        }
        line += &format!(" on {}", calendar.date(at, true));
    }
    line
}

/// The remarks in parentheses, in their order.
fn suffixes(connected: &Connected, style: &Style) -> Vec<String> {
    let mut list = Vec::new();
    list.extend(flavour(connected.flavour));
    if connected.no_udp_fin {
        list.push("(no-udp-fin)".to_owned());
    }
    if connected.trip_times {
        list.push("(trip-times)".to_owned());
    }
    if let (Some(name), true) = (
        &connected.congestion,
        connected.congestion_by_user && style.enhanced,
    ) {
        list.push(format!("({})", figure::tame(name)));
    }
    list.extend(connected.tos.map(tos));
    if let (Some(version), true) = (
        &connected.peer_version,
        style.enhanced || connected.peer_detected,
    ) {
        list.push(format!("(peer {})", figure::tame(version)));
    }
    if let (Some(initial), true) = (connected.initial, style.enhanced) {
        list.push(format!(
            "(icwnd/mss/irtt={}/{}/{})",
            initial.cwnd_kib, initial.mss, initial.rtt_micros
        ));
    }
    list
}

fn flavour(flavour: ConnectionFlavour) -> Option<String> {
    match flavour {
        ConnectionFlavour::Plain | ConnectionFlavour::ConnectOnly => None,
        ConnectionFlavour::Reverse => Some("(reverse)".to_owned()),
        ConnectionFlavour::FullDuplex => Some("(full-duplex)".to_owned()),
        ConnectionFlavour::RequestResponse {
            request,
            response,
            hold_micros,
            quickack,
        } => {
            let quickack = if quickack { "w/quickack " } else { "" };
            Some(format!(
                "(bb {quickack}req/reply/hold={request}/{response}/{hold_micros})"
            ))
        }
    }
}

fn tos(note: TosNote) -> String {
    match note {
        TosNote::Transmit(tos) => format!("(tos tx={})", tos_fields(tos)),
        TosNote::Receive(tos) => format!("(tos rx={})", tos_fields(tos)),
        TosNote::Both { receive, transmit } => {
            // iperf 2.2.1 puts `, ` in front of a byte that was overridden.
            let separator = if receive == transmit { "/" } else { ", /" };
            format!(
                "(tos rx/tx={}{separator}{})",
                tos_fields(receive),
                tos_fields(transmit)
            )
        }
    }
}

fn tos_fields(tos: Tos) -> String {
    format!("0x{:x},dscp={},ecn={}", tos.0, tos.dscp(), tos.ecn())
}
