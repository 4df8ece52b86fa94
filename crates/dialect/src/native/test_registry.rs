//! The tests of a server whose clients are tapeline: who may open a control connection, and for what.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_engine::Stop;
use tapeline_wire::native::ProbeRequest;

use super::local_results::OwnFlow;
use crate::policy::{Source, counted};
use crate::sampler::FlowTotals;

/// Tests at a time; further ones run without a control connection. Of those that nobody has claimed the
/// address that has most gives one up for others.
const MAX_TESTS: usize = 256;
/// Flows of a test that have a token; the others are counted all the same.
const MAX_TOKENS: usize = 64;
/// Time for which a test is kept after its flows have ended.
const KEPT: Duration = Duration::from_secs(10);
/// Probes of a test that are answered in a second; ours send 170 at most, and 50 on average.
const MAX_PROBES: u32 = 400;
/// Time within which a client opens the control connection, or does not come.
const EXPECTED: Duration = Duration::from_secs(2);

/// What a test is known by: its client's address, and the number in its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TestName {
    pub(crate) client: IpAddr,
    pub(crate) number: NonZeroU32,
}

/// A client's test.
#[derive(Debug)]
pub(crate) struct KnownTest {
    name: TestName,
    flows: Vec<OwnFlow>,
    totals: Arc<FlowTotals>,
    stop: Stop,
    opened: MonoTime,
    /// When its flows were first seen to have ended.
    ended: Option<MonoTime>,
    claimed: bool,
    /// What its probes carry.
    probe_key: NonZeroU64,
    /// A second, and the probes in it.
    probes: (MonoTime, u32),
}

/// A test that a control connection is for.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) test: TestName,
    pub(crate) totals: Arc<FlowTotals>,
    /// Ends the test's flows.
    pub(crate) stop: Stop,
    /// What the test's probes carry.
    pub(crate) probe_key: NonZeroU64,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Tests {
    tests: Vec<KnownTest>,
}

impl Tests {
    /// A marked flow begins, without a token so far. Returns its token and what ends it; nothing when
    /// there is no place for another test.
    pub(crate) fn join(
        &mut self,
        name: TestName,
        flow: OwnFlow,
        now: MonoTime,
        begin: impl FnOnce() -> (Arc<FlowTotals>, Stop),
    ) -> Option<(NonZeroU32, Stop)> {
        self.forget(now);
        if !self.knows(name) {
            if self.tests.len() >= MAX_TESTS {
                self.evict(name.client.into())?;
            }
            let (totals, stop) = begin();
            self.tests.push(KnownTest {
                name,
                flows: Vec::new(),
                totals,
                stop,
                opened: now,
                ended: None,
                claimed: false,
                probe_key: draw_key(),
                probes: (now, 0),
            });
        }
        let token = draw();
        let flow = OwnFlow {
            token: Some(token),
            ..flow
        };
        let stop = self.add(name, flow)?;
        Some((token, stop))
    }

    /// Forgets a test that nobody has claimed, of the source that has most tests; nothing where that is
    /// the requester's.
    fn evict(&mut self, requester: Source) -> Option<()> {
        let source = |test: &KnownTest| Source::from(test.name.client);
        let counts = counted(self.tests.iter().map(source));
        let own = counts.get(&requester).copied().unwrap_or(0);
        let (busiest, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        if own + 1 >= count {
            return None;
        }
        let given_up = |test: &KnownTest| !test.claimed && source(test) == busiest;
        let place = self.tests.iter().position(given_up)?;
        self.tests.remove(place);
        Some(())
    }

    /// Adds a flow to a test that is known; returns what ends it.
    pub(crate) fn add(&mut self, name: TestName, flow: OwnFlow) -> Option<Stop> {
        let test = self.tests.iter_mut().find(|test| test.name == name)?;
        for tag in flow.tags() {
            test.totals.add(tag);
        }
        if test.flows.len() < MAX_TOKENS {
            test.flows.push(flow);
        }
        Some(test.stop.clone())
    }

    /// Gives a control connection its test.
    ///
    /// # Errors
    /// The sentence that says why it gets none.
    pub(crate) fn claim(
        &mut self,
        name: TestName,
        token: NonZeroU32,
        now: MonoTime,
    ) -> Result<Claim, &'static str> {
        self.forget(now);
        let knows = |test: &&mut KnownTest| {
            let tokens = test.flows.iter().any(|flow| flow.token == Some(token));
            test.name == name && tokens
        };
        // Nothing shows whether it was the address, the test or the token.
        let test = self.tests.iter_mut().find(knows);
        let test = test.ok_or("no test of this client has this token")?;
        if std::mem::replace(&mut test.claimed, true) {
            return Err("this test has a control connection");
        }
        Ok(Claim {
            test: name,
            totals: Arc::clone(&test.totals),
            stop: test.stop.clone(),
            probe_key: test.probe_key,
        })
    }

