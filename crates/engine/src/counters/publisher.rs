//! The writing end of a cell.

use std::sync::Arc;

use tapeline_base::MonoTime;

use super::cell::{Counters, FlowCell, MinMax};
use super::intervals::Watch;

/// The one writer of a [`FlowCell`], with the extremes of the running interval.
#[derive(Debug)]
pub struct Publisher<C, const N: usize> {
    cell: Arc<FlowCell<C, N>>,
    watch: Watch,
    extremes: MinMax,
}

impl<C: Counters, const N: usize> Publisher<C, N> {
    /// The one writer of `cell`.
    #[must_use]
    pub fn new(cell: Arc<FlowCell<C, N>>) -> Self {
        let watch = Watch::new(cell.intervals());
        Self {
            cell,
            watch,
            extremes: MinMax::default(),
        }
    }

    /// Whether `now` lies behind a boundary that has not been marked yet.
    #[inline]
    #[must_use]
    pub fn is_behind_boundary(&self, now: MonoTime) -> bool {
        self.watch.is_behind(now)
    }

    /// The next boundary that will be marked; far away where there is none.
    #[inline]
    #[must_use]
    pub fn next_boundary(&self) -> MonoTime {
        self.watch.next()
    }

    /// Call before counting an event of time `now`.
    #[inline]
    pub fn at(&mut self, now: MonoTime, counters: &C) {
        if let Some(boundaries) = self.watch.passed(now) {
            self.cell.set_mark(counters, &self.extremes, boundaries);
            self.extremes = MinMax::of(boundaries);
        }
    }

    /// Takes a sample into the extremes of the interval, seconds.
    #[inline]
    pub fn extreme(&mut self, sample: f64) {
        self.extremes.add(sample);
    }

    /// Call after counting.
    #[inline]
    pub fn publish(&self, counters: &C) {
        self.cell.publish(counters, &self.extremes);
    }
}
