//! The UDP server: one socket, every datagram given to the flow it belongs to.
//!
//! Flows are told apart by who sends and which of our addresses they send to, per datagram,
//! so no flow loses its first datagrams to another one, and answers leave from the address
//! that was asked (2.2.1 connects its socket and fails in both, wire document 7.9).

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Tos};
use tapeline_engine::{Stop, ThreadUse};
use tapeline_report::Notice;
use tapeline_sys::{
    DeviceTap, Events, Interest, Marks, Poller, ReceiveBatch, ThreadTime, UdpSocket, Wait, Waker,
};
use tapeline_wire::iperf2::DatagramStamp;

use super::admission::Admission;
use super::client::SharedContext;
use super::connect_back::{self, ConnectBack};
use super::ended::{Afterwards, Ended};
use super::groups::TestGroups;
use super::incoming::{Content, Incoming, Taken};
use super::recognition::Recognition;
use super::telling::Telling;
use super::udp_frames::Watched;
use crate::context::{Part, Tally};
use crate::iperf3::Iperf3Service;
use crate::native::{ControlService, Probed};
use crate::plan::ServerPlan;
use crate::policy::{Allowance, Grant, Policy};
use crate::reporter::{EndFacts, FlowEnd, RunningFlow, SocketFacts};

const SOCKET: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
const SLOTS: usize = 64;
/// Longest wait between two looks at silent flows while any is open.
const LOOK: Duration = Duration::from_millis(50);
/// Time for a socket that fails to recover.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// One bound socket and all flows that arrive on it.
pub(super) struct UdpService {
    pub(super) plan: Arc<ServerPlan>,
    pub(super) context: SharedContext,
    pub(super) socket: Arc<UdpSocket>,
    pub(super) admission: Admission,
    pub(super) groups: Arc<TestGroups>,
    pub(super) tally: Arc<Tally>,
    pub(super) waker: Arc<Waker>,
    /// Serves iperf3 clients, where the plan says so.
    pub(super) iperf3: Option<Arc<Iperf3Service>>,
    /// Recognises other tapelines, where the plan says so.
    pub(super) control: Option<Arc<ControlService>>,
    /// What clients may do.
    pub(super) policy: Arc<Policy>,
    pub(super) close: Stop,
    pub(super) until: Option<MonoTime>,
    pub(super) most: Option<usize>,
    /// Device that the datagrams are read from in place of the socket (`--tap-dev`).
    pub(super) tap: Option<DeviceTap>,
}

/// Which flow a datagram belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowKey {
    pub(super) source: SocketAddr,
    /// Own address that it was sent to, where the socket takes several and the system tells.
    pub(super) at: Option<IpAddr>,
}

impl FlowKey {
    /// What makes an answer leave from where the question arrived.
    pub(super) fn marks(self) -> Marks {
        Marks {
            tos: None,
            source: self.at.filter(|at| !at.is_multicast()),
        }
    }
}

/// A flow that is being received.
pub(super) struct Receiving {
    pub(super) tag: FlowTag,
    pub(super) incoming: Incoming,
    /// What further marked datagrams are answered with.
    pub(super) recognition: Recognition,
    /// End by our own clock, if any.
    pub(super) deadline: Option<MonoTime>,
    /// When it began, and what it may have.
    pub(super) start: MonoTime,
    pub(super) share: Grant,
    pub(super) patience: Duration,
    /// The client waits for a time of day: there is more patience with it.
    pub(super) held_back: bool,
    /// Datagrams that the socket had dropped before the flow's first one came.
    pub(super) dropped_before: Option<u64>,
    /// Times of the service's thread when the flow began.
    pub(super) thread_before: ThreadTime,
    /// The clocks agree: the report tells delays.
    pub(super) trip_times: bool,
    /// The client asks for a report at the end.
    pub(super) reports: bool,
    /// Begins when this flow has ended (`-r`).
    pub(super) afterwards: Option<(ConnectBack, Part)>,
    /// The sender of a full-duplex test, which ends with this flow.
    pub(super) sender: Option<Stop>,
    /// What may be sent to the client in answer.
    pub(super) allowance: Allowance,
    pub(super) running: RunningFlow,
    pub(super) part: Part,
}

impl Receiving {
    /// Whether it has had all that it may have.
    fn has_used_up(&self, now: MonoTime) -> bool {
        let elapsed = now.since(self.start);
        self.share.time.is_some_and(|time| elapsed >= time)
            || self.share.is_used_up(self.incoming.bytes(), elapsed)
    }
}

