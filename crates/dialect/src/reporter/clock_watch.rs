//! Whether the time of day was set while a test ran.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};

/// Readings further apart than this do not belong together, nanoseconds.
const TOGETHER: u64 = 10_000_000;
/// Smaller jumps may be a slow reading, nanoseconds.
const SMALLEST: u64 = 100_000_000;
/// A clock that is being adjusted runs faster or slower by less than one part in so many.
const ADJUSTED: u64 = 1000;

/// Compares the clock for the time of day with the one that only counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockWatch {
    last: Option<(MonoTime, WallTime)>,
}

impl ClockWatch {
    /// Takes a reading of the time of day that lies between two of the other clock. Returns by how
    /// many nanoseconds the day's clock has jumped since the last one.
    pub(super) fn look(
        &mut self,
        before: MonoTime,
        wall: WallTime,
        after: MonoTime,
    ) -> Option<i64> {
        if after.since(before) > Duration::from_nanos(TOGETHER) {
            return None;
        }
        let (then, day) = self.last.replace((before, wall))?;
        let passed = before.as_nanos().saturating_sub(then.as_nanos());
        let jump = wall
            .nanos_since(day)
            .saturating_sub(i64::try_from(passed).unwrap_or(i64::MAX));
        (jump.unsigned_abs() > SMALLEST + passed / ADJUSTED).then_some(jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_jump_is_told_once_and_a_slow_reading_is_none() {
        let mut watch = ClockWatch::default();
        let mut look = |mono: u64, wall: i64, took: u64| {
            let (before, after) = (
                MonoTime::from_nanos(mono),
                MonoTime::from_nanos(mono + took),
            );
            watch.look(before, WallTime::from_nanos(wall), after)
        };
        let second = SECOND as i64;
        assert_eq!(look(SECOND, 100 * second, 100), None);
        assert_eq!(look(2 * SECOND, 101 * second, 100), None);
        // An hour back, and on from there.
        assert_eq!(
            look(3 * SECOND, (102 - 3600) * second, 100),
            Some(-3600 * second)
        );
        assert_eq!(look(4 * SECOND, (103 - 3600) * second, 100), None);
        // Readings that belong to different moments say nothing.
        assert_eq!(look(5 * SECOND, 500 * second, SECOND), None);
        // An hour later the clock may have been adjusted by three seconds.
        assert_eq!(look(3604 * SECOND, (103 + 3) * second, 100), None);
        assert_eq!(look(3605 * SECOND, (103 + 5) * second, 100), Some(second));
        assert_eq!(
            look(3606 * SECOND, i64::MIN, 100).map(i64::signum),
            Some(-1)
        );
    }
}
