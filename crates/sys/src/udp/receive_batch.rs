//! Receiving many datagrams with one call, into memory that is allocated once.

use std::io;
use std::time::{Duration, Instant};

use super::datagram::Datagram;
use super::socket::UdpSocket;
use crate::platform::receive_batch as system;
use crate::poller::{Interest, Wait};
use crate::wait_mode::WaitMode;

/// What a call is to fill, bytes, judged by the one before: more would leave the nearest cache.
const NEAR: usize = 64 << 10;
/// How long a socket at which datagrams arrive joined is left alone when it is empty. Each group
/// would wake the receiver, which costs the sender's processor more than the receiver sleeps.
const REST: Duration = Duration::from_micros(30);

/// A set of receive slots, reused by every call. Owned by one thread; usable with any socket.
///
/// Linux: `recvmmsg(MSG_WAITFORONE)`; elsewhere one datagram per system call.
#[derive(Debug)]
pub struct ReceiveBatch {
    slots: system::Slots,
    /// Slots to fill with the next call.
    max: usize,
    /// May rest.
    rests: bool,
    /// What is done while nothing arrives.
    mode: WaitMode,
    /// What came last was joined.
    joined: bool,
    /// A receive reported what came back for a datagram.
    returned: bool,
}

impl ReceiveBatch {
    /// Slot size for coalescing sockets: the largest joined buffer.
    pub const COALESCED_SLOT: usize = 65_536;

    /// `slots` (1 to 1024) slots of `slot_size` bytes (1 to 65536) each.
    #[must_use]
    pub fn new(slots: usize, slot_size: usize) -> Self {
        let slots = slots.clamp(1, 1024);
        let slot_size = slot_size.clamp(1, Self::COALESCED_SLOT);
        Self {
            slots: system::Slots::new(slots, slot_size),
            max: slots,
            rests: true,
            mode: WaitMode::Auto,
            joined: false,
            returned: false,
        }
    }

    /// The same, but woken by whatever arrives: while joined datagrams arrive, an empty socket is
    /// otherwise left alone for some ten microseconds. The kernel's stamps do not suffer from that.
    #[must_use]
    pub fn without_rest(self) -> Self {
        Self {
            rests: false,
            ..self
        }
    }

    /// The same, waiting so for what arrives.
    #[must_use]
    pub fn waiting(self, mode: WaitMode) -> Self {
        Self { mode, ..self }
    }

    /// Slots that hold whatever a coalescing socket delivers. Memory is touched only when used.
    #[must_use]
    pub fn coalescing(slots: usize) -> Self {
        Self::new(slots, Self::COALESCED_SLOT)
    }

    /// Replaces the contents by what has arrived; returns the number of filled slots, 0 when
    /// nothing arrived within `wait`.
    ///
    /// [`Wait::Forever`] waits as long as the socket's receive timeout lets it; it costs the
    /// fewest system calls. [`Wait::AtMost`] costs an additional `poll(2)` when idle, and rests
    /// before it (see [`ReceiveBatch::without_rest`]), unless the batch stays awake
    /// (see [`ReceiveBatch::waiting`]).
    ///
    /// # Errors
    /// `ConnectionRefused` when an earlier datagram met a closed port; others of `recvmsg(2)`.
    pub fn receive(&mut self, socket: &UdpSocket, wait: Wait) -> io::Result<usize> {
        match wait {
            Wait::Forever => self.fill(socket, true),
            Wait::Never => self.fill(socket, false),
            Wait::AtMost(longest) if self.mode.stays_awake() => self.look(socket, longest),
            Wait::AtMost(longest) => {
                let rests = self.rests && self.joined;
                let mut count = self.fill(socket, false)?;
                if count == 0 && rests {
                    std::thread::sleep(REST.min(longest));
                    count = self.fill(socket, false)?;
                    self.joined &= count > 0;
                }
                if count == 0 && socket.wait_ready(Interest::READ, wait)? {
                    return self.fill(socket, false);
                }
                Ok(count)
            }
        }
    }

    /// Looks for datagrams until some are there.
    fn look(&mut self, socket: &UdpSocket, longest: Duration) -> io::Result<usize> {
        let begun = Instant::now();
        loop {
            let count = self.fill(socket, false)?;
            if count > 0 || begun.elapsed() >= longest {
                return Ok(count);
            }
            self.mode.pause();
        }
    }

    fn fill(&mut self, socket: &UdpSocket, blocking: bool) -> io::Result<usize> {
        self.slots.clear();
        let mut failures = 0;
        loop {
            match self.slots.fill(socket.inner(), blocking, self.max) {
                Ok(count) => {
                    self.note();
                    return Ok(count);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(0),
                    io::ErrorKind::Interrupted => {}
                    _ if crate::platform::stream::is_timeout(&error) => return Ok(0),
                    _ if socket.receives_again(&error, failures) => {
                        self.returned = true;
                        failures += 1;
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Draws the conclusions from what has arrived.
    #[inline]
    fn note(&mut self) {
        let Some(last) = self.slots.len().checked_sub(1) else {
            return;
        };
        let last = self.slots.datagram(last);
        self.joined = last.segment_size.is_some();
        self.max = NEAR / last.payload.len().max(1);
    }

    /// Whether, since it was asked last, a receive has reported what came back for a datagram: see
    /// [`UdpSocket::receive_refusals`]. When nothing at all came, something may have come back, too.
    pub fn take_returned(&mut self) -> bool {
        std::mem::take(&mut self.returned)
    }

    /// Filled slots of the last [`ReceiveBatch::receive`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the last receive brought nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the last receive brought, in order of arrival.
    #[inline]
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = Datagram<'_>> {
        (0..self.slots.len()).map(|index| self.slots.datagram(index))
    }

    /// Datagrams that the socket had dropped for want of buffer space when the newest one
    /// arrived: cumulative, modulo 2^32. 0 until the kernel reports any; the socket must
    /// have been asked for [`crate::ReceiveFeatures::drops`].
    #[must_use]
    pub fn drops(&self) -> u32 {
        self.slots.drops()
    }
}

#[cfg(test)]
mod tests;
