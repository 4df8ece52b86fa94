//! The document as a whole, and its streams together.

use serde::Serialize;
use tapeline_stats::LimitedBy;

use super::delay::LatencyUnderLoad;
use super::figures::rate;
use super::imported::Imported;
use super::interval::Interval;
use super::stream::{ConnectTimes, End, Receiver, Sender, SenderDetails, Stream, UdpReceiver};
use crate::model::{FlowDirection, Severity, TrustLevel, Warning};
use crate::native::finding_words;

/// Name and version of the document's form.
pub const SCHEMA: &str = "tapeline-report/1";

/// One test, as one end tells it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Name and version of this form: `tapeline-report/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: Option<String>,
    /// Its command line, quoted for a shell.
    pub command: Option<String>,
    /// Of a result of another program: how it was taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The other end.
    pub peer: Peer,
    /// What was measured.
    pub test: Test,
    /// Each direction of each stream.
    pub streams: Vec<Stream>,
    /// Each interval of each stream, in the order of their ends.
    pub intervals: Vec<Interval>,
    /// All streams together.
    pub sum: Sum,
    /// Durations of connecting (`--connect-only`).
    pub connect_times: Option<ConnectTimes>,
    /// Round trips beside the traffic and on the quiet path (between two tapelines).
    pub latency_under_load: Option<LatencyUnderLoad>,
    /// What limited the test; `null` when that is not known.
    pub verdict: Option<TestVerdict>,
    /// How far the numbers are to be trusted; `null` of a test that carried no traffic.
    pub trust: Option<TestTrust>,
    /// What a reader of the numbers must know.
    pub warnings: Vec<Warning>,
    /// Why the test did not take place or ended before its time; `null` when it did not.
    pub error: Option<Failure>,
}

impl Report {
    /// Why a test failed: its error, else its first condition that is one, else what it said last; none
    /// where it said nothing.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        if let Some(failure) = &self.error {
            return Some(failure.clone());
        }
        let worst = self
            .warnings
            .iter()
            .find(|warning| warning.severity == Severity::Error)
            .or(self.warnings.last());
        worst.map(|warning| Failure {
            id: warning.id.clone(),
            text: warning.text.clone(),
        })
    }
}

/// The other end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// `tapeline`, `iperf` (version 2) or `iperf3`; `null` when it did not say.
    pub program: Option<String>,
    /// Its version, as it names it.
    pub version: Option<String>,
    /// The host as it was typed (clients).
    pub host: Option<String>,
    /// Its address, without port.
    pub address: Option<String>,
}

/// Which end wrote the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestRole {
    /// The end that ordered the test.
    Client,
    /// The end that waited for orders.
    Server,
}

/// What both ends spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// That of iperf 2.
    Iperf2,
    /// That of iperf3.
    Iperf3,
}

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestShape {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
    /// Both, at the same time or one after the other.
    Bidirectional,
}

/// What the streams do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// They carry data one way or both.
    Stream,
    /// They carry requests and responses (`--bounceback`).
    RequestResponse,
    /// They connect (`--connect-only`).
    ConnectOnly,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// Which end wrote this document.
    pub role: Option<TestRole>,
    /// What both ends spoke.
    pub protocol: Option<Protocol>,
    /// `tcp`, `udp` or `sctp`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["tcp", "udp", "sctp", null])))]
    pub transport: Option<&'static str>,
    /// Who sends.
    pub direction: Option<TestShape>,
    /// What the streams do.
    pub workload: Option<Workload>,
    /// When it began, by this end's clock: RFC 3339, universal time.
    pub started: Option<String>,
    /// How long it was to last; `null` without such a limit.
    pub requested_seconds: Option<f64>,
    /// How much each stream was to send; `null` without such a limit.
    pub requested_bytes: Option<u64>,
    /// What did not count at the start, seconds.
    pub omit_seconds: Option<f64>,
    /// Streams in each direction.
    pub streams: Option<u32>,
    /// Bytes of a write or a datagram.
    pub length_bytes: Option<u64>,
    /// Rate that each stream was to keep; `null` without limit.
    pub requested_bits_per_second: Option<u64>,
    /// The interval of `intervals`.
    pub interval_seconds: Option<f64>,
    /// Congestion control of this end (TCP).
    pub congestion_control: Option<String>,
    /// Socket buffer in force at this end.
    pub socket_buffer_bytes: Option<u64>,
    /// Type of service byte of sent data.
    pub tos: Option<u8>,
    /// It ran to its end, and both ends were there.
    pub complete: bool,
    /// It was ended by an interrupt: the numbers cover a part.
    pub interrupted: bool,
    /// Intervals that are not in this document because the output was too slow, or too many.
    pub intervals_dropped: u64,
}

