//! Conditions in words: what happened, what it means, what helps.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, FormatLetter, Transport};

use super::number::whole_size as size;
use super::setup::{name, shown, shown_address};
use super::unit::Unit;
use crate::model::{Notice, Severity, Silence, TrafficOperation};
use crate::native::number::digits;
use crate::render::tame;
use crate::style::Style;

/// A condition's severity and sentence; it begins with the stream where it is of one.
pub(crate) fn sentence(notice: &Notice, style: &Style) -> (Severity, String) {
    let (severity, text) = plain(notice, style);
    match stream(notice) {
        Some(tag) => (severity, format!("stream {}: {text}", tag.id)),
        None => (severity, text),
    }
}

/// A condition as an error says it: a sentence without a full stop.
#[must_use]
pub fn sentence_of(notice: &Notice) -> String {
    sentence(notice, &Style::default()).1
}

/// The same without the stream.
pub(crate) fn plain(notice: &Notice, style: &Style) -> (Severity, String) {
    match notice {
        Notice::Text(text) | Notice::Remark(text) => (Severity::Warning, text.clone()),
        Notice::WaitingForTests => (
            Severity::Note,
            "ending the running tests; Ctrl-C again to quit now".to_owned(),
        ),
        Notice::ClockSet { by } => (
            Severity::Warning,
            format!(
                "this host's clock jumped by {:+.1} s during the test: times of day and one-way delays \
                 are not comparable",
                *by as f64 / 1e9
            ),
        ),
        Notice::LimitsKept { fault } => (
            Severity::Warning,
            format!("reload failed, limits unchanged: {fault}"),
        ),
        Notice::InternalFault { peer } => (
            Severity::Error,
            format!(
                "internal fault in a session of {}, which has ended: please report it",
                shown(*peer, style)
            ),
        ),
        Notice::LimitsReread => (Severity::Note, "limits reloaded".to_owned()),
        Notice::Interrupted => (
            Severity::Warning,
            "interrupted: the numbers cover a part of the test".to_owned(),
        ),
        Notice::ConnectFailed { .. }
        | Notice::ConnectTimedOut { .. }
        | Notice::NoReply { .. }
        | Notice::TestRefused { .. }
        | Notice::TestCut { .. }
        | Notice::WrongProtocol { .. } => towards_server(notice, style),
        Notice::ListenFailed { .. }
        | Notice::BindFailed { .. }
        | Notice::DeviceFailed { .. }
        | Notice::Unresolvable { .. } => (Severity::Error, setup(notice, style)),
        Notice::CongestionFailed { .. } => (Severity::Error, option(notice)),
        Notice::SegmentSizeFailed { .. }
        | Notice::TosFailed { .. }
        | Notice::SmallWindow { .. }
        | Notice::BufferClamped { .. } => (Severity::Warning, option(notice)),
        Notice::TrafficFailed { .. } => (Severity::Error, traffic(notice)),
        _ => (Severity::Warning, measurement(notice, style)),
    }
}

/// The stream of a condition that concerns one and does not name it itself.
pub(crate) fn stream(notice: &Notice) -> Option<FlowTag> {
    match notice {
        Notice::ConnectFailed { tag, .. }
        | Notice::ConnectTimedOut { tag, .. }
        | Notice::NoReply { tag, .. }
        | Notice::TrafficFailed { tag, .. }
        | Notice::NoServerReport { tag, .. }
        | Notice::ReportUnacknowledged { tag }
        | Notice::PeerVanished { tag, .. }
        | Notice::PeerGone { tag }
        | Notice::PacingMissed { tag, .. } => Some(*tag),
        Notice::ReceiveBufferDrops { tag, .. } => *tag,
        _ => None,
    }
}

/// Bits of the TOS byte that carry explicit congestion notification (RFC 3168).
const ECN: u8 = 3;

