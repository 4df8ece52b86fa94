//! Why a server does not run a test, and when to ask again.

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

/// Type and length of iperf 2's acknowledgement, in which a client looks for an answer.
const FRONT: [u8; 8] = [0, 0, 0, 2, 0, 0, 0, Refusal::LENGTH as u8];
const NAME: [u8; 3] = *b"TPR";

/// The limit that a test would exceed. The number is the limit, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// So many tests of the client's address run.
    TestsOfAddress(u32),
    /// So many tests run.
    Tests(u32),
    /// So many streams run.
    Streams(u32),
    /// So many streams a test may have.
    StreamsOfTest(u32),
    /// Longest block that a client may order, bytes.
    Block(u32),
    /// Lowest port of its own to which a client may order a connection.
    Port(u32),
    /// More payload than a test may have.
    Bytes,
    /// The client's address is not served.
    Address,
    /// The address is not verified to which the server was asked to send datagrams.
    Unverified,
    /// As many flows of datagrams are busy as may be.
    Busy,
    /// A reason of a newer server's, by its number.
    Other(u8),
}

impl RefusalReason {
    fn from_code(code: u8, limit: u32) -> Self {
        match code {
            1 => Self::TestsOfAddress(limit),
            2 => Self::Tests(limit),
            3 => Self::Streams(limit),
            4 => Self::StreamsOfTest(limit),
            5 => Self::Block(limit),
            6 => Self::Port(limit),
            7 => Self::Bytes,
            8 => Self::Address,
            9 => Self::Unverified,
            10 => Self::Busy,
            other => Self::Other(other),
        }
    }

    /// The code, and the limit or 0.
    fn to_code(self) -> (u8, u32) {
        match self {
            Self::TestsOfAddress(limit) => (1, limit),
            Self::Tests(limit) => (2, limit),
            Self::Streams(limit) => (3, limit),
            Self::StreamsOfTest(limit) => (4, limit),
            Self::Block(limit) => (5, limit),
            Self::Port(limit) => (6, limit),
            Self::Bytes => (7, 0),
            Self::Address => (8, 0),
            Self::Unverified => (9, 0),
            Self::Busy => (10, 0),
            Self::Other(code) => (code, 0),
        }
    }
}

/// For the client: "the server refuses the test: " stands before it.
impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestsOfAddress(limit) => {
                write!(f, "it runs at most {limit} tests of an address at a time")
            }
            Self::Tests(limit) => write!(f, "it runs at most {limit} tests at a time"),
            Self::Streams(limit) => write!(f, "it runs at most {limit} streams at a time"),
            Self::StreamsOfTest(limit) => write!(f, "a test has at most {limit} streams there"),
            Self::Block(limit) => {
                write!(f, "blocks of at most {limit} bytes may be ordered there")
            }
            Self::Port(limit) => write!(f, "it connects back to no port below {limit}"),
            Self::Bytes => f.write_str("the test asks for more bytes than it may have there"),
            Self::Address => f.write_str("it does not serve this address"),
            Self::Unverified => {
                f.write_str("it sends datagrams on the order of trusted addresses alone")
            }
            Self::Busy => f.write_str("as many UDP flows as may be are busy there"),
            Self::Other(code) => write!(f, "its reason {code} is unknown to this version"),
        }
    }
}

/// A server's answer to a marked first message or datagram of a test that it does not run, in
/// place of an acknowledgement (`docs/dev/protocol.md`, section 1.3).
///
/// | Offset | Size | Field |
/// |---|---|---|
/// | 0 | 4 | type 2 |
/// | 4 | 4 | length 28 |
/// | 8 | 4 | 0 |
/// | 12 | 4 | the test, as in the client's mark |
/// | 16 | 4 | the limit that it would exceed, 0 where that is no number |
/// | 20 | 3 | `TPR` |
/// | 23 | 1 | reason |
/// | 24 | 2 | seconds after which another try makes sense, 0 where none does |
/// | 26 | 2 | 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The number in the client's marks.
    pub test: NonZeroU32,
    /// Why.
    pub reason: RefusalReason,
    /// Seconds after which another try makes sense; `None` where none does.
    pub retry_seconds: Option<NonZeroU16>,
}

impl Refusal {
    /// Bytes of the message.
    pub const LENGTH: usize = 28;

    /// The refusal that the bytes begin with, if they do.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.first_chunk()?;
        let word = |at: usize| bytes[at..].first_chunk().copied().map(u32::from_be_bytes);
        if bytes[..8] != FRONT || bytes[20..23] != NAME {
            return None;
        }
        Some(Self {
            test: NonZeroU32::new(word(12)?)?,
            reason: RefusalReason::from_code(bytes[23], word(16)?),
            retry_seconds: NonZeroU16::new(u16::from_be_bytes([bytes[24], bytes[25]])),
        })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let (code, limit) = self.reason.to_code();
        let retry = self.retry_seconds.map_or(0, NonZeroU16::get);
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&FRONT);
        bytes[12..16].copy_from_slice(&self.test.get().to_be_bytes());
        bytes[16..20].copy_from_slice(&limit.to_be_bytes());
        bytes[20..23].copy_from_slice(&NAME);
        bytes[23] = code;
        bytes[24..26].copy_from_slice(&retry.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf2::ServerAck;

    const TEST: NonZeroU32 = NonZeroU32::new(0x0102_0304).unwrap();

    fn refusal(reason: RefusalReason) -> Refusal {
        Refusal {
            test: TEST,
            reason,
            retry_seconds: NonZeroU16::new(10),
        }
    }

    #[test]
    fn a_refusal_has_the_bytes_of_the_specification() {
        let bytes = refusal(RefusalReason::TestsOfAddress(16)).encode();
        let expected = [
            [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 0, 1, 2].as_slice(),
            &[3, 4, 0, 0, 0, 16, 0x54, 0x50, 0x52, 1, 0, 10, 0, 0],
        ];
        assert_eq!(bytes, *expected.concat());
    }

    #[test]
    fn every_reason_comes_back() {
        for code in 0..=255 {
            let reason = RefusalReason::from_code(code, 7);
            let refused = refusal(reason);
            assert_eq!(Refusal::parse(&refused.encode()), Some(refused), "{code}");
            assert!(!reason.to_string().chars().any(char::is_control));
        }
    }

    #[test]
    fn older_clients_take_it_for_an_acknowledgement_without_a_mark() {
        let bytes = refusal(RefusalReason::Address).encode();
        assert!(ServerAck::is_ack(&bytes));
        assert_eq!(ServerAck::parse(&bytes).expect("read").mark, None);
    }

    #[test]
    fn other_bytes_are_none() {
        let bytes = refusal(RefusalReason::Tests(1)).encode();
        for at in (0..8).chain(20..23) {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(Refusal::parse(&other), None, "{at}");
        }
        let mut nobodys = bytes;
        nobodys[12..16].fill(0);
        assert_eq!(Refusal::parse(&nobodys), None);
        assert_eq!(Refusal::parse(&bytes[..27]), None);
    }
}
