//! The server's half of request and response: read, hold, answer.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_stats::ReadSizes;
use tapeline_sys::{Interest, SystemClock, TcpConn};

use crate::counters::{ReceiveCell, ReceiveCounters, ReceivePublisher};
use crate::pacing::YieldSpin;
use crate::stop::Stop;
use crate::work::{
    Call, Cause, Ending, FailedOperation, REST, Step, TcpWork, has_closed, is_not_ready,
};

/// What a server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send the first bytes of the buffer back, not before the hold is over.
    Reply {
        /// Bytes.
        length: usize,
        /// Time from the end of the request to the response.
        hold: Duration,
    },
    /// End without a reply.
    End,
}

/// Turns a request into its response in place; supplied by the protocol.
pub trait Respond: Send {
    /// What the request asks for.
    fn read(&mut self, request: &[u8]) -> Answer;

    /// Makes the request in `buffer` the response: when it had been read, and the time now,
    /// right before it is sent.
    fn stamp(&mut self, buffer: &mut [u8], received: WallTime, sent: WallTime);
}

/// Orders for the answering side.
#[derive(Debug)]
pub struct ResponsePlan<R> {
    /// Connection.
    pub conn: Arc<TcpConn>,
    /// Request length, bytes.
    pub request_length: usize,
    /// Room for a request and for a response. A response that is longer than its request ends
    /// with what is here.
    pub buffer: Vec<u8>,
    /// Bytes of the first request that the buffer holds already.
    pub already: usize,
    /// Bytes of reads that each bin of the read sizes covers, times eight.
    pub read_length: u64,
    /// Acknowledge requests at once: with the response, or by itself when that is held back.
    pub quickack: bool,
    /// While requests come one right after the other, look for the next one, yielding in
    /// between, before sleeping; only where a worker serves this flow alone.
    pub yield_spin: bool,
    /// End at this time.
    pub deadline: Option<MonoTime>,
    /// End as vanished when a request that has begun, or the taking of a response, stands still
    /// for this long. Between requests there is no limit.
    pub idle_timeout: Duration,
    /// Cell for the counters: bytes of both directions, reads.
    pub cell: Arc<ReceiveCell>,
    /// Flag that ends the test.
    pub stop: Stop,
    /// The protocol's answer.
    pub respond: R,
}

/// Requests that are closer than this come one right after the other.
const CLOSE: Duration = Duration::from_micros(200);
/// Such gaps before the next request is expected at once.
const CLOSE_REQUESTS: u32 = 2;

enum Phase {
    /// Reading a request.
    Reading { got: usize },
    /// The request is complete; its response waits.
    Holding { length: usize, until: MonoTime },
    /// Sending the response.
    Replying { length: usize, at: usize },
}

/// Answers every request until the peer closes.
pub struct Responder<R> {
    plan: ResponsePlan<R>,
    clock: SystemClock,
    phase: Phase,
    /// When the last request was complete.
    received: WallTime,
    /// When bytes moved last.
    moved: MonoTime,
    counters: ReceiveCounters,
    publisher: ReceivePublisher,
    spin: YieldSpin,
    /// When the last request was complete, and how many before it came right after each other.
    asked: MonoTime,
    close: u32,
    /// When the peer was looked for last, during a hold.
    looked: MonoTime,
}

