//! The UDP server: one socket, every datagram given to the flow it belongs to.
//!
//! Flows are distinguished by who sends and which of our addresses they send to, per datagram,
//! so no flow loses its first datagrams to another one, and answers leave from the address
//! that was asked (2.2.1 connects its socket and fails in both, wire document 7.9).
//!
//! Datagrams and faults also come from below the sockets: `--tap-dev`, and `--l2checks` where the server allows it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use std::{io, panic};

use tapeline_base::{MonoTime, Tos};
use tapeline_engine::Stop;
use tapeline_report::Notice;
use tapeline_sys::{
    DeviceTap, Events, Interest, LinkHeader, Marks, Poller, ReceiveBatch, Wait, Waker,
};
use tapeline_wire::UdpPacket;

use super::flow_table::{Flow, FlowKey, FlowTable, Receiving};
use super::udp_socket::{EndCause, FlowDatagram, ServedSocket};
use super::udp_test;
use crate::iperf2::udp_fin::AfterFin;
use crate::iperf2::udp_receiver::{Datagram, Received};
use crate::iperf3::accept;
use crate::iperf3::service::Iperf3Service;
use crate::native::server::Probed;
use crate::run::event_limiter::EventLimiter;

const SOCKET: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
const SLOTS: usize = 64;
/// Longest wait between two looks at silent flows while any is open.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Between two looks whether clients of a stopped server are still connected.
const LAST_LOOK: Duration = Duration::from_millis(5);
/// Time for a socket that fails to recover.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// One bound socket and all flows that arrive on it.
pub(crate) struct UdpService {
    pub(crate) served: ServedSocket,
    /// Wakes the thread of the socket.
    pub(crate) waker: Arc<Waker>,
    /// Ends the service.
    pub(crate) close: Stop,
    /// No flow begins after this time.
    pub(crate) until: Option<MonoTime>,
    /// No more flows than these begin.
    pub(crate) max: Option<usize>,
    /// Device that the datagrams are read from in place of the socket (`--tap-dev`).
    pub(crate) tap: Option<DeviceTap>,
}

/// Whose a datagram is.
fn key(datagram: &tapeline_sys::Datagram<'_>) -> FlowKey {
    FlowKey {
        source: datagram.source,
        at: datagram.destination,
    }
}

/// What has arrived as one, one by one.
fn contents<'a>(
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

impl UdpService {
    /// Serves until asked to stop.
    pub(crate) fn run(mut self) {
        let mut tap = self.tap.take();
        let mut batch = self.served.shared.context.techniques.receive_batch(SLOTS);
        let mut events = Events::with_capacity(4);
        let max_logged = self.served.shared.policy.limits().refusals_logged;
        let refusals = EventLimiter::of_refusals(&self.served.shared.context, max_logged);
        let mut flows = FlowTable::new(self.served.socket.dropped(), refusals);
        self.served.socket.receive_refusals();
        let mut failing = false;
        let mut swept = self.served.shared.context.now();
        let mut poller = match self.poller(tap.as_ref()) {
            Ok(poller) => poller,
            Err(error) => {
                self.served
                    .shared
                    .context
                    .notice(Notice::Text(format!("poll: {error}")));
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
                batch.receive(&self.served.socket, Wait::Never)
            } else {
                batch.receive(&self.served.socket, Wait::AtMost(POLL_INTERVAL))
            };
            match received {
                Ok(count) => {
                    failing &= count == 0;
                    self.take_batch(&batch, &mut flows);
                    self.look_for_faults(&mut flows);
                    // With nothing to read, it may be what has woken us.
                    if batch.take_returned() || count == 0 {
                        self.served.take_returned(&mut flows);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.served.take_returned(&mut flows);
                }
                Err(error) => {
                    self.pause(failing, &error);
                    failing = true;
                }
            }
            let now = self.served.shared.context.now();
            if now.since(swept) >= POLL_INTERVAL {
                swept = now;
                self.served.take_returned(&mut flows);
                self.served.sweep(&mut flows, now);
            }
        }
        self.served.end_all(&mut flows);
        if tap.is_none() {
            self.answer_last_probes(&mut batch);
        }
    }

    /// A server that is stopped lets its clients compare the quiet path with the loaded one: their probes are
    /// answered as long as their control connections last.
    fn answer_last_probes(&self, batch: &mut ReceiveBatch) {
        let shared = &self.served.shared;
        let Some(control) = &shared.control else {
            return;
        };
        while shared.context.stop().is_raised() && control.has_connections() {
            match batch.receive(&self.served.socket, Wait::AtMost(LAST_LOOK)) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return,
            }
            for datagram in batch.datagrams() {
                let key = key(&datagram);
                for content in contents(&datagram, shared.context.now()) {
                    self.is_probe(&FlowDatagram { key, content });
                }
            }
        }
    }

