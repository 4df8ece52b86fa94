//! The UDP client, and sending with the final exchange, which connect-backs share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Role, Transport, WallTime};
use tapeline_engine::{
    Content, Destination, Intervals, Pacer, Precision, SendCell, SendPublisher, Stop, UdpSendEnd,
    UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_report::{
    ConnectionFlavour, Endpoints, Event, MarkovReport, Measure, Notice, Phase, Row, ScheduleErrors,
    Span, Subject, TrafficOperation, UdpReceive,
};
use tapeline_stats::Moments;
use tapeline_sys::{
    Interest, Opened, Operation, ReceiveFeatures, SocketOptions, UdpSocket, Wait, reason,
};
use tapeline_wire::iperf2::{ServerReport, Timestamp};

use super::banner::{self, SocketFacts};
use super::client::{SharedContext, Target};
use super::closing::{Closing, ClosingStep};
use super::connect_back::ClientListener;
use super::flows::tell_ending;
use super::groups::TestSums;
use super::order::{SLACK, patience};
use super::stamps::{FrameStamp, Settings, Stamp12, Stamp16, StampForm, datagram_template};
use super::udp_receive::UdpReceiving;
use super::udp_traffic::Traffic;
use super::working_load::{RunningLoad, WorkingLoad};
use crate::context::Tally;
use crate::plan::{Arrangement, ClientPlan, Personality, Shape, StartTime};
use crate::reporter::{CounterCell, FlowEnd, FlowExtras, FlowStart, GroupKey, GroupKind};

/// Distance between the first datagrams of parallel flows: a 2.2.1 server mixes up flows
/// that begin at the same instant (wire document 7.9).
const STAGGER: Duration = Duration::from_millis(10);
const STAGGERED: u32 = 20;
/// Sends with which a reverse test is asked for, as 2.2.1.
const REVERSE_TRIES: u32 = 100;
/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(20);
/// Largest datagram that anybody could answer with.
const MAX_ANSWER: usize = 65_536;

struct Ready {
    tag: FlowTag,
    socket: Arc<UdpSocket>,
    local: SocketAddr,
    peer: SocketAddr,
}

/// Runs the test; returns whether anything failed.
pub(super) fn run(plan: &ClientPlan, target: &Target, context: &SharedContext) -> bool {
    let mut options = banner::client_options(plan);
    // Sockets that allow it may be given one port together: two flows would be one.
    options.reuse_address = target.shares_port();
    let tally = Tally::new();
    let sums = TestSums::of_client(&context.reporter, plan);
    let listener = match ClientListener::open(plan, target, context, sums.back) {
        Ok(listener) => listener,
        Err(notice) => {
            context.notice(notice);
            return true;
        }
    };
    let mut ready = Vec::with_capacity(plan.parallel);
    for index in 0..plan.parallel {
        let tag = FlowTag {
            id: context.next_id(),
            reversed: false,
        };
        let peer = target.peer(index);
        let Some(opened) = open(plan, peer, target.local(index), &options, context) else {
            tally.fail();
            continue;
        };
        if index == 0 {
            if let Err(notice) =
                banner::tell_refusals(&opened.refused, &options, plan.personality, context)
            {
                context.notice(notice);
                return true;
            }
            let buffer = opened.socket.send_buffer().unwrap_or(0);
            banner::tell_clamped(plan.socket.window, buffer, plan.personality, context);
            let facts = SocketFacts {
                buffer,
                mss: None,
                congestion: None,
            };
            let banner = banner::client_banner(plan, target.bound(), peer.is_ipv6(), facts);
            context.reporter.event(Event::Connecting(banner));
        }
        if peer.ip().is_multicast() {
            let _ = opened
                .socket
                .set_multicast_ttl(plan.socket.ttl.unwrap_or(1));
        }
        let local = opened.socket.local_addr().unwrap_or(peer);
        ready.push(Ready {
            tag,
            socket: Arc::new(opened.socket),
            local,
            peer,
        });
    }
    for flow in &ready {
        show(plan, flow, context);
    }
    let group = sums.opened;
    let load = WorkingLoad::of(plan, context)
        .filter(|_| !ready.is_empty())
        .map(|load| load.begin(target, context, group));
    let planned = plan.flow_start(context.both());
    let start = planned.at;
    for (index, flow) in ready.into_iter().enumerate() {
        context.tell_start(flow.tag, Role::Client, planned.announced);
        let step = u32::try_from(index).unwrap_or(u32::MAX) % STAGGERED;
        start_flow(plan, flow, start + STAGGER * step, group, context, &tally);
    }
    let failed = tally.wait();
    let failed = load.is_some_and(RunningLoad::end) || failed;
    listener.map_or(failed, |listener| listener.wait() || failed)
}

/// Opens a flow's socket; tells why when there is none. As iperf 2, its dialect goes on from
/// any address when the wanted one cannot be had.
fn open(
    plan: &ClientPlan,
    peer: SocketAddr,
    local: Option<SocketAddr>,
    options: &SocketOptions,
    context: &SharedContext,
) -> Option<Opened<UdpSocket>> {
    match UdpSocket::connected(peer, local, options) {
        Ok(opened) => Some(opened),
        Err(error) if error.operation == Operation::Bind => {
            context.notice(Notice::BindFailed {
                address: error.address.unwrap_or(peer),
                reason: error.reason(),
            });
            if plan.personality == Personality::Iperf2 && local.is_some() {
                open(plan, peer, None, options, context)
            } else {
                None
            }
        }
        Err(error) => {
            context.notice(Notice::Text(error.to_string()));
            None
        }
    }
}

fn show(plan: &ClientPlan, flow: &Ready, context: &SharedContext) {
    let flavour = match plan.arrangement() {
        Arrangement::Reverse => ConnectionFlavour::Reverse,
        Arrangement::FullDuplex => ConnectionFlavour::FullDuplex,
        _ => ConnectionFlavour::Plain,
    };
    let mut line = banner::connected(flow.tag, flow.local, flow.peer);
    line.flavour = flavour;
    line.no_udp_fin = !plan.udp_fin || plan.arrangement() == Arrangement::FullDuplex;
    line.trip_times = plan.latency.trip_times;
    line.isochronous = matches!(plan.shape, Shape::Isochronous(_));
    line.fair_queue = plan.socket.fair_queue.is_some();
    line.epoch_start = matches!(plan.start, StartTime::At(_));
    line.link_checks = plan.l2_checks;
    line.l4s = plan.l4s;
    line.tos = banner::tos_note(flavour, true, plan.socket.tos.unwrap_or_default(), None);
    line.at = Some(context.wall());
    context.reporter.event(Event::Connected(line));
}

/// Runs `part` on a thread of its own and counts its end.
fn spawn(
    context: &SharedContext,
    tally: &Arc<Tally>,
    part: impl FnOnce() -> bool + Send + 'static,
) {
    let counted = tally.begin();
    let spawned = std::thread::Builder::new()
        .name("udp".into())
        .spawn(move || counted.end(part()));
    if let Err(error) = spawned {
        context.notice(Notice::Text(format!("no thread for a flow: {error}")));
    }
}

fn start_flow(
    plan: &ClientPlan,
    flow: Ready,
    start: MonoTime,
    group: GroupKey,
    context: &SharedContext,
    tally: &Arc<Tally>,
) {
    let arrangement = plan.arrangement();
    let ipv6 = flow.peer.is_ipv6();
    let mut settings = plan.udp_settings(ipv6, wall_at(start, context));
    if let Settings::Header(header) = &mut settings {
        header.transfer_id = plan.transfer_id(flow.tag);
    }
    let deadline = plan.time_limit().map(|time| start + time);
    let reversed = FlowTag {
        reversed: true,
        ..flow.tag
    };
    let groups = match arrangement {
        Arrangement::FullDuplex => {
            let pair = context.reporter.open_group(GroupKind::Duplex(flow.tag), 2);
            vec![pair, group]
        }
        _ => vec![group],
    };
    let sends = arrangement != Arrangement::Reverse;
    let receives = matches!(arrangement, Arrangement::Reverse | Arrangement::FullDuplex);
    if receives {
        let length = plan.udp_length(ipv6);
        let gap = Traffic::of_client(plan, length).longest_gap(length);
        flow.socket.request(ReceiveFeatures::MEASURE);
        let _ = flow.socket.maximise_receive_buffer();
        let receiving = UdpReceiving {
            context: Arc::clone(context),
            tag: reversed,
            socket: Arc::clone(&flow.socket),
            local: flow.local,
            peer: flow.peer,
            start,
            deadline: deadline.map(|deadline| deadline + SLACK),
            bytes: plan.byte_limit(),
            interval: plan.interval,
            groups: groups.clone(),
            latency: plan.latency,
            frames: matches!(plan.shape, Shape::Isochronous(_)),
            patience: patience(plan.interval, gap),
            stop: context.stop().clone(),
        };
        let asker = Arc::clone(&flow.socket);
        let stop = context.stop().clone();
        let first = (!sends).then(|| first_datagram(&settings, 0));
        spawn(context, tally, move || {
            let mut pacer = Pacer::new(Precision::Economical);
            if let Some(first) = first
                && pacer.wait(start, &stop).is_some()
            {
                ask_for_data(&asker, first, &stop);
            }
            receiving.run()
        });
    }
    if sends {
        let no_fin = !plan.udp_fin || arrangement == Arrangement::FullDuplex;
        let length = plan.udp_length(ipv6);
        let sending = UdpSending {
            context: Arc::clone(context),
            tag: flow.tag,
            socket: flow.socket,
            to: Destination::Connected,
            form: StampForm::Wide,
            settings,
            length,
            start,
            deadline,
            bytes: plan.byte_limit(),
            traffic: Traffic::of_client(plan, length),
            seed: plan
                .seed
                .unwrap_or_else(|| context.wall().as_nanos() as u64)
                .wrapping_add(u64::from(flow.tag.id.0)),
            trip_times: plan.latency.trip_times,
            content: None,
            interval: plan.interval,
            groups,
            local: flow.local,
            peer: flow.peer,
            stop: context.stop().clone(),
            fin: if no_fin || flow.peer.ip().is_multicast() {
                Fin::Once
            } else {
                Fin::Exchange
            },
        };
        spawn(context, tally, move || sending.run());
    }
}

/// The first datagram of a flow: long enough for its settings.
fn first_datagram(settings: &Settings, length: u32) -> Vec<u8> {
    let length = (length as usize).max(settings.required_length());
    datagram_template(length, settings)
}

/// The time of day at a moment near to now.
fn wall_at(time: MonoTime, context: &SharedContext) -> Timestamp {
    let (now, wall) = (context.now(), context.wall());
    let ahead = time.since(now).as_nanos() as i64 - now.since(time).as_nanos() as i64;
    Timestamp::from(WallTime::from_nanos(wall.as_nanos().saturating_add(ahead)))
}

/// Sends the order of a reverse test until the server's data arrives. The server takes
/// repetitions for what they are: they have the same number.
fn ask_for_data(socket: &UdpSocket, mut order: Vec<u8>, stop: &Stop) {
    use tapeline_engine::DatagramStamp as _;
    let clock = tapeline_sys::SystemClock;
    for attempt in 0..REVERSE_TRIES {
        if stop.is_raised() {
            return;
        }
        let wall = tapeline_base::Clock::wall(&clock);
        Stamp16.stamp(&mut order, 1, wall);
        // A refused datagram shows in the receiver's silence.
        let _ = socket.send(&order);
        let wait = Duration::from_millis(u64::from(attempt.min(9)) * 2 + 2);
        if socket
            .wait_ready(Interest::READ, Wait::AtMost(wait))
            .unwrap_or(false)
        {
            // Readable may only mean an error from the path: that is not data.
            match socket.take_error() {
                Ok(Some(_)) => {}
                _ => return,
            }
        }
    }
}

/// How a UDP sender ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fin {
    /// Final datagrams until the report comes.
    Exchange,
    /// One final datagram.
    Once,
}

