//! Names of conditions.

use crate::model::{Notice, Severity, Warning};
use crate::native;
use crate::style::Style;

macro_rules! names {
    ($($variant:ident $name:literal,)+) => {
        /// A condition that documents know by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum WarningId {
            $($variant,)+
        }

        impl WarningId {
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// The names of all conditions, which `docs/results.md` explains.
        pub const WARNING_IDS: &[&str] = &[$($name,)+];
    };
}

names! {
    ConnectFailed "connect-failed",
    ConnectTimedOut "connect-timed-out",
    ListenFailed "listen-failed",
    BindFailed "bind-failed",
    DeviceFailed "device-failed",
    Unresolvable "unresolvable",
    CongestionControlFailed "congestion-control-failed",
    SegmentSizeFailed "segment-size-failed",
    TosChanged "tos-changed",
    SmallWindow "small-window",
    TrafficFailed "traffic-failed",
    NoReceiverReport "no-receiver-report",
    ReportUnacknowledged "report-unacknowledged",
    PeerVanished "peer-vanished",
    PeerRefused "peer-refused",
    Untold "untold",
    Shedding "shedding",
    InternalFault "internal-fault",
    TestRefused "test-refused",
    TestCut "test-cut",
    OtherProtocol "other-protocol",
    WaitingForTests "waiting-for-tests",
    LimitsReread "limits-reread",
    LimitsKept "limits-kept",
    BufferClamped "buffer-clamped",
    CpuSaturated "cpu-saturated",
    ReceiveBufferDrops "receive-buffer-drops",
    PacingMissed "pacing-missed",
    ClockSet "clock-set",
    Interrupted "interrupted",
    Other "other",
    StartTime "start-time",
    ClocksCompared "clocks-compared",
    ClocksDisagree "clocks-disagree",
    TurnedAway "turned-away",
    TestFailed "test-failed",
    ConfidenceNotReached "confidence-not-reached",
    IntervalsMissing "intervals-missing",
    Usage "usage",
}

/// A condition with its sentence.
pub(super) fn warning(id: WarningId, (severity, text): (Severity, String)) -> Warning {
    Warning {
        id: id.name().to_owned(),
        severity,
        text,
    }
}

/// A notice with its sentence.
pub(super) fn of_notice(notice: &Notice, style: &Style) -> Warning {
    warning(id(notice), native::sentence(notice, style))
}

/// The name of a condition.
fn id(notice: &Notice) -> WarningId {
    match notice {
        Notice::ConnectFailed { .. } => WarningId::ConnectFailed,
        Notice::ConnectTimedOut { .. } => WarningId::ConnectTimedOut,
        Notice::ListenFailed { .. } => WarningId::ListenFailed,
        Notice::BindFailed { .. } => WarningId::BindFailed,
        Notice::DeviceFailed { .. } => WarningId::DeviceFailed,
        Notice::Unresolvable { .. } => WarningId::Unresolvable,
        Notice::CongestionFailed { .. } => WarningId::CongestionControlFailed,
        Notice::SegmentSizeFailed { .. } => WarningId::SegmentSizeFailed,
        Notice::TosFailed { .. } => WarningId::TosChanged,
        Notice::SmallWindow { .. } => WarningId::SmallWindow,
        Notice::TrafficFailed { .. } => WarningId::TrafficFailed,
        Notice::NoServerReport { .. } => WarningId::NoReceiverReport,
        Notice::ReportUnacknowledged { .. } => WarningId::ReportUnacknowledged,
        Notice::PeerVanished { .. } | Notice::PeerGone { .. } => WarningId::PeerVanished,
        Notice::PeerRefused { .. } => WarningId::PeerRefused,
        Notice::Untold { .. } => WarningId::Untold,
        Notice::Shedding { .. } => WarningId::Shedding,
        Notice::InternalFault { .. } => WarningId::InternalFault,
        Notice::LimitsKept { .. } => WarningId::LimitsKept,
        Notice::TestRefused { .. } => WarningId::TestRefused,
        Notice::TestCut { .. } => WarningId::TestCut,
        Notice::OtherFamily { .. } => WarningId::OtherProtocol,
        Notice::WaitingForTests => WarningId::WaitingForTests,
        Notice::LimitsReread => WarningId::LimitsReread,
        Notice::BufferClamped { .. } => WarningId::BufferClamped,
        Notice::CpuSaturated { .. } => WarningId::CpuSaturated,
        Notice::ReceiveBufferDrops { .. } => WarningId::ReceiveBufferDrops,
        Notice::PacingMissed { .. } => WarningId::PacingMissed,
        Notice::ClockSet { .. } => WarningId::ClockSet,
        Notice::Interrupted => WarningId::Interrupted,
        Notice::Text(_) => WarningId::Other,
    }
}
