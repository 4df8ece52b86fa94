//! The TCP server: accept, read first messages without ever waiting for one, start flows.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::panic;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MonoTime};
use tapeline_engine::Stop;
use tapeline_report::{Event, Notice};
use tapeline_sys::{Events, TcpConn, TcpListener, Wait, Waker};
use tapeline_wire::iperf2::TcpClientHeader;
use tapeline_wire::iperf3::{Cookie, State};
use tapeline_wire::native::Mark;

use super::listener::PeerFilter;
use super::pending;
use super::pending::{
    LingeringConnections, PendingConnection, PendingConnections, ReadOutcome, SpareDescriptors,
};
use super::shared::ServerShared;
use super::tcp_test::Session;
use crate::iperf2::first_message::{FirstMessageReader, Protocols, Request};
use crate::iperf2::probe_run::{Probe, probe_run};
use crate::iperf2::start_time::{Start, barrier_start, ordered_start};
use crate::iperf2::test_header::{EXCHANGE_LIMIT, FIRST_MESSAGE};
use crate::iperf3::accept;
use crate::native::recognition;
use crate::plan::Personality;
use crate::policy::{Refusal, Slot};
use crate::run::context::Now;
use crate::run::event_limiter::EventLimiter;

/// Connections that are accepted before others are read again.
const ACCEPTED_AT_ONCE: usize = 128;
/// Why the key of a connection is not looked at.
const TOO_MANY_KEYS: &str = "too many wrong keys";
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
struct Rejected {
    conn: TcpConn,
    /// Whose test it was, where the client is tapeline.
    mark: Option<Mark>,
    refusal: Refusal,
}

/// One listening socket and everything that begins on it.
pub(crate) struct TcpService {
    pub(crate) shared: ServerShared,
    pub(crate) listener: TcpListener,
    /// Whose tests begin here.
    pub(crate) protocols: Protocols,
    /// Wakes the listening thread.
    pub(crate) waker: Arc<Waker>,
    /// Stop listening (running flows go on).
    pub(crate) close: Stop,
    /// Stop listening at this time.
    pub(crate) until: Option<MonoTime>,
    /// Stop listening after this many tests.
    pub(crate) max: Option<usize>,
}

/// What a listening thread has in its hands.
struct Reception {
    pending: PendingConnections,
    /// What waits for its turn.
    asked: VecDeque<Asked>,
    served: usize,
    /// What was refused with a reason.
    lingering: LingeringConnections<TcpConn>,
    spare_descriptors: SpareDescriptors,
    visits: EventLimiter,
    refusals: EventLimiter,
}

