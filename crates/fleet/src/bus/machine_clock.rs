//! This machine's clocks, as the machines of a fleet read them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tapeline_base::{MonoTime, whole_nanos};

use crate::clock::{Now, UnixTime};

/// Reads this machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    start: Instant,
    utc_offset: fn(UnixTime) -> i32,
}

impl MachineClock {
    /// Clocks that start now. `utc_offset` is local time minus UTC at a time, seconds.
    #[must_use]
    pub fn new(utc_offset: fn(UnixTime) -> i32) -> Self {
        Self {
            start: Instant::now(),
            utc_offset,
        }
    }

    /// What they say.
    #[must_use]
    pub fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = UnixTime(wall.map_or(0, |since| since.as_secs() as i64));
        Now {
            // A deadline of zero has passed.
            mono: MonoTime::from_nanos(whole_nanos(self.start.elapsed()).max(1)),
            wall,
            utc_offset: (self.utc_offset)(wall),
        }
    }

    /// When the reading `mono` comes; never for one that is too far away.
    pub(crate) async fn until(&self, mono: MonoTime) {
        let time = std::time::Duration::from_nanos(mono.as_nanos());
        match self.start.checked_add(time) {
            Some(when) if mono != MonoTime::FAR => tokio::time::sleep_until(when.into()).await,
            _ => std::future::pending().await,
        }
    }
}
