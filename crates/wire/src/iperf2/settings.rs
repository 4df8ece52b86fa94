//! The values that client headers are made of, and those of isochronous traffic.

use std::time::Duration;

use tapeline_base::{BitRate, PacketRate, WallTime};

use super::field::{put_word, word};
use super::limits;

/// A wall-clock time as the wire carries it: seconds since 1970 and microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970, modulo 2^32.
    pub seconds: u32,
    /// Microseconds; a peer may send any value.
    pub micros: u32,
}

impl Timestamp {
    /// 1970-01-01 00:00, which means "absent" in most fields.
    pub const ZERO: Self = Self {
        seconds: 0,
        micros: 0,
    };

    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            seconds: word(bytes, at),
            micros: word(bytes, at + 4),
        }
    }

    pub(crate) fn write(self, bytes: &mut [u8], at: usize) {
        put_word(bytes, at, self.seconds);
        put_word(bytes, at + 4, self.micros);
    }

    /// `None` for zero.
    pub(crate) fn present(self) -> Option<Self> {
        (self != Self::ZERO).then_some(self)
    }
}

impl From<WallTime> for Timestamp {
    fn from(time: WallTime) -> Self {
        let (seconds, micros) = time.to_wire();
        Self { seconds, micros }
    }
}

impl From<Timestamp> for WallTime {
    fn from(stamp: Timestamp) -> Self {
        Self::from_wire(stamp.seconds, stamp.micros)
    }
}

/// A duration in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u32);

impl Ticks {
    /// As a duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0 as u64 * 10)
    }

    /// Whole ticks of a duration, cut to [`limits::MAX_TICKS`].
    #[must_use]
    pub fn from_duration(duration: Duration) -> Self {
        let ticks = u32::try_from(duration.as_millis() / 10).unwrap_or(limits::MAX_TICKS);
        Self(ticks.min(limits::MAX_TICKS))
    }
}

/// A signed count of microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

impl Micros {
    const PER_SECOND: i64 = 1_000_000;

    /// As a duration; `None` when negative.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_micros)
    }

    /// From a duration, saturating.
    #[must_use]
    pub fn from_duration(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
    }

    /// From two words, seconds and microseconds, both signed.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        let seconds = i64::from(word(bytes, at) as i32);
        let micros = i64::from(word(bytes, at + 4) as i32);
        Self(seconds * Self::PER_SECOND + micros)
    }

    /// Into two words of the same sign, seconds cut to 32 bits.
    pub(crate) fn write(self, bytes: &mut [u8], at: usize) {
        let seconds = self.0 / Self::PER_SECOND;
        let seconds = seconds.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        put_word(bytes, at, seconds as u32);
        put_word(bytes, at + 4, (self.0 % Self::PER_SECOND) as i32 as u32);
    }
}

/// A non-negative number with six decimals, counted in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millionths(pub u64);

impl Millionths {
    const PER_UNIT: u64 = 1_000_000;

    /// A whole number.
    #[must_use]
    pub const fn from_whole(whole: u32) -> Self {
        Self(whole as u64 * Self::PER_UNIT)
    }

    /// The nearest number; zero for negative numbers and not-a-number, saturating.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        Self((value * Self::PER_UNIT as f64).round() as u64)
    }

    /// As a floating-point number.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::PER_UNIT as f64
    }

    /// The whole part, cut to 32 bits.
    #[must_use]
    pub fn whole(self) -> u32 {
        u32::try_from(self.0 / Self::PER_UNIT).unwrap_or(u32::MAX)
    }

    /// From two words, the whole part and the millionths, the latter cut to 999 999.
    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        let millionths = u64::from(word(bytes, at + 4)).min(Self::PER_UNIT - 1);
        Self(u64::from(word(bytes, at)) * Self::PER_UNIT + millionths)
    }

    pub(crate) fn write(self, bytes: &mut [u8], at: usize) {
        put_word(bytes, at, self.whole());
        put_word(bytes, at + 4, (self.0 % Self::PER_UNIT) as u32);
    }
}

/// Bytes per second (the unit of fair-queue pacing).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRate(pub u64);

/// The rate that a UDP sender aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// In bits per second.
    Bits(BitRate),
    /// In packets per second (honoured; 2.2.1 itself converts to bits).
    Packets(PacketRate),
}

impl Rate {
    /// As bits per second, for datagrams of `length` bytes.
    #[must_use]
    pub fn bits(self, length: u32) -> BitRate {
        match self {
            Self::Bits(rate) => rate,
            Self::Packets(rate) => rate.bits(u64::from(length)),
        }
    }
}

/// How much a test transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Zero on the wire: the peer did not say, or could not (2.2.1 sends 0 for 4 GiB).
    /// Not the same as "finished".
    #[default]
    Unspecified,
    /// For a time, 1..=2^31 ticks.
    Time(Ticks),
    /// A number of bytes, 1..=2^31-1; the field holds no more.
    Bytes(u32),
}

impl Amount {
    /// From the signed word: negative is time, positive bytes.
    pub(crate) const fn from_word(word: u32) -> Self {
        match word as i32 {
            0 => Self::Unspecified,
            bytes if bytes > 0 => Self::Bytes(word),
            time => Self::Time(Ticks(time.unsigned_abs())),
        }
    }

