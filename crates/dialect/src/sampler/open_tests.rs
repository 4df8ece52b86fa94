//! A server's tests, until everything is reported of them: each is over by itself, whatever runs next to it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_report::Event;

use super::subscribers::{PeerReport, Subscribers};

/// Time from a flow's start within which a client that is tapeline opens the control connection.
const EXPECTED: Duration = Duration::from_secs(2);

/// A test whose flows have begun.
#[derive(Debug)]
struct Open {
    flows: Vec<FlowTag>,
    running: usize,
    /// Until when its client may come.
    expected: MonoTime,
}

/// Tests of a server that are not over, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct OpenTests {
    tests: BTreeMap<u64, Open>,
    /// Flows of iperf3's tests, which say themselves when they are over.
    announced: HashMap<FlowTag, u32>,
    /// This process is a client: its test is over when it ends.
    is_client: bool,
}

impl OpenTests {
    /// Observes what is reported.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Connecting(banner) => self.is_client |= !banner.connect_back,
            Event::TestStart(start) if !self.is_client => {
                let flows = start.flows.iter().map(|(tag, _)| (*tag, start.test));
                self.announced.extend(flows);
            }
            Event::TestEnd(end) => self.announced.retain(|_, test| *test != end.test),
            _ => {}
        }
    }

    /// A flow of test `number` begins.
    pub(crate) fn started(&mut self, number: u64, tag: FlowTag, now: MonoTime) {
        if self.is_client {
            return;
        }
        let test = self.tests.entry(number).or_insert_with(|| Open {
            flows: Vec::new(),
            running: 0,
            expected: now,
        });
        test.flows.push(tag);
        test.running += 1;
        test.expected = now + EXPECTED;
    }

    /// One has ended.
    pub(crate) fn ended(&mut self, number: u64) {
        if let Some(test) = self.tests.get_mut(&number) {
            test.running = test.running.saturating_sub(1);
        }
    }

    /// Takes the flows of each test of which nothing more is to come: none runs, none is waited for,
    /// and its client has sent what it counted, or does not come.
    pub(crate) fn take_over(
        &mut self,
        now: MonoTime,
        waits: impl Fn(u64) -> bool,
        subscribers: &Subscribers,
    ) -> Vec<Vec<FlowTag>> {
        let announced = &self.announced;
        let over = |number: &u64, test: &mut Open| {
            let pending = |tag: &FlowTag| match subscribers.peer_report(*tag) {
                Some(PeerReport::Awaited) => now < test.expected,
                Some(PeerReport::Here) => true,
                Some(PeerReport::Complete) | None => announced.contains_key(tag),
            };
            test.running == 0 && !waits(*number) && !test.flows.iter().any(pending)
        };
        let mut taken = Vec::new();
        self.tests.retain(|number, test| {
            let over = over(number, test);
            if over {
                taken.push(std::mem::take(&mut test.flows));
            }
            !over
        });
        taken
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// When a client is expected no more.
    pub(crate) fn due(&self, now: MonoTime) -> Option<MonoTime> {
        let resting = self.tests.values().filter(|test| test.running == 0);
        let due = resting.map(|test| test.expected).filter(|due| *due > now);
        due.min()
    }
}

#[cfg(test)]
mod tests {
    use tapeline_base::FlowId;

    use super::*;

    #[test]
    fn a_test_is_over_when_its_client_has_sent_all_and_not_before() {
        let tag = |id| FlowTag {
            id: FlowId(id),
            reversed: false,
        };
        let mut tests = OpenTests::default();
        let subscribers = Subscribers::default();
        let totals = subscribers.follow_totals();
        totals.add(tag(1));
        let now = MonoTime::ZERO;
        for id in 1..=3 {
            tests.started(u64::from(id), tag(id), now);
        }
        tests.ended(1);
        tests.ended(2);
        let mut over = |at, waits| tests.take_over(at, |number| number == waits, &subscribers);
        // The third runs, the second may have a straggler, the first a client.
        assert!(over(now, 2).is_empty());
        assert_eq!(over(now, 0), [[tag(2)]]);
        totals.client_is_here();
        assert!(over(now + 100 * EXPECTED, 0).is_empty());
        totals.client_is_complete();
        assert_eq!(over(now, 0), [[tag(1)]]);
        assert_eq!(tests.due(now), None);
        tests.ended(3);
        assert_eq!(tests.due(now), Some(now + EXPECTED));
        assert!(!tests.is_empty());
    }
}
