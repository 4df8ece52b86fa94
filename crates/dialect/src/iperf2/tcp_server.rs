//! The TCP server: accept, read first messages without ever waiting for one, start flows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MonoTime};
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice};
use tapeline_sys::{Events, Interest, Poller, TcpConn, TcpListener, Wait, Waker};
use tapeline_wire::iperf2::TcpClientHeader;
use tapeline_wire::iperf3::Cookie;

use super::banner;
use super::client::SharedContext;
use super::groups::TestGroups;
use super::opening::{Families, Opening, Progress, Request};
use super::order::{EXCHANGE_LIMIT, FIRST_MESSAGE};
use super::start::{Now, Start, barrier_start, ordered_start};
use super::tcp_session::Session;
use super::visits::Visits;
use crate::context::Tally;
use crate::iperf3::Iperf3Service;
use crate::native::{ControlService, TestFlows};
use crate::plan::{Personality, ServerPlan};
use crate::policy::{Policy, Refusal, Seat, Source};
use crate::reporter::GroupKey;

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
const INTERRUPTION: u64 = u64::MAX - 2;
/// Connections before their tests; the oldest is dropped beyond. A client may open all of its
/// connections before it says on any of them what it wants.
const MOST_PENDING: usize = 16_384;
/// Connections that are accepted before others are heard again.
const ACCEPTED_AT_ONCE: usize = 128;
/// Pause after running out of descriptors.
const SHED_PAUSE: Duration = Duration::from_millis(20);

/// A connection that becomes no flow takes no number.
const NO_FLOW: FlowTag = FlowTag {
    id: FlowId(0),
    reversed: false,
};

/// Who may connect and what for.
#[derive(Clone, Debug)]
pub(super) enum Admission {
    /// Anybody, or one address; connections begin with a first message.
    Server {
        /// Only from this address.
        only_from: Option<IpAddr>,
    },
    /// The connections that a dual test's server opens: no first message.
    ConnectBack {
        /// The server.
        from: IpAddr,
        /// Longest time of each flow; `None` without.
        limit: Option<Duration>,
        /// Sum group of the client's test.
        group: GroupKey,
        /// The test, when its server may be tapeline.
        test: Arc<OnceLock<TestFlows>>,
    },
}

/// A connection before its test.
struct Pending {
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    opening: Opening,
}

/// A connection whose first message is complete.
struct Asked {
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    request: Request,
}

/// What was read of a first message.
enum Heard {
    /// Not all of it yet.
    Part,
    Whole(Request),
    /// Somebody who looked in, or went away.
    Nothing,
    /// The sentence says why.
    Refused(String),
    WrongKey,
    /// Its key is not looked at: too many before it were wrong.
    Unheard,
}

/// One listening socket and everything that begins on it.
pub(super) struct TcpService {
    pub(super) plan: Arc<ServerPlan>,
    pub(super) context: SharedContext,
    pub(super) listener: TcpListener,
    pub(super) admission: Admission,
    /// Whose tests begin here.
    pub(super) families: Families,
    pub(super) groups: Arc<TestGroups>,
    /// Running flows; woken when one ends.
    pub(super) tally: Arc<Tally>,
    pub(super) waker: Arc<Waker>,
    /// Serves iperf3 clients, where the plan says so.
    pub(super) iperf3: Option<Arc<Iperf3Service>>,
    /// Serves the control connections of other tapelines, where the plan says so.
    pub(super) control: Option<Arc<ControlService>>,
    /// What clients may do.
    pub(super) policy: Arc<Policy>,
    /// Stop listening (running flows go on).
    pub(super) close: Stop,
    /// Stop listening at this time.
    pub(super) until: Option<MonoTime>,
    /// Stop listening after this many tests.
    pub(super) most: Option<usize>,
}

/// What a listening thread has in its hands.
struct Doorway {
    poller: Poller,
    /// By token, and so in the order of arrival.
    pending: BTreeMap<u64, Pending>,
    /// Those of foreign sources.
    foreign: BTreeSet<(Source, u64)>,
    /// What waits for its turn.
    asked: VecDeque<Asked>,
    next_token: u64,
    served: usize,
    accepting: bool,
    /// A failure to accept has been told.
    failing: bool,
    visits: Visits,
    refusals: Visits,
}

