//! Deciding over one packet after the other.

use std::time::Duration;

use crate::path::{Jitter, Path, Selection};
use crate::random::Random;

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

/// The decisions of one path.
#[derive(Debug)]
pub(crate) struct Fates {
    path: Path,
    random: Random,
    /// Packets so far.
    packets: usize,
    /// Numbered datagrams so far.
    datagrams: u64,
}

impl Fates {
    pub(crate) fn new(path: Path) -> Self {
        Self {
            random: Random::new(path.seed),
            path,
            packets: 0,
            datagrams: 0,
        }
    }

    /// Decides over the next packet, a numbered datagram or another one.
    pub(crate) fn next(&mut self, numbered: bool) -> Fate {
        let delay = self.path.delay + self.jitter();
        self.packets += 1;
        if !numbered {
            return Fate::Passed {
                delay,
                held: false,
                copies: 1,
            };
        }
        let [lost, doubled, held] = [self.path.lost, self.path.doubled, self.path.held]
            .map(|selection| self.hits(selection));
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
            Jitter::Uniform(most) => {
                let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
                Duration::from_nanos(self.random.below(most.saturating_add(1)))
            }
            Jitter::Steps(steps) => steps
                .get(self.packets % steps.len().max(1))
                .copied()
                .unwrap_or_default(),
        }
    }

    fn hits(&mut self, selection: Selection) -> bool {
        match selection {
            Selection::None => false,
            Selection::Periodic { period, place } => self.datagrams % period.max(1) == place,
            Selection::Random { per_million } => self.random.below(1_000_000) < per_million,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(path: Path, count: usize) -> Vec<Fate> {
        let mut fates = Fates::new(path);
        (0..count).map(|_| fates.next(true)).collect()
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
        assert_eq!(fates.next(false), passed);
        assert_eq!(fates.next(true), Fate::Lost);
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
}
