//! From events to documents: which test an event belongs to, and when that is complete.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{FlowTag, Role, WallTime};

use super::incident::Incident;
use super::interval::{Beside, Interval};
use super::progress::FarProgress;
use super::report::{Report, TestShape, Workload};
use super::series::SeriesReport;
use super::tale::Tale;
use super::warning::{WarningId, of_notice, warning};
use crate::model::{Connected, Event, Notice, Phase, Repetition, Row, Severity, Subject, Warning};
use crate::native;
use crate::style::Style;

/// What no event says of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Occasion {
    /// Version of the program.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// Which end it is.
    pub role: Role,
    /// What a client was asked for.
    pub planned: Option<Planned>,
    /// How addresses are shown.
    pub style: Style,
}

/// What a client was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The host as it was typed.
    pub host: String,
    /// `tcp`, `udp` or `sctp`.
    pub transport: &'static str,
    /// Who sends.
    pub direction: TestShape,
    /// What the flows do.
    pub workload: Workload,
    /// When it is over.
    pub limit: PlannedLimit,
    /// What does not count at the start.
    pub omit: Duration,
    /// Flows.
    pub streams: usize,
    /// The interval.
    pub interval: Option<Duration>,
}

/// When a test is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedLimit {
    /// After this time.
    Time(Duration),
    /// After so many bytes of each flow.
    Bytes(u64),
    /// When it is interrupted.
    Never,
}

/// What an event adds.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A test has begun.
    Start {
        /// Its number, from 1.
        test: u32,
        /// What is known of it.
        report: Box<Report>,
    },
    /// An interval of a flow.
    Interval {
        /// Number of its test.
        test: u32,
        /// The numbers.
        interval: Box<Interval>,
    },
    /// Running counters of the other end.
    Progress {
        /// Number of the test.
        test: u32,
        /// The counters.
        progress: FarProgress,
    },
    /// Something to know.
    Warning {
        /// Number of the test, where it concerns one.
        test: Option<u32>,
        /// What.
        warning: Warning,
        /// Whom it is about, where that is no test's peer.
        incident: Option<Incident>,
    },
    /// A test has ended.
    End {
        /// Its number.
        test: u32,
        /// All of it.
        report: Box<Report>,
    },
    /// All runs of a series have ended.
    Series(Box<SeriesReport>),
}

/// What makes flows a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A client runs one.
    Client,
    /// A server was told so (iperf3).
    Announced(u32),
    /// A server saw that they belong together (iperf 2).
    Served(u32),
    /// Flows from one address that run at the same time, where nothing else is known.
    From(IpAddr),
}

/// Puts documents together.
#[derive(Debug)]
pub struct Assembler {
    occasion: Occasion,
    keeps_intervals: bool,
    tests: BTreeMap<Key, Tale>,
    owners: HashMap<FlowTag, Key>,
    /// Connections of iperf3 tests that have not started.
    waiting: Vec<Connected>,
    begun: u32,
    /// The tests are runs of a series.
    in_series: bool,
    /// As told last.
    beside: Beside,
}

/// Time for which a test whose flows have all ended is kept while others run.
const STRAGGLERS: Duration = Duration::from_secs(1);

/// Connections that are kept until their test starts.
const MOST_WAITING: usize = 1 << 16;

