//! The values that client headers are made of.

use std::time::Duration;

use tapeline_base::{BitRate, PacketRate, WallTime};

use super::field::{put_word, word};
use super::isochronous::IsochronousSettings;
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

    pub(super) fn read(bytes: &[u8], at: usize) -> Self {
        Self {
            seconds: word(bytes, at),
            micros: word(bytes, at + 4),
        }
    }

    pub(super) fn write(self, bytes: &mut [u8], at: usize) {
        put_word(bytes, at, self.seconds);
        put_word(bytes, at + 4, self.micros);
    }

    /// `None` for zero.
    pub(super) fn present(self) -> Option<Self> {
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
    pub(super) fn read(bytes: &[u8], at: usize) -> Self {
        let seconds = i64::from(word(bytes, at) as i32);
        let micros = i64::from(word(bytes, at + 4) as i32);
        Self(seconds * Self::PER_SECOND + micros)
    }

    /// Into two words of the same sign, seconds cut to 32 bits.
    pub(super) fn write(self, bytes: &mut [u8], at: usize) {
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
    pub(super) fn read(bytes: &[u8], at: usize) -> Self {
        let millionths = u64::from(word(bytes, at + 4)).min(Self::PER_UNIT - 1);
        Self(u64::from(word(bytes, at)) * Self::PER_UNIT + millionths)
    }

    pub(super) fn write(self, bytes: &mut [u8], at: usize) {
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
    pub(super) const fn from_word(word: u32) -> Self {
        match word as i32 {
            0 => Self::Unspecified,
            bytes if bytes > 0 => Self::Bytes(word),
            time => Self::Time(Ticks(time.unsigned_abs())),
        }
    }

    pub(super) fn to_word(self) -> u32 {
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
        let most = Millionths::read(&bytes, 0);
        assert_eq!(most, Millionths(4_294_967_295_999_999));
        most.write(&mut bytes, 0);
        assert_eq!(Millionths::read(&bytes, 0), most);
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
}
