//! What the reporter knows between two commands.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tapeline_base::{Clock, FlowTag, MonoTime, WallTime};
use tapeline_report::{Event, Notice, Phase, ProbeDelays, Row};
use tapeline_stats::Moments;
use tapeline_sys::{HostCounters, release_free_memory, set_timer_slack_minimal};

use super::awaited::AwaitedClients;
use super::clock_watch::ClockWatch;
use super::flow::{ActiveFlow, Told};
use super::following::Followers;
use super::group::Group;
use super::jury::Jury;
use super::processor::ProcessorWatch;
use super::{Command, FlowEnd, FlowStart, GroupKey, ReporterSettings};

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
        Command::End(..) => true,
        Command::Event(event) => matches!(**event, Event::Notice(_)),
        _ => false,
    }
}

pub(super) struct State<C> {
    settings: ReporterSettings,
    sink: Box<dyn FnMut(Event) + Send>,
    flows: BTreeMap<FlowTag, ActiveFlow>,
    /// Groups with members that have told something that was not added up yet.
    groups: BTreeMap<u64, Group>,
    boundaries: BinaryHeap<Reverse<(MonoTime, FlowTag)>>,
    /// Groups whose members have all ended although some never began.
    waiting: BTreeMap<u64, MonoTime>,
    /// Decides what limited the flows that have ended.
    jury: Jury,
    /// Whose results a server's tests wait for.
    awaited: AwaitedClients,
    /// Nothing runs, and that was not told yet: a client has not told its results.
    idle_held: bool,
    /// Processor use while flows run.
    processor: Option<ProcessorWatch>,
    /// Round trips of probes that were not told yet, seconds.
    probes: Moments,
    /// The host's counters, and when they were read.
    host: Option<(MonoTime, HostCounters)>,
    /// Told what is known of each flow's limits.
    followers: Followers,
    /// Sees when the time of day is set.
    watch: ClockWatch,
    /// When memory that ended tests have left behind goes back to the system.
    tidied: Option<MonoTime>,
    clock: C,
}

