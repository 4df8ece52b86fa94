//! A client's test whose server may be tapeline: the mark, the server's answers, and the thread that
//! keeps the control connection.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Tos, WallTime};
use tapeline_engine::Stop;
use tapeline_report::{ClockEstimate, Event, NoOtherEnd, Notice, OtherProgress};
use tapeline_stats::ClockLine;
use tapeline_sys::{
    Events, Interest, Poller, SocketOptions, TcpConn, UdpSocket, Wait, Waker, reason,
};
use tapeline_wire::iperf2::{ServerAck, limits};
use tapeline_wire::native::{Mark, Program, Progress, Results, VERSIONS};

use super::client_control::{ClientControl, ClientStep};
use super::far_side;
use super::one_way;
use super::own_flow::OwnFlow;
use super::own_results::{self, Detail};
use super::probe_flow::ProbeFlow;
use super::reading::Reading;
use crate::context::Context;
use crate::reporter::Following;

const WAKER: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;
const PROBES: u64 = u64::MAX - 2;
/// Time for the control connection to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(100);
/// Largest read of the control connection.
const READ: usize = 16 << 10;

/// How a test's traffic ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrafficEnd {
    InOrder,
    /// The user does not want to wait.
    Interrupted,
    /// Something did not go well, as perhaps nobody was there.
    Failed,
}

impl TrafficEnd {
    /// Of a run that has `failed`, or not.
    pub(crate) fn of(failed: bool, context: &Context) -> Self {
        match (context.stop().is_raised(), failed) {
            (true, _) => Self::Interrupted,
            (false, true) => Self::Failed,
            (false, false) => Self::InOrder,
        }
    }
}

/// A socket on which the server may answer and nobody else reads yet.
#[derive(Debug)]
enum Watched {
    Tcp(Arc<TcpConn>),
    /// Gone when the flow reads by itself.
    Udp(Arc<Mutex<Option<Arc<UdpSocket>>>>),
}

#[derive(Debug, Default)]
struct State {
    flows: Vec<OwnFlow>,
    /// Sockets that the thread has not taken over yet.
    watched: Vec<(FlowId, Watched)>,
    /// How the traffic has ended.
    ended: Option<TrafficEnd>,
}

#[derive(Debug)]
struct Shared {
    number: NonZeroU32,
    following: Arc<Following>,
    waker: Waker,
    state: Mutex<State>,
    /// Ends the test's flows.
    stop: Stop,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A flow begins.
    fn add(&self, flow: OwnFlow) {
        for tag in flow.tags() {
            self.following.add(tag);
        }
        self.lock().flows.push(flow);
    }

    /// The server has answered on a flow.
    fn answered(&self, id: FlowId, mark: Mark) {
        let mut state = self.lock();
        let own = |flow: &&mut OwnFlow| flow.tags().any(|tag| tag.id == id);
        let flow = state.flows.iter_mut().find(own);
        if let Some(flow) = flow.filter(|flow| flow.token.is_none()) {
            flow.token = Some(mark.number);
            drop(state);
            self.waker.wake();
        }
    }
}

/// A client's test that can be recognised.
#[derive(Debug)]
pub(crate) struct ClientTest {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

/// Takes flows of a test that the server opens.
#[derive(Clone, Debug)]
pub(crate) struct TestFlows {
    shared: Arc<Shared>,
}

impl TestFlows {
    /// The server's data begins to arrive.
    pub(crate) fn receives(&self, tag: FlowTag, local: SocketAddr, peer: SocketAddr) {
        self.shared.add(OwnFlow {
            token: None,
            sends: None,
            receives: Some(tag),
            local,
            peer,
            congestion: None,
        });
    }
}

/// What a flow says of the server's answers.
#[derive(Clone, Debug)]
pub(crate) struct FlowAnswers {
    shared: Arc<Shared>,
    id: FlowId,
    /// Shared with the thread while nobody else reads.
    socket: Option<Arc<Mutex<Option<Arc<UdpSocket>>>>>,
}

impl FlowAnswers {
    /// Takes bytes from the server; returns whether they are its answer, and so no data.
    pub(crate) fn heard(&self, bytes: &[u8]) -> bool {
        let mark = answer(bytes);
        if let Some(mark) = mark {
            self.shared.answered(self.id, mark);
        }
        mark.is_some()
    }

