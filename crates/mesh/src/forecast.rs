//! How long it will take, before anything is measured.

use std::time::Duration;

use crate::host::HostId;
use crate::pattern::PatternError;
use crate::plan::{MeshPlan, Mode};
use crate::schedule::{Ended, Schedule};

/// How long the tests of a plan take if each takes as long as the others and none fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Tests.
    pub tests: usize,
    /// Times at which tests start.
    pub slots: u32,
    /// The whole.
    pub time: Duration,
    /// The host with the most tests, and the part of the time that it tests.
    pub busiest: (HostId, f64),
    /// All hosts have as many tests.
    pub is_even: bool,
}

impl Forecast {
    /// Time between two tests of a host: processes start, connect and end.
    pub const BETWEEN: Duration = Duration::from_secs(1);

    /// What a plan comes to whose tests last `length`.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub fn new(plan: &MeshPlan, length: Duration) -> Result<Self, PatternError> {
        let mut schedule = Schedule::new(plan, length)?;
        let mut counts = vec![0_u32; plan.hosts.len()];
        for (_, pair) in schedule.tests() {
            counts[pair.from.0] += 1;
            counts[pair.to.0] += 1;
        }
        let (tests, mut slots) = (schedule.waiting(), 0);
        while !schedule.is_over() {
            let tests = schedule.next(length * slots);
            slots += 1;
            for test in tests {
                schedule.ended(test, Ended::Measured, length * slots);
            }
        }
        let time = (length + Self::BETWEEN) * slots;
        // The first of several.
        let numbers = counts.iter().enumerate().rev();
        let (busiest, most) = numbers.max_by_key(|(_, count)| **count).unwrap_or((0, &0));
        let testing = match plan.mode {
            Mode::AllAtOnce => length,
            Mode::InTurn | Mode::FullDuplex => length * *most,
        };
        Ok(Self {
            tests,
            slots,
            time,
            busiest: (HostId(busiest), testing.div_duration_f64(time)),
            is_even: counts.iter().all(|count| count == most),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::SharedLink;
    use crate::plan::samples;

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn six_hosts_need_ten_slots() {
        let forecast = Forecast::new(&samples::full(6), TEN).expect("a forecast");
        assert_eq!((forecast.tests, forecast.slots), (30, 10));
        assert_eq!(forecast.time, Duration::from_secs(110));
        assert!((forecast.busiest.1 - 10.0 / 11.0).abs() < 1e-9 && forecast.is_even);
    }

    #[test]
    fn links_modes_and_patterns_count() {
        let mut plan = samples::full(4);
        plan.mode = Mode::FullDuplex;
        assert_eq!(Forecast::new(&plan, TEN).expect("a forecast").slots, 3);
        plan.mode = Mode::AllAtOnce;
        assert_eq!(Forecast::new(&plan, TEN).expect("a forecast").slots, 1);
        plan.mode = Mode::InTurn;
        plan.shared.push(SharedLink {
            hosts: (0..4).map(HostId).collect(),
            at_once: 1,
        });
        assert_eq!(Forecast::new(&plan, TEN).expect("a forecast").slots, 12);
        plan.shared.clear();
        plan.pattern = "incast:h2".parse().expect("a pattern");
        let forecast = Forecast::new(&plan, TEN).expect("a forecast");
        assert_eq!((forecast.slots, forecast.busiest.0), (3, HostId(2)));
        assert!(!forecast.is_even);
    }
}
