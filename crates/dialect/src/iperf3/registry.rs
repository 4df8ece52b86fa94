//! Which tests wait for which connections.
//!
//! All connections of all tests arrive at the same port. A TCP data connection names its test
//! by the cookie; a UDP stream says nothing, so that one UDP test at a time may wait for
//! streams from an address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tapeline_base::{MonoTime, MutexExt, Transport};
use tapeline_sys::Waker;
use tapeline_wire::iperf3::Cookie;

use super::streams::Link;
use crate::policy::displaced;

/// The tests of a server.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    tests: Mutex<HashMap<Cookie, Arc<Expected>>>,
    /// Addresses from which a UDP test's streams are awaited, and who is woken when they are
    /// there: tests that would await theirs from the same address.
    udp_turns: Mutex<HashMap<IpAddr, Vec<Arc<Waker>>>>,
    /// Control connections so far.
    entered: AtomicU64,
}

/// A test, as far as connections are concerned.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) cookie: Cookie,
    pub(crate) client: IpAddr,
    /// It is one of the tests that may run at the same time.
    admitted: AtomicBool,
    /// Its place was needed.
    given_up: AtomicBool,
    /// Counted up in the order of arrival.
    number: u64,
    arrivals: Mutex<Arrivals>,
    waker: Arc<Waker>,
}

#[derive(Debug, Default)]
struct Arrivals {
    /// What streams are awaited, and how many.
    awaited: Option<(Transport, usize)>,
    /// When each came, and itself.
    links: Vec<(MonoTime, Link)>,
}

/// What became of a connection.
#[derive(Debug)]
pub(crate) enum Claim {
    /// A test has it.
    Taken,
    /// Its test does not want it.
    Unwanted,
    /// No test has this cookie.
    Unknown,
}

impl Expected {
    /// Whether its place has gone to another client, before it said what it wants.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock_unpoisoned()
    }

    /// From now on `count` streams are taken.
    pub(crate) fn await_streams(&self, transport: Transport, count: usize) {
        self.arrivals().awaited = Some((transport, count));
    }

    /// The streams in the order in which the client opened them, once all are there: which of
    /// them it sends on is decided by that order. Their cookies may arrive in another one.
    pub(crate) fn take_complete(&self) -> Option<Vec<Link>> {
        let mut arrivals = self.arrivals();
        let (_, count) = arrivals.awaited?;
        if arrivals.links.len() < count {
            return None;
        }
        arrivals.awaited = None;
        let mut links = std::mem::take(&mut arrivals.links);
        links.sort_by_key(|(came, _)| *came);
        Some(links.into_iter().map(|(_, link)| link).collect())
    }

    /// Whether a stream of this transport is awaited.
    fn wants(&self, transport: Transport) -> bool {
        let arrivals = self.arrivals();
        let wanted = |(kind, count)| kind == transport && arrivals.links.len() < count;
        arrivals.awaited.is_some_and(wanted)
    }

    /// Takes a stream that came at this time, if it is awaited.
    fn offer(&self, transport: Transport, came: MonoTime, link: Link) -> bool {
        if !self.wants(transport) {
            return false;
        }
        self.arrivals().links.push((came, link));
        self.waker.wake();
        true
    }
}

