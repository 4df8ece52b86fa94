//! What a TCP socket would be like before it is connected.

use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tapeline_base::Tos;

use crate::error::{Operation, SocketError};
use crate::options::{self, OptionFailure, SocketOptions};
use crate::platform::options as system;

/// Properties of a fresh socket with the given options, for banners that are shown before
/// the first connection.
#[derive(Debug)]
pub struct TcpProbe {
    /// Send buffer, bytes, as the system counts it.
    pub send_buffer: u64,
    /// Receive buffer, bytes, as the system counts it.
    pub receive_buffer: u64,
    /// Maximum segment size, bytes.
    pub mss: Option<u32>,
    /// Congestion control in force.
    pub congestion: Option<String>,
    /// Type-of-service byte in force. Linux keeps the ECN bits of TCP for itself.
    pub tos: Option<Tos>,
    /// Options that the system refused.
    pub refused: Vec<OptionFailure>,
}

impl TcpProbe {
    /// Opens, asks, and closes again. Nothing is sent.
    ///
    /// # Errors
    /// [`SocketError`] of `Open`.
    pub fn of(peer: SocketAddr, options: &SocketOptions) -> Result<Self, SocketError> {
        let open = |error| SocketError::new(Operation::Open, peer, error);
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))
            .map_err(open)?;
        let refused = options.for_peer(peer).apply(&socket, peer.is_ipv6());
        Ok(Self {
            send_buffer: socket.send_buffer_size().map_err(open)? as u64,
            receive_buffer: socket.recv_buffer_size().map_err(open)? as u64,
            mss: system::mss(&socket),
            congestion: system::congestion(&socket),
            tos: options::tos(&socket, peer.is_ipv4()).ok(),
            refused,
        })
    }
}
