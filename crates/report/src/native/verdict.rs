//! What limited a test, and the facts that say so, in words.

use tapeline_base::FormatLetter;
use tapeline_stats::{End, Finding, LimitedBy, RateTarget, Verdict};

use super::number::rate;

/// Rates that differ by less are the same.
const SAME: f64 = 0.01;

/// A limit as people say it.
#[must_use]
pub const fn limit_words(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Network => "network",
        LimitedBy::SenderCpu => "sender's CPU",
        LimitedBy::ReceiverCpu => "receiver's CPU",
        LimitedBy::SendBuffer => "send buffer (-w)",
        LimitedBy::ReceiveWindow => "receive window",
        LimitedBy::ReceiveBuffer => "receive buffer",
        LimitedBy::RequestedRate => "your -b",
        LimitedBy::Input => "input (-F, -I)",
        LimitedBy::Application => "the program",
        LimitedBy::Pacing => "pacing",
        LimitedBy::Measurement => "measurement",
    }
}

/// A fact in one phrase, with its number.
#[must_use]
pub fn finding_words(finding: &Finding) -> String {
    let bits = |bits_per_second: f64| rate(bits_per_second, FormatLetter::BITS);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    match *finding {
        Finding::TooShort(seconds) => format!("{seconds:.2} s are too short to judge"),
        Finding::TooFew(writes) => {
            let plural = if writes == 1 { "" } else { "s" };
            format!("{writes} write{plural} are too few to judge")
        }
        Finding::Refused(sends) => {
            counted(sends, "send", "refused: nothing listens at the peer's port")
        }
        Finding::RateReached(target) => reached(target, "requested", "was sent"),
        Finding::PacedRateReached(target) => {
            reached(target, "--fq-rate", "was reached, headers included")
        }
        Finding::ReceivedRateReached(target) => reached(target, "requested", "was received"),
        Finding::ScheduleKept(frames) => counted(frames, "frame", "left on schedule"),
        Finding::ScheduleMissed(missed, all) => {
            format!("{missed} of {all} frames missed their period")
        }
        Finding::RateMissed(target) => {
            let (sent, requested) = (bits(target.reached), bits(target.asked));
            format!(
                "sent {} of the requested {requested}",
                bare(&sent, &requested)
            )
        }
        Finding::InputAwaited(share) => format!("waited for input {} of the time", percent(share)),
        Finding::Idle(share) => format!("nothing to send {} of the time", percent(share)),
        Finding::DeliveryOwn => "delivered as fast as it was written".to_owned(),
        Finding::CongestionWindow(share) => {
            format!("cwnd-limited {} of the time", percent(share))
        }
        Finding::ReceiveWindow(share) => {
            format!("rwnd-limited {} of the time", percent(share))
        }
        Finding::SendBuffer(share) => {
            format!("sndbuf-limited {} of the time", percent(share))
        }
        Finding::BufferUse(share) => {
            format!("{} of the buffer used in each round trip", percent(share))
        }
        Finding::WindowUse(share) => {
            format!("{} of the window used in each round trip", percent(share))
        }
        Finding::Queue(without, with) => format!(
            "round trips of {:.3} ms grew to {:.3} ms in the path's queue",
            without * 1e3,
            with * 1e3
        ),
        Finding::RoundTrips(trips) => {
            let plural = if trips == 1 { "" } else { "s" };
            format!("the test lasted for {trips} round trip{plural}")
        }
        Finding::Retransmissions(segments) => counted(segments, "segment", "retransmitted"),
        Finding::Processor(end, share) => {
            format!("{} thread used {} of one core", whose(end), percent(share))
        }
        Finding::ProcessorAwaited(end, share) => {
            format!(
                "{} CPU not available {} of the time",
                whose(end),
                percent(share)
            )
        }
        Finding::Throttled(end, share) => {
            format!(
                "{} CPU quota (cgroup) exhausted {} of the time",
                whose(end),
                percent(share)
            )
        }
        Finding::Stolen(end, share) => {
            format!("{} CPU steal at {} host", percent(share), whose(end))
        }
        Finding::LostInNetwork(datagrams) => counted(datagrams, "datagram", "lost in the network"),
        Finding::LostInHost(End::Sender, datagrams) => {
            counted(datagrams, "datagram", "lost in the sender's host")
        }
        Finding::LostInHost(End::Receiver, datagrams) => {
            counted(datagrams, "datagram", "lost in the receiver's host")
        }
        Finding::Lost(datagrams) => counted(datagrams, "datagram", "lost, place unknown"),
        Finding::GroupsDropped(groups) => {
            counted(groups, "group", "of them dropped by the receiver's socket")
        }
        Finding::BufferDepth(seconds) => {
            format!("the socket buffer holds {:.3} ms of traffic", seconds * 1e3)
        }
        Finding::RoomAwaited(share) => {
            format!("transmit queue full {} of the time", percent(share))
        }
        Finding::CongestedSends(sends) => {
            format!("transmit queue full {sends} times (ENOBUFS only)")
        }
        Finding::LateReports(intervals) => counted(intervals, "interval", "measured late"),
        Finding::Unknown(end) => format!("{} side is not visible", whose(end)),
    }
}

/// A rate that was kept, and what came where it is another one.
fn reached(target: RateTarget, order: &str, kept: &str) -> String {
    let bits = |bits_per_second: f64| rate(bits_per_second, FormatLetter::BITS);
    let (asked, came) = (bits(target.asked), bits(target.reached));
    match (target.reached / target.asked - 1.0).abs() < SAME {
        true => format!("the {order} {asked} {kept}"),
        false => format!("{} of the {order} {asked}", bare(&came, &asked)),
    }
}

/// A rate without its unit where the next one has the same.
fn bare<'a>(rate: &'a str, next: &str) -> &'a str {
    match (rate.split_once(' '), next.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => rate,
    }
}

fn whose(end: End) -> &'static str {
    match end {
        End::Sender => "the sender's",
        End::Receiver => "the receiver's",
    }
}

fn counted(count: u64, noun: &str, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural} {what}")
}

/// `network (high confidence)`; nothing where the limit is not known.
pub(crate) fn limit_phrase(verdict: &Verdict) -> Option<String> {
    let limit = limit_words(verdict.limited_by?);
    Some(format!("{limit} ({} confidence)", verdict.certainty.id()))
}
