//! The flows of a UDP socket: what is known of each source.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_engine::Stop;
use tapeline_sys::{Marks, ThreadTime};

use super::connect_back::ConnectBack;
use super::ended::Ended;
use super::incoming::Incoming;
use super::recognition::Recognition;
use super::udp_frames::Watched;
use super::udp_newcomers::{Newcomers, Room, Sign};
use super::udp_refusals::UdpRefusals;
use crate::context::Part;
use crate::policy::{Allowance, Grant};
use crate::reporter::RunningFlow;
use crate::telling::Telling;

/// Time before a sender's end in which its client may be done already, by its own clock.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

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
    pub(super) sender: Option<Sender>,
    /// What may be sent to the client in answer.
    pub(super) allowance: Allowance,
    pub(super) running: RunningFlow,
    pub(super) part: Part,
}

impl Receiving {
    /// Whether it has had all that it may have.
    pub(super) fn has_used_up(&self, now: MonoTime) -> bool {
        let elapsed = now.since(self.start);
        self.share.time.is_some_and(|time| elapsed >= time)
            || self.share.is_used_up(self.incoming.bytes(), elapsed)
    }
}

/// The thread that sends to a source.
pub(super) struct Sender {
    /// Ends it.
    pub(super) stop: Stop,
    /// Raised before that when the source is gone: the sender tells so.
    pub(super) gone: Stop,
    /// Raised by the sender when it has ended.
    pub(super) finished: Stop,
    /// When it ends by itself, at the latest.
    pub(super) deadline: Option<MonoTime>,
}

impl Sender {
    /// Whether it has still much to send.
    pub(super) fn goes_on(&self, now: MonoTime) -> bool {
        let ends_soon = |deadline| now + LAST_MOMENTS >= deadline;
        !self.finished.is_raised() && !self.deadline.is_some_and(ends_soon)
    }
}

/// What is known of a source.
pub(super) enum Flow {
    Receiving(Box<Receiving>),
    /// We send to it; its repeated orders are ignored until then.
    Sending {
        sender: Sender,
        recognition: Recognition,
        until: MonoTime,
    },
    /// Over, but not forgotten.
    Ended(Ended),
}

/// The flows of a service; apart from it so that both can be borrowed.
pub(super) struct FlowTable {
    by_key: HashMap<FlowKey, Flow>,
    /// Those that have not ended.
    active: usize,
    served: usize,
    /// Flows of foreign sources.
    newcomers: Newcomers,
    /// Devices that are watched for faults.
    pub(super) watched: Watched,
    /// Datagrams that the socket had dropped when the last flow ended.
    pub(super) dropped_idle: Option<u64>,
    pub(super) refusals: Telling,
    /// Clients that were told of theirs.
    pub(super) told: UdpRefusals,
}

impl FlowTable {
    /// None yet, on a socket that has dropped so many datagrams.
    pub(super) fn new(dropped_idle: Option<u64>, refusals: Telling) -> Self {
        Self {
            by_key: HashMap::new(),
            active: 0,
            served: 0,
            newcomers: Newcomers::default(),
            watched: Watched::default(),
            dropped_idle,
            refusals,
            told: UdpRefusals::default(),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: FlowKey) -> Option<&mut Flow> {
        self.by_key.get_mut(&key)
    }

    /// Those that are known, ended ones included.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.by_key.iter().map(|(key, flow)| (*key, flow))
    }

    /// How many are known, ended ones included.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Those that have not ended.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// Those that have begun.
    pub(super) fn served(&self) -> usize {
        self.served
    }

    /// All have ended, and nobody asks for a report.
    pub(super) fn are_quiet(&self, now: MonoTime) -> bool {
        self.active == 0
            && self.by_key.values().all(|flow| match flow {
                Flow::Ended(ended) => ended.is_quiet(now),
                Flow::Receiving(_) | Flow::Sending { .. } => false,
            })
    }

    /// Flows whose clients wait for a time of day.
    pub(super) fn held_back(&self) -> usize {
        let waits = |flow: &&Flow| matches!(flow, Flow::Receiving(flow) if flow.held_back);
        self.by_key.values().filter(waits).count()
    }

    /// A flow begins.
    pub(super) fn begin(&mut self, key: FlowKey, flow: Flow) {
        self.by_key.insert(key, flow);
        self.served += 1;
        self.active += 1;
    }

    /// Finds a place for another flow of a foreign source, of which `most` may be known.
    pub(super) fn make_room(&mut self, most: usize, now: MonoTime) -> Room {
        let flows = &self.by_key;
        self.newcomers.make_room(most, |key| match flows.get(&key) {
            None => Sign::Gone,
            Some(Flow::Receiving(flow)) if flow.incoming.is_lone() => Sign::Lone,
            Some(Flow::Receiving(flow)) => Sign::Silent(now.since(flow.incoming.last())),
            Some(Flow::Sending { .. }) => Sign::Silent(Duration::ZERO),
            Some(Flow::Ended(ended)) => Sign::Silent(ended.silent_for(now)),
        })
    }

    /// Notes a flow of a foreign source.
    pub(super) fn note_newcomer(&mut self, key: FlowKey) {
        self.newcomers.add(key);
    }

    /// Takes a flow that has not ended; it is not active any more.
    pub(super) fn take_active(&mut self, key: FlowKey) -> Option<Flow> {
        if matches!(self.by_key.get(&key)?, Flow::Ended(_)) {
            return None;
        }
        self.active = self.active.saturating_sub(1);
        self.by_key.remove(&key)
    }

    /// Keeps what there is to say of a flow that was taken.
    pub(super) fn remember(&mut self, key: FlowKey, ended: Ended) {
        self.by_key.insert(key, Flow::Ended(ended));
    }

    /// Forgets a flow that has ended.
    pub(super) fn forget(&mut self, key: FlowKey) {
        self.by_key.remove(&key);
    }

    /// Drops a flow whose code has failed, wherever that was.
    pub(super) fn lose(&mut self, key: FlowKey) {
        self.by_key.remove(&key);
        let active = |flow: &&Flow| !matches!(flow, Flow::Ended(_));
        self.active = self.by_key.values().filter(active).count();
    }

    /// Makes the counters of a flow visible.
    pub(super) fn publish(&mut self, key: Option<FlowKey>) {
        if let Some(Flow::Receiving(flow)) = key.and_then(|key| self.by_key.get_mut(&key)) {
            flow.incoming.publish();
        }
    }
}
