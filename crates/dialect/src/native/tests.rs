//! The tests of a server whose clients are tapeline: who may open a control connection, and for what.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_engine::Stop;

use crate::reporter::Following;

/// Tests at a time; further ones run without a control connection.
const MOST_TESTS: usize = 256;
/// Flows of a test that have a token; the others are counted all the same.
const MOST_TOKENS: usize = 64;
/// Time for which a test is kept after its flows have ended.
const KEPT: Duration = Duration::from_secs(10);
/// Time within which a client opens the control connection, or does not come.
const EXPECTED: Duration = Duration::from_secs(2);

/// What a server's flow is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowFacts {
    /// Own port.
    pub(crate) local_port: u16,
    /// The client's.
    pub(crate) remote_port: u16,
    /// Congestion control of the connection.
    pub(crate) congestion: Option<String>,
}

/// A flow of a test that this server has answered.
#[derive(Clone, Debug)]
pub(super) struct KnownFlow {
    pub(super) tags: Vec<FlowTag>,
    pub(super) token: NonZeroU32,
    pub(super) facts: FlowFacts,
}

/// A client's test.
#[derive(Debug)]
pub(super) struct KnownTest {
    client: IpAddr,
    number: NonZeroU32,
    flows: Vec<KnownFlow>,
    following: Arc<Following>,
    stop: Stop,
    opened: MonoTime,
    /// When its flows were first seen to have ended.
    ended: Option<MonoTime>,
    claimed: bool,
}

/// A test that a control connection is for.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) client: IpAddr,
    pub(super) number: NonZeroU32,
    pub(super) following: Arc<Following>,
    /// Ends the test's flows.
    pub(super) stop: Stop,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tests {
    tests: Vec<KnownTest>,
}

impl Tests {
    /// A marked flow begins, as these directions. Returns its token and what ends it; nothing when there
    /// is no place for another test.
    pub(super) fn join(
        &mut self,
        (client, number): (IpAddr, NonZeroU32),
        tags: &[FlowTag],
        facts: FlowFacts,
        now: MonoTime,
        begin: impl FnOnce() -> (Arc<Following>, Stop),
    ) -> Option<(NonZeroU32, Stop)> {
        self.forget(now);
        let known = |test: &&mut KnownTest| test.client == client && test.number == number;
        if !self.knows(client, number) {
            if self.tests.len() >= MOST_TESTS {
                return None;
            }
            let (following, stop) = begin();
            self.tests.push(KnownTest {
                client,
                number,
                flows: Vec::new(),
                following,
                stop,
                opened: now,
                ended: None,
                claimed: false,
            });
        }
        let test = self.tests.iter_mut().find(known)?;
        for tag in tags {
            test.following.add(*tag);
        }
        let token = super::draw();
        if test.flows.len() < MOST_TOKENS {
            test.flows.push(KnownFlow {
                tags: tags.to_vec(),
                token,
                facts,
            });
        }
        Some((token, test.stop.clone()))
    }

    /// Gives a control connection its test.
    ///
    /// # Errors
    /// The sentence that says why it gets none.
    pub(super) fn claim(
        &mut self,
        client: IpAddr,
        number: NonZeroU32,
        token: NonZeroU32,
        now: MonoTime,
    ) -> Result<Claim, &'static str> {
        self.forget(now);
        let knows = |test: &&mut KnownTest| {
            let tokens = test.flows.iter().any(|flow| flow.token == token);
            test.client == client && test.number == number && tokens
        };
        // Nothing tells whether it was the address, the test or the token.
        let test = self.tests.iter_mut().find(knows);
        let test = test.ok_or("no test of this client has this token")?;
        if std::mem::replace(&mut test.claimed, true) {
            return Err("this test has a control connection");
        }
        Ok(Claim {
            client,
            number,
            following: Arc::clone(&test.following),
            stop: test.stop.clone(),
        })
    }

    /// Whether this test is known.
    pub(super) fn knows(&self, client: IpAddr, number: NonZeroU32) -> bool {
        let same = |test: &KnownTest| test.client == client && test.number == number;
        self.tests.iter().any(same)
    }

    /// The flows of a claimed test.
    pub(super) fn flows(&self, claim: &Claim) -> Vec<KnownFlow> {
        let same = |test: &&KnownTest| test.client == claim.client && test.number == claim.number;
        let test = self.tests.iter().find(same);
        test.map_or_else(Vec::new, |test| test.flows.clone())
    }

    /// The control connection of a test has ended.
    pub(super) fn release(&mut self, claim: &Claim) {
        let other = |test: &KnownTest| test.client != claim.client || test.number != claim.number;
        self.tests.retain(other);
    }

    /// Until when a client that has been answered may still come.
    pub(super) fn expects_until(&self) -> Option<MonoTime> {
        let waiting = self.tests.iter().filter(|test| !test.claimed);
        waiting.map(|test| test.opened + EXPECTED).max()
    }

    /// Forgets tests that ended some time ago and that nobody has asked for.
    fn forget(&mut self, now: MonoTime) {
        self.tests.retain_mut(|test| {
            if test.ended.is_none() && test.following.is_complete() {
                test.ended = Some(now);
            }
            let over = test.ended.is_some_and(|ended| now.since(ended) >= KEPT);
            test.claimed || !over
        });
    }
}

#[cfg(test)]
mod checks {
    use tapeline_base::FlowId;

    use super::*;

    const NUMBER: NonZeroU32 = NonZeroU32::new(7).unwrap();
    const OTHER: NonZeroU32 = NonZeroU32::new(8).unwrap();

    fn client(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn join(
        tests: &mut Tests,
        from: IpAddr,
        number: NonZeroU32,
        now: MonoTime,
    ) -> Option<NonZeroU32> {
        let facts = FlowFacts {
            local_port: 5001,
            remote_port: 1,
            congestion: None,
        };
        let tag = FlowTag {
            id: FlowId(1),
            reversed: false,
        };
        let begin = || (Arc::default(), Stop::new());
        let joined = tests.join((from, number), &[tag], facts, now, begin);
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
        assert!(tests.claim(client(2), NUMBER, token, now).is_err());
        assert!(tests.claim(client(1), OTHER, token, now).is_err());
        assert!(tests.claim(client(1), NUMBER, wrong, now).is_err() || wrong == other);
        assert!(tests.expects_until().is_some());
        let claim = tests
            .claim(client(1), NUMBER, other, now)
            .expect("the test");
        assert!(tests.claim(client(1), NUMBER, token, now).is_err());
        assert_eq!(tests.expects_until(), None);
        assert_eq!(tests.flows(&claim).len(), 2);
        tests.release(&claim);
        assert!(tests.tests.is_empty());
    }

    #[test]
    fn a_crowd_of_tests_has_no_more_places_than_there_are() {
        let mut tests = Tests::default();
        let now = MonoTime::ZERO;
        let numbers = (1..).filter_map(NonZeroU32::new);
        let given = numbers
            .take(MOST_TESTS + 5)
            .filter(|number| join(&mut tests, client(1), *number, now).is_some());
        assert_eq!(given.count(), MOST_TESTS);
        for _ in 0..2 * MOST_TOKENS {
            assert!(join(&mut tests, client(1), NUMBER, now).is_some());
        }
        assert_eq!(tests.tests[6].flows.len(), MOST_TOKENS);
    }
}
