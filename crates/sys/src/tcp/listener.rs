//! A listening TCP socket.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, SockAddr, Socket, Type};

use super::connection::TcpConn;
use crate::address;
use crate::error::{Operation, SocketError};
use crate::options::{Opened, OptionFailure, SocketOptions};
use crate::platform::options as system;
use crate::poller::{self, Handle, Interest, Pollable, Wait};

/// Takes connections without ever waiting; wait with a poller or [`TcpListener::wait_ready`].
#[derive(Debug)]
pub struct TcpListener {
    socket: Socket,
}

/// Whether a failure to accept is that of the connection in the queue, not the listener's: network
/// errors that were pending on it are reported so (accept(2), "Error handling").
fn is_of_one_connection(error: &io::Error) -> bool {
    #[cfg(unix)]
    const PROTOCOL: [i32; 4] = [
        libc::EPROTO,
        libc::ENOPROTOOPT,
        libc::EHOSTDOWN,
        libc::EOPNOTSUPP,
    ];
    #[cfg(not(unix))]
    const PROTOCOL: [i32; 0] = [];
    match error.kind() {
        io::ErrorKind::Interrupted
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown => true,
        _ => error
            .raw_os_error()
            .is_some_and(|code| PROTOCOL.contains(&code)),
    }
}

impl TcpListener {
    /// The longest queue of connections that the system permits.
    pub const MAX_BACKLOG: i32 = i32::MAX;

    /// Listens on `local`. With `only_v6: Some(false)` an IPv6 wildcard also takes IPv4.
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Listen`.
    pub fn bind(
        local: SocketAddr,
        options: &SocketOptions,
        backlog: i32,
    ) -> Result<Opened<Self>, SocketError> {
        let fail = |operation| move |error| SocketError::new(operation, local, error);
        let domain = Domain::for_address(local);
        let protocol = options.protocol.number();
        let socket = protocol
            .and_then(|protocol| Socket::new(domain, Type::STREAM, Some(protocol)))
            .map_err(fail(Operation::Open))?;
        let refused = options.apply(&socket, local.is_ipv6());
        socket
            .bind(&SockAddr::from(local))
            .map_err(fail(Operation::Bind))?;
        socket.listen(backlog).map_err(fail(Operation::Listen))?;
        socket
            .set_nonblocking(true)
            .map_err(fail(Operation::Listen))?;
        Ok(Opened {
            socket: Self { socket },
            refused,
        })
    }

    /// A listening socket that somebody else has opened.
    ///
    /// # Errors
    /// The socket does not listen, and cannot be made to.
    pub(crate) fn inherited(socket: Socket) -> io::Result<Self> {
        socket.listen(Self::MAX_BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Sets what a listening socket can still be asked for; returns what the system refused.
    pub fn set(&self, options: &SocketOptions) -> Vec<OptionFailure> {
        options.apply(&self.socket, address::is_v6(&self.socket))
    }

    /// The next connection in the queue (in blocking mode) and its peer; `None` when there is none.
    ///
    /// # Errors
    /// [`SocketError`] of `Accept`: running out of descriptors or memory. A connection that
    /// the peer aborted in the queue is no error, it is skipped.
    pub fn accept(&self) -> Result<Option<(TcpConn, SocketAddr)>, SocketError> {
        let fail = |error| SocketError::new(Operation::Accept, self.local_addr().ok(), error);
        loop {
            match self.socket.accept() {
                Ok((socket, peer)) => {
                    let peer = address::to_ip(&peer).map_err(fail)?;
                    let conn = TcpConn::from_accepted(socket).map_err(fail)?;
                    return Ok(Some((conn, peer)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => return Err(fail(error)),
            }
        }
    }

    /// Waits for a connection; `false` when the time passed.
    ///
    /// # Errors
    /// Those of `poll(2)`.
    pub fn wait_ready(&self, wait: Wait) -> io::Result<bool> {
        poller::wait_one(self.handle(), Interest::READ, wait)
    }

    /// The address listened on.
    ///
    /// # Errors
    /// Those of `getsockname(2)`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        address::to_ip(&self.socket.local_addr()?)
    }

    /// Size of the receive buffer that accepted connections start with, bytes.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`.
    pub fn receive_buffer(&self) -> io::Result<u64> {
        self.socket.recv_buffer_size().map(|bytes| bytes as u64)
    }

    /// Maximum segment size in bytes.
    #[must_use]
    pub fn mss(&self) -> Option<u32> {
        system::mss(&self.socket)
    }

    /// The congestion control algorithm that accepted connections start with.
    #[must_use]
    pub fn congestion(&self) -> Option<String> {
        system::congestion(&self.socket)
    }
}

impl Pollable for TcpListener {
    fn handle(&self) -> Handle<'_> {
        Handle::of(&self.socket)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_failed_in_the_queue_is_not_the_listeners_failure() {
        let is_of_one = |code| is_of_one_connection(&io::Error::from_raw_os_error(code));
        let of_one = [
            libc::ECONNABORTED,
            libc::EINTR,
            libc::EPROTO,
            libc::ENOPROTOOPT,
            libc::ENETDOWN,
            libc::EHOSTDOWN,
            libc::EHOSTUNREACH,
            libc::ENETUNREACH,
        ];
        assert!(of_one.into_iter().all(is_of_one));
        let short = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
        assert!(!short.into_iter().any(is_of_one));
        // Taken for a connection's, these would be tried again without end.
        assert!(![libc::EBADF, libc::EINVAL].into_iter().any(is_of_one));
    }
}
