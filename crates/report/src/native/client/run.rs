//! What is known of a client's test.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Transport};
use tapeline_stats::{Certainty, Finding, LimitedBy, LossOrigin};

use super::amount::{Amount, Way};
use crate::model::{
    ClientBanner, ClockEstimate, Connected, ConnectionFlavour, ControlConnected, ControlPeer,
    CountedBy, CpuUse, Event, LimitVerdict, LoadedLatency, Measure, Notice, OneWayDelay, PeerKind,
    PeerProgram, Phase, ProcessorUse, Row, ScheduleErrors, SendTiming, Subject, TargetGap,
    TestDirection, TestLimit, TestStart, TestTransport, TrafficShape, Trust, TrustFacts,
};

/// Delays and timings that are kept for the details.
const MAX_KEPT: usize = 64;

/// What a client was asked to do, as far as its banner does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedTest {
    /// Who sends.
    pub direction: TestDirection,
    /// When it is over.
    pub limit: TestLimit,
}

/// A client's test as far as events have reported it.
#[derive(Debug, Default)]
pub(crate) struct ClientRun {
    pub(crate) requested: Option<RequestedTest>,
    /// How many runs there are to be, in words.
    pub(crate) runs: Option<String>,
    pub(crate) banner: Option<ClientBanner>,
    pub(crate) control: Option<ControlConnected>,
    pub(crate) start: Option<TestStart>,
    /// The first connection.
    pub(crate) line: Option<Connected>,
    /// How many connections there were.
    pub(crate) connections: usize,
    pub(crate) server: Option<PeerProgram>,
    /// This end's totals.
    pub(crate) totals: BTreeMap<FlowTag, Row>,
    /// The other end's.
    pub(crate) peer_totals: BTreeMap<FlowTag, Row>,
    /// Retransmissions of the other end.
    peer_retransmits: Option<u64>,
    /// The server's CPU, buffers and windows are known.
    pub(crate) peer_visible: bool,
    pub(crate) own_cpu: Option<ProcessorUse>,
    /// The server's, and over which time, seconds.
    pub(crate) peer_cpu: Option<(CpuUse, Option<f64>)>,
    pub(crate) verdicts: Vec<LimitVerdict>,
    pub(crate) latency: Option<LoadedLatency>,
    pub(crate) clocks: Option<ClockEstimate>,
    pub(crate) delays: Vec<OneWayDelay>,
    pub(crate) send_timings: Vec<SendTiming>,
    pub(crate) schedules: Vec<ScheduleErrors>,
    pub(crate) failed: BTreeMap<FlowId, String>,
    /// Streams whose server never answered.
    unanswered: BTreeSet<FlowId>,
    clock_jump: Option<i64>,
    rows_dropped: u64,
    pub(crate) interrupted: bool,
    /// It ended for a reason that was reported as an error.
    aborted: bool,
}

impl ClientRun {
    /// Of a test that begins.
    pub(crate) fn new(requested: Option<RequestedTest>, runs: Option<String>) -> Self {
        Self {
            requested,
            runs,
            ..Self::default()
        }
    }

