//! A test as far as it has been told.

use std::collections::BTreeSet;

use tapeline_base::{FlowId, FlowTag, Role, WallTime};

use super::delay::OneWayDelay;
use super::figures::time;
use super::interval::{Interval, IntervalContext};
use super::schema::Failure;
use super::stream::Counter;
use super::warning::{WarningId, warning};
use crate::model::{
    self, ClientBanner, ConnectTimes, Connected, ControlConnected, CpuUse, FlowDirection,
    LimitVerdict, Measure, Notice, Phase, ProcessorUse, Row, Severity, Subject, TestEnd, TestStart,
    Warning,
};
use crate::native;
use crate::tracker::{TestKey, TestRecord};

/// Intervals that a document can have; a test of ten thousand flows has them in a minute.
const MAX_INTERVALS: usize = 1 << 19;
/// Warnings that a document can have.
const MAX_WARNINGS: usize = 256;

/// A direction of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowRecord {
    pub(crate) tag: FlowTag,
    pub(crate) direction: FlowDirection,
    /// This end sends.
    pub(crate) sends: bool,
    pub(crate) udp: bool,
    /// Addresses, where no connection was told.
    pub(crate) ends: Option<(String, String)>,
    /// This end's count.
    pub(crate) total: Option<Row>,
    /// The other end's count.
    pub(crate) peer: Option<(Row, Counter)>,
    /// Smoothed round-trip times, microseconds.
    pub(crate) round_trips: Vec<u32>,
    /// One-way delays with their clocks.
    pub(crate) delay: Option<OneWayDelay>,
}

/// A test as far as it has been told.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentRecord {
    pub(crate) start_reported: bool,
    pub(crate) banner: Option<ClientBanner>,
    pub(crate) control: Option<ControlConnected>,
    pub(crate) start: Option<TestStart>,
    pub(crate) connects: Option<ConnectTimes>,
    pub(crate) end: Option<TestEnd>,
    /// The other end's program and version, over the control connection of two tapelines.
    pub(crate) other: Option<(String, String)>,
    /// Its processor use, and over which time, seconds.
    pub(crate) other_cpu: Option<(CpuUse, Option<f64>)>,
    /// This process's, while its flows ran.
    pub(crate) own_cpu: Option<ProcessorUse>,
    /// Round trips beside its traffic.
    pub(crate) loaded: Option<model::LoadedLatency>,
    pub(crate) limit_verdicts: Vec<LimitVerdict>,
    pub(crate) lines: Vec<Connected>,
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) missing: u64,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) failure: Option<Failure>,
    pub(crate) interrupted: bool,
    pub(crate) vanished: bool,
    /// The other end has told of its host and its buffers.
    pub(crate) peer_visible: bool,
    /// How far the clock was set while it ran, nanoseconds.
    pub(crate) clock_jump: Option<i64>,
    /// Flows that failed.
    pub(crate) failed: BTreeSet<FlowId>,
}

impl TestRecord for DocumentRecord {
    fn new(_: TestKey) -> Self {
        Self::default()
    }

    fn connected(&mut self, line: Connected) {
        self.lines.push(line);
    }

    fn started(&mut self, start: &TestStart) {
        self.start = Some(start.clone());
    }
}

impl DocumentRecord {
    pub(crate) fn missed(&mut self, rows: u64) {
        self.missing += rows;
    }

    /// When the last of its flows ended, if all have.
    pub(crate) fn ended(&self) -> Option<WallTime> {
        let totals = self.flows.iter().map(|flow| flow.total.as_ref());
        let totals: Option<Vec<&Row>> = totals.collect();
        totals?.into_iter().map(|row| row.ended).max()
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What is to be known of the document itself: intervals that it does not have.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let missing = (self.missing > 0).then(|| {
            let said = format!(
                "{} intervals are not in this document: the output was too slow, or they were too many",
                self.missing
            );
            warning(WarningId::IntervalsDropped, (Severity::Warning, said))
        });
        self.warnings.iter().cloned().chain(missing).collect()
    }

    /// A test that was refused before it began.
    pub(crate) fn refused(text: &str) -> Self {
        let warning = warning(WarningId::Usage, (Severity::Error, text.to_owned()));
        let failure = Failure {
            id: warning.id.clone(),
            text: warning.text.clone(),
        };
        Self {
            failure: Some(failure),
            warnings: vec![warning],
            ..Self::default()
        }
    }

    /// Takes a notice that was put into words.
    pub(crate) fn notice(&mut self, notice: &Notice, warning: &Warning) {
        self.warn(warning.clone());
        self.interrupted |= *notice == Notice::Interrupted;
        self.vanished |= matches!(
            notice,
            Notice::PeerVanished { .. } | Notice::PeerGone { .. }
        );
        match notice {
            Notice::ClockSet { by } => self.clock_jump = Some(*by),
            Notice::ConnectFailed {
                tag,
                retrying: false,
                ..
            }
            | Notice::ConnectTimedOut { tag, .. }
            | Notice::TrafficFailed { tag, .. }
            | Notice::PeerVanished { tag, .. }
            | Notice::PeerGone { tag } => {
                self.failed.insert(tag.id);
            }
            _ => {}
        }
        // What explains the others counts.
        let explains = matches!(
            notice,
            Notice::WrongProtocol { .. } | Notice::TestRefused { .. } | Notice::TestCut { .. }
        );
        if warning.severity == Severity::Error && (explains || self.failure.is_none()) {
            self.failure = Some(Failure {
                id: warning.id.clone(),
                text: warning.text.clone(),
            });
        }
    }

