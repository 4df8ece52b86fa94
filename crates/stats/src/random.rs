//! Random numbers for traffic shapes.

use std::f64::consts::TAU;

use tapeline_base::SplitMix64;

/// Random numbers that are the same for the same seed on every machine, of several distributions.
#[derive(Clone, Debug)]
pub struct Random {
    uniform: SplitMix64,
    /// The second of the two normal deviates that are made at a time.
    spare: Option<f64>,
}

impl Random {
    /// A generator for this seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self {
            uniform: SplitMix64::new(seed),
            spare: None,
        }
    }

    /// Any 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.uniform.bits()
    }

    /// A number from 0 up to, but without, 1.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        self.uniform.fraction()
    }

    /// A number of the normal distribution with mean 0 and deviation 1 (Box, Muller 1958).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 − u lies in (0, 1], where the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        let angle = TAU * self.fraction();
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

/// The log-normal distribution with a given mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogNormal {
    /// Mean of the logarithm.
    location: f64,
    /// Deviation of the logarithm.
    scale: f64,
}

impl LogNormal {
    /// The distribution with this mean and standard deviation, not those of its logarithm.
    /// `None` unless the mean is positive and the deviation is not negative.
    #[must_use]
    pub fn new(mean: f64, deviation: f64) -> Option<Self> {
        let usable = mean > 0.0 && mean.is_finite() && deviation >= 0.0 && deviation.is_finite();
        if !usable {
            return None;
        }
        let relative = deviation / mean;
        let variance = (relative * relative).ln_1p();
        Some(Self {
            location: mean.ln() - variance / 2.0,
            scale: variance.sqrt(),
        })
    }

    /// A number of this distribution, above 0.
    pub fn draw(&self, random: &mut Random) -> f64 {
        if self.scale == 0.0 {
            return self.location.exp();
        }
        (self.location + self.scale * random.normal()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;

    #[test]
    fn a_normal_deviate_has_mean_0_and_deviation_1() {
        let mut random = Random::seeded(7);
        let moments: Moments = (0..200_000).map(|_| random.normal()).collect();
        assert!(moments.mean.abs() < 0.01, "{moments:?}");
        assert!((moments.stdev() - 1.0).abs() < 0.01, "{moments:?}");
    }

    #[test]
    fn a_log_normal_number_has_the_mean_and_deviation_asked_for() {
        let mut random = Random::seeded(9);
        for (mean, deviation) in [(20e6, 1e6), (1.0, 0.5), (100.0, 100.0)] {
            let shape = LogNormal::new(mean, deviation).expect("usable");
            let moments: Moments = (0..400_000).map(|_| shape.draw(&mut random)).collect();
            assert!((moments.mean / mean - 1.0).abs() < 0.02, "{moments:?}");
            assert!(
                (moments.stdev() / deviation - 1.0).abs() < 0.05,
                "{moments:?}"
            );
            assert!(moments.min > 0.0);
        }
    }

    #[test]
    fn without_deviation_there_is_one_number() {
        let mut random = Random::seeded(1);
        let shape = LogNormal::new(20e6, 0.0).expect("usable");
        assert!((shape.draw(&mut random) - 20e6).abs() < 1e-3);
        for (mean, deviation) in [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (f64::NAN, 0.0)] {
            assert_eq!(LogNormal::new(mean, deviation), None);
        }
    }
}
