//! The UDP server: one socket, every datagram given to the flow it belongs to.
//!
//! Flows are told apart by their source address, per datagram, so no flow loses its
//! first datagrams to another one (2.2.1 connects its socket and does, wire document 7.9).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Pace, Transport, WallTime};
use tapeline_engine::{ArrivedDatagram, DatagramCell, DatagramReceiver, Intervals, Stop};
use tapeline_report::{ConnectionFlavour, Endpoints, Event, Notice};
use tapeline_sys::{Events, Interest, Poller, ReceiveBatch, UdpSocket, Wait, Waker};
use tapeline_wire::iperf2::{
    DatagramStamp, Micros, Millionths, ReportLayout, ServerReport, TestMode, TransitTimes,
    UdpClientHeader,
};

use super::banner;
use super::client::SharedContext;
use super::connect_back::{self, ConnectBack};
use super::groups::TestGroups;
use super::order::{SLACK, SendOrder, patience};
use super::stamps::StampForm;
use super::tcp_server::Admission;
use super::udp_client::{Fin, UdpSending};
use super::udp_flow::FlowReader;
use crate::context::Tally;
use crate::plan::ServerPlan;
use crate::reporter::{CounterCell, FlowEnd, FlowStart, GroupKey, GroupKind};

const SOCKET: u64 = 0;
const WAKER: u64 = 1;
const SLOTS: usize = 64;
/// Longest wait between two looks at silent flows while any is open.
const LOOK: Duration = Duration::from_millis(100);
/// How long the report of an ended flow can be asked for again.
const REPEATABLE: Duration = Duration::from_secs(3);
/// Most flows at a time; further sources wait until one ends.
const MOST_FLOWS: usize = 4096;

/// One bound socket and all flows that arrive on it.
pub(super) struct UdpService {
    pub(super) plan: Arc<ServerPlan>,
    pub(super) context: SharedContext,
    pub(super) socket: Arc<UdpSocket>,
    pub(super) admission: Admission,
    pub(super) groups: Arc<TestGroups>,
    pub(super) tally: Arc<Tally>,
    pub(super) waker: Arc<Waker>,
    pub(super) close: Stop,
    pub(super) until: Option<MonoTime>,
    pub(super) most: Option<usize>,
}

/// A flow that is being received.
struct Receiving {
    tag: FlowTag,
    reader: FlowReader,
    receiver: DatagramReceiver,
    began: MonoTime,
    /// End by our own clock, if any.
    deadline: Option<MonoTime>,
    patience: Duration,
    dropped_before: Option<u64>,
    /// The client asks for a report at the end.
    reports: bool,
    /// Begins when this flow has ended (`-r`).
    afterwards: Option<ConnectBack>,
    /// The sender of a full-duplex test, which ends with this flow.
    sender: Option<Stop>,
}

/// What is known of a source.
enum Flow {
    Receiving(Box<Receiving>),
    /// We send to it; its repeated orders are ignored until then.
    Sending {
        stop: Stop,
        until: MonoTime,
    },
    /// Ended; the report is kept for repeated final datagrams.
    Ended {
        report: Option<ReportAnswer>,
        until: MonoTime,
        last: WallTime,
    },
}

/// A report in the layout that the client reads.
struct ReportAnswer {
    report: ServerReport,
    narrow: bool,
}

impl ReportAnswer {
    /// The bytes, never more than the 128 that the oldest client has room for.
    fn send(&self, socket: &UdpSocket, to: SocketAddr, fin: DatagramStamp) {
        let _ = if self.narrow {
            socket.send_to(&self.report.encode_12(fin), to)
        } else {
            socket.send_to(&self.report.encode_16(), to)
        };
    }
}

/// The flows of a service; apart from it so that both can be borrowed.
struct Flows {
    by_source: HashMap<SocketAddr, Flow>,
    active: usize,
    served: usize,
}

