//! What a machine's own clocks say. No guarantee rests on clocks of two machines being alike.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tapeline_base::MonoTime;

/// Seconds in a day.
const DAY: i64 = 86_400;

/// Whole seconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixTime(pub i64);

impl UnixTime {
    /// This much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(seconds))
    }
}

/// A reading of a machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For lengths of time and deadlines.
    pub mono: MonoTime,
    /// For what people wrote: may jump.
    pub wall: UnixTime,
    /// Local time minus UTC, seconds.
    pub utc_offset: i32,
}

impl Now {
    /// The day of the local calendar, counted from 1970-01-01.
    #[must_use]
    pub fn day(self) -> i64 {
        (self.wall.0 + i64::from(self.utc_offset)).div_euclid(DAY)
    }

    /// The local time of day.
    #[must_use]
    pub fn minute(self) -> Minute {
        let second = (self.wall.0 + i64::from(self.utc_offset)).rem_euclid(DAY);
        Minute((second / 60) as u16)
    }
}

/// A time of day, minutes since midnight: 0 to 1439.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minute(pub(crate) u16);

impl Minute {
    /// From `22:00`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (hour, minute) = text.split_once(':')?;
        let digits = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        let (hour, minute) = (digits(hour) && digits(minute)).then_some((hour, minute))?;
        let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then_some(Self(hour * 60 + minute))
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_minutes_are_local() {
        let now = |wall, utc_offset| Now {
            mono: MonoTime::ZERO,
            wall: UnixTime(wall),
            utc_offset,
        };
        assert_eq!((now(0, 0).day(), now(0, 0).minute()), (0, Minute(0)));
        assert_eq!(now(0, -3600).day(), -1);
        assert_eq!(now(0, -3600).minute().to_string(), "23:00");
        assert_eq!(now(86_399, 60).day(), 1);
    }

    #[test]
    fn only_times_of_day_are_read() {
        assert_eq!(Minute::parse("22:05"), Some(Minute(22 * 60 + 5)));
        for text in ["24:00", "1:00", "01:60", "0100", "+1:00", ""] {
            assert_eq!(Minute::parse(text), None, "{text}");
        }
    }
}
