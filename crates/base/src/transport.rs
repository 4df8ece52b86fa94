//! The small sum types that name a test.

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
