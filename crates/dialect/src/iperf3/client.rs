//! The iperf3 client: one control connection, and the streams that the server asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{ExitCode, MonoTime, Role};
use tapeline_engine::Stop;
use tapeline_report::{ControlConnected, ControlPeer, Event, TestEnd, TestFailure, TestStart};
use tapeline_sys::{Events, Interest, Poller, SocketOptions, TcpConn, Wait, Waker, reason};
use tapeline_wire::iperf3::{Cookie, Direction, ErrorCode, Results};

use super::agreed::{
    CpuClock, block_length, congestion, control_failure, empty_end, failure, flows, request,
    results, test_file, test_start,
};
use super::client_control::{ClientControl, ClientStep};
use super::client_streams::{CONNECT_LIMIT, lacking_device, own_address, words};
use super::far_side;
use super::login::Login;
use super::meters::Meters;
use super::parting::{keep_alive, part_in_peace};
use super::plan::Iperf3Client;
use super::stream_set::StreamSet;
use super::streams::{Link, Traffic};
use super::tail::Beyond;
use crate::context::{Context, Interruption};
use crate::iperf2::{add_zone, look_up};
use crate::policy::Grant;
use crate::reporter::ReporterHandle;

/// A client runs one test.
const ONLY: u32 = 1;
const CONTROL: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
/// Time for the server to close after the last word.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often a receiver of an amount is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Silence by which an amount that did not arrive as a whole is over.
const SILENCE: Duration = Duration::from_secs(3);
/// Time for an agreed amount to reach the server's host.
const DELIVERY: Duration = Duration::from_secs(1);
/// Time for the server to read what has reached its host. It counts this time too, so that it is
/// no longer than the reference takes to notice an amount.
const LAST_READ: Duration = Duration::from_millis(10);
/// Token of the first data connection.
const STREAMS: u64 = 16;
/// Bytes discarded at a time.
const DISCARD: usize = 1 << 20;

/// Runs an iperf3 client's test to its end. Everything worth telling goes to `reporter`.
#[must_use]
pub fn run_iperf3_client(
    plan: &Iperf3Client,
    reporter: &ReporterHandle,
    interruption: &Interruption,
) -> ExitCode {
    let context = Context::new(reporter.clone(), interruption.clone(), plan.techniques);
    let failure = match Run::begin(plan, &context) {
        Ok(run) => run.finish(),
        Err(failure) => {
            let end = TestEnd {
                failure: Some(failure.clone()),
                ..empty_end(ONLY)
            };
            context.reporter.event(Event::TestEnd(Box::new(end)));
            Some(failure)
        }
    };
    match failure {
        None => ExitCode::Success,
        Some(failure) if failure.interrupted => ExitCode::Success,
        Some(_) => ExitCode::Failure,
    }
}

const NO_LOGIN: ErrorCode = ErrorCode(22);
const CANNOT_CONNECT: ErrorCode = ErrorCode(103);
const CANNOT_READ_CONTROL: ErrorCode = ErrorCode(108);
const NO_KEEPALIVE: ErrorCode = ErrorCode(155);
const CANNOT_WRITE_CONTROL: ErrorCode = ErrorCode(107);

/// A test between its first connection and its end.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Iperf3Client,
    pub(super) context: &'a Arc<Context>,
    pub(super) conn: TcpConn,
    pub(super) peer: SocketAddr,
    /// Told as soon as the server has not turned the client away.
    pub(super) greeting: Option<ControlConnected>,
    pub(super) control: ClientControl,
    pub(super) cookie: Cookie,
    pub(super) poller: Poller,
    pub(super) waker: Arc<Waker>,
    /// Bytes of a block or datagram.
    pub(super) length: u32,
    pub(super) set: StreamSet,
    pub(super) cpu: CpuClock,
    pub(super) their_results: Option<Results>,
    /// Until when the server's next message must be here.
    pub(super) due: Option<MonoTime>,
    /// The end has been told.
    pub(super) stopped: bool,
    /// What a test of an amount has received.
    pub(super) intake: Intake,
    /// What has come after the end.
    pub(super) beyond: Beyond,
}

/// How far a client is that receives an amount.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Intake {
    /// Bytes so far.
    bytes: u64,
    /// Those of the omitted start.
    omitted: u64,
    /// When the last of them came.
    last: MonoTime,
}

