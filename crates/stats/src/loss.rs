//! Lost packets: what sequence numbers counted, runs of consecutive losses and the result of a flow.

/// Number of length classes in the histogram; the last one is open-ended.
const CLASSES: usize = 24;

/// The counters of a [`SequenceTracker`](crate::SequenceTracker): a plain value to copy, subtract and add.
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
    #[cfg(test)]
    pub(crate) fn iperf2_lost(&self) -> u64 {
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

/// Maximal runs of consecutively numbered lost packets (RFC 3357, loss periods).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossRuns {
    /// Number of runs.
    pub count: u64,
    /// Lost packets in all runs.
    pub packets: u64,
    /// Packets in the longest run.
    pub longest: u64,
    /// Runs by length: class k counts lengths in (2^(k−1), 2^k], that is
    /// 1, 2, 3–4, 5–8, …; the last class takes all longer ones.
    pub classes: [u64; CLASSES],
}

impl LossRuns {
    /// Counts one run; a length of 0 is no run.
    pub fn add(&mut self, length: u64) {
        if length == 0 {
            return;
        }
        self.count += 1;
        self.packets = self.packets.saturating_add(length);
        self.longest = self.longest.max(length);
        let class = (u64::BITS - (length - 1).leading_zeros()) as usize;
        self.classes[class.min(CLASSES - 1)] += 1;
    }

    /// Counts the runs of another flow too.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.packets = self.packets.saturating_add(other.packets);
        self.longest = self.longest.max(other.longest);
        for (own, others) in self.classes.iter_mut().zip(other.classes) {
            *own += others;
        }
    }

    /// Mean length of a run in packets; nothing when there was none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.packets as f64 / self.count as f64)
    }
}

/// What became of the packets of a finished flow (methodology 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Packets sent: the sender's count, or as many as the highest number proves.
    pub sent: u64,
    /// Whether `sent` is the sender's count. If not, a lost tail is invisible.
    pub sent_known: bool,
    /// Packets sent that never arrived.
    pub lost: u64,
    /// What arrived.
    pub counts: SequenceCounts,
    /// The losses as runs, the lost tail among them.
    pub runs: LossRuns,
}

impl Loss {
    /// Lost over sent, 0 to 1; 0 when nothing was sent.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        ratio(self.lost, self.sent)
    }

    /// Reordered over distinct received (RFC 4737, section 4.1), 0 to 1.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn reordered_ratio(&self) -> f64 {
        ratio(self.counts.reordered, self.counts.received)
    }

    /// Counts the packets of another flow too.
    pub fn merge(&mut self, other: &Self) {
        self.sent = self.sent.saturating_add(other.sent);
        self.sent_known &= other.sent_known;
        self.lost = self.lost.saturating_add(other.lost);
        self.counts.merge(&other.counts);
        self.runs.merge(&other.runs);
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_fall_into_classes_of_doubling_length() {
        let mut runs = LossRuns::default();
        for length in [0, 1, 2, 3, 4, 5, 8, 9, u64::MAX] {
            runs.add(length);
        }
        assert_eq!(runs.count, 8);
        assert_eq!(runs.classes[..5], [1, 1, 2, 2, 1]);
        assert_eq!(runs.classes[CLASSES - 1], 1);
        assert_eq!(runs.longest, u64::MAX);
    }

    #[test]
    fn mean_length_of_no_run_is_unknown() {
        let mut runs = LossRuns::default();
        assert_eq!(runs.mean(), None);
        runs.add(1);
        runs.add(4);
        assert_eq!(runs.mean(), Some(2.5));
    }

    #[test]
    fn merging_adds_and_keeps_the_longest() {
        let mut left = LossRuns::default();
        left.add(3);
        let mut right = LossRuns::default();
        right.add(7);
        left.merge(&right);
        assert_eq!((left.count, left.packets, left.longest), (2, 10, 7));
    }
}
