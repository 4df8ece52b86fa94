//! The data of a test: one flow for each stream at this end.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{
    ByteIntake, Cause, DatagramCell, DatagramReceiver, Destination, Ending, Intervals,
    KernelPacing, PayloadSource, Precision, ReceiveCell, Schedule, SendCell, SendEnd, Stage, Stop,
    StreamContent, TcpReceivePlan, TcpReceiver, TcpSendPlan, TcpSender, TcpWork, Technique, Timing,
    UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_report::{Endpoints, Measure, Notice, Row};
use tapeline_stats::Random;
use tapeline_sys::{TcpConn, UdpSocket, Wait, Waker, reason};
use tapeline_wire::iperf3::{
    CONNECT_REPLY, DatagramHeader, Parameters, StreamResults, is_connect, limits,
};

use super::arrivals::{arrived, followers};
use super::file_intake::FileIntake;
use super::stamp::Iperf3Stamp;
use crate::context::Context;
use crate::iperf2::tell_ending;
use crate::reporter::{CounterCell, FlowEnd, FlowExtras, FlowStart, GroupKey};

/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);
const SLOTS: usize = 32;
/// Longest payload that a block repeats.
const CHUNK: usize = 32 * 1024;
/// Block of a sender that nobody counts blocks of: fewer, larger trips through the kernel.
const BULK: u32 = 1 << 20;
/// A sender whose peer takes nothing for this long is alone.
const SEND_PATIENCE: Duration = Duration::from_secs(120);
/// Time that a receiver takes at most for what it has not read when it is told to stop.
const UNREAD: Duration = Duration::from_millis(50);
/// Time that passes at most from a datagram's arrival until it is in its interval.
const BESIDE: Duration = Duration::from_millis(1);

/// What carries a stream.
#[derive(Clone, Debug)]
pub(super) enum Link {
    /// A connection whose cookie has been exchanged.
    Tcp(Arc<TcpConn>),
    /// A socket that is connected to the peer's.
    Udp(Arc<UdpSocket>),
}

impl Link {
    /// Own address and the peer's.
    pub(super) fn addresses(&self) -> [std::io::Result<SocketAddr>; 2] {
        match self {
            Self::Tcp(conn) => [conn.local_addr(), conn.peer_addr()],
            Self::Udp(socket) => [socket.local_addr(), socket.peer_addr()],
        }
    }
}

/// One stream of a test, as this end sees it.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) tag: FlowTag,
    /// Its number in results.
    pub(super) id: i64,
    /// This end sends.
    pub(super) sends: bool,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) link: Link,
}

/// How the streams of a test run.
#[derive(Clone)]
pub(super) struct Traffic {
    pub(super) context: Arc<Context>,
    pub(super) parameters: Parameters,
    /// Bytes of a block or datagram.
    pub(super) length: u32,
    pub(super) interval: Option<Duration>,
    pub(super) start: MonoTime,
    /// This end keeps the time and the amount (clients).
    pub(super) decides: bool,
    /// A receiver gives up after so long without data.
    pub(super) patience: Duration,
    pub(super) file: Option<PathBuf>,
    pub(super) stop: Stop,
    /// When the other end's word reached this one; a stream notices a little later.
    pub(super) over: Arc<OnceLock<MonoTime>>,
    /// Sums of senders and of receivers.
    pub(super) sums: Sums,
    pub(super) meters: Meters,
}

/// Reads how many bytes the streams of a test have moved.
#[derive(Clone, Default)]
pub(super) struct Meters(Arc<Mutex<Vec<Meter>>>);

struct Meter {
    sends: bool,
    bytes: Box<dyn Fn() -> u64 + Send>,
}

impl Meters {
    fn add(&self, sends: bool, bytes: impl Fn() -> u64 + Send + 'static) {
        let bytes = Box::new(bytes);
        self.lock().push(Meter { sends, bytes });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Meter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all streams, in both directions.
    pub(super) fn total(&self) -> u64 {
        self.lock().iter().map(|meter| (meter.bytes)()).sum()
    }

    /// Bytes that have been received, and datagrams' that were lost on the way.
    pub(super) fn received(&self) -> u64 {
        let meters = self.lock();
        let receivers = meters.iter().filter(|meter| !meter.sends);
        receivers.map(|meter| (meter.bytes)()).sum()
    }
}

/// The sums that a test's streams belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub(super) sent: GroupKey,
    pub(super) received: GroupKey,
}

