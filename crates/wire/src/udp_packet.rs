//! A UDP packet from its link header on, for receivers below the sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const ETHERNET: usize = 14;
const VLAN_TAG: usize = 4;
const UDP: usize = 8;
const PROTOCOL_UDP: u8 = 17;

/// What is wrong with a packet whose addresses can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketFault {
    /// The lengths of frame, IP and UDP do not fit together.
    Length,
    /// The UDP checksum is wrong.
    Checksum,
    /// Not a whole datagram: a fragment.
    Unknown,
}

/// A UDP packet as it was on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPacket<'a> {
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// What is there of the payload.
    pub payload: &'a [u8],
    /// The first fault that was found.
    pub fault: Option<PacketFault>,
}

impl<'a> UdpPacket<'a> {
    /// Reads an Ethernet frame (with or without VLAN tags); `None` when it is not UDP over IPv4
    /// or over IPv6 without extension headers. `check`: compute the checksum.
    #[must_use]
    pub fn from_ethernet(frame: &'a [u8], check: bool) -> Option<Self> {
        let mut at = ETHERNET;
        let mut kind = half(frame, at - 2)?;
        while matches!(kind, 0x8100 | 0x88a8) {
            at += VLAN_TAG;
            kind = half(frame, at - 2)?;
        }
        let packet = frame.get(at..)?;
        matches!(kind, 0x0800 | 0x86dd)
            .then(|| Self::from_ip(packet, check))
            .flatten()
    }

    /// Reads a packet that begins with its IP header.
    #[must_use]
    pub fn from_ip(packet: &'a [u8], check: bool) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::from_v4(packet, check),
            6 => Self::from_v6(packet, check),
            _ => None,
        }
    }

    fn from_v4(packet: &'a [u8], check: bool) -> Option<Self> {
        let header = usize::from(packet.first()? & 0xf) * 4;
        if header < 20 || *packet.get(9)? != PROTOCOL_UDP {
            return None;
        }
        let fragment = half(packet, 6)?;
        if fragment & 0x1fff != 0 {
            // A later fragment has no ports.
            return None;
        }
        let total = usize::from(half(packet, 2)?);
        let address = |at| {
            Some(IpAddr::V4(Ipv4Addr::from(
                *packet.get(at..)?.first_chunk::<4>()?,
            )))
        };
        let (source, destination) = (address(12)?, address(16)?);
        let whole = fragment & 0x2000 == 0;
        let ip = Ip {
            source,
            destination,
            datagram: packet.get(header..)?,
            announced: total.checked_sub(header),
        };
        ip.datagram(whole, check)
    }

    fn from_v6(packet: &'a [u8], check: bool) -> Option<Self> {
        if *packet.get(6)? != PROTOCOL_UDP {
            return None;
        }
        let address = |at| {
            Some(IpAddr::V6(Ipv6Addr::from(
                *packet.get(at..)?.first_chunk::<16>()?,
            )))
        };
        let (source, destination) = (address(8)?, address(24)?);
        let ip = Ip {
            source,
            destination,
            datagram: packet.get(40..)?,
            announced: Some(usize::from(half(packet, 4)?)),
        };
        ip.datagram(true, check)
    }
}

/// The IP layer of a packet.
struct Ip<'a> {
    source: IpAddr,
    destination: IpAddr,
    /// UDP header and payload, and whatever pads a short frame.
    datagram: &'a [u8],
    /// Length that the IP header announces for it; `None` when that is impossible.
    announced: Option<usize>,
}

impl<'a> Ip<'a> {
    fn datagram(&self, whole: bool, check: bool) -> Option<UdpPacket<'a>> {
        let bytes = self.datagram;
        let source = SocketAddr::new(self.source, half(bytes, 0)?);
        let destination = SocketAddr::new(self.destination, half(bytes, 2)?);
        let length = usize::from(half(bytes, 4)?);
        let checksum = half(bytes, 6)?;
        let fits = length >= UDP && self.announced == Some(length) && length <= bytes.len();
        let end = length.clamp(UDP, bytes.len());
        let fault = if !whole {
            Some(PacketFault::Unknown)
        } else if !fits {
            Some(PacketFault::Length)
        } else if check && checksum != 0 && !self.adds_up(&bytes[..end]) {
            Some(PacketFault::Checksum)
        } else {
            None
        };
        Some(UdpPacket {
            source,
            destination,
            payload: bytes.get(UDP..end)?,
            fault,
        })
    }

    /// Whether datagram and pseudo-header (RFC 768, RFC 8200 section 8.1) add up to -0.
    fn adds_up(&self, datagram: &[u8]) -> bool {
        let address = |address: IpAddr| match address {
            IpAddr::V4(v4) => sum(&v4.octets()),
            IpAddr::V6(v6) => sum(&v6.octets()),
        };
        let mut total = address(self.source)
            + address(self.destination)
            + u64::from(PROTOCOL_UDP)
            + datagram.len() as u64
            + sum(datagram);
        while total > 0xffff {
            total = (total >> 16) + (total & 0xffff);
        }
        total == 0xffff
    }
}

