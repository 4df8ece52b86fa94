//! The UDP client: its flows, and what arrives on its sockets in reverse and full-duplex tests.

use std::fs::File;
use std::io;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Role, Tos, Transport};
use tapeline_engine::{
    ArrivedDatagram, Cause, Content, DatagramReceiver, DatagramStamp as _, Destination, Ending,
    FailedOperation, Pacer, PayloadSource, Precision, RefusingPort, Stop, ThreadUse,
};
use tapeline_report::{ConnectionFlavour, Endpoints, Event, Notice, Silence};
use tapeline_sys::{
    Interest, Opened, Operation, SocketOptions, ThreadTime, UdpSocket, Wait, reason,
};
use tapeline_wire::iperf2::ServerAck;

use super::dual_listener::ClientListener;
use super::target::{Target, control_test};
use super::working_load::{RunningLoad, WorkingLoad};
use crate::iperf2::banner;
use crate::iperf2::stamps::{Settings, Stamp16, StampForm};
use crate::iperf2::start_time::flow_start;
use crate::iperf2::test_groups::TestSums;
use crate::iperf2::test_header::{GRACE, idle_timeout, transfer_id, udp_settings};
use crate::iperf2::udp_reader::{FlowReader, Meaning};
use crate::iperf2::udp_receiver::UdpWatch;
use crate::iperf2::udp_sender::{Fin, L4sOrder, UdpSending, first_datagram, wall_at};
use crate::iperf2::udp_traffic::Traffic;
use crate::native::client::{ClientTest, FlowAnswers, TrafficEnd};
use crate::native::local_results::OwnFlow;
use crate::plan::{Arrangement, ClientPlan, LatencyPlan, Payload, Personality, Shape, StartTime};
use crate::run::context::Context;
use crate::run::flow_end::report_ending;
use crate::run::tasks::Tally;
use crate::sampler::{EndFacts, FlowEnd, FlowExtras, FlowStart, GroupKey, GroupKind, SocketFacts};

/// Distance between the first datagrams of parallel flows: a 2.2.1 server mixes up flows
/// that begin at the same instant (wire document 7.9).
const STAGGER: Duration = Duration::from_millis(10);
const STAGGERED: u32 = 20;
/// Sends with which a reverse test is asked for, as 2.2.1.
const REVERSE_TRIES: u32 = 100;

struct Ready {
    tag: FlowTag,
    socket: Arc<UdpSocket>,
    local: SocketAddr,
    peer: SocketAddr,
}