/// A stream has ended.
#[derive(Debug)]
pub(super) struct StreamEnd {
    pub(super) stream: Stream,
    /// What was told of it; without the omitted start.
    pub(super) total: Option<Row>,
    /// With the omitted start: datagrams sent or highest number, and datagrams lost.
    pub(super) packets: u64,
    pub(super) lost: u64,
    /// Nothing came for longer than a receiver waits.
    pub(super) starved: bool,
}

impl StreamEnd {
    /// The stream's entry in the results message.
    pub(super) fn results(&self) -> StreamResults {
        let mut results = StreamResults {
            id: self.stream.id,
            omitted_errors: Some(0),
            omitted_packets: Some(0),
            ..StreamResults::default()
        };
        let Some(row) = &self.total else {
            return results;
        };
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        results.bytes = row.bytes;
        results.end_time = Some(row.span.length().as_secs_f64());
        match &row.measure {
            Measure::TcpSend(send) => results.retransmits = Some(send.retransmits.unwrap_or(0)),
            Measure::UdpSend(send) => {
                results.packets = signed(self.packets);
                results.omitted_packets = Some(signed(self.packets.saturating_sub(send.writes)));
            }
            Measure::UdpReceive(receive) => {
                results.jitter = receive.jitter.unwrap_or(0.0);
                results.packets = signed(self.packets);
                results.errors = signed(self.lost);
                results.omitted_errors = Some(signed(self.lost.saturating_sub(receive.lost)));
                results.omitted_packets = Some(signed(self.packets.saturating_sub(receive.total)));
            }
            Measure::TcpReceive(_) | Measure::Both { .. } | Measure::RequestResponse(_) => {}
        }
        results
    }
}

/// Where ends are told, and who is woken by them.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) tell: mpsc::Sender<StreamEnd>,
    pub(super) waker: Arc<Waker>,
}

impl Ends {
    fn tell(&self, end: StreamEnd) {
        // Nobody listens when the test has been given up.
        let _ = self.tell.send(end);
        self.waker.wake();
    }
}

impl Traffic {
    /// Starts a stream.
    pub(super) fn run(&self, stream: Stream, ends: &Ends) {
        match (stream.link.clone(), stream.sends) {
            (Link::Tcp(conn), true) => self.send_stream(stream, conn, ends.clone()),
            (Link::Tcp(conn), false) => self.receive_stream(stream, conn, ends.clone()),
            (Link::Udp(socket), true) => {
                let traffic = self.clone();
                self.spawn(stream, ends, move |stream| {
                    traffic.send_datagrams(stream, socket)
                });
            }
            (Link::Udp(socket), false) => {
                let traffic = self.clone();
                self.spawn(stream, ends, move |stream| {
                    traffic.receive_datagrams(stream, &socket)
                });
            }
        }
    }

    /// More streams than threads are good for.
    fn is_many(&self) -> bool {
        self.parameters.parallel as usize > tapeline_engine::THREADED_FLOWS
    }

    fn omit(&self) -> Duration {
        Duration::from_secs(self.parameters.omit.into())
    }

    fn intervals(&self) -> Intervals {
        Intervals::with_omitted(self.start, self.interval, self.omit())
    }

    /// When counting begins.
    pub(super) fn counted_from(&self) -> MonoTime {
        match self.parameters.omit {
            0 => MonoTime::ZERO,
            _ => self.start + self.omit(),
        }
    }

