//! What limited a TCP test.

use super::evidence::{BUSY, HostEvidence, ReceiverEvidence, SenderEvidence, StreamTimes};
use super::verdict::{
    Certainty, End, Finding, LimitedBy, SATURATED, Verdict, is_throttled, order_kept, saturation,
    unexplained, unjudged, unknown_ends, use_of,
};

/// Share of the busy time from which on a window or buffer is the limit (methodology 16).
const LIMITS: f64 = 0.2;
/// Share from which on that is sure.
const SURELY: f64 = 0.5;
/// Share from which on a window or buffer that is not the limit is reported.
const SIGNIFICANT_SHARE: f64 = 0.02;
/// Share of a window or buffer from which on it counts as used up in each round trip. A buffer that
/// the system sizes by itself stays below a third.
const USED_UP: f64 = 0.4;
/// Share of the send buffer from which on it was full whatever the kernel's clock says.
const FULL: f64 = 0.7;
/// Share of a receiver's time without a processor from which on it cannot keep a window open.
const HELD_BACK: f64 = 0.35;
/// Share of a sender's time without anything outstanding from which on the path is not the limit.
const IDLE: f64 = 0.5;
/// Growth of the round-trip time from which on a queue stands on the path.
const QUEUED: f64 = 1.5;
/// The least that such a queue takes, microseconds: threads that wake up late look like shorter ones.
const QUEUE: u32 = 1000;
/// Growth beyond which a larger buffer would have filled nothing but the queue.
const FILLED: f64 = 2.0;
/// Lost segments that are more than chance, at least.
const LOSSES: u64 = 3;
/// Share of the segments that is lost where losses hold the congestion window down.
const LOSS: f64 = 1e-4;
/// Bits per second from which on a receiver's processor may be the limit of any test.
const FAST: f64 = 1e9;
/// Round trips below which a congestion window may still be opening.
const ROUND_TRIPS: u64 = 20;

/// Judges one direction of a TCP test by what its ends know; an end that is not known is the
/// default. The test's own orders come first, then processors that were never done, then windows and
/// buffers that the path without queues uses up, and the path itself last.
#[must_use]
pub fn judge_stream(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    if let Some(verdict) = unjudged(sender, receiver) {
        return verdict;
    }
    if let Some(kept) = order_kept(sender, receiver) {
        return Verdict::new(LimitedBy::RequestedRate, Certainty::High, [kept]);
    }
    let share = |micros: u64| micros as f64 / sender.micros.max(1) as f64;
    if let Some(awaited) = sender
        .input_awaited
        .map(share)
        .filter(|share| *share >= LIMITS)
    {
        let found = [Finding::InputAwaited(awaited)];
        return Verdict::new(LimitedBy::Input, sure(awaited), found);
    }
    let Some(times) = sender.stream.filter(|times| times.busy > 0) else {
        return by_processors(sender, receiver);
    };
    let path = Path::of(sender, times);
    if let Some(verdict) = by_saturation(sender, receiver, &path) {
        return verdict;
    }
    if let Some(verdict) = by_window(sender, receiver, &path) {
        return verdict;
    }
    if let Some(verdict) = by_buffer(sender, &path) {
        return verdict;
    }
    let idle = 1.0 - share(times.busy);
    if idle >= IDLE {
        if sender
            .host
            .waiting
            .is_some_and(|waiting| waiting >= HELD_BACK)
        {
            let found = use_of(End::Sender, &sender.host).chain([Finding::Idle(idle)]);
            return Verdict::new(LimitedBy::SenderCpu, Certainty::Medium, found);
        }
        let certainty = match sender.host.is_free() {
            true => Certainty::Medium,
            false => Certainty::Low,
        };
        let found = [Finding::Idle(idle)];
        return Verdict::new(LimitedBy::Application, certainty, found);
    }
    by_path(sender, receiver, &path)
}

