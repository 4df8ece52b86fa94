//! Multicast groups.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use socket2::{InterfaceIndexOrAddress, Socket};

use crate::address::{needs_zone, wildcard_like};
use crate::platform::{multicast as system, resolver};

/// A group to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MulticastGroup {
    /// The group's address.
    pub address: IpAddr,
    /// The only sender to receive from, of the same family (source-specific multicast, RFC 4607);
    /// `None` receives from all.
    pub source: Option<IpAddr>,
    /// Index of the interface that joins; 0 lets the system choose.
    pub interface: u32,
}

impl MulticastGroup {
    /// `address`, from all senders, on the interface that the system chooses.
    #[must_use]
    #[cfg(test)]
    pub(crate) const fn any_interface(address: IpAddr) -> Self {
        Self {
            address,
            source: None,
            interface: 0,
        }
    }

    /// What a socket for this group is bound to: the group itself keeps other traffic away.
    pub(crate) fn binding(&self, port: u16) -> SocketAddr {
        match self.address {
            // A socket cannot have a group's address there.
            group if cfg!(windows) => {
                let mut any = wildcard_like(&SocketAddr::new(group, port));
                any.set_port(port);
                any
            }
            IpAddr::V6(group) if needs_zone(self.address) => {
                SocketAddrV6::new(group, port, 0, self.interface).into()
            }
            group => SocketAddr::new(group, port),
        }
    }

    pub(crate) fn join(&self, socket: &Socket) -> io::Result<()> {
        // Else Linux also gives what other programs joined on other interfaces.
        system::only_joined(socket, self.address.is_ipv6());
        match (self.address, self.source) {
            (group, Some(source)) => system::join_source(socket, group, source, self.interface),
            (IpAddr::V4(group), None) => {
                let interface = InterfaceIndexOrAddress::Index(self.interface);
                socket.join_multicast_v4_n(&group, &interface)
            }
            (IpAddr::V6(group), None) => socket.join_multicast_v6(&group, self.interface),
        }
    }
}

/// Sends to groups leave through the interface of `local`. IPv4 chooses by the bound address
/// itself.
pub(crate) fn leave_from(socket: &Socket, local: SocketAddr) -> io::Result<()> {
    let SocketAddr::V6(v6) = local else {
        return Ok(());
    };
    let index = match v6.scope_id() {
        0 => resolver::name_of(local.ip()).and_then(|name| resolver::index_of(&name)),
        scope => Some(scope),
    };
    match index {
        Some(index) => socket.set_multicast_if_v6(index),
        None => Ok(()),
    }
}
