//! Files and pages stay short enough to be read in one go.

use std::path::{Path, PathBuf};

use crate::shell::{self, Result};

/// Lines above which a file is listed.
const SOFT: usize = 700;
/// Lines above which a file fails the check.
const HARD: usize = 1000;

/// Pages, and how many lines those of a row have together at most. A folder stands for its pages.
const PAGES: [(&[&str], usize); 21] = [
    (&["README.md"], 110),
    (&["CONTRIBUTING.md", "docs/dev/testing.md"], 180),
    (&["docs/cli.md"], 140),
    (&["docs/third-party.md"], 80),
    (&["docs/results.md"], 220),
    (&["docs/json.md"], 200),
    (&["docs/latency.md"], 130),
    (&["docs/metrics.md"], 140),
    (&["docs/server.md"], 160),
    (&["docs/performance.md"], 80),
    (&["docs/iperf2.md"], 400),
    (&["docs/iperf3.md"], 250),
    (&["docs/methods.md"], 450),
    (&["docs/flows.md"], 130),
    (&["docs/history.md"], 150),
    (&["docs/web.md"], 150),
    (&["docs/mesh.md"], 150),
    (&["docs/fleet.md"], 200),
    (&["docs/dev/architecture.md"], 260),
    (&["docs/dev/performance.md"], 450),
    (&["docs", "docs/dev"], 4320),
];

/// Lists files over the soft limit.
///
/// # Errors
/// Files over the hard limit, pages over theirs, or unreadable ones.
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
    over.extend(long_pages(shell::root())?);
    if over.is_empty() {
        println!("{} files", files.len());
        return Ok(());
    }
    Err(over.join("\n"))
}

/// Pages below a root that have grown past their limits.
fn long_pages(root: &Path) -> Result<Vec<String>> {
    let mut over = Vec::new();
    for (names, limit) in PAGES {
        let mut lines = 0;
        for name in names {
            for page in pages(&root.join(name))? {
                let text = std::fs::read_to_string(&page)
                    .map_err(|error| format!("{}: {error}", page.display()))?;
                lines += text.lines().count();
            }
        }
        if lines > limit {
            let names = names.join(" and ");
            over.push(format!("{names}: {lines} lines, the limit is {limit}"));
        }
    }
    Ok(over)
}

/// The page itself, or the pages of a folder.
fn pages(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |error| format!("{}: {error}", path.display());
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let page = entry.map_err(failed)?.path();
        if page.extension().is_some_and(|end| end == "md") {
            pages.push(page);
        }
    }
    Ok(pages)
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
    fn the_pages_keep_their_limits_and_a_long_one_does_not() {
        let found = long_pages(shell::root()).expect("pages");
        assert!(found.is_empty(), "{}", found.join("\n"));
        let root = std::env::temp_dir().join(format!("tapeline-pages-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs/dev")).expect("folders");
        for name in PAGES.iter().flat_map(|(names, _)| names.iter()) {
            if name.ends_with(".md") {
                std::fs::write(root.join(name), "A line.\n").expect("a page");
            }
        }
        assert_eq!(long_pages(&root), Ok(Vec::new()));
        let long = |lines: usize| "A line.\n".repeat(lines);
        std::fs::write(root.join("docs/dev/testing.md"), long(180)).expect("a page");
        std::fs::write(root.join("docs/dev/new.md"), long(4126)).expect("a page");
        let found = long_pages(&root).expect("pages");
        std::fs::remove_dir_all(&root).expect("removed");
        assert_eq!(
            found,
            [
                "CONTRIBUTING.md and docs/dev/testing.md: 181 lines, the limit is 180",
                "docs and docs/dev: 4324 lines, the limit is 4320",
            ]
        );
    }

    #[test]
    fn unit_tests_do_not_count() {
        assert_eq!(
            lines_without_tests("a\nb\n#[cfg(test)]\nmod tests {\n}\n"),
            2
        );
        assert_eq!(lines_without_tests("a\n#[cfg(test)]\nuse b;\n"), 3);
    }
}
