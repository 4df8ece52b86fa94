//! Random numbers that are the same on every run.

/// A sequence of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        ((self.number() as u128 * bound as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_repeatable() {
        let mut random = Random::new(7);
        let numbers: Vec<u64> = (0..10_000).map(|_| random.below(100)).collect();
        let mean = numbers.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((48.0..51.0).contains(&mean), "{mean}");
        assert!(numbers.iter().all(|number| *number < 100));
        let mut again = Random::new(7);
        assert!(numbers.iter().all(|number| again.below(100) == *number));
    }
}
