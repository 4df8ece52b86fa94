//! Columns of TCP flows.

use super::{Field, Units, dash, delays, field, or_dash};
use crate::model::{BurstKind, BurstsReceived, Phase, Row, TcpReceive, TcpSend, TcpState};
use crate::native::unit::millis;

/// Of a sender.
pub(super) fn send(row: &Row, send: &TcpSend, units: Units) -> Vec<Field> {
    let mut list = Vec::new();
    if let Some(frames) = send.frames {
        list.push(field("frames", 7, 0, frames.sent.to_string()));
        list.push(field("missed", 6, 0, frames.missed.to_string()));
    }
    if let Some(times) = &send.write_times {
        let [mean, min, max] = delays(times);
        list.push(field("writes", 8, 3, times.count.to_string()));
        list.push(field("write ms", 8, 0, mean));
        list.push(field("min ms", 7, 2, min));
        list.push(field("max ms", 8, 1, max));
    }
    if let Some(rate) = send.fair_queue_rate {
        // A momentary value, which a total does not have.
        let cell = match row.phase {
            Phase::Interval | Phase::Omitted => units.rate.number(rate.0 as f64),
            Phase::Total => dash(),
        };
        list.push(field("paced at", 9, 1, cell));
    }
    let state = send.state.unwrap_or_default();
    let delay =
        |micros: Option<u32>| micros.map_or_else(dash, |micros| millis(f64::from(micros) / 1e6));
    list.extend([
        field("retrans", 7, 1, or_dash(send.retransmits)),
        field("cwnd KiB", 8, 3, or_dash(window(&state))),
        field("rtt ms", 8, 2, delay(state.rtt_micros)),
        field("rttvar ms", 9, 5, delay(state.rtt_variance_micros)),
        field(
            "in flight",
            9,
            4,
            or_dash(state.in_flight_packets.map(u64::from)),
        ),
    ]);
    list
}

/// Congestion window in KiB.
fn window(state: &TcpState) -> Option<u64> {
    Some(u64::from(state.cwnd_packets?) * u64::from(state.mss?) / 1024)
}

/// Of a receiver.
pub(super) fn receive(row: &Row, receive: &TcpReceive) -> Vec<Field> {
    let bursts = receive
        .bursts
        .or_else(|| row.trip_times.then(BurstsReceived::default));
    let mut list = bursts.map_or(Vec::new(), |bursts| stamped(row, &bursts));
    let reads = receive.reads.reads;
    let mean = or_dash(row.bytes.checked_div(reads));
    // Beside delays, reads are the least of interests.
    let rank = if list.is_empty() { 1 } else { 6 };
    list.push(field("reads", 9, rank, reads.to_string()));
    list.push(field("bytes/read", 10, rank + 1, mean));
    list
}

fn stamped(row: &Row, bursts: &BurstsReceived) -> Vec<Field> {
    let [mean, min, max] = delays(&bursts.latency);
    let count = bursts.latency.count.to_string();
    match bursts.kind {
        BurstKind::Periodic { period } => {
            let share = 100.0 * bursts.latency.mean / period.as_secs_f64();
            // A single burst has no extremes.
            let of_many = |cell: String| match row.phase {
                Phase::Interval | Phase::Omitted => dash(),
                Phase::Total => cell,
            };
            vec![
                field("burst ms", 9, 0, mean),
                field("min ms", 8, 2, of_many(min)),
                field("max ms", 8, 1, of_many(max)),
                field("duty %", 6, 3, format!("{share:.2}")),
            ]
        }
        BurstKind::Frame => vec![
            field("frames", 7, 0, count),
            field("missed", 6, 1, bursts.frames_lost.to_string()),
            field("delay ms", 9, 0, mean),
            field("min ms", 8, 3, min),
            field("max ms", 8, 2, max),
        ],
        BurstKind::Write => {
            let on_the_way = bursts
                .in_progress
                .map_or_else(dash, |bytes| format!("{:.1}", bytes / 1024.0));
            vec![
                field("bursts", 7, 3, count),
                field("delay ms", 9, 0, mean),
                field("min ms", 8, 2, min),
                field("max ms", 8, 1, max),
                field("on way KiB", 10, 5, on_the_way),
            ]
        }
    }
}
