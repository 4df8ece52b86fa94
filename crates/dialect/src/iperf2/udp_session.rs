//! A new flow on a UDP server: what its first datagram asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Transport, WallTime};
use tapeline_engine::{Destination, Precision, Stop};
use tapeline_report::{ConnectionFlavour, Endpoints, Event, Notice};
use tapeline_sys::{Marks, ThreadTime};
use tapeline_wire::iperf2::{PeerVersion, TestMode, Timestamp, UdpForm, Workload};

use super::admission::Admission;
use super::banner;
use super::connect_back::{self, ConnectBack};
use super::flow_table::{Flow, FlowKey, Receiving, Sender};
use super::groups::TestSums;
use super::incoming::Incoming;
use super::order::{SLACK, SendOrder, patience};
use super::recognition::Recognition;
use super::stamps::{Settings, StampForm};
use super::tcp_session::with_port;
use super::udp_flow::{Announced, FlowReader};
use super::udp_sending::{Fin, UdpSending};
use super::udp_server::UdpService;
use super::udp_watch::UdpWatch;
use crate::native::Membership;
use crate::policy::Grant;
use crate::reporter::{FlowExtras, FlowStart, GroupKey, GroupKind};

/// A new flow, its kind not yet decided.
pub(super) struct Opening<'a> {
    pub(super) service: &'a UdpService,
    pub(super) key: FlowKey,
    pub(super) local: SocketAddr,
    /// The flow is told its report at the end.
    pub(super) answers: bool,
    pub(super) announced: Announced,
    pub(super) tag: FlowTag,
    pub(super) now: MonoTime,
    /// When the flow began: by the client's clock, where the clocks agree.
    pub(super) start: MonoTime,
    /// The time of day of a start that is still to come.
    pub(super) waits_for: Option<WallTime>,
    /// Packets are looked at below UDP too.
    pub(super) link_checked: bool,
    /// Time for which the client says that it waits.
    pub(super) held_back: Duration,
    /// The clocks agree.
    pub(super) trip_times: bool,
    pub(super) sums: TestSums,
    /// What the flow's datagrams are answered with.
    pub(super) recognition: Recognition,
    /// Ends the flow's sender.
    pub(super) stop: Stop,
    /// The test, where the client is tapeline.
    pub(super) membership: Option<Membership>,
}

