//! A test that runs: a server at one host, a client at another.

use std::time::Instant;

use tapeline_mesh::{HostId, Pair, TestId};
use tapeline_report::matrix::Cell;

/// One side of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It waits for the other side.
    Waits,
    /// It was ordered, with this number.
    Ordered(u64),
    /// Nothing more comes of it.
    Over,
}

/// A test that runs.
#[derive(Debug)]
pub(crate) struct RunningTest {
    pub(crate) test: TestId,
    pub(crate) pair: Pair,
    /// Where the server is tested.
    pub(crate) address: String,
    /// The server's port, once it listens.
    pub(crate) port: Option<u16>,
    pub(crate) server: Side,
    pub(crate) client: Side,
    /// When it is stopped, or given up if it was stopped.
    pub(crate) until: Instant,
    pub(crate) is_stopped: bool,
    /// One of its hosts has gone.
    pub(crate) is_abandoned: bool,
    /// What came of it, once that is known.
    pub(crate) cells: Option<Vec<Cell>>,
}

impl RunningTest {
    /// Whether a host's reply to an order is about it.
    pub(crate) fn is_about(&self, host: HostId, order: u64) -> bool {
        let order = Side::Ordered(order);
        (host == self.pair.to && self.server == order)
            || (host == self.pair.from && self.client == order)
    }

    /// Nothing more comes of it.
    pub(crate) fn is_over(&self) -> bool {
        self.server == Side::Over && self.client == Side::Over
    }

    /// The orders that can be stopped, and where.
    pub(crate) fn orders(&self) -> impl Iterator<Item = (HostId, u64)> {
        let sides = [(self.pair.from, self.client), (self.pair.to, self.server)];
        sides.into_iter().filter_map(|(host, side)| match side {
            Side::Ordered(order) => Some((host, order)),
            Side::Waits | Side::Over => None,
        })
    }

    /// The side of a host is over; of a client that waits for a server that does not come, too.
    pub(crate) fn end(&mut self, host: HostId) {
        if host == self.pair.from {
            self.client = Side::Over;
        }
        if host == self.pair.to {
            self.server = Side::Over;
            if self.client == Side::Waits {
                self.client = Side::Over;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_over_when_both_of_its_sides_are() {
        let (from, to) = (HostId(0), HostId(1));
        let mut test = RunningTest {
            test: TestId(0),
            pair: Pair { from, to },
            address: String::new(),
            port: None,
            server: Side::Ordered(4),
            client: Side::Waits,
            until: Instant::now(),
            is_stopped: false,
            is_abandoned: false,
            cells: None,
        };
        assert!(test.is_about(to, 4) && !test.is_about(from, 4) && !test.is_about(to, 5));
        test.client = Side::Ordered(4);
        assert!(test.is_about(from, 4));
        assert_eq!(test.orders().collect::<Vec<_>>(), [(from, 4), (to, 4)]);
        test.end(from);
        assert!(!test.is_over());
        test.end(to);
        assert!(test.is_over() && test.orders().next().is_none());
        test.client = Side::Waits;
        test.end(to);
        assert!(test.is_over(), "without a server no client starts");
    }
}