/// What is known of a source.
pub(super) enum Flow {
    Receiving(Box<Receiving>),
    /// We send to it; its repeated orders are ignored until then.
    Sending {
        stop: Stop,
        recognition: Recognition,
        /// Raised by the sender when it has ended.
        finished: Stop,
        until: MonoTime,
    },
    /// Over, but not forgotten.
    Ended(Ended),
}

/// Why a flow that was received ends.
#[derive(Clone, Copy)]
enum EndCause {
    /// Its final datagram, with this stamp.
    Final(DatagramStamp),
    /// Our own clock, or the server's end.
    Over,
    /// It has had what it is granted, though its client sends on.
    Cut,
    /// The server was told to stop: the client learns what has arrived, unasked.
    Interrupted,
    /// Silence.
    Vanished,
}

/// The flows of a service; apart from it so that both can be borrowed.
pub(super) struct Flows {
    pub(super) by_key: HashMap<FlowKey, Flow>,
    /// Devices that are watched for faults.
    pub(super) watched: Watched,
    /// Those that have not ended.
    pub(super) active: usize,
    pub(super) served: usize,
    /// Datagrams that the socket had dropped when the last flow ended.
    pub(super) dropped_idle: Option<u64>,
    /// A failure of the socket has been told.
    failing: bool,
    /// Flows of foreign sources in the order of their beginnings, until there are too many.
    pub(super) newcomers: VecDeque<FlowKey>,
    pub(super) refusals: Telling,
}

impl UdpService {
    /// Serves until told to stop.
    pub(super) fn run(mut self) {
        let mut tap = self.tap.take();
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let mut events = Events::with_capacity(4);
        let mut flows = Flows {
            by_key: HashMap::new(),
            watched: Watched::default(),
            active: 0,
            served: 0,
            dropped_idle: self.socket.dropped(),
            failing: false,
            newcomers: VecDeque::new(),
            refusals: Telling::of_refusals(&self.context, self.policy.limits().refusals_told),
        };
        let mut swept = self.context.now();
        let mut poller = match self.poller(tap.as_ref()) {
            Ok(poller) => poller,
            Err(error) => {
                self.context.notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        while !self.is_over(&flows) {
            // With flows open the socket itself is waited on, which is one call per
            // batch; an idle server sleeps until something happens.
            let received = if let Some(tap) = &mut tap {
                if poller.wait(&mut events, self.tap_wait(&flows)).is_err() {
                    break;
                }
                self.waker.drain();
                self.take_frames(tap, &mut flows).map(|()| 0)
            } else if flows.by_key.is_empty() {
                if poller.wait(&mut events, self.idle_wait()).is_err() {
                    break;
                }
                self.waker.drain();
                batch.receive(&self.socket, Wait::Never)
            } else {
                batch.receive(&self.socket, Wait::AtMost(LOOK))
            };
            match received {
                Ok(count) => {
                    flows.failing &= count == 0;
                    self.take_batch(&batch, &mut flows);
                    self.look_for_faults(&mut flows);
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => self.pause(&mut flows, &error),
            }
            let now = self.context.now();
            if now.since(swept) >= LOOK {
                swept = now;
                self.sweep(&mut flows, now);
            }
        }
        self.end_all(&mut flows);
    }

    fn poller(&self, tap: Option<&DeviceTap>) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        match tap {
            Some(tap) => poller.register(tap, SOCKET, Interest::READ)?,
            None => poller.register(&self.socket, SOCKET, Interest::READ)?,
        }
        poller.register(&self.waker, WAKER, Interest::READ)?;
        let interruption = self.context.interruption.waker();
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(poller)
    }

    /// The socket fails, for now: told once, then waited out.
    fn pause(&self, flows: &mut Flows, error: &std::io::Error) {
        if !flows.failing {
            flows.failing = true;
            let words = format!("receive: {}", tapeline_sys::reason(error));
            self.context.notice(Notice::Text(words));
        }
        std::thread::sleep(FAILURE_PAUSE);
    }

    fn idle_wait(&self) -> Wait {
        let idle = self
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let until = self.until.into_iter().chain(idle).min();
        until.map_or(Wait::Forever, |until| {
            Wait::AtMost(until.since(self.context.now()))
        })
    }

    fn tap_wait(&self, flows: &Flows) -> Wait {
        if flows.by_key.is_empty() {
            self.idle_wait()
        } else {
            Wait::AtMost(LOOK)
        }
    }

    /// Stopped, or done: no flow can begin any more, all have ended, and nobody asks for
    /// a report.
    fn is_over(&self, flows: &Flows) -> bool {
        let done = |service: &Arc<Iperf3Service>| service.is_done();
        if self.context.stop().is_raised()
            || self.close.is_raised()
            || self.iperf3.as_ref().is_some_and(done)
        {
            return true;
        }
        let now = self.context.now();
        !self.has_room(flows, now)
            && flows.active == 0
            && flows.by_key.values().all(|flow| match flow {
                Flow::Ended(ended) => ended.is_quiet(now),
                Flow::Receiving(_) | Flow::Sending { .. } => false,
            })
    }

    /// Whether further flows may begin at all.
    pub(super) fn has_room(&self, flows: &Flows, now: MonoTime) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.most.is_none_or(|most| flows.served < most)
    }

    fn take_batch(&self, batch: &ReceiveBatch, flows: &mut Flows) {
        let now = self.context.now();
        let mut touched: Option<FlowKey> = None;
        for datagram in batch.datagrams() {
            let key = FlowKey {
                source: datagram.source,
                at: datagram.destination,
            };
            if touched != Some(key) {
                publish(flows, touched);
                touched = Some(key);
            }
            let contents = datagram.segments().map(|payload| Content {
                payload,
                arrival: datagram.arrival,
                truncated: datagram.truncated,
                tos: datagram.tos,
                joined: datagram.segment_size.is_some(),
                now,
            });
            self.take_guarded(flows, key, contents);
        }
        publish(flows, touched);
    }

    /// Takes what arrived together of one flow; a fault in the code of the flow costs it.
    #[inline]
    pub(super) fn take_guarded<'a>(
        &self,
        flows: &mut Flows,
        key: FlowKey,
        contents: impl Iterator<Item = Content<'a>> + Clone,
    ) {
        let taken = panic::catch_unwind(AssertUnwindSafe(|| self.take_all(flows, key, contents)));
        if taken.is_err() {
            self.lose(flows, key);
        }
    }

