//! Deciding over one packet after the other.

use std::time::Duration;

use tapeline_base::SplitMix64;

use crate::link::{Bucket, Queue};
use crate::path::{Jitter, Path, Selection};

/// What is to happen to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It vanishes.
    Lost,
    /// It goes on.
    Passed {
        /// Time on the way.
        delay: Duration,
        /// Held back: others may overtake it.
        held: bool,
        /// How often it arrives.
        copies: u8,
    },
}

/// A packet that comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// It is a numbered datagram.
    pub(crate) numbered: bool,
    /// Its bytes.
    pub(crate) length: usize,
    /// When it comes, nanoseconds.
    pub(crate) now: u64,
}

/// The decisions of one path.
#[derive(Debug)]
pub(crate) struct Fates {
    path: Path,
    bucket: Option<Bucket>,
    queue: Option<Queue>,
    random: SplitMix64,
    /// Packets so far.
    packets: usize,
    /// Numbered datagrams so far.
    datagrams: u64,
}

impl Fates {
    pub(crate) fn new(path: Path) -> Self {
        Self {
            random: SplitMix64::new(path.seed),
            bucket: path.policer.map(Bucket::new),
            queue: path.link.map(Queue::new),
            path,
            packets: 0,
            datagrams: 0,
        }
    }

    /// Decides over the next packet.
    pub(crate) fn next(&mut self, packet: &Arrival) -> Fate {
        let jitter = self.jitter();
        let dropped = self.hits(self.path.dropped, self.packets as u64);
        self.packets += 1;
        if dropped {
            return Fate::Lost;
        }
        let Arrival { length, now, .. } = *packet;
        if !self.bucket.as_mut().is_none_or(|it| it.passes(length, now)) {
            return Fate::Lost;
        }
        let leaving = match &mut self.queue {
            None => Some(Duration::ZERO),
            Some(queue) => queue.enter(length, now),
        };
        let Some(leaving) = leaving else {
            return Fate::Lost;
        };
        let delay = self.together(now, leaving + self.path.delay + jitter);
        if !packet.numbered {
            return Fate::Passed {
                delay,
                held: false,
                copies: 1,
            };
        }
        let [lost, doubled, held] = [self.path.lost, self.path.doubled, self.path.held]
            .map(|selection| self.hits(selection, self.datagrams));
        self.datagrams += 1;
        if lost {
            return Fate::Lost;
        }
        Fate::Passed {
            delay: if held {
                delay + self.path.holding
            } else {
                delay
            },
            held,
            copies: if doubled { 2 } else { 1 },
        }
    }

    fn jitter(&mut self) -> Duration {
        match &self.path.jitter {
            Jitter::None => Duration::ZERO,
            Jitter::Uniform(max) => {
                let max = u64::try_from(max.as_nanos()).unwrap_or(u64::MAX);
                Duration::from_nanos(self.random.below(max.saturating_add(1)))
            }
            Jitter::Steps(steps) => steps
                .get(self.packets % steps.len().max(1))
                .copied()
                .unwrap_or_default(),
        }
    }

    /// The delay until the packets leave with which one does that is due after `delay`.
    fn together(&self, now: u64, delay: Duration) -> Duration {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 4);
        match nanoseconds(self.path.aggregation) {
            0 => delay,
            period => {
                let due = now + nanoseconds(delay);
                Duration::from_nanos(due.next_multiple_of(period) - now)
            }
        }
    }

    fn hits(&mut self, selection: Selection, number: u64) -> bool {
        match selection {
            Selection::None => false,
            Selection::Periodic { period, place } => number % period.max(1) == place,
            Selection::Random { per_million } => self.random.below(1_000_000) < per_million,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(numbered: bool) -> Arrival {
        Arrival {
            numbered,
            length: 1500,
            now: 0,
        }
    }

    fn fates(path: Path, count: usize) -> Vec<Fate> {
        let mut fates = Fates::new(path);
        (0..count).map(|_| fates.next(&arrival(true))).collect()
    }

    #[test]
    fn periodic_faults_hit_exactly_their_places() {
        let path = Path {
            delay: Duration::from_millis(3),
            lost: Selection::Periodic {
                period: 10,
                place: 4,
            },
            doubled: Selection::Periodic {
                period: 10,
                place: 5,
            },
            held: Selection::Periodic {
                period: 10,
                place: 6,
            },
            holding: Duration::from_millis(2),
            ..Path::default()
        };
        let fates = fates(path, 20);
        let plain = |copies| Fate::Passed {
            delay: Duration::from_millis(3),
            held: false,
            copies,
        };
        for tens in [0, 10] {
            assert_eq!(fates[tens], plain(1));
            assert_eq!(fates[tens + 4], Fate::Lost);
            assert_eq!(fates[tens + 5], plain(2));
            let held = Fate::Passed {
                delay: Duration::from_millis(5),
                held: true,
                copies: 1,
            };
            assert_eq!(fates[tens + 6], held);
        }
    }

    #[test]
    fn other_packets_are_delayed_and_nothing_else() {
        let always = Selection::Periodic {
            period: 1,
            place: 0,
        };
        let mut fates = Fates::new(Path {
            delay: Duration::from_millis(1),
            lost: always,
            ..Path::default()
        });
        let passed = Fate::Passed {
            delay: Duration::from_millis(1),
            held: false,
            copies: 1,
        };
        assert_eq!(fates.next(&arrival(false)), passed);
        assert_eq!(fates.next(&arrival(true)), Fate::Lost);
    }

    #[test]
    fn random_choices_keep_their_bounds_and_repeat_themselves() {
        let path = Path {
            jitter: Jitter::Uniform(Duration::from_micros(500)),
            lost: Selection::Random {
                per_million: 50_000,
            },
            seed: 3,
            ..Path::default()
        };
        let first = fates(path.clone(), 2000);
        let lost = first.iter().filter(|fate| **fate == Fate::Lost).count();
        assert!((60..140).contains(&lost), "{lost}");
        for fate in &first {
            if let Fate::Passed { delay, .. } = fate {
                assert!(*delay <= Duration::from_micros(500));
            }
        }
        assert_eq!(first, fates(path, 2000));
    }

    #[test]
    fn steps_take_turns() {
        let steps = [1, 2, 3].map(Duration::from_millis);
        let path = Path {
            jitter: Jitter::Steps(steps.to_vec()),
            ..Path::default()
        };
        for (index, fate) in fates(path, 7).into_iter().enumerate() {
            let Fate::Passed { delay, .. } = fate else {
                panic!("nothing is lost");
            };
            assert_eq!(delay, steps[index % 3]);
        }
    }

    #[test]
    fn packets_of_any_kind_are_dropped_and_leave_together() {
        let mut fates = Fates::new(Path {
            delay: Duration::from_millis(3),
            aggregation: Duration::from_millis(8),
            dropped: Selection::Periodic {
                period: 2,
                place: 1,
            },
            ..Path::default()
        });
        let mut next = |milliseconds: u64| {
            let now = milliseconds * 1_000_000;
            let packet = Arrival {
                now,
                ..arrival(false)
            };
            match fates.next(&packet) {
                Fate::Lost => None,
                Fate::Passed { delay, .. } => Some(milliseconds + delay.as_millis() as u64),
            }
        };
        let left: Vec<_> = [0, 1, 2, 3, 6, 7].into_iter().map(&mut next).collect();
        assert_eq!(left, [Some(8), None, Some(8), None, Some(16), None]);
    }
}
