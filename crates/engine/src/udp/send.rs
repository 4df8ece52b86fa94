//! Sending datagrams: paced to the microsecond, or as fast as the kernel takes them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{Clock, MonoTime, WallTime, whole_nanos};
use tapeline_sys::{Marks, SystemClock, ThreadTime, UdpSocket, set_timer_slack_minimal};

use super::refusing_port::RefusingPort;
use super::traffic::{FramePart, UdpTraffic};
use crate::counters::{SendCell, SendCounters, SendPublisher};
use crate::pacing::{Pacer, PacketGaps, Precision};
use crate::payload_source::{Filled, PayloadSource};
use crate::stop::{Place, Stop};
use crate::work::{Cause, Ending, FailedOperation, ThreadUse, is_not_ready};

/// Writes sequence number and time into a datagram. Supplied by the protocol, known at
/// compile time: the packet loop has no virtual call.
pub trait DatagramStamp: Send {
    /// Stamps `datagram`, which holds a copy of the template or an earlier datagram.
    fn stamp(&mut self, datagram: &mut [u8], sequence: u64, wall: WallTime);

    /// Writes the datagram's place in its frame, behind [`stamp`](Self::stamp).
    #[inline]
    fn frame(&mut self, datagram: &mut [u8], part: &FramePart) {
        let _ = (datagram, part);
    }
}

/// Content of datagrams that is read from somewhere.
#[derive(Debug)]
pub struct Content {
    /// Where from; the flow ends with it.
    pub source: PayloadSource,
    /// Offset in each datagram from which on its bytes stand.
    pub at: usize,
}

/// What is there of a datagram's content.
enum Loaded {
    /// The whole datagram, of this length.
    Ready(usize),
    /// Not enough yet.
    Pending,
    /// Nothing, and nothing will come.
    End,
}

impl Content {
    /// Fills the datagram, of which `filled` bytes behind the offset are there already.
    fn fill(&mut self, datagram: &mut [u8], filled: &mut usize) -> Loaded {
        let at = self.at.min(datagram.len());
        loop {
            let begun = (at + *filled).min(datagram.len());
            if begun == datagram.len() && *filled > 0 {
                return Loaded::Ready(begun);
            }
            match self.source.fill(&mut datagram[begun..]) {
                Filled::Bytes(count) => *filled += count,
                Filled::Pending => return Loaded::Pending,
                Filled::End if *filled > 0 => return Loaded::Ready(begun),
                Filled::End => return Loaded::End,
            }
        }
    }
}

/// Gap below which several datagrams leave with one call, nanoseconds.
const SINGLE_SEND_GAP: u64 = 8_000;
/// The same of a load that is steered.
const STEERED_SINGLE_GAP: Duration = Duration::from_micros(5);
/// Most datagrams of a paced call.
const PACED_GROUP: usize = 16;
/// Kernel limit of segments in one call (UDP_MAX_SEGMENTS).
const UNPACED_GROUP: usize = 64;
/// Largest UDP payload over IPv4, which also bounds one segmented call.
const MAX_PAYLOAD: usize = 65_507;
/// A send that takes longer waited for room: others take a few microseconds, full groups some 30.
const LONG_SEND: Duration = Duration::from_micros(100);
/// Time without a datagram sent after which passing errors end the flow.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Calls, or time, within which a port that is closed from the start refuses first.
const FIRST_CALLS: u64 = 10;
const FIRST_TIME: Duration = Duration::from_millis(150);
/// Smallest datagram that still carries number and time.
const MIN_PAYLOAD: usize = 16;
/// Wait for content that has not been read yet.
const CONTENT_PAUSE: Duration = Duration::from_micros(500);
/// Time for the rest of a frame behind the end of the data.
const FRAME_GRACE: Duration = Duration::from_millis(250);

/// Where a flow's datagrams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To the peer that the socket is connected to.
    Connected,
    /// To this address, on a socket that serves others too.
    To(SocketAddr),
    /// The same, with a type of service or an own address that is this flow's alone.
    Marked(SocketAddr, Marks),
}

