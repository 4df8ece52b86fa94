//! Columns of UDP flows.

use super::{Field, dash, delays, field};
use crate::model::{Row, UdpReceive, UdpSend};
use crate::native::unit::millis;

/// Of a sender.
pub(super) fn send(row: &Row, send: &UdpSend) -> Vec<Field> {
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
        list.push(field("missed", 6, 0, frames.missed.to_string()));
    }
    list
}

/// Of a receiver. Delays are there when the sender's clock is said to be synchronised.
pub(super) fn receive(row: &Row, receive: &UdpReceive) -> Vec<Field> {
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
        list.push(field("incompl", 7, 0, frames.lost.to_string()));
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
