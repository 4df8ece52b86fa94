//! Starting flows: the counters, the reporter's rows and the worker in one step.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{
    Cause, Ending, Intervals, ReceiveCell, Schedule, SendCell, SendEnd, Stage, Stop,
    TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork,
};
use tapeline_report::{Endpoints, Notice, TrafficOperation};
use tapeline_sys::{TcpConn, reason};

use crate::context::{Context, Tally};
use crate::reporter::{CounterCell, FlowEnd, FlowExtras, FlowHistogram, FlowStart, GroupKey};

/// Share of a processor above which a traffic thread counts as its limit.
const SATURATED: f64 = 0.9;
/// Shortest flow whose processor share means something.
const SATURATION_SPAN: Duration = Duration::from_millis(500);

/// Called when a flow has ended, was reported and counted.
pub(super) type AfterEnd = Box<dyn FnOnce() + Send>;

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
    /// Bits per second.
    pub(super) rate: Option<u64>,
    pub(super) end: SendEnd,
}

/// Longest payload that a block repeats: with a write of 1 MiB the sender's share of the cost
/// per byte is a fifth lower than from a buffer of that length (docs/performance-notes.md).
const CHUNK: u32 = 32 * 1024;

/// Digits for [`SendPart::chunk`].
pub(super) fn payload(length: u32) -> Arc<[u8]> {
    let mut block = vec![0; length.clamp(1, CHUNK) as usize];
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
    pub(super) already: u64,
    pub(super) rate: Option<u64>,
    pub(super) shutdown: bool,
}

impl TcpFlow {
    pub(super) fn intervals(&self) -> Intervals {
        Intervals::new(self.start, self.interval)
    }

    /// Sends on the connection.
    pub(super) fn send(self, context: &Arc<Context>, part: SendPart) {
        let cell = Arc::new(SendCell::new(self.intervals()));
        let bits = u64::from(part.length.max(1)) * 8;
        let schedule = part
            .rate
            .and_then(|rate| Schedule::at_bit_rate(self.start, bits, rate));
        let gap = schedule.as_ref().map(Schedule::gap);
        let work = TcpSender::new(
            TcpSendPlan {
                conn: Arc::clone(&self.conn),
                chunk: part.chunk,
                block: part.length.max(1) as usize,
                deadline: part.deadline,
                bytes: part.bytes,
                already: part.already,
                schedule,
                end: part.end,
                patience: super::order::patience(Some(self.patience / 3), gap),
                cell: Arc::clone(&cell),
                stop: self.stop.clone(),
            },
            self.start,
        );
        self.run(
            context,
            CounterCell::TcpSend(cell),
            Vec::new(),
            true,
            Box::new(work),
        );
    }

    /// Receives from the connection.
    pub(super) fn receive(self, context: &Arc<Context>, part: ReceivePart) {
        let cell = Arc::new(ReceiveCell::new(self.intervals()));
        let schedule = part
            .rate
            .and_then(|rate| Schedule::at_bit_rate(self.start, u64::from(part.length) * 8, rate));
        let work = TcpReceiver::new(
            TcpReceivePlan {
                conn: Arc::clone(&self.conn),
                length: part.length.max(1) as usize,
                deadline: part.deadline,
                expected: part.expected,
                bytes: part.bytes,
                already: part.already,
                schedule,
                shutdown: part.shutdown,
                patience: self.patience,
                cell: Arc::clone(&cell),
                stop: self.stop.clone(),
            },
            self.start,
        );
        self.run(
            context,
            CounterCell::TcpReceive(cell),
            Vec::new(),
            false,
            Box::new(work),
        );
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
        let running = context.reporter.start(FlowStart {
            tag: self.tag,
            cell,
            start: self.start,
            interval: self.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: sends,
            },
            groups: self.groups,
            conn: sends.then_some(self.conn),
            histograms,
            extras: FlowExtras::default(),
        });
        let part = self.tally.begin();
        let (tag, start, after) = (self.tag, self.start, self.after);
        let shared = Arc::clone(context);
        let on_end = Box::new(move |ending: Ending| {
            let failed = tell_ending(&shared, tag, Transport::Tcp, start, &ending);
            running.end(FlowEnd {
                at: ending.at,
                ..FlowEnd::default()
            });
            part.end(failed);
            if let Some(after) = after {
                after();
            }
        });
        context.pool.run(work, &self.stop, self.many, on_end);
    }
}

/// Says in words why a flow ended, when that is worth a word; returns whether it failed.
pub(super) fn tell_ending(
    context: &Context,
    tag: FlowTag,
    transport: Transport,
    start: MonoTime,
    ending: &Ending,
) -> bool {
    let span = ending.at.since(start);
    if let Some(cpu) = ending.cpu
        && span > SATURATION_SPAN
    {
        let share = cpu.as_secs_f64() / span.as_secs_f64();
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
