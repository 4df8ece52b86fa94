//! The TCP client: connect all flows, send the headers, start the traffic together.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Transport};
use tapeline_engine::{Pacer, Precision, SendEnd, Stop, THREADED_FLOWS};
use tapeline_report::{ConnectionFlavour, Event, Notice, TrafficOperation};
use tapeline_sys::{TcpProbe, reason};
use tapeline_wire::iperf2::PeerVersion;

use super::banner::{self, SocketFacts};
use super::client::{SharedContext, Target};
use super::connect_back::ClientListener;
use super::connect_only;
use super::exchange::RequestPart;
use super::flows::{ReceivePart, SendPart, TcpFlow, payload};
use super::groups::TestSums;
use super::order::{FIRST_MESSAGE, SLACK, patience};
use super::other_family::FamilyWatch;
use super::start::Start;
use super::tcp_connector::{Connector, Ready};
use super::tcp_greeting::Asked;
use super::working_load::{RunningLoad, WorkingLoad};
use crate::context::Tally;
use crate::native::{ClientTest, TrafficEnd};
use crate::plan::{Arrangement, ClientPlan, ClientWorkload, Shape, StartTime};
use crate::reporter::{GroupKey, GroupKind};

/// Time before a start that servers do not wait for at which connections are made: they
/// would take silence for a fault.
const CONNECT_AHEAD: Duration = Duration::from_secs(5);
/// Longest wait between two looks at the stop flag.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// Runs the test; returns whether anything failed.
pub(super) fn run(plan: &ClientPlan, target: &Target, context: &SharedContext) -> bool {
    if target.first().ip().is_multicast() {
        context.notice(Notice::Text("Multicast requires -u option".into()));
        return true;
    }
    let tally = Tally::new();
    let sums = TestSums::of_client(&context.reporter, plan);
    let listener = match ClientListener::open(plan, target, context, sums.back) {
        Ok(listener) => listener,
        Err(notice) => {
            context.notice(notice);
            return true;
        }
    };
    let plan = &ClientListener::completed(listener.as_ref(), plan);
    let Some(plan) = &announce(plan, target, context) else {
        return true;
    };
    let options = banner::client_options(plan);
    if let ClientWorkload::ConnectOnly { count, told } = plan.workload {
        return connect_only::run(plan, target, &options, context, count, told);
    }
    let tags: Vec<FlowTag> = (0..plan.parallel)
        .map(|_| FlowTag {
            id: context.next_id(),
            reversed: false,
        })
        .collect();
    let load = WorkingLoad::of(plan, context);
    let connector = Connector {
        plan,
        target,
        options: &options,
        context,
    };
    let mut held = plan.held_start(context.both());
    if let Some(start) = &mut held
        && start.at.since(context.now()) > CONNECT_AHEAD
    {
        let announced = start.announced.take();
        for tag in &tags {
            context.tell_start(*tag, Role::Client, announced);
        }
        if !wait_until(start.at - CONNECT_AHEAD, context) {
            return false;
        }
    }
    let stop = context.stop().child();
    let control = plan.control_test(context, &stop);
    if let (Some(listener), Some(control)) = (&listener, &control) {
        listener.belongs_to(control);
    }
    let watch = FamilyWatch::new(stop.clone());
    let starter = Starter {
        held,
        plan,
        context,
        group: sums.opened,
        tally: &tally,
        payload: payload(plan.tcp_write_length(), plan.techniques),
        stop,
        watch: Some(&watch),
        control: control.as_ref(),
    };
    let begin_load = || load.map(|load| load.begin(target, context, sums.opened));
    let (connected, load) = if plan.connect_sync {
        let ready = connector.connect_all(&tags, |flow| flow);
        let connected = ready.len();
        let load = if connected > 0 { begin_load() } else { None };
        starter.start_all(ready);
        (connected, load)
    } else {
        let load = begin_load();
        let ready = connector.connect_all(&tags, |flow| starter.start_all(vec![flow]));
        (ready.len(), load)
    };
    if connected < plan.parallel {
        tally.fail();
    }
    let failed = watch.wait(plan, context, &tally);
    let failed = load.is_some_and(RunningLoad::end) || failed;
    let failed = control.as_ref().is_some_and(ClientTest::is_refused) || failed;
    // Nobody connects back from a server of another family, or one that refuses the test.
    let given_up = starter.stop.is_raised() && !context.stop().is_raised();
    let failed = match listener {
        Some(listener) if !given_up => listener.wait() || failed,
        _ => failed,
    };
    let cut = control.is_some_and(|control| control.finish(TrafficEnd::of(failed, context)));
    failed || cut
}

