//! The TCP server: accept, read first messages without ever waiting for one, start flows.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
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
use super::opening::{Opening, Progress, Request};
use super::order::EXCHANGE_LIMIT;
use super::start::{Now, Start, barrier_start, ordered_start};
use super::tcp_session::Session;
use crate::context::Tally;
use crate::iperf3::Iperf3Service;
use crate::plan::{Personality, ServerPlan};
use crate::reporter::GroupKey;

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
const INTERRUPTION: u64 = u64::MAX - 2;
/// Connections before their tests; the oldest is dropped beyond.
const MOST_PENDING: usize = 1024;
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
    },
}

/// A connection before its test.
struct Pending {
    token: u64,
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    opening: Opening,
    /// The first message once it is complete: it waits for its turn.
    request: Option<Request>,
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
}

/// One listening socket and everything that begins on it.
pub(super) struct TcpService {
    pub(super) plan: Arc<ServerPlan>,
    pub(super) context: SharedContext,
    pub(super) listener: TcpListener,
    pub(super) admission: Admission,
    pub(super) groups: Arc<TestGroups>,
    /// Running flows; woken when one ends.
    pub(super) tally: Arc<Tally>,
    pub(super) waker: Arc<Waker>,
    /// Serves iperf3 clients, where the plan says so.
    pub(super) iperf3: Option<Arc<Iperf3Service>>,
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
    /// In the order of arrival.
    pending: VecDeque<Pending>,
    next_token: u64,
    served: usize,
    accepting: bool,
    /// A failure to accept has been told.
    failing: bool,
}

