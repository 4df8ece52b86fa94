//! What servers say of a flow's datagrams.

use std::time::Duration;

use crate::{Program, Server};

/// What a server says of a flow's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramFigures {
    /// Never arrived.
    pub lost: u64,
    /// Sent, the end marker among them.
    pub total: u64,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// Reordered and duplicated, apart where the layout distinguishes them.
    pub late_or_twice: (u64, u64),
}

impl DatagramFigures {
    /// Waits for the total of a server's only flow, at most `timeout`.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn await_from(server: &mut Server, timeout: Duration) -> Self {
        if server.spec().program != Program::Tapeline {
            let theirs = server.await_output(timeout, |out| !out.totals().is_empty());
            let total = &theirs.totals()[0];
            let counts = total.datagrams.expect("datagram counts");
            return Self {
                lost: counts.lost,
                total: counts.total,
                bytes: total.bytes,
                late_or_twice: (theirs.out_of_order_total(), 0),
            };
        }
        let streams = server.await_streams(timeout, 1);
        let stream = streams.first().expect("a total");
        let count = |number: Option<u64>| number.unwrap_or_else(|| panic!("none in {stream:?}"));
        Self {
            lost: count(stream.lost),
            total: count(stream.datagrams) + count(stream.lost),
            bytes: count(stream.received),
            late_or_twice: (count(stream.reordered), count(stream.duplicates)),
        }
    }
}
