//! `tapeline explain NAME`: what a warning means, as `docs/results.md` says.

/// The page that explains every number.
const PAGE: &str = include_str!("../../../docs/results.md");
/// What begins the paragraph of a warning.
const HEADING: &str = "\n### `";

/// Names and paragraphs of all warnings.
fn warnings() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGE.split(HEADING).skip(1).filter_map(|part| {
        let (name, rest) = part.split_once("`\n")?;
        // The last one ends where another subject begins.
        let end = rest.find("\nBesides, ").unwrap_or(rest.len());
        Some((name, rest[..end].trim()))
    })
}

/// The sentence and the paragraph of a warning, without marks of the page's language.
pub(crate) fn warning(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let (known, text) = warnings().find(|(known, _)| *known == name)?;
    Some(format!("{known}\n\n{}", plain(text)))
}

/// The names of all warnings, with their sentences.
pub(crate) fn list() -> String {
    let mut text = String::from("tapeline explain NAME says what a warning means:\n");
    for (name, paragraph) in warnings() {
        let sentence = paragraph
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("> "));
        text.push_str(&format!("\n  {name:<26} {}", sentence.unwrap_or_default()));
    }
    text
}

fn plain(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix("> ") {
        Some(sentence) => format!("  {sentence}"),
        None => line.replace('`', ""),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_has_a_paragraph() {
        for name in tapeline_report::document::WARNING_IDS {
            let text = warning(name).unwrap_or_else(|| panic!("{name} is not explained"));
            assert!(text.len() > name.len() + 60, "{text}");
            assert!(!text.contains('`') && !text.contains('#'), "{text}");
        }
        let known = warnings().map(|(name, _)| name);
        let strange = known.filter(|name| !tapeline_report::document::WARNING_IDS.contains(name));
        assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn names_are_forgiving_and_the_list_is_complete() {
        assert_eq!(warning("Pacing_Missed"), warning("pacing-missed"));
        assert_eq!(warning("nothing-of-the-kind"), None);
        assert_eq!(list().lines().count(), warnings().count() + 2);
    }
}