impl Destination {
    /// Sends one datagram.
    ///
    /// # Errors
    /// Those of `sendmsg(2)`.
    #[inline]
    pub fn send(self, socket: &UdpSocket, datagram: &[u8]) -> io::Result<usize> {
        match self {
            Self::Connected => socket.send(datagram),
            Self::To(peer) => socket.send_to(datagram, peer),
            Self::Marked(peer, marks) => socket.send_marked_to(datagram, peer, marks),
        }
    }

    /// Sends datagrams of `length` bytes.
    #[inline]
    fn send_segments(
        self,
        socket: &UdpSocket,
        datagrams: &[u8],
        length: usize,
    ) -> io::Result<usize> {
        match self {
            Self::Connected => socket.send_segments(datagrams, length, None),
            Self::To(peer) => socket.send_segments(datagrams, length, Some(peer)),
            Self::Marked(peer, marks) => {
                socket.send_marked_segments(datagrams, length, peer, marks)
            }
        }
    }
}

/// Orders for a UDP sender.
#[derive(Debug)]
pub struct UdpSendPlan<S> {
    /// Socket, shared with a receiver where there is one.
    pub socket: Arc<UdpSocket>,
    /// Where to.
    pub to: Destination,
    /// Content of a datagram before it is stamped; its length is the datagram's.
    pub template: Vec<u8>,
    /// Content of the first datagram, when that differs (it may be longer).
    pub first: Option<Vec<u8>>,
    /// Number of the first datagram.
    pub first_sequence: u64,
    /// When the first datagram is due.
    pub start: MonoTime,
    /// Stop at this time.
    pub deadline: Option<MonoTime>,
    /// Stop after this many bytes; the last datagram is cut short.
    pub bytes: Option<u64>,
    /// Bytes that leave before this time are none of those.
    pub bytes_from: MonoTime,
    /// When datagrams leave, and how long they are.
    pub traffic: UdpTraffic,
    /// Content that is read, instead of the template's.
    pub content: Option<Content>,
    /// How due times are waited for.
    pub precision: Precision,
    /// Allow several datagrams per call.
    pub segmentation: bool,
    /// End at once where the peer's port is closed from the start.
    pub ends_refused: bool,
    /// Cell for the counters.
    pub cell: Arc<SendCell>,
    /// Flag that ends the data.
    pub stop: Stop,
    /// The protocol's stamp.
    pub stamp: S,
}

/// How a UDP sender ended.
#[derive(Debug)]
pub struct UdpSendEnd {
    /// Why and when.
    pub ending: Ending,
    /// Final counters.
    pub counters: SendCounters,
    /// Number that the next datagram would have.
    pub next_sequence: u64,
    /// Datagrams that left later than one gap after their time.
    pub late: u64,
    /// Largest number of datagrams sent with one call.
    pub group: usize,
    /// How the gaps were kept, of steady paced traffic.
    pub packet_gaps: Option<PacketGaps>,
    /// The traffic as it ended: clocks and chains with what they counted.
    pub traffic: UdpTraffic,
}

struct Sender<S> {
    plan: UdpSendPlan<S>,
    clock: SystemClock,
    counters: SendCounters,
    publisher: SendPublisher,
    sequence: u64,
    /// Bytes before `bytes_from`, once that has passed.
    uncounted: Option<u64>,
    buffer: Vec<u8>,
    /// Datagrams of the next call, and the most that the buffer holds.
    group: usize,
    max: usize,
    largest_group: usize,
    packet_gaps: Option<PacketGaps>,
    /// Bytes of content in the buffer that have not left yet.
    loaded: usize,
    /// When the last send began, until its time is known.
    sent_from: Option<MonoTime>,
    /// The peer's port, where it has refused soon after the start.
    refusing: Option<RefusingPort>,
}

/// Sends on the calling thread until the end of the data.
pub fn run_udp_sender<S: DatagramStamp>(plan: UdpSendPlan<S>) -> UdpSendEnd {
    set_timer_slack_minimal();
    let before = ThreadTime::now();
    let mut sender = Sender::new(plan);
    let cause = sender.run();
    let mut ending = Ending::new(cause, sender.clock.now());
    ending.thread = Some(ThreadUse::alone_since(&before));
    let late = sender.plan.traffic.late();
    sender.counters.late = late;
    sender.publisher.publish(&sender.counters);
    UdpSendEnd {
        ending,
        counters: sender.counters,
        next_sequence: sender.sequence,
        late,
        group: sender.largest_group,
        packet_gaps: sender.packet_gaps,
        traffic: sender.plan.traffic,
    }
}

