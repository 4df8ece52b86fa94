//! Sending datagrams under L4S congestion control.
//!
//! One thread sends and reads the acknowledgements: window and rate change with each of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, Tos, WallTime};
use tapeline_sys::{Interest, SystemClock, ThreadTime, UdpSocket, Wait, set_timer_slack_minimal};

use super::prague::{L4sFeedback, L4sMark, Prague};
use super::traffic::FramePart;
use crate::counters::{SendCell, SendCounters, SendPublisher};
use crate::pacing::{Frame, FrameClock, FrameSizes, Pacer, Precision};
use crate::stop::Stop;
use crate::work::{Cause, Ending, FailedOperation, ThreadUse, is_not_ready};

/// Most that leaves ahead of the rate: a burst of so long.
const BURST: Duration = Duration::from_micros(250);
/// Wait from which on acknowledgements are listened for rather than the clock watched.
const LISTEN: Duration = Duration::from_micros(1500);
/// Longest wait between two looks at the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Acknowledgements read between two datagrams at the most.
const MAX_ACKS: usize = 64;
/// Largest acknowledgement.
const ACK_ROOM: usize = 128;
/// ECN bits of the type of service.
const ECN: u8 = 3;
/// ECT(1).
const ECT1: u8 = 1;

/// What the protocol writes into datagrams and reads from acknowledgements.
pub trait L4sProtocol: Send {
    /// Stamps a datagram: its number in the flow, the number for the congestion control
    /// (from 1, modulo 2^32), both clocks.
    fn stamp(
        &mut self,
        datagram: &mut [u8],
        sequence: u64,
        count: u32,
        wall: WallTime,
        now: MonoTime,
    );
    /// Writes a datagram's place in its frame.
    fn frame(&mut self, datagram: &mut [u8], part: &FramePart);
    /// Reads what arrived; `None` for anything but an acknowledgement.
    fn read(&mut self, datagram: &[u8], now: MonoTime) -> Option<L4sFeedback>;
}

/// Orders for an L4S sender.
#[derive(Debug)]
pub struct L4sSendPlan<P> {
    /// Connected socket.
    pub socket: Arc<UdpSocket>,
    /// Content of a datagram before it is stamped; its length is the longest datagram's.
    pub template: Vec<u8>,
    /// No datagram is shorter, bytes.
    pub shortest: usize,
    /// Type of service; its ECN bits are this sender's own affair.
    pub tos: Tos,
    /// Number of the first datagram.
    pub first_sequence: u64,
    /// When the first datagram is due.
    pub start: MonoTime,
    /// Stop at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many bytes.
    pub bytes: Option<u64>,
    /// Most bytes per second; `None` is what the network gives.
    pub fastest: Option<f64>,
    /// Data comes in frames, which are no larger than the rate of the moment allows.
    pub frames: Option<(FrameClock, FrameSizes)>,
    /// Cell for the counters.
    pub cell: Arc<SendCell>,
    /// Flag that ends the data.
    pub stop: Stop,
    /// The protocol's part.
    pub protocol: P,
}

/// How an L4S sender ended.
#[derive(Debug)]
pub struct L4sSendEnd {
    /// Why and when.
    pub ending: Ending,
    /// Final counters.
    pub counters: SendCounters,
    /// Number that the next datagram would have.
    pub next_sequence: u64,
    /// What the receiver reported last.
    pub feedback: L4sFeedback,
    /// ECN bits in the end.
    pub mark: L4sMark,
    /// The clock of the frames, with what it counted.
    pub frames: Option<FrameClock>,
}

struct Sender<P> {
    plan: L4sSendPlan<P>,
    clock: SystemClock,
    controller: Prague,
    counters: SendCounters,
    publisher: SendPublisher,
    sequence: u64,
    /// Datagrams sent, modulo 2^32.
    sent: u32,
    mark: L4sMark,
    feedback: L4sFeedback,
    /// Data is due up to here, within a burst.
    next_send: MonoTime,
    /// The frame that is being sent.
    running: Option<FramePart>,
    /// Datagrams on the way that count as lost until an acknowledgement says otherwise.
    forgotten: u32,
}

