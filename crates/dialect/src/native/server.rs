//! The control connections of a server: one thread for all, beside the tests and never in their way.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, WallTime};
use tapeline_engine::Stop;
use tapeline_report::{HostDrops, Subject};
use tapeline_sys::{
    CpuTime, Events, HostCounters, HostFacts, Interest, Poller, TcpConn, Wait, Waker,
    process_cpu_time,
};
use tapeline_wire::native::{Hello, Mark, Program, Progress};

use super::own_results::{self, Surroundings};
use super::server_control::{ServerControl, ServerStep};
use super::tests::{Claim, FlowFacts, Tests};
use crate::context::{Context, Part, Tally};

const WAKER: u64 = u64::MAX;
const INTERRUPTION: u64 = u64::MAX - 1;
/// Connections that have not said Hello; the oldest makes room for further ones.
const MOST_UNKNOWN: usize = 64;
/// How often running counters are told.
const PROGRESS: Duration = Duration::from_millis(500);
/// Time for flows that end after the client's Finished.
const LATE_FLOWS: Duration = Duration::from_secs(4);
/// How often is looked whether they have.
const LOOK: Duration = Duration::from_millis(20);
/// Time for the client's last words when the server was told to stop.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes read at once: one connection does not keep the others waiting.
const READ: usize = 4096;
/// Output that waits for a client, bytes; one that reads so little is given up.
const MOST_UNSENT: usize = 2 << 20;

/// What a marked flow gets.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The server's answer.
    pub(crate) answer: Mark,
    /// Ends the test's flows.
    pub(crate) stop: Stop,
}

/// Recognises clients and serves their control connections.
pub(crate) struct ControlService {
    context: Arc<Context>,
    tally: Arc<Tally>,
    waker: Arc<Waker>,
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
    readings: HashMap<(std::net::IpAddr, NonZeroU32), Reading>,
}

struct Arrived {
    conn: TcpConn,
    peer: SocketAddr,
    part: Part,
}

/// Counters of the process and its host, and both clocks.
#[derive(Clone, Copy, Debug)]
struct Reading {
    at: MonoTime,
    wall: WallTime,
    cpu: CpuTime,
    host: HostCounters,
}

impl Reading {
    fn now(context: &Context) -> Self {
        Self {
            at: context.now(),
            wall: context.wall(),
            cpu: process_cpu_time(),
            host: HostCounters::read(),
        }
    }

    fn since(&self, earlier: &Self) -> Surroundings {
        let time = self.at.since(earlier.at);
        let host = self.host.since(&earlier.host);
        let passed = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        Surroundings {
            time,
            cpu: CpuTime {
                user: self.cpu.user.saturating_sub(earlier.cpu.user),
                system: self.cpu.system.saturating_sub(earlier.cpu.system),
            },
            drops: HostDrops {
                udp_receive: host.udp_receive_buffer_errors,
                softnet: host.softnet_drops,
            },
            clock_adjustment_ns: self.wall.nanos_since(earlier.wall) - passed,
        }
    }
}

impl ControlService {
    /// A service without connections; those that it has are parts of `tally`.
    ///
    /// # Errors
    /// Running out of descriptors.
    pub(crate) fn new(context: Arc<Context>, tally: Arc<Tally>) -> std::io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            context,
            tally,
            waker: Arc::new(Waker::new()?),
            state: Mutex::default(),
        }))
    }

    /// A marked flow begins, as these directions.
    pub(crate) fn join(
        &self,
        peer: SocketAddr,
        mark: Mark,
        tags: &[FlowTag],
        facts: FlowFacts,
    ) -> Option<Joined> {
        let context = &self.context;
        let client = peer.ip();
        let mut begun = false;
        let begin = || {
            begun = true;
            (context.reporter.follow(), context.stop().child())
        };
        let mut state = self.lock();
        let joined = state
            .tests
            .join((client, mark.number), tags, facts, context.now(), begin)?;
        if begun {
            let State {
                tests, readings, ..
            } = &mut *state;
            readings.retain(|(client, number), _| tests.knows(*client, *number));
            readings.insert((client, mark.number), Reading::now(context));
        }
        let (token, stop) = joined;
        let answer = Mark {
            version: mark.common_version(),
            number: token,
        };
        Some(Joined { answer, stop })
    }

    /// Until when a client may come that this server has answered.
    pub(crate) fn expects_until(&self) -> Option<MonoTime> {
        self.lock().tests.expects_until()
    }

    /// Takes a connection that has begun as a control connection does.
    pub(crate) fn take(self: &Arc<Self>, conn: TcpConn, peer: SocketAddr) {
        let mut state = self.lock();
        if state.arrived.len() >= MOST_UNKNOWN {
            state.arrived.remove(0);
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
                return;
            }
            self.waker.drain();
            for event in events.iter() {
                thread.receive(event.token);
            }
            thread.turn();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's part.
struct Thread<'a> {
    service: &'a ControlService,
    poller: Poller,
    /// By token, and so in the order of arrival.
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// When the server was told to stop.
    stopped: Option<MonoTime>,
}

