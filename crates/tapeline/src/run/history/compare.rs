//! `tapeline compare`.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tapeline_base::{ExitCode, SplitMix64};
use tapeline_report::comparison::{
    CompareOptions, compare as judge, page, quantity_list, runs_words, text,
};

use super::measure::{Measuring, progress, shown};
use super::place::{Found, FoundSide, Place, courses};
use super::say::{Fault, deliver, json, note, print, write};
use crate::plan::{CompareJob, ComparedRuns, Destination};

/// Compares, and says what came of it.
pub(crate) fn compare(job: &CompareJob) -> ExitCode {
    match perform(job) {
        Ok(()) => ExitCode::Success,
        Err(fault) => fault.say(),
    }
}

fn perform(job: &CompareJob) -> Result<(), Fault> {
    let place = Place::new(job.file.clone());
    let (a, b) = match &job.runs {
        ComparedRuns::List => return print(&quantity_list()),
        ComparedRuns::Kept(a, b) => (place.side(a)?, place.side(b)?),
        ComparedRuns::Measured {
            runs,
            seed,
            pause,
            tests,
        } => {
            let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(0));
            measured(tests, &order(*runs, seed), *pause)?
        }
    };
    let options = CompareOptions {
        notice: job.notice,
        quantities: job.quantities.clone(),
    };
    let comparison = judge(&a.side(), &b.side(), &options);
    let other: Vec<&str> = comparison
        .differs
        .iter()
        .filter(|difference| difference.of_the_test)
        .map(|difference| difference.what.as_str())
        .collect();
    if job.strict && !other.is_empty() {
        let what = other.join(", ");
        return Err(Fault::Usage(format!(
            "A and B are not the same test (--strict): they differ in {what}"
        )));
    }
    if let Some(path) = &job.html {
        write(path, &page(&comparison, &courses(&a, &b), job.utc))?;
    }
    if let Some(destination) = &job.json {
        deliver(destination, &json(&comparison))?;
    }
    if !matches!(job.json, Some(Destination::Stdout)) {
        print(&text(&comparison, job.utc))?;
    }
    Ok(())
}

/// Runs both tests in an order. After an interrupt, what there is by then is compared.
fn measured(
    tests: &[Vec<OsString>; 2],
    order: &[usize],
    pause: Duration,
) -> Result<(FoundSide, FoundSide), Fault> {
    let measuring = Measuring::begin(ExitCode::Failure)?;
    let mut found: [Vec<Found>; 2] = [Vec::new(), Vec::new()];
    for (number, which) in order.iter().enumerate() {
        if number > 0 {
            measuring.pause(pause);
        }
        if measuring.is_interrupted() {
            break;
        }
        let letter = ["A", "B"][*which];
        progress(&format!("run {} of {}: {letter}", number + 1, order.len()));
        found[*which].extend(measuring.measure(&tests[*which])?);
    }
    let [a, b] = found;
    let a = FoundSide::new(&shown(&tests[0]), a);
    let b = FoundSide::new(&shown(&tests[1]), b);
    if measuring.is_interrupted() {
        let (of_a, of_b) = (a.counted().count(), b.counted().count());
        let measured = format!(
            "interrupted after {} of A and {of_b} of B",
            runs_words(of_a)
        );
        if of_a == 0 || of_b == 0 {
            return Err(Fault::Failure(format!("{measured}: nothing to compare")));
        }
        note(&format!("{measured}, which are compared"));
    }
    Ok((a, b))
}

/// Which of two tests is run when: blocks of one run each, in an order of chance.
fn order(runs: u32, seed: u64) -> Vec<usize> {
    let mut random = SplitMix64::new(seed);
    let blocks = (0..runs).map(|_| {
        let first = random.below(2) as usize;
        [first, 1 - first]
    });
    blocks.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_both_and_the_seed_decides() {
        let first = order(64, 7);
        assert_eq!(first, order(64, 7));
        assert_ne!(first, order(64, 8));
        let blocks = || first.chunks(2);
        assert!(blocks().all(|block| block.contains(&0) && block.contains(&1)));
        let swapped = blocks().filter(|block| block[0] == 1).count();
        assert!((16..48).contains(&swapped), "{swapped}");
    }
}
