//! A test as far as it has been told.

use tapeline_base::{FlowTag, Role, WallTime};

use super::delay::OneWayDelay;
use super::flow::Counter;
use super::interval::{Beside, Interval};
use super::report::{Failure, FlowDirection};
use super::warning::{WarningId, warning};
use crate::calendar::Calendar;
use crate::model::{
    self, ClientBanner, ConnectTimes, Connected, ControlConnected, CpuUse, Judgement, Measure,
    Notice, Phase, ProcessorUse, Row, Severity, Subject, TestEnd, TestStart, Warning,
};
use crate::native;

/// Intervals that a document can have; a test of ten thousand flows has them in a minute.
const MOST_INTERVALS: usize = 1 << 19;
/// Warnings that a document can have.
const MOST_WARNINGS: usize = 256;

/// A direction of a flow.
#[derive(Clone, Debug)]
pub(super) struct FlowTale {
    pub(super) tag: FlowTag,
    pub(super) direction: FlowDirection,
    /// This end sends.
    pub(super) sends: bool,
    pub(super) udp: bool,
    /// Addresses, where no connection was told.
    pub(super) ends: Option<(String, String)>,
    /// This end's count.
    pub(super) total: Option<Row>,
    /// The other end's count.
    pub(super) peer: Option<(Row, Counter)>,
    /// Smoothed round-trip times, microseconds.
    pub(super) round_trips: Vec<u32>,
    /// One-way delays with their clocks.
    pub(super) delay: Option<OneWayDelay>,
}

/// A test as far as it has been told.
#[derive(Clone, Debug)]
pub(super) struct Tale {
    /// From 1 in each process.
    pub(super) number: u32,
    pub(super) told_start: bool,
    pub(super) banner: Option<ClientBanner>,
    pub(super) control: Option<ControlConnected>,
    pub(super) start: Option<TestStart>,
    pub(super) connects: Option<ConnectTimes>,
    pub(super) end: Option<TestEnd>,
    /// The other end's program and version, over the control connection of two tapelines.
    pub(super) other: Option<(String, String)>,
    /// Its processor use, and over which time, seconds.
    pub(super) other_cpu: Option<(CpuUse, Option<f64>)>,
    /// This process's, while its flows ran.
    pub(super) own_cpu: Option<ProcessorUse>,
    /// Round trips beside its traffic.
    pub(super) loaded: Option<model::LoadedLatency>,
    pub(super) judgements: Vec<Judgement>,
    pub(super) lines: Vec<Connected>,
    pub(super) flows: Vec<FlowTale>,
    pub(super) keeps_intervals: bool,
    pub(super) intervals: Vec<Interval>,
    pub(super) missing: u64,
    pub(super) warnings: Vec<Warning>,
    pub(super) failure: Option<Failure>,
    pub(super) interrupted: bool,
    pub(super) vanished: bool,
}

impl Tale {
    pub(super) fn new(number: u32, keeps_intervals: bool) -> Self {
        Self {
            number,
            told_start: false,
            banner: None,
            control: None,
            start: None,
            connects: None,
            end: None,
            other: None,
            other_cpu: None,
            loaded: None,
            own_cpu: None,
            judgements: Vec::new(),
            lines: Vec::new(),
            flows: Vec::new(),
            keeps_intervals,
            intervals: Vec::new(),
            missing: 0,
            warnings: Vec::new(),
            failure: None,
            interrupted: false,
            vanished: false,
        }
    }

    pub(super) fn connected(&mut self, line: Connected) {
        self.lines.push(line);
    }

    pub(super) fn missed(&mut self, rows: u64) {
        self.missing += rows;
    }

    /// When the last of its flows ended, if all have.
    pub(super) fn ended(&self) -> Option<WallTime> {
        let totals = self.flows.iter().map(|flow| flow.total.as_ref());
        let totals: Option<Vec<&Row>> = totals.collect();
        totals?.into_iter().map(|row| row.ended).max()
    }

