//! Starting TCP flows: the counters, the reporter's rows and the worker in one step.

use std::fs::File;
use std::io;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, Transport, WallTime};
use tapeline_engine::{
    AnswerSink, BurstCell, BurstIntake, BurstPlan, BurstStamp, ByteIntake, DelayCell,
    DelayPublisher, Ending, HeldWindow, HistogramCell, HistogramRecorder, Intervals, KernelPacing,
    LatencyFrom, PayloadSource, ReceiveCell, Schedule, SendCell, SendEnd, Stop, StreamContent,
    TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork, Technique, Techniques,
    WriteTimes,
};
use tapeline_report::{
    BurstKind, Endpoints, Event, HistogramKind, Notice, ScheduleErrors, Silence,
};
use tapeline_sys::{TcpConn, reason};
use tapeline_wire::iperf2::BurstHeader;

use super::banner::micros;
use super::stamps::{BurstReader, BurstWriter};
use super::tcp_traffic::{BurstOrder, TcpTraffic, is_stamped, seed};
use super::test_header::{GRACE, tcp_header};
use super::wrong_protocol::WrongProtocolWatch;
use crate::native::client::FlowAnswers;
use crate::native::recognition::AnswerFirst;
use crate::plan::{ClientPlan, FairQueuePlan, HistogramPlan, Payload};
use crate::policy::Slot;
use crate::run::context::Context;
use crate::run::flow_end::{log_cause, log_saturation};
use crate::run::tasks::Tally;
use crate::sampler::{
    CounterCell, EndFacts, FlowEnd, FlowExtras, FlowHistogram, FlowStart, GroupKey,
};

/// Called when a flow has ended and was reported.
pub(crate) type AfterEnd = Box<dyn FnOnce() + Send>;

/// One direction of a connection that is about to run.
pub(crate) struct TcpFlow {
    pub(crate) tag: FlowTag,
    pub(crate) conn: Arc<TcpConn>,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) start: MonoTime,
    pub(crate) interval: Option<Duration>,
    pub(crate) groups: Vec<GroupKey>,
    pub(crate) stop: Stop,
    pub(crate) idle_timeout: Duration,
    /// The test has more flows than threads are good for.
    pub(crate) many: bool,
    pub(crate) tally: Arc<Tally>,
    pub(crate) after: Option<AfterEnd>,
    /// Sees when the server is none of iperf 2's.
    pub(crate) wrong_protocol: Option<Arc<WrongProtocolWatch>>,
    /// Its place among a server's tests.
    pub(crate) slot: Option<Slot>,
}

/// What a sender sends.
pub(crate) struct SendPart {
    /// What a block repeats; flows of a test share it.
    pub(crate) chunk: Arc<[u8]>,
    /// Block length, bytes.
    pub(crate) length: u32,
    pub(crate) deadline: Option<MonoTime>,
    pub(crate) bytes: Option<u64>,
    pub(crate) already: u64,
    pub(crate) traffic: TcpTraffic,
    /// Each burst begins with a header.
    pub(crate) stamped: bool,
    /// Of whatever is random.
    pub(crate) seed: u64,
    pub(crate) payload: Payload,
    /// Digits leave without copies.
    pub(crate) zero_copy: bool,
    /// Writes wait until less than `TCP_NOTSENT_LOWAT` is unsent.
    pub(crate) wait_for_room: bool,
    /// The window that the sender keeps by itself.
    pub(crate) window: Option<HeldWindow>,
    pub(crate) pacing: Option<FairQueuePlan>,
    /// Durations of writes are measured, and reported as a histogram too.
    pub(crate) write_times: bool,
    pub(crate) histogram: Option<HistogramPlan>,
    pub(crate) end: SendEnd,
    /// Called with the server's answer.
    pub(crate) answers: Option<FlowAnswers>,
}

impl SendPart {
    /// What a flow sends; `chunk` is what its blocks repeat.
    pub(crate) fn for_plan(
        plan: &ClientPlan,
        chunk: Arc<[u8]>,
        tag: FlowTag,
        deadline: Option<MonoTime>,
        end: SendEnd,
    ) -> Self {
        let length = plan.tcp_write_length();
        Self {
            deadline,
            bytes: plan.byte_limit(),
            traffic: TcpTraffic::from_plan(plan, length),
            stamped: is_stamped(&tcp_header(plan)) && !plan.compatibility,
            seed: seed(plan.seed, tag.id.0),
            payload: plan.payload.clone(),
            zero_copy: plan.socket.zero_copy,
            wait_for_room: plan.socket.write_prefetch.is_some(),
            window: plan.socket.held_window,
            pacing: plan.socket.fair_queue,
            write_times: plan.latency.write_times,
            histogram: plan.latency.histograms,
            ..Self::plain(chunk, length, end)
        }
    }

