//! A client's test whose server may be tapeline: its mark, its flows, and what the server answers
//! on them.
//!
//! A thread keeps the control connection, from the server's first answer to what it has to say of the test.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MutexExt, Tos, WallTime};
use tapeline_engine::Stop;
use tapeline_report::{ClockEstimate, Event, NoPeerResults, Notice, PeerProgress, Subject};
use tapeline_stats::ClockLine;
use tapeline_sys::{
    Events, Interest, Poller, SocketOptions, TcpConn, UdpSocket, Wait, Waker, reason,
};
use tapeline_wire::native::{About, Granted, Mark, Program, Progress, Refusal, Results, VERSIONS};

use super::client_control::{ClientControl, ClientStep};
use super::local_results::{Detail, HostUsage, OwnFlow};
use super::probing::ProbeFlow;
use super::recognition::{Answer, AnswerWatch, LentSocket, Watched};
use super::test_registry::draw;
use super::{affinity, cutoff, local_results, one_way_delay, peer_results};
use crate::run::context::Context;
use crate::sampler::FlowTotals;

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
    pub(crate) fn new(failed: bool, context: &Context) -> Self {
        match (context.stop().is_raised(), failed) {
            (true, _) => Self::Interrupted,
            (false, true) => Self::Failed,
            (false, false) => Self::InOrder,
        }
    }
}

/// How far a test is.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) flows: Vec<OwnFlow>,
    /// Sockets that the thread has not taken over yet.
    pub(crate) watched: Vec<(FlowId, Watched)>,
    /// How the traffic has ended.
    pub(crate) ended: Option<TrafficEnd>,
    /// The server that has refused the test.
    pub(crate) refused: Option<(SocketAddr, Refusal)>,
}

impl State {
    /// The first flow on which the server has answered.
    pub(crate) fn recognised(&self) -> Option<OwnFlow> {
        self.flows.iter().find(|flow| flow.token.is_some()).cloned()
    }
}

/// What a test shares with the thread that keeps its control connection.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) number: NonZeroU32,
    pub(crate) totals: Arc<FlowTotals>,
    pub(crate) waker: Waker,
    state: Mutex<State>,
    /// Ends the test's flows.
    pub(crate) stop: Stop,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock_unpoisoned()
    }

    /// A flow begins.
    fn add(&self, flow: OwnFlow) {
        for tag in flow.tags() {
            self.totals.add(tag);
        }
        self.lock().flows.push(flow);
    }

    /// The server has answered on a flow.
    pub(crate) fn answered(&self, id: FlowId, answer: Answer) {
        let mut state = self.lock();
        let State { flows, refused, .. } = &mut *state;
        let own = |flow: &&mut OwnFlow| flow.tags().any(|tag| tag.id == id);
        let Some(flow) = flows.iter_mut().find(own) else {
            return;
        };
        match answer {
            Answer::Taken(mark) if flow.token.is_none() => flow.token = Some(mark.number),
            // Without a part of its flows a test is another one. Nobody else knows its number.
            Answer::Refused(refusal) if refusal.test == self.number => {
                refused.get_or_insert((flow.peer, refusal));
                self.stop.raise();
            }
            Answer::Taken(_) | Answer::Refused(_) => return,
        }
        drop(state);
        self.waker.wake();
    }

    fn is_refused(&self) -> bool {
        self.lock().refused.is_some()
    }
}

/// A client's test that can be recognised.
#[derive(Debug)]
pub(crate) struct ClientTest {
    shared: Arc<Shared>,
    thread: JoinHandle<bool>,
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
    /// Lent to the thread while nobody else reads.
    socket: Option<LentSocket>,
}

impl FlowAnswers {
    /// Takes bytes from the server; returns whether they are its answer, and so no data.
    pub(crate) fn observe(&self, bytes: &[u8]) -> bool {
        let answer = Answer::parse(bytes);
        if let Some(answer) = answer {
            self.shared.answered(self.id, answer);
        }
        answer.is_some()
    }

    /// An answer that was read already.
    pub(crate) fn answered(&self, answer: Answer) {
        self.shared.answered(self.id, answer);
    }

