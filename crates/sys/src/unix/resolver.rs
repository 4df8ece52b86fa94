//! Names of hosts, from `getaddrinfo(3)`, and of network interfaces, from `getifaddrs(3)`.

use std::ffi::{CStr, CString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;
use std::ptr;

use tapeline_base::Family;

use super::variant::{INTERFACE_MTU, NO_ADDRESS_CODES};
use crate::error::reason;
use crate::resolve::{ResolveError, ResolveFailure};

/// All addresses of `host`, one entry each.
pub(crate) fn look_up(
    host: &str,
    port: u16,
    family: Family,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let Ok(name) = CString::new(host) else {
        return Err(ResolveError::new(
            host,
            ResolveFailure::InvalidName,
            "Invalid host name",
        ));
    };
    // SAFETY: all-zero hints mean "no restriction".
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    // One transport, or every address would come once per transport.
    hints.ai_socktype = libc::SOCK_STREAM;
    hints.ai_family = match family {
        Family::Any => libc::AF_UNSPEC,
        Family::V4 => libc::AF_INET,
        Family::V6 => libc::AF_INET6,
    };
    let mut list: *mut libc::addrinfo = ptr::null_mut();
    // SAFETY: name and hints outlive the call; `list` receives the head of a list.
    let code =
        unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), &raw const hints, &raw mut list) };
    if code != 0 {
        return Err(failure(host, code));
    }
    let mut found = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: a node of the list, which is freed only after the loop.
        let node = unsafe { &*entry };
        if let Some(ip) = ip_of(node.ai_addr) {
            let address = with_scope(ip, port, node.ai_addr);
            if !found.contains(&address) {
                found.push(address);
            }
        }
        entry = node.ai_next;
    }
    // SAFETY: the list came from `getaddrinfo` and no reference to it is left.
    unsafe { libc::freeaddrinfo(list) };
    Ok(found)
}

/// Adds the port and, for IPv6, the scope that the resolver found.
fn with_scope(ip: IpAddr, port: u16, address: *const libc::sockaddr) -> SocketAddr {
    match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(v6) => {
            // SAFETY: `ip_of` found the family to be `AF_INET6`.
            let raw = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            SocketAddr::V6(SocketAddrV6::new(v6, port, 0, raw.sin6_scope_id))
        }
    }
}

fn failure(host: &str, code: i32) -> ResolveError {
    if code == libc::EAI_SYSTEM {
        let error = std::io::Error::last_os_error();
        return ResolveError::new(host, ResolveFailure::Other, reason(&error));
    }
    let kind = match code {
        libc::EAI_NONAME => ResolveFailure::UnknownHost,
        libc::EAI_AGAIN => ResolveFailure::TryAgain,
        libc::EAI_FAIL => ResolveFailure::ServerFailure,
        _ if NO_ADDRESS_CODES.contains(&code) => ResolveFailure::NoAddress,
        _ => ResolveFailure::Other,
    };
    // SAFETY: `gai_strerror` returns a terminated static text for every code.
    let text = unsafe { CStr::from_ptr(libc::gai_strerror(code)) };
    ResolveError::new(host, kind, text.to_string_lossy())
}

/// The interface that owns `address`.
pub(crate) fn name_of(address: IpAddr) -> Option<String> {
    let mut owned = interfaces().into_iter();
    owned.find(|(_, its)| *its == address).map(|(name, _)| name)
}

/// The interfaces and their addresses; one with several addresses comes several times.
pub(crate) fn interfaces() -> Vec<(String, IpAddr)> {
    let mut list: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: `list` receives the head of a list that is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: `entry` is a node of the list, which is not freed before the end of the loop.
        let node = unsafe { &*entry };
        if let Some(address) = ip_of(node.ifa_addr) {
            // SAFETY: the system gives every node a terminated name.
            let name = unsafe { CStr::from_ptr(node.ifa_name) };
            found.push((name.to_string_lossy().into_owned(), address));
        }
        entry = node.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs` and no reference to it is left.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The index of the interface called `name`.
pub(crate) fn index_of(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: `name` is terminated and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index != 0).then_some(index)
}

/// The MTU of the interface called `name`: `SIOCGIFMTU` of `netdevice(7)`.
pub(crate) fn mtu_of(name: &str) -> Option<u32> {
    /// `struct ifreq`, as long as on the system where it is longest.
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        value: [u64; 3],
    }
    let command = INTERFACE_MTU?;
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        value: [0; 3],
    };
    // One byte stays for the end of the name.
    let room = request.name.get_mut(..name.len() + 1)?;
    room[..name.len()].copy_from_slice(name.as_bytes());
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)
        .or_else(|_| socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::DGRAM, None))
        .ok()?;
    // SAFETY: the command reads a name and writes one C `int` into a request that is at least as
    // long as the system's own and outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &raw mut request) };
    if result != 0 {
        return None;
    }
    let [first, ..] = request.value;
    let bytes = first.to_ne_bytes();
    let mtu = i32::from_ne_bytes(*bytes.first_chunk()?);
    u32::try_from(mtu).ok().filter(|mtu| *mtu > 0)
}

/// The IP address behind a system address, which may be null or of another family.
fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, and every system address begins with its family.
    let family = i32::from(unsafe { (*address).sa_family });
    match family {
        libc::AF_INET => {
            // SAFETY: the family says that this is a `sockaddr_in`; it may be unaligned.
            let v4 = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this is a `sockaddr_in6`; it may be unaligned.
            let v6 = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
        }
        _ => None,
    }
}
