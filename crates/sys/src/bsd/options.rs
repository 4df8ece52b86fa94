//! Options of macOS and FreeBSD; what they lack is `Unsupported`.

use std::io;

use libc::c_int;
use socket2::Socket;
use tapeline_base::Placement;

use super::sockopt;
pub(crate) use super::sockopt::{
    mss, set_dont_route, set_mss, set_receive_lowat, set_reuse_port, set_tclass_v6, share_address,
    tclass_v6,
};
use crate::options::PathMtuMode;

fn unsupported() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn set_reuse_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}

#[cfg(target_vendor = "apple")]
pub(crate) fn bind_device(socket: &Socket, is_v6: bool, name: &str) -> io::Result<()> {
    let index = super::resolver::index_of(name).and_then(std::num::NonZeroU32::new);
    let index = index.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
    if is_v6 {
        socket.bind_device_by_index_v6(Some(index))
    } else {
        socket.bind_device_by_index_v4(Some(index))
    }
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn bind_device(_socket: &Socket, _is_v6: bool, _name: &str) -> io::Result<()> {
    unsupported()
}

#[cfg(target_os = "freebsd")]
pub(crate) fn set_congestion(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

#[cfg(target_os = "freebsd")]
pub(crate) fn congestion(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let bare: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    String::from_utf8(bare).ok().filter(|name| !name.is_empty())
}

#[cfg(not(target_os = "freebsd"))]
pub(crate) fn set_congestion(_socket: &Socket, _name: &str) -> io::Result<()> {
    unsupported()
}

#[cfg(not(target_os = "freebsd"))]
pub(crate) fn congestion(_socket: &Socket) -> Option<String> {
    None
}

pub(crate) fn arrivals(_socket: &Socket) -> Placement {
    Placement::default()
}

pub(crate) fn set_quickack(_socket: &Socket, _quickack: bool) -> io::Result<()> {
    unsupported()
}

/// Whether unsent data can be limited.
pub(crate) const NOTSENT_LOWAT: bool = false;

pub(crate) fn set_notsent_lowat(_socket: &Socket, _bytes: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn begin_window_clamp(_socket: &Socket, _bytes: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_window_clamp(_socket: &Socket, _bytes: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_tx_delay(_socket: &Socket, _micros: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_user_timeout(_socket: &Socket, _limit: std::time::Duration) -> io::Result<()> {
    unsupported()
}

pub(crate) fn lease_flow_label(
    _socket: &Socket,
    _peer: std::net::Ipv6Addr,
    _label: u32,
) -> io::Result<()> {
    unsupported()
}

/// TCP over several paths.
pub(crate) const MULTIPATH: Option<socket2::Protocol> = None;

pub(crate) fn set_sctp_nodelay(_socket: &Socket) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_pacing_rate(_socket: &Socket, _bytes_per_second: u64) -> io::Result<()> {
    unsupported()
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
pub(crate) fn set_dont_fragment(socket: &Socket, is_v6: bool, forbid: bool) -> io::Result<()> {
    let (level, name) = if is_v6 {
        (libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG)
    } else {
        (libc::IPPROTO_IP, libc::IP_DONTFRAG)
    };
    sockopt::set(socket, level, name, c_int::from(forbid))
}

#[cfg(not(any(target_vendor = "apple", target_os = "freebsd")))]
pub(crate) fn set_dont_fragment(_socket: &Socket, _is_v6: bool, _forbid: bool) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_path_mtu_mode(socket: &Socket, is_v6: bool, mode: PathMtuMode) -> io::Result<()> {
    set_dont_fragment(socket, is_v6, mode != PathMtuMode::Fragment)
}

pub(crate) fn path_mtu(_socket: &Socket, _is_v4_traffic: bool) -> Option<u32> {
    None
}

pub(crate) fn set_fragment_size(_socket: &Socket, _bytes: u32) -> io::Result<()> {
    unsupported()
}

/// A datagram is too long for the interface.
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
