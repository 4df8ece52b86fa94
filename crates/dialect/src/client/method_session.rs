//! A client's session with a server that does parts of a method (`docs/dev/protocol.md`, section 5): a marked
//! test of one byte, and its control connection, which a thread keeps.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, MutexExt, Tos};
use tapeline_sys::{
    Events, Interest, Poller, SocketOptions, SystemClock, TcpConn, TcpInfo, UdpSocket, Wait, Waker,
    reason,
};
use tapeline_wire::iperf2::{Amount, TcpClientHeader, limits};
use tapeline_wire::native::{
    Done, Granted, Mark, Methods, Order, ProbeReply, ProbeRequest, Program, Ready, Sample, Status,
    VERSIONS,
};

use super::target::Target;
use crate::iperf2::banner;
use crate::method::flow::MethodFlow;
use crate::native::client_control::{ClientControl, ClientStep};
use crate::native::clock_sync::nanos;
use crate::native::recognition::{Answer, First, inspect};
use crate::native::test_registry::draw;
use crate::plan::ClientPlan;
use crate::run::context::Interruption;

/// Time for a server's answer to the first message; every iperf 2 since 2.1 and every tapeline has one.
const ANSWER: Duration = Duration::from_secs(2);
/// Time for the control connection, its Welcome included.
const WELCOME: Duration = Duration::from_secs(5);
/// Time for the answer to an order, and behind an order's own time for its end.
const ORDER: Duration = Duration::from_secs(5);
/// Time for the key to be seen.
const OPENING: Duration = Duration::from_secs(3);
/// How often it is shown.
const SHOWN: Duration = Duration::from_millis(100);
/// Longest wait between two looks at the interruption.
const LOOK: Duration = Duration::from_millis(50);
/// Time for what was said last to leave.
const FAREWELL: Duration = Duration::from_millis(200);
/// Events that are kept for a reader that does not come; the oldest are dropped.
const MAX_EVENTS: usize = 65_536;
/// Largest read of the control connection.
const READ: usize = 16 << 10;
/// Time for the reply to the last of a row of probes.
const LAST_REPLY: Duration = Duration::from_secs(1);

/// Why there is no session, or why it does not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The name has no address, or the device does not exist.
    #[error("{text}")]
    Unresolvable {
        /// What is wrong.
        text: String,
        /// What helps.
        hint: Option<String>,
    },
    /// There is no connection.
    #[error("no connection to {peer}: {reason}")]
    Connect {
        /// Where to.
        peer: SocketAddr,
        /// Why not.
        reason: String,
    },
    /// The server is none that takes orders.
    #[error("the server is no tapeline that takes orders for methods")]
    NotTapeline,
    /// It is a tapeline, and takes none of this client.
    #[error("the server takes no orders for methods (its limits, or how it was started)")]
    NoMethods,
    /// It refuses the test that begins the session, or its control connection.
    #[error("the server refuses the session: {0}")]
    Refused(String),
    /// The connection has ended.
    #[error("the control connection has ended: {0}")]
    Broken(String),
    /// It does not do what is ordered.
    #[error("the server declines: {0}")]
    Declined(String),
    /// Nothing comes.
    #[error("the server is silent")]
    Silent,
    /// Datagrams do not come back.
    #[error("no datagram of the server came within {} s: UDP is blocked", OPENING.as_secs())]
    UdpBlocked,
    /// A socket fails.
    #[error("{0}")]
    Socket(String),
    /// The user wants no more.
    #[error("interrupted")]
    Interrupted,
}

/// What the server says while an order runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// What has arrived at it of a load; once a second.
    Status(Status),
    /// The state of one of its TCP senders.
    Sample(Sample),
    /// The order has ended.
    Done(Box<Done>),
}

/// Round trips of a row of probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeRow {
    /// Probes that were sent.
    pub sent: u32,
    /// Round trips of those that were answered, in the order of their numbers; without the server's own time.
    pub round_trips: Vec<Duration>,
}

/// A session.
#[derive(Debug)]
pub struct MethodSession {
    plan: ClientPlan,
    interruption: Interruption,
    link: Link,
    ready: Option<Ready>,
}

/// What a session has that ends with its control connection.
#[derive(Debug)]
struct Link {
    shared: Arc<Shared>,
    conn: Arc<TcpConn>,
    thread: Option<JoinHandle<()>>,
    peer: SocketAddr,
    local: SocketAddr,
    connect_time: Duration,
    server: Program,
    methods: Methods,
    probe_key: Option<NonZeroU64>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    waker: Waker,
}

