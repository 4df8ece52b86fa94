//! Isochronous traffic: its settings, and the frame that a datagram belongs to.

use super::field::{put_word, word};
use super::limits;
use super::settings::{Millionths, Timestamp};

/// Frame settings, sent by clients whose server has to produce the frames, and for
/// periodic bursts (32 bytes; TCP offset 80, UDP offset 128).
///
/// | Offset | Field |
/// |---|---|
/// | 0, 4 | frames (bursts) per second: whole, millionths |
/// | 8, 12 | mean: bit/s, or bytes of a periodic burst |
/// | 16, 20 | variance of the mean, bit/s |
/// | 24, 28 | gap between the packets of a frame, seconds |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IsochronousSettings {
    /// Frames or bursts per second.
    pub frames_per_second: Millionths,
    /// Mean rate in bit/s (isochronous) or bytes of a burst (periodic bursts).
    pub mean: Millionths,
    /// Standard deviation of the log-normal rate, in the unit of the mean.
    pub variance: Millionths,
    /// Gap between the packets of one frame, in seconds.
    pub burst_gap: Millionths,
}

impl IsochronousSettings {
    /// Bytes of the block.
    pub(super) const LENGTH: usize = 32;

    pub(super) fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            frames_per_second: Millionths::read(bytes, at),
            mean: Millionths::read(bytes, at + 8),
            variance: Millionths::read(bytes, at + 16),
            burst_gap: Millionths::read(bytes, at + 24),
        }
    }

    pub(super) fn write(&self, bytes: &mut [u8], at: usize) {
        self.frames_per_second.write(bytes, at);
        self.mean.write(bytes, at + 8);
        self.variance.write(bytes, at + 16);
        self.burst_gap.write(bytes, at + 24);
    }

    /// Whether frames can be produced from these settings: a frequency above zero and
    /// at most [`limits::MAX_FRAMES_PER_SECOND`], and a mean above zero. A server's
    /// own header carries no mean and is not usable in this sense.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        let most = Millionths::from_whole(limits::MAX_FRAMES_PER_SECOND);
        self.frames_per_second > Millionths(0)
            && self.frames_per_second <= most
            && self.mean > Millionths(0)
    }
}

/// The frame that a UDP datagram belongs to (32 bytes at offset 80; 2.0.13 and later, in 2.1
/// four bytes earlier, behind its shorter extended header).
///
/// | Offset | Field |
/// |---|---|
/// | 80 | frame period, microseconds |
/// | 84, 88 | start of the traffic: seconds, microseconds |
/// | 92 | id of the previous frame, 0 for the first |
/// | 96 | id of this frame, from 1; slots may be skipped |
/// | 100 | bytes of the frame |
/// | 104 | bytes of the frame that remain, including this datagram |
/// | 108 | reserved, never written |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IsochronousFrame {
    /// Frame period in microseconds.
    pub period_micros: u32,
    /// Start of the traffic.
    pub start: Timestamp,
    /// Id of the previous frame.
    pub previous_id: u32,
    /// Id of this frame.
    pub id: u32,
    /// Bytes of the frame.
    pub size: u32,
    /// Bytes of the frame that remain, including this datagram.
    pub remaining: u32,
}

impl IsochronousFrame {
    const AT: usize = 80;
    const AT_2_1: usize = 76;
    const LENGTH: usize = 32;
    /// Datagrams that end before this offset carry no frame.
    pub const END: usize = Self::AT + Self::LENGTH;