    /// Whether the server does not run the test.
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.is_refused()
    }

    /// From now on the flow reads its socket itself.
    pub(crate) fn take_over(&self) {
        if let Some(socket) = &self.socket {
            socket.take_back();
        }
    }
}

impl ClientTest {
    /// Begins to listen for answers; `stop` ends the test's flows, the server's threads are to run
    /// on the CPU `affinity`, where round trips are measured next to the flows, `probes` is their
    /// type of service; `number` is the test's, if it has one already. Without a thread there is
    /// none, and the test goes on without.
    pub(crate) fn begin(
        context: &Arc<Context>,
        options: SocketOptions,
        stop: &Stop,
        affinity: Option<u32>,
        probes: Option<Tos>,
        number: Option<NonZeroU32>,
    ) -> Option<Self> {
        let shared = Arc::new(Shared {
            number: number.unwrap_or_else(draw),
            totals: context.reporter.follow_totals(),
            waker: Waker::new().ok()?,
            state: Mutex::default(),
            stop: stop.clone(),
        });
        let (own, context) = (Arc::clone(&shared), Arc::clone(context));
        let thread = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                let session = Session::new(own, context, options, affinity, probes);
                session.is_some_and(Session::run)
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

    /// Whether the server does not run the test.
    pub(crate) fn is_refused(&self) -> bool {
        self.shared.is_refused()
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
        let lent = LentSocket::new(Arc::clone(socket));
        answers.socket = Some(lent.clone());
        self.watch(answers.id, Watched::Udp(lent));
    }

    fn watch(&self, id: FlowId, watched: Watched) {
        self.shared.lock().watched.push((id, watched));
        self.shared.waker.wake();
    }

    /// The traffic has ended and was reported: what the peer has to say is reported too. Returns whether
    /// it has cut the test.
    pub(crate) fn finish(self, end: TrafficEnd) -> bool {
        self.shared.lock().ended = Some(end);
        self.shared.waker.wake();
        self.thread.join().unwrap_or(false)
    }
}

const WAKER: u64 = u64::MAX;
const CONTROL: u64 = u64::MAX - 1;
const PROBES: u64 = u64::MAX - 2;
/// Time for the control connection to be established.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait between two looks at the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Largest read of the control connection.
const READ: usize = 16 << 10;

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
    /// There is none any more, and it was logged why.
    Over,
}

/// The thread's part.
pub(crate) struct Session {
    shared: Arc<Shared>,
    context: Arc<Context>,
    options: SocketOptions,
    poller: Poller,
    answers: AnswerWatch,
    link: Link,
    /// The CPU that the server's threads are to run on, if one was chosen.
    affinity: Option<u32>,
    /// The flows' type of service, where round trips next to the traffic are wanted.
    probe_class: Option<Tos>,
    probes: Option<ProbeFlow>,
    clocks: ClockLine,
    /// The server, when it has welcomed this client.
    server: Option<Program>,
    /// What it lets the test have.
    granted: Granted,
    /// Its last counters.
    progress: Progress,
    results: Option<Box<Results>>,
    before: HostUsage,
    began: WallTime,
    ended: Option<WallTime>,
    /// The server was notified that the test ends early.
    stopped: bool,
    /// It was logged that the server refuses the test.
    refused: bool,
}

impl Session {
    /// Nothing when the process is out of descriptors.
    pub(crate) fn new(
        shared: Arc<Shared>,
        context: Arc<Context>,
        options: SocketOptions,
        affinity: Option<u32>,
        probe_class: Option<Tos>,
    ) -> Option<Self> {
        Some(Self {
            poller: Poller::new().ok()?,
            answers: AnswerWatch::default(),
            link: Link::None,
            affinity,
            probe_class,
            probes: None,
            clocks: ClockLine::new(),
            server: None,
            granted: Granted::default(),
            progress: Progress::default(),
            results: None,
            before: HostUsage::now(&context),
            began: context.wall(),
            ended: None,
            stopped: false,
            refused: false,
            shared,
            context,
            options,
        })
    }

