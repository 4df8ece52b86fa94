//! Addresses as people know them.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use socket2::{SockAddr, Socket};
use tapeline_base::MutexExt;

use crate::platform::resolver;

/// `address` with an IPv4 address inside IPv6 (`::ffff:192.0.2.1`, what a dual-stack
/// socket reports) written as plain IPv4.
#[must_use]
pub fn unmapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::from((v4, v6.port())),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

/// The network interface that owns the local address `local`, e.g. `eth0`.
#[must_use]
pub fn outgoing_device(local: &SocketAddr) -> Option<String> {
    let ip = unmapped(*local).ip();
    owner(ip).or_else(|| {
        // The loopback interface owns 127.0.0.0/8, of which it lists one.
        let listed = IpAddr::from([127, 0, 0, 1]);
        (ip.is_loopback() && ip != listed)
            .then(|| owner(listed))
            .flatten()
    })
}

/// The interface that lists an address. To ask the system takes longer than to accept a connection, so that an
/// answer holds for a second.
fn owner(ip: IpAddr) -> Option<String> {
    const HOLDS: Duration = Duration::from_secs(1);
    static KNOWN: Mutex<Vec<(IpAddr, String, Instant)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock_unpoisoned();
    known.retain(|(_, _, asked)| asked.elapsed() < HOLDS);
    if let Some((_, name, _)) = known.iter().find(|(known, _, _)| *known == ip) {
        return Some(name.clone());
    }
    let name = resolver::name_of(ip)?;
    known.push((ip, name.clone(), Instant::now()));
    Some(name)
}

/// The addresses of this host by which others reach it, each once: neither loopback's nor those that
/// mean an interface's own network. None where the system does not list them (Windows).
#[must_use]
pub fn host_addresses() -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    for (_, address) in resolver::interfaces() {
        if !address.is_loopback() && !needs_zone(address) && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// The most bytes of an IP packet that the interface owning the local address `local` sends;
/// `None` when nobody owns it or the system does not report it.
#[must_use]
pub fn interface_mtu(local: &SocketAddr) -> Option<u32> {
    outgoing_device(local).and_then(|name| resolver::mtu_of(&name))
}

/// The index of the interface called `name` (a number stands for itself); `None` when there
/// is none.
#[must_use]
pub fn interface_index(name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| resolver::index_of(name))
}

/// Whether an address means an interface's own network, and therefore nothing without the
/// interface (RFC 4007): link-local addresses and groups of interface or link scope.
#[must_use]
pub fn needs_zone(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(v6) if v6.is_multicast() => matches!(v6.segments()[0] & 0xf, 1 | 2),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The form in which a socket of the given family takes `address`: an IPv6 socket takes
/// IPv4 addresses mapped.
pub(crate) fn for_socket(is_v6: bool, address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if is_v6 => {
            SocketAddr::V6(SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0))
        }
        other => other,
    }
}

/// A system address as an IP address and port.
pub(crate) fn to_ip(address: &SockAddr) -> io::Result<SocketAddr> {
    address
        .as_socket()
        .map(unmapped)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Whether the socket was created for IPv6, seen from its (raw) local address.
pub(crate) fn is_v6(socket: &Socket) -> bool {
    socket.local_addr().is_ok_and(|address| address.is_ipv6())
}

/// The wildcard address of the family of `peer`, any port.
pub(crate) fn wildcard_like(peer: &SocketAddr) -> SocketAddr {
    match peer.ip() {
        IpAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        IpAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_and_unmapping_are_inverse() {
        let plain: SocketAddr = "192.0.2.1:5001".parse().unwrap();
        let mapped = for_socket(true, plain);
        assert_eq!(mapped.to_string(), "[::ffff:192.0.2.1]:5001");
        assert_eq!(unmapped(mapped), plain);
        assert_eq!(for_socket(false, plain), plain);
        let v6: SocketAddr = "[2001:db8::1]:1".parse().unwrap();
        assert_eq!(unmapped(v6), v6);
    }

    #[test]
    fn link_local_addresses_need_their_interface() {
        let needs = |text: &str| needs_zone(text.parse().unwrap());
        assert!(needs("fe80::1") && needs("ff02::1") && needs("ff11::9"));
        assert!(!needs("2001:db8::1") && !needs("ff15::99") && !needs("169.254.0.1"));
        assert_eq!(interface_index("7"), Some(7));
        assert_eq!(interface_index("no-such-if"), None);
    }

    #[test]
    fn loopback_belongs_to_an_interface() {
        let name = outgoing_device(&"127.0.0.1:5001".parse().unwrap());
        assert!(name.is_some_and(|name| name.starts_with("lo")));
        let name = outgoing_device(&"127.0.0.9:5001".parse().unwrap());
        assert!(name.is_some_and(|name| name.starts_with("lo")));
        let nobody = "192.0.2.77:1".parse().unwrap();
        assert_eq!(outgoing_device(&nobody), None);
        assert_eq!(interface_mtu(&nobody), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_interface_has_its_mtu() {
        let read = std::fs::read_to_string("/sys/class/net/lo/mtu");
        let Ok(expected) = read else {
            // A system without sysfs.
            return;
        };
        let loopback = "127.0.0.1:1".parse().unwrap();
        assert_eq!(interface_mtu(&loopback), expected.trim().parse().ok());
    }
}
