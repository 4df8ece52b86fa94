//! The extended header that follows the base header since 2.0.13.

use tapeline_base::{BitRate, Tos};

use crate::native::Mark;

use crate::iperf2::field::{half, put_half, put_word, word};
use crate::iperf2::flags::{LowerFlags, UpperFlags};
use crate::iperf2::limits;
use crate::iperf2::settings::TestMode;
use crate::iperf2::version::{PeerVersion, version_words};

/// The extended header (40 bytes; 36 up to 2.1.x, without the barrier word).
///
/// | Offset | Field |
/// |---|---|
/// | 0, 4 | type and length, 0 since 2.1; or a tapeline's [`Mark`] |
/// | 8, 10 | upper and lower flags |
/// | 12, 16 | version words |
/// | 20 | reserved, 0 |
/// | 22 | type of service |
/// | 24, 28 | rate: low 32 bits, then the upper bits shifted left by 8 |
/// | 32 | write prefetch in bytes (TCP) |
/// | 36 | barrier wait in microseconds (TCP, 2.2) |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExtendedHeader {
    pub(crate) upper: UpperFlags,
    pub(crate) lower: LowerFlags,
    pub(crate) version: Option<PeerVersion>,
    pub(crate) tos: Tos,
    pub(crate) rate: u64,
    pub(crate) write_prefetch: u32,
    pub(crate) barrier: u32,
    pub(crate) mark: Option<Mark>,
}

impl ExtendedHeader {
    /// Reads the header at `at`; absent words are zero.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        let upper_rate = u64::from(word(bytes, at + 28) >> 8);
        Self {
            upper: UpperFlags(half(bytes, at + 8)),
            lower: LowerFlags(half(bytes, at + 10)),
            version: PeerVersion::from_words(word(bytes, at + 12), word(bytes, at + 16)),
            tos: Tos(half(bytes, at + 22) as u8),
            rate: upper_rate << 32 | u64::from(word(bytes, at + 24)),
            write_prefetch: word(bytes, at + 32).min(limits::MAX_WRITE_PREFETCH),
            barrier: word(bytes, at + 36).min(limits::MAX_BARRIER_MICROS),
            mark: Mark::from_words(word(bytes, at), word(bytes, at + 4)),
        }
    }

    /// Writes the header at `at`, as far as the buffer reaches. The words that it does
    /// not own (type and length without a mark, reserved) are left alone.
    pub(crate) fn write(&self, bytes: &mut [u8], at: usize) {
        let rate = self.rate.min(limits::MAX_RATE);
        let (version_upper, version_lower) = version_words(self.version);
        if let Some((name, number)) = self.mark.map(Mark::to_words) {
            put_word(bytes, at, name);
            put_word(bytes, at + 4, number);
        }
        put_half(bytes, at + 8, self.upper.0);
        put_half(bytes, at + 10, self.lower.0);
        put_word(bytes, at + 12, version_upper);
        put_word(bytes, at + 16, version_lower);
        put_half(bytes, at + 22, u16::from(self.tos.0));
        put_word(bytes, at + 24, rate as u32);
        put_word(bytes, at + 28, ((rate >> 32) as u32) << 8);
        put_word(bytes, at + 32, self.write_prefetch);
        put_word(bytes, at + 36, self.barrier);
    }

    /// The rate; `None` when the client gave none.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        (self.rate != 0).then_some(BitRate(self.rate))
    }

    /// Reverse or full-duplex; `None` for the older modes.
    pub(crate) fn mode(&self) -> Option<TestMode> {
        if self.upper.contains(UpperFlags::FULL_DUPLEX) {
            Some(TestMode::FullDuplex)
        } else if self.upper.contains(UpperFlags::REVERSE) {
            Some(TestMode::Reverse)
        } else {
            None
        }
    }

    /// The upper flag that asks for `mode`.
    pub(crate) fn mode_flags(mode: TestMode) -> UpperFlags {
        match mode {
            TestMode::Reverse => UpperFlags::REVERSE,
            TestMode::FullDuplex => UpperFlags::FULL_DUPLEX,
            TestMode::Normal | TestMode::Dual | TestMode::Tradeoff => UpperFlags::NONE,
        }
    }

    /// Whether the words that no client fills are empty and the version is a 2.x:
    /// payload that only looks like a header fails this. `typed` peers (before 2.1)
    /// number the header as message type 1 of 28 bytes.
    pub(crate) fn is_plausible(bytes: &[u8], at: usize, typed: bool) -> bool {
        let kind = (word(bytes, at), word(bytes, at + 4));
        let marked = Mark::from_words(kind.0, kind.1).is_some();
        let kind_fits = kind == (0, 0) || marked || (typed && kind == (1, 28));
        kind_fits
            && word(bytes, at + 12) >> 16 == 2
            && half(bytes, at + 20) == 0
            && half(bytes, at + 22) <= 0xff
    }
}
