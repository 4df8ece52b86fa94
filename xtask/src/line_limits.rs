//! Files stay short enough to be read in one go.

use std::path::{Path, PathBuf};

use crate::shell::{self, Result};

/// Lines above which a file is listed.
const SOFT: usize = 700;
/// Lines above which a file fails the check.
const HARD: usize = 1000;

/// Lists files over the soft limit.
///
/// # Errors
/// Files over the hard limit, or unreadable ones.
pub(crate) fn check() -> Result<()> {
    let mut files = Vec::new();
    for folder in ["crates", "interop", "relay", "xtask"] {
        collect(&shell::root().join(folder), &mut files)?;
    }
    files.sort();
    let mut over = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let lines = lines_without_tests(&text);
        let name = file.strip_prefix(shell::root()).unwrap_or(file).display();
        if lines > HARD {
            over.push(format!("{name}: {lines} lines, the limit is {HARD}"));
        } else if lines > SOFT {
            println!("{name}: {lines} lines; consider a split (soft limit {SOFT})");
        }
    }
    if over.is_empty() {
        println!("{} files", files.len());
        return Ok(());
    }
    Err(over.join("\n"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "tests" && name != "target" {
                collect(&path, files)?;
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}

/// Lines before the unit tests at the end of a file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests"));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_tests_do_not_count() {
        assert_eq!(
            lines_without_tests("a\nb\n#[cfg(test)]\nmod tests {\n}\n"),
            2
        );
        assert_eq!(lines_without_tests("a\n#[cfg(test)]\nuse b;\n"), 3);
    }
}