/// Runs the test; returns whether anything failed.
pub(crate) fn run(plan: &ClientPlan, target: &Target, context: &Arc<Context>) -> bool {
    let mut options = banner::client_options(plan);
    // Sockets that allow it may be given one port together: two flows would be one.
    options.reuse_address = target.shares_port();
    let tally = Tally::new();
    let sums = TestSums::for_client(&context.reporter, plan);
    let listener = match ClientListener::open(plan, target, context, sums.back) {
        Ok(listener) => listener,
        Err(notice) => {
            context.notice(notice);
            return true;
        }
    };
    let plan = &ClientListener::completed(listener.as_ref(), plan);
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
                banner::log_refusals(&opened.refused, &options, plan.personality, context)
            {
                context.notice(notice);
                return true;
            }
            let buffer = opened.socket.send_buffer().unwrap_or(0);
            banner::log_clamped(plan.socket.window, buffer, plan.personality, context);
            let facts = banner::SocketFacts {
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
    let load = WorkingLoad::for_plan(plan, context)
        .filter(|_| !ready.is_empty())
        .map(|load| load.begin(target, context, group));
    let stop = context.stop().child();
    let control =
        control_test(plan, context, &stop).filter(|_| !target.first().ip().is_multicast());
    if let (Some(listener), Some(control)) = (&listener, &control) {
        listener.belongs_to(control);
    }
    let starter = Starter {
        plan,
        group,
        context,
        tally: &tally,
        stop: &stop,
        control: control.as_ref(),
    };
    let planned = flow_start(plan, context.both());
    let start = planned.at;
    for (index, flow) in ready.into_iter().enumerate() {
        context.report_start(flow.tag, Role::Client, planned.announced);
        let step = u32::try_from(index).unwrap_or(u32::MAX) % STAGGERED;
        starter.start_flow(flow, start + STAGGER * step);
    }
    let failed = tally.wait();
    let failed = load.is_some_and(RunningLoad::end) || failed;
    let failed = match (&control, listener) {
        // Nobody connects back.
        (Some(control), _) if control.is_refused() => true,
        (_, Some(listener)) => listener.wait() || failed,
        (_, None) => failed,
    };
    let cut = control.is_some_and(|control| control.finish(TrafficEnd::new(failed, context)));
    failed || cut
}

/// Opens a flow's socket; logs why when there is none. As iperf 2, its dialect goes on from
/// any address when the wanted one cannot be had.
fn open(
    plan: &ClientPlan,
    peer: SocketAddr,
    local: Option<SocketAddr>,
    options: &SocketOptions,
    context: &Arc<Context>,
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

fn show(plan: &ClientPlan, flow: &Ready, context: &Arc<Context>) {
    let flavour = match plan.arrangement() {
        Arrangement::Reverse => ConnectionFlavour::Reverse,
        Arrangement::FullDuplex => ConnectionFlavour::FullDuplex,
        _ => ConnectionFlavour::Plain,
    };
    let mut line = banner::connected(flow.tag, Transport::Udp, flow.local, flow.peer);
    line.flavour = flavour;
    line.no_udp_fin = !plan.udp_fin || plan.arrangement() == Arrangement::FullDuplex;
    line.trip_times = plan.latency.trip_times;
    line.isochronous = matches!(plan.shape, Shape::Isochronous(_));
    line.fair_queue = plan.socket.fair_queue.is_some();
    line.epoch_start = matches!(plan.start, StartTime::At(_));
    line.link_checks = plan.l2_checks;
    line.l4s = plan.l4s;
    line.tos = banner::tos_note(flavour, true, plan.socket.tos.unwrap_or_default(), None);
    // iperf's server reports stamped flows in detail, its client with -e only.
    if plan.personality == Personality::Iperf2 && !plan.enhanced {
        line.device = None;
    } else {
        line.at = Some(context.wall());
    }
    context.reporter.event(Event::Connected(line));
}

/// Runs `part` on a thread of its own and counts its end.
fn spawn(context: &Arc<Context>, tally: &Arc<Tally>, part: impl FnOnce() -> bool + Send + 'static) {
    let counted = tally.begin();
    let spawned = std::thread::Builder::new()
        .name("udp".into())
        .spawn(move || counted.end(part()));
    if let Err(error) = spawned {
        context.notice(Notice::Text(format!("no thread for a stream: {error}")));
    }
}

/// What the flows of a test have in common.
struct Starter<'a> {
    plan: &'a ClientPlan,
    group: GroupKey,
    context: &'a Arc<Context>,
    tally: &'a Arc<Tally>,
    /// Ends the flows.
    stop: &'a Stop,
    /// Recognises a server that is tapeline.
    control: Option<&'a ClientTest>,
}

impl Starter<'_> {
    fn start_flow(&self, flow: Ready, start: MonoTime) {
        let Self {
            plan,
            group,
            context,
            tally,
            ..
        } = *self;
        let arrangement = plan.arrangement();
        let ipv6 = flow.peer.is_ipv6();
        let mut settings = udp_settings(plan, ipv6, wall_at(start, context));
        if let Settings::Header(header) = &mut settings {
            header.transfer_id = transfer_id(plan, flow.tag);
            header.mark = self.control.map(ClientTest::mark);
        }
        let answers = self
            .control
            .filter(|_| matches!(settings, Settings::Header(_)))
            .map(|test| expect_answer(test, arrangement, &flow));
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
            let gap = Traffic::for_client(plan, length).longest_gap(length);
            flow.socket.request(context.techniques.receive_features());
            context.enlarge_buffer(&flow.socket, plan.socket.window);
            let receiving = UdpReceiving {
                context: Arc::clone(context),
                tag: reversed,
                socket: Arc::clone(&flow.socket),
                local: flow.local,
                peer: flow.peer,
                start,
                deadline: deadline.map(|deadline| deadline + GRACE),
                bytes: plan.byte_limit(),
                interval: plan.interval,
                groups: groups.clone(),
                latency: plan.latency,
                ordered: Traffic::for_client(plan, length).steady_rate(length),
                frames: matches!(plan.shape, Shape::Isochronous(_)),
                personality: plan.personality,
                idle_timeout: idle_timeout(plan.interval, gap),
                stop: self.stop.clone(),
                answers: answers.clone(),
            };
            let asker = Arc::clone(&flow.socket);
            let stop = self.stop.clone();
            let first = (!sends).then(|| first_datagram(&settings, 0));
            spawn(context, tally, move || {
                let mut pacer = Pacer::new(Precision::Economical);
                if let Some(first) = first
                    && pacer.wait(start, &stop).is_some()
                    && ask_for_data(&asker, first, &receiving.context, &stop)
                    && receiving.personality == Personality::Native
                {
                    return receiving.refused();
                }
                receiving.run()
            });
        }
        if sends {
            let no_fin = !plan.udp_fin || arrangement == Arrangement::FullDuplex;
            let length = plan.udp_length(ipv6);
            let content = match content(&plan.payload, &settings, length) {
                Ok(content) => content,
                Err(error) => {
                    let what = format!("cannot read what is to be sent: {}", reason(&error));
                    context.notice(Notice::Text(what));
                    return tally.fail();
                }
            };
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
                traffic: Traffic::for_client(plan, length),
                precision: plan.precision,
                seed: plan
                    .seed
                    .unwrap_or_else(|| context.wall().as_nanos() as u64)
                    .wrapping_add(u64::from(flow.tag.id.0)),
                trip_times: plan.latency.trip_times,
                content,
                early_frames: false,
                l4s: plan.l4s.then(|| L4sOrder {
                    tos: plan.socket.tos.unwrap_or_default(),
                    fastest: plan
                        .pace
                        .map(|pace| pace.bits(u64::from(length)).0 as f64 / 8.0)
                        .filter(|rate| *rate > 0.0),
                }),
                interval: plan.interval,
                groups,
                local: flow.local,
                peer: flow.peer,
                stop: self.stop.clone(),
                gone: Stop::new(),
                refusal_is_failure: plan.personality == Personality::Native,
                answers,
                fin: if no_fin || flow.peer.ip().is_multicast() {
                    Fin::Once
                } else {
                    Fin::Exchange
                },
            };
            spawn(context, tally, move || sending.run());
        }
    }
}