impl<R: Respond> Responder<R> {
    /// A server half that starts with its first step.
    #[must_use]
    pub fn new(mut plan: ResponsePlan<R>, now: MonoTime) -> Self {
        let room = plan.buffer.len().max(plan.request_length).max(1);
        plan.buffer.resize(room, 0);
        let got = plan.already.min(plan.request_length);
        let mut reads = ReadSizes::new(plan.read_length);
        reads.record(got as u64);
        let counters = ReceiveCounters {
            bytes: got as u64,
            reads,
            last: now,
        };
        let publisher = ReceivePublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            clock: SystemClock,
            phase: Phase::Reading { got },
            received: WallTime::from_nanos(0),
            moved: now,
            counters,
            publisher,
            spin: YieldSpin::new(),
            asked: now,
            close: 0,
            looked: now,
            plan,
        }
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        self.publisher.publish(&self.counters);
        let _ = self.plan.conn.shutdown_write();
        Step::Finished(Ending::new(cause, at))
    }

    fn failed(&mut self, operation: FailedOperation, error: std::io::Error, now: MonoTime) -> Step {
        // Not `TimedOut`: that is the kernel's word for a peer that is gone.
        if !matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
        ) {
            return self.finish(Cause::Failed(operation, error), now);
        }
        let silence = now.since(self.moved);
        let idle = matches!(self.phase, Phase::Reading { got: 0 });
        if !idle && silence > self.plan.idle_timeout {
            return self.finish(Cause::Vanished(silence), now);
        }
        Step::NotReady
    }

    /// Whether the request is complete.
    fn is_complete(&self, got: usize) -> bool {
        got >= self.plan.request_length
    }

    fn read(&mut self, got: usize, now: MonoTime, call: Call) -> Step {
        if self.is_complete(got) {
            return self.request(now);
        }
        let conn = &self.plan.conn;
        let room = &mut self.plan.buffer[got..self.plan.request_length];
        let spins = self.plan.yield_spin && self.close >= CLOSE_REQUESTS;
        let result = match call {
            Call::Blocking if spins => match self.spin.receive(conn, room, self.asked) {
                Err(error) if is_not_ready(&error) => conn.recv(room),
                done => done,
            },
            Call::Blocking => conn.recv(room),
            Call::NonBlocking => conn.recv_nonblocking(room),
        };
        match result {
            Ok(0) if got == 0 => self.finish(Cause::Complete, self.clock.now()),
            Ok(0) => {
                let error = std::io::ErrorKind::UnexpectedEof.into();
                self.finish(Cause::Failed(FailedOperation::Receive, error), now)
            }
            Ok(received) => {
                let now = self.clock.now();
                self.moved = now;
                self.publisher.at(now, &self.counters);
                self.counters.bytes += received as u64;
                self.counters.reads.record(received as u64);
                self.counters.last = now;
                self.phase = Phase::Reading {
                    got: got + received,
                };
                if self.is_complete(got + received) {
                    return self.request(now);
                }
                self.publisher.publish(&self.counters);
                Step::Progress
            }
            Err(error) => self.failed(FailedOperation::Receive, error, now),
        }
    }

    /// A request is complete.
    fn request(&mut self, now: MonoTime) -> Step {
        self.received = self.clock.wall();
        let gap = now.since(self.asked);
        self.asked = now;
        self.close = if gap < CLOSE {
            self.close.saturating_add(1)
        } else {
            0
        };
        self.spin.learn(gap);
        let request = &self.plan.buffer[..self.plan.request_length];
        match self.plan.respond.read(request) {
            Answer::Reply { length, hold } => {
                let length = length.min(self.plan.buffer.len());
                if hold.is_zero() {
                    self.stamp(length, self.received);
                    return Step::Progress;
                }
                self.publisher.publish(&self.counters);
                if self.plan.quickack {
                    // Every segment sent turns delayed acknowledgements on again.
                    let _ = self.plan.conn.set_quickack(true);
                }
                self.phase = Phase::Holding {
                    length,
                    until: now + hold,
                };
                Step::Progress
            }
            Answer::End => self.finish(Cause::Complete, now),
        }
    }

    /// Makes the request the response, which is to be sent now.
    fn stamp(&mut self, length: usize, now: WallTime) {
        let buffer = &mut self.plan.buffer;
        self.plan.respond.stamp(buffer, self.received, now);
        self.phase = Phase::Replying { length, at: 0 };
    }

    fn reply(&mut self, length: usize, at: usize, now: MonoTime, call: Call) -> Step {
        let conn = &self.plan.conn;
        let rest = &self.plan.buffer[at..length];
        let result = match call {
            Call::Blocking => conn.send(rest),
            Call::NonBlocking => conn.send_nonblocking(rest),
        };
        match result {
            Ok(sent) => {
                self.publisher.at(now, &self.counters);
                self.counters.bytes += sent as u64;
                self.counters.last = now;
                self.moved = now;
                self.phase = if at + sent >= length {
                    self.publisher.publish(&self.counters);
                    Phase::Reading { got: 0 }
                } else {
                    Phase::Replying {
                        length,
                        at: at + sent,
                    }
                };
                Step::Progress
            }
            Err(error) => self.failed(FailedOperation::Send, error, now),
        }
    }
}

impl<R: Respond> TcpWork for Responder<R> {
    fn scratch_length(&self) -> usize {
        0
    }

    fn step(&mut self, now: MonoTime, call: Call, _scratch: &mut [u8]) -> Step {
        if self.plan.stop.is_raised() {
            return self.finish(Cause::Stopped, now);
        }
        let deadline = self.plan.deadline;
        if deadline.is_some_and(|deadline| now >= deadline) {
            return self.finish(Cause::Complete, now);
        }
        if let Phase::Holding { length, until } = self.phase {
            if now < until {
                // Nobody waits for the answer: do not hold it to the end.
                if now.since(self.looked) >= REST {
                    self.looked = now;
                    if has_closed(&self.plan.conn) {
                        return self.finish(Cause::Complete, now);
                    }
                }
                let until = until.min(now + REST);
                return Step::NotBefore(deadline.map_or(until, |deadline| until.min(deadline)));
            }
            self.stamp(length, self.clock.wall());
        }
        match self.phase {
            Phase::Reading { got } => self.read(got, now, call),
            Phase::Replying { length, at } => self.reply(length, at, now, call),
            Phase::Holding { until, .. } => Step::NotBefore(until),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn next_look(&self) -> MonoTime {
        let deadline = self.plan.deadline.unwrap_or(MonoTime::FAR);
        match self.phase {
            Phase::Reading { got: 0 } => deadline,
            _ => deadline.min(self.moved + self.plan.idle_timeout + Duration::from_nanos(1)),
        }
    }

    fn interest(&self) -> Interest {
        match self.phase {
            Phase::Reading { .. } => Interest::READ,
            Phase::Holding { .. } | Phase::Replying { .. } => Interest::WRITE,
        }
    }
}
