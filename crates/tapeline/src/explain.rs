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

/// Whether there is a warning of this name.
pub(crate) fn knows(name: &str) -> bool {
    warning(name, usize::MAX).is_some()
}

/// The sentence and the paragraph of a warning, without marks of the page's language, in lines of at most
/// `width` columns.
pub(crate) fn warning(name: &str, width: usize) -> Option<String> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let (known, text) = warnings().find(|(known, _)| *known == name)?;
    Some(format!("{known}\n\n{}", plain(text, width)))
}

/// Column of the sentences in the list.
const INDENT: usize = 28;

/// The names of all warnings, with their sentences.
pub(crate) fn list(width: usize) -> String {
    let mut text = String::from("tapeline explain NAME says what a warning means:\n");
    for (name, paragraph) in warnings() {
        let first = paragraph.lines().next();
        let sentence = first.and_then(|line| line.strip_prefix("> "));
        let mut lines = wrap(sentence.unwrap_or_default(), INDENT, width);
        lines[0].replace_range(..INDENT, &format!("{:<INDENT$}", format!("  {name}")));
        for line in lines {
            text.push('\n');
            text.push_str(line.trim_end());
        }
    }
    text
}

/// Paragraphs and quoted sentences, each in lines of at most `width` columns.
fn plain(text: &str, width: usize) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let indent = if paragraph.starts_with("> ") { 2 } else { 0 };
        let text = paragraph.trim_start_matches("> ").replace('`', "");
        wrap(&text, indent, width).join("\n")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Breaks a text at blanks into lines of at most `width` columns, `indent` of them blank.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.len() > indent && line.len() + 1 + word.len() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_has_a_paragraph() {
        for name in tapeline_report::document::WARNING_IDS {
            let text = warning(name, 80).unwrap_or_else(|| panic!("{name} is not explained"));
            assert!(text.len() > name.len() + 60, "{text}");
            assert!(!text.contains('`') && !text.contains('#'), "{text}");
            assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        }
        let known = warnings().map(|(name, _)| name);
        let strange = known.filter(|name| !tapeline_report::document::WARNING_IDS.contains(name));
        assert_eq!(strange.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn names_are_forgiving_and_the_list_is_complete() {
        assert_eq!(
            warning("Rate_Not_Reached", 80),
            warning("rate-not-reached", 80)
        );
        assert_eq!(warning("nothing-of-the-kind", 80), None);
        let list = list(80);
        assert!(list.lines().all(|line| line.len() <= 80), "{list}");
        for (name, _) in warnings() {
            let listed = |line: &&str| line.split_whitespace().next() == Some(name);
            assert_eq!(list.lines().filter(listed).count(), 1, "{name}");
        }
    }
}