    /// Whether a probe from this address is answered: its test has a control connection, and not too many
    /// came before it.
    pub(crate) fn answers(&mut self, client: IpAddr, probe: &ProbeRequest, now: MonoTime) -> bool {
        let its = |test: &&mut KnownTest| {
            test.claimed && test.name.client == client && test.probe_key == probe.key
        };
        let Some(test) = self.tests.iter_mut().find(its) else {
            return false;
        };
        let (since, count) = &mut test.probes;
        if now.since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= MAX_PROBES
    }

    /// Whether this test is known.
    pub(crate) fn knows(&self, name: TestName) -> bool {
        self.tests.iter().any(|test| test.name == name)
    }

    /// The flows of a claimed test.
    pub(crate) fn flows(&self, claim: &Claim) -> Vec<OwnFlow> {
        let test = self.tests.iter().find(|test| test.name == claim.test);
        test.map_or_else(Vec::new, |test| test.flows.clone())
    }

    /// The control connection of a test has ended.
    pub(crate) fn release(&mut self, claim: &Claim) {
        self.tests.retain(|test| test.name != claim.test);
    }

    /// Until when a client that has been answered may still come.
    pub(crate) fn expects_until(&self) -> Option<MonoTime> {
        let waiting = self.tests.iter().filter(|test| !test.claimed);
        waiting.map(|test| test.opened + EXPECTED).max()
    }

    /// Forgets tests that ended some time ago and that nobody has asked for.
    fn forget(&mut self, now: MonoTime) {
        self.tests.retain_mut(|test| {
            if test.ended.is_none() && test.totals.is_complete() {
                test.ended = Some(now);
            }
            let over = test.ended.is_some_and(|ended| now.since(ended) >= KEPT);
            test.claimed || !over
        });
    }
}

/// A number that a peer cannot guess.
pub(crate) fn draw() -> NonZeroU32 {
    let state = RandomState::new();
    (0_u32..)
        .find_map(|round| NonZeroU32::new(state.hash_one(round) as u32))
        .unwrap_or(NonZeroU32::MIN)
}

