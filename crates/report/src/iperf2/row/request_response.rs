//! Columns of request/response clients.

use super::super::figure::{count, kib, latency, size};
use crate::model::{RequestResponse, Row};

/// Of a flow. The state of TCP is a momentary one: a total does not have it.
pub(crate) fn columns(row: &Row, exchange: &RequestResponse) -> String {
    let trips = &exchange.round_trips;
    let retransmits = count(exchange.retransmits);
    let state = match exchange.state {
        Some(state) if !row.is_total() => {
            let wide = |value: Option<u32>| count(value.map(u64::from));
            format!(
                "{:>4}K/({})/{}({}) us",
                count(kib(state.window_bytes())),
                wide(state.cwnd_packets),
                wide(state.rtt_micros),
                wide(state.rtt_variance_micros)
            )
        }
        _ => "   -(-)/-(-)  ".to_owned(),
    };
    format!(
        "    {}={} ms {retransmits:>4}{state}  Tx={} Rx={}  RPS={}",
        trips.count,
        latency(trips),
        amount(exchange.sent),
        amount(exchange.received),
        responses_per_second(exchange)
    )
}

/// A size; nothing has no unit in this row.
fn amount(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        bytes => size(bytes),
    }
}

fn responses_per_second(exchange: &RequestResponse) -> String {
    match tapeline_stats::responses_per_second(&exchange.round_trips) {
        None => "0.0".to_owned(),
        Some(rate) if rate < 10.0 => format!("{rate:.1}"),
        Some(rate) => format!("{rate:.0}"),
    }
}

/// Of a sum.
pub(crate) fn sum(exchange: &RequestResponse) -> String {
    let retransmits = count(exchange.retransmits);
    format!("  {}/0{retransmits:>10}", exchange.round_trips.count)
}
