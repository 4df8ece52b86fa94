//! Conditions in words: what happened, what it means, what to do.

use tapeline_base::{FlowTag, FormatLetter};

use super::setup::{name, shown};
use super::unit::{percent, rate, size};
use crate::model::{Notice, Severity, TrafficOperation};
use crate::style::Style;

/// A condition's severity and sentence.
pub(crate) fn sentence(notice: &Notice, style: &Style) -> (Severity, String) {
    match notice {
        Notice::Text(text) => (Severity::Warning, text.clone()),
        Notice::WaitingForTests => (
            Severity::Note,
            "ending the running tests; interrupt again to quit at once".to_owned(),
        ),
        Notice::ClockSet { by } => (
            Severity::Warning,
            format!(
                "the clock was set by {:+.1} s during the test: times of day and one-way delays are not \
                 comparable",
                *by as f64 / 1e9
            ),
        ),
        Notice::LimitsKept { fault } => (
            Severity::Warning,
            format!("the limits stay as they are: {fault}"),
        ),
        Notice::InternalFault { peer } => (
            Severity::Error,
            format!(
                "internal fault in a session of {}, which has ended: please report it",
                shown(*peer, style)
            ),
        ),
        Notice::LimitsReread => (
            Severity::Note,
            "the limits were read anew and hold from now on".to_owned(),
        ),
        Notice::Interrupted => (
            Severity::Warning,
            "interrupted: the numbers cover a part of the test".to_owned(),
        ),
        Notice::ConnectFailed { .. }
        | Notice::ConnectTimedOut { .. }
        | Notice::TestRefused { .. }
        | Notice::TestCut { .. }
        | Notice::OtherFamily { .. }
        | Notice::ListenFailed { .. }
        | Notice::BindFailed { .. }
        | Notice::DeviceFailed { .. }
        | Notice::Unresolvable { .. } => setup(notice, style),
        Notice::CongestionFailed { .. } => (Severity::Error, option(notice)),
        Notice::SegmentSizeFailed { .. }
        | Notice::TosFailed { .. }
        | Notice::SmallWindow { .. }
        | Notice::BufferClamped { .. } => (Severity::Warning, option(notice)),
        Notice::TrafficFailed { .. } => (Severity::Error, traffic(notice)),
        _ => (Severity::Warning, measurement(notice, style)),
    }
}

/// Bits of the TOS byte that carry explicit congestion notification (RFC 3168).
const ECN: u8 = 3;

/// Part of a system's reason, in the words of any system, and what it means to the user.
const MEANINGS: &[(&str, &str)] = &[
    (
        "refused",
        "no server listens there: start one, or name its port with -p",
    ),
    (
        "timed out",
        "no answer: the host is down, or something on the way drops the packets",
    ),
    ("unreachable", "there is no way to it from here"),
    ("No route", "there is no way to it from here"),
    (
        "in use",
        "another program has this port: end that one, or choose another port with -p",
    ),
    (
        "Permission denied",
        "ports below 1024 need privileges: choose a higher one with -p",
    ),
    ("assign requested", "this host has no such address"),
    ("not available", "this host has no such address"),
    ("No such device", "this host has no such interface"),
    ("not permitted", "that needs privileges"),
    ("Unknown host", "check the name, or give the address"),
    (
        "lookup failure",
        "no name server answered: try again, or give the address",
    ),
    ("reset", "the peer ended the test"),
    ("Broken pipe", "the peer ended the test"),
];

/// What a reason means, in brackets; empty when there is nothing to add.
fn because(reason: &str) -> String {
    let known = MEANINGS.iter().find(|(part, _)| reason.contains(part));
    known.map_or_else(String::new, |(_, meaning)| format!(" ({meaning})"))
}

fn setup(notice: &Notice, style: &Style) -> (Severity, String) {
    match notice {
        Notice::ConnectFailed {
            tag,
            peer,
            reason,
            retrying,
            ..
        } => {
            let address = shown(*peer, style);
            let severity = if *retrying {
                Severity::Warning
            } else {
                Severity::Error
            };
            let next = if *retrying {
                "; trying again".to_owned()
            } else {
                because(reason)
            };
            (
                severity,
                format!("{}cannot connect to {address}: {reason}{next}", flow(*tag)),
            )
        }
        Notice::ConnectTimedOut { tag, .. } => (
            Severity::Error,
            format!("{}gave up connecting: the time for it is over", flow(*tag)),
        ),
        Notice::TestRefused {
            peer,
            reason,
            retry_after,
        } => {
            let retry = retry_after.map_or_else(String::new, |time| {
                format!("; try again in {} s", time.as_secs())
            });
            (
                Severity::Error,
                format!(
                    "{} refuses the test: {}{retry}",
                    shown(*peer, style),
                    crate::iperf2::tame(reason)
                ),
            )
        }
        Notice::TestCut { peer, reason } => (
            Severity::Error,
            format!(
                "{} has cut the test: {}",
                shown(*peer, style),
                crate::iperf2::tame(reason)
            ),
        ),
        Notice::OtherFamily { host, port } => (
            Severity::Error,
            format!(
                "the server at {host} port {port} is iperf3's: use tapeline -c {host} -p {port} \
                 --peer iperf3",
                host = crate::iperf2::tame(host)
            ),
        ),
        Notice::ListenFailed {
            transport,
            address,
            reason,
        } => {
            let at = if address.ip().is_unspecified() {
                format!("port {}", address.port())
            } else {
                address.to_string()
            };
            let transport = name(*transport);
            (
                Severity::Error,
                format!(
                    "cannot listen on {transport} {at}: {reason}{}",
                    because(reason)
                ),
            )
        }
        Notice::BindFailed { address, reason } => {
            let address = shown(*address, style);
            let address = address.strip_suffix(":0").unwrap_or(&address);
            (
                Severity::Error,
                format!("cannot bind {address}: {reason}{}", because(reason)),
            )
        }
        Notice::DeviceFailed { device, reason } => (
            Severity::Error,
            format!("cannot use device {device}: {reason}{}", because(reason)),
        ),
        Notice::Unresolvable { host, reason } => (
            Severity::Error,
            format!("cannot resolve {host}: {reason}{}", because(reason)),
        ),
        _ => (Severity::Note, String::new()),
    }
}

