//! The type-of-service byte (IPv4 TOS, IPv6 traffic class): DSCP and ECN.

use std::fmt;

/// The whole byte: DSCP in the upper six bits, ECN in the lower two (RFC 2474, RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tos(pub u8);

/// A type-of-service text that is neither a name nor a number from 0 to 255.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no type of service: give a DSCP name (af11..af43, cs0..cs7, ef, le, nqb) or 0..255"
)]
pub struct TosError(pub String);

impl Tos {
    /// From a DSCP code point (0..63; higher bits are cut as the socket option would).
    #[must_use]
    pub const fn from_dscp(dscp: u8) -> Self {
        Self((dscp & 0x3f) << 2)
    }

    /// Differentiated-services code point, 0..63.
    #[must_use]
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// Explicit congestion notification bits, 0..3.
    #[must_use]
    pub const fn ecn(self) -> u8 {
        self.0 & 3
    }

    /// Whether a router marked the packet instead of losing it (CE of RFC 3168).
    #[must_use]
    pub const fn is_congestion_experienced(self) -> bool {
        self.ecn() == 3
    }

    /// Reads a name (any case) or a number in C notation (`0x`, leading `0` octal, decimal).
    ///
    /// # Errors
    /// [`TosError`] when the text is neither.
    pub fn parse(text: &str) -> Result<Self, TosError> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some((_, value)) = NAMES.iter().find(|(name, _)| *name == lower) {
            return Ok(Self(*value));
        }
        let number = if let Some(hex) = lower.strip_prefix("0x") {
            u32::from_str_radix(hex, 16)
        } else if lower.len() > 1 && lower.starts_with('0') {
            u32::from_str_radix(&lower[1..], 8)
        } else {
            lower.parse()
        };
        number
            .ok()
            .and_then(|n| u8::try_from(n).ok())
            .map(Self)
            .ok_or_else(|| TosError(text.to_owned()))
    }

    /// Every name that [`Self::parse`] knows, in lower case.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl fmt::Display for Tos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0x{:x} (dscp={},ecn={})",
            self.0,
            self.dscp(),
            self.ecn()
        )
    }
}

/// Names as iperf 2 takes them; `le`, `nqb`, `nqb2` carry the DSCP shifted into
/// place (RFC 8622, RFC 9331), which iperf 2.2.1 forgets.
const NAMES: &[(&str, u8)] = &[
    ("af11", 0x28),
    ("af12", 0x30),
    ("af13", 0x38),
    ("af21", 0x48),
    ("af22", 0x50),
    ("af23", 0x58),
    ("af31", 0x68),
    ("af32", 0x70),
    ("af33", 0x78),
    ("af41", 0x88),
    ("af42", 0x90),
    ("af43", 0x98),
    ("cs0", 0x00),
    ("cs1", 0x20),
    ("cs2", 0x40),
    ("cs3", 0x60),
    ("cs4", 0x80),
    ("cs5", 0xa0),
    ("cs6", 0xc0),
    ("cs7", 0xe0),
    ("ef", 0xb8),
    ("le", 0x04),
    ("nqb", 0x14),
    ("nqb2", 0xb4),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0xa0),
    ("ac_vo", 0xc0),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
    ("none", 0x00),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read() {
        assert!(Tos::names().all(|name| Tos::parse(name).is_ok()));
        assert!(Tos::names().any(|name| name == "af43"));
    }

    #[test]
    fn both_bits_signal_congestion() {
        let marked = (0..=255)
            .map(Tos)
            .filter(|tos| tos.is_congestion_experienced());
        assert!(marked.map(|tos| tos.0 & 3).eq([3; 64]));
    }

    #[test]
    fn names_and_numbers() {
        assert_eq!(Tos::parse("EF"), Ok(Tos(0xb8)));
        assert_eq!(Tos::parse("0x40"), Ok(Tos(0x40)));
        assert_eq!(Tos::parse("010"), Ok(Tos(8)));
        assert_eq!(Tos::parse("184").map(Tos::dscp), Ok(46));
        for bad in ["nope", "256", "-1", "", "0xfff"] {
            assert!(Tos::parse(bad).is_err(), "{bad}");
        }
    }
}
