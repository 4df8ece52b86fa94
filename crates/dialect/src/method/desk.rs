//! The orders that a server has taken: who has which key, and from which port it was shown.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::MonoTime;

use crate::policy::Source;

/// Orders that run at the same time, and those of one source.
pub(crate) const MAX_ORDERS: usize = 64;
pub(crate) const MAX_ORDERS_OF_SOURCE: usize = 16;
/// Time in which the client shows the key for the first time.
pub(crate) const OPENING: Duration = Duration::from_secs(5);

/// What names an order at this server.
pub(crate) type OrderNumber = u64;

/// An order that runs.
#[derive(Debug)]
struct KnownOrder {
    number: OrderNumber,
    client: IpAddr,
    /// The server's port, and what opens it; none without datagrams.
    door: Option<(u16, NonZeroU64)>,
    /// From where it was opened.
    opened: Option<SocketAddr>,
    /// Until when it may be.
    until: MonoTime,
}

/// What an open is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Nobody's, or from another port: it is not answered.
    Strange,
    /// The first one of this order.
    First(OrderNumber),
    /// One more, from the same port.
    Again(OrderNumber),
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    orders: Vec<KnownOrder>,
    last: OrderNumber,
}

impl Desk {
    /// Another order of a client begins; `door` is the server's port for its datagrams, and what is to open
    /// it.
    ///
    /// # Errors
    /// The sentence that says why it does not.
    pub(crate) fn enter(
        &mut self,
        client: IpAddr,
        door: Option<(u16, NonZeroU64)>,
        now: MonoTime,
    ) -> Result<OrderNumber, String> {
        let source = Source::from(client);
        let own = |order: &&KnownOrder| Source::from(order.client) == source;
        let own = self.orders.iter().filter(own).count();
        if self.orders.len() >= MAX_ORDERS {
            return Err(format!("{MAX_ORDERS} orders run, which is the limit"));
        }
        if own >= MAX_ORDERS_OF_SOURCE {
            let words = format!("{own} orders of its address run, which is the limit");
            return Err(words);
        }
        self.last += 1;
        self.orders.push(KnownOrder {
            number: self.last,
            client,
            door,
            opened: None,
            until: now + OPENING,
        });
        Ok(self.last)
    }

    /// A key was shown from there to a port of the server.
    pub(crate) fn open(
        &mut self,
        source: SocketAddr,
        port: u16,
        key: NonZeroU64,
        now: MonoTime,
    ) -> Opening {
        let its = |order: &&mut KnownOrder| {
            order.client == source.ip() && order.door == Some((port, key))
        };
        let Some(order) = self.orders.iter_mut().find(its) else {
            return Opening::Strange;
        };
        match order.opened {
            None if now < order.until => {
                order.opened = Some(source);
                Opening::First(order.number)
            }
            Some(opened) if opened == source => Opening::Again(order.number),
            _ => Opening::Strange,
        }
    }

    /// An order has ended.
    pub(crate) fn leave(&mut self, number: OrderNumber) {
        self.orders.retain(|order| order.number != number);
    }

    /// How many run.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn len(&self) -> usize {
        self.orders.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: NonZeroU64 = NonZeroU64::new(7).unwrap();
    const OTHER: NonZeroU64 = NonZeroU64::new(8).unwrap();
    const PORT: u16 = 5001;

    fn at(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], port))
    }

    #[test]
    fn a_key_opens_for_one_port_of_its_client_and_in_time() {
        let mut desk = Desk::default();
        let now = MonoTime::ZERO;
        let number = desk.enter(at(1, 0).ip(), Some((PORT, KEY)), now);
        let number = number.expect("a place");
        let mut open = |source, port, key, now| desk.open(source, port, key, now);
        assert_eq!(open(at(1, 9), PORT, OTHER, now), Opening::Strange);
        assert_eq!(open(at(2, 9), PORT, KEY, now), Opening::Strange);
        assert_eq!(open(at(1, 9), PORT + 1, KEY, now), Opening::Strange);
        assert_eq!(open(at(1, 9), PORT, KEY, now + OPENING), Opening::Strange);
        assert_eq!(open(at(1, 9), PORT, KEY, now), Opening::First(number));
        assert_eq!(open(at(1, 8), PORT, KEY, now), Opening::Strange);
        let later = now + 2 * OPENING;
        assert_eq!(open(at(1, 9), PORT, KEY, later), Opening::Again(number));
        desk.leave(number);
        assert_eq!(desk.open(at(1, 9), PORT, KEY, now), Opening::Strange);
        let number = desk.enter(at(1, 0).ip(), None, now);
        assert!(number.is_ok());
        assert_eq!(desk.open(at(1, 9), 0, KEY, now), Opening::Strange);
    }

    #[test]
    fn a_crowd_has_no_more_places_than_there_are() {
        let mut desk = Desk::default();
        let mut enter = |last| desk.enter(at(last, 0).ip(), None, MonoTime::ZERO);
        let of_one = (0..100).filter(|_| enter(1).is_ok()).count();
        assert_eq!(of_one, MAX_ORDERS_OF_SOURCE);
        let of_all = (0..200).filter(|last| enter(*last).is_ok()).count();
        assert_eq!(of_all, MAX_ORDERS - MAX_ORDERS_OF_SOURCE);
        assert_eq!(desk.len(), MAX_ORDERS);
    }
}
