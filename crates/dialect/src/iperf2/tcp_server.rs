//! The TCP server: accept, read first messages without ever waiting for one, start flows.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Pace, Transport};
use tapeline_engine::{SendEnd, Stop, THREADED_FLOWS};
use tapeline_report::{ConnectionFlavour, Event, Notice};
use tapeline_sys::{Events, Interest, Poller, TcpConn, TcpListener, Wait, Waker};
use tapeline_wire::iperf2::{
    Bounceback, PeerVersion, ServerAck, TcpClientHeader, TestMode, limits,
};

use super::banner;
use super::client::SharedContext;
use super::connect_back::{self, ConnectBack};
use super::flows::{AfterEnd, ReceivePart, SendPart, TcpFlow, payload};
use super::groups::TestGroups;
use super::opening::{Opening, Progress, Request};
use super::order::{FIRST_MESSAGE, SLACK, SendOrder, patience};
use crate::context::Tally;
use crate::plan::ServerPlan;
use crate::reporter::{GroupKey, GroupKind};

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
/// Connections whose first message is not complete; the oldest is dropped beyond.
const MOST_PENDING: usize = 1024;
/// Pause after running out of descriptors.
const SHED_PAUSE: Duration = Duration::from_millis(20);

/// Who may connect and what for.
#[derive(Clone, Debug)]
pub(super) enum Admission {
    /// Anybody, or one address; connections begin with a first message.
    Server {
        /// Only from this address.
        only_from: Option<IpAddr>,
    },
    /// The connections that a dual test's server opens: no first message.
    ConnectBack {
        /// The server.
        from: IpAddr,
        /// Longest time of each flow; `None` without.
        limit: Option<Duration>,
        /// Sum group of the client's test.
        group: GroupKey,
    },
}

/// A connection whose first message is not complete.
struct Pending {
    token: u64,
    conn: TcpConn,
    peer: SocketAddr,
    accepted: MonoTime,
    opening: Opening,
}

/// One listening socket and everything that begins on it.
pub(super) struct TcpService {
    pub(super) plan: Arc<ServerPlan>,
    pub(super) context: SharedContext,
    pub(super) listener: TcpListener,
    pub(super) admission: Admission,
    pub(super) groups: Arc<TestGroups>,
    /// Running flows; woken when one ends.
    pub(super) tally: Arc<Tally>,
    pub(super) waker: Arc<Waker>,
    /// Stop listening (running flows go on).
    pub(super) close: Stop,
    /// Stop listening at this time.
    pub(super) until: Option<MonoTime>,
    /// Stop listening after this many tests.
    pub(super) most: Option<usize>,
}

impl TcpService {
    /// Serves until told to stop; running flows may outlive it.
    pub(super) fn run(self) {
        let mut poller = match self.poller() {
            Ok(poller) => poller,
            Err(error) => {
                self.context.notice(Notice::Text(format!("poll: {error}")));
                return;
            }
        };
        let mut events = Events::with_capacity(128);
        let mut pending: VecDeque<Pending> = VecDeque::new();
        let mut next_token = 0;
        let mut served = 0;
        let mut accepting = true;
        loop {
            if self.is_over(served, pending.is_empty()) {
                return;
            }
            let wanted = self.may_accept(served, pending.len());
            if wanted != accepting {
                let interest = if wanted {
                    Interest::READ
                } else {
                    Interest::NONE
                };
                accepting = poller.modify(&self.listener, LISTENER, interest).is_ok() && wanted;
            }
            if poller.wait(&mut events, self.wait(&pending)).is_err() {
                return;
            }
            let ready: Vec<u64> = events.iter().map(|event| event.token).collect();
            for token in ready {
                match token {
                    WAKER => self.waker.drain(),
                    LISTENER => self.accept(&mut poller, &mut pending, &mut next_token),
                    token => {
                        let Some(at) = pending.iter().position(|one| one.token == token) else {
                            continue;
                        };
                        if let Some(outcome) = self.read(&mut pending[at]) {
                            if let Some(one) = pending.remove(at) {
                                let _ = poller.deregister(&one.conn);
                                served += usize::from(self.settle(one, outcome));
                            }
                        }
                    }
                }
            }
            self.drop_slow(&mut poller, &mut pending);
        }
    }

    fn poller(&self) -> std::io::Result<Poller> {
        let mut poller = Poller::new()?;
        poller.register(&self.listener, LISTENER, Interest::READ)?;
        poller.register(&self.waker, WAKER, Interest::READ)?;
        Ok(poller)
    }

