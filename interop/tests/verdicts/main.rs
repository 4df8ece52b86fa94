//! The matrix of verdicts: situations of which it is known what limits a test, and what tapeline
//! says of each.
//!
//! ```text
//! situations/ ──► Trial (situation × peer and direction × seed) ──► Outcome ──► log ──► table
//! ```
//!
//! A trial fails when its verdict is wrong with medium or high confidence. `cargo test` runs a sample
//! of them, `--include-ignored` or a name everything. With
//! `TAPELINE_VERDICTS=FILE` each outcome is a line of JSON in it, and `FILE.md` has the tables of
//! all its lines. `TAPELINE_VERDICT_SEEDS` is the number of seeds, and `TAPELINE_VERDICT_FIRST_SEED` the first.

mod cause;
mod host;
mod log;
mod network;
mod situation;
mod situations;
mod table;
mod trial;

use std::process::ExitCode;

use interop::skip;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::trial::Missing;

/// Trials at the same time: most of one is waiting.
const THREADS: usize = 10;

#[expect(clippy::print_stderr, reason = "what a run of all trials comes to")]
fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let whole = arguments.include_ignored || arguments.filter.is_some();
    let conclusion = libtest_mimic::run(&arguments, trials(whole));
    match log::write_tables() {
        Ok(broken) if broken.is_empty() => conclusion.exit_code(),
        Ok(broken) => {
            eprintln!("{}", broken.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("the tables of the verdicts: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|words| words.parse().ok())
        .unwrap_or(otherwise)
}

/// A trial for each run of each situation, for each seed; of the sample, or of the `whole`.
fn trials(whole: bool) -> Vec<Trial> {
    let first = number("TAPELINE_VERDICT_FIRST_SEED", 1);
    let seeds = first..first + number("TAPELINE_VERDICT_SEEDS", 1);
    let mut trials = Vec::new();
    for situation in situations::all() {
        for run in situation.runs {
            for seed in seeds.clone() {
                let trial = trial::Trial {
                    situation,
                    run: *run,
                    seed,
                };
                let ours = *run == situation.runs[0] && seed == first;
                let sampled = situation.sample && ours;
                if !sampled && !whole {
                    continue;
                }
                let test = Trial::test(trial.name(), move || judged(&trial));
                trials.push(test);
            }
        }
    }
    trials
}

/// Runs a trial, and fails where its verdict misleads.
fn judged(trial: &trial::Trial) -> Result<(), Failed> {
    let outcome = match trial.run() {
        Ok(outcome) => outcome,
        Err(Missing::Skipped(reason)) => {
            skip(&trial.name(), &reason);
            return Ok(());
        }
        Err(Missing::Failed(message)) => return Err(message.into()),
    };
    log::enter(&outcome.record)?;
    if outcome.grade.misleads() {
        return Err(format!("{}: {:#}", outcome.grade.id(), outcome.record).into());
    }
    Ok(())
}
