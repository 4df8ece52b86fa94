//! What the reporter knows between two commands.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{Clock, FlowTag, MonoTime, WallTime};
use tapeline_report::{Event, Notice, Phase, ProbeDelays, Row, Subject};
use tapeline_stats::Moments;
use tapeline_sys::{HostCounters, release_free_memory, set_timer_slack_minimal};

use super::flow::{ActiveFlow, FlowReport};
use super::flow_start::{FlowEnd, FlowStart, GroupKey};
use super::groups::{Group, SingleSums};
use super::inbox::Inbox;
use super::open_tests::OpenTests;
use super::processor::{ClockWatch, ProcessorWatch};
use super::subscribers::{FlowTotals, Subscribers};
use super::verdicts::VerdictCollector;

/// How rows are formed.
#[derive(Clone, Copy, Debug)]
pub struct ReporterSettings {
    /// A last partial interval is reported when longer than this share of the interval.
    pub partial_share: f64,
    /// Which sums over one flow are reported.
    pub single_sums: SingleSums,
}

impl Default for ReporterSettings {
    fn default() -> Self {
        Self {
            partial_share: 0.25,
            single_sums: SingleSums::None,
        }
    }
}

/// What the reporter is sent.
pub(crate) enum Command {
    Event(Box<Event>),
    /// What a client counted, or that it is given up: the last of the test of these totals.
    PeerComplete(Box<Event>, Arc<FlowTotals>),
    Start(Box<FlowStart>),
    /// With the place that waits for the total, if any.
    End(FlowTag, Box<FlowEnd>, Option<mpsc::SyncSender<Row>>),
    /// The flow was no test: nothing is reported of it.
    Discard(FlowTag),
    /// The round trip of a probe.
    Probed(Duration),
    Flush(mpsc::SyncSender<()>),
    Quit,
}

/// Time for which the sum of flows that have all ended waits for flows of the same test
/// that have not begun yet.
const STRAGGLERS: Duration = Duration::from_secs(1);
/// Time for which a reading of the host's counters is good enough: reading takes longer than many
/// a flow's start.
const HOST_READING: Duration = Duration::from_millis(20);
/// Time after the end of a flow, or of a connection that became none, until their memory is given
/// back; once for all that end meanwhile.
const TIDYING: Duration = Duration::from_secs(1);

/// Whether something ends with it that had memory of its own.
fn leaves_memory(command: &Command) -> bool {
    match command {
        Command::End(..) | Command::Discard(_) => true,
        Command::Event(event) => matches!(**event, Event::Notice(_)),
        _ => false,
    }
}

pub(crate) struct State<C> {
    settings: ReporterSettings,
    sink: Box<dyn FnMut(Event) + Send>,
    flows: BTreeMap<FlowTag, ActiveFlow>,
    /// Groups with members that have reported something that was not added up yet.
    groups: BTreeMap<u64, Group>,
    boundaries: BinaryHeap<Reverse<(MonoTime, FlowTag)>>,
    /// Groups whose members have all ended although some never began.
    waiting: BTreeMap<u64, MonoTime>,
    /// Decides what limited the flows that have ended.
    collector: VerdictCollector,
    /// A server's tests that are not over.
    tests: OpenTests,
    /// That nothing runs was reported.
    idle: bool,
    /// Processor use while flows run.
    processor: Option<ProcessorWatch>,
    /// Round trips of probes that were not reported yet, seconds.
    probes: Moments,
    /// The host's counters, and when they were read.
    host: Option<(MonoTime, HostCounters)>,
    /// Observes what is known of each flow's limits.
    subscribers: Subscribers,
    /// Sees when the time of day is set.
    watch: ClockWatch,
    /// When memory that ended tests have left behind goes back to the system.
    tidied: Option<MonoTime>,
    clock: C,
}

