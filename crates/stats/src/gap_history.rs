//! Which recent sequence numbers are missing, and what opened each gap.

use std::collections::VecDeque;

use crate::loss::LossRuns;

/// Gaps remembered one by one. Beyond that the oldest are joined in pairs, which keeps
/// losses exact and makes the extents of very late packets lower bounds. Bounds the
/// memory that a hostile sender can claim to a few kilobytes per flow.
const MAX_GAPS: usize = 256;

const WORD: u64 = u64::BITS as u64;

/// Numbers that were passed over by one arrival (or by several, once joined).
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: u64,
    end: u64,
    /// Index among the distinct arrivals of the one that passed over these numbers.
    opened_by: u64,
}

/// What a number below the highest one turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// It was missing.
    Filled {
        /// Index of the arrival that had passed over it.
        opened_by: u64,
        /// How many of the two numbers next to it are missing.
        neighbours: u64,
    },
    /// It had been received.
    Duplicate,
    /// It left the window: lost or received before, nobody knows.
    TooOld,
}

/// A circular bitmap of missing numbers with the list of gaps that cover them.
///
/// A bit is set only while its number is missing and inside the window. Packets in
/// order therefore never touch the bitmap, and a position is clean before another
/// number takes it: gaps are settled (counted as lost, bits cleared) when they leave
/// the window.
#[derive(Clone, Debug)]
pub(crate) struct GapHistory {
    missing: Box<[u64]>,
    gaps: VecDeque<Gap>,
    settled: LossRuns,
    /// Length so far of a loss run that reaches the beginning of the first gap.
    open_run: u64,
}

impl GapHistory {
    /// Remembers the last `window` numbers; a power of two, at least 64.
    pub(crate) fn new(window: u64) -> Self {
        debug_assert!(window.is_power_of_two() && window >= WORD);
        Self {
            missing: vec![0; (window / WORD) as usize].into_boxed_slice(),
            gaps: VecDeque::new(),
            settled: LossRuns::default(),
            open_run: 0,
        }
    }

    fn window(&self) -> u64 {
        self.missing.len() as u64 * WORD
    }

    /// The numbers `start..end` were passed over by arrival `opened_by`, which carried
    /// the number `end`.
    pub(crate) fn open(&mut self, start: u64, end: u64, opened_by: u64) {
        let floor = (end + 1).saturating_sub(self.window());
        self.settle(floor);
        // What a huge gap leaves outside the window can never be filled.
        self.open_run += floor.saturating_sub(start);
        let start = start.max(floor);
        for chunk in chunks(start, end, self.missing.len()) {
            self.missing[chunk.word] |= chunk.mask();
        }
        if self.gaps.len() == MAX_GAPS {
            self.join_oldest();
        }
        self.gaps.push_back(Gap {
            start,
            end,
            opened_by,
        });
    }

    /// A number below `next` (highest seen + 1) arrived.
    pub(crate) fn fill(&mut self, sequence: u64, next: u64) -> Late {
        let floor = next.saturating_sub(self.window());
        self.settle(floor);
        if sequence < floor {
            return Late::TooOld;
        }
        let (word, bit) = self.place(sequence);
        if self.missing[word] & bit == 0 {
            return Late::Duplicate;
        }
        self.missing[word] &= !bit;
        let adjacent = [sequence.checked_sub(1), Some(sequence + 1)];
        let neighbours = adjacent.into_iter().flatten();
        // The first number outside the window shares its place with the highest one, which has arrived.
        let neighbours = neighbours.filter(|number| {
            let (word, bit) = self.place(*number);
            self.missing[word] & bit != 0
        });
        let neighbours = neighbours.count() as u64;
        let after = self.gaps.partition_point(|gap| gap.start <= sequence);
        let opened_by = after
            .checked_sub(1)
            .and_then(|index| self.gaps.get(index))
            .map_or(0, |gap| gap.opened_by);
        Late::Filled {
            opened_by,
            neighbours,
        }
    }

