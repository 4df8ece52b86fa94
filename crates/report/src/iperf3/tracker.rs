//! The tests of iperf3's forms, announced or not.

use tapeline_base::FlowTag;

use super::flow::Iperf3Interval;
use super::record::Iperf3Record;
use crate::model::{
    ClientBanner, Connected, CpuUse, Event, Notice, Row, Subject, TestEnd, TestFailure, TestLimit,
    TestStart,
};
use crate::tracker::{TestKey, TestRecord, TestTracker};

/// Tests over iperf 2's protocol that wait for flows that never come.
const MAX_INCOMPLETE: usize = 1024;

/// What an event adds to a test, which has a number from 1.
#[derive(Debug)]
pub(crate) enum Iperf3Step {
    /// A control connection is there.
    Control(u32),
    /// Traffic starts.
    Start(u32),
    /// An interval is complete.
    Interval(u32, Iperf3Interval),
    /// All is reported; the test is to be [taken](Iperf3Tracker::take).
    End(u32),
}

/// The tests that are not over. Over iperf 2's protocol nobody announces one: it begins with the
/// first row of a flow.
#[derive(Debug, Default)]
pub(crate) struct Iperf3Tracker {
    tests: TestTracker<Iperf3Record>,
    banner: Option<ClientBanner>,
    /// Why tests over iperf 2's protocol cannot be.
    failure: Option<String>,
    /// Tests are announced: they report their own failures.
    announced: bool,
}

impl Iperf3Tracker {
    /// Takes an event.
    pub(crate) fn observe(&mut self, event: &Event) -> Vec<Iperf3Step> {
        self.announced |= matches!(event, Event::ControlConnected(_) | Event::TestEnd(_));
        match event {
            Event::ControlConnected(control) => {
                let key = TestKey::Announced(control.test);
                let test = self.tests.record(key);
                *test = Iperf3Record::new(key);
                test.control = Some(control.clone());
                vec![Iperf3Step::Control(self.tests.open(key))]
            }
            Event::Connecting(banner) if !banner.connect_back => {
                self.banner = Some(banner.clone());
                Vec::new()
            }
            Event::Connected(line) => {
                self.tests.wait(line.clone());
                Vec::new()
            }
            Event::TestStart(start) => vec![self.start(start)],
            Event::Row(row) => self.row(row),
            Event::ServerReport { row, .. } => {
                self.server_report(row);
                Vec::new()
            }
            Event::TestEnd(end) => {
                let number = self.tests.open(TestKey::Announced(end.test));
                self.end(number, end)
            }
            Event::Notice(notice) => {
                self.condition(notice);
                Vec::new()
            }
            // A client's test has more to report: its server's report, the flows of a later half.
            Event::Idle if self.banner.is_none() => self.close_all(),
            _ => Vec::new(),
        }
    }

    /// Nothing follows.
    pub(crate) fn finish(&mut self) -> Vec<Iperf3Step> {
        if self.failure.is_some() && self.tests.running() == 0 {
            self.tests.open(TestKey::Own);
        }
        self.close_all()
    }

    /// A test that is not over.
    pub(crate) fn test(&self, number: u32) -> Option<&Iperf3Record> {
        self.tests.get(number)
    }

    /// How many tests are not over.
    pub(crate) fn running(&self) -> usize {
        self.tests.running()
    }

    /// Forgets a test that has ended.
    pub(crate) fn take(&mut self, number: u32) -> Option<Iperf3Record> {
        self.tests.close(number)
    }

    /// Notes why a test over iperf 2's protocol fails. A server's flows fail for themselves; tests
    /// that are announced report their own failures.
    fn condition(&mut self, notice: &Notice) {
        let flow = match notice {
            Notice::TrafficFailed { tag, .. }
            | Notice::PeerVanished { tag, .. }
            | Notice::PeerGone { tag } => Some(*tag),
            _ => None,
        };
        let owner = flow.and_then(|tag| self.tests.owner(tag));
        if self.banner.is_none()
            && let Some(test) = owner.and_then(|number| self.tests.get_mut(number))
        {
            if test.mirrored && test.condition.is_none() {
                test.condition = failure(notice);
            }
        } else if !self.announced {
            // What explains the others counts.
            let explains = matches!(notice, Notice::WrongProtocol { .. });
            let before = self.failure.take().filter(|_| !explains);
            self.failure = before.or_else(|| failure(notice));
        }
    }

