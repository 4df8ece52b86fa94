//! The columns of each kind of row, and their cells.

use std::time::Duration;

use tapeline_base::FormatLetter;
use tapeline_stats::Moments;

use super::table::Column;
use super::text_parts::{Unit, millis};
use crate::model::{
    BurstKind, BurstsReceived, Measure, Phase, Row, Span, TcpReceive, TcpSend, UdpReceive, UdpSend,
};

/// A column with a row's value in it. Rows with the same columns share a header.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) column: Column,
    pub(crate) cell: String,
}

/// A column of this title, width and rank (the lower, the longer it stays on a narrow
/// terminal), and a cell.
fn field(title: &str, width: usize, rank: u8, cell: String) -> Field {
    Field {
        column: Column::new(title, width, rank),
        cell,
    }
}

/// Units of the columns that all tables have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub(crate) rate: Unit,
    pub(crate) size: Unit,
}

impl Units {
    /// Suited to a target rate when there is one, else to the first row.
    pub(crate) fn suiting(target: Option<u64>, row: &Row, format: FormatLetter) -> Self {
        let measured = tapeline_base::BitRate::over(row.bytes, usual_length(row));
        let rate = target.map_or(measured, |target| target as f64);
        Self {
            rate: Unit::for_rate(rate, format),
            size: Unit::for_size(row.bytes as f64, format),
        }
    }
}

/// The time over which a row's bytes give the rate of the rows to come: a burst is much
/// faster than its flow.
fn usual_length(row: &Row) -> Duration {
    match &row.measure {
        Measure::TcpReceive(TcpReceive {
            bursts:
                Some(BurstsReceived {
                    kind: BurstKind::Periodic { period },
                    ..
                }),
            ..
        }) => row.span.length().max(*period),
        _ => row.span.length(),
    }
}

/// Bits per second of a row.
pub(crate) fn bits_per_second(row: &Row) -> f64 {
    tapeline_base::BitRate::over(row.bytes, row.span.length())
}

/// All columns of a row with their cells.
pub(crate) fn fields(subject: String, row: &Row, units: Units) -> Vec<Field> {
    let mut list = vec![
        field("flow", 6, 0, subject),
        field("seconds", 13, 0, seconds(row.span)),
        field(
            units.rate.label,
            10,
            0,
            units.rate.number(bits_per_second(row)),
        ),
        field(units.size.label, 9, 0, units.size.number(row.bytes as f64)),
    ];
    match &row.measure {
        Measure::TcpSend(send) => list.extend(tcp_send(row, send, units)),
        Measure::TcpReceive(receive) => list.extend(tcp_receive(row, receive)),
        Measure::UdpSend(send) => list.extend(udp_send(row, send)),
        Measure::UdpReceive(receive) => list.extend(udp_receive(row, receive)),
        Measure::Both { datagrams, .. } => {
            list.push(field("datagrams", 9, 1, or_dash(*datagrams)));
        }
        Measure::RequestResponse(_) => {}
    }
    list
}

/// Columns that only special traffic has: frames, stamps, timed writes, marks.
pub(crate) fn special(row: &Row, units: Units) -> Vec<Field> {
    const USUAL: [&str; 15] = [
        "retrans",
        "cwnd KiB",
        "rtt ms",
        "rttvar ms",
        "in flight",
        "datagrams",
        "pkt/s",
        "errors",
        "received",
        "lost",
        "loss %",
        "reordered",
        "dup",
        "jitter ms",
        "reads",
    ];
    let is_special = |field: &Field| {
        let title = field.column.title();
        !USUAL.contains(&title) && title != "bytes/read"
    };
    let list = fields(String::new(), row, units).into_iter();
    // Flow, seconds, rate and size stand in front.
    list.skip(4).filter(is_special).collect()
}

/// Columns of a TCP sender.
fn tcp_send(row: &Row, send: &TcpSend, units: Units) -> Vec<Field> {
    let mut list = Vec::new();
    if let Some(frames) = send.frames {
        list.push(field("frames", 7, 0, frames.sent.to_string()));
        list.push(field("late frames", 11, 0, frames.missed.to_string()));
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
        field(
            "cwnd KiB",
            8,
            3,
            or_dash(state.window_bytes().map(|bytes| bytes / 1024)),
        ),
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

/// Columns of a TCP receiver.
fn tcp_receive(row: &Row, receive: &TcpReceive) -> Vec<Field> {
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
                field("burst time %", 12, 3, format!("{share:.2}")),
            ]
        }
        BurstKind::Frame => vec![
            field("frames", 7, 0, count),
            field("late frames", 11, 1, bursts.frames_lost.to_string()),
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
                field("in flight KiB", 13, 5, on_the_way),
            ]
        }
    }
}

/// Columns of a UDP sender.
fn udp_send(row: &Row, send: &UdpSend) -> Vec<Field> {
    let seconds = row.span.length().as_secs_f64();
    let pace = if seconds > 0.0 {
        send.writes as f64 / seconds
    } else {
        0.0
    };
    let mut list = vec![
        field("datagrams", 9, 1, send.writes.to_string()),
        field("pkt/s", 9, 2, format!("{pace:.0}")),
        field("errors", 6, 3, send.errors.to_string()),
    ];
    if let Some(frames) = send.frames {
        list.push(field("frames", 7, 0, frames.sent.to_string()));
        list.push(field("late frames", 11, 0, frames.missed.to_string()));
    }
    list
}

/// Of a receiver. Delays are there when the sender's clock is said to be synchronised.
fn udp_receive(row: &Row, receive: &UdpReceive) -> Vec<Field> {
    let later = u8::from(row.trip_times) * 2;
    let mut list = vec![
        field("received", 9, 2 + later, receive.received.to_string()),
        field("lost", 7, 0, receive.lost.to_string()),
        field("loss %", 7, 0, share(receive.lost, receive.total)),
        field("reordered", 9, 3 + later, receive.reordered.to_string()),
        field("dup", 5, 4 + later, receive.duplicates.to_string()),
        field("jitter ms", 9, 1, receive.jitter.map_or_else(dash, millis)),
        field(
            "pkt/s",
            9,
            5 + later,
            format!("{:.0}", receive.packets_per_second),
        ),
    ];
    if row.trip_times {
        let [mean, min, max] = delays(&receive.transit);
        list.push(field("delay ms", 9, 1, mean));
        list.push(field("min ms", 8, 3, min));
        list.push(field("max ms", 8, 2, max));
    }
    if let Some(frames) = &receive.frames {
        list.push(field("frames", 7, 0, frames.received.to_string()));
        list.push(field("incomplete", 10, 0, frames.lost.to_string()));
        if row.trip_times {
            let [mean, _, max] = delays(&frames.latency);
            list.push(field("frame ms", 8, 1, mean));
            list.push(field("max ms", 8, 2, max));
        }
    }
    if let Some(marked) = receive.marked {
        list.push(field("marked", 7, 1, marked.to_string()));
    }
    if let Some(errors) = receive.link_errors {
        let damaged = errors.length + errors.checksum + errors.unknown;
        list.push(field("damaged", 7, 1, damaged.to_string()));
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

/// `0.00-1.00`.
pub(crate) fn seconds(span: Span) -> String {
    format!(
        "{:.2}-{:.2}",
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}

/// Mean, smallest and largest of a series of seconds, in milliseconds.
fn delays(series: &Moments) -> [String; 3] {
    if series.is_empty() {
        return [dash(), dash(), dash()];
    }
    [series.mean, series.min, series.max].map(millis)
}

fn or_dash(value: Option<u64>) -> String {
    value.map_or_else(dash, |value| value.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
