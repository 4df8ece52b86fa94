//! How far a server may go with an order: until when, how much, how fast, and for how long without a word
//! of the client.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_wire::native::OrderEnd;

use super::terms::{Task, Terms};

/// Time without a valid datagram of the client after which the server sends nothing more.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);
/// Time without one after which a server that receives a load gives the order up, and one that only
/// answers.
const LOAD_SILENCE: Duration = Duration::from_secs(3);
const ANSWERS_SILENCE: Duration = Duration::from_secs(10);
/// What may leave at once, as a share of a second, and at least: bits.
const SAVED: u64 = 10;
const ONE_PACKET: u64 = 65_535 * 8;

/// What an order may still have.
#[derive(Clone, Debug)]
pub(crate) struct Leash {
    terms: Terms,
    until: MonoTime,
    heard: MonoTime,
    sent: u64,
    /// Bits that may leave now, as saved up until then.
    bits: u64,
    saved: MonoTime,
    /// Payload that came, bytes.
    received: u64,
}

impl Leash {
    /// The client has shown the key at `now`.
    pub(crate) fn new(terms: Terms, now: MonoTime) -> Self {
        Self {
            terms,
            until: now + terms.time,
            heard: now,
            sent: 0,
            bits: u64::MAX,
            saved: now,
            received: 0,
        }
    }

    /// A valid datagram of the client has come, with so much payload.
    pub(crate) fn heard(&mut self, payload: usize, now: MonoTime) {
        self.heard = self.heard.max(now);
        self.received = self.received.saturating_add(payload as u64);
    }

    /// This end has not listened for so long: that was no silence of the client's.
    pub(crate) fn excuse(&mut self, pause: Duration) {
        self.heard += pause;
    }

    /// Why the order is over, if it is.
    pub(crate) fn end(&self, now: MonoTime) -> Option<OrderEnd> {
        let silent = now.since(self.heard) >= self.silence();
        let used = |bytes: u64| self.terms.bytes.is_some_and(|max| bytes > max.get());
        if now >= self.until {
            Some(OrderEnd::Complete)
        } else if silent {
            Some(OrderEnd::NoFeedback)
        } else if used(self.received) || used(self.sent) {
            Some(OrderEnd::BytesUsedUp)
        } else {
            None
        }
    }

    /// When [`end`](Self::end) changes although nothing happens.
    pub(crate) fn due(&self) -> MonoTime {
        self.until.min(self.heard + self.silence())
    }

    fn silence(&self) -> Duration {
        match self.terms.task {
            Task::MtuDown | Task::CapacityDown => SILENCE,
            Task::CapacityUp => LOAD_SILENCE,
            Task::MtuUp | Task::Samples(_) => ANSWERS_SILENCE,
        }
    }

    /// Takes what a datagram with so much payload needs, whose packet has so many bytes; false when it must
    /// not leave now.
    pub(crate) fn spend(&mut self, payload: usize, packet: usize, now: MonoTime) -> bool {
        if self.end(now).is_some() {
            return false;
        }
        let payload = payload as u64;
        let more = self.sent.saturating_add(payload);
        if self.terms.bytes.is_some_and(|max| more > max.get()) {
            return false;
        }
        if let Some(rate) = self.terms.bits_per_second {
            let earned = u128::from(rate.get()) * now.since(self.saved).as_nanos() / 1_000_000_000;
            let earned = u64::try_from(earned).unwrap_or(u64::MAX);
            let max = (rate.get() / SAVED).max(ONE_PACKET);
            let saved = self.bits.saturating_add(earned);
            // What was earned in less than a bit's time is not lost.
            if earned > 0 || saved > max {
                (self.bits, self.saved) = (saved.min(max), now);
            }
            match self.bits.checked_sub(packet as u64 * 8) {
                Some(left) => self.bits = left,
                None => return false,
            }
        }
        self.sent = more;
        true
    }

    /// Payload that may still leave; `None` without limit.
    pub(crate) fn bytes_left(&self) -> Option<u64> {
        let max = self.terms.bytes?.get();
        Some(max.saturating_sub(self.sent))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    const TERMS: Terms = Terms {
        task: Task::CapacityDown,
        time: Duration::from_secs(10),
        bytes: NonZeroU64::new(10_000),
        bits_per_second: NonZeroU64::new(8_000_000),
    };

    fn at(milliseconds: u64) -> MonoTime {
        MonoTime::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn silence_ends_a_sender_after_a_second_and_a_receiver_later() {
        let mut leash = Leash::new(TERMS, at(0));
        assert_eq!((leash.end(at(999)), leash.due()), (None, at(1000)));
        assert_eq!(leash.end(at(1000)), Some(OrderEnd::NoFeedback));
        leash.heard(0, at(900));
        assert_eq!(leash.end(at(1899)), None);
        assert_eq!(leash.end(at(1900)), Some(OrderEnd::NoFeedback));
        assert!(leash.spend(1, 29, at(1899)) && !leash.spend(1, 29, at(1900)));
        let up = Terms {
            task: Task::CapacityUp,
            ..TERMS
        };
        let leash = Leash::new(up, at(0));
        assert_eq!(leash.end(at(2999)), None);
        assert_eq!(leash.end(at(3000)), Some(OrderEnd::NoFeedback));
    }

    #[test]
    fn a_pause_of_this_end_is_no_silence() {
        let mut leash = Leash::new(TERMS, at(0));
        leash.excuse(Duration::from_millis(1500));
        assert_eq!(leash.end(at(2499)), None);
        assert_eq!(leash.end(at(2500)), Some(OrderEnd::NoFeedback));
        // What an order may take in all stays.
        leash.excuse(Duration::from_secs(60));
        assert_eq!(leash.end(at(10_000)), Some(OrderEnd::Complete));
    }

    #[test]
    fn time_bytes_and_rate_have_an_end() {
        let mut leash = Leash::new(TERMS, at(0));
        for step in 1..=20 {
            leash.heard(0, at(step * 500));
        }
        assert_eq!(leash.end(at(9999)), None);
        assert_eq!(leash.end(at(10_000)), Some(OrderEnd::Complete));
        let mut leash = Leash::new(TERMS, at(0));
        assert_eq!(leash.bytes_left(), Some(10_000));
        assert!(leash.spend(9_999, 10_027, at(1)) && leash.spend(1, 29, at(1)));
        assert!(!leash.spend(1, 29, at(1)));
        assert_eq!(leash.bytes_left(), Some(0));
        leash.heard(10_001, at(1));
        assert_eq!(leash.end(at(1)), Some(OrderEnd::BytesUsedUp));
        let endless = Terms {
            bytes: None,
            ..TERMS
        };
        let mut leash = Leash::new(endless, at(0));
        let mut sent = 0;
        for milli in 0..1000 {
            leash.heard(0, at(milli));
            sent += (0..50)
                .filter(|_| leash.spend(972, 1000, at(milli)))
                .count();
        }
        // A tenth of a second's worth at once, then a packet a millisecond.
        assert!((1090..=1101).contains(&sent), "{sent}");
    }
}
