//! The flows of a UDP socket: what is known of each source, which of the unverified ones is evicted when
//! there are too many, and who was answered that no test is run. Pure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime};
use tapeline_engine::Stop;
use tapeline_sys::{DeviceTap, Marks, ThreadTime};
use tapeline_wire::iperf2::{PeerVersion, ServerAck};
use tapeline_wire::native::Mark;

use crate::iperf2::connect_back::ConnectBack;
use crate::iperf2::udp_fin::ServerFin;
use crate::iperf2::udp_receiver::UdpReceiver;
use crate::policy::{AmplificationLimit, Grant};
use crate::run::event_limiter::EventLimiter;
use crate::run::tasks::Part;
use crate::sampler::RunningFlow;

/// Time before a sender's end in which its client may be done already, by its own clock.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

/// Which flow a datagram belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(crate) source: SocketAddr,
    /// Own address that it was sent to, where the socket takes several and the system reports it.
    pub(crate) at: Option<IpAddr>,
}

impl FlowKey {
    /// What makes an answer leave from where the question arrived.
    pub(crate) fn marks(self) -> Marks {
        Marks {
            tos: None,
            source: self.at.filter(|at| !at.is_multicast()),
        }
    }
}

/// What happened to a flow on a socket of several flows, before it got its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedPast {
    /// Datagrams that the socket dropped, this flow's or others'.
    pub(crate) dropped: u64,
    /// Times of the thread that served them.
    pub(crate) thread: ThreadTime,
}

/// A flow that is being received.
pub(crate) struct Receiving {
    pub(crate) tag: FlowTag,
    pub(crate) receiver: UdpReceiver,
    /// What further marked datagrams are answered with.
    pub(crate) recognition: Recognition,
    /// End by our own clock, if any.
    pub(crate) deadline: Option<MonoTime>,
    /// When it began, and what it may have.
    pub(crate) start: MonoTime,
    pub(crate) share: Grant,
    pub(crate) idle_timeout: Duration,
    /// The client waits for a time of day: its idle timeout is longer.
    pub(crate) held_back: bool,
    /// Datagrams that the socket had dropped before the flow's first one came.
    pub(crate) dropped_before: Option<u64>,
    /// Times of the service's thread when the flow began.
    pub(crate) thread_before: ThreadTime,
    /// The socket is its own, and was not at first.
    pub(crate) past: Option<SharedPast>,
    /// How often it may yet be tried to give it a socket of its own.
    pub(crate) branch_tries: u8,
    /// Datagrams that had come when it was looked at last.
    pub(crate) looked: u64,
    /// Where a thread that serves it alone runs.
    pub(crate) stop: Stop,
    /// The clocks agree: the report has delays.
    pub(crate) trip_times: bool,
    /// The client asks for a report at the end.
    pub(crate) reports: bool,
    /// Begins when this flow has ended (`-r`).
    pub(crate) afterwards: Option<(ConnectBack, Part)>,
    /// The sender of a full-duplex test, which ends with this flow.
    pub(crate) sender: Option<Sender>,
    /// What may be sent to the client in answer.
    pub(crate) amplification: AmplificationLimit,
    pub(crate) running: RunningFlow,
    pub(crate) part: Part,
}

impl Receiving {
    /// Whether it has had all that it may have.
    pub(crate) fn has_used_up(&self, now: MonoTime) -> bool {
        let elapsed = now.since(self.start);
        self.share.time.is_some_and(|time| elapsed >= time)
            || self.share.is_used_up(self.receiver.bytes(), elapsed)
    }
}

/// The thread that sends to a source.
pub(crate) struct Sender {
    /// Ends it.
    pub(crate) stop: Stop,
    /// Raised before that when the source is gone: the sender reports so.
    pub(crate) gone: Stop,
    /// Raised by the sender when it has ended.
    pub(crate) finished: Stop,
    /// When it ends by itself, at the latest.
    pub(crate) deadline: Option<MonoTime>,
}

impl Sender {
    /// Whether it has still much to send.
    pub(crate) fn goes_on(&self, now: MonoTime) -> bool {
        let ends_soon = |deadline| now + LAST_MOMENTS >= deadline;
        !self.finished.is_raised() && !self.deadline.is_some_and(ends_soon)
    }
}

