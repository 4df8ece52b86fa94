//! What names a test and its flows.

use std::fmt;

/// A flow's number within one process, from 1 in the order of its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One direction of a flow, as rows name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowTag {
    /// The flow.
    pub id: FlowId,
    /// Data flow against the connection (the server sends to the client that
    /// connected, or the connection itself was opened by a server's order).
    pub reversed: bool,
}

/// Transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Transmission Control Protocol.
    Tcp,
    /// User Datagram Protocol.
    Udp,
}

/// Address family asked for by the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Family {
    /// Whatever the name resolves to, or the socket permits.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 (a listening socket also takes IPv4).
    V6,
}

/// Which end of the agreement this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The end that orders the test.
    Client,
    /// The end that waits for orders.
    Server,
}

/// What this end does with a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// This end sends.
    Send,
    /// This end receives.
    Receive,
}