    /// Blocks of `length` bytes as fast as the connection takes them.
    pub(crate) fn plain(chunk: Arc<[u8]>, length: u32, end: SendEnd) -> Self {
        Self {
            chunk,
            length,
            deadline: None,
            bytes: None,
            already: 0,
            traffic: TcpTraffic::Blocks { rate: None },
            stamped: false,
            seed: 0,
            payload: Payload::Digits,
            zero_copy: false,
            wait_for_room: false,
            window: None,
            pacing: None,
            write_times: false,
            histogram: None,
            end,
            answers: None,
        }
    }

    /// Length of a block, bytes: none is shorter than a stamp.
    fn block(&self) -> usize {
        let least = if self.stamped { BurstHeader::LENGTH } else { 1 };
        (self.length as usize).max(least)
    }

    /// What the blocks hold; a flow of `many` shares its worker, and copies.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn content(&self, wall: WallTime, many: bool) -> io::Result<StreamContent> {
        let block = self.block();
        let stamp = self.stamped.then(|| {
            Box::new(BurstWriter {
                start: wall.into(),
                period_micros: self.traffic.period().map(micros),
            }) as Box<dyn BurstStamp>
        });
        let input: Box<dyn Read + Send> = match &self.payload {
            Payload::Digits => {
                return Ok(match stamp {
                    None if self.zero_copy && !many => {
                        StreamContent::spliced(Arc::clone(&self.chunk), block)
                    }
                    None => StreamContent::Repeated(Arc::clone(&self.chunk)),
                    Some(stamp) => {
                        let mut bytes = vec![0; block];
                        tapeline_wire::iperf2::fill_pattern(&mut bytes);
                        StreamContent::stamped(bytes.into(), stamp)
                    }
                });
            }
            Payload::File(path) => Box::new(File::open(path)?),
            Payload::StandardInput => Box::new(io::stdin()),
        };
        let source = PayloadSource::start(input, block)?;
        Ok(StreamContent::input(block, source, stamp))
    }
}
/// Longest payload that a block repeats: with a write of 1 MiB the sender's share of the cost
/// per byte is a fifth lower than from a buffer of that length (docs/dev/performance.md).
const CHUNK: usize = 32 * 1024;

/// Digits for [`SendPart::chunk`].
pub(crate) fn payload(length: u32, techniques: Techniques) -> Arc<[u8]> {
    let mut block = vec![0; techniques.payload_length(length.max(1) as usize, CHUNK)];
    tapeline_wire::iperf2::fill_pattern(&mut block);
    block.into()
}

/// What a receiver reads.
pub(crate) struct ReceivePart {
    pub(crate) length: u32,
    pub(crate) deadline: Option<MonoTime>,
    /// The peer is to send until then.
    pub(crate) expected: Option<MonoTime>,
    pub(crate) bytes: Option<u64>,
    /// No more than so many are taken.
    pub(crate) max: Option<u64>,
    pub(crate) already: u64,
    /// It is to read at this rate.
    pub(crate) rate: Option<u64>,
    /// The peer was asked to send at this rate.
    pub(crate) ordered: Option<BitRate>,
    pub(crate) shutdown: bool,
    /// The stream consists of bursts.
    pub(crate) bursts: Option<BurstOrder>,
    pub(crate) histogram: Option<HistogramPlan>,
    /// Payload stays in the kernel.
    pub(crate) discard: bool,
    /// TCP_QUICKACK before each read.
    pub(crate) quickack: bool,
    /// Largest window that is offered, bytes.
    pub(crate) window_clamp: Option<u32>,
    /// Time for which the peer may hold its first data back.
    pub(crate) held_back: Duration,
    /// The server's answer may stand before the data, and is reported.
    pub(crate) answers: Option<FlowAnswers>,
}

