//! The data of a test: one flow for each stream at this end, from its connection to its end, and what the other
//! end is notified.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, mpsc};
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime, MutexExt};
use tapeline_engine::{Cause, Ending, HeldWindow, Intervals, Stop};
use tapeline_report::{Endpoints, Measure, Notice, Row};
use tapeline_stats::Random;
use tapeline_sys::{TcpConn, UdpSocket, Waker};
use tapeline_wire::iperf3::{ErrorCode, Parameters, StreamResults};

use crate::plan::ShortBuffers;
use crate::policy::Grant;
use crate::run::context::Context;
use crate::sampler::{CounterCell, FlowExtras, FlowStart, GroupKey};

/// What carries a stream.
#[derive(Clone, Debug)]
pub(crate) enum Link {
    /// A connection whose cookie has been exchanged.
    Tcp(Arc<TcpConn>),
    /// A socket that is connected to the peer's.
    Udp(Arc<UdpSocket>),
}

impl Link {
    /// Own address and the peer's.
    pub(crate) fn addresses(&self) -> [std::io::Result<SocketAddr>; 2] {
        match self {
            Self::Tcp(conn) => [conn.local_addr(), conn.peer_addr()],
            Self::Udp(socket) => [socket.local_addr(), socket.peer_addr()],
        }
    }

    /// Sizes of its send and receive buffer, bytes.
    pub(crate) fn buffers(&self) -> [std::io::Result<u64>; 2] {
        match self {
            Self::Tcp(conn) => [conn.send_buffer(), conn.receive_buffer()],
            Self::Udp(socket) => [socket.send_buffer(), socket.receive_buffer()],
        }
    }
}

/// Sees that the system gives a stream's buffers the size that was asked for; `Err` where that
/// ends the test. As the reference sees it, which compares with what the system books: that may be
/// twice what it grants.
pub(crate) fn check_buffers(
    buffers: [std::io::Result<u64>; 2],
    parameters: &Parameters,
    short: ShortBuffers,
    context: &Context,
) -> Result<(), ErrorCode> {
    let wanted = parameters.window.map(u64::from);
    let least = buffers.into_iter().flatten().min();
    match wanted.zip(least) {
        Some((wanted, actual)) if actual < wanted => match short {
            ShortBuffers::Fail => Err(ErrorCode::SHORT_BUFFER),
            ShortBuffers::Warn => {
                context.notice(Notice::BufferClamped { wanted, actual });
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

/// One stream of a test, as this end sees it.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) tag: FlowTag,
    /// Its number in results.
    pub(crate) id: i64,
    /// This end sends.
    pub(crate) sends: bool,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) link: Link,
}

/// How the streams of a test run.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub(crate) context: Arc<Context>,
    pub(crate) parameters: Parameters,
    /// Bytes of a block or datagram.
    pub(crate) length: u32,
    /// What a stream may have of what the server grants.
    pub(crate) share: Grant,
    pub(crate) interval: Option<Duration>,
    pub(crate) start: MonoTime,
    /// This end keeps the time and the amount (clients).
    pub(crate) decides: bool,
    /// A receiver gives up after so long without data.
    pub(crate) idle_timeout: Duration,
    /// A sending end is ended when its peer takes nothing for so long.
    pub(crate) stalled: Duration,
    /// The window that TCP senders keep by themselves.
    pub(crate) window: Option<HeldWindow>,
    /// The largest window that TCP receivers offer, bytes.
    pub(crate) window_clamp: Option<u32>,
    pub(crate) file: Option<PathBuf>,
    pub(crate) stop: Stop,
    /// When the peer's message reached this end; a stream notices a little later.
    pub(crate) over: Arc<OnceLock<MonoTime>>,
    /// Sums of senders and of receivers.
    pub(crate) sums: Sums,
    pub(crate) byte_counters: ByteCounters,
}

/// The sums that a test's streams belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) sent: GroupKey,
    pub(crate) received: GroupKey,
}

impl Traffic {
    /// More streams than threads are good for.
    pub(crate) fn is_many(&self) -> bool {
        self.parameters.parallel as usize > tapeline_engine::THREADED_FLOWS
    }

    pub(crate) fn omit(&self) -> Duration {
        Duration::from_secs(self.parameters.omit.into())
    }

    pub(crate) fn intervals(&self) -> Intervals {
        Intervals::with_omitted(self.start, self.interval, self.omit())
    }

    /// When counting begins.
    pub(crate) fn counted_from(&self) -> MonoTime {
        match self.parameters.omit {
            0 => MonoTime::ZERO,
            _ => self.start + self.omit(),
        }
    }

    /// When the test is to end by this end's clock, if a time was agreed.
    fn agreed_end(&self) -> Option<MonoTime> {
        let time = Duration::from_secs(self.parameters.time.into());
        (!time.is_zero()).then(|| self.start + self.omit() + time)
    }