/// A processor that was never done.
fn by_saturation(
    sender: &SenderEvidence,
    receiver: &ReceiverEvidence,
    path: &Path,
) -> Option<Verdict> {
    let slow_sender = saturation(End::Sender, &sender.host);
    let slow_receiver = saturation(End::Receiver, &receiver.host);
    let behind = path.receive_window >= LIMITS;
    match (slow_sender.is_empty(), slow_receiver.is_empty()) {
        (true, true) => None,
        // Whatever came was read before a window or buffer was full, late as the reader got its
        // processor.
        (true, false) if !behind && path.send_buffer < LIMITS && only_waits(&receiver.host) => None,
        (true, false) => {
            // A reader that is never done does not wait for the path; what it holds up may
            // even be dropped.
            let certainty = match behind {
                true => Certainty::High,
                false => Certainty::Medium,
            };
            let found = slow_receiver.into_iter().chain(path.window_findings());
            Some(Verdict::new(LimitedBy::ReceiverCpu, certainty, found))
        }
        (false, true) if behind && !path.window_is_used() => {
            let late = held_back(&receiver.host);
            let (limit, slow) = match late.is_empty() {
                true => (LimitedBy::SenderCpu, slow_sender),
                false => (LimitedBy::ReceiverCpu, late),
            };
            let found = slow.into_iter().chain(path.window_findings());
            Some(Verdict::new(limit, Certainty::Medium, found))
        }
        (false, true) => Some(Verdict::new(
            LimitedBy::SenderCpu,
            Certainty::High,
            slow_sender,
        )),
        (false, false) if behind => {
            let found = slow_receiver.into_iter().chain(path.window_findings());
            Some(Verdict::new(
                LimitedBy::ReceiverCpu,
                Certainty::Medium,
                found,
            ))
        }
        (false, false) => {
            let found = slow_sender.into_iter().chain(slow_receiver);
            Some(Verdict::new(LimitedBy::SenderCpu, Certainty::Low, found))
        }
    }
}

/// A receiver's window that was full: it is too small for the path, or opened slowly by its reader. One
/// that holds nothing but the path's own queue is no limit.
fn by_window(sender: &SenderEvidence, receiver: &ReceiverEvidence, path: &Path) -> Option<Verdict> {
    if path.receive_window < LIMITS || path.receive_window < path.send_buffer {
        return None;
    }
    let findings = path.window_findings();
    let Some(used) = path.window_use else {
        // Whether the path uses the window is not known.
        let known = receiver.host.is_free() && !path.is_queued(sender, receiver);
        let certainty = match known {
            true => Certainty::Medium,
            false => Certainty::Low,
        };
        let findings = findings.chain(unknown_ends(sender, receiver));
        return Some(Verdict::new(LimitedBy::ReceiveWindow, certainty, findings));
    };
    if used >= USED_UP {
        let certainty = match path.growth < QUEUED {
            true => sure(path.receive_window),
            false => Certainty::Low,
        };
        return Some(Verdict::new(LimitedBy::ReceiveWindow, certainty, findings));
    }
    // By Little's law, what is on its way: with a queue in it the window is full of the queue.
    if path.is_queued(sender, receiver) && used * path.growth >= USED_UP {
        return None;
    }
    let slow = held_back(&receiver.host);
    if !slow.is_empty() {
        let certainty = match sender.host.load() < SATURATED {
            true => Certainty::High,
            false => Certainty::Medium,
        };
        let findings = slow.into_iter().chain(findings);
        return Some(Verdict::new(LimitedBy::ReceiverCpu, certainty, findings));
    }
    if receiver.host.is_free() {
        return None;
    }
    // It may as well be its reader that was slow, by its processor or by order.
    let findings = findings.chain(unknown_ends(sender, receiver));
    let limit = LimitedBy::ReceiveWindow;
    Some(Verdict::new(limit, Certainty::Low, findings))
}

