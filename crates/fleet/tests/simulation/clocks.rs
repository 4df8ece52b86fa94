//! The clocks of a machine: none like another's.

use std::time::Duration;

use tapeline_base::{MonoTime, SplitMix64};
use tapeline_fleet::{Now, UnixTime};

/// The wall clock when a simulation begins.
pub(crate) const BEGIN: i64 = 1_795_000_000;

/// How a machine's clocks relate to the world's time.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Its monotonic clock when its process began, nanoseconds.
    offset: u64,
    /// When that was, in the world's time.
    begun: MonoTime,
    /// How much faster than the world's it goes.
    drift: f64,
    /// Wall clock minus the right time, seconds.
    pub(crate) wall: i64,
}

impl Clocks {
    pub(crate) fn new(random: &mut SplitMix64) -> Self {
        Self {
            offset: random.below(1 << 50),
            begun: MonoTime::from_nanos(0),
            drift: (random.fraction() - 0.5) * 0.01,
            wall: random.below(20) as i64 - 10,
        }
    }

    /// A new process counts from its own beginning.
    pub(crate) fn begin(&mut self, world: MonoTime) {
        self.offset = 1;
        self.begun = world;
    }

    pub(crate) fn now(&self, world: MonoTime) -> Now {
        let nanos = world.since(self.begun).as_nanos() as f64 * (1.0 + self.drift);
        Now {
            mono: MonoTime::from_nanos(self.offset + nanos as u64),
            wall: UnixTime(BEGIN + self.wall + (world.as_nanos() / 1_000_000_000) as i64),
            utc_offset: 3600,
        }
    }

    /// When the world's time is at least what the machine's monotonic clock is to show.
    pub(crate) fn world(&self, mono: MonoTime, now: MonoTime) -> MonoTime {
        if mono == MonoTime::FAR {
            return mono;
        }
        let left = mono.since(self.now(now).mono).as_nanos() as f64;
        now + Duration::from_nanos((left / (1.0 + self.drift)) as u64) + Duration::from_micros(1)
    }
}
