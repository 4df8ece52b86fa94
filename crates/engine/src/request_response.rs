//! Request and response on one connection: the client's and the server's half.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_stats::{DelayHistogram, Moments};
use tapeline_sys::{Interest, SystemClock, TcpConn};

use crate::counters::{ExchangeCell, ExchangeCounters, ExchangePublisher};
use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, Stage, Step, TcpWork, is_not_ready};

/// Prepares a request; supplied by the protocol.
pub trait RequestStamp: Send {
    /// Stamps the request with its number (from 1) and the time.
    fn stamp(&mut self, request: &mut [u8], number: u32, wall: WallTime);
}

/// What a server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send the first bytes of the buffer back.
    Reply(usize),
    /// End without a reply.
    End,
}

/// Turns a request into its response in place; supplied by the protocol.
pub trait Respond: Send {
    /// `buffer` holds the request and has room for the response.
    fn respond(&mut self, buffer: &mut [u8], received: WallTime) -> Answer;
}

/// Orders for a request/response client.
#[derive(Debug)]
pub struct RequestPlan<S> {
    /// Connection.
    pub conn: Arc<TcpConn>,
    /// Request before it is stamped.
    pub request: Vec<u8>,
    /// Response length, bytes.
    pub response_length: usize,
    /// Stop asking at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many requests.
    pub requests: Option<u64>,
    /// End as vanished when a response takes longer than this.
    pub patience: Duration,
    /// Cell for the counters.
    pub cell: Arc<ExchangeCell>,
    /// Flag that ends the test.
    pub stop: Stop,
    /// The protocol's stamp.
    pub stamp: S,
}

enum Phase {
    Idle,
    Sending { at: usize },
    Receiving { got: usize },
    Over,
}

/// Asks, waits for the answer, asks again.
pub struct Requester<S> {
    plan: RequestPlan<S>,
    clock: SystemClock,
    response: Vec<u8>,
    phase: Phase,
    asked: MonoTime,
    /// When bytes moved last.
    moved: MonoTime,
    number: u32,
    counters: ExchangeCounters,
    publisher: ExchangePublisher,
    histogram: DelayHistogram,
}

impl<S: RequestStamp> Requester<S> {
    /// A client that starts with its first step.
    #[must_use]
    pub fn new(plan: RequestPlan<S>, now: MonoTime) -> Self {
        let counters = ExchangeCounters {
            round_trips: Moments::EMPTY,
            percentiles: [f64::NAN; 3],
            last: now,
            ..ExchangeCounters::default()
        };
        let publisher = ExchangePublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            clock: SystemClock,
            response: vec![0; plan.response_length.max(1)],
            phase: Phase::Idle,
            asked: now,
            moved: now,
            number: 0,
            counters,
            publisher,
            histogram: DelayHistogram::new(),
            plan,
        }
    }

    fn begin(&mut self) {
        self.number = self.number.wrapping_add(1);
        let wall = self.clock.wall();
        self.plan
            .stamp
            .stamp(&mut self.plan.request, self.number, wall);
        self.asked = self.clock.now();
        self.moved = self.asked;
        self.phase = Phase::Sending { at: 0 };
    }

    fn complete(&mut self, now: MonoTime) {
        let round_trip = now.since(self.asked);
        self.publisher.at(now, &self.counters);
        self.histogram
            .record(i64::try_from(round_trip.as_nanos()).unwrap_or(i64::MAX));
        self.counters.round_trips.add(round_trip.as_secs_f64());
        self.counters.received += self.plan.response_length as u64;
        self.counters.last = now;
        self.publisher.extreme(round_trip.as_secs_f64());
        self.publisher.publish(&self.counters);
        self.phase = Phase::Idle;
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        for (slot, percent) in self.counters.percentiles.iter_mut().zip([50.0, 90.0, 99.0]) {
            *slot = self
                .histogram
                .percentile(percent)
                .map_or(f64::NAN, |nanos| nanos as f64 * 1e-9);
        }
        self.publisher.publish(&self.counters);
        self.phase = Phase::Over;
        let _ = self.plan.conn.shutdown_write();
        Step::Finished(Ending::new(cause, at))
    }

    fn failed(&mut self, stage: Stage, error: std::io::Error, now: MonoTime) -> Step {
        if !is_not_ready(&error) {
            return self.finish(Cause::Failed(stage, error), now);
        }
        let silence = now.since(self.moved);
        if silence > self.plan.patience {
            return self.finish(Cause::Vanished(silence), now);
        }
        Step::NotReady
    }
}

impl<S: RequestStamp> TcpWork for Requester<S> {
    fn scratch_length(&self) -> usize {
        0
    }

