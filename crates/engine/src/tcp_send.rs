//! Sending a byte stream: fill, end, and wait for the peer to have read it all.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_sys::{Interest, SystemClock, TcpConn, Wait};

use crate::counters::{SendCell, SendCounters, SendPublisher};
use crate::schedule::Schedule;
use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, RECEIVE_LIMIT, SILENT, Stage, Step, TcpWork, is_not_ready};

/// What a TCP sender does at the end of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// Close the sending direction, then discard what arrives until the peer closes,
    /// at most this long.
    ShutdownAndDrain(Duration),
    /// Close the sending direction.
    Shutdown,
    /// Leave the connection as it is.
    Leave,
}

/// Orders for a TCP sender.
#[derive(Debug)]
pub struct TcpSendPlan {
    /// Connection, shared with a receiver in a full-duplex test.
    pub conn: Arc<TcpConn>,
    /// Payload that a block repeats; small, so that it stays in the nearest cache.
    pub chunk: Arc<[u8]>,
    /// Length of a block, bytes.
    pub block: usize,
    /// Stop sending at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many bytes, `already` included.
    pub bytes: Option<u64>,
    /// Bytes that were sent before (the test header); they count.
    pub already: u64,
    /// When blocks are due; `None` sends as fast as the connection takes them.
    pub schedule: Option<Schedule>,
    /// What follows the data.
    pub end: SendEnd,
    /// End as vanished when nothing moves for this long.
    pub patience: Duration,
    /// Cell for the counters.
    pub cell: Arc<SendCell>,
    /// Flag that ends the data.
    pub stop: Stop,
}

/// Longest wait for the peer's close once the flow was told to stop: what is in the send
/// buffer goes out all the same.
const STOPPED_DRAIN: Duration = Duration::from_millis(20);

enum Phase {
    Sending,
    /// The data is out since `since`; `acked` bytes of it had arrived at `moved`.
    Draining {
        since: MonoTime,
        until: MonoTime,
        acked: Option<u64>,
        moved: MonoTime,
        cause: Cause,
    },
    Over,
}

/// Sends blocks until a limit, then ends the stream in order.
pub struct TcpSender {
    plan: TcpSendPlan,
    counters: SendCounters,
    publisher: SendPublisher,
    /// Position inside the current block.
    offset: usize,
    start: MonoTime,
    phase: Phase,
}