    /// A fault in one flow's code ends that flow; its parts end by being dropped.
    fn lose(&self, flows: &mut Flows, key: FlowKey) {
        flows.by_key.remove(&key);
        let active = |flow: &&Flow| !matches!(flow, Flow::Ended(_));
        flows.active = flows.by_key.values().filter(active).count();
        let text = format!("flow from {}: internal fault", key.source);
        self.context.notice(Notice::Text(text));
    }

    /// While the flow goes on, it is looked up once.
    #[inline]
    fn take_all<'a>(
        &self,
        flows: &mut Flows,
        key: FlowKey,
        mut contents: impl Iterator<Item = Content<'a>> + Clone,
    ) {
        while let Some(mut content) = contents.next() {
            let Some(Flow::Receiving(flow)) = flows.by_key.get_mut(&key) else {
                self.take_other(flows, &Arrived { key, content });
                continue;
            };
            let taken = loop {
                match self.take(flow, key, &content, &mut contents) {
                    Taken::Going => {}
                    taken => break taken,
                }
                match contents.next() {
                    Some(next) => content = next,
                    None => return,
                }
            };
            self.settle(flows, &Arrived { key, content }, taken);
        }
    }

    #[inline]
    fn take<'a>(
        &self,
        flow: &mut Receiving,
        key: FlowKey,
        content: &Content<'_>,
        rest: &mut (impl Iterator<Item = Content<'a>> + Clone),
    ) -> Taken {
        let wall = || self.context.wall();
        if let Some(ack) = flow.incoming.acknowledge(content, wall) {
            self.answer_beside(flow.allowance, &ack, key);
        }
        if let Some(answer) = flow.recognition.next(content.payload) {
            self.answer_beside(flow.allowance, &answer, key);
        }
        flow.incoming.take_run(content, rest)
    }

    /// A datagram of a flow that is not being received, or of none.
    fn take_other(&self, flows: &mut Flows, datagram: &Arrived<'_>) {
        let afterwards = match flows.by_key.get_mut(&datagram.key) {
            Some(Flow::Receiving(_)) => return,
            Some(Flow::Sending { recognition, .. }) => {
                // The client repeats its order until data comes.
                if let Some(answer) = recognition.next(datagram.content.payload) {
                    self.answer(&answer, datagram.key);
                }
                return;
            }
            Some(Flow::Ended(ended)) => {
                ended.receive(datagram.content.payload, datagram.content.now)
            }
            None if self.is_probe(datagram) => return,
            None if self.is_iperf3(datagram) => return,
            None if !self.plan.protocols.has_iperf2() => return,
            None => return self.open(flows, datagram),
        };
        match afterwards {
            Afterwards::Ignore => {}
            Afterwards::Answer(report) => {
                let allowance = self.policy.allowance(datagram.key.source.ip());
                self.answer_beside(allowance, &report, datagram.key);
            }
            Afterwards::Open => {
                flows.by_key.remove(&datagram.key);
                self.open(flows, datagram);
            }
        }
    }

    /// A datagram has ended its flow.
    fn settle(&self, flows: &mut Flows, datagram: &Arrived<'_>, taken: Taken) {
        let now = datagram.content.now;
        match taken {
            Taken::Going => {}
            Taken::Over(stamp) => {
                self.end(flows, datagram.key, now, EndCause::Final(stamp));
            }
            Taken::NewTest => {
                self.end(flows, datagram.key, now, EndCause::Over);
                flows.by_key.remove(&datagram.key);
                self.open(flows, datagram);
            }
        }
    }

    /// Whether the datagram is a probe beside another tapeline's test; it is answered, if so.
    fn is_probe(&self, datagram: &Arrived<'_>) -> bool {
        let Some(service) = &self.control else {
            return false;
        };
        let (content, key) = (&datagram.content, datagram.key);
        match service.answer_probe(content.payload, key.source, content.arrival) {
            Probed::Other => return false,
            Probed::Ignored => {}
            Probed::Answer(reply, class) => {
                let marks = Marks {
                    tos: Some(class).filter(|class| *class != Tos::default()),
                    ..key.marks()
                };
                self.answer_marked(&reply, key.source, marks);
            }
        }
        true
    }

    /// Whether the datagram asks for a stream of an iperf3 test, which then has a socket of its
    /// own.
    fn is_iperf3(&self, datagram: &Arrived<'_>) -> bool {
        let Some(service) = &self.iperf3 else {
            return false;
        };
        let FlowKey { source, at } = datagram.key;
        tapeline_wire::iperf3::is_connect(datagram.content.payload)
            && service.take_datagram(&self.socket, source, at)
    }

    pub(super) fn answer(&self, report: &[u8], to: FlowKey) {
        self.answer_marked(report, to.source, to.marks());
    }

    fn answer_marked(&self, report: &[u8], to: SocketAddr, marks: Marks) {
        // One that does not leave is asked for again.
        if self.socket.send_marked_to(report, to, marks).is_err() {
            // What was read from a device may have gone to an address that is not ours.
            let _ = self.socket.send_to(report, to);
        }
    }

    /// Notes a flow of a foreign source. Of those that have only begun, a flood of forged sources
    /// may be, the oldest are given up for newer ones.
    pub(super) fn note_newcomer(&self, flows: &mut Flows, key: FlowKey, now: MonoTime) {
        if self.policy.trusts(key.source.ip()) {
            return;
        }
        flows.newcomers.push_back(key);
        if flows.newcomers.len() <= self.policy.limits().newcomers {
            return;
        }
        let Some(oldest) = flows.newcomers.pop_front() else {
            return;
        };
        let lone = |flow: &Flow| matches!(flow, Flow::Receiving(flow) if flow.incoming.is_lone());
        if flows.by_key.get(&oldest).is_some_and(lone) {
            self.end(flows, oldest, now, EndCause::Vanished);
            flows.by_key.remove(&oldest);
        }
    }

    /// Answers as far as the source may be answered.
    fn answer_within(&self, allowance: &mut Allowance, report: &[u8], to: FlowKey) {
        if allowance.spend(report.len()) {
            self.answer_beside(*allowance, report, to);
        }
    }

    /// Answers with what is never more than came; to sources that may be forged, as far as all of
    /// them together may be answered.
    #[inline]
    pub(super) fn answer_beside(&self, allowance: Allowance, answer: &[u8], to: FlowKey) {
        let known = allowance == Allowance::Unlimited;
        if known || self.policy.lets_out(answer.len(), self.context.now()) {
            self.answer(answer, to);
        }
    }

    /// Ends a flow that has not ended yet.
    fn end(&self, flows: &mut Flows, key: FlowKey, now: MonoTime, cause: EndCause) {
        let ended = match flows.by_key.remove(&key) {
            Some(Flow::Receiving(flow)) => {
                flows.active = flows.active.saturating_sub(1);
                let alone = flows.active == 0;
                let ended = self.end_receiving(*flow, key, now, cause, alone);
                if alone {
                    flows.dropped_idle = self.socket.dropped();
                }
                ended
            }
            Some(Flow::Sending { stop, .. }) => {
                flows.active = flows.active.saturating_sub(1);
                stop.raise();
                Ended::sent(now)
            }
            Some(Flow::Ended(ended)) => ended,
            None => return,
        };
        flows.by_key.insert(key, Flow::Ended(ended));
    }

    /// `alone`: no other flow could have had the socket's drops.
    fn end_receiving(
        &self,
        mut flow: Receiving,
        key: FlowKey,
        now: MonoTime,
        cause: EndCause,
        alone: bool,
    ) -> Ended {
        flow.incoming.finish();
        let at = flow.incoming.last();
        let latency = self.plan.enhanced || flow.trip_times;
        let report = flow.reports.then(|| flow.incoming.report(latency));
        flow.allowance.earn(flow.incoming.bytes());
        match (&report, cause) {
            (Some(report), EndCause::Final(stamp)) => {
                self.answer_within(&mut flow.allowance, &report.encode(stamp), key);
            }
            (Some(report), EndCause::Interrupted) => {
                let report = report.encode(DatagramStamp::default());
                self.answer_within(&mut flow.allowance, &report, key);
                let tag = flow.tag;
                self.context.notice(Notice::ReportUnacknowledged { tag });
            }
            _ => {}
        }
        let socket = SocketFacts {
            shared: true,
            ..SocketFacts::of(&self.socket, flow.dropped_before)
        };
        let dropped = socket.drops;
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            let tag = alone.then_some(flow.tag);
            self.context
                .notice(Notice::ReceiveBufferDrops { tag, datagrams });
        }
        flow.running.end(FlowEnd {
            at,
            sent: None,
            dropped: dropped.filter(|_| alone),
            facts: EndFacts {
                thread: Some(ThreadUse::shared_since(&flow.thread_before)),
                socket: Some(socket),
                ..EndFacts::default()
            },
        });
        match (&flow.sender, cause) {
            (None, _) | (_, EndCause::Final(_)) => {}
            (Some(stop), _) => stop.raise(),
        }
        if let Some((back, part)) = flow.afterwards.take() {
            connect_back::spawn(back, part);
        }
        flow.part.end(matches!(cause, EndCause::Vanished));
        let ended = Ended::received(report, flow.allowance, flow.incoming.newest(), now);
        match cause {
            EndCause::Cut => ended.cut(),
            _ => ended,
        }
    }

    /// Ends what is silent or over, and forgets what nobody asks for any more.
    fn sweep(&self, flows: &mut Flows, now: MonoTime) {
        let mut over = Vec::new();
        let mut forgotten = Vec::new();
        for (key, flow) in &flows.by_key {
            match flow {
                Flow::Receiving(flow) => {
                    let silent_for = now.since(flow.incoming.last());
                    if let Some(stamp) = flow.incoming.over_at(now) {
                        over.push((*key, EndCause::Final(stamp)));
                    } else if flow.deadline.is_some_and(|deadline| now >= deadline) {
                        over.push((*key, EndCause::Over));
                    } else if flow.has_used_up(now) {
                        over.push((*key, EndCause::Cut));
                    } else if silent_for > flow.patience {
                        let tag = flow.tag;
                        self.context
                            .notice(Notice::PeerVanished { tag, silent_for });
                        over.push((*key, EndCause::Vanished));
                    }
                }
                Flow::Sending {
                    finished, until, ..
                } => {
                    if finished.is_raised() || now >= *until {
                        over.push((*key, EndCause::Over));
                    }
                }
                Flow::Ended(ended) if ended.is_forgotten(now) => forgotten.push(*key),
                Flow::Ended(_) => {}
            }
        }
        flows.refusals.sum_up();
        for (key, cause) in over {
            if matches!(cause, EndCause::Cut) {
                // What comes over UDP cannot be slowed down, only left aside.
                let reason = "cut: it has had the time, bytes or rate that it is granted";
                flows.refusals.refused(key.source, reason);
            }
            self.end(flows, key, now, cause);
        }
        for key in forgotten {
            flows.by_key.remove(&key);
        }
    }

    fn end_all(&self, flows: &mut Flows) {
        let now = self.context.now();
        let keys: Vec<FlowKey> = flows.by_key.keys().copied().collect();
        let cause = if self.context.stop().is_raised() {
            EndCause::Interrupted
        } else {
            EndCause::Over
        };
        for key in keys {
            self.end(flows, key, now, cause);
        }
    }
}

/// A datagram and its flow.
pub(super) struct Arrived<'a> {
    pub(super) key: FlowKey,
    pub(super) content: Content<'a>,
}

/// Makes the counters of a flow visible.
pub(super) fn publish(flows: &mut Flows, key: Option<FlowKey>) {
    if let Some(Flow::Receiving(flow)) = key.and_then(|key| flows.by_key.get_mut(&key)) {
        flow.incoming.publish();
    }
}
