//! The largest packet that passes, by one trial for each size: towards ends that answer no probes but
//! report what arrived of a flow. A trial takes seconds, so sizes are halved from the beginning.

use super::path_mtu::{BASE, CANDIDATES, SMALLER_BASE};

/// A search in which each size is tried once, by several packets.
#[derive(Clone, Debug)]
pub struct PathMtuTrials {
    is_v6: bool,
    largest: u16,
    passed: Option<u16>,
    failed: Option<u16>,
}

impl PathMtuTrials {
    /// A search up to `largest` bytes, the MTU of the outgoing interface.
    #[must_use]
    pub const fn new(is_v6: bool, largest: u16) -> Self {
        Self {
            is_v6,
            largest,
            passed: None,
            failed: None,
        }
    }

    /// The packet to try next, bytes; `None` when the search is over.
    #[must_use]
    pub fn next(&self) -> Option<u16> {
        let base = BASE.min(self.largest);
        match (self.passed, self.failed) {
            (None, None) => Some(base),
            (None, Some(failed)) => (!self.is_v6 && failed > SMALLER_BASE).then_some(SMALLER_BASE),
            (Some(passed), None) => (passed < self.largest).then_some(self.largest),
            (Some(passed), Some(failed)) if passed + 1 >= failed => None,
            (Some(passed), Some(failed)) => {
                let between: Vec<u16> = CANDIDATES
                    .into_iter()
                    .filter(|size| *size > passed && *size < failed && passed >= BASE)
                    .collect();
                if !between.is_empty() {
                    return Some(between[between.len() / 2]);
                }
                let is_likely = passed == base || CANDIDATES.contains(&passed);
                Some(if is_likely {
                    passed + 1
                } else {
                    passed + (failed - passed) / 2
                })
            }
        }
    }

    /// Whether packets of the size that was to be tried arrived.
    pub fn tried(&mut self, size: u16, arrived: bool) {
        if arrived {
            self.passed = self.passed.max(Some(size));
            // A smaller one was lost by accident.
            self.failed = self.failed.filter(|failed| *failed > size);
        } else if self.failed.is_none_or(|failed| size < failed) {
            self.failed = Some(size);
        }
    }

    /// The largest size that passed.
    #[must_use]
    pub const fn passed(&self) -> Option<u16> {
        self.passed
    }

    /// Whether the next larger size failed, or is more than the interface carries.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.passed.is_some() && self.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(is_v6: bool, mtu: u16, largest: u16) -> (PathMtuTrials, u32) {
        let mut trials = PathMtuTrials::new(is_v6, largest);
        let mut count = 0;
        while let Some(size) = trials.next() {
            trials.tried(size, size <= mtu);
            count += 1;
            assert!(count < 100, "no end");
        }
        (trials, count)
    }

    #[test]
    fn every_mtu_is_found_to_the_byte() {
        for mtu in 576..=9000 {
            let (trials, count) = run(false, mtu, 9000);
            assert_eq!(trials.passed(), Some(mtu));
            assert!(trials.is_exact());
            assert!(count <= 24, "{mtu}: {count} trials");
        }
    }

    #[test]
    fn usual_paths_need_few_trials() {
        assert_eq!(run(false, 1500, 1500).1, 2);
        for mtu in CANDIDATES.into_iter().filter(|&mtu| mtu < 1500) {
            let (trials, count) = run(true, mtu, 1500);
            assert_eq!(trials.passed(), Some(mtu));
            assert!(count <= 8, "{mtu}: {count} trials");
        }
    }

    #[test]
    fn a_path_below_the_base_size_is_known_over_ipv4_only() {
        assert_eq!(run(false, 700, 1500).0.passed(), Some(700));
        assert_eq!(run(false, 500, 1500).0.passed(), None);
        assert_eq!(run(true, 1000, 1500).0.passed(), None);
        assert!(!run(true, 1000, 1500).0.is_exact());
        assert_eq!(run(false, 1000, 1000).0.passed(), Some(1000));
    }

    #[test]
    fn an_accident_is_undone_by_a_larger_size() {
        let mut trials = PathMtuTrials::new(false, 1500);
        trials.tried(1200, true);
        trials.tried(1400, false);
        trials.tried(1500, true);
        assert_eq!(trials.next(), None);
        assert_eq!(trials.passed(), Some(1500));
    }
}
