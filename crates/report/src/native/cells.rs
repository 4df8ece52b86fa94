//! The columns of each kind of row, and their cells.

use tapeline_base::FormatLetter;

use super::table::Column;
use super::unit::{Unit, millis};
use crate::model::{
    Measure, RequestResponse, Row, Span, TcpReceive, TcpSend, TcpState, UdpReceive, UdpSend,
};

/// A kind of rows that share a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    TcpSend,
    TcpReceive,
    UdpSend,
    UdpReceive,
    /// UDP receiver whose delays mean something.
    UdpReceiveDelay,
    Both,
    RequestResponse,
}

impl Kind {
    pub(super) fn of(row: &Row) -> Self {
        match row.measure {
            Measure::TcpSend(_) => Self::TcpSend,
            Measure::TcpReceive(_) => Self::TcpReceive,
            Measure::UdpSend(_) => Self::UdpSend,
            Measure::UdpReceive(_) if row.trip_times => Self::UdpReceiveDelay,
            Measure::UdpReceive(_) => Self::UdpReceive,
            Measure::Both { .. } => Self::Both,
            Measure::RequestResponse(_) => Self::RequestResponse,
        }
    }
}

/// Units of the columns that all tables have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub(super) rate: Unit,
    pub(super) size: Unit,
}

impl Units {
    /// Suited to a target rate when there is one, else to the first row.
    pub(super) fn suiting(target: Option<u64>, row: &Row, format: FormatLetter) -> Self {
        let measured = bits_per_second(row);
        let rate = target.map_or(measured, |target| target as f64);
        Self {
            rate: Unit::of_rate(rate, format),
            size: Unit::of_size(row.bytes as f64, format),
        }
    }
}

/// Bits per second of a row.
pub(super) fn bits_per_second(row: &Row) -> f64 {
    tapeline_base::BitRate::over(row.bytes, row.span.length())
}

/// All columns of a kind.
pub(super) fn columns(kind: Kind, units: Units) -> Vec<Column> {
    let mut list = vec![
        Column::new("flow", 6, 0),
        Column::new("seconds", 13, 0),
        Column::new(units.rate.label, 10, 0),
        Column::new(units.size.label, 9, 0),
    ];
    let more: &[(&str, usize, u8)] = match kind {
        Kind::TcpSend => &[
            ("retrans", 7, 1),
            ("cwnd KiB", 8, 3),
            ("rtt ms", 8, 2),
            ("rttvar ms", 9, 5),
            ("in flight", 9, 4),
        ],
        Kind::TcpReceive => &[("reads", 9, 1), ("bytes/read", 10, 2)],
        Kind::UdpSend => &[("datagrams", 9, 1), ("pkt/s", 9, 2), ("errors", 6, 3)],
        Kind::UdpReceive => UDP_RECEIVE,
        Kind::UdpReceiveDelay => UDP_RECEIVE_DELAY,
        Kind::Both => &[("datagrams", 9, 1)],
        Kind::RequestResponse => &[
            ("trips", 8, 0),
            ("trips/s", 8, 2),
            ("mean ms", 8, 0),
            ("min ms", 7, 4),
            ("p50 ms", 7, 5),
            ("p90 ms", 7, 6),
            ("p99 ms", 7, 3),
            ("max ms", 8, 1),
            ("retrans", 7, 7),
        ],
    };
    list.extend(
        more.iter()
            .map(|(title, width, rank)| Column::new(title, *width, *rank)),
    );
    list
}

const UDP_RECEIVE: &[(&str, usize, u8)] = &[
    ("received", 9, 2),
    ("lost", 7, 0),
    ("loss %", 7, 0),
    ("reordered", 9, 3),
    ("dup", 5, 4),
    ("jitter ms", 9, 1),
    ("pkt/s", 9, 5),
];

const UDP_RECEIVE_DELAY: &[(&str, usize, u8)] = &[
    ("received", 9, 4),
    ("lost", 7, 0),
    ("loss %", 7, 0),
    ("reordered", 9, 5),
    ("dup", 5, 6),
    ("jitter ms", 9, 1),
    ("pkt/s", 9, 7),
    ("delay ms", 9, 1),
    ("min ms", 8, 3),
    ("max ms", 8, 2),
];

