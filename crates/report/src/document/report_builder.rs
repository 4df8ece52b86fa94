//! What a test came to: its document.

use tapeline_base::{FlowTag, Role, Transport};
use tapeline_stats::{DelayCourse, Moments};

use super::delay::{DelaySummary, LatencyUnderLoad, OneWayDelay};
use super::figures::{millis, rate, seconds, time};
use super::record::{DocumentRecord, FlowRecord};
use super::run_info::{PlannedLimit, RunInfo};
use super::schema::{
    Peer, Protocol, Report, SCHEMA, Sum, Test, TestRole, TestShape, TestVerdict, Verdict, Workload,
};
use super::stream::{ConnectTimes, Counter, ProcessUse, Receiver, Requests, Sender, Stream};
use super::trust::TestView;

use crate::model::{
    Connected, ConnectionFlavour, CpuUse, FlowDirection, LimitVerdict, Measure, Row, TestDirection,
    TestLimit, TestStart, TestTransport,
};
use crate::native;

/// The document of a command line that cannot be carried out, and why.
#[must_use]
pub fn refused(run_info: &RunInfo, why: &str) -> Report {
    ReportBuilder::new(&DocumentRecord::refused(why), run_info).build()
}

/// The whole document of a test that is over.
pub(crate) fn finish(mut record: DocumentRecord, run_info: &RunInfo) -> Report {
    let intervals = std::mem::take(&mut record.intervals);
    Report {
        intervals,
        ..ReportBuilder::new(&record, run_info).build()
    }
}

/// Puts the document of a test together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportBuilder<'a> {
    record: &'a DocumentRecord,
    run_info: &'a RunInfo,
}

impl<'a> ReportBuilder<'a> {
    pub(crate) fn new(record: &'a DocumentRecord, run_info: &'a RunInfo) -> Self {
        Self { record, run_info }
    }

    /// The document so far, without its intervals.
    pub(crate) fn build(&self) -> Report {
        let streams = self.streams();
        let mut sum = Sum::from_streams(&streams);
        self.enter_processors(&mut sum);
        self.enter_verdicts(&mut sum);
        let (peer, test) = (self.peer(), self.test());
        let view = TestView {
            record: self.record,
            run_info: self.run_info,
            streams: &streams,
            peer: &peer,
            test: &test,
        };
        Report {
            trust: view.trust(),
            schema: SCHEMA,
            version: Some(self.run_info.version.clone()),
            command: Some(self.run_info.command.clone()).filter(|line| !line.is_empty()),
            imported: None,
            peer,
            test,
            sum,
            streams,
            intervals: Vec::new(),
            connect_times: self.record.connects.map(|connects| ConnectTimes {
                times: DelaySummary::from_moments(&connects.times).unwrap_or_default(),
                failed: connects.errors,
            }),
            latency_under_load: self.record.loaded.as_ref().map(LatencyUnderLoad::new),
            verdict: self.verdict(),
            warnings: self.record.warnings(),
            error: self.record.failure.clone(),
        }
    }

    fn peer(&self) -> Peer {
        let line = self.record.lines.first();
        let tapeline = self.record.lines.iter().any(|line| line.peer_is_tapeline);
        // What tapeline says in iperf's header is what it is compatible with.
        let headers = self
            .record
            .lines
            .iter()
            .filter(|line| !line.peer_is_tapeline);
        let version = headers.filter_map(|line| line.peer_version.clone()).next();
        if let Some((program, version)) = &self.record.other {
            return Peer {
                program: Some(program.clone()),
                version: Some(version.clone()),
                ..self.unknown_peer()
            };
        }
        if let Some(version) = self
            .record
            .end
            .as_ref()
            .and_then(|end| end.peer_tapeline.clone())
        {
            return Peer {
                program: Some("tapeline".to_owned()),
                version: Some(version),
                ..self.unknown_peer()
            };
        }
        let program = if self.protocol() == Some(Protocol::Iperf3) && line.is_some() {
            Some("iperf3")
        } else if tapeline {
            Some("tapeline")
        } else {
            version.as_ref().map(|_| "iperf")
        };
        Peer {
            program: program.map(str::to_owned),
            version,
            ..self.unknown_peer()
        }
    }

