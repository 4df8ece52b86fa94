//! What must hold for a server's tests whatever connections arrive: each goes to the test that awaits it, and
//! no test gets more than it awaits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, LazyLock};

use tapeline_base::{MonoTime, Transport};
use tapeline_sys::{SocketOptions, UdpSocket, Waker};
use tapeline_wire::iperf3::Cookie;

use super::input::Events;
use crate::iperf3::registry::{Claim, Expected, Registry};
use crate::iperf3::streams::Link;

/// Most control connections.
const MAX: usize = 6;
/// Most tests that run.
const MAX_RUNNING: usize = 2;
/// A stream has a socket, which nobody uses here.
static SOCKET: LazyLock<Arc<UdpSocket>> = LazyLock::new(|| {
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let opened = UdpSocket::bind(any, &SocketOptions::default()).expect("a socket");
    Arc::new(opened.socket)
});
static WAKER: LazyLock<Arc<Waker>> = LazyLock::new(|| Arc::new(Waker::new().expect("a waker")));

/// What is known of a test.
struct Known {
    test: Arc<Expected>,
    awaits: Option<(Transport, usize)>,
    came: usize,
    runs: bool,
}

/// Connections of some clients. The first byte of an event says what happens, the second whose it is; the
/// piece says how many streams are awaited.
pub(crate) fn connections(input: &[u8]) {
    let registry = Arc::new(Registry::default());
    let mut known: HashMap<u8, Known> = HashMap::new();
    let mut turns = HashMap::new();
    for ([what, whose], piece) in Events::<2>::new(input) {
        let (number, client) = (whose & 15, address(whose & 3));
        let cookie = Cookie::from_random([number; 36]);
        let count = usize::from(piece.first().copied().unwrap_or(1) & 3);
        let now = MonoTime::from_nanos(u64::from(whose));
        match what & 7 {
            0 => {
                let idle = known.values().any(|one| !one.runs);
                let room = !known.contains_key(&number) && (known.len() < MAX || idle);
                let is_full = known.len() == MAX;
                let entered = registry.enter(cookie, client, Arc::clone(&WAKER), MAX);
                assert_eq!(entered.is_some(), room);
                if room && is_full {
                    give_way(&registry, &mut known);
                }
                known.extend(entered.map(|test| (number, Known::new(test))));
            }
            1 => {
                if let Some(one) = known.get_mut(&number) {
                    let transport = transport(what);
                    one.test.await_streams(transport, count);
                    one.awaits = Some((transport, count));
                }
            }
            2 => {
                let claim = registry.claim_tcp(&cookie, now, link());
                let wanted = known.get_mut(&number).map(|one| one.takes(Transport::Tcp));
                assert_eq!(matches!(claim, Claim::Unknown), wanted.is_none());
                assert_eq!(matches!(claim, Claim::Taken), wanted == Some(true));
            }
            3 => {
                let found = registry.udp_test(client);
                let mut its = known.values_mut().filter(|one| one.test.client == client);
                match found {
                    None => assert!(its.all(|one| !one.wants(Transport::Udp))),
                    Some(test) => {
                        let one = its.find(|one| Arc::ptr_eq(&one.test, &test));
                        assert!(one.is_some_and(|one| one.takes(Transport::Udp)));
                        assert!(registry.give_udp(&test, now, link()));
                    }
                }
            }
            4 => {
                if let Some(one) = known.get_mut(&number) {
                    let whole = one.awaits.is_some_and(|(_, count)| one.came >= count);
                    let links = one.test.take_complete();
                    assert_eq!(links.map(|links| links.len()), whole.then_some(one.came));
                    if whole {
                        (one.awaits, one.came) = (None, 0);
                    }
                }
            }
            5 => {
                if let Some(one) = known.remove(&number) {
                    registry.leave(&one.test);
                    registry.leave(&one.test);
                }
            }
            6 => {
                let running = known.values().filter(|one| one.runs).count();
                assert_eq!(registry.is_full(MAX_RUNNING), running >= MAX_RUNNING);
                if let Some(one) = known.get_mut(&number) {
                    let admitted = registry.admit(&one.test, MAX_RUNNING);
                    assert_eq!(admitted, running < MAX_RUNNING);
                    one.runs |= admitted;
                }
            }
            _ if what & 8 != 0 => drop(turns.remove(&client)),
            _ => {
                let turn = registry.udp_turn(client, &WAKER);
                assert_eq!(turn.is_none(), turns.contains_key(&client));
                turns.extend(turn.map(|turn| (client, turn)));
            }
        }
        assert_eq!(registry.knows(&cookie), known.contains_key(&number));
        assert_eq!(registry.is_empty(), known.is_empty());
    }
}

/// One connection without a test has given its place up, of the client that has most of them.
fn give_way(registry: &Registry, known: &mut HashMap<u8, Known>) {
    let idle = |client| {
        let its = known
            .values()
            .filter(|one| !one.runs && one.test.client == client);
        its.count()
    };
    let given_up: Vec<u8> = known
        .iter()
        .filter(|(_, one)| one.test.is_given_up())
        .map(|(number, _)| *number)
        .collect();
    let [number] = given_up[..] else {
        panic!("{given_up:?} have given way");
    };
    let one = &known[&number];
    assert!(
        !one.runs
            && known
                .values()
                .all(|other| idle(other.test.client) <= idle(one.test.client))
    );
    assert!(!registry.admit(&one.test, usize::MAX));
    registry.leave(&one.test);
    known.remove(&number);
}

impl Known {
    fn new(test: Arc<Expected>) -> Self {
        Self {
            test,
            awaits: None,
            came: 0,
            runs: false,
        }
    }

    fn wants(&self, transport: Transport) -> bool {
        self.awaits
            .is_some_and(|(kind, count)| kind == transport && self.came < count)
    }

    /// Whether it takes a stream; then it has come.
    fn takes(&mut self, transport: Transport) -> bool {
        let wanted = self.wants(transport);
        self.came += usize::from(wanted);
        wanted
    }
}

fn link() -> Link {
    Link::Udp(Arc::clone(&SOCKET))
}

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn transport(what: u8) -> Transport {
    if what & 8 == 0 {
        Transport::Tcp
    } else {
        Transport::Udp
    }
}
