//! Frames and bursts: a clock whose slots they belong to, and their sizes.
//!
//! Frame k, from 1, is due at `start + (k - 1) * period` and may begin until its slot ends.
//! A sender that is busy for longer leaves frames out: their numbers are missed, and the
//! step over them is one slip. So a number always says when its frame was due, at both ends.

use std::time::Duration;

use tapeline_base::{MonoTime, whole_nanos};
use tapeline_stats::{LogNormal, Moments, Random};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Largest frame, bytes: what the field on the wire holds as a signed number.
const LARGEST_FRAME: f64 = 0x7fff_ffff_u32 as f64;

/// What became of a sender's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct FrameCounts {
    /// Frames begun.
    pub sent: u64,
    /// Frames left out because their slots had passed.
    pub missed: u64,
    /// Times that frames were left out.
    pub slips: u64,
}

/// A frame that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number, from 1: that of its slot.
    pub id: u64,
    /// The frame before it, 0 for the first.
    pub previous: u64,
    /// When it is to begin.
    pub due: MonoTime,
}

/// Slots of equal length, one for each frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameClock {
    start: MonoTime,
    /// Nanoseconds, above 0.
    period: u64,
    last: u64,
    counts: FrameCounts,
    errors: Moments,
}

impl FrameClock {
    /// A clock whose first slot begins at `start`. A period of 0 counts as a nanosecond.
    #[must_use]
    pub fn new(start: MonoTime, period: Duration) -> Self {
        Self {
            start,
            period: whole_nanos(period).max(1),
            last: 0,
            counts: FrameCounts::default(),
            errors: Moments::EMPTY,
        }
    }

    /// Length of a slot.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// The frame that follows the last one begun, for a sender that is free at `now`.
    #[must_use]
    pub fn next(&self, now: MonoTime) -> Frame {
        let passed = whole_nanos(now.since(self.start));
        let id = (self.last + 1).max(passed / self.period + 1);
        let offset = (id - 1).saturating_mul(self.period);
        Frame {
            id,
            previous: self.last,
            due: self.start + Duration::from_nanos(offset),
        }
    }

    /// Records that `frame` began at `now`.
    pub fn begin(&mut self, frame: Frame, now: MonoTime) {
        let skipped = frame.id.saturating_sub(self.last + 1);
        self.counts.sent += 1;
        self.counts.missed += skipped;
        self.counts.slips += u64::from(skipped > 0);
        self.errors.add(now.since(frame.due).as_secs_f64());
        self.last = frame.id;
    }

    /// Frames so far.
    #[must_use]
    pub fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// How late frames began, seconds.
    #[must_use]
    pub fn errors(&self) -> &Moments {
        &self.errors
    }
}

/// Sizes of frames, bytes: equal ones, or drawn from a log-normal distribution. Fractions
/// of a byte are carried from one to the next, so that the mean is exact.
#[derive(Clone, Debug)]
pub struct FrameSizes {
    mean: f64,
    drawn: Option<(LogNormal, Random)>,
    carry: f64,
}

impl FrameSizes {
    /// Frames of `mean` bytes, with this standard deviation. A mean below one byte counts as
    /// one; `seed` decides all that is drawn.
    #[must_use]
    pub fn new(mean: f64, deviation: f64, seed: u64) -> Self {
        let mean = mean.clamp(1.0, LARGEST_FRAME);
        let shape = (deviation > 0.0).then(|| LogNormal::new(mean, deviation));
        Self {
            mean,
            drawn: shape.flatten().map(|shape| (shape, Random::seeded(seed))),
            carry: 0.0,
        }
    }

    /// Size of the next frame, bytes: 1 to 2^31 − 1.
    pub fn draw(&mut self) -> u32 {
        let exact = match &mut self.drawn {
            Some((shape, random)) => shape.draw(random),
            None => self.mean,
        };
        let wanted = (exact + self.carry).clamp(1.0, LARGEST_FRAME);
        let size = wanted.floor();
        self.carry = wanted - size;
        size as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> MonoTime {
        MonoTime::from_nanos(micros * 1000)
    }

    #[test]
    fn frames_follow_the_clock_not_each_other() {
        let mut clock = FrameClock::new(at(0), Duration::from_micros(100));
        for k in 0..10_000 {
            let frame = clock.next(at(100 * k).max(at(1)));
            assert_eq!((frame.id, frame.due), (k + 1, at(100 * k)));
            clock.begin(frame, frame.due + Duration::from_micros(7));
        }
        let counts = clock.counts();
        assert_eq!((counts.sent, counts.missed, counts.slips), (10_000, 0, 0));
        assert!((clock.errors().mean - 7e-6).abs() < 1e-12);
    }

    #[test]
    fn a_late_frame_is_sent_within_its_slot_and_left_out_behind_it() {
        let mut clock = FrameClock::new(at(0), Duration::from_micros(100));
        clock.begin(clock.next(at(0)), at(0));
        // Busy until shortly before the third slot: the second frame still goes out.
        let second = clock.next(at(199));
        assert_eq!((second.id, second.due), (2, at(100)));
        clock.begin(second, at(199));
        // Busy until the sixth slot: three frames are left out at once.
        let sixth = clock.next(at(500));
        assert_eq!((sixth.id, sixth.previous, sixth.due), (6, 2, at(500)));
        clock.begin(sixth, at(500));
        let counts = clock.counts();
        assert_eq!((counts.sent, counts.missed, counts.slips), (3, 3, 1));
    }

    #[test]
    fn equal_frames_keep_the_exact_rate() {
        let mut sizes = FrameSizes::new(20_833.333_333_333, 0.0, 0);
        let total: u64 = (0..60).map(|_| u64::from(sizes.draw())).sum();
        assert!((1_249_999..=1_250_000).contains(&total), "{total}");
    }

    #[test]
    fn drawn_frames_repeat_with_the_seed_and_have_the_mean() {
        let draw = |seed| {
            let mut sizes = FrameSizes::new(10_000.0, 2_000.0, seed);
            (0..20_000).map(|_| sizes.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let moments: Moments = draw(7).into_iter().map(f64::from).collect();
        assert!((moments.mean / 10_000.0 - 1.0).abs() < 0.02, "{moments:?}");
        assert!(
            (moments.stdev() / 2_000.0 - 1.0).abs() < 0.05,
            "{moments:?}"
        );
        assert!(FrameSizes::new(0.0, f64::NAN, 1).draw() >= 1);
    }
}
