//! What Linux reports about received datagrams.

use std::io;
use std::mem::MaybeUninit;

use libc::c_int;
use socket2::{SockAddr, Socket};

use super::sockopt;
use crate::udp::ReceiveFeatures;

/// The receive buffer to reach with privileges where `rmem_max` is smaller, bytes as asked for.
/// 4 MiB last 34 ms at 1 Gbit/s; the usual default of 208 KiB lasts 1.7 ms and loses datagrams
/// whenever the receiver is not scheduled for longer.
const AMPLE_BUFFER: usize = 4 << 20;

/// More than this would only hold stale datagrams.
const LARGEST_BUFFER: usize = 64 << 20;

#[inline]
pub(crate) fn recv(socket: &Socket, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    socket.recv_with_flags(buffer, 0)
}

#[inline]
pub(crate) fn recv_from(
    socket: &Socket,
    buffer: &mut [MaybeUninit<u8>],
) -> io::Result<(usize, SockAddr)> {
    socket.recv_from_with_flags(buffer, 0)
}

pub(crate) fn request(socket: &Socket, is_v6: bool, wanted: ReceiveFeatures) -> ReceiveFeatures {
    let ask = |wanted: bool, level: c_int, name: c_int| {
        sockopt::set(socket, level, name, c_int::from(wanted)).is_ok() && wanted
    };
    let mut tos = ask(wanted.tos, libc::IPPROTO_IP, libc::IP_RECVTOS);
    if is_v6 {
        tos = ask(wanted.tos, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS);
    }
    ReceiveFeatures {
        coalescing: ask(wanted.coalescing, libc::SOL_UDP, libc::UDP_GRO),
        timestamps: ask(wanted.timestamps, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
        drops: ask(wanted.drops, libc::SOL_SOCKET, libc::SO_RXQ_OVFL),
        tos,
        destination: if is_v6 {
            ask(
                wanted.destination,
                libc::IPPROTO_IPV6,
                libc::IPV6_RECVPKTINFO,
            )
        } else {
            ask(wanted.destination, libc::IPPROTO_IP, libc::IP_PKTINFO)
        },
    }
}

pub(crate) fn watch_tos(socket: &Socket, is_v6: bool) -> bool {
    // An IPv6 socket takes IPv4 too.
    let v4 = sockopt::set(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1).is_ok();
    let v6 = || sockopt::set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1).is_ok();
    if is_v6 { v6() } else { v4 }
}

pub(crate) fn maximise_receive_buffer(socket: &Socket) -> io::Result<()> {
    let before = socket.recv_buffer_size()?;
    // The kernel cuts the request down to `rmem_max` and doubles it for its own overhead.
    let _ = socket.set_recv_buffer_size(LARGEST_BUFFER);
    let enough = before.max(2 * AMPLE_BUFFER);
    if socket.recv_buffer_size()? < enough {
        let force = c_int::try_from(enough / 2).unwrap_or(c_int::MAX);
        let forced = sockopt::set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, force);
        if forced.is_err() && socket.recv_buffer_size()? < before {
            let _ = socket.set_recv_buffer_size(before / 2);
        }
    }
    Ok(())
}

pub(crate) fn enlarge_send_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    let before = socket.send_buffer_size()?;
    if before >= bytes {
        return Ok(());
    }
    // The kernel cuts the request down to `wmem_max` and doubles it for its own overhead.
    let _ = socket.set_send_buffer_size(bytes / 2);
    if socket.send_buffer_size()? < bytes {
        let force = c_int::try_from(bytes / 2).unwrap_or(c_int::MAX);
        let forced = sockopt::set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, force);
        if forced.is_err() && socket.send_buffer_size()? < before {
            let _ = socket.set_send_buffer_size(before / 2);
        }
    }
    Ok(())
}

/// `SK_MEMINFO_DROPS` of `SO_MEMINFO` (`linux/sock_diag.h`, since Linux 4.12).
pub(crate) fn dropped(socket: &Socket) -> Option<u64> {
    const DROPS: usize = 8;
    let (values, length) =
        sockopt::get::<[u32; DROPS + 1]>(socket, libc::SOL_SOCKET, libc::SO_MEMINFO).ok()?;
    (length == size_of_val(&values)).then(|| u64::from(values[DROPS]))
}
