//! The datagrams of a method: 32 bytes, and what a kind has behind them.

use std::num::NonZeroU64;

use super::status::Status;

/// What every datagram of a method begins with.
const NAME: [u8; 8] = *b"TPLMETHD";

/// What a datagram of a method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// The client shows the key from the port that it uses; repeated, that it is still there.
    Open,
    /// The server has seen it.
    Opened,
    /// A probe as long as the packet that is tried.
    Probe,
    /// It has arrived.
    Answer,
    /// A datagram of a load; [`LoadEcho`] follows.
    Load,
    /// What has arrived of the load; a [`Status`] follows.
    Status,
}

impl MethodKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Opened,
        Self::Probe,
        Self::Answer,
        Self::Load,
        Self::Status,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Open => 1,
            Self::Opened => 2,
            Self::Probe => 3,
            Self::Answer => 4,
            Self::Load => 5,
            Self::Status => 6,
        }
    }

    /// The shortest datagram of this kind, bytes.
    #[must_use]
    pub const fn shortest(self) -> usize {
        match self {
            Self::Open | Self::Opened | Self::Probe | Self::Answer => MethodDatagram::LENGTH,
            Self::Load => MethodDatagram::LENGTH + LoadEcho::LENGTH,
            Self::Status => MethodDatagram::LENGTH + Status::LENGTH,
        }
    }

    /// Whether a datagram of this kind may be longer than the shortest.
    const fn has_padding(self) -> bool {
        matches!(self, Self::Probe | Self::Load)
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// The first 32 bytes of a datagram of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodDatagram {
    /// What it is.
    pub kind: MethodKind,
    /// For the sender of probes, which repeat it in their answers; else 0.
    pub flags: u8,
    /// Counted up by the sender; of an answer and of Opened, the number of what is answered.
    pub number: u32,
    /// What the server gave the client to be known by.
    pub key: NonZeroU64,
    /// T1: when it was sent, nanoseconds since 1970; of an answer and of Opened, T1 of what is answered.
    pub sent: u64,
}

impl MethodDatagram {
    /// Its length, bytes.
    pub const LENGTH: usize = 32;

    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&NAME);
        bytes[8] = self.kind.number();
        bytes[9] = self.flags;
        bytes[12..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.key.get().to_be_bytes());
        bytes[24..].copy_from_slice(&self.sent.to_be_bytes());
        bytes
    }

    /// Reads the beginning of a datagram, of which all bytes are given; nothing where it is none of a
    /// method, or has a length that its kind cannot have.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if !is_method_datagram(bytes) {
            return None;
        }
        let kind = MethodKind::from_number(*bytes.get(8)?)?;
        let shortest = kind.shortest();
        if bytes.len() < shortest || (bytes.len() > shortest && !kind.has_padding()) {
            return None;
        }
        Some(Self {
            kind,
            flags: bytes[9],
            number: bytes[12..].first_chunk().copied().map(u32::from_be_bytes)?,
            key: NonZeroU64::new(long(bytes, 16)?)?,
            sent: long(bytes, 24)?,
        })
    }

    /// What answers it: Opened to Open, an answer to a probe, and nothing to anything else. It is never
    /// longer than this datagram.
    #[must_use]
    pub fn answer(&self) -> Option<Self> {
        let kind = match self.kind {
            MethodKind::Open => MethodKind::Opened,
            MethodKind::Probe => MethodKind::Answer,
            _ => return None,
        };
        Some(Self { kind, ..*self })
    }
}

/// Whether a datagram claims to belong to a method; it may still be none that can be read.
#[must_use]
pub fn is_method_datagram(bytes: &[u8]) -> bool {
    bytes.starts_with(&NAME)
}

/// What a datagram of a load repeats of the newest Status, for the round trip that its receiver measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadEcho {
    /// T1 of the newest Status that has arrived; 0 before the first.
    pub status_sent: u64,
    /// For how long it was here when the datagram was sent, nanoseconds.
    pub held: u64,
}