    fn is_over(&self, served: usize, nothing_pending: bool) -> bool {
        self.context.stop().is_raised()
            || self.close.is_raised()
            || self.until.is_some_and(|until| self.context.now() >= until)
            || (self.most.is_some_and(|most| served >= most) && nothing_pending)
    }

    fn may_accept(&self, served: usize, pending: usize) -> bool {
        let room = self.most.is_none_or(|most| served + pending < most);
        let idle = !self.plan.single_client || (self.tally.pending() == 0 && pending == 0);
        room && idle
    }

    fn wait(&self, pending: &VecDeque<Pending>) -> Wait {
        let now = self.context.now();
        let slow = pending.front().map(|one| one.accepted + FIRST_MESSAGE);
        match slow.into_iter().chain(self.until).min() {
            Some(due) => Wait::AtMost(due.since(now)),
            None => Wait::Forever,
        }
    }

    fn accept(&self, poller: &mut Poller, pending: &mut VecDeque<Pending>, next_token: &mut u64) {
        loop {
            match self.listener.accept() {
                Ok(None) => return,
                Ok(Some((conn, peer))) => {
                    let peer = tapeline_sys::unmapped(peer);
                    if !self.admits(peer.ip()) {
                        continue;
                    }
                    let opening = match self.admission {
                        Admission::Server { .. } => Opening::default(),
                        Admission::ConnectBack { .. } => Opening::headerless(),
                    };
                    let token = *next_token;
                    *next_token += 1;
                    if poller.register(&conn, token, Interest::READ).is_err() {
                        continue;
                    }
                    if pending.len() >= MOST_PENDING
                        && let Some(oldest) = pending.pop_front()
                    {
                        let _ = poller.deregister(&oldest.conn);
                    }
                    pending.push_back(Pending {
                        token,
                        conn,
                        peer,
                        accepted: self.context.now(),
                        opening,
                    });
                    if self.plan.single_client {
                        return;
                    }
                }
                Err(error) => {
                    // Out of descriptors or memory: let running flows free some.
                    self.context.notice(Notice::Text(error.to_string()));
                    std::thread::sleep(SHED_PAUSE);
                    return;
                }
            }
        }
    }

    fn admits(&self, peer: IpAddr) -> bool {
        match &self.admission {
            Admission::Server { only_from } => only_from.is_none_or(|only| only == peer),
            Admission::ConnectBack { from, .. } => *from == peer,
        }
    }

    /// Reads what is there of a first message; `None` while it is incomplete.
    fn read(&self, one: &mut Pending) -> Option<Result<Request, Option<String>>> {
        let mut buffer = [0; 256];
        let mut progress = one.opening.progress();
        loop {
            match progress {
                Progress::Ready(request) => return Some(Ok(request)),
                Progress::Refused(reason) => return Some(Err(Some(reason.to_owned()))),
                Progress::Need(count) => {
                    let room = &mut buffer[..count.min(256)];
                    match one.conn.recv_nonblocking(room) {
                        // A connection test, or somebody who looked in.
                        Ok(0) if one.opening.is_empty() => return Some(Err(None)),
                        Ok(0) => return Some(Err(Some("closed within its first message".into()))),
                        Ok(read) => progress = one.opening.push(&room[..read]),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                            return None;
                        }
                        Err(_) => return Some(Err(None)),
                    }
                }
            }
        }
    }

    fn drop_slow(&self, poller: &mut Poller, pending: &mut VecDeque<Pending>) {
        let now = self.context.now();
        while let Some(first) = pending.front() {
            if now < first.accepted + FIRST_MESSAGE {
                return;
            }
            if let Some(slow) = pending.pop_front() {
                let _ = poller.deregister(&slow.conn);
                self.refuse(slow.peer, "no complete first message within 10 s".into());
            }
        }
    }

    fn refuse(&self, peer: SocketAddr, reason: String) {
        self.context.notice(Notice::PeerRefused { peer, reason });
    }

    /// Starts what a complete first message asks for; returns whether a test began.
    fn settle(&self, one: Pending, outcome: Result<Request, Option<String>>) -> bool {
        let request = match outcome {
            Ok(request) => request,
            Err(reason) => {
                if let Some(reason) = reason {
                    self.refuse(one.peer, reason);
                }
                return false;
            }
        };
        let Ok(local) = one.conn.local_addr() else {
            return false;
        };
        let session = Session {
            service: self,
            conn: Arc::new(one.conn),
            local,
            peer: one.peer,
            accepted: one.accepted,
            tag: FlowTag {
                id: self.context.next_id(),
                reversed: false,
            },
        };
        match request {
            Request::Headerless { read, .. } => session.headerless(read),
            Request::Test { header, counted } => session.test(&header, counted),
            Request::RequestResponse { first, bytes } => session.request_response(&first, bytes),
        }
        true
    }

    /// Wakes this service when a flow ends, for `-1` and `-P`.
    fn after_flow(&self) -> AfterEnd {
        let waker = Arc::clone(&self.waker);
        Box::new(move || waker.wake())
    }
}

