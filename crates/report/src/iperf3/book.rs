//! Which test an event belongs to.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, Role};

use super::test::{Flow, Interval, Test};
use crate::model::{
    ClientBanner, Connected, ConnectionFlavour, CpuUse, Event, Measure, Notice, Phase, Row,
    Subject, TestDirection, TestEnd, TestFailure, TestLimit, TestStart, TestTransport,
};

/// Connections that are kept until their test starts.
const MOST_WAITING: usize = 1 << 16;
/// Tests over iperf 2's protocol that wait for flows that never come.
const MOST_INCOMPLETE: usize = 1024;

/// What tells a test from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// A control connection announced it, under this number.
    Announced(u32),
    /// This client's own, over iperf 2's protocol.
    Own,
    /// One that a server numbered.
    Numbered(u32),
    /// One of a client that says nothing of its test but where it comes from.
    Nameless(IpAddr),
}

impl Name {
    /// The test of a flow over iperf 2's protocol on a server.
    fn of(line: &Connected) -> Self {
        match line.test {
            Some(test) => Self::Numbered(test.number),
            None => Self::Nameless(line.peer.ip()),
        }
    }
}

/// What an event adds to a test, which has a number from 1.
#[derive(Debug)]
pub(super) enum Step {
    /// A control connection is there.
    Control(u32),
    /// Traffic starts.
    Start(u32),
    /// An interval is complete.
    Interval(u32, Interval),
    /// All is told; the test is to be [taken](Book::take).
    End(u32),
}

/// The tests that are being told.
#[derive(Debug, Default)]
pub(super) struct Book {
    tests: BTreeMap<u32, Test>,
    names: HashMap<Name, u32>,
    /// Number of the last test.
    last: u32,
    owners: HashMap<FlowTag, u32>,
    /// Connections of tests that have not started.
    waiting: Vec<Connected>,
    banner: Option<ClientBanner>,
    /// Why tests over iperf 2's protocol cannot be.
    failure: Option<String>,
    /// Tests are announced: they tell their own failures.
    announced: bool,
}

impl Book {
    /// Takes an event.
    pub(super) fn note(&mut self, event: &Event) -> Vec<Step> {
        self.announced |= matches!(event, Event::ControlConnected(_) | Event::TestEnd(_));
        match event {
            Event::ControlConnected(control) => {
                let number = self.number(Name::Announced(control.test));
                let mut test = Test::new();
                test.control = Some(control.clone());
                self.tests.insert(number, test);
                vec![Step::Control(number)]
            }
            Event::Connecting(banner) if !banner.connect_back => {
                self.banner = Some(banner.clone());
                Vec::new()
            }
            // Connections of tests that never started must not pile up.
            Event::Connected(line) => {
                if self.waiting.len() >= MOST_WAITING {
                    self.waiting.remove(0);
                }
                self.waiting.push(line.clone());
                Vec::new()
            }
            Event::TestStart(start) => self.start(start),
            Event::Row(row) => self.row(row),
            Event::ServerReport { row, .. } => {
                self.server_report(row);
                Vec::new()
            }
            Event::TestEnd(end) => self.end(end),
            Event::Notice(notice) => {
                self.condition(notice);
                Vec::new()
            }
            // A client's test has more to tell: its server's report, the flows of a later half.
            Event::Idle if self.banner.is_none() => self.close_all(),
            _ => Vec::new(),
        }
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self) -> Vec<Step> {
        if self.failure.is_some() && self.tests.is_empty() {
            let number = self.number(Name::Own);
            self.tests.insert(number, Test::unannounced());
        }
        self.close_all()
    }

    /// A test that is being told.
    pub(super) fn test(&self, number: u32) -> Option<&Test> {
        self.tests.get(&number)
    }

    /// How many tests are being told.
    pub(super) fn running(&self) -> usize {
        self.tests.len()
    }

