//! What a server lets a test have.

use std::num::NonZeroU64;

/// What a test may have before it is cut, in each direction and shared alike by its streams;
/// `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Time, nanoseconds.
    pub nanoseconds: Option<NonZeroU64>,
    /// Payload, bytes.
    pub bytes: Option<NonZeroU64>,
    /// Rate, bits per second. TCP is slowed down to it, not cut.
    pub rate: Option<NonZeroU64>,
}

impl Granted {
    pub(super) const LENGTH: usize = 24;

    /// Three numbers, 0 where there is no limit.
    pub(super) fn read([nanoseconds, bytes, rate]: [u64; 3]) -> Self {
        Self {
            nanoseconds: NonZeroU64::new(nanoseconds),
            bytes: NonZeroU64::new(bytes),
            rate: NonZeroU64::new(rate),
        }
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        for limit in [self.nanoseconds, self.bytes, self.rate] {
            let number = limit.map_or(0, NonZeroU64::get);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}
