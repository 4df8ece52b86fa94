//! What limited a test.

use tapeline_base::{FlowTag, Transport};
use tapeline_stats::{ReceiverEvidence, SenderEvidence, Verdict};

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