impl UdpService {
    /// Serves until told to stop.
    pub(super) fn run(self) {
        let mut batch = ReceiveBatch::coalescing(SLOTS);
        let mut events = Events::with_capacity(4);
        let mut flows = Flows {
            by_source: HashMap::new(),
            active: 0,
            served: 0,
        };
        let mut swept = self.context.now();
        let mut poller = match self.poller() {
            Ok(poller) => poller,
            Err(error) => {
                self.context.notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        while !self.is_over(&flows) {
            // With flows open the socket itself is waited on, which is one call per
            // batch; an idle server sleeps until something happens.
            let received = if flows.by_source.is_empty() {
                if poller.wait(&mut events, self.idle_wait()).is_err() {
                    break;
                }
                self.waker.drain();
                batch.receive(&self.socket, Wait::Never)
            } else {
                batch.receive(&self.socket, Wait::AtMost(LOOK))
            };
            match received {
                Ok(_) => self.take_batch(&batch, &mut flows),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    self.context
                        .notice(Notice::Text(format!("receive: {error}")));
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            let now = self.context.now();
            if now.since(swept) >= LOOK {
                swept = now;
                self.sweep(&mut flows, now);
            }
        }
        self.end_all(&mut flows);
    }

    fn poller(&self) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        poller.register(&self.socket, SOCKET, Interest::READ)?;
        poller.register(&self.waker, WAKER, Interest::READ)?;
        Ok(poller)
    }

    fn idle_wait(&self) -> Wait {
        self.until.map_or(Wait::Forever, |until| {
            Wait::AtMost(until.since(self.context.now()))
        })
    }

    fn is_over(&self, flows: &Flows) -> bool {
        self.context.stop().is_raised()
            || self.close.is_raised()
            || self.until.is_some_and(|until| self.context.now() >= until)
            || (self.most.is_some_and(|most| flows.served >= most)
                && flows.active == 0
                && flows.by_source.is_empty())
    }

    fn take_batch(&self, batch: &ReceiveBatch, flows: &mut Flows) {
        let now = self.context.now();
        let mut touched: Option<SocketAddr> = None;
        for datagram in batch.datagrams() {
            let source = datagram.source;
            if touched != Some(source) {
                publish(flows, touched);
                touched = Some(source);
            }
            for payload in datagram.segments() {
                self.take(
                    flows,
                    source,
                    payload,
                    datagram.arrival,
                    datagram.truncated,
                    now,
                );
            }
        }
        publish(flows, touched);
    }

    fn take(
        &self,
        flows: &mut Flows,
        source: SocketAddr,
        payload: &[u8],
        arrival: WallTime,
        truncated: bool,
        now: MonoTime,
    ) {
        let seen = match flows.by_source.get_mut(&source) {
            Some(Flow::Receiving(flow)) => {
                let Some(seen) = flow.reader.read(payload) else {
                    return;
                };
                let arrived = ArrivedDatagram {
                    sequence: seen.sequence,
                    sent: seen.sent,
                    arrival,
                    length: payload.len(),
                    truncated,
                };
                flow.receiver.observe(&arrived, now);
                seen
            }
            Some(Flow::Sending { .. }) => return,
            Some(Flow::Ended {
                report,
                until,
                last,
            }) => {
                let stamp = DatagramStamp::read_16(payload, true).unwrap_or_default();
                let sent = WallTime::from_wire(stamp.seconds, stamp.micros);
                let fresh = FlowReader::open(payload).is_some() && sent > *last;
                if !fresh {
                    // Late data is over; a repeated final datagram wants the report again.
                    if stamp.is_fin() || DatagramStamp::read_12(payload).is_some_and(|s| s.is_fin())
                    {
                        *until = now + REPEATABLE;
                        if let Some(report) = report {
                            report.send(&self.socket, source, stamp);
                        }
                    }
                    return;
                }
                flows.by_source.remove(&source);
                self.open(flows, source, payload, arrival, truncated, now);
                return;
            }
            None => {
                self.open(flows, source, payload, arrival, truncated, now);
                return;
            }
        };
        if seen.fin {
            let stamp = DatagramStamp::read_16(payload, true).unwrap_or_default();
            self.end(flows, source, now, Some((stamp, seen.sent)));
        }
    }

    fn admits(&self, flows: &Flows, source: SocketAddr) -> bool {
        let address = match &self.admission {
            Admission::Server { only_from } => only_from.is_none_or(|only| only == source.ip()),
            Admission::ConnectBack { from, .. } => *from == source.ip(),
        };
        let one = self.plan.single_client || self.plan.single_udp;
        let room = self.most.is_none_or(|most| flows.served < most);
        address && room && (!one || flows.active == 0) && flows.by_source.len() < MOST_FLOWS
    }

    /// A datagram of an unknown source.
    fn open(
        &self,
        flows: &mut Flows,
        source: SocketAddr,
        payload: &[u8],
        arrival: WallTime,
        truncated: bool,
        now: MonoTime,
    ) {
        if !self.admits(flows, source) {
            return;
        }
        let Some((mut reader, mut header)) = FlowReader::open(payload) else {
            return;
        };
        let Some(seen) = reader.read(payload) else {
            return;
        };
        if matches!(self.admission, Admission::ConnectBack { .. }) {
            header = None;
        }
        flows.served += 1;
        flows.active += 1;
        let mode = header.map_or(TestMode::Normal, |header| header.mode);
        let opening = Opening {
            service: self,
            source,
            local: self.local_for(source),
            header,
            tag: FlowTag {
                id: self.context.next_id(),
                reversed: false,
            },
            now,
            group: self.group(source, header.as_ref(), now),
        };
        let flow = match mode {
            TestMode::Reverse => opening.reverse(),
            _ => opening.receive(reader, mode),
        };
        let flow = match flow {
            Flow::Receiving(mut receiving) => {
                let arrived = ArrivedDatagram {
                    sequence: seen.sequence,
                    sent: seen.sent,
                    arrival,
                    length: payload.len(),
                    truncated,
                };
                receiving.receiver.observe(&arrived, now);
                receiving.receiver.publish();
                Flow::Receiving(receiving)
            }
            other => other,
        };
        flows.by_source.insert(source, flow);
    }

    fn group(
        &self,
        source: SocketAddr,
        header: Option<&UdpClientHeader>,
        now: MonoTime,
    ) -> GroupKey {
        match &self.admission {
            Admission::ConnectBack { group, .. } => *group,
            Admission::Server { .. } => {
                let threads = header.map_or(1, |header| header.threads);
                self.groups
                    .join(&self.context.reporter, source.ip(), threads, now)
            }
        }
    }

    /// Own address as the flow's lines show it: a wildcard socket does not say.
    fn local_for(&self, source: SocketAddr) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(source);
        if !own.ip().is_unspecified() {
            return own;
        }
        // The address from which a packet to the source would leave.
        let any = if source.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let route = any
            .parse()
            .ok()
            .and_then(|any| UdpSocket::connected(source, Some(any), &Default::default()).ok())
            .and_then(|opened| opened.socket.local_addr().ok());
        let mut local = route.unwrap_or(own);
        local.set_port(own.port());
        local
    }

    /// Ends a flow; `fin` is the final datagram's stamp when there was one.
    fn end(
        &self,
        flows: &mut Flows,
        source: SocketAddr,
        now: MonoTime,
        fin: Option<(DatagramStamp, WallTime)>,
    ) {
        let Some(flow) = flows.by_source.remove(&source) else {
            return;
        };
        flows.active = flows.active.saturating_sub(1);
        let mut flow = match flow {
            Flow::Receiving(flow) => flow,
            Flow::Sending { stop, .. } => {
                stop.raise();
                return;
            }
            Flow::Ended { .. } => {
                flows.active += 1;
                return;
            }
        };
        flow.receiver.publish();
        let counters = *flow.receiver.counters();
        let at = counters.last.max(flow.began);
        let report = flow.reports.then(|| ReportAnswer {
            report: self.report(&flow, at),
            narrow: flow.reader.is_narrow(),
        });
        if let (Some(report), Some((stamp, _))) = (&report, fin) {
            report.send(&self.socket, source, stamp);
        }
        let dropped = self
            .socket
            .dropped()
            .zip(flow.dropped_before)
            .map(|(after, before)| after.saturating_sub(before));
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            // One socket serves all: with other flows open the drops cannot be ascribed.
            let tag = (flows.active == 0).then_some(flow.tag);
            self.context
                .notice(Notice::ReceiveBufferDrops { tag, datagrams });
        }
        self.context.reporter.end(FlowEnd {
            tag: flow.tag,
            at,
            sent: None,
            dropped: dropped.filter(|_| flows.active == 0),
        });
        if let Some(stop) = &flow.sender
            && fin.is_none()
        {
            stop.raise();
        }
        if let Some(back) = flow.afterwards.take() {
            connect_back::spawn(back, true);
        }
        flows.by_source.insert(
            source,
            Flow::Ended {
                report,
                until: now + REPEATABLE,
                last: fin.map_or_else(|| self.context.wall(), |(_, sent)| sent),
            },
        );
    }