/// The cells of a row, in the order of [`columns`].
pub(super) fn cells(subject: String, row: &Row, units: Units) -> Vec<String> {
    let mut list = vec![
        subject,
        seconds(row.span),
        units.rate.number(bits_per_second(row)),
        units.size.number(row.bytes as f64),
    ];
    match &row.measure {
        Measure::TcpSend(send) => list.extend(tcp_send(send)),
        Measure::TcpReceive(receive) => list.extend(tcp_receive(row, receive)),
        Measure::UdpSend(send) => list.extend(udp_send(row, send)),
        Measure::UdpReceive(receive) => list.extend(udp_receive(row, receive)),
        Measure::Both { datagrams, .. } => list.push(or_dash(*datagrams)),
        Measure::RequestResponse(exchange) => list.extend(request_response(exchange)),
    }
    list
}

/// `0.00-1.00`.
pub(super) fn seconds(span: Span) -> String {
    format!(
        "{:.2}-{:.2}",
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}

fn tcp_send(send: &TcpSend) -> Vec<String> {
    let state = send.state.unwrap_or_default();
    let delay =
        |micros: Option<u32>| micros.map_or_else(dash, |micros| millis(f64::from(micros) / 1e6));
    vec![
        or_dash(send.retransmits),
        or_dash(window(&state)),
        delay(state.rtt_micros),
        delay(state.rtt_variance_micros),
        or_dash(state.in_flight_packets.map(u64::from)),
    ]
}

/// Congestion window in KiB.
fn window(state: &TcpState) -> Option<u64> {
    Some(u64::from(state.cwnd_packets?) * u64::from(state.mss?) / 1024)
}

fn tcp_receive(row: &Row, receive: &TcpReceive) -> Vec<String> {
    let reads = receive.reads.reads;
    vec![reads.to_string(), or_dash(row.bytes.checked_div(reads))]
}

fn udp_send(row: &Row, send: &UdpSend) -> Vec<String> {
    let seconds = row.span.length().as_secs_f64();
    let pace = if seconds > 0.0 {
        send.writes as f64 / seconds
    } else {
        0.0
    };
    vec![
        send.writes.to_string(),
        format!("{pace:.0}"),
        send.errors.to_string(),
    ]
}

fn udp_receive(row: &Row, receive: &UdpReceive) -> Vec<String> {
    let mut list = vec![
        receive.received.to_string(),
        receive.lost.to_string(),
        share(receive.lost, receive.total),
        receive.reordered.to_string(),
        receive.duplicates.to_string(),
        receive.jitter.map_or_else(dash, millis),
        format!("{:.0}", receive.packets_per_second),
    ];
    if row.trip_times {
        let transit = &receive.transit;
        let known = transit.count > 0;
        let delay = |value: f64| if known { millis(value) } else { dash() };
        list.extend([delay(transit.mean), delay(transit.min), delay(transit.max)]);
    }
    list
}

/// Lost share in percent, digits only.
fn share(lost: u64, total: u64) -> String {
    if total == 0 {
        return dash();
    }
    let percent = 100.0 * lost as f64 / total as f64;
    if percent > 0.0 && percent < 0.005 {
        "<0.01".to_owned()
    } else {
        format!("{percent:.2}")
    }
}

fn request_response(exchange: &RequestResponse) -> Vec<String> {
    let trips = &exchange.round_trips;
    let known = trips.count > 0;
    let delay = |value: f64| if known { millis(value) } else { dash() };
    let pace = if known && trips.mean > 0.0 {
        format!("{:.0}", 1.0 / trips.mean)
    } else {
        dash()
    };
    let [p50, p90, p99] = exchange
        .percentiles
        .map(|value| value.map_or_else(dash, millis));
    vec![
        trips.count.to_string(),
        pace,
        delay(trips.mean),
        delay(trips.min),
        p50,
        p90,
        p99,
        delay(trips.max),
        or_dash(exchange.retransmits),
    ]
}

fn or_dash(value: Option<u64>) -> String {
    value.map_or_else(dash, |value| value.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
