//! Windows's options; what it lacks is `Unsupported`.

use std::io;
use std::os::windows::io::AsRawSocket;

use socket2::{Socket, Type};
use tapeline_base::Placement;
use windows_sys::Win32::Networking::WinSock::{
    IP_DONTFRAGMENT, IPPROTO_IP, IPPROTO_IPV6, IPV6_DONTFRAG, SO_DONTROUTE, SOL_SOCKET,
    WSAEMSGSIZE, setsockopt,
};

use crate::options::PathMtuMode;

/// `IP_MTU_DISCOVER` and `IPV6_MTU_DISCOVER` of `ws2ipdef.h`, the same number, and the
/// `PMTUD_STATE`s (since Windows 10 1803).
const MTU_DISCOVER: i32 = 71;
const PMTUDISC_DO: u32 = 1;
const PMTUDISC_DONT: u32 = 2;
const PMTUDISC_PROBE: u32 = 3;

fn unsupported() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn set_flag(socket: &Socket, level: i32, name: i32, on: bool) -> io::Result<()> {
    set_number(socket, level, name, u32::from(on))
}

fn set_number(socket: &Socket, level: i32, name: i32, value: u32) -> io::Result<()> {
    let value = value.to_ne_bytes();
    // SAFETY: pointer and length describe `value`, which outlives the call.
    let result = unsafe {
        setsockopt(
            socket.as_raw_socket() as usize,
            level,
            name,
            value.as_ptr(),
            value.len() as i32,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A new stream may always take a closing address; there the option of that name would let others
/// steal a live one. Sockets for datagrams need it to share a port.
pub(crate) fn set_reuse_address(socket: &Socket) -> io::Result<()> {
    if socket.r#type()? == Type::DGRAM {
        socket.set_reuse_address(true)
    } else {
        Ok(())
    }
}

/// Lets others on the port of a bound socket, or does no more. Windows takes this before a bind
/// only, and lets those in that ask for it themselves.
pub(crate) fn share_address(socket: &Socket, shared: bool) -> io::Result<()> {
    let _ = socket.set_reuse_address(shared);
    Ok(())
}

pub(crate) fn set_reuse_port(_socket: &Socket) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_dont_route(socket: &Socket) -> io::Result<()> {
    set_flag(socket, SOL_SOCKET, SO_DONTROUTE, true)
}

pub(crate) fn set_dont_fragment(socket: &Socket, is_v6: bool, forbid: bool) -> io::Result<()> {
    if is_v6 {
        set_flag(socket, IPPROTO_IPV6, IPV6_DONTFRAG, forbid)
    } else {
        set_flag(socket, IPPROTO_IP, IP_DONTFRAGMENT, forbid)
    }
}

pub(crate) fn bind_device(_socket: &Socket, _is_v6: bool, _name: &str) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_tclass_v6(_socket: &Socket, _class: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn tclass_v6(_socket: &Socket) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn set_mss(_socket: &Socket, _mss: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn mss(_socket: &Socket) -> Option<u32> {
    None
}

pub(crate) fn set_congestion(_socket: &Socket, _name: &str) -> io::Result<()> {
    unsupported()
}

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

pub(crate) fn set_receive_lowat(_socket: &Socket, _bytes: u32) -> io::Result<()> {
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

pub(crate) fn set_path_mtu_mode(socket: &Socket, is_v6: bool, mode: PathMtuMode) -> io::Result<()> {
    let state = match mode {
        PathMtuMode::Probe => PMTUDISC_PROBE,
        PathMtuMode::Classical => PMTUDISC_DO,
        PathMtuMode::Fragment => PMTUDISC_DONT,
    };
    let level = if is_v6 { IPPROTO_IPV6 } else { IPPROTO_IP };
    set_number(socket, level, MTU_DISCOVER, state)
        .or_else(|_| set_dont_fragment(socket, is_v6, mode != PathMtuMode::Fragment))
}

pub(crate) fn path_mtu(_socket: &Socket, _is_v4_traffic: bool) -> Option<u32> {
    None
}

pub(crate) fn set_fragment_size(_socket: &Socket, _bytes: u32) -> io::Result<()> {
    unsupported()
}

/// A datagram is too long for the interface.
pub(crate) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(WSAEMSGSIZE)
}