impl<'a> Run<'a> {
    fn begin(plan: &'a Iperf3Client, context: &'a Arc<Context>) -> Result<Self, TestFailure> {
        let not_started = |why: String| failure(CANNOT_CONNECT, Some(&why));
        let no_login = |why: String| TestFailure {
            text: why,
            ..failure(NO_LOGIN, None)
        };
        let login = plan.credentials.as_ref().map(Login::new).transpose();
        let login = login.map_err(no_login)?;
        let mut peer = look_up(&plan.host, plan.port, plan.family)
            .map_err(|notice| not_started(words(&notice)))?;
        add_zone(&mut peer, plan.device.as_deref()).map_err(|n| not_started(words(&n)))?;
        let local = own_address(plan, peer, None).map_err(&not_started)?;
        let options = SocketOptions {
            nodelay: true,
            device: plan.device.clone(),
            user_timeout: plan.patience.send,
            ..SocketOptions::default()
        };
        let limit = plan.connect_timeout;
        let waker = context.interruption.waker();
        let connected = TcpConn::connect_or_cancel(peer, local, &options, limit, waker)
            .map_err(|error| not_started(error.reason()))?;
        if let Some(why) = lacking_device(&connected.refused) {
            return Err(not_started(why));
        }
        let conn = connected.conn;
        keep_alive(&conn, plan.patience.keepalive)
            .map_err(|error| failure(NO_KEEPALIVE, Some(&reason(&error))))?;
        let random = std::hash::RandomState::new();
        let cookie = Cookie::from_random(std::array::from_fn(|index| {
            std::hash::BuildHasher::hash_one(&random, index) as u8
        }));
        let mut parameters = plan.parameters.clone();
        let length = block_length(&parameters, conn.mss());
        parameters.length = Some(length);
        let greeting = ControlConnected {
            test: ONLY,
            peer: ControlPeer::ConnectingTo {
                host: plan.host.clone(),
                port: plan.port,
            },
            at: context.wall(),
            cookie: cookie.text().to_owned(),
            segment_size: conn.mss(),
            request: Some(request(&parameters)),
        };
        if let Some(login) = &login {
            let now = context.wall().as_nanos().div_euclid(1_000_000_000);
            parameters.auth_token = Some(login.token(now).map_err(no_login)?);
        }
        let prepare = || -> std::io::Result<(Poller, Arc<Waker>)> {
            let waker = Arc::new(Waker::new()?);
            let mut poller = Poller::new()?;
            poller.register(&conn, CONTROL, Interest::READ)?;
            poller.register(&waker, WAKER, Interest::READ)?;
            poller.register(context.interruption.waker(), INTERRUPTION, Interest::READ)?;
            Ok((poller, waker))
        };
        let (poller, waker) = prepare().map_err(|error| not_started(reason(&error)))?;
        Ok(Self {
            plan,
            context,
            peer: conn.peer_addr().unwrap_or(peer),
            conn,
            greeting: Some(greeting),
            control: ClientControl::new(cookie, parameters.clone()),
            cookie,
            poller,
            waker,
            length,
            set: StreamSet::new(context.stop().child()),
            cpu: CpuClock::start(context),
            their_results: None,
            due: Some(context.now() + plan.patience.answer),
            stopped: false,
            intake: Intake::default(),
            beyond: Beyond::default(),
        })
    }

    /// Runs the test and tells its end; returns why it failed, if it did.
    fn finish(mut self) -> Option<TestFailure> {
        let failure = self.drive().err().map(|failure| self.advised(failure));
        if failure.as_ref().map(|failure| failure.code) != Some(ErrorCode::ACCESS_DENIED.0) {
            self.tell_greeting();
        }
        // Whatever still runs ends now and is told.
        self.set.stop.raise();
        self.set.gather(CONNECT_LIMIT);
        let mut end = TestEnd {
            cpu: self.cpu.reading(self.context),
            failure: failure.clone(),
            ..empty_end(ONLY)
        };
        self.tell_congestion(&mut end);
        if let Some(results) = &self.their_results {
            let omits = self.plan.parameters.omit > 0;
            far_side::tell(results, &self.set.ended, omits, &mut end);
            end.lost_behind = self.beyond.lost(results, &self.set.ended);
        }
        self.context.reporter.event(Event::TestEnd(Box::new(end)));
        // Also when the run was interrupted: the server is to read why.
        part_in_peace(&self.conn, self.context, FAREWELL, &Stop::new());
        failure
    }

