//! Receiving a byte stream until it ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_stats::ReadSizes;
use tapeline_sys::{Interest, SystemClock, TcpConn};

use super::low_water::{Batch, LowWater};
use super::send::STALL_TIMEOUT;
use crate::counters::{ReceiveCell, ReceiveCounters, ReceivePublisher};
use crate::pacing::Schedule;
use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, FailedOperation, SILENT, Step, TcpWork, is_not_ready};

/// Most bytes of payload that one call drops: what a receive buffer may have gathered.
const DISCARD: usize = 4 << 20;

/// Time after which a clamp of the window is set again: the kernel forgets it.
const CLAMP_RENEWAL: Duration = Duration::from_millis(10);

/// Reason when the peer closes while it still should send.
const CLOSED_EARLY: &str = "Closed by the peer before the end of the test";

/// Orders for a TCP receiver.
#[derive(Debug)]
pub struct TcpReceivePlan {
    /// Connection, shared with a sender in a full-duplex test.
    pub conn: Arc<TcpConn>,
    /// Read length, bytes.
    pub length: usize,
    /// Stop receiving at this time.
    pub deadline: Option<MonoTime>,
    /// The peer is to send until this time: when it closes before, that is a failure.
    pub expected: Option<MonoTime>,
    /// Stop after this many bytes, those before it included; a peer that closes before, by more
    /// than one read, has failed.
    pub bytes: Option<u64>,
    /// Stop after this many bytes, those before it included, however many the peer would send.
    pub max: Option<u64>,
    /// When reads are due, a byte being a unit; `None` reads as fast as data comes.
    pub schedule: Option<Schedule>,
    /// Close the sending direction at the end (a reverse client's answer to the
    /// server's close).
    pub shutdown: bool,
    /// Leave payload in the kernel, where it is only counted.
    pub discard: bool,
    /// Acknowledge at once: asked of the kernel before each read, which forgets it.
    pub quickack: bool,
    /// Offer no larger window than so many bytes, set again and again (`TCP_WINDOW_CLAMP`).
    pub window_clamp: Option<u32>,
    /// Floods of tiny segments, and payload that is not copied, are gathered before they are
    /// read (`SO_RCVLOWAT`); not where the time of an arrival means something.
    pub gathers: bool,
    /// End as vanished when nothing arrives for this long.
    pub idle_timeout: Duration,
    /// The same before the first data, which the peer may have been asked to hold back.
    pub first_idle_timeout: Duration,
    /// Flag that ends the flow.
    pub stop: Stop,
}

impl TcpReceivePlan {
    /// Reads `length` bytes at a time, as fast as data comes and until the stream ends.
    #[must_use]
    pub fn new(conn: Arc<TcpConn>, length: usize, stop: Stop) -> Self {
        Self {
            conn,
            length,
            deadline: None,
            expected: None,
            bytes: None,
            max: None,
            schedule: None,
            shutdown: false,
            discard: false,
            quickack: false,
            window_clamp: None,
            gathers: false,
            idle_timeout: STALL_TIMEOUT,
            first_idle_timeout: STALL_TIMEOUT,
            stop,
        }
    }
}

/// The next read that a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextRead {
    /// At most so many bytes.
    pub length: usize,
    /// The bytes themselves are needed, not only their count.
    pub content: bool,
}

/// Takes what a receiver has read.
pub trait Intake: Send {
    /// Bytes so far.
    fn bytes(&self) -> u64;
    /// Time of the last of them.
    fn last(&self) -> MonoTime;
    /// What to read next, at most `length` bytes.
    fn next_read(&self, length: usize) -> NextRead;
    /// Takes a read of `count` bytes that returned at `now`; `data` holds them if they were
    /// needed and is empty if not.
    fn take(&mut self, count: usize, data: &[u8], now: MonoTime);
    /// Publishes the counters.
    fn publish(&self);
    /// The next end of an interval.
    fn next_boundary(&self) -> MonoTime;
}

/// Counts bytes and reads, whatever they hold.
#[derive(Debug)]
pub struct ByteIntake {
    counters: ReceiveCounters,
    publisher: ReceivePublisher,
}

