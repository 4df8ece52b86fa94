//! Which header a UDP flow's first datagram carries.

use super::field::word;
use super::flags::Flags;

/// The layout of a client's datagrams, recognised by the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpLayout {
    /// 16-byte datagram header, settings at 16 (2.1 and later). Answer with the 128-byte report.
    Extended16,
    /// 16-byte datagram header with the short trip-times header; ids have 32 bits.
    ShortTripTimes,
    /// 12-byte datagram header, settings at 12 (1.7, 2.0.5). Answer with the 52-byte report.
    Legacy12,
    /// No settings (`-C`, 2.0.13, reverse datagrams): ids have 32 bits, 64 only if the word at 12 is
    /// 0 or all ones throughout.
    Headerless,
    /// Below 16 bytes: a 32-bit id and no settings.
    TooShort,
}

impl UdpLayout {
    /// Recognises the layout from a datagram.
    #[must_use]
    pub fn detect(datagram: &[u8]) -> Self {
        if datagram.len() < 16 {
            return Self::TooShort;
        }
        let flags = Flags(word(datagram, 16));
        if flags.contains(Flags::EXTEND) && flags.intersects(Flags::SEQUENCE_64 | Flags::LENGTH) {
            Self::Extended16
        } else if flags == Flags::SMALL_TRIP_TIMES {
            Self::ShortTripTimes
        } else if is_legacy(datagram) {
            Self::Legacy12
        } else {
            Self::Headerless
        }
    }
}

/// A base header at offset 12: a flag word that 1.7 and 2.0.5 send, then threads and port.
fn is_legacy(datagram: &[u8]) -> bool {
    let flags = Flags(word(datagram, 12));
    let known = [
        Flags::NONE,
        Flags::VERSION1,
        Flags::VERSION1 | Flags::RUN_NOW,
    ]
    .contains(&flags);
    let number = 1..=u32::from(u16::MAX);
    known && number.contains(&word(datagram, 16)) && number.contains(&word(datagram, 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(words: &[u32]) -> UdpLayout {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        UdpLayout::detect(&bytes)
    }

    #[test]
    fn every_layout_is_recognised() {
        assert_eq!(detect(&[1, 2, 3, 0, 0x4801_00a0]), UdpLayout::Extended16);
        assert_eq!(
            detect(&[1, 2, 3, 0, 0x0002_0000]),
            UdpLayout::ShortTripTimes
        );
        assert_eq!(
            detect(&[0, 2, 3, 0x8000_0001, 1, 5001]),
            UdpLayout::Legacy12
        );
        assert_eq!(detect(&[0, 2, 3, 0, 1]), UdpLayout::Headerless);
        assert_eq!(detect(&[0, 2, 3, 0, 1, 70_000]), UdpLayout::Headerless);
        assert_eq!(detect(&[1, 2, 3, 0, 0x3637_3839]), UdpLayout::Headerless);
        assert_eq!(detect(&[1, 2, 3, 0]), UdpLayout::Headerless);
        assert_eq!(detect(&[1, 2, 3]), UdpLayout::TooShort);
    }

    #[test]
    fn an_extended_header_shows_wide_ids_or_a_length() {
        assert_eq!(detect(&[1, 2, 3, 0, 0x4800_0000]), UdpLayout::Extended16);
        assert_eq!(detect(&[1, 2, 3, 0, 0x4001_0000]), UdpLayout::Extended16);
        assert_eq!(detect(&[1, 2, 3, 0, 0x4000_0000]), UdpLayout::Headerless);
    }
}
