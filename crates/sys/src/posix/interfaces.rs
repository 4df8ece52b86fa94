//! Network interfaces, from `getifaddrs(3)`.

use std::ffi::{CStr, CString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// The interface that owns `address`.
pub(crate) fn name_of(address: IpAddr) -> Option<String> {
    let mut list: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: `list` receives the head of a list that is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return None;
    }
    let mut found = None;
    let mut entry = list;
    while !entry.is_null() && found.is_none() {
        // SAFETY: `entry` is a node of the list, which is not freed before the end of the loop.
        let node = unsafe { &*entry };
        if ip_of(node.ifa_addr) == Some(address) {
            // SAFETY: the system gives every node a terminated name.
            let name = unsafe { CStr::from_ptr(node.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
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

/// The IP address behind a system address, which may be null or of another family.
pub(crate) fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
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