fn option(notice: &Notice) -> String {
    match notice {
        Notice::CongestionFailed { name, reason } => {
            let advice = if reason.contains("No such file") {
                " (this host's are in net.ipv4.tcp_available_congestion_control)"
            } else {
                ""
            };
            format!("congestion control {name} cannot be had: {reason}{advice}")
        }
        Notice::SegmentSizeFailed { wanted } => {
            format!("a segment size of {wanted} bytes cannot be set: the system chooses")
        }
        Notice::TosFailed { wanted, actual } => {
            let advice = if wanted.0 & !ECN == actual.0 {
                ": the system keeps the ECN bits of TCP for itself"
            } else {
                ""
            };
            format!("TOS is {actual}, not {wanted}{advice}")
        }
        Notice::SmallWindow { bytes } => {
            format!(
                "a window of {bytes} bytes limits the rate; leave out -w to let the system choose"
            )
        }
        Notice::BufferClamped { wanted, actual } => format!(
            "socket buffer is {}, {} was asked for; raise net.core.rmem_max/wmem_max",
            size(*actual),
            size(*wanted)
        ),
        _ => String::new(),
    }
}

fn traffic(notice: &Notice) -> String {
    let Notice::TrafficFailed {
        tag,
        operation,
        reason,
        ..
    } = notice
    else {
        return String::new();
    };
    let what = match operation {
        TrafficOperation::Write => "sending failed",
        TrafficOperation::Receive => "receiving failed",
        TrafficOperation::Shutdown => "closing failed",
        TrafficOperation::WriteFin => "the last datagram could not be sent",
        TrafficOperation::ReadFin => "waiting for the receiver's report failed",
        TrafficOperation::SendHeader => "the test header could not be sent",
    };
    format!("{}{what}: {reason}{}", flow(*tag), because(reason))
}

fn measurement(notice: &Notice, style: &Style) -> String {
    match notice {
        Notice::NoServerReport { tag, tries } => format!(
            "{}no report from the receiver after {tries} tries: what it received is unknown",
            flow(*tag)
        ),
        Notice::ReportUnacknowledged { tag } => {
            format!("{}the sender may not have got our report", flow(*tag))
        }
        Notice::PeerVanished { tag, silent_for } => format!(
            "{}nothing received for {:.1} s: the peer is gone, the test was ended",
            flow(*tag),
            silent_for.as_secs_f64()
        ),
        Notice::PeerGone { tag } => format!(
            "{}nobody takes its datagrams any more: the peer is gone, the test was ended",
            flow(*tag)
        ),
        Notice::PeerRefused { peer, reason } => {
            format!(
                "refused {}: {}",
                shown(*peer, style),
                crate::iperf2::tame(reason)
            )
        }
        Notice::Untold { count, kind } => {
            format!("{count} further {kind} were not told one by one")
        }
        Notice::Shedding { reason } => {
            format!("{reason}: clients are turned away until there is room again")
        }
        Notice::CpuSaturated { tag, share } => format!(
            "{}this end used {} of a processor: the network may carry more (try -P, or a larger -l)",
            flow(*tag),
            percent(*share)
        ),
        Notice::ReceiveBufferDrops { tag, datagrams } => format!(
            "{}{datagrams} datagrams were lost in this host's socket buffer, not in the network \
             (try a larger -w)",
            tag.map(flow).unwrap_or_default()
        ),
        Notice::PacingMissed {
            tag,
            wanted,
            reached,
        } => format!(
            "{}sent at {}, {} was asked for",
            flow(*tag),
            rate(*reached as f64, FormatLetter::BITS),
            rate(*wanted as f64, FormatLetter::BITS)
        ),
        _ => String::new(),
    }
}

fn flow(tag: FlowTag) -> String {
    format!("flow {}: ", tag.id)
}
