//! Processor use of this process while its flows run, and whether the time of day was set meanwhile.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_report::{CpuUse, Event, Phase, ProcessorUse};
use tapeline_sys::{CpuTime, process_cpu_time};

/// Readings of the process's processor time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessorWatch {
    /// When flows began to run.
    first: (MonoTime, CpuTime),
    /// When it was reported last.
    last: (MonoTime, CpuTime),
}

impl ProcessorWatch {
    /// Flows begin to run.
    pub(crate) fn begin(now: MonoTime) -> Self {
        let reading = (now, process_cpu_time());
        Self {
            first: reading,
            last: reading,
        }
    }

    /// An interval of this length ends for some flow. Its neighbours' ends, which are near, show nothing
    /// more.
    pub(crate) fn interval(&mut self, now: MonoTime, length: Duration) -> Option<Event> {
        if now.since(self.last.0) < length / 2 {
            return None;
        }
        let reading = (now, process_cpu_time());
        let before = std::mem::replace(&mut self.last, reading);
        used(Phase::Interval, before, reading)
    }

    /// No flow runs any more.
    pub(crate) fn end(self, now: MonoTime) -> Option<Event> {
        used(Phase::Total, self.first, (now, process_cpu_time()))
    }
}

/// Nothing where no time has passed.
fn used(phase: Phase, before: (MonoTime, CpuTime), after: (MonoTime, CpuTime)) -> Option<Event> {
    let span = after.0.since(before.0);
    let percent = |after: Duration, before: Duration| {
        100.0 * after.saturating_sub(before).as_secs_f64() / span.as_secs_f64()
    };
    (!span.is_zero()).then(|| {
        let user = percent(after.1.user, before.1.user);
        let system = percent(after.1.system, before.1.system);
        Event::Processor(ProcessorUse {
            phase,
            span,
            cpu: CpuUse {
                total: user + system,
                user,
                system,
            },
        })
    })
}

/// Readings further apart than this do not belong together, nanoseconds.
const TOGETHER: u64 = 10_000_000;
/// Smaller jumps may be a slow reading, nanoseconds.
const SMALLEST: u64 = 100_000_000;
/// A clock that is being adjusted runs faster or slower by less than one part in so many.
const ADJUSTED: u64 = 1000;

/// Compares the clock for the time of day with the one that only counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockWatch {
    last: Option<(MonoTime, WallTime)>,
}

impl ClockWatch {
    /// Takes a reading of the time of day that lies between two of the other clock. Returns by how
    /// many nanoseconds the day's clock has jumped since the last one.
    pub(crate) fn look(
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

    #[test]
    fn use_is_a_share_of_the_time_that_has_passed() {
        let at = |seconds| MonoTime::ZERO + Duration::from_secs(seconds);
        let time = |user, system| CpuTime {
            user: Duration::from_millis(user),
            system: Duration::from_millis(system),
        };
        let event = used(
            Phase::Total,
            (at(1), time(100, 50)),
            (at(3), time(600, 1050)),
        );
        let Some(Event::Processor(processor)) = event else {
            panic!("{event:?}");
        };
        assert_eq!(
            (processor.span, processor.phase),
            (Duration::from_secs(2), Phase::Total)
        );
        assert!(
            (processor.cpu.user - 25.0).abs() < 1e-9 && (processor.cpu.system - 50.0).abs() < 1e-9
        );
        assert!((processor.cpu.total - 75.0).abs() < 1e-9);
        assert_eq!(
            used(Phase::Total, (at(1), time(0, 0)), (at(1), time(1, 0))),
            None
        );
    }

    #[test]
    fn neighbouring_ends_of_an_interval_are_one() {
        let at = |millis| MonoTime::ZERO + Duration::from_millis(millis);
        let second = Duration::from_secs(1);
        let mut watch = ProcessorWatch::begin(at(0));
        assert!(watch.interval(at(1000), second).is_some());
        assert!(watch.interval(at(1010), second).is_none());
        assert!(watch.interval(at(2000), second).is_some());
        assert!(watch.end(at(2500)).is_some());
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_jump_is_reported_once_and_a_slow_reading_is_none() {
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
