//! Source-specific membership (RFC 3678).

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, SocketAddr};
use std::os::windows::io::AsRawSocket;
use std::ptr;

use socket2::{SockAddr, Socket};
use windows_sys::Win32::Networking::WinSock::{
    GROUP_SOURCE_REQ, IPPROTO_IP, IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, SOCKADDR_STORAGE,
    setsockopt,
};

pub(crate) fn join_source(
    socket: &Socket,
    group: IpAddr,
    source: IpAddr,
    interface: u32,
) -> io::Result<()> {
    let level = if group.is_ipv4() {
        IPPROTO_IP
    } else {
        IPPROTO_IPV6
    };
    let request = GROUP_SOURCE_REQ {
        gsr_interface: interface,
        gsr_group: storage(group),
        gsr_source: storage(source),
    };
    // SAFETY: pointer and length describe `request`, which outlives the call.
    let result = unsafe {
        setsockopt(
            socket.as_raw_socket() as usize,
            level,
            MCAST_JOIN_SOURCE_GROUP as i32,
            (&raw const request).cast(),
            size_of::<GROUP_SOURCE_REQ>() as i32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What others joined does not reach this socket anyway.
pub(crate) fn only_joined(_socket: &Socket, _is_v6: bool) {}

fn storage(address: IpAddr) -> SOCKADDR_STORAGE {
    let address = SockAddr::from(SocketAddr::new(address, 0));
    let mut storage = SOCKADDR_STORAGE::default();
    let length = (address.len() as usize).min(size_of::<SOCKADDR_STORAGE>());
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