    /// Follows the control connection to its end.
    fn drive(&mut self) -> Result<(), TestFailure> {
        let mut events = Events::with_capacity(8);
        loop {
            while let Some(step) = self.control.next() {
                if self.obey(step)? {
                    return Ok(());
                }
            }
            if self.context.interruption.is_raised() {
                return Err(self.interrupted());
            }
            self.set.take_ends();
            if self.set.ended.values().any(|end| end.starved) {
                return Err(failure(ErrorCode::RECEIVE_TIMEOUT, None));
            }
            if self.set.is_over() && !self.stopped {
                self.stopped = true;
                self.await_delivery();
                self.read_on();
                self.control.stop();
                self.due = Some(self.context.now() + self.plan.patience.control);
                continue;
            }
            let now = self.context.now();
            if self.due.is_some_and(|due| now >= due) {
                return Err(failure(ErrorCode(112), Some("Connection timed out")));
            }
            let look = self.follow_amount(now).then(|| now + LOOK);
            let times = self.due.into_iter().chain(self.deadline()).chain(look);
            let wait = match times.min() {
                Some(due) if due > now => Wait::AtMost(due.since(now)),
                Some(_) => Wait::AtMost(Duration::from_millis(1)),
                None => Wait::Forever,
            };
            self.poller
                .wait(&mut events, wait)
                .map_err(|error| failure(ErrorCode(118), Some(&reason(&error))))?;
            self.waker.drain();
            if self.stopped {
                self.discard(&events);
            }
            self.hear()?;
            if let Some(ClientStep::Send(_) | ClientStep::OpenStreams) = self.control.peek() {
                if self.greeting.is_some() {
                    self.due = Some(self.context.now() + self.plan.patience.control);
                }
                self.tell_greeting();
            }
        }
    }

    /// A failure, with what helps where the server may be none of iperf3's.
    fn advised(&self, failure: TestFailure) -> TestFailure {
        if self.control.is_answered() || failure.interrupted {
            return failure;
        }
        TestFailure {
            text: format!(
                "{}; if the server is one of iperf 2, use: {}",
                failure.text, self.plan.iperf2_command
            ),
            ..failure
        }
    }

    fn tell_greeting(&mut self) {
        if let Some(greeting) = self.greeting.take() {
            let event = Event::ControlConnected(greeting);
            self.context.reporter.event(event);
        }
    }

    /// Looks at what a test of an amount has received, and stops when that is all. Returns
    /// whether it is to be looked at again.
    fn follow_amount(&mut self, now: MonoTime) -> bool {
        let Some(traffic) = self.set.traffic.as_ref().filter(|_| !self.stopped) else {
            return false;
        };
        let amount = match traffic.amount() {
            Some(amount) if self.plan.parameters.direction != Direction::Forward => amount,
            _ => return false,
        };
        let bytes = traffic.meters.received();
        let intake = &mut self.intake;
        if bytes > intake.bytes || intake.bytes == 0 {
            (intake.bytes, intake.last) = (bytes, now);
        }
        if now < traffic.counted_from() {
            intake.omitted = bytes;
            return true;
        }
        // Both ends cut the omitted start off at a moment of their own, and datagrams are lost:
        // the amount need not arrive in full.
        let silent = now.since(intake.last) >= SILENCE;
        let senders = self.set.streams.iter().filter(|stream| stream.sends);
        let sent = senders
            .clone()
            .all(|stream| self.set.ended.contains_key(&stream.id));
        let received = bytes - intake.omitted >= amount || (silent && bytes > intake.omitted);
        if received && sent {
            self.set.stop.raise();
        }
        true
    }

    /// A server of iperf3 reads nothing behind the message of the end. Where an amount was agreed,
    /// it gets the time to read all of it.
    fn await_delivery(&self) {
        let amount = self.set.traffic.as_ref().and_then(Traffic::amount);
        let senders = || self.set.streams.iter().filter(|stream| stream.sends);
        if amount.is_none() || senders().next().is_none() {
            return;
        }
        let under_way = |link: &Link| match link {
            Link::Tcp(conn) => conn.unacknowledged_bytes().is_some_and(|bytes| bytes > 0),
            Link::Udp(_) => false,
        };
        let until = self.context.now() + DELIVERY;
        while senders().any(|stream| under_way(&stream.link))
            && self.context.now() < until
            && !self.context.interruption.is_raised()
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(LAST_READ);
    }

    /// Data that is still under way is read until the end, so that the server's close is heard
    /// by it and not by a reset.
    fn read_on(&mut self) {
        for (index, stream) in self.set.streams.iter().enumerate() {
            if stream.sends {
                continue;
            }
            let token = STREAMS + index as u64;
            // One that cannot be watched is only read no further.
            let _ = match &stream.link {
                Link::Tcp(conn) => self.poller.register(&**conn, token, Interest::READ),
                Link::Udp(socket) => self.poller.register(&**socket, token, Interest::READ),
            };
        }
    }

