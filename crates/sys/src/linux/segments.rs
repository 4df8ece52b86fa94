//! Segmentation offload: one call, many datagrams (`UDP_SEGMENT`, since Linux 4.18).

use std::io::{self, IoSlice};

use libc::c_int;
use socket2::{MsgHdr, Socket};

use super::control::Messages;
use super::sockopt;
use super::variant::SEND_FLAGS;
use crate::udp::Addressee;

pub(crate) fn is_available(socket: &Socket) -> bool {
    sockopt::get::<c_int>(socket, libc::SOL_UDP, libc::UDP_SEGMENT).is_ok()
}

#[inline]
pub(crate) fn send(
    socket: &Socket,
    data: &[u8],
    segment_size: usize,
    to: Option<&Addressee>,
) -> io::Result<usize> {
    let size =
        u16::try_from(segment_size).map_err(|_| io::Error::from_raw_os_error(libc::EMSGSIZE))?;
    let mut control = Messages::NONE;
    control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &size.to_ne_bytes());
    send_with(socket, data, control, to)
}

/// Sends one datagram with a type of service or a source address of its own (`ip(7)`: `IP_TOS`
/// as a control message since Linux 3.13, `IP_PKTINFO`; `ipv6(7)`).
pub(crate) fn send_marked(socket: &Socket, data: &[u8], to: &Addressee) -> io::Result<usize> {
    send_with(socket, data, Messages::NONE, Some(to))
}

#[inline]
fn send_with(
    socket: &Socket,
    data: &[u8],
    mut control: Messages,
    to: Option<&Addressee>,
) -> io::Result<usize> {
    let buffers = [IoSlice::new(data)];
    let message = MsgHdr::new().with_buffers(&buffers);
    let Some(to) = to else {
        return socket.sendmsg(&message.with_control(control.bytes()), SEND_FLAGS);
    };
    if let Some(tos) = to.marks.tos {
        control.push_tos(to.is_v4, tos.0);
    }
    if let Some(source) = to.marks.source {
        control.push_source(to.on_v6, source);
    }
    let message = message.with_control(control.bytes());
    socket.sendmsg(&message.with_addr(&to.peer), SEND_FLAGS)
}

/// Errors that mean "not segmented": an interface without checksum offload (`EIO`), a segment
/// above the path's packet size or more than 64 segments (`EINVAL`, `EMSGSIZE`), an old kernel.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP | libc::ENOPROTOOPT)
    )
}