#[derive(Debug)]
struct State {
    control: ClientControl,
    found: Option<(Program, Option<NonZeroU64>, Methods)>,
    granted: Granted,
    /// The answer to the order that is out.
    answer: Option<Result<Ready, String>>,
    events: VecDeque<SessionEvent>,
    /// Why nothing more comes.
    over: Option<SessionError>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock_unpoisoned()
    }

    /// Waits until `done` has something, the connection is over, or the time is.
    fn wait<T>(
        &self,
        limit: Duration,
        interruption: Option<&Interruption>,
        mut done: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, SessionError> {
        let until = SystemClock.now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(value) = done(&mut state) {
                return Ok(value);
            }
            if let Some(over) = &state.over {
                return Err(over.clone());
            }
            if interruption.is_some_and(Interruption::is_raised) {
                return Err(SessionError::Interrupted);
            }
            let now = SystemClock.now();
            if now >= until {
                return Err(SessionError::Silent);
            }
            let wait = until.since(now).min(LOOK);
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl MethodSession {
    /// Opens a session with the server of a plan, of which host, port, addresses, socket options, permit key
    /// and the time for a connection count. Takes at most that time and some ten seconds.
    ///
    /// # Errors
    /// [`SessionError`]; of a server that is no tapeline, or takes no orders, that.
    pub fn open(plan: &ClientPlan, interruption: &Interruption) -> Result<Self, SessionError> {
        let link = Link::open(plan, interruption)?;
        Ok(Self {
            plan: plan.clone(),
            interruption: interruption.clone(),
            link,
            ready: None,
        })
    }

    /// The methods that the server takes orders for.
    #[must_use]
    pub fn methods(&self) -> &Methods {
        &self.link.methods
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &Program {
        &self.link.server
    }

    /// Its address.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.link.peer
    }

    /// This end's address of the control connection.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.link.local
    }

    /// Time that the connection took.
    #[must_use]
    pub fn connect_time(&self) -> Duration {
        self.link.connect_time
    }

    /// What the server lets a test have.
    #[must_use]
    pub fn granted(&self) -> Granted {
        self.link.shared.lock().granted
    }

    /// The state of the control connection at this end.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.link.conn.tcp_info()
    }

    /// Segment size of the control connection at this end, bytes.
    #[must_use]
    pub fn segment_size(&self) -> Option<u32> {
        self.link.conn.mss()
    }

    /// A number for the marks of a test whose senders are to be sampled
    /// ([`ClientPlan::test_number`]).
    #[must_use]
    pub fn test_number() -> NonZeroU32 {
        draw()
    }

    /// Whether the control connection is still there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.link.shared.lock().over.is_none()
    }

    /// Measures `count` round trips over UDP, one each `spacing`. A server answers at most 400 a second.
    ///
    /// # Errors
    /// [`SessionError`]; without an answer to any the row is empty.
    pub fn probe(&mut self, count: u32, spacing: Duration) -> Result<ProbeRow, SessionError> {
        self.revive()?;
        let Some(key) = self.link.probe_key else {
            return Ok(ProbeRow::default());
        };
        let socket = self.datagram_socket(self.link.peer)?;
        let mut row = ProbeRow::default();
        let mut buffer = [0; 2 * ProbeRequest::LENGTH];
        let began = SystemClock.now();
        let mut trips: Vec<Option<Duration>> = vec![None; count as usize];
        let end = began + spacing * count.saturating_sub(1) + LAST_REPLY;
        while row.sent < count || trips.contains(&None) {
            let now = SystemClock.now();
            if self.interruption.is_raised() {
                return Err(SessionError::Interrupted);
            }
            if now >= end {
                break;
            }
            let due = began + spacing * row.sent;
            if row.sent < count && now >= due {
                let request = ProbeRequest {
                    key,
                    number: row.sent,
                    class: self.plan.socket.tos.unwrap_or_default(),
                    sent: nanos(SystemClock.wall()),
                };
                row.sent += 1;
                // One that does not leave is not answered.
                let _ = socket.send_nonblocking(&request.encode());
                continue;
            }
            let next = if row.sent < count { due } else { end };
            let wait = Wait::AtMost(next.since(now).min(LOOK));
            if !socket.wait_ready(Interest::READ, wait).unwrap_or(false) {
                continue;
            }
            let Ok(length) = socket.recv_nonblocking(&mut buffer) else {
                continue;
            };
            let back = nanos(SystemClock.wall());
            if let Some((number, trip)) = round_trip(&buffer[..length], key, back)
                && let Some(place) = trips.get_mut(number as usize)
            {
                place.get_or_insert(trip);
            }
        }
        row.round_trips = trips.into_iter().flatten().collect();
        Ok(row)
    }

    /// Orders something. A session whose connection has ended meanwhile is opened anew.
    ///
    /// # Errors
    /// [`SessionError::Declined`] with the server's words, and the others.
    pub fn order(&mut self, order: &Order) -> Result<Ready, SessionError> {
        self.revive()?;
        let shared = &self.link.shared;
        {
            let mut state = shared.lock();
            state.answer = None;
            state.events.clear();
            if !state.control.order(order) {
                let why = "another order of this session runs";
                return Err(SessionError::Declined(why.to_owned()));
            }
        }
        shared.waker.wake();
        let answer = shared.wait(ORDER, Some(&self.interruption), |state| state.answer.take())?;
        let ready = answer.map_err(SessionError::Declined)?;
        self.ready = Some(ready.clone());
        Ok(ready)
    }

    /// What the server was ready for at the newest order.
    #[must_use]
    pub fn newest_ready(&self) -> Option<&Ready> {
        self.ready.as_ref()
    }

    /// Opens the datagrams of an order: shows the key from a port of this client's, and waits until the
    /// server has seen it. The flow then shows it again and again, whenever it receives.
    ///
    /// # Errors
    /// [`SessionError::UdpBlocked`] when nothing comes back, and the others.
    pub fn flow(&mut self, ready: &Ready) -> Result<MethodFlow, SessionError> {
        let (Some(port), Some(key)) = (ready.udp_port.map(NonZeroU16::get), ready.key) else {
            return Err(SessionError::Socket(
                "the order has no datagrams".to_owned(),
            ));
        };
        let mut peer = self.link.peer;
        peer.set_port(port);
        let socket = self.datagram_socket(peer)?;
        let fail = |error: std::io::Error| SessionError::Socket(reason(&error));
        let mut flow = MethodFlow::new(socket, key).map_err(fail)?;
        let began = SystemClock.now();
        let mut next = began;
        let mut opened = false;
        while !opened {
            let now = SystemClock.now();
            if self.interruption.is_raised() {
                return Err(SessionError::Interrupted);
            }
            if let Some(over) = &self.link.shared.lock().over {
                return Err(over.clone());
            }
            if now.since(began) >= OPENING {
                return Err(SessionError::UdpBlocked);
            }
            if now >= next {
                next = now + SHOWN;
                let _ = flow.show_key();
            }
            let wait = next.since(now).min(LOOK);
            flow.receive(wait, |datagram| {
                opened |= datagram.head.kind == tapeline_wire::native::MethodKind::Opened;
            })
            .map_err(fail)?;
        }
        flow.keep_present(SystemClock.now());
        Ok(flow)
    }

    /// What the server says next, waiting at most so long; nothing when it says nothing.
    ///
    /// # Errors
    /// [`SessionError`] when nothing more can come.
    pub fn next_event(&mut self, wait: Duration) -> Result<Option<SessionEvent>, SessionError> {
        let shared = &self.link.shared;
        match shared.wait(wait, Some(&self.interruption), |state| {
            state.events.pop_front()
        }) {
            Ok(event) => Ok(Some(event)),
            Err(SessionError::Silent) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks the server to end the order; its end comes as an event.
    pub fn end_order(&mut self, why: &str) {
        let shared = &self.link.shared;
        shared.lock().control.stop(why);
        shared.waker.wake();
    }

    /// Waits for the end of the order, at most so long, whatever the user wants. Events before it are
    /// dropped.
    ///
    /// # Errors
    /// [`SessionError::Silent`] when it does not come, or why it cannot.
    pub fn wait_done(&mut self, limit: Duration) -> Result<Done, SessionError> {
        self.link.shared.wait(limit, None, |state| {
            loop {
                match state.events.pop_front()? {
                    SessionEvent::Done(done) => return Some(*done),
                    SessionEvent::Status(_) | SessionEvent::Sample(_) => {}
                }
            }
        })
    }

    /// A socket to the server, with the options of the plan.
    fn datagram_socket(&self, peer: SocketAddr) -> Result<UdpSocket, SessionError> {
        let mut local = self.link.local;
        local.set_port(0);
        let options = SocketOptions {
            device: self.plan.device.clone(),
            tos: self.plan.socket.tos.filter(|tos| *tos != Tos::default()),
            ttl: self.plan.socket.ttl,
            ..SocketOptions::default()
        };
        let opened = UdpSocket::connected(peer, Some(local), &options);
        opened
            .map(|opened| opened.socket)
            .map_err(|error| SessionError::Socket(error.to_string()))
    }

    /// Opens the session anew where its connection has ended.
    fn revive(&mut self) -> Result<(), SessionError> {
        if self.interruption.is_raised() {
            return Err(SessionError::Interrupted);
        }
        if !self.is_open() {
            self.link = Link::open(&self.plan, &self.interruption)?;
        }
        Ok(())
    }
}

/// The number of the probe that is answered, and its round trip without the server's time.
fn round_trip(bytes: &[u8], key: NonZeroU64, back: u64) -> Option<(u32, Duration)> {
    let reply = ProbeReply::parse(bytes).filter(|reply| reply.request.key == key)?;
    let whole = back.checked_sub(reply.request.sent)?;
    let held = reply.sent.checked_sub(reply.received)?;
    let trip = Duration::from_nanos(whole.checked_sub(held)?);
    Some((reply.request.number, trip))
}

impl Link {
    fn open(plan: &ClientPlan, interruption: &Interruption) -> Result<Self, SessionError> {
        let target = Target::resolve(plan).map_err(|notice| unresolvable(&notice))?;
        let peer = target.first();
        let options = banner::client_options(plan);
        let cancel = interruption.waker();
        let connect = |peer: SocketAddr, local: Option<SocketAddr>, limit: Duration| {
            TcpConn::connect_or_cancel(peer, local, &options, Some(limit), cancel).map_err(
                |error| {
                    if interruption.is_raised() {
                        return SessionError::Interrupted;
                    }
                    SessionError::Connect {
                        peer,
                        reason: error.reason(),
                    }
                },
            )
        };
        let local = target.own().map(|mut own| {
            own.set_port(0);
            own
        });
        let test = connect(peer, local, plan.connect_timeout)?;
        let number = draw();
        let token = begin_test(&test.conn, plan, number, interruption)?;
        let socket_error = |error: std::io::Error| SessionError::Socket(reason(&error));
        let mut own = test.conn.local_addr().map_err(socket_error)?;
        own.set_port(0);
        let control = connect(peer, Some(own), plan.connect_timeout.min(WELCOME))?;
        let conn = Arc::new(control.conn);
        let _ = conn.set_nodelay(true);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                control: ClientControl::for_orders(number, token, SystemClock.now()),
                found: None,
                granted: Granted::default(),
                answer: None,
                events: VecDeque::new(),
                over: None,
            }),
            changed: Condvar::new(),
            waker: Waker::new().map_err(socket_error)?,
        });
        let thread = {
            let (shared, conn) = (Arc::clone(&shared), Arc::clone(&conn));
            std::thread::Builder::new()
                .name("session".into())
                .spawn(move || keep(&shared, &conn))
                .map_err(socket_error)?
        };
        let mut link = Self {
            shared,
            peer: tapeline_sys::unmapped(peer),
            local: tapeline_sys::unmapped(conn.local_addr().map_err(socket_error)?),
            conn,
            thread: Some(thread),
            connect_time: test.connect_time,
            server: Program::default(),
            methods: Methods::default(),
            probe_key: None,
        };
        let found = |state: &mut State| state.found.take();
        let found = link.shared.wait(WELCOME, Some(interruption), found)?;
        (link.server, link.probe_key, link.methods) = found;
        if link.methods.0.is_empty() {
            return Err(SessionError::NoMethods);
        }
        // Its byte has arrived long ago: nothing is lost.
        let _ = test.conn.shutdown_both();
        Ok(link)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.lock().control.leave();
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn unresolvable(notice: &tapeline_report::Notice) -> SessionError {
    SessionError::Unresolvable {
        text: tapeline_report::sentence_of(notice),
        hint: tapeline_report::hint(notice),
    }
}