/// A UDP sender with its final exchange.
pub(super) struct UdpSending {
    pub(super) context: SharedContext,
    pub(super) tag: FlowTag,
    pub(super) socket: Arc<UdpSocket>,
    /// Where to.
    pub(super) to: Destination,
    pub(super) form: StampForm,
    /// What the datagrams carry behind their number and time.
    pub(super) settings: Settings,
    pub(super) length: u32,
    pub(super) start: MonoTime,
    pub(super) deadline: Option<MonoTime>,
    pub(super) bytes: Option<u64>,
    pub(super) traffic: Traffic,
    /// Decides all that the traffic draws.
    pub(super) seed: u64,
    /// The clocks agree.
    pub(super) trip_times: bool,
    /// Payload that is read.
    pub(super) content: Option<Content>,
    pub(super) interval: Option<Duration>,
    pub(super) groups: Vec<GroupKey>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) stop: Stop,
    pub(super) fin: Fin,
}

/// Share of the wanted rate below which the pacing counts as missed.
const PACING_MISSED: f64 = 0.99;

impl UdpSending {
    /// Sends on the calling thread until all is over; returns whether it failed.
    pub(super) fn run(mut self) -> bool {
        let cell = Arc::new(SendCell::new(Intervals::new(self.start, self.interval)));
        let running = self.context.reporter.start(FlowStart {
            tag: self.tag,
            cell: CounterCell::UdpSend(Arc::clone(&cell)),
            start: self.start,
            interval: self.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: true,
            },
            groups: self.groups.clone(),
            conn: None,
            histograms: Vec::new(),
            extras: FlowExtras {
                trip_times: self.trip_times,
                frames: self.traffic.marked_frames().is_some(),
                ..FlowExtras::default()
            },
        });
        let _ = self
            .socket
            .set_send_timeout(Some(tapeline_engine::SEND_LIMIT));
        let end = self.send_data(Arc::clone(&cell));
        self.tell_pacing(&end.counters, end.ending.at);
        let mut failed = tell_ending(
            &self.context,
            self.tag,
            Transport::Udp,
            self.start,
            &end.ending,
        );