    /// The word and the bit of a number.
    fn place(&self, number: u64) -> (usize, u64) {
        let word = (number / WORD) as usize & (self.missing.len() - 1);
        (word, 1 << (number % WORD))
    }

    /// All loss runs, counting every number that is still missing as lost.
    pub(crate) fn loss_runs(&self) -> LossRuns {
        let mut runs = self.settled;
        let mut run = self.open_run;
        for gap in &self.gaps {
            for chunk in chunks(gap.start, gap.end, self.missing.len()) {
                chunk.count_runs(self.missing[chunk.word], &mut run, &mut runs);
            }
            runs.add(std::mem::take(&mut run));
        }
        runs
    }

    /// Gives up all missing numbers below `floor`.
    fn settle(&mut self, floor: u64) {
        while let Some(gap) = self.gaps.front_mut() {
            if gap.start >= floor {
                break;
            }
            let end = gap.end.min(floor);
            for chunk in chunks(gap.start, end, self.missing.len()) {
                let word = &mut self.missing[chunk.word];
                chunk.count_runs(*word, &mut self.open_run, &mut self.settled);
                *word &= !chunk.mask();
            }
            if end < gap.end {
                gap.start = end;
                break;
            }
            self.settled.add(std::mem::take(&mut self.open_run));
            self.gaps.pop_front();
        }
    }

    /// Halves the older half of the list. A joined gap keeps the later arrival, so an
    /// extent computed from it is never too large.
    fn join_oldest(&mut self) {
        let joined = self.gaps.len() / 4;
        for index in 0..joined {
            self.gaps[index] = Gap {
                start: self.gaps[2 * index].start,
                ..self.gaps[2 * index + 1]
            };
        }
        self.gaps.drain(joined..2 * joined);
    }
}

/// The part of a range of numbers that lies in one word of the bitmap.
#[derive(Clone, Copy)]
struct Chunk {
    word: usize,
    shift: u32,
    /// Number of bits, 1 to 64.
    length: u32,
}

impl Chunk {
    fn mask(self) -> u64 {
        (u64::MAX >> (u64::BITS - self.length)) << self.shift
    }

    /// Counts runs of set bits; `run` is the run that is open before and after.
    fn count_runs(self, word: u64, run: &mut u64, runs: &mut LossRuns) {
        let mut bits = word >> self.shift;
        let mut left = self.length;
        while left > 0 {
            let ones = bits.trailing_ones().min(left);
            *run += u64::from(ones);
            bits = bits.checked_shr(ones).unwrap_or(0);
            left -= ones;
            if left > 0 {
                runs.add(std::mem::take(run));
                let zeros = bits.trailing_zeros().min(left);
                bits = bits.checked_shr(zeros).unwrap_or(0);
                left -= zeros;
            }
        }
    }
}

