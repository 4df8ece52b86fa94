//! Remarks on what went wrong.

use super::kind::{Complaint, LineKind};
use super::template::matches;

/// Parses a remark of a table.
pub(crate) fn complaint<'a>(
    line: &'a str,
    table: &[(Complaint, &str)],
) -> Option<(LineKind, Vec<&'a str>)> {
    table.iter().find_map(|(what, template)| {
        matches(template, line).map(|fields| (LineKind::Complaint(*what), fields))
    })
}

/// Remarks that begin with a flow's identifier.
pub(crate) const FLOW_COMPLAINTS: &[(Complaint, &str)] = &[
    (
        Complaint::ConnectFailed,
        "tcp connect to {text} port {n} failed ({text}) on {date}",
    ),
    (
        Complaint::ConnectTimedOut,
        "tcp connect attempt timer expired on {date}",
    ),
    (Complaint::WriteFailed, "tcp write failed"),
    (Complaint::ReceiveFailed, "tcp recv failed: {text}"),
    (Complaint::ReceiveFailed, "udp recv failed: {text}"),
    (Complaint::ShutdownFailed, "shutdown failed: {text}"),
    (Complaint::ReadFinFailed, "Read UDP fin failed: {text}"),
    (
        Complaint::NoServerReport,
        "WARNING: did not receive ack of last datagram after {n} tries.",
    ),
    (
        Complaint::ReportUnacknowledged,
        "WARNING: ack of last datagram failed.",
    ),
    (
        Complaint::Ours,
        "WARN: rate of {n} bits/sec not reached, sent at {n} bits/sec",
    ),
    (
        Complaint::Ours,
        "WARN: {n} datagrams dropped by this host's socket buffer",
    ),
    (
        Complaint::Ours,
        "WARN: nothing received for {f1} seconds, test ended",
    ),
];

/// Remarks of the whole process.
pub(crate) const COMPLAINTS: &[(Complaint, &str)] = &[
    (Complaint::ListenFailed, "listener bind failed: {text}"),
    (Complaint::BindFailed, "bind failed: {text}"),
    (
        Complaint::DeviceFailed,
        "bind to device {text} failed: {text}",
    ),
    (
        Complaint::CongestionFailed,
        "Attempt to set '{text}' congestion control failed: {text}",
    ),
    (
        Complaint::SegmentSizeFailed,
        "WARNING: attempt to set TCP maxmimum segment size to {n} failed",
    ),
    (
        Complaint::TosFailed,
        "Warning: IP_TOS set to 0x{h}, request for setting to 0x{h} failed",
    ),
    (
        Complaint::SmallWindow,
        "WARNING: TCP window size set to {n} bytes. A small window size",
    ),
    (
        Complaint::SmallWindowRest,
        "will give poor performance. See the Iperf documentation.",
    ),
    (
        Complaint::WaitingForTests,
        "Waiting for server threads to complete. Interrupt again to force quit.",
    ),
    (
        Complaint::Ours,
        "WARN: {n} datagrams dropped by this host's socket buffer",
    ),
    (
        Complaint::CpuBound,
        "WARN: this test may have been CPU bound ({n}) (or may not be detecting the underlying network devices)",
    ),
];
