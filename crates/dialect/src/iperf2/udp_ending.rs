//! How the flows of a UDP socket end: by a final datagram, a clock, a limit, silence, or the
//! server's own end.

use tapeline_base::MonoTime;
use tapeline_engine::ThreadUse;
use tapeline_report::Notice;
use tapeline_sys::Returned;
use tapeline_wire::iperf2::DatagramStamp;

use super::connect_back;
use super::ended::Ended;
use super::flow_table::{Flow, FlowKey, FlowTable, Receiving};
use super::udp_newcomers::Room;
use super::udp_server::UdpService;
use crate::policy::Allowance;
use crate::reporter::{EndFacts, FlowEnd, SocketFacts};

/// Most messages about datagrams that came back which are looked at between two reads.
const MOST_RETURNED: usize = 16;

/// Why a flow that was received ends.
#[derive(Clone, Copy)]
pub(super) enum EndCause {
    /// Its final datagram, with this stamp.
    Final(DatagramStamp),
    /// Our own clock, or the server's end.
    Over,
    /// It has had what it is granted, though its client sends on.
    Cut,
    /// The server was told to stop: the client learns what has arrived, unasked.
    Interrupted,
    /// Silence, or a closed port.
    Vanished,
}

impl UdpService {
    /// Ends a flow that has not ended yet.
    pub(super) fn end(&self, flows: &mut FlowTable, key: FlowKey, now: MonoTime, cause: EndCause) {
        let ended = match flows.take_active(key) {
            Some(Flow::Receiving(flow)) => {
                let alone = flows.active() == 0;
                let ended = self.end_receiving(*flow, key, now, cause, alone);
                if alone {
                    flows.dropped_idle = self.socket.dropped();
                }
                ended
            }
            Some(Flow::Sending { sender, .. }) => {
                sender.stop.raise();
                Ended::sent(now)
            }
            Some(Flow::Ended(_)) | None => return,
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
            (Some(sender), _) => sender.stop.raise(),
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

    /// Answers as far as the source may be answered.
    fn answer_within(&self, allowance: &mut Allowance, report: &[u8], to: FlowKey) {
        if allowance.spend(report.len()) {
            self.answer_beside(*allowance, report, to);
        }
    }

    /// Makes room for another flow of a foreign source, another one's where it must be; returns whether
    /// there is any.
    pub(super) fn make_room(&self, flows: &mut FlowTable, now: MonoTime) -> bool {
        match flows.make_room(self.policy.limits().newcomers, now) {
            Room::Free => true,
            Room::InPlaceOf(key) => {
                self.end(flows, key, now, EndCause::Vanished);
                flows.forget(key);
                true
            }
            Room::None => false,
        }
    }

    /// Looks at what has come back for datagrams that were sent, as far as a turn goes: whose port
    /// is closed is gone, and is sent nothing more.
    ///
    /// At worst, whoever can forge such messages (see [`Returned`]) ends a test early, and is not
    /// answered. Refused answers of a forward test say nothing new: its client may be done.
    pub(super) fn take_returned(&self, flows: &mut FlowTable) {
        for _ in 0..MOST_RETURNED {
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
        let now = self.context.now();
        let sender = match flows.get_mut(key) {
            Some(Flow::Sending { sender, .. }) => sender,
            Some(Flow::Receiving(flow)) => match &flow.sender {
                Some(sender) => sender,
                None => return,
            },
            Some(Flow::Ended(_)) | None => return,
        };
        if sender.goes_on(now) {
            sender.gone.raise();
            self.end(flows, key, now, EndCause::Vanished);
        }
    }

    /// Ends what is silent or over, and forgets what nobody asks for any more.
    pub(super) fn sweep(&self, flows: &mut FlowTable, now: MonoTime) {
        let mut over = Vec::new();
        let mut forgotten = Vec::new();
        for (key, flow) in flows.iter() {
            match flow {
                Flow::Receiving(flow) => {
                    let silent_for = now.since(flow.incoming.last());
                    if let Some(stamp) = flow.incoming.over_at(now) {
                        over.push((key, EndCause::Final(stamp)));
                    } else if flow.deadline.is_some_and(|deadline| now >= deadline) {
                        over.push((key, EndCause::Over));
                    } else if flow.has_used_up(now) {
                        over.push((key, EndCause::Cut));
                    } else if silent_for > flow.patience {
                        let tag = flow.tag;
                        self.context
                            .notice(Notice::PeerVanished { tag, silent_for });
                        over.push((key, EndCause::Vanished));
                    }
                }
                Flow::Sending { sender, until, .. } => {
                    if sender.finished.is_raised() || now >= *until {
                        over.push((key, EndCause::Over));
                    }
                }
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
        for key in forgotten {
            flows.forget(key);
        }
    }

    pub(super) fn end_all(&self, flows: &mut FlowTable) {
        let now = self.context.now();
        let keys: Vec<FlowKey> = flows.iter().map(|(key, _)| key).collect();
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
