//! The documentation speaks the field's words, and its lines wrap.

use std::path::{Path, PathBuf};

use crate::shell::{self, Result};

/// The longest line of prose, in characters.
const WIDTH: usize = 100;

/// The README's first sentence, in which a program may tell, and verdicts of comparisons.
const ALLOWED: [&str; 3] = [
    "and tells you whether to believe the number",
    "better, surely",
    "worse, surely",
];

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
const SOURCES: [&str; 6] = [
    "crates/report/src/native",
    "crates/report/src/method",
    "crates/method/src",
    "crates/tapeline/src",
    "crates/dialect/src",
    "crates/screen/src",
];

/// Sources that speak the words of iperf and iperf3, or to the fuzzers alone.
const OTHER_WORDS: [&str; 5] = [
    "crates/tapeline/src/cli/iperf3",
    "crates/tapeline/src/help/iperf2.rs",
    "crates/tapeline/src/help/iperf3.rs",
    "crates/tapeline/src/generate/man_iperf3.rs",
    "crates/dialect/src/fuzz",
];

/// Calls whose arguments are iperf's words, and beginnings of its messages.
const IPERF_CALLS: [&str; 2] = [".listed(", ".iperf2_words("];
const IPERF_MESSAGES: [&str; 2] = ["ERROR", "WARN"];

/// A header's field, which is no stream.
const FLOW_LABEL: &str = "flow label";

/// Sources that speak of `--flow`: several streams with options of their own.
const WITH_FLOWS: [&str; 3] = [
    "crates/tapeline/src/cli/config_file.rs",
    "crates/tapeline/src/cli/flows.rs",
    "crates/tapeline/src/cli/options/working_load.rs",
];

/// Words that no string of these has; in code they may be names.
#[rustfmt::skip]
const UNSPOKEN: [&str; 22] = [
    "surely", "untold", "told", "tell", "tells", "anew", "nobody", "far end", "other end",
    "asked for", "turned away", "flow", "flows", "goodput", "processor", "disagree", "sent again",
    "left out", "cannot be had", "exclude each other", "is not understood", "longest outage",
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
            let other = |words: &&str| path.starts_with(root.join(words));
            if is_test || OTHER_WORDS.iter().any(other) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).map_err(failed)?;
                let name = path.strip_prefix(root).unwrap_or(&path).display();
                let with_flows = WITH_FLOWS.iter().any(|file| path.ends_with(file));
                let words = unspoken_words(&text).into_iter();
                let words = words.filter(|(_, what)| !(with_flows && what.contains("\"flow")));
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
    for (number, spoken) in strings(code) {
        let words =
            spoken.split(|letter: char| !letter.is_alphanumeric() && !"-_".contains(letter));
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        for former in UNSPOKEN {
            let parts: Vec<&str> = former.split(' ').collect();
            if words.windows(parts.len()).any(|window| window == parts) {
                found.push((number, format!("a string says \"{former}\"")));
            }
        }
    }
    found
}

/// The strings of code in tapeline's own words, without what is put into them, each with the line
/// that it ends in.
fn strings(code: &str) -> Vec<(usize, String)> {
    let mut strings = Vec::new();
    let mut open: Option<String> = None;
    // Parentheses that are open since a call with iperf's words.
    let mut depth = 0;
    for (number, line) in code.lines().enumerate() {
        if open.is_none() && line.trim_start().starts_with("//") {
            continue;
        }
        let (mut escaped, mut braces) = (false, 0);
        for (at, letter) in line.char_indices() {
            match (letter, &mut open) {
                ('"', None) => open = Some(String::new()),
                ('"', Some(_)) if !escaped => {
                    let spoken = open.take().unwrap_or_default();
                    let is_iperf = IPERF_MESSAGES.iter().any(|word| spoken.starts_with(word));
                    if depth == 0 && !is_iperf {
                        strings.push((number + 1, spoken.replace(FLOW_LABEL, "")));
                    }
                }
                ('{', Some(_)) => braces += 1,
                ('}', Some(_)) => braces -= 1,
                (_, Some(spoken)) if braces == 0 => spoken.push(letter),
                ('(', None) => {
                    let before = &line[..=at];
                    let begins = IPERF_CALLS.iter().any(|call| before.ends_with(call));
                    depth += i32::from(begins || depth > 0);
                }
                (')', None) if depth > 0 => depth -= 1,
                _ => {}
            }
            escaped = letter == '\\' && !escaped;
        }
        // A string goes on in the next line only behind a backslash.
        if !line.ends_with('\\') {
            open = None;
        } else if let Some(spoken) = &mut open {
            spoken.push(' ');
        }
    }
    strings
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
    let allowed = ALLOWED.iter();
    let words: Vec<(usize, String)> = allowed
        .fold(text.to_owned(), |text, words| text.replace(words, ""))
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
                    say(\"refusals-told one_flow {flows} flow label\");\n\
                    say(\"ERROR: flow\");\nspec.listed(&[(Client, \"\",\n\"flows\",)]);\n\
                    say(\"Flow {}\");\n\n#[cfg(test)]\nmod tests {\n\"told\"\n";
        let found = unspoken_words(text);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5, 10], "{found:?}");
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

    #[test]
    fn the_strings_of_the_project_are_good() {
        let faults = unspoken(shell::root()).expect("sources");
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