    /// Forgets a test that has ended.
    pub(super) fn take(&mut self, number: u32) -> Option<Test> {
        let test = self.tests.remove(&number)?;
        self.names.retain(|_, known| *known != number);
        for flow in &test.flows {
            self.owners.remove(&flow.tag);
        }
        Some(test)
    }

    /// The number of a test, which is a new one where the name is.
    fn number(&mut self, name: Name) -> u32 {
        *self.names.entry(name).or_insert_with(|| {
            self.last = self.last.wrapping_add(1);
            self.last
        })
    }

    /// Notes why a test over iperf 2's protocol fails. A server's flows fail for themselves; tests
    /// that are announced tell their own failures.
    fn condition(&mut self, notice: &Notice) {
        let flow = match notice {
            Notice::TrafficFailed { tag, .. }
            | Notice::PeerVanished { tag, .. }
            | Notice::PeerGone { tag } => Some(tag),
            _ => None,
        };
        let owner = flow.and_then(|tag| self.owners.get(tag));
        if self.banner.is_none()
            && let Some(test) = owner.and_then(|number| self.tests.get_mut(number))
        {
            if test.mirrored && test.condition.is_none() {
                test.condition = failure(notice);
            }
        } else if !self.announced {
            // What explains the others counts.
            let explains = matches!(notice, Notice::OtherFamily { .. });
            let before = self.failure.take().filter(|_| !explains);
            self.failure = before.or_else(|| failure(notice));
        }
    }

    fn start(&mut self, start: &TestStart) -> Vec<Step> {
        let number = self.number(Name::Announced(start.test));
        let flows = start.flows.iter();
        let flows = flows
            .map(|(tag, sends)| Flow::new(*tag, *sends, self.connection(*tag)))
            .collect();
        let test = self.tests.entry(number).or_insert_with(Test::new);
        test.flows = flows;
        test.start = Some(TestStart {
            test: number,
            ..start.clone()
        });
        for (tag, _) in &start.flows {
            self.owners.insert(*tag, number);
        }
        vec![Step::Start(number)]
    }

    /// Takes the connection of a flow; it may have been taken for one that nobody announces.
    fn connection(&mut self, tag: FlowTag) -> Option<Connected> {
        if let Some(at) = self.waiting.iter().rposition(|line| line.tag == tag) {
            return Some(self.waiting.swap_remove(at));
        }
        let number = self.owners.remove(&tag)?;
        let test = self.tests.get_mut(&number)?;
        let at = test.index(tag)?;
        let line = test.remove(at).connected;
        if test.flows.is_empty() {
            self.take(number);
        }
        line
    }

    fn row(&mut self, row: &Row) -> Vec<Step> {
        let Subject::Flow(tag) = row.subject else {
            return Vec::new();
        };
        let mut steps = Vec::new();
        let number = match self.owners.get(&tag) {
            Some(number) => *number,
            None => self.name(tag),
        };
        let announced = self.tests.get(&number).is_some_and(|test| !test.mirrored);
        if !announced {
            steps.extend(self.adopt(number, tag, row));
        }
        if let Some(test) = self.tests.get_mut(&number)
            && let Some(flow) = test.index(tag)
        {
            let intervals = test.row(flow, row);
            steps.extend(intervals.into_iter().map(|one| Step::Interval(number, one)));
        }
        if self.banner.is_none() && self.is_over(number) {
            steps.extend(self.close(number, None));
        }
        steps
    }

    /// The number of the test that a flow belongs to which has not told a row.
    fn name(&mut self, tag: FlowTag) -> u32 {
        if self.banner.is_some() {
            return self.number(Name::Own);
        }
        let line = self.waiting.iter().rfind(|line| line.tag.id == tag.id);
        if let Some(name) = line.map(Name::of) {
            // All connections that were there belong to the test before.
            if let Name::Nameless(_) = name {
                self.names.remove(&name);
            }
            return self.number(name);
        }
        // The other direction of a connection.
        let mut known = self.owners.iter();
        match known.find(|(other, _)| other.id == tag.id) {
            Some((_, number)) => *number,
            None => self.number(Name::Own),
        }
    }

