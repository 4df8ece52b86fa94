//! Rows: the header under which each belongs, and its columns.

use super::figure::{
    average_minimum_maximum, bytes_per_second, flow_id, interval, latency, network_power,
    packets_per_second, percent, plausible_transit, rate, size, transfer,
};
use crate::layout::Header;
use crate::model::{
    Measure, Phase, RequestResponse, Row, Subject, TcpReceive, TcpSend, TcpState, UdpReceive,
    UdpSend,
};
use crate::style::Style;

/// A row of one flow.
pub(super) fn flow(row: &Row, style: &Style) -> (Header, String) {
    let plain = columns(row, style);
    let enhanced = style.enhanced || row.trip_times;
    match &row.measure {
        Measure::TcpSend(send) if enhanced => {
            let text = format!("{plain}  {}", tcp_send(row, send));
            (Header::TcpSendEnhanced, text)
        }
        Measure::TcpReceive(receive) if enhanced => {
            let text = format!("{plain}  {}", reads(receive));
            (Header::TcpReceiveEnhanced, text)
        }
        Measure::UdpSend(send) if enhanced => {
            let text = format!("{plain}  {}", udp_send(row, send));
            (Header::UdpSendEnhanced, text)
        }
        Measure::UdpReceive(receive) if row.trip_times => {
            let text = format!("{plain}  {}", udp_trip_times(row, receive));
            (Header::UdpReceiveTripTimes, text)
        }
        Measure::UdpReceive(receive) if enhanced => {
            let text = format!("{plain}  {}", udp_receive(row, receive));
            (Header::UdpReceiveEnhanced, text)
        }
        Measure::UdpReceive(receive) => {
            let text = format!("{plain}  {}", jitter_and_loss(row, receive));
            (Header::UdpReceive, text)
        }
        Measure::RequestResponse(exchange) => {
            let text = format!("{plain}    {}", request_response(row, exchange));
            (Header::RequestResponse, text)
        }
        Measure::TcpSend(_) | Measure::TcpReceive(_) | Measure::UdpSend(_) => {
            (Header::Plain, plain)
        }
        Measure::Both { .. } => (Header::Plain, plain),
    }
}

/// The row of both directions of a flow.
pub(super) fn duplex(row: &Row, style: &Style) -> (Header, String) {
    let plain = columns(row, style);
    match row.measure {
        Measure::Both {
            datagrams: Some(datagrams),
            ..
        } => (Header::UdpDuplex, plain + &datagram_rate(row, datagrams)),
        _ => (Header::Plain, plain),
    }
}

/// The row of a sum. `[SUM]` and `[SUM-n]` follow iperf 2.2.1: the count is shown where
/// the enhanced columns are, and where only sums are printed.
pub(super) fn sum(row: &Row, style: &Style) -> (Header, String) {
    let plain = columns(row, style);
    let enhanced = style.enhanced || row.trip_times;
    match &row.measure {
        Measure::TcpSend(send) if enhanced => {
            let retransmits = count(send.retransmits);
            let text = format!("{plain}  {}/{}{retransmits:>10}", send.writes, send.errors);
            (Header::SumTcpSend, text)
        }
        Measure::TcpReceive(receive) if enhanced => (
            Header::SumTcpReceive,
            format!("{plain}  {}", reads(receive)),
        ),
        Measure::UdpSend(send) if enhanced => {
            let pps = packets_per_second(send.writes, row.span);
            let text = format!("{plain}  {}/{} {pps:8.0} pps", send.writes, send.errors);
            (Header::SumUdpSend, text)
        }
        Measure::UdpReceive(receive) if row.trip_times => {
            let text = format!("{plain}  {}", udp_trip_times_sum(receive));
            (Header::SumUdpTripTimes, text)
        }
        Measure::UdpReceive(receive) if enhanced || style.sum_only => {
            let text = format!("{plain}  {}", udp_receive_sum(receive));
            (Header::SumUdpReceive, text)
        }
        Measure::UdpReceive(receive) => {
            let text = format!("{plain}   {}", loss(receive));
            (Header::Plain, text)
        }
        Measure::RequestResponse(exchange) => {
            let retransmits = count(exchange.retransmits);
            let text = format!("{plain}  {}/0{retransmits:>10}", exchange.round_trips.count);
            (Header::SumTcpSend, text)
        }
        Measure::Both {
            datagrams: Some(datagrams),
            ..
        } => (Header::UdpDuplex, plain + &datagram_rate(row, *datagrams)),
        Measure::Both {
            loss: Some((lost, total)),
            ..
        } => {
            let share = percent(*lost, *total);
            (
                Header::Plain,
                format!("{plain}   {lost}/{total} ({share}%)"),
            )
        }
        Measure::TcpReceive(_) | Measure::UdpSend(_) if style.sum_only => (Header::SumPlain, plain),
        Measure::TcpSend(_)
        | Measure::TcpReceive(_)
        | Measure::UdpSend(_)
        | Measure::Both { .. } => (Header::Plain, plain),
    }
}

