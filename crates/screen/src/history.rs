//! What a curve shows: numbers by equal steps of time.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_base::WallTime;

/// Length of a step.
pub(crate) const STEP: Duration = Duration::from_millis(250);
/// Steps that are kept: more than an hour.
pub(crate) const MAX_STEPS: usize = 16_384;

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
    /// When its first time began, nanoseconds: steps are counted from there.
    origin: i64,
    /// Number of the oldest step.
    first: i64,
    steps: VecDeque<Step>,
}

/// Nanoseconds of a step.
const STEP_NANOS: i64 = STEP.as_nanos() as i64;

impl History {
    /// Spreads an amount evenly over the time in which it grew.
    pub(crate) fn amount(&mut self, end: WallTime, length: Duration, amount: f64) {
        if !length.is_zero() {
            self.spread(end, length, |step, share| step.sum += amount * share);
        }
    }

    /// Adds a level that held for a time.
    pub(crate) fn level(&mut self, end: WallTime, length: Duration, level: f64) {
        let length = length.max(Duration::from_nanos(1));
        self.spread(end, length, |step, _| {
            step.sum += level;
            step.count += 1;
        });
    }

    /// Shows each step of a time, and which share of the time lies in it.
    fn spread(&mut self, end: WallTime, length: Duration, add: impl Fn(&mut Step, f64)) {
        let longest = STEP_NANOS * MAX_STEPS as i64;
        let length = i64::try_from(length.as_nanos()).map_or(longest, |nanos| nanos.min(longest));
        let start = end.as_nanos() - length;
        if self.steps.is_empty() {
            (self.origin, self.first) = (start, 0);
        }
        let end = end.as_nanos() - self.origin;
        let mut at = start - self.origin;
        while at < end {
            let number = at.div_euclid(STEP_NANOS);
            let next = ((number + 1) * STEP_NANOS).min(end);
            if let Some(step) = self.step(number) {
                add(step, (next - at) as f64 / length as f64);
            }
            at = next;
        }
    }

    fn step(&mut self, number: i64) -> Option<&mut Step> {
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

    /// Forgets all of it.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
    }

    /// Amounts per second in `columns` equal parts of `window` steps; `None` where there is none.
    /// The step in which `now` is is not complete, and left out.
    pub(crate) fn rates(&self, now: WallTime, window: usize, columns: usize) -> Vec<Option<f64>> {
        self.columns(now, window, columns, |steps| {
            let sum: f64 = steps.iter().map(|step| step.sum).sum();
            Some(sum / (STEP.as_secs_f64() * steps.len() as f64))
        })
    }

    /// Mean levels of the same parts; `None` where none was seen.
    pub(crate) fn levels(&self, now: WallTime, window: usize, columns: usize) -> Vec<Option<f64>> {
        self.columns(now, window, columns, |steps| {
            let sum: f64 = steps.iter().map(|step| step.sum).sum();
            let count: u32 = steps.iter().map(|step| step.count).sum();
            (count > 0).then(|| sum / f64::from(count))
        })
    }

    fn columns(
        &self,
        now: WallTime,
        window: usize,
        columns: usize,
        value: impl Fn(&[Step]) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        if self.steps.is_empty() || columns == 0 {
            return Vec::new();
        }
        let now = (now.as_nanos() - self.origin).div_euclid(STEP_NANOS);
        // Whole columns move on, so that those which stay keep their steps.
        let wide = window.div_ceil(columns).max(1) as i64;
        let known = (now - self.first).max(0);
        let over = (known - window as i64).max(0);
        let skipped = (over + wide - 1) / wide * wide;
        let complete: Vec<Step> = (skipped..known)
            .map(|index| usize::try_from(index).ok())
            .map(|index| index.and_then(|index| self.steps.get(index)))
            .map(|step| step.copied().unwrap_or_default())
            .collect();
        let edge = |column: usize| column * window / columns;
        let parts = (0..columns).map(|column| {
            let from = edge(column);
            let to = edge(column + 1).max(from + 1).min(complete.len());
            let steps = complete.get(from..to)?;
            (!steps.is_empty()).then(|| value(steps)).flatten()
        });
        parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> WallTime {
        WallTime::from_nanos(millis * 1_000_000)
    }

    fn known(values: Vec<Option<f64>>) -> Vec<f64> {
        values.into_iter().flatten().collect()
    }

    #[test]
    fn an_amount_is_spread_over_its_time() {
        let mut history = History::default();
        history.amount(at(1100), Duration::from_millis(1000), 8.0);
        history.amount(at(1350), Duration::from_millis(250), 1.0);
        let rates = |now| known(history.rates(at(now), 10, 10));
        assert_eq!(rates(1350), [8.0, 8.0, 8.0, 8.0, 4.0]);
        // The step in which it is now is not complete.
        assert_eq!(rates(1200), [8.0, 8.0, 8.0, 8.0]);
        // Nothing is known of the time since.
        assert_eq!(rates(1850), [8.0, 8.0, 8.0, 8.0, 4.0, 0.0, 0.0]);
    }

    #[test]
    fn what_lies_across_steps_is_shared_by_them() {
        let mut history = History::default();
        history.amount(at(1000), Duration::from_millis(125), 1.0);
        history.amount(at(1250), Duration::from_millis(250), 2.0);
        assert_eq!(known(history.rates(at(1375), 10, 10)), [8.0, 4.0]);
    }

    #[test]
    fn a_window_fills_its_columns_from_the_left_and_moves_on() {
        let mut history = History::default();
        for step in 1..=4 {
            let length = Duration::from_millis(250);
            history.amount(at(step * 250), length, step as f64);
        }
        // Two steps a column, and two columns a step.
        let rates = |window, columns| history.rates(at(1000), window, columns);
        assert_eq!(rates(8, 4), [Some(6.0), Some(14.0), None, None]);
        assert_eq!(
            rates(2, 4),
            [Some(12.0), Some(12.0), Some(16.0), Some(16.0)]
        );
    }

    #[test]
    fn levels_are_means_and_may_be_missing() {
        let mut history = History::default();
        let moment = Duration::ZERO;
        for (time, level) in [(10, 1.0), (20, 3.0), (520, 5.0)] {
            history.level(at(time), moment, level);
        }
        assert_eq!(
            history.levels(at(770), 4, 4),
            [Some(2.0), None, Some(5.0), None]
        );
        // One that held for half a second.
        history.level(at(1260), Duration::from_millis(500), 7.0);
        assert_eq!(known(history.levels(at(1260), 8, 8)), [2.0, 5.0, 7.0, 7.0]);
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut history = History::default();
        let moment = Duration::ZERO;
        for step in 0..20_000 {
            history.level(at(step * 250), moment, step as f64);
        }
        assert_eq!(history.steps.len(), MAX_STEPS);
        assert_eq!(history.levels(at(20_000 * 250), 1, 1), [Some(19_999.0)]);
        // Too old to be shown.
        history.level(at(0), moment, 1.0);
        // After years.
        history.level(at(i64::from(u32::MAX)), moment, 7.0);
        assert_eq!(history.steps.len(), 1);
        history.amount(at(i64::from(u32::MAX)), Duration::from_secs(1 << 40), 1.0);
        assert!(history.steps.len() <= MAX_STEPS);
    }
}
