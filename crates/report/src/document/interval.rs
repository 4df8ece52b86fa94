//! The numbers of one flow in one interval.

use serde::Serialize;

use super::flow::{rate, smoothed, window};
use super::report::FlowDirection;
use super::{millis, seconds};
use crate::model::{Measure, Phase, ProbeDelays, Row, TcpState};
use tapeline_stats::Moments;

/// Which end counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The one that sends.
    Sender,
    /// The one that receives.
    Receiver,
}

/// One flow in one interval. Every interval has all members; those that its flow does not have,
/// or that are not known, are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Number of the flow.
    pub flow: u32,
    /// Its direction.
    pub direction: FlowDirection,
    /// Which end counted.
    pub counted_by: CountedBy,
    /// When it ended, by this end's clock: RFC 3339, universal time.
    pub time: String,
    /// Start, seconds after the flow's.
    pub start: f64,
    /// End, seconds after the flow's start.
    pub end: f64,
    /// Its length.
    pub seconds: f64,
    /// It lies in the start that does not count.
    pub omitted: bool,
    /// Payload.
    pub bytes: u64,
    /// `bytes` over `seconds`.
    pub bits_per_second: Option<f64>,
    /// Segments that were sent again.
    pub retransmits: Option<u64>,
    /// Congestion window at the end.
    pub cwnd_bytes: Option<u64>,
    /// Bytes on the way at the end.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed round-trip time at the end.
    pub rtt_ms: Option<f64>,
    /// Its mean deviation.
    pub rtt_variance_ms: Option<f64>,
    /// Datagrams: that left (sender), distinct ones that arrived (receiver).
    pub packets: Option<u64>,
    /// Datagrams that were missed, less those that came late.
    pub lost: Option<u64>,
    /// Datagrams that arrived again.
    pub duplicates: Option<u64>,
    /// Distinct datagrams that arrived after a later one.
    pub reordered: Option<u64>,
    /// RFC 3550 jitter at the end.
    pub jitter_ms: Option<f64>,
    /// Delays of the interval: one-way delays of the data, or round trips of requests.
    pub delay_samples: Option<u64>,
    /// Least of them.
    pub delay_min_ms: Option<f64>,
    /// Their mean.
    pub delay_mean_ms: Option<f64>,
    /// Largest of them.
    pub delay_max_ms: Option<f64>,
    /// Slow-start threshold at the end; `null` too while there is none.
    pub ssthresh_bytes: Option<u64>,
    /// The kernel's estimate of the rate at which data arrives, at the end.
    pub delivery_bits_per_second: Option<u64>,
    /// Processor use of this process, percent of one processor.
    pub cpu_percent: Option<f64>,
    /// That of the other end, as it told last: twice a second.
    pub other_cpu_percent: Option<f64>,
    /// Runs of consecutive losses that the interval added.
    pub loss_runs: Option<u64>,
    /// Largest reordering extent (RFC 4737) of the datagrams that came in it.
    pub reordering_extent: Option<u64>,
    /// Probes beside the test's traffic that were answered in it.
    pub probe_samples: Option<u64>,
    /// Least of their round trips.
    pub probe_min_ms: Option<f64>,
    /// Their mean.
    pub probe_mean_ms: Option<f64>,
    /// Largest of them.
    pub probe_max_ms: Option<f64>,
}

/// What is told beside the rows of an interval, of no flow alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Processor use of this process, percent of one processor.
    pub(super) own_cpu: Option<f64>,
    /// That of the other end.
    pub(super) other_cpu: Option<f64>,
    /// Round trips of probes.
    pub(super) probes: Option<ProbeDelays>,
}

/// Percent to a thousandth.
pub(super) fn rounded(percent: f64) -> f64 {
    (percent * 1e3).round() / 1e3
}

impl Interval {
    /// Names of the members, in their order.
    pub(super) const COLUMNS: [&'static str; 34] = [
        "flow",
        "direction",
        "counted_by",
        "time",
        "start",
        "end",
        "seconds",
        "omitted",
        "bytes",
        "bits_per_second",
        "retransmits",
        "cwnd_bytes",
        "in_flight_bytes",
        "rtt_ms",
        "rtt_variance_ms",
        "packets",
        "lost",
        "duplicates",
        "reordered",
        "jitter_ms",
        "delay_samples",
        "delay_min_ms",
        "delay_mean_ms",
        "delay_max_ms",
        "ssthresh_bytes",
        "delivery_bits_per_second",
        "cpu_percent",
        "other_cpu_percent",
        "loss_runs",
        "reordering_extent",
        "probe_samples",
        "probe_min_ms",
        "probe_mean_ms",
        "probe_max_ms",
    ];

    /// The members as text, in the order of [`Self::COLUMNS`]; empty when not known.
    pub(super) fn cells(&self) -> [String; Self::COLUMNS.len()] {
        [
            self.flow.to_string(),
            word(self.direction),
            word(self.counted_by),
            self.time.clone(),
            self.start.to_string(),
            self.end.to_string(),
            self.seconds.to_string(),
            self.omitted.to_string(),
            self.bytes.to_string(),
            known(self.bits_per_second),
            known(self.retransmits),
            known(self.cwnd_bytes),
            known(self.in_flight_bytes),
            known(self.rtt_ms),
            known(self.rtt_variance_ms),
            known(self.packets),
            known(self.lost),
            known(self.duplicates),
            known(self.reordered),
            known(self.jitter_ms),
            known(self.delay_samples),
            known(self.delay_min_ms),
            known(self.delay_mean_ms),
            known(self.delay_max_ms),
            known(self.ssthresh_bytes),
            known(self.delivery_bits_per_second),
            known(self.cpu_percent),
            known(self.other_cpu_percent),
            known(self.loss_runs),
            known(self.reordering_extent),
            known(self.probe_samples),
            known(self.probe_min_ms),
            known(self.probe_mean_ms),
            known(self.probe_max_ms),
        ]
    }

