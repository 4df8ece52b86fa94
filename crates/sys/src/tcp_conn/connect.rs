//! Connecting: within a time, or until somebody does not want to wait any more.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use super::TcpConn;
use crate::address;
use crate::error::{Operation, SocketError};
use crate::options::{self, OptionFailure, SocketOptions};
use crate::platform::stream;
use crate::poller::{self, Handle, Interest, Pollable, Wait};
use crate::waker::Waker;

/// The outcome of [`TcpConn::connect`].
#[derive(Debug)]
pub struct Connected {
    /// The connection.
    pub conn: TcpConn,
    /// From the call of `connect` to the completed handshake.
    pub connect_time: Duration,
    /// Options that the system refused.
    pub refused: Vec<OptionFailure>,
}

impl TcpConn {
    /// Connects to `peer`, from `local` where given, within `timeout` (`None`: the system's own,
    /// minutes long).
    ///
    /// # Errors
    /// [`SocketError`] of `Open`, `Bind` or `Connect`; a passed timeout is
    /// [`io::ErrorKind::TimedOut`].
    pub fn connect(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
    ) -> Result<Connected, SocketError> {
        Self::establish(peer, local, options, timeout, None)
    }

    /// As [`TcpConn::connect`], but gives up as soon as `cancel` is woken.
    ///
    /// # Errors
    /// As `connect`; a cancelled attempt is [`io::ErrorKind::Interrupted`].
    pub fn connect_or_cancel(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
        cancel: &Waker,
    ) -> Result<Connected, SocketError> {
        Self::establish(peer, local, options, timeout, Some(cancel))
    }

    fn establish(
        peer: SocketAddr,
        local: Option<SocketAddr>,
        options: &SocketOptions,
        timeout: Option<Duration>,
        cancel: Option<&Waker>,
    ) -> Result<Connected, SocketError> {
        // A socket of the local address's family reaches IPv4 peers as mapped addresses.
        let is_v6 = peer.is_ipv6() || local.is_some_and(|address| address.is_ipv6());
        let domain = if is_v6 { Domain::IPV6 } else { Domain::IPV4 };
        let open = |error| SocketError::new(Operation::Open, peer, error);
        let protocol = options.protocol.number().map_err(open)?;
        let socket = Socket::new(domain, Type::STREAM, Some(protocol)).map_err(open)?;
        let mut refused = options.for_peer(peer).apply(&socket, is_v6);
        if let Some(local) = local {
            let address = SockAddr::from(address::for_socket(is_v6, local));
            socket
                .bind(&address)
                .map_err(|error| SocketError::new(Operation::Bind, local, error))?;
        }
        let fail = |error| SocketError::new(Operation::Connect, peer, error);
        socket.set_nonblocking(true).map_err(fail)?;
        let started = Instant::now();
        let address = address::for_socket(is_v6, peer);
        let address = options::labelled(&socket, address, options.flow_label, &mut refused);
        let address = SockAddr::from(address);
        match socket.connect(&address) {
            Ok(()) => {}
            Err(error) if stream::connect_is_pending(&error) => {
                await_connection(&socket, timeout, cancel).map_err(fail)?;
            }
            Err(error) => return Err(fail(error)),
        }
        let connect_time = started.elapsed();
        socket.set_nonblocking(false).map_err(fail)?;
        let conn = Self { socket, is_v6 };
        Ok(Connected {
            conn,
            connect_time,
            refused,
        })
    }
}

