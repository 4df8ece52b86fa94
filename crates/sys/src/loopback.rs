//! Sockets on the loopback interface, for tests.

use std::net::SocketAddr;
use std::time::Duration;

use crate::options::SocketOptions;
use crate::poller::Wait;
use crate::tcp::{TcpConn, TcpListener};
use crate::udp::UdpSocket;

/// After so long a test has failed rather than waited.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let opened = TcpListener::bind(any_port(), &SocketOptions::default(), 16).unwrap();
    let address = opened.socket.local_addr().unwrap();
    (opened.socket, address)
}

pub(crate) fn connect(peer: SocketAddr) -> TcpConn {
    TcpConn::connect(peer, None, &SocketOptions::default(), None)
        .unwrap()
        .conn
}

/// A client connection and the server's end of it.
pub(crate) fn tcp_pair() -> (TcpConn, TcpConn) {
    let (listener, address) = listener();
    let client = connect(address);
    assert!(listener.wait_ready(Wait::Forever).unwrap());
    let (server, peer) = listener.accept().unwrap().expect("a connection is waiting");
    assert_eq!(peer, client.local_addr().unwrap());
    (client, server)
}

/// A connected sender and the receiver that it sends to.
pub(crate) fn udp_pair() -> (UdpSocket, UdpSocket) {
    let receiver = UdpSocket::bind(any_port(), &SocketOptions::default())
        .unwrap()
        .socket;
    receiver.set_receive_timeout(Some(TIMEOUT)).unwrap();
    let peer = receiver.local_addr().unwrap();
    let sender = UdpSocket::connected(peer, None, &SocketOptions::default())
        .unwrap()
        .socket;
    (sender, receiver)
}
