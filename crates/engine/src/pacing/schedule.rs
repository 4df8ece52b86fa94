//! When each send is due: an absolute schedule in integer nanoseconds.
//!
//! `due(n) = start + n * gap`, never derived from the previous send, so rounding and
//! lateness do not add up. A sender that fell behind catches up at twice its rate. One that
//! is woken late again and again may also send a bounded volley for each such wake. A backlog
//! of more than a second is given up and counted.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Backlog up to which sends are made up for, nanoseconds.
const FORGIVEN_AFTER: u64 = 1_000_000_000;
/// Lateness of the first send that is not made up for.
const FORGIVEN_AT_START: Duration = Duration::from_millis(1);
/// Backlog that is left when the rest was given up, nanoseconds.
const KEPT: u64 = 1_000_000;
/// Backlog that is made up for by smaller gaps alone, and the traffic of a first volley.
const VOLLEY: Duration = Duration::from_millis(1);

/// What a sender that is woken late again, before it has caught up, may send at once.
#[derive(Clone, Copy, Debug)]
struct Volley {
    /// Most units of a volley: about [`VOLLEY`], or more once that was seen not to do.
    limit: u64,
    /// Backlog when the last volley began; beyond all before the first.
    behind: Duration,
}

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
    /// Late wakes of the present backlog; `None` without any.
    volley: Option<Volley>,
    /// Units of the present volley that have not left.
    volley_left: u64,
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
            volley: None,
            volley_left: 0,
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

    /// The units that a time has room for.
    fn units_in(&self, time: Duration) -> u64 {
        let units = time.as_nanos().saturating_mul(self.per) / self.numerator.max(1);
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    fn planned(&self, n: u64) -> MonoTime {
        self.start + self.length_of(n)
    }

    /// When the next unit may leave.
    #[must_use]
    pub fn due(&self) -> MonoTime {
        let within = self.sent % self.burst;
        let planned = self.planned(self.sent - within);
        if self.sent == 0 || within > 0 || self.volley_left > 0 {
            return planned;
        }
        // Back-to-back packets are what a paced flow must not show.
        planned.max(self.last + self.half_a_gap())
    }

    /// The least distance of the next unit from the last one.
    fn half_a_gap(&self) -> Duration {
        self.length_of(self.last_units) / 2
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
        self.volley_left = self.volley_behind(units, now);
        self.sent += units;
        (self.last, self.last_units) = (now, units);
        if behind.as_nanos() > u128::from(FORGIVEN_AFTER) {
            let shift = behind - Duration::from_nanos(KEPT);
            self.start += shift;
            (self.volley, self.volley_left) = (None, 0);
            let gap = self.gap().as_nanos().max(1);
            self.given_up += u64::try_from(shift.as_nanos() / gap).unwrap_or(u64::MAX);
        }
    }

    /// Units that may follow at once behind `units` that leave at `now`.
    ///
    /// Half a gap between packets makes up for a backlog, unless the sender is woken late once
    /// more before that is done: then as many leave as became due since the last one, up to a
    /// limit, which doubles while volleys of that size do not lessen the backlog.
    fn volley_behind(&mut self, units: u64, now: MonoTime) -> u64 {
        let within = self.sent % self.burst;
        if self.volley_left > 0 || within > 0 {
            return self.volley_left.saturating_sub(units);
        }
        let behind = now.since(self.planned(self.sent));
        if behind <= VOLLEY {
            self.volley = None;
            return 0;
        }
        if now.since(self.due()) <= self.half_a_gap() {
            return 0;
        }
        let waited = self.units_in(now.since(self.last)).max(self.burst);
        let wanted = self.units_in(behind).min(waited).saturating_add(1);
        let Some(last) = self.volley else {
            let limit = self.units_in(VOLLEY).max(self.burst);
            self.volley = Some(Volley {
                limit,
                behind: Duration::MAX,
            });
            return 0;
        };
        let limit = if wanted > last.limit && behind >= last.behind {
            last.limit.saturating_mul(2)
        } else {
            last.limit
        };
        self.volley = Some(Volley { limit, behind });
        wanted.min(limit).saturating_sub(units)
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

    /// Sends until `end` with a sender that is woken `late` after a time that it waits for.
    /// Returns the times.
    fn sends(schedule: &mut Schedule, late: u64, end: u64) -> Vec<u64> {
        let mut now = schedule.due().as_nanos();
        let mut times = Vec::new();
        loop {
            let due = schedule.due().as_nanos();
            if due > now {
                now = due + late;
            }
            if now > end {
                return times;
            }
            schedule.sent(1, at(now));
            times.push(now);
        }
    }

    /// The most that left at the same time.
    fn largest_volley(times: &[u64]) -> usize {
        let volleys = times.chunk_by(|a, b| a == b);
        volleys.map(<[u64]>::len).max().unwrap_or(0)
    }

    #[test]
    fn a_backlog_of_one_late_wake_is_spread() {
        let mut schedule = Schedule::at_unit_rate(at(0), 10_000).expect("a rate");
        schedule.sent(1, at(0));
        // 20 ms late: 200 units behind, made up for at half the gap.
        schedule.sent(1, at(20_000_000));
        let mut now = 20_000_000;
        let mut times = vec![now];
        while schedule.planned(schedule.sent) <= at(now) {
            now = schedule.due().as_nanos().max(now);
            schedule.sent(1, at(now));
            times.push(now);
            assert!(times.len() < 1000);
        }
        assert_eq!(largest_volley(&times), 1);
        assert!((300..450).contains(&times.len()), "{}", times.len());
        assert_eq!(schedule.given_up(), 0);
    }

    #[test]
    fn a_second_late_wake_has_one_millisecond_of_traffic_at_once() {
        let mut schedule = Schedule::at_unit_rate(at(0), 10_000).expect("a rate");
        schedule.sent(1, at(0));
        schedule.sent(1, at(20_000_000));
        let now = at(25_000_000);
        let mut together = 0;
        while schedule.due() <= now {
            schedule.sent(1, now);
            together += 1;
        }
        assert_eq!(together, 10);
        assert_eq!(schedule.due(), now + Duration::from_micros(50));
    }

    #[test]
    fn wakes_that_are_always_late_cost_no_rate() {
        // Units a second, lateness of each wake in microseconds, and the largest volley.
        for (rate, late, largest) in [
            (2500, 4000, 11),
            (2500, 900, 4),
            (850, 900, 2),
            (850, 4000, 4),
            (8500, 100, 2),
            (85_000, 1000, 86),
            (100_000, 200, 21),
            (250, 30_000, 9),
        ] {
            let mut schedule = Schedule::at_unit_rate(at(0), rate).expect("a rate");
            let times = sends(&mut schedule, late * 1000, 2_000_000_000);
            let case = format!("{rate}/s woken {late} us late: {}", times.len());
            let wanted = 2 * rate - (rate * 40 / 1000 + 2);
            assert!(times.len() as u64 >= wanted, "{case}");
            assert!(largest_volley(&times) <= largest, "{case}");
            assert_eq!(schedule.given_up(), 0, "{case}");
        }
    }

    #[test]
    fn volleys_end_with_the_late_wakes() {
        let mut schedule = Schedule::at_unit_rate(at(0), 2500).expect("a rate");
        sends(&mut schedule, 4_000_000, 200_000_000);
        assert!(schedule.volley.is_some_and(|volley| volley.limit > 2));
        // What is left of the backlog is spread: the first wake is one more late one.
        let times = sends(&mut schedule, 0, 300_000_000);
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.skip(20).all(|gap| gap >= 200_000), "{times:?}");
        assert!(schedule.volley.is_none());
    }

    #[test]
    fn a_late_wake_of_less_than_a_millisecond_shows_no_packets_back_to_back() {
        // 100 Mbit/s of 1470 bytes.
        let mut schedule = Schedule::at_bit_rate(at(0), 1470 * 8, 100_000_000).expect("a rate");
        let mut last = 0;
        for n in 1..10_000_u64 {
            let late = if n % 100 == 0 { 950_000 } else { 20_000 };
            let now = schedule.due().as_nanos() + late;
            schedule.sent(1, at(now));
            assert!(n == 1 || now - last >= 58_800, "{n}");
            last = now;
        }
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