/// Sends on the calling thread until the end of the data.
///
/// Before, the socket must not wait in sends for long.
pub fn run_l4s_sender<P: L4sProtocol>(plan: L4sSendPlan<P>) -> L4sSendEnd {
    set_timer_slack_minimal();
    let before = ThreadTime::now();
    let mut sender = Sender::new(plan);
    let cause = sender.run();
    let mut ending = Ending::new(cause, sender.clock.now());
    ending.thread = Some(ThreadUse::alone_since(&before));
    sender.publisher.publish(&sender.counters);
    L4sSendEnd {
        ending,
        counters: sender.counters,
        next_sequence: sender.sequence,
        feedback: sender.feedback,
        mark: sender.mark,
        frames: sender.plan.frames.map(|(clock, _)| clock),
    }
}

impl<P: L4sProtocol> Sender<P> {
    fn new(plan: L4sSendPlan<P>) -> Self {
        let longest = u32::try_from(plan.template.len()).unwrap_or(u32::MAX);
        Self {
            clock: SystemClock,
            controller: Prague::new(longest, plan.fastest, plan.start),
            counters: SendCounters {
                last: plan.start,
                ..SendCounters::default()
            },
            publisher: SendPublisher::new(Arc::clone(&plan.cell)),
            sequence: plan.first_sequence,
            sent: 0,
            mark: L4sMark::Ect1,
            feedback: L4sFeedback::default(),
            next_send: plan.start,
            running: None,
            forgotten: 0,
            plan,
        }
    }

    fn run(&mut self) -> Cause {
        let mut pacer = Pacer::new(Precision::Precise);
        if pacer.wait(self.plan.start, &self.plan.stop).is_none() {
            return Cause::Stopped;
        }
        self.set_mark(L4sMark::Ect1);
        loop {
            if self.plan.stop.is_raised() {
                return Cause::Stopped;
            }
            self.listen();
            let now = self.clock.now();
            let tried = self.counters.writes + self.counters.errors > 0;
            if tried && self.plan.deadline.is_some_and(|deadline| now >= deadline) {
                return Cause::Complete;
            }
            let left = self
                .plan
                .bytes
                .map_or(u64::MAX, |bytes| bytes.saturating_sub(self.counters.bytes));
            if left == 0 {
                return Cause::Complete;
            }
            if self.in_flight() >= self.controller.window_packets() {
                self.wait_for_window(now);
                continue;
            }
            let due = self.due(now);
            if due > now {
                self.wait_until(due, now, &mut pacer);
                continue;
            }
            if let Some(cause) = self.send(now, left) {
                return cause;
            }
        }
    }

    fn in_flight(&self) -> u32 {
        let flight = self.controller.in_flight(self.sent);
        flight.saturating_sub(self.forgotten)
    }

    /// When the next datagram may leave.
    fn due(&self, now: MonoTime) -> MonoTime {
        match (&self.plan.frames, &self.running) {
            (Some((clock, _)), None) => clock.next(now).due,
            _ => self.next_send,
        }
    }

    /// Waits for an acknowledgement, but not for ever.
    fn wait_for_window(&mut self, now: MonoTime) {
        let silent_at = self.controller.silent_at();
        if now >= silent_at {
            self.controller.silence(now);
            self.forgotten = self.controller.in_flight(self.sent);
            return;
        }
        let wait = silent_at.since(now).min(POLL_INTERVAL);
        let _ = self
            .plan
            .socket
            .wait_ready(Interest::READ, Wait::AtMost(wait));
    }

    fn wait_until(&self, due: MonoTime, now: MonoTime, pacer: &mut Pacer) {
        let due = self.plan.deadline.map_or(due, |deadline| due.min(deadline));
        let wait = due.since(now);
        if wait > LISTEN {
            let wait = (wait - LISTEN / 2).min(POLL_INTERVAL);
            let _ = self
                .plan
                .socket
                .wait_ready(Interest::READ, Wait::AtMost(wait));
        } else {
            let _ = pacer.wait(due, &self.plan.stop);
        }
    }