impl Registry {
    fn tests(&self) -> MutexGuard<'_, HashMap<Cookie, Arc<Expected>>> {
        self.tests.lock_unpoisoned()
    }

    /// Enters a control connection; `None` when another one has the same cookie. Where there are
    /// `max` already, the oldest one without a test, of the address that has most of them, gives way;
    /// `None` when all have tests.
    pub(crate) fn enter(
        &self,
        cookie: Cookie,
        client: IpAddr,
        waker: Arc<Waker>,
        max: usize,
    ) -> Option<Arc<Expected>> {
        let mut tests = self.tests();
        if tests.contains_key(&cookie) {
            return None;
        }
        if tests.len() >= max {
            give_way(&mut tests)?;
        }
        let expected = Arc::new(Expected {
            cookie,
            client,
            admitted: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            number: self.entered.fetch_add(1, Ordering::Relaxed),
            arrivals: Mutex::default(),
            waker,
        });
        tests.insert(cookie, Arc::clone(&expected));
        Some(expected)
    }

    /// Whether `max` tests run.
    pub(crate) fn is_full(&self, max: usize) -> bool {
        running(&self.tests()) >= max
    }

    /// Lets a test run, unless `max` do or its place has gone to another one.
    pub(crate) fn admit(&self, expected: &Expected, max: usize) -> bool {
        let tests = self.tests();
        let room = running(&tests) < max && !expected.is_given_up();
        if room {
            expected.admitted.store(true, Ordering::Relaxed);
        }
        room
    }

    /// Forgets a test.
    pub(crate) fn leave(&self, expected: &Arc<Expected>) {
        let mut tests = self.tests();
        let entered = tests.get(&expected.cookie);
        if entered.is_some_and(|entered| Arc::ptr_eq(entered, expected)) {
            tests.remove(&expected.cookie);
        }
    }

    /// Whether no test runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.tests().is_empty()
    }

    /// Whether a test has this cookie.
    pub(crate) fn knows(&self, cookie: &Cookie) -> bool {
        self.tests().contains_key(cookie)
    }

    /// Hands a TCP connection, accepted at this time, to the test of its cookie.
    pub(crate) fn claim_tcp(&self, cookie: &Cookie, accepted: MonoTime, link: Link) -> Claim {
        let found = self.tests().get(cookie).cloned();
        match found {
            None => Claim::Unknown,
            Some(test) if test.offer(Transport::Tcp, accepted, link) => Claim::Taken,
            Some(_) => Claim::Unwanted,
        }
    }

    /// The test that awaits a UDP stream from this address.
    pub(crate) fn udp_test(&self, client: IpAddr) -> Option<Arc<Expected>> {
        let tests = self.tests();
        let mut waiting = tests.values();
        waiting
            .find(|test| test.client == client && test.wants(Transport::Udp))
            .cloned()
    }

    /// Hands a UDP stream to a test.
    pub(crate) fn give_udp(&self, test: &Expected, came: MonoTime, link: Link) -> bool {
        test.offer(Transport::Udp, came, link)
    }

    /// The right to await UDP streams from this address; `None` while another test has it, whose
    /// end wakes `waker`.
    pub(crate) fn udp_turn(
        self: &Arc<Self>,
        client: IpAddr,
        waker: &Arc<Waker>,
    ) -> Option<UdpTurn> {
        let mut turns = self.udp_turns();
        if let Some(waiting) = turns.get_mut(&client) {
            if !waiting.iter().any(|known| Arc::ptr_eq(known, waker)) {
                waiting.push(Arc::clone(waker));
            }
            return None;
        }
        turns.insert(client, Vec::new());
        Some(UdpTurn {
            registry: Arc::clone(self),
            client,
        })
    }

    fn udp_turns(&self) -> MutexGuard<'_, HashMap<IpAddr, Vec<Arc<Waker>>>> {
        self.udp_turns.lock_unpoisoned()
    }
}

/// Gives up a control connection without a test.
fn give_way(tests: &mut HashMap<Cookie, Arc<Expected>>) -> Option<()> {
    let idle = |test: &&Arc<Expected>| !test.admitted.load(Ordering::Relaxed);
    let mut idle: Vec<_> = tests.values().filter(idle).cloned().collect();
    idle.sort_by_key(|test| test.number);
    let places = idle.iter().map(|test| (test, test.client.into()));
    let given_up = displaced(places)?;
    given_up.given_up.store(true, Ordering::Relaxed);
    given_up.waker.wake();
    tests.remove(&given_up.cookie);
    Some(())
}

fn running(tests: &HashMap<Cookie, Arc<Expected>>) -> usize {
    let admitted = |test: &&Arc<Expected>| test.admitted.load(Ordering::Relaxed);
    tests.values().filter(admitted).count()
}

/// The right to await UDP streams from an address; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct UdpTurn {
    registry: Arc<Registry>,
    client: IpAddr,
}

impl Drop for UdpTurn {
    fn drop(&mut self) {
        let waiting = self.registry.udp_turns().remove(&self.client);
        for waker in waiting.into_iter().flatten() {
            waker.wake();
        }
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
        let claim = registry.claim_tcp(&cookie(1), MonoTime::ZERO, link());
        assert!(matches!(claim, Claim::Unwanted), "not awaited yet");
        test.await_streams(Transport::Tcp, 2);
        assert!(matches!(
            registry.claim_tcp(&cookie(1), MonoTime::ZERO, link()),
            Claim::Taken
        ));
        assert!(test.take_complete().is_none());
        assert!(matches!(
            registry.claim_tcp(&cookie(1), MonoTime::ZERO, link()),
            Claim::Taken
        ));
        assert!(matches!(
            registry.claim_tcp(&cookie(1), MonoTime::ZERO, link()),
            Claim::Unwanted
        ));
        assert_eq!(test.take_complete().map(|links| links.len()), Some(2));
        assert!(matches!(
            registry.claim_tcp(&cookie(2), MonoTime::ZERO, link()),
            Claim::Unknown
        ));
    }