    fn poller(&self, tap: Option<&DeviceTap>) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        match tap {
            Some(tap) => poller.register(tap, SOCKET, Interest::READ)?,
            None => poller.register(&self.served.socket, SOCKET, Interest::READ)?,
        }
        poller.register(&self.waker, WAKER, Interest::READ)?;
        let interruption = self.served.shared.context.interruption.waker();
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(poller)
    }

    /// The socket fails, for now: logged once, then waited out.
    fn pause(&self, logged: bool, error: &std::io::Error) {
        if !logged {
            let words = format!("receive: {}", tapeline_sys::reason(error));
            self.served.shared.context.notice(Notice::Text(words));
        }
        std::thread::sleep(FAILURE_PAUSE);
    }

    fn idle_wait(&self) -> Wait {
        let idle = self
            .served
            .shared
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let until = self.until.into_iter().chain(idle).min();
        until.map_or(Wait::Forever, |until| {
            Wait::AtMost(until.since(self.served.shared.context.now()))
        })
    }

    fn tap_wait(&self, flows: &FlowTable) -> Wait {
        if flows.is_empty() {
            self.idle_wait()
        } else {
            Wait::AtMost(POLL_INTERVAL)
        }
    }

    /// Stopped, or done: no flow can begin any more, all have ended, and nobody asks for
    /// a report.
    fn is_over(&self, flows: &FlowTable) -> bool {
        let done = |service: &Arc<Iperf3Service>| service.is_done();
        if self.served.shared.context.stop().is_raised()
            || self.close.is_raised()
            || self.served.shared.iperf3.as_ref().is_some_and(done)
        {
            return true;
        }
        let now = self.served.shared.context.now();
        !self.has_room(flows, now) && flows.are_quiet(now)
    }

    /// Whether further flows may begin at all.
    pub(crate) fn has_room(&self, flows: &FlowTable, now: MonoTime) -> bool {
        self.until.is_none_or(|until| now < until)
            && self.max.is_none_or(|max| flows.served() < max)
    }

    /// A datagram of an unknown source: it may begin a flow, while any may.
    fn open(&self, flows: &mut FlowTable, datagram: &FlowDatagram<'_>) {
        if self.has_room(flows, self.served.shared.context.now()) {
            udp_test::open(&self.served, flows, datagram);
        }
    }

    fn take_batch(&self, batch: &ReceiveBatch, flows: &mut FlowTable) {
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
    fn is_probe(&self, datagram: &FlowDatagram<'_>) -> bool {
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

/// Frames that are taken before the sockets have their turn again.
const MAX_FRAMES: usize = 1024;
/// What frames are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// They carry the flows.
    Data,
    /// Sockets carry the flows; frames show faults.
    Faults,
}

impl UdpService {
    /// Takes what has arrived on the device that carries the flows.
    pub(crate) fn take_frames(&self, tap: &mut DeviceTap, flows: &mut FlowTable) -> io::Result<()> {
        self.read_frames(tap, flows, Purpose::Data)
    }

    /// Looks at what has arrived on the watched devices.
    pub(crate) fn look_for_faults(&self, flows: &mut FlowTable) {
        let mut watched = std::mem::take(&mut flows.watched);
        watched.devices.retain_mut(|(device, tap)| {
            let read = self.read_frames(tap, flows, Purpose::Faults);
            if let Err(error) = &read {
                self.served.log_unwatched(device, error);
            }
            read.is_ok()
        });
        flows.watched = watched;
    }

    fn read_frames(
        &self,
        tap: &mut DeviceTap,
        flows: &mut FlowTable,
        purpose: Purpose,
    ) -> io::Result<()> {
        let own = self.served.socket.local_addr()?;
        let mut touched = None;
        for _ in 0..MAX_FRAMES {
            let Some(frame) = tap.receive()? else {
                break;
            };
            let packet = match frame.link {
                LinkHeader::Ethernet => {
                    UdpPacket::from_ethernet(frame.bytes, frame.checksum_counts)
                }
                LinkHeader::None => UdpPacket::from_ip(frame.bytes, frame.checksum_counts),
            };
            let Some(packet) = packet.filter(|one| one.destination.port() == own.port()) else {
                continue;
            };
            let knows_address = purpose == Purpose::Data || own.ip().is_unspecified();
            let key = FlowKey {
                source: packet.source,
                at: knows_address.then(|| packet.destination.ip()),
            };
            if touched != Some(key) {
                flows.publish(touched);
                touched = Some(key);
            }
            if let Some(fault) = packet.fault {
                if let Some(Flow::Receiving(flow)) = flows.get_mut(key) {
                    flow.receiver.note_fault(fault);
                }
                continue;
            }
            if purpose == Purpose::Faults {
                continue;
            }
            let segment = frame.segment_size.unwrap_or(packet.payload.len()).max(1);
            let now = self.served.shared.context.now();
            let contents = packet.payload.chunks(segment).map(|payload| Datagram {
                payload,
                arrival: frame.arrival,
                truncated: frame.truncated,
                tos: None,
                joined: frame.segment_size.is_some(),
                now,
            });
            self.take_guarded(flows, key, contents);
        }
        flows.publish(touched);
        Ok(())
    }
}
