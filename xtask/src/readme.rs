//! The README's commands do what it says.

use std::time::Duration;

use interop::Invocation;

use crate::shell::{Result, cargo, run};

/// The command that shows a new user a measurement.
const MAIN_JOB: &str = "cargo run --release -- try";
/// The command that runs the tests.
const TESTS: &str = "cargo xtask test";
/// Time that the main job may take once it is built.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the main job as the README gives it, and looks for the test command.
///
/// # Errors
/// A command is missing in the README, fails or prints nothing.
pub(crate) fn check() -> Result<()> {
    let readme =
        std::fs::read_to_string("README.md").map_err(|error| format!("README.md: {error}"))?;
    let commands = commands(&readme);
    for wanted in [MAIN_JOB, TESTS] {
        if !commands.iter().any(|command| command == wanted) {
            return Err(format!("README.md has no command line `{wanted}`"));
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

/// The command lines in the fenced blocks of a Markdown text, without prompts and comments.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(|block| block.lines().skip(1));
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
    fn commands_are_found_in_fenced_blocks_only() {
        let text = "text `cargo a`\n```sh\n$ cargo b   # why\n# note\ncargo c --d\n```\ncargo e\n";
        assert_eq!(commands(text), ["cargo b", "cargo c --d"]);
    }
}
