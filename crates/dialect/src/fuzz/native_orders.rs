//! What must hold for a server's orders whatever its clients do: a key opens for one port of its client and in
//! time; nothing leaves to nobody, to a client that is silent, beyond what is granted, or faster.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{BitRate, Bytes, MonoTime};
use tapeline_wire::native::{LoadParameters, MethodDatagram, Order, OrderDirection};

use super::input::Events;
use crate::method::desk::{Desk, MAX_ORDERS, MAX_ORDERS_OF_SOURCE, OPENING, Opening, OrderNumber};
use crate::method::leash::{Leash, SILENCE};
use crate::method::terms::{Terms, terms};
use crate::plan::{AllowedMethods, Limits};

const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// The server's port.
const PORT: u16 = 5001;
/// What strangers are granted.
const RATE: u64 = 1_000_000;
const BYTES: u64 = 100_000;
const SECONDS: u64 = 20;
/// Packets that leave at once after a silence, bits.
const AT_ONCE: u64 = 65_535 * 8;

fn limits() -> Limits {
    Limits {
        longest: Duration::from_secs(SECONDS),
        bytes: Some(Bytes(BYTES)),
        method_udp_rate: BitRate(RATE),
        methods: AllowedMethods::parse("mtu,capacity").unwrap_or_default(),
        ..Limits::default()
    }
}

/// An order that was taken.
struct Taken {
    number: OrderNumber,
    client: IpAddr,
    key: NonZeroU64,
    began: MonoTime,
    terms: Terms,
    /// From where it was opened, and when; what it has sent: packets and payload, and when it heard last.
    opened: Option<Opened>,
}

struct Opened {
    source: SocketAddr,
    at: MonoTime,
    heard: MonoTime,
    bits: u128,
    bytes: u64,
    leash: Leash,
}

/// Clients of a server. Of an event the first byte says how much later it is, the second who does what; the
/// piece says the rest.
pub(crate) fn clients(input: &[u8]) {
    let limits = limits();
    let mut desk = Desk::default();
    let mut taken: Vec<Taken> = Vec::new();
    let mut now = START;
    let mut keys = 0_u64;
    for ([gap, what], piece) in Events::<2>::new(input) {
        now += Duration::from_millis(u64::from(gap) * u64::from(gap) / 16);
        let byte = |at: usize| piece.get(at).copied().unwrap_or(0);
        let client = IpAddr::from([192, 0, 2, what >> 4 & 3]);
        let which = usize::from(byte(0)) % taken.len().max(1);
        match what & 7 {
            0 | 1 => {
                keys += 1;
                let key = NonZeroU64::MIN.saturating_add(keys);
                taken.extend(enter(&mut desk, &limits, client, key, piece, now));
            }
            2 if !taken.is_empty() => {
                desk.leave(taken.swap_remove(which).number);
            }
            3 | 4 => {
                let key = taken.get(which).map(|order| order.key);
                let known = what & 8 == 0;
                let key = key.filter(|_| known).unwrap_or(NonZeroU64::MAX);
                let source = SocketAddr::new(client, 1 + u16::from(byte(1) & 3));
                let port = PORT + u16::from(byte(2) & 1);
                open(&mut desk, &mut taken, source, port, key, now);
            }
            5 => heard(taken.get_mut(which), usize::from(byte(1)), now),
            6 | 7 => {
                let payload = 32 + usize::from(byte(1)) * 16;
                spend(taken.get_mut(which), payload, 1 + byte(2) / 8, now);
            }
            _ => {}
        }
        assert!(desk.len() <= MAX_ORDERS && desk.len() == taken.len());
        let mut datagram = vec![what];
        datagram.extend(piece);
        if let Some(answer) = MethodDatagram::parse(&datagram).and_then(|head| head.answer()) {
            assert!(answer.encode().len() <= datagram.len());
        }
    }
}