impl ReceivePart {
    /// What a flow receives from the server, which is to send until `deadline`.
    pub(crate) fn for_plan(plan: &ClientPlan, deadline: Option<MonoTime>, shutdown: bool) -> Self {
        let early = plan.time_limit().unwrap_or_default() / 10 + EARLY;
        Self {
            length: plan.tcp_read_length(),
            deadline: deadline.map(|deadline| deadline + GRACE),
            expected: deadline.map(|deadline| deadline - early),
            bytes: plan.byte_limit(),
            max: None,
            already: 0,
            rate: None,
            ordered: TcpTraffic::from_plan(plan, plan.tcp_write_length()).rate(),
            shutdown,
            bursts: received_bursts(plan),
            histogram: plan.latency.histograms,
            discard: plan.socket.skip_receive_copy,
            quickack: plan.socket.quickack,
            window_clamp: plan.socket.window_clamp,
            held_back: Duration::ZERO,
            answers: None,
        }
    }

    /// The rate that is to come, by either end's order.
    fn target(&self) -> Option<BitRate> {
        self.rate.map(BitRate).into_iter().chain(self.ordered).min()
    }
}
/// Bursts whose rows wait for the reporter; more are lost, and counted in the totals only.
const LOGGED_BURSTS: usize = 1024;
/// How often rows of bursts are reported where there is no interval.
const BURST_ROWS: Duration = Duration::from_millis(100);

/// What a flow's worker and the reporter share.
struct Watched {
    cell: CounterCell,
    histograms: Vec<FlowHistogram>,
    extras: FlowExtras,
    /// Runs behind the flow's total.
    epilogue: Option<Epilogue>,
}
/// What is reported when a flow has ended.
type Epilogue = Box<dyn FnOnce(&Context) + Send>;

impl Watched {
    fn plain(cell: CounterCell) -> Self {
        Self {
            cell,
            histograms: Vec::new(),
            extras: FlowExtras::default(),
            epilogue: None,
        }
    }
}

impl TcpFlow {
    pub(crate) fn intervals(&self) -> Intervals {
        Intervals::new(self.start, self.interval)
    }

    /// A histogram for the worker, and the same for the reporter.
    fn histogram(
        &self,
        kind: HistogramKind,
        plan: HistogramPlan,
    ) -> (HistogramRecorder, FlowHistogram) {
        let cell = Arc::new(HistogramCell::new(plan.into(), self.intervals()));
        let histogram = FlowHistogram {
            kind,
            cell: Arc::clone(&cell),
            in_micros: plan.in_micros,
            by_interval: true,
        };
        (HistogramRecorder::new(cell), histogram)
    }

    /// Sends on the connection.
    pub(crate) fn send(self, context: &Arc<Context>, part: SendPart) {
        let content = match part.content(context.wall(), self.many) {
            Ok(content) => content,
            Err(error) => {
                let name = match &part.payload {
                    Payload::File(path) => path.display().to_string(),
                    Payload::Digits | Payload::StandardInput => "standard input".into(),
                };
                let what = format!(
                    "cannot read what is to be sent ({name}): {}",
                    reason(&error)
                );
                context.notice(Notice::Text(what));
                return self.give_up();
            }
        };
        let cell = Arc::new(SendCell::new(self.intervals()));
        let mut watched = Watched::plain(CounterCell::TcpSend(Arc::clone(&cell)));
        let write_times = part.write_times.then(|| {
            let times = Arc::new(DelayCell::new(self.intervals()));
            watched.extras.write_times = Some(Arc::clone(&times));
            let histogram = part.histogram.map(|plan| {
                let (recorder, histogram) = self.histogram(HistogramKind::Write, plan);
                watched.histograms.push(histogram);
                recorder
            });
            WriteTimes::new(DelayPublisher::new(times), histogram)
        });
        watched.extras.frames = part.traffic.has_frames();
        watched.extras.pauses = part.traffic.pauses();
        watched.extras.target = part.traffic.rate();
        let schedule_errors = part.traffic.has_frames().then(|| {
            let errors = Arc::new(DelayCell::new(Intervals::new(self.start, None)));
            let (tag, counters) = (self.tag, Arc::clone(&errors));
            watched.epilogue = Some(Box::new(move |context| {
                let errors = counters.read().delays;
                let errors = ScheduleErrors { tag, errors };
                context.reporter.event(Event::ScheduleErrors(errors));
            }));
            DelayPublisher::new(errors)
        });
        let pacing = part.pacing.map(|plan| match plan.step {
            None => KernelPacing::constant(plan.rate.0),
            Some((step, every)) => KernelPacing::stepped(plan.rate.0, step.0, every, self.start),
        });
        let gap = part.traffic.gap(part.length);
        let quantum = context.techniques.pacing_quantum();
        let timing = part
            .traffic
            .timing(self.start, part.length, part.seed, quantum);
        let block = part.block();
        let plan = TcpSendPlan {
            deadline: part.deadline,
            bytes: part.bytes,
            already: part.already,
            timing,
            wait_for_room: part.wait_for_room,
            window: part.window,
            pacing,
            write_times,
            schedule_errors,
            end: part.end,
            answer: self.answer_sink(part.answers),
            idle_timeout: self
                .idle_timeout
                .max(gap.unwrap_or_default().saturating_mul(3)),
            ..TcpSendPlan::new(
                Arc::clone(&self.conn),
                content,
                block,
                cell,
                self.stop.clone(),
            )
        };
        let work = Box::new(TcpSender::new(plan, self.start));
        self.watch(context, watched, true, work);
    }