impl LoadEcho {
    /// Its length, bytes.
    pub const LENGTH: usize = 16;

    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.status_sent.to_be_bytes());
        bytes[8..].copy_from_slice(&self.held.to_be_bytes());
        bytes
    }

    /// Reads it from a whole datagram of a load.
    #[must_use]
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        Some(Self {
            status_sent: long(datagram, MethodDatagram::LENGTH)?,
            held: long(datagram, MethodDatagram::LENGTH + 8)?,
        })
    }

    /// The round trip of a Status and what repeats it, at the receiver of the load at this time of day;
    /// nothing where none was repeated, or a clock was set.
    #[must_use]
    pub fn round_trip(&self, now: u64) -> Option<u64> {
        let since = now.checked_sub(self.status_sent)?;
        since
            .checked_sub(self.held)
            .filter(|_| self.status_sent > 0)
    }
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk().copied();
    word.map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: MethodDatagram = MethodDatagram {
        kind: MethodKind::Probe,
        flags: 1,
        number: 0x0a0b_0c0d,
        key: NonZeroU64::new(0x0102_0304_0506_0708).unwrap(),
        sent: 0x1a,
    };

    #[test]
    fn a_probe_has_the_bytes_of_the_specification() {
        let mut bytes =
            b"TPLMETHD\x03\x01\0\0\x0a\x0b\x0c\x0d\x01\x02\x03\x04\x05\x06\x07\x08".to_vec();
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0x1a]);
        assert_eq!(SENT.encode().as_slice(), bytes);
        assert_eq!(MethodDatagram::parse(&bytes), Some(SENT));
        bytes.resize(1472, 7);
        assert_eq!(MethodDatagram::parse(&bytes), Some(SENT));
    }

    #[test]
    fn an_answer_repeats_what_it_answers_and_is_not_longer() {
        let answer = SENT.answer().expect("an answer");
        assert_eq!(
            (answer.kind, answer.number),
            (MethodKind::Answer, SENT.number)
        );
        assert_eq!((answer.key, answer.sent), (SENT.key, SENT.sent));
        let answered = MethodKind::ALL.map(|kind| {
            let answer = MethodDatagram { kind, ..SENT }.answer()?;
            assert!(answer.kind.shortest() <= kind.shortest());
            Some(answer.kind)
        });
        let (opened, answer) = (Some(MethodKind::Opened), Some(MethodKind::Answer));
        assert_eq!(answered, [opened, None, answer, None, None, None]);
    }

    #[test]
    fn a_load_repeats_a_status() {
        let echo = LoadEcho {
            status_sent: 0x0102,
            held: 0x30,
        };
        let load = MethodDatagram {
            kind: MethodKind::Load,
            ..SENT
        };
        let mut bytes = load.encode().to_vec();
        assert_eq!(MethodDatagram::parse(&bytes), None, "too short");
        bytes.extend([0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0x30]);
        assert_eq!(bytes[32..], echo.encode());
        assert_eq!(MethodDatagram::parse(&bytes), Some(load));
        assert_eq!(LoadEcho::parse(&bytes), Some(echo));
        assert_eq!(echo.round_trip(0x0102 + 0x40), Some(0x10));
        assert_eq!(echo.round_trip(0x0102 + 0x20), None);
        assert_eq!(LoadEcho::default().round_trip(9), None);
    }

    #[test]
    fn other_datagrams_belong_to_no_method() {
        let whole = SENT.encode();
        let mut keyless = whole;
        keyless[16..24].fill(0);
        let mut named = whole;
        named[7] = b'T';
        let mut unknown = whole;
        unknown[8] = 7;
        for bytes in [&[][..], &whole[..31], &keyless, &named, &unknown, &[0; 64]] {
            assert_eq!(MethodDatagram::parse(bytes), None, "{bytes:?}");
        }
        for kind in MethodKind::ALL {
            let mut bytes = MethodDatagram { kind, ..SENT }.encode().to_vec();
            bytes.resize(kind.shortest(), 0);
            assert!(MethodDatagram::parse(&bytes).is_some());
            bytes.push(0);
            assert_eq!(MethodDatagram::parse(&bytes).is_some(), kind.has_padding());
        }
    }
}
