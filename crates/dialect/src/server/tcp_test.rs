//! A TCP test on a server, from its complete first message on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Pace, Role, Transport, WallTime};
use tapeline_engine::{SendEnd, Stop, THREADED_FLOWS};
use tapeline_report::{ClientTest, Connected, ConnectionFlavour, Endpoints, Event, Notice};
use tapeline_sys::TcpConn;
use tapeline_wire::iperf2::{
    AckTimes, Bounceback, PeerVersion, ServerAck, TcpClientHeader, TestMode, Workload, limits,
};
use tapeline_wire::native::Mark;

use super::listener::PeerFilter;
use super::shared::ServerShared;
use crate::iperf2::connect_back::ConnectBack;
use crate::iperf2::first_message::Request;
use crate::iperf2::probe_run::{Probe, ProbeFlow, ProbeRun, probe_run};
use crate::iperf2::start_time::MAX_AHEAD;
use crate::iperf2::tcp_flow::{ReceivePart, SendPart, TcpFlow, payload};
use crate::iperf2::tcp_traffic::{BurstOrder, TcpTraffic, burst_period, is_stamped, seed};
use crate::iperf2::test_groups::{GroupBy, TestSums};
use crate::iperf2::test_header::{GRACE, SendRequest, idle_timeout, ordered_write_length};
use crate::iperf2::{banner, bounceback, connect_back};
use crate::native::local_results::OwnFlow;
use crate::native::server::Joined;
use crate::plan::FairQueuePlan;
use crate::policy::{Grant, Slot};
use crate::run::address::with_port;
use crate::sampler::{GroupKey, GroupKind};

/// Time from a connection to its first request within which the two belong together.
const AT_ONCE: Duration = Duration::from_millis(50);
/// Silence after which the system asks whether a client is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// A connection whose first message is known.
pub(crate) struct Session<'a> {
    pub(crate) shared: &'a ServerShared,
    pub(crate) conn: Arc<TcpConn>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// When the first message was complete: the client may have held it back until all of
    /// its connections were there.
    pub(crate) start: MonoTime,
    /// The time of day of a start that is still to come.
    pub(crate) announced: Option<WallTime>,
    /// When the connection was accepted.
    pub(crate) accepted: MonoTime,
    /// Ends the flows.
    pub(crate) stop: Stop,
    pub(crate) tag: FlowTag,
    /// Whose test it is, where the client is tapeline.
    pub(crate) joined: Option<Joined>,
    /// What it may have of what its test is granted.
    pub(crate) share: Grant,
    /// Its place among the server's tests.
    pub(crate) slot: Option<Slot>,
}

