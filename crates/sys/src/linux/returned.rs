//! The error queue of a UDP socket: `IP_RECVERR` of `ip(7)`, `IPV6_RECVERR` of `ipv6(7)`.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::ptr;

use libc::c_int;
use socket2::Socket;

use super::control::messages;
use super::options::is_too_long;
use super::receive_batch::source;
use super::sockopt;
use super::stream::SEND_FLAGS;
use crate::udp::Returned;

/// What accompanies a received datagram, and the error with the address of whoever found it (44).
const SPACE: usize = 512;

#[repr(C, align(8))]
struct Control([u8; SPACE]);

pub(crate) fn ask(socket: &Socket, is_v6: bool) -> bool {
    // An IPv6 socket sends IPv4 too.
    let v4 = sockopt::set(socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1).is_ok();
    let v6 = || sockopt::set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1).is_ok();
    if is_v6 { v6() } else { v4 }
}

pub(crate) fn next(socket: &Socket) -> Option<Returned> {
    // SAFETY: all-zero is a valid address storage (no family).
    let mut peer = unsafe { zeroed::<libc::sockaddr_storage>() };
    let mut control = Control([0; SPACE]);
    // SAFETY: all-zero is a valid message header (no address, buffer or control).
    let mut header = unsafe { zeroed::<libc::msghdr>() };
    header.msg_name = (&raw mut peer).cast();
    header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    header.msg_iov = ptr::null_mut();
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = SPACE as _;
    // SAFETY: the header describes `peer` and `control`, which outlive the call, and no buffer.
    let count = unsafe {
        libc::recvmsg(
            socket.as_raw_fd(),
            &raw mut header,
            libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
        )
    };
    if count < 0 {
        return None;
    }
    #[allow(
        clippy::unnecessary_cast,
        reason = "the width depends on the C library"
    )]
    let written = (header.msg_controllen as usize).min(SPACE);
    let (mut refused, mut own, mut too_long) = (false, None, None);
    for message in messages(&control.0[..written]) {
        match (message.level, message.kind) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                // `struct sock_extended_err`: the error number, then who found it.
                let is_networks = matches!(
                    message.data.get(4),
                    Some(&(libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6))
                );
                refused = message.as_int() == Some(libc::ECONNREFUSED) && is_networks;
                if message.as_int() == Some(libc::EMSGSIZE) {
                    too_long = Some(Returned::TooLong {
                        mtu: information(message.data),
                        found_by: offender(message.data).filter(|_| is_networks),
                    });
                }
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // Where the message was sent to is where the datagram came from.
                own = message.as_destination();
            }
            _ => {}
        }
    }
    if refused {
        return Some(Returned::Refused {
            peer: source(&peer),
            source: own,
        });
    }
    Some(too_long.unwrap_or(Returned::Otherwise))
}

/// `ee_info` of a `struct sock_extended_err`: the MTU, if it is about that.
fn information(error: &[u8]) -> u32 {
    let bytes = error.get(8..12).and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// `SO_EE_OFFENDER`: the system address behind a `struct sock_extended_err` of 16 bytes.
fn offender(error: &[u8]) -> Option<IpAddr> {
    let address = error.get(16..)?;
    let family = u16::from_ne_bytes(*address.first_chunk()?);
    match c_int::from(family) {
        // Family, port, address.
        libc::AF_INET => {
            let v4: [u8; 4] = *address.get(4..)?.first_chunk()?;
            Some(IpAddr::from(v4))
        }
        // Family, port, flow, address.
        libc::AF_INET6 => {
            let v6: [u8; 16] = *address.get(8..)?.first_chunk()?;
            Some(IpAddr::from(v6).to_canonical())
        }
        _ => None,
    }
}

/// With the option set, the drops of a full queue are errors of the sender.
pub(crate) fn is_drop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// What ICMP and ICMPv6 messages become (the kernel's `icmp_err_convert` and
/// `icmpv6_err_convert`). Some of it a call can find by itself, too.
pub(crate) fn may_be_anothers(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::EACCES
                | libc::EMSGSIZE
                | libc::ENOPROTOOPT
                | libc::EOPNOTSUPP
                | libc::EPROTO
        )
    )
}

/// Most pieces of a datagram that is held back.
const PIECES: usize = 8;

/// Whether the interface that leads to the peer takes a datagram with these bytes. The system holds
/// it back for more of them (`MSG_MORE`), and drops all of it once that makes it too long.
pub(crate) fn is_taken(socket: &Socket, longest: &[u8]) -> io::Result<bool> {
    let mut is_held = false;
    for _ in 0..PIECES {
        match socket.send_with_flags(longest, SEND_FLAGS | libc::MSG_MORE) {
            Ok(_) => is_held = true,
            Err(error) if is_too_long(&error) => return Ok(is_held),
            Err(error) if may_be_anothers(&error) => is_held = false,
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routers_address_stands_behind_the_error() {
        // Error number 90, origin ICMP, type 3, code 4, then the MTU, then 4 bytes for others.
        let mut error = vec![90, 0, 0, 0, 2, 3, 4, 0];
        error.extend(1400_u32.to_ne_bytes());
        error.extend([0; 4]);
        assert_eq!(information(&error), 1400);
        assert_eq!(offender(&error), None);
        let mut v4 = error.clone();
        v4.extend((libc::AF_INET as u16).to_ne_bytes());
        v4.extend([0, 0, 198, 51, 100, 1]);
        assert_eq!(offender(&v4), Some(IpAddr::from([198, 51, 100, 1])));
        let mut v6 = error.clone();
        v6.extend((libc::AF_INET6 as u16).to_ne_bytes());
        v6.extend([0; 6]);
        let address = std::net::Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 9);
        v6.extend(address.octets());
        assert_eq!(offender(&v6), Some(IpAddr::from(address)));
        for length in 0..error.len() {
            assert_eq!(offender(&error[..length]), None);
            let _ = information(&error[..length]);
        }
        assert_eq!(offender(&v6[..v6.len() - 1]), None);
    }
}
