//! The page of warnings, made from what `tapeline explain` prints.

use std::path::Path;
use std::process::Command;

use crate::builds;
use crate::shell::{self, Result};

const PAGE: &str = "docs/warnings.md";

const HEAD: &str = "\
# Warnings

`tapeline explain ID` prints a row of this page. A **note** is information. A **warning** limits
what the numbers mean. An **error** says what failed. JSON has all three in
[`warnings[]`](json.md#the-document), with the `id` of this page. The examples have the numbers of
one run.

<!-- cargo xtask generate writes this page from crates/tapeline/src/explanations.rs -->
";

/// What the program prints for these words.
fn printed(program: &Path, words: &[&str]) -> Result<String> {
    shell::read(Command::new(program).arg("explain").args(words))
}

/// The page.
fn made() -> Result<String> {
    let program = builds::with_all_features()?;
    let mut page = HEAD.to_owned();
    for line in printed(&program, &[])?.lines().skip(1) {
        if let Some(title) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            page += &format!("\n## {title}\n\n| ID | Example | Meaning |\n|---|---|---|\n");
        } else if let Some(id) = listed(line) {
            page += &row(&printed(&program, &[id])?);
        }
    }
    Ok(page)
}

/// The warning that a line of the list begins with.
fn listed(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("  ")?;
    let id = rest.split(' ').next()?;
    (!id.is_empty()).then_some(id)
}

/// An explanation as a row of a table: its name, the indented example, the meaning.
fn row(explanation: &str) -> String {
    let parts: Vec<String> = explanation
        .trim()
        .split("\n\n")
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let [id, example, meaning] = &parts[..] else {
        return String::new();
    };
    format!("| `{id}` | {example} | {meaning} |\n")
}

/// Writes it.
///
/// # Errors
/// It cannot be made or written.
pub(crate) fn write() -> Result<()> {
    std::fs::write(PAGE, made()?).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("{PAGE}");
    Ok(())
}

/// Compares the page with what the program prints.
///
/// # Errors
/// They differ.
pub(crate) fn check() -> Result<()> {
    let page = std::fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
    if page == made()? {
        return Ok(());
    }
    Err(format!(
        "{PAGE} is not what tapeline explain prints: run cargo xtask generate"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_becomes_a_row() {
        let text = "an-id\n\n  an example of\n  two lines\n\nIts meaning,\nand more.\n";
        let wanted = "| `an-id` | an example of two lines | Its meaning, and more. |\n";
        assert_eq!(row(text), wanted);
        assert_eq!(listed("  an-id      an example of"), Some("an-id"));
        assert_eq!(listed("             two lines"), None);
        assert_eq!(listed(""), None);
    }
}
