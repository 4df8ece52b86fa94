//! What must hold for a server's tests whatever its clients claim: a test is had by who knows its token, and
//! once; probes of nobody else are answered, and not too many.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MonoTime, Tos};
use tapeline_engine::Stop;
use tapeline_wire::native::ProbeRequest;

use super::input::Events;
use crate::native::local_results::OwnFlow;
use crate::native::test_registry::{Claim, TestName, Tests};

const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// Probes of a test that are answered in a second, at most.
const MAX_PROBES: u64 = 400;

/// Clients, whose flows never end. Of an event the first byte says how much later it is, the second who does
/// what with which of its tests.
pub(crate) fn clients(input: &[u8]) {
    let mut tests = Tests::default();
    let mut now = START;
    let mut tokens: HashMap<TestName, Vec<NonZeroU32>> = HashMap::new();
    let mut claims: HashMap<TestName, (Claim, MonoTime, u64)> = HashMap::new();
    for ([gap, what], piece) in Events::<2>::new(input) {
        now += Duration::from_millis(u64::from(gap) * u64::from(gap) / 16);
        let number = piece.first().copied().unwrap_or(0);
        let name = TestName {
            client: IpAddr::from([192, 0, 2, what >> 3 & 3]),
            number: NonZeroU32::MIN.saturating_add(u32::from(number)),
        };
        match what & 7 {
            0..=2 => {
                let before = tests.knows(name);
                let joined =
                    tests.join(name, flow(name), now, || (Default::default(), Stop::new()));
                assert!(joined.is_some() || !before, "a known test takes flows");
                if let Some((token, _)) = joined {
                    tokens.entry(name).or_default().push(token);
                }
            }
            3 | 4 => {
                let own = tokens.get(&name).and_then(|tokens| tokens.first().copied());
                // Nobody knows this one: they are drawn.
                let wrong = NonZeroU32::MIN.saturating_add(u32::from(number));
                let true_one = what & 7 == 3;
                let token = own.filter(|_| true_one).unwrap_or(wrong);
                let known = tests.knows(name);
                let claimed = tests.claim(name, token, now);
                if let Ok(claim) = claimed {
                    assert!(known && own.is_some());
                    assert!(!claims.contains_key(&name), "claimed twice");
                    assert_eq!(claim.test, name);
                    assert!(!tests.flows(&claim).is_empty());
                    claims.insert(name, (claim, now, 0));
                }
            }
            5 => {
                if let Some((claim, ..)) = claims.remove(&name) {
                    tests.release(&claim);
                    tokens.remove(&name);
                    assert!(!tests.knows(name));
                }
            }
            6 => probe(&mut tests, claims.get_mut(&name), name.client, number, now),
            _ => {
                let stranger = ProbeRequest {
                    key: std::num::NonZeroU64::MIN,
                    number: 1,
                    class: Tos::default(),
                    sent: 1,
                };
                assert!(!tests.answers(name.client, &stranger, now));
            }
        }
        assert!(claims.keys().all(|name| tests.knows(*name)), "lost");
    }
}

/// As many probes as the number says, with the key of a claimed test.
fn probe(
    tests: &mut Tests,
    claimed: Option<&mut (Claim, MonoTime, u64)>,
    client: IpAddr,
    count: u8,
    now: MonoTime,
) {
    let Some((claim, since, answered)) = claimed else {
        return;
    };
    let request = ProbeRequest {
        key: claim.probe_key,
        number: 1,
        class: Tos::default(),
        sent: 1,
    };
    let answers = (0..count).filter(|_| tests.answers(client, &request, now));
    *answered += answers.count() as u64;
    // A second may begin with each first probe in it, and the first one began when the flow did.
    let seconds = now.since(*since).as_secs() + 2;
    assert!(*answered <= MAX_PROBES * seconds);
    let other = IpAddr::from([198, 51, 100, 1]);
    assert!(!tests.answers(other, &request, now));
}

fn flow(name: TestName) -> OwnFlow {
    OwnFlow {
        token: None,
        sends: None,
        receives: Some(FlowTag {
            id: FlowId(1),
            reversed: false,
        }),
        local: SocketAddr::from(([192, 0, 2, 9], 5001)),
        peer: SocketAddr::new(name.client, 1),
        congestion: None,
    }
}