/// Begins the test of one byte; returns the token of the server's answer.
fn begin_test(
    conn: &TcpConn,
    plan: &ClientPlan,
    number: NonZeroU32,
    interruption: &Interruption,
) -> Result<NonZeroU32, SessionError> {
    let header = TcpClientHeader {
        amount: Amount::Bytes(1),
        permit_key: plan.permit_key.clone(),
        mark: Some(Mark {
            version: *VERSIONS.end(),
            number,
        }),
        ..TcpClientHeader::default()
    };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes.push(b'0');
    let broken = |error: std::io::Error| SessionError::Broken(reason(&error));
    conn.send_all(&bytes).map_err(broken)?;
    let mut answer = [0; limits::ACK_TRIP_TIMES];
    let mut length = 0;
    let until = SystemClock.now() + ANSWER;
    // Without an answer the end of the data is what a server of iperf waits for.
    loop {
        match inspect(&answer[..length]) {
            First::Answer(Answer::Taken(mark), _) => {
                let _ = conn.shutdown_write();
                return Ok(mark.number);
            }
            First::Answer(Answer::Refused(refusal), _) => {
                return Err(SessionError::Refused(refusal.reason.to_string()));
            }
            First::Data if length > 0 => return Err(SessionError::NotTapeline),
            First::Part | First::Data => {}
        }
        if interruption.is_raised() {
            return Err(SessionError::Interrupted);
        }
        let now = SystemClock.now();
        if now >= until || length == answer.len() {
            return Err(SessionError::NotTapeline);
        }
        let wait = Wait::AtMost(until.since(now).min(LOOK));
        if !conn.wait_ready(Interest::READ, wait).map_err(broken)? {
            continue;
        }
        match conn.recv_nonblocking(&mut answer[length..]) {
            // A server of another family hangs up.
            Ok(0) => return Err(SessionError::NotTapeline),
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                return Err(SessionError::NotTapeline);
            }
            Err(error) => return Err(broken(error)),
        }
    }
}