impl<C: Clock> State<C> {
    pub(crate) fn new(
        settings: ReporterSettings,
        sink: impl FnMut(Event) + Send + 'static,
        clock: C,
    ) -> Self {
        Self {
            settings,
            sink: Box::new(sink),
            flows: BTreeMap::new(),
            groups: BTreeMap::new(),
            boundaries: BinaryHeap::new(),
            waiting: BTreeMap::new(),
            collector: VerdictCollector::default(),
            tests: OpenTests::default(),
            idle: true,
            processor: None,
            probes: Moments::EMPTY,
            host: None,
            subscribers: Subscribers::default(),
            watch: ClockWatch::default(),
            tidied: None,
            clock,
        }
    }

    /// With somebody who follows flows.
    pub(crate) fn observed_by(self, subscribers: Subscribers) -> Self {
        Self {
            subscribers,
            ..self
        }
    }

    /// Obeys until asked to quit or until nobody is left to ask for anything.
    pub(crate) fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        set_timer_slack_minimal();
        let mut inbox = Inbox::new(inbox);
        loop {
            match inbox.next(self.next_due(), &self.clock) {
                Ok(Command::Quit) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.pass_time();
        }
        self.close();
    }

    /// When something is to be reported although nobody asks for anything.
    fn next_due(&self) -> Option<MonoTime> {
        let boundary = self.boundaries.peek().map(|Reverse((due, _))| *due);
        let awaited = self.tests.due(self.clock.now());
        boundary
            .into_iter()
            .chain(self.waiting.values().copied())
            .chain(awaited)
            .chain(self.tidied)
            .min()
    }

    pub(crate) fn obey(&mut self, command: Command) {
        if leaves_memory(&command) && self.tidied.is_none() {
            self.tidied = Some(self.clock.now() + TIDYING);
        }
        match command {
            Command::Event(event) => {
                let verdicts = self.collector.observe(&event);
                self.tests.observe(&event);
                if let Some(sum) = self.awaited_sum(&event) {
                    return sum.report_behind(*event);
                }
                // With its end, what is reported of a test is complete.
                if matches!(*event, Event::TestEnd(_)) {
                    self.report_all(verdicts);
                    (self.sink)(*event);
                } else {
                    (self.sink)(*event);
                    self.report_all(verdicts);
                }
                self.report_over();
            }
            // The test is over with this event, not before it.
            Command::PeerComplete(event, totals) => {
                totals.client_is_complete();
                self.obey(Command::Event(event));
            }
            Command::Start(start) => self.start(*start),
            Command::End(tag, end, reply) => {
                let total = self.end(tag, *end);
                if let Some((reply, total)) = reply.zip(total) {
                    let _ = reply.send(total);
                }
            }
            Command::Discard(tag) => self.discard(tag),
            // What comes after the flows is no interval's.
            Command::Probed(round_trip) if self.processor.is_some() => {
                self.probes.add(round_trip.as_secs_f64());
            }
            Command::Probed(_) => {}
            Command::Flush(done) => {
                let _ = done.send(());
            }
            Command::Quit => {}
        }
    }

    /// The sum that is reported in front of a server's report: a test's senders end together, and
    /// readers expect all that they say before what their server says.
    fn awaited_sum(&mut self, event: &Event) -> Option<&mut Group> {
        let Event::ServerReport { row, .. } = event else {
            return None;
        };
        let Subject::Flow(tag) = row.subject else {
            return None;
        };
        self.groups.values_mut().find(|group| group.will_sum(tag))
    }