struct Connection {
    conn: TcpConn,
    peer: SocketAddr,
    control: ServerControl,
    claim: Option<Claim>,
    /// The client is through; its flows have until then.
    finished: Option<MonoTime>,
    next_progress: MonoTime,
    unsent: Vec<u8>,
    closed: bool,
    part: Part,
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
            .filter(|(_, one)| one.control.is_unknown());
        let strangers: Vec<u64> = strangers.map(|(token, _)| *token).collect();
        if strangers.len() >= MOST_UNKNOWN {
            self.remove(strangers[0]);
        }
        let now = self.service.context.now();
        let _ = arrived.conn.set_nodelay(true);
        let connection = Connection {
            conn: arrived.conn,
            peer: arrived.peer,
            control: ServerControl::new(now),
            claim: None,
            finished: None,
            next_progress: now + PROGRESS,
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
                one.control.stop("the server was told to stop");
            }
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

    fn remove(&mut self, token: u64) {
        if let Some(one) = self.connections.remove(&token) {
            let _ = self.poller.deregister(&one.conn);
            self.service.close(one);
        }
    }
}

impl Connection {
    fn due(&self, now: MonoTime) -> Option<MonoTime> {
        let look = self.finished.map(|_| now + LOOK);
        let progress = self.claim.as_ref().filter(|_| self.finished.is_none());
        let progress = progress.map(|_| self.next_progress);
        let own = self.control.due();
        own.into_iter().chain(look).chain(progress).min()
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
        self.closed |= self.unsent.len() > MOST_UNSENT;
    }

    fn is_over(&self) -> bool {
        self.closed || (self.control.is_over() && self.unsent.is_empty())
    }
}

impl ControlService {
    fn obey(&self, one: &mut Connection, step: ServerStep, now: MonoTime) {
        match step {
            ServerStep::Hello(hello) => self.answer(one, hello, now),
            ServerStep::Finished => one.finished = Some(now + LATE_FLOWS),
            ServerStep::Stop(_) => {
                if let Some(claim) = &one.claim {
                    claim.stop.raise();
                }
            }
        }
    }

    fn answer(&self, one: &mut Connection, hello: Hello, now: MonoTime) {
        let client = one.peer.ip();
        let claimed = self
            .lock()
            .tests
            .claim(client, hello.test, hello.token, now);
        match claimed {
            Ok(claim) => {
                one.claim = Some(claim);
                one.control.welcome(Program {
                    program: "tapeline".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    system: HostFacts::gather().system,
                });
            }
            Err(why) => one.control.refuse(why),
        }
    }

    /// Deadlines, running counters, results.
    fn advance(&self, one: &mut Connection, now: MonoTime) {
        one.control.tick(now);
        let Some(claim) = &one.claim else { return };
        match one.finished {
            None if now >= one.next_progress => {
                one.next_progress = now + PROGRESS;
                let so_far = claim.following.so_far();
                let since = so_far.since.unwrap_or(now);
                one.control.progress(Progress {
                    elapsed: u64::try_from(now.since(since).as_nanos()).unwrap_or(u64::MAX),
                    bytes: so_far.bytes,
                    datagrams: so_far.datagrams,
                    flows: so_far.running,
                });
            }
            Some(until) if now >= until || claim.following.is_complete() => {
                one.control.results(self.results(claim));
                one.finished = None;
                one.next_progress = MonoTime::FAR;
            }
            _ => {}
        }
    }

    fn results(&self, claim: &Claim) -> String {
        let state = self.lock();
        let before = state.readings.get(&(claim.client, claim.number)).copied();
        let flows = state.tests.flows(claim);
        drop(state);
        let reading = Reading::now(&self.context);
        let around = before.map_or_else(Surroundings::default, |before| reading.since(&before));
        let totals: Vec<_> = claim
            .following
            .totals()
            .into_iter()
            .map(|total| {
                let evidence = match total.subject {
                    Subject::Flow(tag) => claim.following.evidence(tag),
                    _ => None,
                };
                (total, evidence)
            })
            .collect();
        own_results::results(&flows, &totals, &around).to_json()
    }

    fn close(&self, one: Connection) {
        let mut state = self.lock();
        if let Some(claim) = &one.claim {
            state.tests.release(claim);
            state.readings.remove(&(claim.client, claim.number));
        }
        drop(state);
        one.part.end(false);
    }
}
