//! The control connections of a server: one thread for all, next to the tests and never in their way.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tapeline_base::{MonoTime, MutexExt, Tos, WallTime, whole_nanos};
use tapeline_engine::Stop;
use tapeline_report::{Event, NoPeerResults, Notice};
use tapeline_sys::{Events, Interest, Poller, TcpConn, Wait, Waker};
use tapeline_wire::native::{
    About, Hello, Mark, Message, Order, ProbeReply, ProbeRequest, Program, Progress, Results,
};

use super::clock_sync::nanos;
use super::local_results::{Detail, HostUsage, HostUsageSince, OwnFlow};
use super::orders::{Customer, OrderLink, Orders, Senders};
use super::server_control::{ServerControl, ServerStep};
use super::test_registry::{Claim, TestName, Tests};
use super::{local_results, peer_results};
use crate::policy::{Grant, Policy, displaced};
use crate::run::context::Context;
use crate::run::tasks::{Part, Tally};

const WAKER: u64 = u64::MAX;
const INTERRUPTION: u64 = u64::MAX - 1;
/// Connections that have not said Hello. The address that has most of them makes room for further ones.
const MAX_UNKNOWN: usize = 64;
/// How often running counters are sent.
const PROGRESS: Duration = Duration::from_millis(500);
/// Time for flows that end after the client's Finished.
const LATE_FLOWS: Duration = Duration::from_secs(4);
/// Time after the end of the test's flows in which a client says Finished: its verdict waits for it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for which a client may keep its connection when its flows have ended.
const LEFT_OVER: Duration = Duration::from_secs(30);
/// How often is looked whether they have.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for the client's last words when the server was asked to stop.
const FAREWELL: Duration = Duration::from_millis(500);
/// Bytes read at once: one connection does not keep the others waiting.
const READ: usize = 4096;
/// Output that waits for a client, bytes; one that reads so little is given up.
const MAX_UNSENT: usize = 2 << 20;

/// What a marked flow gets.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The server's answer.
    pub(crate) answer: Mark,
    /// Ends the test's flows.
    pub(crate) stop: Stop,
    /// Takes further flows of the test.
    pub(crate) membership: Membership,
}

impl Joined {
    /// The server sends on this connection of the flow.
    pub(crate) fn sends_on(&self, conn: &Arc<TcpConn>) {
        let Membership { service, test } = &self.membership;
        service.senders.add(*test, self.answer.number, conn);
    }
}

/// A test to which flows can be added that the server opens.
#[derive(Clone)]
pub(crate) struct Membership {
    service: Arc<ControlService>,
    test: TestName,
}

impl std::fmt::Debug for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.test.fmt(f)
    }
}

impl Membership {
    /// Another flow begins; returns what ends it.
    pub(crate) fn add(&self, flow: OwnFlow) -> Option<Stop> {
        self.service.lock().tests.add(self.test, flow)
    }
}

/// What a datagram is to a server that answers probes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probed {
    /// No probe.
    Other,
    /// A probe that is not answered.
    Ignored,
    /// A probe, its answer, which is as long, and the type of service that this is to have.
    Answer([u8; ProbeRequest::LENGTH], Tos),
}

/// Recognises clients and serves their control connections.
pub(crate) struct ControlService {
    context: Arc<Context>,
    tally: Arc<Tally>,
    waker: Arc<Waker>,
    /// Probes can reach this server.
    probes: bool,
    /// What clients may have.
    policy: Arc<Policy>,
    /// Longest test of anybody.
    longest: Option<Duration>,
    /// Does what clients order, where anybody does.
    orders: Option<Arc<dyn Orders>>,
    /// The connections on which this server sends.
    senders: Arc<Senders>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tests: Tests,
    /// Connections that the thread has not taken yet.
    arrived: Vec<Arrived>,
    /// The thread runs.
    running: bool,
    /// Readings at the first flow of each test that may come.
    host_usages: HashMap<TestName, HostUsage>,
}

struct Arrived {
    conn: TcpConn,
    peer: SocketAddr,
    part: Part,
}

impl ControlService {
    /// Whether clients are connected.
    pub(crate) fn has_connections(&self) -> bool {
        self.lock().running
    }