    fn start(&mut self, start: &TestStart) -> Iperf3Step {
        for (tag, _) in &start.flows {
            self.reclaim(*tag);
        }
        let key = TestKey::Announced(start.test);
        Iperf3Step::Start(self.tests.start(key, start))
    }

    /// The connection of a flow may have been taken for one that nobody announces.
    fn reclaim(&mut self, tag: FlowTag) {
        let owner = self.tests.owner(tag).filter(|_| !self.tests.waits(tag));
        if let Some(number) = owner
            && let Some(test) = self.tests.get_mut(number)
            && let Some(flow) = test.index(tag)
        {
            let line = test.remove(flow).connected;
            if test.flows.is_empty() {
                self.tests.close(number);
            }
            if let Some(line) = line {
                self.tests.wait(Connected { tag, ..line });
            }
        }
    }

    fn row(&mut self, row: &Row) -> Vec<Iperf3Step> {
        let Subject::Flow(tag) = row.subject else {
            return Vec::new();
        };
        let mut steps = Vec::new();
        let (number, is_new) = match self.tests.owner(tag) {
            Some(number) => (number, false),
            None => self.test_of(tag),
        };
        let announced = self.tests.get(number).is_some_and(|test| !test.mirrored);
        if !announced {
            self.adopt(number, is_new, tag, row);
            steps.extend(is_new.then_some(Iperf3Step::Start(number)));
        }
        if let Some(test) = self.tests.get_mut(number)
            && let Some(flow) = test.index(tag)
        {
            let intervals = test.row(flow, row);
            steps.extend(
                intervals
                    .into_iter()
                    .map(|one| Iperf3Step::Interval(number, one)),
            );
        }
        if self.banner.is_none() && self.is_over(number) {
            steps.extend(self.close(number, None));
        }
        steps
    }

    /// The test that a flow belongs to which has not reported a row, and whether it is a new one.
    fn test_of(&mut self, tag: FlowTag) -> (u32, bool) {
        let line = self.tests.waiting_of(tag.id).map(TestKey::served);
        let key = match line {
            _ if self.banner.is_some() => TestKey::Own,
            Some(key) => {
                // All connections that were there belong to the test before.
                if let TestKey::From(_) = key {
                    self.tests.retire(key);
                }
                key
            }
            None => match self.tests.owner_of_either(tag) {
                Some(number) => return (number, false),
                None => TestKey::Own,
            },
        };
        let is_new = self.tests.number(key).is_none();
        (self.tests.open(key), is_new)
    }

    /// Whether a test over iperf 2's protocol has reported all that it will.
    fn is_over(&self, number: u32) -> bool {
        let Some(test) = self.tests.get(number).filter(|test| test.mirrored) else {
            return false;
        };
        let mut lines = test.flows.iter().filter_map(|flow| flow.connected.as_ref());
        let wanted = lines.find_map(|line| line.test?.flows).unwrap_or(0);
        test.flows.iter().all(|flow| flow.total.is_some())
            && (test.flows.len() as u64 >= u64::from(wanted)
                || self.tests.running() > MAX_INCOMPLETE)
    }

    /// A flow of a test that was not announced, and all that are connected at the same time.
    fn adopt(&mut self, number: u32, is_new: bool, tag: FlowTag, row: &Row) {
        let (own, key) = (self.banner.is_some(), self.tests.key(number));
        let lines = self.tests.take_all_waiting(|line| {
            let its = TestKey::served(line);
            // All of those come together.
            let comes = is_new || !matches!(its, TestKey::From(_));
            own || (comes && key == Some(its))
        });
        let Some(test) = self.tests.get_mut(number) else {
            return;
        };
        test.adopt(tag, row, lines, self.banner.as_ref());
        let tags: Vec<FlowTag> = test.flows.iter().map(|flow| flow.tag).collect();
        for tag in tags {
            self.tests.own(tag, number);
        }
    }

