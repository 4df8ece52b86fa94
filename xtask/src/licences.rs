//! Licences and bans of the dependencies, by `deny.toml`.

use std::process::Command;

use serde_json::Value;

use crate::shell::{self, Result, cargo, on_path};
use crate::tally::Tally;

/// Checks licences, bans, sources and advisories with cargo-deny, or, where that is not installed,
/// licences, bans and sources by reading cargo's metadata.
pub(crate) fn check() -> Tally {
    let mut tally = Tally::default();
    if on_path("cargo-deny") {
        let deny =
            |checks: &[&str]| shell::run(Command::new("cargo-deny").arg("check").args(checks));
        count(
            &mut tally,
            "dependencies",
            deny(&["licenses", "bans", "sources"]),
        );
        match shell::read(Command::new("cargo-deny").args(["fetch", "db"])) {
            Ok(_) => count(
                &mut tally,
                "advisories",
                deny(&["--disable-fetch", "advisories"]),
            ),
            Err(error) => tally.skip(format!(
                "advisories: the advisory database cannot be fetched ({error})"
            )),
        }
        return tally;
    }
    count(&mut tally, "dependencies", own_check());
    tally.skip("advisories: cargo-deny is not installed, so known vulnerabilities of dependencies WERE NOT CHECKED");
    tally
}

fn count(tally: &mut Tally, name: &str, result: Result<()>) {
    match result {
        Ok(()) => tally.pass(),
        Err(error) => tally.fail(format!("{name}: {error}")),
    }
}

fn own_check() -> Result<()> {
    let policy =
        std::fs::read_to_string("deny.toml").map_err(|error| format!("deny.toml: {error}"))?;
    let allowed = list(&policy, "licenses", "allow");
    let banned = list(&policy, "bans", "deny");
    let metadata = shell::read(cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    let mut problems = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let (name, licence) = (text("name"), text("license"));
        if !permitted(licence, &allowed) {
            problems.push(format!(
                "{name}: licence '{licence}' is not in deny.toml's list"
            ));
        }
        if banned.iter().any(|banned| banned == name) {
            problems.push(format!("{name} is banned by deny.toml"));
        }
        if text("source").starts_with("git") {
            problems.push(format!(
                "{name} comes from a repository, not from the registry"
            ));
        }
    }
    if problems.is_empty() {
        println!("{} packages", packages.len());
        return Ok(());
    }
    Err(problems.join("\n"))
}

/// The strings of the list `key` in the table `table` of a simple TOML text.
fn list(text: &str, table: &str, key: &str) -> Vec<String> {
    let header = format!("[{table}]");
    let mut lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != header)
        .skip(1);
    let table: Vec<&str> = lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .collect();
    let start = table
        .iter()
        .position(|line| line.starts_with(key) && line.contains('['));
    let mut items = Vec::new();
    for line in table.iter().skip(start.unwrap_or(table.len())) {
        items.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        if line.contains(']') {
            break;
        }
    }
    items
}

/// Whether a licence expression can be satisfied with the allowed licences.
fn permitted(expression: &str, allowed: &[String]) -> bool {
    // "A/B" is the old form of "A OR B".
    let expression = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let mut rest = words.as_slice();
    let verdict = any_of(&mut rest, allowed);
    rest.is_empty() && verdict.unwrap_or(false)
}

/// `expression = term { "OR" term }`; nothing when it is malformed.
fn any_of(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut verdict = all_of(words, allowed)?;
    while let Some((&"OR", rest)) = words.split_first() {
        *words = rest;
        verdict |= all_of(words, allowed)?;
    }
    Some(verdict)
}

/// `term = licence { "AND" licence }`.
fn all_of(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut verdict = one(words, allowed)?;
    while let Some((&"AND", rest)) = words.split_first() {
        *words = rest;
        verdict &= one(words, allowed)?;
    }
    Some(verdict)
}

/// `licence = "(" expression ")" | NAME [ "WITH" EXCEPTION ]`.
fn one(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let (&first, rest) = words.split_first()?;
    *words = rest;
    if first == "(" {
        let verdict = any_of(words, allowed)?;
        let (&close, rest) = words.split_first()?;
        *words = rest;
        return (close == ")").then_some(verdict);
    }
    let name = match *words {
        [with, exception, rest @ ..] if *with == "WITH" => {
            *words = rest;
            format!("{first} WITH {exception}")
        }
        _ => first.to_owned(),
    };
    Some(allowed.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions_are_judged() {
        let allowed = [
            "MIT",
            "Apache-2.0",
            "Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ]
        .map(str::to_owned);
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Unlicense/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-2.0 OR Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(permitted(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "MIT OR"] {
            assert!(!permitted(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn lists_are_read_from_the_policy() {
        let text = "[a]\nallow = [\"x\"]\n[b]\nallow = [\n  \"y\",\n  \"z\",\n]\nother = [\"w\"]\n";
        assert_eq!(list(text, "b", "allow"), ["y", "z"]);
        assert_eq!(list(text, "a", "allow"), ["x"]);
        assert!(list(text, "c", "allow").is_empty());
    }
}
