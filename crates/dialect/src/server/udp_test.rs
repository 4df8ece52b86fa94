//! A new flow on a UDP server: whether a datagram of an unknown source begins one, which one, and what it asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Transport, WallTime};
use tapeline_engine::{Destination, Precision, Stop};
use tapeline_report::{ConnectionFlavour, Endpoints, Event, Notice};
use tapeline_sys::{Marks, ThreadTime};
use tapeline_wire::iperf2::{PeerVersion, TestMode, Timestamp, UdpClientHeader, UdpForm, Workload};
use tapeline_wire::native::RefusalReason;

use super::flow_table::{Flow, FlowKey, FlowTable, Receiving, Recognition, Sender};
use super::listener::PeerFilter;
use super::udp_socket::{FlowDatagram, ServedSocket};
use crate::iperf2::connect_back::ConnectBack;
use crate::iperf2::stamps::{Settings, StampForm};
use crate::iperf2::start_time::{ClockCheck, Start, agreed_start, held_back, ordered_start};
use crate::iperf2::test_groups::{GroupBy, TestSums};
use crate::iperf2::test_header::{GRACE, SendRequest, idle_timeout};
use crate::iperf2::udp_reader::{Announced, FlowReader};
use crate::iperf2::udp_receiver::{UdpReceiver, UdpWatch};
use crate::iperf2::udp_sender::{Fin, UdpSending};
use crate::iperf2::{banner, connect_back};
use crate::native::local_results::OwnFlow;
use crate::native::recognition;
use crate::native::server::{Joined, Membership};
use crate::policy::Grant;
use crate::run::address::with_port;
use crate::sampler::{FlowExtras, FlowStart, GroupKey, GroupKind};

/// A new flow, its kind not yet decided.
pub(crate) struct NewUdpFlow<'a> {
    pub(crate) served: &'a ServedSocket,
    pub(crate) key: FlowKey,
    pub(crate) local: SocketAddr,
    /// The flow is sent its report at the end.
    pub(crate) answers: bool,
    pub(crate) announced: Announced,
    pub(crate) tag: FlowTag,
    pub(crate) now: MonoTime,
    /// When the flow began: by the client's clock, where the clocks agree.
    pub(crate) start: MonoTime,
    /// The time of day of a start that is still to come.
    pub(crate) waits_for: Option<WallTime>,
    /// Packets are looked at below UDP too.
    pub(crate) link_checked: bool,
    /// Time for which the client says that it waits.
    pub(crate) held_back: Duration,
    /// The clocks agree.
    pub(crate) trip_times: bool,
    pub(crate) sums: TestSums,
    /// What the flow's datagrams are answered with.
    pub(crate) recognition: Recognition,
    /// Ends the flow's sender.
    pub(crate) stop: Stop,
    /// The test, where the client is tapeline.
    pub(crate) membership: Option<Membership>,
}

