//! Control messages: the bytes that accompany a datagram.
//!
//! Layout (`cmsg(3)`): length as a machine word, level and type as C `int`s, data; the next
//! message begins on a word boundary.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// Space for everything that a receive may bring: a time stamp (16 bytes), the segment size,
/// the drop counter and two forms of the type of service (4 each), two forms of the address
/// that it was sent to (12 and 20), each in its own message.
pub(crate) const RECEIVE_SPACE: usize = 256;

/// A buffer for control messages on the boundary that the kernel wants.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct ControlBuffer(pub(crate) [u8; RECEIVE_SPACE]);

const _: () = assert!(RECEIVE_SPACE >= 2 * (HEADER + 16) + 4 * (HEADER + 8) + (HEADER + 24));

/// One received control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlMessage<'a> {
    pub(crate) level: i32,
    pub(crate) kind: i32,
    pub(crate) data: &'a [u8],
}

impl ControlMessage<'_> {
    /// The data as one C `int`.
    pub(crate) fn as_int(&self) -> Option<i32> {
        Some(i32::from_ne_bytes(*self.data.first_chunk()?))
    }

    /// The data as a small number: some kernels pass a byte, others a C `int`.
    pub(crate) fn as_byte(&self) -> Option<u8> {
        match self.data {
            [byte] => Some(*byte),
            _ => self.as_int().map(|value| value as u8),
        }
    }

    /// The data as an `in_pktinfo` (interface, own address, address in the packet) or an
    /// `in6_pktinfo` (address in the packet, interface): the address in the packet.
    pub(crate) fn as_destination(&self) -> Option<IpAddr> {
        if self.level == libc::IPPROTO_IPV6 {
            let v6 = Ipv6Addr::from(*self.data.first_chunk::<16>()?);
            return Some(v6.to_canonical());
        }
        let v4: [u8; 4] = self.data.get(8..12)?.try_into().ok()?;
        Some(IpAddr::V4(Ipv4Addr::from(v4)))
    }

    /// The data as nanoseconds: a `timespec` of two 64-bit or two 32-bit numbers.
    pub(crate) fn as_nanos(&self) -> Option<i64> {
        let (seconds, nanos) = if let Some(wide) = self.data.first_chunk::<16>() {
            let (seconds, nanos) = wide.split_at(8);
            (
                i64::from_ne_bytes(seconds.try_into().ok()?),
                i64::from_ne_bytes(nanos.try_into().ok()?),
            )
        } else {
            let (seconds, nanos) = self.data.first_chunk::<8>()?.split_at(4);
            (
                i64::from(i32::from_ne_bytes(seconds.try_into().ok()?)),
                i64::from(i32::from_ne_bytes(nanos.try_into().ok()?)),
            )
        };
        seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
    }
}

/// The messages in `bytes`; stops at the first malformed one.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = ControlMessage<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(*rest.first_chunk()?);
        let level = i32::from_ne_bytes(rest.get(WORD..WORD + 4)?.try_into().ok()?);
        let kind = i32::from_ne_bytes(rest.get(WORD + 4..HEADER)?.try_into().ok()?);
        let data = rest.get(HEADER..length)?;
        rest = rest
            .get(length.checked_next_multiple_of(WORD)?..)
            .unwrap_or_default();
        Some(ControlMessage { level, kind, data })
    })
}

/// Control messages that are ready to be sent with a datagram.
#[derive(Debug)]
pub(crate) struct Messages {
    bytes: [u8; SEND_SPACE],
    length: usize,
}

/// A type of service (4 bytes), an address to send from (20) and a segment size (2).
const SEND_SPACE: usize = 3 * HEADER + 8 + 24 + 8;

impl Messages {
    pub(crate) const NONE: Self = Self {
        bytes: [0; SEND_SPACE],
        length: 0,
    };

