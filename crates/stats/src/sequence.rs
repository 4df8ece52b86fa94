//! Loss, reordering and duplicates from sequence numbers.

use crate::gap_history::{GapHistory, Late};
use crate::loss::{Loss, LossRuns, SequenceCounts};

/// Smallest window of remembered numbers (methodology 4.1); 8 KiB once allocated.
const MIN_WINDOW: u64 = 1 << 16;
/// Largest window: 2 MiB per flow.
const MAX_WINDOW: u64 = 1 << 24;
/// Arrivals remembered for n-reordering; a power of two above three.
const RECENT: usize = 4;

/// What one arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Higher than every number before it.
    InOrder {
        /// Numbers that it passed over; 0 when it was the expected one.
        gap: u64,
    },
    /// Missing until now, after higher ones had arrived.
    Reordered {
        /// Distinct arrivals since the earliest one with a higher number (RFC 4737,
        /// section 4.2); at least 1. A lower bound once very many gaps are open.
        extent: u64,
    },
    /// Received before.
    Duplicate,
    /// Older than the window or than the first number: cannot be judged.
    TooOld,
}

/// Follows the sequence numbers of one flow (methodology 4.1; RFC 4737, 7680, 5560,
/// 3357).
///
/// A packet in order costs a comparison and three stores. Memory for the window is
/// taken at the first gap; a flow that loses nothing has none.
#[derive(Clone, Debug)]
pub struct SequenceTracker {
    first: u64,
    /// Highest number seen + 1.
    next: u64,
    /// The last distinct arrivals; arrival i is at i modulo the length.
    recent: [u64; RECENT],
    window: u64,
    counts: SequenceCounts,
    /// Runs of missing numbers.
    runs: u64,
    history: Option<Box<GapHistory>>,
}

impl SequenceTracker {
    /// For a flow whose sender numbers its packets from `first` upwards, with the
    /// smallest window (65 536 numbers).
    #[must_use]
    pub fn new(first: u64) -> Self {
        Self::with_window(first, MIN_WINDOW)
    }

    /// As [`new`](Self::new), remembering at least `window` numbers (two seconds of
    /// packets at the planned rate); rounded up to a power of two, at most 2^24.
    #[must_use]
    pub fn with_window(first: u64, window: u64) -> Self {
        // Leaves room for the successor of every number.
        let first = first.min(u64::MAX - 1);
        Self {
            first,
            next: first,
            recent: [0; RECENT],
            window: window.clamp(MIN_WINDOW, MAX_WINDOW).next_power_of_two(),
            counts: SequenceCounts::default(),
            runs: 0,
            history: None,
        }
    }

    /// Judges the arrival of `sequence`.
    #[inline]
    pub fn observe(&mut self, sequence: u64) -> Arrival {
        if sequence == self.next && sequence < u64::MAX {
            self.advance(sequence);
            return Arrival::InOrder { gap: 0 };
        }
        self.observe_disorder(sequence)
    }

    /// Judges the arrival of the `count` numbers that follow the highest one seen, in order.
    #[inline]
    pub fn observe_next(&mut self, count: u64) {
        let count = count.min(u64::MAX - self.next);
        // Only the last few are remembered.
        let passed = count.saturating_sub(RECENT as u64);
        self.counts.received += passed;
        self.next += passed;
        for _ in passed..count {
            self.advance(self.next);
        }
    }

    #[cold]
    fn observe_disorder(&mut self, sequence: u64) -> Arrival {
        // The largest number has no successor; no sender gets there.
        if sequence < self.first || sequence == u64::MAX {
            self.counts.too_old += 1;
            return Arrival::TooOld;
        }
        if sequence > self.next {
            let gap = sequence - self.next;
            let window = self.window;
            self.history
                .get_or_insert_with(|| Box::new(GapHistory::new(window)))
                .open(self.next, sequence, self.counts.received);
            self.counts.discontinuities += 1;
            self.runs += 1;
            self.advance(sequence);
            return Arrival::InOrder { gap };
        }
        let late = match &mut self.history {
            Some(history) => history.fill(sequence, self.next),
            // Without a gap everything below `next` has arrived.
            None => Late::Duplicate,
        };
        match late {
            Late::Filled {
                opened_by,
                neighbours,
            } => {
                // In the middle of a run it leaves two, at an end one, and alone none.
                self.runs = (self.runs + neighbours).saturating_sub(1);
                self.reorder(sequence, opened_by)
            }
            Late::Duplicate => {
                self.counts.duplicates += 1;
                Arrival::Duplicate
            }
            Late::TooOld => {
                self.counts.too_old += 1;
                Arrival::TooOld
            }
        }
    }

    #[inline]
    fn advance(&mut self, sequence: u64) {
        self.next = sequence + 1;
        self.counts.span = self.next - self.first;
        self.remember(sequence);
    }

    #[inline]
    fn remember(&mut self, sequence: u64) {
        self.recent[self.counts.received as usize % RECENT] = sequence;
        self.counts.received += 1;
    }

    fn reorder(&mut self, sequence: u64, opened_by: u64) -> Arrival {
        let received = self.counts.received;
        let extent = received - opened_by;
        let before = (1..).map_while(|distance| received.checked_sub(distance));
        for (index, count) in before.zip(&mut self.counts.n_reordered) {
            if self.recent[index as usize % RECENT] < sequence {
                break;
            }
            *count += 1;
        }
        self.counts.reordered += 1;
        self.counts.longest_extent = self.counts.longest_extent.max(extent);
        self.remember(sequence);
        Arrival::Reordered { extent }
    }

    /// A copy of the counters for a snapshot.
    #[inline]
    #[must_use]
    pub fn counts(&self) -> SequenceCounts {
        self.counts
    }

    /// The highest number seen.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        (self.next > self.first).then(|| self.next - 1)
    }

    /// How many runs of consecutive numbers are missing now. Costs nothing; may be one too few for each late
    /// arrival next to a missing number that has left the window.
    #[inline]
    #[must_use]
    pub fn open_runs(&self) -> u64 {
        self.runs
    }

    /// Runs of consecutive numbers that are missing now. Looks through the window:
    /// for interval ends, not for every packet.
    #[must_use]
    pub fn loss_runs(&self) -> LossRuns {
        self.history
            .as_ref()
            .map_or_else(LossRuns::default, |history| history.loss_runs())
    }

    /// The result of the flow. `sent` is how many packets the sender says it sent;
    /// without it, or when it is below what the numbers prove, the highest number
    /// seen stands in and a lost tail stays invisible.
    #[must_use]
    pub fn finish(&self, sent: Option<u64>) -> Loss {
        let counts = self.counts;
        let proven = counts.span;
        let total = sent.map_or(proven, |sent| sent.max(proven));
        let mut runs = self.loss_runs();
        runs.add(total - proven);
        Loss {
            sent: total,
            sent_known: sent.is_some_and(|sent| sent >= proven),
            lost: total - counts.received,
            counts,
            runs,
        }
    }
}

#[cfg(test)]
mod tests;
