//! One direction of a stream, as both ends counted it.

use serde::Serialize;
use tapeline_base::Placement;

use super::delay::{DelaySummary, OneWayDelay};
use super::figures::{micros_as_millis, millis, rate, rounded, seconds};
use crate::model::{FlowDirection, Measure, Row, UdpReceive};

/// One direction of a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// Its number in the text; both directions of one connection share it.
    pub id: u32,
    /// Which way its data goes.
    pub direction: FlowDirection,
    /// Own address and port.
    pub local: Option<String>,
    /// The peer's address and port.
    pub remote: Option<String>,
    /// Congestion control of this end (TCP).
    pub congestion_control: Option<String>,
    /// How long connect() took (TCP clients).
    pub connect_ms: Option<f64>,
    /// What the sender counted.
    pub sender: Sender,
    /// What the receiver counted.
    pub receiver: Receiver,
    /// Round trips: of requests and their responses, or the sender's smoothed ones (TCP_INFO),
    /// sampled at the end of each interval.
    pub rtt: Option<DelaySummary>,
    /// One-way delays of the data; of requests where there are such.
    pub one_way_delay: Option<OneWayDelay>,
    /// One-way delays of responses.
    pub one_way_delay_reverse: Option<OneWayDelay>,
    /// Requests and responses.
    pub requests: Option<Requests>,
}

impl Stream {
    /// One of which nothing is known.
    pub(crate) fn unknown(id: u32, direction: FlowDirection, udp: bool) -> Self {
        Self {
            id,
            direction,
            local: None,
            remote: None,
            congestion_control: None,
            connect_ms: None,
            sender: Sender::unknown(udp),
            receiver: Receiver::unknown(udp),
            rtt: None,
            one_way_delay: None,
            one_way_delay_reverse: None,
            requests: None,
        }
    }
}

/// Bytes over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// Payload.
    pub bytes: Option<u64>,
    /// Time in which it was counted.
    pub seconds: Option<f64>,
    /// `bytes` over `seconds`.
    pub bits_per_second: Option<f64>,
    /// Processor time over that time, percent of one processor.
    pub cpu_percent: Option<f64>,
    /// Processor time for each 10^9 bytes of payload, seconds: of the process, where its use is known.
    pub cpu_seconds_per_gigabyte: Option<f64>,
    /// Where it handled the stream, as far as its system tells; of a stream, not of a sum.
    pub placement: Option<StreamPlacement>,
}

/// CPUs, memory node and interface queue of one end of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamPlacement {
    /// CPU on which the thread that moved the data ran last.
    pub cpu: Option<u32>,
    /// Memory node (NUMA) of that CPU.
    pub numa_node: Option<u32>,
    /// CPU on which the system took in the stream's last packet.
    pub incoming_cpu: Option<u32>,
    /// NAPI ID of the interface's queue through which that packet came.
    pub napi_id: Option<u32>,
}

impl StreamPlacement {
    fn new(placement: Placement) -> Option<Self> {
        let Placement {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        } = placement;
        placement.is_known().then_some(Self {
            cpu,
            numa_node,
            incoming_cpu,
            napi_id,
        })
    }
}

impl End {
    /// Bytes over a time in seconds.
    pub(crate) fn new(bytes: u64, seconds: f64) -> Self {
        Self {
            bytes: Some(bytes),
            seconds: Some(seconds),
            bits_per_second: rate(bytes, seconds),
            cpu_percent: None,
            cpu_seconds_per_gigabyte: None,
            placement: None,
        }
    }

    /// Takes what the processor did for it.
    pub(crate) fn enter(&mut self, use_: Option<ProcessUse>) {
        let Some(ProcessUse { percent, seconds }) = use_ else {
            return;
        };
        self.cpu_percent = Some(rounded(percent));
        let time = seconds.map(|seconds| percent / 100.0 * seconds);
        let bytes = self.bytes.filter(|bytes| *bytes > 0);
        self.cpu_seconds_per_gigabyte = time
            .zip(bytes)
            .map(|(time, bytes)| (time / bytes as f64 * 1e15).round() / 1e6);
    }

