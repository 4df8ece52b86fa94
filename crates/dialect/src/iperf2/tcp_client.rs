//! The TCP client: connect all flows, send the headers, start the traffic together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Transport, WallTime};
use tapeline_engine::{Pacer, Precision, SendEnd, Stop, THREADED_FLOWS};
use tapeline_report::{ClockCheck, ConnectionFlavour, Event, Notice, TrafficOperation};
use tapeline_sys::{Interest, SocketOptions, TcpConn, TcpProbe, Wait, reason};
use tapeline_wire::iperf2::{PeerVersion, ServerAck, TcpClientHeader, Workload};

use super::banner::{self, SocketFacts};
use super::client::{SharedContext, Target};
use super::connect_back::ClientListener;
use super::connect_only;
use super::exchange::RequestPart;
use super::flows::{SendPart, TcpFlow, payload};
use super::groups::TestSums;
use super::order::{FIRST_MESSAGE, SLACK, patience};
use super::start::{Start, barrier_micros};
use super::working_load::{RunningLoad, WorkingLoad};
use crate::context::Tally;
use crate::plan::{Arrangement, ClientPlan, ClientWorkload, RetryPlan, Shape, StartTime};
use crate::reporter::{GroupKey, GroupKind};

/// Connections that are opened at the same time.
const CONNECTORS: usize = 16;
/// Time for a connection to be established.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Time before a start that servers do not wait for at which connections are made: they
/// would take silence for a fault.
const CONNECT_AHEAD: Duration = Duration::from_secs(5);
/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(20);
/// One connected flow, before its traffic.
pub(super) struct Ready {
    tag: FlowTag,
    conn: Arc<TcpConn>,
    local: SocketAddr,
    peer: SocketAddr,
    connect_time: Duration,
    /// When the connection was there: its first message may wait for other flows'.
    connected: MonoTime,
}

/// Runs the test; returns whether anything failed.
pub(super) fn run(plan: &ClientPlan, target: &Target, context: &SharedContext) -> bool {
    if target.first().ip().is_multicast() {
        context.notice(Notice::Text("Multicast requires -u option".into()));
        return true;
    }
    let tally = Tally::new();
    let sums = TestSums::of_client(&context.reporter, plan);
    let listener = match ClientListener::open(plan, target, context, sums.back) {
        Ok(listener) => listener,
        Err(notice) => {
            context.notice(notice);
            return true;
        }
    };
    let Some(plan) = &announce(plan, target, context) else {
        return true;
    };
    let options = banner::client_options(plan);
    if let ClientWorkload::ConnectOnly { count } = plan.workload {
        return connect_only::run(plan, target, &options, context, count);
    }
    let tags: Vec<FlowTag> = (0..plan.parallel)
        .map(|_| FlowTag {
            id: context.next_id(),
            reversed: false,
        })
        .collect();
    let load = WorkingLoad::of(plan, context);
    let connector = Connector {
        plan,
        target,
        options: &options,
        context,
    };
    let mut held = plan.held_start(context.both());
    if let Some(start) = &mut held
        && start.at.since(context.now()) > CONNECT_AHEAD
    {
        let announced = start.announced.take();
        for tag in &tags {
            context.tell_start(*tag, Role::Client, announced);
        }
        if !wait_until(start.at - CONNECT_AHEAD, context) {
            return false;
        }
    }
    let starter = Starter {
        held,
        plan,
        context,
        group: sums.opened,
        tally: &tally,
        payload: payload(plan.tcp_write_length()),
        stop: context.stop().clone(),
    };
    let begin_load = || load.map(|load| load.begin(target, context, sums.opened));
    let (connected, load) = if plan.connect_sync {
        let ready = connector.connect_all(&tags, |flow| flow);
        let connected = ready.len();
        let load = if connected > 0 { begin_load() } else { None };
        starter.start_all(ready);
        (connected, load)
    } else {
        let load = begin_load();
        let ready = connector.connect_all(&tags, |flow| starter.start_all(vec![flow]));
        (ready.len(), load)
    };
    if connected < plan.parallel {
        tally.fail();
    }
    let failed = tally.wait();
    let failed = load.is_some_and(RunningLoad::end) || failed;
    listener.map_or(failed, |listener| listener.wait() || failed)
}

