//! Sending a byte stream: fill, end, and wait for the peer to have read it all.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime, whole_nanos};
use tapeline_sys::{Interest, SystemClock, TcpConn, Wait};

use super::content::{BurstStart, Prepared, StreamContent};
use super::drain::{Drain, Drained};
use crate::counters::{DelayCounters, DelayPublisher, SendCell, SendCounters, SendPublisher};
use crate::histogram::HistogramRecorder;
use crate::pacing::{KernelPacing, Timing};
use crate::stop::Stop;
use crate::work::{
    Call, Cause, Ending, FailedOperation, REST, SEND_LIMIT, Step, TcpWork, has_closed, is_not_ready,
};

/// A window that the sender keeps by itself, whatever the kernel's buffers hold: it writes only
/// while fewer bytes are unacknowledged.
///
/// Exact in bytes where the system reports what is unacknowledged; elsewhere nothing is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldWindow {
    /// Most bytes that are written and not acknowledged.
    pub bytes: u32,
    /// Time between two looks at a full window.
    pub poll: Duration,
}

impl HeldWindow {
    /// A window on a path of this round trip: a full one is looked at 16 times in it, but not
    /// more often than every 0.1 ms and not more rarely than every millisecond.
    #[must_use]
    pub fn new(bytes: u32, round_trip: Duration) -> Self {
        let poll = (round_trip / 16).clamp(Duration::from_micros(100), Duration::from_millis(1));
        Self { bytes, poll }
    }

    /// Bytes that may be written now; `None` when the system does not report what is outstanding.
    fn room(self, conn: &TcpConn) -> Option<u64> {
        let outstanding = conn.unacknowledged_bytes()?;
        Some(u64::from(self.bytes).saturating_sub(outstanding))
    }
}

/// What a TCP sender does at the end of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// Close the sending direction, then discard what arrives until the peer closes,
    /// at most this long.
    ShutdownAndDrain(Duration),
    /// The same, but the flow counts as ended when its last byte was written. A connection that
    /// were closed then could lose what it has not delivered.
    ShutdownUncounted(Duration),
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
    /// What is sent.
    pub content: StreamContent,
    /// Longest write, bytes: a block.
    pub block: usize,
    /// Stop sending at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many bytes, `already` included.
    pub bytes: Option<u64>,
    /// Bytes that leave before this time are none of those.
    pub bytes_from: MonoTime,
    /// Bytes that were sent before (the test header); they count, and as a write.
    pub already: u64,
    /// When blocks or bursts are due.
    pub timing: Timing,
    /// Before a burst, wait until the kernel has room: a stamp then says when the burst could
    /// leave (use with `TCP_NOTSENT_LOWAT`).
    pub wait_for_room: bool,
    /// The window that the sender keeps.
    pub window: Option<HeldWindow>,
    /// The kernel's own pacing.
    pub pacing: Option<KernelPacing>,
    /// Where durations of writes go.
    pub write_times: Option<WriteTimes>,
    /// Where the lateness of clocked bursts goes.
    pub schedule_errors: Option<DelayPublisher>,
    /// What follows the data.
    pub end: SendEnd,
    /// End as vanished when nothing moves for this long.
    pub idle_timeout: Duration,
    /// Cell for the counters.
    pub cell: Arc<SendCell>,
    /// Flag that ends the data.
    pub stop: Stop,
    /// Called with what the peer has sent by the time the sender waits for its end.
    pub answer: Option<AnswerSink>,
}

/// Takes bytes that the peer of a sender has sent.
pub struct AnswerSink(Take);

type Take = Box<dyn FnMut(&[u8]) + Send>;

impl AnswerSink {
    /// Hands them to `take`.
    #[must_use]
    pub fn new(take: impl FnMut(&[u8]) + Send + 'static) -> Self {
        Self(Box::new(take))
    }
}

impl std::fmt::Debug for AnswerSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AnswerSink")
    }
}

/// Time without any movement after which a peer counts as gone, where nothing else is said.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(10);

impl TcpSendPlan {
    /// Sends `content` in writes of `block` bytes, as fast as the connection takes them and
    /// until asked to stop, then closes the sending direction.
    #[must_use]
    pub fn new(
        conn: Arc<TcpConn>,
        content: StreamContent,
        block: usize,
        cell: Arc<SendCell>,
        stop: Stop,
    ) -> Self {
        Self {
            conn,
            content,
            block,
            deadline: None,
            bytes: None,
            bytes_from: MonoTime::ZERO,
            already: 0,
            timing: Timing::Free,
            wait_for_room: false,
            window: None,
            pacing: None,
            write_times: None,
            schedule_errors: None,
            end: SendEnd::Shutdown,
            idle_timeout: STALL_TIMEOUT,
            cell,
            stop,
            answer: None,
        }
    }
}

