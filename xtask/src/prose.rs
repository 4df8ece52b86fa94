//! The documentation speaks the field's words, and its lines wrap.

use std::path::{Path, PathBuf};

use crate::shell::{self, Result};

/// The longest line of prose, in characters.
const WIDTH: usize = 100;

/// The README's first sentence, in which a program may tell.
const ALLOWED: &str = "and tells you whether to believe the number";

/// Former words and names, with those that took their places.
#[rustfmt::skip]
const FORMER: &[(&str, &str)] = &[
    ("surely", "high confidence"),
    ("for certain", "worst case"),
    ("told", "printed, reported, sent"),
    ("tells", "prints, reports, sends"),
    ("untold", "not logged"),
    ("hears", "receives"),
    ("anew", "again"),
    ("nobody", "no client, or the passive"),
    ("far end", "server, client or peer"),
    ("other end", "server, client or peer"),
    ("goodput", "throughput"),
    ("asked for", "requested"),
    ("sent again", "retransmitted"),
    ("turned away", "refused"),
    ("left aside", "ignored"),
    ("cannot be had", "is not available"),
    ("exclude each other", "cannot be combined"),
    ("is not understood", "unknown"),
    ("longest outage", "longest pause in arrivals"),
    ("skew", "drift"),
    ("--until-ci", "--precision"),
    ("--fail-if-limited", "--fail-if-host-limited"),
    ("--no-probe", "--no-latency-probes"),
    ("--no-control", "--no-peer-results"),
    ("tests-of-source", "tests-per-source"),
    ("streams-of-test", "streams-per-test"),
    ("pending-of-source", "pending-per-source"),
    ("wrong-keys-of-source", "wrong-keys-per-source"),
    ("refusals-told", "refusals-logged"),
    ("newcomers", "udp-clients"),
    ("turned-away", "permit-key-refused"),
    ("peer-refused", "client-refused"),
    ("peer-vanished", "peer-lost"),
    ("test-cut", "test-stopped"),
    ("other-protocol", "server-is-iperf3"),
    ("limits-reread", "limits-reloaded"),
    ("limits-kept", "limits-reload-failed"),
    ("clock-set", "clock-jumped"),
    ("pacing-missed", "rate-not-reached"),
    ("unresolvable", "unknown-host"),
    ("connect-timed-out", "connect-gave-up"),
    ("intervals-missing", "intervals-dropped"),
];

/// Sources whose strings people read.
const SOURCES: [&str; 4] = [
    "crates/report/src/native",
    "crates/tapeline/src",
    "crates/dialect/src",
    "crates/screen/src",
];

/// Sources that speak iperf3's words.
const IPERF3_WORDS: &str = "crates/tapeline/src/cli/iperf3";

/// Words that no string of these has; in code they may be names.
const UNSPOKEN: [&str; 8] = [
    "surely",
    "untold",
    "told",
    "anew",
    "nobody",
    "far end",
    "asked for",
    "turned away",
];

/// Checks the pages for people, and what the programs print.
///
/// # Errors
/// A page has former words or long lines, a string has former words, or one of them cannot be read.
pub(crate) fn check() -> Result<()> {
    let mut faults = faults(shell::root())?;
    faults.extend(unspoken(shell::root())?);
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults.join("\n"))
}

/// What is wrong with the pages below a root.
fn faults(root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for page in pages(root)? {
        let text = std::fs::read_to_string(&page)
            .map_err(|error| format!("{}: {error}", page.display()))?;
        let name = page.strip_prefix(root).unwrap_or(&page).display();
        let lines = former_words(&text).into_iter().chain(long_lines(&text));
        faults.extend(lines.map(|(line, what)| format!("{name}:{line}: {what}")));
    }
    Ok(faults)
}

/// Former words in the strings of the sources below a root.
fn unspoken(root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut folders: Vec<PathBuf> = SOURCES.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if is_test || path.starts_with(root.join(IPERF3_WORDS)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).map_err(failed)?;
                let name = path.strip_prefix(root).unwrap_or(&path).display();
                let words = unspoken_words(&text).into_iter();
                faults.extend(words.map(|(line, what)| format!("{name}:{line}: {what}")));
            }
        }
    }
    faults.sort();
    Ok(faults)
}

