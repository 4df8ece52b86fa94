//! Numbers without order that a seed repeats.

/// A small generator that gives the same numbers for the same seed on every machine (SplitMix64: Steele,
/// Lea, Flood 2014). Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but without, 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        // As many steps as a float distinguishes: none is rounded to 1.
        const STEPS: f64 = (1_u64 << 53) as f64;
        (self.bits() >> 11) as f64 / STEPS
    }

    /// A whole number below `limit`; 0 for a limit of 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        ((self.bits() as u128 * limit as u128) >> 64) as u64
    }

    /// True with this probability (0 to 1).
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }
}

/// FNV-1a of 64 bits: the same number for the same bytes on every host and in every version.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // Reference output of SplitMix64 for this seed.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let draw = |seed| {
            let mut random = SplitMix64::new(seed);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn chances_are_about_as_asked() {
        let mut random = SplitMix64::new(7);
        let hits = (0..10_000).filter(|_| random.chance(0.1)).count();
        assert!((900..1_100).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| !random.chance(0.0) && random.chance(1.0)));
    }

    #[test]
    fn numbers_stay_below_their_limit_and_reach_all_of_them() {
        let mut random = SplitMix64::new(3);
        let mut seen = [0; 5];
        (0..1_000).for_each(|_| seen[random.below(5) as usize] += 1);
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn numbers_are_spread_and_repeatable() {
        let mut random = SplitMix64::new(7);
        let numbers: Vec<u64> = (0..10_000).map(|_| random.below(100)).collect();
        let mean = numbers.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((48.0..51.0).contains(&mean), "{mean}");
        assert!(numbers.iter().all(|number| *number < 100));
        let mut again = SplitMix64::new(7);
        assert!(numbers.iter().all(|number| again.below(100) == *number));
    }
}
