//! Sockets that the process was started with.

use std::io;

use socket2::{Socket, Type};

use crate::address;
use crate::error::reason;
use crate::platform::service as system;
use crate::tcp::TcpListener;
use crate::udp::UdpSocket;

/// Bound sockets that a service manager has opened for this process and handed over, as systemd's
/// socket units do (`sd_listen_fds(3)`).
#[derive(Debug, Default)]
pub struct InheritedSockets {
    /// Those that listen.
    pub tcp: Vec<TcpListener>,
    /// Those for datagrams.
    pub udp: Vec<UdpSocket>,
}

impl InheritedSockets {
    /// Takes the sockets that `LISTEN_PID` and `LISTEN_FDS` announce, from descriptor 3 on. There
    /// are none when the variables are not set, when they mean another process, and when this has
    /// been called before.
    ///
    /// # Errors
    /// A descriptor that was announced is not open, or is neither a listening TCP socket nor a UDP
    /// socket of IPv4 or IPv6.
    pub fn take() -> io::Result<Self> {
        let mut taken = Self::default();
        for (number, socket) in system::take()? {
            taken.add(socket).map_err(|error| {
                let reason = reason(&error);
                io::Error::new(error.kind(), format!("descriptor {number}: {reason}"))
            })?;
        }
        Ok(taken)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tcp.is_empty() && self.udp.is_empty()
    }

    fn add(&mut self, socket: Socket) -> io::Result<()> {
        let kind = socket.r#type()?;
        // Local ones have no such address.
        address::to_ip(&socket.local_addr()?)?;
        match kind {
            Type::STREAM => self.tcp.push(TcpListener::inherited(socket)?),
            Type::DGRAM => self.udp.push(UdpSocket::inherited(socket)?),
            _ => return Err(io::Error::other("neither a TCP nor a UDP socket")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use socket2::Domain;

    use super::*;
    use crate::options::SocketOptions;
    use crate::poller::Wait;
    use crate::tcp::TcpConn;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    fn bound(kind: Type) -> Socket {
        let socket = Socket::new(Domain::IPV4, kind, None).expect("a socket");
        socket.bind(&ANY.into()).expect("bound");
        socket
    }

    #[test]
    fn sockets_are_used_as_what_they_are() {
        let listener = bound(Type::STREAM);
        listener.listen(1).expect("it listens");
        let mut sockets = InheritedSockets::default();
        sockets.add(listener).expect("a listener");
        sockets.add(bound(Type::DGRAM)).expect("a UDP socket");
        let (listener, socket) = (&sockets.tcp[0], &sockets.udp[0]);

        let address = listener.local_addr().expect("an address");
        let limit = Duration::from_secs(20);
        let options = SocketOptions::default();
        let client = TcpConn::connect(address, None, &options, Some(limit)).expect("connected");
        assert!(listener.wait_ready(Wait::AtMost(limit)).expect("poll"));
        assert!(listener.accept().expect("accepted").is_some());
        assert!(listener.accept().expect("it does not wait").is_none());
        drop(client);

        let address = socket.local_addr().expect("an address");
        let sender = UdpSocket::bind(ANY, &options).expect("a sender").socket;
        sender.send_to(b"datagram", address).expect("sent");
        socket.set_receive_timeout(Some(limit)).expect("a timeout");
        assert_eq!(socket.recv(&mut [0; 16]).expect("received"), 8);
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let mut sockets = InheritedSockets::default();
        let listener = std::net::TcpListener::bind(ANY).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let conn = std::net::TcpStream::connect(address).expect("connected");
        assert!(sockets.add(conn.into()).is_err(), "a connection");
        #[cfg(unix)]
        {
            let local = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
            assert!(sockets.add(local).is_err(), "a local socket");
        }
        assert!(sockets.is_empty());
    }
}