impl Opening<'_> {
    fn show(&self, flavour: ConnectionFlavour, no_fin: bool) {
        let context = &self.service.context;
        let mut line = banner::connected(self.tag, self.local, self.key.source);
        if self.local.ip().is_multicast() {
            // No interface owns a group; the one that joined it stands for it.
            let bind = self.service.plan.bind.as_ref();
            line.device = bind.and_then(|bind| bind.device.clone());
        }
        line.flavour = flavour;
        line.no_udp_fin = no_fin;
        line.trip_times = self.trip_times;
        line.test = self.sums.test;
        if let Announced::Header(header) = &self.announced {
            line.isochronous = matches!(header.workload, Workload::Isochronous(_));
            line.fair_queue = header.fq_rate.is_some();
            line.epoch_start = header.epoch_start;
            line.link_checks = header.l2_length_check;
            line.l4s = header.l4s;
            let reflected = self.service.plan.reflected_tos;
            line.tos = banner::tos_note(flavour, false, header.tos, reflected);
            line.peer_is_tapeline = self.membership.is_some();
            line.peer_version = header.version.map(|version| version.to_string());
            line.epoch_start = header.epoch_start;
            line.link_checks = header.l2_length_check;
        }
        line.at = (flavour != ConnectionFlavour::Reverse).then(|| context.wall());
        context.reporter.event(Event::Connected(line));
        context.tell_start(self.tag, Role::Server, self.waits_for);
    }

    fn order(&self) -> SendOrder {
        let header = self.announced.header().unwrap_or_default();
        SendOrder::from_udp(&header, self.service.plan.reflected_tos)
    }

    /// What the flow may have of what its test is granted.
    fn share(&self) -> Grant {
        let streams = self.announced.header().map_or(1, |header| header.threads);
        let grant = self.service.policy.grant(self.key.source.ip());
        grant.share(streams)
    }

    /// The server sends.
    pub(super) fn reverse(self) -> Flow {
        self.show(ConnectionFlavour::Reverse, true);
        let order = self.order();
        let sender = self.spawn_sender(self.tag, vec![self.sums.opened], &order);
        let time = order.time.unwrap_or(Duration::from_secs(3600));
        Flow::Sending {
            sender,
            recognition: self.recognition,
            until: self.now + time + SLACK,
        }
    }

    /// The client sends; with full duplex the server does too.
    pub(super) fn receive(self, reader: FlowReader, mode: TestMode) -> Receiving {
        let plan = &self.service.plan;
        let context = &self.service.context;
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
                let part = self.service.tally.begin();
                connect_back::spawn(self.connect_back(order, reader.is_narrow()), part);
                None
            }
            TestMode::Tradeoff => {
                let part = self.service.tally.begin();
                Some((self.connect_back(order, reader.is_narrow()), part))
            }
            TestMode::Normal | TestMode::Reverse | TestMode::FullDuplex => None,
        };
        let l4s = header.is_some_and(|header| header.l4s);
        // From the second datagram on, at the latest.
        let marks = l4s && self.service.socket.watch_tos();
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
        let mut incoming = Incoming::new(reader, receiver, self.start);
        if l4s {
            incoming.control_congestion();
        }
        let own_end = plan.time.map(|time| self.now + time);
        let ordered_end = match (&self.service.admission, mode) {
            (Admission::ConnectBack { limit, .. }, _) => limit.map(|limit| self.now + limit),
            (_, TestMode::FullDuplex | TestMode::Dual | TestMode::Tradeoff) => {
                order.time.map(|time| self.now + time + SLACK)
            }
            _ => None,
        };
        // Whom nobody knows could claim to send a datagram in a year.
        let trusted = self.service.policy.trusts(self.key.source.ip());
        let gap = order.longest_gap().filter(|_| trusted);
        Receiving {
            tag: self.tag,
            incoming,
            recognition: self.recognition,
            trip_times: self.trip_times,
            deadline: own_end.into_iter().chain(ordered_end).min(),
            patience: patience(plan.interval, gap) + self.held_back,
            held_back: !self.held_back.is_zero(),
            dropped_before: self
                .service
                .socket
                .dropped()
                .filter(|_| self.service.plan.tap_device.is_none()),
            thread_before: ThreadTime::now(),
            reports: self.answers && !no_fin,
            afterwards,
            sender,
            start: self.now,
            share: self.share(),
            allowance: self.service.policy.allowance(self.key.source.ip()),
            running,
            part: self.service.tally.begin(),
        }
    }

    /// Where the server's own data goes. A mark costs the segmenting of the kernel, so the
    /// address that the route chooses anyway is not marked.
    fn destination(&self, order: &SendOrder) -> Destination {
        let source = self.key.source;
        let marks = Marks {
            tos: Some(order.tos).filter(|tos| tos.0 != 0),
            ..self.key.marks()
        };
        let routed = marks.source.is_none() || self.service.routed(source).ip() == self.local.ip();
        match (routed, marks.tos) {
            (true, None) => Destination::To(source),
            (true, tos) => Destination::Marked(source, Marks { tos, source: None }),
            (false, _) => Destination::Marked(source, marks),
        }
    }

    /// What our own datagrams carry on this client's order.
    fn answer(&self) -> Settings {
        let now = Timestamp::from(self.service.context.wall());
        let header = self.announced.header().filter(|_| self.trip_times);
        header
            .and_then(|header| header.answer(PeerVersion::IPERF_2_2_1, now))
            .map_or(Settings::None, Settings::Header)
    }

    fn connect_back(&self, order: SendOrder, narrow: bool) -> ConnectBack {
        let service = self.service;
        let header = self.announced.header();
        let port = header.map_or(0, |header| header.port);
        ConnectBack {
            context: Arc::clone(&service.context),
            peer: with_port(self.key.source, port),
            local: with_port(self.local, 0),
            transport: Transport::Udp,
            order,
            interval: service.plan.interval,
            group: self.sums.back,
            test: self.sums.test,
            tally: Arc::clone(&service.tally),
            seat: None,
            narrow,
            congestion: None,
            peer_version: header
                .and_then(|header| header.version)
                .map(|version| version.to_string()),
            membership: self.membership.clone(),
        }
    }

    /// Sends from the service's own socket to the source, on a thread of its own.
    fn spawn_sender(&self, tag: FlowTag, groups: Vec<GroupKey>, order: &SendOrder) -> Sender {
        let service = self.service;
        let time = order.time.into_iter().chain(service.plan.time).min();
        let finished = Finished(Stop::new());
        let sender = Sender {
            stop: self.stop.child(),
            gone: Stop::new(),
            finished: finished.0.clone(),
            deadline: time.map(|time| self.now + time),
        };
        let sending = UdpSending {
            context: Arc::clone(&service.context),
            tag,
            socket: Arc::clone(&service.socket),
            to: self.destination(order),
            form: StampForm::Wide,
            settings: self.answer(),
            length: order.length,
            start: self.now,
            deadline: sender.deadline,
            bytes: order.bytes,
            traffic: order.traffic(),
            precision: Precision::Precise,
            seed: service.context.wall().as_nanos() as u64,
            trip_times: self.trip_times,
            content: None,
            early_frames: self
                .announced
                .header()
                .is_some_and(|header| header.form == UdpForm::Extended36),
            l4s: None,
            interval: service.plan.interval,
            groups,
            local: self.local,
            peer: self.key.source,
            stop: sender.stop.clone(),
            gone: sender.gone.clone(),
            answers: None,
            fin: Fin::Once,
        };
        let part = service.tally.begin();
        let spawned = std::thread::Builder::new()
            .name("udp".into())
            .spawn(move || {
                let _finished = finished;
                part.end(sending.run());
            });
        if let Err(error) = spawned {
            service
                .context
                .notice(Notice::Text(format!("no thread for a flow: {error}")));
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
