//! What limited a UDP test.

use super::evidence::{LossOrigin, ReceiverEvidence, SenderEvidence};
use super::verdict::{
    Certainty, End, Finding, LimitedBy, Verdict, order_kept, saturation, unexplained, unjudged,
    use_of,
};

/// Share of the datagrams below which a loss does not limit a test: single losses happen.
const FEW: f64 = 0.001;
/// Share of the time in which sends waited for room from which on that is the limit.
const AWAITED: f64 = 0.2;
/// Share of the time without a processor from which on a sender cannot keep a pace.
const HELD_BACK: f64 = 0.1;
/// Most datagrams of a joined group (the kernel's `UDP_MAX_SEGMENTS`).
const LARGEST_GROUP: u64 = 64;
/// A buffer that holds less than this cannot bridge the time until a thread runs, whatever
/// the processor does; microseconds.
const TINY: u64 = 1000;

/// Judges one direction of a UDP test by what its ends know; an end that is not known is the
/// default. Losses decide first, by where most of them happened; without losses, whether the
/// rate asked for was reached, and why not.
#[must_use]
pub fn judge_datagrams(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    if let Some(verdict) = unjudged(sender, receiver) {
        return verdict;
    }
    let receiver = &receiver.with_tail(sender);
    let sent = sender.datagrams.or(receiver.expected).unwrap_or(0);
    if let Some(lost) = receiver.lost.filter(|lost| *lost > 0)
        && lost as f64 >= FEW * sent as f64
        && let Some(loss) = receiver.loss(sender)
    {
        return by_loss(lost, loss, receiver);
    }
    if let Some(kept) = order_kept(sender, receiver) {
        let certainty = match receiver.lost {
            Some(_) => Certainty::High,
            // Sent, but nobody says what came of it.
            None => Certainty::Low,
        };
        let unknown = receiver
            .lost
            .is_none()
            .then_some(Finding::Unknown(End::Receiver));
        let findings = [kept].into_iter().chain(unknown);
        return Verdict::new(LimitedBy::RequestedRate, certainty, findings);
    }
    let frames = sender.schedule.filter(|frames| frames.missed > 0);
    let missed =
        sender.rate.map(Finding::RateMissed).or(frames
            .map(|frames| Finding::ScheduleMissed(frames.missed, frames.sent + frames.missed)));
    let slow = saturation(End::Sender, &sender.host);
    if !slow.is_empty() {
        let findings = slow.into_iter().chain(missed);
        return Verdict::new(LimitedBy::SenderCpu, Certainty::High, findings);
    }
    // The queue of the device was full, and sends waited for it: the first link takes no more. Who
    // waits for a processor meanwhile waits for that.
    let without = sender.host.waiting.unwrap_or(0.0);
    let awaited = sender
        .room_awaited
        .map(|micros| micros as f64 / sender.micros.max(1) as f64 - without)
        .filter(|share| *share >= AWAITED);
    if let Some(share) = awaited {
        let findings = [Finding::RoomAwaited(share)].into_iter().chain(missed);
        return Verdict::new(LimitedBy::Network, Certainty::Medium, findings);
    }
    // The same where sends fail instead.
    if let Some(congested) = sender.congested_sends.filter(|sends| *sends > 0) {
        let findings = [Finding::CongestedSends(congested)]
            .into_iter()
            .chain(missed);
        return Verdict::new(LimitedBy::Network, Certainty::Medium, findings);
    }
    let Some(missed) = missed else {
        return unexplained(sender, receiver);
    };
    let host = &sender.host;
    if host.waiting.is_some_and(|waiting| waiting >= HELD_BACK) {
        let findings = use_of(End::Sender, host).chain([missed]);
        return Verdict::new(LimitedBy::SenderCpu, Certainty::Medium, findings);
    }
    let certainty = match host.is_free() {
        true => Certainty::Medium,
        false => Certainty::Low,
    };
    let stolen = host.stolen.filter(|share| *share >= HELD_BACK);
    let certainty = certainty.min(match stolen {
        Some(_) => Certainty::Low,
        None => Certainty::High,
    });
    let stolen = stolen.map(|share| Finding::Stolen(End::Sender, share));
    let findings = [missed].into_iter().chain(stolen);
    Verdict::new(LimitedBy::Pacing, certainty, findings)
}

fn by_loss(lost: u64, loss: LossOrigin, receiver: &ReceiverEvidence) -> Verdict {
    let Some((network, in_receiver)) = loss.network.zip(loss.receiver_host) else {
        let groups = receiver.socket_drops.unwrap_or(0);
        if groups.saturating_mul(2 * LARGEST_GROUP) >= lost {
            let found = vec![Finding::Lost(lost), Finding::GroupsDropped(groups)];
            return in_receiver_host(found, Certainty::Medium, receiver);
        }
        let findings = [Finding::Lost(lost), Finding::Unknown(End::Receiver)];
        return Verdict::new(LimitedBy::Network, Certainty::Low, findings);
    };
    let in_sender = loss.sender_host.unwrap_or(0);
    let mut parts = vec![];
    let found = |datagrams: u64, finding: Finding| (datagrams > 0).then_some(finding);
    parts.extend(found(network, Finding::LostInNetwork(network)));
    parts.extend(found(
        in_receiver,
        Finding::LostInHost(End::Receiver, in_receiver),
    ));
    parts.extend(found(
        in_sender,
        Finding::LostInHost(End::Sender, in_sender),
    ));
    // Of a host's drops before its sockets some may be others'.
    let largest = network.max(in_receiver).max(in_sender);
    let certainty = if largest.saturating_mul(2) >= lost && loss.sender_host.is_some() {
        Certainty::High
    } else {
        Certainty::Medium
    };
    if largest == in_receiver {
        return in_receiver_host(parts, certainty, receiver);
    }
    // The queue of the sender's device was full: the first link takes no more.
    Verdict::new(LimitedBy::Network, certainty, parts)
}

/// A buffer that is too small, or a reader that is too slow for any.
fn in_receiver_host(
    mut parts: Vec<Finding>,
    certainty: Certainty,
    receiver: &ReceiverEvidence,
) -> Verdict {
    let depth = receiver.buffer_depth;
    parts.extend(depth.map(|micros| Finding::BufferDepth(micros as f64 * 1e-6)));
    let slow = saturation(End::Receiver, &receiver.host);
    if slow.is_empty() || depth.is_some_and(|micros| micros < TINY) {
        let known = receiver.host.is_known() || depth.is_some();
        let certainty = if known { certainty } else { Certainty::Medium };
        return Verdict::new(LimitedBy::ReceiveBuffer, certainty, parts);
    }
    let findings = slow.into_iter().chain(parts);
    Verdict::new(LimitedBy::ReceiverCpu, certainty, findings)
}
