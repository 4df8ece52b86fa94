//! The settings banner of servers and clients.

use std::time::Duration;

use tapeline_base::{FormatLetter, Transport, format_quantity};

use super::figure;
use crate::model::{
    BufferSize, ClientBanner, CongestionControl, RequestPlan, SegmentSize, ServerBanner, TargetGap,
};
use crate::render::Output;
use crate::style::Style;

/// Dashes above and below a banner.
const RULE: &str = "------------------------------------------------------------";

/// Prints a server's banner.
pub(super) fn server(banner: &ServerBanner, style: &Style, out: &mut Output) {
    out.line(RULE);
    out.line(&listening(banner, style));
    if let (Some(bound), true) = (banner.bound, style.enhanced) {
        match &banner.device {
            Some(device) => out.line(&format!(
                "Binding to local address {bound} and iface {device}"
            )),
            None => out.line(&format!("Binding to local address {bound}")),
        }
    }
    if let Some(group) = banner.group {
        match &banner.device {
            Some(device) => out.line(&format!(
                "Joining multicast (*,G)=*,{group} w/iface {device}"
            )),
            None => out.line(&format!("Joining multicast group  {group}")),
        }
    }
    if style.enhanced {
        out.line(&read_buffer(banner, style));
    }
    if let Some(congestion) = &banner.congestion {
        congestion_line("default", "default set to", congestion, style, out);
    }
    if let Some(tos) = banner.reflected_tos {
        out.line(&format!("Reflected TOS will be set to {tos}"));
    }
    segment_size_line(banner.segment_size, out);
    if let Some(tos) = banner.tos.filter(|tos| tos.0 != 0) {
        out.line(&format!("TOS will be set to {tos}"));
    }
    if banner.single_client && banner.transport == Transport::Tcp {
        out.line("Server set to single client traffic mode (serialize traffic tests)");
    }
    if banner.single_udp && banner.transport == Transport::Udp {
        out.line(
            "WARN: Suggested to use lower case -u instead of -U \
             (to avoid serialize & bypass of reporter thread)",
        );
    }
    if banner.group.is_some() {
        out.line("Server set to single client traffic mode (per multicast receive)");
    }
    out.line(&buffer(banner.transport, banner.buffer, style));
    out.line(RULE);
}

fn listening(banner: &ServerBanner, style: &Style) -> String {
    let name = name(banner.transport);
    let pid = banner.pid;
    match banner.ports {
        (first, last) if first != last => {
            format!("Server listening on {name} ports {first}-{last} with pid {pid}")
        }
        (port, _) if style.enhanced => {
            let family = if banner.ipv6 { " (v6)" } else { "" };
            format!("Server listening on {name}{family} port {port} with pid {pid}")
        }
        (port, _) => format!("Server listening on {name} port {port}"),
    }
}

fn read_buffer(banner: &ServerBanner, style: &Style) -> String {
    let length = banner.read_length;
    match banner.transport {
        Transport::Tcp => format!(
            "Read buffer size: {} (Dist bin width={})",
            format_quantity(length as f64, style.format.in_bytes()),
            figure::size(length / 8)
        ),
        // iperf 2.2.1 leaves a blank at the end of this line.
        Transport::Udp => format!(
            "Read buffer size: {} ",
            format_quantity(length as f64, FormatLetter::PLAIN_BYTES)
        ),
    }
}

