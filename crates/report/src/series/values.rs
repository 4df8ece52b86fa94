//! The numbers of one run.

use serde_json::Value;

use crate::document::{DelaySummary, DirectionSum, Report, SenderDetails, Stream};
use crate::model::{DirectedQuantity, FlowDirection, Quantity};

/// All that are known.
pub(crate) fn from_report(report: &Report) -> Vec<(DirectedQuantity, f64)> {
    let mut values = Vec::new();
    for sum in &report.sum.directions {
        let direction = Some(sum.direction);
        let flows = || {
            let flows = report.streams.iter();
            flows.filter(|flow| flow.direction == sum.direction)
        };
        for (quantity, number) in [
            (Quantity::BitsPerSecond, rate(sum)),
            (Quantity::LostPercent, lost(sum)),
            (Quantity::JitterMs, jitter(sum)),
            (Quantity::Retransmits, retransmits(sum)),
            (Quantity::RttMeanMs, mean(flows().map(round_trips))),
            (Quantity::OneWayDelayMeanMs, mean(flows().map(one_way))),
        ] {
            let kind = DirectedQuantity {
                quantity,
                direction,
            };
            values.extend(number.map(|number| (kind, number)));
        }
    }
    let connects = report.connect_times.as_ref();
    values.extend(connects.and_then(|connects| {
        let kind = DirectedQuantity {
            quantity: Quantity::ConnectMeanMs,
            direction: None,
        };
        Some((kind, connects.times.mean_ms?))
    }));
    values
}

/// The same of a report that was kept.
pub(crate) fn from_document(report: &Value) -> Vec<(DirectedQuantity, f64)> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let streams = list(&report["streams"]);
    let mut values = Vec::new();
    for sum in list(&report["sum"]["directions"]) {
        let ways = [
            FlowDirection::Forward,
            FlowDirection::Reverse,
            FlowDirection::RoundTrip,
        ];
        let named = |way: &FlowDirection| sum["direction"] == way.id();
        let Some(direction) = ways.into_iter().find(named) else {
            continue;
        };
        let number = |end: &str, name: &str| sum[end][name].as_f64();
        let rate = number("receiver", "bits_per_second");
        let rate = rate.or_else(|| number("sender", "bits_per_second"));
        let jitter = number("receiver", "jitter_mean_ms");
        let flows = || {
            let flows = streams.iter();
            flows.filter(|flow| flow["direction"] == sum["direction"])
        };
        let mean = |name: &str| weighted(flows().map(|flow| &flow[name]));
        for (quantity, number) in [
            (
                Quantity::BitsPerSecond,
                rate.filter(|_| direction != FlowDirection::RoundTrip),
            ),
            (Quantity::LostPercent, number("receiver", "lost_percent")),
            (
                Quantity::JitterMs,
                jitter.or_else(|| number("receiver", "jitter_ms")),
            ),
            (Quantity::Retransmits, number("sender", "retransmits")),
            (Quantity::RttMeanMs, mean("rtt")),
            (Quantity::OneWayDelayMeanMs, mean("one_way_delay")),
        ] {
            let kind = DirectedQuantity {
                quantity,
                direction: Some(direction),
            };
            values.extend(number.map(|number| (kind, number)));
        }
    }
    let connects = report["connect_times"]["mean_ms"].as_f64();
    let kind = DirectedQuantity {
        quantity: Quantity::ConnectMeanMs,
        direction: None,
    };
    values.extend(connects.map(|number| (kind, number)));
    values
}

/// The mean of all samples; unknown where one flow's is.
fn weighted<'a>(delays: impl Iterator<Item = &'a Value>) -> Option<f64> {
    let (mut sum, mut samples) = (0.0, 0.0);
    for delay in delays {
        let weight = delay["samples"].as_u64()? as f64;
        sum += delay["mean_ms"].as_f64()? * weight;
        samples += weight;
    }
    (samples > 0.0).then(|| sum / samples)
}

fn rate(sum: &DirectionSum) -> Option<f64> {
    let received = sum.receiver.end.bits_per_second;
    let rate = received.or(sum.sender.end.bits_per_second);
    // Back to back, the rate of requests says what their round trip says.
    rate.filter(|_| sum.direction != FlowDirection::RoundTrip)
}

fn lost(sum: &DirectionSum) -> Option<f64> {
    sum.receiver.udp?.lost_percent
}

fn jitter(sum: &DirectionSum) -> Option<f64> {
    sum.receiver.udp?.jitter_of_test_ms()
}

fn retransmits(sum: &DirectionSum) -> Option<f64> {
    match sum.sender.details {
        Some(SenderDetails::Tcp { retransmits, .. }) => retransmits.map(|count| count as f64),
        _ => None,
    }
}

fn round_trips(flow: &Stream) -> Option<&DelaySummary> {
    flow.rtt.as_ref()
}

fn one_way(flow: &Stream) -> Option<&DelaySummary> {
    flow.one_way_delay.as_ref().map(|delay| &delay.delays)
}

/// The mean of all samples; unknown where one flow's is.
fn mean<'a>(delays: impl Iterator<Item = Option<&'a DelaySummary>>) -> Option<f64> {
    let (mut sum, mut samples) = (0.0, 0.0);
    for delay in delays {
        let delay = delay?;
        let weight = delay.samples? as f64;
        sum += delay.mean_ms? * weight;
        samples += weight;
    }
    (samples > 0.0).then(|| sum / samples)
}
