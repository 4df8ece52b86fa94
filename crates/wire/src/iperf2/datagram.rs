//! Number and send time at the front of every UDP datagram.

use super::field::checked_word;

/// Number and send time of a datagram.
///
/// | Offset | Field |
/// |---|---|
/// | 0 | id, low 32 bits |
/// | 4, 8 | send time: seconds, microseconds |
/// | 12 | id, high 32 bits (2.0.13 and later) |
///
/// Ids count from 1 (from 0 up to 2.0.5). A negative id ends the flow: it is the
/// negated id that would have come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramStamp {
    /// Number of the datagram.
    pub id: i64,
    /// Send time, seconds since 1970 modulo 2^32.
    pub seconds: u32,
    /// Send time, microseconds.
    pub micros: u32,
}

impl DatagramStamp {
    /// Bytes of the layout of 2.0.13 and later.
    pub const LENGTH_16: usize = 16;
    /// Bytes of the layout up to 2.0.5.
    pub const LENGTH_12: usize = 12;

    /// Writes the 16-byte layout; a shorter datagram takes its front.
    #[inline]
    pub fn write_16(&self, datagram: &mut [u8]) {
        let mut front = [0; Self::LENGTH_16];
        front[..12].copy_from_slice(&self.front());
        front[12..].copy_from_slice(&((self.id >> 32) as u32).to_be_bytes());
        write_front(datagram, &front);
    }

    /// Writes the 12-byte layout, the id cut to 32 bits; a shorter datagram takes its front.
    #[inline]
    pub fn write_12(&self, datagram: &mut [u8]) {
        write_front(datagram, &self.front());
    }

    /// Reads the 16-byte layout. `wide` says whether the flow has 64-bit ids, which its first
    /// datagram decides. A datagram without the upper half has a 32-bit id, one without
    /// time was sent at zero; below four bytes there is no id, hence `None`.
    #[inline]
    #[must_use]
    pub fn read_16(datagram: &[u8], wide: bool) -> Option<Self> {
        let mut stamp = Self::read_12(datagram)?;
        if wide && let Some(upper) = checked_word(datagram, 12) {
            stamp.id = i64::from(upper as i32) << 32 | i64::from(stamp.id as u32);
        }
        Some(stamp)
    }

    /// Reads the 12-byte layout, with a 32-bit id. Short datagrams as in
    /// [`DatagramStamp::read_16`].
    #[inline]
    #[must_use]
    pub fn read_12(datagram: &[u8]) -> Option<Self> {
        Some(Self {
            id: i64::from(checked_word(datagram, 0)? as i32),
            seconds: checked_word(datagram, 4).unwrap_or(0),
            micros: checked_word(datagram, 8).unwrap_or(0),
        })
    }

    /// Whether this datagram ends its flow.
    #[inline]
    #[must_use]
    pub const fn is_fin(&self) -> bool {
        self.id < 0
    }

    /// The number of an ending datagram, seen from the highest id received so far; `None`
    /// for data.
    ///
    /// 2.0.13 sets the top bit of a 32-bit id instead of negating it. Of the two readings
    /// the one closer to `highest` holds.
    #[must_use]
    pub fn fin_number(&self, highest: u64) -> Option<u64> {
        if !self.is_fin() {
            return None;
        }
        let negated = self.id.unsigned_abs();
        if self.id < i64::from(i32::MIN) {
            return Some(negated);
        }
        let magnitude = u64::from(self.id as u32 & 0x7fff_ffff);
        let nearer = magnitude.abs_diff(highest) < negated.abs_diff(highest);
        Some(if nearer { magnitude } else { negated })
    }

    #[inline]
    fn front(&self) -> [u8; Self::LENGTH_12] {
        let mut front = [0; Self::LENGTH_12];
        front[..4].copy_from_slice(&(self.id as u32).to_be_bytes());
        front[4..8].copy_from_slice(&self.seconds.to_be_bytes());
        front[8..].copy_from_slice(&self.micros.to_be_bytes());
        front
    }
}

/// Copies as much of `front` as the datagram holds.
#[inline]
fn write_front<const N: usize>(datagram: &mut [u8], front: &[u8; N]) {
    if let Some(room) = datagram.first_chunk_mut::<N>() {
        *room = *front;
    } else {
        datagram.copy_from_slice(&front[..datagram.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_64_bits_only_in_wide_flows() {
        let stamp = DatagramStamp {
            id: -5,
            seconds: 1,
            micros: 2,
        };
        let mut bytes = [0; 16];
        stamp.write_16(&mut bytes);
        assert_eq!(bytes[..4], [0xff, 0xff, 0xff, 0xfb]);
        assert_eq!(bytes[12..], [0xff; 4]);
        assert_eq!(DatagramStamp::read_16(&bytes, true), Some(stamp));
        let far = DatagramStamp {
            id: 0x1_0000_0003,
            ..stamp
        };
        far.write_16(&mut bytes);
        assert_eq!(DatagramStamp::read_16(&bytes, true), Some(far));
        assert_eq!(DatagramStamp::read_16(&bytes, false).unwrap().id, 3);
    }

    #[test]
    fn short_datagrams_keep_what_they_hold() {
        let stamp = DatagramStamp {
            id: -5,
            seconds: 7,
            micros: 8,
        };
        let mut bytes = [0; 16];
        for length in 0..16 {
            stamp.write_16(&mut bytes[..length]);
            let read = DatagramStamp::read_16(&bytes[..length], true);
            assert_eq!(
                read.map(|stamp| stamp.id),
                (length >= 4).then_some(-5),
                "{length}"
            );
            let seconds = if length >= 8 { 7 } else { 0 };
            assert_eq!(read.map_or(0, |stamp| stamp.seconds), seconds, "{length}");
        }
    }

    #[test]
    fn the_end_is_found_in_both_notations() {
        let fin = |id| DatagramStamp {
            id,
            ..DatagramStamp::default()
        };
        assert_eq!(fin(-5).fin_number(4), Some(5));
        assert_eq!(fin(-14).fin_number(13), Some(14));
        assert_eq!(
            fin(i64::from(0x8000_000d_u32 as i32)).fin_number(12),
            Some(13)
        );
        assert_eq!(
            fin(-0x1_0000_0000).fin_number(0xffff_fff0),
            Some(0x1_0000_0000)
        );
        assert_eq!(fin(i64::MIN).fin_number(1), Some(1 << 63));
        assert_eq!(fin(5).fin_number(4), None);
    }
}
