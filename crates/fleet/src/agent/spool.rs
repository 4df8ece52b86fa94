//! Results of a host that are not known to be in the database.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::MonoTime;

use crate::job::ResultKey;
use crate::message::SpoolSize;

/// Most results of a spool; the oldest are given up for new ones.
pub const MOST_RESULTS: usize = 1000;
/// Most bytes of a spool; the oldest results are given up for new ones.
pub const MOST_BYTES: u64 = 64 << 20;
/// A result that the server acknowledged is published again after this time.
const AGAIN: Duration = Duration::from_secs(600);
/// The first pause after a publish without acknowledgement; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// A result that somebody waits for is published again after this time at least: longer than the server drops
/// repeated ids. Without a collector it would fill the stream, so each time takes twice as long.
const AWAITED: Duration = Duration::from_secs(15);

/// A result that the spool's folder holds when the agent starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Its key.
    pub key: ResultKey,
    /// Bytes of its file.
    pub bytes: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    /// Its place in the order of arrival.
    number: u64,
    bytes: u64,
    published: Option<MonoTime>,
    next: MonoTime,
    pause: Duration,
}

/// What the spool holds, and when what is published.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spool {
    results: BTreeMap<ResultKey, Kept>,
    order: BTreeMap<u64, ResultKey>,
    bytes: u64,
    last: u64,
}

impl Spool {
    /// A result is on the disk; it is to be published at `when`. Returns those to be given up for it.
    pub(crate) fn add(&mut self, spooled: Spooled, when: MonoTime) -> Vec<ResultKey> {
        let Spooled { key, bytes } = spooled;
        self.remove(&key);
        self.last += 1;
        self.bytes += bytes;
        self.order.insert(self.last, key.clone());
        let kept = Kept {
            number: self.last,
            bytes,
            published: None,
            next: when,
            pause: FIRST_PAUSE,
        };
        self.results.insert(key, kept);
        let mut given_up = Vec::new();
        // The newest stays, whatever its size: a message's bound is far below the spool's.
        while self.results.len() > 1
            && (self.results.len() > MOST_RESULTS || self.bytes > MOST_BYTES)
        {
            let Some(oldest) = self.order.values().next().cloned() else {
                break;
            };
            self.remove(&oldest);
            given_up.push(oldest);
        }
        given_up
    }

    /// A result is to be kept no longer. Whether it was there.
    pub(crate) fn remove(&mut self, key: &ResultKey) -> bool {
        let Some(kept) = self.results.remove(key) else {
            return false;
        };
        self.order.remove(&kept.number);
        self.bytes -= kept.bytes;
        true
    }

    pub(crate) fn holds(&self, key: &ResultKey) -> bool {
        self.results.contains_key(key)
    }

    /// The results to be published now, the oldest first.
    pub(crate) fn due(&mut self, now: MonoTime) -> Vec<ResultKey> {
        let mut due = Vec::new();
        for key in self.order.values() {
            let Some(kept) = self.results.get_mut(key) else {
                continue;
            };
            if kept.next <= now {
                kept.published = Some(now);
                kept.next = now + kept.pause;
                kept.pause = (kept.pause * 2).min(AGAIN);
                due.push(key.clone());
            }
        }
        due
    }

    /// The server has stored it: that it is in the database is likely soon.
    pub(crate) fn acknowledged(&mut self, key: &ResultKey, now: MonoTime) {
        if let Some(kept) = self.results.get_mut(key) {
            kept.next = now + AGAIN;
        }
    }

    /// Somebody waits for it.
    pub(crate) fn awaited(&mut self, key: &ResultKey, now: MonoTime) {
        if let Some(kept) = self.results.get_mut(key)
            && let Some(published) = kept.published
            && now.since(published) >= kept.pause.max(AWAITED)
        {
            kept.next = kept.next.min(now);
        }
    }

    /// There is a connection again: all are published, from `when` on.
    pub(crate) fn all_from(&mut self, when: MonoTime) {
        for kept in self.results.values_mut() {
            kept.next = when;
            kept.pause = FIRST_PAUSE;
        }
    }

    /// When the next one is to be published.
    pub(crate) fn wake_at(&self) -> MonoTime {
        let next = self.results.values().map(|kept| kept.next).min();
        next.unwrap_or(MonoTime::FAR)
    }

    pub(crate) fn size(&self, given_up: u64) -> SpoolSize {
        SpoolSize {
            results: self.results.len(),
            bytes: self.bytes,
            given_up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Attempt, AttemptKey};

    fn key(number: usize) -> ResultKey {
        ResultKey {
            of: AttemptKey {
                job: format!("j{number}").parse().expect("a name"),
                attempt: Attempt(1),
            },
            host: "fra1".parse().expect("a name"),
        }
    }

    fn at(seconds: u64) -> MonoTime {
        MonoTime::ZERO + Duration::from_secs(seconds)
    }

    fn add(spool: &mut Spool, number: usize, bytes: u64) -> Vec<ResultKey> {
        let key = key(number);
        spool.add(Spooled { key, bytes }, at(0))
    }

    #[test]
    fn the_oldest_is_given_up_by_number_and_by_bytes() {
        let mut spool = Spool::default();
        assert!((0..MOST_RESULTS).all(|number| add(&mut spool, number, 1).is_empty()));
        assert_eq!(add(&mut spool, 5000, 1), [key(0)]);
        assert_eq!(add(&mut spool, 5001, MOST_BYTES - 500).len(), 500);
        assert_eq!(spool.size(0).bytes, MOST_BYTES);
        assert_eq!(add(&mut spool, 5002, 2 * MOST_BYTES).len(), 501);
        assert_eq!(spool.size(3).results, 1);
    }

    #[test]
    fn what_is_not_acknowledged_is_published_ever_more_rarely() {
        let mut spool = Spool::default();
        add(&mut spool, 1, 1);
        let mut times = Vec::new();
        let mut now = at(0);
        while now < at(3000) {
            assert_eq!(spool.due(now).len(), 1);
            times.push(now.since(at(0)).as_secs());
            now = spool.wake_at();
        }
        assert_eq!(times, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835, 2435]);
    }

    #[test]
    fn what_is_awaited_for_long_is_published_ever_more_rarely() {
        let mut spool = Spool::default();
        add(&mut spool, 1, 1);
        let mut times = Vec::new();
        for second in (0..3000).step_by(10) {
            spool.awaited(&key(1), at(second));
            if !spool.due(at(second)).is_empty() {
                times.push(second);
                spool.acknowledged(&key(1), at(second));
            }
        }
        assert_eq!(times, [0, 20, 40, 80, 160, 320, 640, 1240, 1840, 2440]);
    }

    #[test]
    fn what_is_acknowledged_waits_ten_minutes_or_until_it_is_awaited() {
        let mut spool = Spool::default();
        add(&mut spool, 1, 1);
        spool.due(at(0));
        spool.acknowledged(&key(1), at(0));
        assert_eq!(spool.wake_at(), at(600));
        spool.awaited(&key(1), at(14));
        assert!(spool.due(at(14)).is_empty(), "the server would drop it");
        spool.awaited(&key(1), at(15));
        assert_eq!(spool.due(at(15)), [key(1)]);
        spool.acknowledged(&key(1), at(15));
        spool.all_from(at(20));
        assert_eq!(spool.due(at(20)), [key(1)]);
        assert!(spool.remove(&key(1)) && !spool.remove(&key(1)));
        assert_eq!(spool.wake_at(), MonoTime::FAR);
    }
}