/// Waits for the handshake of a non-blocking `connect`.
fn await_connection(
    socket: &Socket,
    timeout: Option<Duration>,
    cancel: Option<&Waker>,
) -> io::Result<()> {
    let wait = timeout.map_or(Wait::Forever, Wait::AtMost);
    let (connected, cancelled) = match cancel {
        None => (
            poller::wait_one(Handle::of(socket), Interest::WRITE, wait)?,
            false,
        ),
        Some(waker) => poller::wait_two(
            (Handle::of(socket), Interest::WRITE),
            (waker.handle(), Interest::READ),
            wait,
        )?,
    };
    if connected {
        return socket.take_error()?.map_or(Ok(()), Err);
    }
    if cancelled {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
    }
    Err(stream::timed_out())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::thread;

    #[cfg(target_os = "linux")]
    use socket2::Protocol;

    use super::*;
    use crate::loopback::{any_port, listener};
    #[cfg(target_os = "linux")]
    use crate::options::StreamProtocol;
    use crate::tcp_listener::TcpListener;

    /// A port of this host that nobody listens on.
    fn closed_port() -> SocketAddr {
        let (listener, address) = listener();
        drop(listener);
        address
    }

    #[test]
    fn a_refused_connect_names_the_address() {
        let peer = closed_port();
        let error = TcpConn::connect(
            peer,
            None,
            &SocketOptions::default(),
            Some(Duration::from_secs(5)),
        )
        .unwrap_err();
        assert_eq!(
            (error.operation, error.kind()),
            (Operation::Connect, ErrorKind::ConnectionRefused)
        );
        assert_eq!(
            error.to_string(),
            format!("connect {peer}: {}", error.reason())
        );
        assert!(!error.reason().contains("os error"));
    }

    #[test]
    fn binding_a_foreign_address_fails_as_bind() {
        let foreign: SocketAddr = "192.0.2.77:0".parse().unwrap();
        let error = TcpConn::connect(
            closed_port(),
            Some(foreign),
            &SocketOptions::default(),
            None,
        )
        .unwrap_err();
        assert_eq!(
            (error.operation, error.address),
            (Operation::Bind, Some(foreign))
        );
    }

    /// A listener whose queue is full: further handshakes are not answered.
    fn full_listener() -> (TcpListener, Vec<TcpConn>, SocketAddr) {
        let opened = TcpListener::bind(any_port(), &SocketOptions::default(), 0)
            .unwrap()
            .socket;
        let address = opened.local_addr().unwrap();
        let mut held = Vec::new();
        let patience = Some(Duration::from_millis(100));
        for _ in 0..16 {
            match TcpConn::connect(address, None, &SocketOptions::default(), patience) {
                Ok(connected) => held.push(connected.conn),
                Err(_) => return (opened, held, address),
            }
        }
        panic!("the queue never filled");
    }

    #[test]
    fn an_unanswered_connect_times_out_or_is_cancelled() {
        let (_listener, _held, address) = full_listener();
        let short = Some(Duration::from_millis(20));
        let error = TcpConn::connect(address, None, &SocketOptions::default(), short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);

        let waker = Waker::new().unwrap();
        thread::scope(|scope| {
            let attempt = scope.spawn(|| {
                let options = SocketOptions::default();
                TcpConn::connect_or_cancel(address, None, &options, None, &waker).unwrap_err()
            });
            waker.wake();
            assert_eq!(attempt.join().unwrap().kind(), ErrorKind::Interrupted);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn several_paths_are_asked_for_where_the_kernel_has_them() {
        let (_listener, address) = listener();
        let options = SocketOptions {
            protocol: StreamProtocol::Multipath,
            ..SocketOptions::default()
        };
        match TcpConn::connect(address, None, &options, Some(Duration::from_secs(5))) {
            Ok(connected) => {
                let protocol = connected.conn.socket.protocol().unwrap();
                assert_eq!(protocol, Some(Protocol::MPTCP));
            }
            Err(error) => assert_eq!(error.operation, Operation::Open, "{error}"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_listener_for_several_paths_takes_plain_connections_too() {
        let listener = |protocol| {
            let options = SocketOptions {
                protocol,
                ..SocketOptions::default()
            };
            TcpListener::bind(any_port(), &options, 8)
        };
        let Ok(opened) = listener(StreamProtocol::Multipath) else {
            // A kernel without.
            return;
        };
        let listener = opened.socket;
        let address = listener.local_addr().unwrap();
        for protocol in [StreamProtocol::Tcp, StreamProtocol::Multipath] {
            let options = SocketOptions {
                protocol,
                ..SocketOptions::default()
            };
            let limit = Some(Duration::from_secs(5));
            let client = TcpConn::connect(address, None, &options, limit)
                .unwrap()
                .conn;
            assert!(
                listener
                    .wait_ready(Wait::AtMost(Duration::from_secs(5)))
                    .unwrap()
            );
            let (server, _) = listener.accept().unwrap().expect("a connection");
            client.send_all(b"there").unwrap();
            let mut heard = [0; 5];
            server.recv_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"there");
            let carried = server.socket.protocol().unwrap();
            let several = carried == Some(Protocol::MPTCP);
            assert_eq!(several, protocol == StreamProtocol::Multipath);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_kernel_without_sctp_says_so_at_once() {
        let (_listener, address) = listener();
        let options = SocketOptions {
            protocol: StreamProtocol::Sctp,
            ..SocketOptions::default()
        };
        // With SCTP nobody listens for it.
        let error = TcpConn::connect(address, None, &options, Some(Duration::from_secs(5)))
            .expect_err("no SCTP server");
        let lacking = error.operation == Operation::Open;
        assert_eq!(
            lacking,
            error.source.raw_os_error() == Some(libc::EPROTONOSUPPORT)
        );
    }
}