/// What is known of a source.
pub(crate) enum Flow {
    Receiving(Box<Receiving>),
    /// We send to it; its repeated orders are ignored until then.
    Sending {
        sender: Sender,
        recognition: Recognition,
        until: MonoTime,
    },
    /// Served by another thread, on a socket of its own; what remains of it is the thread's result.
    Branched(JoinHandle<Option<ServerFin>>),
    /// Over, but not forgotten.
    Ended(ServerFin),
}

impl Flow {
    /// It has not ended, and is served here.
    fn is_active(&self) -> bool {
        matches!(self, Self::Receiving(_) | Self::Sending { .. })
    }
}

/// The flows of a service; apart from it so that both can be borrowed.
pub(crate) struct FlowTable {
    by_key: HashMap<FlowKey, Flow>,
    /// Those that have not ended.
    active: usize,
    /// Counted together with those of the branches.
    served: Arc<AtomicUsize>,
    /// Flows of foreign sources.
    unverified: UnverifiedFlows,
    /// Devices that are watched for faults.
    pub(crate) watched: Watched,
    /// Datagrams that the socket had dropped when the last flow ended.
    pub(crate) dropped_idle: Option<u64>,
    pub(crate) refusals: EventLimiter,
    /// Clients that were sent theirs.
    pub(crate) refused_clients: UdpRefusals,
}

impl FlowTable {
    /// None yet, on a socket that has dropped so many datagrams.
    pub(crate) fn new(dropped_idle: Option<u64>, refusals: EventLimiter) -> Self {
        Self {
            by_key: HashMap::new(),
            active: 0,
            served: Arc::default(),
            unverified: UnverifiedFlows::default(),
            watched: Watched::default(),
            dropped_idle,
            refusals,
            refused_clients: UdpRefusals::default(),
        }
    }

    /// One with a single flow of this table, that has begun already.
    pub(crate) fn branch(
        &self,
        key: FlowKey,
        flow: Box<Receiving>,
        refusals: EventLimiter,
    ) -> Self {
        Self {
            by_key: HashMap::from([(key, Flow::Receiving(flow))]),
            active: 1,
            served: Arc::clone(&self.served),
            ..Self::new(Some(0), refusals)
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: FlowKey) -> Option<&mut Flow> {
        self.by_key.get_mut(&key)
    }

    /// Those that are known, ended ones included.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.by_key.iter().map(|(key, flow)| (*key, flow))
    }

    /// How many are known, ended ones included.
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Those that have not ended, without those that are branched.
    pub(crate) fn active(&self) -> usize {
        self.active
    }

    /// Those that have begun.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    /// All have ended, and nobody asks for a report.
    pub(crate) fn are_quiet(&self, now: MonoTime) -> bool {
        self.active == 0
            && self.by_key.values().all(|flow| match flow {
                Flow::Ended(ended) => ended.is_quiet(now),
                Flow::Receiving(_) | Flow::Sending { .. } | Flow::Branched(_) => false,
            })
    }

    /// Flows whose clients wait for a time of day.
    pub(crate) fn held_back(&self) -> usize {
        let waits = |flow: &&Flow| matches!(flow, Flow::Receiving(flow) if flow.held_back);
        self.by_key.values().filter(waits).count()
    }

    /// A flow begins.
    pub(crate) fn begin(&mut self, key: FlowKey, flow: Flow) {
        self.by_key.insert(key, flow);
        self.served.fetch_add(1, Ordering::Relaxed);
        self.active += 1;
    }

    /// Finds a place for another flow of a foreign source, of which `max` may be known.
    pub(crate) fn evict(&mut self, max: usize, now: MonoTime) -> Eviction {
        let flows = &self.by_key;
        self.unverified.evict(max, |key| match flows.get(&key) {
            None => Activity::Gone,
            Some(Flow::Receiving(flow)) if flow.receiver.is_lone() => Activity::Lone,
            Some(Flow::Receiving(flow)) => Activity::Silent(now.since(flow.receiver.last())),
            Some(Flow::Sending { .. } | Flow::Branched(_)) => Activity::Silent(Duration::ZERO),
            Some(Flow::Ended(ended)) => Activity::Silent(ended.silent_for(now)),
        })
    }

