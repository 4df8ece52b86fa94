//! The matrix of verdicts: what tapeline says of situations of which the truth is known.
//!
//! The situations, their runs and the tables are the test program `verdicts`; this runs all of it
//! with several seeds, prints the tables, and puts those of a whole run into the documentation.

use std::path::Path;

use crate::builds;
use crate::page;
use crate::setup;
use crate::shell::{self, Result, cargo};
use crate::tally::Tally;

/// The page that the tables go to.
const PAGE: &str = "docs/dev/verdicts.md";
/// What the page names as their source.
const GENERATOR: &str = "cargo xtask verdicts";
/// Seeds of a run when nothing is said.
const SEEDS: u32 = 3;

/// What to run.
struct Options {
    seeds: u32,
    /// Part of the names of trials; all of them without.
    only: Option<String>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            seeds: SEEDS,
            only: None,
        };
        for pair in words.chunks(2) {
            match *pair {
                ["--seeds", number] => {
                    let number = number.parse().ok().filter(|number| *number > 0);
                    options.seeds = number.ok_or("verdicts: --seeds wants a number from 1 on")?;
                }
                ["--only", name] => options.only = Some(name.to_owned()),
                _ => return Err("usage: cargo xtask verdicts [--seeds N] [--only NAME]".to_owned()),
            }
        }
        Ok(options)
    }
}

/// Runs the matrix.
///
/// # Errors
/// Wrong options, a program that cannot be built, or a page that cannot be written.
pub(crate) fn run(words: &[&str]) -> Result<Tally> {
    let options = Options::read(words)?;
    setup::prepare();
    let binary = builds::under_test()?;
    let log = builds::target_directory().join("verdicts.ndjson");
    let skipped = log.with_extension("skipped");
    let failed = |error| format!("{}: {error}", log.display());
    let _ = std::fs::remove_file(&log);
    std::fs::write(&skipped, "").map_err(failed)?;
    let mut command = cargo();
    command
        .args(["test", "--package", "interop", "--test", "verdicts", "--"])
        .arg("--include-ignored")
        .args(&options.only)
        .env("TAPELINE_BIN", binary)
        .env("TAPELINE_VERDICTS", &log)
        .env(interop::SKIP_LOG, &skipped)
        .env("TAPELINE_VERDICT_SEEDS", options.seeds.to_string());
    let mut tally = Tally::default();
    let result = shell::run_reading(&mut command, |line| tally.read_line(line));
    tally.read_skip_log(&std::fs::read_to_string(&skipped).map_err(failed)?);
    if let (Err(error), 0) = (result, tally.failed()) {
        tally.fail(error);
    }
    let tables = log.with_extension("md");
    let tables = std::fs::read_to_string(&tables)
        .map_err(|error| format!("{}: {error}", tables.display()))?;
    println!("\n{tables}");
    if options.only.is_none() {
        enter(Path::new(PAGE), &tables)?;
    }
    Ok(tally)
}

/// Puts the tables of a whole run into the page.
fn enter(page: &Path, tables: &str) -> Result<()> {
    let commit = shell::read(std::process::Command::new("git").args(["describe", "--always"]));
    let commit = commit.unwrap_or_default();
    let commit = match commit.trim() {
        "" => String::new(),
        commit => format!("Commit {commit}.\n"),
    };
    page::enter(page, GENERATOR, &format!("{commit}{tables}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_pairs() {
        let read = |words: &[&str]| Options::read(words).map(|its| (its.seeds, its.only));
        assert_eq!(read(&[]), Ok((SEEDS, None)));
        assert_eq!(
            read(&["--only", "link", "--seeds", "5"]),
            Ok((5, Some("link".to_owned())))
        );
        assert!(read(&["--seeds", "0"]).is_err() && read(&["--only"]).is_err());
    }
}
