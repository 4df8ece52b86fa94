//! Loss, reordering and duplicates from sequence numbers.

use crate::gap_history::{GapHistory, Late};
use crate::{Loss, LossRuns};

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
    /// arrival beside a missing number that has left the window.
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

/// The counters of a [`SequenceTracker`]: a plain value to copy, subtract and add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCounts {
    /// Numbers from the first to the highest seen, both included.
    pub span: u64,
    /// Distinct packets received.
    pub received: u64,
    /// Packets received again.
    pub duplicates: u64,
    /// Distinct packets that arrived after a higher number.
    pub reordered: u64,
    /// Packets too old to be judged; in no other counter.
    pub too_old: u64,
    /// Arrivals that passed over at least one number.
    pub discontinuities: u64,
    /// n-reordered packets for n = 1, 2, 3 (RFC 4737, section 5): all of the n
    /// arrivals just before had higher numbers. n = 3 triggers a fast retransmit.
    pub n_reordered: [u64; 3],
    /// Largest reordering extent so far (of the whole flow, also in an interval).
    pub longest_extent: u64,
}

impl SequenceCounts {
    /// Numbers missing so far: gaps minus late fills. In an interval that filled more
    /// than it missed, 0.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.span.saturating_sub(self.received)
    }

    /// iperf 2's `Lost` counter: numbers skipped upwards, late fills not subtracted.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let in_order = self.received.saturating_sub(self.reordered);
        self.span.saturating_sub(in_order)
    }

    /// iperf 2's out-of-order counter: every number at or below the highest seen,
    /// duplicates included.
    #[must_use]
    pub fn out_of_order(&self) -> u64 {
        self.duplicates + self.reordered + self.too_old
    }

    /// The loss that iperf 2 prints: a duplicate hides one lost packet.
    #[must_use]
    pub fn iperf2_lost(&self) -> u64 {
        self.skipped().saturating_sub(self.out_of_order())
    }

    /// Counts the packets of another flow too.
    pub fn merge(&mut self, other: &Self) {
        self.span = self.span.saturating_add(other.span);
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.too_old += other.too_old;
        self.discontinuities += other.discontinuities;
        for (own, others) in self.n_reordered.iter_mut().zip(other.n_reordered) {
            *own += others;
        }
        self.longest_extent = self.longest_extent.max(other.longest_extent);
    }

    /// The packets between two copies. `longest_extent` stays the flow's.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut n_reordered = self.n_reordered;
        for (own, before) in n_reordered.iter_mut().zip(earlier.n_reordered) {
            *own = own.saturating_sub(before);
        }
        Self {
            span: self.span.saturating_sub(earlier.span),
            received: self.received.saturating_sub(earlier.received),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            reordered: self.reordered.saturating_sub(earlier.reordered),
            too_old: self.too_old.saturating_sub(earlier.too_old),
            discontinuities: self.discontinuities.saturating_sub(earlier.discontinuities),
            n_reordered,
            longest_extent: self.longest_extent,
        }
    }
}

#[cfg(test)]
mod tests;