    /// Takes what the server of a flow that only sends has said by its end.
    fn answer_sink(&self, answers: Option<FlowAnswers>) -> Option<AnswerSink> {
        let wrong_protocol = self.wrong_protocol.clone();
        if wrong_protocol.is_none() && answers.is_none() {
            return None;
        }
        Some(AnswerSink::new(move |bytes| {
            if let Some(wrong_protocol) = &wrong_protocol {
                wrong_protocol.observe(bytes);
            }
            if let Some(answers) = &answers {
                answers.observe(bytes);
            }
        }))
    }

    /// Receives from the connection.
    pub(crate) fn receive(mut self, context: &Arc<Context>, part: ReceivePart) {
        let length = part.length.max(1) as usize;
        let schedule = part
            .rate
            .and_then(|rate| Schedule::at_bit_rate(self.start, 8, rate));
        let plan = TcpReceivePlan {
            deadline: part.deadline,
            expected: part.expected,
            bytes: part.bytes,
            max: part.max,
            schedule,
            shutdown: part.shutdown,
            discard: part.discard,
            quickack: part.quickack,
            window_clamp: part.window_clamp,
            gathers: part.bursts.is_none() && context.techniques.uses(Technique::LowWaterMark),
            idle_timeout: self.idle_timeout,
            first_idle_timeout: self.idle_timeout + part.held_back,
            ..TcpReceivePlan::new(Arc::clone(&self.conn), length, self.stop.clone())
        };
        let Some(order) = part.bursts else {
            let cell = Arc::new(ReceiveCell::new(self.intervals()));
            let intake = ByteIntake::new(Arc::clone(&cell), length, part.already, self.start);
            let work = Box::new(TcpReceiver::new(plan, intake));
            let mut watched = Watched::plain(CounterCell::TcpReceive(cell));
            watched.extras.target = part.target();
            let work = self.answered_first(work, part.answers);
            return self.watch(context, watched, false, work);
        };
        let log = order.by_burst.then(|| {
            self.interval = self.interval.or(Some(BURST_ROWS));
            mpsc::sync_channel(LOGGED_BURSTS)
        });
        let (give, rows) = log.unzip();
        let cell = Arc::new(BurstCell::new(self.intervals()));
        let mut watched = Watched::plain(CounterCell::TcpBursts(Arc::clone(&cell), order.kind));
        watched.extras.trip_times = order.trip_times;
        watched.extras.target = part.target();
        watched.extras.bursts = rows;
        let measured = order.trip_times || order.kind != BurstKind::Write;
        let histogram = part.histogram.filter(|_| measured).map(|plan| {
            let (recorder, histogram) = self.histogram(HistogramKind::Frame, plan);
            watched.histograms.push(histogram);
            recorder
        });
        let (tag, counters) = (self.tag, Arc::clone(&cell));
        watched.epilogue = Some(Box::new(move |context| {
            if counters.read().broken {
                context.notice(Notice::Remark(format!(
                    "stream {}: the peer's bursts could not be separated to the end, so delays \
                     are incomplete",
                    tag.id
                )));
            }
        }));
        let bursts = BurstPlan {
            cell,
            length,
            already: part.already,
            latency_from: if order.trip_times {
                LatencyFrom::Stamp
            } else {
                LatencyFrom::FirstByte
            },
            discard: part.discard,
            histogram,
            log: give,
        };
        let intake = BurstIntake::new(BurstReader, bursts, order.preamble, self.start);
        let work = Box::new(TcpReceiver::new(plan, intake));
        let work = self.answered_first(work, part.answers);
        self.watch(context, watched, false, work);
    }