    /// Whether a test over iperf 2's protocol has told all that it will.
    fn is_over(&self, number: u32) -> bool {
        let Some(test) = self.tests.get(&number).filter(|test| test.mirrored) else {
            return false;
        };
        let mut lines = test.flows.iter().filter_map(|flow| flow.connected.as_ref());
        let wanted = lines.find_map(|line| line.test?.flows).unwrap_or(0);
        test.flows.iter().all(|flow| flow.total.is_some())
            && (test.flows.len() as u64 >= u64::from(wanted) || self.tests.len() > MOST_INCOMPLETE)
    }

    /// A flow of a test that was not announced, and all that are connected beside it. Which end
    /// sends shows when a flow tells its first row; until then it is taken for the same.
    fn adopt(&mut self, number: u32, tag: FlowTag, row: &Row) -> Option<Step> {
        let first = !self.tests.contains_key(&number);
        let mut test = self.tests.remove(&number).unwrap_or_else(Test::unannounced);
        let sends = sends(&row.measure);
        let own = self.banner.is_some();
        let names = &self.names;
        let joins = |line: &mut Connected| match Name::of(line) {
            _ if own => true,
            // All of them come together.
            name @ Name::Nameless(_) => first && names.get(&name) == Some(&number),
            name => names.get(&name) == Some(&number),
        };
        for line in self.waiting.extract_if(.., joins) {
            let both = line.flavour == ConnectionFlavour::FullDuplex;
            let flow = Flow::new(line.tag, sends, Some(line.clone()));
            test.flows.push(flow);
            if both {
                let other = FlowTag {
                    reversed: !line.tag.reversed,
                    ..line.tag
                };
                let flow = Flow::new(other, !sends, Some(line));
                test.flows.push(flow);
            }
        }
        let known = test.index(tag).or_else(|| {
            // A connection's line may name the direction that carries nothing.
            let silent = |flow: &Flow| flow.tag.id == tag.id && !flow.has_spoken();
            test.flows.iter().position(silent)
        });
        match known {
            Some(known) => {
                test.flows[known].tag = tag;
                test.flows[known].sends = sends;
            }
            None => {
                // The other direction of a connection.
                let mut lines = test.flows.iter().filter_map(|flow| flow.connected.as_ref());
                let line = lines.find(|line| line.tag.id == tag.id).cloned();
                test.flows.push(Flow::new(tag, sends, line));
            }
        }
        // The directions of one connection differ.
        let other = test.flows.iter_mut();
        for flow in other.filter(|flow| flow.tag.id == tag.id && flow.tag != tag) {
            flow.sends = !sends;
        }
        let mut start = match test.start.take() {
            Some(start) => start,
            None => self.unannounced_start(number, row),
        };
        let flows = test.flows.iter();
        start.flows = flows.map(|flow| (flow.tag, flow.sends)).collect();
        start.direction = direction(&start);
        let streams = match start.direction {
            TestDirection::Bidirectional => start.flows.len().div_ceil(2),
            TestDirection::Forward | TestDirection::Reverse => start.flows.len(),
        };
        start.streams = u32::try_from(streams).unwrap_or(u32::MAX);
        for (tag, _) in &start.flows {
            self.owners.insert(*tag, number);
        }
        test.start = Some(start);
        self.tests.insert(number, test);
        first.then_some(Step::Start(number))
    }

