//! Receiving a byte stream until it ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_stats::ReadSizes;
use tapeline_sys::{Interest, SystemClock, TcpConn};

use crate::counters::{ReceiveCell, ReceiveCounters, ReceivePublisher};
use crate::schedule::Schedule;
use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, SILENT, Stage, Step, TcpWork, is_not_ready};

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
    /// Stop after this many bytes, `already` included; a peer that closes before, by more
    /// than one read, has failed.
    pub bytes: Option<u64>,
    /// Bytes that were received before (the test header) and count.
    pub already: u64,
    /// When reads are due; `None` reads as fast as data comes.
    pub schedule: Option<Schedule>,
    /// Close the sending direction at the end (a reverse client's answer to the
    /// server's close).
    pub shutdown: bool,
    /// End as vanished when nothing arrives for this long.
    pub patience: Duration,
    /// Cell for the counters.
    pub cell: Arc<ReceiveCell>,
    /// Flag that ends the flow.
    pub stop: Stop,
}

/// Reads until the end of the stream or a limit.
pub struct TcpReceiver {
    plan: TcpReceivePlan,
    counters: ReceiveCounters,
    publisher: ReceivePublisher,
}

impl TcpReceiver {
    /// A receiver that starts with its first step.
    #[must_use]
    pub fn new(plan: TcpReceivePlan, now: MonoTime) -> Self {
        let mut reads = ReadSizes::new(plan.length as u64);
        reads.record(plan.already);
        let counters = ReceiveCounters {
            bytes: plan.already,
            reads,
            last: now,
        };
        let publisher = ReceivePublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            plan,
            counters,
            publisher,
        }
    }

    /// Whether the peer still owes data at `now`.
    fn is_early(&self, now: MonoTime) -> bool {
        let plan = &self.plan;
        let so_far = self.counters.bytes + plan.length as u64;
        plan.expected.is_some_and(|expected| now < expected)
            || plan.bytes.is_some_and(|bytes| so_far < bytes)
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        self.publisher.publish(&self.counters);
        if self.plan.shutdown {
            // Fails when the peer is gone, which the cause says already.
            let _ = self.plan.conn.shutdown_write();
        }
        Step::Finished(Ending::new(cause, at))
    }
}

impl TcpWork for TcpReceiver {
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
            let silence = now.since(self.counters.last);
            return if silence >= SILENT {
                self.finish(Cause::Vanished(silence), self.counters.last)
            } else {
                self.finish(Cause::Complete, now)
            };
        }
        if plan.bytes.is_some_and(|bytes| self.counters.bytes >= bytes) {
            return self.finish(Cause::Complete, now);
        }
        if let Some(schedule) = &plan.schedule {
            let due = schedule.due();
            if due > now {
                return Step::NotBefore(plan.deadline.map_or(due, |deadline| due.min(deadline)));
            }
        }
        let result = match call {
            Call::Blocking => plan.conn.recv(buffer),
            Call::NonBlocking => plan.conn.recv_nonblocking(buffer),
        };
        match result {
            Ok(0) => {
                let now = SystemClock.now();
                let cause = if self.is_early(now) {
                    let early = io::Error::new(io::ErrorKind::UnexpectedEof, CLOSED_EARLY);
                    Cause::Failed(Stage::Receive, early)
                } else {
                    Cause::Complete
                };
                self.finish(cause, now)
            }
            Ok(received) => {
                // The call may have waited: data belongs to the time it came.
                let now = SystemClock.now();
                self.publisher.at(now, &self.counters);
                self.counters.bytes += received as u64;
                self.counters.reads.record(received as u64);
                self.counters.last = now;
                if let Some(schedule) = &mut self.plan.schedule {
                    schedule.sent(1, now);
                }
                self.publisher.publish(&self.counters);
                Step::Progress
            }
            Err(error) if is_not_ready(&error) => {
                let silence = now.since(self.counters.last);
                if silence > self.plan.patience {
                    return self.finish(Cause::Vanished(silence), self.counters.last);
                }
                Step::NotReady
            }
            Err(error) => self.finish(Cause::Failed(Stage::Receive, error), now),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn interest(&self) -> Interest {
        Interest::READ
    }
}
