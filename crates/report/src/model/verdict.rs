//! What limited a test.

use tapeline_base::{FlowTag, Transport};
use tapeline_stats::{Certainty, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

/// The verdict over all flows of one direction, and the evidence that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitVerdict {
    /// The flows, as this end numbers them.
    pub flows: Vec<FlowTag>,
    /// Their transport.
    pub transport: Transport,
    /// This end sends.
    pub local_sends: bool,
    /// What the sending end knows; all unknown while only the peer could report it.
    pub sender: SenderEvidence,
    /// What the receiving end knows.
    pub receiver: ReceiverEvidence,
    /// What limited them.
    pub verdict: Verdict,
}

impl LimitVerdict {
    /// Whether a host or its settings, and not the network or the order of the test, limited it:
    /// surely or likely.
    #[must_use]
    pub fn blames_a_host(&self) -> bool {
        let host = self.verdict.limited_by.is_some_and(LimitedBy::is_host);
        host && self.verdict.certainty >= Certainty::Medium
    }

    /// Of the directions of a test, the one that is limited most: a path or a host before the test's
    /// own order, the surer verdict before the other, a host before the network, which it hides.
    /// Of equals, the first one.
    #[must_use]
    pub fn most_limited(of: &[Self]) -> Option<&Self> {
        let weight = |one: &Self| {
            one.verdict.limited_by.map(|limit| {
                let ordered = limit.is_order();
                (!ordered, one.verdict.certainty, limit.is_host())
            })
        };
        of.iter().rev().max_by_key(|one| weight(one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_verdict(
        local_sends: bool,
        limited_by: Option<LimitedBy>,
        certainty: Certainty,
    ) -> LimitVerdict {
        LimitVerdict {
            flows: Vec::new(),
            transport: Transport::Tcp,
            local_sends,
            sender: SenderEvidence::default(),
            receiver: ReceiverEvidence::default(),
            verdict: Verdict {
                limited_by,
                certainty,
                findings: Vec::new(),
            },
        }
    }

    #[test]
    fn the_direction_that_is_limited_most_stands_for_the_test() {
        use Certainty::{High, Low, Medium};
        use LimitedBy::{Network, ReceiverCpu, RequestedRate};
        let first = |sends: (Option<LimitedBy>, _), receives: (Option<LimitedBy>, _)| {
            let both = [
                limit_verdict(true, sends.0, sends.1),
                limit_verdict(false, receives.0, receives.1),
            ];
            LimitVerdict::most_limited(&both).map(|one| one.local_sends)
        };
        let order = (Some(RequestedRate), High);
        assert_eq!(first(order, (Some(Network), High)), Some(false));
        assert_eq!(first(order, (Some(Network), Low)), Some(false));
        assert_eq!(first(order, (None, Low)), Some(true));
        assert_eq!(first(order, order), Some(true));
        assert_eq!(
            first((Some(Network), High), (Some(ReceiverCpu), High)),
            Some(false)
        );
        assert_eq!(
            first((Some(Network), High), (Some(ReceiverCpu), Medium)),
            Some(true)
        );
        assert_eq!(LimitVerdict::most_limited(&[]), None);
    }

    #[test]
    fn only_likely_limits_of_hosts_are_blamed_on_them() {
        let blamed =
            |limited_by, certainty| limit_verdict(true, limited_by, certainty).blames_a_host();
        use Certainty::{High, Low, Medium};
        let buffer = Some(LimitedBy::SendBuffer);
        assert!(blamed(buffer, High) && blamed(buffer, Medium));
        assert!(!blamed(buffer, Low));
        assert!(!blamed(Some(LimitedBy::Network), High));
        for order in [
            LimitedBy::RequestedRate,
            LimitedBy::Input,
            LimitedBy::Application,
        ] {
            assert!(!blamed(Some(order), High));
        }
        assert!(!blamed(None, Low));
    }
}