    /// A service without connections; those that it has are parts of `tally`. `probes` says whether
    /// datagrams reach the server, so that clients may send probes; `orders` does what they order, and may
    /// look at `senders`.
    ///
    /// # Errors
    /// Running out of descriptors.
    pub(crate) fn new(
        context: Arc<Context>,
        tally: Arc<Tally>,
        probes: bool,
        policy: Arc<Policy>,
        longest: Option<Duration>,
        orders: Option<Arc<dyn Orders>>,
        senders: Arc<Senders>,
    ) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            context,
            tally,
            waker: Arc::new(Waker::new()?),
            probes,
            policy,
            longest,
            orders,
            senders,
            state: Mutex::default(),
        }))
    }

    /// A marked flow begins; it has no token so far.
    pub(crate) fn join(self: &Arc<Self>, mark: Mark, flow: OwnFlow) -> Option<Joined> {
        let context = &self.context;
        let test = TestName {
            client: flow.peer.ip(),
            number: mark.number,
        };
        let mut begun = false;
        let begin = || {
            begun = true;
            (context.reporter.follow_totals(), context.stop().child())
        };
        let mut state = self.lock();
        let joined = state.tests.join(test, flow, context.now(), begin)?;
        if begun {
            let State {
                tests, host_usages, ..
            } = &mut *state;
            host_usages.retain(|test, _| tests.knows(*test));
            self.senders.retain(|test| tests.knows(test));
            host_usages.insert(test, HostUsage::now(context));
        }
        let (token, stop) = joined;
        let answer = Mark {
            version: mark.common_version(),
            number: token,
        };
        let membership = Membership {
            service: Arc::clone(self),
            test,
        };
        Some(Joined {
            answer,
            stop,
            membership,
        })
    }

    /// What a datagram is to be answered with that arrived at this time of day; nothing where it is no probe.
    /// A probe of nobody whom this server knows has no answer.
    pub(crate) fn answer_probe(
        &self,
        datagram: &[u8],
        source: SocketAddr,
        arrival: WallTime,
    ) -> Probed {
        let Some(request) = ProbeRequest::parse(datagram) else {
            return Probed::Other;
        };
        let now = self.context.now();
        if !self.lock().tests.answers(source.ip(), &request, now) {
            return Probed::Ignored;
        }
        let reply = ProbeReply {
            request,
            received: nanos(arrival),
            sent: nanos(self.context.wall()),
        };
        Probed::Answer(reply.encode(), request.class)
    }

    /// Until when a client may come that this server has answered.
    pub(crate) fn expects_until(&self) -> Option<MonoTime> {
        self.lock().tests.expects_until()
    }

    /// Takes a connection that has begun as a control connection does.
    pub(crate) fn take(self: &Arc<Self>, conn: TcpConn, peer: SocketAddr) {
        let mut state = self.lock();
        if state.arrived.len() >= MAX_UNKNOWN {
            let taken = state.arrived.iter().enumerate();
            let oldest = displaced(taken.map(|(place, one)| (place, one.peer.ip().into())));
            state.arrived.remove(oldest.unwrap_or(0));
        }
        state.arrived.push(Arrived {
            conn,
            peer,
            part: self.tally.begin(),
        });
        if !std::mem::replace(&mut state.running, true) {
            let service = Arc::clone(self);
            let spawned = std::thread::Builder::new()
                .name("control".into())
                .spawn(move || service.run());
            if spawned.is_err() {
                state.running = false;
                state.arrived.clear();
            }
        }
        drop(state);
        self.waker.wake();
    }

    fn run(self: Arc<Self>) {
        let Ok(mut thread) = Thread::new(&self) else {
            let mut state = self.lock();
            state.running = false;
            return state.arrived.clear();
        };
        let mut events = Events::with_capacity(64);
        loop {
            let arrived = {
                let mut state = self.lock();
                let arrived = std::mem::take(&mut state.arrived);
                // No connection left: the next one starts another thread.
                if arrived.is_empty() && thread.connections.is_empty() {
                    state.running = false;
                    return;
                }
                arrived
            };
            for one in arrived {
                thread.add(one);
            }
            let wait = thread.wait();
            if thread.poller.wait(&mut events, wait).is_err() {
                self.lock().running = false;
                return thread.remove_all();
            }
            self.waker.drain();
            for event in events.iter() {
                thread.receive(event.token);
            }
            thread.turn();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock_unpoisoned()
    }
}