impl ByteIntake {
    /// Counts into `cell`; the reads of `length` bytes make the bins of their sizes. `already`
    /// bytes were received before.
    #[must_use]
    pub fn new(cell: Arc<ReceiveCell>, length: usize, already: u64, now: MonoTime) -> Self {
        let mut reads = ReadSizes::new(length as u64);
        reads.record(already);
        let counters = ReceiveCounters {
            bytes: already,
            reads,
            last: now,
        };
        let publisher = ReceivePublisher::new(cell);
        publisher.publish(&counters);
        Self {
            counters,
            publisher,
        }
    }
}

impl Intake for ByteIntake {
    #[inline]
    fn bytes(&self) -> u64 {
        self.counters.bytes
    }

    #[inline]
    fn last(&self) -> MonoTime {
        self.counters.last
    }

    #[inline]
    fn next_read(&self, length: usize) -> NextRead {
        NextRead {
            length,
            content: false,
        }
    }

    #[inline]
    fn take(&mut self, count: usize, _: &[u8], now: MonoTime) {
        self.publisher.at(now, &self.counters);
        self.counters.bytes += count as u64;
        self.counters.reads.record(count as u64);
        self.counters.last = now;
        self.publisher.publish(&self.counters);
    }

    fn publish(&self) {
        self.publisher.publish(&self.counters);
    }

    fn next_boundary(&self) -> MonoTime {
        self.publisher.next_boundary()
    }
}

/// Reads until the end of the stream or a limit.
#[derive(Debug)]
pub struct TcpReceiver<I> {
    plan: TcpReceivePlan,
    intake: I,
    /// Something has arrived.
    begun: bool,
    /// Looks out for floods of tiny segments.
    low_water: Option<LowWater>,
    /// When the clamp of the window is due again.
    clamp_due: MonoTime,
}

/// A call that reads.
struct Read {
    /// Bytes that it asked for.
    wanted: usize,
    /// The bytes are in the buffer.
    kept: bool,
    result: io::Result<usize>,
}

impl<I: Intake> TcpReceiver<I> {
    /// A receiver that starts with its first step.
    #[must_use]
    pub fn new(plan: TcpReceivePlan, intake: I) -> Self {
        // A schedule or quick acknowledgements say already when to read.
        let gathers = plan.gathers && plan.schedule.is_none() && !plan.quickack;
        let batch = if plan.discard {
            Batch::OfUncopied
        } else {
            Batch::OfSmall
        };
        Self {
            low_water: gathers.then(|| LowWater::new(batch, intake.last())),
            plan,
            intake,
            begun: false,
            clamp_due: MonoTime::ZERO,
        }
    }

    /// Sets the clamp of the window again, when it is time to. One of less than two segments is left to
    /// the kernel: held, it would make the peer wait for a delayed acknowledgement with each segment.
    #[inline]
    fn renew_clamp(&mut self, now: MonoTime) {
        if let Some(bytes) = self.plan.window_clamp
            && now >= self.clamp_due
        {
            self.clamp_due = now + CLAMP_RENEWAL;
            let segment = self.plan.conn.mss().unwrap_or(0);
            if bytes >= segment.saturating_mul(2) {
                // A system without it said so when the connection was made.
                let _ = self.plan.conn.set_window_clamp(bytes);
            }
        }
    }

    /// Follows the size and the number of reads; on a shared worker nobody waits for a mark.
    #[inline]
    fn watch_reads(&mut self, bytes: usize, now: MonoTime, call: Call) {
        if call == Call::Blocking
            && let Some(low_water) = &mut self.low_water
            && let Some(change) = low_water.read(bytes as u64, now, self.intake.next_boundary())
            && !change.apply(&self.plan.conn)
        {
            self.low_water = None;
        }
    }

    fn receive(&self, buffer: &mut [u8], call: Call) -> Read {
        let plan = &self.plan;
        let reach = if plan.discard {
            self.discarded_at_once().max(buffer.len())
        } else {
            buffer.len()
        };
        let NextRead { length, content } = self.intake.next_read(reach);
        let kept = content || !plan.discard;
        let max = if kept { buffer.len() } else { reach };
        let length = length.clamp(1, max);
        let result = match (kept, call) {
            (true, Call::Blocking) => plan.conn.recv(&mut buffer[..length]),
            (true, Call::NonBlocking) => plan.conn.recv_nonblocking(&mut buffer[..length]),
            (false, Call::Blocking) => plan.conn.recv_discard(length),
            (false, Call::NonBlocking) => plan.conn.recv_discard_nonblocking(length),
        };
        Read {
            wanted: length,
            kept,
            result,
        }
    }