    #[test]
    fn a_crowd_of_silent_clients_gives_way() {
        let registry = Registry::default();
        let enter = |number, client: [u8; 4]| {
            let waker = Arc::new(Waker::new().expect("a waker"));
            registry.enter(cookie(number), client.into(), waker, 4)
        };
        let tests: Vec<_> = [(1, 1), (2, 2), (3, 3), (4, 3)]
            .into_iter()
            .map(|(number, last)| enter(number, [192, 0, 2, last]).expect("room"))
            .collect();
        assert!(enter(4, [192, 0, 2, 4]).is_none(), "the cookie is known");
        assert!(registry.admit(&tests[0], 4));
        let given_up = || tests.iter().map(|test| test.is_given_up());
        // Of two clients of an address the first one, then the oldest without a test.
        enter(5, [192, 0, 2, 4]).expect("room");
        assert!(given_up().eq([false, false, true, false]));
        assert!(!registry.admit(&tests[2], 4));
        let sixth = enter(6, [192, 0, 2, 5]).expect("room");
        assert!(given_up().eq([false, true, true, false]));
        assert!(registry.knows(&cookie(1)) && !registry.knows(&cookie(2)));
        registry.leave(&tests[1]);
        assert!(registry.admit(&sixth, 4));
        let whole = |test: &&Arc<Expected>| !test.is_given_up() && registry.admit(test, 4);
        assert_eq!(tests.iter().filter(whole).count(), 2);
    }

    #[test]
    fn streams_are_in_the_order_of_their_connections() {
        let registry = Registry::default();
        let test = enter(&registry, 1).expect("room");
        test.await_streams(Transport::Tcp, 3);
        let links = [link(), link(), link()];
        let name = |link: &Link| format!("{link:?}");
        let names: Vec<_> = links.iter().map(name).collect();
        let mut came: Vec<_> = (1..).map(MonoTime::from_nanos).zip(links).collect();
        // The first one's cookie was read last.
        came.rotate_left(1);
        for (accepted, link) in came {
            let claim = registry.claim_tcp(&cookie(1), accepted, link);
            assert!(matches!(claim, Claim::Taken));
        }
        let taken = test.take_complete().expect("all");
        assert_eq!(taken.iter().map(name).collect::<Vec<_>>(), names);
    }

    #[test]
    fn tests_are_limited_and_cookies_are_unique() {
        let registry = Registry::default();
        let first = enter(&registry, 1).expect("room");
        assert!(enter(&registry, 1).is_none());
        let second = enter(&registry, 2).expect("room");
        assert!(registry.admit(&first, 2) && registry.admit(&second, 2));
        assert!(enter(&registry, 3).is_none());
        registry.leave(&first);
        assert!(enter(&registry, 3).is_some());
    }

    #[test]
    fn connections_that_ask_for_nothing_take_no_test_s_place() {
        let registry = Registry::default();
        let silent = enter(&registry, 1).expect("room");
        let test = enter(&registry, 2).expect("room");
        assert!(!registry.is_full(1));
        assert!(registry.admit(&test, 1));
        assert!(registry.is_full(1));
        assert!(!registry.admit(&silent, 1));
        registry.leave(&test);
        assert!(registry.admit(&silent, 1));
    }

    #[test]
    fn who_leaves_twice_takes_nobody_along() {
        let registry = Registry::default();
        let first = enter(&registry, 1).expect("room");
        registry.leave(&first);
        let _second = enter(&registry, 1).expect("room");
        registry.leave(&first);
        assert!(registry.knows(&cookie(1)));
    }

    #[test]
    fn one_udp_test_at_a_time_awaits_streams_from_an_address() {
        let registry = Arc::new(Registry::default());
        let waker = Arc::new(Waker::new().expect("a waker"));
        let turn = registry.udp_turn(CLIENT, &waker).expect("free");
        assert!(registry.udp_turn(CLIENT, &waker).is_none());
        let other = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        assert!(registry.udp_turn(other, &waker).is_some());
        drop(turn);
        let woken = waker.wait(tapeline_sys::Wait::Never).expect("poll");
        assert!(woken, "who waits learns of it");
        assert!(registry.udp_turn(CLIENT, &waker).is_some());
    }
}