impl<S: DatagramStamp> Sender<S> {
    fn new(plan: UdpSendPlan<S>) -> Self {
        let length = plan.template.len();
        let group = group_size(&plan, length);
        Self {
            clock: SystemClock,
            counters: SendCounters {
                last: plan.start,
                ..SendCounters::default()
            },
            sequence: plan.first_sequence,
            uncounted: None,
            publisher: SendPublisher::new(Arc::clone(&plan.cell)),
            buffer: plan.template.repeat(group),
            group,
            max: group,
            largest_group: 1,
            packet_gaps: plan.traffic.steady_gap().map(PacketGaps::new),
            loaded: 0,
            sent_from: None,
            refusing: None,
            plan,
        }
    }

    fn run(&mut self) -> Cause {
        let mut pacer = Pacer::new(self.plan.precision);
        if pacer.wait(self.plan.start, &self.plan.stop).is_none() {
            return Cause::Stopped;
        }
        let mut place = Place::default();
        loop {
            if self.plan.stop.is_raised() {
                return Cause::Stopped;
            }
            place.follow(&self.plan.stop);
            let mut now = self.clock.now();
            self.count_wait(now);
            if let Some(first) = self.plan.first.take() {
                let cause = self.send_first(first);
                if cause.is_some() || self.plan.deadline.is_some_and(|deadline| now >= deadline) {
                    return cause.unwrap_or(Cause::Complete);
                }
                continue;
            }
            if let Some(due) = self.plan.traffic.due(now) {
                let wake = self.end().map_or(due, |end| due.min(end));
                match pacer.wait(wake, &self.plan.stop) {
                    Some(then) => now = then,
                    None => return Cause::Stopped,
                }
            }
            // However late it is: a flow without a single datagram says nothing.
            let tried = self.counters.writes + self.counters.errors > 0;
            if tried && self.end().is_some_and(|end| now >= end) {
                return Cause::Complete;
            }
            let left = self.left(now);
            if left == 0 {
                return Cause::Complete;
            }
            let cause = if self.sends_groups() {
                self.send_group(now, left)
            } else {
                self.send_single(now, left)
            };
            if let Some(cause) = cause {
                return cause;
            }
        }
    }