/// The server's answer may come as soon as the first datagram is out. Whoever receives sees it; for a
/// flow that only sends, somebody looks.
fn expect_answer(test: &ClientTest, arrangement: Arrangement, flow: &Ready) -> FlowAnswers {
    let (sends, receives) = arrangement.tags(flow.tag);
    let own = OwnFlow {
        token: None,
        sends,
        receives,
        local: flow.local,
        peer: flow.peer,
        congestion: None,
    };
    let mut answers = test.flow(flow.tag.id, own);
    if receives.is_none() {
        test.watch_udp(&mut answers, &flow.socket);
    }
    answers
}

/// Payload that stands behind the settings, where it is read.
fn content(payload: &Payload, settings: &Settings, length: u32) -> io::Result<Option<Content>> {
    let input: Box<dyn Read + Send> = match payload {
        Payload::Digits => return Ok(None),
        Payload::File(path) => Box::new(File::open(path)?),
        Payload::StandardInput => Box::new(io::stdin()),
    };
    // A word of 0 behind the number says that there are no settings.
    let at = settings.required_length().max(20);
    let room = (length as usize).saturating_sub(at);
    if room == 0 {
        let words = format!("datagrams of {length} bytes have no room for payload behind {at}");
        return Err(io::Error::other(words));
    }
    let source = PayloadSource::start(input, room)?;
    Ok(Some(Content { source, at }))
}

