//! How flows are named.

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
