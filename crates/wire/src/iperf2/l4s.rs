//! L4S (Prague) traffic: the sender's stamp and the receiver's acknowledgement.

use super::error::DecodeError;
use super::field::{half, put_half, put_word, word};
use super::limits::L4S_ACK;

/// What an L4S sender writes into each datagram (2.2 builds with L4S), over three words of the
/// extended header: 52, 56 and 60.
///
/// Times are microseconds from an origin of each end's own, never 0; only wrapping
/// differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L4sStamp {
    /// Sender's clock.
    pub time: i32,
    /// Receiver's time from its last acknowledgement, advanced by the sender's holding time.
    pub echoed_time: i32,
    /// Number of the datagram, from 1.
    pub sequence: u32,
}

impl L4sStamp {
    /// Offset behind the stamp; shorter datagrams carry none.
    pub const END: usize = 64;

    /// Reads the stamp of a datagram; `None` when it is too short.
    #[inline]
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        (datagram.len() >= Self::END).then(|| Self {
            time: word(datagram, 52) as i32,
            echoed_time: word(datagram, 56) as i32,
            sequence: word(datagram, 60),
        })
    }

    /// Writes the stamp into a datagram, as far as it reaches.
    #[inline]
    pub fn write(&self, datagram: &mut [u8]) {
        put_word(datagram, 52, self.time as u32);
        put_word(datagram, 56, self.echoed_time as u32);
        put_word(datagram, 60, self.sequence);
    }
}

/// The receiver's answer to each L4S datagram but the first, 28 bytes.
///
/// | Offset | Field |
/// |---|---|
/// | 0 | flags: 1 = wrong ECN bits received |
/// | 4 | receiver's time |
/// | 8 | echoed sender time |
/// | 12, 16, 20 | received, marked, lost |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L4sAck {
    /// The datagram came neither as ECT(1) nor marked: the path clears ECN.
    pub ecn_error: bool,
    /// Receiver's clock.
    pub time: i32,
    /// Sender's time, advanced by the receiver's holding time.
    pub echoed_time: i32,
    /// Datagrams received.
    pub received: u32,
    /// Of these, marked with congestion experienced.
    pub marked: u32,
    /// Datagrams lost; goes down again when late ones arrive.
    pub lost: u32,
}

impl L4sAck {
    const ECN_ERROR: u16 = 1;

    /// Decodes an acknowledgement.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] below 28 bytes, [`DecodeError::MessageType`] with other flags than these.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        DecodeError::unless_length(bytes, L4S_ACK)?;
        let flags = half(bytes, 0);
        if flags & !Self::ECN_ERROR != 0 || half(bytes, 2) != 0 {
            return Err(DecodeError::MessageType(word(bytes, 0)));
        }
        Ok(Self {
            ecn_error: flags == Self::ECN_ERROR,
            time: word(bytes, 4) as i32,
            echoed_time: word(bytes, 8) as i32,
            received: word(bytes, 12),
            marked: word(bytes, 16),
            lost: word(bytes, 20),
        })
    }

    /// The 28 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; L4S_ACK] {
        let mut bytes = [0; L4S_ACK];
        put_half(&mut bytes, 0, u16::from(self.ecn_error) * Self::ECN_ERROR);
        put_word(&mut bytes, 4, self.time as u32);
        put_word(&mut bytes, 8, self.echoed_time as u32);
        put_word(&mut bytes, 12, self.received);
        put_word(&mut bytes, 16, self.marked);
        put_word(&mut bytes, 20, self.lost);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_message_is_no_acknowledgement() {
        let good = L4sAck {
            ecn_error: true,
            received: 5,
            ..L4sAck::default()
        }
        .encode();
        assert!(L4sAck::parse(&good).unwrap().ecn_error);
        for (at, value) in [(0, 0x80), (1, 2), (3, 2)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(
                L4sAck::parse(&bad),
                Err(DecodeError::MessageType(word(&bad, 0))),
                "{at}"
            );
        }
        let cut = DecodeError::Truncated {
            needed: 28,
            found: 27,
        };
        assert_eq!(L4sAck::parse(&good[..27]), Err(cut));
    }

    #[test]
    fn a_short_datagram_carries_no_stamp() {
        assert_eq!(L4sStamp::read(&[0; 63]), None);
        assert_eq!(L4sStamp::read(&[0; 64]), Some(L4sStamp::default()));
    }
}
