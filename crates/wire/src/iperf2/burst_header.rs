//! The header of a burst inside a TCP stream.

use super::error::DecodeError;
use super::field::{put_word, word};
use super::limits::{BURST_HEADER, MAX_BURST};
use super::settings::Timestamp;

/// The 92 bytes at the start of each burst when the stream's client header announced
/// trip-times, isochronous traffic or periodic bursts (2.1 and later). The first stands
/// directly behind the client header, the next `size` bytes later.
///
/// | Offset | Field |
/// |---|---|
/// | 12, 16 | start of the traffic: seconds, microseconds |
/// | 20, 24 | write time: seconds, microseconds |
/// | 40 | burst period in microseconds, isochronous and periodic bursts only |
/// | 44 | burst id |
/// | 48 | burst size |
/// | 52, 56 | bytes sent at the end of the burst, low word first |
///
/// The other bytes hold whatever the sender's buffer held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstHeader {
    /// When the sender's traffic began.
    pub report_start: Timestamp,
    /// When this burst was written: the start of its one-way delay.
    pub write_time: Timestamp,
    /// Burst period in microseconds; `None` where the sender writes none.
    pub period_micros: Option<u32>,
    /// Number of the burst or time slot, from 1. Isochronous slots may be skipped.
    pub id: u32,
    /// Bytes of the burst including these 92, [`BURST_HEADER`]..=[`MAX_BURST`].
    pub size: u32,
    /// Bytes sent at the end of the burst, plus 1 or 2. Not to be relied on.
    pub sequence: u64,
}

impl BurstHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = BURST_HEADER;

    /// Decodes a header. `with_period` says whether the stream is isochronous or periodic;
    /// otherwise the period's bytes are fill.
    ///
    /// # Errors
    /// [`DecodeError::BurstSize`] when the burst is smaller than this header, or absurd; the framing
    /// of the stream is lost then.
    #[inline]
    pub fn read(bytes: &[u8; BURST_HEADER], with_period: bool) -> Result<Self, DecodeError> {
        let size = word(bytes, 48);
        if !(BURST_HEADER as u32..=MAX_BURST).contains(&size) {
            return Err(DecodeError::BurstSize(size));
        }
        Ok(Self {
            report_start: Timestamp::read(bytes, 12),
            write_time: Timestamp::read(bytes, 20),
            period_micros: with_period.then(|| word(bytes, 40)),
            id: word(bytes, 44),
            size,
            sequence: u64::from(word(bytes, 56)) << 32 | u64::from(word(bytes, 52)),
        })
    }

    /// Writes the header's own fields over a filled buffer, as far as it reaches.
    #[inline]
    pub fn write(&self, bytes: &mut [u8]) {
        self.report_start.write(bytes, 12);
        self.write_time.write(bytes, 20);
        if let Some(period) = self.period_micros {
            put_word(bytes, 40, period);
        }
        put_word(bytes, 44, self.id);
        put_word(bytes, 48, self.size);
        put_word(bytes, 52, self.sequence as u32);
        put_word(bytes, 56, (self.sequence >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_holds_at_least_its_header() {
        let mut bytes = [0; BURST_HEADER];
        for (size, fits) in [
            (0, false),
            (91, false),
            (92, true),
            (MAX_BURST, true),
            (u32::MAX, false),
        ] {
            BurstHeader {
                size,
                ..BurstHeader::default()
            }
            .write(&mut bytes);
            assert_eq!(BurstHeader::read(&bytes, false).is_ok(), fits, "{size}");
        }
    }
}
