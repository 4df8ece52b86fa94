//! A server's answers to the marked datagrams of a flow: pure.

use tapeline_wire::iperf2::{PeerVersion, ServerAck};
use tapeline_wire::native::Mark;

/// Datagrams of a flow that are answered, the first one included.
const ANSWERED: u8 = 3;
/// Shortest datagram that is answered, bytes: the mark is in it, and it is longer than the answer.
const SHORTEST: usize = 60;

/// What is left to answer of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recognition {
    mark: Option<Mark>,
    left: u8,
}

impl Recognition {
    /// A flow that is answered with this mark, if any.
    pub(super) fn new(mark: Option<Mark>) -> Self {
        Self {
            mark,
            left: if mark.is_some() { ANSWERED } else { 0 },
        }
    }

    /// The flow's client is tapeline, and may open a control connection.
    pub(super) fn is_of_tapeline(&self) -> bool {
        self.mark.is_some()
    }

    /// The answer to a datagram of the flow.
    #[inline]
    pub(super) fn next(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        if self.left == 0 || datagram.len() < SHORTEST {
            return None;
        }
        self.left -= 1;
        let mut answer = Vec::new();
        ServerAck {
            version: Some(PeerVersion::IPERF_2_2_1),
            mark: self.mark,
            trip_times: None,
        }
        .encode(&mut answer);
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn few_datagrams_are_answered_and_none_with_more_than_it_had() {
        let mark = Mark {
            version: 1,
            number: NonZeroU32::MIN,
        };
        let mut recognition = Recognition::new(Some(mark));
        assert_eq!(recognition.next(&[0; SHORTEST - 1]), None);
        for _ in 0..ANSWERED {
            let answer = recognition.next(&[0; SHORTEST]).expect("an answer");
            assert_eq!(answer.len(), 28);
            assert_eq!(
                ServerAck::parse(&answer).expect("an answer").mark,
                Some(mark)
            );
        }
        assert_eq!(recognition.next(&[0; 1470]), None);
        assert_eq!(Recognition::new(None).next(&[0; 1470]), None);
    }
}
