//! The numbers of one stream in one interval.

use serde::Serialize;
use tapeline_stats::Moments;

use super::figures::{micros_as_millis, millis, rate, rounded, seconds};
use crate::model::{FlowDirection, Measure, PeerProgress, Phase, ProbeDelays, Row, TcpState};

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

/// Makes a struct whose members are the columns of a table too.
macro_rules! columns {
    (
        $(#[$of_struct:meta])*
        pub struct $name:ident {
            $($(#[$of_member:meta])* pub $member:ident: $type:ty,)+
        }
    ) => {
        $(#[$of_struct])*
        pub struct $name {
            $($(#[$of_member])* pub $member: $type,)+
        }

        impl $name {
            /// Names of the members, in their order.
            pub(crate) const COLUMNS: &[&str] = &[$(stringify!($member)),+];

            /// The members as text, in the order of [`Self::COLUMNS`]; empty when not known.
            pub(crate) fn cells(&self) -> Vec<String> {
                vec![$(self.$member.cell()),+]
            }
        }
    };
}

columns! {
    /// One stream in one interval. Every interval has all members; those that its stream does not have,
    /// or that are not known, are `null`.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Interval {
        /// Number of the stream.
        pub stream: u32,
        /// Its direction.
        pub direction: FlowDirection,
        /// Which end counted.
        pub counted_by: CountedBy,
        /// When it ended, by this end's clock: RFC 3339, universal time.
        pub time: Option<String>,
        /// Start, seconds after the stream's.
        pub start_seconds: f64,
        /// End, seconds after the stream's start.
        pub end_seconds: f64,
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
        /// That of the peer, as it reported last: twice a second.
        pub peer_cpu_percent: Option<f64>,
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
}

/// What is told beside the rows of an interval, of no flow alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntervalContext {
    /// Processor use of this process, percent of one processor.
    pub(crate) own_cpu: Option<f64>,
    /// That of the other end.
    pub(crate) other_cpu: Option<f64>,
    /// Round trips of probes.
    pub(crate) probes: Option<ProbeDelays>,
}

impl Interval {
    /// Of which nothing is known but its stream and who counted.
    pub(crate) const fn new(stream: u32, direction: FlowDirection, counted_by: CountedBy) -> Self {
        Self {
            stream,
            direction,
            counted_by,
            time: None,
            start_seconds: 0.0,
            end_seconds: 0.0,
            seconds: 0.0,
            omitted: false,
            bytes: 0,
            bits_per_second: None,
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
            cpu_percent: None,
            peer_cpu_percent: None,
            loss_runs: None,
            reordering_extent: None,
            probe_samples: None,
            probe_min_ms: None,
            probe_mean_ms: None,
            probe_max_ms: None,
        }
    }

    /// Of a row of a flow; `time` is the end in words.
    pub(crate) fn from_row(
        stream: u32,
        direction: FlowDirection,
        time: String,
        row: &Row,
        context: IntervalContext,
    ) -> Self {
        let probes = context.probes.map(|probes| probes.round_trips);
        let length = seconds(row.span.length());
        let counted_by = match row.measure {
            Measure::TcpReceive(_) | Measure::UdpReceive(_) => CountedBy::Receiver,
            _ => CountedBy::Sender,
        };
        let mut interval = Self {
            time: Some(time),
            start_seconds: seconds(row.span.start),
            end_seconds: seconds(row.span.end),
            seconds: length,
            omitted: row.phase == Phase::Omitted,
            bytes: row.bytes,
            bits_per_second: rate(row.bytes, length),
            cpu_percent: context.own_cpu.map(rounded),
            peer_cpu_percent: context.other_cpu.map(rounded),
            probe_samples: probes.map(|probes| probes.count),
            probe_min_ms: probes.and_then(|probes| millis(probes.min)),
            probe_mean_ms: probes.and_then(|probes| millis(probes.mean)),
            probe_max_ms: probes.and_then(|probes| millis(probes.max)),
            ..Self::new(stream, direction, counted_by)
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
        self.cwnd_bytes = state.window_bytes();
        self.in_flight_bytes = state.in_flight_bytes();
        self.ssthresh_bytes = state.threshold_bytes();
        self.delivery_bits_per_second = state.delivery.map(|rate| rate.0);
        self.rtt_ms = state.rtt_micros.map(micros_as_millis);
        self.rtt_variance_ms = state.rtt_variance_micros.map(micros_as_millis);
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

/// Running counters of the other end, over all flows of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PeerInterval {
    /// Time since its first flow's start, seconds.
    pub seconds: f64,
    /// Payload that it has sent or received.
    pub bytes: u64,
    /// Datagrams that it has sent or received; `null` over TCP.
    pub packets: Option<u64>,
    /// Streams that run there.
    pub streams: u32,
    /// Its processor use since the line before, percent of one processor.
    pub cpu_percent: Option<f64>,
}

impl PeerInterval {
    pub(crate) fn new(progress: &PeerProgress, udp: bool) -> Self {
        Self {
            seconds: seconds(progress.elapsed),
            bytes: progress.bytes,
            packets: udp.then_some(progress.datagrams),
            streams: progress.flows,
            cpu_percent: progress.cpu_percent.map(rounded),
        }
    }
}

/// A member as the cell of a table.
trait Cell {
    fn cell(&self) -> String;
}

/// Numbers and words as they are.
macro_rules! plain_cells {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(&self) -> String {
                self.to_string()
            }
        })+
    };
}

plain_cells!(u32, u64, f64, bool, String);

/// Words as JSON has them.
macro_rules! word_cells {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(&self) -> String {
                let text = serde_json::to_string(self).unwrap_or_default();
                text.trim_matches('"').to_owned()
            }
        })+
    };
}

word_cells!(FlowDirection, CountedBy);

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> String {
        self.as_ref().map_or_else(String::new, Cell::cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_members_in_their_order() {
        let row = crate::document::tests::tcp_row(1, (0, 1000), 125_000);
        let interval = Interval::from_row(
            1,
            FlowDirection::Forward,
            "T".to_owned(),
            &row,
            IntervalContext::default(),
        );
        let json = serde_json::to_string(&interval).expect("JSON");
        let pairs = Interval::COLUMNS.iter().zip(interval.cells());
        let pairs = pairs.map(|(name, cell)| {
            let text = ["direction", "counted_by", "time"].contains(name);
            match (text, cell.as_str()) {
                (_, "") => format!("\"{name}\":null"),
                (true, cell) => format!("\"{name}\":\"{cell}\""),
                (false, cell) => {
                    let whole = [
                        "start_seconds",
                        "end_seconds",
                        "seconds",
                        "bits_per_second",
                        "rtt_ms",
                    ];
                    let point = whole.contains(name) && !cell.contains('.');
                    format!("\"{name}\":{cell}{}", if point { ".0" } else { "" })
                }
            }
        });
        let pairs: Vec<String> = pairs.collect();
        assert_eq!(json, format!("{{{}}}", pairs.join(",")));
    }
}