    /// Longest silence of the peer.
    fn idle_timeout(&self) -> Duration {
        if self.begun {
            self.plan.idle_timeout
        } else {
            self.plan.first_idle_timeout
        }
    }

    /// Bytes after which nothing more is read.
    fn end(&self) -> Option<u64> {
        self.plan.bytes.into_iter().chain(self.plan.max).min()
    }

    /// Most bytes to discard in one go.
    fn discarded_at_once(&self) -> usize {
        let end = self.end().unwrap_or(u64::MAX);
        let left = end.saturating_sub(self.intake.bytes());
        usize::try_from(left).map_or(DISCARD, |left| left.min(DISCARD))
    }

    /// Whether the peer still owes data at `now`.
    fn is_early(&self, now: MonoTime) -> bool {
        let plan = &self.plan;
        let so_far = self.intake.bytes() + plan.length as u64;
        let is_promised = plan.expected.is_some() || plan.bytes.is_some();
        (is_promised && self.intake.bytes() == 0)
            || plan.expected.is_some_and(|expected| now < expected)
            || plan.bytes.is_some_and(|bytes| so_far < bytes)
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        self.intake.publish();
        if self.plan.shutdown {
            // Fails when the peer is gone, which the cause says already.
            let _ = self.plan.conn.shutdown_write();
        }
        Step::Finished(Ending::new(cause, at))
    }
}

impl<I: Intake> TcpWork for TcpReceiver<I> {
    fn scratch_length(&self) -> usize {
        self.plan.length.max(1)
    }

    fn step(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step {
        let length = self.scratch_length().min(scratch.len());
        let buffer = &mut scratch[..length];
        let plan = &self.plan;
        if plan.stop.is_raised() {
            return self.finish(Cause::Stopped, now);
        }
        if plan.deadline.is_some_and(|deadline| now >= deadline) {
            let silence = now.since(self.intake.last());
            return if silence >= SILENT {
                self.finish(Cause::Vanished(silence), self.intake.last())
            } else {
                self.finish(Cause::Complete, now)
            };
        }
        if self.end().is_some_and(|end| self.intake.bytes() >= end) {
            return self.finish(Cause::Complete, now);
        }
        if let Some(schedule) = &plan.schedule {
            let due = schedule.due();
            if due > now {
                return Step::NotBefore(plan.deadline.map_or(due, |deadline| due.min(deadline)));
            }
        }
        if plan.quickack {
            let _ = plan.conn.set_quickack(true);
        }
        let Read {
            wanted,
            kept,
            result,
        } = self.receive(buffer, call);
        match result {
            Ok(0) => {
                let now = SystemClock.now();
                let cause = if plan.stop.is_raised() {
                    // Who is stopped has its peer stop too, which may come first.
                    Cause::Stopped
                } else if self.is_early(now) {
                    let early = io::Error::new(io::ErrorKind::UnexpectedEof, CLOSED_EARLY);
                    Cause::Failed(FailedOperation::Receive, early)
                } else {
                    Cause::Complete
                };
                self.finish(cause, now)
            }
            Ok(received) => {
                // The call may have waited: data belongs to the time it came.
                let now = SystemClock.now();
                let data = if kept { &buffer[..received] } else { &[] };
                self.intake.take(received, data, now);
                self.begun = true;
                self.renew_clamp(now);
                self.watch_reads(received, now, call);
                if let Some(schedule) = &mut self.plan.schedule {
                    schedule.sent(received as u64, now);
                }
                if received < wanted {
                    Step::Partial
                } else {
                    Step::Progress
                }
            }
            Err(error) if is_not_ready(&error) => {
                self.watch_reads(0, now, call);
                let silence = now.since(self.intake.last());
                if silence > self.idle_timeout() {
                    return self.finish(Cause::Vanished(silence), self.intake.last());
                }
                Step::NotReady
            }
            Err(error) => self.finish(Cause::Failed(FailedOperation::Receive, error), now),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn interest(&self) -> Interest {
        Interest::READ
    }

    fn next_look(&self) -> MonoTime {
        let deadline = self.plan.deadline.unwrap_or(MonoTime::FAR);
        // Just behind it: the timeout is over when more than that has passed.
        let vanished = self.intake.last() + self.idle_timeout() + Duration::from_nanos(1);
        deadline.min(vanished)
    }
}