/// The row under "Server Report:".
pub(super) fn server_report(row: &Row, enhanced: bool, style: &Style) -> (Header, String) {
    let plain = columns(row, style);
    match &row.measure {
        Measure::UdpReceive(receive) if enhanced => {
            // The peer tells a rate of datagrams, but no reads.
            let pps = receive.packets_per_second;
            let remote = UdpReceive {
                received: whole(pps),
                reads: 0,
                timeouts: 0,
                truncated: 0,
                ..receive.clone()
            };
            let text = format!("{plain}  {}", udp_trip_times(row, &remote));
            (Header::UdpReceiveTripTimes, text)
        }
        Measure::UdpReceive(receive) => {
            let text = format!("{plain}  {}", jitter_and_loss(row, receive));
            (Header::UdpReceive, text)
        }
        _ => (Header::Plain, plain),
    }
}

/// The line of datagrams that came late or twice, when there were any.
pub(super) fn out_of_order(row: &Row, style: &Style) -> Option<String> {
    let Measure::UdpReceive(receive) = &row.measure else {
        return None;
    };
    let count = receive.out_of_order;
    if count == 0 {
        return None;
    }
    let span = interval(row.span);
    match row.subject {
        Subject::Flow(tag) | Subject::Duplex(tag) => Some(format!(
            "{}{span}  {count} datagrams received out-of-order",
            flow_id(tag)
        )),
        // Sums say it at the end only; with --sum-only iperf 2.2.1 has one blank more.
        Subject::Sum { .. } if row.phase == Phase::Interval => None,
        Subject::Sum { flows } if style.sum_only => Some(format!(
            "[SUM-{flows}] {span}  {count} datagrams  received out-of-order"
        )),
        Subject::Sum { .. } => Some(format!(
            "[SUM] {span}  {count} datagrams received out-of-order"
        )),
    }
}

/// Subject, interval, transfer and rate: the columns that every row has.
fn columns(row: &Row, style: &Style) -> String {
    format!(
        "{}{}  {}  {}",
        subject(row, style),
        interval(row.span),
        transfer(row.bytes, style.format),
        rate(row.bytes, row.span, style.format)
    )
}

fn subject(row: &Row, style: &Style) -> String {
    match row.subject {
        Subject::Flow(tag) => flow_id(tag),
        Subject::Duplex(tag) => format!("[FD{}] ", tag.id),
        Subject::Sum { flows } if names_count(row, style) => format!("[SUM-{flows}] "),
        Subject::Sum { .. } => "[SUM] ".to_owned(),
    }
}

fn names_count(row: &Row, style: &Style) -> bool {
    match row.measure {
        Measure::Both { .. } => false,
        Measure::RequestResponse(_) => true,
        Measure::TcpSend(_) => style.enhanced || row.trip_times,
        _ => style.enhanced || row.trip_times || style.sum_only,
    }
}

fn tcp_send(row: &Row, send: &TcpSend) -> String {
    let retransmits = count(send.retransmits);
    let state = send.state.unwrap_or_default();
    let in_flight = count(state.in_flight_packets.map(u64::from));
    let in_flight_kib = count(kib(state.in_flight_packets, state.mss));
    let window = count(state.cwnd_packets.map(u64::from));
    let window_kib = count(kib(state.cwnd_packets, state.mss));
    let (rtt, variance) = round_trip(&state);
    let power = match state.rtt_micros {
        Some(micros) => network_power(
            bytes_per_second(row.bytes, row.span),
            f64::from(micros) / 1e6,
        ),
        None => "NAN".to_owned(),
    };
    format!(
        "{}/{}{retransmits:>10} {in_flight_kib:>8}K({in_flight})/{window_kib}K({window})/{rtt}({variance}) us  {power}",
        send.writes, send.errors,
    )
}

fn reads(receive: &TcpReceive) -> String {
    let bins: Vec<String> = receive.reads.bins.iter().map(u64::to_string).collect();
    format!("{}={}", receive.reads.reads, bins.join(":"))
}

fn udp_send(row: &Row, send: &UdpSend) -> String {
    let pps = packets_per_second(send.writes, row.span);
    format!(
        "{}/{}/{}{pps:8.0} pps",
        send.writes, send.errors, send.timeouts
    )
}

fn udp_receive(row: &Row, receive: &UdpReceive) -> String {
    let head = jitter_and_loss(row, receive);
    let pps = receive.packets_per_second;
    let counts = read_counts(receive);
    if !plausible_transit(&receive.transit) {
        return format!("{head} -/-/-/- ms {pps:.0} pps {counts}");
    }
    let delay = latency(&receive.transit);
    let power = network_power(bytes_per_second(row.bytes, row.span), receive.transit.mean);
    format!("{head} {delay} ms {pps:.0} pps {counts} {power}")
}