/// Time until input that was not there is looked for again.
const INPUT_PAUSE: Duration = Duration::from_millis(1);

enum Phase {
    Sending,
    /// The data is out.
    Draining(Drain),
    Over,
}

/// Sends blocks until a limit, then ends the stream in order.
pub struct TcpSender {
    plan: TcpSendPlan,
    counters: SendCounters,
    publisher: SendPublisher,
    start: MonoTime,
    /// Bytes before `bytes_from`, once that has passed.
    uncounted: Option<u64>,
    write: Write,
    burst: Burst,
    /// Since when input is awaited.
    awaiting: Option<MonoTime>,
    /// A write was tried: a flow that begins after its deadline, on a busy machine, has one.
    tried: bool,
    phase: Phase,
}

/// The write under way.
#[derive(Clone, Copy, Debug)]
struct Write {
    began: MonoTime,
    /// Bytes that are out.
    offset: usize,
    /// All of them; 0 between two writes.
    length: usize,
}

/// The burst under way.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    id: u64,
    /// Bytes that no write has taken yet.
    left: u64,
    /// Its stamp, until that is written.
    stamp: Option<BurstStart>,
}

/// Whether a write can go on.
enum Readiness {
    Ready,
    Wait(Step),
}

impl TcpSender {
    /// A sender whose first block leaves at `start`.
    #[must_use]
    pub fn new(plan: TcpSendPlan, start: MonoTime) -> Self {
        if let Some(pacing) = &plan.pacing {
            pacing.apply(&plan.conn);
        }
        let counters = SendCounters {
            bytes: plan.already,
            writes: u64::from(plan.already > 0),
            pacing_rate: plan.pacing.map_or(0, |pacing| pacing.rate()),
            last: start,
            ..SendCounters::default()
        };
        let publisher = SendPublisher::new(Arc::clone(&plan.cell));
        publisher.publish(&counters);
        Self {
            plan,
            counters,
            publisher,
            start,
            uncounted: None,
            write: Write {
                began: start,
                offset: 0,
                length: 0,
            },
            burst: Burst::default(),
            awaiting: None,
            tried: false,
            phase: Phase::Sending,
        }
    }

    fn send(&mut self, now: MonoTime, call: Call) -> Step {
        let plan = &self.plan;
        if plan.stop.is_raised() {
            return self.end_data(now, Cause::Stopped);
        }
        if self.tried && plan.deadline.is_some_and(|deadline| now >= deadline) {
            return self.end_data(now, Cause::Complete);
        }
        if now < self.start {
            if has_closed(&plan.conn) {
                return self.finish(Cause::Vanished(now.since(self.counters.last)), now);
            }
            return Step::NotBefore(self.start.min(now + REST));
        }
        self.tried = true;
        let left = self.left(now);
        if left == 0 {
            return self.end_data(now, Cause::Complete);
        }
        if let Some(pacing) = &mut self.plan.pacing
            && pacing.advance(now)
        {
            pacing.apply(&self.plan.conn);
            self.counters.pacing_rate = pacing.rate();
        }
        if self.write.length == 0
            && let Readiness::Wait(step) = self.begin_write(now, left, call)
        {
            return step;
        }
        let Write { offset, length, .. } = self.write;
        match self
            .plan
            .content
            .send(&self.plan.conn, call, offset, length)
        {
            Ok(sent) => {
                self.record(sent, SystemClock.now());
                if offset + sent < length {
                    Step::Partial
                } else {
                    Step::Progress
                }
            }
            Err(error) if is_not_ready(&error) => self.not_ready(now),
            Err(error) => self.end_data(now, Cause::Failed(FailedOperation::Send, error)),
        }
    }

    /// Bytes until the end of the data.
    fn left(&mut self, now: MonoTime) -> u64 {
        let Some(bytes) = self.plan.bytes else {
            return u64::MAX;
        };
        if now < self.plan.bytes_from {
            return u64::MAX;
        }
        let sent = self.counters.bytes;
        let uncounted = *self.uncounted.get_or_insert(match self.plan.bytes_from {
            MonoTime::ZERO => 0,
            _ => sent,
        });
        bytes.saturating_sub(sent - uncounted)
    }