const WAKER: u64 = 0;
const CONTROL: u64 = 1;

/// Keeps the control connection until it is over: the thread's part.
fn keep(shared: &Shared, conn: &TcpConn) {
    let over = converse(shared, conn).err();
    let mut state = shared.lock();
    let why = over.map_or_else(|| "it was closed".to_owned(), |error| reason(&error));
    state.over.get_or_insert(SessionError::Broken(why));
    drop(state);
    shared.changed.notify_all();
}

fn converse(shared: &Shared, conn: &TcpConn) -> std::io::Result<()> {
    let mut poller = Poller::new()?;
    poller.register(&shared.waker, WAKER, Interest::READ)?;
    poller.register(conn, CONTROL, Interest::READ)?;
    let mut events = Events::with_capacity(4);
    let mut unsent = Vec::new();
    let mut leaving: Option<MonoTime> = None;
    loop {
        let (now, wall) = (SystemClock.now(), SystemClock.wall());
        let (due, over) = {
            let mut state = shared.lock();
            state.control.tick(now, wall);
            unsent.extend(state.control.output());
            state.obey();
            (state.control.due(), state.control.is_over())
        };
        shared.changed.notify_all();
        if !unsent.is_empty() {
            match conn.send_nonblocking(&unsent) {
                Ok(count) => drop(unsent.drain(..count)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if over {
            let until = *leaving.get_or_insert(now + FAREWELL);
            if unsent.is_empty() || now >= until {
                return Ok(());
            }
        }
        let wait = due.map_or(LOOK, |due| due.since(now).min(LOOK));
        poller.wait(&mut events, Wait::AtMost(wait))?;
        shared.waker.drain();
        if events.iter().any(|event| event.token == CONTROL) {
            let mut buffer = [0; READ];
            let read = conn.recv_nonblocking(&mut buffer);
            let (now, wall) = (SystemClock.now(), SystemClock.wall());
            let mut state = shared.lock();
            match read {
                Ok(0) => state.control.closed("the server closed it"),
                Ok(count) => state.control.received(&buffer[..count], now, wall),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => state.control.closed(&reason(&error)),
            }
        }
    }
}

impl State {
    /// Notes what the state machine has found.
    fn obey(&mut self) {
        while let Some(step) = self.control.step() {
            match step {
                ClientStep::Found(server, key, methods) => {
                    self.found = Some((server, key, methods));
                }
                ClientStep::Granted(granted) => self.granted = granted,
                ClientStep::Ready(ready) => self.answer = Some(Ok(ready)),
                ClientStep::Declined(why) => self.answer = Some(Err(why)),
                ClientStep::Status(status) => self.note(SessionEvent::Status(status)),
                ClientStep::Sample(sample) => self.note(SessionEvent::Sample(sample)),
                ClientStep::Done(done) => self.note(SessionEvent::Done(done)),
                ClientStep::Refused(why) => {
                    self.over.get_or_insert(SessionError::Refused(why));
                }
                ClientStep::Stop(why) | ClientStep::Broken(why) => {
                    self.over.get_or_insert(SessionError::Broken(why));
                }
                ClientStep::Progress(_) | ClientStep::Exchange(_) | ClientStep::Results(_) => {}
            }
        }
    }

    fn note(&mut self, event: SessionEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
