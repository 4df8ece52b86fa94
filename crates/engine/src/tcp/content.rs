//! What a TCP sender writes: digits, stamped bursts, or somebody's input.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use tapeline_base::WallTime;
use tapeline_sys::{SplicedPayload, TcpConn};

use crate::payload_source::{Filled, PayloadSource};
use crate::work::Call;

/// A burst that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstStart {
    /// Its number, from 1.
    pub id: u64,
    /// Its bytes, the stamp included.
    pub size: u32,
    /// Bytes of the flow at its end.
    pub end: u64,
    /// When it is written.
    pub wall: WallTime,
}

/// Writes the protocol's bytes at the front of a burst.
pub trait BurstStamp: Send + Debug {
    /// Bytes of a stamp: no burst is shorter.
    fn length(&self) -> usize;
    /// Writes the stamp into the first [`length`](Self::length) bytes.
    fn stamp(&mut self, bytes: &mut [u8], burst: &BurstStart);
}

/// What the bytes of a TCP sender are.
#[derive(Debug)]
pub enum StreamContent {
    /// The same chunk again and again; small, so that it stays in the nearest cache.
    Repeated(Arc<[u8]>),
    /// The same without copies.
    Spliced(Spliced),
    /// Bursts that begin with a stamp, and input instead of digits where there is any.
    Blocks(Blocks),
}

/// A chunk whose pages the kernel sends themselves.
#[derive(Debug)]
pub struct Spliced {
    payload: SplicedPayload,
    chunk: Arc<[u8]>,
}

/// One block in memory, rewritten as it is needed.
#[derive(Debug)]
pub struct Blocks {
    buffer: Box<[u8]>,
    stamp: Option<Box<dyn BurstStamp>>,
    source: Option<PayloadSource>,
}

/// What can be written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// So many bytes.
    Bytes(usize),
    /// Nothing yet.
    Pending,
    /// Nothing more.
    End,
}

impl StreamContent {
    /// `chunk` again and again in writes of `block` bytes, without copies. Where the system
    /// cannot do that, or on a connection that shares its worker, it is copied all the same.
    #[must_use]
    pub fn spliced(chunk: Arc<[u8]>, block: usize) -> Self {
        match SplicedPayload::new(&chunk, block) {
            Ok(payload) => Self::Spliced(Spliced { payload, chunk }),
            Err(_) => Self::Repeated(chunk),
        }
    }

    /// Bursts with stamps; writes are at most as long as `block`, whose bytes are the rest
    /// of each burst.
    #[must_use]
    pub fn stamped(block: Box<[u8]>, stamp: Box<dyn BurstStamp>) -> Self {
        Self::Blocks(Blocks {
            buffer: block,
            stamp: Some(stamp),
            source: None,
        })
    }

    /// Input, in writes of at most `block` bytes, with a stamp before each burst where one is
    /// given.
    #[must_use]
    pub fn input(block: usize, source: PayloadSource, stamp: Option<Box<dyn BurstStamp>>) -> Self {
        let room = stamp.as_ref().map_or(1, |stamp| stamp.length() + 1);
        Self::Blocks(Blocks {
            buffer: vec![0; block.max(room)].into(),
            stamp,
            source: Some(source),
        })
    }

    /// Bytes of the stamp at the front of a burst.
    pub(crate) fn stamp_length(&self) -> usize {
        match self {
            Self::Repeated(_) | Self::Spliced(_) => 0,
            Self::Blocks(blocks) => blocks.stamp.as_ref().map_or(0, |stamp| stamp.length()),
        }
    }

    /// Prepares a write of up to `want` bytes; `start` when a burst begins with it. Input that
    /// ends cuts the write.
    pub(crate) fn prepare(&mut self, want: usize, start: Option<&BurstStart>) -> Prepared {
        let Self::Blocks(blocks) = self else {
            return Prepared::Bytes(want);
        };
        let mut want = want.min(blocks.buffer.len());
        let room = match (start, &blocks.stamp) {
            (Some(_), Some(stamp)) => stamp.length().min(want),
            _ => 0,
        };
        if let Some(source) = &mut blocks.source {
            match source.fill(&mut blocks.buffer[room..want]) {
                Filled::Bytes(count) => want = room + count,
                Filled::Pending => return Prepared::Pending,
                Filled::End => return Prepared::End,
            }
        }
        if let (Some(start), Some(stamp)) = (start, &mut blocks.stamp) {
            // A burst of one write is as long as that.
            let cut = start.size as usize <= blocks.buffer.len();
            let size = if cut { want as u32 } else { start.size };
            let end = start.end - u64::from(start.size - size);
            let start = BurstStart {
                size,
                end,
                ..*start
            };
            stamp.stamp(&mut blocks.buffer[..room], &start);
        }
        Prepared::Bytes(want)
    }

    /// Sends bytes `from` up to `to` of the prepared write.
    pub(crate) fn send(
        &mut self,
        conn: &TcpConn,
        call: Call,
        from: usize,
        to: usize,
    ) -> io::Result<usize> {
        match (&mut *self, call) {
            (Self::Spliced(spliced), Call::Blocking) => {
                let sent = spliced.payload.send(conn, to - from);
                if sent.as_ref().is_err_and(cannot_splice) {
                    *self = Self::Repeated(Arc::clone(&spliced.chunk));
                    return self.send(conn, call, from, to);
                }
                sent
            }
            (Self::Spliced(spliced), Call::NonBlocking) => {
                conn.send_repeated_nonblocking(&spliced.chunk, from, to)
            }
            (Self::Repeated(chunk), Call::Blocking) => conn.send_repeated(chunk, from, to),
            (Self::Repeated(chunk), Call::NonBlocking) => {
                conn.send_repeated_nonblocking(chunk, from, to)
            }
            (Self::Blocks(blocks), Call::Blocking) => conn.send(&blocks.buffer[from..to]),
            (Self::Blocks(blocks), Call::NonBlocking) => {
                conn.send_nonblocking(&blocks.buffer[from..to])
            }
        }
    }

    /// Why the input ended before its end, if it did.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        match self {
            Self::Repeated(_) | Self::Spliced(_) => None,
            Self::Blocks(blocks) => blocks.source.as_mut()?.take_failure(),
        }
    }
}

/// Whether a socket takes no pages (`splice(2)`).
fn cannot_splice(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}
