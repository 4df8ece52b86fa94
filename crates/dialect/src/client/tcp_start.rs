//! How a TCP client's connections start together: their first messages, and what the server answers.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Role, Transport, WallTime};
use tapeline_engine::{Pacer, Precision, SendEnd, Stop, THREADED_FLOWS};
use tapeline_report::{ClockCheck, ConnectionFlavour, Event, Notice, TrafficOperation};
use tapeline_sys::{Interest, Wait, reason};
use tapeline_wire::iperf2::{PeerVersion, ServerAck, TcpClientHeader, Workload};

use super::connector::Ready;
use crate::iperf2::bounceback::RequestPart;
use crate::iperf2::start_time::{Start, barrier_micros, flow_start};
use crate::iperf2::tcp_flow::{ReceivePart, SendPart, TcpFlow, tcp_gap};
use crate::iperf2::test_header::{
    FIRST_MESSAGE, GRACE, header_start, idle_timeout, tcp_header, transfer_id,
};
use crate::iperf2::wrong_protocol::WrongProtocolWatch;
use crate::iperf2::{banner, bounceback};
use crate::native::client::{ClientTest, FlowAnswers};
use crate::native::local_results::OwnFlow;
use crate::plan::{Arrangement, ClientPlan, ClientWorkload, Personality, Shape, StartTime};
use crate::run::context::Context;
use crate::run::flow_end::segment_format;
use crate::run::tasks::Tally;
use crate::sampler::{GroupKey, GroupKind};

/// Longest wait between two looks at the stop flag.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits; returns whether the run goes on.
pub(crate) fn wait_until(due: MonoTime, context: &Arc<Context>) -> bool {
    let mut pacer = Pacer::new(Precision::Economical);
    pacer.wait(due, context.stop()).is_some()
}

/// Begins the traffic of connected flows.
pub(crate) struct Starter<'a> {
    /// When the headers may leave, where servers begin with them.
    pub(crate) held: Option<Start>,
    pub(crate) plan: &'a ClientPlan,
    pub(crate) context: &'a Arc<Context>,
    pub(crate) group: GroupKey,
    pub(crate) tally: &'a Arc<Tally>,
    pub(crate) payload: Arc<[u8]>,
    /// Ends the flows.
    pub(crate) stop: Stop,
    /// Called for every flow of the test.
    pub(crate) watch: Option<&'a Arc<WrongProtocolWatch>>,
    /// Recognises a server that is tapeline.
    pub(crate) control: Option<&'a ClientTest>,
}