/// What helps against a condition.
#[must_use]
pub fn hint(notice: &Notice) -> Option<String> {
    match notice {
        Notice::ConnectFailed {
            retrying: false,
            reason,
            ..
        }
        | Notice::NoReply {
            silence: Silence::Refused(reason),
            ..
        } => connection_hint(reason),
        Notice::NoReply {
            transport: Transport::Tcp,
            ..
        } => Some("another program listens there, or a firewall drops the data".to_owned()),
        Notice::NoReply { .. } => connection_hint("timed out"),
        Notice::WrongProtocol { host, port } => Some(format!(
            "tapeline -c {} -p {port} --peer iperf3",
            tame(host)
        )),
        Notice::ListenFailed {
            address, reason, ..
        } => unavailable(address.port(), reason),
        Notice::BindFailed { reason, .. } => reason
            .contains("assign requested")
            .then(|| "this host has no such address".to_owned()),
        Notice::DeviceFailed { reason, .. } => known(DEVICES, reason),
        Notice::Unresolvable { reason, .. } => (!is_unknown(reason))
            .then(|| "no name server answered: try again, or give the address".to_owned()),
        Notice::CongestionFailed { reason, .. } => reason
            .contains("No such file")
            .then(|| "this host's are in net.ipv4.tcp_available_congestion_control".to_owned()),
        Notice::TrafficFailed { reason, .. } => known(ENDINGS, reason),
        _ => None,
    }
}

/// Part of a system's reason, in the words of any system, and what it means to the user.
type Meanings = &'static [(&'static str, &'static str)];

const CONNECTIONS: Meanings = &[
    (
        "refused",
        "is \"tapeline -s\" running there? Another port: -p",
    ),
    (
        "timed out",
        "the host is down, or a firewall drops the packets",
    ),
    ("unreachable", "this host has no route to it"),
    ("No route", "this host has no route to it"),
    ("No such device", "this host has no such interface"),
    ("not permitted", "that needs privileges"),
    ("reset", "the server ended the connection"),
];

const DEVICES: Meanings = &[
    ("No such device", "this host has no such interface"),
    ("not permitted", "that needs privileges"),
];

const ENDINGS: Meanings = &[
    ("reset", "the peer ended the test"),
    ("Broken pipe", "the peer ended the test"),
];

fn known(meanings: Meanings, reason: &str) -> Option<String> {
    let meaning = meanings.iter().find(|(part, _)| reason.contains(part));
    meaning.map(|(_, meaning)| (*meaning).to_owned())
}

/// What helps where no server was reached, for a reason of the system.
#[must_use]
pub fn connection_hint(reason: &str) -> Option<String> {
    known(CONNECTIONS, reason)
}

fn unavailable(port: u16, reason: &str) -> Option<String> {
    if reason.contains("in use") {
        let other = port.checked_add(1).unwrap_or(port - 1);
        Some(format!("stop it, or choose another port: -p {other}"))
    } else if reason.contains("Permission denied") {
        Some("ports below 1024 need privileges: choose a higher one with -p".to_owned())
    } else if reason.contains("not available") || reason.contains("assign requested") {
        Some("this host has no such address".to_owned())
    } else {
        None
    }
}

fn is_unknown(reason: &str) -> bool {
    reason.contains("Unknown host")
}

/// A system's reason as it stands behind a colon: `connection refused`.
pub(crate) fn lowered(reason: &str) -> String {
    let mut letters = reason.chars();
    match (letters.next(), reason.chars().nth(1)) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => reason.to_owned(),
    }
}

/// `192.0.2.7 port 5001`.
fn place(peer: SocketAddr, style: &Style) -> String {
    format!("{} port {}", shown_address(peer.ip(), style), peer.port())
}

/// `10 s`, `0.3 s`.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    format!("{tenths} s")
}

fn towards_server(notice: &Notice, style: &Style) -> (Severity, String) {
    let text = match notice {
        Notice::ConnectFailed {
            peer,
            reason,
            after,
            retrying,
            ..
        } => {
            let why = match reason.contains("timed out") {
                true => format!("no answer after {}", seconds(*after)),
                false => lowered(reason),
            };
            let text = format!("cannot connect to {}: {why}", place(*peer, style));
            if *retrying {
                return (Severity::Warning, format!("{text}; retrying"));
            }
            text
        }
        Notice::ConnectTimedOut { after, .. } => {
            format!("gave up connecting after {}", seconds(*after))
        }
        Notice::NoReply {
            peer,
            transport,
            silence,
            ..
        } => {
            let place = format!("{} over {}", place(*peer, style), name(*transport));
            match silence {
                Silence::Refused(reason) => {
                    format!("no reply from {place}: {}", lowered(reason))
                }
                Silence::Timeout(time) => format!("no reply from {place} for {}", seconds(*time)),
            }
        }
        Notice::TestRefused {
            peer,
            reason,
            retry_after,
        } => {
            let retry = retry_after.map_or_else(String::new, |time| {
                format!("; retry in {} s", time.as_secs())
            });
            format!(
                "{} refused the test: {}{retry}",
                place(*peer, style),
                tame(reason)
            )
        }
        Notice::TestCut { peer, reason } => {
            format!("{} stopped the test: {}", place(*peer, style), tame(reason))
        }
        Notice::WrongProtocol { host, port } => {
            format!("port {port} of {} is an iperf3 server", tame(host))
        }
        _ => String::new(),
    };
    (Severity::Error, text)
}

