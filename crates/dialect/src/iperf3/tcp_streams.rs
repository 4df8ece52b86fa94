//! Streams that are connections, and received data that goes into a file.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Transport};
use tapeline_engine::{
    ByteIntake, Cause, Ending, Intake, KernelPacing, NextRead, PayloadSource, ReceiveCell,
    Schedule, SendCell, SendEnd, StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan,
    TcpSender, TcpWork, Technique, Timing,
};
use tapeline_report::Notice;
use tapeline_sys::{TcpConn, reason};
use tapeline_wire::iperf3::limits;

use super::streams::{Ends, Stream, StreamEnd, Traffic, is_starved};
use crate::run::flow_end::report_ending;
use crate::sampler::{CounterCell, EndFacts, FlowEnd};

/// Longest payload that a block repeats.
const CHUNK: usize = 32 * 1024;
/// Block of a sender that nobody counts blocks of: fewer, larger trips through the kernel.
const BULK: u32 = 1 << 20;

fn content(test: &Traffic, block: usize) -> std::io::Result<StreamContent> {
    match &test.file {
        None => {
            let length = test.context.techniques.payload_length(block, CHUNK);
            let chunk = test.chunk(length).into();
            Ok(if test.parameters.zerocopy && !test.is_many() {
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
fn target(test: &Traffic) -> std::io::Result<Option<File>> {
    let path = test.file.as_ref();
    path.map(File::create).transpose()
}

pub(crate) fn send_stream(test: &Traffic, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
    let parameters = &test.parameters;
    let rate = test.rate();
    let whole = rate == 0 && parameters.blocks == 0 && test.file.is_none();
    let block = if whole && test.length == limits::DEFAULT_TCP_LENGTH {
        BULK
    } else {
        test.length
    };
    let content = match content(test, block as usize) {
        Ok(content) => content,
        Err(error) => {
            let reason = reason(&error);
            let what = format!("cannot read what is to be sent: {reason}");
            test.context.notice(Notice::Text(what));
            return ends.send(StreamEnd::lost(stream));
        }
    };
    let cell = Arc::new(SendCell::new(test.intervals()));
    let counter = Arc::clone(&cell);
    test.byte_counters.add(true, move || counter.read().bytes);
    let bits = u64::from(block) * 8;
    let timing = Schedule::at_bit_rate(test.start, bits, rate)
        .map(|schedule| schedule.in_bursts(parameters.burst.into()))
        .map(|schedule| schedule.in_quanta(test.context.techniques.pacing_quantum()))
        .map_or(Timing::Free, Timing::Paced);
    let pacing =
        (parameters.pacing_rate > 0).then(|| KernelPacing::constant(parameters.pacing_rate));
    let plan = TcpSendPlan {
        deadline: test.deadline(),
        bytes: test.bytes_to_send(),
        bytes_from: test.counted_from(),
        timing,
        window: test.window,
        pacing,
        end: SendEnd::Leave,
        idle_timeout: test.stalled,
        ..TcpSendPlan::new(
            conn,
            content,
            block as usize,
            Arc::clone(&cell),
            test.stop.clone(),
        )
    };
    let work = Box::new(TcpSender::new(plan, test.start));
    pool(test, stream, CounterCell::TcpSend(cell), work, ends);
}

pub(crate) fn receive_stream(test: &Traffic, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
    let cell = Arc::new(ReceiveCell::new(test.intervals()));
    let counter = Arc::clone(&cell);
    test.byte_counters.add(false, move || counter.read().bytes);
    let length = test.share.block(test.length).max(1) as usize;
    let granted = test.share.rate;
    let plan = TcpReceivePlan {
        deadline: test.deadline(),
        bytes: test.own_amount(),
        max: test.granted_bytes(),
        schedule: granted.and_then(|rate| Schedule::at_bit_rate(test.start, 8, rate.0)),
        discard: test.parameters.skip_receive_copy,
        window_clamp: test.window_clamp,
        gathers: test.file.is_none() && test.context.techniques.uses(Technique::LowWaterMark),
        idle_timeout: test.idle_timeout,
        ..TcpReceivePlan::new(conn, length, test.stop.clone())
    };
    let intake = ByteIntake::new(Arc::clone(&cell), length, 0, test.start);
    let work: Box<dyn TcpWork> = match target(test) {
        Ok(None) => Box::new(TcpReceiver::new(plan, intake)),
        Ok(Some(file)) => Box::new(TcpReceiver::new(plan, FileIntake::new(intake, file))),
        Err(error) => {
            let what = format!("cannot write what is received: {}", reason(&error));
            test.context.notice(Notice::Text(what));
            return ends.send(StreamEnd::lost(stream));
        }
    };
    pool(test, stream, CounterCell::TcpReceive(cell), work, ends);
}

fn pool(test: &Traffic, stream: Stream, cell: CounterCell, work: Box<dyn TcpWork>, ends: Ends) {
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
    let running = test.context.reporter.start(test.flow(&stream, cell));
    let context = Arc::clone(&test.context);
    let (tag, start) = (stream.tag, test.start);
    let (idle_timeout, stalled) = (test.idle_timeout, test.stalled);
    let deadline = test.deadline().filter(|_| !stream.sends);
    let over = Arc::clone(&test.over);
    let on_end = Box::new(move |ending: Ending| {
        let ending = at_deadline(ending, deadline, idle_timeout);
        report_ending(&context, tag, Transport::Tcp, start, &ending);
        let idle_timeout = if stream.sends { stalled } else { idle_timeout };
        let starved = is_starved(&ending, idle_timeout);
        // What passed while the stream was asked to stop was counted: its time counts too.
        let over = over.get().map_or(ending.at, |over| last().max(*over));
        let end = FlowEnd {
            at: ending.at.min(over),
            facts: EndFacts {
                thread: ending.thread,
                ..EndFacts::default()
            },
            ..FlowEnd::default()
        };
        ends.send(StreamEnd {
            stream,
            total: running.end_reported(end),
            packets: 0,
            lost: 0,
            starved,
        });
    });
    test.context
        .pool
        .run(work, &test.stop, test.is_many(), on_end);
}

/// A receiver whose time is over has ended in order, however long ago the last data came: a slow
/// sender's blocks are far apart.
fn at_deadline(ending: Ending, deadline: Option<MonoTime>, idle_timeout: Duration) -> Ending {
    match (&ending.cause, deadline) {
        (Cause::Vanished(silence), Some(deadline))
            if *silence < idle_timeout && ending.at + *silence >= deadline =>
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

/// Counts bytes and writes them down. A disk that takes no more ends the writing, not the test.
#[derive(Debug)]
pub(crate) struct FileIntake {
    counts: ByteIntake,
    file: Option<File>,
}

impl FileIntake {
    pub(crate) fn new(counts: ByteIntake, file: File) -> Self {
        Self {
            counts,
            file: Some(file),
        }
    }
}

impl Intake for FileIntake {
    fn bytes(&self) -> u64 {
        self.counts.bytes()
    }

    fn last(&self) -> MonoTime {
        self.counts.last()
    }

    fn next_read(&self, length: usize) -> NextRead {
        NextRead {
            length,
            content: self.file.is_some(),
        }
    }

    fn take(&mut self, count: usize, data: &[u8], now: MonoTime) {
        if let Some(file) = &mut self.file
            && file.write_all(data).is_err()
        {
            self.file = None;
        }
        self.counts.take(count, data, now);
    }

    fn publish(&self) {
        self.counts.publish();
    }

    fn next_boundary(&self) -> MonoTime {
        self.counts.next_boundary()
    }
}
