//! What limited a TCP test.

use super::evidence::{HostEvidence, ReceiverEvidence, SenderEvidence, StreamTimes};
use super::verdict::{
    Certainty, End, Finding, LimitedBy, Verdict, rate_reached, saturation, unexplained,
    unknown_ends,
};

/// Share of the busy time from which on a window or buffer is the limit (methodology 16).
const LIMITS: f64 = 0.2;
/// Share from which on that is sure.
const SURELY: f64 = 0.5;
/// Share from which on a window or buffer that is not the limit is told.
const WORTH_TELLING: f64 = 0.02;
/// Share of a window or buffer from which on it counts as used up in each round trip. A buffer that
/// the system sizes by itself stays below a third.
const USED_UP: f64 = 0.4;
/// Share of the send buffer from which on it was full whatever the kernel's clock says.
const FULL: f64 = 0.7;
/// Share of a receiver's time without a processor from which on it cannot keep a window open.
const HELD_BACK: f64 = 0.35;
/// Load of a receiver from which on it always has something to read.
const NEVER_DONE: f64 = 0.9;
/// Load of a traffic thread from which on a faster path might have gained little.
const BUSY: f64 = 0.6;
/// Share of a sender's time without anything outstanding from which on the path is not the limit.
const IDLE: f64 = 0.5;

/// Judges one direction of a TCP test by what its ends know; an end that is not known is the
/// default. The kernel's times of a sender come first, since they see the path and both buffers;
/// what the receiver says tells a slow receiver from a small window.
#[must_use]
pub fn judge_stream(sender: &SenderEvidence, receiver: &ReceiverEvidence) -> Verdict {
    if let Some(reached) = rate_reached(sender) {
        return Verdict::new(LimitedBy::Application, Certainty::High, [reached]);
    }
    let share = |micros: u64| micros as f64 / sender.micros.max(1) as f64;
    if let Some(awaited) = sender
        .input_awaited
        .map(share)
        .filter(|share| *share >= LIMITS)
    {
        let certainty = sure(awaited);
        return Verdict::new(
            LimitedBy::Application,
            certainty,
            [Finding::InputAwaited(awaited)],
        );
    }
    let slow_receiver = saturation(End::Receiver, &receiver.host);
    let slow_sender = saturation(End::Sender, &sender.host);
    let Some(times) = sender.stream.filter(|times| times.busy > 0) else {
        return by_processors(sender, receiver, slow_sender, slow_receiver);
    };
    let Shares {
        receive_window,
        send_buffer,
        congestion_window,
    } = Shares::of(times);
    if receive_window >= LIMITS && receive_window >= send_buffer {
        return full_window(receive_window, sender, receiver, slow_sender.is_empty());
    }
    // The kernel's clock of a full buffer stops whenever room appears, and does not start while
    // the writer is quicker than the acknowledgements: where it ran at all, a smaller share counts.
    let enough = match send_buffer >= WORTH_TELLING {
        true => USED_UP,
        false => FULL,
    };
    let used = sender.buffer_use.filter(|used| *used >= enough);
    if let Some(used) = used {
        let findings = [Finding::BufferUse(used), Finding::SendBuffer(send_buffer)];
        return Verdict::new(LimitedBy::SendBuffer, Certainty::High, findings);
    }
    if !slow_sender.is_empty() {
        return Verdict::new(LimitedBy::SenderCpu, Certainty::High, slow_sender);
    }
    if send_buffer >= LIMITS {
        let full = Finding::SendBuffer(send_buffer);
        return Verdict::new(LimitedBy::SendBuffer, sure(send_buffer), [full]);
    }
    let idle = 1.0 - share(times.busy);
    if idle >= IDLE {
        let findings = [Finding::Idle(idle)];
        return Verdict::new(LimitedBy::Application, Certainty::Medium, findings);
    }
    // A reader that is never done does not wait for the path; what it holds up may even be dropped.
    if load(&receiver.host) >= NEVER_DONE {
        let findings = held_back(&receiver.host);
        return Verdict::new(LimitedBy::ReceiverCpu, Certainty::Medium, findings);
    }
    let mut findings = vec![Finding::CongestionWindow(congestion_window)];
    let worth = |share: f64, finding: Finding| (share >= WORTH_TELLING).then_some(finding);
    findings.extend(worth(
        receive_window,
        Finding::ReceiveWindow(receive_window),
    ));
    findings.extend(worth(send_buffer, Finding::SendBuffer(send_buffer)));
    let again = sender.retransmits.filter(|segments| *segments > 0);
    findings.extend(again.map(Finding::Retransmissions));
    let certainty = match again {
        _ if load(&sender.host) >= BUSY || load(&receiver.host) >= BUSY => Certainty::Low,
        Some(_) => Certainty::High,
        None if receiver.host.is_known() => Certainty::Medium,
        None => Certainty::Low,
    };
    if again.is_none() {
        findings.extend(unknown_ends(sender, receiver));
    }
    Verdict::new(LimitedBy::Network, certainty, findings)
}