    /// Takes the acknowledgements that have arrived.
    fn listen(&mut self) {
        let mut buffer = [0; ACK_ROOM];
        for _ in 0..MAX_ACKS {
            // An error of an earlier datagram shows in silence.
            let Ok(length) = self.plan.socket.recv_nonblocking(&mut buffer) else {
                return;
            };
            let now = self.clock.now();
            if let Some(feedback) = self.plan.protocol.read(&buffer[..length], now) {
                self.feedback = feedback;
                self.forgotten = 0;
                self.controller.acknowledged(&feedback, self.sent, now);
                self.set_mark(self.controller.mark());
            }
        }
    }

    fn set_mark(&mut self, mark: L4sMark) {
        let bits = match mark {
            L4sMark::Ect1 => ECT1,
            L4sMark::NotEct => 0,
        };
        if mark != self.mark || self.sent == 0 {
            self.mark = mark;
            let _ = self.plan.socket.set_tos(Tos(self.plan.tos.0 & !ECN | bits));
        }
    }

    /// The datagram to send, and its place in a frame.
    fn next_length(&mut self, now: MonoTime, left: u64) -> (usize, Option<FramePart>) {
        let full = (self.controller.packet_size() as usize)
            .max(self.plan.shortest)
            .min(self.plan.template.len());
        let part = self.frame_part(now);
        let wanted = part.map_or(full, |part| self.cut(full, part.remaining as usize));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let length = wanted
            .min(left)
            .max(self.plan.shortest)
            .min(self.plan.template.len());
        (length, part)
    }

    /// Length of a frame's next datagram that leaves no rest too short for one.
    fn cut(&self, full: usize, remaining: usize) -> usize {
        let length = full.min(remaining);
        let rest = remaining - length;
        if rest == 0 || rest >= self.plan.shortest {
            length
        } else if remaining <= self.plan.template.len() {
            remaining
        } else {
            remaining - self.plan.shortest
        }
    }

    fn frame_part(&mut self, now: MonoTime) -> Option<FramePart> {
        let (clock, sizes) = self.plan.frames.as_mut()?;
        if self.running.is_none() {
            let frame: Frame = clock.next(now);
            clock.begin(frame, now);
            let affordable = self.controller.rate() * clock.period().as_secs_f64();
            let size = sizes
                .draw()
                .min(affordable as u32)
                .max(self.plan.shortest as u32);
            self.next_send = now;
            self.running = Some(FramePart {
                frame,
                size,
                remaining: size,
            });
        }
        self.running
    }

    fn send(&mut self, now: MonoTime, left: u64) -> Option<Cause> {
        let (length, part) = self.next_length(now, left);
        let datagram = &mut self.plan.template[..length];
        let count = self.sent.wrapping_add(1);
        let wall = self.clock.wall();
        self.plan
            .protocol
            .stamp(datagram, self.sequence, count, wall, self.clock.now());
        if let Some(part) = &part {
            self.plan.protocol.frame(datagram, part);
        }
        let result = self.plan.socket.send(datagram);
        self.publisher.at(now, &self.counters);
        match result {
            Ok(bytes) => self.book(bytes, now),
            Err(error) if is_not_ready(&error) => {
                self.counters.errors += 1;
                self.counters.timeouts += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.counters.errors += 1;
                self.counters.refused += 1;
                self.next_send = now + POLL_INTERVAL;
            }
            Err(error) => return Some(Cause::Failed(FailedOperation::Send, error)),
        }
        self.publisher.publish(&self.counters);
        None
    }

    /// Counts a datagram that has left.
    fn book(&mut self, bytes: usize, now: MonoTime) {
        self.counters.bytes += bytes as u64;
        self.counters.writes += 1;
        self.counters.last = now;
        self.sequence += 1;
        self.sent = self.sent.wrapping_add(1);
        let gap = Duration::from_secs_f64(bytes as f64 / self.controller.rate());
        self.next_send = self.next_send.max(now - BURST) + gap;
        if let Some(part) = &mut self.running {
            part.remaining = part.remaining.saturating_sub(bytes as u32);
            if part.remaining == 0 {
                self.running = None;
            }
        }
        if let Some((clock, _)) = &self.plan.frames {
            self.counters.frames = clock.counts();
        }
    }
}
