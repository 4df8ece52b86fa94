//! What a server answers to a marked first message or datagram of a client.

use std::num::NonZeroU16;

use tapeline_wire::iperf2::ServerAck;
use tapeline_wire::native::{Mark, Refusal, RefusalReason};

/// Seconds after which a client may find a place that is taken now.
const RETRY: Option<NonZeroU16> = NonZeroU16::new(10);

/// The answer of a tapeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It runs the test; what opens the control connection.
    Taken(Mark),
    /// It does not.
    Refused(Refusal),
}

impl Answer {
    /// The answer that a whole message begins with; `None` for those of other servers.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        // Most bytes are data: this word comes first in an answer.
        if !bytes.starts_with(&[0, 0, 0, 2]) {
            return None;
        }
        let taken = || Some(Self::Taken(ServerAck::parse(bytes).ok()?.mark?));
        Refusal::parse(bytes).map(Self::Refused).or_else(taken)
    }
}

/// What a client with this mark is told of a test that does not begin.
pub(crate) fn refusal(mark: Mark, reason: RefusalReason) -> Refusal {
    let passes = match reason {
        RefusalReason::TestsOfAddress(limit)
        | RefusalReason::Tests(limit)
        | RefusalReason::Streams(limit) => limit > 0,
        RefusalReason::Busy => true,
        _ => false,
    };
    Refusal {
        test: mark.number,
        reason,
        retry_seconds: RETRY.filter(|_| passes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_all_places_taken_may_come_again() {
        let mark = Mark {
            version: 1,
            number: std::num::NonZeroU32::MAX,
        };
        for (reason, passes) in [
            (RefusalReason::Tests(1), true),
            (RefusalReason::Tests(0), false),
            (RefusalReason::Busy, true),
            (RefusalReason::StreamsOfTest(4), false),
            (RefusalReason::Address, false),
        ] {
            let told = refusal(mark, reason);
            assert_eq!(told.retry_seconds.is_some(), passes, "{reason:?}");
            let heard = Answer::parse(&told.encode());
            assert_eq!(heard, Some(Answer::Refused(told)));
        }
        let mut bytes = Vec::new();
        ServerAck {
            mark: Some(mark),
            ..ServerAck::default()
        }
        .encode(&mut bytes);
        assert_eq!(Answer::parse(&bytes), Some(Answer::Taken(mark)));
        bytes[20..].fill(0);
        assert_eq!(Answer::parse(&bytes), None);
    }
}