    fn unannounced_start(&self, number: u32, row: &Row) -> TestStart {
        let banner = self.banner.as_ref();
        let length = banner.map_or(0, |banner| banner.write_length);
        let buffer = banner.map(|banner| banner.buffer).unwrap_or_default();
        let interval = (row.phase == Phase::Interval).then(|| row.span.length());
        TestStart {
            test: number,
            flows: Vec::new(),
            role: if banner.is_some() {
                Role::Client
            } else {
                Role::Server
            },
            transport: match row.measure {
                Measure::UdpSend(_) | Measure::UdpReceive(_) => TestTransport::Udp,
                _ => TestTransport::Tcp,
            },
            direction: TestDirection::Forward,
            streams: 0,
            block_length: u32::try_from(length).unwrap_or(u32::MAX),
            limit: TestLimit::Time(Duration::ZERO),
            omit: Duration::ZERO,
            interval,
            tos: banner.map_or(0, |banner| banner.tos.0),
            target_rate: banner.and_then(|banner| banner.rate).unwrap_or(0),
            pacing_rate: 0,
            segment_size: None,
            window: buffer.requested.unwrap_or(0),
            buffers: (buffer.actual, buffer.actual),
            send_offload: false,
            receive_offload: false,
            title: None,
            extra_data: None,
            file: None,
        }
    }

    fn server_report(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let own = self.names.get(&Name::Own);
        let test = own.and_then(|number| self.tests.get_mut(number));
        let flows = test.into_iter().flat_map(|test| &mut test.flows);
        let mut flows = flows.filter(|flow| flow.tag.id == tag.id && flow.sends);
        if let Some(flow) = flows.next() {
            flow.peer = Some(row.clone());
        }
    }

    fn end(&mut self, end: &TestEnd) -> Vec<Step> {
        let number = self.number(Name::Announced(end.test));
        self.end_of(number, end)
    }

    fn end_of(&mut self, number: u32, end: &TestEnd) -> Vec<Step> {
        let test = self.tests.entry(number).or_insert_with(Test::new);
        let intervals = test.finish(end.clone()).into_iter();
        let mut steps: Vec<Step> = intervals.map(|one| Step::Interval(number, one)).collect();
        steps.push(Step::End(number));
        steps
    }

    /// Ends all tests that nobody announced.
    fn close_all(&mut self) -> Vec<Step> {
        let failure = self.failure.take();
        let tests = self.tests.iter();
        let numbers: Vec<u32> = tests
            .filter(|(_, test)| test.mirrored)
            .map(|(number, _)| *number)
            .collect();
        let close = |number| self.close(number, failure.clone());
        numbers.into_iter().flat_map(close).collect()
    }

    /// Ends a test that nobody announced.
    fn close(&mut self, number: u32, failure: Option<String>) -> Vec<Step> {
        let banner = self.banner.as_ref();
        let congestion = banner.and_then(|banner| banner.congestion.clone());
        let Some(test) = self.tests.get_mut(&number) else {
            return Vec::new();
        };
        let failure = test.condition.take().or(failure);
        let totals = test.flows.iter().filter_map(|flow| flow.total.as_ref());
        let longest = totals.map(|row| row.span.length()).max();
        if let Some(start) = &mut test.start {
            start.limit = TestLimit::Time(longest.unwrap_or_default());
        }
        self.end_of(
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

fn sends(measure: &Measure) -> bool {
    matches!(
        measure,
        Measure::TcpSend(_) | Measure::UdpSend(_) | Measure::RequestResponse(_)
    )
}

fn direction(start: &TestStart) -> TestDirection {
    let client = start.role == Role::Client;
    let forward = |(_, sends): &(FlowTag, bool)| *sends == client;
    match (
        start.flows.iter().any(forward),
        start.flows.iter().all(forward),
    ) {
        (_, true) => TestDirection::Forward,
        (true, false) => TestDirection::Bidirectional,
        (false, false) => TestDirection::Reverse,
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
        Notice::OtherFamily { host, port } => {
            format!("the server at {host} port {port} is iperf3's: use --peer iperf3")
        }
        Notice::PeerVanished { .. } | Notice::PeerGone { .. } => {
            "idle timeout for receiving data".to_owned()
        }
        Notice::Interrupted => "interrupt - the client has terminated".to_owned(),
        _ => return None,
    })
}