    /// Of a row of a flow; `time` is the end in words.
    pub(super) fn of(
        flow: u32,
        direction: FlowDirection,
        time: String,
        row: &Row,
        beside: Beside,
    ) -> Self {
        let probes = beside.probes.map(|probes| probes.round_trips);
        let length = seconds(row.span.length());
        let mut interval = Self {
            flow,
            direction,
            counted_by: match row.measure {
                Measure::TcpReceive(_) | Measure::UdpReceive(_) => CountedBy::Receiver,
                _ => CountedBy::Sender,
            },
            time,
            start: seconds(row.span.start),
            end: seconds(row.span.end),
            seconds: length,
            omitted: row.phase == Phase::Omitted,
            bytes: row.bytes,
            bits_per_second: rate(row.bytes, length),
            retransmits: None,
            cwnd_bytes: None,
            in_flight_bytes: None,
            rtt_ms: None,
            rtt_variance_ms: None,
            packets: None,
            lost: None,
            duplicates: None,
            reordered: None,
            jitter_ms: None,
            delay_samples: None,
            delay_min_ms: None,
            delay_mean_ms: None,
            delay_max_ms: None,
            ssthresh_bytes: None,
            delivery_bits_per_second: None,
            cpu_percent: beside.own_cpu.map(rounded),
            other_cpu_percent: beside.other_cpu.map(rounded),
            loss_runs: None,
            reordering_extent: None,
            probe_samples: probes.map(|probes| probes.count),
            probe_min_ms: probes.and_then(|probes| millis(probes.min)),
            probe_mean_ms: probes.and_then(|probes| millis(probes.mean)),
            probe_max_ms: probes.and_then(|probes| millis(probes.max)),
        };
        interval.enter(row);
        interval
    }

    fn enter(&mut self, row: &Row) {
        match &row.measure {
            Measure::TcpSend(send) => {
                self.retransmits = send.retransmits;
                self.state(send.state.as_ref());
            }
            Measure::TcpReceive(receive) => {
                if let Some(bursts) = &receive.bursts {
                    self.delays(&bursts.latency);
                }
            }
            Measure::UdpSend(send) => self.packets = Some(send.writes),
            Measure::UdpReceive(receive) => {
                self.packets = Some(receive.received);
                self.lost = Some(receive.lost);
                self.duplicates = Some(receive.duplicates);
                self.reordered = Some(receive.reordered);
                self.jitter_ms = receive.jitter.and_then(millis);
                let pattern = receive.interval_pattern;
                self.loss_runs = pattern.map(|pattern| pattern.runs);
                self.reordering_extent = pattern.map(|pattern| pattern.longest_extent);
                if row.trip_times {
                    self.delays(&receive.transit);
                }
            }
            Measure::RequestResponse(exchange) => {
                self.retransmits = exchange.retransmits;
                self.state(exchange.state.as_ref());
                self.delays(&exchange.round_trips);
            }
            Measure::Both { .. } => {}
        }
    }

    fn state(&mut self, state: Option<&TcpState>) {
        let Some(state) = state else {
            return;
        };
        let segments = state.in_flight_packets.zip(state.mss);
        self.cwnd_bytes = window(state);
        self.in_flight_bytes = segments.map(|(packets, mss)| u64::from(packets) * u64::from(mss));
        let threshold = state.ssthresh_packets.zip(state.mss);
        self.ssthresh_bytes = threshold.map(|(packets, mss)| u64::from(packets) * u64::from(mss));
        self.delivery_bits_per_second = state.delivery.map(|rate| rate.0);
        self.rtt_ms = smoothed(state);
        let variance = state.rtt_variance_micros;
        self.rtt_variance_ms = variance.map(|micros| f64::from(micros) / 1e3);
    }

    fn delays(&mut self, delays: &Moments) {
        if delays.count > 0 {
            self.delay_samples = Some(delays.count);
            self.delay_min_ms = millis(delays.min);
            self.delay_mean_ms = millis(delays.mean);
            self.delay_max_ms = millis(delays.max);
        }
    }
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The name that a value has in JSON.
fn word(value: impl Serialize) -> String {
    let text = serde_json::to_string(&value).unwrap_or_default();
    text.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_members_in_their_order() {
        let row = crate::document::tests::tcp_row(1, (0, 1000), 125_000);
        let interval = Interval::of(
            1,
            FlowDirection::Forward,
            "T".to_owned(),
            &row,
            Beside::default(),
        );
        let json = serde_json::to_string(&interval).expect("JSON");
        let pairs = Interval::COLUMNS.iter().zip(interval.cells());
        let pairs = pairs.map(|(name, cell)| {
            let text = ["direction", "counted_by", "time"].contains(name);
            match (text, cell.as_str()) {
                (_, "") => format!("\"{name}\":null"),
                (true, cell) => format!("\"{name}\":\"{cell}\""),
                (false, cell) => {
                    let whole = ["start", "end", "seconds", "bits_per_second", "rtt_ms"];
                    let point = whole.contains(name) && !cell.contains('.');
                    format!("\"{name}\":{cell}{}", if point { ".0" } else { "" })
                }
            }
        });
        let pairs: Vec<String> = pairs.collect();
        assert_eq!(json, format!("{{{}}}", pairs.join(",")));
    }
}
