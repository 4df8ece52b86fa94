//! The base header: six words, unchanged since 1.7.

use crate::iperf2::field::{put_word, word};
use crate::iperf2::flags::Flags;
use crate::iperf2::limits;
use crate::iperf2::settings::{Amount, TestMode, TransferId};

/// The base header of a client (24 bytes, every version).
///
/// | Offset | Field |
/// |---|---|
/// | 0 | flags |
/// | 4 | threads, or bit 31, transfer id (bits 20..=30) and threads (bits 0..=19) |
/// | 8 | port for the legacy reverse connection |
/// | 12 | buffer length, 0 = the receiver's default |
/// | 16 | window or rate: 0 since 2.1, before that `-w` (TCP) or bit/s (UDP) |
/// | 20 | amount |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaseHeader {
    pub(crate) flags: Flags,
    pub(crate) threads: u32,
    pub(crate) transfer_id: Option<TransferId>,
    /// The raw word; only 1..=65535 is a port.
    pub(crate) port: u32,
    pub(crate) buffer_length: u32,
    pub(crate) window_or_rate: u32,
    pub(crate) amount: Amount,
}

impl BaseHeader {
    const ID_PRESENT: u32 = 0x8000_0000;
    const ID_SHIFT: u32 = 20;

    /// Reads the header at `at`; absent words are zero.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        let threads = word(bytes, at + 4);
        let with_id = threads & Self::ID_PRESENT != 0;
        Self {
            flags: Flags(word(bytes, at)),
            threads: if with_id {
                threads & limits::MAX_THREADS_WITH_ID
            } else {
                threads
            },
            transfer_id: with_id.then(|| TransferId::new((threads >> Self::ID_SHIFT) as u16)),
            port: word(bytes, at + 8),
            buffer_length: word(bytes, at + 12),
            window_or_rate: word(bytes, at + 16),
            amount: Amount::from_word(word(bytes, at + 20)),
        }
    }

    /// Writes the header at `at`, as far as the buffer reaches.
    pub(crate) fn write(&self, bytes: &mut [u8], at: usize) {
        let threads = match self.transfer_id {
            Some(id) => {
                Self::ID_PRESENT
                    | u32::from(id.get()) << Self::ID_SHIFT
                    | self.threads.min(limits::MAX_THREADS_WITH_ID)
            }
            None => self.threads & !Self::ID_PRESENT,
        };
        put_word(bytes, at, self.flags.0);
        put_word(bytes, at + 4, threads);
        put_word(bytes, at + 8, self.port);
        put_word(bytes, at + 12, self.buffer_length);
        put_word(bytes, at + 16, self.window_or_rate);
        put_word(bytes, at + 20, self.amount.to_word());
    }

    /// Whether threads and port hold numbers that a client would send.
    pub(crate) fn is_plausible(&self) -> bool {
        let threads = 1..=u32::from(u16::MAX);
        (threads.contains(&self.threads) || self.transfer_id.is_some()) && self.port_number() != 0
    }

    /// The port, 0 when the word holds none.
    pub(crate) fn port_number(&self) -> u16 {
        u16::try_from(self.port).unwrap_or(0)
    }

    /// The buffer length cut to `limit`; `None` when the client left it open.
    pub(crate) fn buffer_length(&self, limit: u32) -> Option<u32> {
        (self.buffer_length != 0).then(|| self.buffer_length.min(limit))
    }

    /// Dual or tradeoff, if the flags really mean it.
    pub(crate) fn legacy_mode(&self) -> Option<TestMode> {
        let legacy = self.flags.contains(Flags::VERSION1)
            && !self.flags.intersects(Flags::VERSION2 | Flags::PEER_DETECT)
            && self.transfer_id.is_none();
        legacy.then(|| {
            if self.flags.contains(Flags::RUN_NOW) {
                TestMode::Dual
            } else {
                TestMode::Tradeoff
            }
        })
    }

    /// The flags that ask for `mode` in every version.
    pub(crate) fn legacy_flags(mode: TestMode) -> Flags {
        match mode {
            TestMode::Dual => Flags::VERSION1 | Flags::RUN_NOW,
            TestMode::Tradeoff => Flags::VERSION1,
            TestMode::Normal | TestMode::Reverse | TestMode::FullDuplex => Flags::NONE,
        }
    }
}
