//! Names of conditions.

use crate::model::{Notice, Severity, Warning};
use crate::native;
use crate::style::Style;

/// A condition with its sentence.
pub(super) fn warning(id: &str, (severity, text): (Severity, String)) -> Warning {
    Warning {
        id: id.to_owned(),
        severity,
        text,
    }
}

/// A notice with its sentence.
pub(super) fn of_notice(notice: &Notice, style: &Style) -> Warning {
    warning(id(notice), native::sentence(notice, style))
}

/// The name of a condition.
fn id(notice: &Notice) -> &'static str {
    match notice {
        Notice::ConnectFailed { .. } => "connect-failed",
        Notice::ConnectTimedOut { .. } => "connect-timed-out",
        Notice::ListenFailed { .. } => "listen-failed",
        Notice::BindFailed { .. } => "bind-failed",
        Notice::DeviceFailed { .. } => "device-failed",
        Notice::Unresolvable { .. } => "unresolvable",
        Notice::CongestionFailed { .. } => "congestion-control-failed",
        Notice::SegmentSizeFailed { .. } => "segment-size-failed",
        Notice::TosFailed { .. } => "tos-changed",
        Notice::SmallWindow { .. } => "small-window",
        Notice::TrafficFailed { .. } => "traffic-failed",
        Notice::NoServerReport { .. } => "no-receiver-report",
        Notice::ReportUnacknowledged { .. } => "report-unacknowledged",
        Notice::PeerVanished { .. } => "peer-vanished",
        Notice::PeerRefused { .. } => "peer-refused",
        Notice::OtherFamily { .. } => "other-protocol",
        Notice::WaitingForTests => "waiting-for-tests",
        Notice::BufferClamped { .. } => "buffer-clamped",
        Notice::CpuSaturated { .. } => "cpu-saturated",
        Notice::ReceiveBufferDrops { .. } => "receive-buffer-drops",
        Notice::PacingMissed { .. } => "pacing-missed",
        Notice::Interrupted => "interrupted",
        Notice::Text(_) => "other",
    }
}
