//! The banner of a listening end.

use tapeline_base::{Transport, format_quantity};

use super::super::figure;
use super::common::{
    RULE, bins, buffer, congestion_line, name, plain_bytes, segment_size_line, transmit_delay_line,
};
use crate::model::{PermitKeyLife, ServerBanner};
use crate::render::{Output, tame};
use crate::style::{Build, Style};

/// Prints a server's banner.
pub(crate) fn server(banner: &ServerBanner, style: &Style, out: &mut Output) {
    out.line(RULE);
    out.line(&listening(banner, style));
    if let Some(port) = banner.working_load {
        out.line(&format!("Working load listening on TCP port {port}"));
    }
    address_lines(banner, style, out);
    if style.enhanced {
        out.line(&read_buffer(banner, style));
    }
    if let Some(congestion) = &banner.congestion {
        congestion_line("default", "default set to", congestion, style, out);
    }
    transmit_delay_line(banner.transmit_delay, out);
    if let Some(tos) = banner.reflected_tos {
        out.line(&format!("Reflected TOS will be set to {tos}"));
    }
    segment_size_line(banner.segment_size, out);
    if let Some(tos) = banner.tos.filter(|tos| tos.0 != 0) {
        out.line(&format!("TOS will be set to {tos}"));
    }
    mode_lines(banner, out);
    histogram_lines(banner, style, out);
    out.line(&buffer(banner.transport, banner.buffer, style));
    if let Some(permit) = &banner.permit_key {
        out.line(&permit_key(permit));
    }
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

fn address_lines(banner: &ServerBanner, style: &Style, out: &mut Output) {
    if let (Some(bound), true) = (banner.bound, style.enhanced) {
        match &banner.device {
            Some(device) => out.line(&format!(
                "Binding to local address {bound} and iface {device}"
            )),
            None => out.line(&format!("Binding to local address {bound}")),
        }
    }
    if let Some(group) = banner.group {
        let device = banner.device.as_ref();
        let interface = device.map_or(String::new(), |device| format!(" w/iface {device}"));
        out.line(&match (banner.group_source, device) {
            (Some(source), _) => format!("Joining multicast (S,G)={source},{group}{interface}"),
            (None, Some(_)) => format!("Joining multicast (*,G)=*,{group}{interface}"),
            (None, None) => format!("Joining multicast group  {group}"),
        });
    }
    if let Some(device) = &banner.tap_device {
        out.line(&format!(
            "Using virtual iface {device} (AF_PACKET & SOCK_RAW)"
        ));
    }
}

fn read_buffer(banner: &ServerBanner, style: &Style) -> String {
    let length = banner.read_length;
    match banner.transport {
        Transport::Tcp => format!(
            "Read buffer size: {} (Dist bin width={}){}",
            format_quantity(length as f64, style.format.in_bytes()),
            figure::size(length / 8),
            if banner.skip_receive_copy {
                " (skip-rx-copy)"
            } else {
                ""
            }
        ),
        // iperf 2.2.1 leaves a blank at the end of this line.
        Transport::Udp => format!("Read buffer size: {} ", plain_bytes(length)),
    }
}

/// How many tests there are at a time.
fn mode_lines(banner: &ServerBanner, out: &mut Output) {
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
}

fn histogram_lines(banner: &ServerBanner, style: &Style, out: &mut Output) {
    if let Some(shape) = &banner.histograms {
        out.line(&format!(
            "Enabled receive histograms {} (clients should use --trip-times)",
            bins(shape)
        ));
    }
    if let Some(width) = banner.jitter_histograms {
        out.line(&format!(
            "Enabled jitter histograms (bin-width={} us)",
            width.as_micros()
        ));
    }
    if banner.by_frame {
        let suggested = match style.build {
            Build::Plain => ", ./configure --enable-fastsampling suggested",
            Build::FastSampling => "",
        };
        out.line(&format!(
            "Frame or burst interval reporting (feature is experimental{suggested})"
        ));
    }
}

fn permit_key(permit: &PermitKeyLife) -> String {
    let key = tame(&permit.key);
    match permit.lifetime {
        Some(lifetime) => format!(
            "Permit key is '{key}' (timeout in {:.1} seconds)",
            lifetime.as_secs_f64()
        ),
        None => format!("Permit key is '{key}' (WARN: no timeout)"),
    }
}