    /// Notes a flow of a foreign source.
    pub(crate) fn note_unverified(&mut self, key: FlowKey) {
        self.unverified.add(key);
    }

    /// Takes a flow that has not ended; it is not active any more.
    pub(crate) fn take_active(&mut self, key: FlowKey) -> Option<Flow> {
        if !self.by_key.get(&key)?.is_active() {
            return None;
        }
        self.active = self.active.saturating_sub(1);
        self.by_key.remove(&key)
    }

    /// Keeps what there is to say of a flow that was taken.
    pub(crate) fn remember(&mut self, key: FlowKey, ended: ServerFin) {
        self.by_key.insert(key, Flow::Ended(ended));
    }

    /// Forgets a flow that has ended.
    pub(crate) fn forget(&mut self, key: FlowKey) {
        self.by_key.remove(&key);
    }

    /// Drops a flow whose code has failed, wherever that was.
    pub(crate) fn lose(&mut self, key: FlowKey) {
        self.by_key.remove(&key);
        self.active = self.by_key.values().filter(|flow| flow.is_active()).count();
    }

    /// Those that have sockets of their own.
    pub(crate) fn branched(&self) -> usize {
        let branched = |flow: &&Flow| matches!(flow, Flow::Branched(_));
        self.by_key.values().filter(branched).count()
    }

    /// Flows that have brought at least so many datagrams since they were looked at last, and may be
    /// branched.
    pub(crate) fn busy(&mut self, datagrams: u64) -> Vec<FlowKey> {
        let mut busy = Vec::new();
        for (key, flow) in &mut self.by_key {
            if let Flow::Receiving(flow) = flow {
                let received = flow.receiver.received();
                let brought = received - std::mem::replace(&mut flow.looked, received);
                if brought >= datagrams && flow.branch_tries > 0 {
                    busy.push(*key);
                }
            }
        }
        busy
    }

    /// A flow could not be branched: it will be tried a few times more.
    pub(crate) fn note_failed_branch(&mut self, key: FlowKey) {
        if let Some(Flow::Receiving(flow)) = self.by_key.get_mut(&key) {
            flow.branch_tries = flow.branch_tries.saturating_sub(1);
        }
    }

    /// Gives a flow that may be branched away, to be served by `thread`.
    pub(crate) fn hand_over(
        &mut self,
        key: FlowKey,
        thread: JoinHandle<Option<ServerFin>>,
    ) -> Option<Box<Receiving>> {
        match self.by_key.remove(&key)? {
            Flow::Receiving(flow) if flow.branch_tries > 0 => {
                self.active = self.active.saturating_sub(1);
                self.by_key.insert(key, Flow::Branched(thread));
                Some(flow)
            }
            other => {
                self.by_key.insert(key, other);
                None
            }
        }
    }

    /// As [`FlowTable::rejoin`], of all.
    pub(crate) fn rejoin_all(&mut self) {
        let branched =
            |(key, flow): (&FlowKey, &Flow)| matches!(flow, Flow::Branched(_)).then_some(*key);
        let keys: Vec<FlowKey> = self.by_key.iter().filter_map(branched).collect();
        for key in keys {
            self.rejoin(key);
        }
    }

    /// Takes back what remains of a branched flow; waits until its thread has ended.
    pub(crate) fn rejoin(&mut self, key: FlowKey) {
        if !matches!(self.by_key.get(&key), Some(Flow::Branched(_))) {
            return;
        }
        if let Some(Flow::Branched(thread)) = self.by_key.remove(&key)
            && let Ok(Some(ended)) = thread.join()
        {
            self.remember(key, ended);
        }
    }

    /// What remains of a flow that has ended.
    pub(crate) fn take_ended(&mut self, key: FlowKey) -> Option<ServerFin> {
        match self.by_key.remove(&key) {
            Some(Flow::Ended(ended)) => Some(ended),
            _ => None,
        }
    }

    /// Makes the counters of a flow visible.
    pub(crate) fn publish(&mut self, key: Option<FlowKey>) {
        if let Some(Flow::Receiving(flow)) = key.and_then(|key| self.by_key.get_mut(&key)) {
            flow.receiver.publish();
        }
    }
}

/// Flows that are looked at for another one. A flood must not cost more.
const LOOKS: usize = 64;
/// Silence after which a flow may be given up for another one.
const SILENCE: Duration = Duration::from_millis(50);

