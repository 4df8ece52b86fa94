//! What arrives on one UDP socket of a server, each datagram given to the flow it belongs to.
//!
//! Flows are distinguished by who sends and which of our addresses they send to, per datagram,
//! so no flow loses its first datagrams to another one, and answers leave from the address
//! that was asked (2.2.1 connects its socket and fails in both, wire document 7.9).

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos};
use tapeline_report::Notice;
use tapeline_sys::{Marks, ReceiveBatch};

use super::flow_table::{Flow, FlowKey, FlowTable, Receiving};
use super::udp_socket::{EndCause, FlowDatagram, ServedSocket};
use super::udp_test;
use crate::iperf2::udp_fin::AfterFin;
use crate::iperf2::udp_receiver::{Datagram, Received};
use crate::iperf3::accept;
use crate::iperf3::service::Iperf3Service;
use crate::native::server::Probed;
use crate::run::event_limiter::EventLimiter;

/// Buffers that are read with one call.
pub(crate) const SLOTS: usize = 64;
/// Longest wait between two looks at silent flows while any is open.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time for a socket that fails to recover.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// Takes what arrives on a socket.
pub(crate) struct FlowIntake {
    pub(crate) served: ServedSocket,
    /// No flow begins after this time.
    pub(crate) until: Option<MonoTime>,
    /// No more flows than these begin.
    pub(crate) max: Option<usize>,
    /// Only this one is served: the socket is its own.
    pub(crate) only: Option<FlowKey>,
}

/// Whose a datagram is.
pub(crate) fn key(datagram: &tapeline_sys::Datagram<'_>) -> FlowKey {
    FlowKey {
        source: datagram.source,
        at: datagram.destination,
    }
}

/// What has arrived as one, one by one.
pub(crate) fn contents<'a>(
    datagram: &'a tapeline_sys::Datagram<'_>,
    now: MonoTime,
) -> impl Iterator<Item = Datagram<'a>> + Clone {
    datagram.segments().map(move |payload| Datagram {
        payload,
        arrival: datagram.arrival,
        truncated: datagram.truncated,
        tos: datagram.tos,
        joined: datagram.segment_size.is_some(),
        now,
    })
}

impl FlowIntake {
    /// How refusals are reported.
    pub(crate) fn refusals(&self) -> EventLimiter {
        let shared = &self.served.shared;
        let max = shared.policy.limits().refusals_logged;
        EventLimiter::of_refusals(&shared.context, max)
    }

    /// The server is to end, or the one test of an iperf3 server has.
    pub(crate) fn is_stopped(&self) -> bool {
        let shared = &self.served.shared;
        let done = |service: &Arc<Iperf3Service>| service.is_done();
        shared.context.stop().is_raised() || shared.iperf3.as_ref().is_some_and(done)
    }

