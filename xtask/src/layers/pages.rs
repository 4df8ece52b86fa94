//! Whether the pages about the code name places that exist.

use std::path::Path;

use super::check::{Finding, Rule};
use crate::shell::Result;

/// The pages that say where things are.
const PAGES: [&str; 2] = ["CONTRIBUTING.md", "docs/dev/architecture.md"];

/// Findings for all names of files and folders that lead nowhere.
///
/// # Errors
/// A page cannot be read.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>> {
    let crates = folders(&root.join("crates"));
    let mut findings = Vec::new();
    for page in PAGES {
        let text =
            std::fs::read_to_string(root.join(page)).map_err(|error| format!("{page}: {error}"))?;
        let lost = places(&text)
            .into_iter()
            .filter(|(_, place)| !exists(root, &crates, place));
        findings.extend(lost.map(|(line, place)| Finding {
            file: page.to_owned(),
            line,
            what: format!("there is no {place}"),
            rule: Rule::Pages,
        }));
    }
    Ok(findings)
}

fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Words in code type that are paths, with their lines.
fn places(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second piece stands between two marks.
        for word in line.split('`').skip(1).step_by(2) {
            let path = |letter: char| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || "/_.-".contains(letter)
            };
            // `x` stands for any name; what is built is not always there.
            let meant = word.trim_matches('/').contains('/')
                && !word.starts_with("x/")
                && !word.starts_with("target/")
                && word.chars().all(path);
            if meant {
                places.push((number + 1, word.trim_end_matches('/')));
            }
        }
    }
    places
}

/// Whether a place is there from the root on, or from a crate or its source on.
fn exists(root: &Path, crates: &[String], place: &str) -> bool {
    let inside = root.join("crates");
    // Modules are named without what ends the names of their files.
    let there = |folder: &Path, place: &str| {
        folder.join(place).exists() || folder.join(format!("{place}.rs")).exists()
    };
    let within = |krate: &String| {
        let folder = inside.join(krate);
        let source = folder.join("src");
        let named = place
            .strip_prefix(krate.as_str())
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| there(&source, rest));
        named || there(&source, place) || there(&folder, place)
    };
    there(root, place) || there(&inside, place) || crates.iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_code_type_are_places() {
        let text = "`a/b` and `c/d.rs`, `x/`, `A/b`, `a b/c`,\n`target/share` `e/f/`\n```\n`g/h`\n```\n`i/j`";
        assert_eq!(
            places(text),
            [(1, "a/b"), (1, "c/d.rs"), (2, "e/f"), (6, "i/j")]
        );
    }

    #[test]
    fn places_are_found_from_the_root_and_from_sources_on() {
        let root = crate::shell::root();
        let crates = folders(&root.join("crates"));
        for place in ["xtask/src/layers", "base/src", "base/clock", "src/lib.rs"] {
            assert!(exists(root, &crates, place), "{place}");
        }
        assert!(!exists(root, &crates, "base/nowhere.rs"));
    }
}