    fn discard(&mut self, events: &Events) {
        for event in events.iter() {
            let index = event.token.checked_sub(STREAMS);
            let index = index.and_then(|index| usize::try_from(index).ok());
            let stream = index.and_then(|index| self.set.streams.get(index));
            let Some(stream) = stream else { continue };
            let Link::Tcp(conn) = &stream.link else {
                let width = self.plan.parameters.counters;
                self.beyond.read(stream, width);
                continue;
            };
            match conn.recv_discard_nonblocking(DISCARD) {
                Ok(count) if count > 0 => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // Over.
                _ => {
                    let _ = self.poller.deregister(&**conn);
                }
            }
        }
    }

    fn deadline(&self) -> Option<MonoTime> {
        // Once it is passed, the ends of the streams are waited for.
        let running = self.set.ended.len() < self.set.streams.len();
        let deadline = self.set.traffic.as_ref().and_then(Traffic::deadline);
        deadline.filter(|deadline| running && *deadline > self.context.now())
    }

    pub(super) fn interrupted(&mut self) -> TestFailure {
        self.control.interrupt();
        while let Some(step) = self.control.next() {
            if let ClientStep::Send(bytes) = step {
                let _ = self.conn.send_all(&bytes);
            }
        }
        TestFailure {
            code: 0,
            text: "interrupt - the client has terminated".into(),
            by_peer: false,
            interrupted: true,
        }
    }

    /// Reads what has come over the control connection.
    pub(super) fn hear(&mut self) -> Result<(), TestFailure> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.conn.recv_nonblocking(&mut buffer) {
                Ok(0) => {
                    self.control.closed();
                    return Ok(());
                }
                Ok(count) => self.control.received(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failure(CANNOT_READ_CONTROL, Some(&reason(&error)))),
            }
        }
    }

    /// Does what a step asks for; returns whether the test has ended in order.
    pub(super) fn obey(&mut self, step: ClientStep) -> Result<bool, TestFailure> {
        match step {
            ClientStep::Send(bytes) => self
                .conn
                .send_all(&bytes)
                .map_err(|error| failure(CANNOT_WRITE_CONTROL, Some(&reason(&error))))?,
            ClientStep::OpenStreams => self.open_streams()?,
            ClientStep::Start => self.tell_start(),
            ClientStep::Run => self.run_streams(),
            ClientStep::GiveResults => {
                self.set.stop.raise();
                self.set.gather(CONNECT_LIMIT);
                let results = self.results();
                self.control.results(&results);
            }
            ClientStep::TheirResults(results) => self.their_results = Some(results),
            ClientStep::Finished => {
                let _ = self.conn.shutdown_write();
                return Ok(true);
            }
            ClientStep::Failed(reason) => return Err(control_failure(reason)),
        }
        Ok(false)
    }

    fn tell_start(&mut self) {
        let parameters = &self.plan.parameters;
        let start = TestStart {
            test: ONLY,
            flows: flows(&self.set.streams),
            role: Role::Client,
            buffers: self.set.buffers(),
            file: test_file(self.plan.file.as_deref()),
            ..test_start(parameters, self.length, self.plan.interval)
        };
        self.context
            .reporter
            .event(Event::TestStart(Box::new(start)));
        self.due = None;
    }

    fn run_streams(&mut self) {
        let start = self.context.now();
        self.cpu = CpuClock::start(self.context);
        let traffic = Traffic {
            context: Arc::clone(self.context),
            parameters: self.plan.parameters.clone(),
            length: self.length,
            share: Grant::default(),
            interval: self.plan.interval,
            start,
            decides: true,
            patience: self.plan.patience.receive,
            stalled: self.plan.patience.stalled,
            file: self.plan.file.clone(),
            stop: self.set.stop.clone(),
            sums: self.set.sums(&self.context.reporter),
            meters: Meters::default(),
            over: Arc::default(),
        };
        self.set.run(traffic, &self.waker);
    }

    fn results(&self) -> Results {
        let sends = self.plan.parameters.direction != Direction::Reverse;
        results(
            &self.plan.parameters,
            sends,
            self.cpu.reading(self.context),
            congestion(&self.set.streams),
            &self.set.ended,
        )
    }

    fn tell_congestion(&self, end: &mut TestEnd) {
        let own = congestion(&self.set.streams);
        let theirs = self
            .their_results
            .as_ref()
            .and_then(|results| results.congestion.clone());
        (end.sender_congestion, end.receiver_congestion) =
            if self.plan.parameters.direction == Direction::Reverse {
                (theirs, own)
            } else {
                (own, theirs)
            };
    }
}
