//! Which test may start now: a state machine without clock or IO.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::host::{HostId, Pair};
use crate::pattern::PatternError;
use crate::plan::{MeshPlan, Mode};

/// A host that has failed so often in a row takes part no longer.
const FAILURES: usize = 3;
/// Each test is tried so often.
const ATTEMPTS: u32 = 2;
/// A host waits for its next partner if that one is free within this part of a test, rather than testing with
/// a later one: otherwise small differences between tests would mix up the rounds and lengthen the whole.
const PATIENCE: u32 = 4;
/// The mean length of tests is over about so many.
const REMEMBERED: u32 = 8;

/// A test by its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestId(pub usize);

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a result.
    Measured,
    /// Without one: it is tried once more at the end.
    Failed,
    /// It was stopped, or one of its hosts has gone: it is not tried again, and says nothing about the other.
    Abandoned,
}

/// Tests that wait, run and have ended. Times count from the start of the whole.
#[derive(Clone, Debug)]
pub struct Schedule {
    tests: Vec<Test>,
    hosts: Vec<HostState>,
    links: Vec<LinkState>,
    /// Tests that failed, for the end.
    again: Vec<TestId>,
    waiting: usize,
    running: usize,
    /// How long a test takes, about: as forecast, until the first has ended.
    length: Duration,
    is_forecast: bool,
    /// Hosts and links carry one test, or their number, at a time.
    is_apart: bool,
}

#[derive(Clone, Debug)]
struct Test {
    pair: Pair,
    attempts: u32,
}

#[derive(Clone, Debug, Default)]
struct HostState {
    /// Its tests that wait, in their order.
    waiting: BTreeSet<TestId>,
    /// When the test that it runs began.
    busy_since: Option<Duration>,
    /// Failures in a row, and the first one's partner.
    failures: usize,
    partners: BTreeSet<HostId>,
    /// Indices of its links.
    links: Vec<usize>,
}

#[derive(Clone, Debug)]
struct LinkState {
    free: usize,
}

