//! What servers say of a flow's datagrams.

use std::time::Duration;

use crate::{Program, Server, parse_native};

/// What a server says of a flow's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramFigures {
    /// Never arrived.
    pub lost: u64,
    /// Sent, the end marker among them.
    pub total: u64,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// Reordered and duplicated, apart where the layout tells them apart.
    pub late_or_twice: (u64, u64),
}

impl DatagramFigures {
    /// Waits for the total of a server's only flow, at most `patience`.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn await_from(server: &mut Server, patience: Duration) -> Self {
        if server.spec().program != Program::Tapeline {
            let theirs = server.await_output(patience, |out| !out.totals().is_empty());
            let total = &theirs.totals()[0];
            let counts = total.datagrams.expect("datagram counts");
            return Self {
                lost: counts.lost,
                total: counts.total,
                bytes: total.bytes,
                late_or_twice: (theirs.out_of_order_total(), 0),
            };
        }
        let total = |out: &str| parse_native(out).into_iter().find(|row| row.total);
        server
            .process()
            .wait_for(patience, |out| total(out).is_some());
        let row = total(&server.process().stdout()).expect("a total");
        let count = |column| {
            row.count(column)
                .unwrap_or_else(|| panic!("no {column} in {row:?}"))
        };
        Self {
            lost: count("lost"),
            total: count("received") + count("lost"),
            bytes: count("B"),
            late_or_twice: (count("reordered"), count("dup")),
        }
    }
}
