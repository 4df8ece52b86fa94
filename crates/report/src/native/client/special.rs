//! Columns that only special traffic has: frames, stamps, timed writes, marks.

use tapeline_stats::Moments;

use crate::model::{
    BurstKind, BurstsReceived, Measure, Phase, Row, TcpReceive, TcpSend, UdpReceive, UdpSend,
};
use crate::native::cells::{Field, field};
use crate::native::number::{digits, in_unit, millis};
use crate::native::unit::Unit;

/// Those of a row; rates are in the unit of the table's.
pub(crate) fn fields(row: &Row, rate: Unit) -> Vec<Field> {
    match &row.measure {
        Measure::TcpSend(send) => tcp_send(row, send, rate),
        Measure::TcpReceive(receive) => tcp_receive(row, receive),
        Measure::UdpSend(send) => udp_send(send),
        Measure::UdpReceive(receive) => udp_receive(row, receive),
        Measure::Both { .. } | Measure::RequestResponse(_) => Vec::new(),
    }
}

/// Columns of a TCP sender.
fn tcp_send(row: &Row, send: &TcpSend, rate: Unit) -> Vec<Field> {
    let mut list = Vec::new();
    if let Some(frames) = send.frames {
        list.push(field("frames", 7, 0, frames.sent.to_string()));
        list.push(field("late frames", 11, 0, frames.missed.to_string()));
    }
    if let Some(times) = &send.write_times {
        let [mean, min, max] = delays(times);
        list.push(field("writes", 8, 3, times.count.to_string()));
        list.push(field("write ms", 8, 0, mean));
        list.push(field("min ms", 8, 2, min));
        list.push(field("max ms", 8, 1, max));
    }
    if let Some(pace) = send.fair_queue_rate {
        // A momentary value, which a total does not have.
        let cell = match row.phase {
            Phase::Interval | Phase::Omitted => in_unit(rate, pace.0 as f64),
            Phase::Total => dash(),
        };
        list.push(field("paced at", 9, 1, cell));
    }
    list
}

/// Columns of a TCP receiver.
fn tcp_receive(row: &Row, receive: &TcpReceive) -> Vec<Field> {
    let bursts = receive
        .bursts
        .or_else(|| row.trip_times.then(BurstsReceived::default));
    bursts.map_or(Vec::new(), |bursts| stamped(row, &bursts))
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
                field("burst time %", 12, 3, digits(share)),
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
                .map_or_else(dash, |bytes| digits(bytes / 1024.0));
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
fn udp_send(send: &UdpSend) -> Vec<Field> {
    send.frames.map_or(Vec::new(), |frames| {
        vec![
            field("frames", 7, 0, frames.sent.to_string()),
            field("late frames", 11, 0, frames.missed.to_string()),
        ]
    })
}

/// Of a receiver. Delays are there when the sender's clock is said to be synchronised.
fn udp_receive(row: &Row, receive: &UdpReceive) -> Vec<Field> {
    let mut list = Vec::new();
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
            list.push(field("frame max ms", 12, 2, max));
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

/// Mean, smallest and largest of a series of seconds, in milliseconds.
fn delays(series: &Moments) -> [String; 3] {
    if series.is_empty() {
        return [dash(), dash(), dash()];
    }
    [series.mean, series.min, series.max].map(millis)
}

fn dash() -> String {
    "-".to_owned()
}
