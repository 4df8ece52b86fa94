//! Who listens, who connects, with which settings.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_base::{FormatLetter, Tos, Transport};
use tapeline_stats::HistogramShape;

use super::number::{millis, rate, whole_size as size};
use crate::model::{
    BufferSize, ClientBanner, CongestionControl, Connected, FairQueue, PermitKeyLife, SegmentSize,
    ServerBanner, TosNote, TrafficShape,
};
use crate::render::{hidden, tame};
use crate::style::Style;

/// Phrases of a server's settings.
pub(crate) fn listening(banner: &ServerBanner) -> Vec<String> {
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
        let source = banner
            .group_source
            .map_or(String::new(), |source| format!(" (source {source} only)"));
        list.push(format!("member of {group}{source}"));
    }
    if let Some(port) = banner.working_load {
        list.push(format!("TCP port {port} for working load"));
    }
    list.extend(
        banner
            .tap_device
            .iter()
            .map(|device| format!("frames of device {device}")),
    );
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
    if banner.skip_receive_copy {
        list.push("payload stays in the kernel".to_owned());
    }
    list.extend(banner.transmit_delay.map(transmit_delay));
    list.extend(banner.histograms.as_ref().map(histograms));
    list.extend(
        banner
            .jitter_histograms
            .map(|width| format!("histogram of jitter, bins of {}", duration(width))),
    );
    if banner.by_frame {
        list.push("a row for each frame or burst".to_owned());
    }
    list.extend(banner.permit_key.as_ref().map(permit_key));
    list
}

/// A key that was given is known to its user, and a log is read by others.
fn permit_key(permit: &PermitKeyLife) -> String {
    let key = match permit.generated {
        true => format!("permit key {}", tame(&permit.key)),
        false => "permit key required".to_owned(),
    };
    match permit.lifetime {
        Some(lifetime) => format!("{key} (good for {})", duration(lifetime)),
        None => format!("{key} (good for ever)"),
    }
}

fn transmit_delay(delay: Duration) -> String {
    format!("sends delayed by {}", duration(delay))
}

fn histograms(shape: &HistogramShape) -> String {
    let width = duration(Duration::from_nanos(shape.width_ns));
    format!("histograms of {} bins of {width}", shape.bins)
}

/// Phrases of what is special about a client's traffic, and with `-e` of its buffers.
pub(crate) fn special_traffic(banner: &ClientBanner, enhanced: bool) -> Vec<String> {
    let mut list: Vec<String> = shape(&banner.shape).into_iter().collect();
    list.extend(banner.device.iter().map(|device| format!("via {device}")));
    list.extend(banner.fair_queue.map(paced));
    if banner.write_times {
        list.push("each write timed".to_owned());
    }
    if banner.load_flows > 0 {
        list.push(working_load(banner));
    }
    list.extend(banner.segment_size.map(segment_size));
    if banner.tos != Tos(0) {
        list.push(format!("TOS {}", banner.tos));
    }
    if banner.nodelay {
        list.push("no delay".to_owned());
    }
    if let Some(bytes) = banner.write_prefetch {
        list.push(format!("at most {} unsent", size(u64::from(bytes))));
    }
    list.extend(banner.transmit_delay.map(transmit_delay));
    if banner.trip_times {
        list.push("clocks assumed synchronised".to_owned());
    }
    list.extend(banner.histograms.as_ref().map(histograms));
    if enhanced {
        list.push(format!("send buffer {}", buffer(banner.buffer)));
        if banner.transport == Transport::Tcp {
            list.push(format!("writes of {}", size(banner.write_length)));
        }
    }
    list
}

/// `with 2 streams of working load`.
pub(crate) fn working_load(banner: &ClientBanner) -> String {
    let plural = if banner.load_flows == 1 { "" } else { "s" };
    format!("with {} stream{plural} of working load", banner.load_flows)
}

