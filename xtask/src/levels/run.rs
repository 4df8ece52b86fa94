//! One run of a level's tests, and once more what failed for no fault of the program.

use std::time::Instant;

use super::disturbance::Watch;
use super::test_programs::{TestProgram, TestPrograms};
use crate::builds;
use crate::shell::{self, Result};
use crate::tally::Tally;

/// Test programs that run one after the other.
pub(crate) struct Run {
    pub(crate) packages: &'static [&'static str],
    /// Their test programs; all of them when empty.
    pub(crate) programs: &'static [&'static str],
    /// What the names of the tests hold; all tests without it.
    pub(crate) only: Option<&'static str>,
    /// Threads of the test harness; by default one per core.
    pub(crate) threads: Option<u8>,
    /// Ignored tests, too.
    pub(crate) ignored: bool,
}

/// The program of tests with a fleet: the program under test has all features.
pub(crate) const FLEET: &str = "fleet";

/// Failures up to which a run on a disturbed machine is looked at test by test; more are no accident.
const REPEATABLE: usize = 60;
/// Times that a test is run again while the machine is disturbed.
const REPEATS: usize = 3;
/// Failures on an undisturbed machine up to which each is tried alone; more are no accident.
const UNSTEADY: usize = 3;
/// Passes in a row, alone, that make such a failure an unsteady test rather than a defect.
const PROOFS: usize = 5;

/// What becomes of a failure on an undisturbed machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failures {
    /// It counts.
    Count,
    /// It counts unless the test then passes alone, several times in a row; the run names it.
    TryAlone,
}

impl Run {
    /// Runs all, and again what failed while the machine was disturbed.
    pub(crate) fn execute(&self, programs: &TestPrograms, failures: Failures) -> Result<Tally> {
        let watch = Watch::begin();
        let mut tally = self.once(programs, None)?;
        let disturbance = watch.end();
        if disturbance.spoils() && tally.failed() <= REPEATABLE {
            for failure in tally.failures().to_vec() {
                println!("\nagain: {failure} ({disturbance})");
                tally.replace(&failure, self.again(programs, &failure)?, disturbance);
            }
        } else if failures == Failures::TryAlone && tally.failed() <= UNSTEADY {
            for failure in tally.failures().to_vec() {
                println!("\nalone: {failure}");
                if let Some(passed) = self.proven(programs, &failure)? {
                    let unsteady =
                        format!("unsteady: failed once, then passed {PROOFS} of {PROOFS}");
                    tally.replace(&failure, passed, unsteady);
                }
            }
        }
        Ok(tally)
    }

    /// The pass of a test that passes alone as often as it takes; nothing when it fails.
    fn proven(&self, programs: &TestPrograms, test: &str) -> Result<Option<Tally>> {
        let mut passed = Tally::default();
        for _ in 0..PROOFS {
            passed = self.once(programs, Some(test))?;
            if passed.is_empty() || passed.failed() > 0 {
                return Ok(None);
            }
        }
        Ok(Some(passed))
    }

    /// Runs one test until it passes, fails undisturbed, or has failed often enough.
    fn again(&self, programs: &TestPrograms, test: &str) -> Result<Tally> {
        let mut repeats = 0;
        loop {
            let watch = Watch::begin();
            let mut tally = self.once(programs, Some(test))?;
            repeats += 1;
            if tally.is_empty() {
                // It was no test that failed, but its harness.
                tally.fail(test);
            }
            if tally.failed() == 0 || !watch.end().spoils() || repeats == REPEATS {
                return Ok(tally);
            }
        }
    }

    /// Runs all tests, or the one of that name.
    fn once(&self, programs: &TestPrograms, test: Option<&str>) -> Result<Tally> {
        let mut tally = Tally::default();
        for package in self.packages {
            let mut has_any = false;
            for program in programs.of(package, self.programs) {
                has_any = true;
                tally.add(self.one(package, program, test)?);
            }
            if !has_any {
                return Err(format!(
                    "{package} has no tests {}",
                    self.programs.join(" ")
                ));
            }
        }
        Ok(tally)
    }

    fn one(&self, package: &str, program: &TestProgram, test: Option<&str>) -> Result<Tally> {
        let log = std::env::temp_dir().join(format!("tapeline-skipped-{}", std::process::id()));
        let failed = |error| format!("{}: {error}", log.display());
        std::fs::write(&log, "").map_err(failed)?;
        let binary = match self.programs == [FLEET] {
            true => builds::test_binary(),
            false => builds::release_binary(),
        };
        let mut command = program.command();
        command.args(self.arguments(test));
        command
            .env(interop::SKIP_LOG, &log)
            .env("TAPELINE_BIN", binary);
        let begin = Instant::now();
        println!("\n-- {package} {}", program.name);
        let mut tally = Tally::default();
        let result = shell::run_reading(&mut command, |line| tally.read_line(line));
        println!("-- {package} {}: {:.0?}", program.name, begin.elapsed());
        let skipped = std::fs::read_to_string(&log).map_err(failed)?;
        tally.read_skip_log(&skipped);
        let _ = std::fs::remove_file(&log);
        // A harness that dies on the way has tests that it never counted.
        if let (Err(error), 0) = (result, tally.failed()) {
            tally.fail(format!("{package} {}: {error}", program.name));
        }
        Ok(tally)
    }

    /// The words of the test harness.
    fn arguments(&self, test: Option<&str>) -> Vec<String> {
        let mut words = match test {
            Some(test) => vec!["--exact".to_owned(), test.to_owned()],
            None => self.only.map(str::to_owned).into_iter().collect(),
        };
        if self.ignored {
            words.push("--include-ignored".to_owned());
        }
        if let Some(threads) = self.threads {
            words.extend(["--test-threads".to_owned(), threads.to_string()]);
        }
        words
    }
}