/// A key that cannot be guessed.
pub(crate) fn draw_key() -> NonZeroU64 {
    NonZeroU64::from(draw()) | (u64::from(draw().get()) << 32)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tapeline_base::{FlowId, FlowTag, Tos};

    use super::*;

    const NUMBER: NonZeroU32 = NonZeroU32::new(7).unwrap();
    const OTHER: NonZeroU32 = NonZeroU32::new(8).unwrap();

    fn client(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn name(client: IpAddr, number: NonZeroU32) -> TestName {
        TestName { client, number }
    }

    fn join(
        tests: &mut Tests,
        from: IpAddr,
        number: NonZeroU32,
        now: MonoTime,
    ) -> Option<NonZeroU32> {
        let tag = FlowTag {
            id: FlowId(1),
            reversed: false,
        };
        let flow = OwnFlow {
            token: None,
            sends: None,
            receives: Some(tag),
            local: SocketAddr::from(([10, 0, 0, 9], 5001)),
            peer: SocketAddr::new(from, 1),
            congestion: None,
        };
        let begin = || (Arc::default(), Stop::new());
        let joined = tests.join(name(from, number), flow, now, begin);
        joined.map(|(token, _)| token)
    }

    #[test]
    fn only_who_knows_the_token_gets_the_test_and_once() {
        let mut tests = Tests::default();
        let now = MonoTime::ZERO;
        let token = join(&mut tests, client(1), NUMBER, now).expect("a token");
        let other = join(&mut tests, client(1), NUMBER, now).expect("a token");
        assert_ne!(token, other);
        let wrong = NonZeroU32::new(token.get() ^ 1).unwrap_or(NonZeroU32::MAX);
        let own = name(client(1), NUMBER);
        let mut refuses = |name, token| tests.claim(name, token, now).is_err();
        assert!(refuses(name(client(2), NUMBER), token));
        assert!(refuses(name(client(1), OTHER), token));
        assert!(refuses(own, wrong) || wrong == other);
        assert!(tests.expects_until().is_some());
        let claim = tests.claim(own, other, now).expect("the test");
        assert!(tests.claim(own, token, now).is_err());
        assert_eq!(tests.expects_until(), None);
        assert_eq!(tests.flows(&claim).len(), 2);
        tests.release(&claim);
        assert!(tests.tests.is_empty());
    }

    #[test]
    fn probes_are_answered_with_the_key_of_a_test_and_not_too_often() {
        let mut tests = Tests::default();
        let mut now = MonoTime::ZERO;
        let token = join(&mut tests, client(1), NUMBER, now).expect("a token");
        let probe = |key| ProbeRequest {
            key,
            number: 1,
            class: Tos::default(),
            sent: 1,
        };
        let key = tests.tests[0].probe_key;
        assert!(!tests.answers(client(1), &probe(key), now), "not claimed");
        let own = name(client(1), NUMBER);
        let claim = tests.claim(own, token, now).expect("a claim");
        assert_eq!(claim.probe_key, key);
        assert!(tests.answers(client(1), &probe(key), now));
        assert!(!tests.answers(client(2), &probe(key), now));
        let other = key.saturating_add(1);
        assert!(!tests.answers(client(1), &probe(other), now));
        let answered = |tests: &mut Tests, now| {
            let all = (0..2 * MAX_PROBES).filter(|_| tests.answers(client(1), &probe(key), now));
            all.count() as u32
        };
        assert_eq!(answered(&mut tests, now), MAX_PROBES - 1);
        now += Duration::from_secs(1);
        assert_eq!(answered(&mut tests, now), MAX_PROBES);
        tests.release(&claim);
        assert!(!tests.answers(client(1), &probe(key), now));
    }

    #[test]
    fn a_crowd_of_tests_has_no_more_places_than_there_are() {
        let mut tests = Tests::default();
        let now = MonoTime::ZERO;
        let numbers = (1..).filter_map(NonZeroU32::new);
        let given = numbers
            .take(MAX_TESTS + 5)
            .filter(|number| join(&mut tests, client(1), *number, now).is_some());
        assert_eq!(given.count(), MAX_TESTS);
        for _ in 0..2 * MAX_TOKENS {
            assert!(join(&mut tests, client(1), NUMBER, now).is_some());
        }
        assert_eq!(tests.tests[6].flows.len(), MAX_TOKENS);
    }

    #[test]
    fn a_crowd_of_one_address_leaves_places_to_others() {
        let mut tests = Tests::default();
        let now = MonoTime::ZERO;
        let numbers = || (1..=MAX_TESTS as u32).filter_map(NonZeroU32::new);
        let tokens: Vec<_> = numbers()
            .filter_map(|number| join(&mut tests, client(1), number, now))
            .collect();
        assert_eq!(tokens.len(), MAX_TESTS);
        // One that runs with its control connection is left alone.
        let own = name(client(1), NonZeroU32::MIN);
        let claim = tests.claim(own, tokens[0], now).expect("the test");
        let given = numbers().filter(|number| join(&mut tests, client(2), *number, now).is_some());
        assert_eq!(given.count(), MAX_TESTS / 2);
        assert_eq!(tests.tests.len(), MAX_TESTS);
        assert_eq!(tests.flows(&claim).len(), 1);
        assert!(join(&mut tests, client(3), NUMBER, now).is_some());
    }
}