impl<C: Clock> State<C> {
    pub(super) fn new(
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
            jury: Jury::default(),
            awaited: AwaitedClients::default(),
            idle_held: false,
            processor: None,
            probes: Moments::EMPTY,
            host: None,
            followers: Followers::default(),
            watch: ClockWatch::default(),
            tidied: None,
            clock,
        }
    }

    /// With somebody who follows flows.
    pub(super) fn followed_by(self, followers: Followers) -> Self {
        Self { followers, ..self }
    }

    /// Obeys until told to quit or until nobody is left to tell anything.
    pub(super) fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        set_timer_slack_minimal();
        loop {
            let command = match self.next_due() {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => inbox.recv_timeout(due.since(self.clock.now())),
            };
            match command {
                Ok(Command::Quit) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(command) => self.obey(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.pass_time();
        }
        self.close();
    }

    /// When something is to be told although nobody says anything.
    fn next_due(&self) -> Option<MonoTime> {
        let boundary = self.boundaries.peek().map(|Reverse((due, _))| *due);
        let awaited = self.awaited.due().filter(|_| self.idle_held);
        boundary
            .into_iter()
            .chain(self.waiting.values().copied())
            .chain(awaited)
            .chain(self.tidied)
            .min()
    }

    pub(super) fn obey(&mut self, command: Command) {
        if leaves_memory(&command) && self.tidied.is_none() {
            self.tidied = Some(self.clock.now() + TIDYING);
        }
        match command {
            Command::Event(event) => {
                let verdicts = self.jury.hear(&event);
                self.awaited.hear(&event, self.clock.now());
                // With its end, what is told of a test is complete.
                if matches!(*event, Event::TestEnd(_)) {
                    self.tell_all(verdicts);
                    (self.sink)(*event);
                } else {
                    (self.sink)(*event);
                    self.tell_all(verdicts);
                }
                if self.idle_held {
                    self.tell_idle();
                }
            }
            Command::Start(start) => self.start(*start),
            Command::End(tag, end, reply) => {
                let total = self.end(tag, end);
                if let Some((reply, total)) = reply.zip(total) {
                    let _ = reply.send(total);
                }
            }
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

    /// Tells what has become due.
    pub(super) fn pass_time(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((due, tag))) = self.boundaries.peek().copied()
            && due <= now
        {
            self.boundaries.pop();
            self.close_interval(due, tag);
        }
        let late = |due: &MonoTime| *due <= now;
        while let Some((&number, _)) = self.waiting.iter().find(|(_, due)| late(due)) {
            self.tell_group(number);
            self.tell_idle();
        }
        if self.idle_held {
            self.tell_idle();
        }
        if self.tidied.is_some_and(|due| due <= now) {
            self.tidied = None;
            release_free_memory();
        }
    }

    /// Ends what still runs and tells what still waits.
    pub(super) fn close(&mut self) {
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
            self.tell_group(*number);
        }
        let verdicts = self.jury.close();
        self.tell_all(verdicts);
    }

    fn tell_all(&mut self, events: Vec<Event>) {
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

    /// The time of day. Tells when it was set since it was read last.
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
            let single = self.settings.sum_single;
            let group = self
                .groups
                .entry(key.number)
                .or_insert_with(|| Group::new(key.kind, single));
            group.join(start.tag, key.members);
            self.waiting.remove(&key.number);
        }
        let host = self.host();
        if self.processor.is_none() {
            self.processor = Some(ProcessorWatch::begin(self.clock.now()));
        }
        let flow = ActiveFlow::new(start, host);
        if let Some(due) = flow.next_boundary() {
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
        if flow.next_boundary() != Some(due) {
            return;
        }
        let length = flow.interval();
        let (index, told) = flow.close_interval(wall);
        let groups = flow.groups().to_vec();
        if let Some(next) = flow.next_boundary() {
            self.boundaries.push(Reverse((next, tag)));
        }
        self.tell_beside(length);
        self.tell_interval(tag, index, told, &groups);
    }

    /// Tells what belongs to no flow, once where intervals of this length end for several.
    fn tell_beside(&mut self, length: Option<Duration>) {
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

    fn tell_interval(&mut self, tag: FlowTag, index: u64, told: Told, groups: &[GroupKey]) {
        let by_burst = told.bursts.is_some();
        let row = self.tell(told);
        // Bursts of several flows have no times in common.
        for key in groups.iter().filter(|_| !by_burst) {
            if let Some(group) = self.groups.get_mut(&key.number) {
                for event in group.interval(tag, index, row.clone()) {
                    (self.sink)(event);
                }
            }
        }
    }

    /// Tells a row and the histograms behind it; returns the row.
    fn tell(&mut self, told: Told) -> Row {
        let replaced = told.bursts.is_some() && told.row.phase == Phase::Interval;
        for burst in told.bursts.into_iter().flatten() {
            (self.sink)(Event::Row(burst));
        }
        if !replaced {
            (self.sink)(Event::Row(told.row.clone()));
        }
        for histogram in told.histograms {
            (self.sink)(Event::Histogram(histogram));
        }
        told.row
    }

    /// Ends a flow; returns its total.
    fn end(&mut self, tag: FlowTag, end: FlowEnd) -> Option<Row> {
        let mut flow = self.flows.remove(&tag)?;
        let wall = self.wall();
        let groups = flow.groups().to_vec();
        let last = flow.last_intervals(end.at, wall, self.settings.partial_share);
        self.tell_beside(last.last().map(|(_, told)| told.row.span.length()));
        for (index, told) in last {
            self.tell_interval(tag, index, told, &groups);
        }
        let host = self.host();
        let (told, evidence) = flow.total(&end, wall, &host);
        if let Some(evidence) = evidence {
            self.followers.judge(tag, evidence.into());
        }
        let total = self.tell(told);
        let number = flow.test_number();
        let verdicts = evidence.map(|evidence| {
            let transport = flow.transport();
            self.jury.flow_ended(number, tag, transport, evidence)
        });
        self.tell_all(verdicts.unwrap_or_default());
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
                self.tell_group(key.number);
            } else if group.is_idle() {
                let due = self.clock.now() + STRAGGLERS;
                self.waiting.insert(key.number, due);
            }
        }
        if self.flows.is_empty() {
            let now = self.clock.now();
            self.probes = Moments::EMPTY;
            let used = self.processor.take().and_then(|watch| watch.end(now));
            self.tell_all(used.into_iter().collect());
        }
        self.tell_idle();
        Some(total)
    }

    /// Tells what a group's ended flows add up to, and forgets it.
    fn tell_group(&mut self, number: u64) {
        self.waiting.remove(&number);
        if let Some(group) = self.groups.remove(&number) {
            for event in group.finish() {
                (self.sink)(event);
            }
        }
    }

    fn tell_idle(&mut self) {
        self.idle_held = false;
        if self.flows.is_empty() && self.waiting.is_empty() {
            if self.awaited.is_anybody(self.clock.now()) {
                self.idle_held = true;
                return;
            }
            let verdicts = self.jury.idle();
            self.tell_all(verdicts);
            (self.sink)(Event::Idle);
        }
    }
}

#[cfg(test)]
mod tests;