impl NewUdpFlow<'_> {
    fn show(&self, flavour: ConnectionFlavour, no_fin: bool) {
        let context = &self.served.shared.context;
        let mut line = banner::connected(self.tag, Transport::Udp, self.local, self.key.source);
        if self.local.ip().is_multicast() {
            // No interface owns a group; the one that joined it stands for it.
            let bind = self.served.shared.plan.bind.as_ref();
            line.device = bind.and_then(|bind| bind.device.clone());
        }
        line.flavour = flavour;
        line.no_udp_fin = no_fin;
        line.trip_times = self.trip_times;
        line.test = self.sums.test;
        if let Announced::Header(header) = &self.announced {
            line.connects_back = matches!(header.mode, TestMode::Dual | TestMode::Tradeoff);
            line.isochronous = matches!(header.workload, Workload::Isochronous(_));
            line.fair_queue = header.fq_rate.is_some();
            line.epoch_start = header.epoch_start;
            line.link_checks = header.l2_length_check;
            line.l4s = header.l4s;
            let reflected = self.served.shared.plan.reflected_tos;
            line.tos = banner::tos_note(flavour, false, header.tos, reflected);
            line.peer_is_tapeline = self.membership.is_some();
            line.peer_version = header.version.map(|version| version.to_string());
            line.epoch_start = header.epoch_start;
            line.link_checks = header.l2_length_check;
        }
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        context.reporter.event(Event::Connected(line));
        context.report_start(self.tag, Role::Server, self.waits_for);
    }

    fn order(&self) -> SendRequest {
        let header = self.announced.header().unwrap_or_default();
        SendRequest::from_udp(&header, self.served.shared.plan.reflected_tos)
    }

    /// What the flow may have of what its test is granted.
    fn share(&self) -> Grant {
        let streams = self.announced.header().map_or(1, |header| header.threads);
        let grant = self.served.shared.policy.grant(self.key.source.ip());
        grant.share(streams)
    }

    /// The server sends.
    pub(crate) fn reverse(self) -> Flow {
        self.show(ConnectionFlavour::Reverse, true);
        let order = self.order();
        let sender = self.spawn_sender(self.tag, vec![self.sums.opened], &order);
        let time = order.time.unwrap_or(Duration::from_secs(3600));
        Flow::Sending {
            sender,
            recognition: self.recognition,
            until: self.now + time + GRACE,
        }
    }

    /// The client sends; with full duplex the server does too.
    pub(crate) fn receive(self, reader: FlowReader, mode: TestMode) -> Receiving {
        let plan = &self.served.shared.plan;
        let context = &self.served.shared.context;
        let full_duplex = mode == TestMode::FullDuplex;
        let header = self.announced.header();
        let no_fin = full_duplex || header.is_some_and(|header| header.no_fin);
        let flavour = if full_duplex {
            ConnectionFlavour::FullDuplex
        } else {
            ConnectionFlavour::Plain
        };
        self.show(flavour, no_fin);
        let order = self.order();
        let mut groups = vec![self.sums.opened];
        let mut sender = None;
        if full_duplex {
            groups.insert(
                0,
                context.reporter.open_group(GroupKind::Duplex(self.tag), 2),
            );
            let reversed = FlowTag {
                reversed: true,
                ..self.tag
            };
            sender = Some(self.spawn_sender(reversed, groups.clone(), &order));
        }
        let afterwards = match mode {
            TestMode::Dual => {
                let part = self.served.shared.tally.begin();
                connect_back::spawn(self.connect_back(order, reader.is_narrow()), part);
                None
            }
            TestMode::Tradeoff => {
                let part = self.served.shared.tally.begin();
                Some((self.connect_back(order, reader.is_narrow()), part))
            }
            TestMode::Normal | TestMode::Reverse | TestMode::FullDuplex => None,
        };
        let l4s = header.is_some_and(|header| header.l4s);
        // From the second datagram on, at the latest.
        let marks = l4s && self.served.socket.watch_tos();
        let watch = UdpWatch {
            latency: plan.latency,
            trip_times: self.trip_times,
            recognised: self.recognition.is_of_tapeline(),
            frames: reader.has_frames(),
            marks,
            start: self.start,
            interval: plan.interval,
        };
        let (receiver, watched) = watch.open(reader.first());
        let running = context.reporter.start(FlowStart {
            tag: self.tag,
            cell: watched.cell,
            start: self.start,
            interval: watched.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.key.source,
                local_sends: false,
            },
            groups,
            conn: None,
            histograms: watched.histograms,
            extras: FlowExtras {
                link: self.link_checked,
                ..watched.extras
            },
        });
        let mut receiver = UdpReceiver::new(reader, receiver, self.start);
        if l4s {
            receiver.control_congestion();
        }
        let own_end = plan.time.map(|time| self.now + time);
        let ordered_end = match (&self.served.shared.peer_filter, mode) {
            (PeerFilter::ConnectBack { limit, .. }, _) => limit.map(|limit| self.now + limit),
            (_, TestMode::FullDuplex | TestMode::Dual | TestMode::Tradeoff) => {
                order.time.map(|time| self.now + time + GRACE)
            }
            _ => None,
        };
        // Whom nobody knows could claim to send a datagram in a year.
        let trusted = self.served.shared.policy.trusts(self.key.source.ip());
        let may_branch = sender.is_none() && self.answers && !l4s && !self.link_checked;
        let branch_tries = if may_branch { BRANCH_TRIES } else { 0 };
        let gap = order.longest_gap().filter(|_| trusted);
        Receiving {
            tag: self.tag,
            receiver,
            recognition: self.recognition,
            trip_times: self.trip_times,
            deadline: own_end.into_iter().chain(ordered_end).min(),
            idle_timeout: idle_timeout(plan.interval, gap) + self.held_back,
            held_back: !self.held_back.is_zero(),
            dropped_before: self
                .served
                .socket
                .dropped()
                .filter(|_| self.served.shared.plan.tap_device.is_none()),
            thread_before: ThreadTime::now(),
            past: None,
            branch_tries,
            looked: 0,
            stop: self.stop.clone(),
            reports: self.answers && !no_fin,
            afterwards,
            sender,
            start: self.now,
            share: self.share(),
            amplification: self
                .served
                .shared
                .policy
                .amplification_limit(self.key.source.ip()),
            running,
            part: self.served.shared.tally.begin(),
        }
    }

    /// Where the server's own data goes. A mark costs the segmenting of the kernel, so the
    /// address that the route chooses anyway is not marked.
    fn destination(&self, order: &SendRequest) -> Destination {
        let source = self.key.source;
        let marks = Marks {
            tos: Some(order.tos).filter(|tos| tos.0 != 0),
            ..self.key.marks()
        };
        let routed = marks.source.is_none() || self.served.routed(source).ip() == self.local.ip();
        match (routed, marks.tos) {
            (true, None) => Destination::To(source),
            (true, tos) => Destination::Marked(source, Marks { tos, source: None }),
            (false, _) => Destination::Marked(source, marks),
        }
    }

    /// What our own datagrams carry on this client's order.
    fn answer(&self) -> Settings {
        let now = Timestamp::from(self.served.shared.context.wall());
        let header = self.announced.header().filter(|_| self.trip_times);
        header
            .and_then(|header| header.answer(PeerVersion::IPERF_2_2_1, now))
            .map_or(Settings::None, Settings::Header)
    }

    fn connect_back(&self, order: SendRequest, narrow: bool) -> ConnectBack {
        let shared = &self.served.shared;
        let header = self.announced.header();
        let port = header.map_or(0, |header| header.port);
        ConnectBack {
            context: Arc::clone(&shared.context),
            peer: with_port(self.key.source, port),
            local: with_port(self.local, 0),
            transport: Transport::Udp,
            order,
            interval: shared.plan.interval,
            group: self.sums.back,
            test: self.sums.test,
            tally: Arc::clone(&shared.tally),
            slot: None,
            narrow,
            congestion: None,
            peer_version: header
                .and_then(|header| header.version)
                .map(|version| version.to_string()),
            membership: self.membership.clone(),
        }
    }

    /// Sends from the service's own socket to the source, on a thread of its own.
    fn spawn_sender(&self, tag: FlowTag, groups: Vec<GroupKey>, order: &SendRequest) -> Sender {
        let shared = &self.served.shared;
        let time = order.time.into_iter().chain(shared.plan.time).min();
        let finished = Finished(Stop::new());
        let sender = Sender {
            stop: self.stop.child(),
            gone: Stop::new(),
            finished: finished.0.clone(),
            deadline: time.map(|time| self.now + time),
        };
        let sending = UdpSending {
            context: Arc::clone(&shared.context),
            tag,
            socket: Arc::clone(&self.served.socket),
            to: self.destination(order),
            form: StampForm::Wide,
            settings: self.answer(),
            length: order.length,
            start: self.now,
            deadline: sender.deadline,
            bytes: order.bytes,
            traffic: order.traffic(),
            precision: Precision::Precise,
            seed: shared.context.wall().as_nanos() as u64,
            trip_times: self.trip_times,
            content: None,
            early_frames: self
                .announced
                .header()
                .is_some_and(|header| header.form == UdpForm::Extended36),
            l4s: None,
            interval: shared.plan.interval,
            groups,
            local: self.local,
            peer: self.key.source,
            stop: sender.stop.clone(),
            gone: sender.gone.clone(),
            refusal_is_failure: false,
            answers: None,
            fin: Fin::Once,
        };
        let part = shared.tally.begin();
        let spawned = std::thread::Builder::new()
            .name("udp".into())
            .spawn(move || {
                let _finished = finished;
                part.end(sending.run());
            });
        if let Err(error) = spawned {
            shared
                .context
                .notice(Notice::Text(format!("no thread for a stream: {error}")));
        }
        sender
    }
}