/// Prints a client's banner.
pub(super) fn client(banner: &ClientBanner, style: &Style, out: &mut Output) {
    out.line(RULE);
    out.line(&connecting(banner, style));
    if style.enhanced && banner.transport == Transport::Tcp && banner.request_response.is_none() {
        let length = format_quantity(banner.write_length as f64, FormatLetter::PLAIN_BYTES);
        out.line(&format!("Write buffer size: {length}"));
    }
    if let Some(plan) = &banner.request_response {
        request_response_lines(plan, out);
    }
    segment_size_line(banner.segment_size, out);
    if let Some(congestion) = &banner.congestion {
        congestion_line("using", "set to", congestion, style, out);
    }
    if style.enhanced {
        let verb = if banner.tos_by_user {
            "set"
        } else {
            "defaults"
        };
        let ecn = if banner.tos.ecn() == 0 {
            ""
        } else {
            " (warn ecn bits set)"
        };
        let nagle = if banner.nodelay {
            " and nodelay (Nagle off)"
        } else {
            " (Nagle on)"
        };
        out.line(&format!("TOS {verb} to {}{ecn}{nagle}", banner.tos));
    }
    if banner.transport == Transport::Udp {
        let gap = match banner.gap {
            TargetGap::None => Duration::ZERO,
            TargetGap::Every(gap) => gap,
        };
        out.line(&format!(
            "Sending {} byte datagrams, IPG target: {:.2} us (kalman adjust)",
            banner.write_length,
            gap.as_secs_f64() * 1e6
        ));
    }
    out.line(&buffer(banner.transport, banner.buffer, style));
    out.line(RULE);
}

fn connecting(banner: &ClientBanner, style: &Style) -> String {
    let host = if style.hide_addresses {
        "(**hidden**)"
    } else {
        &banner.host
    };
    let mut line = format!(
        "Client connecting to {host}, {} port {}",
        name(banner.transport),
        banner.port
    );
    if style.enhanced || banner.device.is_some() {
        line += &format!(" with pid {}", banner.pid);
        if let Some(device) = &banner.device {
            line += &format!(" via {device}");
        }
        line += &format!(" ({}/0 flows/load)", banner.flows);
    }
    line
}

fn request_response_lines(plan: &RequestPlan, out: &mut Output) {
    let quickack = if plan.quickack { " & tcp_quickack" } else { "" };
    out.line(&format!(
        "Bounceback test (req/reply size ={}/{}) (server hold req={} usecs{quickack})",
        figure::size(u64::from(plan.request)),
        figure::size(u64::from(plan.response)),
        plan.hold_micros,
    ));
    if let Some((requests, period)) = plan.burst {
        out.line(&format!(
            "Bursting request {requests} times every {:.2} second(s)",
            period.as_secs_f64()
        ));
    }
}

fn congestion_line(
    plain: &str,
    asked: &str,
    congestion: &CongestionControl,
    style: &Style,
    out: &mut Output,
) {
    let name = figure::tame(&congestion.name);
    match &congestion.requested {
        Some(requested) => out.line(&format!(
            "TCP congestion control {asked} {requested} using {name}"
        )),
        None if style.enhanced => out.line(&format!("TCP congestion control {plain} {name}")),
        None => {}
    }
}

fn segment_size_line(size: Option<SegmentSize>, out: &mut Output) {
    match size {
        Some(SegmentSize::Measured(bytes)) => out.line(&format!("MSS size {bytes} bytes")),
        Some(SegmentSize::Requested(bytes)) => {
            out.line(&format!("MSS req size {bytes} bytes (per TCP_MAXSEG)"));
        }
        None => {}
    }
}

fn buffer(transport: Transport, buffer: BufferSize, style: &Style) -> String {
    let what = match transport {
        Transport::Tcp => "TCP window",
        Transport::Udp => "UDP buffer",
    };
    let format = if style.format.in_bytes() == FormatLetter::PLAIN_BYTES {
        FormatLetter::PLAIN_BYTES
    } else {
        FormatLetter::BYTES
    };
    let note = match buffer.requested {
        None | Some(0) => " (default)".to_owned(),
        Some(requested) if requested == buffer.actual => String::new(),
        Some(requested) => format!(
            " (WARNING: requested {})",
            format_quantity(requested as f64, style.format.in_bytes())
        ),
    };
    let actual = format_quantity(buffer.actual as f64, format);
    format!("{what} size: {actual}{note}")
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}
