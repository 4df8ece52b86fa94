//! Source-specific membership (RFC 3678).

use std::io;
use std::net::{IpAddr, SocketAddr};

#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
))]
mod by_source {
    use std::mem::{size_of, zeroed};
    use std::ptr;

    use super::{IpAddr, SocketAddr, io};
    use crate::platform::sockopt::{self, Plain};
    use socket2::{SockAddr, Socket};

    // SAFETY: numbers and addresses of plain bytes.
    unsafe impl Plain for libc::group_source_req {}

    pub(crate) fn join_source(
        socket: &Socket,
        group: IpAddr,
        source: IpAddr,
        interface: u32,
    ) -> io::Result<()> {
        let level = if group.is_ipv4() {
            libc::IPPROTO_IP
        } else {
            libc::IPPROTO_IPV6
        };
        // SAFETY: all-zero is a valid request (no addresses).
        let mut request: libc::group_source_req = unsafe { zeroed() };
        request.gsr_interface = interface as _;
        request.gsr_group = storage(group);
        request.gsr_source = storage(source);
        sockopt::set(socket, level, libc::MCAST_JOIN_SOURCE_GROUP, request)
    }

    fn storage(address: IpAddr) -> libc::sockaddr_storage {
        let address = SockAddr::from(SocketAddr::new(address, 0));
        // SAFETY: all-zero is a valid storage (no family).
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let length = (address.len() as usize).min(size_of::<libc::sockaddr_storage>());
        // SAFETY: both are at least `length` bytes long and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(
                address.as_ptr().cast::<u8>(),
                (&raw mut storage).cast::<u8>(),
                length,
            );
        }
        storage
    }
}

#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
))]
pub(crate) use by_source::join_source;

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
)))]
pub(crate) fn join_source(
    _socket: &socket2::Socket,
    _group: IpAddr,
    _source: IpAddr,
    _interface: u32,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `IP_MULTICAST_ALL` and `IPV6_MULTICAST_ALL`; systems without them have nothing to turn off.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn only_joined(socket: &socket2::Socket, is_v6: bool) {
    let _ = if is_v6 {
        socket.set_multicast_all_v6(false)
    } else {
        socket.set_multicast_all_v4(false)
    };
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn only_joined(_socket: &socket2::Socket, _is_v6: bool) {}
