//! Names of conditions.

use super::Notice;

macro_rules! names {
    ($($variant:ident $name:literal,)+ ; $($method:literal,)*) => {
        /// A condition by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum WarningId {
            $($variant,)+
        }

        impl WarningId {
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// The names of all conditions, which `tapeline explain` explains.
        pub const WARNING_IDS: &[&str] = &[$($name,)+ $($method,)*];
    };
}

names! {
    ConnectFailed "connect-failed",
    ConnectGaveUp "connect-gave-up",
    NoReply "no-reply",
    ListenFailed "listen-failed",
    BindFailed "bind-failed",
    DeviceFailed "device-failed",
    UnknownHost "unknown-host",
    CongestionControlFailed "congestion-control-failed",
    SegmentSizeFailed "segment-size-failed",
    TosChanged "tos-changed",
    SmallWindow "small-window",
    TrafficFailed "traffic-failed",
    NoReceiverReport "no-receiver-report",
    ReportUnacknowledged "report-unacknowledged",
    PeerLost "peer-lost",
    ClientRefused "client-refused",
    RefusalsSuppressed "refusals-suppressed",
    OutOfResources "out-of-resources",
    InternalFault "internal-fault",
    TestRefused "test-refused",
    TestStopped "test-stopped",
    ServerIsIperf3 "server-is-iperf3",
    Stopping "stopping",
    LimitsReloaded "limits-reloaded",
    LimitsReloadFailed "limits-reload-failed",
    BufferClamped "buffer-clamped",
    CpuSaturated "cpu-saturated",
    ReceiveBufferDrops "receive-buffer-drops",
    RateNotReached "rate-not-reached",
    ClockJumped "clock-jumped",
    Interrupted "interrupted",
    Other "other",
    StartTimePassed "start-time-passed",
    ClocksCompared "clocks-compared",
    ClocksDisagree "clocks-disagree",
    PermitKeyRefused "permit-key-refused",
    TestFailed "test-failed",
    ConfidenceNotReached "confidence-not-reached",
    IntervalsDropped "intervals-dropped",
    Usage "usage",
    ;
    // Of the history, which is no part of a test.
    "not-saved",
    "history-on-network",
    "history-full",
    // Of methods, which name theirs themselves.
    "baseline-not-idle",
    "bottleneck-unknown",
    "path-unfit",
    "window-clipped",
    "window-not-held",
    "tcp-buffers-small",
    "method-overran",
    "path-not-idle",
    "udp-blocked",
    "size-dependent-loss",
    "mtu-below-minimum",
    "path-too-lossy",
}

impl WarningId {
    /// The name of a notice.
    pub(crate) const fn from_notice(notice: &Notice) -> Self {
        match notice {
            Notice::ConnectFailed { .. } => Self::ConnectFailed,
            Notice::ConnectTimedOut { .. } => Self::ConnectGaveUp,
            Notice::NoReply { .. } => Self::NoReply,
            Notice::ListenFailed { .. } => Self::ListenFailed,
            Notice::BindFailed { .. } => Self::BindFailed,
            Notice::DeviceFailed { .. } => Self::DeviceFailed,
            Notice::Unresolvable { .. } => Self::UnknownHost,
            Notice::CongestionFailed { .. } => Self::CongestionControlFailed,
            Notice::SegmentSizeFailed { .. } => Self::SegmentSizeFailed,
            Notice::TosFailed { .. } => Self::TosChanged,
            Notice::SmallWindow { .. } => Self::SmallWindow,
            Notice::TrafficFailed { .. } => Self::TrafficFailed,
            Notice::NoServerReport { .. } => Self::NoReceiverReport,
            Notice::ReportUnacknowledged { .. } => Self::ReportUnacknowledged,
            Notice::PeerVanished { .. } | Notice::PeerGone { .. } => Self::PeerLost,
            Notice::PeerRefused { .. } => Self::ClientRefused,
            Notice::Suppressed { .. } => Self::RefusalsSuppressed,
            Notice::Shedding { .. } => Self::OutOfResources,
            Notice::InternalFault { .. } => Self::InternalFault,
            Notice::LimitsKept { .. } => Self::LimitsReloadFailed,
            Notice::TestRefused { .. } => Self::TestRefused,
            Notice::TestCut { .. } => Self::TestStopped,
            Notice::WrongProtocol { .. } => Self::ServerIsIperf3,
            Notice::WaitingForTests => Self::Stopping,
            Notice::LimitsReread => Self::LimitsReloaded,
            Notice::BufferClamped { .. } => Self::BufferClamped,
            Notice::CpuSaturated { .. } => Self::CpuSaturated,
            Notice::ReceiveBufferDrops { .. } => Self::ReceiveBufferDrops,
            Notice::PacingMissed { .. } => Self::RateNotReached,
            Notice::ClockSet { .. } => Self::ClockJumped,
            Notice::Interrupted => Self::Interrupted,
            Notice::Text(_) | Notice::Remark(_) => Self::Other,
        }
    }
}