/// Sum of 16-bit words; an odd last byte counts as a high one.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let rest = words
        .remainder()
        .first()
        .map_or(0, |last| u64::from(*last) << 8);
    rest + words
        .map(|word| u64::from(u16::from_be_bytes([word[0], word[1]])))
        .sum::<u64>()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with "abc" from 192.0.2.1:1000 to 192.0.2.2:5001, checksum filled in.
    fn frame_v4() -> Vec<u8> {
        let mut frame = vec![0; ETHERNET];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame.extend_from_slice(&[0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        frame.extend_from_slice(&[0x03, 0xe8, 0x13, 0x89, 0, 11, 0, 0]);
        frame.extend_from_slice(b"abc");
        fill_checksum(
            &mut frame,
            ETHERNET + 20,
            [192, 0, 2, 1, 192, 0, 2, 2].as_slice(),
        );
        frame
    }

    fn packet_v6() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 11, 17, 64];
        let addresses: Vec<u8> = ["2001:db8::1", "2001:db8::2"]
            .iter()
            .flat_map(|text| text.parse::<Ipv6Addr>().expect("an address").octets())
            .collect();
        packet.extend_from_slice(&addresses);
        packet.extend_from_slice(&[0x03, 0xe8, 0x13, 0x89, 0, 11, 0, 0]);
        packet.extend_from_slice(b"abc");
        fill_checksum(&mut packet, 40, &addresses);
        packet
    }

    fn fill_checksum(bytes: &mut [u8], udp: usize, addresses: &[u8]) {
        let mut total = sum(addresses) + 17 + 11 + sum(&bytes[udp..]);
        while total > 0xffff {
            total = (total >> 16) + (total & 0xffff);
        }
        bytes[udp + 6..udp + 8].copy_from_slice(&(!(total as u16)).to_be_bytes());
    }

    #[test]
    fn good_packets_of_both_families_have_no_fault() {
        let frame = frame_v4();
        let packet = UdpPacket::from_ethernet(&frame, true).expect("a packet");
        assert_eq!(packet.source.to_string(), "192.0.2.1:1000");
        assert_eq!(packet.destination.to_string(), "192.0.2.2:5001");
        assert_eq!((packet.payload, packet.fault), (&b"abc"[..], None));
        let bytes = packet_v6();
        let packet = UdpPacket::from_ip(&bytes, true).expect("a packet");
        assert_eq!(packet.destination.to_string(), "[2001:db8::2]:5001");
        assert_eq!((packet.payload, packet.fault), (&b"abc"[..], None));
    }

    #[test]
    fn padding_and_vlan_tags_are_no_faults() {
        let mut frame = frame_v4();
        frame.resize(60, 0);
        let packet = UdpPacket::from_ethernet(&frame, true).expect("a packet");
        assert_eq!((packet.payload, packet.fault), (&b"abc"[..], None));
        frame.splice(12..12, [0x81, 0x00, 0x00, 0x07]);
        assert!(UdpPacket::from_ethernet(&frame, true).is_some_and(|p| p.fault.is_none()));
    }

    #[test]
    fn faults_are_distinguished() {
        let fault = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame_v4();
            change(&mut frame);
            UdpPacket::from_ethernet(&frame, true).and_then(|packet| packet.fault)
        };
        let flipped = |frame: &mut Vec<u8>| frame[44] ^= 1;
        assert_eq!(fault(&flipped), Some(PacketFault::Checksum));
        assert_eq!(fault(&|f| f.truncate(44)), Some(PacketFault::Length));
        assert_eq!(fault(&|f| f[17] = 40), Some(PacketFault::Length));
        assert_eq!(fault(&|f| f[39] = 3), Some(PacketFault::Length));
        assert_eq!(fault(&|f| f[20] = 0x20), Some(PacketFault::Unknown));
        let mut unchecked = frame_v4();
        unchecked[44] ^= 1;
        let packet = UdpPacket::from_ethernet(&unchecked, false).expect("a packet");
        assert_eq!(packet.fault, None, "not asked to check");
    }

    #[test]
    fn no_bytes_make_it_fail() {
        let good = frame_v4();
        for length in 0..good.len() {
            let _ = UdpPacket::from_ethernet(&good[..length], true);
        }
        for at in 0..good.len() {
            for value in [0, 1, 0x0f, 0x7f, 0x80, 0xff] {
                let mut frame = good.clone();
                frame[at] = value;
                let _ = UdpPacket::from_ethernet(&frame, true);
                let _ = UdpPacket::from_ip(&frame, true);
            }
        }
        assert!(UdpPacket::from_ethernet(&[], true).is_none());
    }
}
