//! Options that all supported Unix systems share.

use std::io;

use libc::c_int;
use socket2::Socket;

use super::sockopt;

pub(crate) fn set_reuse_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

pub(crate) fn set_dont_route(socket: &Socket) -> io::Result<()> {
    sockopt::set::<c_int>(socket, libc::SOL_SOCKET, libc::SO_DONTROUTE, 1)
}

pub(crate) fn set_tclass_v6(socket: &Socket, class: u32) -> io::Result<()> {
    socket.set_tclass_v6(class)
}

pub(crate) fn tclass_v6(socket: &Socket) -> io::Result<u32> {
    socket.tclass_v6()
}

pub(crate) fn set_mss(socket: &Socket, mss: u32) -> io::Result<()> {
    socket.set_tcp_mss(mss)
}

pub(crate) fn mss(socket: &Socket) -> Option<u32> {
    socket.tcp_mss().ok()
}

pub(crate) fn set_receive_lowat(socket: &Socket, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    sockopt::set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}
