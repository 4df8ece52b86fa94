//! `tapeline compare`.

use std::hash::{BuildHasher, RandomState};

use tapeline_base::{ExitCode, SplitMix64};
use tapeline_report::comparison::{CompareOptions, compare as judge, page, quantity_list, text};

use super::measure::{measure, progress, shown};
use super::place::{Found, Place, side};
use super::say::{Fault, deliver, json, print, write};
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
            let order = order(*runs, seed);
            let mut found: [Vec<Found>; 2] = [Vec::new(), Vec::new()];
            for (number, which) in order.iter().enumerate() {
                if number > 0 {
                    std::thread::sleep(*pause);
                }
                let letter = ["A", "B"][*which];
                progress(&format!("run {} of {}: {letter}", number + 1, order.len()));
                found[*which].extend(measure(&tests[*which])?);
            }
            let [a, b] = found;
            (side(&shown(&tests[0]), &a), side(&shown(&tests[1]), &b))
        }
    };
    let options = CompareOptions {
        notice: job.notice,
        quantities: job.quantities.clone(),
    };
    let comparison = judge(&a, &b, &options);
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
        write(path, &page(&comparison, job.utc))?;
    }
    if let Some(destination) = &job.json {
        deliver(destination, &json(&comparison))?;
    }
    if !matches!(job.json, Some(Destination::Stdout)) {
        print(&text(&comparison, job.utc))?;
    }
    Ok(())
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
