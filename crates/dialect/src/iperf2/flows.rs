//! Starting flows: the counters, the reporter's rows and the worker in one step.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport, WallTime};
use tapeline_engine::{
    AnswerSink, BurstCell, BurstIntake, BurstPlan, BurstStamp, ByteIntake, Cause, DelayCell,
    DelayPublisher, Ending, HistogramCell, HistogramRecorder, Intervals, KernelPacing, LatencyFrom,
    PayloadSource, ReceiveCell, Schedule, SendCell, SendEnd, Stage, Stop, StreamContent,
    TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork, Technique, Techniques,
    WriteTimes,
};
use tapeline_report::{
    BurstKind, Endpoints, Event, HistogramKind, Notice, Row, ScheduleErrors, TrafficOperation,
};
use tapeline_sys::{TcpConn, reason};
use tapeline_wire::iperf2::BurstHeader;

use super::banner::micros;
use super::stamps::{BurstReader, BurstWriter};
use super::traffic::{BurstOrder, TcpTraffic};
use crate::context::{Context, Tally};
use crate::native::{AnswerFirst, FlowAnswers};
use crate::plan::{FairQueuePlan, HistogramPlan, Payload};
use crate::policy::Seat;
use crate::reporter::{
    CounterCell, EndFacts, FlowEnd, FlowExtras, FlowHistogram, FlowStart, GroupKey,
};

/// Share of a processor above which a traffic thread counts as its limit.
const SATURATED: f64 = 0.9;
/// Shortest flow whose processor share means something.
const SATURATION_SPAN: Duration = Duration::from_millis(500);

/// Called when a flow has ended and was reported, with its total, and whether it failed.
pub(super) type AfterEnd = Box<dyn FnOnce(Option<&Row>, bool) + Send>;

/// One direction of a connection that is about to run.
pub(super) struct TcpFlow {
    pub(super) tag: FlowTag,
    pub(super) conn: Arc<TcpConn>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) start: MonoTime,
    pub(super) interval: Option<Duration>,
    pub(super) groups: Vec<GroupKey>,
    pub(super) stop: Stop,
    pub(super) patience: Duration,
    /// The test has more flows than threads are good for.
    pub(super) many: bool,
    pub(super) tally: Arc<Tally>,
    pub(super) after: Option<AfterEnd>,
    /// Its place among a server's tests.
    pub(super) seat: Option<Seat>,
}

/// What a sender sends.
pub(super) struct SendPart {
    /// What a block repeats; flows of a test share it.
    pub(super) chunk: Arc<[u8]>,
    /// Block length, bytes.
    pub(super) length: u32,
    pub(super) deadline: Option<MonoTime>,
    pub(super) bytes: Option<u64>,
    pub(super) already: u64,
    pub(super) traffic: TcpTraffic,
    /// Each burst begins with a header.
    pub(super) stamped: bool,
    /// Of whatever is random.
    pub(super) seed: u64,
    pub(super) payload: Payload,
    /// Digits leave without copies.
    pub(super) zero_copy: bool,
    /// Writes wait until less than `TCP_NOTSENT_LOWAT` is unsent.
    pub(super) wait_for_room: bool,
    pub(super) pacing: Option<FairQueuePlan>,
    /// Durations of writes are measured, and told as a histogram too.
    pub(super) write_times: bool,
    pub(super) histogram: Option<HistogramPlan>,
    pub(super) end: SendEnd,
    /// Told of the server's answer.
    pub(super) answers: Option<FlowAnswers>,
}

