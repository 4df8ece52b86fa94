//! A test on an iperf3 server, from its parameters to its results.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, Role, Transport};
use tapeline_report::{
    ControlConnected, ControlPeer, Event, Notice, PeerOutput, TestEnd, TestFailure, TestStart,
    iperf3_output,
};
use tapeline_sys::{
    Events, Handle, Interest, Pollable, Poller, SocketOptions, StreamProtocol, SystemClock,
    TcpConn, TcpListener, Wait, reason, run_on_processor,
};
use tapeline_wire::iperf3::{
    Cookie, Direction, ErrorCode, Parameters, Protocol, Results, ServerOutput,
};

use super::client_control::ControlFailure;
use super::peer_results;
use super::registry::{Registry, UdpTurn};
use super::server_control::{ServerControl, ServerStep};
use super::service::Test;
use super::stream_set::StreamSet;
use super::streams::{ByteCounters, Link, Traffic, check_buffers};
use super::test_limits::Bounds;
use super::test_setup::{
    CpuClock, block_length, congestion, control_failure, empty_end, failure, flows, results,
    shown_version, socket_options, test_file, test_start,
};
use crate::run::context::Context;
use crate::run::control_socket::keep_alive;
use crate::sampler::FlowRows;

const CONTROL: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
const SCTP: u64 = 3;
/// Time for the parameters.
const PARAMETERS_LIMIT: Duration = Duration::from_secs(10);
/// Time by which a test may outlast what was agreed, as the reference's.
const GRACE: Duration = Duration::from_secs(40);
/// Time for a peer to take an answer.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// Time for data that was sent before the end was announced, where the amount was agreed.
const LAST_DATA: Duration = Duration::from_secs(1);
/// Time without data by which a file that is received is complete.
const SILENCE: Duration = Duration::from_millis(100);
/// Time for streams to follow the stop flag.
const CLOSING: Duration = Duration::from_secs(5);
/// How often the rate of a limited test is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A UDP test's right to await its streams.
enum Turn {
    /// Not needed now.
    Idle,
    /// Another test of this client has it.
    Awaited,
    /// Had until it is dropped.
    Had { _turn: UdpTurn },
}

/// How a control connection ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionEnd {
    /// A client has said what it wants, and was not rejected for who it is.
    pub(crate) asked: bool,
    pub(crate) failed: bool,
}

