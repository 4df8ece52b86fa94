//! When each send is due: an absolute schedule in integer nanoseconds.
//!
//! `due(n) = start + n * gap`, never derived from the previous send, so rounding and
//! lateness do not add up. A sender that fell behind catches up at twice its rate, never
//! with a volley; a backlog of more than a second is given up and counted.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Backlog up to which sends are made up for, nanoseconds.
const FORGIVEN_AFTER: u64 = 1_000_000_000;
/// Lateness of the first send that is not made up for.
const FORGIVEN_AT_START: Duration = Duration::from_millis(1);
/// Backlog that is left when the rest was given up, nanoseconds.
const KEPT: u64 = 1_000_000;

/// The schedule of one sender.
#[derive(Clone, Debug)]
pub struct Schedule {
    start: MonoTime,
    /// Nanoseconds for `per` units.
    numerator: u128,
    per: u128,
    /// Units that are due together, at the time of the first of them.
    burst: u64,
    sent: u64,
    last: MonoTime,
    /// Units that left at `last`.
    last_units: u64,
    late: u64,
    given_up: u64,
}

impl Schedule {
    /// Units of `bits` bits each, at `rate` bits per second. `None` for rate 0.
    #[must_use]
    pub fn at_bit_rate(start: MonoTime, bits: u64, rate: u64) -> Option<Self> {
        (rate > 0).then(|| Self::new(start, u128::from(bits) * 1_000_000_000, u128::from(rate)))
    }

    /// `rate` units per second. `None` for rate 0.
    #[must_use]
    pub fn at_unit_rate(start: MonoTime, rate: u64) -> Option<Self> {
        (rate > 0).then(|| Self::new(start, 1_000_000_000, u128::from(rate)))
    }

    /// A unit each so long after the one before. `None` for no gap.
    #[must_use]
    pub fn at_gap(start: MonoTime, gap: Duration) -> Option<Self> {
        (!gap.is_zero()).then(|| Self::new(start, gap.as_nanos(), 1))
    }

    fn new(start: MonoTime, numerator: u128, per: u128) -> Self {
        Self {
            start,
            numerator,
            per,
            burst: 1,
            sent: 0,
            last: start,
            last_units: 0,
            late: 0,
            given_up: 0,
        }
    }

    /// The same rate, but `units` (0 and 1: one) are due together.
    #[must_use]
    pub fn in_bursts(self, units: u64) -> Self {
        Self {
            burst: units.max(1),
            ..self
        }
    }

    /// The same rate, but units that follow each other within `quantum` are due together, at
    /// the time of the first of them: for a stream, whose packets the system spaces.
    #[must_use]
    pub fn in_quanta(self, quantum: Duration) -> Self {
        let units = quantum.as_nanos() / self.gap().as_nanos().max(1);
        let units = u64::try_from(units).unwrap_or(u64::MAX).max(self.burst);
        self.in_bursts(units)
    }

    /// Units that are due together.
    pub(crate) fn burst(&self) -> u64 {
        self.burst
    }

