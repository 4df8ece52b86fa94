//! The datagrams of a probe flow: round trips next to a test's traffic (`docs/dev/protocol.md`, section 2.4).

use std::num::NonZeroU64;

use tapeline_base::Tos;

/// What every probe begins with.
const NAME: [u8; 8] = *b"TPLPROBE";
/// Kind of a request.
const REQUEST: u8 = 1;
/// Kind of a reply.
const REPLY: u8 = 2;

/// A client's question: it comes back with two readings of the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// What the server gave the client to be known by.
    pub key: NonZeroU64,
    /// Counted up by the client.
    pub number: u32,
    /// Type of service of the flows next to it, which the reply is to have too; without congestion bits.
    pub class: Tos,
    /// T1: the client sent it, nanoseconds since 1970.
    pub sent: u64,
}

/// The server's reply, of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeReply {
    /// What is answered.
    pub request: ProbeRequest,
    /// T2: the server received the request, nanoseconds since 1970.
    pub received: u64,
    /// T3: the server sent the reply.
    pub sent: u64,
}

impl ProbeRequest {
    /// Length of a request and of a reply, bytes.
    pub const LENGTH: usize = 48;

    /// The datagram.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        self.fill(REQUEST, 0, 0)
    }

    /// Reads a request; nothing when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        read(bytes, REQUEST).map(|reply| reply.request)
    }

    fn fill(&self, kind: u8, received: u64, sent: u64) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&NAME);
        bytes[8] = kind;
        bytes[9] = without_ecn(self.class).0;
        bytes[12..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.key.get().to_be_bytes());
        for (at, time) in [(24, self.sent), (32, received), (40, sent)] {
            bytes[at..at + 8].copy_from_slice(&time.to_be_bytes());
        }
        bytes
    }
}

impl ProbeReply {
    /// The datagram.
    #[must_use]
    pub fn encode(&self) -> [u8; ProbeRequest::LENGTH] {
        self.request.fill(REPLY, self.received, self.sent)
    }

    /// Reads a reply; nothing when the bytes are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        read(bytes, REPLY)
    }
}

/// Nobody slows down when a probe comes back with a congestion mark.
fn without_ecn(class: Tos) -> Tos {
    Tos::from_dscp(class.dscp())
}

fn read(bytes: &[u8], kind: u8) -> Option<ProbeReply> {
    let bytes: &[u8; ProbeRequest::LENGTH] = bytes.try_into().ok()?;
    if bytes[..8] != NAME || bytes[8] != kind {
        return None;
    }
    let long = |at: usize| {
        let word = bytes[at..].first_chunk().copied();
        word.map_or(0, u64::from_be_bytes)
    };
    let number = bytes[12..].first_chunk().copied();
    Some(ProbeReply {
        request: ProbeRequest {
            key: NonZeroU64::new(long(16))?,
            number: number.map_or(0, u32::from_be_bytes),
            class: without_ecn(Tos(bytes[9])),
            sent: long(24),
        },
        received: long(32),
        sent: long(40),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTED: ProbeRequest = ProbeRequest {
        key: NonZeroU64::new(0x0102_0304_0506_0708).unwrap(),
        number: 9,
        class: Tos(0xb8),
        sent: 0x1a,
    };

    #[test]
    fn a_request_has_the_bytes_of_the_specification() {
        let mut bytes = b"TPLPROBE\x01\xb8\0\0\0\0\0\x09\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0x1a]);
        bytes.extend([0; 16]);
        assert_eq!(REQUESTED.encode().as_slice(), bytes);
        assert_eq!(ProbeRequest::parse(&bytes), Some(REQUESTED));
        assert_eq!(ProbeReply::parse(&bytes), None);
    }

    #[test]
    fn a_reply_is_as_long_and_comes_back() {
        let reply = ProbeReply {
            request: REQUESTED,
            received: 27,
            sent: 28,
        };
        let bytes = reply.encode();
        assert_eq!(ProbeReply::parse(&bytes), Some(reply));
        assert_eq!(ProbeRequest::parse(&bytes), None);
    }

    #[test]
    fn a_class_has_no_congestion_bits() {
        let marked = ProbeRequest {
            class: Tos(0xbb),
            ..REQUESTED
        };
        assert_eq!(ProbeRequest::parse(&marked.encode()), Some(REQUESTED));
        let mut bytes = REQUESTED.encode();
        bytes[9] |= 3;
        assert_eq!(ProbeRequest::parse(&bytes), Some(REQUESTED));
    }

    #[test]
    fn other_datagrams_are_no_probes() {
        let mut longer = REQUESTED.encode().to_vec();
        longer.push(0);
        let mut keyless = REQUESTED.encode();
        keyless[16..24].fill(0);
        let mut named = REQUESTED.encode();
        named[7] = b'F';
        for bytes in [&[][..], &longer, &longer[..47], &keyless, &named, &[0; 48]] {
            assert_eq!(ProbeRequest::parse(bytes), None, "{bytes:?}");
        }
    }
}
