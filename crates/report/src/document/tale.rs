//! A test as far as it has been told.

use tapeline_base::{FlowTag, Role, Transport, WallTime};
use tapeline_stats::Moments;

use super::assembler::{Occasion, PlannedLimit};
use super::delay::{DelaySummary, OneWayDelay};
use super::flow::{Connects, Counter, Exchange, Flow, Receiver, Sender, rate};
use super::interval::Interval;
use super::report::{
    Failure, FlowDirection, Peer, Protocol, Report, SCHEMA, Test, TestRole, TestShape, Workload,
};
use super::sum::Sum;
use super::warning::{Warning, WarningSeverity};
use super::{millis, seconds};
use crate::calendar::Calendar;
use crate::model::{
    ClientBanner, ConnectTimes, Connected, ConnectionFlavour, ControlConnected, CpuUse,
    Measure, Notice, Phase, Row, Subject, TestDirection, TestEnd, TestLimit, TestStart,
    TestTransport,
};
use crate::native;

/// Intervals that a document can have; a test of ten thousand flows has them in a minute.
const MOST_INTERVALS: usize = 1 << 19;
/// Warnings that a document can have.
const MOST_WARNINGS: usize = 256;

/// A direction of a flow.
#[derive(Clone, Debug)]
struct FlowTale {
    tag: FlowTag,
    direction: FlowDirection,
    /// This end sends.
    sends: bool,
    udp: bool,
    /// Addresses, where no connection was told.
    ends: Option<(String, String)>,
    /// This end's count.
    total: Option<Row>,
    /// The other end's count.
    peer: Option<(Row, Counter)>,
    /// Smoothed round-trip times, microseconds.
    round_trips: Vec<u32>,
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
    end: Option<TestEnd>,
    lines: Vec<Connected>,
    flows: Vec<FlowTale>,
    keeps_intervals: bool,
    intervals: Vec<Interval>,
    missing: u64,
    warnings: Vec<Warning>,
    failure: Option<Failure>,
    interrupted: bool,
    vanished: bool,
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

