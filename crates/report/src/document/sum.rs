//! Flows together.

use serde::Serialize;

use super::flow::{End, Flow, Receiver, Sender, SenderDetails, UdpReceiver, rate};
use super::report::{FlowDirection, Verdict};

/// All flows of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sum {
    /// Entries of `flows`.
    pub flows: usize,
    /// What senders counted, of all directions.
    pub sender: Sender,
    /// What receivers counted, of all directions.
    pub receiver: Receiver,
    /// The same for each direction that the test has.
    pub directions: Vec<DirectionSum>,
}

/// The flows of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSum {
    /// Which one.
    pub direction: FlowDirection,
    /// Its entries of `flows`.
    pub flows: usize,
    /// What its senders counted.
    pub sender: Sender,
    /// What its receivers counted.
    pub receiver: Receiver,
    /// What limited it; `null` when that is not known.
    pub verdict: Option<Verdict>,
}

impl Sum {
    /// Of the flows of a test. What is not known of one flow is not known of the sum.
    pub(super) fn of(flows: &[Flow]) -> Self {
        let all: Vec<&Flow> = flows.iter().collect();
        let directions = [
            FlowDirection::Forward,
            FlowDirection::Reverse,
            FlowDirection::RoundTrip,
        ];
        let directions = directions.into_iter().filter_map(|direction| {
            let its: Vec<&Flow> = all
                .iter()
                .copied()
                .filter(|flow| flow.direction == direction)
                .collect();
            (!its.is_empty()).then(|| DirectionSum {
                direction,
                flows: its.len(),
                sender: sender(&its),
                receiver: receiver(&its),
                verdict: None,
            })
        });
        Self {
            flows: flows.len(),
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
    }
}

fn sender(flows: &[&Flow]) -> Sender {
    let all = || flows.iter().map(|flow| &flow.sender);
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
                    // Of one flow only.
                    rtt_ms: None,
                    cwnd_bytes: None,
                }
            }
        }),
    }
}

fn receiver(flows: &[&Flow]) -> Receiver {
    let all = || flows.iter().map(|flow| &flow.receiver);
    let udp = || all().filter_map(|receiver| receiver.udp.as_ref());
    let number = |pick: fn(&UdpReceiver) -> Option<u64>| counts(udp().map(pick));
    let longest = |pick: fn(&UdpReceiver) -> Option<f64>| total(udp().map(pick), f64::max);
    let largest = |pick: fn(&UdpReceiver) -> Option<u64>| total(udp().map(pick), u64::max);
    let lost = number(|one| one.lost);
    let packets = number(|one| one.packets);
    let sent = lost.zip(packets).map(|(lost, packets)| lost + packets);
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
            longest_outage_ms: longest(|one| one.longest_outage_ms),
            // Of one flow only.
            longest_outage_start: None,
            out_of_order: number(|one| one.out_of_order),
            jitter_ms: longest(|one| one.jitter_ms),
            jitter_mean_ms: longest(|one| one.jitter_mean_ms),
        }),
    }
}