    fn step(&mut self, now: MonoTime, call: Call, _scratch: &mut [u8]) -> Step {
        if self.plan.stop.is_raised() {
            return self.finish(Cause::Stopped, now);
        }
        // A peer that answers byte by byte has its patience too, once the time is up.
        let overdue = self.plan.deadline.map(|due| now.since(due));
        if let Some(overdue) = overdue.filter(|overdue| *overdue > self.plan.patience) {
            return self.finish(Cause::Vanished(overdue), now);
        }
        if matches!(self.phase, Phase::Idle) {
            let done = self
                .plan
                .requests
                .is_some_and(|n| u64::from(self.number) >= n);
            // However late it is: a test without a single answer says nothing.
            let over = self.plan.deadline.is_some_and(|deadline| now >= deadline);
            if done || over && self.number > 0 {
                return self.finish(Cause::Complete, now);
            }
            self.begin();
        }
        let conn = &self.plan.conn;
        match self.phase {
            Phase::Sending { at } => {
                let rest = &self.plan.request[at..];
                let result = match call {
                    Call::Blocking => conn.send(rest),
                    Call::NonBlocking => conn.send_nonblocking(rest),
                };
                match result {
                    Ok(sent) => {
                        self.counters.sent += sent as u64;
                        self.moved = now;
                        self.phase = if sent == rest.len() {
                            Phase::Receiving { got: 0 }
                        } else {
                            Phase::Sending { at: at + sent }
                        };
                        Step::Progress
                    }
                    Err(error) => self.failed(Stage::Send, error, now),
                }
            }
            Phase::Receiving { got } => {
                let room = &mut self.response[got..];
                let result = match call {
                    Call::Blocking => conn.recv(room),
                    Call::NonBlocking => conn.recv_nonblocking(room),
                };
                match result {
                    Ok(0) => {
                        let error = std::io::ErrorKind::UnexpectedEof.into();
                        self.finish(Cause::Failed(Stage::Receive, error), now)
                    }
                    Ok(received) if got + received == self.response.len() => {
                        self.complete(self.clock.now());
                        Step::Progress
                    }
                    Ok(received) => {
                        self.moved = now;
                        self.phase = Phase::Receiving {
                            got: got + received,
                        };
                        Step::Progress
                    }
                    Err(error) => self.failed(Stage::Receive, error, now),
                }
            }
            Phase::Idle | Phase::Over => Step::Finished(Ending::new(Cause::Complete, now)),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn interest(&self) -> Interest {
        match self.phase {
            Phase::Idle | Phase::Sending { .. } => Interest::WRITE,
            Phase::Receiving { .. } | Phase::Over => Interest::READ,
        }
    }
}

/// Orders for the answering side.
#[derive(Debug)]
pub struct ResponsePlan<R> {
    /// Connection.
    pub conn: Arc<TcpConn>,
    /// Request length, bytes.
    pub request_length: usize,
    /// Room for request and response, bytes.
    pub buffer_length: usize,
    /// Bytes of the first request that were read already.
    pub already: Vec<u8>,
    /// End as vanished when nothing arrives for this long.
    pub patience: Duration,
    /// Cell for the counters: `sent` and `received` only.
    pub cell: Arc<ExchangeCell>,
    /// Flag that ends the test.
    pub stop: Stop,
    /// The protocol's answer.
    pub respond: R,
}

/// Answers every request until the peer closes.
pub struct Responder<R> {
    plan: ResponsePlan<R>,
    clock: SystemClock,
    buffer: Vec<u8>,
    /// Bytes of the request read so far, or of the response sent so far.
    at: usize,
    /// Response length while one is being sent.
    replying: Option<usize>,
    last: MonoTime,
    counters: ExchangeCounters,
    publisher: ExchangePublisher,
}

impl<R: Respond> Responder<R> {
    /// A server half that starts with its first step.
    #[must_use]
    pub fn new(plan: ResponsePlan<R>, now: MonoTime) -> Self {
        let mut buffer = vec![0; plan.buffer_length.max(plan.request_length).max(1)];
        let at = plan.already.len().min(plan.request_length);
        buffer[..at].copy_from_slice(&plan.already[..at]);
        let counters = ExchangeCounters {
            round_trips: Moments::EMPTY,
            percentiles: [f64::NAN; 3],
            received: at as u64,
            last: now,
            ..ExchangeCounters::default()
        };
        Self {
            clock: SystemClock,
            buffer,
            at,
            replying: None,
            last: now,
            counters,
            publisher: ExchangePublisher::new(Arc::clone(&plan.cell)),
            plan,
        }
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        self.publisher.publish(&self.counters);
        let _ = self.plan.conn.shutdown_write();
        Step::Finished(Ending::new(cause, at))
    }

    fn failed(&mut self, stage: Stage, error: std::io::Error, now: MonoTime) -> Step {
        if !is_not_ready(&error) {
            return self.finish(Cause::Failed(stage, error), now);
        }
        let silence = now.since(self.last);
        if silence > self.plan.patience {
            return self.finish(Cause::Vanished(silence), now);
        }
        Step::NotReady
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
        let conn = &self.plan.conn;
        if let Some(length) = self.replying {
            let rest = &self.buffer[self.at..length];
            let result = match call {
                Call::Blocking => conn.send(rest),
                Call::NonBlocking => conn.send_nonblocking(rest),
            };
            return match result {
                Ok(sent) => {
                    self.counters.sent += sent as u64;
                    self.last = now;
                    self.at += sent;
                    if self.at == length {
                        self.replying = None;
                        self.at = 0;
                    }
                    Step::Progress
                }
                Err(error) => self.failed(Stage::Send, error, now),
            };
        }
        if self.at < self.plan.request_length {
            let room = &mut self.buffer[self.at..self.plan.request_length];
            let result = match call {
                Call::Blocking => conn.recv(room),
                Call::NonBlocking => conn.recv_nonblocking(room),
            };
            match result {
                Ok(0) => return self.finish(Cause::Complete, now),
                Ok(received) => {
                    self.last = now;
                    self.at += received;
                    self.counters.received += received as u64;
                }
                Err(error) => return self.failed(Stage::Receive, error, now),
            }
        }
        if self.at == self.plan.request_length {
            self.last = self.clock.now();
            self.publisher.at(self.last, &self.counters);
            self.counters.last = self.last;
            let wall = self.clock.wall();
            match self.plan.respond.respond(&mut self.buffer, wall) {
                Answer::Reply(length) => {
                    self.replying = Some(length.min(self.buffer.len()));
                    self.at = 0;
                }
                Answer::End => return self.finish(Cause::Complete, now),
            }
            self.publisher.publish(&self.counters);
        }
        Step::Progress
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn interest(&self) -> Interest {
        if self.replying.is_some() {
            Interest::WRITE
        } else {
            Interest::READ
        }
    }
}
