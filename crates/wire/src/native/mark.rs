//! How two tapelines recognise each other inside iperf 2's own messages.

use std::num::NonZeroU32;

/// The lowest and the highest version of the control protocol that this program speaks.
pub const VERSIONS: std::ops::RangeInclusive<u8> = 1..=1;

const NAME: u32 = u32::from_be_bytes(*b"\0TPL") << 8;

/// Two words that every iperf leaves 0 and ignores: in a client's extended header, and in
/// a server's acknowledgement (`docs/dev/protocol.md`, section 1).
///
/// | Offset | Size | Field |
/// |---|---|---|
/// | 0 | 3 | `TPL` |
/// | 3 | 1 | version of the control protocol |
/// | 4 | 4 | the test (client), or the token of a flow (server) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Client: the highest version that it speaks. Server: the version to be spoken.
    pub version: u8,
    /// Client: the test that the flow belongs to. Server: what the client must name to
    /// open the control connection.
    pub number: NonZeroU32,
}

impl Mark {
    /// The mark in two words; `None` when they hold anything else.
    #[must_use]
    pub fn from_words(name: u32, number: u32) -> Option<Self> {
        let version = (name & 0xff) as u8;
        (name & !0xff == NAME && version > 0).then_some(Self {
            version,
            number: NonZeroU32::new(number)?,
        })
    }

    /// The two words.
    #[must_use]
    pub fn to_words(self) -> (u32, u32) {
        (NAME | u32::from(self.version), self.number.get())
    }

    /// The version that both ends speak, if this is a client's mark: the lower of the two highest.
    #[must_use]
    pub fn common_version(self) -> u8 {
        self.version.min(*VERSIONS.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: NonZeroU32 = NonZeroU32::new(0x0102_0304).unwrap();

    #[test]
    fn a_mark_has_the_bytes_of_the_specification() {
        let mark = Mark {
            version: 1,
            number: NUMBER,
        };
        assert_eq!(mark.to_words(), (0x5450_4c01, 0x0102_0304));
        assert_eq!(Mark::from_words(0x5450_4c01, 0x0102_0304), Some(mark));
    }

    #[test]
    fn words_of_old_peers_are_no_mark() {
        for (name, number) in [
            (0, 0),
            (1, 28),
            (0x5450_4c01, 0),
            (0x5450_4c00, 1),
            (0x5450_4d01, 1),
        ] {
            assert_eq!(Mark::from_words(name, number), None, "{name:#x} {number}");
        }
    }

    #[test]
    fn a_newer_client_is_spoken_to_in_our_version() {
        let newer = Mark {
            version: 9,
            number: NUMBER,
        };
        assert_eq!(newer.common_version(), 1);
    }
}