/// A test while it is served.
pub(crate) struct Session<'a> {
    test: &'a Test,
    context: &'a Arc<Context>,
    control: ServerControl,
    poller: Poller,
    parameters: Parameters,
    /// The parameters are here.
    asked: bool,
    length: u32,
    set: StreamSet,
    turn: Turn,
    /// Where the streams of an SCTP test come in, until all are there.
    sctp: Option<SctpDoor>,
    /// The answer to a failing login is due then.
    refusal_due: Option<MonoTime>,
    cpu: CpuClock,
    their_results: Option<Results>,
    /// The test was announced.
    announced: bool,
    /// It was logged which limit it would exceed.
    refusal_logged: bool,
    /// What is reported before traffic.
    opening: Vec<Event>,
    /// The streams' rows, where the client wants to see them.
    rows: Option<Arc<FlowRows>>,
    /// Until when the test's next step must be here.
    due: Option<MonoTime>,
    /// What it may have.
    bounds: Bounds<'a>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(test: &'a Test) -> Option<Self> {
        let context = &test.service.context;
        let mut poller = Poller::new().ok()?;
        poller.register(&*test.conn, CONTROL, Interest::READ).ok()?;
        poller.register(&test.waker, WAKER, Interest::READ).ok()?;
        let interruption = context.interruption.waker();
        poller
            .register(interruption, INTERRUPTION, Interest::READ)
            .ok()?;
        let _ = test.conn.set_nodelay(true);
        let _ = test.conn.set_send_timeout(Some(SEND_LIMIT));
        if let Err(error) = keep_alive(&test.conn, test.service.plan.timeouts.keepalive) {
            let what = format!("--cntl-ka: {}", reason(&error));
            context.notice(Notice::Text(what));
        }
        let connected = Event::ControlConnected(ControlConnected {
            test: test.number,
            peer: ControlPeer::Accepted(test.peer),
            at: context.wall(),
            cookie: test.expected.cookie.text().to_owned(),
            segment_size: None,
            request: None,
        });
        let announced = test.service.plan.reports_each;
        if announced {
            context.reporter.event(connected.clone());
        }
        Some(Self {
            announced,
            refusal_logged: false,
            opening: vec![connected],
            rows: None,
            test,
            context,
            control: ServerControl::new(),
            poller,
            parameters: Parameters::default(),
            asked: false,
            length: 0,
            set: StreamSet::new(context.stop().child()),
            turn: Turn::Idle,
            sctp: None,
            refusal_due: None,
            cpu: CpuClock::start(context),
            their_results: None,
            due: Some(context.now() + PARAMETERS_LIMIT),
            bounds: Bounds::new(&test.service, test.peer.ip()),
        })
    }

    /// Serves the test to its end and reports it.
    pub(crate) fn serve(mut self) -> SessionEnd {
        let failure = self.drive().err();
        self.set.stop.raise();
        self.set.gather(CLOSING);
        for stream in &self.set.streams {
            if let Link::Tcp(conn) = &stream.link {
                let _ = conn.shutdown_both();
            }
        }
        let mut end = self.own_end(failure.clone());
        if let Some(results) = &self.their_results {
            let omits = self.parameters.omit > 0;
            peer_results::report(results, &self.set.ended, omits, &mut end);
        }
        end.peer_tapeline = self.parameters.tapeline.as_deref().map(shown_version);
        if let Some(failure) = &failure
            && !self.announced
            && !self.refusal_logged
        {
            let reason = format!("iperf3: {}", failure.text);
            self.test.service.refusals().refused(self.test.peer, reason);
        }
        // Whoever learns of the end may count on the place.
        self.test.service.registry.leave(&self.test.expected);
        self.bounds.release_slot();
        if self.announced {
            self.context.reporter.event(Event::TestEnd(Box::new(end)));
        }
        let rejected = |failure: &TestFailure| failure.code == ErrorCode::AUTHENTICATION.0;
        SessionEnd {
            asked: self.asked && !failure.as_ref().is_some_and(rejected),
            failed: failure.is_some(),
        }
    }

    fn drive(&mut self) -> Result<(), TestFailure> {
        let mut events = Events::with_capacity(8);
        loop {
            while let Some(step) = self.control.next() {
                if self.obey(step)? {
                    return Ok(());
                }
            }
            if self.context.stop().is_raised() {
                self.control.terminate();
                self.flush();
                return Err(failure(ErrorCode::SERVER_TERMINATED, None));
            }
            if self.test.expected.is_given_up() {
                self.control.deny();
                continue;
            }
            if let Some(links) = self.test.expected.take_complete() {
                self.begin_streams(links);
                continue;
            }
            self.set.take_ends();
            if self.set.ended.values().any(|end| end.starved) {
                self.control.refuse(ErrorCode::RECEIVE_TIMEOUT, 0);
                continue;
            }
            let now = self.context.now();
            self.keep_bounds(now);
            if self.refusal_due.is_some_and(|due| now >= due) {
                self.refusal_due = None;
                self.control.refuse(ErrorCode::AUTHENTICATION, 0);
                continue;
            }
            if matches!(self.turn, Turn::Awaited) {
                self.admit();
                if !matches!(self.turn, Turn::Awaited) {
                    continue;
                }
            }
            if self.due.is_some_and(|due| now >= due) {
                let code = if self.set.traffic.is_some() {
                    ErrorCode::TEST_EXPIRED
                } else {
                    ErrorCode::RECEIVE_PARAMETERS
                };
                self.control.refuse(code, 0);
                continue;
            }
            let limited = self.bounds.is_watched() && self.set.traffic.is_some();
            let look = limited.then(|| now + POLL_INTERVAL);
            let times = self.due.into_iter().chain(look).chain(self.refusal_due);
            let wait = match times.min() {
                Some(due) => Wait::AtMost(due.since(now)),
                None => Wait::Forever,
            };
            self.poller
                .wait(&mut events, wait)
                .map_err(|error| failure(ErrorCode(118), Some(&reason(&error))))?;
            self.test.waker.drain();
            if let Some(door) = &self.sctp {
                door.take_all(&self.test.service.registry);
            }
            self.read_control();
        }
    }

    fn read_control(&mut self) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.test.conn.recv_nonblocking(&mut buffer) {
                Ok(0) => return self.control.closed(),
                Ok(count) => self.control.received(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => return self.control.closed(),
            }
        }
    }

    /// Sends what is still to be said.
    fn flush(&mut self) {
        while let Some(step) = self.control.next() {
            if let ServerStep::Send(bytes) = step {
                let _ = self.test.conn.send_all(&bytes);
            }
        }
    }

    /// Does what a step asks for; returns whether the test has ended in order.
    fn obey(&mut self, step: ServerStep) -> Result<bool, TestFailure> {
        match step {
            ServerStep::Send(bytes) => self
                .test
                .conn
                .send_all(&bytes)
                .map_err(|error| failure(ErrorCode(107), Some(&reason(&error))))?,
            ServerStep::Parameters(parameters) => self.decide(*parameters),
            ServerStep::Run => self.run_streams(),
            ServerStep::Stop => {
                self.finish_streams();
                self.due = Some(self.context.now() + self.test.service.plan.timeouts.message);
                self.control.stopped();
            }
            ServerStep::TheirResults(theirs) => {
                self.their_results = Some(theirs);
                let sends = self.parameters.direction != Direction::Forward;
                let mut own = results(
                    &self.parameters,
                    sends,
                    self.cpu.usage(self.context),
                    congestion(&self.set.streams),
                    &self.set.ended,
                );
                own.server_output = self.output();
                // Who does not say that it is tapeline gets what iperf3 would send.
                let knows = self.parameters.tapeline.is_some();
                own.tapeline = knows.then(|| env!("CARGO_PKG_VERSION").to_owned());
                self.control.results(&own);
            }
            ServerStep::Finished => {
                let _ = self.test.conn.shutdown_write();
                return Ok(true);
            }
            ServerStep::Failed(ControlFailure::Terminated) => {
                return Err(failure(ErrorCode::CLIENT_TERMINATED, None));
            }
            ServerStep::Failed(reason) => return Err(control_failure(reason)),
        }
        Ok(false)
    }

    /// Admits a test, or says why not.
    fn decide(&mut self, parameters: Parameters) {
        self.asked = true;
        self.length = block_length(&parameters, None);
        self.set.peer_version = parameters.client_version.as_deref().map(shown_version);
        self.parameters = parameters;
        if let Some(gate) = &self.test.service.gate {
            let now = self.context.wall().as_nanos().div_euclid(1_000_000_000);
            let token = self.parameters.auth_token.as_deref();
            if !gate.admits(token, now) {
                // As late for every reason: the time of the answer shows nothing.
                let pause = gate.pause(self.test.peer.ip(), self.context.now());
                let due = self.context.now() + pause;
                (self.refusal_due, self.due) = (Some(due), None);
                return;
            }
        }
        if let Some(code) = self.bounds.refusal(&self.parameters) {
            return self.control.refuse(code, 0);
        }
        // Of this test's threads alone: others of the same server are not moved.
        if let Some(processor) = self.parameters.server_affinity
            && let Err(error) = run_on_processor(processor)
        {
            let errno = error
                .raw_os_error()
                .and_then(|code| u32::try_from(code).ok());
            return self.control.refuse(ErrorCode::AFFINITY, errno.unwrap_or(0));
        }
        if let Err(refusal) = self.bounds.acquire_slot(&self.parameters, self.length) {
            let (peer, reason) = (self.test.peer, refusal.to_string());
            self.test.service.refusals().refused(peer, reason);
            self.refusal_logged = true;
            return self.control.deny();
        }
        let service = &self.test.service;
        if !service
            .registry
            .admit(&self.test.expected, service.max_tests())
        {
            return self.control.deny();
        }
        self.due = Some(self.context.now() + self.test.service.plan.timeouts.message);
        self.admit();
    }

    /// Lets the client open its streams; a UDP test when it is its turn.
    fn admit(&mut self) {
        let parameters = &self.parameters;
        let count = parameters.connections() as usize;
        let transport = match parameters.protocol {
            Protocol::Udp => Transport::Udp,
            Protocol::Tcp | Protocol::Sctp => Transport::Tcp,
        };
        if transport == Transport::Udp {
            let test = self.test;
            let registry = &test.service.registry;
            let Some(turn) = registry.udp_turn(test.expected.client, &test.waker) else {
                self.turn = Turn::Awaited;
                return;
            };
            self.turn = Turn::Had { _turn: turn };
        }
        if parameters.protocol == Protocol::Sctp
            && let Err(error) = self.open_sctp()
        {
            let errno = error
                .raw_os_error()
                .and_then(|code| u32::try_from(code).ok());
            return self
                .control
                .refuse(ErrorCode::STREAM_LISTEN, errno.unwrap_or(0));
        }
        self.test.expected.await_streams(transport, count);
        self.control.admit();
    }

    fn open_sctp(&mut self) -> std::io::Result<()> {
        let door = SctpDoor::open(self.test.conn.local_addr()?)?;
        self.poller.register(&door, SCTP, Interest::READ)?;
        self.sctp = Some(door);
        Ok(())
    }

    fn begin_streams(&mut self, links: Vec<Link>) {
        self.turn = Turn::Idle;
        for link in &links {
            self.set_options(link);
        }
        if let Some(first) = links.first() {
            let short = self.test.service.plan.short_buffers;
            let checked = check_buffers(first.buffers(), &self.parameters, short, self.context);
            if let Err(code) = checked {
                return self.control.refuse(code, 0);
            }
        }
        if !std::mem::replace(&mut self.announced, true) {
            for event in &self.opening {
                self.context.reporter.event(event.clone());
            }
        }
        if let Some(door) = self.sctp.take() {
            let _ = self.poller.deregister(&door);
        }
        for (index, link) in links.into_iter().enumerate() {
            let sends = match self.parameters.direction {
                Direction::Forward => false,
                Direction::Reverse => true,
                Direction::Bidirectional => index >= self.parameters.parallel as usize,
            };
            self.add_stream(sends, link);
        }
        let start = TestStart {
            test: self.test.number,
            flows: flows(&self.set.streams),
            role: Role::Server,
            buffers: self.set.buffers(),
            file: test_file(self.test.service.plan.file.as_deref()),
            ..test_start(
                &self.parameters,
                self.length,
                self.test.service.plan.interval,
            )
        };
        self.report(Event::TestStart(Box::new(start)));
        if self.parameters.server_output {
            let flows = self.set.streams.iter().map(|stream| stream.tag).collect();
            self.rows = Some(self.context.reporter.keep_rows(flows));
        }
        self.control.streams_ready();
    }

    fn report(&mut self, event: Event) {
        self.opening.push(event.clone());
        self.context.reporter.event(event);
    }

    /// The end as far as this end knows it.
    fn own_end(&self, failure: Option<TestFailure>) -> TestEnd {
        let mut end = TestEnd {
            cpu: self.cpu.usage(self.context),
            failure,
            ..empty_end(self.test.number)
        };
        let own = congestion(&self.set.streams);
        match self.parameters.direction {
            Direction::Forward => end.receiver_congestion = own,
            Direction::Reverse | Direction::Bidirectional => end.sender_congestion = own,
        }
        end
    }

    /// What a client that asked for it is shown of this end.
    fn output(&self) -> Option<ServerOutput> {
        let rows = self.rows.as_ref()?.rows().into_iter().map(Event::Row);
        let end = Event::TestEnd(Box::new(self.own_end(None)));
        let events: Vec<Event> = self
            .opening
            .iter()
            .cloned()
            .chain(rows)
            .chain([end])
            .collect();
        let form = &self.test.service.plan.output;
        Some(match iperf3_output(&events, form) {
            PeerOutput::Text(text) => ServerOutput::Text(text),
            PeerOutput::Json(json) => ServerOutput::Json(json),
        })
    }

    fn add_stream(&mut self, sends: bool, link: Link) {
        let own = |address: std::io::Result<SocketAddr>| {
            tapeline_sys::unmapped(address.unwrap_or(self.test.peer))
        };
        let [local, peer] = link.addresses();
        let ends = (own(local), own(peer));
        let line = self.set.add(self.context, sends, link, ends);
        self.report(line);
    }

    /// What the client asks of sockets. A refusal leaves the system's choice, as the reference
    /// does, but is logged. The connection exists already: its MSS is the smaller of both ends'
    /// wishes, of which the client made its own before.
    fn set_options(&self, link: &Link) {
        let user_timeout = self.test.service.plan.timeouts.send;
        let options = socket_options(&self.parameters, user_timeout);
        let refused = match link {
            Link::Tcp(conn) => conn.set(&options),
            Link::Udp(socket) => socket.set(&options),
        };
        for failure in refused {
            let what = format!("the system refused an option that the client requested: {failure}");
            self.context.notice(Notice::Remark(what));
        }
    }

    fn run_streams(&mut self) {
        let start = self.context.now();
        self.cpu = CpuClock::start(self.context);
        let plan = &self.test.service.plan;
        let traffic = Traffic {
            context: Arc::clone(self.context),
            parameters: self.parameters.clone(),
            length: self.length,
            share: self.bounds.grant.share(self.parameters.parallel),
            interval: plan.interval,
            start,
            decides: false,
            idle_timeout: plan.timeouts.receive,
            stalled: plan.timeouts.stalled,
            window: None,
            window_clamp: None,
            file: plan.file.clone(),
            stop: self.set.stop.clone(),
            sums: self.set.sums(&self.context.reporter),
            byte_counters: ByteCounters::default(),
            over: Arc::default(),
        };
        self.set.run(traffic, &self.test.waker);
        let agreed = u64::from(self.parameters.time) + u64::from(self.parameters.omit);
        self.due = if self.parameters.time > 0 {
            Some(start + Duration::from_secs(agreed) + GRACE)
        } else {
            // Nothing was agreed: who is foreign is cut.
            self.bounds.grant.time.map(|longest| start + longest)
        };
    }

    /// Ends a test that has had more than it may.
    fn keep_bounds(&mut self, now: MonoTime) {
        if let Some(traffic) = &self.set.traffic
            && let Some(code) = self.bounds.exceeded(traffic, now)
        {
            self.control.refuse(code, 0);
        }
    }

    /// Stops the streams. Where an amount was agreed, what was sent before is read first.
    fn finish_streams(&mut self) {
        let receives = self.parameters.direction != Direction::Reverse;
        let amount = self.set.traffic.as_ref().and_then(Traffic::amount);
        if receives && self.test.service.plan.file.is_some() {
            self.await_silence();
        }
        let byte_counters = self
            .set
            .traffic
            .as_ref()
            .map(|run| run.byte_counters.clone());
        if let (Some(byte_counters), Some(amount), true) = (byte_counters, amount, receives) {
            let until = self.context.now() + LAST_DATA;
            while byte_counters.received() < amount && self.context.now() < until {
                self.set.await_end(Duration::from_millis(1));
            }
        }
        if let Some(traffic) = &self.set.traffic {
            let _ = traffic.over.set(self.context.now());
        }
        self.set.stop.raise();
        self.set.gather(CLOSING);
        // As the reference, before the results: a client that reads whole blocks would wait for
        // the rest of one.
        for stream in self.set.streams.iter().filter(|stream| stream.sends) {
            if let Link::Tcp(conn) = &stream.link {
                let _ = conn.shutdown_write();
            }
        }
    }

    /// Reads what is on its way to a file: it is to be complete.
    fn await_silence(&self) {
        let Some(traffic) = &self.set.traffic else {
            return;
        };
        let until = self.context.now() + LAST_DATA;
        let mut before = None;
        while self.context.now() < until && before != Some(traffic.byte_counters.received()) {
            before = Some(traffic.byte_counters.received());
            std::thread::sleep(SILENCE);
        }
    }
}

