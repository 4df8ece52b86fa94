//! The banner of a connecting end.

use std::time::Duration;

use tapeline_base::Transport;

use super::super::figure;
use super::common::{
    RULE, bins, buffer, congestion_line, name, plain_bytes, segment_size_line, transmit_delay_line,
};
use crate::model::{ClientBanner, FairQueue, RequestPlan, TargetGap, TrafficShape};
use crate::render::{Output, tame};
use crate::style::Style;

/// Prints a client's banner.
pub(crate) fn client(banner: &ClientBanner, style: &Style, out: &mut Output) {
    out.line(RULE);
    out.line(&connecting(banner, style));
    traffic_lines(banner, style, out);
    segment_size_line(banner.segment_size, out);
    if let Some(congestion) = &banner.congestion {
        congestion_line("using", "set to", congestion, style, out);
    }
    if let Some(name) = &banner.load_congestion {
        out.line(&format!(
            "TCP working load congestion control set to {}",
            tame(name)
        ));
    }
    transmit_delay_line(banner.transmit_delay, out);
    if style.enhanced {
        out.line(&tos(banner));
    }
    if let TrafficShape::NearCongestion(weight) = banner.shape {
        out.line(&near_congestion(weight));
    }
    datagram_lines(banner, out);
    if banner.connect_only {
        out.line("TCP three-way-handshake (3WHS) only");
    } else {
        out.line(&buffer(banner.transport, banner.buffer, style));
    }
    timing_lines(banner, out);
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
        line += &format!(" ({}/{} flows/load)", banner.flows, banner.load_flows);
    }
    line
}

/// What is sent, and in which sizes and times.
fn traffic_lines(banner: &ClientBanner, style: &Style, out: &mut Output) {
    let near_congestion = matches!(banner.shape, TrafficShape::NearCongestion(_));
    if (style.enhanced || near_congestion)
        && banner.transport == Transport::Tcp
        && banner.request_response.is_none()
    {
        out.line(&write_buffer(banner));
    }
    match banner.shape {
        TrafficShape::Isochronous {
            frames_per_second,
            mean,
            deviation,
            gap,
        } => out.line(&format!(
            "Isochronous: {frames_per_second:.2} frames/sec mean={}/s, stddev={}/s, \
             Period/IPG={:.2}/{:.3} ms",
            figure::bits(mean),
            figure::bits(deviation),
            1e3 / frames_per_second,
            gap.as_secs_f64() * 1e3
        )),
        TrafficShape::Bursts { size, period } => out.line(&format!(
            "Bursting: {} every {:.3} second(s)",
            figure::size(size),
            period.as_secs_f64()
        )),
        TrafficShape::Steady | TrafficShape::Markov(_) | TrafficShape::NearCongestion(_) => {}
    }
    if let Some(plan) = &banner.request_response {
        request_response_lines(plan, out);
    }
    if let Some(pacing) = banner.fair_queue {
        out.line(&fair_queue(pacing));
    }
}

fn write_buffer(banner: &ClientBanner) -> String {
    let mut line = format!("Write buffer size: {}", plain_bytes(banner.write_length));
    if let TrafficShape::Bursts { size, .. } = banner.shape {
        line += &format!("  Burst size: {}", plain_bytes(size));
    }
    if banner.write_times {
        line += " (write timer enabled)";
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

fn fair_queue(pacing: FairQueue) -> String {
    let rate = figure::rate_of(pacing.rate);
    let step = pacing.step.map_or(String::new(), |step| {
        format!(" (stepping rate by {}/s)", figure::rate_of(step))
    });
    format!("fair-queue socket pacing set to {rate}/s{step}")
}

fn tos(banner: &ClientBanner) -> String {
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
    format!("TOS {verb} to {}{ecn}{nagle}", banner.tos)
}

/// Half a round trip is 2.2.1's default, and the remark is bound to the number.
fn near_congestion(weight: f64) -> String {
    let remark = if weight == 0.5 {
        " (use --near-congestion=<value> to change)"
    } else {
        ""
    };
    format!("TCP near-congestion delay weight set to {weight:.4}{remark}")
}

fn datagram_lines(banner: &ClientBanner, out: &mut Output) {
    if banner.single_udp {
        out.line(
            "WARN: Client set to bypass reporter thread per -U \
             (suggest use lower case -u instead)",
        );
    }
    if banner.transport != Transport::Udp {
        return;
    }
    match &banner.shape {
        TrafficShape::Isochronous { .. } => {}
        TrafficShape::Markov(chain) => {
            out.line(&format!("Sending lengths using markov chain: {chain}"));
        }
        TrafficShape::Steady | TrafficShape::Bursts { .. } | TrafficShape::NearCongestion(_) => {
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
    }
}

/// What is measured, and what stands in its way.
fn timing_lines(banner: &ClientBanner, out: &mut Output) {
    if let Some(bytes) = banner.write_prefetch {
        out.line(&format!(
            "Event based writes (pending queue watermark at {bytes} bytes)"
        ));
    } else if banner.trip_times && banner.transport == Transport::Tcp {
        out.line("Warn: Send side bloat possible per --tcp-write-prefetch not being set");
    }
    if let Some(shape) = &banner.histograms {
        let bins = bins(shape);
        out.line(&match banner.request_response {
            Some(_) => format!("Set bounceback histograms to {bins}"),
            None => format!("Enabled write histograms {bins}"),
        });
    }
}
