//! What one end sent beside what the other received.

use tapeline_base::{FlowTag, FormatLetter};

use super::cells::{Units, bits_per_second};
use super::text_parts::{millis, percent};
use crate::model::{Measure, Row, UdpReceive};

/// The lines of both views of a UDP flow. Without the sender's row its column is empty.
pub(crate) fn lines(
    tag: FlowTag,
    sender: Option<&Row>,
    receiver: &Row,
    format: FormatLetter,
) -> Vec<String> {
    let Measure::UdpReceive(numbers) = &receiver.measure else {
        return Vec::new();
    };
    let units = Units::suiting(None, sender.unwrap_or(receiver), format);
    let of_sender = |value: fn(&Row) -> Option<f64>| sender.and_then(value);
    let mut list = vec![line(&format!("flow {}", tag.id), "sender", "receiver", "")];
    let mut add = |title: &str, sent: String, received: String, remark: &str| {
        list.push(line(&format!("  {title}"), &sent, &received, remark));
    };
    let number = |value: Option<f64>, unit: super::text_parts::Unit| {
        value.map_or(String::new(), |value| unit.number(value))
    };
    add(
        units.rate.label,
        number(of_sender(|row| Some(bits_per_second(row))), units.rate),
        units.rate.number(bits_per_second(receiver)),
        "",
    );
    add(
        units.size.label,
        number(of_sender(|row| Some(row.bytes as f64)), units.size),
        units.size.number(receiver.bytes as f64),
        "",
    );
    let sent = sender.map_or(numbers.total, writes);
    let received = numbers.total.saturating_sub(numbers.lost);
    add("datagrams", sent.to_string(), received.to_string(), "");
    let share = percent(numbers.lost as f64 / numbers.total.max(1) as f64);
    add(
        "lost",
        String::new(),
        numbers.lost.to_string(),
        &format!("({share})"),
    );
    for (title, count) in disorder(numbers) {
        add(title, String::new(), count.to_string(), "");
    }
    let jitter = numbers.jitter_mean.or(numbers.jitter);
    add(
        "jitter ms",
        String::new(),
        jitter.map_or_else(|| "-".to_owned(), millis),
        "",
    );
    if receiver.trip_times && !numbers.transit.is_empty() {
        let delay = &numbers.transit;
        let range = format!("({} to {})", millis(delay.min), millis(delay.max));
        add("delay ms", String::new(), millis(delay.mean), &range);
    }
    list
}

/// Reordered and duplicated datagrams apart, or together when the receiver does not
/// tell them apart (iperf 2 does not).
fn disorder(numbers: &UdpReceive) -> Vec<(&'static str, u64)> {
    if numbers.reordered + numbers.duplicates == numbers.out_of_order {
        vec![
            ("reordered", numbers.reordered),
            ("duplicated", numbers.duplicates),
        ]
    } else {
        vec![("late or twice", numbers.out_of_order)]
    }
}

fn writes(row: &Row) -> u64 {
    match &row.measure {
        Measure::UdpSend(send) => send.writes,
        _ => 0,
    }
}

fn line(title: &str, sender: &str, receiver: &str, remark: &str) -> String {
    format!("{title:<16}{sender:>12}{receiver:>12}  {remark}")
        .trim_end()
        .to_owned()
}
