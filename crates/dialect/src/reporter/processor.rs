//! Processor use of this process while its flows run.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_report::{CpuUse, Event, Phase, ProcessorUse};
use tapeline_sys::{CpuTime, process_cpu_time};

/// Readings of the process's processor time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessorWatch {
    /// When flows began to run.
    first: (MonoTime, CpuTime),
    /// When it was told last.
    last: (MonoTime, CpuTime),
}

impl ProcessorWatch {
    /// Flows begin to run.
    pub(super) fn begin(now: MonoTime) -> Self {
        let reading = (now, process_cpu_time());
        Self {
            first: reading,
            last: reading,
        }
    }

    /// An interval of this length ends for some flow. Its neighbours' ends, which are near, tell nothing
    /// more.
    pub(super) fn interval(&mut self, now: MonoTime, length: Duration) -> Option<Event> {
        if now.since(self.last.0) < length / 2 {
            return None;
        }
        let reading = (now, process_cpu_time());
        let before = std::mem::replace(&mut self.last, reading);
        used(Phase::Interval, before, reading)
    }

    /// No flow runs any more.
    pub(super) fn end(self, now: MonoTime) -> Option<Event> {
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
        let Some(Event::Processor(told)) = event else {
            panic!("{event:?}");
        };
        assert_eq!(
            (told.span, told.phase),
            (Duration::from_secs(2), Phase::Total)
        );
        assert!((told.cpu.user - 25.0).abs() < 1e-9 && (told.cpu.system - 50.0).abs() < 1e-9);
        assert!((told.cpu.total - 75.0).abs() < 1e-9);
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
}
