//! A TCP test on a server, from its complete first message on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Pace, Role, Transport, WallTime};
use tapeline_engine::{SendEnd, THREADED_FLOWS};
use tapeline_report::{Connected, ConnectionFlavour, Event};
use tapeline_sys::TcpConn;
use tapeline_wire::iperf2::{
    Bounceback, PeerVersion, ServerAck, TcpClientHeader, TestMode, limits,
};

use super::banner;
use super::connect_back::{self, ConnectBack};
use super::flows::{ReceivePart, SendPart, TcpFlow, payload};
use super::groups::{GroupBy, TestSums};
use super::opening::Request;
use super::order::{SLACK, SendOrder, patience};
use super::tcp_server::{Admission, TcpService};
use crate::reporter::{GroupKey, GroupKind};

/// The same host, another port. Keeps the scope of a link-local address.
pub(super) fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// A connection whose first message is known.
pub(super) struct Session<'a> {
    pub(super) service: &'a TcpService,
    pub(super) conn: Arc<TcpConn>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    /// When the first message was complete: the client may have held it back until all of
    /// its connections were there.
    pub(super) start: MonoTime,
    /// The time of day of a start that is still to come.
    pub(super) announced: Option<WallTime>,
    pub(super) tag: FlowTag,
}

impl Session<'_> {
    /// Starts the flows that the first message asks for.
    pub(super) fn begin(self, request: Request) {
        match request {
            Request::Headerless { read, .. } => self.headerless(read),
            Request::Test { header, counted } => self.test(&header, counted),
            Request::Exchange { first, bytes } => self.request_response(&first, &bytes),
        }
    }

    /// `gap`: time between two sends of the peer, where it said so.
    fn flow(
        &self,
        tag: FlowTag,
        groups: Vec<GroupKey>,
        many: bool,
        gap: Option<Duration>,
    ) -> TcpFlow {
        let service = self.service;
        TcpFlow {
            tag,
            conn: Arc::clone(&self.conn),
            local: self.local,
            peer: self.peer,
            start: self.start,
            interval: service.plan.interval,
            groups,
            stop: service.context.stop().clone(),
            patience: patience(service.plan.interval, gap),
            many,
            tally: Arc::clone(&service.tally),
            after: None,
        }
    }

    fn show(&self, tag: FlowTag, flavour: ConnectionFlavour, header: Option<&TcpClientHeader>) {
        let context = &self.service.context;
        let line = self.line(tag, flavour, header);
        context.reporter.event(Event::Connected(line));
        context.tell_start(tag, Role::Server, self.announced);
    }

    fn line(
        &self,
        tag: FlowTag,
        flavour: ConnectionFlavour,
        header: Option<&TcpClientHeader>,
    ) -> Connected {
        let context = &self.service.context;
        let mut line = banner::connected(tag, self.local, self.peer);
        line.flavour = flavour;
        line.congestion = self.conn.congestion();
        line.congestion_by_user = self.service.plan.socket.congestion.is_some()
            || header.is_some_and(|header| header.congestion_control.is_some());
        if let Some(header) = header {
            line.tos =
                banner::tos_note(flavour, false, header.tos, self.service.plan.reflected_tos);
            line.peer_version = header.version.map(|version| version.to_string());
            line.epoch_start = header.epoch_start;
            line.fair_queue = header.fq_rate.is_some();
            line.quickack = header.quickack;
            line.write_prefetch = header.write_prefetch;
        }
        // A client's own listener tells no more than where the connection came from.
        if matches!(self.service.admission, Admission::Server { .. }) {
            line.initial = banner::initial_tcp(&self.conn);
        }
        line.window_clamp = self.service.plan.socket.window_clamp;
        let permit = self.service.plan.permit_key.as_ref();
        line.permit_key = permit.map(|permit| banner::shown_key(&permit.key));
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        line
    }

    fn receive_part(&self, already: u64, deadline: Option<MonoTime>) -> ReceivePart {
        let plan = &self.service.plan;
        let length = plan.length.unwrap_or(limits::DEFAULT_TCP_LENGTH);
        let own_end = plan.time.map(|time| self.start + time);
        let rate = match plan.pace {
            Some(Pace::Bits(rate)) if rate.0 > 0 => Some(rate.0),
            _ => None,
        };
        ReceivePart {
            length: length.clamp(1, limits::MAX_TCP_LENGTH),
            deadline: deadline.into_iter().chain(own_end).min(),
            expected: None,
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
                (limit.map(|limit| self.start + limit), vec![*group])
            }
        };
        self.show(self.tag, ConnectionFlavour::Plain, None);
        let part = self.receive_part(read, deadline);
        self.flow(self.tag, groups, false, None)
            .receive(&self.service.context, part);
    }

    fn test(self, header: &TcpClientHeader, counted: u64) {
        self.obey_socket_orders(header);
        let context = &self.service.context;
        let many = header.threads as usize > THREADED_FLOWS;
        let gap = send_gap(header);
        let by = if self.service.plan.sum_by_destination {
            GroupBy::Destination(self.local.ip())
        } else {
            GroupBy::Client(self.peer.ip())
        };
        let sums = self.service.groups.join(
            &context.reporter,
            by,
            header.mode,
            header.threads,
            self.start,
        );
        let group = sums.opened;
        if header.mode != TestMode::Reverse && header.mode != TestMode::FullDuplex
            || header.peer_detect
        {
            self.acknowledge();
        }
        match header.mode {
            TestMode::Normal => {
                self.show(self.tag, ConnectionFlavour::Plain, Some(header));
                self.flow(self.tag, vec![group], many, gap)
                    .receive(context, self.receive_part(counted, None));
            }
            TestMode::Reverse => {
                self.show(self.tag, ConnectionFlavour::Reverse, Some(header));
                self.send(self.tag, header, vec![group], many, true);
            }
            TestMode::FullDuplex => {
                self.show(self.tag, ConnectionFlavour::FullDuplex, Some(header));
                let pair = context.reporter.open_group(GroupKind::Duplex(self.tag), 2);
                let groups = vec![pair, group];
                let limit = SendOrder::from_tcp(header, None)
                    .time
                    .map(|time| self.start + time + SLACK);
                self.flow(self.tag, groups.clone(), many, gap)
                    .receive(context, self.receive_part(counted, limit));
                let reversed = FlowTag {
                    reversed: true,
                    ..self.tag
                };
                self.send(reversed, header, groups, many, false);
            }
            TestMode::Dual | TestMode::Tradeoff => self.dual(header, counted, sums, many),
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
            chunk: payload(order.length),
            length: order.length.min(limits::MAX_TCP_LENGTH),
            deadline: time.map(|time| self.start + time),
            bytes: order.bytes,
            already: 0,
            rate: order.rate.map(|rate| rate.0),
            end,
        };
        self.flow(tag, groups, many, None)
            .send(&self.service.context, part);
    }

    /// The forward half of a dual or tradeoff test; the other half is a connection of
    /// our own to the client.
    fn dual(&self, header: &TcpClientHeader, counted: u64, sums: TestSums, many: bool) {
        let service = self.service;
        let context = &service.context;
        self.show(self.tag, ConnectionFlavour::Plain, Some(header));
        let order = SendOrder::from_tcp(header, service.plan.reflected_tos);
        let back = ConnectBack {
            context: Arc::clone(context),
            peer: with_port(self.peer, header.port),
            local: with_port(self.local, 0),
            transport: Transport::Tcp,
            order,
            interval: service.plan.interval,
            group: sums.back,
            tally: Arc::clone(&service.tally),
            narrow: false,
            congestion: service.plan.socket.congestion.clone(),
            peer_version: header.version.map(|version| version.to_string()),
        };
        let limit = order.time.map(|time| self.start + time + SLACK);
        let mut flow = self.flow(self.tag, vec![sums.opened], many, send_gap(header));
        // Counted from now on, so that a server with -P does not end in between.
        let part = service.tally.begin();
        if header.mode == TestMode::Tradeoff {
            flow.after = Some(Box::new(move || connect_back::spawn(back, part)));
        } else {
            connect_back::spawn(back, part);
        }
        flow.receive(context, self.receive_part(counted, limit));
    }

    fn request_response(self, first: &Bounceback, bytes: &[u8]) {
        let tos = first.tos.unwrap_or_default();
        if tos.0 != 0 {
            let _ = self
                .conn
                .set_tos(self.service.plan.reflected_tos.unwrap_or(tos));
        }
        let _ = self.conn.set_nodelay(true);
        let flavour = ConnectionFlavour::RequestResponse {
            request: first.request_size,
            response: first.reply_length(),
            hold_micros: first.hold_micros,
            quickack: first.quickack,
        };
        let context = &self.service.context;
        let mut line = self.line(self.tag, flavour, None);
        line.trip_times = first.clock_synchronised;
        line.tos = banner::tos_note(flavour, false, tos, self.service.plan.reflected_tos);
        context.reporter.event(Event::Connected(line));
        let own_end = self.service.plan.time.map(|time| self.start + time);
        self.flow(self.tag, Vec::new(), false, None)
            .respond(context, first, bytes, own_end);
    }
}

/// Time between two blocks of a client that keeps a rate.
fn send_gap(header: &TcpClientHeader) -> Option<Duration> {
    let order = SendOrder::from_tcp(header, None);
    order.rate?.gap(u64::from(order.length))
}