    /// Returns whether the server has cut the test.
    pub(crate) fn run(mut self) -> bool {
        let mut events = Events::with_capacity(16);
        let shared = Arc::clone(&self.shared);
        if self
            .poller
            .register(&shared.waker, WAKER, Interest::READ)
            .is_err()
        {
            return false;
        }
        loop {
            let new = std::mem::take(&mut self.shared.lock().watched);
            self.answers.take_over(&mut self.poller, new);
            self.follow_test();
            self.report_refusal();
            self.drive();
            self.probe();
            if self.is_over() {
                break;
            }
            let wait = self.wait();
            if self.poller.wait(&mut events, wait).is_err() {
                break;
            }
            for event in events.iter() {
                match event.token {
                    WAKER => shared.waker.drain(),
                    CONTROL => self.receive(),
                    PROBES => self.receive_replies(),
                    token => {
                        let found = self.answers.look(&mut self.poller, token, event.error);
                        if let Some((id, answer)) = found {
                            self.shared.answered(id, answer);
                        }
                    }
                }
            }
        }
        self.report()
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
        Wait::AtMost(due.map_or(POLL_INTERVAL, |due| due.since(now).min(POLL_INTERVAL)))
    }

    /// Connects when the first answer is there; says what became of the test.
    fn follow_test(&mut self) {
        let (first, ended) = {
            let state = self.shared.lock();
            (state.recognised(), state.ended)
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
                control.stop(if self.context.interruption.is_concluded() {
                    ""
                } else {
                    "the client was interrupted"
                });
            }
            if let Some(end) = ended
                && !control.is_finished()
            {
                // The totals of all flows are on their way to the reporter.
                self.context.reporter.flush();
                let flows = self.shared.lock().flows.clone();
                let around = HostUsage::now(&self.context).since(&self.before);
                let totals = &self.shared.totals;
                let own = local_results::results(&flows, totals, &around, Detail::ForServer);
                control.finish(end == TrafficEnd::Interrupted, &own, now);
            }
        }
    }

    /// Logs that the server does not run the test, once.
    fn report_refusal(&mut self) {
        let refused = self.shared.lock().refused;
        if let Some((peer, refusal)) = refused.filter(|_| !self.refused) {
            self.refused = true;
            let seconds = refusal.retry_seconds.map(|seconds| seconds.get().into());
            self.context.notice(Notice::TestRefused {
                peer,
                reason: refusal.reason.to_string(),
                retry_after: seconds.map(Duration::from_secs),
            });
        }
    }

    fn connect(&mut self, flow: &OwnFlow, token: NonZeroU32) -> Link {
        let mut local = flow.local;
        local.set_port(0);
        let limit = Some(CONNECT_LIMIT);
        let conn = match TcpConn::connect(flow.peer, Some(local), &self.options, limit) {
            Ok(connected) => connected.conn,
            Err(error) => return self.give_up(NoPeerResults::Unreachable(error.reason())),
        };
        let _ = conn.set_nodelay(true);
        if let Err(error) = self.poller.register(&conn, CONTROL, Interest::READ) {
            return self.give_up(NoPeerResults::Unreachable(reason(&error)));
        }
        let now = self.context.now();
        Link::Open {
            control: Box::new(ClientControl::new(
                self.shared.number,
                token,
                About {
                    client: local_results::own_program(),
                    cpu: self.affinity,
                },
                now,
            )),
            conn,
            unsent: Vec::new(),
        }
    }

    fn give_up(&self, why: NoPeerResults) -> Link {
        self.context.reporter.event(Event::NoPeerResults(why));
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
        let first = self.shared.lock().recognised();
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
        let so_far = self.shared.totals.so_far();
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
                ClientStep::Found(program, key, _) => {
                    probe_key = key;
                    self.server = Some(program.clone());
                    let found = Event::PeerFound {
                        program: peer_results::shown(program),
                        flows: Vec::new(),
                    };
                    self.context.reporter.event(found);
                }
                ClientStep::Granted(granted) => self.granted = granted,
                ClientStep::Progress(progress) => {
                    let so_far = so_far(&self.progress, &progress);
                    self.progress = progress;
                    self.context.reporter.event(Event::PeerProgress(so_far));
                }
                ClientStep::Exchange(exchange) => self.clocks.observe(&exchange),
                ClientStep::Results(results) => self.results = Some(results),
                ClientStep::Stop(why) => {
                    let words = format!("the server ended the test: {why}");
                    self.context.notice(Notice::Text(words));
                    self.shared.stop.raise();
                }
                ClientStep::Refused(why) => failed = Some(NoPeerResults::Refused(why)),
                // With the results here, nothing is missing but some host_usages of the clock.
                ClientStep::Broken(_) if self.results.is_some() => {}
                ClientStep::Broken(why) => failed = Some(NoPeerResults::Broken(why)),
                // An ordinary test orders nothing, and takes no answers to it.
                ClientStep::Ready(_)
                | ClientStep::Declined(_)
                | ClientStep::Status(_)
                | ClientStep::Sample(_)
                | ClientStep::Done(_) => {}
            }
        }
        if let Some(why) = failed {
            self.link = self.give_up(why);
        }
        if let Some(key) = probe_key {
            self.open_probes(key);
        }
    }

    /// Logs that the server has cut the test, if it has.
    fn report_cutoff(&self, flows: &[OwnFlow], failed: bool) -> bool {
        let totals = self.shared.totals.totals();
        let cut = totals.iter().find_map(|total| {
            let Subject::Flow(tag) = total.subject else {
                return None;
            };
            let flow = flows
                .iter()
                .find(|flow| flow.tags().any(|own| own == tag))?;
            let sends = flow.sends == Some(tag);
            let same = |other: &&OwnFlow| other.sends.is_some() == sends;
            let streams = flows.iter().filter(same).count() as u64;
            let reason = cutoff::exceeded(self.granted, total, streams, failed)?;
            Some((flow.peer, reason))
        });
        let is_cut = cut.is_some();
        if let Some((peer, reason)) = cut {
            self.context.notice(Notice::TestCut { peer, reason });
        }
        is_cut
    }

    /// Reports what the peer said; returns whether it has cut the test.
    fn report(mut self) -> bool {
        // It may have come with the last bytes.
        self.report_refusal();
        // The totals come first, and some of this rests on them.
        self.context.reporter.flush();
        let flows = std::mem::take(&mut self.shared.lock().flows);
        let reporter = &self.context.reporter;
        let ended = self.shared.lock().ended;
        // A test without flows had no server, and one that failed has its reasons logged.
        let complete = ended == Some(TrafficEnd::InOrder);
        let ran = !self.shared.totals.totals().is_empty();
        if matches!(self.link, Link::None) && complete && ran {
            reporter.event(Event::NoPeerResults(NoPeerResults::NotRecognised));
            if self.affinity.is_some() {
                let words = "the server's CPU could not be chosen (--affinity): it does not say that it is tapeline";
                reporter.event(Event::Notice(Notice::Remark(words.to_owned())));
            }
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
        let is_cut = self.report_cutoff(&flows, ended == Some(TrafficEnd::Failed));
        let Some(results) = &self.results else {
            return is_cut;
        };
        if let Some(words) = self.affinity.and_then(|cpu| affinity::missed(results, cpu)) {
            reporter.event(Event::Notice(Notice::Remark(words)));
        }
        let program = self.server.clone().map(peer_results::shown);
        let other = peer_results::from_message(results, &flows, program);
        let delays = fit.zip(clock).map_or_else(Vec::new, |(fit, clock)| {
            one_way_delay::delays(&other, &self.shared.totals.totals(), &fit, clock)
        });
        reporter.event(Event::PeerResults(Box::new(other)));
        for delay in delays {
            reporter.event(Event::OneWayDelay(delay));
        }
        is_cut
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        let fit = self.clocks.fit()?;
        let end = self.ended.unwrap_or(self.began);
        Some(peer_results::estimate(&fit, self.began, end))
    }
}

/// The server's counters, with its processor use since the ones before.
fn so_far(before: &Progress, now: &Progress) -> PeerProgress {
    let elapsed = now.elapsed.saturating_sub(before.elapsed);
    let processor = now.processor.saturating_sub(before.processor);
    PeerProgress {
        elapsed: Duration::from_nanos(now.elapsed),
        bytes: now.bytes,
        datagrams: now.datagrams,
        flows: now.flows,
        cpu_percent: (elapsed > 0 && processor > 0)
            .then(|| processor as f64 / elapsed as f64 * 100.0),
    }
}