/// Shows the banner; returns the plan as the system lets it be carried out, `None` when the
/// test cannot go on.
fn announce(plan: &ClientPlan, target: &Target, context: &SharedContext) -> Option<ClientPlan> {
    let options = banner::client_options(plan);
    let probe = match TcpProbe::of(target.first(), &options) {
        Ok(probe) => probe,
        Err(error) => {
            context.notice(Notice::Text(error.to_string()));
            return None;
        }
    };
    if let Err(notice) = banner::tell_refusals(&probe.refused, &options, plan.personality, context)
    {
        context.notice(notice);
        return None;
    }
    let mut plan = plan.clone();
    let connects_back = matches!(
        plan.arrangement(),
        Arrangement::Dual { .. } | Arrangement::Tradeoff { .. }
    );
    if plan.peer_detect && connects_back {
        context.notice(Notice::Text(
            "-X is left out: a header that asks for the version cannot order -d or -r".into(),
        ));
        plan.peer_detect = false;
    }
    if let (Some(wanted), Some(actual)) = (plan.socket.tos, probe.tos)
        && wanted != actual
    {
        context.notice(Notice::TosFailed { wanted, actual });
        plan.socket.tos = Some(actual);
    }
    banner::tell_clamped(
        plan.socket.window,
        probe.send_buffer,
        plan.personality,
        context,
    );
    let facts = SocketFacts {
        buffer: probe.send_buffer,
        mss: probe.mss,
        congestion: probe.congestion,
    };
    let banner = banner::client_banner(&plan, target.bound(), target.is_ipv6(), facts);
    context.reporter.event(Event::Connecting(banner));
    Some(plan)
}

/// Waits; returns whether the run goes on.
pub(super) fn wait_until(due: MonoTime, context: &SharedContext) -> bool {
    let mut pacer = Pacer::new(Precision::Economical);
    pacer.wait(due, context.stop()).is_some()
}

/// Begins the traffic of connected flows.
pub(super) struct Starter<'a> {
    /// When the headers may leave, where servers begin with them.
    pub(super) held: Option<Start>,
    pub(super) plan: &'a ClientPlan,
    pub(super) context: &'a SharedContext,
    pub(super) group: GroupKey,
    pub(super) tally: &'a Arc<Tally>,
    pub(super) payload: Arc<[u8]>,
    /// Ends the flows.
    pub(super) stop: Stop,
    /// Told of every flow of the test.
    pub(super) watch: Option<&'a FamilyWatch>,
    /// Recognises a server that is tapeline.
    pub(super) control: Option<&'a ClientTest>,
}

