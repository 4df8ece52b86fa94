//! The iperf3 client: one control connection, and the streams that the server asks for.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{ExitCode, Family, MonoTime, Role};
use tapeline_engine::Stop;
use tapeline_report::{
    ControlConnected, ControlPeer, Event, Notice, TestEnd, TestFailure, TestStart,
};
use tapeline_sys::{
    Events, Interest, OptionFailure, Poller, SocketOption, SocketOptions, TcpConn, UdpSocket, Wait,
    Waker, reason,
};
use tapeline_wire::iperf3::{
    CONNECT, Cookie, Direction, ErrorCode, Protocol, Results, is_connect_reply, limits,
};

use crate::iperf3::client_control::{ClientControl, ClientStep, ControlFailure};
use crate::iperf3::login::token::Login;
use crate::iperf3::peer_results;
use crate::iperf3::received_amount::ReceivedAmount;
use crate::iperf3::stream_set::StreamSet;
use crate::iperf3::streams::{ByteCounters, Link, Traffic, check_buffers};
use crate::iperf3::test_setup::{
    CpuClock, block_length, congestion, control_failure, empty_end, failure, flows, request,
    results, socket_options, test_file, test_start,
};
use crate::iperf3::udp_streams::TailLoss;
use crate::plan::Iperf3Client;
use crate::policy::Grant;
use crate::run::address::{add_zone, look_up};
use crate::run::context::{Context, Interruption};
use crate::run::control_socket::{close_gracefully, keep_alive};
use crate::sampler::ReporterHandle;

/// A client runs one test.
const ONLY: u32 = 1;
const CONTROL: u64 = 0;
const WAKER: u64 = 1;
const INTERRUPTION: u64 = 2;
/// Time for the server to close after the last word.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often a receiver of an amount is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time for an agreed amount to reach the server's host.
const DELIVERY: Duration = Duration::from_secs(1);
/// Time for the server to read what has reached its host. It counts this time too, so that it is
/// no longer than the reference takes to notice an amount.
const LAST_READ: Duration = Duration::from_millis(10);
/// Time between two tries at a port that is closed.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// Token of the first data connection.
const STREAMS: u64 = 16;
/// Bytes discarded at a time.
const DISCARD: usize = 1 << 20;