    fn report(&self, flow: &Receiving, at: MonoTime) -> ServerReport {
        let c = flow.receiver.counters();
        let micros = |seconds: f64| Micros((seconds * 1e6).round() as i64);
        let span = at.since(flow.began);
        let transit = if c.transit.count == 0 {
            TransitTimes::default()
        } else {
            TransitTimes {
                min: micros(c.transit.min),
                max: micros(c.transit.max),
                sum: micros(c.transit.mean * c.transit.count as f64),
                mean: micros(c.transit.mean),
                m2: Millionths::from_f64(c.transit.m2 * 1e12),
                last_difference: Micros(0),
                count: u32::try_from(c.transit.count).unwrap_or(u32::MAX),
                packets_per_second: if span.is_zero() {
                    0
                } else {
                    (c.total as f64 / span.as_secs_f64()) as u32
                },
            }
        };
        ServerReport {
            layout: ReportLayout::Wide16,
            bytes: tapeline_base::Bytes(c.bytes),
            duration: Micros::from_duration(span),
            lost: c.lost,
            out_of_order: c.out_of_order,
            datagrams: c.total,
            jitter: micros(c.jitter_mean_ns * 1e-9),
            transit,
            transit_valid: self.plan.enhanced,
        }
    }

    /// Ends what is silent or over, and forgets what nobody asks for any more.
    fn sweep(&self, flows: &mut Flows, now: MonoTime) {
        let mut over = Vec::new();
        let mut vanished = Vec::new();
        for (source, flow) in &flows.by_source {
            match flow {
                Flow::Receiving(flow) => {
                    let silence = now.since(flow.receiver.counters().last);
                    if flow.deadline.is_some_and(|deadline| now >= deadline) {
                        over.push(*source);
                    } else if silence > flow.patience {
                        vanished.push((*source, flow.tag, silence));
                    }
                }
                Flow::Sending { until, .. } | Flow::Ended { until, .. } if now >= *until => {
                    over.push(*source);
                }
                Flow::Sending { .. } | Flow::Ended { .. } => {}
            }
        }
        for (source, tag, silent_for) in vanished {
            self.context
                .notice(Notice::PeerVanished { tag, silent_for });
            self.end(flows, source, now, None);
        }
        for source in over {
            if matches!(flows.by_source.get(&source), Some(Flow::Ended { .. })) {
                flows.by_source.remove(&source);
            } else {
                self.end(flows, source, now, None);
            }
        }
    }

