//! The numbers of one run.

use crate::document::{DelaySummary, DirectionSum, Report, SenderDetails, Stream};
use crate::model::{FlowDirection, Quantity};

/// A number, and the direction that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) quantity: Quantity,
    pub(crate) direction: Option<FlowDirection>,
}

impl Kind {
    pub(crate) fn is_main(&self) -> bool {
        self.quantity.is_main(self.direction)
    }
}

/// All that are known.
pub(crate) fn from_report(report: &Report) -> Vec<(Kind, f64)> {
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
            let kind = Kind {
                quantity,
                direction,
            };
            values.extend(number.map(|number| (kind, number)));
        }
    }
    let connects = report.connect_times.as_ref();
    values.extend(connects.and_then(|connects| {
        let kind = Kind {
            quantity: Quantity::ConnectMeanMs,
            direction: None,
        };
        Some((kind, connects.times.mean_ms?))
    }));
    values
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