    /// Prepares the next write, when it is due, of at most `left` bytes.
    fn begin_write(&mut self, now: MonoTime, left: u64, call: Call) -> Readiness {
        if self.burst.left == 0 {
            if let Some(step) = self.wait_for_turn(now, call) {
                return Readiness::Wait(step);
            }
            // Waiting for room may have taken its time.
            let now = if self.plan.wait_for_room {
                SystemClock.now()
            } else {
                now
            };
            self.begin_burst(left, now);
        }
        if let Some(stamp) = &mut self.burst.stamp {
            stamp.wall = SystemClock.wall();
        }
        let mut want = self.burst.left.min(self.plan.block as u64) as usize;
        if let Some(window) = self.plan.window
            && let Some(room) = window.room(&self.plan.conn)
        {
            if room == 0 {
                return Readiness::Wait(self.window_full(window, now));
            }
            want = want.min(usize::try_from(room).unwrap_or(usize::MAX));
        }
        match self.plan.content.prepare(want, self.burst.stamp.as_ref()) {
            Prepared::Bytes(length) => {
                self.count_awaited(now);
                self.awaiting = None;
                self.burst.stamp = None;
                self.burst.left -= length as u64;
                if length < want && self.plan.timing.clock().is_none() {
                    // A block that input did not fill.
                    self.burst.left = 0;
                }
                // Only a duration needs the very beginning.
                let began = match self.plan.write_times {
                    Some(_) => SystemClock.now(),
                    None => now,
                };
                self.write = Write {
                    began,
                    offset: 0,
                    length,
                };
                Readiness::Ready
            }
            Prepared::Pending => {
                self.count_awaited(now);
                self.awaiting = Some(now);
                Readiness::Wait(Step::NotBefore(now + INPUT_PAUSE))
            }
            Prepared::End => {
                let cause = match self.plan.content.take_failure() {
                    Some(error) => Cause::Failed(FailedOperation::Content, error),
                    None => Cause::Complete,
                };
                Readiness::Wait(self.end_data(now, cause))
            }
        }
    }

    /// Counts the wait for input up to now, if there was one.
    fn count_awaited(&mut self, now: MonoTime) {
        if let Some(since) = self.awaiting {
            self.counters.input_awaited += whole_nanos(now.since(since));
        }
    }

    /// What to do while the window is full: look again, unless nothing was acknowledged for long.
    fn window_full(&mut self, window: HeldWindow, now: MonoTime) -> Step {
        match self.not_ready(now) {
            Step::NotReady => {
                let until = self.plan.deadline.unwrap_or(MonoTime::FAR);
                Step::NotBefore((now + window.poll).min(until))
            }
            over => over,
        }
    }

    /// What to do while no burst may begin; `None` when one may.
    fn wait_for_turn(&mut self, now: MonoTime, call: Call) -> Option<Step> {
        let plan = &self.plan;
        if let Some(due) = plan.timing.due(now)
            && due > now
        {
            // Neither steps of the pacing nor the end of the test are slept over.
            let other = plan.pacing.map_or(MonoTime::FAR, |pacing| pacing.next());
            let until = plan.deadline.unwrap_or(MonoTime::FAR).min(other);
            return Some(Step::NotBefore(due.min(until)));
        }
        if plan.wait_for_room {
            let wait = match call {
                Call::Blocking => Wait::AtMost(SEND_LIMIT),
                Call::NonBlocking => Wait::AtMost(Duration::ZERO),
            };
            if let Ok(false) = plan.conn.wait_ready(Interest::WRITE, wait) {
                return Some(self.not_ready(now));
            }
        }
        None
    }

    /// Begins a burst of at most `left` bytes, but never less than a stamp.
    fn begin_burst(&mut self, left: u64, now: MonoTime) {
        let plan = &mut self.plan;
        let stamp = plan.content.stamp_length();
        let (slot, size) = plan.timing.begin(now, plan.block);
        if let (Some(publisher), Some(clock)) = (&mut plan.schedule_errors, plan.timing.clock()) {
            let delays = *clock.errors();
            publisher.publish(&DelayCounters { delays });
        }
        let size = size.min(left).max(stamp as u64).max(1);
        let id = slot.unwrap_or(self.burst.id + 1);
        self.burst = Burst {
            id,
            left: size,
            stamp: (stamp > 0).then(|| BurstStart {
                id,
                size: u32::try_from(size).unwrap_or(u32::MAX),
                end: self.counters.bytes + size,
                wall: WallTime::default(),
            }),
        };
    }

    fn not_ready(&mut self, now: MonoTime) -> Step {
        let silence = now.since(self.counters.last);
        if silence > self.plan.idle_timeout {
            return self.finish(Cause::Vanished(silence), self.counters.last);
        }
        Step::NotReady
    }