    /// Whether further flows may begin at all.
    pub(crate) fn has_room(&self, flows: &FlowTable, now: MonoTime) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.max.is_none_or(|max| flows.served() < max)
    }

    /// A datagram of an unknown source: it may begin a flow, while any may.
    fn open(&self, flows: &mut FlowTable, datagram: &FlowDatagram<'_>) {
        // Before it was connected, the socket may have been given datagrams of others.
        let welcome = self.only.is_none_or(|only| only == datagram.key);
        if welcome && self.has_room(flows, self.served.shared.context.now()) {
            udp_test::open(&self.served, flows, datagram);
        }
    }

    /// Takes one datagram, or those that came joined.
    pub(crate) fn take_datagram(
        &self,
        flows: &mut FlowTable,
        datagram: &tapeline_sys::Datagram<'_>,
    ) {
        let (key, now) = (key(datagram), self.served.shared.context.now());
        self.take_guarded(flows, key, contents(datagram, now));
        flows.publish(Some(key));
    }

    /// Takes all of a batch.
    pub(crate) fn take_batch(&self, batch: &ReceiveBatch, flows: &mut FlowTable) {
        let now = self.served.shared.context.now();
        let mut touched: Option<FlowKey> = None;
        for datagram in batch.datagrams() {
            let key = key(&datagram);
            if touched != Some(key) {
                flows.publish(touched);
                touched = Some(key);
            }
            self.take_guarded(flows, key, contents(&datagram, now));
        }
        flows.publish(touched);
    }

    /// Takes what arrived together of one flow; a fault in the code of the flow costs it.
    #[inline]
    pub(crate) fn take_guarded<'a>(
        &self,
        flows: &mut FlowTable,
        key: FlowKey,
        contents: impl Iterator<Item = Datagram<'a>> + Clone,
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
        mut contents: impl Iterator<Item = Datagram<'a>> + Clone,
    ) {
        while let Some(mut content) = contents.next() {
            let Some(Flow::Receiving(flow)) = flows.get_mut(key) else {
                self.take_other(flows, &FlowDatagram { key, content });
                continue;
            };
            let taken = loop {
                match self.take(flow, key, &content, &mut contents) {
                    Received::Going => {}
                    taken => break taken,
                }
                match contents.next() {
                    Some(next) => content = next,
                    None => return,
                }
            };
            self.settle(flows, &FlowDatagram { key, content }, taken);
        }
    }

    #[inline]
    fn take<'a>(
        &self,
        flow: &mut Receiving,
        key: FlowKey,
        content: &Datagram<'_>,
        rest: &mut (impl Iterator<Item = Datagram<'a>> + Clone),
    ) -> Received {
        let wall = || self.served.shared.context.wall();
        if let Some(ack) = flow.receiver.acknowledge(content, wall) {
            self.served
                .answer_unless_limited(flow.amplification, &ack, key);
        }
        if let Some(answer) = flow.recognition.next(content.payload) {
            self.served
                .answer_unless_limited(flow.amplification, &answer, key);
        }
        flow.receiver.take_run(content, rest)
    }

    /// A datagram of a flow that is not being received, or of none.
    fn take_other(&self, flows: &mut FlowTable, datagram: &FlowDatagram<'_>) {
        let afterwards = match flows.get_mut(datagram.key) {
            Some(Flow::Receiving(_)) => return,
            Some(Flow::Sending { recognition, .. }) => {
                // The client repeats its order until data comes.
                if let Some(answer) = recognition.next(datagram.content.payload) {
                    self.served.answer(&answer, datagram.key);
                }
                return;
            }
            // Its own socket has all but what was on its way when that one was opened.
            Some(Flow::Branched(branch)) if !branch.is_finished() => return,
            Some(Flow::Branched(_)) => {
                flows.rejoin(datagram.key);
                return self.take_other(flows, datagram);
            }
            Some(Flow::Ended(ended)) => {
                ended.receive(datagram.content.payload, datagram.content.now)
            }
            None if self.is_probe(datagram) => return,
            None if self.is_method(datagram) => return,
            None if self.is_iperf3(datagram) => return,
            None if !self.served.shared.plan.protocols.has_iperf2() => return,
            None => return self.open(flows, datagram),
        };
        match afterwards {
            AfterFin::Ignore => {}
            AfterFin::Answer(report) => {
                let amplification = self
                    .served
                    .shared
                    .policy
                    .amplification_limit(datagram.key.source.ip());
                self.served
                    .answer_unless_limited(amplification, &report, datagram.key);
            }
            AfterFin::Open => {
                flows.forget(datagram.key);
                self.open(flows, datagram);
            }
        }
    }

    /// A datagram has ended its flow.
    fn settle(&self, flows: &mut FlowTable, datagram: &FlowDatagram<'_>, taken: Received) {
        let now = datagram.content.now;
        match taken {
            Received::Going => {}
            Received::Over(stamp) => {
                self.served
                    .end(flows, datagram.key, now, EndCause::Final(stamp));
            }
            Received::NewTest => {
                self.served.end(flows, datagram.key, now, EndCause::Over);
                flows.forget(datagram.key);
                self.open(flows, datagram);
            }
        }
    }

    /// Whether the datagram is a probe of another tapeline's test; it is answered, if so.
    pub(crate) fn is_probe(&self, datagram: &FlowDatagram<'_>) -> bool {
        let Some(service) = &self.served.shared.control else {
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
                self.served.answer_marked(&reply, key.source, marks);
            }
        }
        true
    }

    /// Whether the datagram belongs to what another tapeline has ordered.
    fn is_method(&self, datagram: &FlowDatagram<'_>) -> bool {
        let Some(service) = &self.served.shared.methods else {
            return false;
        };
        let FlowKey { source, at } = datagram.key;
        service.take_datagram(&self.served.socket, datagram.content.payload, source, at)
    }

    /// Whether the datagram asks for a stream of an iperf3 test, which then has a socket of its
    /// own.
    fn is_iperf3(&self, datagram: &FlowDatagram<'_>) -> bool {
        let Some(service) = &self.served.shared.iperf3 else {
            return false;
        };
        let FlowKey { source, at } = datagram.key;
        tapeline_wire::iperf3::is_connect(datagram.content.payload)
            && accept::take_datagram(service, &self.served.socket, source, at)
    }
}

/// What the thread of a socket works on.
pub(crate) struct IntakeWork {
    pub(crate) flows: FlowTable,
    pub(crate) batch: ReceiveBatch,
    /// The last receive has failed.
    failing: bool,
    /// When silent flows were looked at.
    swept: MonoTime,
}

impl IntakeWork {
    pub(crate) fn new(flows: FlowTable, batch: ReceiveBatch, now: MonoTime) -> Self {
        Self {
            flows,
            batch,
            failing: false,
            swept: now,
        }
    }

    /// Takes what a receive has brought, and looks at silent flows when it is time; returns whether
    /// it was.
    pub(crate) fn take(&mut self, intake: &FlowIntake, received: io::Result<usize>) -> bool {
        let served = &intake.served;
        match received {
            Ok(count) => {
                self.failing &= count == 0;
                intake.take_batch(&self.batch, &mut self.flows);
                // With nothing to read, it may be what has woken us.
                if self.batch.take_returned() || count == 0 {
                    served.take_returned(&mut self.flows);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                served.take_returned(&mut self.flows);
            }
            Err(error) => self.pause(intake, &error),
        }
        let now = served.shared.context.now();
        let due = now.since(self.swept) >= POLL_INTERVAL;
        if due {
            self.swept = now;
            served.take_returned(&mut self.flows);
            served.sweep(&mut self.flows, now);
        }
        due
    }

    /// The socket fails, for now: logged once, then waited out.
    fn pause(&mut self, intake: &FlowIntake, error: &io::Error) {
        if !std::mem::replace(&mut self.failing, true) {
            let words = format!("receive: {}", tapeline_sys::reason(error));
            let context = &intake.served.shared.context;
            context.notice(Notice::Text(words));
        }
        std::thread::sleep(FAILURE_PAUSE);
    }
}
