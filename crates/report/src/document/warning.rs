//! Warnings as data.

use serde::Serialize;

use crate::model::Notice;
use crate::native;
use crate::style::Style;

/// How grave a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WarningSeverity {
    /// Something to know; the numbers hold.
    Note,
    /// The numbers say less than they seem to.
    Warning,
    /// Something did not take place.
    Error,
}

/// A condition that a reader of the numbers must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Its name, which `tapeline explain` takes.
    pub id: String,
    /// How grave it is.
    pub severity: WarningSeverity,
    /// A sentence.
    pub text: String,
}

impl Warning {
    /// A condition with its sentence.
    pub(super) fn new(id: &str, (severity, text): (native::Severity, String)) -> Self {
        Self {
            id: id.to_owned(),
            severity: match severity {
                native::Severity::Note => WarningSeverity::Note,
                native::Severity::Warning => WarningSeverity::Warning,
                native::Severity::Error => WarningSeverity::Error,
            },
            text,
        }
    }

    /// Of a notice.
    pub(super) fn of(notice: &Notice, style: &Style) -> Self {
        Self::new(id(notice), native::sentence(notice, style))
    }
}

/// The name of a condition.
fn id(notice: &Notice) -> &'static str {
    match notice {
        Notice::ConnectFailed { .. } => "connect_failed",
        Notice::ConnectTimedOut { .. } => "connect_timed_out",
        Notice::ListenFailed { .. } => "listen_failed",
        Notice::BindFailed { .. } => "bind_failed",
        Notice::DeviceFailed { .. } => "device_failed",
        Notice::Unresolvable { .. } => "unresolvable",
        Notice::CongestionFailed { .. } => "congestion_control_failed",
        Notice::SegmentSizeFailed { .. } => "segment_size_failed",
        Notice::TosFailed { .. } => "tos_changed",
        Notice::SmallWindow { .. } => "small_window",
        Notice::TrafficFailed { .. } => "traffic_failed",
        Notice::NoServerReport { .. } => "no_receiver_report",
        Notice::ReportUnacknowledged { .. } => "report_unacknowledged",
        Notice::PeerVanished { .. } => "peer_vanished",
        Notice::PeerRefused { .. } => "peer_refused",
        Notice::OtherFamily { .. } => "other_protocol",
        Notice::WaitingForTests => "waiting_for_tests",
        Notice::BufferClamped { .. } => "buffer_clamped",
        Notice::CpuSaturated { .. } => "cpu_saturated",
        Notice::ReceiveBufferDrops { .. } => "receive_buffer_drops",
        Notice::PacingMissed { .. } => "pacing_missed",
        Notice::Interrupted => "interrupted",
        Notice::Text(_) => "other",
    }
}