/// Sends the order of a reverse test until the server's data arrives. The server takes
/// repetitions for what they are: they have the same number. Returns whether its port is closed.
fn ask_for_data(socket: &UdpSocket, mut order: Vec<u8>, context: &Context, stop: &Stop) -> bool {
    let is_refusal = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    let mut refusing: Option<RefusingPort> = None;
    for attempt in 0_u32.. {
        let undecided = refusing.is_some_and(|port| !port.is_closed(context.now()));
        if stop.is_raised() || (attempt >= REVERSE_TRIES && !undecided) {
            return false;
        }
        Stamp16.stamp(&mut order, 1, context.wall());
        // The send returns the refusal of an earlier one.
        let mut refused = socket.send(&order).is_err_and(|error| is_refusal(&error));
        let next = context.now() + Duration::from_millis(u64::from(attempt.min(9)) * 2 + 2);
        loop {
            let wait = Wait::AtMost(next.since(context.now()));
            if !socket.wait_ready(Interest::READ, wait).unwrap_or(false) {
                break;
            }
            // Readable may only mean an error from the path: that is not data.
            match socket.take_error() {
                Ok(Some(error)) => refused |= is_refusal(&error),
                _ => return false,
            }
        }
        let now = context.now();
        let port = refused.then(|| *refusing.get_or_insert(RefusingPort::since(now)));
        if port.is_some_and(|port| port.is_closed(now)) {
            return true;
        }
    }
    false
}

/// Longest wait between two looks at the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const SLOTS: usize = 32;
/// Silence at the deadline, [`GRACE`] after the sender's, from which on it counts as gone
/// rather than ended; a final datagram is not certain.
const SILENT: Duration = Duration::from_millis(GRACE.as_millis() as u64 + 500);
/// Time for the final datagram once all bytes are here.
const FINAL: Duration = Duration::from_millis(250);
/// Time for data that the final datagram has overtaken.
const OVERTAKEN: Duration = Duration::from_millis(20);

/// A receiver on a connected socket.
pub(crate) struct UdpReceiving {
    pub(crate) context: Arc<Context>,
    pub(crate) tag: FlowTag,
    pub(crate) socket: Arc<UdpSocket>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) start: MonoTime,
    pub(crate) deadline: Option<MonoTime>,
    pub(crate) bytes: Option<u64>,
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<GroupKey>,
    pub(crate) latency: LatencyPlan,
    /// The peer was asked to send at this rate.
    pub(crate) ordered: Option<BitRate>,
    /// The peer's datagrams say to which frame they belong.
    pub(crate) frames: bool,
    /// iperf tells of a silent server as of one that was lost.
    pub(crate) personality: Personality,
    pub(crate) idle_timeout: Duration,
    pub(crate) stop: Stop,
    /// Called with the server's answers, which come between its data.
    pub(crate) answers: Option<FlowAnswers>,
}