    pub(crate) fn to_word(self) -> u32 {
        match self {
            Self::Unspecified => 0,
            Self::Time(Ticks(ticks)) => ticks.min(limits::MAX_TICKS).wrapping_neg(),
            Self::Bytes(bytes) => bytes & limits::MAX_AMOUNT_BYTES,
        }
    }
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TestMode {
    /// The client sends.
    #[default]
    Normal,
    /// The server sends (`-R`).
    Reverse,
    /// Both send over one socket (`--full-duplex`).
    FullDuplex,
    /// The server at once opens a second connection or flow back to the client (`-d`).
    Dual,
    /// As dual, but after the first direction has ended (`-r`).
    Tradeoff,
}

/// The shape of the traffic that a header announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workload {
    /// As much as rate and socket allow.
    #[default]
    Stream,
    /// Frames at a fixed frequency (`--isochronous`). Settings are sent only where the
    /// server has to produce the frames.
    Isochronous(Option<IsochronousSettings>),
    /// TCP: bursts at a fixed period (`--burst-period`, `--burst-size`). The settings' rate counts
    /// bursts per second, their mean the bytes of a burst; variance and gap are zero.
    PeriodicBurst(IsochronousSettings),
}

/// The id that ties a client's and a server's lines together (`--sync-transfer-id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferId(u16);

impl TransferId {
    /// The low 11 bits of a number.
    #[must_use]
    pub const fn new(id: u16) -> Self {
        Self(id & limits::MAX_TRANSFER_ID)
    }

    /// 0..=2047.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Which header a TCP client sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeaderForm {
    /// The base header alone, 24 bytes (1.7, 2.0.5 with `-d` or `-r`).
    Base,
    /// With the extended header of 2.1.x and before, 36 bytes.
    Extended36,
    /// With the extended header of 2.2.x, 40 bytes.
    #[default]
    Extended40,
}

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
    pub(crate) const LENGTH: usize = 32;

    pub(crate) fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            frames_per_second: Millionths::read(bytes, at),
            mean: Millionths::read(bytes, at + 8),
            variance: Millionths::read(bytes, at + 16),
            burst_gap: Millionths::read(bytes, at + 24),
        }
    }

    pub(crate) fn write(&self, bytes: &mut [u8], at: usize) {
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
        let max = Millionths::from_whole(limits::MAX_FRAMES_PER_SECOND);
        self.frames_per_second > Millionths(0)
            && self.frames_per_second <= max
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
    #[cfg(test)]
    pub(crate) const fn is_completed_by(&self, length: u32) -> bool {
        self.remaining == length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_the_captures_say() {
        assert_eq!(Amount::from_word(0xffff_ff9c), Amount::Time(Ticks(100)));
        assert_eq!(Amount::from_word(0x5000), Amount::Bytes(20_480));
        assert_eq!(Amount::from_word(0), Amount::Unspecified);
        assert_eq!(
            Amount::from_word(0x8000_0000),
            Amount::Time(Ticks(limits::MAX_TICKS))
        );
        assert_eq!(Amount::Time(Ticks(u32::MAX)).to_word(), 0x8000_0000);
        assert_eq!(Amount::Bytes(0x8000_0001).to_word(), 1);
    }

    #[test]
    fn ticks_are_ten_milliseconds() {
        assert_eq!(Ticks(150).duration(), Duration::from_millis(1_500));
        assert_eq!(
            Ticks::from_duration(Duration::from_millis(1_509)),
            Ticks(150)
        );
        assert_eq!(
            Ticks::from_duration(Duration::MAX),
            Ticks(limits::MAX_TICKS)
        );
    }

    #[test]
    fn negative_times_split_into_negative_parts() {
        let mut bytes = [0; 8];
        Micros(-1_000_008).write(&mut bytes, 0);
        assert_eq!(bytes, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf8]);
        assert_eq!(Micros::read(&bytes, 0), Micros(-1_000_008));
        assert_eq!(Micros(-1).duration(), None);
        assert_eq!(Micros::from_duration(Duration::MAX), Micros(i64::MAX));
    }

    /// Found by fuzzing: a fraction of a million and more used to overflow the whole part.
    #[test]
    fn millionths_stay_below_one() {
        let mut bytes = [0xff; 8];
        let max = Millionths::read(&bytes, 0);
        assert_eq!(max, Millionths(4_294_967_295_999_999));
        max.write(&mut bytes, 0);
        assert_eq!(Millionths::read(&bytes, 0), max);
        assert_eq!(Millionths::from_f64(2.5), Millionths(2_500_000));
        assert_eq!(Millionths::from_f64(f64::NAN), Millionths(0));
        assert_eq!(Millionths::from_f64(-1.0), Millionths(0));
    }

    #[test]
    fn timestamps_are_wall_times() {
        let stamp = Timestamp {
            seconds: 7,
            micros: 8,
        };
        assert_eq!(WallTime::from(stamp).as_nanos(), 7_000_008_000);
        assert_eq!(Timestamp::from(WallTime::from_nanos(7_000_008_999)), stamp);
    }

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
        let max = u64::from(limits::MAX_FRAMES_PER_SECOND) * 1_000_000;
        assert!(settings(1, 1).is_usable() && settings(max, 1).is_usable());
        assert!(!settings(max + 1, 1).is_usable());
        assert!(!settings(0, 1).is_usable());
        assert!(!settings(1, 0).is_usable());
    }
}