/// A send buffer that is too small for the path.
fn by_buffer(sender: &SenderEvidence, path: &Path) -> Option<Verdict> {
    let limit = LimitedBy::SendBuffer;
    let clock = Finding::SendBuffer(path.send_buffer);
    // The kernel's clock of a full buffer stops whenever room appears, and does not start while
    // the writer is quicker than the acknowledgements: where it ran at all, a smaller share counts.
    let enough = match path.send_buffer >= SIGNIFICANT_SHARE {
        true => USED_UP,
        false => FULL,
    };
    if let Some(used) = sender.buffer_use.filter(|used| *used >= enough) {
        let certainty = match path.growth {
            growth if growth < QUEUED => Certainty::High,
            growth if growth < FILLED => Certainty::Medium,
            _ => Certainty::Low,
        };
        let findings = [Finding::BufferUse(used), clock];
        return Some(Verdict::new(limit, certainty, findings));
    }
    if path.send_buffer < LIMITS || path.queue >= QUEUE && path.growth >= QUEUED {
        return None;
    }
    // A short queue and a peer that answers late look alike.
    let certainty = match (sender.buffer_use, path.growth < QUEUED) {
        (Some(_), false) => Certainty::Low,
        (Some(_), true) => Certainty::Medium,
        (None, _) => sure(path.send_buffer),
    };
    let used = sender.buffer_use.map(Finding::BufferUse);
    let findings = [clock].into_iter().chain(used);
    Some(Verdict::new(limit, certainty, findings))
}

/// Neither ends nor buffers: the congestion window is left, and what holds it down.
fn by_path(sender: &SenderEvidence, receiver: &ReceiverEvidence, path: &Path) -> Verdict {
    let queued = path.is_queued(sender, receiver);
    let mut findings = vec![Finding::CongestionWindow(path.congestion_window)];
    if queued && let Some(trips) = sender.round_trips {
        let seconds = |micros: u32| f64::from(micros) * 1e-6;
        findings.push(Finding::Queue(
            seconds(trips.smallest),
            seconds(trips.smoothed),
        ));
    }
    let again = sender.retransmits.filter(|segments| *segments > 0);
    findings.extend(again.map(Finding::Retransmissions));
    let significant = |share: f64| share >= SIGNIFICANT_SHARE;
    if significant(path.receive_window) {
        findings.extend(path.window_findings());
    }
    if significant(path.send_buffer) {
        findings.push(Finding::SendBuffer(path.send_buffer));
    }
    let unexplained_window = path.receive_window >= LIMITS && !queued;
    let loaded = sender.host.load() >= BUSY || receiver.host.load() >= BUSY;
    let shown = queued || losing(sender);
    let few = path
        .round_trips
        .filter(|trips| *trips < ROUND_TRIPS && !shown);
    findings.extend(few.map(Finding::RoundTrips));
    if sender.app_limited == Some(true) && !shown {
        let findings = [Finding::DeliveryOwn].into_iter().chain(findings);
        return Verdict::new(LimitedBy::Application, Certainty::Low, findings);
    }
    let certainty = if unexplained_window || loaded || few.is_some() {
        Certainty::Low
    } else if receiver.host.is_free() && sender.host.is_free() {
        match shown {
            true => Certainty::High,
            false => Certainty::Medium,
        }
    } else if queued && !significant(path.receive_window) && !is_fast(sender) {
        // What a starved receiver drops looks like the path's losses; at high rates what it
        // acknowledges late looks like a queue, too.
        Certainty::Medium
    } else {
        Certainty::Low
    };
    if certainty < Certainty::High {
        findings.extend(unknown_ends(sender, receiver));
    }
    Verdict::new(LimitedBy::Network, certainty, findings)
}

/// Whether segments are lost in a number that holds the congestion window down. What the receiver had
/// already was no loss.
fn losing(sender: &SenderEvidence) -> bool {
    let again = sender.retransmits.unwrap_or(0);
    let lost = again.saturating_sub(sender.spurious.unwrap_or(0));
    let segments = sender.segments.unwrap_or(u64::MAX);
    lost >= LOSSES && lost as f64 >= LOSS * segments as f64
}

