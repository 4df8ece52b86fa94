//! `getaddrinfo(3)`.

use std::ffi::{CStr, CString};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::ptr;

use tapeline_base::Family;

use super::interfaces::ip_of;
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
        return ResolveError::new(host, ResolveFailure::Other, crate::error::reason(&error));
    }
    let kind = match code {
        libc::EAI_NONAME => ResolveFailure::UnknownHost,
        libc::EAI_AGAIN => ResolveFailure::TryAgain,
        libc::EAI_FAIL => ResolveFailure::ServerFailure,
        _ if super::NO_ADDRESS_CODES.contains(&code) => ResolveFailure::NoAddress,
        _ => ResolveFailure::Other,
    };
    // SAFETY: `gai_strerror` returns a terminated static text for every code.
    let text = unsafe { CStr::from_ptr(libc::gai_strerror(code)) };
    ResolveError::new(host, kind, text.to_string_lossy())
}