    pub(super) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < MOST_WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What is to be known of the document itself: intervals that it does not have.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let missing = (self.missing > 0).then(|| {
            let said = format!(
                "{} intervals are not in this document: the output was too slow, or they were too many",
                self.missing
            );
            warning(WarningId::IntervalsMissing, (Severity::Warning, said))
        });
        self.warnings.iter().cloned().chain(missing).collect()
    }

    /// A test that was refused before it began.
    pub(super) fn refused(text: &str) -> Self {
        let warning = warning(WarningId::Usage, (Severity::Error, text.to_owned()));
        let mut tale = Self::new(1, false);
        tale.failure = Some(Failure {
            id: warning.id.clone(),
            text: warning.text.clone(),
        });
        tale.warn(warning);
        tale
    }

    /// Takes a notice that was put into words.
    pub(super) fn notice(&mut self, notice: &Notice, warning: &Warning) {
        self.warn(warning.clone());
        self.interrupted |= *notice == Notice::Interrupted;
        self.vanished |= matches!(
            notice,
            Notice::PeerVanished { .. } | Notice::PeerGone { .. }
        );
        // What explains the others counts.
        let explains = matches!(
            notice,
            Notice::OtherFamily { .. } | Notice::TestRefused { .. } | Notice::TestCut { .. }
        );
        if warning.severity == Severity::Error && (explains || self.failure.is_none()) {
            self.failure = Some(Failure {
                id: warning.id.clone(),
                text: warning.text.clone(),
            });
        }
    }

    /// Takes the end of a test of iperf3's protocol.
    pub(super) fn end(&mut self, end: &TestEnd) {
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
    pub(super) fn other_found(&mut self, other: &model::OtherProgram) {
        self.other = Some((other.program.clone(), other.version.clone()));
    }

    /// Takes what the other end counted, over the control connection of two tapelines.
    pub(super) fn other_end(&mut self, other: &model::OtherEnd) {
        for one in &other.flows {
            if let Subject::Flow(tag) = one.total.subject
                && let Some(flow) = self.flow_of(tag)
            {
                flow.peer = Some((one.total.clone(), Counter::Tapeline));
            }
        }
        if let Some(program) = &other.program {
            self.other_found(program);
        }
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
    pub(super) fn delays(&mut self, delay: &model::OneWayDelay) {
        if let Some(flow) = self.flow_of(delay.tag) {
            flow.delay = Some(OneWayDelay::told(delay, flow.sends));
        }
    }

    /// Takes what limited some of its flows.
    pub(super) fn judged(&mut self, judgement: &Judgement) {
        let same = |one: &Judgement| one.local_sends == judgement.local_sends;
        self.judgements.retain(|one| !same(one));
        self.judgements.push(judgement.clone());
    }

    fn flow_of(&mut self, tag: FlowTag) -> Option<&mut FlowTale> {
        let exact = self.flows.iter().rposition(|flow| flow.tag == tag);
        let near = || self.flows.iter().rposition(|flow| flow.tag.id == tag.id);
        let number = exact.or_else(near)?;
        self.flows.get_mut(number)
    }

    /// Takes what a server of iperf 2's protocol reports of a flow.
    pub(super) fn server_report(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let mut flows = self.flows.iter_mut();
        if let Some(flow) = flows.find(|flow| flow.tag.id == tag.id && flow.sends) {
            flow.peer = Some((row.clone(), Counter::Iperf2Report));
        }
    }

    /// Takes a row of a flow; returns the interval that it tells.
    pub(super) fn row(
        &mut self,
        tag: FlowTag,
        row: &Row,
        role: Role,
        beside: Beside,
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
        let interval = Interval::of(tag.id.0, flow.direction, time(row.ended), row, beside);
        if self.keeps_intervals {
            if self.intervals.len() < MOST_INTERVALS {
                self.intervals.push(interval.clone());
            } else {
                self.missing += 1;
            }
        }
        Some(interval)
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
        let sends = !matches!(row.measure, Measure::TcpReceive(_) | Measure::UdpReceive(_));
        let direction = match (&row.measure, role, sends) {
            (Measure::RequestResponse(_), ..) => FlowDirection::RoundTrip,
            (_, Role::Client, true) | (_, Role::Server, false) => FlowDirection::Forward,
            (_, Role::Client, false) | (_, Role::Server, true) => FlowDirection::Reverse,
        };
        let ends = row.endpoints;
        self.flows.push(FlowTale {
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

/// RFC 3339, universal time.
pub(super) fn time(at: WallTime) -> String {
    Calendar::new(true).rfc3339(at)
}
