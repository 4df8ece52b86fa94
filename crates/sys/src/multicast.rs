//! Joining multicast groups.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use socket2::Socket;

/// A group, any source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MulticastGroup {
    /// The group's address.
    pub address: IpAddr,
    /// IPv4: the local address whose interface joins; unspecified lets the system choose.
    pub interface_v4: Ipv4Addr,
    /// IPv6: the index of the interface that joins; 0 lets the system choose.
    pub interface_v6: u32,
}

impl MulticastGroup {
    /// `address` on the interface that the system chooses.
    #[must_use]
    pub const fn any_interface(address: IpAddr) -> Self {
        Self {
            address,
            interface_v4: Ipv4Addr::UNSPECIFIED,
            interface_v6: 0,
        }
    }

    pub(crate) fn join(&self, socket: &Socket) -> io::Result<()> {
        match self.address {
            IpAddr::V4(group) => socket.join_multicast_v4(&group, &self.interface_v4),
            IpAddr::V6(group) => socket.join_multicast_v6(&group, self.interface_v6),
        }
    }
}