        if end.counters.writes == 0 && self.fin == Fin::Exchange {
            // Nothing has left: nobody knows of the flow.
            running.end(FlowEnd {
                at: end.ending.at,
                sent: Some(0),
                dropped: None,
            });
            self.tell_traffic(&end.traffic);
            return failed;
        }
        // The final datagram counts as one of the flow, on both sides.
        let mut final_datagram = datagram_template(self.length as usize, &self.settings);
        let sent = self.send_final(&mut final_datagram, end.next_sequence);
        let mut counters = end.counters;
        if sent.is_ok() {
            counters.bytes += final_datagram.len() as u64;
            counters.writes += 1;
        }
        SendPublisher::new(Arc::clone(&cell)).publish(&counters);
        running.end(FlowEnd {
            at: self.context.now(),
            sent: Some(counters.writes),
            dropped: None,
        });
        self.tell_traffic(&end.traffic);
        if let Err(error) = sent {
            self.failed(TrafficOperation::WriteFin, &error);
        }
        if self.fin == Fin::Exchange {
            failed |= !self.await_report(&final_datagram);
        }
        failed
    }

    /// Sends the data, with the stamp that its form and traffic want.
    fn send_data(&mut self, cell: Arc<SendCell>) -> UdpSendEnd {
        match (self.form, self.traffic.marked_frames()) {
            (StampForm::Narrow, _) => run_udp_sender(self.send_plan(cell, Stamp12)),
            (StampForm::Wide, None) => run_udp_sender(self.send_plan(cell, Stamp16)),
            (StampForm::Wide, Some(frames)) => {
                let stamp = FrameStamp {
                    period_micros: frames.period_micros(),
                    start: wall_at(self.start, &self.context),
                };
                run_udp_sender(self.send_plan(cell, stamp))
            }
        }
    }

    fn send_plan<S>(&mut self, cell: Arc<SendCell>, stamp: S) -> UdpSendPlan<S> {
        // The first datagram carries the settings, however short the others or the whole
        // test are.
        let shortest = self.bytes.map_or(self.length, |bytes| {
            self.length.min(u32::try_from(bytes).unwrap_or(u32::MAX))
        });
        let first = ((shortest as usize) < self.settings.required_length())
            .then(|| first_datagram(&self.settings, shortest));
        UdpSendPlan {
            socket: Arc::clone(&self.socket),
            to: self.to,
            template: datagram_template(self.length as usize, &self.settings),
            first,
            first_sequence: self.form.first_sequence(),
            start: self.start,
            deadline: self.deadline,
            bytes: self.bytes,
            traffic: self.traffic.engine(self.start, self.length, self.seed),
            content: self.content.take(),
            precision: Precision::Precise,
            segmentation: true,
            cell,
            stop: self.stop.clone(),
            stamp,
        }
    }

    /// What clocks and chains counted.
    fn tell_traffic(&self, traffic: &UdpTraffic) {
        let clock = traffic.frame_clock().map(|clock| clock.errors());
        if let (Some(errors), Some(_)) = (clock, self.traffic.marked_frames()) {
            self.context
                .reporter
                .event(Event::ScheduleErrors(ScheduleErrors {
                    tag: self.tag,
                    errors: *errors,
                }));
        }
        if let (Traffic::Lengths { chain, .. }, Some(drawn)) =
            (&self.traffic, traffic.length_chain())
        {
            self.context.reporter.event(Event::Markov(MarkovReport {
                tag: self.tag,
                text: chain.text.clone(),
                lengths: chain.lengths.clone(),
                probabilities: chain.transitions.clone(),
                counts: drawn.transitions(),
            }));
        }
    }

    fn tell_pacing(&self, counters: &tapeline_engine::SendCounters, at: MonoTime) {
        let Some(BitRate(wanted)) = self.traffic.steady_rate(self.length) else {
            return;
        };
        let span = at.since(self.start);
        let reached = tapeline_base::BitRate::over(counters.bytes, span);
        let enough = counters.writes > 100 && span > Duration::from_millis(500);
        if enough && wanted > 0 && reached < wanted as f64 * PACING_MISSED {
            self.context.notice(Notice::PacingMissed {
                tag: self.tag,
                wanted,
                reached: reached as u64,
            });
        }
    }

    fn send_final(&self, datagram: &mut [u8], next: u64) -> std::io::Result<usize> {
        self.form.write_final(datagram, next, self.context.wall());
        // The first attempt may return the refusal of an earlier datagram.
        self.send(datagram).or_else(|_| self.send(datagram))
    }

    fn send(&self, datagram: &[u8]) -> std::io::Result<usize> {
        self.to.send(&self.socket, datagram)
    }

    /// Asks for the server's report until it comes; returns whether it came, from a server
    /// that heard the end.
    fn await_report(&self, final_datagram: &[u8]) -> bool {
        let mut closing = Closing::new(self.context.now());
        let mut buffer = vec![0; MAX_ANSWER];
        let mut refusals = 0;
        // The final datagram is out already.
        let _ = closing.next(self.context.now());
        loop {
            if self.stop.is_raised() {
                closing.hurry(self.context.now());
            }
            match closing.next(self.context.now()) {
                ClosingStep::Send { full } => {
                    let short = final_datagram.len().min(16);
                    let datagram = if full {
                        final_datagram
                    } else {
                        &final_datagram[..short]
                    };
                    let _ = self.send(datagram);
                }
                ClosingStep::Wait(until) => {
                    let wait = Wait::AtMost(until.since(self.context.now()).min(LOOK));
                    if !self
                        .socket
                        .wait_ready(Interest::READ, wait)
                        .unwrap_or(false)
                    {
                        continue;
                    }
                    match self.socket.recv_nonblocking(&mut buffer) {
                        Ok(length) => closing.received(&buffer[..length]),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(error) => {
                            if refusals < 2 {
                                self.failed(TrafficOperation::ReadFin, &error);
                            }
                            refusals += 1;
                        }
                    }
                }
                ClosingStep::Reported(report) => {
                    self.tell_report(&report);
                    // Whoever refused a datagram is not there any more.
                    return refusals == 0;
                }
                ClosingStep::Unanswered { tries } => {
                    self.context.notice(Notice::NoServerReport {
                        tag: self.tag,
                        tries,
                    });
                    return false;
                }
            }
        }
    }

    fn failed(&self, operation: TrafficOperation, error: &std::io::Error) {
        self.context.notice(Notice::TrafficFailed {
            tag: self.tag,
            operation,
            transport: Transport::Udp,
            reason: reason(error),
        });
    }

    fn tell_report(&self, report: &ServerReport) {
        let end = report.duration.duration().unwrap_or_default();
        let row = Row {
            subject: Subject::Flow(self.tag),
            phase: Phase::Total,
            span: Span {
                start: Duration::ZERO,
                end,
            },
            ended: self.context.wall(),
            bytes: report.bytes.0,
            endpoints: Some(Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: true,
            }),
            trip_times: false,
            measure: Measure::UdpReceive(report_numbers(report, end)),
        };
        self.context.reporter.event(Event::ServerReport {
            row,
            enhanced: report.transit_valid,
        });
    }
}

/// A peer's report in the model's units.
fn report_numbers(report: &ServerReport, span: Duration) -> UdpReceive {
    let transit = &report.transit;
    let seconds = |micros: i64| micros as f64 * 1e-6;
    let moments = if transit.count == 0 {
        Moments::EMPTY
    } else {
        Moments {
            count: u64::from(transit.count),
            mean: seconds(transit.mean.0),
            m2: transit.m2.as_f64() * 1e-12,
            min: seconds(transit.min.0),
            max: seconds(transit.max.0),
        }
    };
    let received = report.datagrams.saturating_sub(report.lost);
    let jitter = Some(seconds(report.jitter.0));
    UdpReceive {
        received,
        total: report.datagrams,
        lost: report.lost,
        // A report does not tell late datagrams from repeated ones.
        reordered: 0,
        duplicates: 0,
        out_of_order: report.out_of_order,
        lost_compatible: report.lost,
        lost_in_host: None,
        jitter,
        jitter_mean: jitter,
        transit: moments,
        reads: 0,
        timeouts: 0,
        truncated: 0,
        packets_per_second: if span.is_zero() {
            0.0
        } else {
            report.datagrams as f64 / span.as_secs_f64()
        },
        ..UdpReceive::default()
    }
}
