//! The client's half of request and response: ask, wait for the answer, ask again.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime};
use tapeline_stats::{DelayHistogram, Moments, PUBLISHED_PERCENTILES};
use tapeline_sys::{Interest, SystemClock, TcpConn};

use crate::counters::{RequestResponseCell, RequestResponseCounters, RequestResponsePublisher};
use crate::histogram::HistogramRecorder;
use crate::pacing::YieldSpin;
use crate::stop::Stop;
use crate::work::{Call, Cause, Ending, FailedOperation, Step, TcpWork, is_not_ready};

/// When the server had a request, and when it answered, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTimes {
    /// It had read the request.
    pub received: WallTime,
    /// It sent the response.
    pub sent: WallTime,
}

/// Prepares requests and reads the times in responses; supplied by the protocol.
pub trait RequestStamp: Send {
    /// Stamps the request with its number and the time. Requests back to back are numbered
    /// from 1; those of a burst share the number of its slot, from 1.
    fn stamp(&mut self, request: &mut [u8], number: u32, wall: WallTime);

    /// Whether these bytes begin as a response does. They do not where the server's responses
    /// are of another size than asked for.
    fn is_response(&self, response: &[u8]) -> bool;

    /// The server's times in a response, where it has any.
    fn server_times(&self, response: &[u8]) -> Option<ServerTimes>;
}

/// So many requests at each tick of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestBurst {
    /// Requests of a burst, at least 1.
    pub requests: u32,
    /// Time from one burst to the next, above 0.
    pub period: Duration,
}

/// Histograms of a requester, nanoseconds.
#[derive(Debug, Default)]
pub struct RequestResponseHistograms {
    /// Round trips.
    pub round_trips: Option<HistogramRecorder>,
    /// One-way delays to the server.
    pub transmit: Option<HistogramRecorder>,
    /// One-way delays from the server.
    pub receive: Option<HistogramRecorder>,
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
    /// Bursts; `None` asks back to back.
    pub burst: Option<RequestBurst>,
    /// Acknowledge responses at once.
    pub quickack: bool,
    /// Look for a response, yielding in between, for about as long as responses take before
    /// sleeping; only where a worker serves this flow alone and requests are back to back.
    pub yield_spin: bool,
    /// The clocks agree: one-way delays are counted.
    pub one_way: bool,
    /// Stop asking at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many requests.
    pub requests: Option<u64>,
    /// End as vanished when a response takes longer than this.
    pub idle_timeout: Duration,
    /// Cell for the counters.
    pub cell: Arc<RequestResponseCell>,
    /// Histograms to be filled.
    pub histograms: RequestResponseHistograms,
    /// Flag that ends the test.
    pub stop: Stop,
    /// The protocol's stamp.
    pub stamp: S,
}

const OTHER_SIZE: &str = "the server's responses are not of the size asked for: servers before \
                          2.2 answer in the size of the request";

/// Both clocks are read so long apart only by a thread that lost its processor in between.
const HELD_UP: Duration = Duration::from_micros(50);
/// How often a request is stamped by such a thread.
const STAMP_TRIES: usize = 3;

enum Phase {
    Idle,
    Sending { at: usize },
    Receiving { got: usize },
    Over,
}

/// When the next request is due.
enum Due {
    Now,
    At(MonoTime),
    Never,
}

/// Asks, waits for the answer, asks again.
pub struct Requester<S> {
    plan: RequestPlan<S>,
    clock: SystemClock,
    response: Vec<u8>,
    phase: Phase,
    start: MonoTime,
    /// Requests begun.
    begun: u64,
    /// Slot of the running burst, from 0, and its requests begun.
    slot: u64,
    in_slot: u32,
    /// When the running request was handed over.
    asked: MonoTime,
    /// Its stamp, read at `stamped` or later, never before.
    asked_wall: WallTime,
    stamped: MonoTime,
    /// When bytes moved last.
    moved: MonoTime,
    counters: RequestResponseCounters,
    publisher: RequestResponsePublisher,
    delays: DelayHistogram,
    /// How responses are waited for, unless by sleeping at once.
    spin: Option<YieldSpin>,
}