/// Raises its flag when it is dropped, however the sender ended.
struct Finished(Stop);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Attempts to give a flow a socket of its own.
const BRANCH_TRIES: u8 = 3;
/// Most flows at a time; further sources wait until one ends.
const MAX_FLOWS: usize = 4096;
/// Why a flow of a foreign source does not begin.
const NO_ROOM: &str = "too many unverified UDP clients";
/// Why an order to send is not obeyed.
const UNVERIFIED: &str = "the address is not verified that its order names as the target of \
                               this server's datagrams (--trust NETWORK does)";
/// Most flows that are waited for until a time of day.
const MAX_HELD_BACK: usize = 64;

fn admits(served: &ServedSocket, flows: &FlowTable, source: SocketAddr) -> bool {
    let address = served
        .shared
        .peer_filter
        .admits(source.ip(), &served.shared.policy);
    let one = served.shared.plan.single_client || served.shared.plan.single_udp;
    address && (!one || flows.active() == 0) && flows.len() < MAX_FLOWS
}

/// A datagram of an unknown source.
pub(crate) fn open(served: &ServedSocket, flows: &mut FlowTable, datagram: &FlowDatagram<'_>) {
    let (key, now) = (datagram.key, datagram.content.now);
    if !admits(served, flows, key.source) {
        return;
    }
    let Some((mut reader, mut announced)) = FlowReader::open(datagram.content.payload) else {
        return;
    };
    if reader.read(datagram.content.payload).is_none() {
        return;
    }
    let mode = announced
        .header()
        .map_or(TestMode::Normal, |header| header.mode);
    let connect_back = matches!(served.shared.peer_filter, PeerFilter::ConnectBack { .. });
    // Groups are not answered: nobody could be meant by it.
    if connect_back || (served.is_group(key) && mode != TestMode::Normal) {
        announced = Announced::Nothing;
    }
    let header = announced.header();
    let mode = header.map_or(TestMode::Normal, |header| header.mode);
    if mode != TestMode::Normal && !served.shared.policy.trusts(key.source.ip()) {
        refuse(served, flows, datagram, header, RefusalReason::Unverified);
        return flows.refusals.refused(key.source, UNVERIFIED);
    }
    let foreign = !served.shared.policy.trusts(key.source.ip());
    if foreign && !served.evict(flows, now) {
        refuse(served, flows, datagram, header, RefusalReason::Busy);
        return flows.refusals.refused(key.source, NO_ROOM);
    }
    let local = served.local_for(key);
    let (trip_times, start) = beginning(served, announced, datagram);
    let ordered = header.map_or(Start::at_once(served.shared.context.both()), |header| {
        ordered_start(
            header.epoch_start,
            header.start_time,
            served.shared.context.both(),
        )
    });
    let waits = header.is_some_and(|header| header.epoch_start);
    let start = if waits { ordered.at } else { start };
    let transfer_id = header.and_then(|header| header.transfer_id);
    let asked = header.is_some_and(|header| header.l2_length_check);
    let link_checked =
        served.shared.plan.tap_device.is_some() || (asked && served.watch(flows, key));
    let tag = FlowTag {
        id: served.shared.context.flow_id(transfer_id),
        reversed: false,
    };
    let joined = header
        .as_ref()
        .filter(|_| !served.is_group(key))
        .and_then(|header| join(served, header, key, local, tag));
    if let PeerFilter::ConnectBack { test, .. } = &served.shared.peer_filter
        && let Some(test) = test.get()
    {
        test.receives(tag, local, key.source);
    }
    let mut recognition = Recognition::new(joined.as_ref().map(|joined| joined.answer));
    let answer = recognition.next(datagram.content.payload);
    let new_flow = NewUdpFlow {
        served,
        key,
        local,
        answers: !served.is_group(key),
        announced,
        tag,
        recognition,
        stop: joined.as_ref().map_or_else(
            || served.shared.context.stop().clone(),
            |joined| joined.stop.clone(),
        ),
        membership: joined.map(|joined| joined.membership),
        now: if waits { now.max(ordered.at) } else { now },
        start,
        waits_for: ordered.announced,
        link_checked,
        held_back: extra_timeout(served, flows, header.as_ref()),
        trip_times,
        sums: sums(served, key.source, local, header.as_ref(), now),
    };
    let amplification = served.shared.policy.amplification_limit(key.source.ip());
    if let Some(answer) = answer {
        served.answer_unless_limited(amplification, &answer, key);
    }
    let flow = match mode {
        TestMode::Reverse => new_flow.reverse(),
        _ => {
            let mut receiving = new_flow.receive(reader, mode);
            if flows.active() == 0 && receiving.dropped_before.is_some() {
                // Datagrams behind the first one may be lost already.
                receiving.dropped_before = flows.dropped_idle;
            }
            let wall = || served.shared.context.wall();
            if let Some(ack) = receiving.receiver.acknowledge(&datagram.content, wall) {
                served.answer_unless_limited(amplification, &ack, key);
            }
            let _ = receiving.receiver.take(&datagram.content);
            receiving.receiver.publish();
            Flow::Receiving(Box::new(receiving))
        }
    };
    flows.begin(key, flow);
    if foreign {
        flows.note_unverified(key);
    }
}