    /// When this end stops, if it keeps the time.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        self.agreed_end().filter(|_| self.decides)
    }

    /// Rate of a stream that this end sends, bits per second: as agreed and granted; 0 is unlimited.
    pub(crate) fn rate(&self) -> u64 {
        let agreed = Some(BitRate(self.parameters.rate)).filter(|rate| rate.0 > 0);
        let rate = agreed.into_iter().chain(self.share.rate).min();
        rate.unwrap_or_default().0
    }

    /// Bytes of the whole test in a direction, where an amount was agreed.
    pub(crate) fn amount(&self) -> Option<u64> {
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
    pub(crate) fn own_amount(&self) -> Option<u64> {
        let alone = self.parameters.parallel == 1 && self.parameters.omit == 0;
        self.bytes().filter(|_| self.decides && alone)
    }

    /// After how many bytes a stream is over: the test's amount in equal parts, in whole blocks
    /// or datagrams where those are counted.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let parameters = &self.parameters;
        let streams = u64::from(parameters.parallel.max(1));
        let length = u64::from(self.length.max(1));
        match (parameters.bytes, parameters.blocks) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.div_ceil(streams).saturating_mul(length)),
            (bytes, _) => Some(bytes.div_ceil(streams)),
        }
    }

    /// The same for a sender. One that the peer stops sends whole blocks: a reference
    /// client takes what it receives by the block, and would wait for the rest of one for ever.
    pub(crate) fn bytes_to_send(&self) -> Option<u64> {
        let agreed = self.bytes().map(|bytes| {
            if self.decides {
                bytes
            } else {
                whole_blocks(bytes, self.length)
            }
        });
        agreed.into_iter().chain(self.granted_bytes()).min()
    }

    /// Bytes at which a stream stands still because it has had its share: so many more that the
    /// test, from which a block of each stream is deducted, has had more than it is granted.
    pub(crate) fn granted_bytes(&self) -> Option<u64> {
        let surplus = u64::from(self.length) * 2;
        let share = self.share.bytes?;
        Some(whole_blocks(share, self.length).saturating_add(surplus))
    }

    pub(crate) fn flow(&self, stream: &Stream, cell: CounterCell) -> FlowStart {
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
                agreed_end: self.agreed_end(),
                target: Some(BitRate(self.parameters.rate)).filter(|rate| rate.0 > 0),
                ..FlowExtras::default()
            },
        }
    }

    /// What blocks and datagrams repeat: digits, or bytes that no compression on the path
    /// makes smaller.
    pub(crate) fn chunk(&self, length: usize) -> Vec<u8> {
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
}

/// The least number of whole blocks that hold so many bytes, in bytes.
fn whole_blocks(bytes: u64, block: u32) -> u64 {
    let block = u64::from(block.max(1));
    bytes.div_ceil(block).saturating_mul(block)
}

/// A stream has ended.
#[derive(Debug)]
pub(crate) struct StreamEnd {
    pub(crate) stream: Stream,
    /// What was reported of it; without the omitted start.
    pub(crate) total: Option<Row>,
    /// With the omitted start: datagrams sent or highest number, and datagrams lost.
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    /// Nothing came for longer than a receiver waits.
    pub(crate) starved: bool,
}

impl StreamEnd {
    /// A stream that never ran.
    pub(crate) fn lost(stream: Stream) -> Self {
        Self {
            stream,
            total: None,
            packets: 0,
            lost: 0,
            starved: false,
        }
    }

    /// The stream's entry in the results message.
    pub(crate) fn results(&self) -> StreamResults {
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

/// Where ends are reported, and who is woken by them.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) sender: mpsc::Sender<StreamEnd>,
    pub(crate) waker: Arc<Waker>,
}

impl Ends {
    pub(crate) fn send(&self, end: StreamEnd) {
        // Nobody listens when the test has been given up.
        let _ = self.sender.send(end);
        self.waker.wake();
    }
}

/// Whether a receiver gave up.
pub(crate) fn is_starved(ending: &Ending, idle_timeout: Duration) -> bool {
    matches!(ending.cause, Cause::Vanished(silence) if silence >= idle_timeout)
}

/// Reads how many bytes the streams of a test have moved.
#[derive(Clone, Default)]
pub(crate) struct ByteCounters(Arc<Mutex<Vec<ByteCounter>>>);

struct ByteCounter {
    sends: bool,
    bytes: Box<dyn Fn() -> u64 + Send>,
}

impl ByteCounters {
    pub(crate) fn add(&self, sends: bool, bytes: impl Fn() -> u64 + Send + 'static) {
        let bytes = Box::new(bytes);
        self.lock().push(ByteCounter { sends, bytes });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ByteCounter>> {
        self.0.lock_unpoisoned()
    }

    /// Bytes of all streams, in both directions.
    pub(crate) fn total(&self) -> u64 {
        self.lock().iter().map(|counter| (counter.bytes)()).sum()
    }

    /// Bytes that have been received, and datagrams' that were lost on the way.
    pub(crate) fn received(&self) -> u64 {
        let byte_counters = self.lock();
        let receivers = byte_counters.iter().filter(|counter| !counter.sends);
        receivers.map(|counter| (counter.bytes)()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_rounded_up_to_blocks() {
        assert_eq!(whole_blocks(204_800, 131_072), 262_144);
        assert_eq!(whole_blocks(262_144, 131_072), 262_144);
        assert_eq!(whole_blocks(1, 0), 1);
        assert_eq!(whole_blocks(u64::MAX, 131_072), u64::MAX);
    }
}
