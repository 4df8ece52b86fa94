//! A schedule whose rate is drawn anew ten times a second.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_stats::{LogNormal, Random};

/// Time for which a drawn rate holds.
const TERM: Duration = Duration::from_millis(100);
/// Share of the mean below which no rate is drawn: a flow never stops.
const SLOWEST: f64 = 1e-3;
/// Backlog up to which sends are made up for.
const FORGIVEN_AFTER: Duration = Duration::from_secs(1);

/// When datagrams of equal size are due at a rate that changes every 0.1 s. The rates are
/// drawn from a log-normal distribution; the same seed gives the same schedule.
#[derive(Clone, Debug)]
pub struct VariableRate {
    shape: LogNormal,
    random: Random,
    mean: f64,
    /// Bits of a datagram.
    bits: f64,
    /// The running term: its start, its rate in bits per second.
    since: MonoTime,
    rate: f64,
    /// Bits still to pass from `since` on until the next datagram is due.
    wanted: f64,
    due: MonoTime,
    last: Option<MonoTime>,
    late: u64,
    given_up: u64,
}

impl VariableRate {
    /// Datagrams of `bits` bits each at `mean` and `deviation` bits per second. `None` when
    /// there is no such distribution: a mean of 0, or no finite deviation.
    #[must_use]
    pub fn new(start: MonoTime, bits: u64, mean: f64, deviation: f64, seed: u64) -> Option<Self> {
        let shape = LogNormal::new(mean, deviation)?;
        let mut rate = Self {
            shape,
            random: Random::seeded(seed),
            mean,
            bits: bits.max(1) as f64,
            since: start,
            rate: mean,
            wanted: 0.0,
            due: start,
            last: None,
            late: 0,
            given_up: 0,
        };
        rate.draw();
        Some(rate)
    }

    fn draw(&mut self) {
        self.rate = self.shape.draw(&mut self.random).max(self.mean * SLOWEST);
    }

    /// The gap between two datagrams at the rate of the moment.
    #[must_use]
    pub fn gap(&self) -> Duration {
        Duration::from_secs_f64(self.bits / self.rate)
    }

    /// When the next datagram may leave; never on the heels of a late one.
    #[must_use]
    pub fn due(&self) -> MonoTime {
        let distance = self.last.map(|last| last + self.gap() / 2);
        distance.map_or(self.due, |distance| self.due.max(distance))
    }

    /// Records that `datagrams` left at `now`.
    pub fn sent(&mut self, datagrams: u64, now: MonoTime) {
        let behind = now.since(self.due);
        if behind > self.gap().max(Duration::from_micros(50)) {
            self.late += datagrams;
        }
        self.last = Some(now);
        for _ in 0..datagrams {
            self.advance();
        }
        let behind = now.since(self.due);
        if behind > FORGIVEN_AFTER {
            self.given_up += (behind.as_secs_f64() / self.gap().as_secs_f64()) as u64;
            self.since += behind;
            self.due = now;
        }
    }

    /// Finds the due time of the datagram after this one.
    fn advance(&mut self) {
        self.wanted += self.bits;
        loop {
            let term = self.rate * TERM.as_secs_f64();
            if self.wanted <= term {
                break;
            }
            self.wanted -= term;
            self.since += TERM;
            self.draw();
        }
        self.due = self.since + Duration::from_secs_f64(self.wanted / self.rate);
    }

    /// Datagrams that left later than one gap (at least 50 us) after their time.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Datagrams that were never sent because the backlog was more than a second.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use tapeline_stats::Moments;

    use super::*;

    fn dues(seed: u64, deviation: f64, count: usize) -> Vec<MonoTime> {
        let mut rate =
            VariableRate::new(MonoTime::ZERO, 8_000, 8e6, deviation, seed).expect("a rate");
        (0..count)
            .map(|_| {
                let due = rate.due();
                rate.sent(1, due);
                due
            })
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule() {
        assert_eq!(dues(3, 2e6, 5000), dues(3, 2e6, 5000));
        assert_ne!(dues(3, 2e6, 5000), dues(4, 2e6, 5000));
    }

    #[test]
    fn without_deviation_the_gaps_are_equal() {
        for (n, due) in dues(1, 0.0, 3000).iter().enumerate() {
            let exact = n as u64 * 1_000_000;
            assert!(due.as_nanos().abs_diff(exact) < 2_000, "{n}: {due:?}");
        }
    }

    #[test]
    fn rates_of_a_tenth_of_a_second_have_mean_and_deviation() {
        // 1000 datagrams of 8000 bits a second: 100 in a term.
        let dues = dues(9, 2e6, 600_000);
        let end = dues.last().expect("some").as_nanos() / 100_000_000;
        let mut counts = vec![0_u64; end as usize + 1];
        for due in &dues {
            counts[(due.as_nanos() / 100_000_000) as usize] += 1;
        }
        counts.pop();
        let rates: Moments = counts.iter().map(|n| *n as f64 * 8e4).collect();
        assert!((rates.mean / 8e6 - 1.0).abs() < 0.02, "{rates:?}");
        assert!((rates.stdev() / 2e6 - 1.0).abs() < 0.1, "{rates:?}");
    }

    #[test]
    fn a_long_stop_is_given_up() {
        let mut rate = VariableRate::new(MonoTime::ZERO, 8_000, 8e6, 1e6, 1).expect("a rate");
        let late = MonoTime::from_nanos(5_000_000_000);
        rate.sent(1, late);
        assert!(rate.given_up() > 1000);
        assert!(rate.due() <= late + Duration::from_millis(10));
        assert!(VariableRate::new(MonoTime::ZERO, 8, 0.0, 1.0, 1).is_none());
    }
}