/// Replies to a client that is tapeline why its flow does not begin.
fn refuse(
    served: &ServedSocket,
    flows: &mut FlowTable,
    datagram: &FlowDatagram<'_>,
    header: Option<UdpClientHeader>,
    reason: RefusalReason,
) {
    let key = datagram.key;
    let mark = header.and_then(|header| header.mark);
    if let Some(mark) = mark.filter(|_| served.shared.control.is_some() && !served.is_group(key))
        && flows
            .refused_clients
            .answers(key, datagram.content.payload.len())
    {
        let refusal = recognition::refusal(mark, reason).encode();
        served.answer_unless_limited(
            served.shared.policy.amplification_limit(key.source.ip()),
            &refusal,
            key,
        );
    }
}

/// Makes the flow one of its test, if the client is tapeline.
fn join(
    served: &ServedSocket,
    header: &UdpClientHeader,
    key: FlowKey,
    local: SocketAddr,
    tag: FlowTag,
) -> Option<Joined> {
    let service = served.shared.control.as_ref()?;
    let reversed = FlowTag {
        reversed: true,
        ..tag
    };
    let (receives, sends) = match header.mode {
        TestMode::FullDuplex => (Some(tag), Some(reversed)),
        TestMode::Reverse => (None, Some(tag)),
        TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => (Some(tag), None),
    };
    let flow = OwnFlow {
        token: None,
        sends,
        receives,
        local,
        peer: key.source,
        congestion: None,
    };
    service.join(header.mark?, flow)
}

