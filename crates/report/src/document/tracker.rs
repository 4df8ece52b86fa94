//! From events to documents: which test an event belongs to, and when that is complete.

use std::collections::BTreeSet;

use tapeline_base::{FlowTag, Role};

use super::interval::{Interval, IntervalContext, PeerInterval};
use super::record::DocumentRecord;
use super::report_builder::{self, ReportBuilder};
use super::run_info::RunInfo;
use super::schema::Report;
use super::series::SeriesReport;
use super::warning::{Incident, WarningId, warning, warning_for};
use crate::model::{Connected, Event, Notice, Phase, Repetition, Row, Severity, Subject, Warning};
use crate::native;
use crate::tracker::{TestKey, TestRecord, TestTracker};

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
        progress: PeerInterval,
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

/// Puts documents together.
#[derive(Debug)]
pub struct ReportTracker {
    run_info: RunInfo,
    keeps_intervals: bool,
    tests: TestTracker<DocumentRecord>,
    /// The tests are runs of a series.
    in_series: bool,
    /// As told last.
    context: IntervalContext,
}

impl ReportTracker {
    /// Nothing told yet.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        Self {
            keeps_intervals: true,
            ..Self::without_intervals(run_info)
        }
    }

    /// The same; intervals are told as steps and are not kept for the documents.
    #[must_use]
    pub fn without_intervals(run_info: RunInfo) -> Self {
        Self {
            run_info,
            keeps_intervals: false,
            tests: TestTracker::default(),
            in_series: false,
            context: IntervalContext::default(),
        }
    }

    /// Takes an event.
    pub fn observe(&mut self, event: &Event) -> Vec<Step> {
        let mut steps = Vec::new();
        match event {
            Event::Connecting(banner) if !banner.connect_back => {
                if let Some(record) = self.own() {
                    record.banner = Some(banner.clone());
                }
            }
            Event::ControlConnected(control) => {
                let key = self.announced(control.test);
                self.tests.record(key).control = Some(control.clone());
            }
            Event::TestStart(start) => {
                let number = self.tests.start(self.announced(start.test), start);
                self.report_start(number, &mut steps);
            }
            Event::TestEnd(end) => {
                let key = self.announced(end.test);
                // A client's test may fail before anything else is told of it.
                if key == TestKey::Own || self.tests.number(key).is_some() {
                    self.tests.record(key).end(end);
                    if key != TestKey::Own {
                        self.close(self.tests.number(key), &mut steps);
                    }
                }
            }
            Event::Connected(line) => self.connected(line, &mut steps),
            Event::Row(row) => self.row(row, &mut steps),
            Event::ServerReport { row, .. } => {
                if let Some(record) = self.owner(row) {
                    record.server_report(row);
                }
            }
            Event::Sent { .. } | Event::Listening(_) | Event::Connecting(_) => {}
            Event::ConnectTimes(times) => {
                if let Some(record) = self.own() {
                    record.connects = Some(*times);
                }
            }
            Event::Notice(notice) => self.notice(notice, &mut steps),
            Event::StartDelay(delay) => {
                let calendar = crate::calendar::Calendar::new(self.run_info.style.utc);
                let said = native::start_delay(delay, &calendar);
                self.warn(
                    warning(WarningId::StartTimePassed, said),
                    delay.tag,
                    &mut steps,
                );
            }
            Event::ClockCheck(check) => {
                let said = native::clock_check(check);
                self.warn(
                    warning(WarningId::ClocksCompared, said),
                    check.tag,
                    &mut steps,
                );
            }
            Event::Dropped(line) => {
                let peer = native::shown(line.peer, &self.run_info.style);
                let text = format!("refused {peer}: wrong or missing permit key");
                let warning = warning(WarningId::PermitKeyRefused, (Severity::Warning, text));
                let incident = Incident { peer, reason: None };
                steps.push(Step::Warning {
                    test: None,
                    warning,
                    incident: Some(incident),
                });
            }
            Event::TestOver(flows) => self.over(flows, &mut steps),
            Event::Idle => self.context = IntervalContext::default(),
            Event::PeerFound { program: other, .. } => {
                // A server's clients tell who they are with their results.
                let client = self.is_client();
                if let Some((_, record)) = self.tests.only().filter(|_| client) {
                    record.other_found(other);
                }
            }
            Event::PeerResults(other) => {
                let tags = other
                    .flows
                    .iter()
                    .filter_map(|flow| match flow.total.subject {
                        Subject::Flow(tag) => Some(tag),
                        _ => None,
                    });
                if let Some(record) = self.test_of(tags) {
                    record.peer_results(other);
                }
            }
            Event::OneWayDelay(delay) => {
                if let Some(record) = self.test_of([delay.tag].into_iter()) {
                    record.delays(delay);
                }
            }
            Event::LoadedLatency(latency) => {
                if let Some((_, record)) = self.tests.only() {
                    record.loaded = Some((**latency).clone());
                }
            }
            Event::LimitVerdict(limit_verdict) => {
                if let Some(record) = self.test_of(limit_verdict.flows.iter().copied()) {
                    record.judged(limit_verdict);
                }
            }
            Event::Repetition(Repetition::Begins { .. }) => self.in_series = true,
            Event::Repetition(Repetition::Ends(_)) => self.end_run(&mut steps),
            Event::Repetition(Repetition::Over(series)) => {
                let series = SeriesReport::new(&self.run_info, series.as_ref().clone());
                steps.push(Step::Series(Box::new(series)));
            }
            Event::Processor(processor) if processor.phase == Phase::Total => {
                if let Some((_, record)) = self.tests.only() {
                    record.own_cpu = Some(*processor);
                }
            }
            // In front of an interval's rows; its probes follow, if there are any.
            Event::Processor(processor) => {
                self.context.own_cpu = Some(processor.cpu.total);
                self.context.probes = None;
            }
            Event::Probes(probes) => self.context.probes = Some(*probes),
            Event::PeerProgress(progress) => {
                let client = self.is_client();
                self.context.other_cpu = progress.cpu_percent;
                if let Some((test, record)) = self.tests.only().filter(|_| client) {
                    let udp = record.flows.iter().any(|flow| flow.udp);
                    steps.push(Step::Progress {
                        test,
                        progress: PeerInterval::new(progress, udp),
                    });
                }
            }
            // Each flow has a tracker of its own.
            Event::OfFlow(_) => {}
            Event::NoPeerResults(_)
            | Event::Clocks(_)
            | Event::Histogram(_)
            | Event::ScheduleErrors(_)
            | Event::SendTiming(_)
            | Event::Markov(_)
            | Event::Method(_) => {}
        }
        steps
    }

    /// Rows that never came here, because the output was too slow.
    pub fn missed(&mut self, rows: u64) {
        for record in self.tests.records_mut() {
            record.missed(rows);
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.in_series {
            self.end_run(&mut steps);
        }
        for number in self.tests.numbers_by_key() {
            self.close(Some(number), &mut steps);
        }
        steps
    }

    /// Whether the tests are runs of a series.
    pub(crate) fn is_in_series(&self) -> bool {
        self.in_series
    }

    /// Closes a client's test; there is a document in any case.
    fn end_run(&mut self, steps: &mut Vec<Step>) {
        if self.is_client() {
            let number = self.tests.open(TestKey::Own);
            self.close(Some(number), steps);
        }
    }

    fn is_client(&self) -> bool {
        self.run_info.role == Role::Client
    }

    fn announced(&self, number: u32) -> TestKey {
        if self.is_client() {
            TestKey::Own
        } else {
            TestKey::Announced(number)
        }
    }

    /// A client's test.
    fn own(&mut self) -> Option<&mut DocumentRecord> {
        self.is_client().then(|| self.tests.record(TestKey::Own))
    }

    /// The test of the first of these flows that has one.
    fn test_of(&mut self, mut tags: impl Iterator<Item = FlowTag>) -> Option<&mut DocumentRecord> {
        let number = tags.find_map(|tag| self.number_of(tag))?;
        self.tests.get_mut(number)
    }

    fn owner(&mut self, row: &Row) -> Option<&mut DocumentRecord> {
        let Subject::Flow(tag) = row.subject else {
            return None;
        };
        self.test_of([tag].into_iter())
    }

    /// The test of a flow; a client's flows are all its own test's.
    fn number_of(&self, tag: FlowTag) -> Option<u32> {
        if self.is_client() {
            self.tests.number(TestKey::Own)
        } else {
            self.tests.owner_of_either(tag)
        }
    }

    fn connected(&mut self, line: &Connected, steps: &mut Vec<Step>) {
        if self.is_client() {
            self.tests.record(TestKey::Own).connected(line.clone());
            let number = self.tests.open(TestKey::Own);
            self.report_start(number, steps);
            return;
        }
        let before = self.tests.number(TestKey::served(line));
        let before = before.filter(|number| self.has_ended(*number));
        // This is the next one.
        self.close(before, steps);
        self.tests.wait(line.clone());
    }

    fn has_ended(&self, number: u32) -> bool {
        let record = self.tests.get(number);
        record.is_some_and(|record| record.ended().is_some())
    }

    fn report_start(&mut self, number: u32, steps: &mut Vec<Step>) {
        let Some(record) = self.tests.get_mut(number) else {
            return;
        };
        if !record.start_reported {
            record.start_reported = true;
            steps.push(Step::Start {
                test: number,
                report: Box::new(ReportBuilder::new(record, &self.run_info).build()),
            });
        }
    }

    fn row(&mut self, row: &Row, steps: &mut Vec<Step>) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let Some(number) = self.adopt(tag, row) else {
            return;
        };
        let role = self.run_info.role;
        let context = self.context;
        let Some(record) = self.tests.get_mut(number) else {
            return;
        };
        let interval = record.row(tag, row, role, context);
        if let Some(interval) = interval.as_ref().filter(|_| self.keeps_intervals) {
            record.keep(interval);
        }
        // Some things are known from the first row only.
        self.report_start(number, steps);
        if let Some(interval) = interval {
            steps.push(Step::Interval {
                test: number,
                interval: Box::new(interval),
            });
        }
    }

    /// The test of a flow; one over iperf 2's protocol is known by its peer.
    fn adopt(&mut self, tag: FlowTag, row: &Row) -> Option<u32> {
        if self.is_client() {
            return Some(self.tests.open(TestKey::Own));
        }
        if let Some(number) = self.tests.owner_of_either(tag) {
            self.tests.own(tag, number);
            return Some(number);
        }
        let line = self.tests.take_waiting(tag.id);
        let key = match (&line, row.endpoints) {
            (Some(line), _) => TestKey::served(line),
            (None, Some(endpoints)) => TestKey::from_address(endpoints.peer.ip()),
            (None, None) => return None,
        };
        let number = self.tests.open(key);
        self.tests.own(tag, number);
        if let Some(line) = line {
            self.tests.record(key).connected(line);
        }
        Some(number)
    }

    fn notice(&mut self, notice: &Notice, steps: &mut Vec<Step>) {
        let warning = warning_for(notice, &self.run_info.style);
        let tag = match notice {
            Notice::ConnectFailed { tag, .. }
            | Notice::ConnectTimedOut { tag, .. }
            | Notice::TrafficFailed { tag, .. }
            | Notice::NoServerReport { tag, .. }
            | Notice::ReportUnacknowledged { tag }
            | Notice::NoReply { tag, .. }
            | Notice::PeerVanished { tag, .. }
            | Notice::PeerGone { tag }
            | Notice::CpuSaturated { tag, .. }
            | Notice::PacingMissed { tag, .. } => Some(*tag),
            Notice::ReceiveBufferDrops { tag, .. } => *tag,
            _ => None,
        };
        let everybody = matches!(notice, Notice::ReceiveBufferDrops { tag: None, .. });
        if let Some(record) = self.own() {
            record.notice(notice, &warning);
        }
        let test = tag.and_then(|tag| self.number_of(tag));
        if !self.is_client() {
            if let Some(record) = test.and_then(|test| self.tests.get_mut(test)) {
                record.notice(notice, &warning);
            } else if everybody {
                for record in self.tests.records_mut() {
                    record.notice(notice, &warning);
                }
            }
        }
        steps.push(Step::Warning {
            test,
            incident: Incident::from_notice(notice, &self.run_info.style),
            warning,
        });
    }

    /// Something to know of a flow.
    fn warn(&mut self, warning: Warning, tag: FlowTag, steps: &mut Vec<Step>) {
        if let Some(record) = self.own() {
            record.warn(warning.clone());
        } else if let Some(record) = self.test_of([tag].into_iter()) {
            record.warn(warning.clone());
        }
        steps.push(Step::Warning {
            test: self.number_of(tag),
            warning,
            incident: None,
        });
    }

    /// Closes a server's test. One of iperf3 has said so itself.
    fn over(&mut self, flows: &[FlowTag], steps: &mut Vec<Step>) {
        let numbers = flows.iter().filter_map(|tag| self.number_of(*tag));
        let keys = numbers.filter_map(|number| self.tests.key(number));
        let keys: BTreeSet<TestKey> = keys.collect();
        for key in keys {
            let number = self.tests.number(key);
            let over = match key {
                TestKey::Served(_) => true,
                // Another one may run.
                TestKey::From(_) => number.is_some_and(|number| self.has_ended(number)),
                TestKey::Own | TestKey::Announced(_) => false,
            };
            self.close(number.filter(|_| over), steps);
        }
    }

    fn close(&mut self, number: Option<u32>, steps: &mut Vec<Step>) {
        let Some(number) = number else {
            return;
        };
        self.report_start(number, steps);
        if let Some(record) = self.tests.close(number) {
            steps.push(Step::End {
                test: number,
                report: Box::new(report_builder::finish(record, &self.run_info)),
            });
        }
    }
}
