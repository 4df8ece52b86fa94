//! A peer's port that refuses datagrams.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Time after its first refusal from which on a port counts as closed: iperf 2.2.1 that is sent
/// several flows at once may have no socket on its port for a second.
const CLOSED_FOR: Duration = Duration::from_millis(1500);

/// A port that has refused from the start; it may only not be open yet.
#[derive(Clone, Copy, Debug)]
pub struct RefusingPort {
    first: MonoTime,
}

impl RefusingPort {
    /// A port that refuses for the first time at `first`.
    pub fn since(first: MonoTime) -> Self {
        Self { first }
    }

    /// Whether a refusal at `now` says that the port is closed, which the first ones do not.
    pub fn is_closed(&self, now: MonoTime) -> bool {
        now.since(self.first) >= CLOSED_FOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_closed_once_it_has_refused_for_longer_than_iperf_needs() {
        let first = MonoTime::ZERO + Duration::from_secs(7);
        let port = RefusingPort::since(first);
        assert!(!port.is_closed(first));
        assert!(!port.is_closed(first + Duration::from_millis(1040)));
        assert!(port.is_closed(first + CLOSED_FOR));
    }
}