impl SendPart {
    /// Blocks of `length` bytes as fast as the connection takes them.
    pub(super) fn plain(chunk: Arc<[u8]>, length: u32, end: SendEnd) -> Self {
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
/// per byte is a fifth lower than from a buffer of that length (docs/performance-notes.md).
const CHUNK: usize = 32 * 1024;

/// Digits for [`SendPart::chunk`].
pub(super) fn payload(length: u32, techniques: Techniques) -> Arc<[u8]> {
    let mut block = vec![0; techniques.payload_length(length.max(1) as usize, CHUNK)];
    tapeline_wire::iperf2::fill_pattern(&mut block);
    block.into()
}

/// What a receiver reads.
pub(super) struct ReceivePart {
    pub(super) length: u32,
    pub(super) deadline: Option<MonoTime>,
    /// The peer is to send until then.
    pub(super) expected: Option<MonoTime>,
    pub(super) bytes: Option<u64>,
    /// No more than so many are taken.
    pub(super) most: Option<u64>,
    pub(super) already: u64,
    pub(super) rate: Option<u64>,
    pub(super) shutdown: bool,
    /// The stream consists of bursts.
    pub(super) bursts: Option<BurstOrder>,
    pub(super) histogram: Option<HistogramPlan>,
    /// Payload stays in the kernel.
    pub(super) discard: bool,
    /// TCP_QUICKACK before each read.
    pub(super) quickack: bool,
    /// Time for which the peer may hold its first data back.
    pub(super) held_back: Duration,
    /// The server's answer may stand before the data, and is told.
    pub(super) answers: Option<FlowAnswers>,
}

/// Bursts whose rows wait for the reporter; more are lost, and counted in the totals only.
const LOGGED_BURSTS: usize = 1024;
/// How often rows of bursts are told where there is no interval.
const BURST_ROWS: Duration = Duration::from_millis(100);

/// What a flow's worker and the reporter share.
struct Watched {
    cell: CounterCell,
    histograms: Vec<FlowHistogram>,
    extras: FlowExtras,
    /// Told behind the flow's total.
    epilogue: Option<Epilogue>,
}

/// What is told when a flow has ended.
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
    pub(super) fn intervals(&self) -> Intervals {
        Intervals::new(self.start, self.interval)
    }

    /// A histogram for the worker, and the same for the reporter.
    fn histogram(
        &self,
        kind: HistogramKind,
        plan: HistogramPlan,
    ) -> (HistogramRecorder, FlowHistogram) {
        let cell = Arc::new(HistogramCell::new(plan.into(), self.intervals()));
        let told = FlowHistogram {
            kind,
            cell: Arc::clone(&cell),
            in_micros: plan.in_micros,
            by_interval: true,
        };
        (HistogramRecorder::new(cell), told)
    }

    /// Sends on the connection.
    pub(super) fn send(self, context: &Arc<Context>, part: SendPart) {
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
                let (recorder, told) = self.histogram(HistogramKind::Write, plan);
                watched.histograms.push(told);
                recorder
            });
            WriteTimes::new(DelayPublisher::new(times), histogram)
        });
        watched.extras.frames = part.traffic.has_frames();
        watched.extras.target = part.traffic.rate();
        let schedule_errors = part.traffic.has_frames().then(|| {
            let errors = Arc::new(DelayCell::new(Intervals::new(self.start, None)));
            let (tag, told) = (self.tag, Arc::clone(&errors));
            watched.epilogue = Some(Box::new(move |context| {
                let errors = told.read().delays;
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
            pacing,
            write_times,
            schedule_errors,
            end: part.end,
            answer: part.answers.map(|answers| {
                AnswerSink::new(move |bytes| {
                    answers.heard(bytes);
                })
            }),
            patience: super::order::patience(Some(self.patience / 3), gap),
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

    /// Receives from the connection.
    pub(super) fn receive(mut self, context: &Arc<Context>, part: ReceivePart) {
        let length = part.length.max(1) as usize;
        let schedule = part
            .rate
            .and_then(|rate| Schedule::at_bit_rate(self.start, 8, rate));
        let plan = TcpReceivePlan {
            deadline: part.deadline,
            expected: part.expected,
            bytes: part.bytes,
            most: part.most,
            schedule,
            shutdown: part.shutdown,
            discard: part.discard,
            quickack: part.quickack,
            gathers: part.bursts.is_none() && context.techniques.uses(Technique::LowWaterMark),
            patience: self.patience,
            first_patience: self.patience + part.held_back,
            ..TcpReceivePlan::new(Arc::clone(&self.conn), length, self.stop.clone())
        };
        let Some(order) = part.bursts else {
            let cell = Arc::new(ReceiveCell::new(self.intervals()));
            let intake = ByteIntake::new(Arc::clone(&cell), length, part.already, self.start);
            let work = Box::new(TcpReceiver::new(plan, intake));
            let work = self.answered_first(work, part.answers);
            let watched = Watched::plain(CounterCell::TcpReceive(cell));
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
        watched.extras.bursts = rows;
        let measured = order.trip_times || order.kind != BurstKind::Write;
        let histogram = part.histogram.filter(|_| measured).map(|plan| {
            let (recorder, told) = self.histogram(HistogramKind::Frame, plan);
            watched.histograms.push(told);
            recorder
        });
        let (tag, told) = (self.tag, Arc::clone(&cell));
        watched.epilogue = Some(Box::new(move |context| {
            if told.read().broken {
                context.notice(Notice::Text(format!(
                    "flow {}: the peer's bursts could not be told apart to the end, so delays \
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
                let tell = Box::new(move |answer| answers.answered(answer));
                Box::new(AnswerFirst::new(work, self.stop.clone(), tell))
            }
        }
    }

    /// The flow cannot begin: closes its connection and counts it as failed.
    fn give_up(self) {
        let _ = self.conn.shutdown_both();
        self.tally.begin().end(true);
        if let Some(after) = self.after {
            after(None, true);
        }
    }

    /// Hands the work to the pool and its counters to the reporter. `sends` says that this end
    /// is the one whose data counts.
    pub(super) fn run(
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
        let (tag, start, after, seat) = (self.tag, self.start, self.after, self.seat);
        let shared = Arc::clone(context);
        let on_end = Box::new(move |ending: Ending| {
            let failed = tell_ending(&shared, tag, Transport::Tcp, start, &ending);
            let end = FlowEnd {
                at: ending.at,
                facts: EndFacts {
                    thread: ending.thread,
                    ..EndFacts::default()
                },
                ..FlowEnd::default()
            };
            let total = match after {
                Some(_) => running.end_told(end),
                None => {
                    running.end(end);
                    None
                }
            };
            if let Some(tell) = watched.epilogue {
                tell(&shared);
            }
            if let Some(after) = after {
                after(total.as_ref(), failed);
            }
            drop(seat);
            part.end(failed);
        });
        context.pool.run(work, &self.stop, self.many, on_end);
    }
}

/// Says in words why a flow ended, when that is worth a word; returns whether it failed.
pub(crate) fn tell_ending(
    context: &Context,
    tag: FlowTag,
    transport: Transport,
    start: MonoTime,
    ending: &Ending,
) -> bool {
    let span = ending.at.since(start);
    if let Some(thread) = ending.thread
        && !thread.shared
        && span > SATURATION_SPAN
    {
        let share = thread.time.used.as_secs_f64() / span.as_secs_f64();
        if share > SATURATED {
            context.notice(Notice::CpuSaturated { tag, share });
        }
    }
    match &ending.cause {
        Cause::Complete | Cause::Stopped => false,
        Cause::Vanished(silent_for) => {
            context.notice(Notice::PeerVanished {
                tag,
                silent_for: *silent_for,
            });
            true
        }
        Cause::Worker(error) => {
            context.notice(Notice::Text(format!("flow {}: {error}", tag.id)));
            true
        }
        Cause::Failed(Stage::Content, error) => {
            let words = format!("flow {}: reading the payload: {}", tag.id, reason(error));
            context.notice(Notice::Text(words));
            true
        }
        Cause::Failed(stage, error) => {
            context.notice(Notice::TrafficFailed {
                tag,
                operation: match stage {
                    Stage::Send | Stage::Content => TrafficOperation::Write,
                    Stage::Receive => TrafficOperation::Receive,
                    Stage::Shutdown => TrafficOperation::Shutdown,
                },
                transport,
                reason: reason(error),
            });
            true
        }
    }
}