fn enter(
    desk: &mut Desk,
    limits: &Limits,
    client: IpAddr,
    key: NonZeroU64,
    piece: &[u8],
    now: MonoTime,
) -> Option<Taken> {
    let byte = |at: usize| piece.get(at).copied().unwrap_or(0);
    let method = ["mtu", "capacity", "samples", "other"][usize::from(byte(0) & 3)];
    let order = Order {
        method: method.to_owned(),
        direction: if byte(1) & 1 == 0 {
            OrderDirection::Up
        } else {
            OrderDirection::Down
        },
        seconds: Duration::from_secs(u64::from(byte(2))),
        parameters: LoadParameters {
            bits_per_second: NonZeroU64::new(u64::from(byte(3)) * 100_000),
            bytes: NonZeroU64::new(u64::from(byte(4)) * 1000),
            ..LoadParameters::default()
        },
    };
    let terms = terms(&order, limits, client, None).ok()?;
    assert!(limits.methods.allow(method) && terms.time <= limits.longest);
    assert!(terms.bytes.is_some_and(|bytes| bytes.get() <= BYTES));
    if terms.task.sends() {
        let rate = terms.bits_per_second;
        assert!(rate.is_some_and(|rate| rate.get() <= RATE));
    }
    let number = desk.enter(client, Some((PORT, key)), now).ok()?;
    assert!(desk.len() <= MAX_ORDERS_OF_SOURCE * 4);
    Some(Taken {
        number,
        client,
        key,
        began: now,
        terms,
        opened: None,
    })
}

fn open(
    desk: &mut Desk,
    taken: &mut [Taken],
    source: SocketAddr,
    port: u16,
    key: NonZeroU64,
    now: MonoTime,
) {
    let opening = desk.open(source, port, key, now);
    let Some(order) = taken.iter_mut().find(|order| order.key == key) else {
        return assert_eq!(opening, Opening::Strange, "nobody has this key");
    };
    let right = order.client == source.ip() && port == PORT;
    match (&order.opened, opening) {
        (None, Opening::First(number)) => {
            assert!(right && number == order.number && now.since(order.began) < OPENING);
            order.opened = Some(Opened {
                source,
                at: now,
                heard: now,
                bits: 0,
                bytes: 0,
                leash: Leash::new(order.terms, now),
            });
        }
        (None, Opening::Strange) => assert!(!right || now.since(order.began) >= OPENING),
        (Some(opened), Opening::Again(number)) => {
            assert!(right && number == order.number && opened.source == source);
        }
        (Some(opened), Opening::Strange) => assert!(!right || opened.source != source),
        _ => panic!("{opening:?}"),
    }
}

fn heard(order: Option<&mut Taken>, payload: usize, now: MonoTime) {
    if let Some(opened) = order.and_then(|order| order.opened.as_mut()) {
        opened.heard = now;
        opened.leash.heard(payload, now);
    }
}

/// Sends as many packets as may leave now, at most `count`.
fn spend(order: Option<&mut Taken>, payload: usize, count: u8, now: MonoTime) {
    let Some(order) = order else {
        return;
    };
    let terms = order.terms;
    let Some(opened) = order.opened.as_mut() else {
        return;
    };
    for _ in 0..count {
        if !opened.leash.spend(payload, payload + 28, now) {
            continue;
        }
        opened.bytes += payload as u64;
        opened.bits += (payload as u128 + 28) * 8;
        assert!(now.since(opened.at) < terms.time, "beyond its time");
        if terms.task.sends() {
            assert!(now.since(opened.heard) < SILENCE, "to a silent client");
        }
    }
    let bytes = terms.bytes.map_or(u64::MAX, NonZeroU64::get);
    assert!(opened.bytes <= bytes, "more than granted");
    if let Some(rate) = terms.bits_per_second {
        let earned = now.since(opened.at).as_nanos() * u128::from(rate.get()) / 1_000_000_000;
        let most = earned + u128::from(AT_ONCE.max(rate.get() / 10));
        assert!(opened.bits <= most, "faster than granted");
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::SplitMix64;

    use super::*;

    #[test]
    fn clients_by_chance_get_no_more_than_is_granted() {
        for seed in 0..1000 {
            let mut random = SplitMix64::new(seed);
            let mut input = Vec::new();
            for _ in 0..200 {
                let length = 5;
                input.extend([random.below(30) as u8, random.below(64) as u8, length]);
                input.extend((0..length).map(|_| random.below(256) as u8));
            }
            clients(&input);
        }
    }
}