    /// Where the other end is; not what.
    fn unknown_peer(&self) -> Peer {
        let line = self.record.lines.first();
        let hides = self.run_info.style.hide_addresses;
        Peer {
            program: None,
            version: None,
            host: self
                .run_info
                .planned
                .as_ref()
                .filter(|_| !hides)
                .map(|planned| planned.host.clone()),
            address: line.map(|line| native::shown_address(line.peer.ip(), &self.run_info.style)),
        }
    }

    fn protocol(&self) -> Option<Protocol> {
        if self.record.control.is_some() || self.record.start.is_some() || self.record.end.is_some()
        {
            Some(Protocol::Iperf3)
        } else {
            (!self.record.lines.is_empty()).then_some(Protocol::Iperf2)
        }
    }

    fn test(&self) -> Test {
        let planned = self.run_info.planned.as_ref();
        let start = self.record.start.as_ref();
        let banner = self.record.banner.as_ref();
        let limit = planned
            .map(|planned| planned.limit)
            .or(start.map(asked_limit));
        let begun = self.record.lines.iter().find_map(|line| line.at);
        let begun = begun.or(self.record.control.as_ref().map(|control| control.at));
        let omit = planned
            .map(|planned| planned.omit)
            .or(start.map(|start| start.omit));
        let of_line = |line: &Connected| line.congestion.clone();
        let positive = |value: u64| (value > 0).then_some(value);
        Test {
            role: Some(match self.run_info.role {
                Role::Client => TestRole::Client,
                Role::Server => TestRole::Server,
            }),
            protocol: self.protocol(),
            transport: self.transport(),
            direction: planned
                .map(|planned| planned.direction)
                .or(self.direction()),
            workload: planned.map(|planned| planned.workload).or(self.workload()),
            started: begun.map(time),
            requested_seconds: match limit {
                Some(PlannedLimit::Time(span)) => Some(seconds(span)),
                _ => None,
            },
            requested_bytes: match limit {
                Some(PlannedLimit::Bytes(bytes)) => Some(bytes),
                _ => None,
            },
            omit_seconds: omit.map(seconds),
            streams: planned
                .and_then(|planned| u32::try_from(planned.streams).ok())
                .or(start.map(|start| start.streams))
                .or(self.stream_count()),
            length_bytes: banner
                .map(|banner| banner.write_length)
                .or(start.map(|start| u64::from(start.block_length)))
                .and_then(positive),
            requested_bits_per_second: banner
                .and_then(|banner| banner.rate)
                .or(start.and_then(|start| positive(start.target_rate))),
            interval_seconds: planned
                .and_then(|planned| planned.interval)
                .or(start.and_then(|start| start.interval))
                .map(seconds),
            congestion_control: self
                .record
                .lines
                .iter()
                .find_map(of_line)
                .or(banner
                    .and_then(|banner| banner.congestion.as_ref())
                    .map(|control| control.name.clone()))
                .or(self.congestion()),
            socket_buffer_bytes: banner
                .and_then(|banner| positive(banner.buffer.actual))
                .or(start.and_then(|start| positive(start.buffers.0))),
            tos: banner
                .map(|banner| banner.tos.0)
                .or(start.map(|start| start.tos)),
            complete: !self.record.interrupted
                && !self.record.vanished
                && self.record.failure.is_none(),
            interrupted: self.record.interrupted,
            intervals_dropped: self.record.missing,
        }
    }

    /// Congestion control of this end, as the end of an iperf3 test says.
    fn congestion(&self) -> Option<String> {
        let end = self.record.end.as_ref()?;
        let sends = self.record.flows.iter().any(|flow| flow.sends);
        if sends {
            end.sender_congestion.clone()
        } else {
            end.receiver_congestion.clone()
        }
    }

