//! The TCP server: accept, read first messages without ever waiting for one, start flows.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MonoTime};
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice};
use tapeline_sys::{Events, TcpConn, TcpListener, Wait, Waker};
use tapeline_wire::iperf2::TcpClientHeader;
use tapeline_wire::iperf3::Cookie;
use tapeline_wire::native::Mark;

use super::admission::Admission;
use super::client::SharedContext;
use super::doorway::{self, Doorway, Heard, Pending};
use super::groups::TestGroups;
use super::opening::{Families, Opening, Request};
use super::order::{EXCHANGE_LIMIT, FIRST_MESSAGE};
use super::reserve::Reserve;
use super::start::{Now, Start, barrier_start, ordered_start};
use super::tcp_session::Session;
use super::turned_away::TurnedAway;
use crate::context::Tally;
use crate::iperf3::Iperf3Service;
use crate::native::{self, ControlService};
use crate::plan::{Personality, ServerPlan};
use crate::policy::{Policy, Refusal, Seat};
use crate::telling::Telling;

/// Connections that are accepted before others are heard again.
const ACCEPTED_AT_ONCE: usize = 128;
/// Why the key of a connection is not looked at.
const UNHEARD: &str = "too many wrong keys";

/// A connection that becomes no flow takes no number.
const NO_FLOW: FlowTag = FlowTag {
    id: FlowId(0),
    reversed: false,
};

/// A connection whose first message is complete.
struct Asked {
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    request: Request,
}

