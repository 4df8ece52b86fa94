//! UDP: connecting a stream, and the header of a datagram.

/// What a client sends to connect a UDP stream (3.12 and later).
pub const CONNECT: [u8; 4] = *b"9876";
/// What a server answers.
pub const CONNECT_REPLY: [u8; 4] = *b"6789";
/// What clients up to 3.11 send: 123456789 in their own byte order.
pub const LEGACY_CONNECT: [u8; 4] = 123_456_789_u32.to_le_bytes();
/// What servers up to 3.11 answer: 987654321 in their own byte order.
pub const LEGACY_REPLY: [u8; 4] = 987_654_321_u32.to_le_bytes();

/// Whether a datagram asks to connect a stream, of whichever version and byte order.
#[must_use]
pub fn is_connect(datagram: &[u8]) -> bool {
    let mut swapped = LEGACY_CONNECT;
    swapped.reverse();
    [CONNECT, LEGACY_CONNECT, swapped]
        .iter()
        .any(|message| datagram == message)
}

/// Whether a datagram answers such a request.
#[must_use]
pub fn is_connect_reply(datagram: &[u8]) -> bool {
    let mut swapped = LEGACY_REPLY;
    swapped.reverse();
    [CONNECT_REPLY, LEGACY_REPLY, swapped]
        .iter()
        .any(|message| datagram == message)
}

/// Width of the packet numbers of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterWidth {
    /// 32 bits: a header of 12 bytes.
    #[default]
    Narrow,
    /// 64 bits (`--udp-counters-64bit`): a header of 16 bytes.
    Wide,
}

impl CounterWidth {
    /// Length of the header, bytes.
    #[must_use]
    pub fn header_length(self) -> usize {
        match self {
            Self::Narrow => 12,
            Self::Wide => 16,
        }
    }
}

/// Time and number at the front of a datagram.
///
/// | Offset | Size | Field |
/// |---|---|---|
/// | 0 | 4 | seconds of the sender's monotonic clock |
/// | 4 | 4 | microseconds |
/// | 8 | 4 or 8 | packet number, from 1 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramHeader {
    /// Seconds since a point of time that only the sender knows.
    pub seconds: u32,
    /// Microseconds, below 1000000.
    pub micros: u32,
    /// Number, from 1.
    pub number: u64,
}

impl DatagramHeader {
    /// Reads the header; `None` when the datagram is too short for it.
    #[must_use]
    #[inline]
    pub fn read(datagram: &[u8], width: CounterWidth) -> Option<Self> {
        let word = |at: usize| {
            let bytes = datagram.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let number = match width {
            CounterWidth::Narrow => u64::from(word(8)?),
            CounterWidth::Wide => u64::from(word(8)?) << 32 | u64::from(word(12)?),
        };
        Some(Self {
            seconds: word(0)?,
            micros: word(4)?,
            number,
        })
    }

    /// Writes the header; a datagram that is too short stays as it is. Numbers beyond 32 bits
    /// wrap in the narrow form.
    #[inline]
    pub fn write(&self, datagram: &mut [u8], width: CounterWidth) {
        let Some(header) = datagram.get_mut(..width.header_length()) else {
            return;
        };
        header[..4].copy_from_slice(&self.seconds.to_be_bytes());
        header[4..8].copy_from_slice(&self.micros.to_be_bytes());
        match width {
            CounterWidth::Narrow => {
                header[8..].copy_from_slice(&(self.number as u32).to_be_bytes());
            }
            CounterWidth::Wide => header[8..].copy_from_slice(&self.number.to_be_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_both_widths_survive() {
        let header = DatagramHeader {
            seconds: 1236,
            micros: 536_026,
            number: 5_000_000_000,
        };
        let mut datagram = [0xaa; 20];
        header.write(&mut datagram, CounterWidth::Wide);
        assert_eq!(
            DatagramHeader::read(&datagram, CounterWidth::Wide),
            Some(header)
        );
        header.write(&mut datagram, CounterWidth::Narrow);
        let read = DatagramHeader::read(&datagram, CounterWidth::Narrow).expect("long enough");
        assert_eq!(read.number, 5_000_000_000 % (1 << 32));
        assert_eq!(datagram[16..], [0xaa; 4]);
    }

    #[test]
    fn short_datagrams_have_no_header() {
        assert_eq!(DatagramHeader::read(&[0; 11], CounterWidth::Narrow), None);
        assert_eq!(DatagramHeader::read(&[0; 15], CounterWidth::Wide), None);
        let mut short = [7; 11];
        DatagramHeader::default().write(&mut short, CounterWidth::Narrow);
        assert_eq!(short, [7; 11]);
    }

    #[test]
    fn both_generations_of_the_connect_message_are_known() {
        assert!(is_connect(&[0x15, 0xcd, 0x5b, 0x07]));
        assert!(is_connect(&[0x07, 0x5b, 0xcd, 0x15]));
        assert!(is_connect(b"9876"));
        assert!(is_connect_reply(&[0xb1, 0x68, 0xde, 0x3a]));
        assert!(is_connect_reply(b"6789"));
        assert!(!is_connect(b"6789") && !is_connect(b"98765"));
    }
}
