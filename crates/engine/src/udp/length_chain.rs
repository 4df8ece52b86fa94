//! Datagram lengths that depend on the length before: a Markov chain.

use tapeline_stats::Random;

/// Most lengths of a chain.
const MAX_LENGTHS: usize = 256;

/// Draws lengths and counts the steps from each length to the next.
#[derive(Clone, Debug)]
pub struct LengthChain {
    lengths: Vec<u32>,
    /// For each length the cumulative probabilities of the next one.
    cumulative: Vec<f64>,
    counts: Vec<u64>,
    at: usize,
    random: Random,
}

impl LengthChain {
    /// A chain over `lengths` bytes; row i of `transitions` holds the probabilities of what
    /// follows length i. The chain begins at the first length, which itself is not drawn.
    /// `None` unless there are 1 to 256 lengths above 0 and as many rows and columns.
    #[must_use]
    pub fn new(lengths: &[u32], transitions: &[Vec<f64>], seed: u64) -> Option<Self> {
        let n = lengths.len();
        let square = transitions.len() == n && transitions.iter().all(|row| row.len() == n);
        if !(1..=MAX_LENGTHS).contains(&n) || !square || lengths.contains(&0) {
            return None;
        }
        let mut cumulative = Vec::with_capacity(n * n);
        for row in transitions {
            let mut sum = 0.0;
            for probability in row {
                sum += probability.max(0.0);
                cumulative.push(sum);
            }
        }
        Some(Self {
            lengths: lengths.to_vec(),
            cumulative,
            counts: vec![0; n * n],
            at: 0,
            random: Random::seeded(seed),
        })
    }

    /// The longest length, bytes.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.lengths.iter().copied().max().unwrap_or(1)
    }

    /// The length of the moment, bytes.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.lengths[self.at]
    }

    /// Draws the next length. One of probability 0 is never drawn.
    pub fn step(&mut self) {
        let n = self.lengths.len();
        let row = &self.cumulative[self.at * n..(self.at + 1) * n];
        let drawn = self.random.fraction() * row[n - 1];
        let mut before = 0.0;
        let mut next = self.at;
        for (column, upto) in row.iter().enumerate() {
            if *upto > before {
                next = column;
                if drawn < *upto {
                    break;
                }
            }
            before = *upto;
        }
        self.counts[self.at * n + next] += 1;
        self.at = next;
    }

    /// How often each length followed each, row by row.
    #[must_use]
    pub fn transitions(&self) -> Vec<Vec<u64>> {
        let n = self.lengths.len();
        self.counts.chunks(n).map(<[u64]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(seed: u64) -> LengthChain {
        let rows = [
            vec![0.1, 0.7, 0.2],
            vec![0.2, 0.5, 0.3],
            vec![0.4, 0.4, 0.2],
        ];
        LengthChain::new(&[256, 1024, 1470], &rows, seed).expect("a chain")
    }

    #[test]
    fn steps_have_their_probabilities() {
        let mut chain = chain(5);
        assert_eq!((chain.length(), chain.longest()), (256, 1470));
        for _ in 0..300_000 {
            chain.step();
        }
        let counts = chain.transitions();
        assert_eq!(counts.iter().flatten().sum::<u64>(), 300_000);
        let share = |i: usize, j: usize| counts[i][j] as f64 / counts[i].iter().sum::<u64>() as f64;
        for (i, j, wanted) in [(0, 0, 0.1), (0, 1, 0.7), (1, 2, 0.3), (2, 0, 0.4)] {
            assert!(
                (share(i, j) - wanted).abs() < 0.01,
                "{i},{j}: {}",
                share(i, j)
            );
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_lengths() {
        let lengths = |seed| {
            let mut chain = chain(seed);
            (0..1000)
                .map(|_| {
                    chain.step();
                    chain.length()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(lengths(1), lengths(1));
        assert_ne!(lengths(1), lengths(2));
    }

    #[test]
    fn what_cannot_follow_never_does() {
        let rows = [
            vec![0.0, 1.0, 0.0],
            vec![0.5, 0.0, 0.5],
            vec![1.0, 0.0, 0.0],
        ];
        let mut chain = LengthChain::new(&[10, 20, 30], &rows, 3).expect("a chain");
        for _ in 0..10_000 {
            chain.step();
        }
        let counts = chain.transitions();
        for (i, j) in [(0, 0), (0, 2), (1, 1), (2, 1), (2, 2)] {
            assert_eq!(counts[i][j], 0, "{i},{j}");
        }
        assert!(LengthChain::new(&[10], &[], 1).is_none());
        assert!(LengthChain::new(&[0], &[vec![1.0]], 1).is_none());
    }
}