/// Shows the banner; returns the plan as the system lets it be carried out, `None` when the
/// test cannot go on.
fn announce(plan: &ClientPlan, target: &Target, context: &SharedContext) -> Option<ClientPlan> {
    let options = banner::client_options(plan);
    let probe = match TcpProbe::of(target.first(), &options) {
        Ok(probe) => probe,
        Err(error) => {
            context.notice(Notice::Text(error.to_string()));
            return None;
        }
    };
    if let Err(notice) = banner::tell_refusals(&probe.refused, &options, plan.personality, context)
    {
        context.notice(notice);
        return None;
    }
    let mut plan = plan.clone();
    let connects_back = matches!(
        plan.arrangement(),
        Arrangement::Dual { .. } | Arrangement::Tradeoff { .. }
    );
    if plan.peer_detect && connects_back {
        context.notice(Notice::Text(
            "-X is left out: a header that asks for the version cannot order -d or -r".into(),
        ));
        plan.peer_detect = false;
    }
    if let (Some(wanted), Some(actual)) = (plan.socket.tos, probe.tos)
        && wanted != actual
    {
        context.notice(Notice::TosFailed { wanted, actual });
        plan.socket.tos = Some(actual);
    }
    banner::tell_clamped(
        plan.socket.window,
        probe.send_buffer,
        plan.personality,
        context,
    );
    let facts = SocketFacts {
        buffer: probe.send_buffer,
        mss: probe.mss,
        congestion: probe.congestion,
    };
    let banner = banner::client_banner(&plan, target.bound(), target.is_ipv6(), facts);
    context.reporter.event(Event::Connecting(banner));
    Some(plan)
}

/// Opens connections.
pub(super) struct Connector<'a> {
    pub(super) plan: &'a ClientPlan,
    pub(super) target: &'a Target,
    pub(super) options: &'a SocketOptions,
    pub(super) context: &'a SharedContext,
}

impl Connector<'_> {
    /// Connects every flow, several at a time, and hands each to `then` at once; those that
    /// cannot be had are told and left out. The results are in the order of the flows.
    pub(super) fn connect_all<T: Send>(
        &self,
        tags: &[FlowTag],
        then: impl Fn(Ready) -> T + Sync,
    ) -> Vec<T> {
        if let [tag] = tags {
            return self.connect(0, *tag).map(then).into_iter().collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut own = Vec::new();
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(tag) = tags.get(index)
            {
                own.extend(self.connect(index, *tag).map(|flow| (*tag, then(flow))));
            }
            own
        };
        let mut results: Vec<(FlowTag, T)> = std::thread::scope(|scope| {
            // As many as can be had, besides this thread.
            let workers: Vec<_> = (1..CONNECTORS.min(tags.len()))
                .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
                .collect();
            let mut results = work();
            for worker in workers {
                results.extend(worker.join().unwrap_or_default());
            }
            results
        });
        results.sort_by_key(|(tag, _)| *tag);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn connect(&self, index: usize, tag: FlowTag) -> Option<Ready> {
        let peer = self.target.peer(index);
        let mut local = self.target.local(index);
        let began = self.context.now();
        loop {
            match TcpConn::connect_or_cancel(
                peer,
                local,
                self.options,
                Some(CONNECT_LIMIT),
                self.context.interruption.waker(),
            ) {
                Ok(connected) => {
                    let conn = Arc::new(connected.conn);
                    let local = conn.local_addr().ok()?;
                    return Some(Ready {
                        tag,
                        local,
                        peer: conn.peer_addr().unwrap_or(peer),
                        conn,
                        connect_time: connected.connect_time,
                        connected: self.context.now(),
                    });
                }
                Err(error) if error.operation == tapeline_sys::Operation::Bind => {
                    self.context.notice(Notice::BindFailed {
                        address: error.address.unwrap_or(peer),
                        reason: error.reason(),
                    });
                    // As iperf 2: go on from any address.
                    if self.plan.personality == crate::plan::Personality::Native || local.is_none()
                    {
                        return None;
                    }
                    local = None;
                }
                Err(_) if self.context.interruption.is_raised() => return None,
                Err(error) => {
                    let retry = self.retry_at(began);
                    self.context.notice(Notice::ConnectFailed {
                        tag,
                        peer,
                        reason: error.reason(),
                        at: self.context.wall(),
                        retrying: retry.is_some(),
                    });
                    let Some(again) = retry else {
                        if self.plan.retry.is_some() {
                            let at = self.context.wall();
                            self.context.notice(Notice::ConnectTimedOut { tag, at });
                        }
                        return None;
                    };
                    let mut pacer = Pacer::new(Precision::Economical);
                    pacer.wait(again, self.context.stop())?;
                }
            }
        }
    }

    /// When to try again, if at all: the last time when the time for it is over.
    fn retry_at(&self, began: MonoTime) -> Option<MonoTime> {
        let RetryPlan { total, every } = self.plan.retry?;
        let now = self.context.now();
        (now.since(began) < total).then(|| (now + every).min(began + total))
    }
}