    /// Counts the last send's time, where it was so long that it waited for room.
    #[inline]
    fn count_wait(&mut self, now: MonoTime) {
        if let Some(since) = self.sent_from.take() {
            let took = now.since(since);
            if took >= LONG_SEND {
                self.counters.room_awaited += whole_nanos(took);
            }
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

    /// When the data ends. A frame that was begun in time is completed, but not for ever.
    #[inline]
    fn end(&self) -> Option<MonoTime> {
        let deadline = self.plan.deadline?;
        Some(if self.plan.traffic.is_in_frame() {
            deadline + FRAME_GRACE
        } else {
            deadline
        })
    }

    #[inline]
    fn sends_groups(&self) -> bool {
        self.plan.content.is_none() && self.plan.traffic.is_uniform()
    }

    /// Sends one datagram of its own length or content.
    fn send_single(&mut self, now: MonoTime, left: u64) -> Option<Cause> {
        let full = self.plan.template.len();
        let (length, part) = self.plan.traffic.next(now, full, left);
        let length = clamp_to(length.min(full), left);
        let length = match self.load(length) {
            Loaded::Ready(length) => length,
            Loaded::Pending => {
                std::thread::sleep(CONTENT_PAUSE);
                let paused = self.clock.now().since(now);
                self.counters.input_awaited += whole_nanos(paused);
                return None;
            }
            Loaded::End => return Some(self.end_of_content()),
        };
        let datagram = &mut self.buffer[..length];
        self.plan
            .stamp
            .stamp(datagram, self.sequence, self.clock.wall());
        if let Some(part) = &part {
            self.plan.stamp.frame(datagram, part);
        }
        let result = self.plan.to.send(&self.plan.socket, datagram);
        if result.is_ok() {
            self.loaded = 0;
        }
        self.settle(result, length, now)
    }

    /// Brings a datagram's content into the buffer.
    fn load(&mut self, length: usize) -> Loaded {
        match &mut self.plan.content {
            None => Loaded::Ready(length),
            Some(content) => content.fill(&mut self.buffer[..length], &mut self.loaded),
        }
    }

    fn end_of_content(&mut self) -> Cause {
        let content = self.plan.content.as_mut();
        match content.and_then(|content| content.source.take_failure()) {
            Some(error) => Cause::Failed(FailedOperation::Content, error),
            None => Cause::Complete,
        }
    }

    /// Sends the first datagram alone: it may be longer than the others. The settings are
    /// in there, so it is kept until it has left.
    fn send_first(&mut self, mut first: Vec<u8>) -> Option<Cause> {
        self.plan
            .stamp
            .stamp(&mut first, self.sequence, self.clock.wall());
        let result = self.plan.to.send(&self.plan.socket, &first);
        let sent = result.is_ok();
        let cause = self.settle(result, first.len(), self.clock.now());
        if !sent {
            self.plan.first = Some(first);
        }
        cause
    }

    fn send_group(&mut self, now: MonoTime, left: u64) -> Option<Cause> {
        let length = self.plan.template.len();
        match &self.plan.traffic {
            UdpTraffic::Variable(rate) => self.group = paced_group(rate.gap()).min(self.max),
            UdpTraffic::Steered(rate) => self.group = steered_group(rate.gap()).min(self.max),
            _ => {}
        }
        let count = if left < (length * self.group) as u64 {
            1
        } else {
            self.group
        };
        let total = if count == 1 {
            clamp_to(length, left)
        } else {
            length * count
        };
        // Stamping a group takes less than the microsecond that stamps are counted in.
        let wall = self.clock.wall();
        for (sequence, datagram) in (self.sequence..).zip(self.buffer[..total].chunks_mut(length)) {
            self.plan.stamp.stamp(datagram, sequence, wall);
        }
        let datagrams = &self.buffer[..total];
        let socket = &self.plan.socket;
        let result = if count > 1 {
            self.plan.to.send_segments(socket, datagrams, length)
        } else {
            self.plan.to.send(socket, datagrams)
        };
        if count > 1 && !socket.supports_segmentation() {
            // The path or the kernel refused, and the socket sent one by one: singly, and
            // spaced, from here on.
            (self.group, self.max) = (1, 1);
        }
        self.settle(result, length, now)
    }

    /// Books what a send of datagrams of `length` bytes did. Those that did not leave are
    /// made up for under the same number, so that only the network's losses are seen as such.
    fn settle(&mut self, result: io::Result<usize>, length: usize, now: MonoTime) -> Option<Cause> {
        self.publisher.at(now, &self.counters);
        match result {
            Ok(bytes) => {
                let count = bytes.div_ceil(length.max(1)).max(1);
                // The first call may take long, and the gaps begin behind it.
                let left = match self.counters.writes {
                    0 => self.clock.now(),
                    _ => now,
                };
                self.plan.traffic.sent(count as u64, bytes as u64, left);
                if let Some(packet_gaps) = &mut self.packet_gaps {
                    packet_gaps.sent(count as u32, left);
                }
                self.counters.frames = self.plan.traffic.frames();
                self.counters.bytes += bytes as u64;
                self.counters.writes += count as u64;
                self.counters.last = now;
                self.sent_from = Some(now);
                self.largest_group = self.largest_group.max(count);
                self.sequence += count as u64;
                self.publisher.publish(&self.counters);
                return None;
            }
            Err(error) if self.is_hopeless(&error, now) => {
                return Some(Cause::Failed(FailedOperation::Send, error));
            }
            Err(error) if is_not_ready(&error) => {
                self.counters.errors += 1;
                self.counters.timeouts += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // An earlier datagram's ICMP answer, which the socket has given up with this call.
                // The datagram leaves with the next one, in the same turn.
                self.counters.errors += 1;
                self.counters.refused += 1;
                self.publisher.publish(&self.counters);
                return self
                    .is_closed_from_the_start(now)
                    .then_some(Cause::Failed(FailedOperation::Send, error));
            }
            Err(error) if is_transient(&error) => {
                self.counters.errors += 1;
                self.counters.unreachable += u64::from(is_unreachable(&error));
                std::thread::sleep(Duration::from_micros(100));
            }
            Err(error) => return Some(Cause::Failed(FailedOperation::Send, error)),
        }
        self.plan.traffic.failed(now);
        self.publisher.publish(&self.counters);
        None
    }

    /// Takes a refusal; returns whether the peer's port is closed from the start.
    fn is_closed_from_the_start(&mut self, now: MonoTime) -> bool {
        let calls = self.counters.writes + self.counters.errors;
        let early = calls <= FIRST_CALLS || now.since(self.plan.start) < FIRST_TIME;
        if self.counters.refused == 1 && early {
            self.refusing = Some(RefusingPort::since(now));
        }
        self.plan.ends_refused && self.refusing.is_some_and(|port| port.is_closed(now))
    }

    /// Whether nothing has left for so long that a passing condition is none. A refusal
    /// says that the path is well.
    fn is_hopeless(&self, error: &io::Error, now: MonoTime) -> bool {
        let gap = self.plan.traffic.gap();
        let idle_timeout = STALL_TIMEOUT.max(gap.unwrap_or_default().saturating_mul(3));
        error.kind() != io::ErrorKind::ConnectionRefused
            && now.since(self.counters.last) > idle_timeout
    }
}

/// Datagrams per call: one while single sends keep the gap.
fn group_size<S>(plan: &UdpSendPlan<S>, length: usize) -> usize {
    if !plan.segmentation || length == 0 || !plan.socket.supports_segmentation() {
        return 1;
    }
    let fitting = MAX_PAYLOAD / length;
    let wanted = match &plan.traffic {
        UdpTraffic::Unpaced => UNPACED_GROUP,
        UdpTraffic::Paced(schedule) => paced_group(schedule.gap()),
        // The rate changes.
        UdpTraffic::Variable(_) => PACED_GROUP,
        UdpTraffic::Steered(_) => UNPACED_GROUP,
        UdpTraffic::Frames(_) | UdpTraffic::Lengths(_) => 1,
    };
    wanted.min(fitting).max(1)
}

/// Datagrams per call at this gap. A gap so short that no full group lasts as long as a single send
/// asks for all that the system can do.
fn paced_group(gap: Duration) -> usize {
    let gap = whole_nanos(gap).max(1);
    match usize::try_from(SINGLE_SEND_GAP.div_ceil(gap)) {
        Ok(group) if group <= UNPACED_GROUP => group.min(PACED_GROUP),
        _ => UNPACED_GROUP,
    }
}

/// Datagrams per call of a load whose search steers it: one each up to 200 000 a second.
fn steered_group(gap: Duration) -> usize {
    if gap >= STEERED_SINGLE_GAP {
        return 1;
    }
    paced_group(gap)
}

/// The last datagram of a byte limit is cut, but keeps its number and time.
fn clamp_to(length: usize, left: u64) -> usize {
    usize::try_from(left)
        .unwrap_or(usize::MAX)
        .max(MIN_PAYLOAD)
        .min(length)
}

/// Errors of a full queue or a route that may come back: ENOBUFS, ENETDOWN, EHOSTUNREACH,
/// ENETUNREACH.
fn is_transient(error: &io::Error) -> bool {
    is_unreachable(error)
        || error.kind() == io::ErrorKind::OutOfMemory
        || error.raw_os_error() == Some(105)
}

/// No way leads to the peer: the datagram was refused, not kept waiting.
fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_small_as_the_gap_allows() {
        for (nanos, group) in [
            (8_000, 1),
            (7_999, 2),
            (1_000, 8),
            (500, 16),
            (200, PACED_GROUP),
            (125, PACED_GROUP),
            (124, UNPACED_GROUP),
            (0, UNPACED_GROUP),
        ] {
            assert_eq!(paced_group(Duration::from_nanos(nanos)), group, "{nanos}");
        }
    }
}