    /// Takes a notice that was put into words.
    pub(super) fn notice(&mut self, notice: &Notice, warning: &Warning) {
        self.warn(warning.clone());
        self.interrupted |= *notice == Notice::Interrupted;
        self.vanished |= matches!(notice, Notice::PeerVanished { .. });
        // What explains the others counts.
        let explains = matches!(notice, Notice::OtherFamily { .. });
        if warning.severity == WarningSeverity::Error && (explains || self.failure.is_none()) {
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
                let said = (native::Severity::Error, failure.text.clone());
                let warning = Warning::new("test_failed", said);
                self.failure.get_or_insert_with(|| Failure {
                    id: warning.id.clone(),
                    text: warning.text.clone(),
                });
                self.warn(warning);
            }
        }
        self.end = Some(end.clone());
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
    pub(super) fn row(&mut self, tag: FlowTag, row: &Row, role: Role) -> Option<Interval> {
        let number = self.flow(tag, row, role);
        let flow = &mut self.flows[number];
        if let Measure::TcpSend(send) = &row.measure
            && let Some(micros) = send.state.and_then(|state| state.rtt_micros)
        {
            flow.round_trips.push(micros);
        }
        if row.phase == Phase::Total {
            flow.total = Some(row.clone());
            return None;
        }
        let interval = Interval::of(tag.id.0, flow.direction, time(row.ended), row);
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
        let known = self.flows.iter().rposition(|flow| flow.tag == tag && flow.total.is_none());
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
        });
        self.flows.len() - 1
    }

    /// The document so far.
    pub(super) fn report(&self, occasion: &Occasion) -> Report {
        let flows: Vec<Flow> = self.flows(occasion);
        let mut sum = Sum::of(&flows);
        self.enter_processors(&mut sum);
        Report {
            schema: SCHEMA,
            version: occasion.version.clone(),
            command: occasion.command.clone(),
            peer: self.peer(occasion),
            test: self.test(occasion),
            sum,
            flows,
            intervals: Vec::new(),
            connects: self.connects.map(|connects| Connects {
                times: DelaySummary::of_moments(&connects.times).unwrap_or_default(),
                failed: connects.errors,
            }),
            verdict: None,
            warnings: self.warnings.clone(),
            error: self.failure.clone(),
        }
    }

    /// The whole document.
    pub(super) fn finish(mut self, occasion: &Occasion) -> Report {
        let intervals = std::mem::take(&mut self.intervals);
        Report {
            intervals,
            ..self.report(occasion)
        }
    }

    fn peer(&self, occasion: &Occasion) -> Peer {
        let line = self.lines.first();
        let version = self.lines.iter().find_map(|line| line.peer_version.clone());
        let program = if self.protocol() == Some(Protocol::Iperf3) && line.is_some() {
            Some("iperf3")
        } else {
            version.as_ref().map(|_| "iperf")
        };
        let hides = occasion.style.hide_addresses;
        Peer {
            program: program.map(str::to_owned),
            version,
            host: occasion
                .planned
                .as_ref()
                .filter(|_| !hides)
                .map(|planned| planned.host.clone()),
            address: line.map(|line| native::shown_address(line.peer.ip(), &occasion.style)),
        }
    }

    fn protocol(&self) -> Option<Protocol> {
        if self.control.is_some() || self.start.is_some() || self.end.is_some() {
            Some(Protocol::Iperf3)
        } else {
            (!self.lines.is_empty()).then_some(Protocol::Iperf2)
        }
    }

    fn test(&self, occasion: &Occasion) -> Test {
        let planned = occasion.planned.as_ref();
        let start = self.start.as_ref();
        let banner = self.banner.as_ref();
        let limit = planned.map(|planned| planned.limit).or(start.map(asked_limit));
        let begun = self.lines.iter().find_map(|line| line.at);
        let begun = begun.or(self.control.as_ref().map(|control| control.at));
        let omit = planned.map(|planned| planned.omit).or(start.map(|start| start.omit));
        let of_line = |line: &Connected| line.congestion.clone();
        let positive = |value: u64| (value > 0).then_some(value);
        Test {
            role: match occasion.role {
                Role::Client => TestRole::Client,
                Role::Server => TestRole::Server,
            },
            protocol: self.protocol(),
            transport: self.transport(occasion),
            direction: planned.map(|planned| planned.direction).or(self.direction()),
            workload: planned.map(|planned| planned.workload).or(self.workload()),
            started: begun.map(time),
            seconds: match limit {
                Some(PlannedLimit::Time(span)) => Some(seconds(span)),
                _ => None,
            },
            bytes: match limit {
                Some(PlannedLimit::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
            omit_seconds: omit.map(seconds),
            streams: planned
                .and_then(|planned| u32::try_from(planned.streams).ok())
                .or(start.map(|start| start.streams))
                .or(self.streams()),
            block_bytes: banner
                .map(|banner| banner.write_length)
                .or(start.map(|start| u64::from(start.block_length)))
                .and_then(positive),
            target_bits_per_second: banner
                .and_then(|banner| banner.rate)
                .or(start.and_then(|start| positive(start.target_rate))),
            interval_seconds: planned
                .and_then(|planned| planned.interval)
                .or(start.and_then(|start| start.interval))
                .map(seconds),
            congestion_control: self
                .lines
                .iter()
                .find_map(of_line)
                .or(banner
                    .and_then(|banner| banner.congestion.as_ref())
                    .map(|control| control.name.clone()))
                .or(self.congestion()),
            buffer_bytes: banner
                .and_then(|banner| positive(banner.buffer.actual))
                .or(start.and_then(|start| positive(start.buffers.0))),
            tos: banner
                .map(|banner| banner.tos.0)
                .or(start.map(|start| start.tos)),
            complete: !self.interrupted && !self.vanished && self.failure.is_none(),
            interrupted: self.interrupted,
            intervals_missing: self.missing,
        }
    }

    /// Congestion control of this end, as the end of an iperf3 test says.
    fn congestion(&self) -> Option<String> {
        let end = self.end.as_ref()?;
        let sends = self.flows.iter().any(|flow| flow.sends);
        if sends {
            end.sender_congestion.clone()
        } else {
            end.receiver_congestion.clone()
        }
    }

    fn transport(&self, occasion: &Occasion) -> Option<&'static str> {
        if let Some(start) = &self.start {
            return Some(match start.transport {
                TestTransport::Tcp => "tcp",
                TestTransport::Udp => "udp",
                TestTransport::Sctp => "sctp",
            });
        }
        if let Some(planned) = &occasion.planned {
            return Some(planned.transport);
        }
        let banner = self.banner.as_ref().map(|banner| banner.transport == Transport::Udp);
        let udp = banner.or(self.flows.first().map(|flow| flow.udp))?;
        Some(if udp { "udp" } else { "tcp" })
    }

    fn direction(&self) -> Option<TestShape> {
        if let Some(start) = &self.start {
            return Some(match start.direction {
                TestDirection::Forward => TestShape::Forward,
                TestDirection::Reverse => TestShape::Reverse,
                TestDirection::Bidirectional => TestShape::Bidirectional,
            });
        }
        let has = |direction| self.flows.iter().any(|flow| flow.direction == direction);
        match (has(FlowDirection::Forward), has(FlowDirection::Reverse)) {
            (true, true) => Some(TestShape::Bidirectional),
            (true, false) => Some(TestShape::Forward),
            (false, true) => Some(TestShape::Reverse),
            (false, false) => None,
        }
    }

    fn workload(&self) -> Option<Workload> {
        let line = self.lines.first()?;
        Some(match line.flavour {
            ConnectionFlavour::RequestResponse { .. } => Workload::RequestResponse,
            ConnectionFlavour::ConnectOnly => Workload::ConnectOnly,
            _ => Workload::Stream,
        })
    }

    /// Flows in the direction that has most.
    fn streams(&self) -> Option<u32> {
        let of = |direction| {
            let its = self.flows.iter().filter(|flow| flow.direction == direction);
            its.count()
        };
        let most = of(FlowDirection::Forward)
            .max(of(FlowDirection::Reverse))
            .max(of(FlowDirection::RoundTrip));
        u32::try_from(most).ok().filter(|most| *most > 0)
    }

    fn line(&self, tag: FlowTag) -> Option<&Connected> {
        let same = self.lines.iter().rfind(|line| line.tag == tag);
        same.or_else(|| self.lines.iter().rfind(|line| line.tag.id == tag.id))
    }

    /// Flows in the order of their first rows, and connections that never told one.
    fn flows(&self, occasion: &Occasion) -> Vec<Flow> {
        let told = self.flows.iter().map(|flow| self.told(flow, occasion));
        let silent = self.lines.iter().filter(|line| {
            let id = line.tag.id;
            !self.flows.iter().any(|flow| flow.tag.id == id)
        });
        told.chain(silent.map(|line| self.silent(line, occasion))).collect()
    }

    /// A connection of which only the connection is known.
    fn silent(&self, line: &Connected, occasion: &Occasion) -> Flow {
        let udp = self.transport(occasion) == Some("udp");
        let direction = match line.flavour {
            ConnectionFlavour::RequestResponse { .. } => FlowDirection::RoundTrip,
            ConnectionFlavour::Reverse => FlowDirection::Reverse,
            _ => FlowDirection::Forward,
        };
        self.flow_at(line.tag, direction, Some(line), None, udp, occasion)
    }

    fn flow_at(
        &self,
        tag: FlowTag,
        direction: FlowDirection,
        line: Option<&Connected>,
        ends: Option<&(String, String)>,
        udp: bool,
        occasion: &Occasion,
    ) -> Flow {
        let hides = occasion.style.hide_addresses;
        let shown = line.map(|line| {
            let shown = |at| native::shown(at, &occasion.style);
            (shown(line.local), shown(line.peer))
        });
        let ends = shown.or(ends.filter(|_| !hides).cloned());
        Flow {
            id: tag.id.0,
            direction,
            local: ends.as_ref().map(|(local, _)| local.clone()),
            remote: ends.map(|(_, remote)| remote),
            congestion_control: line.and_then(|line| line.congestion.clone()),
            connect_ms: line
                .and_then(|line| line.connect_time)
                .and_then(|span| millis(span.as_secs_f64())),
            sender: Sender::unknown(udp),
            receiver: Receiver::unknown(udp),
            rtt: None,
            one_way_delay: None,
            one_way_delay_back: None,
            exchange: None,
        }
    }

    fn told(&self, flow: &FlowTale, occasion: &Occasion) -> Flow {
        let line = self.line(flow.tag);
        let ends = flow.ends.as_ref();
        let base = self.flow_at(flow.tag, flow.direction, line, ends, flow.udp, occasion);
        let mut told = Flow {
            rtt: DelaySummary::of_micros(&flow.round_trips),
            ..base
        };
        if let Some(total) = &flow.total {
            self.enter_own(&mut told, flow, total);
        }
        if let Some((row, counter)) = &flow.peer {
            if flow.sends {
                told.receiver = Receiver::of(row, self.behind(flow, row), *counter);
                told.one_way_delay = told.one_way_delay.or(delays(row));
            } else {
                told.sender = Sender::of(row);
            }
        }
        if self.flows.len() == 1 {
            let (sender, receiver) = self.processors(flow.sends);
            told.sender.end.cpu_percent = sender;
            told.receiver.end.cpu_percent = receiver;
        }
        told
    }

    /// What this end counted.
    fn enter_own(&self, told: &mut Flow, flow: &FlowTale, total: &Row) {
        match &total.measure {
            Measure::RequestResponse(exchange) => {
                let trips = &exchange.round_trips;
                let [p50, p90, p99] = exchange.percentiles.map(|one| one.and_then(millis));
                told.rtt = DelaySummary::of_moments(trips).map(|summary| DelaySummary {
                    p50_ms: p50,
                    p90_ms: p90,
                    p99_ms: p99,
                    ..summary
                });
                let span = seconds(total.span.length());
                told.sender.end.bytes = Some(exchange.sent);
                told.sender.end.seconds = Some(span);
                told.sender.end.bits_per_second = rate(exchange.sent, span);
                told.exchange = Some(Exchange {
                    responses: trips.count,
                    per_second: (trips.count > 0 && trips.mean > 0.0).then(|| 1.0 / trips.mean),
                    request_bytes: exchange.sent,
                    response_bytes: exchange.received,
                    retransmits: exchange.retransmits,
                });
                if let Some(times) = &exchange.one_way {
                    let assumed = |moments: &Moments| OneWayDelay::assumed(moments);
                    told.one_way_delay = assumed(&times.transmit);
                    told.one_way_delay_back = assumed(&times.receive);
                }
            }
            _ if flow.sends => told.sender = Sender::of(total),
            _ => {
                let behind = self.behind(flow, total);
                told.receiver = Receiver::of(total, behind, Counter::Tapeline);
                told.one_way_delay = delays(total);
            }
        }
    }

    /// Datagrams that were lost behind the last one that the receiver saw: the sender alone
    /// misses them. Over iperf 2's protocol the final datagram tells.
    fn behind(&self, flow: &FlowTale, row: &Row) -> u64 {
        let Measure::UdpReceive(receive) = &row.measure else {
            return 0;
        };
        let Some(start) = self.start.as_ref().filter(|start| start.omit.is_zero()) else {
            return 0;
        };
        debug_assert_eq!(start.transport, TestTransport::Udp);
        if flow.sends {
            let sent = match flow.total.as_ref().map(|row| &row.measure) {
                Some(Measure::UdpSend(send)) => send.writes,
                _ => 0,
            };
            sent.saturating_sub(receive.total)
        } else {
            let known = self.end.iter().flat_map(|end| &end.lost_behind);
            let its = known.filter(|(tag, _)| *tag == flow.tag);
            its.map(|(_, lost)| *lost).sum()
        }
    }

    /// Processor use of the sending and of the receiving end.
    fn processors(&self, sends: bool) -> (Option<f64>, Option<f64>) {
        let Some(end) = &self.end else {
            return (None, None);
        };
        let percent = |cpu: CpuUse| cpu.total;
        let (own, peer) = (Some(percent(end.cpu)), end.peer_cpu.map(percent));
        if sends { (own, peer) } else { (peer, own) }
    }

    fn enter_processors(&self, sum: &mut Sum) {
        let of = |direction: FlowDirection| {
            let its = self.flows.iter().find(|flow| flow.direction == direction);
            its.map_or((None, None), |flow| self.processors(flow.sends))
        };
        if let [only] = &mut sum.directions[..] {
            let (sender, receiver) = of(only.direction);
            for end in [&mut only.sender.end, &mut sum.sender.end] {
                end.cpu_percent = sender;
            }
            for end in [&mut only.receiver.end, &mut sum.receiver.end] {
                end.cpu_percent = receiver;
            }
        }
    }
}

/// One-way delays of a receiver's row, where its clock and the sender's are said to agree.
fn delays(row: &Row) -> Option<OneWayDelay> {
    match &row.measure {
        Measure::UdpReceive(receive) if row.trip_times => OneWayDelay::assumed(&receive.transit),
        Measure::TcpReceive(receive) => {
            let bursts = receive.bursts.as_ref()?;
            OneWayDelay::assumed(&bursts.latency)
        }
        _ => None,
    }
}

fn asked_limit(start: &TestStart) -> PlannedLimit {
    match start.limit {
        TestLimit::Time(span) if span.is_zero() => PlannedLimit::Never,
        TestLimit::Time(span) => PlannedLimit::Time(span),
        TestLimit::Bytes(bytes) => PlannedLimit::Bytes(bytes),
        TestLimit::Blocks(blocks) => {
            PlannedLimit::Bytes(blocks.saturating_mul(u64::from(start.block_length)))
        }
    }
}

/// RFC 3339, universal time.
fn time(at: WallTime) -> String {
    Calendar::new(true).rfc3339(at)
}