    /// Counts what a call that returned at `now` sent.
    fn record(&mut self, sent: usize, now: MonoTime) {
        self.publisher.at(now, &self.counters);
        self.counters.bytes += sent as u64;
        self.counters.last = now;
        self.write.offset += sent;
        if self.write.offset >= self.write.length {
            self.write.length = 0;
            self.counters.writes += 1;
            if let Some(times) = &mut self.plan.write_times {
                times.record(self.write.began, now);
            }
            if self.burst.left == 0 {
                self.plan.timing.sent(now, &self.plan.conn);
            }
            self.counters.frames = self.plan.timing.frames();
        }
        self.publisher.publish(&self.counters);
    }

    fn end_data(&mut self, now: MonoTime, cause: Cause) -> Step {
        let failed = matches!(cause, Cause::Failed(..));
        let drain = match self.plan.end {
            SendEnd::Leave => return self.finish(cause, now),
            SendEnd::Shutdown => Duration::ZERO,
            SendEnd::ShutdownAndDrain(limit) | SendEnd::ShutdownUncounted(limit) => limit,
        };
        // A peer that has closed both ways already leaves nothing to close.
        if let Err(error) = self.plan.conn.shutdown_write()
            && !failed
            && error.kind() != std::io::ErrorKind::NotConnected
        {
            return self.finish(Cause::Failed(FailedOperation::Shutdown, error), now);
        }
        if failed || drain.is_zero() {
            return self.finish(cause, now);
        }
        // A peer that has stopped reading before is not waited for anew.
        let moved = match self.write.length {
            0 => now,
            _ => self.counters.last,
        };
        let acked = self.plan.conn.tcp_info().and_then(|info| info.bytes_acked);
        self.phase = Phase::Draining(Drain::new(now, drain, cause).unmoved_since(moved, acked));
        Step::Progress
    }

    fn drain(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step {
        let Phase::Draining(drain) = &mut self.phase else {
            return self.finish(Cause::Complete, now);
        };
        match drain.step(&self.plan.conn, &self.plan.stop, now, call, scratch) {
            Drained::NotReady => Step::NotReady,
            Drained::Received(count) => {
                if let Some(AnswerSink(take)) = &mut self.plan.answer {
                    take(&scratch[..count]);
                }
                Step::Progress
            }
            Drained::Over(at) => self.drained(at),
        }
    }

    fn drained(&mut self, at: MonoTime) -> Step {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Draining(drain) => {
                let at = match self.plan.end {
                    SendEnd::ShutdownUncounted(_) => drain.since(),
                    _ => at,
                };
                self.finish(drain.into_cause(), at)
            }
            Phase::Sending | Phase::Over => self.finish(Cause::Complete, at),
        }
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
            Phase::Draining(_) => self.drain(now, call, scratch),
            Phase::Over => Step::Finished(Ending::new(Cause::Complete, now)),
        }
    }

    fn conn(&self) -> &TcpConn {
        &self.plan.conn
    }

    fn next_look(&self) -> MonoTime {
        match &self.phase {
            Phase::Sending => {
                let plan = &self.plan;
                let pacing = plan.pacing.map_or(MonoTime::FAR, |pacing| pacing.next());
                // Just behind it: the timeout is over when more than that has passed.
                let vanished = self.counters.last + plan.idle_timeout + Duration::from_nanos(1);
                plan.deadline
                    .unwrap_or(MonoTime::FAR)
                    .min(pacing)
                    .min(vanished)
            }
            Phase::Draining(drain) => drain.next_look(),
            Phase::Over => MonoTime::FAR,
        }
    }

    fn interest(&self) -> Interest {
        match self.phase {
            Phase::Sending => Interest::WRITE,
            Phase::Draining(_) | Phase::Over => Interest::READ,
        }
    }
}

/// Measures how long writes take.
#[derive(Debug)]
pub struct WriteTimes {
    /// Receives mean and extremes.
    pub publisher: DelayPublisher,
    /// Receives every duration.
    pub histogram: Option<HistogramRecorder>,
    counters: DelayCounters,
}

impl WriteTimes {
    /// Durations for these.
    #[must_use]
    pub fn new(publisher: DelayPublisher, histogram: Option<HistogramRecorder>) -> Self {
        Self {
            publisher,
            histogram,
            counters: DelayCounters::default(),
        }
    }

    /// A write began and ended at these times.
    #[inline]
    pub(crate) fn record(&mut self, began: MonoTime, now: MonoTime) {
        let took = now.since(began);
        let seconds = took.as_secs_f64();
        self.publisher.at(now, &self.counters);
        self.publisher.extreme(seconds);
        self.counters.delays.add(seconds);
        self.publisher.publish(&self.counters);
        if let Some(histogram) = &mut self.histogram {
            let nanos = i64::try_from(took.as_nanos()).unwrap_or(i64::MAX);
            histogram.record_untimed(nanos, now);
        }
    }
}