/// What a flow does, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It is not known any more.
    Gone,
    /// One datagram has come, and nothing else.
    Lone,
    /// The last datagram came so long ago.
    Silent(Duration),
}

/// Whether there is a place for another flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eviction {
    Free,
    /// When this one is given up.
    InPlaceOf(FlowKey),
    /// All flows are busy.
    None,
}

/// The flows, each once, in the order in which they began or were looked at.
#[derive(Debug, Default)]
pub(crate) struct UnverifiedFlows {
    queue: VecDeque<FlowKey>,
    /// The same ones: a flood must not cost a look at each.
    known: HashSet<FlowKey>,
}

impl UnverifiedFlows {
    /// Finds a place for another flow where `max` may be: that of the first one of which nothing but one
    /// datagram has come, or of the one that has been silent for longest.
    pub(crate) fn evict(&mut self, max: usize, activity: impl Fn(FlowKey) -> Activity) -> Eviction {
        if self.queue.len() < max {
            return Eviction::Free;
        }
        let Some((key, eviction)) = self.displace(activity) else {
            return Eviction::None;
        };
        self.known.remove(&key);
        eviction
    }

    /// Takes one out of the queue.
    fn displace(&mut self, activity: impl Fn(FlowKey) -> Activity) -> Option<(FlowKey, Eviction)> {
        let looks = LOOKS.min(self.queue.len());
        let mut longest: Option<(usize, Duration)> = None;
        for look in 0..looks {
            let Some(key) = self.queue.pop_front() else {
                break;
            };
            match activity(key) {
                Activity::Gone => return Some((key, Eviction::Free)),
                Activity::Lone => return Some((key, Eviction::InPlaceOf(key))),
                Activity::Silent(silence) => {
                    self.queue.push_back(key);
                    if silence >= SILENCE && longest.is_none_or(|(_, max)| silence > max) {
                        longest = Some((looks - look, silence));
                    }
                }
            }
        }
        let (behind, _) = longest?;
        let place = self.queue.len().checked_sub(behind)?;
        let key = self.queue.remove(place)?;
        Some((key, Eviction::InPlaceOf(key)))
    }

    /// A flow begins.
    pub(crate) fn add(&mut self, key: FlowKey) {
        // One that began anew is here already.
        if self.known.insert(key) {
            self.queue.push_back(key);
        }
    }
}

/// Refused sources that are remembered; the oldest one is forgotten for another.
const MAX: usize = 256;
/// Datagrams of a flow, or of a refused source, that are answered, the first one included.
const ANSWERED: u8 = 3;
/// Shortest datagram that is answered, bytes: it is longer than the answer, and a mark is in it.
const SHORTEST: usize = 60;

/// The sources, and how many of their datagrams were answered.
#[derive(Debug, Default)]
pub(crate) struct UdpRefusals(VecDeque<(FlowKey, u8)>);

impl UdpRefusals {
    /// Whether a datagram of so many bytes from this source is answered.
    pub(crate) fn answers(&mut self, key: FlowKey, length: usize) -> bool {
        if length < SHORTEST {
            return false;
        }
        if let Some((_, answered)) = self.0.iter_mut().find(|(known, _)| *known == key) {
            *answered = answered.saturating_add(1);
            return *answered <= ANSWERED;
        }
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        self.0.push_back((key, 1));
        true
    }
}

/// What is left to answer of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recognition {
    mark: Option<Mark>,
    left: u8,
}

impl Recognition {
    /// A flow that is answered with this mark, if any.
    pub(crate) fn new(mark: Option<Mark>) -> Self {
        Self {
            mark,
            left: if mark.is_some() { ANSWERED } else { 0 },
        }
    }

    /// The flow's client is tapeline, and may open a control connection.
    pub(crate) fn is_of_tapeline(&self) -> bool {
        self.mark.is_some()
    }

    /// The answer to a datagram of the flow.
    #[inline]
    pub(crate) fn next(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        if self.left == 0 || datagram.len() < SHORTEST {
            return None;
        }
        self.left -= 1;
        let mut answer = Vec::new();
        ServerAck {
            version: Some(PeerVersion::IPERF_2_2_1),
            mark: self.mark,
            trip_times: None,
        }
        .encode(&mut answer);
        Some(answer)
    }
}