    /// Takes the end of a test of iperf3's protocol.
    pub(crate) fn end(&mut self, end: &TestEnd) {
        for row in &end.peer_totals {
            if let Subject::Flow(tag) = row.subject
                && let Some(flow) = self.flows.iter_mut().find(|flow| flow.tag == tag)
            {
                flow.peer = Some((row.clone(), Counter::Iperf3Results));
            }
        }
        if let Some(failure) = &end.failure {
            self.interrupted |= failure.interrupted;
            if !failure.interrupted {
                let said = (Severity::Error, failure.text.clone());
                let warning = warning(WarningId::TestFailed, said);
                self.failure.get_or_insert_with(|| Failure {
                    id: warning.id.clone(),
                    text: warning.text.clone(),
                });
                self.warn(warning);
            }
        }
        self.end = Some(end.clone());
    }

    /// Takes what the other end is.
    pub(crate) fn other_found(&mut self, other: &model::PeerProgram) {
        self.other = Some((other.program.clone(), other.version.clone()));
    }

    /// Takes what the other end counted, over the control connection of two tapelines.
    pub(crate) fn peer_results(&mut self, other: &model::PeerResults) {
        for one in &other.flows {
            if let Subject::Flow(tag) = one.total.subject
                && let Some(flow) = self.flow_of(tag)
            {
                flow.peer = Some((one.total.clone(), Counter::Tapeline));
                if flow.round_trips.is_empty() {
                    flow.round_trips.clone_from(&one.round_trips);
                }
            }
        }
        if let Some(program) = &other.program {
            self.other_found(program);
        }
        self.peer_visible = true;
        self.other_cpu = other.cpu.map(|cpu| (cpu, other.seconds));
        for one in &other.warnings {
            self.warn(Warning {
                id: one.id.clone(),
                severity: severity(&one.severity),
                text: format!("the other end: {}", one.text),
            });
        }
    }

    /// Takes one-way delays of a flow.
    pub(crate) fn delays(&mut self, delay: &model::OneWayDelay) {
        if let Some(flow) = self.flow_of(delay.tag) {
            flow.delay = Some(OneWayDelay::measured(delay, flow.sends));
        }
    }

    /// Takes what limited some of its flows.
    pub(crate) fn judged(&mut self, limit_verdict: &LimitVerdict) {
        let same = |one: &LimitVerdict| one.local_sends == limit_verdict.local_sends;
        self.limit_verdicts.retain(|one| !same(one));
        self.limit_verdicts.push(limit_verdict.clone());
    }

    fn flow_of(&mut self, tag: FlowTag) -> Option<&mut FlowRecord> {
        let exact = self.flows.iter().rposition(|flow| flow.tag == tag);
        let near = || self.flows.iter().rposition(|flow| flow.tag.id == tag.id);
        let number = exact.or_else(near)?;
        self.flows.get_mut(number)
    }

    /// Takes what a server of iperf 2's protocol reports of a flow.
    pub(crate) fn server_report(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let mut flows = self.flows.iter_mut();
        if let Some(flow) = flows.find(|flow| flow.tag.id == tag.id && flow.sends) {
            flow.peer = Some((row.clone(), Counter::Iperf2Report));
        }
    }

    /// Takes a row of a flow; returns the interval that it tells.
    pub(crate) fn row(
        &mut self,
        tag: FlowTag,
        row: &Row,
        role: Role,
        context: IntervalContext,
    ) -> Option<Interval> {
        let number = self.flow(tag, row, role);
        let flow = &mut self.flows[number];
        if let Measure::TcpSend(send) = &row.measure
            && let Some(micros) = send.state.and_then(|state| state.rtt_micros)
            && (row.phase != Phase::Total || flow.round_trips.is_empty())
        {
            flow.round_trips.push(micros);
        }
        if row.phase == Phase::Total {
            flow.total = Some(row.clone());
            if let Some(said) = native::clock_errors(row) {
                self.warn(warning(
                    WarningId::ClocksDisagree,
                    (Severity::Warning, said),
                ));
            }
            return None;
        }
        let time = time(row.ended);
        Some(Interval::from_row(
            tag.id.0,
            flow.direction,
            time,
            row,
            context,
        ))
    }

    /// Keeps an interval for the document.
    pub(crate) fn keep(&mut self, interval: &Interval) {
        if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push(interval.clone());
        } else {
            self.missing += 1;
        }
    }

    /// The number of a flow, which is entered when this is its first row.
    fn flow(&mut self, tag: FlowTag, row: &Row, role: Role) -> usize {
        let known = self
            .flows
            .iter()
            .rposition(|flow| flow.tag == tag && flow.total.is_none());
        if let Some(known) = known {
            return known;
        }
        let sends = row.measure.sends();
        let direction = match (&row.measure, role, sends) {
            (Measure::RequestResponse(_), ..) => FlowDirection::RoundTrip,
            (_, Role::Client, true) | (_, Role::Server, false) => FlowDirection::Forward,
            (_, Role::Client, false) | (_, Role::Server, true) => FlowDirection::Reverse,
        };
        let ends = row.endpoints;
        self.flows.push(FlowRecord {
            tag,
            direction,
            sends,
            udp: matches!(row.measure, Measure::UdpSend(_) | Measure::UdpReceive(_)),
            ends: ends.map(|ends| (ends.local.to_string(), ends.peer.to_string())),
            total: None,
            peer: None,
            round_trips: Vec::new(),
            delay: None,
        });
        self.flows.len() - 1
    }
}

fn severity(word: &str) -> Severity {
    match word {
        "error" => Severity::Error,
        "note" => Severity::Note,
        _ => Severity::Warning,
    }
}