    fn end_all(&self, flows: &mut Flows) {
        let now = self.context.now();
        let sources: Vec<SocketAddr> = flows.by_source.keys().copied().collect();
        for source in sources {
            self.end(flows, source, now, None);
        }
    }
}

/// Makes the counters of a source's flow visible.
fn publish(flows: &mut Flows, source: Option<SocketAddr>) {
    if let Some(Flow::Receiving(flow)) = source.and_then(|source| flows.by_source.get_mut(&source))
    {
        flow.receiver.publish();
    }
}

/// A new flow, its kind not yet decided.
struct Opening<'a> {
    service: &'a UdpService,
    source: SocketAddr,
    local: SocketAddr,
    header: Option<UdpClientHeader>,
    tag: FlowTag,
    now: MonoTime,
    group: GroupKey,
}

impl Opening<'_> {
    fn show(&self, flavour: ConnectionFlavour, no_fin: bool) {
        let context = &self.service.context;
        let mut line = banner::connected(self.tag, self.local, self.source);
        line.flavour = flavour;
        line.no_udp_fin = no_fin;
        if let Some(header) = &self.header {
            let reflected = self.service.plan.reflected_tos;
            line.tos = banner::tos_note(flavour, false, header.tos, reflected);
            line.peer_version = header.version.map(|version| version.to_string());
        }
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        context.reporter.event(Event::Connected(line));
    }

    fn order(&self) -> SendOrder {
        let header = self.header.unwrap_or_default();
        SendOrder::from_udp(&header, self.service.plan.reflected_tos)
    }

    /// The server sends.
    fn reverse(self) -> Flow {
        self.show(ConnectionFlavour::Reverse, true);
        let stop = self.service.context.stop().child();
        let order = self.order();
        self.spawn_sender(self.tag, vec![self.group], &order, &stop);
        let time = order.time.unwrap_or(Duration::from_secs(3600));
        Flow::Sending {
            stop,
            until: self.now + time + SLACK,
        }
    }

    fn receive(self, reader: FlowReader, mode: TestMode) -> Flow {
        let plan = &self.service.plan;
        let context = &self.service.context;
        let full_duplex = mode == TestMode::FullDuplex;
        let no_fin = full_duplex || self.header.is_some_and(|header| header.no_fin);
        let flavour = if full_duplex {
            ConnectionFlavour::FullDuplex
        } else {
            ConnectionFlavour::Plain
        };
        self.show(flavour, no_fin);
        let order = self.order();
        let mut groups = vec![self.group];
        let mut sender = None;
        if full_duplex {
            groups.insert(0, context.reporter.open_group(GroupKind::Duplex(self.tag)));
            let stop = context.stop().child();
            let reversed = FlowTag {
                reversed: true,
                ..self.tag
            };
            self.spawn_sender(reversed, groups.clone(), &order, &stop);
            sender = Some(stop);
        }
        let afterwards = match mode {
            TestMode::Dual => {
                self.service.tally.begin();
                connect_back::spawn(self.connect_back(order, reader.is_narrow()), true);
                None
            }
            TestMode::Tradeoff => {
                self.service.tally.begin();
                Some(self.connect_back(order, reader.is_narrow()))
            }
            TestMode::Normal | TestMode::Reverse | TestMode::FullDuplex => None,
        };
        let cell = Arc::new(DatagramCell::new(Intervals::new(self.now, plan.interval)));
        context.reporter.start(FlowStart {
            tag: self.tag,
            cell: CounterCell::UdpReceive(Arc::clone(&cell)),
            start: self.now,
            interval: plan.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.source,
                local_sends: false,
            },
            groups,
            conn: None,
        });
        let own_end = plan.time.map(|time| self.now + time);
        let ordered_end = match (&self.service.admission, mode) {
            (Admission::ConnectBack { limit, .. }, _) => limit.map(|limit| self.now + limit),
            (_, TestMode::FullDuplex | TestMode::Dual | TestMode::Tradeoff) => {
                order.time.map(|time| self.now + time + SLACK)
            }
            _ => None,
        };
        let gap = order
            .rate
            .and_then(|rate| rate.gap(u64::from(order.length)));
        Flow::Receiving(Box::new(Receiving {
            tag: self.tag,
            receiver: DatagramReceiver::new(reader.first(), cell, self.now),
            reader,
            began: self.now,
            deadline: own_end.into_iter().chain(ordered_end).min(),
            patience: patience(plan.interval, gap),
            dropped_before: self.service.socket.dropped(),
            reports: !no_fin,
            afterwards,
            sender,
        }))
    }

    fn connect_back(&self, order: SendOrder, narrow: bool) -> ConnectBack {
        let service = self.service;
        let port = self.header.map_or(0, |header| header.port);
        ConnectBack {
            context: Arc::clone(&service.context),
            peer: SocketAddr::new(self.source.ip(), port),
            local_ip: self.local.ip(),
            transport: Transport::Udp,
            order,
            interval: service.plan.interval,
            group: self.group,
            tally: Arc::clone(&service.tally),
            waker: Arc::clone(&service.waker),
            narrow,
            congestion: None,
        }
    }

    /// Sends from the service's own socket to the source, on a thread of its own.
    fn spawn_sender(&self, tag: FlowTag, groups: Vec<GroupKey>, order: &SendOrder, stop: &Stop) {
        let service = self.service;
        let time = order.time.into_iter().chain(service.plan.time).min();
        let sending = UdpSending {
            context: Arc::clone(&service.context),
            tag,
            socket: Arc::clone(&service.socket),
            to: Some(self.source),
            form: StampForm::Wide,
            header: None,
            length: order.length,
            start: self.now,
            deadline: time.map(|time| self.now + time),
            bytes: order.bytes,
            pace: Pace::Bits(order.rate.unwrap_or_default()),
            interval: service.plan.interval,
            groups,
            local: self.local,
            peer: self.source,
            stop: stop.clone(),
            fin: Fin::Once,
        };
        let tally = Arc::clone(&service.tally);
        tally.begin();
        let counted = Arc::clone(&tally);
        let waker = Arc::clone(&service.waker);
        let spawned = std::thread::Builder::new()
            .name("udp".into())
            .spawn(move || {
                counted.end(sending.run());
                waker.wake();
            });
        if let Err(error) = spawned {
            service
                .context
                .notice(Notice::Text(format!("no thread for a flow: {error}")));
            tally.end(true);
        }
    }
}