    /// Adds one with `value`, of at most 24 bytes. What has no room is left out.
    pub(crate) fn push(&mut self, level: i32, kind: i32, value: &[u8]) {
        let length = HEADER + value.len();
        let Some(room) = self
            .bytes
            .get_mut(self.length..self.length + length.next_multiple_of(WORD))
        else {
            return;
        };
        room[..WORD].copy_from_slice(&length.to_ne_bytes());
        room[WORD..WORD + 4].copy_from_slice(&level.to_ne_bytes());
        room[WORD + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
        room[HEADER..length].copy_from_slice(value);
        self.length += length.next_multiple_of(WORD);
    }

    /// The address that a datagram leaves from. On an IPv6 socket (`is_v6`) IPv4 ones go as
    /// IPv6 ones that hold them.
    pub(crate) fn push_source(&mut self, is_v6: bool, source: IpAddr) {
        match source {
            IpAddr::V4(v4) if !is_v6 => {
                let mut info = [0; 12];
                info[4..8].copy_from_slice(&v4.octets());
                self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            source => {
                let mut info = [0; 20];
                let v6 = match source {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                info[..16].copy_from_slice(&v6.octets());
                self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
        }
    }

    /// The type of service of a datagram, in the form for IPv4 or IPv6 packets.
    pub(crate) fn push_tos(&mut self, to_v4: bool, tos: u8) {
        let (level, kind) = if to_v4 {
            (libc::IPPROTO_IP, libc::IP_TOS)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
        };
        self.push(level, kind, &i32::from(tos).to_ne_bytes());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(level: i32, kind: i32, value: u16) -> Vec<u8> {
        let mut messages = Messages::NONE;
        messages.push(level, kind, &value.to_ne_bytes());
        messages.bytes().to_vec()
    }

    #[test]
    fn the_layout_is_that_of_the_c_library() {
        // SAFETY: pure arithmetic.
        let (length, space) = unsafe { (libc::CMSG_LEN(2), libc::CMSG_SPACE(2)) };
        let message = short(17, 103, 0x0203);
        assert_eq!(message.len(), space as usize);
        assert_eq!(
            usize::from_ne_bytes(*message.first_chunk().unwrap()),
            length as usize
        );
        let read: Vec<_> = messages(&message).collect();
        assert_eq!(
            read,
            [ControlMessage {
                level: 17,
                kind: 103,
                data: &0x0203_u16.to_ne_bytes()
            }]
        );
    }

    #[test]
    fn several_messages_follow_each_other() {
        let mut bytes = short(1, 2, 3);
        bytes.extend(short(4, 5, 6));
        let kinds: Vec<_> = messages(&bytes)
            .map(|message| (message.level, message.kind))
            .collect();
        assert_eq!(kinds, [(1, 2), (4, 5)]);
    }

    #[test]
    fn malformed_messages_end_the_walk() {
        let mut bytes = short(1, 2, 3);
        for length in [0, 1, HEADER - 1, 1000, usize::MAX] {
            bytes[..WORD].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(messages(&bytes).count(), 0, "{length}");
        }
        assert_eq!(messages(&[]).count(), 0);
        assert_eq!(messages(&bytes[..HEADER - 1]).count(), 0);
    }

    #[test]
    fn stamps_of_both_widths_are_read() {
        let wide: Vec<u8> = [3_i64, 4]
            .iter()
            .flat_map(|part| part.to_ne_bytes())
            .collect();
        let narrow: Vec<u8> = [3_i32, 4]
            .iter()
            .flat_map(|part| part.to_ne_bytes())
            .collect();
        for data in [&wide[..], &narrow] {
            let message = ControlMessage {
                level: 1,
                kind: 35,
                data,
            };
            assert_eq!(message.as_nanos(), Some(3_000_000_004));
        }
        assert_eq!(
            ControlMessage {
                level: 1,
                kind: 35,
                data: &[1]
            }
            .as_nanos(),
            None
        );
        assert_eq!(
            ControlMessage {
                level: 0,
                kind: 1,
                data: &[0xb8]
            }
            .as_byte(),
            Some(0xb8)
        );
    }
}