    /// When this end stops, if it keeps the time.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        let time = Duration::from_secs(self.parameters.time.into());
        (self.decides && !time.is_zero()).then(|| self.start + self.omit() + time)
    }

    /// Bytes of the whole test in a direction, where an amount was agreed.
    pub(super) fn amount(&self) -> Option<u64> {
        let streams = u64::from(self.parameters.parallel.max(1));
        let bytes = self.bytes()?;
        Some(
            bytes
                .saturating_mul(streams)
                .min(match self.parameters.bytes {
                    0 => u64::MAX,
                    bytes => bytes,
                }),
        )
    }

    /// After how many bytes a receiver is done by itself: where its stream is the only one that
    /// is received, and all of it counts. Senders may share an amount unevenly.
    fn own_amount(&self) -> Option<u64> {
        let alone = self.parameters.parallel == 1 && self.parameters.omit == 0;
        self.bytes().filter(|_| self.decides && alone)
    }

    /// After how many bytes a stream is over: the test's amount in equal parts, in whole blocks
    /// or datagrams where those are counted.
    fn bytes(&self) -> Option<u64> {
        let parameters = &self.parameters;
        let streams = u64::from(parameters.parallel.max(1));
        let length = u64::from(self.length.max(1));
        match (parameters.bytes, parameters.blocks) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.div_ceil(streams).saturating_mul(length)),
            (bytes, _) => Some(bytes.div_ceil(streams)),
        }
    }

    fn flow(&self, stream: &Stream, cell: CounterCell) -> FlowStart {
        let conn = match &stream.link {
            Link::Tcp(conn) if stream.sends => Some(Arc::clone(conn)),
            Link::Tcp(_) | Link::Udp(_) => None,
        };
        FlowStart {
            tag: stream.tag,
            cell,
            start: self.start,
            interval: self.interval,
            endpoints: Endpoints {
                local: stream.local,
                peer: stream.peer,
                local_sends: stream.sends,
            },
            groups: vec![if stream.sends {
                self.sums.sent
            } else {
                self.sums.received
            }],
            conn,
            histograms: Vec::new(),
            extras: FlowExtras {
                omit: self.omit(),
                ..FlowExtras::default()
            },
        }
    }

    /// What blocks and datagrams repeat: digits, or bytes that no compression on the path
    /// makes smaller.
    fn chunk(&self, length: usize) -> Vec<u8> {
        let mut chunk = vec![0; length];
        if self.parameters.repeating_payload {
            let digits = (b'0'..=b'9').cycle();
            chunk
                .iter_mut()
                .zip(digits)
                .for_each(|(byte, digit)| *byte = digit);
        } else {
            let mut random = Random::seeded(self.start.as_nanos());
            for bytes in chunk.chunks_mut(8) {
                bytes.copy_from_slice(&random.bits().to_le_bytes()[..bytes.len()]);
            }
        }
        chunk
    }

    fn content(&self, block: usize) -> std::io::Result<StreamContent> {
        match &self.file {
            None => {
                let length = self.context.techniques.payload_length(block, CHUNK);
                let chunk = self.chunk(length).into();
                Ok(if self.parameters.zerocopy && !self.is_many() {
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
    fn target(&self) -> std::io::Result<Option<File>> {
        let path = self.file.as_ref();
        path.map(File::create).transpose()
    }

    fn send_stream(&self, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
        let parameters = &self.parameters;
        let whole = parameters.rate == 0 && parameters.blocks == 0 && self.file.is_none();
        let block = if whole && self.length == limits::DEFAULT_TCP_LENGTH {
            BULK
        } else {
            self.length
        };
        let content = match self.content(block as usize) {
            Ok(content) => content,
            Err(error) => {
                let reason = reason(&error);
                let what = format!("cannot read what is to be sent: {reason}");
                self.context.notice(Notice::Text(what));
                return ends.tell(StreamEnd::lost(stream));
            }
        };
        let cell = Arc::new(SendCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(true, move || meter.read().bytes);
        let bits = u64::from(block) * 8;
        let timing = Schedule::at_bit_rate(self.start, bits, parameters.rate)
            .map(|schedule| schedule.in_bursts(parameters.burst.into()))
            .map(|schedule| schedule.in_quanta(self.context.techniques.pacing_quantum()))
            .map_or(Timing::Free, Timing::Paced);
        let pacing =
            (parameters.pacing_rate > 0).then(|| KernelPacing::constant(parameters.pacing_rate));
        let plan = TcpSendPlan {
            deadline: self.deadline(),
            bytes: self.bytes(),
            bytes_from: self.counted_from(),
            timing,
            pacing,
            end: SendEnd::Leave,
            patience: SEND_PATIENCE,
            ..TcpSendPlan::new(
                conn,
                content,
                block as usize,
                Arc::clone(&cell),
                self.stop.clone(),
            )
        };
        let work = Box::new(TcpSender::new(plan, self.start));
        self.pool(stream, CounterCell::TcpSend(cell), work, ends);
    }

    fn receive_stream(&self, stream: Stream, conn: Arc<TcpConn>, ends: Ends) {
        let cell = Arc::new(ReceiveCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(false, move || meter.read().bytes);
        let length = self.length.max(1) as usize;
        let plan = TcpReceivePlan {
            deadline: self.deadline(),
            bytes: self.own_amount(),
            discard: self.parameters.skip_receive_copy,
            gathers: self.file.is_none() && self.context.techniques.uses(Technique::LowWaterMark),
            patience: self.patience,
            ..TcpReceivePlan::new(conn, length, self.stop.clone())
        };
        let intake = ByteIntake::new(Arc::clone(&cell), length, 0, self.start);
        let work: Box<dyn TcpWork> = match self.target() {
            Ok(None) => Box::new(TcpReceiver::new(plan, intake)),
            Ok(Some(file)) => Box::new(TcpReceiver::new(plan, FileIntake::new(intake, file))),
            Err(error) => {
                let what = format!("cannot write what is received: {}", reason(&error));
                self.context.notice(Notice::Text(what));
                return ends.tell(StreamEnd::lost(stream));
            }
        };
        self.pool(stream, CounterCell::TcpReceive(cell), work, ends);
    }

    fn pool(&self, stream: Stream, cell: CounterCell, work: Box<dyn TcpWork>, ends: Ends) {
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
        let running = self.context.reporter.start(self.flow(&stream, cell));
        let context = Arc::clone(&self.context);
        let (tag, start, patience) = (stream.tag, self.start, self.patience);
        let deadline = self.deadline().filter(|_| !stream.sends);
        let over = Arc::clone(&self.over);
        let on_end = Box::new(move |ending: Ending| {
            let ending = at_deadline(ending, deadline, patience);
            tell_ending(&context, tag, Transport::Tcp, start, &ending);
            let starved = !stream.sends && is_starved(&ending, patience);
            // What passed while the stream was told to stop was counted: its time counts too.
            let over = over.get().map_or(ending.at, |over| last().max(*over));
            let end = FlowEnd {
                at: ending.at.min(over),
                ..FlowEnd::default()
            };
            ends.tell(StreamEnd {
                stream,
                total: running.end_told(end),
                packets: 0,
                lost: 0,
                starved,
            });
        });
        self.context
            .pool
            .run(work, &self.stop, self.is_many(), on_end);
    }

    /// Runs `body` on a thread of its own; a stream without one has failed.
    fn spawn(
        &self,
        stream: Stream,
        ends: &Ends,
        body: impl FnOnce(Stream) -> StreamEnd + Send + 'static,
    ) {
        let (told, lost) = (ends.clone(), stream.clone());
        let spawned = std::thread::Builder::new()
            .name("udp".into())
            .spawn(move || told.tell(body(stream)));
        if let Err(error) = spawned {
            let what = format!("no thread for a stream: {}", reason(&error));
            self.context.notice(Notice::Text(what));
            ends.tell(StreamEnd::lost(lost));
        }
    }

    fn send_datagrams(&self, stream: Stream, socket: Arc<UdpSocket>) -> StreamEnd {
        let parameters = &self.parameters;
        let cell = Arc::new(SendCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(true, move || meter.read().bytes);
        let start = self.flow(&stream, CounterCell::UdpSend(Arc::clone(&cell)));
        let running = self.context.reporter.start(start);
        let _ = socket.set_send_timeout(Some(tapeline_engine::SEND_LIMIT));
        let bits = u64::from(self.length) * 8;
        let traffic = Schedule::at_bit_rate(self.start, bits, parameters.rate)
            .map(|schedule| schedule.in_bursts(parameters.burst.into()))
            .map_or(UdpTraffic::Unpaced, UdpTraffic::Paced);
        let length = u64::from(self.length.max(1));
        let end = run_udp_sender(UdpSendPlan {
            socket,
            to: Destination::Connected,
            template: self.chunk(self.length as usize),
            first: None,
            first_sequence: 1,
            start: self.start,
            deadline: self.deadline(),
            // Every datagram has the agreed length: readers take no other.
            bytes: self.bytes().map(|bytes| bytes.div_ceil(length) * length),
            bytes_from: self.counted_from(),
            traffic,
            content: None,
            precision: self.context.techniques.precision(Precision::Precise),
            segmentation: self.context.techniques.uses(Technique::UdpSegmentation),
            cell,
            stop: self.stop.clone(),
            stamp: Iperf3Stamp {
                width: parameters.counters,
            },
        });
        let (tag, at) = (stream.tag, end.ending.at);
        tell_ending(&self.context, tag, Transport::Udp, self.start, &end.ending);
        StreamEnd {
            total: running.end_told(FlowEnd {
                at,
                ..FlowEnd::default()
            }),
            stream,
            packets: end.counters.writes,
            lost: 0,
            starved: false,
        }
    }

    fn receive_datagrams(&self, stream: Stream, socket: &UdpSocket) -> StreamEnd {
        let techniques = self.context.techniques;
        socket.request(techniques.receive_features());
        let window = self.parameters.window.map(u64::from);
        self.context.enlarge_buffer(socket, window);
        let dropped_before = socket.dropped();
        let cell = Arc::new(DatagramCell::new(self.intervals()));
        let (meter, length) = (Arc::clone(&cell), u64::from(self.length));
        self.meters
            .add(false, move || meter.read().total.saturating_mul(length));
        let start = self.flow(&stream, CounterCell::UdpReceive(Arc::clone(&cell)));
        let running = self.context.reporter.start(start);
        let mut receiver = DatagramReceiver::new(1, cell, self.start);
        let cause = self.take_datagrams(socket, &mut receiver);
        receiver.finish();
        let limits = self.deadline().into_iter().chain(self.over.get().copied());
        let now = self.context.now();
        let due = limits.fold(now, MonoTime::min);
        // A datagram beside the end may be counted behind the last interval: its time is told then.
        let beside = receiver.counters().last + BESIDE >= due;
        let at = if beside { now } else { due };
        let ending = Ending::new(cause, at);
        tell_ending(
            &self.context,
            stream.tag,
            Transport::Udp,
            self.start,
            &ending,
        );
        let dropped = socket
            .dropped()
            .zip(dropped_before)
            .map(|(after, before)| after.saturating_sub(before));
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            self.context.notice(Notice::ReceiveBufferDrops {
                tag: Some(stream.tag),
                datagrams,
            });
        }
        let counters = *receiver.counters();
        StreamEnd {
            total: running.end_told(FlowEnd {
                at,
                sent: None,
                dropped,
            }),
            stream,
            packets: counters.total,
            lost: counters.lost,
            starved: is_starved(&ending, self.patience),
        }
    }

    fn take_datagrams(&self, socket: &UdpSocket, receiver: &mut DatagramReceiver) -> Cause {
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let length = self.length as usize;
        let width = self.parameters.counters;
        let bytes = self.own_amount();
        // What has arrived by the end counts, though a busy machine has not read it yet.
        let mut unread_until = None;
        loop {
            let now = self.context.now();
            let stopped = self.stop.is_raised();
            if stopped && now >= *unread_until.get_or_insert(now + UNREAD) {
                return Cause::Stopped;
            }
            let left = self.deadline().map_or(LOOK, |deadline| deadline.since(now));
            // Lost ones do not come any more.
            let passed = receiver.counters().total.saturating_mul(length as u64);
            let enough = bytes.is_some_and(|bytes| passed >= bytes);
            if left.is_zero() || enough {
                return Cause::Complete;
            }
            let wait = if stopped {
                Wait::Never
            } else {
                Wait::AtMost(left.min(LOOK))
            };
            match batch.receive(socket, wait) {
                Ok(0) if stopped => return Cause::Stopped,
                Ok(0) => {
                    let silence = now.since(receiver.counters().last);
                    if silence > self.patience {
                        return Cause::Vanished(silence);
                    }
                }
                Ok(_) => {
                    let now = self.context.now();
                    for datagram in batch.datagrams() {
                        let mut segments = datagram.segments();
                        while let Some(payload) = segments.next() {
                            let header = DatagramHeader::read(payload, width);
                            // Whatever has another length is no data.
                            let Some(header) = header.filter(|_| payload.len() == length) else {
                                if is_connect(payload) {
                                    // The answer was lost.
                                    let _ = socket.send(&CONNECT_REPLY);
                                }
                                continue;
                            };
                            let rest = followers(&header, length, segments.clone(), width);
                            if let Some(last) = rest.count.checked_sub(1) {
                                segments.nth(last as usize);
                            }
                            receiver.observe_run(&arrived(&header, &datagram, length), rest, now);
                        }
                    }
                    receiver.publish();
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Cause::Failed(Stage::Receive, error),
            }
        }
    }
}

impl StreamEnd {
    /// A stream that never ran.
    fn lost(stream: Stream) -> Self {
        Self {
            stream,
            total: None,
            packets: 0,
            lost: 0,
            starved: false,
        }
    }
}

/// A receiver whose time is over has ended in order, however long ago the last data came: a slow
/// sender's blocks are far apart.
fn at_deadline(ending: Ending, deadline: Option<MonoTime>, patience: Duration) -> Ending {
    match (&ending.cause, deadline) {
        (Cause::Vanished(silence), Some(deadline))
            if *silence < patience && ending.at + *silence >= deadline =>
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

fn is_starved(ending: &Ending, patience: Duration) -> bool {
    matches!(ending.cause, Cause::Vanished(silence) if silence >= patience)
}
