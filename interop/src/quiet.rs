//! Comparisons of times on a machine that is not ours alone.

use std::panic::{RefUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use crate::skip;

/// Tries on a machine that had its processors.
const TRIES: usize = 3;
/// Tries in all, with those during which the host withheld processors.
const MAX_TRIES: usize = 8;
/// Withheld share of one processor's time that spoils a comparison.
const SPOILING: f64 = 0.02;

/// Runs a comparison of times, again when it fails: up to three times, and more often when the host
/// of this virtual machine withheld its processors meanwhile. A program that measures wrongly fails
/// each time. Where the host left too few moments to judge by, the test is skipped.
pub fn in_a_quiet_moment(comparison: impl Fn() + RefUnwindSafe) {
    if let Err(reason) = judge(comparison, withheld_seconds) {
        skip(
            std::thread::current().name().unwrap_or("a comparison"),
            &reason,
        );
    }
}

/// Judges a comparison, or says why it cannot.
fn judge(comparison: impl Fn() + RefUnwindSafe, withheld: impl Fn() -> f64) -> Result<(), String> {
    let mut judged = 0;
    for _ in 0..MAX_TRIES {
        let (began, before) = (Instant::now(), withheld());
        let Err(panic) = catch_unwind(&comparison) else {
            return Ok(());
        };
        if withheld() - before < began.elapsed().as_secs_f64() * SPOILING {
            judged += 1;
        }
        if judged == TRIES {
            resume_unwind(panic);
        }
    }
    Err(format!(
        "the host withheld processors in {} of {MAX_TRIES} tries",
        MAX_TRIES - judged
    ))
}

/// Processor time that the host gave to others while this machine wanted it: `steal` of proc(5), in
/// ticks of 10 ms; 0 where that is not known.
#[must_use]
pub fn withheld_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let total = stat.lines().next().unwrap_or_default();
    let steal = total.split_whitespace().nth(8);
    steal
        .and_then(|ticks| ticks.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 100.0
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::AssertUnwindSafe;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Verdict {
        Passed,
        Failed,
        Unjudged,
    }

    /// How often a comparison ran that fails before its `good`th time, and what came of it.
    fn tried(good: usize, withheld: impl Fn() -> f64) -> (usize, Verdict) {
        let ran = Cell::new(0);
        let comparison = AssertUnwindSafe(|| {
            ran.set(ran.get() + 1);
            assert!(ran.get() >= good, "too early");
        });
        let judged = catch_unwind(AssertUnwindSafe(|| judge(|| (*comparison)(), &withheld)));
        let verdict = match judged {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(_)) => Verdict::Unjudged,
            Err(_) => Verdict::Failed,
        };
        (ran.get(), verdict)
    }

    #[test]
    fn what_fails_each_time_fails() {
        assert_eq!(tried(usize::MAX, || 0.0), (TRIES, Verdict::Failed));
    }

    #[test]
    fn one_good_moment_is_enough() {
        assert_eq!(tried(2, || 0.0), (2, Verdict::Passed));
    }

    #[test]
    fn without_processors_nothing_is_judged() {
        let stolen = Cell::new(0.0);
        let thief = || {
            stolen.set(stolen.get() + 1000.0);
            stolen.get()
        };
        assert_eq!(tried(usize::MAX, thief), (MAX_TRIES, Verdict::Unjudged));
    }
}
