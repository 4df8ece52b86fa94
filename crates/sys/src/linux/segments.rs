//! Segmentation offload: one call, many datagrams (`UDP_SEGMENT`, since Linux 4.18).

use std::io::{self, IoSlice};

use libc::c_int;
use socket2::{MsgHdr, SockAddr, Socket};

use super::control::{Messages, SmallMessage};
use super::{SEND_FLAGS, sockopt};
use crate::udp_socket::Marks;

pub(crate) fn is_available(socket: &Socket) -> bool {
    sockopt::get::<c_int>(socket, libc::SOL_UDP, libc::UDP_SEGMENT).is_ok()
}

#[inline]
pub(crate) fn send(
    socket: &Socket,
    data: &[u8],
    segment_size: usize,
    peer: Option<&SockAddr>,
) -> io::Result<usize> {
    let size =
        u16::try_from(segment_size).map_err(|_| io::Error::from_raw_os_error(libc::EMSGSIZE))?;
    let control = SmallMessage::short(libc::SOL_UDP, libc::UDP_SEGMENT, size);
    let buffers = [IoSlice::new(data)];
    let message = MsgHdr::new()
        .with_buffers(&buffers)
        .with_control(control.bytes());
    match peer {
        Some(peer) => socket.sendmsg(&message.with_addr(peer), SEND_FLAGS),
        None => socket.sendmsg(&message, SEND_FLAGS),
    }
}

/// Sends one datagram with a type of service or a source address of its own (`ip(7)`: `IP_TOS`
/// as a control message since Linux 3.13, `IP_PKTINFO`; `ipv6(7)`). `to_v4`: the packet is IPv4.
pub(crate) fn send_marked(
    socket: &Socket,
    is_v6: bool,
    data: &[u8],
    peer: &SockAddr,
    to_v4: bool,
    marks: Marks,
) -> io::Result<usize> {
    let mut control = Messages::NONE;
    if let Some(tos) = marks.tos {
        control.push_tos(to_v4, tos.0);
    }
    if let Some(source) = marks.source {
        control.push_source(is_v6, source);
    }
    let buffers = [IoSlice::new(data)];
    let message = MsgHdr::new()
        .with_buffers(&buffers)
        .with_control(control.bytes())
        .with_addr(peer);
    socket.sendmsg(&message, SEND_FLAGS)
}

/// Errors that mean "not segmented": an interface without checksum offload (`EIO`), a segment
/// above the path's packet size or more than 64 segments (`EINVAL`, `EMSGSIZE`), an old kernel.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP | libc::ENOPROTOOPT)
    )
}
