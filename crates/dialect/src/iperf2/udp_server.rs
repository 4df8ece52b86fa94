//! The UDP server: one socket, every datagram given to the flow it belongs to.
//!
//! Flows are told apart by who sends and which of our addresses they send to, per datagram,
//! so no flow loses its first datagrams to another one, and answers leave from the address
//! that was asked (2.2.1 connects its socket and fails in both, wire document 7.9).

use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos};
use tapeline_engine::Stop;
use tapeline_report::Notice;
use tapeline_sys::{
    DeviceTap, Events, Interest, Marks, Poller, ReceiveBatch, UdpSocket, Wait, Waker,
};

use super::admission::Admission;
use super::client::SharedContext;
use super::ended::Afterwards;
use super::flow_table::{Flow, FlowKey, FlowTable, Receiving};
use super::groups::TestGroups;
use super::incoming::{Content, Taken};
use super::udp_ending::EndCause;
use crate::context::Tally;
use crate::iperf3::Iperf3Service;
use crate::native::{ControlService, Probed};
use crate::plan::ServerPlan;
use crate::policy::{Allowance, Policy};
use crate::telling::Telling;

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

impl UdpService {
    /// Serves until told to stop.
    pub(super) fn run(mut self) {
        let mut tap = self.tap.take();
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let mut events = Events::with_capacity(4);
        let most_told = self.policy.limits().refusals_told;
        let refusals = Telling::of_refusals(&self.context, most_told);
        let mut flows = FlowTable::new(self.socket.dropped(), refusals);
        self.socket.hear_refusals();
        let mut failing = false;
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
            } else if flows.is_empty() {
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
                    failing &= count == 0;
                    self.take_batch(&batch, &mut flows);
                    self.look_for_faults(&mut flows);
                    // With nothing to read, it may be what has woken us.
                    if batch.take_returned() || count == 0 {
                        self.take_returned(&mut flows);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.take_returned(&mut flows);
                }
                Err(error) => {
                    self.pause(failing, &error);
                    failing = true;
                }
            }
            let now = self.context.now();
            if now.since(swept) >= LOOK {
                swept = now;
                self.take_returned(&mut flows);
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
    fn pause(&self, told: bool, error: &std::io::Error) {
        if !told {
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

    fn tap_wait(&self, flows: &FlowTable) -> Wait {
        if flows.is_empty() {
            self.idle_wait()
        } else {
            Wait::AtMost(LOOK)
        }
    }

    /// Stopped, or done: no flow can begin any more, all have ended, and nobody asks for
    /// a report.
    fn is_over(&self, flows: &FlowTable) -> bool {
        let done = |service: &Arc<Iperf3Service>| service.is_done();
        if self.context.stop().is_raised()
            || self.close.is_raised()
            || self.iperf3.as_ref().is_some_and(done)
        {
            return true;
        }
        let now = self.context.now();
        !self.has_room(flows, now) && flows.are_quiet(now)
    }

    /// Whether further flows may begin at all.
    pub(super) fn has_room(&self, flows: &FlowTable, now: MonoTime) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.most.is_none_or(|most| flows.served() < most)
    }

    fn take_batch(&self, batch: &ReceiveBatch, flows: &mut FlowTable) {
        let now = self.context.now();
        let mut touched: Option<FlowKey> = None;
        for datagram in batch.datagrams() {
            let key = FlowKey {
                source: datagram.source,
                at: datagram.destination,
            };
            if touched != Some(key) {
                flows.publish(touched);
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
        flows.publish(touched);
    }

    /// Takes what arrived together of one flow; a fault in the code of the flow costs it.
    #[inline]
    pub(super) fn take_guarded<'a>(
        &self,
        flows: &mut FlowTable,
        key: FlowKey,
        contents: impl Iterator<Item = Content<'a>> + Clone,
    ) {
        let taken = panic::catch_unwind(AssertUnwindSafe(|| self.take_all(flows, key, contents)));
        if taken.is_err() {
            self.lose(flows, key);
        }
    }

    /// A fault in one flow's code ends that flow; its parts end by being dropped.
    fn lose(&self, flows: &mut FlowTable, key: FlowKey) {
        flows.lose(key);
        flows.refusals.faulted(key.source);
    }

    /// While the flow goes on, it is looked up once.
    #[inline]
    fn take_all<'a>(
        &self,
        flows: &mut FlowTable,
        key: FlowKey,
        mut contents: impl Iterator<Item = Content<'a>> + Clone,
    ) {
        while let Some(mut content) = contents.next() {
            let Some(Flow::Receiving(flow)) = flows.get_mut(key) else {
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
    fn take_other(&self, flows: &mut FlowTable, datagram: &Arrived<'_>) {
        let afterwards = match flows.get_mut(datagram.key) {
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
                flows.forget(datagram.key);
                self.open(flows, datagram);
            }
        }
    }

    /// A datagram has ended its flow.
    fn settle(&self, flows: &mut FlowTable, datagram: &Arrived<'_>, taken: Taken) {
        let now = datagram.content.now;
        match taken {
            Taken::Going => {}
            Taken::Over(stamp) => {
                self.end(flows, datagram.key, now, EndCause::Final(stamp));
            }
            Taken::NewTest => {
                self.end(flows, datagram.key, now, EndCause::Over);
                flows.forget(datagram.key);
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

    /// Answers with what is never more than came; to sources that may be forged, as far as all of
    /// them together may be answered.
    #[inline]
    pub(super) fn answer_beside(&self, allowance: Allowance, answer: &[u8], to: FlowKey) {
        let known = allowance == Allowance::Unlimited;
        if known || self.policy.lets_out(answer.len(), self.context.now()) {
            self.answer(answer, to);
        }
    }
}

/// A datagram and its flow.
pub(super) struct Arrived<'a> {
    pub(super) key: FlowKey,
    pub(super) content: Content<'a>,
}
