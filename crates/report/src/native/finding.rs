//! What limited a test, and the facts that say so, in words.

use tapeline_base::FormatLetter;
use tapeline_stats::{End, Finding, LimitedBy};

use super::unit::rate;

/// A limit as people say it.
#[must_use]
pub const fn limit_words(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Network => "network",
        LimitedBy::SenderCpu => "sender's processor",
        LimitedBy::ReceiverCpu => "receiver's processor",
        LimitedBy::SendBuffer => "sender's socket buffer",
        LimitedBy::ReceiveWindow => "receiver's window",
        LimitedBy::ReceiveBuffer => "receiver's socket buffer",
        LimitedBy::Application => "the test itself",
        LimitedBy::Pacing => "sender's pacing",
        LimitedBy::Reporter => "late reports",
    }
}

/// A fact in one phrase, with its number.
#[must_use]
pub fn finding_words(finding: &Finding) -> String {
    let bits = |bits_per_second: f64| rate(bits_per_second, FormatLetter::BITS);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    match *finding {
        Finding::RateReached(target) => {
            format!("the {} asked for were reached", bits(target.asked))
        }
        Finding::RateMissed(target) => {
            format!(
                "{} of {} asked for",
                bits(target.reached),
                bits(target.asked)
            )
        }
        Finding::InputAwaited(share) => format!("waited for input {} of the time", percent(share)),
        Finding::Idle(share) => format!("nothing outstanding {} of the time", percent(share)),
        Finding::CongestionWindow(share) => {
            format!("congestion window, {} of the busy time", percent(share))
        }
        Finding::ReceiveWindow(share) => {
            format!("receive window full {} of the busy time", percent(share))
        }
        Finding::SendBuffer(share) => {
            format!("send buffer full {} of the busy time", percent(share))
        }
        Finding::BufferUse(share) => {
            format!("{} of the buffer used in each round trip", percent(share))
        }
        Finding::WindowUse(share) => {
            format!("{} of the window used in each round trip", percent(share))
        }
        Finding::Retransmissions(segments) => counted(segments, "segment", "sent again"),
        Finding::Processor(end, share) => {
            format!(
                "{} thread used {} of a processor",
                whose(end),
                percent(share)
            )
        }
        Finding::ProcessorAwaited(end, share) => {
            format!(
                "{} thread waited for a processor {} of the time",
                whose(end),
                percent(share)
            )
        }
        Finding::Throttled(end, share) => {
            format!(
                "{} quota of processor time ran out in {} of its periods",
                whose(end),
                percent(share)
            )
        }
        Finding::Stolen(end, share) => {
            format!(
                "{} hypervisor withheld {} of the processors",
                whose(end),
                percent(share)
            )
        }
        Finding::LostInNetwork(datagrams) => counted(datagrams, "datagram", "lost in the network"),
        Finding::LostInHost(End::Sender, datagrams) => {
            counted(datagrams, "datagram", "lost in the sender's host")
        }
        Finding::LostInHost(End::Receiver, datagrams) => {
            counted(datagrams, "datagram", "lost in the receiver's host")
        }
        Finding::Lost(datagrams) => counted(datagrams, "datagram", "lost, where is not known"),
        Finding::GroupsDropped(groups) => {
            counted(groups, "group", "of them dropped by the receiver's socket")
        }
        Finding::BufferDepth(seconds) => {
            format!("the socket buffer holds {:.3} ms of traffic", seconds * 1e3)
        }
        Finding::RoomAwaited(share) => {
            format!(
                "waited for room in the device's queue {} of the time",
                percent(share)
            )
        }
        Finding::CongestedSends(sends) => counted(sends, "send", "found the device's queue full"),
        Finding::LateReports(intervals) => counted(intervals, "interval", "told late"),
        Finding::Unknown(end) => format!("{} host is not known", whose(end)),
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