impl Schedule {
    /// All tests of a plan, each of which is expected to take about `length`; how long they do take is
    /// learnt.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub fn new(plan: &MeshPlan, length: Duration) -> Result<Self, PatternError> {
        let tests = plan.tests()?.into_iter();
        let mut schedule = Self {
            tests: tests.map(|pair| Test { pair, attempts: 0 }).collect(),
            hosts: vec![HostState::default(); plan.hosts.len()],
            links: Vec::new(),
            again: Vec::new(),
            waiting: 0,
            running: 0,
            length,
            is_forecast: true,
            is_apart: plan.mode != Mode::AllAtOnce,
        };
        for (number, link) in plan.shared.iter().enumerate() {
            schedule.links.push(LinkState { free: link.at_once });
            for host in &link.hosts {
                schedule.hosts[host.0].links.push(number);
            }
        }
        for number in 0..schedule.tests.len() {
            schedule.wait(TestId(number));
        }
        Ok(schedule)
    }

    /// All tests, whether they wait, run or have ended.
    pub fn tests(&self) -> impl Iterator<Item = (TestId, Pair)> {
        let tests = self.tests.iter().enumerate();
        tests.map(|(number, test)| (TestId(number), test.pair))
    }

    /// Who takes part in a test.
    #[must_use]
    pub fn pair(&self, test: TestId) -> Pair {
        self.tests[test.0].pair
    }

    /// How often a test was started.
    #[must_use]
    pub fn attempts(&self, test: TestId) -> u32 {
        self.tests[test.0].attempts
    }

    /// Tests that wait, those for another try included.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting + self.again.len()
    }

    /// No test waits or runs.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.running == 0 && self.waiting() == 0
    }

    /// Takes out a test that waits: it was measured earlier.
    pub fn skip(&mut self, test: TestId) {
        self.forget(test);
    }

    /// The tests that start now; each then counts as running until [`ended`](Self::ended). A host that waits a
    /// moment for its next partner may be free later without any end: ask again from time to time.
    pub fn next(&mut self, now: Duration) -> Vec<TestId> {
        if self.waiting == 0 {
            for test in std::mem::take(&mut self.again) {
                self.wait(test);
            }
        }
        let mut started = Vec::new();
        while let Some(test) = self.first(now) {
            self.start(test, now);
            started.push(test);
        }
        started
    }

    /// A test has ended now. Returns hosts that have now failed too often in a row; whoever calls decides about
    /// [`give_up`](Self::give_up).
    pub fn ended(&mut self, test: TestId, how: Ended, now: Duration) -> Vec<HostId> {
        let pair = self.pair(test);
        self.running -= 1;
        if let (Ended::Measured, Some(began)) = (how, self.hosts[pair.from.0].busy_since) {
            let took = now.saturating_sub(began);
            self.length = match self.is_forecast {
                true => took,
                false => (self.length * (REMEMBERED - 1) + took) / REMEMBERED,
            };
            self.is_forecast = false;
        }
        for link in self.links_of(pair) {
            self.links[link].free += 1;
        }
        let mut failing = Vec::new();
        for (host, partner) in [(pair.from, pair.to), (pair.to, pair.from)] {
            let state = &mut self.hosts[host.0];
            state.busy_since = None;
            match how {
                Ended::Measured => {
                    state.failures = 0;
                    state.partners.clear();
                }
                Ended::Failed => {
                    state.failures += 1;
                    state.partners.insert(partner);
                    // With one partner alone nobody knows whose fault it is.
                    if state.failures >= FAILURES && state.partners.len() > 1 {
                        failing.push(host);
                    }
                }
                Ended::Abandoned => {}
            }
        }
        if how == Ended::Failed && self.attempts(test) < ATTEMPTS {
            self.again.push(test);
        }
        failing
    }

    /// A host takes part no longer. Returns its tests that waited, without those for another try, whose
    /// result stays what it is.
    pub fn give_up(&mut self, host: HostId) -> Vec<TestId> {
        let pairs = &self.tests;
        self.again.retain(|test| !pairs[test.0].pair.has(host));
        let mut waiting: Vec<TestId> = self.hosts[host.0].waiting.iter().copied().collect();
        waiting.iter().for_each(|test| self.forget(*test));
        waiting.retain(|test| self.attempts(*test) == 0);
        waiting
    }

    fn wait(&mut self, test: TestId) {
        self.waiting += 1;
        let pair = self.pair(test);
        for host in [pair.from, pair.to] {
            self.hosts[host.0].waiting.insert(test);
        }
    }

    fn forget(&mut self, test: TestId) {
        let pair = self.pair(test);
        let mut was_waiting = false;
        for host in [pair.from, pair.to] {
            was_waiting |= self.hosts[host.0].waiting.remove(&test);
        }
        self.waiting -= usize::from(was_waiting);
    }

    fn start(&mut self, test: TestId, now: Duration) {
        self.forget(test);
        self.running += 1;
        self.tests[test.0].attempts += 1;
        let pair = self.pair(test);
        if self.is_apart {
            for host in [pair.from, pair.to] {
                self.hosts[host.0].busy_since = Some(now);
            }
        }
        for link in self.links_of(pair) {
            self.links[link].free -= 1;
        }
    }

    /// The first test in the order that may start.
    fn first(&self, now: Duration) -> Option<TestId> {
        let free = self.hosts.iter().enumerate();
        let free = free.filter(|(_, host)| host.busy_since.is_none());
        let ready = free.filter_map(|(number, _)| {
            let mut ready = self.ready(HostId(number), now);
            ready.find(|test| {
                let partner = self.pair(*test).partner(HostId(number));
                self.ready(partner, now).any(|its| its == *test)
            })
        });
        ready.min()
    }

    /// The tests that a free host could start, in their order, up to the one whose partner it waits for.
    fn ready(&self, host: HostId, now: Duration) -> impl Iterator<Item = TestId> {
        let (length, patience) = (self.length, self.length / PATIENCE);
        let soon = move |since: Duration| {
            let until = since + length;
            until <= now + patience && now <= until + patience
        };
        let partner = move |test: TestId| &self.hosts[self.pair(test).partner(host).0];
        let waiting = self.hosts[host.0].waiting.iter().copied();
        waiting
            .take_while(move |test| !partner(*test).busy_since.is_some_and(soon))
            .filter(move |test| partner(*test).busy_since.is_none())
            .filter(|test| {
                let mut links = self.links_of(self.pair(*test)).into_iter();
                links.all(|link| self.links[link].free > 0)
            })
    }

    fn links_of(&self, pair: Pair) -> Vec<usize> {
        if !self.is_apart {
            return Vec::new();
        }
        let (one, other) = (&self.hosts[pair.from.0].links, &self.hosts[pair.to.0].links);
        let more = other.iter().filter(|link| !one.contains(link));
        one.iter().chain(more).copied().collect()
    }
}

#[cfg(test)]
mod tests;
