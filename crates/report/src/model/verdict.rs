//! What limited a test.

use tapeline_base::{FlowTag, Transport};
use tapeline_stats::{Certainty, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

/// The verdict over all flows of one direction, and the evidence that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The flows, as this end numbers them.
    pub flows: Vec<FlowTag>,
    /// Their transport.
    pub transport: Transport,
    /// This end sends.
    pub local_sends: bool,
    /// What the sending end knows; all unknown while only the other end could tell.
    pub sender: SenderEvidence,
    /// What the receiving end knows.
    pub receiver: ReceiverEvidence,
    /// What limited them.
    pub verdict: Verdict,
}

impl Judgement {
    /// Whether a host or its settings, and not the network or the order of the test, limited it:
    /// surely or likely.
    #[must_use]
    pub fn blames_a_host(&self) -> bool {
        let host = self.verdict.limited_by.is_some_and(LimitedBy::is_host);
        host && self.verdict.certainty >= Certainty::Medium
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_likely_limits_of_hosts_are_blamed_on_them() {
        let blamed = |limited_by, certainty| {
            let judgement = Judgement {
                flows: Vec::new(),
                transport: Transport::Tcp,
                local_sends: true,
                sender: SenderEvidence::default(),
                receiver: ReceiverEvidence::default(),
                verdict: Verdict {
                    limited_by,
                    certainty,
                    findings: Vec::new(),
                },
            };
            judgement.blames_a_host()
        };
        use Certainty::{High, Low, Medium};
        let buffer = Some(LimitedBy::SendBuffer);
        assert!(blamed(buffer, High) && blamed(buffer, Medium));
        assert!(!blamed(buffer, Low));
        assert!(!blamed(Some(LimitedBy::Network), High));
        assert!(!blamed(Some(LimitedBy::Application), High));
        assert!(!blamed(None, Low));
    }
}