/// A connection whose test does not begin.
struct Turned {
    conn: TcpConn,
    /// Whose test it was, where the client is tapeline.
    mark: Option<Mark>,
    refusal: Refusal,
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
struct Reception {
    door: Doorway,
    /// What waits for its turn.
    asked: VecDeque<Asked>,
    served: usize,
    /// What was refused with a reason.
    turned_away: TurnedAway<TcpConn>,
    reserve: Reserve,
    visits: Telling,
    refusals: Telling,
}

impl TcpService {
    /// Serves until told to stop; running flows may outlive it.
    pub(super) fn run(self) {
        let interruption = self.context.interruption.waker();
        let door = Doorway::open(&self.listener, &self.waker, interruption, self.patience());
        let door = match door {
            Ok(door) => door,
            Err(error) => {
                self.context.notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        let mut events = Events::with_capacity(128);
        let mut reception = Reception {
            door,
            asked: VecDeque::new(),
            served: 0,
            turned_away: TurnedAway::new(),
            reserve: Reserve::new(),
            visits: Telling::of_visits(&self.context),
            refusals: Telling::of_refusals(&self.context, self.refusals_told()),
        };
        loop {
            self.admit_waiting(&mut reception);
            if self.is_over(&reception) {
                reception.visits.finish();
                reception.refusals.finish();
                if let Some(service) = &self.iperf3 {
                    service.refusals().finish();
                }
                return;
            }
            // While no test may begin, further connections wait in the kernel's queue.
            let accepting = self.is_free() || self.awaits_streams() || self.awaits_control();
            reception.door.set_accepting(&self.listener, accepting);
            let wait = self.wait(&reception);
            if reception.door.wait(&mut events, wait).is_err() {
                return;
            }
            for event in events.iter() {
                match event.token {
                    doorway::WAKER => self.waker.drain(),
                    doorway::INTERRUPTION => {}
                    doorway::LISTENER => self.accept(&mut reception),
                    token => self.hear(&mut reception, token),
                }
            }
            self.drop_slow(&mut reception);
            reception.turned_away.close_old(self.context.now());
            reception.visits.sum_up();
            reception.refusals.sum_up();
            if let Some(service) = &self.iperf3 {
                service.refusals().sum_up();
            }
        }
    }

    /// Refusals that are told in a second; 2.2.1 tells each.
    fn refusals_told(&self) -> u64 {
        match self.plan.personality {
            Personality::Native => self.policy.limits().refusals_told,
            Personality::Iperf2 => u64::MAX,
        }
    }

    /// How long a first message may take; `None` for ever.
    fn patience(&self) -> Option<Duration> {
        let usual = match self.plan.personality {
            Personality::Native => FIRST_MESSAGE,
            Personality::Iperf2 => EXCHANGE_LIMIT,
        };
        let limit = self.plan.exchange_timeout.unwrap_or(usual);
        (!limit.is_zero()).then_some(limit)
    }

    fn is_over(&self, reception: &Reception) -> bool {
        self.context.stop().is_raised()
            || self.close.is_raised()
            || self
                .iperf3
                .as_ref()
                .is_some_and(|service| service.is_done())
            || self.until.is_some_and(|until| self.context.now() >= until)
            || (!self.has_room(reception) && !self.awaits_streams() && !self.awaits_control())
    }

    /// Whether further tests may begin at all.
    fn has_room(&self, reception: &Reception) -> bool {
        self.most.is_none_or(|most| reception.served < most)
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

    fn wait(&self, reception: &Reception) -> Wait {
        let now = self.context.now();
        let slow = reception.door.slow_at();
        let idle = self
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let visits = reception
            .visits
            .due()
            .into_iter()
            .chain(reception.refusals.due())
            .chain(self.iperf3.as_ref().and_then(|it| it.refusals().due()));
        let control = self.control_expected().filter(|until| *until > now);
        let due = slow.into_iter().chain(self.until).chain(idle).chain(visits);
        let due = due.chain(control).chain(reception.turned_away.due());
        match due.min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn accept(&self, reception: &mut Reception) {
        for _ in 0..ACCEPTED_AT_ONCE {
            reception.reserve.fill();
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some((conn, peer))) => {
                    let peer = tapeline_sys::unmapped(peer);
                    if !self.admission.admits(peer.ip(), &self.policy) {
                        self.refuse_unwanted(reception, peer);
                        continue;
                    }
                    if !self.hears_keys(peer) {
                        reception.refusals.refused(peer, UNHEARD);
                        continue;
                    }
                    self.welcome(reception, conn, peer);
                }
                Err(error) => {
                    // Out of descriptors or memory.
                    if reception.reserve.tells(self.context.now()) {
                        let reason = error.to_string();
                        self.context.notice(Notice::Shedding { reason });
                    }
                    let given_up = reception.turned_away.give_up_oldest();
                    if !given_up && reception.door.take_oldest().is_none() {
                        reception.reserve.shed(&self.listener);
                    }
                    return;
                }
            }
        }
    }

    /// Takes a connection whose first message is to come.
    fn welcome(&self, reception: &mut Reception, conn: TcpConn, peer: SocketAddr) {
        let accepted = self.context.now();
        // A connect-back begins when it is there, not with its first byte.
        if let Admission::ConnectBack { .. } = self.admission {
            let request = Request::Headerless {
                read: 0,
                threads: 1,
            };
            return reception.asked.push_back(Asked {
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
        match self.hear_of(&mut one) {
            Heard::Part => reception.door.enter(one, &self.policy),
            heard => self.heard(reception, one, heard),
        }
    }

    /// Reads from a connection whose first message is not complete.
    fn hear(&self, reception: &mut Reception, token: u64) {
        let Some(one) = reception.door.get(token) else {
            return;
        };
        match self.hear_of(one) {
            Heard::Part => {}
            heard => {
                if let Some(one) = reception.door.take(token) {
                    self.heard(reception, one, heard);
                }
            }
        }
    }

    /// Reads what is there of a first message, unless its key would not be looked at.
    fn hear_of(&self, one: &mut Pending) -> Heard {
        if self.hears_keys(one.peer) {
            one.hear()
        } else {
            Heard::Refused(UNHEARD.into())
        }
    }

    /// Goes on with a connection that is not read any more.
    fn heard(&self, reception: &mut Reception, one: Pending, heard: Heard) {
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
                reception.asked.push_back(Asked {
                    conn: one.conn,
                    peer: one.peer,
                    accepted: one.accepted,
                    request,
                });
                self.admit_waiting(reception);
            }
            Heard::Nothing if one.opening.is_empty() => self.tell_visit(reception, &one),
            Heard::Nothing => {}
            Heard::Refused(reason) => reception.refusals.refused(one.peer, reason),
            Heard::WrongKey => {
                self.policy.key_failed(one.peer.ip(), self.context.now());
                let line = || one.line(NO_FLOW, &self.context);
                reception.refusals.tell(|| line().map(Event::Dropped));
            }
        }
    }

    /// Begins the tests whose first message is complete, as far as they may begin.
    fn admit_waiting(&self, reception: &mut Reception) {
        while self.has_room(reception) && self.is_free() && !self.context.stop().is_raised() {
            let Some(one) = reception.asked.pop_front() else {
                return;
            };
            let peer = one.peer;
            match panic::catch_unwind(AssertUnwindSafe(|| self.begin(one))) {
                Ok(Ok(began)) => reception.served += usize::from(began),
                Ok(Err(turned)) => self.turn_away(reception, peer, turned),
                Err(_) => reception.refusals.faulted(peer),
            }
        }
    }

    /// Tells of a test that was refused; its client hears the reason, where that is tapeline.
    fn turn_away(&self, reception: &mut Reception, peer: SocketAddr, turned: Turned) {
        let Turned {
            refusal,
            conn,
            mark,
        } = turned;
        reception.refusals.refused(peer, refusal.to_string());
        if let Some(mark) = mark.filter(|_| self.control.is_some()) {
            let told = native::refusal(mark, refusal.into()).encode();
            // So few bytes always fit into an empty send buffer.
            let _ = conn.send_nonblocking(&told);
            reception.turned_away.keep(conn, self.context.now());
        }
    }

    fn knows_iperf3(&self, cookie: &Cookie) -> bool {
        let service = self.iperf3.as_ref();
        service.is_some_and(|service| service.knows(cookie))
    }

    fn drop_slow(&self, reception: &mut Reception) {
        let now = self.context.now();
        while let Some(slow) = reception.door.take_slow(now) {
            let waited = now.since(slow.accepted).as_secs_f64();
            let reason = format!("no complete first message within {waited:.0} s");
            reception.refusals.refused(slow.peer, reason);
        }
    }

    /// A connection that was closed without a word, such as those of `--connect-only`. It is no
    /// test: it has no number of its own.
    fn tell_visit(&self, reception: &mut Reception, one: &Pending) {
        if self.plan.personality != Personality::Iperf2 {
            return;
        }
        reception.visits.tell(|| {
            let tag = FlowTag {
                id: self.context.upcoming_id(),
                reversed: false,
            };
            one.line(tag, &self.context).map(Event::Connected)
        });
    }

    /// Whether a connection's first message is read at all.
    fn hears_keys(&self, peer: SocketAddr) -> bool {
        self.plan.permit_key.is_none() || self.policy.hears_keys(peer.ip(), self.context.now())
    }

    /// Tells of a connection of an address that is not served; iperf does not.
    fn refuse_unwanted(&self, reception: &mut Reception, peer: SocketAddr) {
        if self.plan.personality == Personality::Native {
            reception
                .refusals
                .refused(peer, "its address is not served");
        }
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
    fn begin(&self, one: Asked) -> Result<bool, Turned> {
        let request = one.request;
        let Ok(local) = one.conn.local_addr() else {
            return Ok(false);
        };
        let peer = one.peer.ip();
        let seat = match self.seat(peer, &request) {
            Ok(seat) => seat,
            Err(refusal) => {
                return Err(Turned {
                    conn: one.conn,
                    mark: request.mark(),
                    refusal,
                });
            }
        };
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