impl Doorway {
    /// Removes a connection from those that are read.
    fn take(&mut self, token: u64) -> Option<Pending> {
        let one = self.pending.remove(&token)?;
        self.foreign.remove(&(one.peer.ip().into(), token));
        let _ = self.poller.deregister(&one.conn);
        Some(one)
    }

    /// Gives up the connection that has said nothing for the longest time.
    fn drop_oldest(&mut self) -> Option<Pending> {
        let (&token, _) = self.pending.first_key_value()?;
        self.take(token)
    }

    /// Makes room for another connection of a foreign source.
    fn make_room(&mut self, source: Source, policy: &Policy) {
        let limits = policy.limits();
        let mut own = self.foreign.range((source, 0)..=(source, u64::MAX));
        let oldest = own.next().map(|(_, token)| *token);
        let of_source = own.count() + usize::from(oldest.is_some());
        if of_source >= limits.pending_of_source {
            oldest.and_then(|token| self.take(token));
        } else if self.foreign.len() >= limits.pending {
            let oldest = self.foreign.iter().map(|(_, token)| *token).min();
            oldest.and_then(|token| self.take(token));
        }
    }
}

impl TcpService {
    /// Serves until told to stop; running flows may outlive it.
    pub(super) fn run(self) {
        let poller = match self.poller() {
            Ok(poller) => poller,
            Err(error) => {
                self.context.notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        let mut events = Events::with_capacity(128);
        let mut door = Doorway {
            poller,
            pending: BTreeMap::new(),
            foreign: BTreeSet::new(),
            asked: VecDeque::new(),
            next_token: 0,
            served: 0,
            accepting: true,
            failing: false,
            visits: Visits::default(),
            refusals: Visits::up_to(self.refusals_told()),
        };
        loop {
            self.admit_waiting(&mut door);
            if self.is_over(&door) {
                self.tell_untold(door.visits.rest());
                self.tell_unrefused(door.refusals.rest());
                return;
            }
            self.set_accepting(&mut door);
            let wait = self.wait(&door);
            if door.poller.wait(&mut events, wait).is_err() {
                return;
            }
            for event in events.iter() {
                match event.token {
                    WAKER => self.waker.drain(),
                    INTERRUPTION => {}
                    LISTENER => self.accept(&mut door),
                    token => self.hear(&mut door, token),
                }
            }
            self.drop_slow(&mut door);
            if door.visits.due().is_some() {
                self.tell_untold(door.visits.untold(self.context.now()));
            }
            if door.refusals.due().is_some() {
                self.tell_unrefused(door.refusals.untold(self.context.now()));
            }
        }
    }

    fn tell_untold(&self, visits: Option<u64>) {
        if let Some(visits) = visits {
            self.context.notice(Notice::Text(format!(
                "{visits} further connections without data were not told one by one"
            )));
        }
    }

    fn tell_unrefused(&self, refusals: Option<u64>) {
        if let Some(refusals) = refusals {
            self.context.notice(Notice::Text(format!(
                "{refusals} further refusals were not told one by one"
            )));
        }
    }

    /// Refusals that are told in a second; 2.2.1 tells each.
    fn refusals_told(&self) -> u64 {
        match self.plan.personality {
            Personality::Native => self.policy.limits().refusals_told,
            Personality::Iperf2 => u64::MAX,
        }
    }

    fn poller(&self) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        poller.register(&self.listener, LISTENER, Interest::READ)?;
        poller.register(&self.waker, WAKER, Interest::READ)?;
        let interruption = self.context.interruption.waker();
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(poller)
    }

    fn is_over(&self, door: &Doorway) -> bool {
        self.context.stop().is_raised()
            || self.close.is_raised()
            || self
                .iperf3
                .as_ref()
                .is_some_and(|service| service.is_done())
            || self.until.is_some_and(|until| self.context.now() >= until)
            || (!self.has_room(door) && !self.awaits_streams() && !self.awaits_control())
    }

    /// Whether further tests may begin at all.
    fn has_room(&self, door: &Doorway) -> bool {
        self.most.is_none_or(|most| door.served < most)
    }

    /// Whether streams of a running test may come.
    fn awaits_streams(&self) -> bool {
        self.iperf3
            .as_ref()
            .is_some_and(|service| service.is_busy())
    }

    /// Until when a client may open the control connection of its test.
    fn control_expected(&self) -> Option<MonoTime> {
        let control = self.control.as_ref();
        control.and_then(|service| service.expects_until())
    }

    fn awaits_control(&self) -> bool {
        let until = self.control_expected();
        until.is_some_and(|until| self.context.now() < until)
    }

    /// Whether a test may begin now: with `-1`, one at a time.
    fn is_free(&self) -> bool {
        !self.plan.single_client || self.tally.pending() == 0
    }

    /// While no test may begin, further connections wait in the kernel's queue.
    fn set_accepting(&self, door: &mut Doorway) {
        let wanted = self.is_free() || self.awaits_streams() || self.awaits_control();
        if wanted != door.accepting {
            let interest = if wanted {
                Interest::READ
            } else {
                Interest::NONE
            };
            let changed = door.poller.modify(&self.listener, LISTENER, interest);
            door.accepting = changed.is_ok() && wanted;
        }
    }

    fn wait(&self, door: &Doorway) -> Wait {
        let now = self.context.now();
        let oldest = door.pending.values().next();
        let slow = oldest.and_then(|one| self.dropped_at(one));
        let idle = self
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let visits = door.visits.due().into_iter().chain(door.refusals.due());
        let control = self.control_expected().filter(|until| *until > now);
        let due = slow.into_iter().chain(self.until).chain(idle).chain(visits);
        let due = due.chain(control);
        match due.min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn accept(&self, door: &mut Doorway) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some((conn, peer))) => {
                    door.failing = false;
                    let peer = tapeline_sys::unmapped(peer);
                    if !self.admits(peer.ip()) {
                        self.refuse_unwanted(door, peer);
                        continue;
                    }
                    if !self.hears_keys(peer) {
                        self.refuse_unheard(door, peer);
                        continue;
                    }
                    self.welcome(door, conn, peer);
                }
                Err(error) => {
                    // Out of descriptors or memory: let running flows free some.
                    if !door.failing {
                        door.failing = true;
                        self.context.notice(Notice::Text(error.to_string()));
                    }
                    if door.drop_oldest().is_none() {
                        std::thread::sleep(SHED_PAUSE);
                    }
                    return;
                }
            }
        }
    }

    /// Takes a connection whose first message is to come.
    fn welcome(&self, door: &mut Doorway, conn: TcpConn, peer: SocketAddr) {
        let accepted = self.context.now();
        // A connect-back begins when it is there, not with its first byte.
        if let Admission::ConnectBack { .. } = self.admission {
            let request = Request::Headerless {
                read: 0,
                threads: 1,
            };
            return door.asked.push_back(Asked {
                conn,
                peer,
                accepted,
                request,
            });
        }
        let key = self.plan.permit_key.as_ref();
        let opening = Opening::new(key.map(|permit| permit.key.clone()));
        let mut one = Pending {
            conn,
            peer,
            accepted,
            opening: opening.of(self.families).controlled(self.control.is_some()),
        };
        match self.read_caught(&mut one) {
            Heard::Part => {}
            heard => return self.heard(door, one, heard),
        }
        let token = door.next_token;
        door.next_token += 1;
        if door
            .poller
            .register(&one.conn, token, Interest::READ)
            .is_err()
        {
            return;
        }
        if door.pending.len() >= MOST_PENDING {
            door.drop_oldest();
        }
        if !self.policy.trusts(one.peer.ip()) {
            let source = one.peer.ip().into();
            door.make_room(source, &self.policy);
            door.foreign.insert((source, token));
        }
        door.pending.insert(token, one);
    }

    /// Reads from a connection whose first message is not complete.
    fn hear(&self, door: &mut Doorway, token: u64) {
        let Some(one) = door.pending.get_mut(&token) else {
            return;
        };
        match self.read_caught(one) {
            Heard::Part => {}
            heard => {
                if let Some(one) = door.take(token) {
                    self.heard(door, one, heard);
                }
            }
        }
    }

    /// Goes on with a connection that is not read any more.
    fn heard(&self, door: &mut Doorway, one: Pending, heard: Heard) {
        match heard {
            Heard::Part => {}
            // A stream of a running test does not wait for its end.
            Heard::Whole(Request::Iperf3(cookie)) if self.knows_iperf3(&cookie) => {
                if let Some(service) = &self.iperf3 {
                    service.take(one.conn, one.peer, one.accepted, cookie);
                }
            }
            // Nor does the control connection of one.
            Heard::Whole(Request::Control) => {
                if let Some(service) = &self.control {
                    service.take(one.conn, one.peer);
                }
            }
            Heard::Whole(request) => {
                door.asked.push_back(Asked {
                    conn: one.conn,
                    peer: one.peer,
                    accepted: one.accepted,
                    request,
                });
                self.admit_waiting(door);
            }
            Heard::Nothing if one.opening.is_empty() => self.tell_visit(door, &one),
            Heard::Nothing => {}
            Heard::Refused(reason) => self.refuse(door, one.peer, reason),
            Heard::Unheard => self.refuse_unheard(door, one.peer),
            Heard::WrongKey => {
                let now = self.context.now();
                self.policy.key_failed(one.peer.ip(), now);
                if door.refusals.add(now) {
                    self.drop_keyless(&one);
                }
            }
        }
    }

    /// Begins the tests whose first message is complete, as far as they may begin.
    fn admit_waiting(&self, door: &mut Doorway) {
        while self.has_room(door) && self.is_free() && !self.context.stop().is_raised() {
            let Some(one) = door.asked.pop_front() else {
                return;
            };
            let peer = one.peer;
            match panic::catch_unwind(AssertUnwindSafe(|| self.begin(one))) {
                Ok(Ok(began)) => door.served += usize::from(began),
                Ok(Err(reason)) => self.refuse(door, peer, reason),
                Err(_) => self.refuse(door, peer, "internal fault".into()),
            }
        }
    }

    fn knows_iperf3(&self, cookie: &Cookie) -> bool {
        let service = self.iperf3.as_ref();
        service.is_some_and(|service| service.knows(cookie))
    }

    fn admits(&self, peer: IpAddr) -> bool {
        match &self.admission {
            Admission::Server { only_from } => {
                only_from.is_none_or(|only| only == peer) && self.policy.serves(peer)
            }
            Admission::ConnectBack { from, .. } => *from == peer,
        }
    }

    fn read_caught(&self, one: &mut Pending) -> Heard {
        let read = panic::catch_unwind(AssertUnwindSafe(|| self.read(one)));
        read.unwrap_or_else(|_| Heard::Refused("internal fault".into()))
    }

    /// Reads what is there of a first message.
    fn read(&self, one: &mut Pending) -> Heard {
        if !self.hears_keys(one.peer) {
            return Heard::Unheard;
        }
        let mut buffer = [0; 256];
        let mut progress = one.opening.progress();
        loop {
            match progress {
                Progress::Ready(request) => return Heard::Whole(request),
                Progress::Refused(reason) => return Heard::Refused(reason.to_owned()),
                Progress::WrongKey => return Heard::WrongKey,
                Progress::Need(count) => {
                    let room = &mut buffer[..count.min(256)];
                    match one.conn.recv_nonblocking(room) {
                        // A connection test, or somebody who looked in.
                        Ok(0) if one.opening.is_empty() => return Heard::Nothing,
                        Ok(0) => return Heard::Refused("closed within its first message".into()),
                        Ok(read) => progress = one.opening.push(&room[..read]),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                            return Heard::Part;
                        }
                        Err(_) => return Heard::Nothing,
                    }
                }
            }
        }
    }

    /// When a connection whose first message is not complete is dropped.
    fn dropped_at(&self, one: &Pending) -> Option<MonoTime> {
        let usual = match self.plan.personality {
            Personality::Native => FIRST_MESSAGE,
            Personality::Iperf2 => EXCHANGE_LIMIT,
        };
        let limit = self.plan.exchange_timeout.unwrap_or(usual);
        (!limit.is_zero()).then(|| one.accepted + limit)
    }

    fn drop_slow(&self, door: &mut Doorway) {
        let now = self.context.now();
        while let Some(oldest) = door.pending.values().next()
            && self.dropped_at(oldest).is_some_and(|at| now >= at)
            && let Some(slow) = door.drop_oldest()
        {
            let waited = now.since(slow.accepted).as_secs_f64();
            let reason = format!("no complete first message within {waited:.0} s");
            self.refuse(door, slow.peer, reason);
        }
    }

    /// A connection that was closed without a word, such as those of `--connect-only`. It is no
    /// test: it has no number of its own.
    fn tell_visit(&self, door: &mut Doorway, one: &Pending) {
        if self.plan.personality != Personality::Iperf2 || !door.visits.add(self.context.now()) {
            return;
        }
        let Ok(local) = one.conn.local_addr() else {
            return;
        };
        let tag = FlowTag {
            id: self.context.upcoming_id(),
            reversed: false,
        };
        let mut line = banner::connected(tag, local, one.peer);
        line.initial = banner::initial_tcp(&one.conn);
        line.at = Some(self.context.wall());
        self.context.reporter.event(Event::Connected(line));
    }

    /// Tells of a connection that is closed because it has not the right permit key.
    fn drop_keyless(&self, one: &Pending) {
        let Ok(local) = one.conn.local_addr() else {
            return;
        };
        let mut line = banner::connected(NO_FLOW, local, one.peer);
        line.initial = banner::initial_tcp(&one.conn);
        line.at = Some(self.context.wall());
        self.context.reporter.event(Event::Dropped(line));
    }

    /// Whether a connection's first message is read at all.
    fn hears_keys(&self, peer: SocketAddr) -> bool {
        self.plan.permit_key.is_none() || self.policy.hears_keys(peer.ip(), self.context.now())
    }

    fn refuse_unheard(&self, door: &mut Doorway, peer: SocketAddr) {
        self.refuse(door, peer, "too many wrong keys".into());
    }

    /// Tells of a connection of an address that is not served; iperf does not.
    fn refuse_unwanted(&self, door: &mut Doorway, peer: SocketAddr) {
        if self.plan.personality == Personality::Native {
            self.refuse(door, peer, "its address is not served".into());
        }
    }

    fn refuse(&self, door: &mut Doorway, peer: SocketAddr, reason: String) {
        if !door.refusals.add(self.context.now()) {
            return;
        }
        self.context.notice(Notice::PeerRefused { peer, reason });
    }

    fn test_start(&self, header: &TcpClientHeader, accepted: MonoTime, now: Now) -> Start {
        let ordered = ordered_start(header.epoch_start, header.start_time, now);
        if header.epoch_start && ordered != Start::at_once(now) {
            return ordered;
        }
        Start {
            at: barrier_start(accepted, now.mono, header.barrier_micros),
            announced: None,
        }
    }

    /// Takes a place for what a first message asks for, if it may be asked for.
    fn seat(&self, peer: IpAddr, request: &Request) -> Result<Option<Seat>, Refusal> {
        match self.admission {
            // Its parameters say how many streams there are.
            Admission::Server { .. } if matches!(request, Request::Iperf3(_)) => Ok(None),
            Admission::Server { .. } => {
                self.policy.permit(peer, request.ordered())?;
                self.policy.admit(peer, request.streams())
            }
            Admission::ConnectBack { .. } => Ok(None),
        }
    }

    /// Begins what a complete first message asks for; returns whether a test began.
    ///
    /// # Errors
    /// Why this server does not run it.
    fn begin(&self, one: Asked) -> Result<bool, String> {
        let request = one.request;
        let Ok(local) = one.conn.local_addr() else {
            return Ok(false);
        };
        let peer = one.peer.ip();
        let seat = self
            .seat(peer, &request)
            .map_err(|refusal| refusal.to_string())?;
        if let (Request::Iperf3(cookie), Some(service)) = (&request, &self.iperf3) {
            return Ok(service.take(one.conn, one.peer, one.accepted, *cookie));
        }
        let grant = self.policy.grant(peer).within(self.plan.time);
        let share = grant.share(request.streams());
        let now = self.context.both();
        let (id, start) = match &request {
            Request::Test { header, .. } => (
                self.context.flow_id(header.transfer_id),
                self.test_start(header, one.accepted, now),
            ),
            Request::Headerless { .. }
            | Request::Exchange { .. }
            | Request::Iperf3(_)
            | Request::Control => (self.context.next_id(), Start::at_once(now)),
        };
        let session = Session {
            service: self,
            conn: Arc::new(one.conn),
            local,
            peer: one.peer,
            start: start.at,
            announced: start.announced,
            accepted: one.accepted,
            stop: self.context.stop().clone(),
            tag: FlowTag {
                id,
                reversed: false,
            },
            joined: None,
            share,
            seat,
        };
        session.begin(request);
        Ok(true)
    }
}
