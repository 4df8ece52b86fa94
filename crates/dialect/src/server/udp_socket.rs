//! One UDP socket of a server: answers that leave from it, addresses of its flows, and their ends by a final
//! datagram, a clock, a limit, silence, or the server's own end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_base::MonoTime;
use tapeline_engine::ThreadUse;
use tapeline_report::Notice;
use tapeline_sys::{DeviceTap, Marks, Returned, UdpSocket, outgoing_device, reason};
use tapeline_wire::iperf2::DatagramStamp;

use super::flow_table::{Eviction, Flow, FlowKey, FlowTable, Receiving};
use super::shared::ServerShared;
use crate::iperf2::connect_back;
use crate::iperf2::udp_fin::ServerFin;
use crate::iperf2::udp_receiver::Datagram;
use crate::policy::AmplificationLimit;
use crate::sampler::{EndFacts, FlowEnd, SocketFacts};

/// Devices on which a service looks at frames at the same time.
const MAX_DEVICES: usize = 8;
/// Most messages about datagrams that came back which are looked at between two reads.
const MAX_RETURNED: usize = 16;

/// Why a flow that was received ends.
#[derive(Clone, Copy)]
pub(crate) enum EndCause {
    /// Its final datagram, with this stamp.
    Final(DatagramStamp),
    /// Our own clock, or the server's end.
    Over,
    /// It has had what it is granted, though its client sends on.
    Cut,
    /// The server was asked to stop: the client learns what has arrived, unasked.
    Interrupted,
    /// Silence, or a closed port.
    Vanished,
}

/// A datagram and its flow.
pub(crate) struct FlowDatagram<'a> {
    pub(crate) key: FlowKey,
    pub(crate) content: Datagram<'a>,
}

/// A UDP socket, and what it shares with the server.
pub(crate) struct ServedSocket {
    pub(crate) shared: ServerShared,
    pub(crate) socket: Arc<UdpSocket>,
}

impl ServedSocket {
    pub(crate) fn answer(&self, report: &[u8], to: FlowKey) {
        self.answer_marked(report, to.source, to.marks());
    }

    pub(crate) fn answer_marked(&self, report: &[u8], to: SocketAddr, marks: Marks) {
        // One that does not leave is asked for again.
        if self.socket.send_marked_to(report, to, marks).is_err() {
            // What was read from a device may have gone to an address that is not ours.
            let _ = self.socket.send_to(report, to);
        }
    }

    /// Answers with what is never more than came; to sources that may be forged, as far as all of
    /// them together may be answered.
    #[inline]
    pub(crate) fn answer_unless_limited(
        &self,
        amplification: AmplificationLimit,
        answer: &[u8],
        to: FlowKey,
    ) {
        let known = amplification == AmplificationLimit::Unlimited;
        if known
            || self
                .shared
                .policy
                .permits_unverified(answer.len(), self.shared.context.now())
        {
            self.answer(answer, to);
        }
    }

    /// Begins to watch the device of a flow that asks for it; returns whether it is watched.
    pub(crate) fn watch(&self, flows: &mut FlowTable, key: FlowKey) -> bool {
        if !self.shared.plan.l2_checks {
            return false;
        }
        let local = self.local_for(key);
        let Some(device) = outgoing_device(&local) else {
            return false;
        };
        let watched = &mut flows.watched;
        if watched.devices.iter().any(|(known, _)| *known == device) {
            return true;
        }
        if watched.devices.len() >= MAX_DEVICES || watched.refused {
            return false;
        }
        match DeviceTap::open(&device, local.port()) {
            Ok(tap) => {
                watched.devices.push((device, tap));
                true
            }
            Err(error) => {
                watched.refused = true;
                self.log_unwatched(&device, &error);
                false
            }
        }
    }

    pub(crate) fn log_unwatched(&self, device: &str, error: &io::Error) {
        self.shared.context.notice(Notice::Remark(format!(
            "no checks of the link layer on {device} (--l2checks): {}",
            reason(error)
        )));
    }