/// The thread's part.
struct Thread<'a> {
    service: &'a ControlService,
    poller: Poller,
    /// By token, and so in the order of arrival.
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// When the server was asked to stop.
    stopped: Option<MonoTime>,
}

struct Connection {
    conn: TcpConn,
    peer: SocketAddr,
    control: ServerControl,
    claim: Option<Claim>,
    /// The client, and how much is known of its view.
    client: Client,
    /// The client is through; its flows have until then.
    finished: Option<MonoTime>,
    /// The test's flows were first seen to have ended.
    alone: Option<MonoTime>,
    next_progress: MonoTime,
    /// What runs on the client's order.
    order: Option<Arc<OrderLink>>,
    /// Until when the client may keep its connection, whatever its flows do.
    kept: MonoTime,
    unsent: Vec<u8>,
    closed: bool,
    part: Part,
}

/// The client's view of its test, which the server's report waits for.
enum Client {
    /// Nothing says that it will come.
    Mute,
    /// It will come, but for clients that vanish.
    Awaited {
        program: Program,
        results: Option<Box<Results>>,
    },
    /// It is reported, or given up.
    Complete,
}

impl<'a> Thread<'a> {
    fn new(service: &'a ControlService) -> std::io::Result<Self> {
        let mut poller = Poller::new()?;
        poller.register(&service.waker, WAKER, Interest::READ)?;
        let interruption = service.context.interruption.waker();
        poller.register(interruption, INTERRUPTION, Interest::READ)?;
        Ok(Self {
            service,
            poller,
            connections: BTreeMap::new(),
            next: 0,
            stopped: None,
        })
    }

    fn add(&mut self, arrived: Arrived) {
        let token = self.next;
        self.next += 1;
        let registered = self.poller.register(&arrived.conn, token, Interest::READ);
        if registered.is_err() {
            return;
        }
        let strangers = self
            .connections
            .iter()
            .filter(|(_, one)| one.control.is_unknown())
            .map(|(token, one)| (*token, one.peer.ip().into()));
        if strangers.clone().count() >= MAX_UNKNOWN {
            let oldest = displaced(strangers);
            oldest.into_iter().for_each(|token| self.remove(token));
        }
        let now = self.service.context.now();
        let _ = arrived.conn.set_nodelay(true);
        let connection = Connection {
            conn: arrived.conn,
            peer: arrived.peer,
            control: ServerControl::new(now),
            claim: None,
            client: Client::Mute,
            finished: None,
            alone: None,
            next_progress: now + PROGRESS,
            order: None,
            kept: now,
            unsent: Vec::new(),
            closed: false,
            part: arrived.part,
        };
        self.connections.insert(token, connection);
    }

    fn wait(&self) -> Wait {
        let now = self.service.context.now();
        let due = self
            .connections
            .values()
            .filter_map(|one| one.due(now))
            .min();
        let farewell = self.stopped.map(|at| at + FAREWELL);
        match due.into_iter().chain(farewell).min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn receive(&mut self, token: u64) {
        let context = &self.service.context;
        let Some(one) = self.connections.get_mut(&token) else {
            return;
        };
        let mut buffer = [0; READ];
        match one.conn.recv_nonblocking(&mut buffer) {
            Ok(0) => one.closed = true,
            Ok(count) => {
                let (now, wall) = (context.now(), context.wall());
                one.control.received(&buffer[..count], now, wall);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => one.closed = true,
        }
    }

    /// Does for every connection what is due.
    fn turn(&mut self) {
        let service = self.service;
        let context = &service.context;
        let now = context.now();
        let stopping = context.stop().is_raised();
        let first = stopping && self.stopped.is_none();
        if first {
            self.stopped = Some(now);
            // A raised flag would wake the thread for ever.
            let _ = self.poller.deregister(context.interruption.waker());
        }
        let over = self.stopped.is_some_and(|at| now >= at + FAREWELL);
        for one in self.connections.values_mut() {
            while let Some(step) = one.control.step() {
                service.obey(one, step, now);
            }
            if first {
                one.control.stop("the server was stopped");
            }
            one.say_of_order(now);
            service.advance(one, now);
            one.write(context.wall());
        }
        let gone: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, one)| over || one.is_over())
            .map(|(token, _)| *token)
            .collect();
        for token in gone {
            self.remove(token);
        }
    }

