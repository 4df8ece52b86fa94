//! The line of a flow that is connected, and of one that was turned away.

use std::net::SocketAddr;

use tapeline_base::Tos;

use super::figure;
use super::page::Page;
use crate::model::{Connected, ConnectionFlavour, TosNote};

/// The whole line.
pub(super) fn line(connected: &Connected, page: &Page) -> String {
    format!(
        "{}{}",
        page.flow(connected.tag),
        ends(connected, "connected", page)
    )
}

/// The line of a connection without a valid permit key.
pub(super) fn dropped(connected: &Connected, page: &Page) -> String {
    // 2.2.1 knows neither when it turns a client away.
    let plain = Connected {
        device: None,
        peer_version: None,
        ..connected.clone()
    };
    format!(
        "[drop] {} (permit key fail)",
        ends(&plain, "connection", page)
    )
}

/// Both ends, remarks, date.
fn ends(connected: &Connected, verb: &str, page: &Page) -> String {
    let enhanced = is_enhanced(connected, page);
    let address = |socket: SocketAddr| figure::address(socket.ip(), page.style.hide_addresses);
    let device = match &connected.device {
        Some(device) if enhanced => format!("%{device}"),
        _ => String::new(),
    };
    let mut line = format!(
        "local {}{device} port {} {verb} with {} port {}",
        address(connected.local),
        connected.local.port(),
        address(connected.peer),
        connected.peer.port(),
    );
    for remark in remarks(connected, enhanced) {
        line.push(' ');
        line += &remark;
    }
    let always = connected.flavour == ConnectionFlavour::ConnectOnly;
    if let (Some(at), true) = (connected.at, enhanced || always) {
        if let Some(time) = connected.connect_time {
            line += &format!(" (ct={:4.2} ms)", time.as_secs_f64() * 1e3);
        }
        let date = if enhanced {
            page.exact_date(at)
        } else {
            page.date(at)
        };
        line += &format!(" on {date}");
    }
    line
}

/// What the client asks a server to measure makes the server's line an enhanced one.
fn is_enhanced(connected: &Connected, page: &Page) -> bool {
    page.style.enhanced || connected.trip_times || connected.burst_period.is_some()
}

/// The remarks in parentheses, in their order.
fn remarks(connected: &Connected, enhanced: bool) -> Vec<String> {
    let mut list = Vec::new();
    list.extend(
        connected
            .window_clamp
            .map(|bytes| format!("(clamp={bytes})")),
    );
    list.extend(
        connected
            .write_prefetch
            .map(|bytes| format!("(prefetch={bytes})")),
    );
    let flag = |list: &mut Vec<String>, is_set: bool, text: &str| {
        if is_set {
            list.push(text.to_owned());
        }
    };
    flag(&mut list, connected.isochronous, "(isoch)");
    list.extend(
        connected
            .burst_period
            .map(|period| format!("(burst-period={:.2}s)", period.as_secs_f64())),
    );
    list.extend(direction(connected.flavour).map(str::to_owned));
    flag(&mut list, connected.fair_queue, "(fq)");
    flag(&mut list, connected.epoch_start, "(epoch-start)");
    list.extend(request_response(connected.flavour));
    flag(&mut list, connected.link_checks, "(l2mode)");
    flag(&mut list, connected.no_udp_fin, "(no-udp-fin)");
    flag(&mut list, connected.trip_times, "(trip-times)");
    flag(&mut list, connected.l4s, "(l4s)");
    if let (Some(name), true) = (
        &connected.congestion,
        connected.congestion_by_user && enhanced,
    ) {
        list.push(format!("({})", figure::tame(name)));
    }
    list.extend(connected.tos.map(tos));
    if let (Some(version), true) = (&connected.peer_version, enhanced || connected.peer_detected) {
        list.push(format!("(peer {})", figure::tame(version)));
    }
    flag(&mut list, connected.quickack, "(qack)");
    if let (Some(initial), true) = (connected.initial, enhanced) {
        list.push(format!(
            "(icwnd/mss/irtt={}/{}/{})",
            initial.cwnd_kib, initial.mss, initial.rtt_micros
        ));
    }
    list
}

fn direction(flavour: ConnectionFlavour) -> Option<&'static str> {
    match flavour {
        ConnectionFlavour::Reverse => Some("(reverse)"),
        ConnectionFlavour::FullDuplex => Some("(full-duplex)"),
        ConnectionFlavour::Plain
        | ConnectionFlavour::ConnectOnly
        | ConnectionFlavour::RequestResponse { .. } => None,
    }
}

fn request_response(flavour: ConnectionFlavour) -> Option<String> {
    let ConnectionFlavour::RequestResponse {
        request,
        response,
        hold_micros,
        quickack,
    } = flavour
    else {
        return None;
    };
    let quickack = if quickack { "w/quickack " } else { "" };
    Some(format!(
        "(bb {quickack}req/reply/hold={request}/{response}/{hold_micros})"
    ))
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