impl Doorway {
    /// Removes a connection from those that are read.
    fn take(&mut self, at: usize) -> Option<Pending> {
        let one = self.pending.remove(at)?;
        if one.request.is_none() {
            let _ = self.poller.deregister(&one.conn);
        }
        Some(one)
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
            pending: VecDeque::new(),
            next_token: 0,
            served: 0,
            accepting: true,
            failing: false,
        };
        loop {
            self.admit_waiting(&mut door);
            if self.is_over(&door) {
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
            || (!self.has_room(door) && !self.awaits_streams())
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

    /// Whether a test may begin now: with `-1`, one at a time.
    fn is_free(&self) -> bool {
        !self.plan.single_client || self.tally.pending() == 0
    }

    /// While no test may begin, further connections wait in the kernel's queue.
    fn set_accepting(&self, door: &mut Doorway) {
        let wanted = self.is_free() || self.awaits_streams();
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
        let slow = door.pending.iter().find_map(|one| self.dropped_at(one));
        let idle = self
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        match slow.into_iter().chain(self.until).chain(idle).min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn accept(&self, door: &mut Doorway) {
        loop {
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some((conn, peer))) => {
                    door.failing = false;
                    let peer = tapeline_sys::unmapped(peer);
                    if !self.admits(peer.ip()) {
                        continue;
                    }
                    let token = door.next_token;
                    door.next_token += 1;
                    if door.poller.register(&conn, token, Interest::READ).is_err() {
                        continue;
                    }
                    if door.pending.len() >= MOST_PENDING {
                        door.take(0);
                    }
                    // A connect-back begins when it is there, not with its first byte.
                    let request = match self.admission {
                        Admission::Server { .. } => None,
                        Admission::ConnectBack { .. } => Some(Request::Headerless {
                            read: 0,
                            threads: 1,
                        }),
                    };
                    door.pending.push_back(Pending {
                        token,
                        conn,
                        peer,
                        accepted: self.context.now(),
                        opening: Opening::new(
                            self.plan
                                .permit_key
                                .as_ref()
                                .map(|permit| permit.key.clone()),
                        )
                        .or_iperf3(self.iperf3.is_some()),
                        request,
                    });
                }
                Err(error) => {
                    // Out of descriptors or memory: let running flows free some.
                    if !door.failing {
                        door.failing = true;
                        self.context.notice(Notice::Text(error.to_string()));
                    }
                    std::thread::sleep(SHED_PAUSE);
                    return;
                }
            }
        }
    }

    /// Reads from a connection whose first message is not complete.
    fn hear(&self, door: &mut Doorway, token: u64) {
        let Some(at) = door.pending.iter().position(|one| one.token == token) else {
            return;
        };
        let one = &mut door.pending[at];
        let read = panic::catch_unwind(AssertUnwindSafe(|| self.read(one)));
        match read.unwrap_or_else(|_| Heard::Refused("internal fault".into())) {
            Heard::Part => {}
            // A stream of a running test does not wait for its end.
            Heard::Whole(Request::Iperf3(cookie)) if self.knows_iperf3(&cookie) => {
                if let (Some(service), Some(one)) = (&self.iperf3, door.take(at)) {
                    service.take(one.conn, one.peer, cookie);
                }
            }
            Heard::Whole(request) => {
                let _ = door.poller.deregister(&door.pending[at].conn);
                door.pending[at].request = Some(request);
                self.admit_waiting(door);
            }
            Heard::Nothing => {
                if let Some(one) = door.take(at)
                    && one.opening.is_empty()
                {
                    self.tell_visit(&one);
                }
            }
            Heard::Refused(reason) => {
                if let Some(one) = door.take(at) {
                    self.refuse(one.peer, reason);
                }
            }
            Heard::WrongKey => {
                if let Some(one) = door.take(at) {
                    self.drop_keyless(&one);
                }
            }
        }
    }

    /// Begins the tests whose first message is complete, as far as they may begin.
    fn admit_waiting(&self, door: &mut Doorway) {
        while self.has_room(door) && self.is_free() && !self.context.stop().is_raised() {
            let ready = |one: &Pending| one.request.is_some();
            let Some(at) = door.pending.iter().position(ready) else {
                return;
            };
            let Some(one) = door.take(at) else {
                return;
            };
            let peer = one.peer;
            match panic::catch_unwind(AssertUnwindSafe(|| self.begin(one))) {
                Ok(began) => door.served += usize::from(began),
                Err(_) => self.refuse(peer, "internal fault".into()),
            }
        }
    }

    fn knows_iperf3(&self, cookie: &Cookie) -> bool {
        let service = self.iperf3.as_ref();
        service.is_some_and(|service| service.knows(cookie))
    }

    fn admits(&self, peer: IpAddr) -> bool {
        match &self.admission {
            Admission::Server { only_from } => only_from.is_none_or(|only| only == peer),
            Admission::ConnectBack { from, .. } => *from == peer,
        }
    }

    /// Reads what is there of a first message.
    fn read(&self, one: &mut Pending) -> Heard {
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
        let limit = self.plan.exchange_timeout.unwrap_or(EXCHANGE_LIMIT);
        (one.request.is_none() && !limit.is_zero()).then(|| one.accepted + limit)
    }

    fn drop_slow(&self, door: &mut Doorway) {
        let now = self.context.now();
        let slow = |one: &Pending| self.dropped_at(one).is_some_and(|at| now >= at);
        while let Some(at) = door.pending.iter().position(slow) {
            if let Some(slow) = door.take(at) {
                let waited = now.since(slow.accepted).as_secs_f64();
                let reason = format!("no complete first message within {waited:.0} s");
                self.refuse(slow.peer, reason);
            }
        }
    }

    /// A connection that was closed without a word, such as those of `--connect-only`. It is no
    /// test: it has no number of its own.
    fn tell_visit(&self, one: &Pending) {
        if self.plan.personality != Personality::Iperf2 {
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

    fn refuse(&self, peer: SocketAddr, reason: String) {
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

    /// Begins what a complete first message asks for; returns whether a test began.
    fn begin(&self, one: Pending) -> bool {
        let (Some(request), Ok(local)) = (one.request, one.conn.local_addr()) else {
            return false;
        };
        if let (Request::Iperf3(cookie), Some(service)) = (&request, &self.iperf3) {
            return service.take(one.conn, one.peer, *cookie);
        }
        let now = self.context.both();
        let (id, start) = match &request {
            Request::Test { header, .. } => (
                self.context.flow_id(header.transfer_id),
                self.test_start(header, one.accepted, now),
            ),
            Request::Headerless { .. } | Request::Exchange { .. } | Request::Iperf3(_) => {
                (self.context.next_id(), Start::at_once(now))
            }
        };
        let session = Session {
            service: self,
            conn: Arc::new(one.conn),
            local,
            peer: one.peer,
            start: start.at,
            announced: start.announced,
            accepted: one.accepted,
            tag: FlowTag {
                id,
                reversed: false,
            },
        };
        session.begin(request);
        true
    }
}
