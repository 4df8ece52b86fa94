//! What a curve shows: numbers by equal steps of time, the latest ones.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_base::WallTime;

/// Length of a step.
pub(crate) const STEP: Duration = Duration::from_millis(250);
/// Steps that are kept: more than a wide terminal has columns.
const MAX_STEPS: usize = 512;

/// One step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Step {
    sum: f64,
    /// Values that were added; of amounts, none.
    count: u32,
}

/// Numbers by time. Either amounts are added, or levels, not both.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Number of the oldest step, counted from 1970.
    first: i64,
    steps: VecDeque<Step>,
}

impl History {
    /// Spreads an amount evenly over the time in which it grew.
    pub(crate) fn amount(&mut self, end: WallTime, length: Duration, amount: f64) {
        let step = STEP.as_nanos() as f64;
        let (end, length) = (
            end.as_nanos() as f64 / step,
            length.as_nanos() as f64 / step,
        );
        if length <= 0.0 {
            return;
        }
        let start = end - length.min(MAX_STEPS as f64);
        let mut at = start;
        while at < end {
            let number = at.floor();
            let next = (number + 1.0).min(end);
            // A step that ends here is not begun.
            if next > at
                && let Some(step) = self.step(number as i64)
            {
                step.sum += amount * (next - at) / length;
            }
            at = number + 1.0;
        }
    }

    /// Adds a level that was seen at a time.
    pub(crate) fn level(&mut self, at: WallTime, level: f64) {
        let number = at.as_nanos().div_euclid(STEP.as_nanos() as i64);
        if let Some(step) = self.step(number) {
            step.sum += level;
            step.count += 1;
        }
    }

    fn step(&mut self, number: i64) -> Option<&mut Step> {
        if self.steps.is_empty() {
            self.first = number;
        }
        // After a long silence nothing of before is shown any more.
        if number - self.first > 4 * MAX_STEPS as i64 {
            self.steps.clear();
            self.first = number;
        }
        while number >= self.first + self.steps.len() as i64 {
            self.steps.push_back(Step::default());
        }
        while self.steps.len() > MAX_STEPS {
            self.steps.pop_front();
            self.first += 1;
        }
        let index = usize::try_from(number - self.first).ok()?;
        self.steps.get_mut(index)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Amounts per second of the latest `max` steps, up to the step in which `now` is; that one
    /// is not complete, and left out.
    pub(crate) fn rates(&self, now: WallTime, max: usize) -> Vec<f64> {
        let seconds = STEP.as_secs_f64();
        self.latest(now, max, |step| Some(step.sum / seconds))
            .into_iter()
            .map(|rate| rate.unwrap_or(0.0))
            .collect()
    }

    /// Mean levels of the same steps; none where none was seen.
    pub(crate) fn levels(&self, now: WallTime, max: usize) -> Vec<Option<f64>> {
        self.latest(now, max, |step| {
            (step.count > 0).then(|| step.sum / f64::from(step.count))
        })
    }

    fn latest(
        &self,
        now: WallTime,
        max: usize,
        value: impl Fn(&Step) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let end = now.as_nanos().div_euclid(STEP.as_nanos() as i64);
        if self.steps.is_empty() {
            return Vec::new();
        }
        let start = (end - max as i64).max(self.first);
        let step = |number: i64| {
            let index = usize::try_from(number - self.first).ok()?;
            self.steps.get(index).and_then(&value)
        };
        (start..end).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> WallTime {
        WallTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_amount_is_spread_over_its_time() {
        let mut history = History::default();
        history.amount(at(1000), Duration::from_millis(1000), 8.0);
        history.amount(at(1250), Duration::from_millis(250), 1.0);
        assert_eq!(history.rates(at(1250), 10), [8.0, 8.0, 8.0, 8.0, 4.0]);
        // The step in which it is now is not complete.
        assert_eq!(history.rates(at(1100), 2), [8.0, 8.0]);
        // Nothing is known of the time since.
        assert_eq!(history.rates(at(1750), 3), [4.0, 0.0, 0.0]);
    }

    #[test]
    fn what_lies_across_steps_is_shared_by_them() {
        let mut history = History::default();
        history.amount(at(1125), Duration::from_millis(250), 2.0);
        assert_eq!(history.rates(at(1250), 10), [4.0, 4.0]);
    }

    #[test]
    fn levels_are_means_and_may_be_missing() {
        let mut history = History::default();
        for (time, level) in [(10, 1.0), (20, 3.0), (510, 5.0)] {
            history.level(at(time), level);
        }
        assert_eq!(history.levels(at(760), 9), [Some(2.0), None, Some(5.0)]);
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut history = History::default();
        for step in 0..2000 {
            history.level(at(step * 250), step as f64);
        }
        assert_eq!(history.steps.len(), MAX_STEPS);
        assert_eq!(history.levels(at(2000 * 250), 1), [Some(1999.0)]);
        // Too old to be shown.
        history.level(at(0), 1.0);
        // After years.
        history.level(at(i64::from(u32::MAX)), 7.0);
        assert_eq!(history.steps.len(), 1);
        history.amount(at(i64::from(u32::MAX)), Duration::from_secs(1 << 40), 1.0);
        assert!(history.steps.len() <= MAX_STEPS);
    }
}
