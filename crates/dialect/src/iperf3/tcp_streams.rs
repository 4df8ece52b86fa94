//! Streams that are connections.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Transport};
use tapeline_engine::{
    ByteIntake, Cause, Ending, KernelPacing, PayloadSource, ReceiveCell, Schedule, SendCell,
    SendEnd, StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork,
    Technique, Timing,
};
use tapeline_report::Notice;
use tapeline_sys::{TcpConn, reason};
use tapeline_wire::iperf3::limits;

use super::file_intake::FileIntake;
use super::stream_end::{Ends, StreamEnd, is_starved};
use super::streams::{Stream, Traffic};
use crate::iperf2::tell_ending;
use crate::reporter::{CounterCell, EndFacts, FlowEnd};

/// Longest payload that a block repeats.
const CHUNK: usize = 32 * 1024;
/// Block of a sender that nobody counts blocks of: fewer, larger trips through the kernel.
const BULK: u32 = 1 << 20;

impl Traffic {
    fn content(&self, block: usize) -> std::io::Result<StreamContent> {
        match &self.file {
            None => {
                let length = self.context.techniques.payload_length(block, CHUNK);
                let chunk = self.chunk(length).into();
                Ok(if self.parameters.zerocopy && !self.is_many() {
                    StreamContent::spliced(chunk, block)
                } else {
                    StreamContent::Repeated(chunk)
                })
            }
            Some(path) => {
                let source = PayloadSource::start(File::open(path)?, block)?;
                Ok(StreamContent::input(block, source, None))
            }
        }
    }

    /// The file that takes what is received. Each stream opens it for itself, as the reference's.
    fn target(&self) -> std::io::Result<Option<File>> {
        let path = self.file.as_ref();
        path.map(File::create).transpose()
    }

    pub(super) fn send_stream(&self, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
        let parameters = &self.parameters;
        let rate = self.rate();
        let whole = rate == 0 && parameters.blocks == 0 && self.file.is_none();
        let block = if whole && self.length == limits::DEFAULT_TCP_LENGTH {
            BULK
        } else {
            self.length
        };
        let content = match self.content(block as usize) {
            Ok(content) => content,
            Err(error) => {
                let reason = reason(&error);
                let what = format!("cannot read what is to be sent: {reason}");
                self.context.notice(Notice::Text(what));
                return ends.tell(StreamEnd::lost(stream));
            }
        };
        let cell = Arc::new(SendCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(true, move || meter.read().bytes);
        let bits = u64::from(block) * 8;
        let timing = Schedule::at_bit_rate(self.start, bits, rate)
            .map(|schedule| schedule.in_bursts(parameters.burst.into()))
            .map(|schedule| schedule.in_quanta(self.context.techniques.pacing_quantum()))
            .map_or(Timing::Free, Timing::Paced);
        let pacing =
            (parameters.pacing_rate > 0).then(|| KernelPacing::constant(parameters.pacing_rate));
        let plan = TcpSendPlan {
            deadline: self.deadline(),
            bytes: self.bytes_to_send(),
            bytes_from: self.counted_from(),
            timing,
            pacing,
            end: SendEnd::Leave,
            patience: self.stalled,
            ..TcpSendPlan::new(
                conn,
                content,
                block as usize,
                Arc::clone(&cell),
                self.stop.clone(),
            )
        };
        let work = Box::new(TcpSender::new(plan, self.start));
        self.pool(stream, CounterCell::TcpSend(cell), work, ends);
    }

    pub(super) fn receive_stream(&self, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
        let cell = Arc::new(ReceiveCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(false, move || meter.read().bytes);
        let length = self.share.block(self.length).max(1) as usize;
        let granted = self.share.rate;
        let plan = TcpReceivePlan {
            deadline: self.deadline(),
            bytes: self.own_amount(),
            most: self.granted_bytes(),
            schedule: granted.and_then(|rate| Schedule::at_bit_rate(self.start, 8, rate.0)),
            discard: self.parameters.skip_receive_copy,
            gathers: self.file.is_none() && self.context.techniques.uses(Technique::LowWaterMark),
            patience: self.patience,
            ..TcpReceivePlan::new(conn, length, self.stop.clone())
        };
        let intake = ByteIntake::new(Arc::clone(&cell), length, 0, self.start);
        let work: Box<dyn TcpWork> = match self.target() {
            Ok(None) => Box::new(TcpReceiver::new(plan, intake)),
            Ok(Some(file)) => Box::new(TcpReceiver::new(plan, FileIntake::new(intake, file))),
            Err(error) => {
                let what = format!("cannot write what is received: {}", reason(&error));
                self.context.notice(Notice::Text(what));
                return ends.tell(StreamEnd::lost(stream));
            }
        };
        self.pool(stream, CounterCell::TcpReceive(cell), work, ends);
    }

    fn pool(&self, stream: Stream, cell: CounterCell, work: Box<dyn TcpWork>, ends: Ends) {
        let last: Box<dyn Fn() -> MonoTime + Send> = match &cell {
            CounterCell::TcpSend(cell) => {
                let cell = Arc::clone(cell);
                Box::new(move || cell.read().last)
            }
            CounterCell::TcpReceive(cell) => {
                let cell = Arc::clone(cell);
                Box::new(move || cell.read().last)
            }
            _ => Box::new(|| MonoTime::ZERO),
        };
        let running = self.context.reporter.start(self.flow(&stream, cell));
        let context = Arc::clone(&self.context);
        let (tag, start) = (stream.tag, self.start);
        let (patience, stalled) = (self.patience, self.stalled);
        let deadline = self.deadline().filter(|_| !stream.sends);
        let over = Arc::clone(&self.over);
        let on_end = Box::new(move |ending: Ending| {
            let ending = at_deadline(ending, deadline, patience);
            tell_ending(&context, tag, Transport::Tcp, start, &ending);
            let patience = if stream.sends { stalled } else { patience };
            let starved = is_starved(&ending, patience);
            // What passed while the stream was told to stop was counted: its time counts too.
            let over = over.get().map_or(ending.at, |over| last().max(*over));
            let end = FlowEnd {
                at: ending.at.min(over),
                facts: EndFacts {
                    thread: ending.thread,
                    ..EndFacts::default()
                },
                ..FlowEnd::default()
            };
            ends.tell(StreamEnd {
                stream,
                total: running.end_told(end),
                packets: 0,
                lost: 0,
                starved,
            });
        });
        self.context
            .pool
            .run(work, &self.stop, self.is_many(), on_end);
    }
}

/// A receiver whose time is over has ended in order, however long ago the last data came: a slow
/// sender's blocks are far apart.
fn at_deadline(ending: Ending, deadline: Option<MonoTime>, patience: Duration) -> Ending {
    match (&ending.cause, deadline) {
        (Cause::Vanished(silence), Some(deadline))
            if *silence < patience && ending.at + *silence >= deadline =>
        {
            Ending {
                cause: Cause::Complete,
                at: deadline,
                ..ending
            }
        }
        _ => ending,
    }
}