    fn transport(&self) -> Option<&'static str> {
        if let Some(start) = &self.record.start {
            return Some(match start.transport {
                TestTransport::Tcp => "tcp",
                TestTransport::Udp => "udp",
                TestTransport::Sctp => "sctp",
            });
        }
        if let Some(planned) = &self.run_info.planned {
            return Some(planned.transport);
        }
        let banner = self
            .record
            .banner
            .as_ref()
            .map(|banner| banner.transport == Transport::Udp);
        let udp = banner.or(self.record.flows.first().map(|flow| flow.udp))?;
        Some(if udp { "udp" } else { "tcp" })
    }

    fn direction(&self) -> Option<TestShape> {
        if let Some(start) = &self.record.start {
            return Some(match start.direction {
                TestDirection::Forward => TestShape::Forward,
                TestDirection::Reverse => TestShape::Reverse,
                TestDirection::Bidirectional => TestShape::Bidirectional,
            });
        }
        let has = |direction| {
            self.record
                .flows
                .iter()
                .any(|flow| flow.direction == direction)
        };
        match (has(FlowDirection::Forward), has(FlowDirection::Reverse)) {
            (true, true) => Some(TestShape::Bidirectional),
            (true, false) => Some(TestShape::Forward),
            (false, true) => Some(TestShape::Reverse),
            (false, false) => None,
        }
    }

    fn workload(&self) -> Option<Workload> {
        let line = self.record.lines.first()?;
        Some(match line.flavour {
            ConnectionFlavour::RequestResponse { .. } => Workload::RequestResponse,
            ConnectionFlavour::ConnectOnly => Workload::ConnectOnly,
            _ => Workload::Stream,
        })
    }

    /// Flows in the direction that has most.
    fn stream_count(&self) -> Option<u32> {
        let of = |direction| {
            let its = self
                .record
                .flows
                .iter()
                .filter(|flow| flow.direction == direction);
            its.count()
        };
        let most = of(FlowDirection::Forward)
            .max(of(FlowDirection::Reverse))
            .max(of(FlowDirection::RoundTrip));
        u32::try_from(most).ok().filter(|most| *most > 0)
    }

    fn line(&self, tag: FlowTag) -> Option<&Connected> {
        let same = self.record.lines.iter().rfind(|line| line.tag == tag);
        same.or_else(|| self.record.lines.iter().rfind(|line| line.tag.id == tag.id))
    }

    /// Flows in the order of their first rows, and connections that never told one.
    fn streams(&self) -> Vec<Stream> {
        let known = self.record.flows.iter().map(|flow| self.flow(flow));
        let silent = self.record.lines.iter().filter(|line| {
            let id = line.tag.id;
            !self.record.flows.iter().any(|flow| flow.tag.id == id)
        });
        known.chain(silent.map(|line| self.silent(line))).collect()
    }

    /// A connection of which only the connection is known.
    fn silent(&self, line: &Connected) -> Stream {
        let udp = self.transport() == Some("udp");
        let direction = match line.flavour {
            ConnectionFlavour::RequestResponse { .. } => FlowDirection::RoundTrip,
            ConnectionFlavour::Reverse => FlowDirection::Reverse,
            _ => FlowDirection::Forward,
        };
        self.flow_at(line.tag, direction, Some(line), None, udp)
    }

    fn flow_at(
        &self,
        tag: FlowTag,
        direction: FlowDirection,
        line: Option<&Connected>,
        ends: Option<&(String, String)>,
        udp: bool,
    ) -> Stream {
        let hides = self.run_info.style.hide_addresses;
        let shown = line.map(|line| {
            let shown = |at| native::shown(at, &self.run_info.style);
            (shown(line.local), shown(line.peer))
        });
        let ends = shown.or(ends.filter(|_| !hides).cloned());
        Stream {
            local: ends.as_ref().map(|(local, _)| local.clone()),
            remote: ends.map(|(_, remote)| remote),
            congestion_control: line
                .and_then(|line| line.congestion.clone())
                .or_else(|| self.congestion()),
            connect_ms: line
                .and_then(|line| line.connect_time)
                .and_then(|span| millis(span.as_secs_f64())),
            ..Stream::unknown(tag.id.0, direction, udp)
        }
    }

    fn flow(&self, flow: &FlowRecord) -> Stream {
        let line = self.line(flow.tag);
        let ends = flow.ends.as_ref();
        let base = self.flow_at(flow.tag, flow.direction, line, ends, flow.udp);
        let mut entry = Stream {
            rtt: DelaySummary::from_micros(&flow.round_trips),
            ..base
        };
        if let Some(total) = &flow.total {
            self.enter_own(&mut entry, flow, total);
        }
        if let Some((row, counter)) = &flow.peer {
            if flow.sends {
                entry.receiver = Receiver::from_row(row, self.behind(flow, row), *counter);
                entry.one_way_delay = entry.one_way_delay.or_else(|| delays(row));
            } else {
                entry.sender = Sender::from_peer(row);
            }
        }
        entry.one_way_delay = flow.delay.clone().or(entry.one_way_delay);
        self.enter_origin(&mut entry);
        if self.record.flows.len() == 1 {
            let (sender, receiver) = self.processors(flow.sends);
            entry.sender.end.enter(sender);
            entry.receiver.end.enter(receiver);
        }
        entry
    }

    /// What this end counted.
    fn enter_own(&self, entry: &mut Stream, flow: &FlowRecord, total: &Row) {
        match &total.measure {
            Measure::RequestResponse(exchange) => {
                let trips = &exchange.round_trips;
                entry.rtt = DelaySummary::from_moments(trips)
                    .map(|summary| summary.with_percentiles(exchange.percentiles));
                let span = seconds(total.span.length());
                entry.sender.end.bytes = Some(exchange.sent);
                entry.sender.end.seconds = Some(span);
                entry.sender.end.bits_per_second = rate(exchange.sent, span);
                entry.requests = Some(Requests {
                    responses: trips.count,
                    per_second: (trips.count > 0 && trips.mean > 0.0).then(|| 1.0 / trips.mean),
                    request_bytes: exchange.sent,
                    response_bytes: exchange.received,
                    retransmits: exchange.retransmits,
                });
                if let Some(times) = &exchange.one_way {
                    let assumed = |moments: &Moments| OneWayDelay::assumed(moments, None);
                    entry.one_way_delay = assumed(&times.transmit);
                    entry.one_way_delay_reverse = assumed(&times.receive);
                }
            }
            _ if flow.sends => entry.sender = Sender::from_row(total),
            _ => {
                let behind = self.behind(flow, total);
                entry.receiver = Receiver::from_row(total, behind, Counter::Tapeline);
                entry.one_way_delay = delays(total);
            }
        }
    }

    /// Datagrams that were lost behind the last one that the receiver saw: the sender alone
    /// misses them. Over iperf 2's protocol the final datagram tells.
    fn behind(&self, flow: &FlowRecord, row: &Row) -> u64 {
        let Measure::UdpReceive(receive) = &row.measure else {
            return 0;
        };
        let Some(start) = self
            .record
            .start
            .as_ref()
            .filter(|start| start.omit.is_zero())
        else {
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
            let known = self.record.end.iter().flat_map(|end| &end.lost_behind);
            let its = known.filter(|(tag, _)| *tag == flow.tag);
            its.map(|(_, lost)| *lost).sum()
        }
    }

    /// Where the datagrams were lost, by the evidence of the hosts; it speaks of all flows of a
    /// direction.
    fn enter_origin(&self, entry: &mut Stream) {
        let its = |flow: &&FlowRecord| flow.direction == entry.direction;
        let mut flows = self.record.flows.iter().filter(its);
        let (Some(only), None) = (flows.next(), flows.next()) else {
            return;
        };
        let Some(udp) = &mut entry.receiver.udp else {
            return;
        };
        let limit_verdict = self
            .record
            .limit_verdicts
            .iter()
            .find(|one| one.local_sends == only.sends);
        let origin = limit_verdict.and_then(|one| {
            let sender = &one.sender;
            one.receiver.loss(sender)
        });
        if let Some(origin) = origin {
            udp.lost_network = origin.network.or(udp.lost_network);
            udp.lost_receiver_host = origin.receiver_host.or(udp.lost_receiver_host);
            udp.lost_sender_host = origin.sender_host.or(udp.lost_sender_host);
        }
    }

    /// What limited the test: its direction that is limited most, and which one that is where there
    /// are two.
    fn verdict(&self) -> Option<TestVerdict> {
        let judged = LimitVerdict::most_limited(&self.record.limit_verdicts)?;
        let its = self
            .record
            .flows
            .iter()
            .find(|flow| flow.sends == judged.local_sends);
        let several = self.record.limit_verdicts.len() > 1;
        Some(TestVerdict {
            direction: its.map(|flow| flow.direction).filter(|_| several),
            verdict: Verdict::new(&judged.verdict),
        })
    }

    fn enter_verdicts(&self, sum: &mut Sum) {
        for one in &mut sum.directions {
            let its = self
                .record
                .flows
                .iter()
                .find(|flow| flow.direction == one.direction);
            let sends = its.map(|flow| flow.sends);
            let judged = self
                .record
                .limit_verdicts
                .iter()
                .find(|judged| Some(judged.local_sends) == sends);
            one.verdict = judged.map(|judged| Verdict::new(&judged.verdict));
        }
    }

    /// Processor use of the sending and of the receiving end, percent of one processor: of the
    /// process where it is told, else of its busiest traffic thread.
    fn processors(&self, sends: bool) -> (Option<ProcessUse>, Option<ProcessUse>) {
        let of_process = |cpu: CpuUse, seconds: Option<f64>| ProcessUse {
            percent: cpu.total,
            seconds,
        };
        let judged = self
            .record
            .limit_verdicts
            .iter()
            .find(|one| one.local_sends == sends);
        let busy = |sender: bool| {
            let judged = judged?;
            let host = if sender {
                judged.sender.host
            } else {
                judged.receiver.host
            };
            host.busy.map(|share| ProcessUse {
                percent: 100.0 * share,
                seconds: None,
            })
        };
        let end = self.record.end.as_ref();
        let length = self.seconds();
        let process = self.record.own_cpu.map(|own| {
            let seconds = seconds(own.span);
            of_process(own.cpu, Some(seconds))
        });
        let own = end.map(|end| of_process(end.cpu, length)).or(process);
        let own = own.or_else(|| busy(sends));
        let peer = self
            .record
            .other_cpu
            .map(|(cpu, seconds)| of_process(cpu, seconds));
        let peer = peer.or_else(|| {
            let cpu = end.and_then(|end| end.peer_cpu)?;
            Some(of_process(cpu, length))
        });
        let peer = peer.or_else(|| busy(!sends));
        if sends { (own, peer) } else { (peer, own) }
    }

    /// Length of its longest flow, by this end's count.
    fn seconds(&self) -> Option<f64> {
        let totals = self
            .record
            .flows
            .iter()
            .filter_map(|flow| flow.total.as_ref());
        let longest = totals.map(|row| row.span.length()).max();
        longest.map(seconds)
    }

    fn enter_processors(&self, sum: &mut Sum) {
        let of = |direction: FlowDirection| {
            let its = self
                .record
                .flows
                .iter()
                .find(|flow| flow.direction == direction);
            its.map_or((None, None), |flow| self.processors(flow.sends))
        };
        if let [only] = &mut sum.directions[..] {
            let (sender, receiver) = of(only.direction);
            for end in [&mut only.sender.end, &mut sum.sender.end] {
                end.enter(sender);
            }
            for end in [&mut only.receiver.end, &mut sum.receiver.end] {
                end.enter(receiver);
            }
        }
    }
}

/// One-way delays of a receiver's row, where its clock and the sender's are said to agree.
fn delays(row: &Row) -> Option<OneWayDelay> {
    match &row.measure {
        Measure::UdpReceive(receive) if row.trip_times => {
            let counts = receive.delays.as_ref().map(DelayCourse::all);
            OneWayDelay::assumed(&receive.transit, counts.as_ref())
        }
        Measure::TcpReceive(receive) => {
            let bursts = receive.bursts.as_ref()?;
            OneWayDelay::assumed(&bursts.latency, None)
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
