//! Lost packets: runs of consecutive losses and the result of a flow.

use crate::SequenceCounts;

/// Number of length classes in the histogram; the last one is open-ended.
const CLASSES: usize = 24;

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
    pub fn reordered_ratio(&self) -> f64 {
        ratio(self.counts.reordered, self.counts.received)
    }

    /// Duplicates over distinct received (RFC 5560).
    #[must_use]
    pub fn duplicate_ratio(&self) -> f64 {
        ratio(self.counts.duplicates, self.counts.received)
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