    fn remove_all(&mut self) {
        while let Some((token, _)) = self.connections.first_key_value() {
            self.remove(*token);
        }
    }

    fn remove(&mut self, token: u64) {
        if let Some(one) = self.connections.remove(&token) {
            let _ = self.poller.deregister(&one.conn);
            self.service.close(one);
        }
    }
}

impl Connection {
    fn due(&self, now: MonoTime) -> Option<MonoTime> {
        let look = self.finished.map(|_| now + POLL_INTERVAL);
        let progress = self.claim.as_ref().filter(|_| self.finished.is_none());
        let progress = progress.map(|_| self.next_progress);
        let own = self.control.due();
        own.into_iter().chain(look).chain(progress).min()
    }

    /// Says what there is to say of the order that runs.
    fn say_of_order(&mut self, now: MonoTime) {
        let Some(link) = &self.order else {
            return;
        };
        let unsaid = link.take();
        let over = matches!(unsaid.last(), Some(Message::Done(_)));
        for message in &unsaid {
            self.control.method(message);
        }
        if over {
            self.order = None;
            self.kept = now + LEFT_OVER;
        }
    }

    fn customer(&self) -> Option<Customer> {
        Some(Customer {
            peer: self.peer,
            local: tapeline_sys::unmapped(self.conn.local_addr().ok()?),
            segment_size: self.conn.mss(),
        })
    }

    fn write(&mut self, wall: WallTime) {
        let unsent = self.unsent.len();
        self.unsent.extend(self.control.output(wall, unsent));
        if self.unsent.is_empty() {
            return;
        }
        match self.conn.send_nonblocking(&self.unsent) {
            Ok(count) => {
                self.unsent.drain(..count);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.closed = true,
        }
        self.closed |= self.unsent.len() > MAX_UNSENT;
    }

    fn is_over(&self) -> bool {
        self.closed || (self.control.is_over() && self.unsent.is_empty())
    }
}

impl ControlService {
    fn obey(&self, one: &mut Connection, step: ServerStep, now: MonoTime) {
        match step {
            ServerStep::Hello(hello) => self.answer(one, hello, now),
            ServerStep::About(about) => self.await_client(one, about),
            ServerStep::Results(own) => {
                if let Client::Awaited { results, .. } = &mut one.client {
                    *results = Some(own);
                }
            }
            ServerStep::Finished => one.finished = Some(now + LATE_FLOWS),
            ServerStep::Order(order) => self.take_order(one, &order, now),
            ServerStep::Stop(why) => {
                if let Some(order) = &one.order {
                    order.stop.raise();
                } else if let Some(claim) = &one.claim {
                    claim.stop.raise();
                    if !why.is_empty() {
                        let words = format!("{}: the client ended the test: {why}", one.peer);
                        self.context.notice(Notice::Text(words));
                    }
                }
            }
        }
    }

    fn answer(&self, one: &mut Connection, hello: Hello, now: MonoTime) {
        let test = TestName {
            client: one.peer.ip(),
            number: hello.test,
        };
        let claimed = self.lock().tests.claim(test, hello.token, now);
        match claimed {
            Ok(claim) => {
                let probe_key = self.probes.then_some(claim.probe_key);
                one.claim = Some(claim);
                let orders = self.orders.as_ref().zip(one.customer());
                let methods = orders.and_then(|(orders, customer)| orders.methods(&customer));
                one.control
                    .welcome(local_results::own_program(), probe_key, methods);
                let granted = self.policy.grant(one.peer.ip()).within(self.longest);
                if granted != Grant::default() {
                    one.control.grant(granted.into());
                }
            }
            Err(why) => one.control.refuse(why),
        }
    }

    /// Begins what the client orders, or says why not.
    fn take_order(&self, one: &mut Connection, order: &Order, now: MonoTime) {
        let link = OrderLink::new(self.context.stop().child(), Arc::clone(&self.waker));
        let taken = match (&self.orders, one.customer(), &one.order) {
            (_, _, Some(_)) => Err("another order is under way".to_owned()),
            (Some(orders), Some(customer), None) => orders.take(order, &customer, &link),
            _ => Err("this server takes no orders".to_owned()),
        };
        match taken {
            Ok(ready) => {
                one.order = Some(link);
                one.kept = now + ready.seconds + LEFT_OVER;
                one.control.method(&Message::Ready(ready));
            }
            Err(why) => one.control.method(&Message::Declined(why)),
        }
    }