impl UdpReceiving {
    /// Receives on the calling thread until the end; returns whether it failed.
    pub(crate) fn run(self) -> bool {
        let mut reader = FlowReader::reverse(self.frames);
        let watch = UdpWatch {
            latency: self.latency,
            trip_times: self.latency.trip_times,
            recognised: self.answers.is_some(),
            frames: self.frames,
            marks: false,
            start: self.start,
            interval: self.interval,
        };
        let (mut receiver, watched) = watch.open(reader.first());
        let running = self.context.reporter.start(FlowStart {
            tag: self.tag,
            cell: watched.cell,
            start: self.start,
            interval: watched.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: false,
            },
            groups: self.groups.clone(),
            conn: None,
            histograms: watched.histograms,
            extras: FlowExtras {
                target: self.ordered,
                ..watched.extras
            },
        });
        let dropped_before = self.socket.dropped();
        let before = ThreadTime::now();
        let cause = self.receive(&mut reader, &mut receiver);
        receiver.finish();
        let at = match cause {
            Cause::Complete | Cause::Vanished(_) => receiver.counters().last.max(self.start),
            _ => self.context.now(),
        };
        if let Cause::Vanished(silent_for) = cause
            && self.personality == Personality::Native
            && receiver.counters().bytes == 0
        {
            running.discard();
            return self.no_reply(Silence::Timeout(silent_for));
        }
        let mut ending = Ending::new(cause, at);
        ending.thread = Some(ThreadUse::alone_since(&before));
        let failed = report_ending(&self.context, self.tag, Transport::Udp, self.start, &ending);
        let socket = SocketFacts::since(&self.socket, dropped_before);
        let dropped = socket.drops;
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            self.context.notice(Notice::ReceiveBufferDrops {
                tag: Some(self.tag),
                datagrams,
            });
        }
        running.end(FlowEnd {
            at,
            sent: None,
            dropped,
            facts: EndFacts {
                thread: ending.thread,
                socket: Some(socket),
                ..EndFacts::default()
            },
        });
        failed
    }

    /// The server's port is closed: there is no flow.
    fn refused(self) -> bool {
        let refused = io::ErrorKind::ConnectionRefused.into();
        self.no_reply(Silence::Refused(reason(&refused)))
    }

    /// Reports a test without an answer, which has failed.
    fn no_reply(&self, silence: Silence) -> bool {
        self.context.notice(Notice::NoReply {
            tag: self.tag,
            peer: self.peer,
            transport: Transport::Udp,
            silence,
        });
        true
    }

    fn is_answer(&self, payload: &[u8]) -> bool {
        let answers = self.answers.as_ref();
        ServerAck::is_ack(payload) && answers.is_some_and(|answers| answers.observe(payload))
    }

    fn receive(&self, reader: &mut FlowReader, receiver: &mut DatagramReceiver) -> Cause {
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let (mut all_data, mut ended, mut overtaken) = (false, false, false);
        let mut end = self.deadline;
        loop {
            let now = self.context.now();
            if self.stop.is_raised() {
                return Cause::Stopped;
            }
            let silence = now.since(receiver.counters().last);
            if end.is_some_and(|end| now >= end) {
                let nothing = receiver.counters().bytes == 0;
                let gone = !ended && (nothing || silence > SILENT);
                return if gone {
                    Cause::Vanished(silence)
                } else {
                    Cause::Complete
                };
            }
            let wait = end.map_or(POLL_INTERVAL, |end| end.since(now).min(POLL_INTERVAL));
            match batch.receive(&self.socket, Wait::AtMost(wait)) {
                Ok(0) => {
                    if silence > self.idle_timeout {
                        return Cause::Vanished(silence);
                    }
                }
                Ok(_) => {
                    let now = self.context.now();
                    for datagram in batch.datagrams() {
                        let mut segments = datagram.segments();
                        while let Some(payload) = segments.next() {
                            if self.is_answer(payload) {
                                continue;
                            }
                            let Some(seen) = reader.read(payload) else {
                                continue;
                            };
                            let arrived = ArrivedDatagram {
                                sequence: seen.sequence,
                                sent: seen.sent,
                                arrival: datagram.arrival,
                                length: payload.len(),
                                truncated: datagram.truncated,
                                marked: datagram.tos.is_some_and(Tos::is_congestion_experienced),
                                joined: datagram.segment_size.is_some(),
                                frame: seen.frame,
                            };
                            let followers = reader.followers(&seen, segments.clone());
                            if let Some(last) = followers.count.checked_sub(1) {
                                segments.nth(last as usize);
                            }
                            receiver.observe_run(&arrived, followers, now);
                            ended |= seen.meaning == Meaning::End;
                        }
                    }
                    receiver.publish();
                    let bytes = receiver.counters().bytes;
                    if !all_data && self.bytes.is_some_and(|all| bytes >= all) {
                        all_data = true;
                        end = end.into_iter().chain([now + FINAL]).min();
                    }
                    if ended && receiver.missing() == 0 {
                        return Cause::Complete;
                    }
                    if ended && !overtaken {
                        overtaken = true;
                        end = end.into_iter().chain([now + OVERTAKEN]).min();
                    }
                }
                // An earlier datagram of ours was refused: the server is not there (yet).
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Cause::Failed(FailedOperation::Receive, error),
            }
        }
    }
}