    /// The gap between two units, rounded down to nanoseconds.
    #[must_use]
    pub fn gap(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.numerator / self.per).unwrap_or(u64::MAX))
    }

    /// The time that so many units take.
    fn length_of(&self, units: u64) -> Duration {
        let nanos = u128::from(units) * self.numerator / self.per;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn planned(&self, n: u64) -> MonoTime {
        self.start + self.length_of(n)
    }

    /// When the next unit may leave.
    #[must_use]
    pub fn due(&self) -> MonoTime {
        let within = self.sent % self.burst;
        let planned = self.planned(self.sent - within);
        if self.sent == 0 || within > 0 {
            return planned;
        }
        // Back-to-back packets are what a paced flow must not show.
        planned.max(self.last + self.length_of(self.last_units) / 2)
    }

    /// Records that `units` left at `now`. When the first ones leave a little late, as any thread
    /// begins, the others count from there: made up for, it would show in a short test's rate.
    pub fn sent(&mut self, units: u64, now: MonoTime) {
        if self.sent == 0 {
            self.start += now.since(self.start).min(FORGIVEN_AT_START);
        }
        let planned = self.planned(self.sent);
        let behind = now.since(planned);
        if behind > self.gap().max(Duration::from_nanos(50_000)) {
            self.late += units;
        }
        self.sent += units;
        (self.last, self.last_units) = (now, units);
        if behind.as_nanos() > u128::from(FORGIVEN_AFTER) {
            let shift = behind - Duration::from_nanos(KEPT);
            self.start += shift;
            let gap = self.gap().as_nanos().max(1);
            self.given_up += u64::try_from(shift.as_nanos() / gap).unwrap_or(u64::MAX);
        }
    }

    /// Units that left later than one gap (at least 50 us) after their time.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Units that were never sent because the backlog was more than a second.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> MonoTime {
        MonoTime::from_nanos(nanos)
    }

    #[test]
    fn rounding_never_accumulates() {
        let mut schedule = Schedule::at_unit_rate(at(0), 3).expect("a rate");
        for _ in 0..3_000_000 {
            let due = schedule.due();
            schedule.sent(1, due);
        }
        assert_eq!(schedule.due(), at(1_000_000 * 1_000_000_000));
        assert_eq!(schedule.late(), 0);
    }

    #[test]
    fn a_slightly_late_beginning_is_not_made_up_for() {
        let mut schedule = Schedule::at_unit_rate(at(0), 1000).expect("a rate");
        schedule.sent(1, at(450_000));
        for n in 1..10 {
            assert_eq!(schedule.due(), at(450_000 + n * 1_000_000));
            schedule.sent(1, schedule.due());
        }
        assert_eq!(schedule.late(), 0);
    }

    #[test]
    fn ten_megabit_of_1470_bytes() {
        let schedule = Schedule::at_bit_rate(at(5), 1470 * 8, 10_000_000).expect("a rate");
        assert_eq!(schedule.gap(), Duration::from_micros(1176));
        assert!(Schedule::at_bit_rate(at(0), 8, 0).is_none());
    }

    #[test]
    fn units_of_a_burst_are_due_together() {
        let schedule = Schedule::at_unit_rate(at(0), 1000).expect("a rate");
        let mut schedule = schedule.in_bursts(3);
        let mut times = Vec::new();
        for _ in 0..7 {
            let due = schedule.due();
            times.push(due.as_nanos() / 1_000_000);
            schedule.sent(1, due);
        }
        assert_eq!(times, [0, 0, 0, 3, 3, 3, 6]);
        assert_eq!(schedule.late(), 0);
    }

    #[test]
    fn a_quantum_joins_units_that_are_closer_and_keeps_larger_bursts() {
        let quantum = Duration::from_millis(1);
        let burst_of = |rate, bursts| {
            let schedule = Schedule::at_unit_rate(at(0), rate).expect("a rate");
            schedule.in_bursts(bursts).in_quanta(quantum).burst
        };
        assert_eq!(
            [500, 1000, 100_000].map(|rate| burst_of(rate, 1)),
            [1, 1, 100]
        );
        assert_eq!([10_000, 100_000].map(|rate| burst_of(rate, 50)), [50, 100]);
    }

    #[test]
    fn a_backlog_is_spread_not_volleyed() {
        let mut schedule = Schedule::at_unit_rate(at(0), 10_000).expect("a rate");
        schedule.sent(1, at(0));
        let mut now = 20_000_000;
        let mut sends = 0;
        // 20 ms late: 200 units behind, sent at half the gap until the plan is met.
        loop {
            let due = schedule.due().as_nanos();
            if due > now {
                now = due;
            }
            schedule.sent(1, at(now));
            sends += 1;
            if schedule.planned(schedule.sent) > at(now) {
                break;
            }
            assert!(sends < 1000);
        }
        assert!((300..450).contains(&sends), "{sends}");
        assert_eq!(schedule.given_up(), 0);
    }

    #[test]
    fn a_late_unit_keeps_its_distance_from_the_next() {
        let mut schedule = Schedule::at_unit_rate(at(0), 1000).expect("a rate");
        schedule.sent(1, at(0));
        // Due at 1 ms, sent at 1.9 ms: the next one is due at 2 ms, too close behind.
        schedule.sent(1, at(1_900_000));
        assert_eq!(schedule.due(), at(2_400_000));
        schedule.sent(1, at(2_400_000));
        assert_eq!(schedule.due(), at(3_000_000));
    }

    #[test]
    fn more_than_a_second_of_backlog_is_given_up() {
        let mut schedule = Schedule::at_unit_rate(at(0), 1000).expect("a rate");
        schedule.sent(1, at(0));
        schedule.sent(1, at(5_000_000_000));
        assert!(schedule.given_up() > 4900);
        assert!(schedule.due() <= at(5_002_000_000));
    }
}