/// Devices that are watched for faults.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) devices: Vec<(String, DeviceTap)>,
    /// A refusal has been logged.
    pub(crate) refused: bool,
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::num::NonZeroU32;

    use super::*;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            source: ([192, 0, 2, 1], port).into(),
            at: None,
        }
    }

    fn crowd(count: u16) -> UnverifiedFlows {
        let mut unverified = UnverifiedFlows::default();
        (0..count).for_each(|port| unverified.add(key(port)));
        unverified
    }

    fn silent(millis: u64) -> Activity {
        Activity::Silent(Duration::from_millis(millis))
    }

    #[test]
    fn the_first_lone_flow_makes_room_then_the_one_that_is_silent_for_longest() {
        let mut unverified = crowd(4);
        assert_eq!(unverified.evict(5, |_| Activity::Lone), Eviction::Free);
        assert_eq!(
            unverified.evict(4, |key| match key.source.port() {
                0 => silent(9000),
                1 | 2 => Activity::Lone,
                _ => silent(0),
            }),
            Eviction::InPlaceOf(key(1))
        );
        unverified.add(key(4));
        let activity = |key: FlowKey| silent([60, 0, 400, 400, 49][usize::from(key.source.port())]);
        // 2, 3, 0 and 4 are left, in this order.
        assert_eq!(unverified.evict(4, activity), Eviction::InPlaceOf(key(2)));
        unverified.add(key(1));
        assert_eq!(unverified.evict(4, activity), Eviction::InPlaceOf(key(3)));
        assert_eq!(unverified.evict(4, activity), Eviction::Free);
        assert_eq!(unverified.evict(3, activity), Eviction::InPlaceOf(key(0)));
        assert_eq!(
            unverified.evict(2, activity),
            Eviction::None,
            "the others are busy"
        );
        assert_eq!(unverified.evict(2, |_| Activity::Gone), Eviction::Free);
    }

    #[test]
    fn a_flow_that_begins_anew_has_one_place_and_a_crowd_is_looked_at_in_turns() {
        let mut unverified = crowd(3);
        unverified.add(key(0));
        assert_eq!(unverified.evict(4, |_| silent(0)), Eviction::Free);
        let count = 2 * LOOKS as u16 + 1;
        let mut unverified = crowd(count);
        let last = |key: FlowKey| match key.source.port() {
            port if port == count - 1 => silent(1000),
            _ => silent(0),
        };
        let found: Vec<Eviction> = (0..3)
            .map(|_| unverified.evict(usize::from(count), last))
            .collect();
        assert_eq!(
            found,
            [
                Eviction::None,
                Eviction::None,
                Eviction::InPlaceOf(key(count - 1))
            ]
        );
    }

    #[test]
    fn few_datagrams_of_a_source_are_answered_and_few_sources_are_remembered() {
        let key = |port| FlowKey {
            source: SocketAddr::from(([192, 0, 2, 1], port)),
            at: None,
        };
        let mut refusals = UdpRefusals::default();
        assert!(!refusals.answers(key(1), SHORTEST - 1));
        let answered = (0..300).filter(|_| refusals.answers(key(1), SHORTEST));
        assert_eq!(answered.count(), usize::from(ANSWERED));
        assert!(refusals.answers(key(2), 1470));
        for port in 3..1000 {
            assert!(refusals.answers(key(port), SHORTEST));
        }
        assert_eq!(refusals.0.len(), MAX);
    }

    #[test]
    fn few_datagrams_are_answered_and_none_with_more_than_it_had() {
        let mark = Mark {
            version: 1,
            number: NonZeroU32::MIN,
        };
        let mut recognition = Recognition::new(Some(mark));
        assert_eq!(recognition.next(&[0; SHORTEST - 1]), None);
        for _ in 0..ANSWERED {
            let answer = recognition.next(&[0; SHORTEST]).expect("an answer");
            assert_eq!(answer.len(), 28);
            assert_eq!(
                ServerAck::parse(&answer).expect("an answer").mark,
                Some(mark)
            );
        }
        assert_eq!(recognition.next(&[0; 1470]), None);
        assert_eq!(Recognition::new(None).next(&[0; 1470]), None);
    }
}