impl<S: RequestStamp> Requester<S> {
    /// A client that asks for the first time at `start`.
    #[must_use]
    pub fn new(plan: RequestPlan<S>, start: MonoTime) -> Self {
        let counters = RequestResponseCounters {
            round_trips: Moments::EMPTY,
            percentiles: [f64::NAN; 5],
            last: start,
            ..RequestResponseCounters::default()
        };
        let publisher = RequestResponsePublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            clock: SystemClock,
            response: vec![0; plan.response_length.max(1)],
            phase: Phase::Idle,
            start,
            begun: 0,
            slot: 0,
            in_slot: 0,
            asked: start,
            asked_wall: WallTime::from_nanos(0),
            stamped: start,
            moved: start,
            counters,
            publisher,
            delays: DelayHistogram::with_room(),
            spin: (plan.yield_spin && plan.burst.is_none()).then(YieldSpin::new),
            plan,
        }
    }

    /// When the next request may leave, by the clock alone.
    fn tick(&mut self, now: MonoTime) -> MonoTime {
        let Some(burst) = self.plan.burst else {
            return self.start;
        };
        if self.in_slot >= burst.requests.max(1) {
            // A burst that outlasts its period skips the ticks it missed.
            let period = burst.period.as_nanos().max(1);
            let passed = now.since(self.start).as_nanos().div_ceil(period);
            let next = u64::try_from(passed).unwrap_or(u64::MAX);
            self.slot = next.max(self.slot + 1);
            self.in_slot = 0;
        }
        let nanos = burst
            .period
            .as_nanos()
            .saturating_mul(u128::from(self.slot));
        self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn due(&mut self, now: MonoTime) -> Due {
        if self.plan.requests.is_some_and(|max| self.begun >= max) {
            return Due::Never;
        }
        let tick = self.tick(now);
        // However late it is: a test without a single answer says nothing.
        if self.begun > 0
            && let Some(deadline) = self.plan.deadline
            && tick.max(now) >= deadline
        {
            return if now >= deadline {
                Due::Never
            } else {
                // The test lasts until its time is over, also when nothing more is due.
                Due::At(deadline)
            };
        }
        if now < tick { Due::At(tick) } else { Due::Now }
    }

    fn begin(&mut self) {
        self.begun += 1;
        self.in_slot = self.in_slot.saturating_add(1);
        let number = match self.plan.burst {
            Some(_) => self.slot + 1,
            None => self.begun,
        };
        for _ in 0..STAMP_TRIES {
            self.stamped = self.clock.now();
            self.asked_wall = self.clock.wall();
            self.plan
                .stamp
                .stamp(&mut self.plan.request, number as u32, self.asked_wall);
            self.asked = self.clock.now();
            if self.asked.since(self.stamped) < HELD_UP {
                break;
            }
        }
        self.moved = self.asked;
        self.phase = Phase::Sending { at: 0 };
    }

    fn complete(&mut self) {
        let now = self.clock.now();
        let round_trip = now.since(self.asked);
        // By the steady clock, so that no step of the other one is in any delay; from before the
        // stamp was read, so that a thread that is held up behind it makes no delay negative.
        let wall = self.asked_wall + now.since(self.stamped);
        self.mark(now);
        if let Some(spin) = &mut self.spin {
            spin.learn(round_trip);
        }
        let nanos = i64::try_from(round_trip.as_nanos()).unwrap_or(i64::MAX);
        self.delays.record(nanos);
        if let Some(histogram) = &mut self.plan.histograms.round_trips {
            histogram.record(nanos, now, wall);
        }
        self.counters.round_trips.add(round_trip.as_secs_f64());
        if self.plan.one_way {
            self.one_way(now, wall);
        }
        self.counters.received += self.plan.response_length as u64;
        self.counters.last = now;
        self.publisher.extreme(round_trip.as_secs_f64());
        self.publisher.publish(&self.counters);
        self.phase = Phase::Idle;
    }

    /// Ends the intervals that are over by `now`, before something of it is counted.
    fn mark(&mut self, now: MonoTime) {
        if self.publisher.is_behind_boundary(now) {
            self.publisher.at(now, &self.counters);
            self.counters.one_way.restart();
        }
    }

    fn one_way(&mut self, now: MonoTime, wall: WallTime) {
        let Some(server) = self.plan.stamp.server_times(&self.response) else {
            return;
        };
        let transmit = server.received.nanos_since(self.asked_wall);
        let receive = wall.nanos_since(server.sent);
        self.counters.one_way.add(transmit, receive);
        let histograms = &mut self.plan.histograms;
        if let Some(histogram) = &mut histograms.transmit {
            histogram.record(transmit, now, wall);
        }
        if let Some(histogram) = &mut histograms.receive {
            histogram.record(receive, now, wall);
        }
    }

    /// The server answers, but not in the size asked for.
    fn misfit(&mut self, now: MonoTime) -> Step {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidData, OTHER_SIZE);
        self.finish(Cause::Failed(FailedOperation::Receive, error), now)
    }

    fn finish(&mut self, cause: Cause, at: MonoTime) -> Step {
        self.counters.percentiles = PUBLISHED_PERCENTILES.map(|percent| {
            let nanos = self.delays.percentile(percent);
            nanos.map_or(f64::NAN, |nanos| nanos as f64 * 1e-9)
        });
        if let (Phase::Receiving { got }, Cause::Failed(..)) = (&self.phase, &cause) {
            self.counters.received += *got as u64;
        }
        self.publisher.publish(&self.counters);
        self.phase = Phase::Over;
        let _ = self.plan.conn.shutdown_write();
        Step::Finished(Ending::new(cause, at))
    }

    fn failed(&mut self, operation: FailedOperation, error: std::io::Error, now: MonoTime) -> Step {
        if !is_not_ready(&error) {
            return self.finish(Cause::Failed(operation, error), now);
        }
        let silence = now.since(self.moved);
        if silence > self.plan.idle_timeout {
            return match self.phase {
                // As much as a request, and no more.
                Phase::Receiving { got } if got == self.plan.request.len() => self.misfit(now),
                _ => self.finish(Cause::Vanished(silence), now),
            };
        }
        Step::NotReady
    }

    fn send(&mut self, at: usize, now: MonoTime, call: Call) -> Step {
        let conn = &self.plan.conn;
        let rest = &self.plan.request[at..];
        let left = rest.len();
        let result = match call {
            Call::Blocking => conn.send(rest),
            Call::NonBlocking => conn.send_nonblocking(rest),
        };
        match result {
            Ok(sent) => {
                self.mark(now);
                self.counters.sent += sent as u64;
                self.moved = now;
                if sent < left {
                    self.phase = Phase::Sending { at: at + sent };
                    return Step::Progress;
                }
                self.phase = Phase::Receiving { got: 0 };
                // The next request carries the acknowledgement where it leaves at once.
                if self.plan.quickack && self.plan.burst.is_some() {
                    // Every segment sent turns delayed acknowledgements on again.
                    let _ = self.plan.conn.set_quickack(true);
                }
                Step::Progress
            }
            Err(error) => self.failed(FailedOperation::Send, error, now),
        }
    }

    fn receive(&mut self, got: usize, now: MonoTime, call: Call) -> Step {
        let conn = &self.plan.conn;
        let room = &mut self.response[got..];
        let result = match (call, &self.spin) {
            (Call::Blocking, Some(spin)) => match spin.receive(conn, room, self.asked) {
                Err(error) if is_not_ready(&error) => conn.recv(room),
                done => done,
            },
            (Call::Blocking, None) => conn.recv(room),
            (Call::NonBlocking, _) => conn.recv_nonblocking(room),
        };
        match result {
            Ok(0) => {
                let error = std::io::ErrorKind::UnexpectedEof.into();
                self.finish(Cause::Failed(FailedOperation::Receive, error), now)
            }
            Ok(received) => {
                self.moved = now;
                let got = got + received;
                if got < self.response.len() {
                    self.phase = Phase::Receiving { got };
                } else if self.plan.stamp.is_response(&self.response) {
                    self.complete();
                } else {
                    return self.misfit(now);
                }
                Step::Progress
            }
            Err(error) => self.failed(FailedOperation::Receive, error, now),
        }
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
        // A peer that answers byte by byte has its timeout too, once the time is up.
        let overdue = self.plan.deadline.map(|due| now.since(due));
        if let Some(overdue) = overdue.filter(|overdue| *overdue > self.plan.idle_timeout) {
            return self.finish(Cause::Vanished(overdue), now);
        }
        if matches!(self.phase, Phase::Idle) {
            match self.due(now) {
                Due::Now => self.begin(),
                Due::At(due) => return Step::NotBefore(due),
                Due::Never => return self.finish(Cause::Complete, now),
            }
        }
        match self.phase {
            Phase::Sending { at } => self.send(at, now, call),
            Phase::Receiving { got } => self.receive(got, now, call),
            Phase::Idle | Phase::Over => Step::Finished(Ending::new(Cause::Complete, now)),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn next_look(&self) -> MonoTime {
        let overdue = self.plan.deadline.map(|due| due + self.plan.idle_timeout);
        let silent = self.moved + self.plan.idle_timeout;
        overdue.unwrap_or(MonoTime::FAR).min(silent) + Duration::from_nanos(1)
    }

    fn interest(&self) -> Interest {
        match self.phase {
            Phase::Idle | Phase::Sending { .. } => Interest::WRITE,
            Phase::Receiving { .. } | Phase::Over => Interest::READ,
        }
    }
}
