//! The server's answer to a TCP client header.

use crate::native::Mark;

use super::error::DecodeError;
use super::field::{put_word, word};
use super::limits::{ACK, ACK_TRIP_TIMES};
use super::settings::Timestamp;
use super::version::{PeerVersion, version_words};

/// The times in an acknowledgement of a trip-times test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckTimes {
    /// The client header's start time, echoed.
    pub sent: Timestamp,
    /// When the server accepted the connection.
    pub accepted: Timestamp,
    /// When the server sent the acknowledgement.
    pub acknowledged: Timestamp,
}

/// The acknowledgement of a TCP client header (2.0.13 and later): sent unasked to every
/// extended client in the normal direction, and to each that asked for it. 2.0.13 also
/// sends it to reverse and UDP clients.
///
/// | Offset | Field |
/// |---|---|
/// | 0 | type 2 |
/// | 4 | length: 28, or 52 with times |
/// | 8 | flags 0 |
/// | 12, 16 | version words |
/// | 20, 24 | reserved, 0; or a tapeline's [`Mark`] |
/// | 28, 36, 44 | sent, accepted, acknowledged |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerAck {
    /// The server's version.
    pub version: Option<PeerVersion>,
    /// The server is tapeline.
    pub mark: Option<Mark>,
    /// Times; `None` when trip-times were not asked for, or refused.
    pub trip_times: Option<AckTimes>,
}

impl ServerAck {
    const TYPE: u32 = 2;
    const TIMES_AT: usize = ACK;

    /// Bytes of the acknowledgement that begins with these eight bytes, 28 or 52. A server may
    /// answer with the short form where the long one was expected, so read this first.
    ///
    /// # Errors
    /// [`DecodeError::MessageType`] or [`DecodeError::AckLength`] when it is none.
    pub fn announced_length(front: &[u8; 8]) -> Result<usize, DecodeError> {
        let kind = word(front, 0);
        if kind != Self::TYPE {
            return Err(DecodeError::MessageType(kind));
        }
        match word(front, 4) {
            28 => Ok(ACK),
            52 => Ok(ACK_TRIP_TIMES),
            other => Err(DecodeError::AckLength(other)),
        }
    }

    /// Whether a whole datagram is an acknowledgement, which a UDP client must not take for the
    /// server's report.
    #[must_use]
    pub fn is_ack(datagram: &[u8]) -> bool {
        datagram.first_chunk().is_some_and(|front| {
            Self::announced_length(front).is_ok_and(|length| length == datagram.len())
        })
    }

    /// Decodes an acknowledgement by its own length. Bytes behind it are ignored.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are cut or are another message.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let needed = DecodeError::Truncated {
            needed: 8,
            found: bytes.len(),
        };
        let length = Self::announced_length(bytes.first_chunk().ok_or(needed)?)?;
        DecodeError::unless_length(bytes, length)?;
        let times = || AckTimes {
            sent: Timestamp::read(bytes, Self::TIMES_AT),
            accepted: Timestamp::read(bytes, Self::TIMES_AT + 8),
            acknowledged: Timestamp::read(bytes, Self::TIMES_AT + 16),
        };
        Ok(Self {
            version: PeerVersion::from_words(word(bytes, 12), word(bytes, 16)),
            mark: Mark::from_words(word(bytes, 20), word(bytes, 24)),
            trip_times: (length == ACK_TRIP_TIMES).then(times),
        })
    }

    /// Appends the 28 or 52 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = if self.trip_times.is_some() {
            ACK_TRIP_TIMES
        } else {
            ACK
        };
        let mut bytes = [0; ACK_TRIP_TIMES];
        let (version_upper, version_lower) = version_words(self.version);
        put_word(&mut bytes, 0, Self::TYPE);
        put_word(&mut bytes, 4, length as u32);
        put_word(&mut bytes, 12, version_upper);
        put_word(&mut bytes, 16, version_lower);
        let (name, number) = self.mark.map_or((0, 0), Mark::to_words);
        put_word(&mut bytes, 20, name);
        put_word(&mut bytes, 24, number);
        if let Some(times) = self.trip_times {
            times.sent.write(&mut bytes, Self::TIMES_AT);
            times.accepted.write(&mut bytes, Self::TIMES_AT + 8);
            times.acknowledged.write(&mut bytes, Self::TIMES_AT + 16);
        }
        out.extend_from_slice(&bytes[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_field_decides() {
        let mut bytes = Vec::new();
        ServerAck {
            trip_times: Some(AckTimes::default()),
            ..ServerAck::default()
        }
        .encode(&mut bytes);
        assert_eq!(bytes.len(), 52);
        assert_eq!(
            ServerAck::parse(&bytes[..28]),
            Err(DecodeError::Truncated {
                needed: 52,
                found: 28
            })
        );
        bytes[7] = 28;
        assert_eq!(ServerAck::parse(&bytes).unwrap().trip_times, None);
        bytes[7] = 40;
        assert_eq!(ServerAck::parse(&bytes), Err(DecodeError::AckLength(40)));
        bytes[3] = 1;
        assert_eq!(ServerAck::parse(&bytes), Err(DecodeError::MessageType(1)));
        assert_eq!(
            ServerAck::parse(&bytes[..5]),
            Err(DecodeError::Truncated {
                needed: 8,
                found: 5
            })
        );
    }

    #[test]
    fn only_a_whole_datagram_is_an_ack() {
        let mut bytes = Vec::new();
        ServerAck::default().encode(&mut bytes);
        assert!(ServerAck::is_ack(&bytes));
        bytes.push(0);
        assert!(!ServerAck::is_ack(&bytes));
        assert!(!ServerAck::is_ack(&bytes[..6]));
    }
}