impl Session<'_> {
    /// Starts the flows that the first message asks for.
    pub(crate) fn begin(self, request: Request) {
        match request {
            Request::Headerless { read, .. } => self.headerless(read),
            Request::Test { header, counted } => self.test(&header, counted),
            // Not a test of iperf 2: its own service has taken it.
            Request::Iperf3(_) | Request::Control => {}
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
        let shared = self.shared;
        // Whom nobody knows could claim to send a block in a year.
        let gap = gap.filter(|_| shared.policy.trusts(self.peer.ip()));
        TcpFlow {
            tag,
            conn: Arc::clone(&self.conn),
            local: self.local,
            peer: self.peer,
            start: self.start,
            interval: shared.plan.interval,
            groups,
            stop: self.stop.clone(),
            idle_timeout: idle_timeout(shared.plan.interval, gap),
            many,
            tally: Arc::clone(&shared.tally),
            after: None,
            wrong_protocol: None,
            slot: self.slot.clone(),
        }
    }

    fn show(
        &self,
        flavour: ConnectionFlavour,
        header: Option<&TcpClientHeader>,
        test: Option<ClientTest>,
    ) {
        let context = &self.shared.context;
        let mut line = self.line(self.tag, flavour, header);
        line.test = test;
        context.reporter.event(Event::Connected(line));
        context.report_start(self.tag, Role::Server, self.announced);
    }

    fn line(
        &self,
        tag: FlowTag,
        flavour: ConnectionFlavour,
        header: Option<&TcpClientHeader>,
    ) -> Connected {
        let context = &self.shared.context;
        let mut line = banner::connected(tag, Transport::Tcp, self.local, self.peer);
        line.flavour = flavour;
        line.congestion = self.conn.congestion();
        line.congestion_by_user = self.shared.plan.socket.congestion.is_some()
            || header.is_some_and(|header| header.congestion_control.is_some());
        if let Some(header) = header {
            line.tos = banner::tos_note(flavour, false, header.tos, self.shared.plan.reflected_tos);
            line.peer_is_tapeline = self.joined.is_some();
            line.peer_version = header.version.map(|version| version.to_string());
            line.trip_times = header.trip_times;
            line.connects_back = matches!(header.mode, TestMode::Dual | TestMode::Tradeoff);
            line.isochronous = matches!(header.workload, Workload::Isochronous(_));
            line.burst_period = match header.workload {
                Workload::PeriodicBurst(settings) => burst_period(&settings),
                _ => None,
            };
            line.fair_queue = flavour == ConnectionFlavour::Reverse && header.fq_rate.is_some();
            line.write_prefetch = header.write_prefetch;
            line.epoch_start = header.epoch_start;
            line.quickack = header.quickack;
        }
        // A client's own listener reports no more than where the connection came from.
        if matches!(self.shared.peer_filter, PeerFilter::Server { .. }) {
            line.initial = banner::initial_tcp(&self.conn);
        }
        line.window_clamp = self.shared.plan.socket.window_clamp;
        let permit = self.shared.plan.permit_key.as_ref();
        line.permit_key = permit.map(|permit| banner::shown_key(&permit.key));
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        line
    }

    fn receive_part(&self, already: u64, deadline: Option<MonoTime>) -> ReceivePart {
        let plan = &self.shared.plan;
        let length = plan.length.unwrap_or(limits::DEFAULT_TCP_LENGTH);
        let own_end = self.share.time.map(|time| self.start + time);
        let rate = match plan.pace {
            Some(Pace::Bits(rate)) if rate.0 > 0 => Some(rate),
            _ => None,
        };
        let rate = rate.into_iter().chain(self.share.rate).min();
        ReceivePart {
            length: self.share.block(length.clamp(1, limits::MAX_TCP_LENGTH)),
            deadline: deadline.into_iter().chain(own_end).min(),
            expected: None,
            bytes: None,
            max: self.share.bytes,
            already,
            rate: rate.map(|rate| rate.0),
            ordered: None,
            shutdown: false,
            bursts: None,
            histogram: plan.latency.histograms,
            discard: plan.socket.skip_receive_copy,
            quickack: plan.socket.quickack,
            window_clamp: plan.socket.window_clamp,
            held_back: Duration::ZERO,
            answers: None,
        }
    }

    /// How the data of a client with this header is received.
    fn test_part(
        &self,
        header: &TcpClientHeader,
        counted: u64,
        limit: Option<MonoTime>,
    ) -> ReceivePart {
        let _ = self.conn.set_keepalive(KEEPALIVE);
        let by_frame = self.shared.plan.latency.by_frame;
        let part = self.receive_part(counted, limit);
        ReceivePart {
            bursts: BurstOrder::from_workload(&header.workload, header.trip_times, by_frame),
            quickack: part.quickack || header.quickack,
            // The header does not carry --txdelay-time; who is gone does not answer probes.
            held_back: if self.shared.policy.trusts(self.peer.ip()) {
                MAX_AHEAD
            } else {
                Duration::ZERO
            },
            ..part
        }
    }

    /// Drops trip times that a client's clock does not allow: delays between clocks that are
    /// minutes apart say nothing.
    fn check_trip_times(&self, header: &mut TcpClientHeader) {
        if !header.trip_times || header.epoch_start {
            return;
        }
        let context = &self.shared.context;
        let sent = WallTime::from(header.start_time.unwrap_or_default());
        let apart = context.wall().nanos_since(sent).unsigned_abs();
        let max = u64::from(limits::MAX_TRIP_TIMES_GAP_SECONDS) * 1_000_000_000;
        if apart > max {
            header.trip_times = false;
            context.notice(Notice::Remark(format!(
                "{}: no trip times: the client's clock is {} s away from ours",
                self.peer,
                apart / 1_000_000_000
            )));
        }
    }

    fn headerless(self, read: u64) {
        let (deadline, groups) = match &self.shared.peer_filter {
            PeerFilter::Server { .. } => (None, Vec::new()),
            PeerFilter::ConnectBack {
                limit, group, test, ..
            } => {
                if let Some(test) = test.get() {
                    test.receives(self.tag, self.local, self.peer);
                }
                (limit.map(|limit| self.start + limit), vec![*group])
            }
        };
        self.show(ConnectionFlavour::Plain, None, None);
        let part = self.receive_part(read, deadline);
        self.flow(self.tag, groups, false, None)
            .receive(&self.shared.context, part);
    }

    fn test(mut self, header: &TcpClientHeader, counted: u64) {
        let header = &mut header.clone();
        self.check_trip_times(header);
        let header = &*header;
        self.obey_socket_orders(header);
        let context = &self.shared.context;
        let many = header.threads as usize > THREADED_FLOWS;
        let gap = send_gap(header);
        let by = self.group_by(GroupBy::Client(self.peer.ip()));
        let sums = self.shared.groups.join(
            &context.reporter,
            by,
            header.mode,
            header.threads,
            self.start,
        );
        let group = sums.opened;
        self.joined = self.join(header);
        if let Some(joined) = &self.joined {
            self.stop = joined.stop.clone();
        }
        if header.mode != TestMode::Reverse && header.mode != TestMode::FullDuplex
            || header.peer_detect
            || self.joined.is_some()
        {
            self.acknowledge(header, self.joined.as_ref().map(|joined| joined.answer));
        }
        match header.mode {
            TestMode::Normal => {
                self.show(ConnectionFlavour::Plain, Some(header), sums.test);
                self.flow(self.tag, vec![group], many, gap)
                    .receive(context, self.test_part(header, counted, None));
            }
            TestMode::Reverse => {
                self.show(ConnectionFlavour::Reverse, Some(header), sums.test);
                self.send(self.tag, header, vec![group], many, true);
            }
            TestMode::FullDuplex => {
                self.show(ConnectionFlavour::FullDuplex, Some(header), sums.test);
                let pair = context.reporter.open_group(GroupKind::Duplex(self.tag), 2);
                let groups = vec![pair, group];
                let limit = SendRequest::from_tcp(header, None)
                    .time
                    .map(|time| self.start + time + GRACE);
                self.flow(self.tag, groups.clone(), many, gap)
                    .receive(context, self.test_part(header, counted, limit));
                let reversed = FlowTag {
                    reversed: true,
                    ..self.tag
                };
                self.send(reversed, header, groups, many, false);
            }
            TestMode::Dual | TestMode::Tradeoff => self.dual(header, counted, sums, many),
        }
    }

    /// Makes the flow one of its test, if the client is tapeline.
    fn join(&self, header: &TcpClientHeader) -> Option<Joined> {
        let service = self.shared.control.as_ref()?;
        let reversed = FlowTag {
            reversed: true,
            ..self.tag
        };
        let (receives, sends) = match header.mode {
            TestMode::FullDuplex => (Some(self.tag), Some(reversed)),
            TestMode::Reverse => (None, Some(self.tag)),
            TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => (Some(self.tag), None),
        };
        let flow = OwnFlow {
            token: None,
            sends,
            receives,
            local: self.local,
            peer: self.peer,
            congestion: self.conn.congestion(),
        };
        let joined = service.join(header.mark?, flow)?;
        if sends.is_some() {
            joined.sends_on(&self.conn);
        }
        Some(joined)
    }

    /// Socket options that the client's header asks for.
    fn obey_socket_orders(&self, header: &TcpClientHeader) {
        let plan = &self.shared.plan;
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

    /// Replies to the client that this server understood its header.
    fn acknowledge(&self, header: &TcpClientHeader, mark: Option<Mark>) {
        let context = &self.shared.context;
        let now = context.wall();
        let waited = context.now().since(self.accepted);
        let times = || AckTimes {
            sent: header.start_time.unwrap_or_default(),
            accepted: earlier(now, waited).into(),
            acknowledged: now.into(),
        };
        let ack = ServerAck {
            version: Some(PeerVersion::IPERF_2_2_1),
            mark,
            trip_times: header.trip_times.then(times),
        };
        let mut message = Vec::with_capacity(limits::ACK);
        ack.encode(&mut message);
        let _ = self.conn.set_nodelay(true);
        // So few bytes always fit into an empty send buffer.
        let _ = self.conn.send_nonblocking(&message);
        let _ = self.conn.set_nodelay(self.shared.plan.socket.nodelay);
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
        let plan = &self.shared.plan;
        let order = SendRequest::from_tcp(header, plan.reflected_tos).within(self.share);
        let end = if drain {
            SendEnd::ShutdownAndDrain(order.drain)
        } else {
            SendEnd::Shutdown
        };
        let length = self.share.block(ordered_write_length(plan, header));
        let wait_for_room = header
            .write_prefetch
            .is_some_and(|bytes| self.conn.set_notsent_lowat(bytes).is_ok());
        if matches!(header.workload, Workload::Isochronous(_)) {
            // A frame that waits for a delayed acknowledgement is late, and a 2.2.1 client whose
            // next frame is two periods away takes the test for over.
            let _ = self.conn.set_nodelay(true);
        }
        let part = SendPart {
            deadline: order.time.map(|time| self.start + time),
            bytes: order.bytes,
            already: self.send_answer(header),
            traffic: TcpTraffic::from_header(header, length).at_most(self.share.rate),
            stamped: is_stamped(header),
            seed: seed(None, tag.id.0),
            zero_copy: plan.socket.zero_copy,
            wait_for_room,
            pacing: self.pacing(header),
            write_times: plan.latency.write_times,
            histogram: plan.latency.histograms,
            ..SendPart::plain(payload(length, self.shared.context.techniques), length, end)
        };
        self.flow(tag, groups, many, None)
            .send(&self.shared.context, part);
    }

    /// The rate that the kernel keeps: what was ordered, or granted, whatever the traffic's shape.
    fn pacing(&self, header: &TcpClientHeader) -> Option<FairQueuePlan> {
        let ordered = header.fq_rate.map(|rate| BitRate(rate.0.saturating_mul(8)));
        let rate = ordered.into_iter().chain(self.share.rate).min()?;
        Some(FairQueuePlan { rate, step: None })
    }

    /// Sends the header that stands before this server's own bursts, where the client expects
    /// one; returns its bytes, which count as data.
    fn send_answer(&self, header: &TcpClientHeader) -> u64 {
        let start = self.shared.context.wall().into();
        let Some(answer) = header.answer(PeerVersion::IPERF_2_2_1, start) else {
            return 0;
        };
        let mut message = Vec::with_capacity(128);
        answer.encode(&mut message);
        // It is the first of the connection, or stands behind an acknowledgement: it fits.
        match self.conn.send_nonblocking(&message) {
            Ok(sent) => sent as u64,
            Err(_) => 0,
        }
    }

    /// The forward half of a dual or tradeoff test; the other half is a connection of
    /// our own to the client.
    fn dual(&self, header: &TcpClientHeader, counted: u64, sums: TestSums, many: bool) {
        let shared = self.shared;
        let context = &shared.context;
        self.show(ConnectionFlavour::Plain, Some(header), sums.test);
        let order = SendRequest::from_tcp(header, shared.plan.reflected_tos).within(self.share);
        let back = ConnectBack {
            context: Arc::clone(context),
            peer: with_port(self.peer, header.port),
            local: with_port(self.local, 0),
            transport: Transport::Tcp,
            order,
            interval: shared.plan.interval,
            group: sums.back,
            test: sums.test,
            tally: Arc::clone(&shared.tally),
            slot: self.slot.clone(),
            narrow: false,
            congestion: shared.plan.socket.congestion.clone(),
            peer_version: header.version.map(|version| version.to_string()),
            membership: self.joined.as_ref().map(|joined| joined.membership.clone()),
        };
        let limit = order.time.map(|time| self.start + time + GRACE);
        let mut flow = self.flow(self.tag, vec![sums.opened], many, send_gap(header));
        // Counted from now on, so that a server with -P does not end in between.
        let part = shared.tally.begin();
        if header.mode == TestMode::Tradeoff {
            flow.after = Some(Box::new(move || connect_back::spawn(back, part)));
        } else {
            connect_back::spawn(back, part);
        }
        flow.receive(context, self.test_part(header, counted, limit));
    }

    /// What the sum is over that this flow belongs to.
    fn group_by(&self, usual: GroupBy) -> GroupBy {
        if self.shared.plan.sum_by_destination {
            GroupBy::Destination(self.local.ip())
        } else {
            usual
        }
    }

    fn request_response(mut self, first: &Bounceback, bytes: &[u8]) {
        // The client counts from before its first request on: so do we, so that both ends'
        // intervals hold the same bursts.
        if self.start.since(self.accepted) < AT_ONCE {
            self.start = self.accepted;
        }
        let tos = first.tos.unwrap_or_default();
        if tos.0 != 0 {
            let _ = self
                .conn
                .set_tos(self.shared.plan.reflected_tos.unwrap_or(tos));
        }
        let _ = self.conn.set_nodelay(true);
        let flavour = ConnectionFlavour::RequestResponse {
            request: first.request_size,
            response: first.reply_length(),
            hold_micros: first.hold_micros,
            quickack: first.quickack,
        };
        let context = &self.shared.context;
        let sums = self.shared.groups.join(
            &context.reporter,
            self.group_by(GroupBy::Uncounted(self.peer.ip())),
            TestMode::Normal,
            1,
            self.start,
        );
        let mut line = self.line(self.tag, flavour, None);
        line.test = sums.test;
        line.trip_times = first.clock_synchronised;
        line.tos = banner::tos_note(flavour, false, tos, self.shared.plan.reflected_tos);
        context.reporter.event(Event::Connected(line));
        let probes = &self.shared.groups.probes;
        if let Some(name) = probe_run(self.peer.ip(), first)
            && let Some(queue) = probes.open(name)
        {
            let run = ProbeRun {
                name,
                runs: Arc::clone(probes),
                context: Arc::clone(context),
                stop: self.stop.clone(),
                part: self.shared.tally.begin(),
            };
            let flow = ProbeFlow {
                tag: self.tag,
                start: self.start,
                interval: self.shared.plan.interval,
                endpoints: Endpoints {
                    local: self.local,
                    peer: self.peer,
                    local_sends: false,
                },
                group: sums.opened,
            };
            let probe = Probe {
                conn: self.conn,
                already: bytes.to_vec(),
                _slot: self.slot,
            };
            return run.begin(flow, probe, queue);
        }
        let own_end = self.share.time.map(|time| self.start + time);
        let flow = self.flow(self.tag, vec![sums.opened], false, None);
        bounceback::respond(flow, context, first, bytes, own_end);
    }
}

/// Time between two blocks or bursts of a client that keeps a rate.
fn send_gap(header: &TcpClientHeader) -> Option<Duration> {
    let order = SendRequest::from_tcp(header, None);
    TcpTraffic::from_header(header, order.length).gap(order.length)
}

/// The wall time `by` before `time`.
fn earlier(time: WallTime, by: Duration) -> WallTime {
    let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
    WallTime::from_nanos(time.as_nanos().saturating_sub(by))
}