/// Waits; returns whether the run goes on.
fn wait_until(due: MonoTime, context: &SharedContext) -> bool {
    let mut pacer = Pacer::new(Precision::Economical);
    pacer.wait(due, context.stop()).is_some()
}

/// Begins the traffic of connected flows.
pub(super) struct Starter<'a> {
    /// When the headers may leave, where servers begin with them.
    pub(super) held: Option<Start>,
    pub(super) plan: &'a ClientPlan,
    pub(super) context: &'a SharedContext,
    pub(super) group: GroupKey,
    pub(super) tally: &'a Arc<Tally>,
    pub(super) payload: Arc<[u8]>,
    /// Ends the flows.
    pub(super) stop: Stop,
}

impl Starter<'_> {
    /// Says on every connection what is wanted before waiting for an answer on any: some
    /// servers (2.2.1) read one first message after the other and accept nobody meanwhile.
    pub(super) fn start_all(&self, ready: Vec<Ready>) {
        let many = self.plan.parallel > THREADED_FLOWS;
        if let Some(held) = self.held
            && !self.hold_back(&ready, held)
        {
            return;
        }
        let mut asked = Vec::with_capacity(ready.len());
        for flow in ready {
            match self.send_header(&flow) {
                Ok(already) => asked.push((flow, already)),
                Err(error) => {
                    self.tally.fail();
                    self.context.notice(Notice::TrafficFailed {
                        tag: flow.tag,
                        operation: TrafficOperation::SendHeader,
                        transport: Transport::Tcp,
                        reason: reason(&error),
                    });
                }
            }
        }
        let answered_by = self.context.now() + FIRST_MESSAGE;
        if self.plan.permit_key.is_some() {
            asked.retain(|(flow, _)| self.is_admitted(flow, answered_by));
        }
        for (flow, _) in &asked {
            let asks = matches!(self.plan.workload, ClientWorkload::Stream(_));
            let version = if self.plan.peer_detect && asks && !self.plan.compatibility {
                self.read_ack(flow, answered_by)
            } else {
                None
            };
            if self.held.is_none() {
                self.show(flow, version);
            }
        }
        let start = match self.held {
            Some(_) => Start::at_once(self.context.both()),
            None => self.plan.flow_start(self.context.both()),
        };
        for (flow, already) in asked {
            self.context
                .tell_start(flow.tag, Role::Client, start.announced);
            self.start(flow, already, start.at, many);
        }
    }

    /// Whether a server lets this client's key pass: one that does answers or sends, one that
    /// does not closes without a word. Without looking, a short test would end well.
    fn is_admitted(&self, flow: &Ready, until: MonoTime) -> bool {
        loop {
            let left = until.since(self.context.now());
            if left.is_zero() || self.context.stop().is_raised() {
                return true;
            }
            let wait = Wait::AtMost(left.min(LOOK));
            match flow.conn.wait_ready(Interest::READ, wait) {
                Ok(false) => {}
                Ok(true) if matches!(flow.conn.peek(&mut [0]), Ok(1..)) => return true,
                Ok(true) | Err(_) => break,
            }
        }
        self.tally.fail();
        self.context.notice(Notice::Text(format!(
            "{}: the server closed flow {} at once: its permit key is another one, or it has none",
            flow.peer, flow.tag.id
        )));
        false
    }

    /// Waits before the headers leave, at which servers that send begin; returns whether the
    /// run goes on.
    fn hold_back(&self, ready: &[Ready], held: Start) -> bool {
        for flow in ready {
            self.show(flow, None);
            self.context
                .tell_start(flow.tag, Role::Client, held.announced);
        }
        wait_until(held.at, self.context)
    }

    /// Returns the header's bytes, which count as data.
    fn send_header(&self, flow: &Ready) -> std::io::Result<u64> {
        let bare = !matches!(self.plan.workload, ClientWorkload::Stream(_));
        if self.plan.compatibility || bare {
            return Ok(0);
        }
        let mut message = Vec::with_capacity(128);
        let header = self.header(flow);
        header.encode(&mut message);
        flow.conn.set_send_timeout(Some(FIRST_MESSAGE))?;
        flow.conn.send_all(&message)?;
        Ok(header.counted_length() as u64)
    }

    /// The header as it is written now.
    fn header(&self, flow: &Ready) -> TcpClientHeader {
        let plan = self.plan;
        let waited = self.context.now().since(flow.connected);
        let wall = self.context.wall();
        let (start_time, epoch_start) = plan.header_start(wall);
        let mut header = TcpClientHeader {
            transfer_id: plan.transfer_id(flow.tag),
            barrier_micros: barrier_micros(waited).filter(|_| plan.parallel > 1),
            start_time,
            epoch_start,
            ..plan.tcp_header()
        };
        // Blocks behind the time are only there with it.
        let timed = header.fq_rate.is_some()
            || header.congestion_control.is_some()
            || matches!(header.workload, Workload::Isochronous(_));
        if timed && header.start_time.is_none() {
            header.start_time = Some(wall.into());
        }
        header
    }

    /// The server's acknowledgement, parsed by its own length. A server that never
    /// answers (2.0.x) costs the time limit once for all flows, not the test.
    fn read_ack(&self, flow: &Ready, until: MonoTime) -> Option<PeerVersion> {
        let read = || -> std::io::Result<Option<PeerVersion>> {
            let mut front = [0; 8];
            self.receive(flow, &mut front, until)?;
            let Ok(length) = ServerAck::announced_length(&front) else {
                return Ok(None);
            };
            let mut message = vec![0; length];
            message[..8].copy_from_slice(&front);
            self.receive(flow, &mut message[8..], until)?;
            let arrived = self.context.wall();
            let Ok(ack) = ServerAck::parse(&message) else {
                return Ok(None);
            };
            self.check_clocks(flow.tag, &ack, arrived);
            Ok(ack.version)
        };
        match read() {
            Ok(version) => version,
            Err(_) if self.context.stop().is_raised() => None,
            Err(error) => {
                self.context.notice(Notice::Text(format!(
                    "{}: no answer to the version question (-X): {}",
                    flow.peer,
                    reason(&error)
                )));
                None
            }
        }
    }

    /// Tells what the times in an acknowledgement say of the two clocks.
    fn check_clocks(&self, tag: FlowTag, ack: &ServerAck, arrived: WallTime) {
        let Some(times) = ack.trip_times else {
            if self.plan.latency.trip_times {
                self.context.notice(Notice::Text(format!(
                    "flow {}: no clock check: the server sends no times (it is older than 2.1, or its \
                     clock is too far from ours)",
                    tag.id
                )));
            }
            return;
        };
        let seconds = |later: WallTime, earlier: WallTime| later.nanos_since(earlier) as f64 * 1e-9;
        let send = seconds(times.accepted.into(), times.sent.into());
        let acknowledge = seconds(arrived, times.acknowledged.into());
        self.context.reporter.event(Event::ClockCheck(ClockCheck {
            tag,
            round_trip: send + acknowledge,
            send,
            acknowledge,
        }));
    }

    /// Fills `buffer` unless the time is over or the run is stopped.
    fn receive(&self, flow: &Ready, buffer: &mut [u8], until: MonoTime) -> std::io::Result<()> {
        let mut got = 0;
        while got < buffer.len() {
            let left = until.since(self.context.now());
            let ready = flow
                .conn
                .wait_ready(Interest::READ, Wait::AtMost(left.min(LOOK)))?;
            if ready {
                match flow.conn.recv_nonblocking(&mut buffer[got..])? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => got += count,
                }
            } else if left.is_zero() || self.context.stop().is_raised() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    fn show(&self, flow: &Ready, version: Option<PeerVersion>) {
        let flavour = match self.plan.workload {
            ClientWorkload::Stream(Arrangement::Reverse) => ConnectionFlavour::Reverse,
            ClientWorkload::Stream(Arrangement::FullDuplex) => ConnectionFlavour::FullDuplex,
            ClientWorkload::Stream(_) | ClientWorkload::ConnectOnly { .. } => {
                ConnectionFlavour::Plain
            }
            ClientWorkload::RequestResponse(exchange) => ConnectionFlavour::RequestResponse {
                request: exchange.request,
                response: exchange.response,
                hold_micros: banner::micros(exchange.hold),
                quickack: exchange.quickack,
            },
        };
        let mut line = banner::connected(flow.tag, flow.local, flow.peer);
        line.flavour = flavour;
        line.congestion = flow.conn.congestion();
        line.congestion_by_user = self.plan.socket.congestion.is_some();
        line.tos = banner::tos_note(
            flavour,
            true,
            self.plan.socket.tos.unwrap_or_default(),
            None,
        );
        line.peer_version = version.map(|version| version.to_string());
        line.peer_detected = self.plan.peer_detect;
        line.initial = banner::initial_tcp(&flow.conn);
        line.connect_time = Some(flow.connect_time);
        line.trip_times = self.plan.latency.trip_times;
        line.isochronous = matches!(self.plan.shape, Shape::Isochronous(_));
        line.window_clamp = self.plan.socket.window_clamp;
        line.write_prefetch = self.plan.socket.write_prefetch;
        // Only the receiver cannot see by itself that the data is paced.
        line.fair_queue =
            flavour == ConnectionFlavour::Reverse && self.plan.socket.fair_queue.is_some();
        line.quickack = self.plan.socket.quickack;
        line.epoch_start = matches!(self.plan.start, StartTime::At(_));
        line.permit_key = self.plan.permit_key.as_ref().map(banner::shown_key);
        line.at = Some(self.context.wall());
        self.context.reporter.event(Event::Connected(line));
    }

    fn start(&self, flow: Ready, already: u64, start: MonoTime, many: bool) {
        let deadline = self.plan.time_limit().map(|time| start + time);
        let part = |tag: FlowTag, groups: Vec<GroupKey>| TcpFlow {
            tag,
            conn: Arc::clone(&flow.conn),
            local: flow.local,
            peer: flow.peer,
            start,
            interval: self.plan.interval,
            groups,
            stop: self.stop.clone(),
            patience: patience(self.plan.interval, self.plan.tcp_gap()),
            many,
            tally: Arc::clone(self.tally),
            after: None,
        };
        let reversed = FlowTag {
            reversed: true,
            ..flow.tag
        };
        match self.plan.workload {
            ClientWorkload::RequestResponse(exchange) => {
                let order = RequestPart::of(self.plan, exchange, deadline);
                let part = part(flow.tag, vec![self.group]);
                part.request(self.context, &order);
            }
            ClientWorkload::ConnectOnly { .. } => {}
            ClientWorkload::Stream(Arrangement::Reverse) => {
                let part = part(reversed, vec![self.group]);
                part.receive(self.context, self.plan.receive_part(deadline, true));
            }
            ClientWorkload::Stream(Arrangement::FullDuplex) => {
                let pair = self
                    .context
                    .reporter
                    .open_group(GroupKind::Duplex(flow.tag), 2);
                // The sender closes its direction itself, when its data is out.
                part(reversed, vec![pair, self.group])
                    .receive(self.context, self.plan.receive_part(deadline, false));
                part(flow.tag, vec![pair, self.group]).send(
                    self.context,
                    SendPart {
                        already,
                        ..self.send_part(flow.tag, deadline, SendEnd::Shutdown)
                    },
                );
            }
            ClientWorkload::Stream(
                Arrangement::Forward | Arrangement::Dual { .. } | Arrangement::Tradeoff { .. },
            ) => {
                let limit = self.plan.time_limit().unwrap_or_default().max(SLACK);
                let end = if self.plan.ignore_shutdown {
                    SendEnd::ShutdownUncounted(limit)
                } else {
                    SendEnd::ShutdownAndDrain(limit)
                };
                part(flow.tag, vec![self.group]).send(
                    self.context,
                    SendPart {
                        already,
                        ..self.send_part(flow.tag, deadline, end)
                    },
                );
            }
        }
    }

    fn send_part(&self, tag: FlowTag, deadline: Option<MonoTime>, end: SendEnd) -> SendPart {
        self.plan
            .send_part(Arc::clone(&self.payload), tag, deadline, end)
    }
}
