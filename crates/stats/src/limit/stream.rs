//! What limited a TCP test.

use super::evidence::{ReceiverEvidence, SenderEvidence, StreamTimes};
use super::verdict::{
    Certainty, End, Finding, LimitedBy, Verdict, rate_reached, saturation, unexplained,
    unknown_ends,
};

/// Share of the busy time from which on a window or buffer is the limit (methodology 16).
const LIMITS: f64 = 0.2;
/// Share from which on that is sure.
const SURELY: f64 = 0.5;
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
        let full = Finding::ReceiveWindow(receive_window);
        if !slow_receiver.is_empty() {
            let certainty = if slow_sender.is_empty() {
                Certainty::High
            } else {
                Certainty::Medium
            };
            let findings = slow_receiver.into_iter().chain([full]);
            return Verdict::new(LimitedBy::ReceiverCpu, certainty, findings);
        }
        return window(full, receive_window, receiver);
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
    let mut findings = vec![Finding::CongestionWindow(congestion_window)];
    let again = sender.retransmits.filter(|segments| *segments > 0);
    findings.extend(again.map(Finding::Retransmissions));
    let certainty = match again {
        Some(_) => Certainty::High,
        None if receiver.host.is_known() => Certainty::Medium,
        None => Certainty::Low,
    };
    if again.is_none() {
        findings.extend(unknown_ends(sender, receiver));
    }
    Verdict::new(LimitedBy::Network, certainty, findings)
}

/// A full window of a receiver that keeps up, or of which nothing is known.
fn window(full: Finding, share: f64, receiver: &ReceiverEvidence) -> Verdict {
    if receiver.host.is_known() {
        return Verdict::new(LimitedBy::ReceiveWindow, sure(share), [full]);
    }
    let findings = [full, Finding::Unknown(End::Receiver)];
    Verdict::new(LimitedBy::ReceiveWindow, Certainty::Medium, findings)
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