    /// Reads the block of a datagram. `None` when the datagram is too short for it, or
    /// the block cannot be: no bytes, or more bytes left than the frame has.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        Self::read_at(datagram, Self::AT)
    }

    /// As [`IsochronousFrame::read`], of a datagram of 2.1.
    #[must_use]
    pub fn read_2_1(datagram: &[u8]) -> Option<Self> {
        Self::read_at(datagram, Self::AT_2_1)
    }

    fn read_at(datagram: &[u8], at: usize) -> Option<Self> {
        if datagram.len() < at + Self::LENGTH {
            return None;
        }
        let frame = Self {
            period_micros: word(datagram, at),
            start: Timestamp::read(datagram, at + 4),
            previous_id: word(datagram, at + 12),
            id: word(datagram, at + 16),
            size: word(datagram, at + 20),
            remaining: word(datagram, at + 24),
        };
        let possible = frame.remaining != 0 && frame.remaining <= frame.size;
        possible.then_some(frame)
    }

    /// Writes the block into a datagram, as far as it reaches.
    pub fn write(&self, datagram: &mut [u8]) {
        self.write_at(datagram, Self::AT);
    }

    /// As [`IsochronousFrame::write`], for a receiver of 2.1.
    pub fn write_2_1(&self, datagram: &mut [u8]) {
        self.write_at(datagram, Self::AT_2_1);
    }

    fn write_at(&self, datagram: &mut [u8], at: usize) {
        put_word(datagram, at, self.period_micros);
        self.start.write(datagram, at + 4);
        put_word(datagram, at + 12, self.previous_id);
        put_word(datagram, at + 16, self.id);
        put_word(datagram, at + 20, self.size);
        put_word(datagram, at + 24, self.remaining);
    }

    /// Whether a datagram of `length` bytes completes the frame.
    #[must_use]
    pub const fn is_completed_by(&self, length: u32) -> bool {
        self.remaining == length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_frames_are_ignored() {
        let mut datagram = [0; IsochronousFrame::END];
        for (size, remaining, possible) in [
            (0, 0, false),
            (9, 0, false),
            (9, 10, false),
            (9, 9, true),
            (9, 1, true),
        ] {
            IsochronousFrame {
                size,
                remaining,
                ..IsochronousFrame::default()
            }
            .write(&mut datagram);
            let read = IsochronousFrame::read(&datagram);
            assert_eq!(read.is_some(), possible, "{remaining} of {size}");
        }
        assert_eq!(IsochronousFrame::read(&datagram[..111]), None);
    }

    /// The second datagram of a 2.1.8 client, `--isochronous=10:1m,0 -l 1000`, from offset 76.
    #[test]
    fn frames_of_2_1_stand_earlier() {
        let block = [
            0x0001_86a0,
            0x6b01_facc,
            0x000b_1af6,
            0,
            1,
            0x30d4,
            0x30d4,
            0,
            0,
            0x6b01_facc,
        ];
        let mut datagram = vec![0; 76];
        datagram.extend(block.iter().flat_map(|word: &u32| word.to_be_bytes()));
        let frame = IsochronousFrame::read_2_1(&datagram).expect("a frame");
        assert_eq!((frame.period_micros, frame.id), (100_000, 1));
        assert_eq!((frame.size, frame.remaining), (12_500, 12_500));
        // At the place of 2.2 there is none.
        assert_eq!(IsochronousFrame::read(&datagram), None);
        let mut written = vec![0; datagram.len()];
        frame.write_2_1(&mut written);
        assert_eq!(written[..108], datagram[..108]);
    }

    #[test]
    fn a_frame_ends_with_the_datagram_that_takes_the_rest() {
        let frame = IsochronousFrame {
            size: 694,
            remaining: 194,
            ..IsochronousFrame::default()
        };
        assert!(frame.is_completed_by(194));
        assert!(!frame.is_completed_by(193) && !frame.is_completed_by(500));
    }

    #[test]
    fn frames_need_a_frequency_and_a_size() {
        let settings = |frequency, mean| IsochronousSettings {
            frames_per_second: Millionths(frequency),
            mean: Millionths(mean),
            ..IsochronousSettings::default()
        };
        let most = u64::from(limits::MAX_FRAMES_PER_SECOND) * 1_000_000;
        assert!(settings(1, 1).is_usable() && settings(most, 1).is_usable());
        assert!(!settings(most + 1, 1).is_usable());
        assert!(!settings(0, 1).is_usable());
        assert!(!settings(1, 0).is_usable());
    }
}