impl Starter<'_> {
    /// Says on every connection what is wanted before waiting for an answer on any: some
    /// servers (2.2.1) read one first message after the other and accept nobody meanwhile.
    pub(crate) fn start_all(&self, ready: Vec<Ready>) {
        let many = self.plan.parallel > THREADED_FLOWS;
        if let Some(held) = self.held
            && !self.hold_back(&ready, held)
        {
            return;
        }
        let mut asked = Vec::with_capacity(ready.len());
        for flow in ready {
            if let Some(watch) = self.watch {
                watch.add(self.plan, &flow.conn);
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
        asked.retain(|(flow, said)| !said.keyed || self.is_admitted(flow, answered_by));
        let version_by = self.context.now() + self.silence_limit().unwrap_or(FIRST_MESSAGE);
        for (flow, said) in &mut asked {
            let asks = matches!(self.plan.workload, ClientWorkload::Stream(_));
            let version = if self.plan.peer_detect && asks && !self.plan.compatibility {
                // What follows is data.
                let answers = said.answers.take();
                let version = self.read_ack(flow, answers.as_ref(), version_by);
                said.is_silent = version.is_none();
                version
            } else {
                None
            };
            if self.held.is_none() {
                self.show(flow, version);
            }
        }
        let start = match self.held {
            Some(_) => Start::at_once(self.context.both()),
            None => flow_start(self.plan, self.context.both()),
        };
        for (flow, said) in asked {
            self.context
                .report_start(flow.tag, Role::Client, start.announced);
            self.start(flow, said, start.at, many);
        }
    }

    /// How long a server may keep silent when it is asked for its version, and once more when it is sent data: a
    /// silent one is given up within the time for connecting in all.
    fn silence_limit(&self) -> Option<Duration> {
        let native = self.plan.personality == Personality::Native;
        native.then(|| self.plan.connect_timeout / 2)
    }

    /// Waits before the headers leave, at which servers that send begin; returns whether the
    /// run goes on.
    fn hold_back(&self, ready: &[Ready], held: Start) -> bool {
        for flow in ready {
            self.show(flow, None);
            self.context
                .report_start(flow.tag, Role::Client, held.announced);
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
        let mut line = banner::connected(flow.tag, Transport::Tcp, flow.local, flow.peer);
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
        line.segments = segment_format(&flow.conn);
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
        let Asked {
            already,
            answers,
            is_silent,
            ..
        } = said;
        let idle_timeout = idle_timeout(self.plan.interval, tcp_gap(self.plan));
        let silence = self.silence_limit().filter(|_| is_silent);
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
            idle_timeout: silence.map_or(idle_timeout, |limit| limit.min(idle_timeout)),
            many,
            tally: Arc::clone(self.tally),
            after: None,
            wrong_protocol: self.watch.cloned(),
            slot: None,
        };
        let reversed = FlowTag {
            reversed: true,
            ..flow.tag
        };
        match self.plan.workload {
            ClientWorkload::RequestResponse(exchange) => {
                let order = RequestPart::for_plan(self.plan, exchange, deadline);
                let part = part(flow.tag, vec![self.group]);
                bounceback::request(part, self.context, &order);
            }
            ClientWorkload::ConnectOnly { .. } => {}
            ClientWorkload::Stream(Arrangement::Reverse) => {
                let part = part(reversed, vec![self.group]);
                let order = ReceivePart::for_plan(self.plan, deadline, true);
                part.receive(self.context, ReceivePart { answers, ..order });
            }
            ClientWorkload::Stream(Arrangement::FullDuplex) => {
                let pair = self
                    .context
                    .reporter
                    .open_group(GroupKind::Duplex(flow.tag), 2);
                // The sender closes its direction itself, when its data is out.
                let order = ReceivePart::for_plan(self.plan, deadline, false);
                part(reversed, vec![pair, self.group])
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
                let limit = self.plan.time_limit().unwrap_or_default().max(GRACE);
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
        SendPart::for_plan(self.plan, Arc::clone(&self.payload), tag, deadline, end)
    }
}

/// A header is out.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// It had a permit key.
    pub(crate) keyed: bool,
    /// Its bytes that count as data.
    pub(crate) already: u64,
    /// Where the server's answer goes.
    pub(crate) answers: Option<FlowAnswers>,
    /// The server was asked for its version, and did not answer.
    pub(crate) is_silent: bool,
}

impl Starter<'_> {
    /// Whether a server lets the key in this client's header pass: one that does answers or sends, one that
    /// does not closes without a word. Without looking, a short test would end well.
    pub(crate) fn is_admitted(&self, flow: &Ready, until: MonoTime) -> bool {
        match self.await_word(flow, until) {
            Ok(false) => return true,
            Ok(true) if matches!(flow.conn.peek(&mut [0]), Ok(1..)) => return true,
            Ok(true) | Err(_) => {}
        }
        self.tally.fail();
        self.context.notice(Notice::Text(format!(
            "{}: the server closed stream {} at once: its permit key is another one, or it has none",
            flow.peer, flow.tag.id
        )));
        false
    }

    /// Says what is wanted, where anything is said.
    pub(crate) fn send_header(&self, flow: &Ready) -> std::io::Result<Asked> {
        let bare = !matches!(self.plan.workload, ClientWorkload::Stream(_));
        if self.plan.compatibility || bare {
            return Ok(Asked::default());
        }
        let mut message = Vec::with_capacity(128);
        let mut header = self.header(flow);
        header.mark = self.control.map(ClientTest::mark);
        header.encode(&mut message);
        let answers = self.control.map(|test| self.expect_answer(test, flow));
        flow.conn.set_send_timeout(Some(FIRST_MESSAGE))?;
        flow.conn.send_all(&message)?;
        Ok(Asked {
            keyed: header.permit_key.is_some(),
            already: header.counted_length() as u64,
            answers,
            is_silent: false,
        })
    }

    /// The server's answer may come as soon as the header is out.
    fn expect_answer(&self, test: &ClientTest, flow: &Ready) -> FlowAnswers {
        let (sends, receives) = self.plan.arrangement().tags(flow.tag);
        let id = flow.tag.id;
        if receives.is_none() && !self.plan.peer_detect {
            test.watch_tcp(id, &flow.conn);
        }
        let own = OwnFlow {
            token: None,
            sends,
            receives,
            local: flow.local,
            peer: flow.peer,
            congestion: flow.conn.congestion(),
        };
        test.flow(id, own)
    }

    /// The header as it is written now.
    fn header(&self, flow: &Ready) -> TcpClientHeader {
        let plan = self.plan;
        let waited = self.context.now().since(flow.connected);
        let wall = self.context.wall();
        let (start_time, epoch_start) = header_start(plan, wall);
        let mut header = TcpClientHeader {
            transfer_id: transfer_id(plan, flow.tag),
            barrier_micros: barrier_micros(waited).filter(|_| plan.parallel > 1),
            start_time,
            epoch_start,
            ..tcp_header(plan)
        };
        // Blocks behind the time are only there with it.
        let timed = header.fq_rate.is_some()
            || header.congestion_control.is_some()
            || matches!(header.workload, Workload::Isochronous(_));
        if timed && header.start_time.is_none() {
            header.start_time = Some(wall.into());
        }
        header
    }

    /// The server's acknowledgement, parsed by its own length. A server that never
    /// answers (2.0.x) costs the time limit once for all flows, not the test.
    pub(crate) fn read_ack(
        &self,
        flow: &Ready,
        answers: Option<&FlowAnswers>,
        until: MonoTime,
    ) -> Option<PeerVersion> {
        let read = || -> std::io::Result<Option<PeerVersion>> {
            let other = |watch: &Arc<WrongProtocolWatch>| watch.look(&flow.conn);
            if self.await_word(flow, until)? && self.watch.is_some_and(other) {
                return Ok(None);
            }
            let mut front = [0; 8];
            self.receive(flow, &mut front, until)?;
            let Ok(length) = ServerAck::announced_length(&front) else {
                return Ok(None);
            };
            let mut message = vec![0; length];
            message[..8].copy_from_slice(&front);
            self.receive(flow, &mut message[8..], until)?;
            let arrived = self.context.wall();
            if answers.is_some_and(|answers| answers.observe(&message) && answers.is_refused()) {
                return Ok(None);
            }
            let Ok(ack) = ServerAck::parse(&message) else {
                return Ok(None);
            };
            self.check_clocks(flow.tag, &ack, arrived);
            Ok(ack.version)
        };
        match read() {
            Ok(version) => version,
            Err(_) if self.context.stop().is_raised() => None,
            Err(error) => {
                self.context.notice(Notice::Remark(format!(
                    "{}: no answer to the version question (-X): {}",
                    flow.peer,
                    reason(&error)
                )));
                None
            }
        }
    }

    /// Reports what the times in an acknowledgement say of the two clocks.
    fn check_clocks(&self, tag: FlowTag, ack: &ServerAck, arrived: WallTime) {
        let Some(times) = ack.trip_times else {
            if self.plan.latency.trip_times {
                self.context.notice(Notice::Remark(format!(
                    "stream {}: no clock check: the server sends no times (it is older than 2.1, or its \
                     clock is too far from ours)",
                    tag.id
                )));
            }
            return;
        };
        let seconds = |later: WallTime, earlier: WallTime| later.nanos_since(earlier) as f64 * 1e-9;
        let send = seconds(times.accepted.into(), times.sent.into());
        let acknowledge = seconds(arrived, times.acknowledged.into());
        self.context.reporter.event(Event::ClockCheck(ClockCheck {
            tag,
            round_trip: send + acknowledge,
            send,
            acknowledge,
        }));
    }

    /// Fills `buffer` unless the time is over or the run is stopped.
    fn receive(&self, flow: &Ready, buffer: &mut [u8], until: MonoTime) -> std::io::Result<()> {
        let mut got = 0;
        while got < buffer.len() {
            if !self.await_word(flow, until)? {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            match flow.conn.recv_nonblocking(&mut buffer[got..])? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => got += count,
            }
        }
        Ok(())
    }

    /// Waits until the server has said something or has closed; `false` when the time is over or
    /// the run is stopped.
    fn await_word(&self, flow: &Ready, until: MonoTime) -> std::io::Result<bool> {
        loop {
            let left = until.since(self.context.now());
            let wait = Wait::AtMost(left.min(POLL_INTERVAL));
            if flow.conn.wait_ready(Interest::READ, wait)? {
                return Ok(true);
            }
            if left.is_zero() || self.context.stop().is_raised() {
                return Ok(false);
            }
        }
    }
}