/// Whether the clocks agree, and when the flow began: by the client's clock, if so.
fn beginning(
    served: &ServedSocket,
    announced: Announced,
    datagram: &FlowDatagram<'_>,
) -> (bool, MonoTime) {
    let (now, wall) = (datagram.content.now, served.shared.context.wall());
    match agreed_start(announced, datagram.content.payload, wall) {
        ClockCheck::NotAsked => (false, now),
        ClockCheck::Agrees(age) => (true, now - age),
        ClockCheck::Disagrees(gap) => {
            let text = format!(
                "trip-times of {} are not used: its clock differs by {} s",
                datagram.key.source,
                gap.as_secs()
            );
            served.shared.context.notice(Notice::Remark(text));
            (false, now)
        }
    }
}

/// Extra idle timeout of a flow whose client waits for a time of day. For a few flows only:
/// anybody can claim to wait.
fn extra_timeout(
    served: &ServedSocket,
    flows: &FlowTable,
    header: Option<&UdpClientHeader>,
) -> Duration {
    let start_time = header.and_then(|header| header.start_time);
    let held = held_back(start_time, served.shared.context.wall());
    if held.is_zero() || flows.held_back() >= MAX_HELD_BACK {
        return Duration::ZERO;
    }
    held
}

fn sums(
    served: &ServedSocket,
    source: SocketAddr,
    local: SocketAddr,
    header: Option<&UdpClientHeader>,
    now: MonoTime,
) -> TestSums {
    match &served.shared.peer_filter {
        PeerFilter::ConnectBack { group, .. } => TestSums {
            opened: *group,
            back: *group,
            test: None,
        },
        PeerFilter::Server { .. } => {
            let (mode, threads) = header.map_or((TestMode::Normal, 1), |header| {
                (header.mode, header.threads)
            });
            let reporter = &served.shared.context.reporter;
            let by = if served.shared.plan.sum_by_destination {
                GroupBy::Destination(local.ip())
            } else {
                GroupBy::Client(source.ip())
            };
            let sums = served.shared.groups.join(reporter, by, mode, threads, now);
            TestSums {
                // Without a header nobody knows how many flows there are.
                test: sums.test.filter(|_| header.is_some()),
                ..sums
            }
        }
    }
}
