//! The error queue of a UDP socket: `IP_RECVERR` of `ip(7)`, `IPV6_RECVERR` of `ipv6(7)`.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;
use std::ptr;

use socket2::Socket;

use super::control::messages;
use super::receive_batch::source;
use super::sockopt;
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
    let (mut refused, mut own) = (false, None);
    for message in messages(&control.0[..written]) {
        match (message.level, message.kind) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                // `struct sock_extended_err`: the error number, then who found it.
                let found_by = message.data.get(4).copied();
                refused = message.as_int() == Some(libc::ECONNREFUSED)
                    && matches!(
                        found_by,
                        Some(libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6)
                    );
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) | (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // Where the message was sent to is where the datagram came from.
                own = message.as_destination();
            }
            _ => {}
        }
    }
    Some(if refused {
        Returned::Refused {
            peer: source(&peer),
            source: own,
        }
    } else {
        Returned::Otherwise
    })
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
