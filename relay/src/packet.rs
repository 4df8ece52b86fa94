//! What the relay keeps of a packet: its beginning, and what happened to it.

/// Bytes that are kept of each packet.
const KEPT: usize = 80;
/// Protocol number of UDP.
const UDP: u8 = 17;
/// Protocol number of TCP.
const TCP: u8 = 6;
/// Length of a UDP header.
const UDP_HEADER: usize = 8;

/// The first bytes of an IP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head(Vec<u8>);

impl Head {
    /// The beginning of `packet`, from the IP header on.
    #[must_use]
    pub fn read(packet: &[u8]) -> Self {
        Self(packet.get(..KEPT).unwrap_or(packet).to_vec())
    }

    /// The UDP header and what follows, of an unfragmented datagram.
    fn datagram(&self) -> Option<&[u8]> {
        let packet = &self.0;
        match packet.first()? >> 4 {
            4 if packet.get(9) == Some(&UDP) => {
                let length = usize::from(packet.first()? & 0xf) * 4;
                packet.get(length..)
            }
            6 if packet.get(6) == Some(&UDP) => packet.get(40..),
            _ => None,
        }
    }

    /// Differentiated services code point, of IPv4.
    #[must_use]
    pub fn dscp(&self) -> Option<u8> {
        let version = self.0.first()? >> 4;
        (version == 4).then(|| self.0.get(1).map(|byte| byte >> 2))?
    }

    /// Source and destination port of UDP or TCP over IPv4.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        let first = self.0.first()?;
        if first >> 4 != 4 || !matches!(self.0.get(9)?, &UDP | &TCP) {
            return None;
        }
        let begin = usize::from(first & 0xf) * 4;
        let port = |at: usize| -> Option<u16> {
            let port = self.0.get(at..at + 2)?;
            Some(u16::from_be_bytes(port.try_into().ok()?))
        };
        Some((port(begin)?, port(begin + 2)?))
    }

    /// Destination port, if this is a UDP datagram.
    #[must_use]
    pub fn destination_port(&self) -> Option<u16> {
        let port = self.datagram()?.get(2..4)?;
        Some(u16::from_be_bytes(port.try_into().ok()?))
    }

    /// A word of a UDP datagram's payload.
    #[must_use]
    pub fn payload_word(&self, index: usize) -> Option<u32> {
        let begin = UDP_HEADER + index * 4;
        let word = self.datagram()?.get(begin..begin + 4)?;
        Some(u32::from_be_bytes(word.try_into().ok()?))
    }

    /// The number of a datagram of iperf 2's data, from 1 on. The end marker, whose number is
    /// negative, has none.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        self.payload_word(0)
            .filter(|number| (1..=i32::MAX as u32).contains(number))
    }
}

/// One packet's way through the relay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its first bytes.
    pub head: Head,
    /// Length of the IP packet in bytes.
    pub length: usize,
    /// When the relay took it, in nanoseconds since 1970.
    pub entered: u64,
    /// When the relay let it go on, in the same clock: never, once or twice.
    pub left: Vec<u64>,
}

impl Passage {
    /// Nanoseconds between coming in and first going out; nothing when it was lost.
    #[must_use]
    pub fn delay(&self) -> Option<u64> {
        Some(self.left.first()?.saturating_sub(self.entered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(ip: &[u8], number: i32) -> Head {
        let mut packet = ip.to_vec();
        packet.extend([0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 0]);
        packet.extend(number.to_be_bytes());
        packet.extend(77_u32.to_be_bytes());
        packet.resize(1500, 0);
        Head::read(&packet)
    }

    #[test]
    fn numbers_are_found_in_both_families() {
        let mut v4 = [0; 20];
        (v4[0], v4[9]) = (0x45, UDP);
        let mut v6 = [0; 40];
        (v6[0], v6[6]) = (0x60, UDP);
        for ip in [v4.as_slice(), &v6] {
            let head = datagram(ip, 12);
            assert_eq!(head.number(), Some(12));
            assert_eq!(head.destination_port(), Some(5001));
            assert_eq!(head.payload_word(1), Some(77));
            assert_eq!(datagram(ip, -13).number(), None);
        }
        v4[9] = 6;
        assert_eq!(datagram(&v4, 12).number(), None);
        assert_eq!(Head::read(&[]).number(), None);
        assert_eq!(Head::read(&v4[..9]).number(), None);
    }
}