/// A full window: a small one that is used up in each round trip, or one that opens slowly because
/// its receiver does not read.
fn full_window(
    share: f64,
    sender: &SenderEvidence,
    receiver: &ReceiverEvidence,
    free_sender: bool,
) -> Verdict {
    let mut findings = vec![Finding::ReceiveWindow(share)];
    findings.extend(sender.window_use.map(Finding::WindowUse));
    if sender.window_use.is_some_and(|used| used >= USED_UP) {
        return Verdict::new(LimitedBy::ReceiveWindow, sure(share), findings);
    }
    let slow = held_back(&receiver.host);
    if !slow.is_empty() {
        let certainty = match free_sender {
            true => Certainty::High,
            false => Certainty::Medium,
        };
        let findings = slow.into_iter().chain(findings);
        return Verdict::new(LimitedBy::ReceiverCpu, certainty, findings);
    }
    let certainty = match (receiver.host.is_known(), sender.window_use) {
        (true, _) => sure(share),
        (false, None) => Certainty::Medium,
        // It may as well be its reader that was slow.
        (false, Some(_)) => Certainty::Low,
    };
    findings.extend(unknown_ends(sender, receiver));
    Verdict::new(LimitedBy::ReceiveWindow, certainty, findings)
}

/// Why a receiver did not read in time. Less is needed than for a processor that is the limit all
/// the time: a receiver that gets to read empties the window at once, and sleeps until the next data.
fn held_back(host: &HostEvidence) -> Vec<Finding> {
    let found = saturation(End::Receiver, host);
    let waiting = host.waiting.filter(|waiting| {
        *waiting >= HELD_BACK || waiting + host.busy.unwrap_or(0.0) >= 2.0 * HELD_BACK
    });
    match waiting {
        Some(waiting) if found.is_empty() => {
            let used = host
                .busy
                .map(|busy| Finding::Processor(End::Receiver, busy));
            let waited = Finding::ProcessorAwaited(End::Receiver, waiting);
            [waited].into_iter().chain(used).collect()
        }
        _ => found,
    }
}

/// Without the kernel's times there are the processors, and guesses are not made.
fn by_processors(
    sender: &SenderEvidence,
    receiver: &ReceiverEvidence,
    slow_sender: Vec<Finding>,
    slow_receiver: Vec<Finding>,
) -> Verdict {
    let (limit, findings, both) = if slow_receiver.is_empty() {
        (LimitedBy::SenderCpu, slow_sender, false)
    } else {
        let both = !slow_sender.is_empty();
        (LimitedBy::ReceiverCpu, slow_receiver, both)
    };
    if findings.is_empty() {
        return unexplained(sender, receiver);
    }
    let certainty = if both {
        Certainty::Low
    } else {
        Certainty::Medium
    };
    Verdict::new(limit, certainty, findings)
}

/// Share of the time in which a host's thread ran or wanted to.
fn load(host: &HostEvidence) -> f64 {
    host.busy.unwrap_or(0.0) + host.waiting.unwrap_or(0.0)
}

fn sure(share: f64) -> Certainty {
    if share >= SURELY {
        Certainty::High
    } else {
        Certainty::Medium
    }
}

/// Shares of the time with data outstanding.
struct Shares {
    receive_window: f64,
    send_buffer: f64,
    congestion_window: f64,
}

impl Shares {
    fn of(times: StreamTimes) -> Self {
        let share = |micros: u64| (micros as f64 / times.busy as f64).min(1.0);
        let (receive_window, send_buffer) = (share(times.receive_window), share(times.send_buffer));
        Self {
            receive_window,
            send_buffer,
            congestion_window: (1.0 - receive_window - send_buffer).max(0.0),
        }
    }
}