/// Time for a stream's cookie, once it is connected.
const COOKIE_LIMIT: Duration = Duration::from_secs(10);
/// Streams that wait to be taken.
const BACKLOG: i32 = 256;

/// Takes streams while a test opens them.
#[derive(Debug)]
pub(crate) struct SctpDoor {
    listener: TcpListener,
}

impl SctpDoor {
    /// Listens where the control connection arrived.
    ///
    /// # Errors
    /// The system's: it has no SCTP, or another test opens its streams.
    pub(crate) fn open(local: SocketAddr) -> io::Result<Self> {
        let options = SocketOptions {
            protocol: StreamProtocol::Sctp,
            reuse_address: true,
            ..SocketOptions::default()
        };
        let opened = TcpListener::bind(local, &options, BACKLOG).map_err(|error| error.source)?;
        Ok(Self {
            listener: opened.socket,
        })
    }

    /// Hands the streams that are there to their test.
    pub(crate) fn take_all(&self, registry: &Registry) {
        while let Ok(Some((conn, _))) = self.listener.accept() {
            if let Some(cookie) = cookie(&conn) {
                let accepted = SystemClock.now();
                let _ = registry.claim_tcp(&cookie, accepted, Link::Tcp(Arc::new(conn)));
            }
        }
    }
}

impl Pollable for SctpDoor {
    fn handle(&self) -> Handle<'_> {
        self.listener.handle()
    }
}

/// What a stream begins with; a whole one, since it was sent as one message.
fn cookie(conn: &TcpConn) -> Option<Cookie> {
    let mut bytes = [0; Cookie::LENGTH];
    let ready = conn.wait_ready(Interest::READ, Wait::AtMost(COOKIE_LIMIT));
    let count = ready
        .ok()
        .and_then(|_| conn.recv_nonblocking(&mut bytes).ok())?;
    (count == bytes.len()).then(|| Cookie::parse(&bytes).ok())?
}