    /// Reports what has become due.
    pub(crate) fn pass_time(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((due, tag))) = self.boundaries.peek().copied()
            && due <= now
        {
            self.boundaries.pop();
            self.close_interval(due, tag);
        }
        let late = |due: &MonoTime| *due <= now;
        while let Some((&number, _)) = self.waiting.iter().find(|(_, due)| late(due)) {
            self.report_group(number);
        }
        self.report_over();
        if self.tidied.is_some_and(|due| due <= now) {
            self.tidied = None;
            release_free_memory();
        }
    }

    /// Ends what still runs and reports what still waits.
    pub(crate) fn close(&mut self) {
        let at = self.clock.now();
        let left: Vec<FlowTag> = self.flows.keys().copied().collect();
        for tag in left {
            let end = FlowEnd {
                at,
                ..FlowEnd::default()
            };
            self.end(tag, end);
        }
        while let Some((number, _)) = self.groups.first_key_value() {
            self.report_group(*number);
        }
        let verdicts = self.collector.close();
        self.report_all(verdicts);
    }

    fn report_all(&mut self, events: Vec<Event>) {
        for event in events {
            (self.sink)(event);
        }
    }

    /// The host's counters now. Flows that begin or end together share a reading.
    fn host(&mut self) -> HostCounters {
        let now = self.clock.now();
        match self.host {
            Some((read, counters)) if now.since(read) < HOST_READING => counters,
            _ => {
                let counters = HostCounters::read();
                self.host = Some((now, counters));
                counters
            }
        }
    }

    /// The time of day. Reports when it was set since it was read last.
    fn wall(&mut self) -> WallTime {
        let (before, wall) = (self.clock.now(), self.clock.wall());
        if let Some(by) = self.watch.look(before, wall, self.clock.now()) {
            (self.sink)(Event::Notice(Notice::ClockSet { by }));
        }
        wall
    }

    fn start(&mut self, start: FlowStart) {
        if self.flows.is_empty() {
            self.watch = ClockWatch::default();
        }
        self.wall();
        for key in &start.groups {
            let single = self.settings.single_sums;
            let group = self
                .groups
                .entry(key.number)
                .or_insert_with(|| Group::new(key.kind, single));
            group.join(start.tag, key.members, start.interval.is_some());
            self.waiting.remove(&key.number);
        }
        let host = self.host();
        if self.processor.is_none() {
            self.processor = Some(ProcessorWatch::begin(self.clock.now()));
        }
        let flow = ActiveFlow::new(start, host);
        let now = self.clock.now();
        self.tests.started(flow.test_number(), flow.tag(), now);
        self.idle = false;
        if let Some(due) = flow.next_due() {
            self.boundaries.push(Reverse((due, flow.tag())));
        }
        self.flows.insert(flow.tag(), flow);
    }

    fn close_interval(&mut self, due: MonoTime, tag: FlowTag) {
        let wall = self.wall();
        let Some(flow) = self.flows.get_mut(&tag) else {
            return;
        };
        // A tag may have been reused: its new flow has its own entry.
        if flow.next_due() != Some(due) {
            return;
        }
        let length = flow.interval();
        let (index, report) = flow.close_interval(wall);
        let groups = flow.groups().to_vec();
        if let Some(next) = flow.next_due() {
            self.boundaries.push(Reverse((next, tag)));
        }
        self.report_process_wide(length);
        self.report_interval(tag, index, report, &groups);
    }

    /// Reports what belongs to no flow, once where intervals of this length end for several.
    fn report_process_wide(&mut self, length: Option<Duration>) {
        let now = self.clock.now();
        let used = self.processor.as_mut().zip(length);
        let Some(used) = used.and_then(|(watch, length)| watch.interval(now, length)) else {
            return;
        };
        (self.sink)(used);
        let round_trips = std::mem::replace(&mut self.probes, Moments::EMPTY);
        if round_trips.count > 0 {
            (self.sink)(Event::Probes(ProbeDelays { round_trips }));
        }
    }

    fn report_interval(
        &mut self,
        tag: FlowTag,
        index: u64,
        report: FlowReport,
        groups: &[GroupKey],
    ) {
        let by_burst = report.bursts.is_some();
        let row = self.report(report);
        // Bursts of several flows have no times in common.
        for key in groups.iter().filter(|_| !by_burst) {
            if let Some(group) = self.groups.get_mut(&key.number) {
                for event in group.interval(tag, index, row.clone()) {
                    (self.sink)(event);
                }
            }
        }
    }

    /// Reports a row and the histograms behind it; returns the row.
    fn report(&mut self, report: FlowReport) -> Row {
        let replaced = report.bursts.is_some() && report.row.phase == Phase::Interval;
        for burst in report.bursts.into_iter().flatten() {
            (self.sink)(Event::Row(burst));
        }
        if !replaced {
            (self.sink)(Event::Row(report.row.clone()));
        }
        for histogram in report.histograms {
            (self.sink)(Event::Histogram(histogram));
        }
        report.row
    }

    /// Ends a flow; returns its total.
    fn end(&mut self, tag: FlowTag, end: FlowEnd) -> Option<Row> {
        let mut flow = self.flows.remove(&tag)?;
        let wall = self.wall();
        let groups = flow.groups().to_vec();
        let last = flow.last_intervals(end.at, wall, self.settings.partial_share);
        self.report_process_wide(last.last().map(|(_, report)| report.row.span.length()));
        for (index, report) in last {
            self.report_interval(tag, index, report, &groups);
        }
        let host = self.host();
        let (report, evidence) = flow.total(&end, wall, &host);
        if let Some(evidence) = evidence {
            self.subscribers.judge(tag, evidence);
        }
        let total = self.report(report);
        let number = flow.test_number();
        self.tests.ended(number);
        let verdicts = evidence.map(|evidence| {
            let transport = flow.transport();
            self.collector.flow_ended(number, tag, transport, evidence)
        });
        self.report_all(verdicts.unwrap_or_default());
        if let Some(datagrams) = end.sent {
            (self.sink)(Event::Sent {
                tag: Some(tag),
                flows: 1,
                datagrams,
            });
        }
        for key in groups {
            let Some(group) = self.groups.get_mut(&key.number) else {
                continue;
            };
            for event in group.total(tag, total.clone(), end.sent) {
                (self.sink)(event);
            }
            if group.is_complete() {
                self.report_group(key.number);
            } else if group.is_idle() {
                let due = self.clock.now() + STRAGGLERS;
                self.waiting.insert(key.number, due);
            }
        }
        if self.flows.is_empty() {
            let now = self.clock.now();
            self.probes = Moments::EMPTY;
            let used = self.processor.take().and_then(|watch| watch.end(now));
            self.report_all(used.into_iter().collect());
        }
        self.report_over();
        Some(total)
    }

    /// Forgets a flow, and what it was to be added to.
    fn discard(&mut self, tag: FlowTag) {
        let Some(flow) = self.flows.remove(&tag) else {
            return;
        };
        for key in flow.groups() {
            self.groups.remove(&key.number);
            self.waiting.remove(&key.number);
        }
        if self.flows.is_empty() {
            self.probes = Moments::EMPTY;
            self.processor = None;
        }
        self.tests.ended(flow.test_number());
        self.report_over();
    }

    /// Reports what a group's ended flows add up to, and forgets it.
    fn report_group(&mut self, number: u64) {
        self.waiting.remove(&number);
        if let Some(group) = self.groups.remove(&number) {
            for event in group.finish() {
                (self.sink)(event);
            }
        }
    }

    /// Reports the tests that are over, and when nothing is left.
    fn report_over(&mut self) {
        if self.idle {
            return;
        }
        let waiting = &self.waiting;
        let waits = |number| waiting.contains_key(&number);
        let over = self
            .tests
            .take_over(self.clock.now(), waits, &self.subscribers);
        for flows in over {
            let verdicts = self.collector.over(&flows);
            self.report_all(verdicts);
            (self.sink)(Event::TestOver(flows));
        }
        if self.flows.is_empty() && self.waiting.is_empty() && self.tests.is_empty() {
            self.idle = true;
            let verdicts = self.collector.idle();
            self.report_all(verdicts);
            (self.sink)(Event::Idle);
        }
    }
}

#[cfg(test)]
mod tests;