/// Why a test did not take place, or ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Its name, as that of a warning.
    pub id: String,
    /// A sentence.
    pub text: String,
}

/// What limited a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The limit: `network`, `sender_cpu`, `receiver_cpu`, `send_buffer`, `receive_window`,
    /// `receive_buffer`, `requested_rate`, `input`, `application`, `pacing` or `measurement`; `null`
    /// when the evidence does not tell.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = [
            "network", "sender_cpu", "receiver_cpu", "send_buffer", "receive_window",
            "receive_buffer", "requested_rate", "input", "application", "pacing", "measurement", null
        ]))
    )]
    pub limited_by: Option<&'static str>,
    /// How sure that is: `low`, `medium` or `high`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["low", "medium", "high"])))]
    pub confidence: &'static str,
    /// What it rests on, the weightiest first.
    pub evidence: Vec<String>,
}

/// How far the numbers are to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestTrust {
    /// The level.
    pub level: TrustLevel,
    /// Why, the weightiest reason first; at least one.
    pub reasons: Vec<String>,
}

/// What limited a test of one direction or two.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestVerdict {
    /// The direction that it is about, of two: the one that is limited most.
    pub direction: Option<FlowDirection>,
    /// What limited it.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn new(verdict: &tapeline_stats::Verdict) -> Self {
        Self {
            limited_by: verdict.limited_by.map(LimitedBy::id),
            confidence: verdict.certainty.id(),
            evidence: verdict.findings.iter().map(finding_words).collect(),
        }
    }
}

/// All streams of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sum {
    /// Entries of `streams`.
    pub stream_count: usize,
    /// What senders counted, of all directions.
    pub sender: Sender,
    /// What receivers counted, of all directions.
    pub receiver: Receiver,
    /// The same for each direction that the test has.
    pub directions: Vec<DirectionSum>,
}

/// The streams of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSum {
    /// Which one.
    pub direction: FlowDirection,
    /// Its entries of `streams`.
    pub stream_count: usize,
    /// What its senders counted.
    pub sender: Sender,
    /// What its receivers counted.
    pub receiver: Receiver,
    /// What limited it; `null` when that is not known.
    pub verdict: Option<Verdict>,
}

impl Sum {
    /// Of the streams of a test. What is not known of one stream is not known of the sum.
    pub(crate) fn from_streams(streams: &[Stream]) -> Self {
        let all: Vec<&Stream> = streams.iter().collect();
        let directions = [
            FlowDirection::Forward,
            FlowDirection::Reverse,
            FlowDirection::RoundTrip,
        ];
        let directions = directions.into_iter().filter_map(|direction| {
            let its: Vec<&Stream> = all
                .iter()
                .copied()
                .filter(|stream| stream.direction == direction)
                .collect();
            (!its.is_empty()).then(|| DirectionSum {
                direction,
                stream_count: its.len(),
                sender: sender(&its),
                receiver: receiver(&its),
                verdict: None,
            })
        });
        Self {
            stream_count: streams.len(),
            directions: directions.collect(),
            sender: sender(&all),
            receiver: receiver(&all),
        }
    }
}

