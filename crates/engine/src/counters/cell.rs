//! Published counters: the newest, and those at an interval's end, each with the extremes of the running
//! interval.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, TryFromBytes};

use super::intervals::Intervals;
use super::snapshot::SnapshotCell;

/// No sample at all.
pub(crate) const NO_EXTREMES: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Smallest and largest sample of the running interval. They cannot be subtracted, so
/// the worker starts them anew behind each boundary.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct MinMax {
    interval: u64,
    low: f64,
    high: f64,
}

impl Default for MinMax {
    fn default() -> Self {
        Self::of(0)
    }
}

impl MinMax {
    /// Nothing yet in interval `interval`.
    pub(crate) fn of(interval: u64) -> Self {
        Self {
            interval,
            low: NO_EXTREMES.0,
            high: NO_EXTREMES.1,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, sample: f64) {
        self.low = self.low.min(sample);
        self.high = self.high.max(sample);
    }

    pub(crate) fn of_interval(&self, index: u64) -> (f64, f64) {
        if self.interval == index {
            (self.low, self.high)
        } else {
            NO_EXTREMES
        }
    }
}

/// Counters as a cell holds them: whole words without gaps, which readers copy while they change.
pub trait Counters: Copy + IntoBytes + TryFromBytes + FromZeros + Immutable {
    /// What is read before anything was published.
    #[must_use]
    fn unpublished() -> Self {
        Self::new_zeroed()
    }
}

/// Words of a cell for these counters.
pub(crate) const fn words<C>() -> usize {
    (size_of::<C>() + size_of::<MinMax>()) / size_of::<u64>()
}

#[inline]
fn to_words<C: Counters, const N: usize>(counters: &C, extremes: &MinMax) -> [u64; N] {
    const { assert!(size_of::<C>() + size_of::<MinMax>() == size_of::<[u64; N]>()) };
    let mut words = [0; N];
    let (own, rest) = words.as_mut_bytes().split_at_mut(size_of::<C>());
    own.copy_from_slice(counters.as_bytes());
    rest.copy_from_slice(extremes.as_bytes());
    words
}

fn from_words<C: Counters, const N: usize>(words: &[u64; N]) -> (C, MinMax) {
    let (own, rest) = words.as_bytes().split_at(size_of::<C>());
    match (C::try_read_from_bytes(own), MinMax::read_from_bytes(rest)) {
        (Ok(counters), Ok(extremes)) => (counters, extremes),
        _ => unreachable!("a cell holds what was published as a whole"),
    }
}

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

impl<C: Counters, const N: usize> FlowCell<C, N> {
    /// A cell for a flow with these intervals.
    #[must_use]
    pub fn new(intervals: Intervals) -> Self {
        Self {
            newest: SnapshotCell::new(&to_words(&C::unpublished(), &MinMax::new_zeroed())),
            mark: SnapshotCell::default(),
            marked: AtomicU64::new(0),
            intervals,
            counters: PhantomData,
        }
    }

    /// The newest counters.
    #[must_use]
    pub fn read(&self) -> C {
        from_words::<C, N>(&self.newest.read()).0
    }

    /// The counters at the end of interval `index`, and the interval's own extremes.
    #[must_use]
    pub fn close_interval(&self, index: u64) -> Closed<C> {
        let (words, next) = self.at_end_of(index);
        let (counters, extremes) = from_words::<C, N>(&words);
        Closed {
            counters,
            extremes: extremes.of_interval(index),
            next,
        }
    }

    pub(crate) fn intervals(&self) -> Intervals {
        self.intervals
    }

    #[inline]
    pub(crate) fn publish(&self, counters: &C, extremes: &MinMax) {
        self.newest.publish(&to_words(counters, extremes));
    }

    pub(crate) fn set_mark(&self, counters: &C, extremes: &MinMax, boundaries: u64) {
        // Made visible before the words by the fence inside `publish`: nobody takes the new
        // words for the old boundary.
        self.marked.store(MARKING, Ordering::Relaxed);
        self.mark.publish(&to_words(counters, extremes));
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