/// Splits `start..end`, not longer than the bitmap of `words` words, at its words.
fn chunks(start: u64, end: u64, words: usize) -> impl Iterator<Item = Chunk> {
    let mut position = start;
    std::iter::from_fn(move || {
        let left = end.checked_sub(position).filter(|left| *left > 0)?;
        let shift = position % WORD;
        let length = left.min(WORD - shift);
        let word = (position / WORD) as usize & (words - 1);
        position += length;
        Some(Chunk {
            word,
            shift: shift as u32,
            length: length as u32,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_filled_gap_is_no_loss_and_then_a_duplicate() {
        let mut history = GapHistory::new(64);
        history.open(3, 6, 2);
        let filled = Late::Filled {
            opened_by: 2,
            neighbours: 2,
        };
        assert_eq!(history.fill(4, 7), filled);
        assert_eq!(history.fill(4, 7), Late::Duplicate);
        assert_eq!(history.fill(1, 7), Late::Duplicate);
        let runs = history.loss_runs();
        assert_eq!((runs.count, runs.packets, runs.longest), (2, 2, 1));
    }

    #[test]
    fn a_run_across_words_and_across_the_window_is_one_run() {
        let mut history = GapHistory::new(128);
        history.open(10, 100, 0);
        // Numbers 10 to 22 leave the window here, the rest of the gap stays in it.
        assert_eq!(history.fill(5, 151), Late::TooOld);
        let filled = Late::Filled {
            opened_by: 0,
            neighbours: 2,
        };
        assert_eq!(history.fill(50, 151), filled);
        let runs = history.loss_runs();
        assert_eq!((runs.count, runs.packets, runs.longest), (2, 89, 49));
    }

    #[test]
    fn a_gap_larger_than_the_window_counts_whole() {
        let mut history = GapHistory::new(64);
        history.open(0, 1 << 40, 0);
        assert_eq!(history.fill(17, (1 << 40) + 1), Late::TooOld);
        let runs = history.loss_runs();
        assert_eq!((runs.count, runs.packets), (1, 1 << 40));
        // The next gap is a run of its own.
        history.open((1 << 40) + 1, (1 << 40) + 200, 1);
        let runs = history.loss_runs();
        assert_eq!((runs.count, runs.packets), (2, (1 << 40) + 199));
    }

    #[test]
    fn positions_are_clean_when_the_next_number_takes_them() {
        let mut history = GapHistory::new(64);
        history.open(1, 5, 0);
        // 65..69 share their positions with the lost 1..5; they came in order.
        assert_eq!(history.fill(66, 101), Late::Duplicate);
        assert_eq!(history.loss_runs().packets, 4);
    }

    #[test]
    fn endless_gaps_stay_bounded_and_exact() {
        let mut history = GapHistory::new(65_536);
        let gaps = 20_000;
        for index in 0..gaps {
            history.open(2 * index, 2 * index + 1, index);
            assert!(history.gaps.len() <= MAX_GAPS);
        }
        let runs = history.loss_runs();
        assert_eq!((runs.count, runs.packets, runs.longest), (gaps, gaps, 1));
        // Recent arrivals are exact, old ones bounded from below by a later arrival.
        let next = 2 * gaps;
        assert_eq!(
            history.fill(next - 10, next),
            Late::Filled {
                opened_by: gaps - 5,
                neighbours: 0,
            }
        );
        match history.fill(10, next) {
            Late::Filled { opened_by, .. } => assert!(opened_by >= 5),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn a_sliding_window_agrees_with_sets(
            delays in prop::collection::vec(prop_oneof![3 => 0_u64..4, 1 => 0_u64..200, 1 => Just(1_000)], 1..600),
        ) {
            const WINDOW: u64 = 64;
            let mut order: Vec<(u64, u64)> = (0..).zip(&delays).map(|(n, delay)| (n + delay, n)).collect();
            order.sort_unstable();
            let mut history = GapHistory::new(WINDOW);
            let (mut received, mut next) = (BTreeSet::new(), 0);
            for (arrival, (due, number)) in (0..).zip(order) {
                if due >= 1_000 {
                    break;
                }
                if number >= next {
                    if number > next {
                        history.open(next, number, arrival);
                    }
                    next = number + 1;
                    received.insert(number);
                } else if number + WINDOW < next {
                    prop_assert_eq!(history.fill(number, next), Late::TooOld);
                } else {
                    let filled = matches!(history.fill(number, next), Late::Filled { .. });
                    prop_assert!(filled);
                    received.insert(number);
                    prop_assert_eq!(history.fill(number, next), Late::Duplicate);
                }
            }
            let mut runs = LossRuns::default();
            let mut run = 0;
            for number in 0..next {
                if received.contains(&number) {
                    runs.add(std::mem::take(&mut run));
                } else {
                    run += 1;
                }
            }
            prop_assert_eq!(history.loss_runs(), runs);
        }
    }
}
