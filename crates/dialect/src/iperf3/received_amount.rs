//! How far a client is that receives an agreed amount. Pure: bytes and times in, a decision out.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Silence by which an amount that did not arrive as a whole is over.
const SILENCE: Duration = Duration::from_secs(3);

/// What has arrived of an amount.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedAmount {
    /// Bytes so far.
    bytes: u64,
    /// Those of the omitted start.
    omitted: u64,
    /// When the last of them came.
    last: MonoTime,
}

impl ReceivedAmount {
    /// Takes the bytes that have been received by `now`; those before `counted_from` are omitted.
    /// Returns whether nothing more of `amount` bytes is to be waited for.
    ///
    /// Both ends cut the omitted start off at a moment of their own, and datagrams are lost: the
    /// amount need not arrive in full.
    pub(crate) fn observe(
        &mut self,
        bytes: u64,
        amount: u64,
        counted_from: MonoTime,
        now: MonoTime,
    ) -> bool {
        if bytes > self.bytes || self.bytes == 0 {
            (self.bytes, self.last) = (bytes, now);
        }
        if now < counted_from {
            self.omitted = bytes;
            return false;
        }
        let silent = now.since(self.last) >= SILENCE;
        bytes - self.omitted >= amount || (silent && bytes > self.omitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> MonoTime {
        MonoTime::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_amount_is_over_when_it_has_arrived_or_nothing_more_comes() {
        let mut whole = ReceivedAmount::default();
        assert!(!whole.observe(0, 100, at(1), at(1)));
        assert!(!whole.observe(99, 100, at(1), at(2)));
        assert!(whole.observe(100, 100, at(1), at(3)));
        let mut part = ReceivedAmount::default();
        assert!(!part.observe(60, 100, at(1), at(1)));
        assert!(!part.observe(60, 100, at(1), at(3)));
        assert!(part.observe(60, 100, at(1), at(4)));
        let mut nothing = ReceivedAmount::default();
        assert!(!nothing.observe(0, 100, at(1), at(1)));
        assert!(!nothing.observe(0, 100, at(1), at(60)), "it has not begun");
    }

    #[test]
    fn an_omitted_start_is_no_part_of_the_amount() {
        let mut amount = ReceivedAmount::default();
        assert!(!amount.observe(500, 100, at(2), at(1)));
        assert!(!amount.observe(599, 100, at(2), at(2)));
        assert!(amount.observe(600, 100, at(2), at(3)));
    }
}