fn udp_trip_times(row: &Row, receive: &UdpReceive) -> String {
    let head = jitter_and_loss(row, receive);
    let pps = receive.packets_per_second;
    let counts = read_counts(receive);
    if !plausible_transit(&receive.transit) {
        return format!("{head} -/-/-/- ms {pps:.0} pps {counts}");
    }
    let delay = latency(&receive.transit);
    // Little's law: packets in flight are arrivals per second times the delay.
    let in_flight = pps * receive.transit.mean;
    let spread = pps * receive.transit.stdev();
    let power = network_power(bytes_per_second(row.bytes, row.span), receive.transit.mean);
    format!(
        "{head} {delay} ms {pps:.0} pps {}/{in_flight:.0}({spread:.0}) pkts {counts} {power}",
        receive.received
    )
}

fn udp_receive_sum(receive: &UdpReceive) -> String {
    let [mean, min, max] = average_minimum_maximum(&receive.transit);
    let pps = receive.packets_per_second;
    format!(
        "{}  {mean:.3}/{min:.3}/{max:.3}  {pps:.0} pps",
        loss(receive)
    )
}

fn udp_trip_times_sum(receive: &UdpReceive) -> String {
    let [mean, min, max] = average_minimum_maximum(&receive.transit);
    let pps = receive.packets_per_second;
    let in_flight = pps * receive.transit.mean;
    format!(
        "{}  {mean:.3}/{min:.3}/{max:.3}  {}/{in_flight:.0}  {pps:8.0} pps",
        loss(receive),
        receive.received
    )
}

fn jitter_and_loss(row: &Row, receive: &UdpReceive) -> String {
    format!(
        "{:6.3} ms {}",
        jitter(row.phase, receive) * 1e3,
        loss(receive)
    )
}

/// An interval shows the running jitter, a total the mean of all of them; 0 without a
/// sample (iperf 2.2.1 prints `-nan` in some of these cases).
pub(super) fn jitter(phase: Phase, receive: &UdpReceive) -> f64 {
    match phase {
        Phase::Interval => receive.jitter,
        Phase::Total => receive.jitter_mean.or(receive.jitter),
    }
    .unwrap_or(0.0)
}

fn loss(receive: &UdpReceive) -> String {
    let (lost, total) = (receive.lost_compatible, receive.total);
    format!("{lost}/{total} ({}%)", percent(lost, total))
}

fn read_counts(receive: &UdpReceive) -> String {
    format!(
        "{}/{}/{}",
        receive.reads, receive.timeouts, receive.truncated
    )
}

fn datagram_rate(row: &Row, datagrams: u64) -> String {
    let pps = packets_per_second(datagrams, row.span);
    format!(" {datagrams}{pps:8.0} pps")
}

fn request_response(row: &Row, exchange: &RequestResponse) -> String {
    let trips = &exchange.round_trips;
    let retransmits = count(exchange.retransmits);
    let state = match (row.phase, exchange.state) {
        (Phase::Interval, Some(state)) => {
            let window = count(state.cwnd_packets.map(u64::from));
            let window_kib = count(kib(state.cwnd_packets, state.mss));
            let (rtt, variance) = round_trip(&state);
            format!("{window_kib:>4}K/({window})/{rtt}({variance}) us")
        }
        _ => "   -(-)/-(-)  ".to_owned(),
    };
    format!(
        "{}={} ms {retransmits:>4}{state}  Tx={} Rx={}  RPS={}",
        trips.count,
        latency(trips),
        size(exchange.sent),
        size(exchange.received),
        responses_per_second(exchange)
    )
}

fn responses_per_second(exchange: &RequestResponse) -> String {
    let trips = &exchange.round_trips;
    if trips.count == 0 || trips.mean <= 0.0 {
        return "0.0".to_owned();
    }
    let rate = 1.0 / trips.mean;
    if rate < 10.0 {
        format!("{rate:.1}")
    } else {
        format!("{rate:.0}")
    }
}

fn round_trip(state: &TcpState) -> (String, String) {
    (
        count(state.rtt_micros.map(u64::from)),
        count(state.rtt_variance_micros.map(u64::from)),
    )
}

/// A count, or `-` when the kernel does not tell it.
fn count(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// KiB in so many packets.
pub(super) fn kib(packets: Option<u32>, mss: Option<u32>) -> Option<u64> {
    Some(u64::from(packets?) * u64::from(mss?) / 1024)
}

/// A rate as a whole number of packets.
fn whole(rate: f64) -> u64 {
    rate.max(0.0).round() as u64
}
