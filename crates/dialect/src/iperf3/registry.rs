//! Which tests wait for which connections.
//!
//! All connections of all tests arrive at the same port. A TCP data connection names its test
//! by the cookie; a UDP stream says nothing, so that one UDP test at a time may wait for
//! streams from an address.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tapeline_base::Transport;
use tapeline_sys::Waker;
use tapeline_wire::iperf3::Cookie;

use super::streams::Link;

/// The tests of a server.
#[derive(Debug, Default)]
pub(super) struct Registry {
    tests: Mutex<HashMap<Cookie, Arc<Expected>>>,
    /// Addresses from which a UDP test's streams are awaited.
    udp_turns: Mutex<HashSet<IpAddr>>,
    turn_ended: Condvar,
}

/// A test, as far as connections are concerned.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) cookie: Cookie,
    pub(super) client: IpAddr,
    arrivals: Mutex<Arrivals>,
    waker: Arc<Waker>,
}

#[derive(Debug, Default)]
struct Arrivals {
    /// What streams are awaited, and how many.
    awaited: Option<(Transport, usize)>,
    links: Vec<Link>,
}

/// What became of a connection.
#[derive(Debug)]
pub(super) enum Claim {
    /// A test has it.
    Taken,
    /// Its test does not want it.
    Unwanted,
    /// No test has this cookie.
    Unknown(Link),
}

impl Expected {
    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on `count` streams are taken.
    pub(super) fn await_streams(&self, transport: Transport, count: usize) {
        self.arrivals().awaited = Some((transport, count));
    }

    /// The streams, once all are there.
    pub(super) fn take_complete(&self) -> Option<Vec<Link>> {
        let mut arrivals = self.arrivals();
        let (_, count) = arrivals.awaited?;
        if arrivals.links.len() < count {
            return None;
        }
        arrivals.awaited = None;
        Some(std::mem::take(&mut arrivals.links))
    }

    /// Whether a stream of this transport is awaited.
    fn wants(&self, transport: Transport) -> bool {
        let arrivals = self.arrivals();
        let wanted = |(kind, count)| kind == transport && arrivals.links.len() < count;
        arrivals.awaited.is_some_and(wanted)
    }

    /// Takes a stream if it is awaited.
    fn offer(&self, transport: Transport, link: Link) -> bool {
        if !self.wants(transport) {
            return false;
        }
        self.arrivals().links.push(link);
        self.waker.wake();
        true
    }
}

impl Registry {
    fn tests(&self) -> MutexGuard<'_, HashMap<Cookie, Arc<Expected>>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a test; `None` when another one has the same cookie, or `most` run already.
    pub(super) fn enter(
        &self,
        cookie: Cookie,
        client: IpAddr,
        waker: Arc<Waker>,
        most: usize,
    ) -> Option<Arc<Expected>> {
        let mut tests = self.tests();
        if tests.len() >= most || tests.contains_key(&cookie) {
            return None;
        }
        let expected = Arc::new(Expected {
            cookie,
            client,
            arrivals: Mutex::default(),
            waker,
        });
        tests.insert(cookie, Arc::clone(&expected));
        Some(expected)
    }

    /// Forgets a test.
    pub(super) fn leave(&self, expected: &Expected) {
        self.tests().remove(&expected.cookie);
    }

    /// Whether a test has this cookie.
    pub(super) fn knows(&self, cookie: &Cookie) -> bool {
        self.tests().contains_key(cookie)
    }

    /// Hands a TCP connection to the test of its cookie.
    pub(super) fn claim_tcp(&self, cookie: &Cookie, link: Link) -> Claim {
        let found = self.tests().get(cookie).cloned();
        match found {
            None => Claim::Unknown(link),
            Some(test) if test.offer(Transport::Tcp, link) => Claim::Taken,
            Some(_) => Claim::Unwanted,
        }
    }

    /// The test that awaits a UDP stream from this address.
    pub(super) fn udp_test(&self, client: IpAddr) -> Option<Arc<Expected>> {
        let tests = self.tests();
        let mut waiting = tests.values();
        waiting
            .find(|test| test.client == client && test.wants(Transport::Udp))
            .cloned()
    }

    /// Hands a UDP stream to a test.
    pub(super) fn give_udp(&self, test: &Expected, link: Link) -> bool {
        test.offer(Transport::Udp, link)
    }

    /// Waits until no other test awaits UDP streams from this address; `None` when that takes
    /// longer than `limit`.
    pub(super) fn udp_turn(self: &Arc<Self>, client: IpAddr, limit: Duration) -> Option<UdpTurn> {
        let turns = self
            .udp_turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let busy = |turns: &mut HashSet<IpAddr>| turns.contains(&client);
        let (mut turns, waited) = self
            .turn_ended
            .wait_timeout_while(turns, limit, busy)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        turns.insert(client);
        Some(UdpTurn {
            registry: Arc::clone(self),
            client,
        })
    }
}

/// The right to await UDP streams from an address; ends when it is dropped.
#[derive(Debug)]
pub(super) struct UdpTurn {
    registry: Arc<Registry>,
    client: IpAddr,
}

impl Drop for UdpTurn {
    fn drop(&mut self) {
        let turns = self.registry.udp_turns.lock();
        turns
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.client);
        self.registry.turn_ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tapeline_sys::{SocketOptions, UdpSocket};

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn link() -> Link {
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        let opened = UdpSocket::bind(any, &SocketOptions::default()).expect("a socket");
        Link::Udp(Arc::new(opened.socket))
    }

    fn cookie(number: u8) -> Cookie {
        Cookie::from_random([number; 36])
    }

    fn enter(registry: &Registry, number: u8) -> Option<Arc<Expected>> {
        let waker = Arc::new(Waker::new().expect("a waker"));
        registry.enter(cookie(number), CLIENT, waker, 2)
    }

    #[test]
    fn a_test_takes_as_many_streams_as_it_awaits() {
        let registry = Registry::default();
        let test = enter(&registry, 1).expect("room");
        let claim = registry.claim_tcp(&cookie(1), link());
        assert!(matches!(claim, Claim::Unwanted), "not awaited yet");
        test.await_streams(Transport::Tcp, 2);
        assert!(matches!(
            registry.claim_tcp(&cookie(1), link()),
            Claim::Taken
        ));
        assert!(test.take_complete().is_none());
        assert!(matches!(
            registry.claim_tcp(&cookie(1), link()),
            Claim::Taken
        ));
        assert!(matches!(
            registry.claim_tcp(&cookie(1), link()),
            Claim::Unwanted
        ));
        assert_eq!(test.take_complete().map(|links| links.len()), Some(2));
        assert!(matches!(
            registry.claim_tcp(&cookie(2), link()),
            Claim::Unknown(_)
        ));
    }

    #[test]
    fn tests_are_limited_and_cookies_are_unique() {
        let registry = Registry::default();
        let first = enter(&registry, 1).expect("room");
        assert!(enter(&registry, 1).is_none());
        let _second = enter(&registry, 2).expect("room");
        assert!(enter(&registry, 3).is_none());
        registry.leave(&first);
        assert!(enter(&registry, 3).is_some());
    }

    #[test]
    fn one_udp_test_at_a_time_awaits_streams_from_an_address() {
        let registry = Arc::new(Registry::default());
        let turn = registry.udp_turn(CLIENT, Duration::ZERO).expect("free");
        assert!(registry.udp_turn(CLIENT, Duration::ZERO).is_none());
        let other = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        assert!(registry.udp_turn(other, Duration::ZERO).is_some());
        drop(turn);
        assert!(registry.udp_turn(CLIENT, Duration::ZERO).is_some());
    }
}
