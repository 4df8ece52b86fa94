//! Linux's socket options.

use std::io;
use std::net::Ipv6Addr;
use std::time::Duration;

use libc::c_int;
use socket2::{Protocol, Socket};
use tapeline_base::Placement;

use super::sockopt;
pub(crate) use super::sockopt::{
    mss, set_dont_route, set_mss, set_receive_lowat, set_reuse_port, set_tclass_v6, share_address,
    tclass_v6,
};
use crate::options::PathMtuMode;

/// Delay of sent packets in microseconds (`linux/tcp.h`, since 4.20).
const TCP_TX_DELAY: c_int = 37;

pub(crate) fn set_reuse_address(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}

pub(crate) fn bind_device(socket: &Socket, _is_v6: bool, name: &str) -> io::Result<()> {
    socket.bind_device(Some(name.as_bytes()))
}

pub(crate) fn set_congestion(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

pub(crate) fn congestion(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    let bare: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    String::from_utf8(bare).ok().filter(|name| !name.is_empty())
}

pub(crate) fn arrivals(socket: &Socket) -> Placement {
    let number = |name| {
        let (number, _) = sockopt::get::<c_int>(socket, libc::SOL_SOCKET, name).ok()?;
        u32::try_from(number).ok()
    };
    Placement {
        incoming_cpu: number(libc::SO_INCOMING_CPU),
        napi_id: number(libc::SO_INCOMING_NAPI_ID).filter(|id| *id > 0),
        ..Placement::default()
    }
}

pub(crate) fn set_quickack(socket: &Socket, quickack: bool) -> io::Result<()> {
    socket.set_tcp_quickack(quickack)
}

/// Whether unsent data can be limited.
pub(crate) const NOTSENT_LOWAT: bool = true;

pub(crate) fn set_notsent_lowat(socket: &Socket, bytes: u32) -> io::Result<()> {
    socket.set_tcp_notsent_lowat(bytes)
}

/// Takes a receive buffer with room for a clamp out of the system's tuning, which would raise the
/// clamp with the buffer (`tcp_rcv_space_adjust`). One that the user chose stays; where there may be
/// none that large, tuning goes on.
fn hold_receive_buffer(socket: &Socket, clamp: u32) {
    /// `SOCK_RCVBUF_LOCK` of `net/sock.h`.
    const RECEIVE: c_int = 2;
    /// `SO_BUF_LOCK`, Linux 5.14.
    const SO_BUF_LOCK: c_int = 72;
    let locked = sockopt::get::<c_int>(socket, libc::SOL_SOCKET, SO_BUF_LOCK);
    if !matches!(locked, Ok((bits, _)) if bits & RECEIVE == 0) {
        return;
    }
    // Half of a buffer and more is overhead.
    let wanted = (clamp as usize).saturating_mul(4);
    let _ = socket.set_recv_buffer_size(wanted);
    if socket.recv_buffer_size().is_ok_and(|size| size < wanted) {
        let _ = sockopt::set::<c_int>(socket, libc::SOL_SOCKET, SO_BUF_LOCK, 0);
    }
}

/// Sets a clamp from the start of a connection on.
pub(crate) fn begin_window_clamp(socket: &Socket, bytes: u32) -> io::Result<()> {
    hold_receive_buffer(socket, bytes);
    set_window_clamp(socket, bytes)
}

pub(crate) fn set_window_clamp(socket: &Socket, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    sockopt::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

pub(crate) fn set_tx_delay(socket: &Socket, micros: u32) -> io::Result<()> {
    let micros = c_int::try_from(micros).unwrap_or(c_int::MAX);
    sockopt::set(socket, libc::IPPROTO_TCP, TCP_TX_DELAY, micros)
}

pub(crate) fn set_user_timeout(socket: &Socket, limit: Duration) -> io::Result<()> {
    let millis = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
    sockopt::set(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis)
}

/// `linux/in6.h`: leasing labels, and sending those that addresses hold.
const IPV6_FLOWLABEL_MGR: c_int = 32;
const IPV6_FLOWINFO_SEND: c_int = 33;

/// Leases `label` for packets to `peer`, shared with everybody, and makes the socket send it.
pub(crate) fn lease_flow_label(socket: &Socket, peer: Ipv6Addr, label: u32) -> io::Result<()> {
    // `struct in6_flowlabel_req`: destination, label, then action (0: get), sharing (255: any)
    // and flags (1: create), then times of which the kernel has defaults.
    let mut request = [0_u32; 8];
    for (word, bytes) in request.iter_mut().zip(peer.octets().chunks_exact(4)) {
        *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    request[4] = label.to_be();
    let [low, high] = 1_u16.to_ne_bytes();
    request[5] = u32::from_ne_bytes([0, 255, low, high]);
    sockopt::set(socket, libc::IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, request)?;
    sockopt::set(socket, libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1)
}

/// TCP over several paths.
pub(crate) const MULTIPATH: Option<Protocol> = Some(Protocol::MPTCP);

/// SCTP_NODELAY.
pub(crate) fn set_sctp_nodelay(socket: &Socket) -> io::Result<()> {
    const SCTP_NODELAY: c_int = 3;
    sockopt::set(socket, libc::IPPROTO_SCTP, SCTP_NODELAY, 1)
}

pub(crate) fn set_pacing_rate(socket: &Socket, bytes_per_second: u64) -> io::Result<()> {
    // 64-bit rates since Linux 4.20; older kernels and 32-bit ones take a 32-bit value.
    sockopt::set(
        socket,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        bytes_per_second,
    )
    .or_else(|_| {
        let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
        sockopt::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate)
    })
}

pub(crate) fn set_dont_fragment(socket: &Socket, is_v6: bool, forbid: bool) -> io::Result<()> {
    let v4 = if forbid {
        libc::IP_PMTUDISC_DO
    } else {
        libc::IP_PMTUDISC_DONT
    };
    if !is_v6 {
        return sockopt::set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, v4);
    }
    // A dual-stack socket sends IPv4 too; the IPv6 answer decides.
    let _ = sockopt::set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, v4);
    let v6 = if forbid {
        libc::IPV6_PMTUDISC_DO
    } else {
        libc::IPV6_PMTUDISC_DONT
    };
    sockopt::set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, v6)
}

pub(crate) fn set_path_mtu_mode(socket: &Socket, is_v6: bool, mode: PathMtuMode) -> io::Result<()> {
    let (v4, v6) = match mode {
        PathMtuMode::Probe => (libc::IP_PMTUDISC_PROBE, libc::IPV6_PMTUDISC_PROBE),
        PathMtuMode::Classical => (libc::IP_PMTUDISC_DO, libc::IPV6_PMTUDISC_DO),
        PathMtuMode::Fragment => (libc::IP_PMTUDISC_DONT, libc::IPV6_PMTUDISC_DONT),
    };
    // A dual-stack socket sends IPv4 too.
    let set_v4 = sockopt::set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, v4);
    if !is_v6 {
        return set_v4;
    }
    sockopt::set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, v6)
}

/// What the system believes that the path to the connected peer carries.
pub(crate) fn path_mtu(socket: &Socket, is_v4_traffic: bool) -> Option<u32> {
    let (level, name) = if is_v4_traffic {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let (mtu, _) = sockopt::get::<c_int>(socket, level, name).ok()?;
    u32::try_from(mtu).ok().filter(|mtu| *mtu > 0)
}

/// Bytes of the pieces that IPv6 packets are cut into.
pub(crate) fn set_fragment_size(socket: &Socket, bytes: u32) -> io::Result<()> {
    sockopt::set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU, bytes)
}

/// A datagram is too long for the interface, or for what is known about the path.
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