/// Former words in the strings of a source, before its tests.
fn unspoken_words(text: &str) -> Vec<(usize, String)> {
    let code = text
        .split("\n#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let mut found = Vec::new();
    let mut is_open = false;
    for (number, line) in code.lines().enumerate() {
        if !is_open && line.trim_start().starts_with("//") {
            continue;
        }
        let mut spoken = String::new();
        let mut escaped = false;
        for letter in line.chars() {
            match letter {
                '"' if !escaped => is_open ^= true,
                _ if is_open => spoken.push(letter),
                _ => {}
            }
            escaped = letter == '\\' && !escaped;
        }
        // A string goes on in the next line only behind a backslash.
        is_open &= line.ends_with('\\');
        let words = spoken.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        for former in UNSPOKEN {
            let parts: Vec<&str> = former.split(' ').collect();
            if words.windows(parts.len()).any(|window| window == parts) {
                found.push((number + 1, format!("a string says \"{former}\"")));
            }
        }
    }
    found
}

/// The pages to check, below a root.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = vec![root.join("CONTRIBUTING.md"), root.join("SECURITY.md")];
    for folder in [root.to_path_buf(), root.join("docs"), root.join("docs/dev")] {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let page = entry.map_err(failed)?.path();
            let ours = folder != root || page.ends_with("README.md");
            if ours && page.extension().is_some_and(|end| end == "md") {
                pages.push(page);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Former words, wherever a line ends between them, with the lines that they begin in.
fn former_words(text: &str) -> Vec<(usize, String)> {
    let bare = |word: &str| {
        let ends = |letter: char| !letter.is_alphanumeric() && letter != '-';
        word.trim_matches(ends).to_lowercase()
    };
    let words: Vec<(usize, String)> = text
        .replace(ALLOWED, "")
        .lines()
        .enumerate()
        .flat_map(|(number, line)| line.split_whitespace().map(move |word| (number + 1, word)))
        .map(|(number, word)| (number, bare(word)))
        .collect();
    let mut found = Vec::new();
    for (former, now) in FORMER {
        let parts: Vec<&str> = former.split(' ').collect();
        let places = words
            .windows(parts.len())
            .filter(|window| window.iter().map(|(_, word)| word).eq(parts.iter()));
        found.extend(places.map(|window| (window[0].0, format!("\"{former}\": {now}"))));
    }
    found
}

/// Lines of prose that are too long; tables, code and headings cannot wrap.
fn long_lines(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let whole = ["|", "#", "    "]
            .iter()
            .any(|start| line.starts_with(start));
        let length = line.chars().count();
        if length > WIDTH && !fenced && !fence && !whole && line.trim().contains(' ') {
            found.push((
                number + 1,
                format!("{length} characters, the limit is {WIDTH}"),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_words_are_found_across_lines_and_in_tables() {
        let text = "A reader is `told`, by the far\n  end.\n| x | Turned-Away |\nfar-end told.me\n";
        let found = former_words(text);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 1, 3], "{found:?}");
        assert!(found[1].1.contains("server, client or peer"), "{found:?}");
    }

    #[test]
    fn former_words_are_found_in_strings_alone() {
        let text = "// nobody\nlet told = 1;\nsay(\"the far end\");\nsay(\"one \\\n  is told\");\n\
                    say(\"refusals-told\");\n\n#[cfg(test)]\nmod tests {\n\"told\"\n";
        let found = unspoken_words(text);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5], "{found:?}");
    }

    #[test]
    fn long_prose_is_found_and_long_code_is_not() {
        let long = "word ".repeat(21);
        let text = format!("{long}\n| {long}\n# {long}\n```sh\n{long}\n```\n    {long}\n{long}\n");
        let lines: Vec<usize> = long_lines(&text).iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 8]);
        // A link that is longer than a line stays whole.
        assert!(long_lines(&"x".repeat(120)).is_empty());
    }

    #[test]
    fn seeded_faults_are_found_but_in_the_changelog() {
        let root = std::env::temp_dir().join(format!("tapeline-prose-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs/dev")).expect("folders");
        for page in ["SECURITY.md", "docs/cli.md"] {
            std::fs::write(root.join(page), "A client is informed.\n").expect("a page");
        }
        for page in [
            "README.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "docs/results.md",
            "docs/dev/testing.md",
        ] {
            std::fs::write(root.join(page), "Nobody\nis told.\n").expect("a page");
        }
        let found = faults(&root).expect("pages");
        std::fs::remove_dir_all(&root).expect("removed");
        let places: Vec<&str> = found
            .iter()
            .filter_map(|fault| Some(fault.split_once(": ")?.0))
            .collect();
        assert_eq!(
            places,
            [
                "CONTRIBUTING.md:2",
                "CONTRIBUTING.md:1",
                "README.md:2",
                "README.md:1",
                "docs/dev/testing.md:2",
                "docs/dev/testing.md:1",
                "docs/results.md:2",
                "docs/results.md:1"
            ],
            "{found:?}"
        );
    }

    #[test]
    fn the_pages_of_the_project_are_found_and_good() {
        let found = pages(shell::root()).expect("pages");
        for page in ["SECURITY.md", "docs/cli.md", "docs/dev/architecture.md"] {
            assert!(found.contains(&shell::root().join(page)), "{page}");
        }
        let faults = faults(shell::root()).expect("pages");
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