    fn from_row(row: &Row) -> Self {
        Self {
            placement: StreamPlacement::new(row.placement),
            ..Self::new(row.bytes, seconds(row.span.length()))
        }
    }
}

/// Processor use of one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessUse {
    /// Percent of one processor.
    pub(crate) percent: f64,
    /// Time over which that is the use of the whole process, seconds.
    pub(crate) seconds: Option<f64>,
}

/// What the sender counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sender {
    /// Its data.
    #[serde(flatten)]
    pub end: End,
    /// What only one transport has.
    #[serde(flatten)]
    pub details: Option<SenderDetails>,
}

/// What only the sender of one transport has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SenderDetails {
    /// TCP.
    Tcp {
        /// Segments that were sent again.
        retransmits: Option<u64>,
        /// Smoothed round-trip time at the end.
        rtt_ms: Option<f64>,
        /// Congestion window at the end.
        cwnd_bytes: Option<u64>,
    },
    /// UDP.
    Udp {
        /// Datagrams that left, the final one included.
        packets: Option<u64>,
        /// Send calls that failed.
        send_errors: Option<u64>,
    },
}

impl SenderDetails {
    /// Nothing known of a TCP sender.
    pub(crate) const UNKNOWN_TCP: Self = Self::Tcp {
        retransmits: None,
        rtt_ms: None,
        cwnd_bytes: None,
    };
    /// Nothing known of a UDP sender.
    pub(crate) const UNKNOWN_UDP: Self = Self::Udp {
        packets: None,
        send_errors: None,
    };
}

impl Sender {
    /// Of a sender's total.
    pub(crate) fn from_row(row: &Row) -> Self {
        let details = match &row.measure {
            Measure::TcpSend(send) => {
                let state = send.state.unwrap_or_default();
                Some(SenderDetails::Tcp {
                    retransmits: send.retransmits,
                    rtt_ms: state.rtt_micros.map(micros_as_millis),
                    cwnd_bytes: state.window_bytes(),
                })
            }
            Measure::UdpSend(send) => Some(SenderDetails::Udp {
                packets: Some(send.writes),
                send_errors: Some(send.errors),
            }),
            _ => None,
        };
        Self {
            end: End::from_row(row),
            details,
        }
    }

    /// What the other end says of itself: nobody speaks of sends that failed.
    pub(crate) fn from_peer(row: &Row) -> Self {
        let mut sender = Self::from_row(row);
        if let Some(SenderDetails::Udp { send_errors, .. }) = &mut sender.details {
            *send_errors = None;
        }
        sender
    }

    /// Segments that were sent again (TCP).
    pub(crate) fn retransmits(&self) -> Option<u64> {
        match self.details {
            Some(SenderDetails::Tcp { retransmits, .. }) => retransmits,
            _ => None,
        }
    }

    /// Of a sender of which nothing is known.
    pub(crate) fn unknown(udp: bool) -> Self {
        Self {
            end: End::default(),
            details: Some(if udp {
                SenderDetails::UNKNOWN_UDP
            } else {
                SenderDetails::UNKNOWN_TCP
            }),
        }
    }
}

/// What the receiver counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Receiver {
    /// Its data.
    #[serde(flatten)]
    pub end: End,
    /// What only UDP has.
    #[serde(flatten)]
    pub udp: Option<UdpReceiver>,
}

/// What a UDP receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UdpReceiver {
    /// Distinct datagrams that arrived.
    pub packets: Option<u64>,
    /// Datagrams that were sent and did not arrive.
    pub lost: Option<u64>,
    /// `lost` of all that were sent as far as the receiver knows.
    pub lost_percent: Option<f64>,
    /// Of `lost`: on the way.
    pub lost_network: Option<u64>,
    /// Of `lost`: in the receiver's host.
    pub lost_receiver_host: Option<u64>,
    /// Of `lost`: in the sender's host.
    pub lost_sender_host: Option<u64>,
    /// Datagrams that arrived again.
    pub duplicates: Option<u64>,
    /// Distinct datagrams that arrived after a later one.
    pub reordered: Option<u64>,
    /// Largest reordering extent (RFC 4737): distinct datagrams that came between the first later one and a late
    /// one.
    pub reordering_extent: Option<u64>,
    /// Runs of consecutive losses.
    pub loss_runs: Option<u64>,
    /// Datagrams of the longest one.
    pub longest_loss_run: Option<u64>,
    /// Longest time without an arrival, less their mean distance.
    pub longest_gap_ms: Option<f64>,
    /// When it began, seconds after the first arrival.
    pub longest_gap_start_seconds: Option<f64>,
    /// Late and repeated datagrams together, as iperf counts them.
    pub out_of_order: Option<u64>,
    /// RFC 3550 jitter at the end.
    pub jitter_ms: Option<f64>,
    /// Mean of all its values.
    pub jitter_mean_ms: Option<f64>,
}