    /// Takes what an event says of the test.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Connecting(banner) if !banner.connect_back => {
                self.banner.get_or_insert_with(|| banner.clone());
            }
            Event::ControlConnected(control) => self.control = Some(control.clone()),
            Event::TestStart(start) => self.start = Some((**start).clone()),
            Event::Connected(line) => {
                self.connections += 1;
                self.line.get_or_insert_with(|| line.clone());
            }
            Event::Row(row) => self.row(row),
            Event::ServerReport { row, .. } => self.peer_total(row),
            Event::PeerFound { program, .. } => self.server = Some(program.clone()),
            Event::PeerResults(results) => {
                self.peer_visible = true;
                for flow in &results.flows {
                    self.peer_total(&flow.total);
                    let more = flow.limits.retransmits;
                    let sum = self.peer_retransmits.unwrap_or(0);
                    self.peer_retransmits = more.map(|more| sum + more).or(self.peer_retransmits);
                }
                self.peer_cpu = results.cpu.map(|cpu| (cpu, results.seconds));
                self.server = results.program.clone().or(self.server.take());
            }
            Event::TestEnd(end) => {
                end.peer_totals.iter().for_each(|row| self.peer_total(row));
                self.peer_cpu = end.peer_cpu.map(|cpu| (cpu, None));
                if let Some(failure) = &end.failure {
                    self.interrupted |= failure.interrupted;
                    self.aborted |= !failure.interrupted;
                }
            }
            Event::Processor(used) if used.phase == Phase::Total => self.own_cpu = Some(*used),
            Event::LimitVerdict(verdict) => {
                let same = |one: &LimitVerdict| one.local_sends == verdict.local_sends;
                self.verdicts.retain(|one| !same(one));
                self.verdicts.push((**verdict).clone());
            }
            Event::LoadedLatency(latency) => self.latency = Some((**latency).clone()),
            Event::Clocks(clocks) => self.clocks = Some(*clocks),
            Event::OneWayDelay(delay) if self.delays.len() < MAX_KEPT => {
                self.delays.push(delay.clone());
            }
            Event::SendTiming(timing) if self.send_timings.len() < MAX_KEPT => {
                self.send_timings.push(*timing);
            }
            Event::ScheduleErrors(errors) if self.schedules.len() < MAX_KEPT => {
                self.schedules.push(*errors);
            }
            Event::Notice(notice) => self.notice(notice),
            _ => {}
        }
    }

    fn row(&mut self, row: &Row) {
        if let (Subject::Flow(tag), Phase::Total) = (row.subject, row.phase) {
            self.totals.insert(tag, row.clone());
        }
    }

    fn peer_total(&mut self, row: &Row) {
        if let Subject::Flow(tag) = row.subject {
            self.peer_totals.insert(tag, row.clone());
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let failed = match notice {
            Notice::Interrupted => {
                self.interrupted = true;
                return;
            }
            Notice::ClockSet { by } => {
                self.clock_jump = Some(*by);
                return;
            }
            Notice::ConnectFailed {
                tag,
                reason,
                retrying: false,
                ..
            } => (tag, reason.clone()),
            Notice::TrafficFailed { tag, reason, .. } => (tag, reason.clone()),
            Notice::NoReply { tag, .. } => {
                self.unanswered.insert(tag.id);
                (tag, "no reply".to_owned())
            }
            Notice::ConnectTimedOut { tag, .. } => (tag, "no answer".to_owned()),
            Notice::PeerVanished { tag, .. } => (tag, "peer lost".to_owned()),
            Notice::PeerGone { tag } => (tag, "the peer's port is closed".to_owned()),
            _ => return,
        };
        self.failed.insert(failed.0.id, failed.1);
    }

    /// Interval rows did not come because the output was too slow.
    pub(crate) fn dropped(&mut self, rows: u64) {
        self.rows_dropped += rows;
    }

    pub(crate) fn transport(&self) -> Transport {
        let announced = self.control.as_ref().and_then(|control| control.request);
        let announced = announced.map(|request| request.transport);
        let started = self.start.as_ref().map(|start| start.transport);
        match (started.or(announced), &self.banner) {
            (Some(TestTransport::Udp), _) => Transport::Udp,
            (None, Some(banner)) => banner.transport,
            _ => Transport::Tcp,
        }
    }

    /// Host and port as typed.
    pub(crate) fn target(&self) -> Option<(&str, u16)> {
        if let Some(banner) = &self.banner {
            return Some((&banner.host, banner.port));
        }
        match &self.control.as_ref()?.peer {
            ControlPeer::ConnectingTo { host, port } => Some((host, *port)),
            ControlPeer::Accepted(_) => None,
        }
    }

    /// The server's address, where a connection is known.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        let line = self.line.as_ref().map(|line| line.peer);
        let ends = self.totals.values().find_map(|row| row.endpoints);
        line.or(ends.map(|ends| ends.peer))
            .map(|peer| peer.ip().to_canonical())
    }

    /// Streams in each direction.
    pub(crate) fn streams(&self) -> usize {
        let started = self.start.as_ref().map(|start| start.streams as usize);
        let planned = self.banner.as_ref().map(|banner| banner.flows);
        started.or(planned).unwrap_or(1).max(1)
    }

    pub(crate) fn direction(&self) -> TestDirection {
        let announced = self.control.as_ref().and_then(|control| control.request);
        let announced = announced.map(|request| request.direction);
        let started = self.start.as_ref().map(|start| start.direction);
        let requested = self.requested.map(|requested| requested.direction);
        let flavour = self.line.as_ref().map(|line| line.flavour);
        let seen = match flavour {
            Some(ConnectionFlavour::Reverse) => TestDirection::Reverse,
            Some(ConnectionFlavour::FullDuplex) => TestDirection::Bidirectional,
            _ => TestDirection::Forward,
        };
        started.or(announced).or(requested).unwrap_or(seen)
    }

    pub(crate) fn limit(&self) -> Option<TestLimit> {
        let started = self.start.as_ref().map(|start| start.limit);
        started.or(self.requested.map(|requested| requested.limit))
    }

    /// How long it was to last.
    pub(crate) fn time(&self) -> Option<Duration> {
        match self.limit()? {
            TestLimit::Time(time) => Some(time).filter(|time| !time.is_zero()),
            TestLimit::Bytes(_) | TestLimit::Blocks(_) => None,
        }
    }

    /// Bits per second that a stream is to send.
    pub(crate) fn rate(&self) -> Option<u64> {
        let started = self.start.as_ref().map(|start| start.target_rate);
        let planned = self.banner.as_ref().and_then(|banner| banner.rate);
        started.or(planned).filter(|rate| *rate > 0)
    }

    /// Whose program is at the other end.
    pub(crate) fn peer_kind(&self) -> PeerKind {
        let seen = self.line.as_ref().is_some_and(|line| line.peer_is_tapeline);
        if self.control.is_some() || self.start.is_some() {
            PeerKind::Iperf3
        } else if self.server.is_some() || seen {
            PeerKind::Tapeline
        } else {
            PeerKind::Iperf2
        }
    }

    /// The other end tells retransmissions of what it sends.
    pub(crate) fn peer_tells_retransmits(&self) -> bool {
        self.peer_kind() != PeerKind::Iperf2
    }

    fn rows(rows: &BTreeMap<FlowTag, Row>, sends: bool) -> Option<Amount> {
        Amount::of(rows.values().filter(|row| row.measure.sends() == sends))
    }

    /// What this end counted.
    pub(crate) fn own(&self, way: Way) -> Option<Amount> {
        Self::rows(&self.totals, way == Way::ToServer)
    }

    /// What was sent, if its sender says so.
    pub(crate) fn sent(&self, way: Way) -> Option<Amount> {
        match way {
            Way::ToServer => self.own(way),
            Way::FromServer => {
                let sent = self.complete(Self::rows(&self.peer_totals, true), way)?;
                Some(Amount {
                    retransmits: sent.retransmits.or(self.peer_retransmits),
                    ..sent
                })
            }
        }
    }

    /// What arrived, if its receiver says so.
    pub(crate) fn received(&self, way: Way) -> Option<Amount> {
        match way {
            Way::ToServer => self.complete(Self::rows(&self.peer_totals, false), way),
            Way::FromServer => self.own(way),
        }
    }

    /// A sum over fewer streams than there were is none.
    fn complete(&self, sum: Option<Amount>, way: Way) -> Option<Amount> {
        let streams = self.own(way).map_or(0, |own| own.streams);
        sum.filter(|sum| sum.streams >= streams)
    }

    /// The directions in which data went.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let ways = Way::BOTH.into_iter();
        ways.filter(|way| self.own(*way).is_some()).collect()
    }

    pub(crate) fn verdict(&self, way: Way) -> Option<&LimitVerdict> {
        let mut verdicts = self.verdicts.iter();
        verdicts.find(|one| Way::sent_here(one.local_sends) == way)
    }

    /// Where datagrams of a direction were lost.
    pub(crate) fn loss_origin(&self, way: Way) -> Option<LossOrigin> {
        let verdict = self.verdict(way)?;
        verdict.receiver.loss(&verdict.sender)
    }

    /// The one-way delay of a direction's first stream.
    pub(crate) fn delay(&self, way: Way) -> Option<&OneWayDelay> {
        let mut delays = self.delays.iter();
        delays.find(|delay| delay.tag.reversed == (way == Way::FromServer))
    }

    /// The longest time of traffic.
    pub(crate) fn duration(&self) -> Duration {
        let lengths = self.totals.values().map(|row| row.span.length());
        lengths.max().unwrap_or_default()
    }

    /// Time between frames, bursts or paced datagrams, and the sender's own pauses as far as they are known.
    pub(crate) fn longest_pause_of_sender(&self) -> Duration {
        let Some(banner) = &self.banner else {
            return Duration::ZERO;
        };
        let period = match banner.shape {
            TrafficShape::Isochronous {
                frames_per_second, ..
            } => Duration::from_secs_f64(1.0 / frames_per_second),
            TrafficShape::Bursts { period, .. } => period,
            TrafficShape::Steady | TrafficShape::Markov(_) | TrafficShape::NearCongestion(_) => {
                Duration::ZERO
            }
        };
        let gap = match banner.gap {
            TargetGap::None => Duration::ZERO,
            TargetGap::Every(gap) => gap,
        };
        let gaps = self.send_timings.iter().filter_map(|timing| timing.gaps);
        let kept = gaps.map(|gaps| gaps.gap + gaps.max).max();
        period.max(kept.unwrap_or(2 * gap))
    }

    /// Nothing took place of which a result could be given: the reason was reported as an error.
    pub(crate) fn is_void(&self) -> bool {
        let refused = |one: &LimitVerdict| {
            let mut findings = one.verdict.findings.iter();
            findings.any(|finding| matches!(finding, Finding::Refused(_)))
        };
        let moved = self.totals.values().any(|row| row.bytes > 0);
        let lost = self.failed.len() >= self.streams() && self.transport() == Transport::Udp;
        let arrived = self.peer_totals.values().any(|row| row.bytes > 0);
        let sent_only = self.ways() == [Way::ToServer];
        let unanswered = self.unanswered.len() >= self.streams();
        let lost = sent_only && !arrived && (lost || self.verdicts.iter().any(refused));
        // A server that has shown itself was there for a part of the test.
        let shown = self.server.is_some() || self.start.is_some();
        !moved || !shown && (unanswered || lost)
    }

    /// How far the result is to be trusted.
    pub(crate) fn trust(&self) -> Trust {
        let counted = self.ways().into_iter().map(|way| self.counted_by(way));
        let badness = |by: &CountedBy| match by {
            CountedBy::Nobody => 3,
            CountedBy::Sender => 2,
            CountedBy::Receiver => 1,
            CountedBy::BothEnds | CountedBy::OneClock => 0,
        };
        let findings = self.verdicts.iter().flat_map(|one| &one.verdict.findings);
        let mut too_few = findings.filter_map(|finding| match finding {
            Finding::TooFew(writes) => Some(*writes),
            _ => None,
        });
        let lost_in_hosts = self.ways().into_iter().map(|way| {
            let origin = self.loss_origin(way)?;
            Some(origin.receiver_host? + origin.sender_host.unwrap_or(0))
        });
        let lost_in_hosts: Option<u64> = lost_in_hosts.sum();
        Trust::new(&TrustFacts {
            is_server: false,
            duration: self.duration(),
            too_few: too_few.next(),
            counted_by: counted.max_by_key(badness).unwrap_or_default(),
            peer: self.peer_kind(),
            peer_streams: self.peer_totals.len(),
            peer_visible: self.peer_visible,
            same_machine: self.same_machine(),
            clock_jump: self.clock_jump,
            rows_dropped: self.rows_dropped,
            interrupted: self.interrupted,
            requested: self.time(),
            failed_streams: self.failed.len().max(usize::from(self.aborted)),
            streams: self.streams(),
            limits: self.limits(),
            datagrams: self.transport() == Transport::Udp,
            lost_in_hosts,
        })
    }

    fn limits(&self) -> Vec<(Option<LimitedBy>, Certainty)> {
        let verdicts = self.verdicts.iter().map(|one| &one.verdict);
        let limits = verdicts.map(|verdict| (verdict.limited_by, verdict.certainty));
        limits.collect()
    }

    fn counted_by(&self, way: Way) -> CountedBy {
        let udp = self.transport() == Transport::Udp;
        match (self.sent(way), self.received(way)) {
            (Some(_), Some(_)) => CountedBy::BothEnds,
            (None, Some(_)) => CountedBy::Receiver,
            (_, None) if udp => CountedBy::Nobody,
            (_, None) => CountedBy::Sender,
        }
    }

    fn same_machine(&self) -> bool {
        let line = self.line.as_ref();
        line.is_some_and(|line| {
            line.peer.ip().to_canonical().is_loopback() || line.peer.ip() == line.local.ip()
        })
    }
}

/// Whether a row carries the counts of a receiver of datagrams.
pub(crate) fn counts_losses(row: &Row) -> bool {
    matches!(row.measure, Measure::UdpReceive(_))
}