/// Phrases of a client's connection with `-e`.
pub(crate) fn connection_details(flow: &Connected) -> Vec<String> {
    let mut list = special(flow);
    list.extend(flow.tos.map(tos));
    list.extend(
        flow.connect_time
            .map(|time| format!("connect time {} ms", millis(time.as_secs_f64()))),
    );
    list.push(format!("local port {}", flow.local.port()));
    list
}

fn paced(pacing: FairQueue) -> String {
    let step = pacing.step.map_or(String::new(), |step| {
        format!(" rising by {} at a time", bit_rate(step.0 as f64))
    });
    format!(
        "paced by the kernel at {}{step}",
        bit_rate(pacing.rate.0 as f64)
    )
}

fn shape(shape: &TrafficShape) -> Option<String> {
    Some(match shape {
        TrafficShape::Steady => return None,
        TrafficShape::Isochronous {
            frames_per_second,
            mean,
            deviation,
            ..
        } => {
            let spread = if *deviation > 0.0 {
                format!(" (deviation {})", bit_rate(*deviation))
            } else {
                String::new()
            };
            format!(
                "{frames_per_second} frames per second, {}{spread}",
                bit_rate(*mean)
            )
        }
        TrafficShape::Bursts {
            size: bytes,
            period,
        } => {
            format!("bursts of {} every {}", size(*bytes), duration(*period))
        }
        TrafficShape::Markov(chain) => format!("Markov chain of sizes {}", tame(chain)),
        TrafficShape::NearCongestion(factor) => {
            format!("{factor} round trips of pause after each write")
        }
    })
}

/// `RTT 2.10 ms` and `MSS 1448`, as a connection began.
pub(crate) fn initial(flow: &Connected) -> Vec<String> {
    flow.initial.map_or(Vec::new(), |initial| {
        let rtt = millis(f64::from(initial.rtt_micros) * 1e-6);
        vec![format!("RTT {rtt} ms"), format!("MSS {}", initial.mss)]
    })
}

fn bit_rate(bits_per_second: f64) -> String {
    rate(bits_per_second, FormatLetter::BITS)
}

/// What is special about the data of a flow and how it is carried.
fn special(flow: &Connected) -> Vec<String> {
    let mut list = Vec::new();
    if flow.isochronous {
        list.push("frames".to_owned());
    }
    list.extend(
        flow.burst_period
            .map(|period| format!("a burst every {}", duration(period))),
    );
    for (is_set, phrase) in [
        (flow.fair_queue, "paced by the kernel"),
        (flow.epoch_start, "starts at a time of day"),
        (flow.link_checks, "link layer checked"),
        (flow.l4s, "L4S"),
        (flow.quickack, "quickack"),
    ] {
        if is_set {
            list.push(phrase.to_owned());
        }
    }
    list.extend(
        flow.window_clamp
            .map(|bytes| format!("window clamped to {}", size(u64::from(bytes)))),
    );
    list.extend(
        flow.write_prefetch
            .map(|bytes| format!("at most {} unsent", size(u64::from(bytes)))),
    );
    list
}

/// `192.168.77.1:5001`, hidden when wanted.
pub(crate) fn shown(socket: SocketAddr, style: &Style) -> String {
    if style.hide_addresses && socket.is_ipv4() {
        format!("{}:{}", hidden(socket.ip()), socket.port())
    } else {
        socket.to_string()
    }
}

/// The same without port.
pub(crate) fn shown_address(address: IpAddr, style: &Style) -> String {
    if style.hide_addresses && address.is_ipv4() {
        hidden(address)
    } else {
        address.to_canonical().to_string()
    }
}

/// `TCP` or `UDP`.
pub(crate) fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
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
        None | Some(0) => format!("{actual} (default)"),
        Some(requested) if requested == buffer.actual => actual,
        Some(requested) => format!("{actual} ({} requested)", size(requested)),
    }
}

fn segment_size(size: SegmentSize) -> String {
    match size {
        SegmentSize::Measured(bytes) => format!("MSS {bytes}"),
        SegmentSize::Requested(bytes) => format!("MSS {bytes} requested"),
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
