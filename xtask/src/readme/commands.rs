//! The commands of the README, and the program that its sample shows.

use std::path::Path;
use std::time::Duration;

use interop::Invocation;

use super::sample;
use crate::builds;
use crate::shell::{Result, cargo, run};
use crate::tally::Tally;

const PAGE: &str = "README.md";
/// The command that shows a new user a measurement.
const MAIN_JOB: &str = "cargo run --release -- try";
/// The command that runs the tests.
const TESTS: &str = "cargo xtask test";
/// Time that the main job may take once it is built.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the main job as the README gives it, looks for the test command, and compares the sample
/// with a new one.
pub(crate) fn check() -> Tally {
    let mut tally = Tally::default();
    let page = std::fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"));
    let mut count = |name: &str, result: Result<()>| match result {
        Ok(()) => tally.pass(),
        Err(error) => {
            println!("{error}");
            tally.fail(format!("{name}: {error}"));
        }
    };
    let commands = page.clone().and_then(|page| run_commands(&page));
    count("README", commands);
    if let Some(reason) = sample::unavailable() {
        tally.skip(format!("README, sample: {reason}"));
        return tally;
    }
    let compared = page.and_then(|page| sample::check(&page, &builds::under_test()?));
    count("README, sample", compared);
    tally
}

/// Measures the sample again and writes it.
///
/// # Errors
/// As [`sample::enter`], or the program cannot be built.
pub(crate) fn measure() -> Result<()> {
    sample::enter(Path::new(PAGE), &builds::under_test()?)
}

fn run_commands(page: &str) -> Result<()> {
    let commands = commands(page);
    for wanted in [MAIN_JOB, TESTS] {
        if !commands.iter().any(|command| command == wanted) {
            return Err(format!("{PAGE} has no command line `{wanted}`"));
        }
    }
    run(cargo().args(["build", "--release"]))?;
    let mut words = MAIN_JOB.split_whitespace();
    let name = words.next().unwrap_or_default();
    let finished = Invocation::for_executable(name, name)
        .args(words)
        .deadline(TIMEOUT)
        .run()
        .map_err(|error| error.to_string())?;
    print!("{finished}");
    if finished.status.success() && finished.stdout.contains("bit/s") {
        return Ok(());
    }
    Err(format!(
        "`{MAIN_JOB}` ended with {} and these are not results",
        finished.status
    ))
}

/// The command lines in the indented and fenced blocks of a Markdown text, without prompts and
/// comments.
fn commands(text: &str) -> Vec<String> {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && (fenced || line.starts_with("    "))
    });
    lines
        .map(|line| line.trim().trim_start_matches("$ "))
        .map(|line| line.split(" #").next().unwrap_or(line).trim().to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_blocks_only() {
        let text = "text `cargo a`\n```sh\n$ cargo b   # why\n# note\ncargo c --d\n```\ncargo e\n\n    cargo f\n";
        assert_eq!(commands(text), ["cargo b", "cargo c --d", "cargo f"]);
    }
}