/// Runs an iperf3 client's test to its end. Every event goes to `reporter`.
#[must_use]
pub fn run_iperf3_client(
    plan: &Iperf3Client,
    reporter: &ReporterHandle,
    interruption: &Interruption,
) -> ExitCode {
    let context = Context::new(reporter.clone(), interruption.clone(), plan.techniques);
    let patient_until = context.now() + plan.refused_limit;
    let begun = loop {
        let mut run = match Run::begin(plan, &context, patient_until) {
            Ok(run) => run,
            Err(failure) => break Err(failure),
        };
        let driven = run.drive();
        let is_patient = run.context.now() < patient_until;
        if !(is_patient && run.is_turned_away(&driven) && run.pauses()) {
            break Ok((run, driven));
        }
    };
    let failure = match begun {
        Ok((run, driven)) => run.finish(driven),
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
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Iperf3Client,
    pub(crate) context: &'a Arc<Context>,
    pub(crate) conn: TcpConn,
    pub(crate) peer: SocketAddr,
    /// Raised when the server asks for parameters.
    pub(crate) greeting: Option<ControlConnected>,
    pub(crate) control: ClientControl,
    /// Why the control connection has broken.
    broken: Option<TestFailure>,
    pub(crate) cookie: Cookie,
    pub(crate) poller: Poller,
    pub(crate) waker: Arc<Waker>,
    /// Bytes of a block or datagram.
    pub(crate) length: u32,
    pub(crate) set: StreamSet,
    pub(crate) cpu: CpuClock,
    pub(crate) their_results: Option<Results>,
    /// Until when the server's next message must be here.
    pub(crate) due: Option<MonoTime>,
    /// The end has been reported.
    pub(crate) stopped: bool,
    /// What a test of an amount has received.
    received_amount: ReceivedAmount,
    /// What has come after the end.
    pub(crate) tail_loss: TailLoss,
}

impl<'a> Run<'a> {
    /// Connects; a refusal is the last word only once `patient_until` has passed.
    fn begin(
        plan: &'a Iperf3Client,
        context: &'a Arc<Context>,
        patient_until: MonoTime,
    ) -> Result<Self, TestFailure> {
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
            user_timeout: plan.timeouts.send,
            ..SocketOptions::default()
        };
        let connected = loop {
            let limit = plan.connect_timeout;
            let waker = context.interruption.waker();
            match TcpConn::connect_or_cancel(peer, local, &options, limit, waker) {
                Err(error)
                    if error.kind() == std::io::ErrorKind::ConnectionRefused
                        && context.now() < patient_until
                        && !context.interruption.is_raised_within(REFUSED_PAUSE) => {}
                other => break other.map_err(|error| not_started(error.reason()))?,
            }
        };
        if let Some(why) = lacking_device(&connected.refused) {
            return Err(not_started(why));
        }
        let conn = connected.conn;
        keep_alive(&conn, plan.timeouts.keepalive)
            .map_err(|error| failure(NO_KEEPALIVE, Some(&reason(&error))))?;
        let random = std::hash::RandomState::new();
        let cookie = Cookie::from_random(std::array::from_fn(|index| {
            std::hash::BuildHasher::hash_one(&random, index) as u8
        }));
        let mut parameters = plan.parameters.clone();
        let length = block_length(&parameters, conn.mss());
        parameters.length = Some(length);
        if parameters.protocol == Protocol::Udp {
            let offload = parameters.offload.unwrap_or_default();
            parameters.offload = Some(offload.of_datagrams(length));
        }
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
            broken: None,
            cookie,
            poller,
            waker,
            length,
            set: StreamSet::new(context.stop().child()),
            cpu: CpuClock::start(context),
            their_results: None,
            due: Some(context.now() + plan.timeouts.answer),
            stopped: false,
            received_amount: ReceivedAmount::default(),
            tail_loss: TailLoss::default(),
        })
    }

    /// The server has closed the connection without a word, as one does that was about to open its port
    /// anew.
    fn is_turned_away(&self, driven: &Result<(), TestFailure>) -> bool {
        let is_silent = self.due.is_some_and(|due| self.context.now() >= due);
        let is_closed = driven.as_ref().is_err_and(|failure| !failure.interrupted);
        is_closed && !is_silent && !self.control.is_answered()
    }

    /// Waits a little; false where the user wants no more.
    fn pauses(&self) -> bool {
        !self.context.interruption.is_raised_within(REFUSED_PAUSE)
    }

    /// Reports the end of a test; returns why it failed, if it did.
    fn finish(mut self, driven: Result<(), TestFailure>) -> Option<TestFailure> {
        let failure = driven.err().map(|failure| self.advised(failure));
        // Whatever still runs ends now and is reported.
        self.set.stop.raise();
        self.set.gather(CONNECT_LIMIT);
        let mut end = TestEnd {
            cpu: self.cpu.usage(self.context),
            failure: failure.clone(),
            ..empty_end(ONLY)
        };
        self.report_congestion(&mut end);
        if let Some(results) = &self.their_results {
            let omits = self.plan.parameters.omit > 0;
            peer_results::report(results, &self.set.ended, omits, &mut end);
            end.lost_behind = self.tail_loss.lost(results, &self.set.ended);
        }
        self.context.reporter.event(Event::TestEnd(Box::new(end)));
        // Also when the run was interrupted: the server is to read why.
        let interrupted = failure.as_ref().is_some_and(|failure| failure.interrupted);
        if self.control.is_answered() || interrupted {
            close_gracefully(&self.conn, self.context, FAREWELL, &Stop::new());
        }
        failure
    }

    /// Runs the test: follows the control connection to its end.
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
                self.due = Some(self.context.now() + self.plan.timeouts.control);
                continue;
            }
            let now = self.context.now();
            if self.due.is_some_and(|due| now >= due) {
                return Err(failure(ErrorCode(112), Some("Connection timed out")));
            }
            let look = self.follow_amount(now).then(|| now + POLL_INTERVAL);
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
            self.read_control();
            if let Some(ClientStep::Send(_) | ClientStep::OpenStreams) = self.control.peek() {
                if self.greeting.is_some() {
                    self.due = Some(self.context.now() + self.plan.timeouts.control);
                }
                self.report_greeting();
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

    fn report_greeting(&mut self) {
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
        let bytes = traffic.byte_counters.received();
        let received = self
            .received_amount
            .observe(bytes, amount, traffic.counted_from(), now);
        let mut senders = self.set.streams.iter().filter(|stream| stream.sends);
        let sent = senders.all(|stream| self.set.ended.contains_key(&stream.id));
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

    /// Data that is still under way is read until the end, so that the server's close is seen
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
                self.tail_loss.read(stream, width);
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

    pub(crate) fn interrupted(&mut self) -> TestFailure {
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

    /// Reads what has come over the control connection. A server that closes without reading all
    /// resets it: what it sent before is read first.
    pub(crate) fn read_control(&mut self) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.conn.recv_nonblocking(&mut buffer) {
                Ok(0) => return self.control.closed(),
                Ok(count) => self.control.received(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.broken = Some(failure(CANNOT_READ_CONTROL, Some(&reason(&error))));
                    return self.control.closed();
                }
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), TestFailure> {
        let Err(error) = self.conn.send_all(bytes) else {
            return Ok(());
        };
        self.read_control();
        // Nobody reads the answers to it.
        while let Some(step) = self.control.next() {
            if let ClientStep::Failed(failure) = step {
                return Err(self.ended(failure));
            }
        }
        Err(failure(CANNOT_WRITE_CONTROL, Some(&reason(&error))))
    }

    /// Why the control connection has ended early.
    pub(crate) fn ended(&mut self, failure: ControlFailure) -> TestFailure {
        match (failure, self.broken.take()) {
            (ControlFailure::Closed, Some(broken)) => broken,
            (failure, _) => control_failure(failure),
        }
    }

    /// Does what a step asks for; returns whether the test has ended in order.
    pub(crate) fn obey(&mut self, step: ClientStep) -> Result<bool, TestFailure> {
        match step {
            ClientStep::Send(bytes) => self.send(&bytes)?,
            ClientStep::OpenStreams => self.open_streams()?,
            ClientStep::Start => self.report_start(),
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
            ClientStep::Failed(failure) => return Err(self.ended(failure)),
        }
        Ok(false)
    }

    fn report_start(&mut self) {
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
            idle_timeout: self.plan.timeouts.receive,
            stalled: self.plan.timeouts.stalled,
            window: self.plan.held_window,
            window_clamp: self.plan.window_clamp,
            file: self.plan.file.clone(),
            stop: self.set.stop.clone(),
            sums: self.set.sums(&self.context.reporter),
            byte_counters: ByteCounters::default(),
            over: Arc::default(),
        };
        self.set.run(traffic, &self.waker);
    }

    fn results(&self) -> Results {
        let sends = self.plan.parameters.direction != Direction::Reverse;
        results(
            &self.plan.parameters,
            sends,
            self.cpu.usage(self.context),
            congestion(&self.set.streams),
            &self.set.ended,
        )
    }

    fn report_congestion(&self, end: &mut TestEnd) {
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

/// Time for a data connection where that to the server has none, and for the ends of the streams.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// Time for the answer to a UDP stream's connect message.
const REPLY_LIMIT: Duration = Duration::from_secs(30);
const CANNOT_CREATE_STREAM: ErrorCode = ErrorCode(200);
const CANNOT_CONNECT_STREAM: ErrorCode = ErrorCode(203);

impl Run<'_> {
    pub(crate) fn open_streams(&mut self) -> Result<(), TestFailure> {
        let parameters = self.plan.parameters.clone();
        for index in 0..parameters.connections() {
            let sends = match parameters.direction {
                Direction::Forward => true,
                Direction::Reverse => false,
                Direction::Bidirectional => index < parameters.parallel,
            };
            let port = self.plan.client_port.map(|port| {
                let step = u16::try_from(index).unwrap_or(u16::MAX);
                port.saturating_add(step)
            });
            let local = own_address(self.plan, self.peer, port)
                .map_err(|why| failure(CANNOT_CREATE_STREAM, Some(&why)))?;
            let link = match parameters.protocol {
                Protocol::Udp => Link::Udp(self.open_udp(local)?),
                Protocol::Tcp | Protocol::Sctp => Link::Tcp(self.open_tcp(local)?),
            };
            let [local, peer] = link.addresses();
            let ends = (local.unwrap_or(self.peer), peer.unwrap_or(self.peer));
            let line = self.set.add(self.context, sends, link, ends);
            self.context.reporter.event(line);
        }
        Ok(())
    }

    fn options(&self) -> SocketOptions {
        SocketOptions {
            device: self.plan.device.clone(),
            // The ports of `--cport` are those of the test before, too.
            reuse_address: self.plan.client_port.is_some(),
            ..socket_options(&self.plan.parameters, self.plan.timeouts.send)
        }
    }

    /// Looks at the buffers of the first stream: those of the others are alike.
    fn check_buffers(&self, buffers: [std::io::Result<u64>; 2]) -> Result<(), TestFailure> {
        if !self.set.streams.is_empty() {
            return Ok(());
        }
        let (asked, short) = (&self.plan.parameters, self.plan.short_buffers);
        check_buffers(buffers, asked, short, self.context).map_err(|code| failure(code, None))
    }

    fn open_tcp(&self, local: Option<SocketAddr>) -> Result<Arc<TcpConn>, TestFailure> {
        let cancel = self.context.interruption.waker();
        let options = SocketOptions {
            window_clamp: self.plan.window_clamp,
            ..self.options()
        };
        let limit = self.plan.connect_timeout.or(Some(CONNECT_LIMIT));
        let connected = TcpConn::connect_or_cancel(self.peer, local, &options, limit, cancel)
            .map_err(|error| failure(CANNOT_CONNECT_STREAM, Some(&error.reason())))?;
        let refused = &connected.refused;
        if let Some(why) = lacking(refused, SocketOption::Congestion) {
            return Err(failure(ErrorCode(134), Some(&why)));
        }
        if let Some(why) = lacking_device(refused) {
            return Err(failure(CANNOT_CREATE_STREAM, Some(&why)));
        }
        let labelled = self.peer.is_ipv6() && lacking(refused, SocketOption::FlowLabel).is_none();
        if self.plan.parameters.flow_label.is_some() && !labelled {
            return Err(failure(ErrorCode(127), None));
        }
        let conn = connected.conn;
        self.check_buffers([conn.send_buffer(), conn.receive_buffer()])?;
        conn.send_all(self.cookie.bytes())
            .map_err(|error| failure(ErrorCode(105), Some(&reason(&error))))?;
        Ok(Arc::new(conn))
    }

    /// Opens a socket and has the server connect its own to it. The message is not repeated: a
    /// second one would be taken for data by servers that had the first.
    fn open_udp(&mut self, local: Option<SocketAddr>) -> Result<Arc<UdpSocket>, TestFailure> {
        let options = self.options();
        let opened = UdpSocket::connected(self.peer, local, &options)
            .map_err(|error| failure(CANNOT_CONNECT_STREAM, Some(&error.reason())))?;
        if let Some(why) = lacking_device(&opened.refused) {
            return Err(failure(CANNOT_CREATE_STREAM, Some(&why)));
        }
        let socket = opened.socket;
        self.check_buffers([socket.send_buffer(), socket.receive_buffer()])?;
        let unreadable = |why: String| failure(ErrorCode::STREAM_READ, Some(&why));
        socket
            .send(&CONNECT)
            .map_err(|error| failure(ErrorCode(205), Some(&reason(&error))))?;
        let due = self.context.now() + REPLY_LIMIT;
        let mut buffer = vec![0; limits::MAX_UDP_LENGTH as usize];
        loop {
            let now = self.context.now();
            if now >= due {
                return Err(unreadable("Connection timed out".into()));
            }
            if self.context.interruption.is_raised() {
                return Err(self.interrupted());
            }
            let wait = Wait::AtMost(due.since(now).min(Duration::from_millis(20)));
            match socket.wait_ready(Interest::READ, wait) {
                Ok(true) => match socket.recv_nonblocking(&mut buffer) {
                    Ok(length) if is_connect_reply(&buffer[..length]) => break,
                    // Data that has overtaken the answer proves the server's socket as well.
                    Ok(length) if length == self.length as usize => break,
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(unreadable(reason(&error))),
                },
                Ok(false) if self.is_started()? => break,
                Ok(false) => {}
                Err(error) => return Err(unreadable(reason(&error))),
            }
        }
        Ok(Arc::new(socket))
    }

    /// Whether the server has all streams: only its answer was lost then. One that gives up while
    /// streams are being opened says so on the control connection.
    fn is_started(&mut self) -> Result<bool, TestFailure> {
        self.read_control();
        // A farewell goes out before the failure that it belongs to.
        while let Some(ClientStep::Send(_)) = self.control.peek() {
            if let Some(farewell) = self.control.next() {
                self.obey(farewell)?;
            }
        }
        match self.control.peek().cloned() {
            Some(ClientStep::Failed(failure)) => Err(self.ended(failure)),
            step => Ok(matches!(step, Some(ClientStep::Start))),
        }
    }
}

/// Why the system refused an option, if it did.
fn lacking(refused: &[OptionFailure], option: SocketOption) -> Option<String> {
    let failure = refused.iter().find(|failure| failure.option == option);
    failure.map(OptionFailure::reason)
}

/// Why a connection cannot be held to its device, if it cannot.
pub(crate) fn lacking_device(refused: &[OptionFailure]) -> Option<String> {
    lacking(refused, SocketOption::Device)
}

/// Own address of a connection to `peer`, where one was asked for.
pub(crate) fn own_address(
    plan: &Iperf3Client,
    peer: SocketAddr,
    port: Option<u16>,
) -> Result<Option<SocketAddr>, String> {
    let family = if peer.is_ipv6() {
        Family::V6
    } else {
        Family::V4
    };
    let Some(bind) = &plan.bind else {
        let any = port.map(|port| match family {
            Family::V6 => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            Family::V4 | Family::Any => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        });
        return Ok(any);
    };
    let mut address =
        look_up(&bind.host, port.unwrap_or(0), family).map_err(|notice| words(&notice))?;
    let device = bind.device.as_deref().or(plan.device.as_deref());
    add_zone(&mut address, device).map_err(|notice| words(&notice))?;
    Ok(Some(address))
}

/// The reason in a notice about an address.
pub(crate) fn words(notice: &Notice) -> String {
    match notice {
        Notice::Unresolvable { host, reason } => format!("{host}: {reason}"),
        Notice::DeviceFailed { device, reason } => format!("{device}: {reason}"),
        _ => "address unusable".into(),
    }
}
