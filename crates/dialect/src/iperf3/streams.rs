//! The data of a test: one flow for each stream at this end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag, MonoTime};
use tapeline_engine::{Intervals, Stop};
use tapeline_report::{Endpoints, Notice};
use tapeline_stats::Random;
use tapeline_sys::{TcpConn, UdpSocket, reason};
use tapeline_wire::iperf3::Parameters;

use super::meters::Meters;
use super::stream_end::{Ends, StreamEnd};
use crate::context::Context;
use crate::policy::Grant;
use crate::reporter::{CounterCell, FlowExtras, FlowStart, GroupKey};

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
    /// What a stream may have of what the server grants.
    pub(super) share: Grant,
    pub(super) interval: Option<Duration>,
    pub(super) start: MonoTime,
    /// This end keeps the time and the amount (clients).
    pub(super) decides: bool,
    /// A receiver gives up after so long without data.
    pub(super) patience: Duration,
    /// A sending end is ended when its peer takes nothing for so long.
    pub(super) stalled: Duration,
    pub(super) file: Option<PathBuf>,
    pub(super) stop: Stop,
    /// When the other end's word reached this one; a stream notices a little later.
    pub(super) over: Arc<OnceLock<MonoTime>>,
    /// Sums of senders and of receivers.
    pub(super) sums: Sums,
    pub(super) meters: Meters,
}

/// The sums that a test's streams belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub(super) sent: GroupKey,
    pub(super) received: GroupKey,
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
    pub(super) fn is_many(&self) -> bool {
        self.parameters.parallel as usize > tapeline_engine::THREADED_FLOWS
    }

    fn omit(&self) -> Duration {
        Duration::from_secs(self.parameters.omit.into())
    }

    pub(super) fn intervals(&self) -> Intervals {
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

    /// Rate of a stream that this end sends, bits per second: as agreed and granted; 0 is unlimited.
    pub(super) fn rate(&self) -> u64 {
        let agreed = Some(BitRate(self.parameters.rate)).filter(|rate| rate.0 > 0);
        let rate = agreed.into_iter().chain(self.share.rate).min();
        rate.unwrap_or_default().0
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
    pub(super) fn own_amount(&self) -> Option<u64> {
        let alone = self.parameters.parallel == 1 && self.parameters.omit == 0;
        self.bytes().filter(|_| self.decides && alone)
    }

    /// After how many bytes a stream is over: the test's amount in equal parts, in whole blocks
    /// or datagrams where those are counted.
    pub(super) fn bytes(&self) -> Option<u64> {
        let parameters = &self.parameters;
        let streams = u64::from(parameters.parallel.max(1));
        let length = u64::from(self.length.max(1));
        match (parameters.bytes, parameters.blocks) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.div_ceil(streams).saturating_mul(length)),
            (bytes, _) => Some(bytes.div_ceil(streams)),
        }
    }

    /// The same for a sender. One that the other end stops sends whole blocks: a reference
    /// client takes what it receives by the block, and would wait for the rest of one for ever.
    pub(super) fn bytes_to_send(&self) -> Option<u64> {
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
    pub(super) fn granted_bytes(&self) -> Option<u64> {
        let beyond = u64::from(self.length) * 2;
        let share = self.share.bytes?;
        Some(whole_blocks(share, self.length).saturating_add(beyond))
    }

    pub(super) fn flow(&self, stream: &Stream, cell: CounterCell) -> FlowStart {
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
                target: Some(BitRate(self.parameters.rate))
                    .filter(|rate| stream.sends && rate.0 > 0),
                ..FlowExtras::default()
            },
        }
    }

    /// What blocks and datagrams repeat: digits, or bytes that no compression on the path
    /// makes smaller.
    pub(super) fn chunk(&self, length: usize) -> Vec<u8> {
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
}

/// The least number of whole blocks that hold so many bytes, in bytes.
fn whole_blocks(bytes: u64, block: u32) -> u64 {
    let block = u64::from(block.max(1));
    bytes.div_ceil(block).saturating_mul(block)
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