impl Starter<'_> {
    /// Says on every connection what is wanted before waiting for an answer on any: some
    /// servers (2.2.1) read one first message after the other and accept nobody meanwhile.
    pub(super) fn start_all(&self, ready: Vec<Ready>) {
        let many = self.plan.parallel > THREADED_FLOWS;
        if let Some(held) = self.held
            && !self.hold_back(&ready, held)
        {
            return;
        }
        let mut asked = Vec::with_capacity(ready.len());
        for flow in ready {
            if let Some(watch) = self.watch {
                watch.add(self.plan, &flow);
            }
            match self.send_header(&flow) {
                Ok(said) => asked.push((flow, said)),
                Err(error) => {
                    self.tally.fail();
                    self.context.notice(Notice::TrafficFailed {
                        tag: flow.tag,
                        operation: TrafficOperation::SendHeader,
                        transport: Transport::Tcp,
                        reason: reason(&error),
                    });
                }
            }
        }
        let answered_by = self.context.now() + FIRST_MESSAGE;
        if self.plan.permit_key.is_some() {
            asked.retain(|(flow, _)| self.is_admitted(flow, answered_by));
        }
        for (flow, said) in &mut asked {
            let asks = matches!(self.plan.workload, ClientWorkload::Stream(_));
            let version = if self.plan.peer_detect && asks && !self.plan.compatibility {
                // What follows is data.
                let answers = said.answers.take();
                self.read_ack(flow, answers.as_ref(), answered_by)
            } else {
                None
            };
            if self.held.is_none() {
                self.show(flow, version);
            }
        }
        let start = match self.held {
            Some(_) => Start::at_once(self.context.both()),
            None => self.plan.flow_start(self.context.both()),
        };
        for (flow, said) in asked {
            self.context
                .tell_start(flow.tag, Role::Client, start.announced);
            self.start(flow, said, start.at, many);
        }
    }

    /// Waits before the headers leave, at which servers that send begin; returns whether the
    /// run goes on.
    fn hold_back(&self, ready: &[Ready], held: Start) -> bool {
        for flow in ready {
            self.show(flow, None);
            self.context
                .tell_start(flow.tag, Role::Client, held.announced);
        }
        wait_until(held.at, self.context)
    }

    fn show(&self, flow: &Ready, version: Option<PeerVersion>) {
        let flavour = match self.plan.workload {
            ClientWorkload::Stream(Arrangement::Reverse) => ConnectionFlavour::Reverse,
            ClientWorkload::Stream(Arrangement::FullDuplex) => ConnectionFlavour::FullDuplex,
            ClientWorkload::Stream(_) | ClientWorkload::ConnectOnly { .. } => {
                ConnectionFlavour::Plain
            }
            ClientWorkload::RequestResponse(exchange) => ConnectionFlavour::RequestResponse {
                request: exchange.request,
                response: exchange.response,
                hold_micros: banner::micros(exchange.hold),
                quickack: exchange.quickack,
            },
        };
        let mut line = banner::connected(flow.tag, flow.local, flow.peer);
        line.flavour = flavour;
        line.congestion = flow.conn.congestion();
        line.congestion_by_user = self.plan.socket.congestion.is_some();
        line.tos = banner::tos_note(
            flavour,
            true,
            self.plan.socket.tos.unwrap_or_default(),
            None,
        );
        line.peer_version = version.map(|version| version.to_string());
        line.peer_detected = self.plan.peer_detect;
        line.initial = banner::initial_tcp(&flow.conn);
        line.connect_time = Some(flow.connect_time);
        line.trip_times = self.plan.latency.trip_times;
        line.isochronous = matches!(self.plan.shape, Shape::Isochronous(_));
        line.window_clamp = self.plan.socket.window_clamp;
        line.write_prefetch = self.plan.socket.write_prefetch;
        // Only the receiver cannot see by itself that the data is paced.
        line.fair_queue =
            flavour == ConnectionFlavour::Reverse && self.plan.socket.fair_queue.is_some();
        line.quickack = self.plan.socket.quickack;
        line.epoch_start = matches!(self.plan.start, StartTime::At(_));
        line.permit_key = self.plan.permit_key.as_ref().map(banner::shown_key);
        line.at = Some(self.context.wall());
        self.context.reporter.event(Event::Connected(line));
    }

    fn start(&self, flow: Ready, said: Asked, start: MonoTime, many: bool) {
        let Asked { already, answers } = said;
        let deadline = self.plan.time_limit().map(|time| start + time);
        let part = |tag: FlowTag, groups: Vec<GroupKey>| TcpFlow {
            tag,
            conn: Arc::clone(&flow.conn),
            local: flow.local,
            peer: flow.peer,
            start,
            interval: self.plan.interval,
            groups,
            stop: self.stop.clone(),
            patience: patience(self.plan.interval, self.plan.tcp_gap()),
            many,
            tally: Arc::clone(self.tally),
            after: None,
            seat: None,
        };
        let receiver = |tag: FlowTag, groups: Vec<GroupKey>| TcpFlow {
            after: self.watch.map(FamilyWatch::after_receiver),
            ..part(tag, groups)
        };
        let reversed = FlowTag {
            reversed: true,
            ..flow.tag
        };
        match self.plan.workload {
            ClientWorkload::RequestResponse(exchange) => {
                let order = RequestPart::of(self.plan, exchange, deadline);
                let part = receiver(flow.tag, vec![self.group]);
                part.request(self.context, &order);
            }
            ClientWorkload::ConnectOnly { .. } => {}
            ClientWorkload::Stream(Arrangement::Reverse) => {
                let part = receiver(reversed, vec![self.group]);
                let order = self.plan.receive_part(deadline, true);
                part.receive(self.context, ReceivePart { answers, ..order });
            }
            ClientWorkload::Stream(Arrangement::FullDuplex) => {
                let pair = self
                    .context
                    .reporter
                    .open_group(GroupKind::Duplex(flow.tag), 2);
                // The sender closes its direction itself, when its data is out.
                let order = self.plan.receive_part(deadline, false);
                receiver(reversed, vec![pair, self.group])
                    .receive(self.context, ReceivePart { answers, ..order });
                part(flow.tag, vec![pair, self.group]).send(
                    self.context,
                    SendPart {
                        already,
                        ..self.send_part(flow.tag, deadline, SendEnd::Shutdown)
                    },
                );
            }
            ClientWorkload::Stream(
                Arrangement::Forward | Arrangement::Dual { .. } | Arrangement::Tradeoff { .. },
            ) => {
                let limit = self.plan.time_limit().unwrap_or_default().max(SLACK);
                let end = if self.plan.ignore_shutdown {
                    SendEnd::ShutdownUncounted(limit)
                } else {
                    SendEnd::ShutdownAndDrain(limit)
                };
                part(flow.tag, vec![self.group]).send(
                    self.context,
                    SendPart {
                        already,
                        answers,
                        ..self.send_part(flow.tag, deadline, end)
                    },
                );
            }
        }
    }

    fn send_part(&self, tag: FlowTag, deadline: Option<MonoTime>, end: SendEnd) -> SendPart {
        self.plan
            .send_part(Arc::clone(&self.payload), tag, deadline, end)
    }
}