fn setup(notice: &Notice, style: &Style) -> String {
    match notice {
        Notice::ListenFailed {
            transport,
            address,
            reason,
        } => {
            let at = if address.ip().is_unspecified() {
                format!("port {}", address.port())
            } else {
                format!("{} port {}", address.ip(), address.port())
            };
            let why = match reason.contains("in use") {
                true => "in use by another program".to_owned(),
                false => lowered(reason),
            };
            format!("cannot listen on {} {at}: {why}", name(*transport))
        }
        Notice::BindFailed { address, reason } => {
            let address = shown(*address, style);
            let address = address.strip_suffix(":0").unwrap_or(&address);
            format!("cannot bind {address}: {}", lowered(reason))
        }
        Notice::DeviceFailed { device, reason } => {
            format!("cannot use device {device}: {}", lowered(reason))
        }
        Notice::Unresolvable { host, reason } if is_unknown(reason) => format!(
            "unknown host {} (check the spelling, or give the address)",
            tame(host)
        ),
        Notice::Unresolvable { host, reason } => {
            format!("cannot look up {}: {}", tame(host), lowered(reason))
        }
        _ => String::new(),
    }
}

fn option(notice: &Notice) -> String {
    match notice {
        Notice::CongestionFailed { name, reason } => format!(
            "congestion control \"{name}\" is not available: {}",
            lowered(reason)
        ),
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
            "socket buffer is {}, {} requested: raise net.core.rmem_max and wmem_max",
            size(*actual),
            size(*wanted)
        ),
        _ => String::new(),
    }
}

fn traffic(notice: &Notice) -> String {
    let Notice::TrafficFailed {
        operation, reason, ..
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
    format!("{what}: {}", lowered(reason))
}

fn measurement(notice: &Notice, style: &Style) -> String {
    match notice {
        Notice::NoServerReport { tries, .. } => {
            format!("no report from the server after {tries} tries: what it received is unknown")
        }
        Notice::ReportUnacknowledged { .. } => {
            "the client may not have received the report".to_owned()
        }
        Notice::PeerVanished { silent_for, .. } => format!(
            "nothing received for {:.1} s: peer lost, the test was ended",
            silent_for.as_secs_f64()
        ),
        Notice::PeerGone { .. } => {
            "the client's port is closed: peer lost, the test was ended".to_owned()
        }
        Notice::PeerRefused { peer, reason } => {
            format!("refused {}: {}", shown(*peer, style), tame(reason))
        }
        Notice::Suppressed { count, kind } => format!("{count} more {kind} not logged"),
        Notice::Shedding { reason } => {
            format!("{reason}: new clients are refused until resources are free")
        }
        Notice::CpuSaturated { tag, share } => format!(
            "this host's CPU limits stream {} ({:.0} % of one core): try -P 2 or a larger -l",
            tag.id,
            share * 100.0
        ),
        Notice::ReceiveBufferDrops { datagrams, .. } => format!(
            "{datagrams} datagrams were lost in this host's socket buffer, not in the network: \
             try a larger -w"
        ),
        Notice::PacingMissed {
            wanted, reached, ..
        } => {
            let unit = Unit::for_rate(*wanted as f64, FormatLetter::BITS);
            let [reached, wanted] = [*reached, *wanted].map(|rate| digits(unit.of(rate as f64)));
            format!(
                "sent only {reached} of the requested {wanted} {}",
                unit.label
            )
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::FlowId;

    use super::*;

    #[test]
    fn a_reason_begins_small_unless_it_is_a_name() {
        assert_eq!(lowered("Connection refused"), "connection refused");
        assert_eq!(lowered("RPC failed"), "RPC failed");
        assert_eq!(lowered(""), "");
    }

    #[test]
    fn a_missed_rate_has_one_unit() {
        let missed = Notice::PacingMissed {
            tag: FlowTag {
                id: FlowId(1),
                reversed: false,
            },
            wanted: 100_000_000,
            reached: 87_140_000,
        };
        let (_, text) = plain(&missed, &Style::default());
        assert_eq!(text, "sent only 87.1 of the requested 100 Mbit/s");
    }
}
