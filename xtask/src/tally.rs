//! What passed, failed and was skipped.

use std::fmt;

/// Counts with the names and reasons behind them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failures: Vec<String>,
    skips: Vec<String>,
    /// What failed and was run again, with the reason.
    repeated: Vec<String>,
}

impl Tally {
    /// Counts a success.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Counts a failure.
    pub(crate) fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// Counts something that could not be checked, with the reason.
    pub(crate) fn skip(&mut self, what: impl Into<String>) {
        self.skips.push(what.into());
    }

    /// Number of failures.
    pub(crate) fn failed(&self) -> usize {
        self.failures.len()
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.passed == 0 && self.failures.is_empty() && self.skips.is_empty()
    }

    /// Names of what failed.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Takes a failure back for what came of it `again`, and keeps the `reason` for the second run.
    pub(crate) fn replace(&mut self, failure: &str, again: Self, reason: impl fmt::Display) {
        self.failures.retain(|name| name != failure);
        self.repeated.push(format!("{failure}: {reason}"));
        self.add(again);
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
        self.repeated.extend(other.repeated);
    }

    /// Reads one line of a test harness's output.
    pub(crate) fn read_line(&mut self, line: &str) {
        let Some(test) = line.strip_prefix("test ") else {
            return;
        };
        let Some((name, verdict)) = test.rsplit_once(" ... ") else {
            return;
        };
        match verdict.split_whitespace().next() {
            Some("ok") => self.pass(),
            Some("FAILED") => self.fail(name.trim_end()),
            Some("ignored,") | Some("ignored") => {
                self.skip(format!("{}: ignored", name.trim_end()));
            }
            _ => {}
        }
    }

    /// Turns tests that the harness believes to have passed, but that said they were skipped, into
    /// skips. `log` holds a `test: reason` on each line.
    pub(crate) fn read_skip_log(&mut self, log: &str) {
        let mut tests: Vec<&str> = Vec::new();
        for line in log.lines() {
            let test = line.split_once(": ").map_or(line, |(test, _)| test);
            // A test may skip several of its parts; it is one test.
            if !tests.contains(&test) {
                tests.push(test);
                self.passed = self.passed.saturating_sub(1);
                self.skip(line);
            }
        }
    }

    /// Prints what was skipped, what was run again and what failed.
    pub(crate) fn print_details(&self) {
        if !self.repeated.is_empty() {
            println!("\nrun again:");
            for repeated in &self.repeated {
                println!("  {repeated}");
            }
        }
        if !self.skips.is_empty() {
            println!("\nskipped:");
            for skip in &self.skips {
                println!("  {skip}");
            }
        }
        if !self.failures.is_empty() {
            println!("\nfailed:");
            for failure in &self.failures {
                println!("  {failure}");
            }
        }
        println!();
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, skipped) = (self.failures.len(), self.skips.len());
        write!(
            f,
            "{} passed, {failed} failed, {skipped} skipped",
            self.passed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harness_lines_and_the_skip_log_are_counted() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests",
            "test a::b ... ok",
            "test with <dots>    ... FAILED",
            "test c ... ok",
            "test a::c ... ok",
            "test d ... ignored, slow",
            "test result: FAILED. 2 passed; 1 failed; 1 ignored",
        ] {
            tally.read_line(line);
        }
        tally.read_skip_log("c: no root\nc: no root again\na::c: no peer\n");
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 3 skipped");
        assert_eq!(tally.failures, ["with <dots>"]);
    }

    #[test]
    fn what_passes_again_is_no_failure() {
        let mut tally = Tally::default();
        tally.read_line("test a ... FAILED");
        tally.read_line("test b ... FAILED");
        let mut again = Tally::default();
        again.pass();
        tally.replace("a", again, "a standstill");
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 0 skipped");
        assert_eq!(tally.failures(), ["b"]);
        assert_eq!(tally.repeated, ["a: a standstill"]);
    }
}