    /// A client that says who it is will send what it counted.
    fn await_client(&self, one: &mut Connection, about: About) {
        if let (Client::Mute, Some(claim)) = (&one.client, &one.claim) {
            if let Some(cpu) = about.cpu {
                claim.stop.run_on(cpu);
            }
            let program = about.client;
            claim.totals.client_is_here();
            let flows = self.lock().tests.flows(claim);
            let tags = flows.iter().flat_map(|flow| [flow.receives, flow.sends]);
            self.context.reporter.event(Event::PeerFound {
                program: peer_results::shown(program.clone()),
                flows: tags.flatten().collect(),
            });
            one.client = Client::Awaited {
                program,
                results: None,
            };
        }
    }

    /// Reports what the client counted, when all is there; or that it is missing.
    fn send_results(&self, one: &mut Connection, missing: &str) {
        let Client::Awaited {
            program, results, ..
        } = std::mem::replace(&mut one.client, Client::Complete)
        else {
            return;
        };
        let event = match (results, &one.claim) {
            (Some(results), Some(claim)) => {
                let flows = self.lock().tests.flows(claim);
                let program = Some(peer_results::shown(program));
                let end = peer_results::from_message(&results, &flows, program);
                Event::PeerResults(Box::new(end))
            }
            _ => Event::NoPeerResults(NoPeerResults::Broken(missing.to_owned())),
        };
        match &one.claim {
            Some(claim) => self.context.reporter.peer_complete(event, &claim.totals),
            None => self.context.reporter.event(event),
        }
    }

    /// Gives up a client whose flows have ended some time ago: first what it has counted, then the
    /// connection.
    fn watch_client(&self, one: &mut Connection, now: MonoTime) {
        let Some(claim) = &one.claim else {
            return;
        };
        if one.finished.is_some() || !claim.totals.is_complete() {
            one.alone = None;
            return;
        }
        let since = now.since(*one.alone.get_or_insert(now));
        if since >= IDLE_TIMEOUT {
            self.send_results(one, "the client is silent");
        }
        if since >= LEFT_OVER && now >= one.kept {
            one.control.outlive();
        }
    }

    /// Deadlines, running counters, results.
    fn advance(&self, one: &mut Connection, now: MonoTime) {
        one.control.tick(now);
        self.watch_client(one, now);
        let Some(claim) = one.claim.clone() else {
            return;
        };
        match one.finished {
            None if now >= one.next_progress => {
                one.next_progress = now + PROGRESS;
                let so_far = claim.totals.so_far();
                let since = so_far.since.unwrap_or(now);
                let before = self.lock().host_usages.get(&claim.test).copied();
                one.control.progress(Progress {
                    elapsed: whole_nanos(now.since(since)),
                    bytes: so_far.bytes,
                    datagrams: so_far.datagrams,
                    flows: so_far.running,
                    processor: before.map_or(0, |before| whole_nanos(before.processor())),
                });
            }
            Some(until) if now >= until || claim.totals.is_complete() => {
                one.control.results(self.results(&claim));
                one.finished = None;
                one.next_progress = MonoTime::FAR;
                self.send_results(one, "the client sent no results");
            }
            _ => {}
        }
    }

    fn results(&self, claim: &Claim) -> String {
        let state = self.lock();
        let before = state.host_usages.get(&claim.test).copied();
        let flows = state.tests.flows(claim);
        drop(state);
        let usage = HostUsage::now(&self.context);
        let around = before.map_or_else(HostUsageSince::default, |before| usage.since(&before));
        local_results::results(&flows, &claim.totals, &around, Detail::ForClient).to_json()
    }

    fn close(&self, mut one: Connection) {
        if let Some(order) = &one.order {
            order.stop.raise();
        }
        self.send_results(&mut one, "the client closed it");
        let mut state = self.lock();
        if let Some(claim) = &one.claim {
            state.tests.release(claim);
            self.senders.retain(|test| state.tests.knows(test));
            state.host_usages.remove(&claim.test);
        }
        drop(state);
        one.part.end(false);
    }
}
