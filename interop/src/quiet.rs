//! Comparisons of times on a machine that is not ours alone.

use std::panic::{RefUnwindSafe, catch_unwind, resume_unwind};

/// Tries on a machine that had its processors.
const TRIES: usize = 3;
/// Tries in all, with those during which the host withheld processors.
const MOST_TRIES: usize = 8;
/// Withheld time that spoils a comparison, in ticks of 10 ms.
const SPOILING: u64 = 2;

/// Runs a comparison of times, again when it fails: up to three times, and more often when the host
/// of this virtual machine withheld its processors meanwhile. A program that measures wrongly fails
/// each time.
pub fn in_a_quiet_moment(comparison: impl Fn() + RefUnwindSafe) {
    let mut tries = 0;
    for last in (0..MOST_TRIES).map(|n| n + 1 == MOST_TRIES) {
        let before = withheld();
        let Err(panic) = catch_unwind(&comparison) else {
            return;
        };
        if withheld().saturating_sub(before) < SPOILING {
            tries += 1;
        }
        if last || tries == TRIES {
            resume_unwind(panic);
        }
    }
}

/// Ticks that the host gave to others while this machine wanted them: `steal` of proc(5); 0 where that
/// is not told.
fn withheld() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let total = stat.lines().next().unwrap_or_default();
    let steal = total.split_whitespace().nth(8);
    steal.and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn what_fails_each_time_fails() {
        let ran = AtomicUsize::new(0);
        let wrong = || {
            ran.fetch_add(1, Ordering::Relaxed);
            panic!("wrong");
        };
        assert!(catch_unwind(|| in_a_quiet_moment(wrong)).is_err());
        assert!((TRIES..=MOST_TRIES).contains(&ran.load(Ordering::Relaxed)));
    }

    #[test]
    fn one_good_moment_is_enough() {
        let ran = AtomicUsize::new(0);
        in_a_quiet_moment(|| assert!(ran.fetch_add(1, Ordering::Relaxed) > 0, "the first time"));
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    }
}