    /// A receiver whose data may have an answer in front of it.
    fn answered_first(
        &self,
        work: Box<dyn TcpWork>,
        answers: Option<FlowAnswers>,
    ) -> Box<dyn TcpWork> {
        match answers {
            None => work,
            Some(answers) => {
                let send = Box::new(move |answer| answers.answered(answer));
                Box::new(AnswerFirst::new(work, self.stop.clone(), send))
            }
        }
    }

    /// The flow cannot begin: closes its connection and counts it as failed.
    fn give_up(self) {
        let _ = self.conn.shutdown_both();
        self.tally.begin().end(true);
        if let Some(after) = self.after {
            after();
        }
    }

    /// Hands the work to the pool and its counters to the reporter. `sends` says that this end
    /// is the one whose data counts.
    pub(crate) fn run(
        self,
        context: &Arc<Context>,
        cell: CounterCell,
        histograms: Vec<FlowHistogram>,
        sends: bool,
        work: Box<dyn TcpWork>,
    ) {
        let watched = Watched {
            histograms,
            ..Watched::plain(cell)
        };
        self.watch(context, watched, sends, work);
    }

    fn watch(self, context: &Arc<Context>, watched: Watched, sends: bool, work: Box<dyn TcpWork>) {
        let is_exchange = matches!(watched.cell, CounterCell::Exchange(_));
        let ended = self.wrong_protocol.map(|wrong_protocol| {
            let (cell, conn) = (watched.cell.clone(), Arc::clone(&self.conn));
            wrong_protocol.begin(&cell);
            let (context, tag, peer, start) =
                (Arc::clone(context), self.tag, self.peer, self.start);
            move |ending: &Ending| {
                if wrong_protocol.ended(&conn, &cell, ending) {
                    return true;
                }
                let silence = wrong_protocol.silence(&conn, &cell, start, ending);
                if let Some(silent_for) = silence {
                    context.notice(Notice::NoReply {
                        tag,
                        peer,
                        transport: Transport::Tcp,
                        silence: Silence::Timeout(silent_for),
                    });
                }
                silence.is_some()
            }
        });
        let running = context.reporter.start(FlowStart {
            tag: self.tag,
            cell: watched.cell,
            start: self.start,
            interval: self.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: sends,
            },
            groups: self.groups,
            conn: sends.then_some(self.conn),
            histograms: watched.histograms,
            extras: watched.extras,
        });
        let part = self.tally.begin();
        let (tag, start, after, slot) = (self.tag, self.start, self.after, self.slot);
        let shared = Arc::clone(context);
        let on_end = Box::new(move |ending: Ending| {
            if ended.is_some_and(|was_none| was_none(&ending)) {
                running.discard();
                return part.end(true);
            }
            // Who waits for each answer may use a whole processor for that, and is not held up by it.
            if !is_exchange {
                log_saturation(&shared, tag, start, &ending);
            }
            let failed = log_cause(&shared, tag, Transport::Tcp, &ending);
            let end = FlowEnd {
                at: ending.at,
                facts: EndFacts {
                    thread: ending.thread,
                    ..EndFacts::default()
                },
                ..FlowEnd::default()
            };
            running.end(end);
            if let Some(epilogue) = watched.epilogue {
                epilogue(&shared);
            }
            if let Some(after) = after {
                after();
            }
            drop(slot);
            part.end(failed);
        });
        context.pool.run(work, &self.stop, self.many, on_end);
    }
}

/// Time, in addition to a tenth of the test, by which a sending peer's clock may be ahead of ours.
const EARLY: Duration = Duration::from_millis(200);

/// Time between two blocks or bursts of whichever end sends.
pub(crate) fn tcp_gap(plan: &ClientPlan) -> Option<Duration> {
    let length = plan.tcp_write_length();
    TcpTraffic::from_plan(plan, length).gap(length)
}

/// Bursts in what the server sends.
fn received_bursts(plan: &ClientPlan) -> Option<BurstOrder> {
    let header = tcp_header(plan);
    let by_frame = plan.latency.by_frame;
    let order = BurstOrder::from_workload(&header.workload, header.trip_times, by_frame)?;
    Some(BurstOrder {
        preamble: true,
        ..order
    })
}
