//! Conditions in iperf 2.2.1's words.

use tapeline_base::Transport;

use super::figure::{address, tame};
use super::page::{self, Page};
use crate::model::{Notice, TrafficOperation};

/// Where a sentence goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The sentence of a notice and its stream; `None` when iperf 2.2.1 says it elsewhere
/// or not at all. Conditions that iperf 2.2.1 does not know begin with `WARN:` too.
pub(super) fn sentence(notice: &Notice, page: &Page) -> Option<(Stream, String)> {
    if let Notice::CpuSaturated { share, .. } = notice {
        return cpu_sentence(*share, page);
    }
    let text = match notice {
        Notice::BufferClamped { .. } | Notice::Interrupted | Notice::CpuSaturated { .. } => {
            return None;
        }
        Notice::Text(text) => text.clone(),
        Notice::ConnectFailed { .. }
        | Notice::ConnectTimedOut { .. }
        | Notice::ListenFailed { .. }
        | Notice::BindFailed { .. }
        | Notice::DeviceFailed { .. }
        | Notice::Unresolvable { .. } => setup_sentence(notice, page)?,
        Notice::CongestionFailed { .. }
        | Notice::SegmentSizeFailed { .. }
        | Notice::TosFailed { .. }
        | Notice::SmallWindow { .. } => option_sentence(notice)?,
        _ => traffic_sentence(notice, page)?,
    };
    Some((Stream::Error, text))
}

/// iperf 2.2.1 prints the count of its reporter's sleeps; here it is the share of the
/// processor in percent, which says the same and can be checked.
fn cpu_sentence(share: f64, page: &Page) -> Option<(Stream, String)> {
    page.style.interval.then(|| {
        let percent = share * 100.0;
        let text = format!(
            "WARN: this test may have been CPU bound ({percent:.0}) \
             (or may not be detecting the underlying network devices)"
        );
        (Stream::Output, text)
    })
}

fn setup_sentence(notice: &Notice, page: &Page) -> Option<String> {
    Some(match notice {
        Notice::ConnectFailed {
            tag,
            peer,
            reason,
            at,
            ..
        } => format!(
            "{}tcp connect to {} port {} failed ({reason}) on {}",
            page.flow(*tag),
            address(peer.ip(), page.style.hide_addresses),
            peer.port(),
            page.date(*at)
        ),
        Notice::ConnectTimedOut { tag, at } => format!(
            "{}tcp connect attempt timer expired on {}",
            page.flow(*tag),
            page.date(*at)
        ),
        Notice::ListenFailed { reason, .. } => format!("listener bind failed: {reason}"),
        Notice::BindFailed { reason, .. } => format!("bind failed: {reason}"),
        Notice::DeviceFailed { device, reason } => {
            format!("bind to device {device} failed: {reason}")
        }
        Notice::Unresolvable { host, reason } => format!("{host}: {reason}"),
        _ => return None,
    })
}

fn option_sentence(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::CongestionFailed { name, reason } => {
            format!("Attempt to set '{name}' congestion control failed: {reason}")
        }
        // The spelling is iperf 2.2.1's.
        Notice::SegmentSizeFailed { wanted } => {
            format!("WARNING: attempt to set TCP maxmimum segment size to {wanted} failed")
        }
        Notice::TosFailed { wanted, actual } => format!(
            "Warning: IP_TOS set to 0x{:x}, request for setting to 0x{:x} failed",
            actual.0, wanted.0
        ),
        Notice::SmallWindow { bytes } => format!(
            "WARNING: TCP window size set to {bytes} bytes. A small window size\n\
             will give poor performance. See the Iperf documentation."
        ),
        _ => return None,
    })
}

fn traffic_sentence(notice: &Notice, page: &Page) -> Option<String> {
    Some(match notice {
        Notice::TrafficFailed {
            tag,
            operation,
            transport,
            reason,
        } => {
            let id = page.flow(*tag);
            match (operation, transport) {
                (TrafficOperation::Write, Transport::Tcp) => format!("{id}tcp write failed"),
                (TrafficOperation::Write, Transport::Udp) => format!("write failed: {reason}"),
                (TrafficOperation::Receive, Transport::Tcp) => {
                    format!("{id}tcp recv failed: {reason}")
                }
                (TrafficOperation::Receive, Transport::Udp) => {
                    format!("{id}udp recv failed: {reason}")
                }
                (TrafficOperation::Shutdown, _) => format!("{id}shutdown failed: {reason}"),
                (TrafficOperation::WriteFin, _) => format!("write-fin failed: {reason}"),
                (TrafficOperation::ReadFin, _) => format!("{id}Read UDP fin failed: {reason}"),
                (TrafficOperation::SendHeader, _) => format!("send_hdr failed: {reason}"),
            }
        }
        Notice::NoServerReport { tag, tries } => format!(
            "{}WARNING: did not receive ack of last datagram after {tries} tries.",
            page::plain(*tag)
        ),
        Notice::ReportUnacknowledged { tag } => {
            format!("{}WARNING: ack of last datagram failed.", page::plain(*tag))
        }
        Notice::PeerVanished { tag, silent_for } => format!(
            "{}WARN: nothing received for {:.1} seconds, test ended",
            page.flow(*tag),
            silent_for.as_secs_f64()
        ),
        Notice::PeerRefused { peer, reason } => format!(
            "WARN: refused {} port {}: {}",
            address(peer.ip(), page.style.hide_addresses),
            peer.port(),
            tame(reason)
        ),
        Notice::Untold { count, kind } => {
            format!("{count} further {kind} were not told one by one")
        }
        Notice::Shedding { reason } => reason.clone(),
        Notice::InternalFault { peer } => format!(
            "WARN: internal fault in a session of {} port {}",
            address(peer.ip(), page.style.hide_addresses),
            peer.port()
        ),
        Notice::LimitsKept { fault } => format!("the limits stay as they are: {fault}"),
        Notice::OtherFamily { host, port } => format!(
            "ERROR: the server at {host} port {port} is iperf3's, use: iperf3 -c {host} -p {port}",
            host = tame(host)
        ),
        Notice::WaitingForTests => {
            "Waiting for server threads to complete. Interrupt again to force quit.".to_owned()
        }
        Notice::ReceiveBufferDrops { tag, datagrams } => format!(
            "{}WARN: {datagrams} datagrams dropped by this host's socket buffer",
            tag.map(|tag| page.flow(tag)).unwrap_or_default()
        ),
        Notice::PacingMissed {
            tag,
            wanted,
            reached,
        } => format!(
            "{}WARN: rate of {wanted} bits/sec not reached, sent at {reached} bits/sec",
            page.flow(*tag)
        ),
        _ => return None,
    })
}
