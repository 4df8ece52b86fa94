//! Published counters: the newest, and those at an interval's end.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Intervals, Words};
use crate::cell::SnapshotCell;

/// Value of [`FlowCell::marked`] while the mark changes.
const MARKING: u64 = u64::MAX;

/// Published counters: the newest, and those at the last boundary that the worker passed.
#[derive(Debug)]
pub struct FlowCell<C, const N: usize> {
    newest: SnapshotCell<N>,
    mark: SnapshotCell<N>,
    /// Boundaries passed when `mark` was taken; 0 before the first.
    marked: AtomicU64,
    intervals: Intervals,
    counters: PhantomData<C>,
}

/// Counters of an interval's end.
#[derive(Clone, Copy, Debug)]
pub struct Closed<C> {
    /// The counters.
    pub counters: C,
    /// Smallest and largest sample of the interval; infinite without one.
    pub extremes: (f64, f64),
    /// Boundaries covered: the number of the interval that follows.
    pub next: u64,
}

impl<C: Words<N>, const N: usize> FlowCell<C, N> {
    /// A cell for a flow with these intervals.
    #[must_use]
    pub fn new(intervals: Intervals) -> Self {
        Self {
            newest: SnapshotCell::default(),
            mark: SnapshotCell::default(),
            marked: AtomicU64::new(0),
            intervals,
            counters: PhantomData,
        }
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> C {
        C::from_words(self.newest.read()).0
    }

    /// The counters at the end of interval `index`, and the interval's own extremes.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<C> {
        let (words, next) = self.at_end_of(index);
        let (counters, extremes) = C::from_words(words);
        Closed {
            counters,
            extremes: extremes.of_interval(index),
            next,
        }
    }

    pub(super) fn intervals(&self) -> Intervals {
        self.intervals
    }

    #[inline]
    pub(super) fn publish(&self, words: &[u64; N]) {
        self.newest.publish(words);
    }

    pub(super) fn set_mark(&self, words: &[u64; N], boundaries: u64) {
        // Made visible before the words by the fence inside `publish`: nobody takes the new
        // words for the old boundary.
        self.marked.store(MARKING, Ordering::Relaxed);
        self.mark.publish(words);
        self.marked.store(boundaries, Ordering::Release);
    }

    /// The words at the end of interval `index`, and how many boundaries they cover (more
    /// than one when the worker was watched too rarely).
    fn at_end_of(&self, index: u64) -> ([u64; N], u64) {
        // Nothing happened behind the boundary unless the mark says so afterwards.
        let newest = self.newest.read();
        loop {
            let boundaries = self.marked.load(Ordering::Acquire);
            if boundaries <= index {
                return (newest, index + 1);
            }
            let words = self.mark.read();
            if boundaries != MARKING && self.marked.load(Ordering::Relaxed) == boundaries {
                return (words, boundaries);
            }
            std::hint::spin_loop();
        }
    }
}
