//! Datagrams: a received one, or several that the kernel joined; what is reported of them, and where they go.

use std::net::{IpAddr, SocketAddr};
use std::slice::Chunks;

use socket2::SockAddr;
use tapeline_base::{Tos, WallTime};

/// What one slot of a [`crate::ReceiveBatch`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The bytes: one datagram's payload, or the payloads of several in sequence.
    pub payload: &'a [u8],
    /// Who sent it; IPv4 inside IPv6 is shown as IPv4.
    pub source: SocketAddr,
    /// Size of each joined datagram (the last may be shorter); `None` for a single one.
    pub segment_size: Option<usize>,
    /// When it arrived: the kernel's stamp, else the time after the receive call.
    /// Joined datagrams share one stamp.
    pub arrival: WallTime,
    /// Whether the datagram was longer than the slot and was cut.
    pub truncated: bool,
    /// Type-of-service byte, where requested and reported.
    pub tos: Option<Tos>,
    /// The address that it was sent to, where requested and reported; IPv4 inside IPv6 is
    /// shown as IPv4.
    pub destination: Option<IpAddr>,
}

/// The single datagrams of a [`Datagram`], in order of arrival.
pub type Segments<'a> = Chunks<'a, u8>;

impl<'a> Datagram<'a> {
    /// The single datagrams. An empty datagram has no segments; see [`Datagram::count`].
    #[inline]
    pub fn segments(&self) -> Segments<'a> {
        let whole = self.payload.len().max(1);
        self.payload
            .chunks(self.segment_size.unwrap_or(whole).max(1))
    }

    /// How many datagrams these are; an empty one counts too.
    #[must_use]
    pub fn count(&self) -> usize {
        self.segments().len().max(1)
    }
}

/// What a UDP socket reports about each received datagram, and whether it may coalesce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveFeatures {
    /// Equal-sized datagrams of one flow may arrive joined (Linux: `UDP_GRO`).
    /// Receive slots must then hold 65535 bytes.
    pub coalescing: bool,
    /// Arrival times are the kernel's (Linux: `SO_TIMESTAMPNS`). Linux begins to stamp a moment
    /// after the first socket of the host asked; until then it stamps when a datagram is fetched.
    pub timestamps: bool,
    /// The type-of-service byte is reported.
    pub tos: bool,
    /// The socket's drop counter is reported (Linux: `SO_RXQ_OVFL`).
    pub drops: bool,
    /// The address that a datagram was sent to is reported (Linux: `IP_PKTINFO`,
    /// `IPV6_RECVPKTINFO`): a socket for all own addresses does not say otherwise.
    pub destination: bool,
}

impl ReceiveFeatures {
    /// Everything that helps a measurement: coalescing, timestamps and drops.
    pub const MEASURE: Self = Self {
        coalescing: true,
        timestamps: true,
        tos: false,
        drops: true,
        destination: false,
    };
}

/// What is one datagram's own, whatever its socket's is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Type of service; `None` is the socket's.
    pub tos: Option<Tos>,
    /// Own address that it leaves from; `None` is the socket's, or the route's.
    pub source: Option<IpAddr>,
}

/// Where a datagram goes, in the system's terms.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    allow(
        dead_code,
        reason = "only systems that can mark a datagram look at them"
    )
)]
pub(crate) struct Addressee {
    pub(crate) peer: SockAddr,
    /// The packet is IPv4.
    pub(crate) is_v4: bool,
    /// The socket is IPv6.
    pub(crate) on_v6: bool,
    pub(crate) marks: Marks,
}

/// What the network says of a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nobody has the port that it was sent to (ICMP and ICMPv6: port unreachable).
    ///
    /// Who forges such a message must know both addresses and ports, as for a datagram; it is as
    /// little proof as a datagram is.
    Refused {
        /// Where it was sent to.
        peer: SocketAddr,
        /// Where it came from, if the socket was asked for
        /// [`destination`](crate::ReceiveFeatures::destination).
        source: Option<IpAddr>,
    },
    /// It was too long for a link on the way and must not be fragmented (ICMP: fragmentation
    /// needed; ICMPv6: packet too big).
    TooLong {
        /// Bytes of an IP packet that the link carries; 0 from routers older than RFC 1191.
        mtu: u32,
        /// Who says so: a router; `None` when this host found it by itself.
        found_by: Option<IpAddr>,
    },
    /// Anything else, such as a host that cannot be reached for now.
    Otherwise,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(payload: &[u8], segment_size: Option<usize>) -> Datagram<'_> {
        Datagram {
            payload,
            source: SocketAddr::from(([127, 0, 0, 1], 1)),
            segment_size,
            arrival: WallTime::default(),
            truncated: false,
            tos: None,
            destination: None,
        }
    }

    #[test]
    fn joined_datagrams_split_with_a_short_last_one() {
        let joined = datagram(&[1, 1, 2, 2, 3], Some(2));
        let parts: Vec<&[u8]> = joined.segments().collect();
        assert_eq!(parts, [&[1, 1][..], &[2, 2], &[3]]);
        assert_eq!(joined.count(), 3);
    }

    #[test]
    fn a_single_datagram_is_its_own_segment_and_an_empty_one_counts() {
        assert_eq!(datagram(&[7; 9], None).segments().next(), Some(&[7; 9][..]));
        assert_eq!(datagram(&[7; 9], None).count(), 1);
        assert_eq!(datagram(&[], None).segments().count(), 0);
        assert_eq!(datagram(&[], None).count(), 1);
        // A segment size of zero from a broken kernel must not panic.
        assert_eq!(datagram(&[1, 2], Some(0)).count(), 2);
    }
}
