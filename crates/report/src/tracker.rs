//! Which test an event belongs to, for all forms that report tests one by one.
//!
//! Flows are what most events name. A control connection announces its tests with their flows; a
//! server over iperf 2's protocol sees connections first, which wait here until their flow reports a
//! row or a test starts that names it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use tapeline_base::{FlowId, FlowTag};

use crate::model::{Connected, TestStart};

/// Connections that are kept until their test starts.
const MAX_WAITING: usize = 1 << 16;

/// What makes flows a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TestKey {
    /// This process's own: a client runs one.
    Own,
    /// A control connection announced it, under this number (iperf3).
    Announced(u32),
    /// A server saw that they belong together, and numbered it (iperf 2).
    Served(u32),
    /// Flows from one address that run at the same time, where nothing else is known.
    From(IpAddr),
}

impl TestKey {
    /// Of a server's flow over iperf 2's protocol.
    pub(crate) fn served(line: &Connected) -> Self {
        match line.test {
            Some(test) => Self::Served(test.number),
            None => Self::from_address(line.peer.ip()),
        }
    }

    /// Of a flow from this address.
    pub(crate) fn from_address(address: IpAddr) -> Self {
        Self::From(address.to_canonical())
    }
}

/// What a form keeps of a test until it is over.
pub(crate) trait TestRecord {
    /// Of a test of which nothing has been observed.
    fn new(key: TestKey) -> Self;

    /// Takes the connection of one of its flows.
    fn connected(&mut self, line: Connected);

    /// Takes what was agreed, behind the connections of its flows.
    fn started(&mut self, start: &TestStart);
}

#[derive(Debug)]
struct Tracked<R> {
    key: TestKey,
    record: R,
}

/// The tests that are not over, by their numbers, which count from 1.
#[derive(Debug)]
pub(crate) struct TestTracker<R> {
    tests: BTreeMap<u32, Tracked<R>>,
    /// The test that a key names now.
    numbers: BTreeMap<TestKey, u32>,
    owners: HashMap<FlowTag, u32>,
    /// Connections of which it is not known yet which test they belong to.
    waiting: Vec<Connected>,
    /// Number of the last test.
    last: u32,
}

impl<R> Default for TestTracker<R> {
    fn default() -> Self {
        Self {
            tests: BTreeMap::new(),
            numbers: BTreeMap::new(),
            owners: HashMap::new(),
            waiting: Vec::new(),
            last: 0,
        }
    }
}

impl<R: TestRecord> TestTracker<R> {
    /// The test that a key names, which is a new one where none does.
    pub(crate) fn open(&mut self, key: TestKey) -> u32 {
        self.opened(key).0
    }

    /// The same: its record.
    pub(crate) fn record(&mut self, key: TestKey) -> &mut R {
        self.opened(key).1
    }

    fn opened(&mut self, key: TestKey) -> (u32, &mut R) {
        let last = &mut self.last;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            *last = last.wrapping_add(1);
            *last
        });
        let test = self.tests.entry(number).or_insert_with(|| Tracked {
            key,
            record: R::new(key),
        });
        (number, &mut test.record)
    }

    /// Takes the start of a test: its flows and their connections are known now.
    pub(crate) fn start(&mut self, key: TestKey, start: &TestStart) -> u32 {
        let number = self.open(key);
        for (tag, _) in &start.flows {
            self.own(*tag, number);
            let line = self.waiting.iter().rposition(|line| line.tag == *tag);
            if let Some(line) = line.map(|at| self.waiting.swap_remove(at)) {
                self.record(key).connected(line);
            }
        }
        self.record(key).started(start);
        number
    }
}

impl<R> TestTracker<R> {
    /// The test that a key names.
    pub(crate) fn number(&self, key: TestKey) -> Option<u32> {
        self.numbers.get(&key).copied()
    }

    /// What makes its flows a test.
    pub(crate) fn key(&self, number: u32) -> Option<TestKey> {
        self.tests.get(&number).map(|test| test.key)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&R> {
        self.tests.get(&number).map(|test| &test.record)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut R> {
        self.tests.get_mut(&number).map(|test| &mut test.record)
    }

    /// How many tests are not over.
    pub(crate) fn running(&self) -> usize {
        self.tests.len()
    }

    /// The tests by their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &R)> {
        let tests = self.tests.iter();
        tests.map(|(number, test)| (*number, &test.record))
    }

    pub(crate) fn records_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.tests.values_mut().map(|test| &mut test.record)
    }

    /// The test that runs alone.
    pub(crate) fn only(&mut self) -> Option<(u32, &mut R)> {
        let alone = self.tests.len() == 1;
        let (number, test) = self.tests.iter_mut().next().filter(|_| alone)?;
        Some((*number, &mut test.record))
    }

    /// The key names another test from now on.
    pub(crate) fn retire(&mut self, key: TestKey) {
        self.numbers.remove(&key);
    }

    /// Forgets a test that is over.
    pub(crate) fn close(&mut self, number: u32) -> Option<R> {
        let test = self.tests.remove(&number)?;
        if self.number(test.key) == Some(number) {
            self.retire(test.key);
        }
        self.owners.retain(|_, owner| *owner != number);
        Some(test.record)
    }

    /// The tests in the order of what makes them.
    pub(crate) fn numbers_by_key(&self) -> Vec<u32> {
        self.numbers.values().copied().collect()
    }

    /// A direction of a flow belongs to a test.
    pub(crate) fn own(&mut self, tag: FlowTag, number: u32) {
        self.owners.insert(tag, number);
    }

    /// The test of a direction of a flow.
    pub(crate) fn owner(&self, tag: FlowTag) -> Option<u32> {
        self.owners.get(&tag).copied()
    }

    /// The test of a flow, whichever of its directions is known.
    pub(crate) fn owner_of_either(&self, tag: FlowTag) -> Option<u32> {
        let other = FlowTag {
            reversed: !tag.reversed,
            ..tag
        };
        self.owner(tag).or_else(|| self.owner(other))
    }

    /// Keeps a connection. Those of tests that never start must not pile up.
    pub(crate) fn wait(&mut self, line: Connected) {
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.remove(0);
        }
        self.waiting.push(line);
    }

    /// Whether the connection of this direction of a flow waits.
    pub(crate) fn waits(&self, tag: FlowTag) -> bool {
        self.waiting.iter().any(|line| line.tag == tag)
    }

    /// The last connection of this number that waits.
    pub(crate) fn waiting_of(&self, id: FlowId) -> Option<&Connected> {
        self.waiting.iter().rfind(|line| line.tag.id == id)
    }

    /// Takes the last connection of this number.
    pub(crate) fn take_waiting(&mut self, id: FlowId) -> Option<Connected> {
        let at = self.waiting.iter().rposition(|line| line.tag.id == id)?;
        Some(self.waiting.swap_remove(at))
    }

    /// Takes all connections that belong together, in the order in which they were made.
    pub(crate) fn take_all_waiting(
        &mut self,
        joins: impl Fn(&Connected) -> bool,
    ) -> Vec<Connected> {
        let joining = self.waiting.extract_if(.., |line| joins(line));
        joining.collect()
    }
}
