//! How much a server sends to an unverified address, and how fast it answers all of them
//! together.

use tapeline_base::{BitRate, MonoTime};

/// Bytes that may be sent for each byte received.
const TIMES: u64 = 3;
/// Datagrams that may be sent at all.
const DATAGRAMS: u32 = 10;

/// What may still be sent to the source of datagrams. A forged source address must not turn the
/// server into a weapon against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AmplificationLimit {
    /// The source is known to be there.
    Unlimited,
    /// It may be anybody.
    Unverified {
        /// Bytes.
        bytes: u64,
        /// Datagrams.
        datagrams: u32,
    },
}

impl Default for AmplificationLimit {
    fn default() -> Self {
        Self::Unverified {
            bytes: 0,
            datagrams: DATAGRAMS,
        }
    }
}

impl AmplificationLimit {
    /// So many bytes have come from there.
    pub(crate) fn earn(&mut self, received: u64) {
        if let Self::Unverified { bytes, .. } = self {
            *bytes = bytes.saturating_add(received.saturating_mul(TIMES));
        }
    }

    /// Takes what a datagram of so many bytes needs; false when it must not be sent.
    pub(crate) fn spend(&mut self, length: usize) -> bool {
        let Self::Unverified { bytes, datagrams } = self else {
            return true;
        };
        let left = u64::try_from(length)
            .ok()
            .and_then(|length| bytes.checked_sub(length));
        let Some((left, fewer)) = left.zip(datagrams.checked_sub(1)) else {
            return false;
        };
        (*bytes, *datagrams) = (left, fewer);
        true
    }
}

/// What a moment without answers saves up for later ones, as a share of a second.
const SAVED: u64 = 10;
/// It is enough for an answer at any rate, bits.
const ONE_ANSWER: u64 = 128 * 8;

/// Bits that may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnverifiedBudget {
    /// Saved up.
    bits: u64,
    at: MonoTime,
}

impl UnverifiedBudget {
    pub(crate) fn new() -> Self {
        Self {
            bits: u64::MAX,
            at: MonoTime::ZERO,
        }
    }

    /// Takes what an answer of so many bytes needs; false when it must not leave now.
    pub(crate) fn spend(&mut self, bytes: usize, rate: BitRate, now: MonoTime) -> bool {
        let earned = u128::from(rate.0) * now.since(self.at).as_nanos() / 1_000_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX);
        let max = match rate.0 {
            0 => 0,
            rate => (rate / SAVED).max(ONE_ANSWER),
        };
        let saved = self.bits.saturating_add(earned);
        // What was earned in less than a bit's time is not lost.
        if earned > 0 || saved > max {
            (self.bits, self.at) = (saved.min(max), now);
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
    fn three_bytes_leave_for_one_that_came() {
        let mut amplification = AmplificationLimit::default();
        assert!(!amplification.spend(1));
        amplification.earn(50);
        assert!(amplification.spend(128));
        assert!(!amplification.spend(23) && amplification.spend(22));
        amplification.earn(u64::MAX);
        assert_eq!(
            (0..20).filter(|_| amplification.spend(1)).count(),
            8,
            "ten in all"
        );
        let mut known = AmplificationLimit::Unlimited;
        assert!((0..20).all(|_| known.spend(1 << 20)));
    }

    #[test]
    fn answers_leave_at_a_rate() {
        const RATE: BitRate = BitRate(1_024_000);
        let mut unverified = UnverifiedBudget::new();
        let mut left = |millis: u64| {
            let now = MonoTime::from_nanos(1_000_000_000 + millis * 1_000_000);
            (0..1000)
                .filter(|_| unverified.spend(128, RATE, now))
                .count()
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
        let mut unverified = UnverifiedBudget::new();
        let mut lets = |rate, at| unverified.spend(128, BitRate(rate), second(at));
        assert!(lets(512, 10) && !lets(512, 11) && lets(512, 12));
        assert!(!lets(0, 1000));
    }
}
