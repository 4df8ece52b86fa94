//! What must hold for a server's limits whatever its clients do: places are counted and come back, keys
//! and answers have their rates.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tapeline_base::{BitRate, MonoTime};

use super::input::Events;
use crate::plan::Limits;
use crate::policy::{AmplificationLimit, Policy, Slot};

const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// Bits per second of answers to unverified sources.
const RATE: u64 = 100_000;
/// What leaves at once after a silence, bits.
const AT_ONCE: u64 = RATE / 10;
/// A test takes that much of its source's places, in parts that every number of its streams divides.
const WHOLE: u64 = 12;
/// Clients other than the one that is trusted.
const CLIENTS: u8 = 4;

fn limits() -> Limits {
    Limits {
        tests: 3,
        tests_of_source: 2,
        streams_of_test: 4,
        streams: 9,
        keys_of_source: 2,
        keys: 5,
        unverified_rate: BitRate(RATE),
        ..Limits::default()
    }
}

/// A place that a client has: its source, parts of tests, and streams.
struct Taken {
    client: u8,
    tests: u64,
    streams: u64,
    _slot: Slot,
}

/// Clients of a server, the first of which is trusted. Of an event the first byte says how much later it is,
/// the second who does what; the piece says how much.
pub(crate) fn clients(input: &[u8]) {
    let policy = Policy::new(limits());
    let mut now = START;
    let mut taken: Vec<Taken> = Vec::new();
    let mut keys: HashMap<u8, u64> = HashMap::new();
    let mut out = 0;
    let mut limits_of = [(AmplificationLimit::default(), 0, 0); 1 + CLIENTS as usize];
    for ([gap, what], piece) in Events::<2>::new(input) {
        now += Duration::from_millis(u64::from(gap) * u64::from(gap) / 16);
        let client = what >> 3 & 7;
        let client = client % (1 + CLIENTS);
        let byte = |at: usize| piece.get(at).copied().unwrap_or(1);
        let elapsed = now.since(START);
        match what & 7 {
            0 | 1 => sit(&policy, &mut taken, client, byte(0), byte(1)),
            2 if !taken.is_empty() => {
                taken.swap_remove(usize::from(byte(0)) % taken.len());
            }
            3 if policy.accepts_keys(address(client), now) => {
                policy.key_failed(address(client), now);
                *keys.entry(client).or_default() += 1;
                // A second begins with its first failure.
                let seconds = elapsed.as_secs() + 1;
                assert!(keys[&client] <= 2 * seconds && keys.values().sum::<u64>() <= 5 * seconds);
            }
            4 => {
                let bytes = usize::from(byte(0));
                if policy.permits_unverified(bytes, now) {
                    out += 8 * bytes as u128;
                }
                let max = elapsed.as_nanos() * u128::from(RATE) / 1_000_000_000;
                assert!(
                    out <= max + u128::from(AT_ONCE),
                    "{out} bits in {elapsed:?}"
                );
            }
            5 => {
                let (amplification, came, went) = &mut limits_of[usize::from(client)];
                *came += u64::from(byte(0));
                amplification.earn(u64::from(byte(0)));
                let answer = usize::from(byte(1)) * 8;
                if amplification.spend(answer) {
                    *went += answer as u64;
                }
                assert!(*went <= 3 * *came, "{went} for {came}");
            }
            6 => share(&policy, client, byte(0), byte(1)),
            _ => {}
        }
    }
    drop(taken);
    // All places are there again.
    let all: Vec<_> = (1..=3)
        .map(|client| policy.admit(address(client), 1))
        .collect();
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert!(policy.admit(address(4), 1).is_err());
}

/// Streams begin exactly where they fit; those of who is trusted always do.
fn sit(policy: &Policy, taken: &mut Vec<Taken>, client: u8, announced: u8, count: u8) {
    let (announced, count) = (u32::from(announced % 6), u32::from(count % 6));
    let streams = u64::from(count.max(1));
    let tests = WHOLE * streams / u64::from(announced.max(1));
    let sum = |parts: &dyn Fn(&Taken) -> u64| taken.iter().map(parts).sum::<u64>();
    let own = sum(&|one| u64::from(one.client == client) * one.tests);
    let fits = announced <= 4
        && own + tests <= 2 * WHOLE
        && sum(&|one| one.tests) + tests <= 3 * WHOLE
        && sum(&|one| one.streams) + streams <= 9;
    match policy.admit_many(address(client), announced, count) {
        Ok(None) => assert_eq!(client, 0),
        Ok(Some(slot)) => {
            assert!(fits);
            taken.push(Taken {
                client,
                tests,
                streams,
                _slot: slot,
            });
        }
        Err(refusal) => assert!(!fits && client != 0, "{refusal}"),
    }
}

/// The streams of a test have together no more than the test.
fn share(policy: &Policy, client: u8, streams: u8, length: u8) {
    let grant = policy.grant(address(client));
    let share = grant.share(u32::from(streams));
    let streams = u64::from(streams.max(1));
    let within = |share: u64, whole: u64| share <= 1 || share * streams <= whole;
    let pairs = [
        share.bytes.zip(grant.bytes),
        share
            .rate
            .zip(grant.rate)
            .map(|(share, whole)| (share.0, whole.0)),
    ];
    assert!(pairs.into_iter().flatten().all(|(a, b)| within(a, b)));
    let length = u32::from(length) << 12;
    assert!(share.block(length) <= length);
}

/// Of a client; the first one's is trusted.
fn address(client: u8) -> IpAddr {
    match client {
        0 => Ipv4Addr::LOCALHOST.into(),
        client => Ipv4Addr::new(192, 0, 2, client).into(),
    }
}