impl TcpService {
    /// Serves until asked to stop; running flows may outlive it.
    pub(crate) fn run(self) {
        let interruption = self.shared.context.interruption.waker();
        let pending =
            PendingConnections::open(&self.listener, &self.waker, interruption, self.timeout());
        let pending = match pending {
            Ok(pending) => pending,
            Err(error) => {
                self.shared
                    .context
                    .notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        let mut events = Events::with_capacity(128);
        let mut reception = Reception {
            pending,
            asked: VecDeque::new(),
            served: 0,
            lingering: LingeringConnections::new(),
            spare_descriptors: SpareDescriptors::new(),
            visits: EventLimiter::of_visits(&self.shared.context),
            refusals: EventLimiter::of_refusals(&self.shared.context, self.refusals_logged()),
        };
        loop {
            self.admit_waiting(&mut reception);
            if self.is_over(&reception) {
                reception.visits.finish();
                reception.refusals.finish();
                if let Some(service) = &self.shared.iperf3 {
                    service.refusals().finish();
                }
                return;
            }
            // While no test may begin, further connections wait in the kernel's queue.
            let accepting = self.is_free() || self.awaits_streams() || self.awaits_control();
            reception.pending.set_accepting(&self.listener, accepting);
            let wait = self.wait(&reception);
            if reception.pending.wait(&mut events, wait).is_err() {
                return;
            }
            for event in events.iter() {
                match event.token {
                    pending::WAKER => self.waker.drain(),
                    pending::INTERRUPTION => {}
                    pending::LISTENER => self.accept(&mut reception),
                    token => self.read(&mut reception, token),
                }
            }
            self.drop_slow(&mut reception);
            reception.lingering.close_old(self.shared.context.now());
            reception.visits.sum_up();
            reception.refusals.sum_up();
            if let Some(service) = &self.shared.iperf3 {
                service.refusals().sum_up();
            }
        }
    }

    /// Refusals that are logged in a second; 2.2.1 logs each.
    fn refusals_logged(&self) -> u64 {
        match self.shared.plan.personality {
            Personality::Native => self.shared.policy.limits().refusals_logged,
            Personality::Iperf2 => u64::MAX,
        }
    }

    /// How long a first message may take; `None` for ever.
    fn timeout(&self) -> Option<Duration> {
        let usual = match self.shared.plan.personality {
            Personality::Native => FIRST_MESSAGE,
            Personality::Iperf2 => EXCHANGE_LIMIT,
        };
        let limit = self.shared.plan.exchange_timeout.unwrap_or(usual);
        (!limit.is_zero()).then_some(limit)
    }

    fn is_over(&self, reception: &Reception) -> bool {
        self.shared.context.stop().is_raised()
            || self.close.is_raised()
            || self
                .shared
                .iperf3
                .as_ref()
                .is_some_and(|service| service.is_done())
            || self
                .until
                .is_some_and(|until| self.shared.context.now() >= until)
            || (!self.has_room(reception) && !self.awaits_streams() && !self.awaits_control())
    }

    /// Whether further tests may begin at all.
    fn has_room(&self, reception: &Reception) -> bool {
        self.max.is_none_or(|max| reception.served < max)
    }

    /// Whether streams of a running test may come.
    fn awaits_streams(&self) -> bool {
        self.shared
            .iperf3
            .as_ref()
            .is_some_and(|service| service.is_busy())
    }

    /// Until when a client may open the control connection of its test.
    fn control_expected(&self) -> Option<MonoTime> {
        let control = self.shared.control.as_ref();
        control.and_then(|service| service.expects_until())
    }

    fn awaits_control(&self) -> bool {
        let until = self.control_expected();
        until.is_some_and(|until| self.shared.context.now() < until)
    }

    /// Whether a test may begin now: with `-1`, one at a time.
    fn is_free(&self) -> bool {
        !self.shared.plan.single_client || self.shared.tally.pending() == 0
    }

    fn wait(&self, reception: &Reception) -> Wait {
        let now = self.shared.context.now();
        let slow = reception.pending.slow_at();
        let idle = self
            .shared
            .iperf3
            .as_ref()
            .and_then(|service| service.waits_until());
        let visits = reception
            .visits
            .due()
            .into_iter()
            .chain(reception.refusals.due())
            .chain(
                self.shared
                    .iperf3
                    .as_ref()
                    .and_then(|it| it.refusals().due()),
            );
        let control = self.control_expected().filter(|until| *until > now);
        let due = slow.into_iter().chain(self.until).chain(idle).chain(visits);
        let due = due.chain(control).chain(reception.lingering.due());
        match due.min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn accept(&self, reception: &mut Reception) {
        for _ in 0..ACCEPTED_AT_ONCE {
            reception.spare_descriptors.fill();
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some((conn, peer))) => {
                    let peer = tapeline_sys::unmapped(peer);
                    if !self
                        .shared
                        .peer_filter
                        .admits(peer.ip(), &self.shared.policy)
                    {
                        self.refuse_unwanted(reception, peer);
                        continue;
                    }
                    if !self.accepts_keys(peer) {
                        reception.refusals.refused(peer, TOO_MANY_KEYS);
                        continue;
                    }
                    self.welcome(reception, conn, peer);
                }
                Err(error) => {
                    // Out of descriptors or memory.
                    if reception.spare_descriptors.logs(self.shared.context.now()) {
                        let reason = error.to_string();
                        self.shared.context.notice(Notice::Shedding { reason });
                    }
                    let given_up = reception.lingering.give_up_oldest();
                    if !given_up && reception.pending.take_oldest().is_none() {
                        reception.spare_descriptors.shed(&self.listener);
                    }
                    return;
                }
            }
        }
    }

    /// Takes a connection whose first message is to come.
    fn welcome(&self, reception: &mut Reception, conn: TcpConn, peer: SocketAddr) {
        let accepted = self.shared.context.now();
        // A connect-back begins when it is there, not with its first byte.
        if let PeerFilter::ConnectBack { .. } = self.shared.peer_filter {
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
        let key = self.shared.plan.permit_key.as_ref();
        let reader = FirstMessageReader::new(key.map(|permit| permit.key.clone()));
        let mut one = PendingConnection {
            conn,
            peer,
            accepted,
            reader: reader
                .for_protocols(self.protocols)
                .controlled(self.shared.control.is_some()),
        };
        match self.read_pending(&mut one) {
            ReadOutcome::Part => reception.pending.enter(one, &self.shared.policy),
            outcome => self.settle(reception, one, outcome),
        }
    }

    /// Reads from a connection whose first message is not complete.
    fn read(&self, reception: &mut Reception, token: u64) {
        let Some(one) = reception.pending.get(token) else {
            return;
        };
        match self.read_pending(one) {
            ReadOutcome::Part => {}
            outcome => {
                if let Some(one) = reception.pending.take(token) {
                    self.settle(reception, one, outcome);
                }
            }
        }
    }

    /// Reads what is there of a first message, unless its key would not be looked at.
    fn read_pending(&self, one: &mut PendingConnection) -> ReadOutcome {
        if self.accepts_keys(one.peer) {
            one.read()
        } else {
            ReadOutcome::Refused(TOO_MANY_KEYS.into())
        }
    }

    /// Goes on with a connection that is not read any more.
    fn settle(&self, reception: &mut Reception, one: PendingConnection, outcome: ReadOutcome) {
        match outcome {
            ReadOutcome::Part => {}
            // A stream of a running test does not wait for its end.
            ReadOutcome::Whole(Request::Iperf3(cookie)) if self.knows_iperf3(&cookie) => {
                if let Some(service) = &self.shared.iperf3 {
                    accept::take(service, one.conn, one.peer, one.accepted, cookie);
                }
            }
            // Nor does the control connection of one.
            ReadOutcome::Whole(Request::Control) => {
                if let Some(service) = &self.shared.control {
                    service.take(one.conn, one.peer);
                }
            }
            ReadOutcome::Whole(request) => {
                reception.asked.push_back(Asked {
                    conn: one.conn,
                    peer: one.peer,
                    accepted: one.accepted,
                    request,
                });
                self.admit_waiting(reception);
            }
            ReadOutcome::Nothing if one.reader.is_empty() => self.report_visit(reception, &one),
            ReadOutcome::Nothing => {}
            ReadOutcome::Refused(reason) => {
                reception.refusals.refused(one.peer, reason);
                if self.protocols == Protocols::Iperf3 {
                    // As iperf3 answers who cannot be served; by it other clients know the server.
                    let _ = one.conn.send_nonblocking(&[State::AccessDenied.byte()]);
                    reception
                        .lingering
                        .keep(one.conn, self.shared.context.now());
                }
            }
            ReadOutcome::WrongKey => {
                self.shared
                    .policy
                    .key_failed(one.peer.ip(), self.shared.context.now());
                let line = || one.line(NO_FLOW, &self.shared.context);
                reception.refusals.report(|| line().map(Event::Dropped));
            }
        }
    }

    /// Begins the tests whose first message is complete, as far as they may begin.
    fn admit_waiting(&self, reception: &mut Reception) {
        while self.has_room(reception) && self.is_free() && !self.shared.context.stop().is_raised()
        {
            let Some(one) = reception.asked.pop_front() else {
                return;
            };
            let peer = one.peer;
            match panic::catch_unwind(AssertUnwindSafe(|| self.begin(one))) {
                Ok(Ok(began)) => reception.served += usize::from(began),
                Ok(Err(rejected)) => self.reject(reception, peer, rejected),
                Err(_) => reception.refusals.faulted(peer),
            }
        }
    }

    /// Logs a test that was refused; its client is sent the reason, where that is tapeline.
    fn reject(&self, reception: &mut Reception, peer: SocketAddr, rejected: Rejected) {
        let Rejected {
            refusal,
            conn,
            mark,
        } = rejected;
        reception.refusals.refused(peer, refusal.to_string());
        if let Some(mark) = mark.filter(|_| self.shared.control.is_some()) {
            let refusal = recognition::refusal(mark, refusal.into()).encode();
            // So few bytes always fit into an empty send buffer.
            let _ = conn.send_nonblocking(&refusal);
            reception.lingering.keep(conn, self.shared.context.now());
        }
    }

    fn knows_iperf3(&self, cookie: &Cookie) -> bool {
        let service = self.shared.iperf3.as_ref();
        service.is_some_and(|service| service.knows(cookie))
    }

    fn drop_slow(&self, reception: &mut Reception) {
        let now = self.shared.context.now();
        while let Some(slow) = reception.pending.take_slow(now) {
            let waited = now.since(slow.accepted).as_secs_f64();
            let reason = format!("no complete first message within {waited:.0} s");
            reception.refusals.refused(slow.peer, reason);
        }
    }

    /// A connection that was closed without a word, such as those of `--connect-only`. It is no
    /// test: it has no number of its own.
    fn report_visit(&self, reception: &mut Reception, one: &PendingConnection) {
        if self.shared.plan.personality != Personality::Iperf2 {
            return;
        }
        reception.visits.report(|| {
            let tag = FlowTag {
                id: self.shared.context.upcoming_id(),
                reversed: false,
            };
            one.line(tag, &self.shared.context).map(Event::Connected)
        });
    }

    /// Whether a connection's first message is read at all.
    fn accepts_keys(&self, peer: SocketAddr) -> bool {
        self.shared.plan.permit_key.is_none()
            || self
                .shared
                .policy
                .accepts_keys(peer.ip(), self.shared.context.now())
    }

    /// Logs a connection of an address that is not served; iperf does not.
    fn refuse_unwanted(&self, reception: &mut Reception, peer: SocketAddr) {
        if self.shared.plan.personality == Personality::Native {
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
    fn slot(&self, peer: IpAddr, request: &Request) -> Result<Option<Slot>, Refusal> {
        match self.shared.peer_filter {
            // Its parameters say how many streams there are.
            PeerFilter::Server { .. } if matches!(request, Request::Iperf3(_)) => Ok(None),
            PeerFilter::Server { .. } => {
                self.shared.policy.permit(peer, request.ordered())?;
                self.shared.policy.admit(peer, request.streams())
            }
            PeerFilter::ConnectBack { .. } => Ok(None),
        }
    }

    /// Begins what a complete first message asks for; returns whether a test began.
    ///
    /// # Errors
    /// Why this server does not run it.
    fn begin(&self, one: Asked) -> Result<bool, Rejected> {
        let request = one.request;
        let Ok(local) = one.conn.local_addr() else {
            return Ok(false);
        };
        let peer = one.peer.ip();
        let slot = match self.slot(peer, &request) {
            Ok(slot) => slot,
            Err(refusal) => {
                return Err(Rejected {
                    conn: one.conn,
                    mark: request.mark(),
                    refusal,
                });
            }
        };
        if let (Request::Iperf3(cookie), Some(service)) = (&request, &self.shared.iperf3) {
            return Ok(accept::take(
                service,
                one.conn,
                one.peer,
                one.accepted,
                *cookie,
            ));
        }
        if let Request::Exchange { first, bytes } = &request
            && let Some(run) = probe_run(peer, first)
            && let Some(link) = self.shared.groups.probes.link(run)
        {
            // A run that cannot take it any more is gone with all of its connections.
            let _ = link.send(Probe {
                conn: Arc::new(one.conn),
                already: bytes.clone(),
                _slot: slot,
            });
            return Ok(false);
        }
        let grant = self.shared.policy.grant(peer).within(self.shared.plan.time);
        let share = grant.share(request.streams());
        let now = self.shared.context.both();
        let (id, start) = match &request {
            Request::Test { header, .. } => (
                self.shared.context.flow_id(header.transfer_id),
                self.test_start(header, one.accepted, now),
            ),
            Request::Headerless { .. }
            | Request::Exchange { .. }
            | Request::Iperf3(_)
            | Request::Control => (self.shared.context.next_id(), Start::at_once(now)),
        };
        let session = Session {
            shared: &self.shared,
            conn: Arc::new(one.conn),
            local,
            peer: one.peer,
            start: start.at,
            announced: start.announced,
            accepted: one.accepted,
            stop: self.shared.context.stop().clone(),
            tag: FlowTag {
                id,
                reversed: false,
            },
            joined: None,
            share,
            slot,
        };
        session.begin(request);
        Ok(true)
    }
}
