//! The longest time in which a flow's packets stayed away.

use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};

use crate::sequence::Arrival;

/// Finds the longest outage of a flow: time without an arrival that its sender does not account
/// for (methodology 4.1). The senders' stamps distinguish a network's pause from a sender's: of consecutive
/// packets only what they arrived further apart than they were sent counts; where packets are missing
/// in between, what exceeds the sender's own longest pause.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutageWatch {
    previous: Option<(MonoTime, WallTime)>,
    /// Between consecutive packets, without what lay between their stamps.
    held: Option<Outage>,
    /// Between packets that do not follow each other.
    silence: Option<Outage>,
    /// Longest time between the stamps of consecutive packets.
    pause: Duration,
}

/// A time in which packets stayed away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Arrival before it.
    pub start: MonoTime,
    /// How long it was.
    pub length: Duration,
}

impl OutageWatch {
    /// Counts a packet that was `sent` by its stamp, arrived `at`, and came in the order that `arrival`
    /// says.
    #[inline]
    pub fn observe(&mut self, at: MonoTime, sent: WallTime, arrival: Arrival) {
        let Some((start, earlier)) = self.previous.replace((at, sent)) else {
            return;
        };
        let apart = at.since(start);
        let longest = if matches!(arrival, Arrival::InOrder { gap: 0 }) {
            let sent_apart = u64::try_from(sent.nanos_since(earlier)).unwrap_or(0);
            let sent_apart = Duration::from_nanos(sent_apart);
            self.pause = self.pause.max(sent_apart);
            keep_longer(&mut self.held, start, apart.saturating_sub(sent_apart));
            return;
        } else {
            &mut self.silence
        };
        keep_longer(longest, start, apart);
    }

    /// The longest outage so far, of packets that are sent `spacing` apart; nothing before the second
    /// arrival.
    #[must_use]
    pub fn longest(&self, spacing: Duration) -> Option<Outage> {
        let usual = spacing.max(self.pause);
        let silence = self.silence.map(|silence| Outage {
            length: silence.length.saturating_sub(usual),
            ..silence
        });
        let both = self.held.into_iter().chain(silence);
        both.max_by_key(|outage| outage.length)
    }
}

#[inline]
fn keep_longer(longest: &mut Option<Outage>, start: MonoTime, length: Duration) {
    if longest.is_none_or(|longest| length > longest.length) {
        *longest = Some(Outage { start, length });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: Arrival = Arrival::InOrder { gap: 0 };
    const BEHIND_LOSSES: Arrival = Arrival::InOrder { gap: 5 };

    /// Packets as milliseconds of stamp and arrival; the longest outage as its start and length.
    fn longest(packets: &[(i64, u64, Arrival)]) -> Option<(u64, u64)> {
        let mut watch = OutageWatch::default();
        for (sent, at, arrival) in packets {
            let sent = WallTime::from_nanos(sent * 1_000_000);
            watch.observe(MonoTime::from_nanos(at * 1_000_000), sent, *arrival);
        }
        let outage = watch.longest(Duration::from_millis(10))?;
        let start = outage.start.as_nanos() / 1_000_000;
        Some((start, outage.length.as_millis() as u64))
    }

    #[test]
    fn packets_that_were_held_up_are_an_outage() {
        assert_eq!(longest(&[(0, 1, NEXT)]), None);
        let packets = [(0, 1, NEXT), (10, 11, NEXT), (20, 101, NEXT)];
        assert_eq!(longest(&packets), Some((11, 80)));
    }

    #[test]
    fn what_was_sent_meanwhile_and_lost_is_an_outage() {
        let packets = [(0, 1, NEXT), (10, 11, NEXT), (70, 71, BEHIND_LOSSES)];
        assert_eq!(longest(&packets), Some((11, 50)));
    }

    #[test]
    fn a_senders_pause_is_none() {
        let packets = [(0, 1, NEXT), (90, 91, NEXT), (100, 101, NEXT)];
        assert_eq!(longest(&packets).map(|(_, length)| length), Some(0));
        // Frames: a pause with a loss in it is as long as the others.
        let packets = [
            (0, 1, NEXT),
            (90, 91, NEXT),
            (180, 181, BEHIND_LOSSES),
            (190, 191, NEXT),
        ];
        assert_eq!(longest(&packets).map(|(_, length)| length), Some(0));
    }

    #[test]
    fn stamps_that_run_backwards_make_no_outage_longer() {
        let packets = [(90, 1, NEXT), (10, 21, NEXT)];
        assert_eq!(longest(&packets), Some((1, 20)));
    }
}
