//! The end of a TCP sender's data: waiting for the peer to have read it all.

use std::time::Duration;

use tapeline_base::{Clock, MonoTime};
use tapeline_sys::{Interest, SystemClock, TcpConn, Wait};

use crate::stop::Stop;
use crate::work::{Call, Cause, RECEIVE_LIMIT, SILENT, is_not_ready};

/// Longest wait for the peer's close once the flow was asked to stop: what is in the send
/// buffer goes out all the same.
const STOPPED_DRAIN: Duration = Duration::from_millis(20);

/// Time between two looks at whether a closing connection still moves.
const DRAIN_LOOK: Duration = Duration::from_millis(200);

/// The wait for the peer's close, after the own direction was closed.
#[derive(Debug)]
pub(crate) struct Drain {
    /// The data is out.
    since: MonoTime,
    until: MonoTime,
    /// Bytes of it that had arrived at `moved`, by a look at `looked`.
    acked: Option<u64>,
    moved: MonoTime,
    looked: MonoTime,
    cause: Cause,
}

/// What a step of it has brought.
#[derive(Debug)]
pub(crate) enum Drained {
    NotReady,
    /// So many bytes of the peer's.
    Received(usize),
    /// It ended at this time.
    Over(MonoTime),
}

impl Drain {
    /// Waits from `now` on for at most `limit`, for data that ended by `cause`.
    pub(crate) fn new(now: MonoTime, limit: Duration, cause: Cause) -> Self {
        let limit = match cause {
            Cause::Stopped => limit.min(STOPPED_DRAIN),
            _ => limit,
        };
        Self {
            since: now,
            until: now + limit,
            acked: None,
            moved: now,
            looked: now,
            cause,
        }
    }

    /// The same for a peer that took its last byte at `moved`, having acknowledged `acked` bytes: the
    /// silence until now counts.
    pub(crate) fn unmoved_since(self, moved: MonoTime, acked: Option<u64>) -> Self {
        let silence = self.since.since(moved);
        let limit = self.until.since(self.since);
        Self {
            until: self.since + limit.saturating_sub(silence).max(limit.min(DRAIN_LOOK)),
            acked,
            moved,
            ..self
        }
    }

    /// When the data was out.
    pub(crate) fn since(&self) -> MonoTime {
        self.since
    }

    /// Why the flow ends.
    pub(crate) fn into_cause(self) -> Cause {
        self.cause
    }

    /// When [`step`](Self::step) has something to do even if nothing comes.
    pub(crate) fn next_look(&self) -> MonoTime {
        self.until.min(self.looked + DRAIN_LOOK)
    }

    /// Reads what the peer has sent into `scratch`.
    pub(crate) fn step(
        &mut self,
        conn: &TcpConn,
        stop: &Stop,
        now: MonoTime,
        call: Call,
        scratch: &mut [u8],
    ) -> Drained {
        if stop.is_raised() {
            self.until = self.until.min(now + STOPPED_DRAIN);
        }
        if now >= self.until || now.since(self.looked) >= DRAIN_LOOK {
            self.looked = now;
            let arrived = conn.tcp_info().and_then(|info| info.bytes_acked);
            if arrived != self.acked {
                (self.acked, self.moved) = (arrived, now);
            }
        }
        if now >= self.until {
            // Nobody closed: the test ended when the data did. A peer that still takes
            // data is slow, not gone.
            let silence = now.since(self.moved);
            if matches!(self.cause, Cause::Complete) && silence >= SILENT {
                self.cause = Cause::Vanished(silence);
            }
            return Drained::Over(self.since);
        }
        let result = match call {
            // Nothing may be waited for longer than the drain itself.
            Call::Blocking => {
                let max = self.until.since(now).min(RECEIVE_LIMIT);
                match conn.wait_ready(Interest::READ, Wait::AtMost(max)) {
                    Ok(false) => return Drained::NotReady,
                    _ => conn.recv_nonblocking(scratch),
                }
            }
            Call::NonBlocking => conn.recv_nonblocking(scratch),
        };
        match result {
            Ok(count @ 1..) => Drained::Received(count),
            Err(error) if is_not_ready(&error) => Drained::NotReady,
            // The peer has closed or reset: the data is out.
            Ok(0) | Err(_) => Drained::Over(SystemClock.now()),
        }
    }
}