/// Who counted a receiver's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// A tapeline.
    Tapeline,
    /// A server of iperf 2's protocol, in its report.
    Iperf2Report,
    /// A server of iperf3's protocol, in its results.
    Iperf3Results,
}

impl UdpReceiver {
    /// The jitter of a test: the mean of all values, or the last one where that alone is known.
    pub(crate) fn jitter_of_test_ms(&self) -> Option<f64> {
        self.jitter_mean_ms.or(self.jitter_ms)
    }

    /// Of a receiver's numbers; `behind` were lost behind the last datagram that it saw.
    pub(crate) fn new(receive: &UdpReceive, behind: u64, counter: Counter) -> Self {
        let lost = receive.lost + behind;
        let sent = receive.total + behind;
        let own = counter == Counter::Tapeline;
        let pattern = receive.pattern.filter(|_| own);
        let outage = pattern.and_then(|pattern| pattern.outage);
        // Of nothing, nothing was lost anywhere; an iperf report's loss may hide behind repeats.
        let part = (own && lost == 0).then_some(0);
        Self {
            packets: Some(receive.received),
            lost: Some(lost),
            lost_percent: (sent > 0).then(|| 100.0 * lost as f64 / sent as f64),
            lost_network: part,
            lost_receiver_host: receive.lost_in_host.or(part),
            lost_sender_host: part,
            duplicates: own.then_some(receive.duplicates),
            reordered: own.then_some(receive.reordered),
            reordering_extent: pattern.map(|pattern| pattern.longest_extent),
            loss_runs: pattern.map(|pattern| pattern.runs),
            longest_loss_run: pattern.map(|pattern| pattern.longest_run),
            longest_gap_ms: outage.and_then(|outage| millis(outage.length.as_secs_f64())),
            longest_gap_start_seconds: outage.map(|outage| seconds(outage.start)),
            out_of_order: Some(receive.out_of_order),
            // An iperf 2 server tells one number, which is the mean: nearer to J than nothing.
            jitter_ms: receive.jitter.and_then(millis),
            jitter_mean_ms: receive
                .jitter_mean
                .filter(|_| counter != Counter::Iperf3Results)
                .and_then(millis),
        }
    }
}

impl Receiver {
    /// Of a receiver's total.
    pub(crate) fn from_row(row: &Row, behind: u64, counter: Counter) -> Self {
        let udp = match &row.measure {
            Measure::UdpReceive(receive) => Some(UdpReceiver::new(receive, behind, counter)),
            _ => None,
        };
        Self {
            end: End::from_row(row),
            udp,
        }
    }

    /// Of a receiver of which nothing is known.
    pub(crate) fn unknown(udp: bool) -> Self {
        Self {
            end: End::default(),
            udp: udp.then(UdpReceiver::default),
        }
    }
}

/// Requests and responses of a client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// Responses that came.
    pub responses: u64,
    /// Responses per second, back to back: 1 over the mean round trip.
    pub per_second: Option<f64>,
    /// Bytes of requests.
    pub request_bytes: u64,
    /// Bytes of responses.
    pub response_bytes: u64,
    /// Segments that were sent again.
    pub retransmits: Option<u64>,
}

/// Durations of connecting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConnectTimes {
    /// Of connections that were made.
    #[serde(flatten)]
    pub times: DelaySummary,
    /// Attempts that failed.
    pub failed: u64,
}
