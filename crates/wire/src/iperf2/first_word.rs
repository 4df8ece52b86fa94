//! What the first four bytes of a TCP connection announce.

use super::flags::Flags;
use super::limits::{BASE_HEADER, TCP_HEADER_2_1};

/// What a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWord {
    /// No header: a peer in compatibility mode (`-C`), 1.7, 2.0.x, or a stranger. The four
    /// bytes are payload.
    Headerless,
    /// A bounce-back session; the request header follows.
    Bounceback,
    /// A client header.
    Header {
        /// Bytes of the header including these four, 24..=255, permit key excluded.
        length: usize,
        /// Whether a permit key follows the header; its length is the last half word
        /// of the header, see [`super::TcpClientHeader::permit_key_length`].
        key: bool,
    },
}

impl FirstWord {
    /// Classifies the first four bytes.
    ///
    /// An announced length below the 24 bytes of the base header cannot be a header,
    /// hence is payload.
    #[must_use]
    pub fn inspect(bytes: &[u8; 4]) -> Self {
        let flags = Flags(u32::from_be_bytes(*bytes));
        if flags == Flags::BOUNCEBACK {
            return Self::Bounceback;
        }
        match header_length(flags) {
            Some(length) => Self::Header {
                length,
                key: flags.contains(Flags::KEY_CHECK),
            },
            None => Self::Headerless,
        }
    }
}

/// Bytes of the header that a flag word opens; `None` when it opens none.
///
/// Without a length in the word, `VERSION1` alone is the base header of 2.0.5. An
/// extended header without length comes from 2.0.13, whose headers have 60 bytes.
pub(crate) fn header_length(flags: Flags) -> Option<usize> {
    let openers = Flags::VERSION1 | Flags::VERSION2 | Flags::EXTEND;
    if !flags.intersects(openers) {
        return None;
    }
    let length = flags.header_length().unwrap_or_else(|| {
        if flags.intersects(Flags::EXTEND | Flags::VERSION2) {
            TCP_HEADER_2_1
        } else {
            BASE_HEADER
        }
    });
    (length >= BASE_HEADER).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspect(word: u32) -> FirstWord {
        FirstWord::inspect(&word.to_be_bytes())
    }

    #[test]
    fn pattern_zero_and_short_lengths_are_payload() {
        for word in [0, 0x3031_3233, 0x4001_0000, 0x4001_002e, 0x21a5_a5a5] {
            assert_eq!(inspect(word), FirstWord::Headerless, "{word:#010x}");
        }
    }

    #[test]
    fn captured_words_announce_their_headers() {
        let header = |length, key| FirstWord::Header { length, key };
        assert_eq!(inspect(0x4001_0080), header(64, false));
        assert_eq!(inspect(0x4001_0078), header(60, false));
        assert_eq!(inspect(0x5001_00f2), header(121, true));
        assert_eq!(inspect(0x8000_0001), header(24, false));
        assert_eq!(inspect(0x4000_0000), header(60, false));
        assert_eq!(inspect(0x0080_0000), FirstWord::Bounceback);
    }
}