impl Assembler {
    /// Nothing told yet.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            keeps_intervals: true,
            ..Self::without_intervals(occasion)
        }
    }

    /// The same; intervals are told as steps and are not kept for the documents.
    #[must_use]
    pub fn without_intervals(occasion: Occasion) -> Self {
        Self {
            occasion,
            keeps_intervals: false,
            tests: BTreeMap::new(),
            owners: HashMap::new(),
            waiting: Vec::new(),
            begun: 0,
            in_series: false,
            beside: Beside::default(),
        }
    }

    /// Takes an event.
    pub fn note(&mut self, event: &Event) -> Vec<Step> {
        let mut steps = Vec::new();
        match event {
            Event::Connecting(banner) if !banner.connect_back => {
                if let Some(tale) = self.client(&mut steps) {
                    tale.banner = Some(banner.clone());
                }
            }
            Event::ControlConnected(control) => {
                let key = self.announced(control.test);
                self.tale(key, &mut steps).control = Some(control.clone());
            }
            Event::TestStart(start) => {
                let key = self.announced(start.test);
                for (tag, _) in &start.flows {
                    self.owners.insert(*tag, key);
                    let line = self.waiting.iter().rposition(|line| line.tag == *tag);
                    if let Some(line) = line.map(|at| self.waiting.swap_remove(at)) {
                        self.tale(key, &mut steps).connected(line);
                    }
                }
                self.tale(key, &mut steps).start = Some(start.as_ref().clone());
                self.tell_start(key, &mut steps);
            }
            Event::TestEnd(end) => {
                let key = self.announced(end.test);
                // A client's test may fail before anything else is told of it.
                if key == Key::Client || self.tests.contains_key(&key) {
                    self.tale(key, &mut steps).end(end);
                    if key != Key::Client {
                        self.close(key, &mut steps);
                    }
                }
            }
            Event::Connected(line) => self.connected(line, &mut steps),
            Event::Row(row) => self.row(row, &mut steps),
            Event::ServerReport { row, .. } => {
                if let Some(tale) = self.owner(row) {
                    tale.server_report(row);
                }
            }
            Event::Sent { .. } | Event::Listening(_) | Event::Connecting(_) => {}
            Event::ConnectTimes(times) => {
                if let Some(tale) = self.client(&mut steps) {
                    tale.connects = Some(*times);
                }
            }
            Event::Notice(notice) => self.notice(notice, &mut steps),
            Event::StartDelay(delay) => {
                let calendar = crate::calendar::Calendar::new(self.occasion.style.utc);
                let said = native::start_delay(delay, &calendar);
                self.warn(
                    warning(WarningId::StartTime, said),
                    Some(delay.tag),
                    &mut steps,
                );
            }
            Event::ClockCheck(check) => {
                let said = native::clock_check(check);
                self.warn(
                    warning(WarningId::ClocksCompared, said),
                    Some(check.tag),
                    &mut steps,
                );
            }
            Event::Dropped(line) => {
                let peer = native::shown(line.peer, &self.occasion.style);
                let text = format!("turned away {peer}: its permit key is wrong or missing");
                let warning = warning(WarningId::TurnedAway, (Severity::Warning, text));
                let incident = Incident { peer, reason: None };
                self.tell_warning(warning, None, Some(incident), &mut steps);
            }
            Event::Idle => {
                self.beside = Beside::default();
                self.close_ended(None, &mut steps);
            }
            Event::OtherEndFound(other) => {
                // A server's clients tell who they are with their results.
                let client = self.is_client();
                if let Some(tale) = self.only_test().filter(|_| client) {
                    tale.other_found(other);
                }
            }
            Event::OtherEnd(other) => {
                let tags = other
                    .flows
                    .iter()
                    .filter_map(|flow| match flow.total.subject {
                        Subject::Flow(tag) => Some(tag),
                        _ => None,
                    });
                if let Some(tale) = self.test_of(tags) {
                    tale.other_end(other);
                }
            }
            Event::OneWayDelay(delay) => {
                if let Some(tale) = self.test_of([delay.tag].into_iter()) {
                    tale.delays(delay);
                }
            }
            Event::LoadedLatency(latency) => {
                if let Some(tale) = self.only_test() {
                    tale.loaded = Some((**latency).clone());
                }
            }
            Event::Judgement(judgement) => {
                if let Some(tale) = self.test_of(judgement.flows.iter().copied()) {
                    tale.judged(judgement);
                }
            }
            Event::Repetition(Repetition::Begins { .. }) => self.in_series = true,
            Event::Repetition(Repetition::Ends) => self.end_run(&mut steps),
            Event::Repetition(Repetition::Over(series)) => {
                let series = SeriesReport::new(&self.occasion, series.as_ref().clone());
                steps.push(Step::Series(Box::new(series)));
            }
            Event::Processor(processor) if processor.phase == Phase::Total => {
                if let Some(tale) = self.only_test() {
                    tale.own_cpu = Some(*processor);
                }
            }
            // In front of an interval's rows; its probes follow, if there are any.
            Event::Processor(processor) => {
                self.beside.own_cpu = Some(processor.cpu.total);
                self.beside.probes = None;
            }
            Event::Probes(probes) => self.beside.probes = Some(*probes),
            Event::OtherProgress(progress) => {
                let client = self.is_client();
                self.beside.other_cpu = progress.cpu_percent;
                if let Some(tale) = self.only_test().filter(|_| client) {
                    let udp = tale.flows.iter().any(|flow| flow.udp);
                    steps.push(Step::Progress {
                        test: tale.number,
                        progress: FarProgress::of(progress, udp),
                    });
                }
            }
            Event::NoOtherEnd(_)
            | Event::Clocks(_)
            | Event::Histogram(_)
            | Event::ScheduleErrors(_)
            | Event::Departures(_)
            | Event::Markov(_) => {}
        }
        steps
    }

    /// Rows that never came here, because the output was too slow.
    pub fn missed(&mut self, rows: u64) {
        for tale in self.tests.values_mut() {
            tale.missed(rows);
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.in_series {
            self.end_run(&mut steps);
        }
        let keys: Vec<Key> = self.tests.keys().copied().collect();
        for key in keys {
            self.close(key, &mut steps);
        }
        steps
    }

    /// Whether the tests are runs of a series.
    pub(super) fn is_in_series(&self) -> bool {
        self.in_series
    }

    /// Closes a client's test; there is a document in any case.
    fn end_run(&mut self, steps: &mut Vec<Step>) {
        if self.is_client() {
            self.tale(Key::Client, steps);
            self.close(Key::Client, steps);
        }
    }

    fn is_client(&self) -> bool {
        self.occasion.role == Role::Client
    }

    fn announced(&self, number: u32) -> Key {
        if self.is_client() {
            Key::Client
        } else {
            Key::Announced(number)
        }
    }

    fn client(&mut self, steps: &mut Vec<Step>) -> Option<&mut Tale> {
        self.is_client().then(|| self.tale(Key::Client, steps))
    }

    fn tale(&mut self, key: Key, _steps: &mut Vec<Step>) -> &mut Tale {
        let (begun, keeps) = (&mut self.begun, self.keeps_intervals);
        self.tests.entry(key).or_insert_with(|| {
            *begun += 1;
            Tale::new(*begun, keeps)
        })
    }

    /// The test that runs alone.
    fn only_test(&mut self) -> Option<&mut Tale> {
        let single = self.tests.len() == 1;
        self.tests.values_mut().next().filter(|_| single)
    }

    /// The test of the first of these flows that has one.
    fn test_of(&mut self, mut tags: impl Iterator<Item = FlowTag>) -> Option<&mut Tale> {
        let key = tags.find_map(|tag| self.key_of(tag))?;
        self.tests.get_mut(&key)
    }

    fn owner(&mut self, row: &Row) -> Option<&mut Tale> {
        let Subject::Flow(tag) = row.subject else {
            return None;
        };
        let key = self.key_of(tag)?;
        self.tests.get_mut(&key)
    }

    fn key_of(&self, tag: FlowTag) -> Option<Key> {
        if self.is_client() {
            return Some(Key::Client);
        }
        let other = FlowTag {
            reversed: !tag.reversed,
            ..tag
        };
        let known = self.owners.get(&tag).or_else(|| self.owners.get(&other));
        known.copied()
    }

    fn connected(&mut self, line: &Connected, steps: &mut Vec<Step>) {
        let key = if self.is_client() {
            Key::Client
        } else {
            served(line)
        };
        // A test that ended before: this is the next one.
        if self
            .tests
            .get(&key)
            .is_some_and(|tale| key != Key::Client && tale.ended().is_some())
        {
            self.close(key, steps);
        }
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.remove(0);
        }
        if !self.is_client() {
            self.waiting.push(line.clone());
            return;
        }
        self.tale(key, steps).connected(line.clone());
        self.tell_start(key, steps);
    }

    fn tell_start(&mut self, key: Key, steps: &mut Vec<Step>) {
        let Some(tale) = self.tests.get_mut(&key) else {
            return;
        };
        if !tale.told_start {
            tale.told_start = true;
            steps.push(Step::Start {
                test: tale.number,
                report: Box::new(tale.report(&self.occasion)),
            });
        }
    }

    fn row(&mut self, row: &Row, steps: &mut Vec<Step>) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let Some(key) = self.adopt(tag, row, steps) else {
            return;
        };
        self.close_ended(Some(row.ended), steps);
        let role = self.occasion.role;
        let beside = self.beside;
        let Some(tale) = self.tests.get_mut(&key) else {
            return;
        };
        let (number, interval) = (tale.number, tale.row(tag, row, role, beside));
        // Some things are known from the first row only.
        self.tell_start(key, steps);
        if let Some(interval) = interval {
            steps.push(Step::Interval {
                test: number,
                interval: Box::new(interval),
            });
        }
    }

    /// The test of a flow; one over iperf 2's protocol is known by its peer.
    fn adopt(&mut self, tag: FlowTag, row: &Row, steps: &mut Vec<Step>) -> Option<Key> {
        if let Some(key) = self.key_of(tag) {
            self.owners.insert(tag, key);
            self.tale(key, steps);
            return Some(key);
        }
        let line = self.waiting.iter().rposition(|line| line.tag.id == tag.id);
        let line = line.map(|at| self.waiting.swap_remove(at));
        let key = match (&line, row.endpoints) {
            (Some(line), _) => served(line),
            (None, Some(endpoints)) => Key::From(endpoints.peer.ip().to_canonical()),
            (None, None) => return None,
        };
        self.owners.insert(tag, key);
        let tale = self.tale(key, steps);
        if let Some(line) = line {
            tale.connected(line);
        }
        Some(key)
    }

    fn notice(&mut self, notice: &Notice, steps: &mut Vec<Step>) {
        let warning = of_notice(notice, &self.occasion.style);
        let tag = match notice {
            Notice::ConnectFailed { tag, .. }
            | Notice::ConnectTimedOut { tag, .. }
            | Notice::TrafficFailed { tag, .. }
            | Notice::NoServerReport { tag, .. }
            | Notice::ReportUnacknowledged { tag }
            | Notice::PeerVanished { tag, .. }
            | Notice::PeerGone { tag }
            | Notice::CpuSaturated { tag, .. }
            | Notice::PacingMissed { tag, .. } => Some(*tag),
            Notice::ReceiveBufferDrops { tag, .. } => *tag,
            _ => None,
        };
        let everybody = matches!(notice, Notice::ReceiveBufferDrops { tag: None, .. });
        let key = tag.and_then(|tag| self.key_of(tag));
        if self.is_client() {
            self.tale(Key::Client, steps).notice(notice, &warning);
        } else if let Some(tale) = key.and_then(|key| self.tests.get_mut(&key)) {
            tale.notice(notice, &warning);
        } else if everybody {
            for tale in self.tests.values_mut() {
                tale.notice(notice, &warning);
            }
        }
        let incident = Incident::of(notice, &self.occasion.style);
        self.tell_warning(warning, key, incident, steps);
    }

    fn warn(&mut self, warning: Warning, tag: Option<FlowTag>, steps: &mut Vec<Step>) {
        let key = match tag {
            Some(tag) => self.key_of(tag),
            None => self.is_client().then_some(Key::Client),
        };
        if let Some(key) = key {
            self.tale(key, steps).warn(warning.clone());
        }
        self.tell_warning(warning, key, None, steps);
    }

    fn tell_warning(
        &mut self,
        warning: Warning,
        key: Option<Key>,
        incident: Option<Incident>,
        steps: &mut Vec<Step>,
    ) {
        let tale = key.and_then(|key| self.tests.get(&key));
        let test = tale.map(|tale| tale.number);
        steps.push(Step::Warning {
            test,
            warning,
            incident,
        });
    }

    /// Closes the tests of a server whose flows have all ended; where others run (at `now`) some
    /// time ago, since something may follow.
    fn close_ended(&mut self, now: Option<WallTime>, steps: &mut Vec<Step>) {
        if self.is_client() {
            return;
        }
        let over = |tale: &Tale| match (tale.ended(), now) {
            (Some(ended), Some(now)) => ended + STRAGGLERS < now,
            (ended, None) => ended.is_some(),
            (None, Some(_)) => false,
        };
        let ended = |(key, tale): (&Key, &Tale)| {
            (matches!(key, Key::Served(_) | Key::From(_)) && over(tale)).then_some(*key)
        };
        let keys: Vec<Key> = self.tests.iter().filter_map(ended).collect();
        for key in keys {
            self.close(key, steps);
        }
    }

    fn close(&mut self, key: Key, steps: &mut Vec<Step>) {
        self.tell_start(key, steps);
        if let Some(tale) = self.tests.remove(&key) {
            self.owners.retain(|_, owner| *owner != key);
            steps.push(Step::End {
                test: tale.number,
                report: Box::new(tale.finish(&self.occasion)),
            });
        }
    }
}

/// The test of a server's flow over iperf 2's protocol.
fn served(line: &Connected) -> Key {
    match line.test {
        Some(test) => Key::Served(test.number),
        None => Key::From(line.peer.ip().to_canonical()),
    }
}