/// Adds up what is known of each; nothing of none.
fn total<T: Copy>(values: impl Iterator<Item = Option<T>>, plus: fn(T, T) -> T) -> Option<T> {
    let mut sum = None;
    for value in values {
        let value = value?;
        sum = Some(sum.map_or(value, |sum| plus(sum, value)));
    }
    sum
}

fn counts(values: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    total(values, u64::saturating_add)
}

/// Bytes of all over the longest time.
fn end<'a>(ends: impl Iterator<Item = &'a End> + Clone) -> End {
    let bytes = counts(ends.clone().map(|end| end.bytes));
    let seconds = total(ends.map(|end| end.seconds), f64::max);
    End {
        bytes,
        seconds,
        bits_per_second: bytes.zip(seconds).and_then(|(b, s)| rate(b, s)),
        cpu_percent: None,
        cpu_seconds_per_gigabyte: None,
        placement: None,
    }
}

fn sender(streams: &[&Stream]) -> Sender {
    let all = || streams.iter().map(|stream| &stream.sender);
    let details = || all().map(|sender| sender.details.as_ref());
    let udp = details()
        .flatten()
        .any(|details| matches!(details, SenderDetails::Udp { .. }));
    let known = details().flatten().next();
    Sender {
        end: end(all().map(|sender| &sender.end)),
        details: known.map(|_| {
            if udp {
                let number = |pick: fn(&SenderDetails) -> Option<u64>| {
                    counts(details().map(move |details| details.and_then(pick)))
                };
                SenderDetails::Udp {
                    packets: number(|details| match details {
                        SenderDetails::Udp { packets, .. } => *packets,
                        SenderDetails::Tcp { .. } => None,
                    }),
                    send_errors: number(|details| match details {
                        SenderDetails::Udp { send_errors, .. } => *send_errors,
                        SenderDetails::Tcp { .. } => None,
                    }),
                }
            } else {
                SenderDetails::Tcp {
                    retransmits: counts(details().map(|details| match details {
                        Some(SenderDetails::Tcp { retransmits, .. }) => *retransmits,
                        _ => None,
                    })),
                    // Of one stream only.
                    rtt_ms: None,
                    cwnd_bytes: None,
                }
            }
        }),
    }
}

fn receiver(streams: &[&Stream]) -> Receiver {
    let all = || streams.iter().map(|stream| &stream.receiver);
    let udp = || all().filter_map(|receiver| receiver.udp.as_ref());
    let number = |pick: fn(&UdpReceiver) -> Option<u64>| counts(udp().map(pick));
    let longest = |pick: fn(&UdpReceiver) -> Option<f64>| total(udp().map(pick), f64::max);
    let largest = |pick: fn(&UdpReceiver) -> Option<u64>| total(udp().map(pick), u64::max);
    let lost = number(|one| one.lost);
    let packets = number(|one| one.packets);
    let sent = lost
        .zip(packets)
        .map(|(lost, packets)| lost.saturating_add(packets));
    Receiver {
        end: end(all().map(|receiver| &receiver.end)),
        udp: udp().next().map(|_| UdpReceiver {
            packets,
            lost,
            lost_percent: lost
                .zip(sent.filter(|sent| *sent > 0))
                .map(|(lost, sent)| 100.0 * lost as f64 / sent as f64),
            lost_network: number(|one| one.lost_network),
            lost_receiver_host: number(|one| one.lost_receiver_host),
            lost_sender_host: number(|one| one.lost_sender_host),
            duplicates: number(|one| one.duplicates),
            reordered: number(|one| one.reordered),
            reordering_extent: largest(|one| one.reordering_extent),
            loss_runs: number(|one| one.loss_runs),
            longest_loss_run: largest(|one| one.longest_loss_run),
            longest_gap_ms: longest(|one| one.longest_gap_ms),
            // Of one stream only.
            longest_gap_start_seconds: None,
            out_of_order: number(|one| one.out_of_order),
            jitter_ms: longest(|one| one.jitter_ms),
            jitter_mean_ms: longest(|one| one.jitter_mean_ms),
        }),
    }
}
