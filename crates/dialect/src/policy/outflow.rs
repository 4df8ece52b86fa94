//! How fast a server answers all those together whom nobody has vouched for.

use tapeline_base::{BitRate, MonoTime};

/// What a moment without answers saves up for later ones, as a share of a second.
const SAVED: u64 = 10;
/// It is enough for an answer at any rate, bits.
const ONE_ANSWER: u64 = 128 * 8;

/// Bits that may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outflow {
    /// Saved up.
    bits: u64,
    at: MonoTime,
}

impl Outflow {
    pub(super) fn new() -> Self {
        Self {
            bits: u64::MAX,
            at: MonoTime::ZERO,
        }
    }

    /// Takes what an answer of so many bytes needs; false when it must not leave now.
    pub(super) fn lets(&mut self, bytes: usize, rate: BitRate, now: MonoTime) -> bool {
        let earned = u128::from(rate.0) * now.since(self.at).as_nanos() / 1_000_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX);
        let most = match rate.0 {
            0 => 0,
            rate => (rate / SAVED).max(ONE_ANSWER),
        };
        let saved = self.bits.saturating_add(earned);
        // What was earned in less than a bit's time is not lost.
        if earned > 0 || saved > most {
            (self.bits, self.at) = (saved.min(most), now);
        }
        let needed = (bytes as u64).saturating_mul(8);
        match self.bits.checked_sub(needed) {
            Some(left) => {
                self.bits = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_leave_at_a_rate() {
        const RATE: BitRate = BitRate(1_024_000);
        let mut outflow = Outflow::new();
        let mut left = |millis: u64| {
            let now = MonoTime::from_nanos(1_000_000_000 + millis * 1_000_000);
            (0..1000).filter(|_| outflow.lets(128, RATE, now)).count()
        };
        // A tenth of a second's worth at first, then one answer a millisecond.
        assert_eq!(left(0), 100);
        assert_eq!(left(0), 0);
        assert_eq!(left(1), 1);
        assert_eq!(left(51), 50);
        assert_eq!(left(100_000), 100);
    }

    #[test]
    fn slow_rates_let_single_answers_through_and_none_lets_nothing() {
        let second = |n: u64| MonoTime::from_nanos(n * 1_000_000_000);
        let mut outflow = Outflow::new();
        let mut lets = |rate, at| outflow.lets(128, BitRate(rate), second(at));
        assert!(lets(512, 10) && !lets(512, 11) && lets(512, 12));
        assert!(!lets(0, 1000));
    }
}
