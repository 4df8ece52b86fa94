//! What both ways of `tapeline mtu` share.

use std::time::Duration;

use tapeline_report::method::{Direction, MtuResult};
use tapeline_stats::PathMtuLimits;

use super::tcp_view;
use crate::common::{Common, PeerKind};
use crate::error::MethodError;
use crate::run::Run;

/// The phase of a direction, and the one without UDP.
pub(crate) const PACKETS: &str = "packets";
pub(crate) const TCP: &str = "TCP";
/// What a direction takes on a path of up to 50 ms, and the least of it.
pub(crate) const PLANNED: Duration = Duration::from_secs(6);
/// Towards a plain peer each size is a test.
pub(crate) const PLANNED_BY_FLOWS: Duration = Duration::from_secs(20);
/// The test without UDP.
pub(crate) const PLANNED_TCP: Duration = Duration::from_secs(5);

/// What a direction takes, by what the peer can be.
pub(crate) fn planned(common: &Common) -> Duration {
    match common.peer {
        PeerKind::Auto => PLANNED,
        PeerKind::Iperf3 => PLANNED_BY_FLOWS,
    }
}

/// The largest packet to try, bytes of IP, if not what the interface sends.
pub(crate) fn largest(common: &Common) -> Option<u16> {
    let length = common.length?;
    Some(u16::try_from(length).unwrap_or(u16::MAX))
}

/// Nothing of UDP came back: what TCP knows is all that is known.
pub(crate) fn fall_back_to_tcp(
    common: &Common,
    run: &mut Run<'_>,
    result: &mut MtuResult,
) -> Result<(), MethodError> {
    result.tcp_only = true;
    run.warn(
        "udp-blocked",
        format!(
            "no datagram comes back from {}: the path MTU is what TCP believes",
            common.host
        ),
    );
    run.begin(TCP, Some(Direction::Up), PLANNED_TCP);
    tcp_view::measure(run, result)
}

/// Bytes in front of the payload of a datagram.
pub(crate) fn headers(is_v6: bool) -> u32 {
    u32::from(PathMtuLimits::headers(is_v6))
}