fn is_fast(sender: &SenderEvidence) -> bool {
    sender.throughput.is_some_and(|rate| rate >= FAST)
}

/// Why a receiver did not read in time. Less is needed than for a processor that is the limit all
/// the time: a receiver that gets to read empties the window at once, and sleeps until the next data.
fn held_back(host: &HostEvidence) -> Vec<Finding> {
    let found = saturation(End::Receiver, host);
    let waiting = host
        .waiting
        .filter(|waiting| *waiting >= HELD_BACK || host.load() >= 2.0 * HELD_BACK);
    match waiting {
        Some(_) if found.is_empty() => use_of(End::Receiver, host).collect(),
        _ => found,
    }
}

/// A thread that had to wait for its processor, and needs little of it.
fn only_waits(host: &HostEvidence) -> bool {
    let running = host.load() - host.waiting.unwrap_or(0.0);
    running < HELD_BACK && !is_throttled(host)
}

/// Without the kernel's times there are the processors, and guesses are not made.
fn by_processors(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    let slow_sender = saturation(End::Sender, &sender.host);
    let slow_receiver = saturation(End::Receiver, &receiver.host);
    let both = !slow_sender.is_empty() && !slow_receiver.is_empty();
    let (limit, findings) = match slow_receiver.is_empty() {
        true => (LimitedBy::SenderCpu, slow_sender),
        false => (LimitedBy::ReceiverCpu, slow_receiver),
    };
    if findings.is_empty() {
        return unexplained(sender, receiver);
    }
    let certainty = match both {
        true => Certainty::Low,
        false => Certainty::Medium,
    };
    Verdict::new(limit, certainty, findings)
}

fn sure(share: f64) -> Certainty {
    if share >= SURELY {
        Certainty::High
    } else {
        Certainty::Medium
    }
}

/// How a sender's kernel saw the path, in shares of the time with data outstanding.
struct Path {
    receive_window: f64,
    send_buffer: f64,
    congestion_window: f64,
    /// Share of the receiver's largest window that the path without queues uses.
    window_use: Option<f64>,
    /// Growth of the round-trip time, at least 1.
    growth: f64,
    /// The same, microseconds.
    queue: u32,
    /// Round trips of the test.
    round_trips: Option<u64>,
}

impl Path {
    fn of(sender: &SenderEvidence, times: StreamTimes) -> Self {
        let share = |micros: u64| (micros as f64 / times.busy as f64).min(1.0);
        let (receive_window, send_buffer) = (share(times.receive_window), share(times.send_buffer));
        let trips = sender.round_trips;
        Self {
            receive_window,
            send_buffer,
            congestion_window: (1.0 - receive_window - send_buffer).max(0.0),
            window_use: sender.window_use,
            growth: trips.map_or(1.0, |trips| trips.growth()),
            queue: trips.map_or(0, |trips| trips.queue()),
            round_trips: trips.map(|trips| sender.longest / u64::from(trips.smallest.max(1))),
        }
    }

    /// The path without queues uses the receiver's window up.
    fn window_is_used(&self) -> bool {
        self.window_use.is_some_and(|used| used >= USED_UP)
    }

    /// A queue of the path, and no late threads: those of busy hosts are late by milliseconds.
    fn is_queued(&self, sender: &SenderEvidence, receiver: &ReceiverEvidence) -> bool {
        let busy = sender.host.load() >= BUSY || receiver.host.load() >= BUSY;
        self.growth >= QUEUED && self.queue >= QUEUE && (!busy || self.queue >= 10 * QUEUE)
    }

    fn window_findings(&self) -> impl Iterator<Item = Finding> {
        let full = (self.receive_window >= SIGNIFICANT_SHARE)
            .then_some(Finding::ReceiveWindow(self.receive_window));
        let used = full.and(self.window_use).map(Finding::WindowUse);
        full.into_iter().chain(used)
    }
}