/// A connection whose first message is known.
struct Session<'a> {
    service: &'a TcpService,
    conn: Arc<TcpConn>,
    local: SocketAddr,
    peer: SocketAddr,
    accepted: MonoTime,
    tag: FlowTag,
}

impl Session<'_> {
    fn flow(&self, tag: FlowTag, groups: Vec<GroupKey>, many: bool) -> TcpFlow {
        let service = self.service;
        TcpFlow {
            tag,
            conn: Arc::clone(&self.conn),
            local: self.local,
            peer: self.peer,
            start: self.accepted,
            interval: service.plan.interval,
            groups,
            stop: service.context.stop().clone(),
            patience: patience(service.plan.interval, None),
            many,
            tally: Arc::clone(&service.tally),
            after: Some(service.after_flow()),
        }
    }

    fn show(&self, tag: FlowTag, flavour: ConnectionFlavour, header: Option<&TcpClientHeader>) {
        let context = &self.service.context;
        let mut line = banner::connected(tag, self.local, self.peer);
        line.flavour = flavour;
        line.congestion = self.conn.congestion();
        line.congestion_by_user = self.service.plan.socket.congestion.is_some();
        if let Some(header) = header {
            line.tos =
                banner::tos_note(flavour, false, header.tos, self.service.plan.reflected_tos);
            line.peer_version = header.version.map(|version| version.to_string());
        }
        line.initial = banner::initial_tcp(&self.conn);
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        context.reporter.event(Event::Connected(line));
    }

    fn receive_part(&self, already: u64, deadline: Option<MonoTime>) -> ReceivePart {
        let plan = &self.service.plan;
        let length = plan.length.unwrap_or(limits::DEFAULT_TCP_LENGTH);
        let own_end = plan.time.map(|time| self.accepted + time);
        let rate = match plan.pace {
            Some(Pace::Bits(rate)) if rate.0 > 0 => Some(rate.0),
            _ => None,
        };
        ReceivePart {
            length: length.clamp(1, limits::MAX_TCP_LENGTH),
            deadline: deadline.into_iter().chain(own_end).min(),
            bytes: None,
            already,
            rate,
            shutdown: false,
        }
    }

    fn headerless(self, read: u64) {
        let (deadline, groups) = match &self.service.admission {
            Admission::Server { .. } => (None, Vec::new()),
            Admission::ConnectBack { limit, group, .. } => {
                (limit.map(|limit| self.accepted + limit), vec![*group])
            }
        };
        self.show(self.tag, ConnectionFlavour::Plain, None);
        let part = self.receive_part(read, deadline);
        self.flow(self.tag, groups, false)
            .receive(&self.service.context, part);
    }

    fn test(self, header: &TcpClientHeader, counted: u64) {
        self.obey_socket_orders(header);
        let context = &self.service.context;
        let many = header.threads as usize > THREADED_FLOWS;
        let group = self.service.groups.join(
            &context.reporter,
            self.peer.ip(),
            header.threads,
            self.accepted,
        );
        if header.mode != TestMode::Reverse && header.mode != TestMode::FullDuplex
            || header.peer_detect
        {
            self.acknowledge();
        }
        match header.mode {
            TestMode::Normal => {
                self.show(self.tag, ConnectionFlavour::Plain, Some(header));
                self.flow(self.tag, vec![group], many)
                    .receive(context, self.receive_part(counted, None));
            }
            TestMode::Reverse => {
                self.show(self.tag, ConnectionFlavour::Reverse, Some(header));
                self.send(self.tag, header, vec![group], many, true);
            }
            TestMode::FullDuplex => {
                self.show(self.tag, ConnectionFlavour::FullDuplex, Some(header));
                let pair = context.reporter.open_group(GroupKind::Duplex(self.tag));
                let groups = vec![pair, group];
                let limit = SendOrder::from_tcp(header, None)
                    .time
                    .map(|time| self.accepted + time + SLACK);
                self.flow(self.tag, groups.clone(), many)
                    .receive(context, self.receive_part(counted, limit));
                let reversed = FlowTag {
                    reversed: true,
                    ..self.tag
                };
                self.send(reversed, header, groups, many, false);
            }
            TestMode::Dual | TestMode::Tradeoff => self.dual(header, counted, group, many),
        }
    }

    /// Socket options that the client's header asks for.
    fn obey_socket_orders(&self, header: &TcpClientHeader) {
        let plan = &self.service.plan;
        let tos = plan.reflected_tos.unwrap_or(header.tos);
        if tos.0 != 0 {
            let _ = self.conn.set_tos(tos);
        }
        // The server's own choice wins; an unknown name leaves the default.
        if plan.socket.congestion.is_none()
            && let Some(name) = &header.congestion_control
        {
            let _ = self.conn.set_congestion(name.as_str());
        }
    }

    /// Tells the client that this server understood its header.
    fn acknowledge(&self) {
        let ack = ServerAck {
            version: Some(PeerVersion::IPERF_2_2_1),
            reserved: [0; 2],
            trip_times: None,
        };
        let mut message = Vec::with_capacity(limits::ACK);
        ack.encode(&mut message);
        let _ = self.conn.set_nodelay(true);
        // 28 bytes always fit into an empty send buffer.
        let _ = self.conn.send_nonblocking(&message);
        let _ = self.conn.set_nodelay(self.service.plan.socket.nodelay);
    }

    /// Sends on the client's order.
    fn send(
        &self,
        tag: FlowTag,
        header: &TcpClientHeader,
        groups: Vec<GroupKey>,
        many: bool,
        drain: bool,
    ) {
        let plan = &self.service.plan;
        let order = SendOrder::from_tcp(header, plan.reflected_tos);
        let time = order.time.into_iter().chain(plan.time).min();
        let end = if drain {
            SendEnd::ShutdownAndDrain(order.time.unwrap_or_default().max(SLACK))
        } else {
            SendEnd::Shutdown
        };
        let part = SendPart {
            payload: payload(order.length.min(limits::MAX_TCP_LENGTH)),
            deadline: time.map(|time| self.accepted + time),
            bytes: order.bytes,
            already: 0,
            rate: order.rate.map(|rate| rate.0),
            end,
        };
        self.flow(tag, groups, many)
            .send(&self.service.context, part);
    }

    /// The forward half of a dual or tradeoff test; the other half is a connection of
    /// our own to the client.
    fn dual(&self, header: &TcpClientHeader, counted: u64, group: GroupKey, many: bool) {
        let service = self.service;
        let context = &service.context;
        self.show(self.tag, ConnectionFlavour::Plain, Some(header));
        let order = SendOrder::from_tcp(header, service.plan.reflected_tos);
        let back = ConnectBack {
            context: Arc::clone(context),
            peer: SocketAddr::new(self.peer.ip(), header.port),
            local_ip: self.local.ip(),
            transport: Transport::Tcp,
            order,
            interval: service.plan.interval,
            group,
            tally: Arc::clone(&service.tally),
            waker: Arc::clone(&service.waker),
            narrow: false,
            congestion: service.plan.socket.congestion.clone(),
        };
        let limit = order.time.map(|time| self.accepted + time + SLACK);
        let mut flow = self.flow(self.tag, vec![group], many);
        if header.mode == TestMode::Tradeoff {
            let begun = AtomicBool::new(false);
            let waker = Arc::clone(&service.waker);
            // Counted from now on, so that a server with -P does not end in between.
            service.tally.begin();
            flow.after = Some(Box::new(move || {
                if !begun.swap(true, Ordering::AcqRel) {
                    connect_back::spawn(back, true);
                }
                waker.wake();
            }));
        } else {
            service.tally.begin();
            connect_back::spawn(back, true);
        }
        flow.receive(context, self.receive_part(counted, limit));
    }

    fn request_response(self, first: &Bounceback, bytes: Vec<u8>) {
        let tos = first.tos.unwrap_or_default();
        if tos.0 != 0 {
            let _ = self
                .conn
                .set_tos(self.service.plan.reflected_tos.unwrap_or(tos));
        }
        let _ = self.conn.set_nodelay(true);
        let reply = first.reply_length();
        let flavour = ConnectionFlavour::RequestResponse {
            request: first.request_size,
            response: reply,
            hold_micros: first.hold_micros,
            quickack: first.quickack,
        };
        self.show(self.tag, flavour, None);
        self.flow(self.tag, Vec::new(), false).respond(
            &self.service.context,
            first.request_size as usize,
            reply as usize,
            bytes,
        );
    }
}