    /// The datagram went to a multicast group.
    pub(crate) fn is_group(&self, key: FlowKey) -> bool {
        let own = self.socket.local_addr().map(|own| own.ip());
        key.at
            .or(own.ok())
            .is_some_and(|address| address.is_multicast())
    }

    /// Own address as the flow's lines show it: a wildcard socket does not say.
    pub(crate) fn local_for(&self, key: FlowKey) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(key.source);
        match key.at {
            Some(at) => SocketAddr::new(at, own.port()),
            None if own.ip().is_unspecified() => self.routed(key.source),
            None => own,
        }
    }

    /// The address from which a packet to `source` would leave.
    pub(crate) fn routed(&self, source: SocketAddr) -> SocketAddr {
        let own = self.socket.local_addr().unwrap_or(source);
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

    /// When the last flow has ended or left, what the socket has dropped until then is no later one's.
    pub(crate) fn note_idle(&self, flows: &mut FlowTable) {
        if flows.active() == 0 {
            flows.dropped_idle = self.socket.dropped();
        }
    }

    /// Ends a flow that has not ended yet.
    pub(crate) fn end(&self, flows: &mut FlowTable, key: FlowKey, now: MonoTime, cause: EndCause) {
        let ended = match flows.take_active(key) {
            Some(Flow::Receiving(flow)) => {
                let alone = flows.active() == 0;
                let ended = self.end_receiving(*flow, key, now, cause, alone);
                self.note_idle(flows);
                ended
            }
            Some(Flow::Sending { sender, .. }) => {
                sender.stop.raise();
                ServerFin::sent(now)
            }
            Some(Flow::Branched(_) | Flow::Ended(_)) | None => return,
        };
        flows.remember(key, ended);
    }

    /// `alone`: no other flow could have had the socket's drops.
    fn end_receiving(
        &self,
        mut flow: Receiving,
        key: FlowKey,
        now: MonoTime,
        cause: EndCause,
        alone: bool,
    ) -> ServerFin {
        flow.receiver.finish();
        let at = flow.receiver.last();
        let latency = self.shared.plan.enhanced || flow.trip_times;
        let report = flow.reports.then(|| flow.receiver.report(latency));
        flow.amplification.earn(flow.receiver.bytes());
        match (&report, cause) {
            (Some(report), EndCause::Final(stamp)) => {
                self.answer_within(&mut flow.amplification, &report.encode(stamp), key);
            }
            (Some(report), EndCause::Interrupted) => {
                let report = report.encode(DatagramStamp::default());
                self.answer_within(&mut flow.amplification, &report, key);
                let tag = flow.tag;
                self.shared
                    .context
                    .notice(Notice::ReportUnacknowledged { tag });
            }
            _ => {}
        }
        let mut socket = SocketFacts {
            shared: true,
            ..SocketFacts::since(&self.socket, flow.dropped_before)
        };
        let mut thread = ThreadUse::shared_since(&flow.thread_before);
        let mut alone = alone;
        if let Some(past) = &flow.past {
            socket.drops = socket.drops.map(|drops| drops + past.dropped);
            socket.shared = past.dropped > 0;
            thread.shared = false;
            thread.time = thread.time.plus(&past.thread);
            alone &= !socket.shared;
        }
        let dropped = socket.drops;
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            let tag = alone.then_some(flow.tag);
            self.shared
                .context
                .notice(Notice::ReceiveBufferDrops { tag, datagrams });
        }
        flow.running.end(FlowEnd {
            at,
            sent: None,
            dropped: dropped.filter(|_| alone),
            facts: EndFacts {
                thread: Some(thread),
                socket: Some(socket),
                ..EndFacts::default()
            },
        });
        match (&flow.sender, cause) {
            (None, _) | (_, EndCause::Final(_)) => {}
            (Some(sender), _) => sender.stop.raise(),
        }
        if let Some((back, part)) = flow.afterwards.take() {
            connect_back::spawn(back, part);
        }
        flow.part.end(matches!(cause, EndCause::Vanished));
        let ended = ServerFin::received(report, flow.amplification, flow.receiver.newest(), now);
        match cause {
            EndCause::Cut => ended.cut(),
            _ => ended,
        }
    }

    /// Answers as far as the source may be answered.
    fn answer_within(&self, amplification: &mut AmplificationLimit, report: &[u8], to: FlowKey) {
        if amplification.spend(report.len()) {
            self.answer_unless_limited(*amplification, report, to);
        }
    }

    /// Makes room for another flow of a foreign source, another one's where it must be; returns whether
    /// there is any.
    pub(crate) fn evict(&self, flows: &mut FlowTable, now: MonoTime) -> bool {
        match flows.evict(self.shared.policy.limits().max_unverified_flows, now) {
            Eviction::Free => true,
            Eviction::InPlaceOf(key) => {
                self.end(flows, key, now, EndCause::Vanished);
                flows.forget(key);
                true
            }
            Eviction::None => false,
        }
    }

    /// Looks at what has come back for datagrams that were sent, as far as a turn goes: whose port
    /// is closed is gone, and is sent nothing more.
    ///
    /// At worst, whoever can forge such messages (see [`Returned`]) ends a test early, and is not
    /// answered. Refused answers of a forward test say nothing new: its client may be done.
    pub(crate) fn take_returned(&self, flows: &mut FlowTable) {
        for _ in 0..MAX_RETURNED {
            let Some(returned) = self.socket.next_returned() else {
                return;
            };
            if let Returned::Refused { peer, source } = returned {
                let key = FlowKey {
                    source: peer,
                    at: source,
                };
                self.take_refusal(flows, key);
            }
        }
    }

    fn take_refusal(&self, flows: &mut FlowTable, key: FlowKey) {
        let now = self.shared.context.now();
        let sender = match flows.get_mut(key) {
            Some(Flow::Sending { sender, .. }) => sender,
            Some(Flow::Receiving(flow)) => match &flow.sender {
                Some(sender) => sender,
                None => return,
            },
            Some(Flow::Branched(_) | Flow::Ended(_)) | None => return,
        };
        if sender.goes_on(now) {
            sender.gone.raise();
            self.end(flows, key, now, EndCause::Vanished);
        }
    }

    /// Ends what is silent or over, and forgets what nobody asks for any more.
    pub(crate) fn sweep(&self, flows: &mut FlowTable, now: MonoTime) {
        let mut over = Vec::new();
        let mut forgotten = Vec::new();
        let mut returned = Vec::new();
        for (key, flow) in flows.iter() {
            match flow {
                Flow::Receiving(flow) => {
                    let silent_for = now.since(flow.receiver.last());
                    if let Some(stamp) = flow.receiver.over_at(now) {
                        over.push((key, EndCause::Final(stamp)));
                    } else if flow.deadline.is_some_and(|deadline| now >= deadline) {
                        over.push((key, EndCause::Over));
                    } else if flow.has_used_up(now) {
                        over.push((key, EndCause::Cut));
                    } else if silent_for > flow.idle_timeout {
                        let tag = flow.tag;
                        self.shared
                            .context
                            .notice(Notice::PeerVanished { tag, silent_for });
                        over.push((key, EndCause::Vanished));
                    }
                }
                Flow::Sending { sender, until, .. } => {
                    if sender.finished.is_raised() || now >= *until {
                        over.push((key, EndCause::Over));
                    }
                }
                Flow::Branched(thread) if thread.is_finished() => returned.push(key),
                Flow::Branched(_) => {}
                Flow::Ended(ended) if ended.is_forgotten(now) => forgotten.push(key),
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
        for key in returned {
            flows.rejoin(key);
        }
        for key in forgotten {
            flows.forget(key);
        }
    }

    pub(crate) fn end_all(&self, flows: &mut FlowTable) {
        let now = self.shared.context.now();
        let keys: Vec<FlowKey> = flows.iter().map(|(key, _)| key).collect();
        let cause = if self.shared.context.stop().is_raised() {
            EndCause::Interrupted
        } else {
            EndCause::Over
        };
        for key in keys {
            self.end(flows, key, now, cause);
        }
    }
}
