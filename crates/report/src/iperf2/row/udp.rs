//! Columns of UDP senders and receivers.

use super::super::figure::{
    average_minimum_maximum, bytes_per_second, latency, network_power, packets_per_second, percent,
    plausible_transit,
};
use super::super::header::Header;
use crate::model::{FramesReceived, InProgress, Phase, Row, UdpReceive, UdpSend};

/// Of a sender. Frames have their columns in basic output too.
pub(crate) fn send(row: &Row, send: &UdpSend, enhanced: bool) -> (Header, String) {
    let pps = packets_per_second(send.writes, row.span);
    let (writes, errors) = (send.writes, send.errors);
    match send.frames {
        Some(frames) => (
            Header::UdpSendFrames,
            format!(
                "  {writes}/{errors}{pps:8.0} pps  {:>3}/{}/{}",
                frames.sent, frames.missed, frames.slips
            ),
        ),
        None if enhanced => (
            Header::UdpSendEnhanced,
            format!("  {writes}/{errors}/{}{pps:8.0} pps", send.timeouts),
        ),
        None => (Header::Plain, String::new()),
    }
}

/// Of the sum of senders.
pub(crate) fn send_sum(row: &Row, send: &UdpSend) -> String {
    let pps = packets_per_second(send.writes, row.span);
    format!("  {}/{} {pps:8.0} pps", send.writes, send.errors)
}

/// Of a receiver. Stamps of a synchronised clock have their columns in basic output too.
pub(crate) fn receive(row: &Row, receive: &UdpReceive, enhanced: bool) -> (Header, String) {
    match &receive.frames {
        Some(frames) if row.trip_times => (Header::UdpReceiveFrames, framed(row, receive, frames)),
        _ if row.trip_times => (Header::UdpReceiveTripTimes, trip_times(row, receive)),
        _ if enhanced => (Header::UdpReceiveEnhanced, delayed(row, receive)),
        _ => (Header::UdpReceive, jitter_and_loss(row.phase, receive)),
    }
}

fn delayed(row: &Row, receive: &UdpReceive) -> String {
    let head = jitter_and_loss(row.phase, receive);
    let pps = receive.packets_per_second;
    let counts = read_counts(receive);
    if !plausible_transit(&receive.transit) {
        return format!("{head} -/-/-/- ms {pps:.0} pps {counts}");
    }
    let delay = latency(&receive.transit);
    format!(
        "{head} {delay} ms {pps:.0} pps {counts} {}",
        power(row, receive)
    )
}

/// With the datagrams on their way.
pub(crate) fn trip_times(row: &Row, receive: &UdpReceive) -> String {
    if !plausible_transit(&receive.transit) {
        return delayed(row, receive);
    }
    let head = jitter_and_loss(row.phase, receive);
    let delay = latency(&receive.transit);
    let pps = receive.packets_per_second;
    let on_the_way = on_the_way(receive);
    format!(
        "{head} {delay} ms {pps:.0} pps {}/{:.0}({:.0}) pkts {} {}",
        receive.received,
        on_the_way.packets,
        on_the_way.deviation,
        read_counts(receive),
        power(row, receive)
    )
}

fn framed(row: &Row, receive: &UdpReceive, frames: &FramesReceived) -> String {
    let head = jitter_and_loss(row.phase, receive);
    let pps = receive.packets_per_second;
    let counts = format!("{}/{}", frames.received, frames.lost);
    if !plausible_transit(&receive.transit) {
        return format!("{head} -/-/-/- ms {pps:.0} pps  {counts} -/-/-/- ms  -");
    }
    format!(
        "{head} {} ms {pps:.0} pps  {counts} {} ms {}",
        latency(&receive.transit),
        latency(&frames.latency),
        power(row, receive)
    )
}

/// Of the sum of receivers.
pub(crate) fn receive_sum(row: &Row, receive: &UdpReceive) -> (Header, String) {
    let loss = loss(receive);
    let [mean, min, max] = average_minimum_maximum(&receive.transit);
    let pps = receive.packets_per_second;
    let delay = format!("{mean:.3}/{min:.3}/{max:.3}");
    if row.trip_times {
        let text = format!(
            "  {loss}  {delay}  {}/{:.0}  {pps:8.0} pps",
            receive.received,
            on_the_way(receive).packets
        );
        (Header::SumUdpTripTimes, text)
    } else {
        (
            Header::SumUdpReceive,
            format!("  {loss}  {delay}  {pps:.0} pps"),
        )
    }
}

/// Little's law: datagrams on their way are arrivals per second times the delay.
fn on_the_way(receive: &UdpReceive) -> InProgress {
    receive.in_progress.unwrap_or_else(|| InProgress {
        packets: receive.packets_per_second * receive.transit.mean,
        deviation: receive.packets_per_second * receive.transit.stdev(),
    })
}

fn power(row: &Row, receive: &UdpReceive) -> String {
    network_power(bytes_per_second(row.bytes, row.span), receive.transit.mean)
}

/// Of every receiver.
pub(crate) fn jitter_and_loss(phase: Phase, receive: &UdpReceive) -> String {
    let millis = jitter(phase, receive) * 1e3;
    format!("  {millis:6.3} ms {}", loss(receive))
}

/// An interval shows the running jitter, a total the mean of all of them; 0 without a
/// sample (iperf 2.2.1 prints `-nan` in some of these cases).
pub(crate) fn jitter(phase: Phase, receive: &UdpReceive) -> f64 {
    match phase {
        Phase::Interval | Phase::Omitted => receive.jitter,
        Phase::Total => receive.jitter_mean.or(receive.jitter),
    }
    .unwrap_or(0.0)
}

/// `1/181 (0.55%)`.
pub(crate) fn loss(receive: &UdpReceive) -> String {
    let (lost, total) = (receive.lost, receive.total);
    format!("{lost}/{total} ({}%)", percent(lost, total))
}

fn read_counts(receive: &UdpReceive) -> String {
    format!(
        "{}/{}/{}",
        receive.reads, receive.timeouts, receive.truncated
    )
}
