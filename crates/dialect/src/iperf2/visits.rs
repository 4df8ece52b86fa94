//! Connections that end without a word: told one by one while they are few.

use std::time::Duration;

use tapeline_base::MonoTime;

/// Visits that are told within [`SPAN`]; further ones are only counted.
const MOST: u64 = 256;
const SPAN: Duration = Duration::from_secs(1);

/// Visits of the running second.
#[derive(Debug)]
pub(super) struct Visits {
    most: u64,
    since: MonoTime,
    count: u64,
}

impl Default for Visits {
    fn default() -> Self {
        Self::up_to(MOST)
    }
}

impl Visits {
    /// Tells so many within a second.
    pub(super) fn up_to(most: u64) -> Self {
        Self {
            most,
            since: MonoTime::ZERO,
            count: 0,
        }
    }

    /// Another visit; returns whether it is to be told.
    pub(super) fn add(&mut self, now: MonoTime) -> bool {
        if self.count <= self.most && now.since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= self.most
    }

    /// When visits that were not told are to be summed up.
    pub(super) fn due(&self) -> Option<MonoTime> {
        (self.count > self.most).then(|| self.since + SPAN)
    }

    /// Visits that were not told, once their second is over.
    pub(super) fn untold(&mut self, now: MonoTime) -> Option<u64> {
        if now.since(self.since) < SPAN {
            return None;
        }
        self.rest()
    }

    /// Visits that were not told so far.
    pub(super) fn rest(&mut self) -> Option<u64> {
        let untold = std::mem::take(&mut self.count).checked_sub(self.most);
        untold.filter(|untold| *untold > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_in_part_and_then_summed_up() {
        let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
        let mut visits = Visits::default();
        assert!((0..MOST).all(|n| visits.add(at(5000 + n))));
        assert_eq!(visits.due(), None);
        assert!(!visits.add(at(5300)) && !visits.add(at(5400)));
        assert_eq!(visits.due(), Some(at(6000)));
        assert_eq!(visits.untold(at(5999)), None);
        assert_eq!(visits.untold(at(6000)), Some(2));
        assert_eq!((visits.due(), visits.rest()), (None, None));
        assert!(visits.add(at(6001)));
        assert_eq!(visits.untold(at(9000)), None, "all were told");
        let rare = |n| visits.add(at(10_000 + n * 1100));
        assert!((0..2 * MOST).all(rare), "each in a second of its own");
    }
}