    fn server_report(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let own = self.tests.number(TestKey::Own);
        let test = own.and_then(|number| self.tests.get_mut(number));
        let flows = test.into_iter().flat_map(|test| &mut test.flows);
        let mut flows = flows.filter(|flow| flow.tag.id == tag.id && flow.sends);
        if let Some(flow) = flows.next() {
            flow.peer = Some(row.clone());
        }
    }

    fn end(&mut self, number: u32, end: &TestEnd) -> Vec<Iperf3Step> {
        let Some(test) = self.tests.get_mut(number) else {
            return Vec::new();
        };
        let intervals = test.finish(end.clone()).into_iter();
        let mut steps: Vec<Iperf3Step> = intervals
            .map(|one| Iperf3Step::Interval(number, one))
            .collect();
        steps.push(Iperf3Step::End(number));
        steps
    }

    /// Ends all tests that nobody announced.
    fn close_all(&mut self) -> Vec<Iperf3Step> {
        let failure = self.failure.take();
        let tests = self.tests.iter();
        let numbers: Vec<u32> = tests
            .filter(|(_, test)| test.mirrored)
            .map(|(number, _)| number)
            .collect();
        let close = |number| self.close(number, failure.clone());
        numbers.into_iter().flat_map(close).collect()
    }

    /// Ends a test that nobody announced.
    fn close(&mut self, number: u32, failure: Option<String>) -> Vec<Iperf3Step> {
        let banner = self.banner.as_ref();
        let congestion = banner.and_then(|banner| banner.congestion.clone());
        let Some(test) = self.tests.get_mut(number) else {
            return Vec::new();
        };
        let failure = test.condition.take().or(failure);
        let totals = test.flows.iter().filter_map(|flow| flow.total.as_ref());
        let longest = totals.map(|row| row.span.length()).max();
        if let Some(start) = &mut test.start {
            start.limit = TestLimit::Time(longest.unwrap_or_default());
        }
        self.end(
            number,
            &TestEnd {
                test: number,
                cpu: CpuUse::default(),
                peer_cpu: None,
                sender_congestion: congestion.map(|control| control.name),
                receiver_congestion: None,
                peer_totals: Vec::new(),
                lost_behind: Vec::new(),
                peer_output: None,
                peer_tapeline: None,
                failure: failure.map(|text| TestFailure {
                    code: 0,
                    text,
                    by_peer: false,
                    interrupted: true,
                }),
            },
        )
    }
}

/// A condition that ends a test over iperf 2's protocol, in iperf3's words where it has such.
fn failure(notice: &Notice) -> Option<String> {
    const UNABLE: &str = "unable to connect to server - server may have stopped running or use a \
                          different port, firewall issue, etc.: ";
    Some(match notice {
        Notice::ConnectFailed {
            reason,
            retrying: false,
            ..
        } => format!("{UNABLE}{reason}"),
        Notice::ConnectTimedOut { .. } => format!("{UNABLE}Connection timed out"),
        Notice::Unresolvable { host, reason } => format!("{UNABLE}{host}: {reason}"),
        Notice::BindFailed { reason, .. } => {
            format!("unable to create a new stream: {reason}")
        }
        Notice::DeviceFailed { device, reason } => {
            format!("Unable to bind-to-device: {device}: {reason}")
        }
        Notice::ListenFailed { reason, .. } => {
            format!("unable to start listener for connections: {reason}")
        }
        Notice::TrafficFailed { reason, .. } => {
            format!("stream socket has closed unexpectedly: {reason}")
        }
        Notice::WrongProtocol { host, port } => {
            format!("the server at {host} port {port} is iperf3's: use --peer iperf3")
        }
        Notice::PeerVanished { .. } | Notice::PeerGone { .. } => {
            "idle timeout for receiving data".to_owned()
        }
        Notice::Interrupted => "interrupt - the client has terminated".to_owned(),
        _ => return None,
    })
}