    /// The mark of an answer that was read already.
    pub(crate) fn answered(&self, mark: Mark) {
        self.shared.answered(self.id, mark);
    }

    /// From now on the flow reads its socket itself.
    pub(crate) fn take_over(&self) {
        if let Some(socket) = &self.socket {
            lock(socket).take();
        }
    }
}

/// The mark in a server's answer.
fn answer(bytes: &[u8]) -> Option<Mark> {
    // Most bytes are data: these four words come first in an answer.
    if bytes.len() < limits::ACK || bytes[..4] != [0, 0, 0, 2] {
        return None;
    }
    ServerAck::parse(bytes).ok()?.mark
}

impl ClientTest {
    /// Begins to listen for answers; `stop` ends the test's flows, where round trips are
    /// measured beside them, `probes` is the flows' type of service. Without a thread there is none, and
    /// the test goes on without.
    pub(crate) fn begin(
        context: &Arc<Context>,
        options: SocketOptions,
        stop: &Stop,
        probes: Option<Tos>,
    ) -> Option<Self> {
        let shared = Arc::new(Shared {
            number: super::draw(),
            following: context.reporter.follow(),
            waker: Waker::new().ok()?,
            state: Mutex::default(),
            stop: stop.clone(),
        });
        let (own, context) = (Arc::clone(&shared), Arc::clone(context));
        let thread = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                if let Some(session) = Session::new(own, context, options, probes) {
                    session.run();
                }
            })
            .ok()?;
        Some(Self { shared, thread })
    }

    /// What the headers of the test carry.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            version: *VERSIONS.end(),
            number: self.shared.number,
        }
    }

    /// The flow with this number is about to say its mark.
    pub(crate) fn flow(&self, id: FlowId, flow: OwnFlow) -> FlowAnswers {
        self.shared.add(flow);
        FlowAnswers {
            shared: Arc::clone(&self.shared),
            id,
            socket: None,
        }
    }

    /// Takes flows that the server opens.
    pub(crate) fn flows(&self) -> TestFlows {
        TestFlows {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Looks for the answer on a connection that only sends.
    pub(crate) fn watch_tcp(&self, id: FlowId, conn: &Arc<TcpConn>) {
        self.watch(id, Watched::Tcp(Arc::clone(conn)));
    }

    /// Looks for the answer on a socket that only sends, until the flow takes it over.
    pub(crate) fn watch_udp(&self, answers: &mut FlowAnswers, socket: &Arc<UdpSocket>) {
        let shared = Arc::new(Mutex::new(Some(Arc::clone(socket))));
        answers.socket = Some(Arc::clone(&shared));
        self.watch(answers.id, Watched::Udp(shared));
    }

    fn watch(&self, id: FlowId, watched: Watched) {
        self.shared.lock().watched.push((id, watched));
        self.shared.waker.wake();
    }

    /// The traffic has ended and was told: what the other end has to say is told too.
    pub(crate) fn finish(self, end: TrafficEnd) {
        self.shared.lock().ended = Some(end);
        self.shared.waker.wake();
        let _ = self.thread.join();
    }
}

/// How far the control connection is.
enum Link {
    /// Nobody has answered.
    None,
    Open {
        conn: TcpConn,
        control: Box<ClientControl>,
        /// Written by the state machine, and not taken by the system.
        unsent: Vec<u8>,
    },
    /// There is none any more, and it was told why.
    Over,
}

/// The thread's part.
struct Session {
    shared: Arc<Shared>,
    context: Arc<Context>,
    options: SocketOptions,
    poller: Poller,
    watched: Vec<(FlowId, Option<Watched>)>,
    link: Link,
    /// The flows' type of service, where round trips beside the traffic are wanted.
    probe_class: Option<Tos>,
    probes: Option<ProbeFlow>,
    clocks: ClockLine,
    /// The server, when it has welcomed this client.
    server: Option<Program>,
    /// Its last counters.
    progress: Progress,
    results: Option<Box<Results>>,
    before: Reading,
    began: WallTime,
    ended: Option<WallTime>,
    /// The server was told that the test ends early.
    stopped: bool,
}

impl Session {
    /// Nothing when the process is out of descriptors.
    fn new(
        shared: Arc<Shared>,
        context: Arc<Context>,
        options: SocketOptions,
        probe_class: Option<Tos>,
    ) -> Option<Self> {
        Some(Self {
            poller: Poller::new().ok()?,
            watched: Vec::new(),
            link: Link::None,
            probe_class,
            probes: None,
            clocks: ClockLine::new(),
            server: None,
            progress: Progress::default(),
            results: None,
            before: Reading::now(&context),
            began: context.wall(),
            ended: None,
            stopped: false,
            shared,
            context,
            options,
        })
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(16);
        let shared = Arc::clone(&self.shared);
        if self
            .poller
            .register(&shared.waker, WAKER, Interest::READ)
            .is_err()
        {
            return;
        }
        loop {
            self.take_over_sockets();
            self.follow_test();
            self.drive();
            self.probe();
            if self.is_over() {
                break;
            }
            let wait = self.wait();
            if self.poller.wait(&mut events, wait).is_err() {
                break;
            }
            shared.waker.drain();
            for event in events.iter() {
                match event.token {
                    WAKER => {}
                    CONTROL => self.receive(),
                    PROBES => self.receive_replies(),
                    token => self.look(token, event.error),
                }
            }
        }
        self.tell();
    }

    fn is_over(&self) -> bool {
        let ended = self.shared.lock().ended.is_some();
        match &self.link {
            Link::None | Link::Over => ended,
            Link::Open {
                control, unsent, ..
            } => control.is_over() && unsent.is_empty(),
        }
    }

    fn wait(&self) -> Wait {
        let now = self.context.now();
        let due = match &self.link {
            Link::Open { control, .. } => control.due(),
            Link::None | Link::Over => None,
        };
        let probe = self.probes.as_ref().and_then(|probes| probes.probing.due());
        let due = due.into_iter().chain(probe).min();
        Wait::AtMost(due.map_or(LOOK, |due| due.since(now).min(LOOK)))
    }

    /// Waits for answers on the sockets of new flows.
    fn take_over_sockets(&mut self) {
        let new = std::mem::take(&mut self.shared.lock().watched);
        for (id, watched) in new {
            let token = self.watched.len() as u64;
            let registered = match &watched {
                Watched::Tcp(conn) => self.poller.register(conn, token, Interest::READ).is_ok(),
                Watched::Udp(socket) => lock(socket).as_ref().is_some_and(|socket| {
                    self.poller.register(socket, token, Interest::READ).is_ok()
                }),
            };
            self.watched.push((id, registered.then_some(watched)));
        }
    }

    /// Something is to be read on a flow's socket, or it has failed.
    fn look(&mut self, token: u64, failed: bool) {
        let Some((id, slot)) = usize::try_from(token)
            .ok()
            .and_then(|at| self.watched.get_mut(at))
        else {
            return;
        };
        let id = *id;
        // One look is enough: whatever else comes is for the flow.
        match slot.take() {
            Some(Watched::Tcp(conn)) => {
                let _ = self.poller.deregister(&conn);
                let mut front = [0; limits::ACK_TRIP_TIMES];
                let count = conn.peek(&mut front).unwrap_or(0);
                if let Some(mark) = answer(&front[..count]) {
                    self.shared.answered(id, mark);
                }
            }
            Some(Watched::Udp(shared)) => {
                let mut socket = lock(&shared);
                let Some(own) = &*socket else { return };
                let _ = self.poller.deregister(own);
                // An error is the sender's to find.
                let mut datagram = [0; 256];
                let read = (!failed).then(|| own.recv_nonblocking(&mut datagram));
                if let Some(Ok(count)) = read
                    && let Some(mark) = answer(&datagram[..count])
                {
                    self.shared.answered(id, mark);
                }
                socket.take();
            }
            None => {}
        }
    }

    /// Connects when the first answer is there; says what became of the test.
    fn follow_test(&mut self) {
        let (first, ended) = {
            let state = self.shared.lock();
            let first = state.flows.iter().find(|flow| flow.token.is_some());
            (first.cloned(), state.ended)
        };
        let now = self.context.now();
        if let (Link::None, Some(flow)) = (&self.link, first)
            && let Some(token) = flow.token
        {
            self.link = self.connect(&flow, token);
        }
        if ended.is_some() && self.ended.is_none() {
            self.ended = Some(self.context.wall());
        }
        let raised = self.context.stop().is_raised();
        if let Link::Open { control, .. } = &mut self.link {
            if raised && !self.stopped {
                self.stopped = true;
                control.stop("the client was interrupted");
            }
            if let Some(end) = ended
                && !control.is_finished()
            {
                // The totals of all flows are on their way to the reporter.
                self.context.reporter.flush();
                let flows = self.shared.lock().flows.clone();
                let around = Reading::now(&self.context).since(&self.before);
                let following = &self.shared.following;
                let own = own_results::results(&flows, following, &around, Detail::ForServer);
                control.finish(end == TrafficEnd::Interrupted, &own, now);
            }
        }
    }

    fn connect(&mut self, flow: &OwnFlow, token: NonZeroU32) -> Link {
        let mut local = flow.local;
        local.set_port(0);
        let limit = Some(CONNECT_LIMIT);
        let conn = match TcpConn::connect(flow.peer, Some(local), &self.options, limit) {
            Ok(connected) => connected.conn,
            Err(error) => return self.give_up(NoOtherEnd::Unreachable(error.reason())),
        };
        let _ = conn.set_nodelay(true);
        if let Err(error) = self.poller.register(&conn, CONTROL, Interest::READ) {
            return self.give_up(NoOtherEnd::Unreachable(reason(&error)));
        }
        let now = self.context.now();
        Link::Open {
            control: Box::new(ClientControl::new(
                self.shared.number,
                token,
                super::own_program(),
                now,
            )),
            conn,
            unsent: Vec::new(),
        }
    }

    fn give_up(&self, why: NoOtherEnd) -> Link {
        self.context.reporter.event(Event::NoOtherEnd(why));
        Link::Over
    }

    fn receive(&mut self) {
        let Link::Open { conn, control, .. } = &mut self.link else {
            return;
        };
        let mut buffer = [0; READ];
        match conn.recv_nonblocking(&mut buffer) {
            Ok(0) => control.closed("the server closed it"),
            Ok(count) => {
                let (now, wall) = (self.context.now(), self.context.wall());
                control.received(&buffer[..count], now, wall);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => control.closed(&reason(&error)),
        }
    }

    /// Opens the probe flow, to where the test's flows go. Without it the report lacks a part, no more.
    fn open_probes(&mut self, key: NonZeroU64) {
        let first = {
            let state = self.shared.lock();
            let first = state.flows.iter().find(|flow| flow.token.is_some());
            first.cloned()
        };
        let now = self.context.now();
        let opened = first
            .zip(self.probe_class)
            .and_then(|(flow, class)| ProbeFlow::open(&flow, &self.options, key, class, now));
        self.probes = opened.filter(|probes| {
            let registered = self.poller.register(&probes.socket, PROBES, Interest::READ);
            registered.is_ok()
        });
    }

    fn receive_replies(&mut self) {
        if let Some(probes) = &mut self.probes {
            probes.receive(|round_trip| self.context.reporter.probed(round_trip));
        }
    }

    /// Sends the probe that is due.
    fn probe(&mut self) {
        let Some(probes) = &mut self.probes else {
            return;
        };
        let now = self.context.now();
        let so_far = self.shared.following.so_far();
        let ended = self.shared.lock().ended;
        if ended.is_some() {
            let began = so_far.since.unwrap_or(now);
            probes.probing.pause(now.since(began));
        }
        match &mut self.link {
            // Without the connection the server answers no probe.
            Link::None | Link::Over => probes.probing.end(),
            Link::Open { control, .. } => {
                if self.results.is_some() && ended != Some(TrafficEnd::Interrupted) {
                    probes.probing.compare(now);
                }
                probes.send(now, self.context.wall(), so_far.bytes);
                control.await_probes(probes.probing.is_comparing());
            }
        }
    }

    /// Does what is due and obeys the state machine.
    fn drive(&mut self) {
        let Link::Open {
            conn,
            control,
            unsent,
        } = &mut self.link
        else {
            return;
        };
        control.tick(self.context.now(), self.context.wall());
        unsent.extend(control.output());
        let sent = if unsent.is_empty() {
            Ok(0)
        } else {
            conn.send_nonblocking(unsent)
        };
        match sent {
            Ok(count) => {
                unsent.drain(..count);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => {
                unsent.clear();
                control.closed(&reason(&error));
            }
        }
        let mut failed = None;
        let mut probe_key = None;
        while let Some(step) = control.step() {
            match step {
                ClientStep::Found(program, key) => {
                    probe_key = key;
                    self.server = Some(program.clone());
                    let found = Event::OtherEndFound(far_side::shown(program));
                    self.context.reporter.event(found);
                }
                ClientStep::Progress(progress) => {
                    let told = so_far(&self.progress, &progress);
                    self.progress = progress;
                    self.context.reporter.event(Event::OtherProgress(told));
                }
                ClientStep::Exchange(exchange) => self.clocks.observe(&exchange),
                ClientStep::Results(results) => self.results = Some(results),
                ClientStep::Stop(why) => {
                    let words = format!("the server ended the test: {why}");
                    self.context.notice(Notice::Text(words));
                    self.shared.stop.raise();
                }
                ClientStep::Refused(why) => failed = Some(NoOtherEnd::Refused(why)),
                // With the results here, nothing is missing but some readings of the clock.
                ClientStep::Broken(_) if self.results.is_some() => {}
                ClientStep::Broken(why) => failed = Some(NoOtherEnd::Broken(why)),
            }
        }
        if let Some(why) = failed {
            self.link = self.give_up(why);
        }
        if let Some(key) = probe_key {
            self.open_probes(key);
        }
    }

    /// Tells what the other end said.
    fn tell(self) {
        // The totals come first, and some of this rests on them.
        self.context.reporter.flush();
        let flows = std::mem::take(&mut self.shared.lock().flows);
        let reporter = &self.context.reporter;
        let ended = self.shared.lock().ended;
        // A test without flows had no server, and one that failed has its reasons told.
        let complete = ended == Some(TrafficEnd::InOrder);
        let ran = !self.shared.following.totals().is_empty();
        if matches!(self.link, Link::None) && complete && ran {
            reporter.event(Event::NoOtherEnd(NoOtherEnd::NotRecognised));
        }
        let fit = self.clocks.fit();
        let clock = self.estimate();
        if let Some(clock) = clock {
            reporter.event(Event::Clocks(clock));
        }
        let probes = self.probes.as_ref();
        if let Some(latency) = probes.and_then(|probes| probes.probing.result(fit.as_ref())) {
            reporter.event(Event::LoadedLatency(Box::new(latency)));
        }
        let Some(results) = &self.results else {
            return;
        };
        let program = self.server.clone().map(far_side::shown);
        let other = far_side::other_end(results, &flows, program);
        let delays = fit.zip(clock).map_or_else(Vec::new, |(fit, clock)| {
            one_way::delays(&other, &self.shared.following.totals(), &fit, clock)
        });
        reporter.event(Event::OtherEnd(Box::new(other)));
        for delay in delays {
            reporter.event(Event::OneWayDelay(delay));
        }
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        let fit = self.clocks.fit()?;
        let end = self.ended.unwrap_or(self.began);
        Some(far_side::estimate(&fit, self.began, end))
    }
}

/// The server's counters, with its processor use since the ones before.
fn so_far(before: &Progress, now: &Progress) -> OtherProgress {
    let elapsed = now.elapsed.saturating_sub(before.elapsed);
    let processor = now.processor.saturating_sub(before.processor);
    OtherProgress {
        elapsed: Duration::from_nanos(now.elapsed),
        bytes: now.bytes,
        datagrams: now.datagrams,
        flows: now.flows,
        cpu_percent: (elapsed > 0 && processor > 0)
            .then(|| processor as f64 / elapsed as f64 * 100.0),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