impl TcpSender {
    /// A sender whose first block leaves at `start`.
    #[must_use]
    pub fn new(plan: TcpSendPlan, start: MonoTime) -> Self {
        let counters = SendCounters {
            bytes: plan.already,
            last: start,
            ..SendCounters::default()
        };
        let publisher = SendPublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            plan,
            counters,
            publisher,
            offset: 0,
            start,
            phase: Phase::Sending,
        }
    }

    fn send(&mut self, now: MonoTime, call: Call) -> Step {
        let plan = &self.plan;
        if plan.stop.is_raised() {
            return self.end_data(now, Cause::Stopped);
        }
        if plan.deadline.is_some_and(|deadline| now >= deadline) {
            return self.end_data(now, Cause::Complete);
        }
        if now < self.start {
            return Step::NotBefore(self.start);
        }
        let left = plan
            .bytes
            .map(|bytes| bytes.saturating_sub(self.counters.bytes));
        if left == Some(0) {
            return self.end_data(now, Cause::Complete);
        }
        if self.offset == 0
            && let Some(schedule) = &plan.schedule
        {
            let due = schedule.due();
            if due > now {
                return Step::NotBefore(plan.deadline.map_or(due, |deadline| due.min(deadline)));
            }
        }
        let rest = plan.block - self.offset;
        let take = left.map_or(rest, |left| {
            rest.min(usize::try_from(left).unwrap_or(usize::MAX))
        });
        let result = match call {
            Call::Blocking => plan
                .conn
                .send_repeated(&plan.chunk, self.offset, self.offset + take),
            Call::NonBlocking => {
                let end = self.offset + take;
                plan.conn
                    .send_repeated_nonblocking(&plan.chunk, self.offset, end)
            }
        };
        match result {
            Ok(sent) => {
                self.record(sent, SystemClock.now(), left == Some(sent as u64));
                Step::Progress
            }
            Err(error) if is_not_ready(&error) => {
                let silence = now.since(self.counters.last);
                if silence > self.plan.patience {
                    return self.finish(Cause::Vanished(silence), self.counters.last);
                }
                Step::NotReady
            }
            Err(error) => self.end_data(now, Cause::Failed(Stage::Send, error)),
        }
    }

    /// Counts what a call that returned at `now` sent.
    fn record(&mut self, sent: usize, now: MonoTime, last: bool) {
        self.publisher.at(now, &self.counters);
        self.counters.bytes += sent as u64;
        self.counters.last = now;
        self.offset += sent;
        if self.offset >= self.plan.block || last {
            self.offset = 0;
            self.counters.writes += 1;
            if let Some(schedule) = &mut self.plan.schedule {
                schedule.sent(1, now);
            }
        }
        self.publisher.publish(&self.counters);
    }

    fn end_data(&mut self, now: MonoTime, cause: Cause) -> Step {
        let failed = matches!(cause, Cause::Failed(..));
        let drain = match self.plan.end {
            SendEnd::Leave => return self.finish(cause, now),
            SendEnd::Shutdown => Duration::ZERO,
            SendEnd::ShutdownAndDrain(limit) => limit,
        };
        // A peer that has closed both ways already leaves nothing to close.
        if let Err(error) = self.plan.conn.shutdown_write()
            && !failed
            && error.kind() != std::io::ErrorKind::NotConnected
        {
            return self.finish(Cause::Failed(Stage::Shutdown, error), now);
        }
        if failed || drain.is_zero() {
            return self.finish(cause, now);
        }
        let limit = match cause {
            Cause::Stopped => drain.min(STOPPED_DRAIN),
            _ => drain,
        };
        self.phase = Phase::Draining {
            since: now,
            until: now + limit,
            acked: None,
            moved: now,
            cause,
        };
        Step::Progress
    }

    fn drain(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step {
        let Phase::Draining {
            since,
            until,
            acked,
            moved,
            cause,
        } = &mut self.phase
        else {
            return self.finish(Cause::Complete, now);
        };
        if self.plan.stop.is_raised() {
            *until = (*until).min(now + STOPPED_DRAIN);
        }
        let arrived = self.plan.conn.tcp_info().and_then(|info| info.bytes_acked);
        if arrived != *acked {
            (*acked, *moved) = (arrived, now);
        }
        let (since, until) = (*since, *until);
        if now >= until {
            // Nobody closed: the test ended when the data did. A peer that still takes
            // data is slow, not gone.
            let silence = now.since(*moved);
            if matches!(cause, Cause::Complete) && silence >= SILENT {
                *cause = Cause::Vanished(silence);
            }
            return self.drained(since);
        }
        let result = match call {
            // Nothing may be waited for longer than the drain itself.
            Call::Blocking => match self.plan.conn.wait_ready(
                Interest::READ,
                Wait::AtMost(until.since(now).min(RECEIVE_LIMIT)),
            ) {
                Ok(false) => return Step::NotReady,
                _ => self.plan.conn.recv_nonblocking(scratch),
            },
            Call::NonBlocking => self.plan.conn.recv_nonblocking(scratch),
        };
        match result {
            Ok(1..) => Step::Progress,
            Err(error) if is_not_ready(&error) => Step::NotReady,
            // The peer has closed or reset: the data is out.
            Ok(0) | Err(_) => self.drained(SystemClock.now()),
        }
    }

    fn drained(&mut self, at: MonoTime) -> Step {
        let cause = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Draining { cause, .. } => cause,
            Phase::Sending | Phase::Over => Cause::Complete,
        };
        self.finish(cause, at)
    }

    fn finish(&mut self, cause: Cause, now: MonoTime) -> Step {
        self.phase = Phase::Over;
        self.publisher.publish(&self.counters);
        Step::Finished(Ending::new(cause, now))
    }
}

impl TcpWork for TcpSender {
    fn scratch_length(&self) -> usize {
        4096
    }

    fn step(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step {
        match self.phase {
            Phase::Sending => self.send(now, call),
            Phase::Draining { .. } => self.drain(now, call, scratch),
            Phase::Over => Step::Finished(Ending::new(Cause::Complete, now)),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn interest(&self) -> Interest {
        match self.phase {
            Phase::Sending => Interest::WRITE,
            Phase::Draining { .. } | Phase::Over => Interest::READ,
        }
    }
}
